// Generated from templates/mla_decode/sm90_mid_gather.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_sm90_mid_gather_1e2e93bb
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 40
//   page_size = 3
//   q_len = 2
//   rank = 512
//   rope = 32
//   rows = 80
//   schedule = fitted
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_mid_gather target=sm_90a causal=1 dtype=bf16 heads=40 page_size=3 q_len=2 rank=512 rope=32 rows=80 schedule=fitted



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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_mid_gather_1e2e93bb_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 229472,
    {1, 1, 1}, 9, 0, {}, 1,
    {{3, 64, 80, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
  mlaf_tensor_map maps[1];
};
#define SCHEDULE_FIXED 128
// [templates/mla_decode/lib/schedule.h]
// [templates/lib/hopper.h]
// [templates/mla_decode/lib/gather.h]
// [templates/mla_decode/sm90_few/sm90.h]

constexpr int H = 40, Q_LEN = 2, R = 512, ROPE = 32, PAGE = 3, SUB = 1, SUBS = 64 / SUB;
constexpr bool CAUSAL = 1, FITTED = 1; // a block may walk several pieces
constexpr int N = 80, C = 1;
constexpr int NV = R / 64, HALF = NV / 2, NB = 9, RING = 15; // boxes of V, half of them, of a tile
constexpr int BOX = 8192;
constexpr int GROUPS = (N + 31) / 32;                                    // of 32 rows: see `fold`
constexpr int SENDERS = 3;                                               // warps that send boxes, or copy them
constexpr int MAP_Q = 0, MAP_CKV = 1, MAP_KPE = 2;
struct shared_memory {
  char ring[RING][BOX], q[NB][128 * N];     // swizzled
  int tables[SENDERS][2][64];               // of each of them: numbers of the rows of a tile, before that page ids
  __align__(16) char p[128 * N];            // P^T
  float refs[N], factors[N];                // reference of each row; what O is multiplied by
  u32 raised[4];                            // a bit for each row whose factor is not 1
  float sums[4][N], inverse[N];             // by warp; 1 over the whole of it
  __align__(8) char facts[64];
  u64 full[RING], empty[RING], q_full, q_empty, p_full, end; // barriers
  int bad[RING]; // of each box: the number of the last tile with a bad page that began in it
};
constexpr int Q_AT = AT(q), P_AT = AT(p), REFS_AT = AT(refs), FACTORS_AT = AT(factors), RAISED_AT = AT(raised);
constexpr int SUMS_AT = AT(sums), INVERSE_AT = AT(inverse), FACTS_AT = AT(facts), BARS_AT = AT(full), BAD_AT = AT(bad);
constexpr int Q_FULL = AT(q_full), Q_EMPTY = AT(q_empty), P_FULL = AT(p_full), END = AT(end);
constexpr int TABLES_AT = AT(tables);
static_assert(sizeof(shared_memory) == 229472, "plans/sm90_mid.lua counts otherwise");
constexpr int FACTORS_FULL = 4, P_EMPTY = 5, MATH = 384;
constexpr float LOWEST = -1e30f;

template <int TransA>
MLAF_DEV void mma(float (&d)[N / 2], u64 a, u64 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %42, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}, "
      "%40, %41, p, 1, 1, %43, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
      : "l"(a), "l"(b), "r"((u32)add), "n"(TransA));
}
MLAF_DEV float2 load_8(u32 at) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(at) : "memory");
  return x;
}
#define PART ((int)(blockIdx.z * gridDim.y + blockIdx.y))
#define FIT_CUT 500
// [templates/mla_decode/lib/fit.h]

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
  const bool tells = blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && true;
  if (PART == 0 && tells) fit_tell(a.part_o, at.whole ? 0 : parts);
  if (at.whole) return;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
  at.part = fit_open(&a, PAGE, PART, parts);
  if (PART >= parts) at.part.request = a.batch;
}

MLAF_DEV bool next_work(const mlaf_decode_args& a, walk& at, work& w) {
  for (;;) {
    int request = blockIdx.z, q_begin, q_tokens, first_page, slot;
    if (!at.whole) {
      mlaf_piece x;
      if (!fit_next(&a, PAGE, &at.part, &x)) return false;
      if (fit_goes_on(&x) && blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && true)
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

MLAF_DEV int column_of(int b) { // in boxes; NV: rope
  if (ROPE > 0 && b == 0) return NV;
  const int v = b - (ROPE > 0);
  return v % 2 * HALF + v / 2;
}
MLAF_DEV int slot_of(const place& at, int b) { return at.slot + b >= RING ? at.slot + b - RING : at.slot + b; }

struct facts {
  int tiles;                   // -1: nothing is left
  int begin, end, tokens, n;   // as in `work`
  int row0, rows, bad;
  i64 row, part;
};
enum { TILES_OF = 0, BEGIN_OF = 4, END_OF = 8, TOKENS_OF = 12, N_OF = 16, ROW0_OF = 20, ROWS_OF = 24, BAD_OF = 28, ROW_OF = 32,
       PART_OF = 40 };
static_assert(sizeof(facts) == 48, "differs from the offsets");
MLAF_DEV int known(u32 smem, u32 field) { return load_s32(smem + FACTS_AT + field); }

constexpr int FOURS = 16, OWN = (FOURS + SENDERS - 1) / SENDERS; // of a box; of them a warp's, at most
constexpr bool KEEP = 0;

template <typename F>
MLAF_DEV void copy_box_of_rows(u32 smem, char* base, place& at, u32 in_box, int warp, bool copies, bool bad, F from) {
  barrier_wait(empty_barrier(smem, at.slot), at.lap ^ 1);
  if (bad) ((volatile int*)(base + BAD_AT))[at.slot] = at.tile;
  __syncwarp();
  const u32 to = smem + BOX * at.slot + in_box;
#pragma unroll
  for (int k = 0; k < OWN; k++)
    if (copies && warp + SENDERS * k < FOURS) copy_16((to ^ SENDERS * k % 2 * 64) + 512 * SENDERS * k, from(k), EVICT_FIRST);
  barrier_arrive_after_copies(full_barrier(smem, at.slot));
  advance(at, 1);
}

MLAF_DEV void copy_boxes(const mlaf_decode_args& a, u32 smem, char* base, int warp) {
  auto table_of = [&](int t) { return smem + TABLES_AT + 512 * warp + 256 * (t & 1); };
  const u32 lane = lane_now(), sub = lane / 8, chunk = lane % 8;
  const u32 in_box = 512 * warp + 128 * sub + ((chunk ^ sub ^ 4 * (warp & 1)) << 4); // of the first group, swizzled
  walk where;
  work w;
  begin_walk(a, where);
  place at = {0, 0, 1};
  while (next_work(a, where, w)) {
    const int tiles = tiles_of(w);
    bool bad = false; // of the tile whose rows were made last
    auto ask = [&](int t) {
      __syncwarp(); // all lanes are through with the table that the ids take
      if (t < tiles) ask_for_ids<PAGE>(table_of(t), w.pages, w.begin + 64 * t, w.end - 1);
    };
    auto make = [&](int t) {
      if (t < tiles) bad = make_rows<PAGE>(table_of(t), a.num_pages, w.begin + 64 * t, w.end - 1);
      __syncwarp();
    };
    ask(0);
    make(0);
    ask(1);
    for (int t = 0; t < tiles; t++) {
      auto row = [&](int k) { return (u64)load_row(table_of(t) + 16 * smaller(warp + SENDERS * k, FOURS - 1) + 4 * sub); };
      const u32 stride = (u32)a.ckv_row_stride * 2;
      if (ROPE > 0)
        copy_box_of_rows(smem, base, at, in_box, warp, chunk < ROPE / 8, bad && warp == 0,
                         [&](int k) { return a.kpe + 16 * chunk + row(k) * ((u32)a.kpe_row_stride * 2); });
      const char* from[OWN];
#pragma unroll
      for (int k = 0; k < OWN; k++) {
        from[k] = a.ckv + 16 * chunk + (KEEP ? row(k) * stride : 0);
        if (KEEP) asm volatile("" : "+l"(from[k]));
      }
#pragma unroll
      for (int b = ROPE > 0; b < NB; b++) {
        copy_box_of_rows(smem, base, at, in_box, warp, true, b == 0 && bad && warp == 0,
                         [&](int k) { return from[k] + 128 * column_of(b) + (KEEP ? 0 : row(k) * stride); });
        if (b == NB / 2 && KEEP) make(t + 1), ask(t + 2); // the next tile's rows, and page ids of the one behind it
      }
      if (!KEEP) make(t + 1), ask(t + 2);
      at.tile++;
    }
  }
}

MLAF_DEV void send_queries(const mlaf_decode_params& p, u32 smem, char* base) {
  const int lane = threadIdx.x & 31;
  walk where;
  work w;
  begin_walk(p.a, where);
  for (u32 k = 0;; k++) {
    const bool more = next_work(p.a, where, w);
    if (!FITTED && k > 0) return;
    barrier_wait(smem + Q_EMPTY, (k & 1) ^ 1);
    if (lane == 0) {
      *(facts*)(base + FACTS_AT) = {more ? tiles_of(w) : -1, w.begin, w.end, w.tokens, w.n, w.row0, w.rows, w.bad, w.row, w.part};
      barrier_expect(smem + Q_FULL, more ? NB * N * 128 : 0);
      if (more)
        for (int b = 0; b < NB; b++)
          copy_box(smem + Q_AT + b * (N * 128), p.maps + MAP_Q, 64 * column_of(b), (int)w.row, smem + Q_FULL);
    }
    __syncwarp();
    if (!more) return;
  }
}

MLAF_DEV void fold(int lane, float (&x)[GROUPS][8]) {
#pragma unroll
  for (int d = 4; d > 0; d /= 2) {
    const bool upper = lane & 4 * d;
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int i = 0; i < d; i++) {
        const float other = __shfl_xor_sync(~0u, upper ? x[g][i] : x[g][i + d], 4 * d);
        x[g][i] = (upper ? x[g][i + d] : x[g][i]) + other;
      }
  }
}
MLAF_DEV int own_row(int lane, int g) { return 32 * g + lane / 8 * 8 + 2 * (lane % 4) + lane / 4 % 2; }

struct row_state {
  float m, sum[N / 4];
};

MLAF_DEV void scores(u32 smem, const place& at, float (&s)[N / 2]) {
  const u64 ring = matrix(smem, 16, 1024, 1), q = matrix(smem + Q_AT, 16, 1024, 1);
  int slot = at.slot;
  u32 lap = at.lap;
#pragma unroll
  for (int b = 0; b < NB; b++) {
    if (b > 0 && ++slot == RING) {
      slot = 0;
      lap ^= 1;
    }
    barrier_wait(full_barrier(smem, slot), lap);
    take_copies();
    mma_begin();
#pragma unroll
    for (int k = 0; k < (ROPE > 0 && b == 0 ? ROPE / 16 : 4); k++)
      mma<0>(s, ring + (slot * (BOX / 16) + 2 * k), q + (b * (N * 8) + 2 * k), b > 0 || k > 0);
  }
  mma_commit();
  mma_wait<0>();
}

MLAF_DEV void clear_rows(char* base, const place& at, int valid) {
  const int t = threadIdx.x % 128;
#pragma unroll 1
  for (int b = ROPE > 0; b < NB; b++)
    for (int i = valid * 8 + t; i < 512; i += 128) *(uint4*)(base + slot_of(at, b) * BOX + 16 * i) = make_uint4(0, 0, 0, 0);
}

MLAF_DEV void mask(u32 smem, int token0, float (&s)[N / 2]) {
  const int lane = threadIdx.x & 31, first = token0 + threadIdx.x / 32 % 4 * 16 + lane / 4;
  const int end = known(smem, END_OF), seen = known(smem, TOKENS_OF) - known(smem, N_OF) + 1, row0 = known(smem, ROW0_OF);
#pragma unroll
  for (int c = 0; c < N / 4; c++) {
    const int row = row0 + c / 2 * 8 + 2 * (lane % 4) + c % 2;
    const int sees = CAUSAL ? smaller(end, seen + row / H) : end;
#pragma unroll
    for (int h = 0; h < 2; h++)
      if (first + 8 * h >= sees) s[c / 2 * 4 + 2 * h + c % 2] = minus_inf();
  }
}

MLAF_DEV void raise(u32 smem, float scale, const float (&s)[N / 2], row_state& r) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, n = threadIdx.x % 128;
  const u32 to = smem + P_AT + lane % 4 * 256 + ((8 * warp + lane / 4) ^ lane % 4 * 8) * 4;
#pragma unroll
  for (int c = 0; c < N / 4; c++)
    store_4(to + c / 2 * 1024 + c % 2 * 128, fmaxf(s[c / 2 * 4 + c % 2], s[c / 2 * 4 + c % 2 + 2]));
  named_sync(1, 128);
  float top = LOWEST;
  if (n < N) {
    uint4 x[8];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = load_16(smem + P_AT + n * 128 + (i + n) % 8 * 16);
#pragma unroll
    for (int i = 0; i < 8; i++)
      top = fmaxf(top, fmaxf(fmaxf(float_of(x[i].x), float_of(x[i].y)), fmaxf(float_of(x[i].z), float_of(x[i].w))));
  }
  const float now = fmaxf(r.m, scale * top);
  const u32 raised = __ballot_sync(~0u, now > r.m);
  if (n < N) {
    store_4(smem + REFS_AT + 4 * n, now);
    store_4(smem + FACTORS_AT + 4 * n, exp2_fast(r.m - now));
  }
  if (lane == 0) store_u32(smem + RAISED_AT + 4 * warp, raised);
  r.m = now;
  named_sync(1, 128);
  named_arrive(FACTORS_FULL, MATH);
}

MLAF_DEV void store_p(u32 smem, float scale, float (&s)[N / 2]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  const u32 refs = smem + REFS_AT + 8 * (lane % 4);
  const u32 at = smem + P_AT + 256 * warp + lane / 8 % 2 * 128 + lane % 8 * 16;
  u32 w[N / 4];
  float2 m[N / 8];
#pragma unroll
  for (int j = 0; j < N / 8; j++) m[j] = load_8(refs + 32 * j);
#pragma unroll
  for (int j = 0; j < N / 8; j++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      s[4 * j + 2 * h] = exp2_fast(fmaf(s[4 * j + 2 * h], scale, -m[j].x));
      s[4 * j + 2 * h + 1] = exp2_fast(fmaf(s[4 * j + 2 * h + 1], scale, -m[j].y));
      w[2 * j + h] = pack2(s[4 * j + 2 * h], s[4 * j + 2 * h + 1]);
    }
#pragma unroll
  for (int j = 0; j + 1 < N / 8; j += 2)
    store_matrices(at + 1024 * (j + lane / 16), w[2 * j], w[2 * j + 1], w[2 * j + 2], w[2 * j + 3]);
  if (N / 8 % 2) store_matrices(at + 1024 * (N / 8 - 1), w[N / 4 - 2], w[N / 4 - 1]);
  fence_async();
  __syncwarp();
  barrier_arrive_if(lane == 0, smem + P_FULL);
}

MLAF_DEV void add_sums(u32 smem, const float (&s)[N / 2], row_state& r) {
  const u32 factors = smem + FACTORS_AT + 8 * (threadIdx.x % 4);
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 f = load_8(factors + 32 * j);
    r.sum[2 * j] = fmaf(r.sum[2 * j], f.x, s[4 * j] + s[4 * j + 2]);
    r.sum[2 * j + 1] = fmaf(r.sum[2 * j + 1], f.y, s[4 * j + 1] + s[4 * j + 3]);
  }
}

MLAF_DEV void finish_rows(const mlaf_decode_args& a, u32 smem, const row_state& r) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, n = threadIdx.x % 128;
  float x[GROUPS][8];
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
#pragma unroll
    for (int i = 0; i < 8; i++) x[g][i] = 4 * g + i / 2 < N / 8 ? r.sum[(8 * g + i) % (N / 4)] : 0.0f;
  fold(lane, x);
#pragma unroll
  for (int g = 0; g < GROUPS; g++)
    if (own_row(lane, g) < N) store_4(smem + SUMS_AT + 4 * (warp * N + own_row(lane, g)), x[g][0]);
  named_sync(1, 128);
  if (n < N) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) sum += load_4(smem + SUMS_AT + 4 * (i * N + n));
    store_4(smem + INVERSE_AT + 4 * n, sum == 0.0f ? 0.0f : 1.0f / sum); // no token seen: O = 0
    if (n < known(smem, ROWS_OF)) {
      const i64 part = load_s64(smem + FACTS_AT + PART_OF);
      const float lse = sum == 0.0f ? minus_inf() : r.m + log2_fast(sum);
      if (part >= 0) a.part_lse[part + known(smem, ROW0_OF) + n] = lse;
      else if (a.lse) a.lse[load_s64(smem + FACTS_AT + ROW_OF) + n] = lse * LN_2;
    }
  }
  barrier_arrive(smem + END);
}

MLAF_DEV void work_on_scores(const mlaf_decode_args& a, char* base, u32 smem) {
  const int lane = threadIdx.x & 31;
  const bool negative = a.scale_log2e < 0.0f;
  const float scale = fmaxf(fabsf(a.scale_log2e), 1e-30f); // not 0: masked scores are -inf
  place at = {0, 0, 1};
#pragma unroll 1
  for (u32 k = 0;; k++) {
    barrier_wait(smem + Q_FULL, k & 1);
    const int tiles = known(smem, TILES_OF);
    if (tiles < 0) break;
    const int clear = CAUSAL ? smaller(known(smem, END_OF), known(smem, TOKENS_OF) - (known(smem, N_OF) - 1 -
                                                                                      known(smem, ROW0_OF) / H))
                             : known(smem, END_OF);
    const int begin = known(smem, BEGIN_OF);
    const int bad = known(smem, BAD_OF);
    refuse_request(a, bad, load_s64(smem + FACTS_AT + PART_OF), threadIdx.x % 128, 128);
    bool poisoned = bad;
    row_state r;
    r.m = LOWEST;
#pragma unroll
    for (int i = 0; i < N / 4; i++) r.sum[i] = 0.0f;
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
      float s[N / 2];
      scores(smem, at, s);
      poisoned |= load_s32(smem + BAD_AT + 4 * at.slot) == at.tile; // a page id that is none
      if (ROPE > 0) barrier_arrive_if(lane == 0, empty_barrier(smem, at.slot));
      if (negative) {
#pragma unroll
        for (int i = 0; i < N / 2; i++) s[i] = -s[i];
      }
      const bool tail = begin + 64 * t + 64 > clear;
      if (tail) mask(smem, begin + 64 * t, s);
      if (at.tile > 1) named_sync(P_EMPTY, MATH);
      raise(smem, scale, s, r);
      if (tail) clear_rows(base, at, known(smem, END_OF) - begin - 64 * t);
      store_p(smem, scale, s);
      if (known(smem, TILES_OF) > t) add_sums(smem, s, r); // always: so that P is not kept waiting for the sums
      advance(at, NB);
      at.tile++;
    }
    if (poisoned) {
#pragma unroll
      for (int i = 0; i < N / 4; i++) r.sum[i] = not_a_number();
    }
    finish_rows(a, smem, r);
    if (!FITTED) break;
    barrier_arrive(smem + Q_EMPTY);
  }
  if (at.tile > 1) named_sync(P_EMPTY, MATH); // the last one passed
}

MLAF_DEV void rescale(u32 smem, float (&o)[HALF][N / 2]) {
  const u32 factors = smem + FACTORS_AT + 8 * (threadIdx.x % 4);
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const u32 raised = load_s32(smem + RAISED_AT + 4 * g);
    float2 f[4];
#pragma unroll
    for (int j = 4 * g; j < 4 * g + 4 && j < N / 8; j++) f[j % 4] = load_8(factors + 32 * j);
#pragma unroll
    for (int j = 4 * g; j < 4 * g + 4 && j < N / 8; j++)
      if (raised >> 8 * (j % 4) & 0xff) {
#pragma unroll
        for (int i = 0; i < HALF; i++)
#pragma unroll
          for (int h = 0; h < 2; h++) {
            o[i][4 * j + 2 * h] *= f[j % 4].x;
            o[i][4 * j + 2 * h + 1] *= f[j % 4].y;
          }
      }
  }
}

template <int G>
MLAF_DEV void multiply_v(u32 smem, const place& at, float (&o)[HALF][N / 2]) {
  const u64 ring = matrix(smem, 16, 1024, 1), p = matrix(smem + P_AT, 128, 1024, 0);
  const int lane = threadIdx.x & 31;
  auto v = [&](int i) { return slot_of(at, (ROPE > 0) + 2 * i + G); };
  mma_begin();
#pragma unroll
  for (int i = 0; i < HALF; i++) {
#pragma unroll
    for (int k = 0; k < 4; k++) mma<1>(o[i], ring + (v(i) * (BOX / 16) + 128 * k), p + 16 * k, true);
    mma_commit();
    if (i > 0) {
      mma_wait<1>();
      barrier_arrive_if(lane == 0, empty_barrier(smem, v(i - 1)));
    }
  }
  mma_wait<0>();
  barrier_arrive_if(lane == 0, empty_barrier(smem, v(HALF - 1)));
  named_arrive(P_EMPTY, MATH);
}

template <int G>
MLAF_DEV void write_o(const mlaf_decode_args& a, u32 smem, const float (&o)[HALF][N / 2]) {
  constexpr int UNITS = HALF * 8; // of 16 bytes, in a row of this half
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  const u32 row = smem + Q_AT + lane % 8 * (2 * R);
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 f = load_8(smem + INVERSE_AT + 32 * j + 8 * (lane % 4));
#pragma unroll
    for (int i = 0; i < HALF; i += 2) {
      u32 w[4];
#pragma unroll
      for (int x = 0; x < 4; x++) w[x] = pack2(o[i + x / 2][4 * j + x % 2 * 2] * f.x, o[i + x / 2][4 * j + x % 2 * 2 + 1] * f.y);
      const int unit = UNITS * G + 8 * (i + lane / 16) + 2 * warp + lane / 8 % 2;
      store_matrices(row + j * (16 * R) + ((unit ^ lane % 8) << 4), w[0], w[1], w[2], w[3]);
    }
  }
  named_sync(2 + G, 128);
  const int rows = known(smem, ROWS_OF);
  char* const to = a.o + load_s64(smem + FACTS_AT + ROW_OF) * (2 * R);
#pragma unroll 4
  for (int i = threadIdx.x % 128; i < rows * UNITS; i += 128) {
    const int n = i / UNITS, unit = UNITS * G + i % UNITS;
    *(uint4*)(to + n * (2 * R) + 16 * unit) = load_16(smem + Q_AT + n * (2 * R) + ((unit ^ n % 8) << 4));
  }
}

template <int G>
MLAF_DEV void write_partial(const mlaf_decode_args& a, u32 smem, i64 part, const float (&o)[HALF][N / 2]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, rows = known(smem, ROWS_OF);
  float* const to = a.part_o + (part + known(smem, ROW0_OF)) * R + 64 * HALF * G + 16 * warp + lane / 4;
#pragma unroll
  for (int j = 0; j < N / 8; j++) {
    const float2 f = load_8(smem + INVERSE_AT + 32 * j + 8 * (lane % 4));
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int n = 8 * j + 2 * (lane % 4) + c;
      if (n >= rows) continue;
#pragma unroll
      for (int i = 0; i < HALF; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) to[n * R + 64 * i + 8 * h] = o[i][4 * j + 2 * h + c] * (c ? f.y : f.x);
    }
  }
}

template <int G>
MLAF_DEV void work_on_values(const mlaf_decode_args& a, u32 smem) {
  place at = {0, 0, 1};
#pragma unroll 1
  for (u32 k = 0;; k++) {
    barrier_wait(smem + Q_FULL, k & 1);
    const int tiles = known(smem, TILES_OF);
    if (tiles < 0) return;
    float o[HALF][N / 2];
#pragma unroll
    for (int i = 0; i < HALF; i++)
#pragma unroll
      for (int j = 0; j < N / 2; j++) o[i][j] = 0.0f;
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
      named_sync(FACTORS_FULL, MATH);
      rescale(smem, o);
      barrier_wait(smem + P_FULL, at.tile & 1 ^ 1);
      multiply_v<G>(smem, at, o);
      advance(at, NB);
      at.tile++;
    }
    barrier_wait(smem + END, k & 1);
    const i64 part = load_s64(smem + FACTS_AT + PART_OF);
    if (part < 0) write_o<G>(a, smem, o);
    else write_partial<G>(a, smem, part, o);
    if (!FITTED) return;
    fence_async();
    barrier_arrive(smem + Q_EMPTY);
  }
}

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_decode_sm90_mid_gather_1e2e93bb(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ __align__(1024) char base[];
  const u32 smem = shared_address(base);
  if (threadIdx.x < RING) {
    barrier_init(full_barrier(smem, threadIdx.x), 96);
    barrier_init(empty_barrier(smem, threadIdx.x), 4);
    ((int*)(base + BAD_AT))[threadIdx.x] = 0;
  }
  if (threadIdx.x == 32) {
    barrier_init(smem + Q_FULL, 1);
    barrier_init(smem + Q_EMPTY, 384);
    barrier_init(smem + P_FULL, 4);
    barrier_init(smem + END, 128);
  }
  if (threadIdx.x < 64) barriers_ready();
  if (threadIdx.x >= 64 && threadIdx.x < 64 + 1) fetch_map(&p.maps[threadIdx.x - 64]);
  __syncthreads();
  wait_for_previous_launch();
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  if (group == 0) { // registers: 128 * (32 + 96 + 2 * 192) of 65536
    asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp == SENDERS) send_queries(p, smem, base);
    else copy_boxes(p.a, smem, base, warp);
    let_next_launch_start();
  } else if (group == 1) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
    work_on_scores(p.a, base, smem);
  } else if (group == 2) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 192;");
    work_on_values<0>(p.a, smem);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 192;");
    work_on_values<1>(p.a, smem);
  }
}
