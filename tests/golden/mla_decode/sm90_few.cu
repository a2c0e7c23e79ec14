// Generated from templates/mla_decode/sm90_few.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_sm90_few_96c31446
// parameters:
//   causal = 1
//   cluster = 1
//   dtype = bf16
//   heads = 16
//   load = tma
//   page_size = 16
//   q_len = 2
//   rank = 512
//   rope = 0
//   rows = 8
//   schedule = fitted
//   wgs = 2
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_few target=sm_90a causal=1 cluster=1 dtype=bf16 heads=16 load=tma page_size=16 q_len=2 rank=512 rope=0 rows=8 schedule=fitted wgs=2



#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_few_96c31446_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 225356,
    {1, 1, 1}, 13, 0, {}, 2,
    {{3, 64, 8, 128}, {1, 64, 16, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
  mlaf_tensor_map maps[2];
};
#define SCHEDULE_FIXED 128
// [templates/mla_decode/lib/schedule.h]
// [templates/lib/hopper.h]
// [templates/mla_decode/sm90_few/sm90.h]

constexpr int H = 16, Q_LEN = 2, R = 512, ROPE = 0, PAGE = 16, SUB = 16, SUBS = 64 / SUB;
constexpr bool CAUSAL = 1, TMA = 1;
constexpr int N = 8, W = 2, C = 1;
constexpr int NV = R / 64, NB = 8, BOX = 8192, RING = 25; // boxes of V, of a tile, of the ring
constexpr int COLS = N / 4; // columns of S^T and O^T that a thread has a part of: 8j + 2 (lane%4) + i at [2j + i]
constexpr int PLACES = 2, Q_BYTES = 8192, OUT_COLS = 128;
struct shared_memory { // from the first multiple of 1024 on
  char ring[RING][BOX], q[PLACES][Q_BYTES], p[W][128 * N]; // swizzled; P^T of each warpgroup
  float state[N][C][4];                     // of each row: maximum, sums, as the blocks of the cluster send them
  float tops[W][N][4];                      // of each row, by warp
  u64 full[RING], empty[RING];              // barriers
  u64 ends[2], met;   // states of the cluster are there; what this block writes of O is; pieces of other parts are
  u64 full_q[PLACES], empty_q[PLACES];
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
#define FIT_CUT 500
// [templates/mla_decode/lib/fit.h]
// [templates/mla_decode/lib/meet.h]

template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}

constexpr u32 NAN_WORD = 0x7fc07fc0;

MLAF_DEV void refuse(const mlaf_decode_args& a, i64 from, i64 to, i64 part, int lane, int lanes) {
  const i64 end = to < a.total_q * H ? to : a.total_q * H;
  const int words = part < 0 ? R / 2 : R;
  u32* const lse = (u32*)(u64)(part < 0 ? a.lse : a.part_lse + part);
  u32* const o = (u32*)(u64)(part < 0 ? a.o : (char*)(a.part_o + part * R));
#pragma unroll 1
  for (i64 row = from > 0 ? from : 0; row < end; row++) {
    if (lse && lane == 0) lse[row] = NAN_WORD;
#pragma unroll 1
    for (int i = lane; i < words; i += lanes) o[row * words + i] = NAN_WORD;
  }
}

enum { REFUSED = 2 }; // of work's `bad`

struct work {
  i64 row;        // first row of this block, counted over all requests
  int rows;       // of its N that exist
  int row0;       // first row within the request
  int n;          // query tokens of the request
  int tokens;     // cached
  int begin, end; // of this piece; begin is a multiple of 64
  const int* pages;
  i64 part;       // partials: row of the request's row 0 in part_o and part_lse; -1: straight to the output
  int bad;        // 1: no page may be read. REFUSED + request: the piece has no rows (mla_decode/lib/refuse.h), and `part` is
  int whom;       // parts before this one whose pieces of the request this block adds (mla_decode/lib/meet.h)
  bool whole;     // lengths are alike: this is the block's only piece, of its own request
};

struct walk {
  mlaf_part part;
  mlaf_entry mine; // of the block's request, where there are no parts: it follows from the block's place in the grid
  bool whole, done;
};

MLAF_DEV void begin_walk(const mlaf_decode_args& a, walk& at) {
  at.done = (int)blockIdx.z >= a.batch;
  at.mine = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1)); // in flight while the table is looked through
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  at.whole = !fit_cuts(&a, PAGE, gridDim.y, slots, parts, 0);
  const bool tells = blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && fit_apart(&a);
  if (PART == 0 && tells) fit_tell(a.part_o, at.whole ? 0 : parts);
  if (at.whole) return;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
  at.part = meet_open(&a, PAGE, PART, parts);
  if (PART >= parts) at.part.request = -1;
}

MLAF_DEV bool next_work(const mlaf_decode_args& a, walk& at, work& w) {
  for (;;) {
    int request = blockIdx.z, q_begin, q_tokens, first_page, slot;
    w.whole = at.whole;
    if (!at.whole) {
      mlaf_piece x;
      if (!meet_next(&a, PAGE, &at.part, &x, fit_apart(&a), &w.whom)) return false;
      if (fit_goes_on(&x) && blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && fit_apart(&a))
        fit_list(a.part_o, PART, x.request);
    request = x.request;
    q_begin = x.qo;
    q_tokens = x.q_tokens;
    first_page = x.first_page;
    w.tokens = x.tokens;
    w.begin = x.begin;
    w.end = x.end;
    slot = x.slot;
    } else
    {
      if (at.done) return false;
      at.done = true;
      const int share = blockIdx.y, shares = gridDim.y;
      q_begin = at.mine.qo;
      q_tokens = at.mine.next_qo - q_begin;
      first_page = at.mine.page;
      w.tokens = schedule_tokens(at.mine.next_page - first_page, at.mine.last, PAGE);
      const u32 tiles = ((u32)w.tokens + 63) / 64, each = tiles / (u32)shares, more = tiles - each * (u32)shares;
      w.begin = 64 * (int)(each * (u32)share + smaller((u32)share, more));
      w.end = smaller(w.tokens, w.begin + 64 * (int)(each + ((u32)share < more)));
      slot = fit_splits(&a) == 1 ? -1 : (int)blockIdx.y / C;
    }
    w.n = smaller(q_tokens, Q_LEN);
    w.row0 = blockIdx.x * N;
    if (w.n * H <= w.row0) continue;
    w.row = (i64)q_begin * H + w.row0;
    w.rows = smaller(w.n * H - w.row0, N);
    w.pages = a.kv_indices + first_page;
    w.part = slot < 0 ? -1 : at.whole ? slot * (a.total_q * H) + (i64)q_begin * H : (i64)slot * (Q_LEN * H);
    w.bad = a.num_pages <= 0 && w.begin < w.end;
    if (w.bad) w.end = w.begin;
    if (is_refused(q_tokens, q_begin, q_begin + q_tokens, (int)a.total_q)) {
      w.bad = REFUSED + request;
      w.row = w.n = w.rows = 0;
      w.part = at.whole && slot >= 0 ? slot * (a.total_q * H) : -1;
      w.whom = 0;
    }
    return true;
  }
}

MLAF_DEV void refuse_request(const mlaf_decode_args& a, int bad, i64 part, int thread, int threads) {
  if (bad < REFUSED) return;
  const int* const q = a.qo_indptr + (bad - REFUSED);
  refuse(a, (i64)q[0] * H, (i64)q[1] * H, part, thread, threads);
}

MLAF_DEV int tiles_of(const work& w) { return (w.end - w.begin + 63) / 64; }

struct place {
  int slot;
  u32 lap;
  int tile;
};
MLAF_DEV void advance(place& at, int boxes) { // by less than two rings
  at.slot += boxes;
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (at.slot >= RING) {
      at.slot -= RING;
      at.lap ^= 1;
    }
}
MLAF_DEV place behind(place at, int tiles) {
  const u32 slot = at.slot + (u32)(tiles * NB);
  return {(int)(slot % RING), at.lap ^ (slot / RING & 1), at.tile + tiles};
}
MLAF_DEV u32 full_barrier(u32 smem, int slot) { return smem + BARS_AT + 8 * slot; }
MLAF_DEV u32 empty_barrier(u32 smem, int slot) { return smem + BARS_AT + 8 * (RING + slot); }

MLAF_DEV u32 row_of(const mlaf_decode_args& a, int id, int token, bool& bad) {
  const bool outside = (u32)id >= (u32)a.num_pages;
  bad |= outside;
  return (u32)(outside ? 0 : id) * PAGE + (u32)token % PAGE;
}

MLAF_DEV void fetch_q(const mlaf_decode_args& a, i64 row, int rows) {
  const i64 left = a.total_q * H - row;
  if (row >= 0 && left > 0) fetch_bytes(a.q + row * (2 * (R + ROPE)), (left < rows ? (int)left : rows) * (2 * (R + ROPE)));
}

MLAF_DEV void look_ahead(const mlaf_decode_args& a) {
  const int lane = threadIdx.x % 32, request = smaller((int)blockIdx.z, a.batch - 1);
  for (int i = 32 * lane; i < a.batch; i += 32 * 32) fetch_line(a.kv_indptr + i);
  if (lane == 0) fetch_line(a.kv_last_page_lens + request);
  const int q_begin = load_past_l1(a.qo_indptr + request), first = load_past_l1(a.kv_indptr + request);
  const int pages = load_past_l1(a.kv_indptr + request + 1) - first;
  if (lane < 4) fetch_line(a.kv_indices + first + (i64)pages * blockIdx.y / gridDim.y + 32 * lane);
  if (lane == 0) fetch_q(a, (i64)q_begin * H + blockIdx.x * N, N);
}

struct facts {
  work w;
  place at;  // of its first box
  bool none; // there is no piece left
};
static_assert(sizeof(facts) <= 80, "gen/ops/mla_decode/plans/sm90_few.lua leaves too little room");
MLAF_DEV int q_at(int k) { return Q_AT + k % PLACES * Q_BYTES; } // of piece k
MLAF_DEV facts& facts_of(char* base, int k) { return *(facts*)(base + FACTS_AT + k % PLACES * 80); }

MLAF_DEV void announce(const mlaf_tensor_map* maps, char* base, u32 smem, int k, const work& w, const place& at, bool none) {
  const int lane = threadIdx.x & 31;
  const u32 full = smem + FULL_Q_AT + 8 * (k % PLACES);
  barrier_wait(smem + EMPTY_Q_AT + 8 * (k % PLACES), (k / PLACES & 1) ^ 1);
  if (lane == 0) {
    facts_of(base, k) = {w, at, none};
    barrier_expect(full, none ? 0 : NB * N * 128);
  }
  __syncwarp();
  if (lane < NB && !none) copy_box(smem + q_at(k) + lane * (N * 128), maps, 64 * lane, (int)w.row, full);
}

// [templates/mla_decode/sm90_few/take_pieces.h]
MLAF_DEV void produce(const mlaf_decode_args& a, const mlaf_tensor_map* maps, u32 smem, char* base) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  walk where;
  work w;
  begin_walk(a, where);
  place at = {0, 0, 1};
  for (int k = 0;; k++) {
    const bool none = !next_work(a, where, w);
    if (warp == 3) announce(maps, base, smem, k, w, at, none);
    if (none) return;
    const int tiles = tiles_of(w), subs = (w.end - w.begin + SUB - 1) / SUB;
    auto fetch = [&](int s) { return s < subs ? w.pages[(u32)(w.begin + s * SUB) / PAGE] : 0; };
    int ids = fetch(lane), ahead = fetch(lane + 32);
    for (int t = 0; t < tiles; t++) {
      const int s0 = t * SUBS, mine = s0 + lane % SUBS;
      if (s0 % 32 == 0 && t > 0) {
        ids = ahead;
        ahead = fetch(s0 + 32 + lane);
      }
      bool bad = false;
      const u32 row = row_of(a, __shfl_sync(~0u, ids, mine % 32), w.begin + mine * SUB, bad);
      bad = __any_sync(~0u, bad && mine < subs);
      place box = at;
      advance(box, warp);
#pragma unroll 1
      for (int b = warp; b < NB; b += 4) {
        barrier_wait(empty_barrier(smem, box.slot), box.lap ^ 1);
        const u32 full = full_barrier(smem, box.slot);
        if (lane == 0) {
          if (b == 0 && bad) ((volatile int*)(base + BAD_AT))[box.slot] = at.tile;
          barrier_expect(full, smaller(SUBS, subs - s0) * (SUB * 128));
        }
        __syncwarp();
        if (lane < SUBS && mine < subs)
          copy_box_once(smem + BOX * box.slot + lane * SUB * 128, maps + (ROPE > 0 && b == NV ? 2 : 1), b == NV ? 0 : 64 * b,
                        (int)row, full);
        advance(box, 4);
      }
      advance(at, NB);
      at.tile++;
    }
    if (warp == 3 && !where.whole && w.whom > 0) meet(a, w, smem);
    if (where.whole) return;
  }
}

struct row_state {
  float m[COLS], sum[COLS], weight[COLS]; // maximum; sums of P and of the rounded P, of this thread's tokens only
};

MLAF_DEV void poison(row_state& r) {
#pragma unroll
  for (int c = 0; c < COLS; c++) r.sum[c] = r.weight[c] = not_a_number();
}

MLAF_DEV void clear_rows(char* base, int slot, int valid) {
  const int t = threadIdx.x % 128;
#pragma unroll
  for (int b = 0; b < NV; b++) {
    for (int i = valid * 8 + t; i < 512; i += 128) *(uint4*)(base + slot * BOX + 16 * i) = make_uint4(0, 0, 0, 0);
    slot = slot + 1 == RING ? 0 : slot + 1;
  }
}

MLAF_DEV void raise(const float (&s)[N / 2], row_state& r, float (&o)[NV][N / 2], float* tops, int group) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    float top = fmaxf(s[c / 2 * 4 + c % 2], s[c / 2 * 4 + c % 2 + 2]);
    if (__any_sync(~0u, top > r.m[c])) top = max_over_lanes<4, 32>(top);
    else top = r.m[c];
    if (lane < 4) tops[warp * N + 8 * (c / 2) + 2 * lane + c % 2] = top;
  }
  named_sync(1 + group, 128);
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const int n = 8 * (c / 2) + 2 * (lane % 4) + c % 2;
    const float now = fmaxf(fmaxf(fmaxf(tops[n], tops[N + n]), fmaxf(tops[2 * N + n], tops[3 * N + n])), r.m[c]);
    if (!__any_sync(~0u, now > r.m[c])) continue;
    const float factor = exp2_fast(r.m[c] - now);
    r.m[c] = now;
    r.sum[c] *= factor;
    r.weight[c] *= factor;
#pragma unroll
    for (int i = 0; i < NV; i++) {
      o[i][c / 2 * 4 + c % 2] *= factor;
      o[i][c / 2 * 4 + c % 2 + 2] *= factor;
    }
  }
}

MLAF_DEV void store_p(const float (&s)[N / 2], row_state& r, u32 p) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  u32 packed[N / 4];
#pragma unroll
  for (int j = 0; j < N / 8; j++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float x = exp2_fast(s[4 * j + 2 * h] - r.m[2 * j]), y = exp2_fast(s[4 * j + 2 * h + 1] - r.m[2 * j + 1]);
      const u32 both = pack2(x, y);
      packed[2 * j + h] = both;
      r.sum[2 * j] += x;
      r.sum[2 * j + 1] += y;
      r.weight[2 * j] += unpack_lo(both);
      r.weight[2 * j + 1] += unpack_hi(both);
    }
  const u32 at = p + 256 * warp + lane / 8 % 2 * 128 + lane % 8 * 16;
#pragma unroll
  for (int j = 0; j + 1 < N / 8; j += 2)
    store_matrices(at + 1024 * (j + lane / 16), packed[2 * j], packed[2 * j + 1], packed[2 * j + 2], packed[2 * j + 3]);
  if (N / 8 % 2) store_matrices(at + 1024 * (N / 8 - 1), packed[N / 4 - 2], packed[N / 4 - 1]);
}

static_assert(NB >= NV && RING >= NB, "a tile's boxes fit the ring");

MLAF_DEV int scores(u32 smem, u32 q_place, const place& at, float (&s)[N / 2], int group, bool tell) {
  const u64 ring = matrix(smem, 16, 1024, 1), q = matrix(q_place, 16, 1024, 1);
  int slot = at.slot;
  u32 lap = at.lap;
#pragma unroll
  for (int b = 0; b < NB; b++) {
    if (b > 0 && ++slot == RING) {
      slot = 0;
      lap ^= 1;
    }
    barrier_wait(full_barrier(smem, slot), lap);
    if (ORDERED && b == NB - 1) named_arrive_if(tell, SCORED + (group ^ 1), 256);
    mma_begin();
#pragma unroll
    for (int k = 0; k < (b < NV ? 4 : ROPE / 16); k++) {
      const u64 rows = ring + (slot * (BOX / 16) + 2 * k), columns = q + (b * (N * 8) + 2 * k);
      mma<0>(s, rows, columns, b > 0 || k > 0);
    }
  }
  mma_commit();
  mma_wait<0>();
  return slot;
}

MLAF_DEV void multiply_v(u32 smem, int slot, u64 p, float (&o)[NV][N / 2]) {
  const u64 ring = matrix(smem, 16, 1024, 1);
  const int lane = threadIdx.x & 31;
  auto v = [&](int i) { return slot + i >= RING ? slot + i - RING : slot + i; };
  mma_begin();
#pragma unroll
  for (int i = 0; i < NV; i += 2) {
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int j = i; j < i + 2 && j < NV; j++) mma<1>(o[j], ring + (v(j) * (BOX / 16) + 128 * k), p + 16 * k, true);
    mma_commit();
    if (i > 0) {
      mma_wait<1>();
      barrier_arrive_if(lane < 2, empty_barrier(smem, v(i - 2 + lane)));
    }
  }
  mma_wait<0>();
  constexpr int LAST = (NV - 1) / 2 * 2;
  barrier_arrive_if(lane < NV - LAST, empty_barrier(smem, v(LAST + lane)));
}

MLAF_DEV void compute(const mlaf_decode_args& a, const work& w, char* base, u32 smem, u32 q_place, int group, place at,
                      row_state& r, float (&o)[NV][N / 2]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, tiles = tiles_of(w);
  const u32 p_at = smem + P_AT + group * (N * 128);
  const u64 p = matrix(p_at, 128, 1024, 0);
  auto sees = [&](int row) { return smaller(w.end, CAUSAL ? w.tokens - (w.n - 1 - (w.row0 + row) / H) : w.end); };
  const int all_see = sees(0);
  advance(at, group * NB);
  at.tile += group;
  for (int t = group; t < tiles; t += W) {
    float s[N / 2];
    if (ORDERED && t > 0) named_sync(SCORED + group, 256);
    const int last = scores(smem, q_place, at, s, group, t + 1 < tiles);
    if (((volatile int*)(base + BAD_AT))[at.slot] == at.tile) poison(r); // a page id that is none
    if (ROPE > 0) barrier_arrive_if(lane == 0, empty_barrier(smem, last));
    const int token0 = w.begin + 64 * t, valid = w.end - token0;
#pragma unroll
    for (int i = 0; i < N / 2; i++) s[i] *= a.scale_log2e;
    if (token0 + 64 > all_see) {
      const int first = token0 + 16 * warp + lane / 4;
#pragma unroll
      for (int i = 0; i < N / 2; i++)
        if (first + i / 2 % 2 * 8 >= sees(i / 4 * 8 + 2 * (lane % 4) + i % 2)) s[i] = minus_inf();
      if (valid < 64) clear_rows(base, at.slot, valid);
    }
    bool higher = false;
#pragma unroll
    for (int i = 0; i < N / 2; i++) higher |= s[i] > r.m[i / 4 * 2 + i % 2];
    if (named_any(1 + group, 128, higher)) raise(s, r, o, (float*)(base + TOPS_AT) + 4 * N * group, group);
    store_p(s, r, p_at);
    fence_async();
    named_sync(1 + group, 128);
    multiply_v(smem, at.slot, p, o);
    advance(at, W * NB);
    at.tile += W;
  }
}

template <int C>
MLAF_DEV void merge_states(char* base, u32 smem, int group, int cta_id, row_state& r) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  float4* const parts = (float4*)(base + WARPS_AT);
  named_sync(1 + group, 128); // of its P
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.weight[c]);
    if (lane < 4) parts[(8 * group + warp) * N + 8 * (c / 2) + 2 * lane + c % 2] = make_float4(r.m[c], sum, weight, 0.0f);
  }
  named_sync(3, 128 * W);
  if (C > 1) cluster_wait();
  for (int i = threadIdx.x; i < N * C; i += 128 * W) {
    const int n = i % N;
    float4 all = make_float4(fmaxf(parts[n].x, parts[(W - 1) * 8 * N + n].x), 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < 4 * W; k++) {
      const float4 one = parts[(k / 4 * 8 + k % 4) * N + n];
      const float factor = exp2_fast(one.x - all.x);
      all.y += one.y * factor;
      all.z += one.z * factor;
    }
    const int at = STATE_AT + 16 * (C * n + cta_id);
    if (C == 1) *(float4*)(base + at) = all;
    else cluster_send(cluster_address(smem + at, i / N), all, cluster_address(smem + ENDS_AT, i / N));
  }
}

template <int C>
MLAF_DEV void weigh(const mlaf_decode_args& a, const work& w, char* base, int cta_id) {
  for (int n = threadIdx.x; n < w.rows; n += 128 * W) {
    const float4* const state = (const float4*)(base + STATE_AT) + C * n;
    float* const factor = (float*)(base + FACTOR_AT) + C * n;
    float m = state[0].x, sum = 0.0f, weight = 0.0f, part[C];
#pragma unroll
    for (int k = 1; k < C; k++) m = fmaxf(m, state[k].x);
#pragma unroll
    for (int k = 0; k < C; k++) {
      part[k] = exp2_fast(state[k].x - m);
      sum += state[k].y * part[k];
      weight += state[k].z * part[k];
    }
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / weight, lse = m + log2_fast(sum);
#pragma unroll
    for (int k = 0; k < C; k++) factor[k] = part[k] * inverse;
    if (cta_id != 0) continue;
    if (w.part >= 0) a.part_lse[w.part + w.row0 + n] = lse;
    else if (a.lse) a.lse[w.row + n] = lse * LN_2;
  }
}

template <int FIRST, int FROM, int TO, int STRIDE, bool Add>
MLAF_DEV void put_o(float* out, const float (&factor)[COLS], const float (&o)[NV][N / 2]) {
#pragma unroll
  for (int c = 0; c < COLS; c++)
#pragma unroll
    for (int i = FROM; i < TO; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float* const to = out + (8 * (c / 2) + c % 2) * STRIDE + 64 * i + 8 * h;
        const float x = o[FIRST + i][c / 2 * 4 + c % 2 + 2 * h] * factor[c];
        *to = Add ? *to + x : x;
      }
}

template <int FIRST, int WIDTH>
MLAF_DEV void gather_o(char* base, char* place_of_o, int group, const row_state& r, const float (&o)[NV][N / 2]) {
  constexpr int ALL = WIDTH / 64, HALF = ALL / 2, STRIDE = WIDTH + 4;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  const float4* const parts = (const float4*)(base + WARPS_AT);
  float* const out = (float*)place_of_o + 2 * (lane % 4) * STRIDE + 16 * warp + lane / 4;
  float factor[COLS];
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const int n = 8 * (c / 2) + 2 * (lane % 4) + c % 2;
    factor[c] = W == 1 ? 1.0f : exp2_fast(r.m[c] - fmaxf(parts[n].x, parts[(W - 1) * 8 * N + n].x));
  }
  if (W == 1) {
    put_o<FIRST, 0, ALL, STRIDE, false>(out, factor, o);
    return;
  }
  if (group == 0) put_o<FIRST, HALF, ALL, STRIDE, false>(out, factor, o);
  else put_o<FIRST, 0, HALF, STRIDE, false>(out, factor, o);
  named_sync(3, 128 * W);
  if (group == 0) put_o<FIRST, 0, HALF, STRIDE, true>(out, factor, o);
  else put_o<FIRST, HALF, ALL, STRIDE, true>(out, factor, o);
}

#define MLAF_MEMBER __device__ __forceinline__
constexpr int T = 128 * W;
template <int C, int WIDTH>
struct units_of {
  static constexpr int UNITS = WIDTH / 4, ROUNDS = (N * UNITS + C * T - 1) / (C * T);
  MLAF_MEMBER static int unit(int round, int cta_id) { return (round * C + cta_id) * T + threadIdx.x; }
  MLAF_MEMBER static const float4& of_o(const char* o, int i) {
    return *(const float4*)(o + 4 * (i / UNITS * (WIDTH + 4) + i % UNITS * 4));
  }
  MLAF_MEMBER static int landed(int round, int from) { return LAND_AT + 16 * ((from * ROUNDS + round) * T + (int)threadIdx.x); }
};

template <int C, int WIDTH>
MLAF_DEV void exchange(const work& w, char* base, u32 smem, int cta_id) {
  typedef units_of<C, WIDTH> x;
  const int units = w.rows * x::UNITS;
  if (threadIdx.x == 0) {
    int mine = 0;
#pragma unroll
    for (int r = 0; r < x::ROUNDS; r++) mine += smaller(T, units > x::unit(r, cta_id) ? units - x::unit(r, cta_id) : 0);
    barrier_expect(smem + ENDS_AT + 8, 16 * (C - 1) * mine);
  }
#pragma unroll 1
  for (int k = 1; k < C; k++) {
    const int to = cta_id + k < C ? cta_id + k : cta_id + k - C;
#pragma unroll
    for (int r = 0; r < x::ROUNDS; r++)
      if (x::unit(r, to) < units)
        cluster_send(cluster_address(smem + x::landed(r, cta_id), to), x::of_o(base, x::unit(r, to)),
                     cluster_address(smem + ENDS_AT + 8, to));
  }
  barrier_wait_cluster(smem + ENDS_AT + 8, 0);
}

template <int C, int WIDTH>
MLAF_DEV void write_o(const mlaf_decode_args& a, const work& w, const char* base, const char* o, int first, int cta_id) {
  typedef units_of<C, WIDTH> u;
  const float* const factors = (const float*)(base + FACTOR_AT);
#pragma unroll
  for (int r = 0; r < u::ROUNDS; r++) {
    const int i = u::unit(r, cta_id), n = i / u::UNITS, column = first + i % u::UNITS * 4;
    if (n >= w.rows) break;
    float4 y = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < C; k++) {
      const float4 x = k == cta_id ? u::of_o(o, i) : *(const float4*)(base + u::landed(r, k));
      const float factor = factors[C * n + k];
      y.x += x.x * factor;
      y.y += x.y * factor;
      y.z += x.z * factor;
      y.w += x.w * factor;
    }
    if (w.part < 0) store_kept(a.o + 2 * ((w.row + n) * R + column), make_uint2(pack2(y.x, y.y), pack2(y.z, y.w)));
    else store_kept(a.part_o + (w.part + w.row0 + n) * R + column, y);
  }
}

template <int C, int WIDTH, int FIRST>
MLAF_DEV void finish(const mlaf_decode_args& a, const work& w, char* base, u32 smem, char* place_of_o, int group, int cta_id,
                     const row_state& r, const float (&o)[NV][N / 2]) {
  gather_o<FIRST, WIDTH>(base, place_of_o, group, r, o);
  if (C > 1) barrier_wait_cluster(smem + ENDS_AT, 0);
  if (FIRST == 0) weigh<C>(a, w, base, cta_id); // without cluster by the threads that made the states
  named_sync(3, 128 * W);
  if (C > 1) exchange<C, WIDTH>(w, base, smem, cta_id);
  write_o<C, WIDTH>(a, w, base, place_of_o, 64 * FIRST, cta_id);
  if (place_of_o != base) {
    fence_async();
    named_sync(3, 128 * W);
  }
  if constexpr (FIRST + WIDTH / 64 < NV)
    finish<C, WIDTH, FIRST + WIDTH / 64>(a, w, base, smem, place_of_o, group, cta_id, r, o);
}

MLAF_DEV void finish_last(const mlaf_decode_args& a, const work& w, char* base, u32 smem, int group, const row_state& r,
                          const float (&o)[NV][N / 2]) {
  constexpr int EACH = (N * R / 4 + T - 1) / T, MOST = N <= 16 ? 8 : 4, AT_ONCE = EACH < MOST ? EACH : MOST; // units of 4 columns
  constexpr int PIECES = 2; // under way together: a thread's loads take as long as one piece's bytes
  const int units = w.rows * (R / 4);
  gather_o<0, R>(base, base, group, r, o);
  named_sync(3, 128 * W);
  const int others = meet_count(w.whom);
  if (others > 0) barrier_wait(smem + MET_AT, 0);
#pragma unroll 1
  for (int first = 0; first < EACH; first += AT_ONCE) {
    float4 y[AT_ONCE];
    float m[AT_ONCE], sum[AT_ONCE];
    auto unit = [&](int k) { return (first + k) * T + (int)threadIdx.x; };
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = unit(k), n = smaller(i / (R / 4), N - 1);
      const float4 state = ((const float4*)(base + STATE_AT))[n];
      const float4 x = *(const float4*)(base + 4 * (n * (R + 4) + i % (R / 4) * 4));
      const float factor = state.y == 0.0f ? 0.0f : state.y / state.z;
      m[k] = state.x, sum[k] = state.y;
      y[k] = make_float4(x.x * factor, x.y * factor, x.z * factor, x.w * factor);
    }
#pragma unroll 1
    for (int other = 0; other < others; other += PIECES) {
      float4 x[PIECES][AT_ONCE];
      float lse[PIECES][AT_ONCE];
#pragma unroll
      for (int j = 0; j < PIECES; j++) {
        const int p = meet_part(PART, w.whom, smaller(other + j, others - 1));
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
          const i64 row = part_row(p) + smaller(unit(k), units - 1) / (R / 4);
          lse[j][k] = other + j < others ? a.part_lse[row] : minus_inf();
          x[j][k] = *(const float4*)(a.part_o + row * R + unit(k) % (R / 4) * 4);
        }
      }
#pragma unroll
      for (int j = 0; j < PIECES; j++)
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
          const float top = fmaxf(m[k], lse[j][k]), mine = exp2_fast(m[k] - top);
          const float its = other + j < others ? exp2_fast(lse[j][k] - top) : 0.0f;
          const float4 z = x[j][k];
          m[k] = top;
          sum[k] = sum[k] * mine + its;
          y[k] = make_float4(y[k].x * mine + z.x * its, y[k].y * mine + z.y * its, y[k].z * mine + z.z * its,
                             y[k].w * mine + z.w * its);
        }
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = unit(k), n = i / (R / 4), column = i % (R / 4) * 4;
      if (i >= units) break;
      const float by = sum[k] == 0.0f ? 0.0f : 1.0f / sum[k], lse = m[k] + log2_fast(sum[k]);
      const float4 z = make_float4(y[k].x * by, y[k].y * by, y[k].z * by, y[k].w * by);
      if (w.part >= 0) store_kept(a.part_o + (w.part + w.row0 + n) * R + column, z);
      else store_kept(a.o + 2 * ((w.row + n) * R + column), make_uint2(pack2(z.x, z.y), pack2(z.z, z.w)));
      if (column > 0) continue;
      if (w.part >= 0) a.part_lse[w.part + w.row0 + n] = lse;
      else if (a.lse) a.lse[w.row + n] = lse * LN_2;
    }
  }
  named_sync(3, 128 * W);
}

MLAF_DEV void make_barriers(char* base, u32 smem, int thread) {
  if (thread == 0)
#pragma unroll
    for (int s = 0; s < RING; s++) barrier_init(full_barrier(smem, s), 1);
  if (thread == 32)
#pragma unroll
    for (int s = 0; s < RING; s++) barrier_init(empty_barrier(smem, s), 4);
  if (thread == 64) {
#pragma unroll
    for (int k = 0; k < PLACES; k++) {
      barrier_init(smem + FULL_Q_AT + 8 * k, 1);
      barrier_init(smem + EMPTY_Q_AT + 8 * k, 128 * W);
    }
    barrier_init(smem + MET_AT, 1);
    if (C > 1) {
      barrier_init(smem + ENDS_AT, 1);
      barrier_init(smem + ENDS_AT + 8, 1);
      barrier_expect(smem + ENDS_AT, 16 * N * C);
    }
  }
#pragma unroll
  for (int s = 0; s < RING; s += 32)
    if (thread >= 96 && s + thread - 96 < RING) ((int*)(base + BAD_AT))[s + thread - 96] = 0;
  barriers_ready();
}
constexpr int O_BOXES = 3; // that a warpgroup's O takes

MLAF_DEV int box_of_o(int tiles, int g) {
  const int t = tiles > g ? g + (tiles - 1 - g) / 2 * 2 : g, slot = (int)((u32)(t * NB) % RING);
  return RING - slot >= O_BOXES ? slot : 0;
}

struct whole_row {
  float top, sum, weight, factor[2];
};
MLAF_DEV whole_row whole_row_of(const char* base, int n) {
  const float4* const parts = (const float4*)(base + WARPS_AT) + n;
  whole_row x;
  float m[2], sum[2], weight[2];
#pragma unroll
  for (int g = 0; g < 2; g++) {
    m[g] = parts[8 * g * N].x;
    sum[g] = weight[g] = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      sum[g] += parts[(8 * g + k) * N].y;
      weight[g] += parts[(8 * g + k) * N].z;
    }
  }
  x.top = fmaxf(m[0], m[1]);
#pragma unroll
  for (int g = 0; g < 2; g++) x.factor[g] = exp2_fast(m[g] - x.top);
  x.sum = sum[0] * x.factor[0] + sum[1] * x.factor[1];
  x.weight = weight[0] * x.factor[0] + weight[1] * x.factor[1];
  return x;
}

MLAF_DEV float4 weighed(const float4& x, float by, const float4& y, float and_by) {
  return make_float4(x.x * by + y.x * and_by, x.y * by + y.y * and_by, x.z * by + y.z * and_by, x.w * by + y.w * and_by);
}

MLAF_DEV void put_unit(const mlaf_decode_args& a, const work& w, int n, int column, const float4& y) {
  if (w.part < 0) store_kept(a.o + 2 * ((w.row + n) * R + column), make_uint2(pack2(y.x, y.y), pack2(y.z, y.w)));
  else store_kept(a.part_o + (w.part + w.row0 + n) * R + column, y);
}
MLAF_DEV void put_lse(const mlaf_decode_args& a, const work& w, int n, float top, float sum) {
  const float lse = top + log2_fast(sum);
  if (w.part >= 0) a.part_lse[w.part + w.row0 + n] = lse;
  else if (a.lse) a.lse[w.row + n] = lse * LN_2;
}

MLAF_DEV void put_whole(char* base, int tiles, int group, const row_state& r, const float (&o)[NV][N / 2]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  named_sync(1 + group, 128); // its tile and its P are done with
  float4* const parts = (float4*)(base + WARPS_AT);
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.weight[c]);
    if (lane < 4) parts[(8 * group + warp) * N + 8 * (c / 2) + 2 * lane + c % 2] = make_float4(r.m[c], sum, weight, 0.0f);
  }
  float ones[COLS];
#pragma unroll
  for (int c = 0; c < COLS; c++) ones[c] = 1.0f;
  float* const out = (float*)(base + BOX * box_of_o(tiles, group));
  put_o<0, 0, NV, R + 4, false>(out + 2 * (lane % 4) * (R + 4) + 16 * warp + lane / 4, ones, o);
  named_sync(3, 256);
}

template <int C>
MLAF_DEV void end_whole(const mlaf_decode_args& a, const work& w, char* base, u32 smem, int group, int cta_id, row_state& r,
                        const float (&o)[NV][N / 2]) {
  constexpr int STRIDE = R + 4, ROWS = N / C; // that this block writes
  constexpr int EACH = 256 / ROWS >= 32 ? 32 : 256 / ROWS >= 16 ? 16 : 8; // threads of a row
  constexpr int ROUNDS = R / 4 / EACH, LANDED = Q_AT + Q_BYTES;
  const int tiles = tiles_of(w);
  put_whole(base, tiles, group, r, o);
  if (C > 1) cluster_wait();
  const int mine = threadIdx.x / EACH, unit = threadIdx.x % EACH; // row of those that a block writes, first unit of 4 columns
  const char* const o0 = base + BOX * box_of_o(tiles, 0);
  const char* const o1 = base + BOX * box_of_o(tiles, 1);
  auto at = [&](int n, int k) { return 4 * (n * STRIDE + 4 * (unit + EACH * k)); };
  if (C > 1) {
    const int other = 1 - cta_id, n = ROWS * other + mine;
    if (threadIdx.x == 0) barrier_expect(smem + ENDS_AT + 8, 16 * ROWS + 4 * ROWS * R);
    if (mine < ROWS) {
      const whole_row x = whole_row_of(base, n);
      const u32 bar = cluster_address(smem + ENDS_AT + 8, other), to = cluster_address(smem + LANDED, other);
#pragma unroll
      for (int k = 0; k < ROUNDS; k++)
        cluster_send(to + 16 * (mine * (R / 4) + unit + EACH * k),
                     weighed(*(const float4*)(o0 + at(n, k)), x.factor[0], *(const float4*)(o1 + at(n, k)), x.factor[1]), bar);
      const float4 state = make_float4(x.top, x.sum, x.weight, 0.0f);
      if (unit == 0) cluster_send(cluster_address(smem + STATE_AT + 16 * mine, other), state, bar);
    }
  }
  const int n = C > 1 ? ROWS * cta_id + mine : mine;
  if (mine >= ROWS) return;
  whole_row x = whole_row_of(base, n);
  float4 y[ROUNDS];
  if (C > 1) {
#pragma unroll
    for (int k = 0; k < ROUNDS; k++)
      y[k] = weighed(*(const float4*)(o0 + at(n, k)), x.factor[0], *(const float4*)(o1 + at(n, k)), x.factor[1]);
    barrier_wait_cluster(smem + ENDS_AT + 8, 0);
    const float4 its = *(const float4*)(base + STATE_AT + 16 * mine);
    const float top = fmaxf(x.top, its.x), here = exp2_fast(x.top - top), there = exp2_fast(its.x - top);
    x.sum = x.sum * here + its.y * there;
    x.weight = x.weight * here + its.z * there;
    x.top = top;
    const float inverse = x.sum == 0.0f ? 0.0f : 1.0f / x.weight;
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
      const float4 z = *(const float4*)(base + LANDED + 16 * (mine * (R / 4) + unit + EACH * k));
      y[k] = weighed(y[k], here * inverse, z, there * inverse);
    }
  } else {
    const float inverse = x.sum == 0.0f ? 0.0f : 1.0f / x.weight;
#pragma unroll
    for (int k = 0; k < ROUNDS; k++)
      y[k] = weighed(*(const float4*)(o0 + at(n, k)), x.factor[0] * inverse, *(const float4*)(o1 + at(n, k)),
                     x.factor[1] * inverse);
  }
  if (n >= w.rows) return;
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) put_unit(a, w, n, 4 * (unit + EACH * k), y[k]);
  if (unit == 0) put_lse(a, w, n, x.top, x.sum);
}
MLAF_DEV void attend(const mlaf_decode_args& a, char* base, u32 smem, int group, int cta_id) {
#pragma unroll 1
  for (int k = 0;; k++) {
    barrier_wait(smem + FULL_Q_AT + 8 * (k % PLACES), k / PLACES & 1);
    const facts& known = facts_of(base, k);
    if (C > 1 && k == 0 && (known.none || !known.w.whole)) cluster_wait(); // each block works on its own, or has no work
    if (known.none) return;
    refuse_request(a, known.w.bad, known.w.part, threadIdx.x, 128 * W);
    if (k == 0 && !known.w.whole && !fit_apart(&a) && threadIdx.x == 0) meet_begin(a);
    row_state r;
    float o[NV][N / 2];
#pragma unroll
    for (int c = 0; c < COLS; c++) {
      r.m[c] = LOWEST;
      r.sum[c] = r.weight[c] = 0.0f;
    }
    if (known.w.bad) poison(r);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
      for (int j = 0; j < N / 2; j++) o[i][j] = 0.0f;
    const work w = known.w;
    compute(a, w, base, smem, smem + q_at(k), group, known.at, r, o);
    if (known.w.whole) {
      end_whole<C>(a, known.w, base, smem, group, cta_id, r, o);
      return;
    }
    merge_states<1>(base, smem, group, 0, r);
    if (known.w.begin > 0 && !fit_apart(&a)) finish_last(a, known.w, base, smem, group, r, o);
    else finish<1, OUT_COLS, 0>(a, known.w, base, smem, base + q_at(k), group, 0, r, o);
    if (known.w.part >= 0 && !fit_apart(&a) && threadIdx.x == 0) meet_publish(word_of(a, PART));
    barrier_arrive(smem + EMPTY_Q_AT + 8 * (k % PLACES));
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_few_96c31446(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ char raw[];
  char* const base = raw + (-shared_address(raw) & 1023);
  const u32 smem = shared_address(base);
  const int group = threadIdx.x / 128, cta_id = C > 1 ? cta_in_cluster() : 0;
  if (group == W) {
    if (W == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 80;");
    const int thread = threadIdx.x - 128 * W;
    make_barriers(base, smem, thread);
    if (thread == 127) fetch_map(&p.maps[0]);
    if (thread == 127) fetch_map(&p.maps[1]);
    __syncwarp();
    if (C > 1) cluster_arrive(); // this block may be reached into from now on; who does so waits then
    named_sync(4, 128);
    named_arrive(5, 128 * (W + 1));
    wait_for_previous_launch();
    let_next_launch_start(); // its blocks come as these leave
    produce(p.a, p.maps, smem, base);
    if (C > 1) cluster_wait();
  } else {
    if (W == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
    if (C > 1) cluster_arrive();
    if (threadIdx.x < 32) look_ahead(p.a);
    named_sync(5, 128 * (W + 1)); // barriers are there
    wait_for_previous_launch();
    let_next_launch_start();
    attend(p.a, base, smem, group, cta_id);
  }
}
