// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/dot_fp8 target=sm_90a cols=16 depth=8 dtype=f16 nope=64 pass=4 rank=256 rope=32 style=halves threads=128 weights=1

#define MLAF_BF16 0
// [39 more lines of tests/golden/mla_append/rows.cu]
// [templates/lib/projection/args.h]
// [4 more lines of tests/golden/mla_q_absorb/aside.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_dot_fp8_426986f1_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    17, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 64, OUTER = 256, TOKENS = 4, THREADS = 128;
constexpr int TILE = 128, WAYS = 8;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [18 more lines of tests/golden/lib/projection/stay.hip]

MLAF_DEV void ask_turn(const mlaf_projection_kernel_args& a, int first, int step) {
// [33 more lines of tests/golden/mla_q_absorb/aside.cu]
      float &p = v[0][k], &q = v[ITEM_CHUNKS - 1][k];
// [46 more lines of tests/golden/lib/projection/stay.hip]
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
// [24 more lines of tests/golden/mla_index/logits.cu]

MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
// [19 more lines of tests/golden/mla_dequant/rows.cu]

constexpr int SPAN = TILE / 8, ROWS = (INNER + WAYS - 1) / WAYS; // rows of a thread, every WAYS-th
constexpr int DEPTH = ROWS < 8 ? ROWS : 8;

template <int N>
// [7 more lines of templates/lib/projection/dot.h]
#pragma unroll
// [4 more lines of templates/lib/projection/dot.h]
#pragma unroll
// [7 more lines of templates/lib/projection/dot.h]

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_q_absorb_dot_fp8_426986f1(const mlaf_projection_scaled_args a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
// [5 more lines of templates/lib/projection/dot.h]
  wait_for_previous_launch();
// [8 more lines of templates/lib/projection/dot.h]
    }
// [5 more lines of templates/lib/projection/dot.h]
      add_rows<DEPTH>(p.w + output, a.w_row, row, inputs, s);
    if (ROWS % DEPTH) add_rows<(ROWS % DEPTH ? ROWS % DEPTH : 1)>(p.w + output, a.w_row, row, inputs, s);
#pragma unroll
// [9 more lines of templates/lib/projection/dot.h]
