// Generated from templates/mla_decode/mfma_reg_rotate.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_mfma_reg_rotate_6da01ce4
// parameters:
//   blocks = 1
//   causal = 0
//   dtype = bf16
//   heads = 16
//   kvload = temporal
//   page_size = 64
//   psplit = 1
//   q_len = 1
//   qsrc = reg
//   rank = 256
//   rescale = always
//   rope = 32
//   rotate = 2
//   schedule = splits
//   tile = 16
//   waves = 4
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_reg_rotate target=gfx942 blocks=1 causal=0 dtype=bf16 heads=16 kvload=temporal page_size=64 psplit=1 q_len=1 qsrc=reg rank=256 rescale=always rope=32 rotate=2 schedule=splits tile=16 waves=4
// MLA decode with everything in registers over a cache whose rope columns are not rotated: mla_decode/mfma_reg.hip.in, which
// rotates those of each tile where they lie, once for all rows of a wave, by a table of cosines and sines
// (mla_decode/lib/rotate.h).
// MLA decode with everything in registers: split-KV attention for few heads, where memory bandwidth binds.
//
// A workgroup owns ROWS = 16*blocks query rows (head-major within a token) of one request and one KV split (schedule=fitted: or
// of the pieces of a part of the whole batch, one after the other, mla_decode/lib/fit_wave.h). Its waves take
// turns: wave w of W works on tokens [begin + (w + i*W)*TILE, + TILE), i = 0, 1, ... of the split, alone: no LDS and no
// barrier before the end. A wave holds Q, the running O^T of all its rows, and one tile of KV in two forms, all in
// registers. While it computes on one form of a tile, the loads of the other form are on their way: K of the next tile is
// requested when S is done, V of the next tile when O is done, so that every load has about one tile of time to arrive.
//
//   S^T = K Q^T                       A = K: lane l holds row (token) l%16, columns 32k + 8(l/16) .. +7, k = 0..NK-1
//   [16 tokens x 16 rows] over R+ROPE    B = Q: lane l holds query row l%16, the same columns. 16 bytes make the operands
//                                     of two MFMAs: any order of columns will do if A and B agree on it.
//   S^T in D layout: lane l, register r = token 4(l/16)+r, query row l%16. After exp2 and packing that *is* the B layout
//   of the next product, so P never leaves its lane.
//
//   O^T += V^T P^T                    A = V^T: row i = a latent column, k = token 4(l/16)+0..3
//   [R columns x 16 rows] over tokens Lane l loads rows 4(l/16)+r, r = 0..3, columns 128j + 8(l%16) + c, c = 0..7, and joins
//                                     the four tokens of one column with v_perm:
//        row 4g+0   | a0 a1 | a2 a3 | ...       two perms:   (a0 b0) (a1 b1)   -> operand of column 0: (a0 b0 c0 d0)
//        row 4g+1   | b0 b1 | b2 b3 | ...                    (c0 d0) (c1 d1)      operand of column 1: (a1 b1 c1 d1)
//        row 4g+2   | c0 c1 | ...
//        row 4g+3   | d0 d1 | ...
//   O^T block (j,c), lane l, register r = column 128j + 8(4(l/16)+r) + c of query row l%16.
//
// In the end the waves merge their rows' maximum, sums and O through LDS, a strip of O at a time, and write whole rows.
//
// Numbers: scores, softmax (base 2) and sums in fp32; P is rounded to 16 bits for the MFMA, to nearest, and O is divided by the
// sum of the rounded P. With psplit=2 the rounding error of P goes through a second MFMA, which leaves the output's own
// rounding as the only one that matters.
// Masked scores are -inf and m starts at -FLT_MAX, so no inf - inf arises; rows of the last tile beyond the end are
// clamped to the last token, so no memory is read that the request does not own and no 0 * NaN arises.
//
// rescale: always = the running maximum is exact in every tile. lazy = O is rescaled only when a score exceeds m by more
// than 8 (a factor 256) in some lane; the result is the same function, since l and O use the same m. A NaN never triggers.



#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
#define MLAF_MFMA_K32 0
#define MLAF_XCDS 8
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/lib/mfma.h]
// [templates/mla_decode/lib/args_rotate.h]
// [templates/mla_decode/lib/grid.h]
// [templates/mla_decode/lib/paging.h]

constexpr int H = 16, Q_LEN = 1, R = 256, ROPE = 32, PAGE = 64;
constexpr bool CAUSAL = 0, LAZY = 0, NT = 0;
constexpr bool Q_IN_LDS = 0, WHOLE_PAGES = 1;
constexpr int WAVES = 4, BLOCKS = 1, ROWS = 16 * BLOCKS, TILE = 16, SUBS = 1, PSPLIT = 1;
constexpr int STEP = TILE * WAVES;
constexpr int NK = 9, NK_C = R / 32, NJ = 2;
constexpr int STRIP = 4, STRIP_COLS = 128, STRIP_STRIDE = STRIP_COLS + 4; // + 4: no bank conflicts
constexpr float LAZY_LIMIT = LAZY ? 8.0f : 0.0f;
// Global loads and MFMAs stay on their side of this point; other arithmetic and LDS reads may cross it.
#define KEEP_LOADS_HERE() __builtin_amdgcn_sched_barrier(0x106)
// O lives in accumulation registers throughout the loop. Said at both ends of each place where VALU touches it, because the
// compiler would otherwise copy all of it to the other half of the file in every iteration, to be ready for a rescale.
#define IN_ACCUMULATORS(x) asm volatile("" : "+a"(x))
// What a workgroup of a decode kernel works on: a split of one request, or, where the schedule is fitted
// (mla_decode/lib/fit_wave.h) and the launch cuts its batch, the pieces of a part, one after the other. All decisions are
// uniform, the same in all waves. The includer has H, Q_LEN, ROWS, PAGE, STEP (tokens of a round) and mla_decode/lib/grid.h;
// `fitted` says which schedule it is.
// Requests that are refused: qo_indptr says that one has more query tokens than the kernel has rows for, or rows outside Q. The
// host does not see that table. Such a request counts as one without query tokens, and its rows become NaN, with LSE NaN. The
// includer has H, Q_LEN and mla_decode/lib/args.h; `fills`: R, and it is a decode kernel, which writes them.

// Of n query tokens, fewer than none, too, which are [from, to) of `all`, counted in tokens or in rows.
template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || from < 0 || to > all;
}

constexpr u32 NAN_WORD = 0x7fc07fc0; // in fp32, also once that is rounded, in both types of 16 bits, and as a narrow partial result

// Those of the rows [from, to) that exist become NaN, by `lanes` threads, of which this is number `lane`. part: where part_o and
// part_lse have row 0 of all requests; -1: to o and lse.
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

// The entries that the tables have of a request.
struct entries {
  int q_begin, q_end, page, pages_end, last;
};
MLAF_DEV entries entries_of(const mlaf_decode_args& a, int request) {
  cints q = constants(a.qo_indptr) + request, pages = constants(a.kv_indptr) + request;
  return {q[0], q[1], pages[0], pages[1], constants(a.kv_last_page_lens)[request]};
}
// All at once, in one trip to memory, and not one where another is needed. `x`: what else comes with them.
MLAF_DEV void together(entries& e, int& x) {
  asm volatile("" : "+s"(e.q_begin), "+s"(e.q_end), "+s"(e.page), "+s"(e.pages_end), "+s"(e.last), "+s"(x));
}

// A request as its entries have it; false: no query token has a row here. (cached_tokens() of paging.h reads for itself.)
MLAF_DEV bool request_of(const entries& e, i64 total_q, int first_row, piece& x) {
  const int pages = e.pages_end - e.page, last = e.last < 0 ? 0 : smaller(e.last, PAGE);
  x.n = e.q_end - e.q_begin;
  x.first_row = first_row;
  x.row = (i64)e.q_begin * H + first_row;
  x.rows = x.n * H - first_row;
  if (is_refused(x.n, e.q_begin, e.q_end, (int)total_q)) {
    const int from = e.q_begin > 0 ? e.q_begin : 0;
    x.n = 0;
    x.row = (i64)from * H;
    x.rows = (smaller(e.q_end, (int)total_q) - from) * H;
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

// Of a refused request, by this thread of the workgroup.
MLAF_DEV void refuse_piece(const mlaf_decode_args& a, const piece& x, int thread) {
  refuse(a, x.row, x.row + x.rows, x.final ? -1 : x.part, thread, 64 * WAVES);
}

MLAF_DEV bool only_piece(const mlaf_decode_args& a, piece& x) {
  const work mine = my_work<(Q_LEN * H + ROWS - 1) / ROWS>(a.splits, a.batch);
  if (!read_request(a, mine.request, mine.rows * ROWS, x)) return false;
  split_range(x.tokens, STEP, a.splits, mine.split, x.begin, x.end);
  x.begin = uniform(x.begin); // the division went through vector registers
  x.end = uniform(x.end);
  x.final = a.splits == 1;
  x.part = (i64)mine.split * a.total_q * H;
  return true;
}
// Rotation of a key's rope columns by its position. Pair i of P/2 turns by the angle whose cosine and sine the table's row of the
// position has at i and at P/2 + i:
//
//   pairs    columns 2i and 2i+1: eight pairs, 8u .. 8u+7, are the neighbouring 16-byte chunks 2u and 2u+1 of the columns
//   halves   columns i and P/2 + i:                        the chunks u and u + P/16
//
//   x' = x cos - y sin,  y' = y cos + x sin      in fp32: the product with the sine is rounded, the other one fused with the sum;
//                                                then to the 16-bit type, to nearest even
//
// which is what mla_append does, and the reference: a key rotated here is, to the bit, the key that a rotated cache would hold.
// The includer has u32, pack2 and its kin; it hands over style ("pairs" or "halves"), and `fma`, how the target writes a fused
// multiply-add.
struct rotation { // what eight pairs turn by
  float cos[8], sin[8];
};

MLAF_DEV void turn_pair(float& x, float& y, float cos, float sin) {
  const float across = y * sin, back = x * sin;
  x = __builtin_fmaf(x, cos, -across);
  y = __builtin_fmaf(y, cos, back);
}

// Two chunks of four words each: eight pairs.
MLAF_DEV void turn_chunks(u32 (&a)[4], u32 (&b)[4], const rotation& t) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float p = unpack_lo(a[k]), q = unpack_hi(a[k]), r = unpack_lo(b[k]), s = unpack_hi(b[k]);
    turn_pair(p, r, t.cos[2 * k], t.sin[2 * k]);
    turn_pair(q, s, t.cos[2 * k + 1], t.sin[2 * k + 1]);
    a[k] = pack2(p, q);
    b[k] = pack2(r, s);
  }
}
// Rotation of 16 keys' rope columns in the registers of a wave, as operands of an MFMA: lane l has of key l%16 the chunk l/16 of
// 16 bytes, of 64 columns the chunk 4 + l/16, too (mla_decode/lib/rotate.h). So of 64 columns a lane has eight whole pairs, of 32
// in pairs four; of 32 in halves it has eight columns, whose partners are in lane l^32. Handed over: style, rope.
constexpr int ROTATE_HALF = ROPE / 2;

// What lane `lane` needs for its part of the key at `position`. Behind the table: NaN, so that nothing faults and nobody takes it
// for an answer.
MLAF_DEV rotation load_rotation(u64 table, int rows, int position, int lane) {
  rotation r;
  const bool there = (u32)position < (u32)rows;
  const gptr row = (gptr)table + (u64)(there ? (u32)position : 0u) * (4 * ROPE);
  const u32 group = lane >> 4;
  const u32 quad[2] = {2 * (group & 1), 2 * (group & 1) + 1};
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const f32x4 c = *(const MLAF_GLOBAL f32x4*)(row + 16 * quad[k]);
    const f32x4 s = *(const MLAF_GLOBAL f32x4*)(row + 16 * quad[k] + 4 * ROTATE_HALF);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      r.cos[4 * k + i] = there ? c[i] : float_of(0x7fc00000u); // stays one when its upper half is rounded
      r.sin[4 * k + i] = s[i];
    }
  }
  return r;
}

// The chunks that a lane has.
MLAF_DEV void turn_lanes(u32x4 (&x)[ROPE / 32], const rotation& t, int lane) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const u32 own = x[0][k], other = (u32)__builtin_amdgcn_ds_bpermute((lane ^ 32) << 2, (int)own);
    const float p = lane < 32 ? -t.sin[2 * k] : t.sin[2 * k], q = lane < 32 ? -t.sin[2 * k + 1] : t.sin[2 * k + 1];
    const float low = unpack_lo(other) * p, high = unpack_hi(other) * q;
    x[0][k] = pack2(__builtin_fmaf(unpack_lo(own), t.cos[2 * k], low), __builtin_fmaf(unpack_hi(own), t.cos[2 * k + 1], high));
  }
}

MLAF_DEV u32x4 kv_load(gptr p, u32 lane_bytes, int bytes) {
  const MLAF_GLOBAL u32x4* at = (const MLAF_GLOBAL u32x4*)(p + lane_bytes + bytes);
  return NT ? __builtin_nontemporal_load(at) : *at;
}

// ---- Where tokens lie -------------------------------------------------------------------------------------------------
// Offsets are 64-bit products of two 32-bit numbers: 2^32 rows are more than any memory holds, and a row stride is below
// 2^28 bytes, so that 16 rows of one page are 32-bit offsets from the first.
struct cache {
  gptr ckv, kpe;
  u32 ckv_bytes, kpe_bytes; // from row to row
  cints pages;              // of this request
  int num_pages, tokens;
};

// Byte offset of this lane's 8 columns within a row, in both forms. In the last group of 128 columns, lanes beyond the rank
// read the last chunk that exists: what they compute is never stored.
MLAF_DEV u32 k_column(int lane) { return 16 * (lane >> 4); }
MLAF_DEV u32 v_column(int lane, int j) {
  const int chunks = smaller(16, (R - 128 * j) / 8);
  return 16 * (chunks == 16 ? lane & 15 : smaller(lane & 15, chunks - 1));
}

// A page holds whole tiles: one page id per 16 tokens, in a scalar register; lanes differ by a 32-bit offset only.
struct page_ids {
  int id;
};
struct place {
  gptr ckv, kpe;         // first of the 16 rows
  u32 ckv_last, kpe_last; // byte offset of the last row that exists
};

MLAF_DEV page_ids fetch_ids(const cache& kv, int t, int lane) { return {kv.pages[(u32)t / PAGE]}; }

MLAF_DEV place locate(const cache& kv, page_ids ids, int t, int lane, bool& bad) {
  const bool outside = (u32)ids.id >= (u32)kv.num_pages;
  bad |= outside;
  const u32 row = (u32)(outside ? 0 : ids.id) * PAGE + (u32)t % PAGE;
  const u32 last = smaller(15, kv.tokens - 1 - t);
  return {kv.ckv + (u64)row * kv.ckv_bytes, kv.kpe + (u64)row * kv.kpe_bytes, last * kv.ckv_bytes, last * kv.kpe_bytes};
}

// The i-th 32 columns of K.
MLAF_DEV u32x4 load_k(const cache& kv, const place& at, int i, int lane) {
  const u32 row = lane & 15, column = k_column(lane);
  return i < NK_C ? kv_load(at.ckv, smaller(row * kv.ckv_bytes, at.ckv_last) + column, 64 * i)
                  : kv_load(at.kpe, smaller(row * kv.kpe_bytes, at.kpe_last) + column, 64 * (i - NK_C));
}

// The j-th 128 columns of V.
MLAF_DEV void load_v(u32x4 (&v)[4], const cache& kv, const place& at, int j, int lane) {
#pragma unroll
  for (int r = 0; r < 4; r++) {
    const u32 row = 4 * (lane >> 4) + r;
    v[r] = kv_load(at.ckv, smaller(row * kv.ckv_bytes, at.ckv_last) + v_column(lane, j), 256 * j);
  }
}

// ---- One tile ---------------------------------------------------------------------------------------------------------
typedef f32x4 o_blocks[NJ][8];

// S^T += K Q^T over 32 columns.
MLAF_DEV void multiply_k(u32x4 k, u32x4 q, f32x4& s, bool first) {
  const f32x4 before = first ? f32x4{0.0f, 0.0f, 0.0f, 0.0f} : s;
  s = mfma16(k.xy, q.xy, before);
  s = mfma16(k.zw, q.zw, s);
}

// What a row has gathered: running maximum; sum of 2^(score - m), which makes the LSE; and the same sum of the P that the
// MFMAs saw, which divides O: a heavy token's rounding error then cancels. Both sums are this lane's tokens' only.
struct row_state {
  float m, sum, weight;
};

// P of four tokens as B operand (psplit 2: and the error of its rounding).
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

// Scores of one block against the tile's first `visible` tokens (counted from this lane's first) -> P; the row and O follow.
// `fresh`: O is still zero.
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

// O^T += V^T P^T over 16 tokens and 128 columns. One set of joined operands serves all blocks.
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

// ---- The end ----------------------------------------------------------------------------------------------------------
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

// Merge the waves' rows and write. LDS: O strips [wave][16 rows][STRIP_STRIDE], then row_state [wave][ROWS].
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
          // Strip column: group, then STRIP of its 4 registers, then 8 columns.
          const u32 d = at / (8 * STRIP) * 32 + half * STRIP * 8 + at % (8 * STRIP);
          write_o(a, to, 16 * b + row, 128 * j + d, x);
        }
        __syncthreads();
      }
  }
}

// ---- The kernel -------------------------------------------------------------------------------------------------------
// Load i of Q's block b. Rows that do not exist repeat the last one that does; nobody stores what they compute.
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

  // Q: each wave its own copy, or one for all in LDS, in the order of the loads.
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
  // First token of part u of the tile at t. Where there is none, the request's last: all 16 rows are then that one, which
  // costs next to nothing.
  auto part_of = [&](int t, int u) { return t < end ? smaller(t + 16 * u, tokens - 1) : tokens - 1; };
  int t = begin + TILE * wave;
  if (t < end) {
    u32x4 k[SUBS][NK], v[SUBS][NJ][4];
    place at[SUBS];
    page_ids ids[SUBS];
    rotation angles[SUBS];
    u64 table = (u64)a.rope_table;
    int rows = a.rope_rows;
    asm volatile("" : "+v"(table), "+v"(rows)); // the walk leaves no scalar registers for them
    auto angles_of = [&](int u) { return load_rotation(table, rows, part_of(t, u) + (lane & 15), lane); };
#pragma unroll
    for (int u = 0; u < SUBS; u++) ids[u] = fetch_ids(kv, part_of(t, u), lane);
#pragma unroll
    for (int u = 0; u < SUBS; u++) {
      at[u] = locate(kv, ids[u], part_of(t, u), lane, bad);
      ids[u] = fetch_ids(kv, part_of(t + step, u), lane);
#pragma unroll
      for (int i = 0; i < NK; i++) k[u][i] = load_k(kv, at[u], i, lane);
      angles[u] = angles_of(u);
    }
#pragma unroll
    for (int u = 0; u < SUBS; u++)
#pragma unroll
      for (int j = 0; j < NJ; j++) load_v(v[u][j], kv, at[u], j, lane);

#pragma nounroll // nor peel: one copy of the loop
    do {
      // The next tile is always requested, so that what is in flight at each point is the same in every iteration.
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
        if (i == NK_C) {
#pragma unroll
          for (int u = 0; u < SUBS; u++) {
            turn_lanes(*(u32x4(*)[ROPE / 32])&k[u][NK_C], angles[u], lane);
            angles[u] = angles_of(u);
          }
        }
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
  const mlaf_decode_args last = a;
  if (__builtin_expect(to.n == 0, 0)) refuse_piece(last, to, 64 * wave + lane);
  else finish(last, to, lds, lane, wave, row, o);
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                     amdgpu_waves_per_eu(1, 1))) void
mlaf_mla_decode_mfma_reg_rotate_6da01ce4(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(16))) char lds[34560];
  const int wave = uniform(thread_id() >> 6);
  piece x;
  if (only_piece(a, x)) work_on(a, x, lds, thread_id() & 63, wave);
}
