// Generated from templates/mla_decode/combine_values_wave.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_values_wave target=gfx942 dtype=bf16 fitted=64 heads=16 page_size=16 q_len=2 rank=512 values=128

#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
#define MLAF_MFMA_K32 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/lib/mfma.h]
// [templates/mla_decode/lib/args.h]

struct mlaf_values_args {
// [13 more lines of templates/mla_decode/combine_values_wave.hip.in]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_combine_values_wave_38e92eae_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 0, 128, 32, 0, {}};

constexpr int H = 16, Q_LEN = 2, PAGE = 16, SLOT_ROWS = Q_LEN * H, R = 512, V = 128;
constexpr int WAVES = 8, PASS = 8, // PASS: a wave a row at least
              EACH = 32, WAYS = 4, LINES = 2;
constexpr u32 HOMES = H % 8 == 0 ? 8 : 1; // XCDs that heads are dealt to
constexpr int VECTORS = 2, DEPTH = 8;
constexpr int MANY = 2 * DEPTH; // partial results that a wave adds up in two rounds of loads
constexpr int SUMS_AT = 8192, KINDS_AT = 24576;
#define FIT_FIXED 64
#define FIT_CUT 0 // these decide nothing here
#define FIT_PACE 0
#define FIT_LEAST 1
// [templates/mla_decode/lib/fit_wave.h]
// [templates/mla_decode/lib/paging.h]

template <typename T>
// [3 more lines of templates/mla_decode/lib/refuse.h]
MLAF_DEV float max_over_wave(float x, int lane) {
// [27 more lines of templates/mla_decode/lib/merge_wave.h]
};
template <int Depth, bool Full>
// [32 more lines of templates/mla_decode/lib/merge_wave.h]
    m.sum += weight;
    u64 todo = __builtin_amdgcn_ballot_w64(live) & mine;
    while (todo) {
      if (__builtin_popcountl(todo) >= Depth) add_up<Depth, true>(part_o, weight, row, todo, lane, m);
      else add_up<Depth, false>(part_o, weight, row, todo, lane, m);
    }
  }
  m.sum = sum_over_wave(m.sum, lane);
// [9 more lines of templates/mla_decode/lib/merge_wave.h]

MLAF_DEV void find_pieces(const mlaf_decode_args& a, i64 width, int parts, i64 row, int lane, sources& from) {
// [9 more lines of templates/mla_decode/lib/merge_wave.h]

typedef u32x4 line[2]; // halves of 128 bytes, of which a lane has 16 bytes each
// [37 more lines of templates/mla_decode/combine_values_wave.hip.in]
    const int vector = lane + 64 * i;
    *(u32x2*)(lds + x_chunk(at, vector / 2) + vector % 2 * 8) =
// [16 more lines of templates/mla_decode/combine_values_wave.hip.in]
    for (int i = 0; i < VECTORS; i++) *(f32x4*)(sums + wave * R + 4 * (lane + 64 * i)) = m.o[i] * scale;
  __syncthreads();
// [27 more lines of templates/mla_decode/combine_values_wave.hip.in]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(512, 512),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_decode_combine_values_wave_38e92eae(mlaf_values_args p) {
  __shared__ __attribute__((aligned(16))) char lds[24608];
  const int lane = thread_id() & 63, wave = uniform(thread_id() >> 6);
// [13 more lines of templates/mla_decode/combine_values_wave.hip.in]
  int* const kinds = (int*)(lds + KINDS_AT); // of rows
// [3 more lines of templates/mla_decode/combine_values_wave.hip.in]
  if (at < n) from = sources_of(arguments_again(), c, (t0 + at) * H + head, lane);
  const bool far = c.parts > 0 && from.count > MANY * team, real = from.count > 0 && !far;
// [60 more lines of templates/mla_decode/combine_values_wave.hip.in]
