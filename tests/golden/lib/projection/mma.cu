// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/mma_fp8 target=sm_90a cols=2 dtype=bf16 nope=256 pass=16 rank=512 rope=64 stages=3 style=halves ways=8 weights=1

#define MLAF_BF16 1
// [40 more lines of tests/golden/mla_gather_kv_b/mma.cu]
// [templates/lib/projection/args.h]
// [4 more lines of tests/golden/mla_q_absorb/aside.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_mma_fp8_e77f742f_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 62208, {1, 1, 1},
    17, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 256, OUTER = 512, TOKENS = 16, COLS = 2, WAYS = 8, STAGES = 3;
constexpr int THREADS = 512, TILE = 32, STEP = 256, STEPS = (INNER + STEP - 1) / STEP;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [3 more lines of tests/golden/lib/projection/stay.hip, with other numbers]
// [97 more lines of tests/golden/lib/projection/dot.cu]
constexpr int NT = TOKENS / 8;
constexpr int PITCH_X = 2 * STEP + 16, PITCH_W = 48; // bytes
constexpr int X_AT = 12288, GAIN_AT = X_AT + TOKENS * PITCH_X, STAGE = 20736; // in a stage

MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
// [45 more lines of tests/golden/lib/projection/dot.cu]
MLAF_DEV u32 load_two(u32 at) {
// [17 more lines of templates/lib/projection/mma_fp8.h]
  return scale_at(a, scales_of(a, p.head, value), output);
}
MLAF_DEV void copy_step(const mlaf_projection_kernel_args& a, const place& p, i64 t0, int step, u32 at, int thread) {
  const int first = step * STEP;
  constexpr int CHUNKS = TILE / 16, W_ROWS = STEP;
#pragma unroll
// [3 more lines of templates/lib/projection/mma.h]
    const int output = p.first + 16 * chunk, value = first + row;
    const bool real = (OUTER % TILE == 0 || output < OUTER) && (INNER % STEP == 0 || value < INNER);
    copy16(at + row * PITCH_W + 16 * chunk, real ? p.w + value * a.w_row + output : p.w, real);
  }
// [7 more lines of templates/lib/projection/mma.h]
}

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_q_absorb_mma_fp8_e77f742f(const mlaf_projection_scaled_args a) {
  extern __shared__ __align__(128) char memory[];
// [6 more lines of templates/lib/projection/mma.h]
  wait_for_previous_launch();
// [4 more lines of templates/lib/projection/mma.h]
#pragma unroll
// [17 more lines of templates/lib/projection/mma.h]
      const u32 xa = x + (lane & 7) * PITCH_X + 64 * way + (lane >> 3) * 16;
// [3 more lines of templates/lib/projection/mma.h]
        load_matrices(b, xa + n * 8 * PITCH_X);
        float part[4] = {};
// [4 more lines of templates/lib/projection/mma.h]
      }
// [5 more lines of templates/lib/projection/mma.h]
    float* const mine = sums + way * TOKENS * PITCH + 16 * col + 2 * (lane >> 2);
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) mine[(8 * n + 2 * (lane & 3) + (i & 1)) * PITCH + (i >> 1)] = s[n][i];
    __syncthreads();
    finish(a, p, t0, sums, squares);
    __syncthreads(); // the next pass copies to where the sums are
// [3 more lines of templates/lib/projection/mma.h]
