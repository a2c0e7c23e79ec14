// Generated from templates/mla_decode/sm90_raw.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_raw target=sm_90a cache=3 causal=1 cluster=6 dtype=bf16 heads=20 load=rows page_size=3 q_len=2 rank=512 rope=64 rows=16 schedule=fitted

#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
struct mlaf_narrow { // 32 bits that count in 64
// [19 more lines of tests/golden/mla_decode/mma.cu]
  const float* kv_scale;
  struct mlaf_narrow total_q;
  int reserved;
  int num_pages;
// [12 more lines of tests/golden/mla_decode/mma.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_raw_74422367_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 227800,
    {1, 6, 1}, 13, 0, {}, 0,
    {}};
// [6 more lines of tests/golden/mla_decode/mma.cu]
#define SCHEDULE_FIXED 256
// [templates/mla_decode/lib/schedule.h]
// [54 more lines of tests/golden/mla_decode/sm90_few.cu]

constexpr int H = 20, Q_LEN = 2, R = 512, ROPE = 64, PAGE = 3;
constexpr bool CAUSAL = 1;
constexpr int N = 16, W = 2, C = 6, MATH = 128 * W; // threads of math
constexpr int NV = R / 64, GROUPS = 4; // blocks of columns of O; groups of columns with a P of their own
constexpr int COLS = N / 4; // columns of S^T and O^T that a thread has a part of: 8j + 2 (lane%4) + i at [2j + i]
constexpr int TOKEN = 656, PITCH = 656, TILE = 41984, RING = 4, NB = 1; // a tile is one box
constexpr int AT_ONCE = 1;  // rows of a copy
constexpr int BUFFERS = 3;           // pairs of A operands that a warp has under way
constexpr int AHEAD = 2;             // loads of ldmatrix that it asks for before: one takes 30 clocks
constexpr int Q_SLAB = 128 * N, P_SLAB = 128 * N, OUT_COLS = 256;
struct shared_memory { // from the first multiple of 1024 on
  char ring[167936], q[18432], p[W][8192]; // Q and P: swizzled
  char raw_q[18432];          // of the next piece, as it is
  char warps[192 * N];                      // at a piece's end: row states of all math warps
  float state[N][C][4];                     // of each row: maximum, sums, as the blocks of the cluster send them
  float tops[W][4][N + 4];                  // of each row, by warp
  u64 full[RING], empty[RING];              // barriers
  u64 ends[2], met;   // states of the cluster are there; what this block writes of O is; pieces of other parts are
  u64 full_q, empty_q;
  char facts[2][80];       // of the next piece, of this one
  float rows[N];                            // factors of scores
  int bad[RING]; // of each slot: the number of the last tile with a bad page
};
// [3 more lines of templates/mla_decode/sm90_raw.cu.in]
static_assert(BAD_AT + 4 * RING + 1024 == 227800, "plans/sm90_raw.lua counts otherwise");
constexpr int LAND_AT = 33024; // O that other blocks of the cluster send, in the place of the ring
constexpr int SCORED = 6;                // named barriers: this warpgroup may wait for its next tile
// [3 more lines of templates/mla_decode/sm90_raw.cu.in]
#define FIT_CUT 1000
// [templates/mla_decode/lib/fit.h]
// [36 more lines of tests/golden/mla_decode/sm90_few.cu]
};
// [13 more lines of tests/golden/mla_decode/sm90_mid.cu]
  const bool tells = blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && fit_apart(&a);
// [11 more lines of tests/golden/mla_decode/sm90_few.cu]
    if (!at.whole) {
// [14 more lines of tests/golden/mla_decode/sm90_few.cu]
      if (at.done) return false;
// [24 more lines of tests/golden/mla_decode/sm90_mid.cu]
      w.whom = 0;
// [39 more lines of templates/mla_decode/sm90_few/work.h]
MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int rows) {
// [13 more lines of tests/golden/mla_decode/sm90_few.cu]

MLAF_DEV int token_at(int position) { return position; }
MLAF_DEV int place_of(int token) { return token * PITCH; }
constexpr int STEP_8 = 8, STEP_16 = 2 * STEP_8 * PITCH; // from a position to that 8 behind it: tokens. 16: bytes

struct facts {
// [4 more lines of templates/mla_decode/sm90_raw.cu.in]
static_assert(sizeof(facts) <= 80, "gen/ops/mla_decode/plans/sm90_raw.lua leaves too little room");
MLAF_DEV facts& facts_of(char* base, int which) { return *(facts*)(base + FACTS_AT + which * 80); }

// [2^14, 2^15), since f16 keeps what is 2^-29 of that exactly where it has room for Q's 16 bits. Rows of 128 bytes, swizzled, a
constexpr int Q_ROW = 2 * (R + ROPE), Q_BLOCKS = (R + ROPE) / 16; // of 16 columns
constexpr int Q_THREADS = N <= 8 ? 32 : N <= 16 ? 16 : 8, Q_EACH = (Q_BLOCKS + Q_THREADS - 1) / Q_THREADS; // of a row

MLAF_DEV float larger_of(u32 x, float than) { return fmaxf(than, fmaxf(fabsf(unpack_lo(x)), fabsf(unpack_hi(x)))); }
// [5 more lines of templates/mla_decode/sm90_raw/query.h]

MLAF_DEV void take_q(char* base, int rows, float scale) {
  const int n = threadIdx.x / Q_THREADS, first = threadIdx.x % Q_THREADS, second = first / 4 % 2;
// [8 more lines of templates/mla_decode/sm90_raw/query.h]
      if (n < rows && k < Q_BLOCKS) x[j][i] = *(const uint4*)(base + RAW_Q_AT + n * Q_ROW + 32 * k + 16 * (i ^ second));
      top = larger_of(x[j][i].x, larger_of(x[j][i].y, larger_of(x[j][i].z, larger_of(x[j][i].w, top))));
// [16 more lines of templates/mla_decode/sm90_raw/query.h]
    if (k >= R / 16) {
#pragma unroll
// [11 more lines of templates/mla_decode/sm90_raw/query.h]
// [templates/mla_decode/sm90_few/take_pieces.h]
MLAF_DEV void announce(const mlaf_decode_args& a, char* base, u32 smem, int k, const work& w, const place& at, bool none);
MLAF_DEV void copy_bytes(u32 to, const char* from, int bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
// [5 more lines of templates/mla_decode/sm90_raw/load.h]
  if (mine >= rows) return;
  to += mine * PITCH;
  if (lane < 16) copy_bytes(to, a.ckv + (u64)row * a.ckv_row_stride, TOKEN, full);
// [5 more lines of templates/mla_decode/sm90_raw/load.h]
  constexpr bool joined = true;
// [29 more lines of templates/mla_decode/sm90_raw/load.h]
      bring(a, smem + TILE * at.slot + warp * (TILE / 4), row, smaller(rows, 16), full, joined);
      advance(at, 1);
// [6 more lines of templates/mla_decode/sm90_raw/load.h]

MLAF_DEV void announce(const mlaf_decode_args& a, char* base, u32 smem, int k, const work& w, const place& at, bool none) {
  const int bytes = none ? 0 : w.rows * Q_ROW;
  barrier_wait(smem + EMPTY_Q_AT, (k & 1) ^ 1);
// [3 more lines of templates/mla_decode/sm90_raw.cu.in]
    if (bytes > 0) copy_bytes(smem + RAW_Q_AT, a.q + w.row * Q_ROW, bytes, smem + FULL_Q_AT);
  }
  __syncwarp();
}

// [templates/mla_decode/sm90_raw/bytes.h]
MLAF_DEV void mma_f16(float (&d)[N / 2], const u32 (&a)[4], u32 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %13, 0;\nmov.b64 b, {%12, %14};\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, b, p, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((u32)add), "n"(64 | 1u << 30));
}
MLAF_DEV void mma_bf16(float (&d)[N / 2], const u32 (&a)[4], u32 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %13, 0;\nmov.b64 b, {%12, %14};\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, b, p, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((u32)add), "n"(64 | 1u << 30));
// [8 more lines of templates/mla_decode/sm90_raw/mma.h]

struct token_scales {
  float of[2][GROUPS];
};

MLAF_DEV void scores(u32 at, u32 scales_at, u32 q, float (&s)[N / 2], token_scales& scales) {
  constexpr int STEPS = NV * 2, EACH = R / GROUPS; // of 16 columns in each of two groups; columns of a group
// [4 more lines of templates/mla_decode/sm90_raw/products.h]
  for (int k = 0; k < 4; k++) load_matrices(a[k / 2][k % 2], at + 16 * second + TOKEN - 128 + 32 * k);
// [7 more lines of templates/mla_decode/sm90_raw/products.h]
    mma_bf16(s, a[k][0], q + (NV * Q_SLAB + 64 * k) / 16, k > 0);
    mma_bf16(s, a[k][1], q + (NV * Q_SLAB + 64 * k + 32) / 16, true);
    mma_commit();
  }
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const uint4 y = load_16(scales_at + h * (8 * PITCH));
    scales.of[h][0] = float_of(y.x), scales.of[h][1] = float_of(y.y);
// [25 more lines of templates/mla_decode/sm90_raw/products.h]

MLAF_DEV void multiply_v(u32 at, u32 p, float (&o)[NV][N / 2]) {
// [22 more lines of templates/mla_decode/sm90_raw/products.h]
constexpr float LIFT = 13.0f, SLACK = 2.0f, LOWEST = -1e30f;
// [4 more lines of templates/mla_decode/sm90_raw/softmax.h]
  float inverse[GROUPS];    // P is multiplied by a token's scale over a power of two that none exceeds, so that f16 has it
};
// [9 more lines of templates/mla_decode/sm90_raw/softmax.h]
  for (int g = 0; g < GROUPS; g++) r.inverse[g] = 0x1p100f;
}
// [5 more lines of templates/mla_decode/sm90_raw/softmax.h]

MLAF_DEV bool too_high(const float (&s)[N / 2], const token_scales& scales, const row_state& r) {
  bool higher = false;
// [6 more lines of templates/mla_decode/sm90_raw/softmax.h]

MLAF_DEV void raise(const float (&s)[N / 2], const token_scales& scales, row_state& r, float (&o)[NV][N / 2], float* tops,
                    int group) {
  constexpr int EACH = N + 4;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
// [27 more lines of templates/mla_decode/sm90_raw/softmax.h]
    const float top = top_of(N + g);
    if (!(top * r.inverse[g] > 1.0f)) continue;
// [9 more lines of templates/mla_decode/sm90_raw/softmax.h]

MLAF_DEV void store_p(const float (&s)[N / 2], const token_scales& scales, const row_state& r, float (&sum)[COLS], u32 p) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
// [6 more lines of templates/mla_decode/sm90_raw/softmax.h]
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const u32 to = at + g * P_SLAB;
    u32 packed[N / 4];
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      const float by = scales.of[i % 2][g] * r.inverse[g];
      packed[i] = pack_f16(x[2 * i] * by, x[2 * i + 1] * by);
    }
// [5 more lines of templates/mla_decode/sm90_raw/softmax.h]
}

MLAF_DEV void clear_rows(char* tile, int valid, int group) {
// [8 more lines of templates/mla_decode/sm90_raw.cu.in]
  const u32 q = operand(smem + Q_AT), p_at = smem + P_AT + group * 8192;
  const u32 k_at = smem + place_of(token_at(16 * warp + lane % 16));
  const u32 v_at = smem + place_of(token_at(lane % 16)) + lane / 16 * 64 + 16 * warp;
  const int own_token = token_at(16 * warp + lane / 4); // and STEP_8 behind it
  auto sees = [&](int row) { return smaller(w.end, CAUSAL ? w.tokens - (w.n - 1 - (w.row0 + row) / H) : w.end); };
  const int all_see = sees(0);
  advance(at, group);
// [12 more lines of templates/mla_decode/sm90_raw.cu.in]
    scores(k_at + tile, smem + tile + place_of(own_token) + R, q, s, scales);
#pragma unroll
// [8 more lines of templates/mla_decode/sm90_raw.cu.in]
    store_p(s, scales, r, sum, p_at);
    fence_async();
    if (named_any(1 + group, 128, too_high(s, scales, r))) {
      raise(s, scales, r, o, (float*)(base + TOPS_AT) + 4 * (N + 4) * group, group);
      store_p(s, scales, r, sum, p_at);
      fence_async();
// [4 more lines of templates/mla_decode/sm90_raw.cu.in]
    multiply_v(v_at + tile, operand(p_at), o);
// [5 more lines of templates/mla_decode/sm90_raw.cu.in]
  for (int i = 0; i < NV; i++)
#pragma unroll
    for (int k = 0; k < N / 2; k++) o[i][k] *= float_of((254u << 23) - bits_of(r.inverse[i / (NV / GROUPS)])); // a power of two
}
// [8 more lines of tests/golden/mla_decode/sm90_few.cu]
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.sum[c]);
    if (lane < 4) parts[(8 * group + warp) * N + 8 * (c / 2) + 2 * lane + c % 2] = make_float4(r.m[c], sum, weight, 0.0f);
// [50 more lines of tests/golden/mla_decode/sm90_few.cu]
        float* const to = out + (8 * (c / 2) + c % 2) * STRIDE + 64 * i + 1 * h;
        const float x = o[FIRST + i][c / 2 * 4 + c % 2 + 2 * h] * factor[c];
// [9 more lines of templates/mla_decode/sm90_few/ends.h]
  float* const out = (float*)place_of_o + 2 * (lane % 4) * STRIDE + 16 * warp + lane / 4 * 2;
  float factor[COLS];
// [89 more lines of templates/mla_decode/sm90_few/ends.h]
MLAF_DEV int thread_now() {
// [4 more lines of templates/mla_decode/sm90_raw.cu.in]
MLAF_DEV void finish_last(const mlaf_decode_args& a, const work& w, char* base, u32 smem, int group, const row_state& r,
// [12 more lines of templates/mla_decode/sm90_few/last.h]
    auto unit = [&](int k) { return (first + k) * T + thread_now(); };
#pragma unroll
// [50 more lines of templates/mla_decode/sm90_few/last.h]

MLAF_DEV void cluster_meet() {
// [5 more lines of templates/mla_decode/sm90_raw.cu.in]
  const float scale = a.scale_log2e;
#pragma unroll 1
// [7 more lines of templates/mla_decode/sm90_raw.cu.in]
    take_q(base, next.w.rows, scale);
    if (threadIdx.x < 80 / 4) ((u32*)&known)[threadIdx.x] = ((const u32*)&next)[threadIdx.x];
    fence_async();
// [16 more lines of templates/mla_decode/sm90_raw.cu.in]
    if (known.w.whole) {
      merge_states<C>(base, smem, group, cta_id, r);
// [14 more lines of templates/mla_decode/sm90_raw.cu.in]
      barrier_init(full_barrier(smem, s), 4);
      barrier_init(empty_barrier(smem, s), 4);
// [14 more lines of templates/mla_decode/sm90_raw.cu.in]

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_raw_74422367(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ char raw[];
// [4 more lines of templates/mla_decode/sm90_raw.cu.in]
    asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
    make_barriers(base, smem, threadIdx.x - MATH);
// [6 more lines of templates/mla_decode/sm90_raw.cu.in]
    produce(p.a, smem, base);
    if (C > 1) cluster_wait();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
    if (threadIdx.x < 32) look_ahead(p.a);
// [6 more lines of templates/mla_decode/sm90_raw.cu.in]
