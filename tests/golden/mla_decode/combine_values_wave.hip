// Generated from templates/mla_decode/combine_values_wave_narrow.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_combine_values_wave_narrow_d5005bb9
// parameters:
//   dtype = bf16
//   fitted = 256
//   heads = 64
//   page_size = 1
//   q_len = 1
//   rank = 512
//   values = 128
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_values_wave_narrow target=gfx942 dtype=bf16 fitted=256 heads=64 page_size=1 q_len=1 rank=512 values=128



#define MLAF_BF16 1
// [21 more lines of tests/golden/mla_decode/combine_values_wave.hip]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_combine_values_wave_narrow_d5005bb9_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 0, 128, 32, 0, {}};

constexpr int H = 64, Q_LEN = 1, PAGE = 1, SLOT_ROWS = Q_LEN * H, R = 512, V = 128;
constexpr int WAVES = 8, PASS = 8, // PASS: a wave a row at least
// [5 more lines of tests/golden/mla_decode/combine_values_wave.hip]
#define FIT_FIXED 256
#define FIT_CUT 0 // these decide nothing here
// [9 more lines of tests/golden/mla_decode/combine_values_wave.hip]
MLAF_DEV u32 narrow_bytes(u32 x, u32 y, u32 nibbles) {
  return __builtin_amdgcn_perm(y, x, (nibbles & 15) | (nibbles & 0xf0) << 4 | (nibbles & 0xf00) << 8 | (nibbles & 0xf000) << 12);
}
#define __byte_perm narrow_bytes
#define fmaf __builtin_fmaf
// [templates/mla_decode/lib/narrow.h]
MLAF_DEV u32 narrow_pair(float x, float y) { return narrow_bytes(bits_of(x), bits_of(y), 0x6521); }
MLAF_DEV float max_over_wave(float x, int lane) {
// [55 more lines of templates/mla_decode/lib/merge_wave.h]
template <int Depth>
// [13 more lines of templates/mla_decode/lib/merge_wave.h]
      if (__builtin_popcountl(todo) >= Depth) add_up<Depth, true>(part_o, weight * unit, row, todo, lane, m);
      else add_up<Depth, false>(part_o, weight * unit, row, todo, lane, m);
    }
// [13 more lines of templates/mla_decode/lib/merge_wave.h]

MLAF_DEV void find_pieces(const mlaf_decode_args& a, i64 width, int parts, i64 row, int lane, sources& from) {
// [48 more lines of tests/golden/mla_decode/combine_values_wave.hip]
    const int vector = 2 * lane + i;
    *(u32x2*)(lds + x_chunk(at, vector / 2) + vector % 2 * 8) =
// [9 more lines of templates/mla_decode/combine_values_wave.hip.in]
    for (int i = 0; i < VECTORS; i++) *(f32x4*)(sums + wave * R + 4 * (2 * lane + i)) = m.o[i] * scale;
  __syncthreads();
// [31 more lines of tests/golden/mla_decode/combine_values_wave.hip]
mlaf_mla_decode_combine_values_wave_narrow_d5005bb9(mlaf_values_args p) {
  __shared__ __attribute__((aligned(16))) char lds[24608];
// [76 more lines of tests/golden/mla_decode/combine_values_wave.hip]
