// Generated from templates/mla_decode/sm90_raw_mid.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_raw_mid target=sm_90a cache=3 causal=1 dtype=bf16 heads=20 load=pages page_size=16 q_len=2 rank=512 rope=64 rows=48 schedule=splits

#define MLAF_BF16 1
// [38 more lines of tests/golden/mla_decode/sm90_raw.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_raw_mid_68780874_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 196512,
    {1, 1, 1}, 1, 0, {}, 0,
    {}};
// [62 more lines of tests/golden/mla_decode/sm90_raw.cu]

constexpr int H = 20, Q_LEN = 2, R = 512, ROPE = 64, PAGE = 16;
constexpr bool CAUSAL = 1;
constexpr int N = 48, C = 1, VALUES = 256, MATH = 384;
constexpr int NV = R / 64, HALF = NV / 2, GROUPS = 4; // blocks of columns of O; groups of columns with a scale
constexpr int COLS = N / 4; // columns of S^T and O^T that a thread has a part of: 8j + 2 (lane%4) + i at [2j + i]
constexpr int TOKEN = 656, PITCH = 656, TILE = 41984, RING = 3, NB = 1; // a tile is one box
constexpr int AT_ONCE = 16; // rows of a copy
constexpr int BUFFERS = 2, V_BUFFERS = 1;
constexpr int AHEAD = 1, V_AHEAD = AHEAD;
constexpr int Q_SLAB = 128 * N;
constexpr float LIFT = 5.0f, SLACK = 10.0f, LOWEST = -1e30f;
constexpr int PS = 2; // places of P
struct shared_memory {
  char q[55296], p[PS][128 * N]; // swizzled
  char scales[PS][GROUPS][128]; // of a tile's tokens, in f16
  char ring[RING][TILE];
  float refs[N], factors[PS][N], rows[N]; // m of each row; what O is multiplied by; factors of scores
  float sums[4][N], inverse[N];           // by warp: maxima of a tile, at the end sums; 1 over the sum of them
  u64 full[RING], empty[RING], full_q, empty_q, p_full[PS], p_empty[PS], end; // barriers
  __align__(16) char facts[80];
  int raised[PS], bad[RING]; // 1: O is to be multiplied; of each slot: the number of the last tile with a bad page
};
// [4 more lines of templates/mla_decode/sm90_raw_mid.cu.in]
constexpr int SCALES_AT = AT(scales);
static_assert(sizeof(shared_memory) == 196512, "plans/sm90_raw_mid.lua counts otherwise");
constexpr int Q_READY = 4, BEGUN = 5, MADE = 6;

template <typename T>
// [41 more lines of tests/golden/mla_decode/sm90_mid.cu]
  at.whole = true;
  at.mine = schedule_entry(&a, blockIdx.z);
}
// [4 more lines of tests/golden/mla_decode/sm90_few.cu]
    {
// [10 more lines of tests/golden/mla_decode/sm90_mid.cu]
      slot = a.splits == 1 ? -1 : (int)blockIdx.y / C;
    }
// [52 more lines of tests/golden/mla_decode/sm90_mid.cu]
MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int rows) {
// [6 more lines of tests/golden/mla_decode/sm90_few.cu]
  if (lane == 0) fetch_line(a.kv_last_page_lens + request);
// [5 more lines of tests/golden/mla_decode/sm90_few.cu]
MLAF_DEV int token_at(int position) { return position; }
// [5 more lines of tests/golden/mla_decode/sm90_raw.cu]
  bool none; // there is no piece left
};
static_assert(sizeof(facts) <= 80, "gen/ops/mla_decode/plans/sm90_raw_mid.lua leaves too little room");

// [2^14, 2^15), since f16 keeps what is 2^-29 of that exactly where it has room for Q's 16 bits. Rows of 128 bytes, swizzled, a
// [5 more lines of tests/golden/mla_decode/sm90_raw.cu, with other numbers]

MLAF_DEV void take_q(char* base, const char* q, int rows, float scale) {
  const int n = threadIdx.x / Q_THREADS, first = threadIdx.x % Q_THREADS, second = first / 4 % 2;
// [8 more lines of templates/mla_decode/sm90_raw/query.h]
      if (n < rows && k < Q_BLOCKS) x[j][i] = *(const uint4*)(q + n * Q_ROW + 32 * k + 16 * (i ^ second));
      top = larger_of(x[j][i].x, larger_of(x[j][i].y, larger_of(x[j][i].z, larger_of(x[j][i].w, top))));
// [29 more lines of tests/golden/mla_decode/sm90_raw.cu]
MLAF_DEV void announce(const mlaf_decode_args&, char* base, u32 smem, int k, const work& w, const place&, bool none) {
// [7 more lines of templates/mla_decode/sm90_raw_mid.cu.in]
MLAF_DEV void copy_bytes(u32 to, const char* from, int bytes, u32 barrier) {
// [6 more lines of tests/golden/mla_decode/sm90_raw.cu]
  if (joined && a.ckv_row_stride == TOKEN) {
// [6 more lines of templates/mla_decode/sm90_raw/load.h]
  if (lane < 16) copy_bytes(to, a.ckv + (u64)row * a.ckv_row_stride, TOKEN, full);
// [35 more lines of tests/golden/mla_decode/sm90_raw.cu]
      bring(a, smem + RING_AT + TILE * at.slot + warp * (TILE / 4), row, smaller(rows, 16), full, joined);
      advance(at, 1);
      at.tile++;
// [3 more lines of tests/golden/mla_decode/sm90_mid.cu]

// [templates/mla_decode/sm90_raw/bytes.h]
// [3 more lines of tests/golden/mla_decode/sm90_raw.cu, with other numbers]
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}, {%24, %25, %26, %27}, b, p, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((u32)add), "n"(64 | 1u << 30));
// [3 more lines of tests/golden/mla_decode/sm90_raw.cu]
      "{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %29, 0;\nmov.b64 b, {%28, %30};\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}, {%24, %25, %26, %27}, b, p, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((u32)add), "n"(64 | 1u << 30));
// [8 more lines of templates/mla_decode/sm90_raw/mma.h]
MLAF_DEV float2 load_8(u32 at) {
// [4 more lines of templates/mla_decode/sm90_raw_mid.cu.in]

// [templates/mla_decode/sm90_raw_mid/thread_now.h]

typedef float2 of_rows[N / 8];
// [10 more lines of templates/mla_decode/sm90_raw_mid/scores.h]

struct token_units {
// [3 more lines of templates/mla_decode/sm90_raw_mid/scores.h]

MLAF_DEV void store_p(const float (&x)[N / 2], const token_units& units, of_rows& sum, u32 p) {
#pragma unroll
  for (int j = 0; j < N / 8; j += 2) {
    u32 packed[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float first = exp2_here(x[4 * j + 2 * k]), second = exp2_here(x[4 * j + 2 * k + 1]);
      sum[j + k / 2].x = fmaf(first, units.inverse[k % 2], sum[j + k / 2].x);
      sum[j + k / 2].y = fmaf(second, units.inverse[k % 2], sum[j + k / 2].y);
      packed[k] = pack_f16(first, second);
    }
    store_matrices(p + 1024 * j, packed[0], packed[1], packed[2], packed[3]);
  }
}

constexpr int NEXT = 8 * PITCH;

MLAF_DEV void find_units(token_units& units, const float (&top)[2]) {
// [14 more lines of templates/mla_decode/sm90_raw_mid/scores.h]

MLAF_DEV void scores(u32 at, u32 q, u32 scales, float (&s)[N / 2], token_units& units) {
  constexpr int STEPS = R / 16, EACH = STEPS / GROUPS;
// [6 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
    load_matrices(a[k % BUFFERS], at + second + TOKEN - 2 * ROPE + 32 * k);
    mma_begin();
    mma_bf16(s, a[k % BUFFERS], q + (NV * Q_SLAB + 32 * k) / 16, k > 0);
    mma_commit();
// [25 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
  }
// [4 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
    *(uint4*)(tile + place_of(i / (TOKEN / 16)) + i % (TOKEN / 16) * 16) = make_uint4(0, 0, 0, 0);
  named_sync(1, 128);
}
// [6 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
    if (lane < 4) store_4(smem + SUMS_AT + 4 * (warp * N + 8 * (c / 2) + 2 * lane + c % 2), top);
  }
  named_sync(1, 128);
  if (n < N) {
    float top = load_4(smem + SUMS_AT + 4 * n);
#pragma unroll
    for (int k = 1; k < 4; k++) top = fmaxf(top, load_4(smem + SUMS_AT + 4 * (k * N + n)));
    const float m = load_4(smem + REFS_AT + 4 * n), now = fmaxf(m, top - LIFT);
    store_4(smem + REFS_AT + 4 * n, now);
    store_4(smem + FACTORS_AT + 4 * (i % PS * N + n), exp2_fast(m - now));
  }
  named_sync(1, 128);
  of_rows by;
// [15 more lines of templates/mla_decode/sm90_raw_mid/scores.h]

MLAF_DEV void finish_rows(const mlaf_decode_args& a, u32 smem, const work& w, const of_rows& sum) {
  const int n = thread_now() % 128, lane = n % 32, warp = n / 32;
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float all = sum_over_lanes<4, 32>(c % 2 ? sum[c / 2].y : sum[c / 2].x);
    if (lane < 4) store_4(smem + SUMS_AT + 4 * (warp * N + 8 * (c / 2) + 2 * lane + c % 2), all);
  }
  named_sync(1, 128);
  if (n < N) {
    float all = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) all += load_4(smem + SUMS_AT + 4 * (i * N + n));
    const float scale = 1.0f;
    store_4(smem + INVERSE_AT + 4 * n, all == 0.0f ? 0.0f : scale / all); // no token seen: O = 0
// [8 more lines of templates/mla_decode/sm90_raw_mid/scores.h]

MLAF_DEV void work_on_scores(const mlaf_decode_args& a, char* base, u32 smem) {
// [4 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
  const work& w = ((const facts*)(base + FACTS_AT))->w;
  place at = {0, 0, 1};
#pragma unroll 1
// [5 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
    bool poisoned = w.bad;
    of_rows sum;
// [3 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
    named_sync(Q_READY, MATH);
#pragma unroll 1
    for (int token0 = w.begin; token0 < end; token0 += 64) {
      float s[N / 2], x[N / 2];
      barrier_wait(full_barrier(smem, at.slot), at.lap);
      if (end - token0 < 64) clear_rows(base + RING_AT + TILE * at.slot, end - token0);
      const u32 i = at.tile - 1; // P's number
      const u32 scales = smem + RING_AT + TILE * at.slot + place_of(own_token) + R;
      token_units units;
      scores(k_at + TILE * at.slot, q, scales, s, units);
      of_rows by, m;
// [3 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
#pragma unroll
      for (int c = 0; c < N / 2; c++) s[c] = fmaf(s[c], c % 2 ? by[c / 4].y : by[c / 4].x, -units.log2[c / 2 % 2]);
      poisoned |= bad == at.tile; // a page id that is none
// [5 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
      barrier_wait(smem + P_EMPTY_AT + i % PS * 8, i / PS & 1 ^ 1);
      store_scales(smem + SCALES_AT + i % PS * (128 * GROUPS) + 32 * warp, scales, units);
      const bool higher = named_any(1, 128, relative(s, m, x));
      if (threadIdx.x % 128 == 0) store_u32(smem + RAISED_AT + i % PS * 4, higher);
// [4 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
      store_p(x, units, sum, p_at + i % PS * (128 * N));
      fence_async();
      __syncwarp();
      barrier_arrive_if(lane == 0, smem + P_FULL_AT + i % PS * 8);
      advance(at, 1);
      at.tile++;
// [3 more lines of tests/golden/mla_decode/sm90_mid.cu]
      for (int j = 0; j < N / 8; j++) sum[j] = make_float2(not_a_number(), not_a_number());
    }
    finish_rows(a, smem, w, sum);
    barrier_arrive(smem + EMPTY_Q_AT);
  }
}

MLAF_DEV void rescale(u32 factors, float (&o)[HALF][N / 2]) {
// [16 more lines of templates/mla_decode/sm90_raw_mid/values.h]
MLAF_DEV void multiply_v(u32 at, u32 p, u32 scales, float (&o)[HALF][N / 2], MayBegin may_begin) {
  constexpr int PAIRS = HALF / 2, STEPS = 4 * HALF;
// [31 more lines of templates/mla_decode/sm90_raw_mid/values.h]
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
#pragma unroll
// [9 more lines of templates/mla_decode/sm90_raw_mid/values.h]
        store_u32(smem + Q_AT + n * (2 * R) + ((unit ^ n % 8) << 4) + lane / 4 % 4 * 4,
// [8 more lines of templates/mla_decode/sm90_raw_mid/values.h]
  for (int i = threadIdx.x % 128; i < rows * UNITS; i += 128) {
    const int n = i / UNITS, unit = UNITS * G + i % UNITS;
// [6 more lines of templates/mla_decode/sm90_raw_mid/values.h]
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, rows = w.rows;
  float* const to = a.part_o + (w.part + w.row0) * R + 64 * HALF * G + 16 * warp + lane / 4 * 2;
// [6 more lines of templates/mla_decode/sm90_raw_mid/values.h]
      if (n >= rows) continue;
#pragma unroll
      for (int i = 0; i < HALF; i++)
        *(float2*)(to + n * R + 64 * i) = make_float2(o[i][4 * j + c] * (c ? f.y : f.x), o[i][4 * j + 2 + c] * (c ? f.y : f.x));
    }
// [6 more lines of templates/mla_decode/sm90_raw_mid/values.h]
  const u32 v_at = smem + RING_AT + place_of(token_at(lane % 16)) + lane / 16 * 64 + 16 * warp + 64 * HALF * G;
  const float scale = a.scale_log2e;
  const work& w = ((const facts*)(base + FACTS_AT))->w;
  place at = {0, 0, 1};
#pragma unroll 1
// [3 more lines of templates/mla_decode/sm90_raw_mid/scores.h]
    refuse_request(a, w.bad, w.part, threadIdx.x, VALUES);
    take_q(base, a.q + w.row * Q_ROW, w.rows, scale);
    fence_async();
// [7 more lines of templates/mla_decode/sm90_raw_mid/values.h]
    for (int left = tiles_of(w); left > 0; left--) {
// [3 more lines of templates/mla_decode/sm90_raw_mid/values.h]
      auto may_begin = [] {};
      const u32 scales = smem + SCALES_AT + i % PS * (128 * GROUPS) + 256 * G + lane % 4 * 4;
      multiply_v(v_at + TILE * at.slot, operand(smem + P_AT + i % PS * (128 * N)), scales, o, may_begin);
      barrier_arrive_if(lane == 0, empty_barrier(smem, at.slot));
// [5 more lines of templates/mla_decode/sm90_raw_mid/values.h]
    if (w.part < 0) write_o<G>(a, w, base, smem, o);
// [4 more lines of templates/mla_decode/sm90_raw_mid/values.h]

MLAF_DEV void make_barriers(char* base, u32 smem, int thread) {
  if (thread < RING) {
    barrier_init(full_barrier(smem, thread), 4);
    barrier_init(empty_barrier(smem, thread), 8);
// [10 more lines of templates/mla_decode/sm90_raw_mid.cu.in]
  }
  barriers_ready();
}

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_decode_sm90_raw_mid_68780874(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ __align__(1024) char base[];
  const u32 smem = shared_address(base);
  const int group = __shfl_sync(~0u, (int)threadIdx.x / 128, 0);
  if (group == 3) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    make_barriers(base, smem, threadIdx.x - MATH);
// [5 more lines of templates/mla_decode/sm90_raw_mid.cu.in]
    produce(p.a, smem, base);
  } else if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 120;");
    if (threadIdx.x < VALUES + 32) look_ahead(p.a);
// [5 more lines of templates/mla_decode/sm90_raw_mid.cu.in]
    asm volatile("setmaxnreg.inc.sync.aligned.u32 168;");
    named_sync(BEGUN, MATH + 128);
// [6 more lines of templates/mla_decode/sm90_raw_mid.cu.in]
