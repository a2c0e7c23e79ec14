// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/ring target=sm_90a dtype=bf16 heads=16 nope=128 norm=1 pass=16 per_sm=3 q_rank=1536 rope=64 rows=32 split=2 ways=2

#define MLAF_BF16 1
// [45 more lines of tests/golden/lib/projection/mma.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_ring_2d2c92e4_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 66816, {2, 1, 1},
// [3 more lines of tests/golden/lib/projection/stationary_fp8.cu, with other numbers]
  mlaf_projection_kernel_args a;
  mlaf_tensor_map w, x;
// [8 more lines of tests/golden/lib/projection/stationary_fp8.cu]
MLAF_DEV void wgmma_rs(float (&d)[16], const u32 (&a)[4], u32 b, bool accumulate) {
// [3 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
    "{%16, %17, %18, %19}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
// [8 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
// [13 more lines of tests/golden/mla_decode/combine_values.cu]

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 16, TILE = 32, WAYS = 2, SPLIT = 2;
constexpr int THREADS = 320, STAGES = 10, STEPS = INNER / 64;
constexpr int WAY_WARPS = 4, MATH_WARPS = WAYS * WAY_WARPS; // that multiply a step, and all
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [43 more lines of tests/golden/lib/projection/mfma.hip]
struct gain_scale {
// [9 more lines of templates/lib/projection/gain.h]
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;
// [23 more lines of templates/lib/projection/sums.h]

MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank, float up = 1.0f) {
  if (WAYS > 1) // this block's share first, into where its first warp's was
#pragma unroll 1
    for (int i = (int)my_thread(); i < QUADS_OF_PASS; i += THREADS) {
      float* const at = sums + i / QUADS * PITCH + i % QUADS * 4;
// [15 more lines of templates/lib/projection/sums.h]
  for (int i = rank * SHARE + (int)my_thread(); i < smaller(QUADS_OF_PASS, rank * SHARE + SHARE); i += THREADS) {
    const int token = i / QUADS, column = i % QUADS * 4;
// [10 more lines of templates/lib/projection/sums.h]
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] *= factor;
    word2 y;
// [3 more lines of templates/lib/projection/sums.h]
}
constexpr int W_AT = TOKENS * 128, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = 63488, EMPTY_AT = FULL_AT + 8 * STAGES;
constexpr int GAIN_AT = 63744;
constexpr int W_WARP = MATH_WARPS, X_WARP = MATH_WARPS + 1;
constexpr int TURN_AT = 320, TURN_THREADS = 0;

MLAF_DEV void sync_workers() {
  __syncthreads();
}

// [templates/lib/projection/places.h]

// [templates/lib/projection/x_rows.h]

MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage, to = shared + r.stage * STAGE + W_AT;
  const int column = (int)(at.head * p.a.w_head / 2);
  barrier_expect(full, W_BYTES + x_rows(p.a.tokens) * 128);
  copy_box_once(to, &p.w, column + 64 * step, at.first, full);
}
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, int step, i64 t0, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
  copy_box(shared + r.stage * STAGE, &p.x, (int)(at.head * p.a.x_head / 2) + 64 * step, (int)t0, full);
// [19 more lines of templates/lib/projection/ring.h]

MLAF_DEV u32 times(u32 a, u32 b) { // two pairs multiplied, each product rounded once
  u32 x;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
// [30 more lines of templates/lib/projection/norm_x.h]

struct stage_at {
// [6 more lines of templates/lib/projection/ring.h]
}

MLAF_DEV void multiply_pass(char* memory, u32 shared, int begin, int end, int thread, ring& all) {
// [6 more lines of templates/lib/projection/ring.h]
  float d[TILE / 2];
// [5 more lines of templates/lib/projection/ring.h]
  constexpr bool KNOWN = STEPS % (2 * WAYS * SPLIT) == 0 && 1;
  const int steps = KNOWN ? STEPS / (WAYS * SPLIT) : (end - begin + WAYS - 1) / WAYS;
// [12 more lines of templates/lib/projection/ring.h]
      for (int j = 0; j < 4; j++) wgmma_rs(d, a[i][j], s.w + 2 * j, true);
      wgmma_commit();
// [7 more lines of templates/lib/projection/ring.h]
  wgmma_wait<0>();
  settle(d);
  if (before) give_back(before, lane);
  sync_workers(); // the ring is done with
  const int row = 16 * warp + (lane >> 2);
  float* const sums = (float*)(memory) + way * TOKENS * PITCH;
  float* const squares_at = (float*)memory + SQUARES_AT + way * TOKENS;
#pragma unroll
// [9 more lines of templates/lib/projection/ring.h]

extern "C" __global__ void __launch_bounds__(320, 1) mlaf_mla_q_b_ring_2d2c92e4(
    const __grid_constant__ mlaf_projection_params p) {
  extern __shared__ __align__(1024) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0), rank = (int)(my_block() % SPLIT);
  const place at = place_of(p.a, my_block() / SPLIT);
  const int begin = STEPS * rank / SPLIT, end = STEPS * (rank + 1) / SPLIT;
// [10 more lines of templates/lib/projection/ring.h]
  const gain_scale shrink = scale_of_gain(p.a, thread & 31);
  lay_gain(p.a, shrink, memory, thread);
  __syncthreads();
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();
#pragma unroll 1
// [5 more lines of templates/lib/projection/ring.h]
      multiply_pass(memory, shared, begin, end, thread, r);
    }
    if (warp >= W_WARP) sync_workers(); // the ring is done with
    sync_workers();
    write_pass(p.a, at, t0, (float*)memory, rank, shrink.up());
    fence_async(); // copies of the next pass come to where the sums are
    sync_cluster(); // nobody reads this block's sums any more
  }
}
