// Generated from templates/mla_decode/sm90_few.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_few target=sm_90a causal=1 cluster=1 dtype=bf16 heads=16 load=tma page_size=16 q_len=2 rank=512 rope=0 rows=8 schedule=fitted wgs=2

#define MLAF_BF16 1
// [10 more lines of tests/golden/mla_decode/combine_warp.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_few_96c31446_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 225356,
    {1, 1, 1}, 15, 0, {}, 2,
    {{3, 64, 8, 128}, {1, 64, 16, 128}}};
struct __align__(64) mlaf_tensor_map {
// [3 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
#define SCHEDULE_FIXED 128
// [templates/mla_decode/lib/schedule.h]
// [templates/lib/hopper.h]

MLAF_DEV void barrier_arrive_if(bool now, u32 bar) {
// [30 more lines of templates/mla_decode/sm90_few/sm90.h]

// [templates/mla_decode/lib/cluster.h]

MLAF_DEV void mma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// [17 more lines of templates/mla_decode/sm90_few/sm90.h]

constexpr int H = 16, Q_LEN = 2, R = 512, ROPE = 0, PAGE = 16, SUB = 16, SUBS = 64 / SUB;
constexpr bool CAUSAL = 1, TMA = 1;
constexpr int N = 8, W = 2, C = 1;
constexpr int NV = R / 64, NB = 8, BOX = 8192, RING = 25; // boxes of V, of a tile, of the ring
constexpr int COLS = N / 4; // columns of S^T and O^T that a thread has a part of: 8j + 2 (lane%4) + i at [2j + i]
constexpr int PLACES = 2, Q_BYTES = 8192, OUT_COLS = 128;
struct shared_memory { // from the first multiple of 1024 on
// [6 more lines of templates/mla_decode/sm90_few.cu.in]
  char facts[PLACES][80];
  int bad[RING]; // of each box: the number of the last tile with a bad page that began in it
};
constexpr int Q_AT = AT(q), P_AT = AT(p), STATE_AT = AT(state), TOPS_AT = AT(tops), BARS_AT = AT(full), BAD_AT = AT(bad);
constexpr int FULL_Q_AT = AT(full_q), EMPTY_Q_AT = AT(empty_q), ENDS_AT = AT(ends), MET_AT = AT(met), FACTS_AT = AT(facts);
static_assert(BAD_AT + 4 * RING + 1024 == 225356, "plans/sm90_few.lua counts otherwise");
constexpr int WARPS_AT = P_AT, FACTOR_AT = P_AT + 64 * N; // at a piece's end: row states of a group's warps in half of its P
constexpr int LAND_AT = 16512; // O that other blocks of the cluster send, in the place of ring and Q
constexpr int SCORED = 6;                // named barriers: this warpgroup may score its next tile
constexpr bool ORDERED = W == 2 && 1;
constexpr float LOWEST = -1e30f;

template <int TransA>
MLAF_DEV void mma(float (&d)[N / 2], u64 a, u64 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3}, "
      "%4, %5, p, 1, 1, %7, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"((u32)add), "n"(TransA));
}
#define MEET_ROWS N
#define PART ((int)(blockIdx.z * gridDim.y + blockIdx.y))
#define FIT_CUT ((float)most * (float)a->batch <= 1.125f * (float)a->kv_indptr[a->batch] ? 330 : 500)
// [templates/mla_decode/lib/fit.h]
// [templates/mla_decode/lib/meet.h]

template <typename T>
// [18 more lines of tests/golden/mla_decode/mma.cu]

enum { REFUSED = 2 }; // of work's `bad`
// [17 more lines of templates/mla_decode/sm90_few/work.h]
  mlaf_part part;
  bool whole;
  int next; // request, of those that stay whole
};
// [3 more lines of templates/mla_decode/sm90_few/work.h]
  const mlaf_entry e = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1));
  const int longest = schedule_arrived(fit_longest(&a), e);
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  at.whole = !fit_cuts(&a, PAGE, gridDim.y, slots, parts, longest);
  const bool tells = blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && fit_apart(&a);
  if (PART == 0 && tells) fit_tell(a.part_o, at.whole ? 0 : parts);
// [4 more lines of templates/mla_decode/sm90_few/work.h]
}

MLAF_DEV bool next_work(const mlaf_decode_args& a, walk& at, work& w) {
// [4 more lines of templates/mla_decode/sm90_few/work.h]
    if (!at.whole) {
      mlaf_piece x;
      if (!meet_next(&a, PAGE, &at.part, &x, fit_apart(&a), &w.whom)) return false;
      if (fit_goes_on(&x) && blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && fit_apart(&a))
        fit_list(a.part_o, PART, x.request);
    request = x.request;
// [7 more lines of templates/mla_decode/sm90_few/work.h]
    } else
// [6 more lines of templates/mla_decode/sm90_few/work.h]
      const int share = blockIdx.y, shares = gridDim.y;
      q_begin = mine.qo;
      q_tokens = mine.next_qo - q_begin;
      first_page = mine.page;
      w.tokens = schedule_tokens(mine.next_page - first_page, mine.last, PAGE);
      const u32 tiles = ((u32)w.tokens + 63) / 64, each = tiles / (u32)shares, more = tiles - each * (u32)shares;
      w.begin = 64 * (int)(each * (u32)share + smaller((u32)share, more));
      w.end = smaller(w.tokens, w.begin + 64 * (int)(each + ((u32)share < more)));
      slot = fit_splits(&a) == 1 ? -1 : (int)blockIdx.y / C;
    }
// [6 more lines of templates/mla_decode/sm90_few/work.h]
    w.part = slot < 0 ? -1 : at.whole ? slot * (a.total_q * H) + (i64)q_begin * H : (i64)slot * (Q_LEN * H);
// [46 more lines of templates/mla_decode/sm90_few/work.h]

MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int rows) {
// [3 more lines of templates/mla_decode/q/ahead.h]

MLAF_DEV void look_ahead(const mlaf_decode_args& a) {
// [6 more lines of templates/mla_decode/sm90_few/look_ahead.h]
  if (lane == 0) fetch_q(a, (i64)q_begin * H + blockIdx.x * N, N);
}

struct facts {
// [4 more lines of templates/mla_decode/sm90_few.cu.in]
static_assert(sizeof(facts) <= 80, "gen/ops/mla_decode/plans/sm90_few.lua leaves too little room");
MLAF_DEV int q_at(int k) { return Q_AT + k % PLACES * Q_BYTES; } // of piece k
MLAF_DEV facts& facts_of(char* base, int k) { return *(facts*)(base + FACTS_AT + k % PLACES * 80); }

MLAF_DEV void announce(const mlaf_tensor_map* maps, char* base, u32 smem, int k, const work& w, const place& at, bool none) {
// [5 more lines of templates/mla_decode/sm90_few.cu.in]
    barrier_expect(full, none ? 0 : NB * N * 128);
  }
  __syncwarp();
  if (lane < NB && !none) copy_box(smem + q_at(k) + lane * (N * 128), maps, 64 * lane, (int)w.row, full);
}

// [templates/mla_decode/sm90_few/take_pieces.h]
MLAF_DEV void produce(const mlaf_decode_args& a, const mlaf_tensor_map* maps, u32 smem, char* base) {
// [3 more lines of templates/mla_decode/sm90_few.cu.in]
  begin_walk(a, where);
// [3 more lines of templates/mla_decode/sm90_few.cu.in]
    if (warp == 3) announce(maps, base, smem, k, w, at, none);
    if (none) return;
    const int tiles = tiles_of(w), subs = (w.end - w.begin + SUB - 1) / SUB;
// [11 more lines of templates/mla_decode/sm90_few.cu.in]
      place box = at;
// [18 more lines of templates/mla_decode/sm90_few.cu.in]
    if (warp == 3 && !where.whole && w.whom > 0) meet(a, w, smem);
  }
// [68 more lines of templates/mla_decode/sm90_few.cu.in]

static_assert(NB >= NV && RING >= NB, "a tile's boxes fit the ring");

MLAF_DEV int scores(u32 smem, u32 q_place, const place& at, float (&s)[N / 2], int group, bool tell) {
  const u64 ring = matrix(smem, 16, 1024, 1), q = matrix(q_place, 16, 1024, 1);
// [10 more lines of templates/mla_decode/sm90_few/products.h]
    mma_begin();
// [32 more lines of templates/mla_decode/sm90_few/products.h]

MLAF_DEV void compute(const mlaf_decode_args& a, const work& w, char* base, u32 smem, u32 q_place, int group, place at,
// [11 more lines of templates/mla_decode/sm90_few.cu.in]
    const int last = scores(smem, q_place, at, s, group, t + 1 < tiles);
    if (((volatile int*)(base + BAD_AT))[at.slot] == at.tile) poison(r); // a page id that is none
// [23 more lines of templates/mla_decode/sm90_few.cu.in]

template <int C>
// [6 more lines of templates/mla_decode/sm90_few/ends.h]
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.weight[c]);
    if (lane < 4) parts[(8 * group + warp) * N + 8 * (c / 2) + 2 * lane + c % 2] = make_float4(r.m[c], sum, weight, 0.0f);
// [33 more lines of templates/mla_decode/sm90_few/ends.h]
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / weight, lse = m + log2_fast(sum);
#pragma unroll
// [15 more lines of templates/mla_decode/sm90_few/ends.h]
        float* const to = out + (8 * (c / 2) + c % 2) * STRIDE + 64 * i + 8 * h;
        const float x = o[FIRST + i][c / 2 * 4 + c % 2 + 2 * h] * factor[c];
// [9 more lines of templates/mla_decode/sm90_few/ends.h]
  float* const out = (float*)place_of_o + 2 * (lane % 4) * STRIDE + 16 * warp + lane / 4;
  float factor[COLS];
// [89 more lines of templates/mla_decode/sm90_few/ends.h]

MLAF_DEV void finish_last(const mlaf_decode_args& a, const work& w, char* base, u32 smem, int group, const row_state& r,
// [12 more lines of templates/mla_decode/sm90_few/last.h]
    auto unit = [&](int k) { return (first + k) * T + (int)threadIdx.x; };
#pragma unroll
// [50 more lines of templates/mla_decode/sm90_few/last.h]

MLAF_DEV void make_barriers(char* base, u32 smem, int thread) {
  if (thread == 0)
#pragma unroll
    for (int s = 0; s < RING; s++) barrier_init(full_barrier(smem, s), 1);
  if (thread == 32)
// [20 more lines of templates/mla_decode/sm90_few/barriers.h]
constexpr int O_BOXES = 3; // that a warpgroup's O takes

MLAF_DEV int box_of_o(int first, int tiles, int g) {
// [49 more lines of templates/mla_decode/sm90_few/whole.h]
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.weight[c]);
    if (lane < 4) parts[(8 * group + warp) * N + 8 * (c / 2) + 2 * lane + c % 2] = make_float4(r.m[c], sum, weight, 0.0f);
// [5 more lines of templates/mla_decode/sm90_few/whole.h]
  put_o<0, 0, NV, R + 4, false>(out + 2 * (lane % 4) * (R + 4) + 16 * warp + lane / 4, ones, o);
  named_sync(3, 256);
// [7 more lines of templates/mla_decode/sm90_few/whole.h]
  constexpr int ROUNDS = R / 4 / EACH, LANDED = Q_AT + Q_BYTES;
  const int tiles = tiles_of(w);
// [34 more lines of templates/mla_decode/sm90_few/whole.h]
    const float inverse = x.sum == 0.0f ? 0.0f : 1.0f / x.weight;
#pragma unroll
// [5 more lines of templates/mla_decode/sm90_few/whole.h]
    const float inverse = x.sum == 0.0f ? 0.0f : 1.0f / x.weight;
#pragma unroll
// [9 more lines of templates/mla_decode/sm90_few/whole.h]
MLAF_DEV void attend(const mlaf_decode_args& a, char* base, u32 smem, int group, int cta_id) {
// [4 more lines of templates/mla_decode/sm90_few.cu.in]
    if (C > 1 && k == 0 && (known.none || !known.w.whole)) cluster_wait(); // each block works on its own, or has no work
// [17 more lines of templates/mla_decode/sm90_few.cu.in]
    if (known.w.last) {
      end_whole<C>(a, known.w, base, smem, group, cta_id, r, o, known.at.slot);
      return;
    }
    merge_states<1>(base, smem, group, 0, r);
    if (known.w.begin > 0 && !fit_apart(&a) && !known.w.whole) finish_last(a, known.w, base, smem, group, r, o);
    else finish<1, OUT_COLS, 0>(a, known.w, base, smem, base + q_at(k), group, 0, r, o);
    if (known.w.part >= 0 && !fit_apart(&a) && !known.w.whole && threadIdx.x == 0) meet_publish(word_of(a, PART));
    barrier_arrive(smem + EMPTY_Q_AT + 8 * (k % PLACES));
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_few_96c31446(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ char raw[];
// [4 more lines of templates/mla_decode/sm90_few.cu.in]
    if (W == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 80;");
    const int thread = threadIdx.x - 128 * W;
    make_barriers(base, smem, thread);
    if (thread == 127) fetch_map(&p.maps[0]);
    if (thread == 127) fetch_map(&p.maps[1]);
    __syncwarp();
// [5 more lines of templates/mla_decode/sm90_few.cu.in]
    produce(p.a, p.maps, smem, base);
    if (C > 1) cluster_wait();
  } else {
    if (W == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
    if (C > 1) cluster_arrive();
    if (threadIdx.x < 32) look_ahead(p.a);
// [6 more lines of templates/mla_decode/sm90_few.cu.in]
