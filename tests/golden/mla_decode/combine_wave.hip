// Generated from templates/mla_decode/combine_wave_narrow.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_combine_wave_narrow_962bd4de
// parameters:
//   dtype = bf16
//   fitted = 256
//   heads = 64
//   page_size = 64
//   q_len = 1
//   rank = 512
//   rows = 4
//   team = 1
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_wave_narrow target=gfx942 dtype=bf16 fitted=256 heads=64 page_size=64 q_len=1 rank=512 rows=4 team=1





#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_decode/lib/args.h]

constexpr int R = 512, ROWS = 4, TEAM = 1, VECTORS = 2, DEPTH = 8;
#define FIT_FIXED 256
#define FIT_CUT 0 // these decide nothing here
// [6 more lines of tests/golden/mla_decode/combine_wave.hip]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_combine_wave_narrow_962bd4de_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 0, {0, 0}, 0, {}};
// [templates/mla_decode/lib/fit_wave.h]
constexpr int H = 64, Q_LEN = 1, PAGE = 64, SLOT_ROWS = Q_LEN * H;
constexpr int MANY = ROWS > 1 ? 2 * 8 : 1 << 30;
// [templates/mla_decode/lib/paging.h]
// [91 more lines of tests/golden/mla_decode/combine_values_wave.hip]

struct lane_pieces {
// [34 more lines of templates/mla_decode/lib/merge_wave.h]

#if 1
// [5 more lines of tests/golden/mla_decode/combine_wave.hip]
MLAF_DEV void merge_row(const mlaf_combine_args& a, const sources& from, float near, float& ahead, i64 row, bool exists, int lane,
                        int wave) {
  constexpr u64 EVERY_TEAM = ~0ul / ((1ul << Team) - 1); // bits 0, Team, 2 Team, ... of 64: what a team's first wave adds up
// [7 more lines of templates/mla_decode/combine_wave.hip.in]

#if 1
// [20 more lines of tests/golden/mla_decode/combine_wave.hip]

MLAF_DEV u32 groups_x() {
  return ((const MLAF_CONST u32*)(u64)__builtin_amdgcn_dispatch_ptr())[3] / 256;
}


extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256))) void
mlaf_mla_decode_combine_wave_narrow_962bd4de(mlaf_decode_args p) {
  const int lane = thread_id() & 63, wave = uniform(thread_id() >> 6);
  const i64 row = (i64)group_x() * ROWS + wave / TEAM;
  const int splits = fit_splits(p.splits), parts = fit_told(p.part_o);
// [58 more lines of templates/mla_decode/combine_wave.hip.in]
}
