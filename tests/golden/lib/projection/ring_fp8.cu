// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/ring_fp8_append target=sm_90a append=1 append_norm=1 append_style=0 dtype=bf16 heads=16 nope=128 norm=1 pass=64 per_sm=1 q_rank=1536 rank=512 rope=64 rows=192 split=1 ways=1 weights=1

#define MLAF_BF16 1
// [90 more lines of tests/golden/lib/projection/stationary_fp8.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_ring_fp8_append_86520baa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 209152, {1, 1, 1},
    8337, 0, 0, {0, 0}, 2, {{1, 64, 192, 128}, {2, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
// [53 more lines of tests/golden/lib/projection/stationary_fp8.cu]

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 64, TILE = 192, WAYS = 1, SPLIT = 1;
constexpr int GROUPS = 3, WAY = 128 * GROUPS; // warpgroups of a way, 64 outputs each; its threads
constexpr int THREADS = 512, STAGES = 5, STEPS = INNER / 128, SCALES = (TILE + 15) / 16;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [234 more lines of tests/golden/lib/projection/ring_absorb.cu]
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;

MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }
// [4 more lines of tests/golden/lib/projection/stationary_fp8.cu]
                         int rank, float up = 1.0f) {
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += WAY * WAYS) {
    const int token = i / OCTETS, column = i % OCTETS * 8;
// [10 more lines of templates/lib/projection/sums.h]
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k / 4][k % 4] *= factor;
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column),
// [3 more lines of templates/lib/projection/sums.h]
constexpr int W_AT = TOKENS * 256, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = 204800, X_AT = FULL_AT + 8 * STAGES, EMPTY_AT = X_AT + 8 * STAGES; // W is there; x; room
constexpr int SCALES_AT = 208000;
constexpr int GAIN_AT = 204928, PARTS_AT = SQUARES_AT + WAYS * TOKENS; // of squares: floats, behind their sums
constexpr int SQUARERS = GROUPS == 3 ? 256 : WAY; // threads of a way that square x: each as much of it
constexpr int W_WARP = 4 * GROUPS * WAYS, X_WARP = W_WARP + 1;

// [templates/lib/projection/places.h]
// [4 more lines of tests/golden/lib/projection/ring.cu]
  const u32 full = shared + FULL_AT + 8 * r.stage;
// [59 more lines of templates/lib/projection/ring_fp8.h]
MLAF_DEV void take_w(u32 (&a)[4][4], u32 w, int half, int g, u32 gain) {
  u32 codes[4][4];
// [13 more lines of templates/lib/projection/ring_fp8.h]
    for (int i = 0; i < 4; i++) a[j][i] = times(expand2<0>(codes[j][i]), gains[j][i >> 1]);
}
// [6 more lines of templates/lib/projection/ring_fp8.h]
MLAF_DEV void multiply_half(float (&part)[TOKENS / 2], const u32 (&a)[4][4], u32 x, bool beside) {
  if (!beside) settle(part);
// [5 more lines of templates/lib/projection/ring_fp8.h]
MLAF_DEV void finish_part(float (&total)[TOKENS / 2], float (&part)[TOKENS / 2], float scale) {
  wgmma_wait<0>();
  settle(part);
#pragma unroll
  for (int i = 0; i < TOKENS / 2; i++) total[i] = fmaf(part[i], scale, total[i]);
}

template <bool WHOLE>
MLAF_DEV float multiply_steps(float (&total)[TOKENS / 2], char* memory, u32 shared, int begin, int step, int end, int thread,
                              ring r) {
  const int lane = thread & 31, warp = __shfl_sync(~0u, thread >> 5, 0) % (4 * GROUPS), g = lane >> 2, t = lane & 3;
  const float* const scales = (const float*)(memory + SCALES_AT) + (warp < SCALES ? warp : 0);
  const u32 row = W_AT + (16 * warp + g) * 128 + 2 * t, gain = shared + GAIN_AT + 4 * t;
  float part[TOKENS / 2], square = 0.0f;
#pragma unroll
  for (int i = 0; i < TOKENS / 2; i++) part[i] = 0.0f;
  u32 a[2][4][4]; // of half steps
  barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
  take_w(a[0], shared + r.stage * STAGE + row, 0, g, gain + 256 * step);
  wait_for_previous_launch(); // weights come ahead of it, and so do their first numbers
// [10 more lines of templates/lib/projection/ring_fp8.h]
    multiply_half(part, a[0], x, false);
// [6 more lines of templates/lib/projection/ring_fp8.h]
    take_w(a[0], shared + next.stage * STAGE + row, 0, g, gain + 256 * (last ? step : step + WAYS));
    barrier_wait(full + (X_AT - FULL_AT), next.lap); // without a branch here the compiler makes most numbers behind the products
    finish_part(total, part, scales[(2 * (step - begin) + 1) * SCALES]);
// [5 more lines of templates/lib/projection/ring_fp8.h]

MLAF_DEV void multiply_pass(const mlaf_projection_scaled_args& args, char* memory, u32 shared, int begin, int end, int thread,
// [7 more lines of templates/lib/projection/ring_fp8.h]
  float total[TOKENS / 2];
#pragma unroll
  for (int i = 0; i < TOKENS / 2; i++) total[i] = 0.0f;
  const float square = args.scale_first_column % 128 == 0
    ? multiply_steps<true>(total, memory, shared, begin, begin + first, end, thread, r)
    : multiply_steps<false>(total, memory, shared, begin, begin + first, end, thread, r);
  __syncthreads(); // the ring is done with
// [6 more lines of templates/lib/projection/ring_fp8.h]
    for (int j = 0; j < TOKENS / 8; j++)
#pragma unroll
// [12 more lines of templates/lib/projection/ring_fp8.h]

MLAF_DEV void load_pass(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int warp,
// [14 more lines of templates/lib/projection/load_pass.h]

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_q_b_ring_fp8_append_86520baa(
    const __grid_constant__ beside<mlaf_projection_params> p) {
  extern __shared__ __align__(1024) char memory[];
// [22 more lines of templates/lib/projection/ring_fp8.h]
    asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
#pragma unroll 1
    for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
      load_pass(p, shared, at, begin, end, t0, warp, thread, r);
      for (int i = 0; i < 3; i++) __syncthreads(); // the ring is done with; sums are there
      __syncthreads(); // sums are written
// [3 more lines of templates/lib/projection/ring_fp8.h]
  asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    multiply_pass(p.a, memory, shared, begin, end, thread, r);
    __syncthreads();
    add_parts((float*)memory, thread);
    __syncthreads();
    write_pass(p.a, at, t0, (float*)memory, rank);
    fence_async(); // copies of the next pass come to where the sums are
    __syncthreads();
  }
}
