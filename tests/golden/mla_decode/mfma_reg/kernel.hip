// Generated from templates/mla_decode/mfma_reg.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx950
// symbol: mlaf_mla_decode_mfma_reg_5b93919c
// parameters:
//   blocks = 2
//   causal = 1
//   dtype = f16
//   heads = 20
//   kvload = temporal
//   page_size = 1
//   psplit = 1
//   q_len = 3
//   qsrc = lds
//   rank = 256
//   rescale = lazy
//   rope = 32
//   schedule = fitted
//   tile = 16
//   waves = 4
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_reg target=gfx950 blocks=2 causal=1 dtype=f16 heads=20 kvload=temporal page_size=1 psplit=1 q_len=3 qsrc=lds rank=256 rescale=lazy rope=32 schedule=fitted tile=16 waves=4



#define MLAF_BF16 0
#define MLAF_CVT_BF16 1
#define MLAF_MFMA_K32 1
#define MLAF_XCDS 8
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/lib/mfma.h]
// [templates/mla_decode/lib/args.h]
// [templates/mla_decode/lib/grid.h]
// [templates/mla_decode/lib/paging.h]
#define FIT_FIXED 64
#define FIT_CUT 176
#define FIT_PACE 40
#define FIT_LEAST 256
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_mfma_reg_5b93919c_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 1, {0, 0}, 0, {}};
// [templates/mla_decode/lib/fit_wave.h]

constexpr int H = 20, Q_LEN = 3, R = 256, ROPE = 32, PAGE = 1;
constexpr bool CAUSAL = 1, LAZY = 1, NT = 0;
constexpr bool Q_IN_LDS = 1, WHOLE_PAGES = 0;
constexpr int WAVES = 4, BLOCKS = 2, ROWS = 16 * BLOCKS, TILE = 16, SUBS = 1, PSPLIT = 1;
constexpr int STEP = TILE * WAVES;
constexpr int NK = 9, NK_C = R / 32, NJ = 2;
constexpr int STRIP = 4, STRIP_COLS = 128, STRIP_STRIDE = STRIP_COLS + 4; // + 4: no bank conflicts
constexpr float LAZY_LIMIT = LAZY ? 8.0f : 0.0f;
#define KEEP_LOADS_HERE() __builtin_amdgcn_sched_barrier(0x106)
#define IN_ACCUMULATORS(x) asm volatile("" : "+a"(x))

template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}

constexpr u32 NAN_WORD = 0x7fc07fc0;

MLAF_DEV void refuse(const mlaf_decode_args& a, i64 from, i64 to, i64 part, int lane, int lanes) {
  const i64 end = to < a.total_q * H ? to : a.total_q * H;
  const int words = part < 0 ? R / 2 : R;
  MLAF_GLOBAL u32* const lse = (MLAF_GLOBAL u32*)(u64)(part < 0 ? a.lse : a.part_lse + part);
  MLAF_GLOBAL u32* const o = (MLAF_GLOBAL u32*)(u64)(part < 0 ? a.o : (char*)(a.part_o + part * R));
#pragma unroll 1
  for (i64 row = from > 0 ? from : 0; row < end; row++) {
    if (lse && lane == 0) lse[row] = NAN_WORD;
#pragma unroll 1
    for (int i = lane; i < words; i += lanes) o[row * words + i] = NAN_WORD;
  }
}
struct piece {
  i64 row;                // first row of this workgroup, counted over all requests
  int rows;               // rows of the request from there on, at least 1
  int first_row;          // within the request
  int n;                  // query tokens of the request; 0: it is refused (mla_decode/lib/refuse.h), and its rows are all here
  int tokens, begin, end; // cached tokens of the request; those of this piece
  int first_page;         // into kv_indices
  i64 part;               // where part_o and part_lse have row 0 of all requests, so to speak
  bool final;             // straight to o and lse
};

struct entries {
  int q_begin, q_end, page, pages_end, last;
};
MLAF_DEV entries entries_of(const mlaf_decode_args& a, int request) {
  cints q = constants(a.qo_indptr) + request, pages = constants(a.kv_indptr) + request;
  return {q[0], q[1], pages[0], pages[1], constants(a.kv_last_page_lens)[request]};
}
MLAF_DEV void together(entries& e, int& x) {
  asm volatile("" : "+s"(e.q_begin), "+s"(e.q_end), "+s"(e.page), "+s"(e.pages_end), "+s"(e.last), "+s"(x));
}

MLAF_DEV bool request_of(const entries& e, i64 total_q, int first_row, piece& x) {
  const int pages = e.pages_end - e.page, last = e.last < 0 ? 0 : smaller(e.last, PAGE);
  x.n = e.q_end - e.q_begin;
  x.first_row = first_row;
  x.row = (i64)e.q_begin * H + first_row;
  x.rows = x.n * H - first_row;
  if (is_refused(x.n, e.q_begin, e.q_end, (int)total_q)) {
    const int all = (int)total_q, from = e.q_begin > 0 ? smaller(e.q_begin, all) : 0, to = smaller(e.q_end, all);
    x.n = 0;
    x.row = (i64)from * H;
    x.rows = to > from ? (to - from) * H : 0;
  }
  x.first_page = e.page;
  x.tokens = uniform(pages > 0 ? (pages - 1) * PAGE + last : 0); // the clamp went through vector registers
  return x.rows > 0;
}
MLAF_DEV bool read_request(const mlaf_decode_args& a, int request, int first_row, piece& x) {
  entries e = entries_of(a, request);
  int none = 0;
  together(e, none);
  return request_of(e, a.total_q, first_row, x);
}

MLAF_DEV void refuse_piece(const mlaf_decode_args& a, const piece& x, int thread) {
  refuse(a, x.row, x.row + x.rows, x.final ? -1 : x.part, thread, 64 * WAVES);
}

struct walk {
  int next; // request; -1: none is left
  u32 mine; // the split of a request, or where the batch is cut the part; CUT; group of rows << 16
};
enum { WALK_CUT = 0x8000 };

struct asked {
  entries mine;
  int end, begin, next;
  fit_look look;
  int splits, batch;
  i64 total_q;
  float* part_o;
};

MLAF_DEV i64 total_of(const mlaf_decode_args& a) { return fit_start(constants(a.kv_indptr)[a.batch], a.batch, PAGE); }

MLAF_DEV void whole_piece(i64 total_q, int splits, int id, piece& x) {
  split_range(x.tokens, STEP, splits, id, x.begin, x.end);
  x.begin = uniform(x.begin); // the division went through vector registers
  x.end = uniform(x.end);
  x.final = splits == 1;
  x.part = (i64)id * total_q * H;
}

MLAF_DEV walk begin_walk(const mlaf_decode_args& a, int lane, asked& q) {
  arguments_together(a);
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
  const int at = smaller(lane, a.batch - 1);
  q.begin = table[at];
  q.next = table[at + 1];
  q.end = constants(a.kv_indptr)[a.batch];
  constexpr int GROUPS = (Q_LEN * H + ROWS - 1) / ROWS;
  const int splits = fit_splits(a.splits), slots = fit_slots(a.splits);
  const work mine = my_work<GROUPS>(splits, GROUPS > 1 ? uniform(fit_requests(splits, slots, a.batch)) : 0);
  const walk w = {uniform(mine.request), (u32)uniform(mine.rows) << 16 | (u32)uniform(mine.split)};
  q.mine = entries_of(a, smaller(w.next, a.batch - 1));
  __builtin_amdgcn_sched_barrier(0);
  q.splits = a.splits;
  q.batch = a.batch;
  q.total_q = a.total_q;
  q.part_o = a.part_o;
  q.look = fit_look_at(splits, slots, a.batch, PAGE);
  asm volatile("" : "+v"(q.look.page), "+v"(q.look.all), "+v"(q.look.rest));
  return w;
}

MLAF_DEV bool seen_whole(const asked& q, int lane) {
  int pages = q.next - q.begin;
  if (__builtin_expect(q.batch > 64, 0)) {
    if (q.batch > FIT_QUICK) return false;
    const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)arguments_again().kv_indptr;
    for (int i = lane + 64; i < q.batch; i += 64) {
      const int more = table[i + 1] - table[i];
      pages = more > pages ? more : pages;
    }
  }
  return !any_lane(!fit_is_short(q.look, pages, q.end));
}

MLAF_DEV void forget(asked& q, mlaf_decode_args& a) {
  entries& e = q.mine;
  asm volatile("" : "=s"(e.q_begin), "=s"(e.q_end), "=s"(e.page), "=s"(e.pages_end), "=s"(e.last), "=s"(q.end));
  asm volatile("" : "=s"(q.splits), "=s"(q.batch), "=s"(q.total_q), "=s"(q.part_o));
  asm volatile("" : "=v"(q.begin), "=v"(q.next), "=v"(q.look.page), "=v"(q.look.all), "=v"(q.look.rest));
  asm volatile("" : "=s"(a.q), "=s"(a.ckv), "=s"(a.kpe), "=s"(a.kv_indices), "=s"(a.ckv_row_stride), "=s"(a.kpe_row_stride),
                    "=s"(a.num_pages), "=s"(a.scale_log2e));
}

MLAF_DEV int parts_of(const mlaf_decode_args& a, int lane) {
  const int splits = fit_splits(a.splits), slots = fit_slots(a.splits);
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
  const i64 total = total_of(a);
  const int parts = fit_parts(splits, slots, a.batch, total);
  if (a.batch > FIT_REQUESTS) return parts;
  const float weight = fit_weight(splits, slots, parts, a.batch), limit = fit_limit(total, parts);
  bool cut = false;
  for (int i = lane; i < a.batch; i += 64) cut |= fit_is_long(table[i + 1] - table[i], PAGE, weight, limit);
  return any_lane(cut) ? parts : 0;
}

MLAF_DEV bool first_piece(int lane, asked& q, walk& w, piece& x) {
  together(q.mine, q.end);
  asm volatile("" : "+v"(q.begin), "+v"(q.next), "+v"(lane)); // not a word of them before, nor what follows from lanes
  const int request = w.next, split = (int)(w.mine & 0x7fff), id = request * fit_splits(q.splits) + split;
  const u32 rows = w.mine & 0xffff0000;
  const bool teller = (id | (int)rows) == 0;
  w.next = -1;
  if (__builtin_expect(!seen_whole(q, lane), 0)) {
    const mlaf_decode_args a = arguments_again();
    const int parts = parts_of(a, lane);
    if (parts > 0) {
      if (teller && thread_id() == 0) fit_tell(a.part_o, parts);
      if (id >= parts) return false;
      const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
      const i64 lo = fit_width(total_of(a), parts) * id;
      w.next = uniform(fit_find(a.batch, lane, [&](int i) { return fit_start(table[i], i, PAGE) <= lo; }));
      w.mine = rows | WALK_CUT | (u32)id;
      return false;
    }
  }
  if (__builtin_expect(teller, 0) && thread_id() == 0) fit_tell(q.part_o, 0);
  const bool here = request_of(q.mine, q.total_q, (int)(rows >> 16) * ROWS, x);
  whole_piece(q.total_q, fit_splits(q.splits), split, x);
  return here && request < q.batch;
}

MLAF_DEV bool next_piece(walk& w, piece& x) {
  const mlaf_decode_args a = arguments_again();
  asm volatile("" : "+s"(w.mine)); // what follows from it is not computed before the loop
  const int splits = fit_splits(a.splits), id = (int)(w.mine & 0x7fff), first_row = (int)(w.mine >> 16) * ROWS;
  const i64 total = total_of(a), width = fit_width(total, fit_parts(splits, fit_slots(a.splits), a.batch, total));
  const i64 lo = (i64)uniform((u64)(width * id)), hi = (i64)uniform((u64)(lo + width));
  while (w.next >= 0) {
    const int request = w.next;
    const bool here = read_request(a, request, first_row, x);
    const i64 start = fit_start(x.first_page, request, PAGE);
    const bool some = fit_piece(lo, hi, start, x.tokens, &x.begin, &x.end);
    w.next = request + 1 < a.batch && fit_start(constants(a.kv_indptr)[request + 1], request + 1, PAGE) < hi ? request + 1 : -1;
    if (!here || !some) continue;
    const int slot = fit_slot(id, x.begin, x.end, x.tokens);
    x.final = slot < 0 || x.n == 0;
    x.part = (i64)slot * (Q_LEN * H) + first_row - x.row;
    return true;
  }
  return false;
}

MLAF_DEV u32x4 kv_load(gptr p, u32 lane_bytes, int bytes) {
  const MLAF_GLOBAL u32x4* at = (const MLAF_GLOBAL u32x4*)(p + lane_bytes + bytes);
  return NT ? __builtin_nontemporal_load(at) : *at;
}

struct cache {
  gptr ckv, kpe;
  u32 ckv_bytes, kpe_bytes; // from row to row
  cints pages;              // of this request
  int num_pages, tokens;
};

MLAF_DEV u32 k_column(int lane) { return 16 * (lane >> 4); }
MLAF_DEV u32 v_column(int lane, int j) {
  const int chunks = smaller(16, (R - 128 * j) / 8);
  return 16 * (chunks == 16 ? lane & 15 : smaller(lane & 15, chunks - 1));
}

struct page_ids {
  int k, v;
};
struct place {
  gptr ckv, kpe;
  u64 v; // byte offset of row 4(l/16) + l%4
};

MLAF_DEV int k_token(const cache& kv, int t, int lane) { return smaller(t + (lane & 15), kv.tokens - 1); }
MLAF_DEV int v_token(const cache& kv, int t, int lane) {
  return smaller(t + 4 * (lane >> 4) + (lane & 3), kv.tokens - 1);
}

MLAF_DEV page_ids fetch_ids(const cache& kv, int t, int lane) {
  const MLAF_GLOBAL int* pages = (const MLAF_GLOBAL int*)kv.pages;
  return {pages[(u32)k_token(kv, t, lane) / PAGE], pages[(u32)v_token(kv, t, lane) / PAGE]};
}

MLAF_DEV u32 row_of(const cache& kv, int id, int token, bool& bad) {
  const bool outside = (u32)id >= (u32)kv.num_pages;
  bad |= outside;
  return (u32)(outside ? 0 : id) * PAGE + (u32)token % PAGE;
}

MLAF_DEV place locate(const cache& kv, page_ids ids, int t, int lane, bool& bad) {
  const u64 k = row_of(kv, ids.k, k_token(kv, t, lane), bad), v = row_of(kv, ids.v, v_token(kv, t, lane), bad);
  const u32 column = k_column(lane);
  return {kv.ckv + k * kv.ckv_bytes + column, kv.kpe + k * kv.kpe_bytes + column, v * kv.ckv_bytes};
}

MLAF_DEV u32x4 load_k(const cache& kv, const place& at, int i, int lane) {
  return i < NK_C ? kv_load(at.ckv, 0, 64 * i) : kv_load(at.kpe, 0, 64 * (i - NK_C));
}

template <int Row>
MLAF_DEV u32x4 load_v_row(const cache& kv, const place& at, int j, int lane) {
  const u64 row = (u64)quad_lane<Row>((u32)(at.v >> 32)) << 32 | quad_lane<Row>((u32)at.v);
  return kv_load(kv.ckv + row + v_column(lane, j), 0, 256 * j);
}
MLAF_DEV void load_v(u32x4 (&v)[4], const cache& kv, const place& at, int j, int lane) {
  v[0] = load_v_row<0>(kv, at, j, lane);
  v[1] = load_v_row<1>(kv, at, j, lane);
  v[2] = load_v_row<2>(kv, at, j, lane);
  v[3] = load_v_row<3>(kv, at, j, lane);
}

typedef f32x4 o_blocks[NJ][8];

MLAF_DEV void multiply_k(u32x4 k, u32x4 q, f32x4& s, bool first) {
  const f32x4 before = first ? f32x4{0.0f, 0.0f, 0.0f, 0.0f} : s;
  s = mfma32(k, q, before);
}

struct row_state {
  float m, sum, weight;
};

MLAF_DEV void pack_p(f32x4 p, u32x2 (&out)[PSPLIT], row_state& row) {
  out[0] = u32x2{pack2(p[0], p[1]), pack2(p[2], p[3])};
  const f32x4 seen = {unpack_lo(out[0].x), unpack_hi(out[0].x), unpack_lo(out[0].y), unpack_hi(out[0].y)};
  row.sum += (p[0] + p[1]) + (p[2] + p[3]);
  if (PSPLIT == 2) {
    const f32x4 rest = p - seen;
    out[PSPLIT - 1] = u32x2{pack2(rest[0], rest[1]), pack2(rest[2], rest[3])};
    row.weight = row.sum;
  } else {
    row.weight += (seen[0] + seen[1]) + (seen[2] + seen[3]);
  }
}

MLAF_DEV void rescale(o_blocks& o, float factor) {
#pragma unroll
  for (int j = 0; j < NJ; j++)
#pragma unroll
    for (int c = 0; c < 8; c++) {
      IN_ACCUMULATORS(o[j][c]);
      o[j][c] *= factor;
      IN_ACCUMULATORS(o[j][c]);
    }
}

MLAF_DEV void softmax(f32x4 (&s)[SUBS], float scale, int visible, bool fresh, int lane, row_state& row, o_blocks& o,
                      u32x2 (&p)[SUBS][PSPLIT]) {
  float top = minus_inf();
#pragma unroll
  for (int u = 0; u < SUBS; u++)
#pragma unroll
    for (int r = 0; r < 4; r++) {
      s[u][r] = 16 * u + r < visible ? s[u][r] * scale : minus_inf();
      top = __builtin_fmaxf(top, s[u][r]);
    }
  if (any_lane(top > row.m + LAZY_LIMIT)) {
    const float now = __builtin_fmaxf(row.m, max_over_groups(top, lane)), factor = exp2_fast(row.m - now);
    row = {now, row.sum * factor, row.weight * factor};
    if (!fresh) rescale(o, factor);
  }
#pragma unroll
  for (int u = 0; u < SUBS; u++) {
    f32x4 e;
#pragma unroll
    for (int r = 0; r < 4; r++) e[r] = exp2_fast(s[u][r] - row.m);
    pack_p(e, p[u], row);
  }
}

MLAF_DEV void multiply_v(const u32x4 (&v)[4], const u32x2 (&p)[BLOCKS][SUBS][PSPLIT], int u, int j, o_blocks (&o)[BLOCKS]) {
#pragma unroll
  for (int d = 0; d < 4; d++) {
    const u32x2 even = {join_lo(v[0][d], v[1][d]), join_lo(v[2][d], v[3][d])};
    const u32x2 odd = {join_hi(v[0][d], v[1][d]), join_hi(v[2][d], v[3][d])};
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int i = 0; i < PSPLIT; i++) {
        o[b][j][2 * d] = mfma16(even, p[b][u][i], o[b][j][2 * d]);
        o[b][j][2 * d + 1] = mfma16(odd, p[b][u][i], o[b][j][2 * d + 1]);
      }
  }
}

MLAF_DEV void write_lse(const mlaf_decode_args& a, const piece& to, int row, float lse2) {
  if (row >= to.rows) return;
  if (!to.final) *(MLAF_GLOBAL float*)(global(a.part_lse) + 4 * (to.part + to.row + row)) = lse2;
  else if (a.lse) *(MLAF_GLOBAL float*)(global(a.lse) + 4 * (to.row + row)) = lse2 * LN_2;
}

MLAF_DEV void write_o(const mlaf_decode_args& a, const piece& to, int row, int column, f32x4 x) {
  if (row >= to.rows || (R % 128 != 0 && column >= R)) return;
  const i64 at = (to.row + row) * R + column;
  if (to.final) *(MLAF_GLOBAL u32x2*)(global(a.o) + 2 * at) = u32x2{pack2(x[0], x[1]), pack2(x[2], x[3])};
  else *(MLAF_GLOBAL f32x4*)(global(a.part_o) + 4 * (to.part * R + at)) = x;
}

MLAF_DEV void finish(const mlaf_decode_args& a, const piece& to, char* lds, int lane, int wave, row_state (&mine)[BLOCKS],
                     o_blocks (&o)[BLOCKS]) {
  float* const strips = (float*)lds;
  row_state* const rows = (row_state*)(strips + WAVES * 16 * STRIP_STRIDE);
  const int column = lane & 15, group = lane >> 4;
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    mine[b].sum = sum_over_groups(mine[b].sum, lane);
    mine[b].weight = sum_over_groups(mine[b].weight, lane);
    if (group == 0) rows[wave * ROWS + 16 * b + column] = mine[b];
  }
  __syncthreads();
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    row_state all = {rows[16 * b + column].m, 0.0f, 0.0f};
    for (int w = 1; w < WAVES; w++) all.m = __builtin_fmaxf(all.m, rows[w * ROWS + 16 * b + column].m);
    for (int w = 0; w < WAVES; w++) {
      const row_state one = rows[w * ROWS + 16 * b + column];
      const float factor = exp2_fast(one.m - all.m);
      all.sum += one.sum * factor;
      all.weight += one.weight * factor;
    }
    if (wave == 0 && group == 0) write_lse(a, to, 16 * b + column, all.m + log2_fast(all.sum));
    const float weight = all.sum == 0.0f ? 0.0f : exp2_fast(mine[b].m - all.m) / all.weight; // no token seen: O = 0
#pragma unroll
    for (int j = 0; j < NJ; j++)
#pragma unroll
      for (int half = 0; half < 4 / STRIP; half++) {
        float* const to_lds = strips + (wave * 16 + column) * STRIP_STRIDE + group * STRIP * 8;
#pragma unroll
        for (int r = 0; r < STRIP; r++)
#pragma unroll
          for (int c = 0; c < 8; c += 4) {
            f32x4 x;
#pragma unroll
            for (int i = 0; i < 4; i++) x[i] = o[b][j][c + i][half * STRIP + r] * weight;
            *(f32x4*)(to_lds + r * 8 + c) = x;
          }
        __syncthreads();
        for (u32 unit = wave * 64 + lane; unit < 16 * STRIP_COLS / 4; unit += 64 * WAVES) {
          const u32 row = unit / (STRIP_COLS / 4), at = 4 * (unit % (STRIP_COLS / 4));
          f32x4 x = *(const f32x4*)(strips + row * STRIP_STRIDE + at);
          for (int w = 1; w < WAVES; w++) x += *(const f32x4*)(strips + (w * 16 + row) * STRIP_STRIDE + at);
          const u32 d = at / (8 * STRIP) * 32 + half * STRIP * 8 + at % (8 * STRIP);
          write_o(a, to, 16 * b + row, 128 * j + d, x);
        }
        __syncthreads();
      }
  }
}

MLAF_DEV u32x4 load_q(const mlaf_decode_args& a, const piece& to, int b, int i, int lane) {
  const int row = smaller(16 * b + (lane & 15), to.rows - 1);
  return *(const MLAF_GLOBAL u32x4*)(global(a.q) + (to.row + row) * (2 * (R + ROPE)) + 64 * i + k_column(lane));
}

MLAF_DEV void work_on(const mlaf_decode_args& a, const piece& to, char* lds, int lane, int wave) {
  const int tokens = to.tokens, begin = to.begin;
  int end = to.end;
  if (begin >= end && !to.final && to.n > 0) { // nothing to do, and to say so
    if (thread_id() < ROWS) write_lse(a, to, thread_id(), minus_inf());
    return;
  }
  const cache kv = {global(a.ckv), global(a.kpe), 2 * (u32)a.ckv_row_stride, 2 * (u32)a.kpe_row_stride,
                    constants(a.kv_indices) + to.first_page, a.num_pages, tokens};
  bool bad = a.num_pages <= 0 && begin < end; // a cache without pages: nothing may be read
  if (bad) end = begin;

  u32x4 q[BLOCKS][Q_IN_LDS ? 1 : NK];
  if (Q_IN_LDS) {
    for (int i = wave; i < BLOCKS * NK; i += WAVES) *(u32x4*)(lds + 1024 * i + 16 * lane) = load_q(a, to, i / NK, i % NK, lane);
    __syncthreads();
  } else {
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int i = 0; i < NK; i++) q[b][Q_IN_LDS ? 0 : i] = load_q(a, to, b, i, lane);
  }

  row_state row[BLOCKS];
  int limit[BLOCKS]; // tokens that this lane's row sees, counted from this lane's first token of a tile
  o_blocks o[BLOCKS];
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    row[b] = {-3.402823466e38f, 0.0f, 0.0f};
    const int token = (to.first_row + 16 * b + (lane & 15)) / H;
    const int last = smaller(CAUSAL ? tokens - (to.n - 1 - token) : tokens, to.end); // a piece may end within a tile of 32
    limit[b] = last - 4 * (lane >> 4);
#pragma unroll
    for (int j = 0; j < NJ; j++)
#pragma unroll
      for (int c = 0; c < 8; c++) {
        o[b][j][c] = f32x4{0.0f, 0.0f, 0.0f, 0.0f};
        IN_ACCUMULATORS(o[b][j][c]);
      }
  }

  const int step = STEP;
  auto part_of = [&](int t, int u) { return t < end ? smaller(t + 16 * u, tokens - 1) : tokens - 1; };
  int t = begin + TILE * wave;
  if (t < end) {
    u32x4 k[SUBS][NK], v[SUBS][NJ][4];
    place at[SUBS];
    page_ids ids[SUBS];
#pragma unroll
    for (int u = 0; u < SUBS; u++) ids[u] = fetch_ids(kv, part_of(t, u), lane);
#pragma unroll
    for (int u = 0; u < SUBS; u++) {
      at[u] = locate(kv, ids[u], part_of(t, u), lane, bad);
      ids[u] = fetch_ids(kv, part_of(t + step, u), lane);
#pragma unroll
      for (int i = 0; i < NK; i++) k[u][i] = load_k(kv, at[u], i, lane);
    }
#pragma unroll
    for (int u = 0; u < SUBS; u++)
#pragma unroll
      for (int j = 0; j < NJ; j++) load_v(v[u][j], kv, at[u], j, lane);

#pragma nounroll // nor peel: one copy of the loop
    do {
      t += step;
#pragma unroll
      for (int u = 0; u < SUBS; u++) {
        at[u] = locate(kv, ids[u], part_of(t, u), lane, bad);
        ids[u] = fetch_ids(kv, part_of(t + step, u), lane);
      }

      f32x4 s[BLOCKS][SUBS];
      u32 q_at = 16 * lane;
      if (Q_IN_LDS) asm volatile("" : "+v"(q_at)); // keeps Q from being loaded once, into registers that do not exist
#pragma unroll
      for (int i = 0; i < NK; i++) {
#pragma unroll
        for (int b = 0; b < BLOCKS; b++) {
          const u32x4 x = Q_IN_LDS ? *(const u32x4*)(lds + q_at + 1024 * (b * NK + i)) : q[b][Q_IN_LDS ? 0 : i];
#pragma unroll
          for (int u = 0; u < SUBS; u++) multiply_k(k[u][i], x, s[b][u], i == 0);
        }
#pragma unroll
        for (int u = 0; u < SUBS; u++) k[u][i] = load_k(kv, at[u], i, lane);
        KEEP_LOADS_HERE();
      }


      const bool fresh = t == begin + TILE * wave + step;
      u32x2 p[BLOCKS][SUBS][PSPLIT];
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) softmax(s[b], a.scale_log2e, limit[b] - (t - step), fresh, lane, row[b], o[b], p[b]);
#pragma unroll
      for (int u = 0; u < SUBS; u++)
#pragma unroll
        for (int j = 0; j < NJ; j++) {
          multiply_v(v[u][j], p, u, j, o);
          load_v(v[u][j], kv, at[u], j, lane);
          KEEP_LOADS_HERE();
        }
    } while (t < end);
  }

  if (any_lane(bad)) {
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) row[b].sum = row[b].weight = __builtin_nanf("");
  }
  if (Q_IN_LDS) __syncthreads(); // Q has been read by all: its place becomes the merge buffer
  const mlaf_decode_args last = arguments_again();
  if (__builtin_expect(to.n == 0, 0)) refuse_piece(last, to, 64 * wave + lane);
  else finish(last, to, lds, lane, wave, row, o);
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                     amdgpu_waves_per_eu(1, 1))) void
mlaf_mla_decode_mfma_reg_5b93919c(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(16))) char lds[35328];
  const int wave = uniform(thread_id() >> 6);
  piece x;
  asked q;
  walk w = begin_walk(a, thread_id() & 63, q);
  mlaf_decode_args now = a;
  bool whole = first_piece(thread_id() & 63, q, w, x);
#pragma nounroll
  while (true) {
    int thread = thread_id(), mine = wave;
    asm volatile("" : "+v"(thread), "+s"(mine)); // what follows from them is computed anew: else it occupies registers
    if (!whole) {
      if (w.next < 0 || !next_piece(w, x)) break;
      now = arguments_kept();
    }
    work_on(now, x, lds, thread & 63, mine);
    if (w.next < 0) break;
    whole = false;
    forget(q, now);
  }
}
