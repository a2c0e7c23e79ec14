// Generated from templates/mla_decode/sm90_raw.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_sm90_raw_74422367
// parameters:
//   cache = 3
//   causal = 1
//   cluster = 6
//   dtype = bf16
//   heads = 20
//   load = rows
//   page_size = 3
//   q_len = 2
//   rank = 512
//   rope = 64
//   rows = 16
//   schedule = fitted
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_raw target=sm_90a cache=3 causal=1 cluster=6 dtype=bf16 heads=20 load=rows page_size=3 q_len=2 rank=512 rope=64 rows=16 schedule=fitted



#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args_cache.h]
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_raw_74422367_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 227800,
    {1, 6, 1}, 13, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};
#define SCHEDULE_FIXED 256
// [templates/mla_decode/lib/schedule.h]
// [templates/lib/hopper.h]
// [templates/mla_decode/sm90_few/sm90.h]

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
constexpr int Q_AT = AT(q), P_AT = AT(p), RAW_Q_AT = AT(raw_q), WARPS_AT = AT(warps), STATE_AT = AT(state), TOPS_AT = AT(tops);
constexpr int BARS_AT = AT(full), ENDS_AT = AT(ends), MET_AT = AT(met), FULL_Q_AT = AT(full_q), EMPTY_Q_AT = AT(empty_q);
constexpr int FACTS_AT = AT(facts), ROWS_AT = AT(rows), BAD_AT = AT(bad), FACTOR_AT = WARPS_AT + 64 * N;
static_assert(BAD_AT + 4 * RING + 1024 == 227800, "plans/sm90_raw.lua counts otherwise");
constexpr int LAND_AT = 33024; // O that other blocks of the cluster send, in the place of the ring
constexpr int SCORED = 6;                // named barriers: this warpgroup may wait for its next tile

#define MEET_ROWS N
#define PART ((int)(blockIdx.z * gridDim.y + blockIdx.y))
#define FIT_CUT 1000
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

MLAF_DEV int token_at(int position) { return position; }
MLAF_DEV int place_of(int token) { return token * PITCH; }
constexpr int STEP_8 = 8, STEP_16 = 2 * STEP_8 * PITCH; // from a position to that 8 behind it: tokens. 16: bytes

struct facts {
  work w;
  place at;  // of its first tile
  bool none; // there is no piece left
};
static_assert(sizeof(facts) <= 80, "gen/ops/mla_decode/plans/sm90_raw.lua leaves too little room");
MLAF_DEV facts& facts_of(char* base, int which) { return *(facts*)(base + FACTS_AT + which * 80); }

// [2^14, 2^15), since f16 keeps what is 2^-29 of that exactly where it has room for Q's 16 bits. Rows of 128 bytes, swizzled, a
constexpr int Q_ROW = 2 * (R + ROPE), Q_BLOCKS = (R + ROPE) / 16; // of 16 columns
constexpr int Q_THREADS = N <= 8 ? 32 : N <= 16 ? 16 : 8, Q_EACH = (Q_BLOCKS + Q_THREADS - 1) / Q_THREADS; // of a row

MLAF_DEV float larger_of(u32 x, float than) { return fmaxf(than, fmaxf(fabsf(unpack_lo(x)), fabsf(unpack_hi(x)))); }
MLAF_DEV u32 pack_f16(float lo, float hi) {
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
  return y;
}

MLAF_DEV void take_q(char* base, int rows, float scale) {
  const int n = threadIdx.x / Q_THREADS, first = threadIdx.x % Q_THREADS, second = first / 4 % 2;
  uint4 x[Q_EACH][2];
  float top = 0.0f;
#pragma unroll
  for (int j = 0; j < Q_EACH; j++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int k = first + Q_THREADS * j;
      x[j][i] = make_uint4(0, 0, 0, 0);
      if (n < rows && k < Q_BLOCKS) x[j][i] = *(const uint4*)(base + RAW_Q_AT + n * Q_ROW + 32 * k + 16 * (i ^ second));
      top = larger_of(x[j][i].x, larger_of(x[j][i].y, larger_of(x[j][i].z, larger_of(x[j][i].w, top))));
    }
  const u32 exponent = bits_of(max_over_lanes<1, Q_THREADS>(top)) >> 23;
  const u32 kept = exponent < 20 ? 20 : exponent > 254 ? 254 : exponent;
  const float by = float_of(268 - kept << 23);
  if (n >= N) return;
  if (first == 0) *(float*)(base + ROWS_AT + 4 * n) = scale * float_of(kept - 14 << 23);
#pragma unroll
  for (int j = 0; j < Q_EACH; j++) {
    const int k = first + Q_THREADS * j;
    if (k >= Q_BLOCKS) break;
    const uint4 p = second ? x[j][1] : x[j][0], q = second ? x[j][0] : x[j][1];
    const u32 w[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
    char* const to = base + Q_AT + k / 4 * Q_SLAB + n * 128;
    uint4* const a = (uint4*)(to + ((2 * k ^ n) % 8 << 4));
    uint4* const b = (uint4*)(to + ((2 * k + 1 ^ n) % 8 << 4));
    u32 y[8];
    if (k >= R / 16) {
#pragma unroll
      for (int i = 0; i < 8; i++) y[i] = pack2(unpack_lo(w[i]) * by, unpack_hi(w[i]) * by);
      *a = make_uint4(y[0], y[1], y[2], y[3]);
      *b = make_uint4(y[4], y[5], y[6], y[7]);
      continue;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) y[i] = pack_f16(unpack_lo(w[i]) * by, unpack_hi(w[i]) * by);
    *a = make_uint4(y[0], y[2], y[4], y[6]); // the order of k indices in operands_of()
    *b = make_uint4(y[1], y[3], y[5], y[7]);
  }
}
// [templates/mla_decode/sm90_few/take_pieces.h]
MLAF_DEV void announce(const mlaf_decode_args& a, char* base, u32 smem, int k, const work& w, const place& at, bool none);
MLAF_DEV void copy_bytes(u32 to, const char* from, int bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(EVICT_FIRST) : "memory");
}

MLAF_DEV void bring(const mlaf_decode_args& a, u32 to, u32 row, int rows, u32 full, bool joined) {
  const int lane = threadIdx.x & 31, mine = lane % 16;
  if (mine >= rows) return;
  to += mine * PITCH;
  if (lane < 16) copy_bytes(to, a.ckv + (u64)row * a.ckv_row_stride, TOKEN, full);
}

MLAF_DEV void produce(const mlaf_decode_args& a, u32 smem, char* base) {
  constexpr int COPIES = 16 / AT_ONCE; // of a warp in a tile
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  constexpr bool joined = true;
  walk where;
  work w;
  begin_walk(a, where);
  place at = {0, 0, 1};
  for (int k = 0;; k++) {
    const bool none = !next_work(a, where, w);
    if (warp == 3) announce(a, base, smem, k, w, at, none);
    if (none) return;
    const int tiles = tiles_of(w);
    auto token_of = [&](int i) { return w.begin + i / COPIES * 64 + 16 * warp + i % COPIES * AT_ONCE; };
    auto fetch = [&](int i) { return token_of(i) < w.end ? w.pages[(u32)token_of(i) / PAGE] : 0; };
    int ids = fetch(lane), ahead = fetch(lane + 32);
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
      const int first = t * COPIES, mine = token_of(first + lane % COPIES), rows = w.end - token_of(first);
      if (first % 32 == 0 && t > 0) {
        ids = ahead;
        ahead = fetch(first + 32 + lane);
      }
      bool bad = false;
      const u32 row = row_of(a, __shfl_sync(~0u, ids, (first + lane % COPIES) % 32), mine, bad);
      bad = __any_sync(~0u, bad && mine < w.end);
      barrier_wait(empty_barrier(smem, at.slot), at.lap ^ 1);
      const u32 full = full_barrier(smem, at.slot);
      if (lane == 0) {
        if (bad) ((volatile int*)(base + BAD_AT))[at.slot] = at.tile;
        barrier_expect(full, (rows < 0 ? 0 : smaller(rows, 16)) * TOKEN);
      }
      __syncwarp();
      bring(a, smem + TILE * at.slot + warp * (TILE / 4), row, smaller(rows, 16), full, joined);
      advance(at, 1);
      at.tile++;
    }
    if (warp == 3 && !where.whole && w.whom > 0) meet(a, w, smem);
    if (where.whole) return;
  }
}

MLAF_DEV void announce(const mlaf_decode_args& a, char* base, u32 smem, int k, const work& w, const place& at, bool none) {
  const int bytes = none ? 0 : w.rows * Q_ROW;
  barrier_wait(smem + EMPTY_Q_AT, (k & 1) ^ 1);
  if ((threadIdx.x & 31) == 0) {
    facts_of(base, 0) = {w, at, none};
    barrier_expect(smem + FULL_Q_AT, bytes);
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
}
MLAF_DEV u32 operand(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }

template <int M>
MLAF_DEV void settle(float (&x)[M]) {
#pragma unroll
  for (int i = 0; i < M; i++) asm volatile("" : "+f"(x[i])::"memory");
}

struct token_scales {
  float of[2][GROUPS];
};

MLAF_DEV void scores(u32 at, u32 scales_at, u32 q, float (&s)[N / 2], token_scales& scales) {
  constexpr int STEPS = NV * 2, EACH = R / GROUPS; // of 16 columns in each of two groups; columns of a group
  const int second = threadIdx.x % 32 / 16;
  u32 x[AHEAD + 1][4], a[BUFFERS][2][4];
  float part[GROUPS][N / 2];
#pragma unroll
  for (int k = 0; k < 4; k++) load_matrices(a[k / 2][k % 2], at + 16 * second + TOKEN - 128 + 32 * k);
  at += EACH * second;
  auto column = [&](int c) { return c % 2 * (2 * EACH) + c / 2 * 16; }; // both pairs of groups in turns
#pragma unroll
  for (int c = 0; c < AHEAD; c++) load_matrices(x[c], at + column(c));
#pragma unroll
  for (int k = 0; k < 2; k++) {
    mma_begin();
    mma_bf16(s, a[k][0], q + (NV * Q_SLAB + 64 * k) / 16, k > 0);
    mma_bf16(s, a[k][1], q + (NV * Q_SLAB + 64 * k + 32) / 16, true);
    mma_commit();
  }
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const uint4 y = load_16(scales_at + h * (8 * PITCH));
    scales.of[h][0] = float_of(y.x), scales.of[h][1] = float_of(y.y);
    scales.of[h][2] = float_of(y.z), scales.of[h][3] = float_of(y.w);
  }
#pragma unroll
  for (int c = 0; c < STEPS; c++) {
    u32 (&own)[2][4] = a[(c + 2) % BUFFERS];
    if (c + AHEAD < STEPS) load_matrices(x[(c + AHEAD) % (AHEAD + 1)], at + column(c + AHEAD));
    if (c + 2 >= BUFFERS) mma_wait<BUFFERS - 1>();
    operands_of(x[c % (AHEAD + 1)], own);
    mma_begin();
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int first = column(c) + k * EACH;
      mma_f16(part[first / EACH], own[k], q + (first / 64 * Q_SLAB + first % 64 * 2) / 16, c > 1);
    }
    mma_commit();
  }
  mma_wait<0>();
  settle(s);
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    settle(part[g]);
#pragma unroll
    for (int i = 0; i < N / 2; i++) s[i] = fmaf(part[g][i], scales.of[i / 2 % 2][g], s[i]);
  }
}

MLAF_DEV void multiply_v(u32 at, u32 p, float (&o)[NV][N / 2]) {
  constexpr int STEPS = 2 * NV, PAIRS = NV / 2;
  u32 x[AHEAD + 1][4], a[BUFFERS][2][4];
  auto place = [&](int n) { return at + n % PAIRS * 128 + n / PAIRS * STEP_16; };
#pragma unroll
  for (int n = 0; n < AHEAD; n++) load_transposed(x[n], place(n));
#pragma unroll
  for (int n = 0; n < STEPS; n++) {
    u32 (&own)[2][4] = a[n % BUFFERS];
    if (n + AHEAD < STEPS) load_transposed(x[(n + AHEAD) % (AHEAD + 1)], place(n + AHEAD));
    if (n >= BUFFERS) mma_wait<BUFFERS - 1>();
    operands_of_transposed(x[n % (AHEAD + 1)], own);
    mma_begin();
    const int pair = n % PAIRS;
    const u32 columns = p + (pair / (PAIRS / GROUPS) * P_SLAB + n / PAIRS * 32) / 16;
    mma_f16(o[2 * pair], own[0], columns, true);
    mma_f16(o[2 * pair + 1], own[1], columns, true);
    mma_commit();
  }
  mma_wait<0>();
#pragma unroll
  for (int b = 0; b < NV; b++) settle(o[b]);
}
constexpr float LIFT = 13.0f, SLACK = 2.0f, LOWEST = -1e30f;

struct row_state {
  float m[COLS], sum[COLS]; // reference; sum of P, of this thread's tokens only
  float by[COLS];           // factors of scores
  float inverse[GROUPS];    // P is multiplied by a token's scale over a power of two that none exceeds, so that f16 has it
};

MLAF_DEV void begin_rows(row_state& r, const float* factors) {
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    r.m[c] = LOWEST;
    r.sum[c] = 0.0f;
    r.by[c] = factors[8 * (c / 2) + 2 * (threadIdx.x % 4) + c % 2];
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) r.inverse[g] = 0x1p100f;
}

MLAF_DEV void poison(row_state& r) {
#pragma unroll
  for (int c = 0; c < COLS; c++) r.sum[c] = not_a_number();
}

MLAF_DEV bool too_high(const float (&s)[N / 2], const token_scales& scales, const row_state& r) {
  bool higher = false;
#pragma unroll
  for (int i = 0; i < N / 2; i++) higher |= s[i] > r.m[i / 4 * 2 + i % 2] + (LIFT + SLACK);
#pragma unroll
  for (int i = 0; i < 2 * GROUPS; i++) higher |= fabsf(scales.of[i / GROUPS][i % GROUPS]) * r.inverse[i % GROUPS] > 1.0f;
  return higher;
}

MLAF_DEV void raise(const float (&s)[N / 2], const token_scales& scales, row_state& r, float (&o)[NV][N / 2], float* tops,
                    int group) {
  constexpr int EACH = N + 4;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float top = max_over_lanes<4, 32>(fmaxf(s[c / 2 * 4 + c % 2], s[c / 2 * 4 + c % 2 + 2]));
    if (lane < 4) tops[warp * EACH + 8 * (c / 2) + 2 * lane + c % 2] = top;
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const float top = max_over_lanes<4, 32>(fmaxf(fabsf(scales.of[0][g]), fabsf(scales.of[1][g])));
    if (lane == 0) tops[warp * EACH + N + g] = top;
  }
  named_sync(1 + group, 128);
  auto top_of = [&](int n) { return fmaxf(fmaxf(tops[n], tops[EACH + n]), fmaxf(tops[2 * EACH + n], tops[3 * EACH + n])); };
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float top = top_of(8 * (c / 2) + 2 * (lane % 4) + c % 2);
    if (!__any_sync(~0u, top > r.m[c] + (LIFT + SLACK))) continue;
    const float now = top > r.m[c] + (LIFT + SLACK) ? top - LIFT : r.m[c], factor = exp2_fast(r.m[c] - now);
    r.m[c] = now;
    r.sum[c] *= factor;
#pragma unroll
    for (int i = 0; i < NV; i++) {
      o[i][c / 2 * 4 + c % 2] *= factor;
      o[i][c / 2 * 4 + c % 2 + 2] *= factor;
    }
  }
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const float top = top_of(N + g);
    if (!(top * r.inverse[g] > 1.0f)) continue;
    const u32 exponent = bits_of(top) >> 23;
    const float now = float_of(252 - (exponent > 250 ? 250 : exponent) << 23), factor = now / r.inverse[g]; // of powers of two
    r.inverse[g] = now;
#pragma unroll
    for (int i = NV / GROUPS * g; i < NV / GROUPS * (g + 1); i++)
#pragma unroll
      for (int k = 0; k < N / 2; k++) o[i][k] *= factor;
  }
}

MLAF_DEV void store_p(const float (&s)[N / 2], const token_scales& scales, const row_state& r, float (&sum)[COLS], u32 p) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  float x[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; i++) x[i] = exp2_fast(s[i] - r.m[i / 4 * 2 + i % 2]);
#pragma unroll
  for (int c = 0; c < COLS; c++) sum[c] = x[c / 2 * 4 + c % 2] + x[c / 2 * 4 + c % 2 + 2];
  const u32 at = p + lane % 8 * 128 + ((2 * warp + lane / 8 % 2 ^ lane % 8) << 4);
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const u32 to = at + g * P_SLAB;
    u32 packed[N / 4];
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      const float by = scales.of[i % 2][g] * r.inverse[g];
      packed[i] = pack_f16(x[2 * i] * by, x[2 * i + 1] * by);
    }
#pragma unroll
    for (int j = 0; j + 1 < N / 8; j += 2)
      store_matrices(to + 1024 * (j + lane / 16), packed[2 * j], packed[2 * j + 1], packed[2 * j + 2], packed[2 * j + 3]);
    if (N / 8 % 2) store_matrices(to + 1024 * (N / 8 - 1), packed[N / 4 - 2], packed[N / 4 - 1]);
  }
}

MLAF_DEV void clear_rows(char* tile, int valid, int group) {
  for (int i = valid * (TOKEN / 16) + (int)threadIdx.x % 128; i < 64 * (TOKEN / 16); i += 128)
    *(uint4*)(tile + place_of(i / (TOKEN / 16)) + i % (TOKEN / 16) * 16) = make_uint4(0, 0, 0, 0);
  named_sync(1 + group, 128);
}

MLAF_DEV void compute(const mlaf_decode_args& a, const work& w, char* base, u32 smem, int group, place at, row_state& r,
                      float (&o)[NV][N / 2]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, tiles = tiles_of(w);
  const u32 q = operand(smem + Q_AT), p_at = smem + P_AT + group * 8192;
  const u32 k_at = smem + place_of(token_at(16 * warp + lane % 16));
  const u32 v_at = smem + place_of(token_at(lane % 16)) + lane / 16 * 64 + 16 * warp;
  const int own_token = token_at(16 * warp + lane / 4); // and STEP_8 behind it
  auto sees = [&](int row) { return smaller(w.end, CAUSAL ? w.tokens - (w.n - 1 - (w.row0 + row) / H) : w.end); };
  const int all_see = sees(0);
  advance(at, group);
  at.tile += group;
#pragma unroll 1
  for (int t = group; t < tiles; t += W) {
    float s[N / 2];
    const int token0 = w.begin + 64 * t;
    if (t > 0) named_sync(SCORED + group, 256);
    barrier_wait(full_barrier(smem, at.slot), at.lap);
    named_arrive_if(t + 1 < tiles, SCORED + (group ^ 1), 256);
    const u32 tile = TILE * at.slot;
    if (w.end - token0 < 64) clear_rows(base + tile, w.end - token0, group);
    if (((volatile int*)(base + BAD_AT))[at.slot] == at.tile) poison(r); // a page id that is none
    token_scales scales;
    scores(k_at + tile, smem + tile + place_of(own_token) + R, q, s, scales);
#pragma unroll
    for (int i = 0; i < N / 2; i++) s[i] *= r.by[i / 4 * 2 + i % 2];
    if (token0 + 64 > all_see) {
      const int first = token0 + own_token;
#pragma unroll
      for (int i = 0; i < N / 2; i++)
        if (first + i / 2 % 2 * STEP_8 >= sees(i / 4 * 8 + 2 * (lane % 4) + i % 2)) s[i] = minus_inf();
    }
    float sum[COLS];
    store_p(s, scales, r, sum, p_at);
    fence_async();
    if (named_any(1 + group, 128, too_high(s, scales, r))) {
      raise(s, scales, r, o, (float*)(base + TOPS_AT) + 4 * (N + 4) * group, group);
      store_p(s, scales, r, sum, p_at);
      fence_async();
      named_sync(1 + group, 128);
    }
#pragma unroll
    for (int c = 0; c < COLS; c++) r.sum[c] += sum[c];
    multiply_v(v_at + tile, operand(p_at), o);
    barrier_arrive_if(lane == 0, empty_barrier(smem, at.slot));
    advance(at, W);
    at.tile += W;
  }
#pragma unroll
  for (int i = 0; i < NV; i++)
#pragma unroll
    for (int k = 0; k < N / 2; k++) o[i][k] *= float_of((254u << 23) - bits_of(r.inverse[i / (NV / GROUPS)])); // a power of two
}

template <int C>
MLAF_DEV void merge_states(char* base, u32 smem, int group, int cta_id, row_state& r) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  float4* const parts = (float4*)(base + WARPS_AT);
  named_sync(1 + group, 128); // of its P
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.sum[c]);
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
        float* const to = out + (8 * (c / 2) + c % 2) * STRIDE + 64 * i + 1 * h;
        const float x = o[FIRST + i][c / 2 * 4 + c % 2 + 2 * h] * factor[c];
        *to = Add ? *to + x : x;
      }
}

template <int FIRST, int WIDTH>
MLAF_DEV void gather_o(char* base, char* place_of_o, int group, const row_state& r, const float (&o)[NV][N / 2]) {
  constexpr int ALL = WIDTH / 64, HALF = ALL / 2, STRIDE = WIDTH + 4;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  const float4* const parts = (const float4*)(base + WARPS_AT);
  float* const out = (float*)place_of_o + 2 * (lane % 4) * STRIDE + 16 * warp + lane / 4 * 2;
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
MLAF_DEV int thread_now() {
  int x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
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
    auto unit = [&](int k) { return (first + k) * T + thread_now(); };
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

MLAF_DEV void cluster_meet() {
  cluster_arrive();
  cluster_wait();
}

MLAF_DEV void attend(const mlaf_decode_args& a, char* base, u32 smem, int group, int cta_id) {
  const float scale = a.scale_log2e;
#pragma unroll 1
  for (int k = 0;; k++) {
    barrier_wait(smem + FULL_Q_AT, k & 1);
    const facts &next = facts_of(base, 0), &known = facts_of(base, 1);
    if (next.none) {
      if (C > 1 && k == 0) cluster_meet();
      return;
    }
    take_q(base, next.w.rows, scale);
    if (threadIdx.x < 80 / 4) ((u32*)&known)[threadIdx.x] = ((const u32*)&next)[threadIdx.x];
    fence_async();
    barrier_arrive(smem + EMPTY_Q_AT);
    named_sync(3, MATH);
    if (C > 1 && k == 0) cluster_arrive(); // other blocks may send what goes where Q was
    if (C > 1 && k == 0 && !known.w.whole) cluster_wait(); // each block works on its own
    refuse_request(a, known.w.bad, known.w.part, threadIdx.x, MATH);
    if (k == 0 && !known.w.whole && !fit_apart(&a) && threadIdx.x == 0) meet_begin(a);
    row_state r;
    float o[NV][N / 2];
    begin_rows(r, (const float*)(base + ROWS_AT));
    if (known.w.bad) poison(r);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
      for (int j = 0; j < N / 2; j++) o[i][j] = 0.0f;
    const work w = known.w;
    compute(a, w, base, smem, group, known.at, r, o);
    if (known.w.whole) {
      merge_states<C>(base, smem, group, cta_id, r);
      finish<C, R, 0>(a, known.w, base, smem, base, group, cta_id, r, o);
      return;
    }
    merge_states<1>(base, smem, group, 0, r);
    if (known.w.begin > 0 && !fit_apart(&a)) finish_last(a, known.w, base, smem, group, r, o);
    else finish<1, OUT_COLS, 0>(a, known.w, base, smem, base + Q_AT, group, 0, r, o);
    if (known.w.part >= 0 && !fit_apart(&a) && threadIdx.x == 0) meet_publish(word_of(a, PART));
  }
}

MLAF_DEV void make_barriers(char* base, u32 smem, int thread) {
  if (thread == 0)
#pragma unroll
    for (int s = 0; s < RING; s++) {
      barrier_init(full_barrier(smem, s), 4);
      barrier_init(empty_barrier(smem, s), 4);
    }
  if (thread == 32) {
    barrier_init(smem + FULL_Q_AT, 1);
    barrier_init(smem + EMPTY_Q_AT, MATH);
    barrier_init(smem + MET_AT, 1);
    if (C > 1) {
      barrier_init(smem + ENDS_AT, 1);
      barrier_init(smem + ENDS_AT + 8, 1);
      barrier_expect(smem + ENDS_AT, 16 * N * C);
    }
  }
  if (thread >= 96 && thread - 96 < RING) ((int*)(base + BAD_AT))[thread - 96] = 0;
  barriers_ready();
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_raw_74422367(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ char raw[];
  char* const base = raw + (-shared_address(raw) & 1023);
  const u32 smem = shared_address(base);
  const int group = __shfl_sync(~0u, (int)threadIdx.x / 128, 0), cta_id = C > 1 ? cta_in_cluster() : 0;
  if (group == W) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
    make_barriers(base, smem, threadIdx.x - MATH);
    __syncwarp();
    if (C > 1) cluster_arrive(); // this block may be reached into from now on; who does so waits then
    named_sync(4, 128);
    named_arrive(5, MATH + 128);
    wait_for_previous_launch();
    let_next_launch_start(); // its blocks come as these leave
    produce(p.a, smem, base);
    if (C > 1) cluster_wait();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 208;");
    if (threadIdx.x < 32) look_ahead(p.a);
    named_sync(5, MATH + 128); // barriers are there
    wait_for_previous_launch();
    let_next_launch_start();
    attend(p.a, base, smem, group, cta_id);
  }
}
