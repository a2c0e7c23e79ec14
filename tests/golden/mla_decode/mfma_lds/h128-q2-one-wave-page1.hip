// Generated from templates/mla_decode/mfma_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_mfma_lds_e132ff5a
// parameters:
//   blocks = 4
//   causal = 1
//   dtype = f16
//   heads = 128
//   load = vgpr
//   order = plain
//   page_size = 1
//   q_len = 2
//   rank = 128
//   rescale = lazy
//   rope = 32
//   schedule = splits
//   stages = 2
//   waves = 1
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_lds target=gfx942 blocks=4 causal=1 dtype=f16 heads=128 load=vgpr order=plain page_size=1 q_len=2 rank=128 rescale=lazy rope=32 schedule=splits stages=2 waves=1
// MLA decode for many heads: a tile of KV in LDS, shared by all waves of a workgroup, serves K and V; MFMA throughput
// binds.
//
// A workgroup owns ROWS = 16*waves*blocks query rows (head-major within a token) of one request and one KV split
// (schedule=fitted: or of the pieces of a part of the whole batch, one after the other, mla_decode/lib/fit_wave.h). Wave w
// owns the rows [16*blocks*w, + 16*blocks) for everything: their Q, their running O^T, their m and l. All waves together
// copy the tiles of 16 tokens into a ring of LDS stages, each tile once per workgroup, and meet at one barrier per tile.
//
//   LDS stage: 16 latent rows of 2*rank bytes | 16 rope rows of 128 bytes (rope 32 uses half); 16-byte chunks swizzled:
//       row t holds chunk c at place c ^ 2*(t & 3). With rows a multiple of 128 bytes apart that is free of bank conflicts
//       both for K (lane l: row l%16, chunk 4f + l/16) and for V (lane l: row 4(l/16)+r, chunk 16j + (l%16, permuted)).
//       Rope rows lie in the order in which pairs of them are copied: slot 2*((t&3) + 4*(t>>3)) + (t>>2 & 1).
//
//   S^T = K Q^T      A = K fragment f (one ds_read_b128: columns 32f + 8(l/16) .. +7, two MFMAs), B = Q, which stays in
//                    accumulation registers. One fragment serves all blocks of the wave.
//   P                S^T in D layout (lane l, register r: token 4(l/16)+r, row l%16) is, after exp2 and packing, B of the
//                    next product: P never leaves its lane.
//   O^T += V^T P^T   A = V^T by v_perm from four row reads, one per token 4(l/16)+r: the eight columns of a lane's 16
//                    bytes are eight operands; each serves all blocks. Lane l%16 = i takes chunk 4(i%4) + (i/4 ^ (i & 2)),
//                    so that O^T block (j,c), lane l, register r is column 128j + 32r + 8(l/16 ^ (r & 2)) + c: four lanes
//                    then hold 64 consecutive bytes of a row, and any 8 lanes that LDS serves at once still read 8
//                    different bank groups.
//
// The inner blocks are assembly with fixed registers, because no compiler version places 450 live registers without
// spilling. The listings come from gen/ops/mla_decode/plans/mfma_lds_loop.lua: streams of instructions (MFMA, LDS reads, joins,
// softmax, copies, addresses) laid over each other by position and woven by gen/weave.lua, which also puts in every wait and wait
// state. The compiler owns v0 .. v<frame-1> and the code between the blocks; gen/ops/mla_decode/plans/mfma_lds.lua deals the
// rest.
//
//   order=plain  [wait, barrier | QK(t), copy] mask? rescale? [softmax(t), PV(t)]
//                2 stages; 3 with dma keep two copies in flight
//   order=ahead  [wait, barrier | PV(t-1) rest, QK(t+1) begins, copy] mask? rescale? [QK(t+1) ends, softmax(t), PV(t) but
//                its rest]. 3 stages: softmax in the shadow of QK, and MFMAs to issue behind the barrier while the first
//                LDS reads are on their way
//
//   load=dma     direct-to-LDS copies: 64 lanes bring 256 bytes of one row, lane i the dword whose place is i: the
//                swizzle is in the address
//   load=vgpr    16-byte loads into registers, written to LDS one iteration later
//
// Numbers: as in mla_decode/mfma_reg, but O is divided by the sum of P as packed, so that the rounding of a heavy weight cancels.
// rescale=lazy: O is rescaled when a score exceeds its row's m by more than 8 in base 2; always: in every tile. Rows of the
// last tile beyond the end repeat the request's last token. A page id outside the cache is replaced by the last page for
// the copy and turns the workgroup's result into NaN.
//
// Limits: row strides below 4 GiB, fewer than 2^32 cache rows.



#pragma clang diagnostic ignored "-Winline-asm" // naming registers beyond the compiler's reach is the point
#define MLAF_BF16 0
#define MLAF_CVT_BF16 0
#define MLAF_XCDS 8
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_decode/lib/args.h]
// [templates/mla_decode/lib/grid.h]
// [templates/mla_decode/lib/paging.h]

constexpr int H = 128, Q_LEN = 2, R = 128, ROPE = 32, PAGE = 1;
constexpr bool CAUSAL = 1, LAZY = true;
constexpr int WAVES = 1, BLOCKS = 4, ROWS = 64, STEP = 16, NJ = 1;
constexpr u32 STAGES = 2, STAGE_BYTES = 6144;
constexpr u32 LATENT_BYTES = 4096, ROW_BYTES = 256;
constexpr int UNITS = 4, LEAD = 2;

// The lane number, made anew where it is seldom needed, so that nothing derived from it occupies a register in the loop.
MLAF_DEV int lane_again() {
  int x;
  asm volatile("v_mbcnt_lo_u32_b32 %0, -1, 0\nv_mbcnt_hi_u32_b32 %0, -1, %0" : "=v"(x));
  return x;
}

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

// Tokens that a row sees.
MLAF_DEV int visible(const piece& w, int row) {
  return CAUSAL ? w.tokens - (w.n - 1 - (w.first_row + row) / H) : w.tokens;
}

// ---- Copy addresses ------------------------------------------------------------------------------------------------
// Where the lanes of unit u copy from, relative to the tile's first row (whole pages) or to their own row. dma: unit u of
// wave w is the pair of rows t, t+4 with t = (i & 3) + 8*(i >> 2), i = w + WAVES*u; vgpr: rows 4i + l/16, i = w + WAVES*u.
MLAF_DEV int unit_of(int wave, int u) { return (wave + WAVES * u) & 7; } // & 7: spare turns repeat a pair
constexpr u32 HALVES = 1, ROPE_LANE = ROPE / (8 * HALVES); // bytes of a rope row that a lane copies
MLAF_DEV int group_row(int wave, int u, int lane) { return 4 * ((wave & 3) + WAVES * u) + (lane >> 4); }
MLAF_DEV u32 latent_column(int wave, int lane) { return (u32)(wave >> 2) * (R / HALVES * 2) + 16 * (lane & 15); }
MLAF_DEV u32 rope_column(int wave, int lane) { return (u32)(wave >> 2) * 64 + ROPE_LANE * (lane & 15); }


// Where this lane stores: 16 bytes of a row and of the row 8 below.
struct output {
  MLAF_GLOBAL char *upper, *lower;
  bool has_upper, has_lower;
};
MLAF_DEV output output_at(const mlaf_decode_args& a, bool final, i64 part_row, i64 row, int lane, int rows_left) {
  char* const base = final ? a.o + row * (2 * R) : (char*)a.part_o + part_row * (4 * R);
  MLAF_GLOBAL char* const upper = (MLAF_GLOBAL char*)(u64)base + 16 * (lane & 7);
  return {upper, upper + (final ? 16 * R : 32 * R), rows_left > 0, rows_left > 8};
}

// Register r of eight O blocks: columns `column` + 8*place .. of this lane's row. 16-bit output: two r make 128 bytes.
template <int r>
MLAF_DEV void write_o(const output& out, bool final, char* put, const char* get, u32 key, u32 place, int column,
                      const float (&x)[8]) {
  if (final) {
    const u32x4 packed = {pack2(x[0], x[1]), pack2(x[2], x[3]), pack2(x[4], x[5]), pack2(x[6], x[7])};
    *(u32x4*)(put + 16 * ((4 * (r & 1) + place) ^ key)) = packed;
    if (r % 2 == 0) return;
  } else {
    *(f32x4*)(put + 16 * (2 * place ^ key)) = f32x4{x[0], x[1], x[2], x[3]};
    *(f32x4*)(put + 16 * ((2 * place + 1) ^ key)) = f32x4{x[4], x[5], x[6], x[7]};
  }
  asm volatile("" ::: "memory"); // other lanes' values are read: the compiler must not see through
  const u32x4 upper = *(const u32x4*)get, lower = *(const u32x4*)(get + 1024);
  asm volatile("" ::: "memory");
  const int at = final ? 2 * (column - 32) : 4 * column;
  if (out.has_upper) *(MLAF_GLOBAL u32x4*)(out.upper + at) = upper;
  if (out.has_lower) *(MLAF_GLOBAL u32x4*)(out.lower + at) = lower;
}

// A workgroup without tokens (0: O = 0, and a split leaves O alone) or without a cache (NaN).
MLAF_DEV void write_constant(const mlaf_decode_args& a, bool final, const piece& w, i64 part, float value) {
  const int rows = smaller(ROWS, w.rows);
  const float lse = value == 0.0f ? minus_inf() : value;
  for (int i = thread_id(); i < rows; i += 64 * WAVES) {
    if (!final) *(MLAF_GLOBAL float*)(global(a.part_lse) + 4 * (part + w.row + i)) = lse;
    else if (a.lse) *(MLAF_GLOBAL float*)(global(a.lse) + 4 * (w.row + i)) = lse;
  }
  if (!final && value == 0.0f) return;
  char* const base = final ? a.o + w.row * (2 * R) : (char*)(a.part_o + (part + w.row) * R);
  MLAF_GLOBAL char* const to = (MLAF_GLOBAL char*)(u64)base;
  const u32 pair = pack2(value, value), bits = final ? pair : bits_of(value);
  for (int i = thread_id(); i < rows * (final ? R / 8 : R / 4); i += 64 * WAVES)
    *(MLAF_GLOBAL u32x4*)(to + 16 * i) = u32x4{bits, bits, bits, bits};
}

// ---- A piece -------------------------------------------------------------------------------------------------------
MLAF_DEV void work_on(const mlaf_decode_args& a, const piece& w, char* lds, int wave) {
  const int tiles = (w.end - w.begin + 15) / 16;
  const bool final = w.final, no_cache = a.num_pages <= 0; // then nothing may be read
  const i64 part = w.part;
  if (__builtin_expect(w.n == 0, 0)) return refuse_piece(a, w, thread_id());
  if (tiles == 0 || no_cache) {
    write_constant(a, final, w, part, tiles == 0 ? 0.0f : __builtin_nanf(""));
    return;
  }
  u32 bad = 0; // the largest page id seen, as unsigned
  {
    const int lane = thread_id() & 63;
    const float scale = a.scale_log2e, slack = 8.0f;
    const u32 lo = 0x05040100, hi = 0x07060302; // v_perm: low halves, high halves
    const u32 half = 0x7fff, ones = 0x3c003c00; // bf16 rounding; 1, 1 in f16
    const u32 maxid = a.num_pages - 1, last = w.tokens - 1;
    const u32 cs = (u32)(2 * a.ckv_row_stride), ks = (u32)(2 * a.kpe_row_stride);
    const u64 pages = (u64)(a.kv_indices + w.first_page);
    const u32 base = (u32)(u64)(__attribute__((address_space(3))) char*)lds;

    // LDS addresses of K fragments (even and odd), V rows.
    u32 ka[2], kr[2], va[4];
    const u32 t = lane & 15, q = lane >> 4, slot = 2 * ((t & 3) + 4 * (t >> 3)) + (t >> 2 & 1);
#pragma unroll
    for (int p = 0; p < 2; p++) {
      const u32 place = 16 * ((4 * p + q) ^ 2 * (t & 3));
      ka[p] = base + t * ROW_BYTES + place;
      kr[p] = base + LATENT_BYTES + slot * 128 + place;
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
      const u32 chunk = 4 * (t & 3) + ((t >> 2) ^ (t & 2));
      va[r] = base + (4 * q + r) * ROW_BYTES + 16 * (chunk ^ 2 * r);
    }

    // Copies: sources.
    const u32 magic = 0u, page = PAGE;
    u32 row[UNITS], vcs = cs, vks = ks, tok, tokn;
    asm volatile("" : "+v"(vcs), "+v"(vks)); // in vector registers: an instruction may have one scalar operand only
    const u64 cka = (u64)a.ckv + latent_column(wave, lane), kpa = (u64)a.kpe + rope_column(wave, lane);
#pragma unroll
    for (int u = 0; u < UNITS; u++) row[u] = group_row(wave, u, lane);
    // Copies: places in LDS, of the stage to be filled next.
    const u32 group = wave & 3, byte = rope_column(wave, lane);
    u32 wa = base + (4 * group + q) * ROW_BYTES + (latent_column(wave, lane) ^ 32 * q);
    u32 wr = base + LATENT_BYTES + 128 * (2 * (q + 4 * (group >> 1)) + (group & 1)) + (byte ^ 32 * q);
    // What the copy of a tile and the look-up of the next need; both stop at the last tile.
    const u32 last_tile = w.begin + 16 * (tiles - 1);
    u32 here, next = w.begin;
    auto aim = [&] {
      here = next;
      next = smaller(next + 16, last_tile);
      tok = here;
      tokn = next;
    };

    tokn = next;
    asm volatile(
        "v_add_u32 v65, %[tokn], %[row0]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v66, v65, %[pages]\n"
        "v_add_u32 v65, %[tokn], %[row1]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v67, v65, %[pages]\n"
        "v_add_u32 v65, %[tokn], %[row2]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v68, v65, %[pages]\n"
        "v_add_u32 v65, %[tokn], %[row3]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v69, v65, %[pages]\n"
        :  : [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [row1] "v"(row[1]), [row2] "v"(row[2]), [row3] "v"(row[3]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    // Q: lane l fetches chunk l%8 of row l/8 (+ 8) of a block; LDS turns 64 columns at a time into the layout of B. Rows
    // that do not exist repeat the last that does; nobody stores what they compute.
    const u32 qw = base + 6144 + 2048 * wave + 128 * (lane >> 3) + 16 * ((lane & 7) ^ (lane >> 3));
    const u32 qr[2] = {base + 6144 + 2048 * wave + 128 * t + 16 * (q ^ (t & 7)),
                       base + 6144 + 2048 * wave + 128 * t + 16 * ((4 + q) ^ (t & 7))};
    auto q_row = [&](int b, int i) {
      const int at = smaller((wave * BLOCKS + b) * 16 + 8 * i + (lane >> 3), w.rows - 1);
      return (u64)a.q + (u64)(w.row + at) * (2 * (R + ROPE));
    };
    {
      const u64 qa[2] = {q_row(0, 0) + 16 * (lane & 7), q_row(0, 1) + 16 * (lane & 7)};
      const u32 tail = 2 * (R + ROPE) - 64 + 16 * (lane & 3);
      const u64 qt[2] = {q_row(0, 0) + tail, q_row(0, 1) + tail};
    asm volatile(
        "global_load_dwordx4 v[138:141], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[142:145], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[146:149], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[150:153], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[154:157], %[qt0], off\n"
        "global_load_dwordx4 v[158:161], %[qt1], off\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]), [qt0] "v"(qt[0]), [qt1] "v"(qt[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    }
    {
      const u64 qa[2] = {q_row(1, 0) + 16 * (lane & 7), q_row(1, 1) + 16 * (lane & 7)};
      const u32 tail = 2 * (R + ROPE) - 64 + 16 * (lane & 3);
      const u64 qt[2] = {q_row(1, 0) + tail, q_row(1, 1) + tail};
    asm volatile(
        "global_load_dwordx4 v[162:165], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[166:169], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[170:173], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[174:177], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[178:181], %[qt0], off\n"
        "global_load_dwordx4 v[182:185], %[qt1], off\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]), [qt0] "v"(qt[0]), [qt1] "v"(qt[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    }
    {
      const u64 qa[2] = {q_row(2, 0) + 16 * (lane & 7), q_row(2, 1) + 16 * (lane & 7)};
      const u32 tail = 2 * (R + ROPE) - 64 + 16 * (lane & 3);
      const u64 qt[2] = {q_row(2, 0) + tail, q_row(2, 1) + tail};
    asm volatile(
        "global_load_dwordx4 v[186:189], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[190:193], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[194:197], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[198:201], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[202:205], %[qt0], off\n"
        "global_load_dwordx4 v[206:209], %[qt1], off\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]), [qt0] "v"(qt[0]), [qt1] "v"(qt[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    }
    {
      const u64 qa[2] = {q_row(3, 0) + 16 * (lane & 7), q_row(3, 1) + 16 * (lane & 7)};
      const u32 tail = 2 * (R + ROPE) - 64 + 16 * (lane & 3);
      const u64 qt[2] = {q_row(3, 0) + tail, q_row(3, 1) + tail};
    asm volatile(
        "global_load_dwordx4 v[210:213], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[214:217], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[218:221], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[222:225], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[226:229], %[qt0], off\n"
        "global_load_dwordx4 v[230:233], %[qt1], off\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]), [qt0] "v"(qt[0]), [qt1] "v"(qt[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim();
    asm volatile(
        "v_max_u32 %[bad], %[bad], v66\n"
        "v_min_u32 v64, %[maxid], v66\n"
        "v_add_u32 v65, %[tokn], %[row0]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v66, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[82:85], v[32:33], off offset:0\n"
        "global_load_dword v86, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v67\n"
        "v_min_u32 v64, %[maxid], v67\n"
        "v_add_u32 v65, %[tokn], %[row1]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v67, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[88:91], v[32:33], off offset:0\n"
        "global_load_dword v92, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v68\n"
        "v_min_u32 v64, %[maxid], v68\n"
        "v_add_u32 v65, %[tokn], %[row2]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v68, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[94:97], v[32:33], off offset:0\n"
        "global_load_dword v98, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v69\n"
        "v_min_u32 v64, %[maxid], v69\n"
        "v_add_u32 v65, %[tokn], %[row3]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v69, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[100:103], v[32:33], off offset:0\n"
        "global_load_dword v104, v[34:35], off\n"
        : [bad] "+v"(bad) : [maxid] "s"(maxid), [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [vcs] "v"(vcs), [cka] "v"(cka), [vks] "v"(vks), [kpa] "v"(kpa), [row1] "v"(row[1]), [row2] "v"(row[2]), [row3] "v"(row[3]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    asm volatile(
        "ds_write_b128 %[qw], v[138:141] offset:0\n"
        "ds_write_b128 %[qw], v[142:145] offset:1024\n"
        "ds_read_b128 a[0:3], %[qr0]\n"
        "ds_read_b128 a[4:7], %[qr1]\n"
        "ds_write_b128 %[qw], v[146:149] offset:0\n"
        "ds_write_b128 %[qw], v[150:153] offset:1024\n"
        "ds_read_b128 a[8:11], %[qr0]\n"
        "ds_read_b128 a[12:15], %[qr1]\n"
        "ds_write_b128 %[qw], v[154:157] offset:0\n"
        "ds_write_b128 %[qw], v[158:161] offset:1024\n"
        "ds_read_b128 a[16:19], %[qr0]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    asm volatile(
        "ds_write_b128 %[qw], v[162:165] offset:0\n"
        "ds_write_b128 %[qw], v[166:169] offset:1024\n"
        "ds_read_b128 a[20:23], %[qr0]\n"
        "ds_read_b128 a[24:27], %[qr1]\n"
        "ds_write_b128 %[qw], v[170:173] offset:0\n"
        "ds_write_b128 %[qw], v[174:177] offset:1024\n"
        "ds_read_b128 a[28:31], %[qr0]\n"
        "ds_read_b128 a[32:35], %[qr1]\n"
        "ds_write_b128 %[qw], v[178:181] offset:0\n"
        "ds_write_b128 %[qw], v[182:185] offset:1024\n"
        "ds_read_b128 a[36:39], %[qr0]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    asm volatile(
        "ds_write_b128 %[qw], v[186:189] offset:0\n"
        "ds_write_b128 %[qw], v[190:193] offset:1024\n"
        "ds_read_b128 a[40:43], %[qr0]\n"
        "ds_read_b128 a[44:47], %[qr1]\n"
        "ds_write_b128 %[qw], v[194:197] offset:0\n"
        "ds_write_b128 %[qw], v[198:201] offset:1024\n"
        "ds_read_b128 a[48:51], %[qr0]\n"
        "ds_read_b128 a[52:55], %[qr1]\n"
        "ds_write_b128 %[qw], v[202:205] offset:0\n"
        "ds_write_b128 %[qw], v[206:209] offset:1024\n"
        "ds_read_b128 a[56:59], %[qr0]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    asm volatile(
        "ds_write_b128 %[qw], v[210:213] offset:0\n"
        "ds_write_b128 %[qw], v[214:217] offset:1024\n"
        "ds_read_b128 a[60:63], %[qr0]\n"
        "ds_read_b128 a[64:67], %[qr1]\n"
        "ds_write_b128 %[qw], v[218:221] offset:0\n"
        "ds_write_b128 %[qw], v[222:225] offset:1024\n"
        "ds_read_b128 a[68:71], %[qr0]\n"
        "ds_read_b128 a[72:75], %[qr1]\n"
        "ds_write_b128 %[qw], v[226:229] offset:0\n"
        "ds_write_b128 %[qw], v[230:233] offset:1024\n"
        "ds_read_b128 a[76:79], %[qr0]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    // m, l, n, O
    asm volatile(
      "v_mov_b32 v70, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v74, 0\n"
      "v_mov_b32 v78, 0\n"
        "v_mov_b32 v138, 0\n"
        "v_mov_b32 v139, 0\n"
        "v_mov_b32 v140, 0\n"
        "v_mov_b32 v141, 0\n"
        "v_mov_b32 v142, 0\n"
        "v_mov_b32 v143, 0\n"
        "v_mov_b32 v144, 0\n"
        "v_mov_b32 v145, 0\n"
        "v_mov_b32 v146, 0\n"
        "v_mov_b32 v147, 0\n"
        "v_mov_b32 v148, 0\n"
        "v_mov_b32 v149, 0\n"
        "v_mov_b32 v150, 0\n"
        "v_mov_b32 v151, 0\n"
        "v_mov_b32 v152, 0\n"
        "v_mov_b32 v153, 0\n"
        "v_mov_b32 v154, 0\n"
        "v_mov_b32 v155, 0\n"
        "v_mov_b32 v156, 0\n"
        "v_mov_b32 v157, 0\n"
        "v_mov_b32 v158, 0\n"
        "v_mov_b32 v159, 0\n"
        "v_mov_b32 v160, 0\n"
        "v_mov_b32 v161, 0\n"
        "v_mov_b32 v162, 0\n"
        "v_mov_b32 v163, 0\n"
        "v_mov_b32 v164, 0\n"
        "v_mov_b32 v165, 0\n"
        "v_mov_b32 v166, 0\n"
        "v_mov_b32 v167, 0\n"
        "v_mov_b32 v168, 0\n"
        "v_mov_b32 v169, 0\n"
      "v_mov_b32 v71, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v75, 0\n"
      "v_mov_b32 v79, 0\n"
        "v_mov_b32 v170, 0\n"
        "v_mov_b32 v171, 0\n"
        "v_mov_b32 v172, 0\n"
        "v_mov_b32 v173, 0\n"
        "v_mov_b32 v174, 0\n"
        "v_mov_b32 v175, 0\n"
        "v_mov_b32 v176, 0\n"
        "v_mov_b32 v177, 0\n"
        "v_mov_b32 v178, 0\n"
        "v_mov_b32 v179, 0\n"
        "v_mov_b32 v180, 0\n"
        "v_mov_b32 v181, 0\n"
        "v_mov_b32 v182, 0\n"
        "v_mov_b32 v183, 0\n"
        "v_mov_b32 v184, 0\n"
        "v_mov_b32 v185, 0\n"
        "v_mov_b32 v186, 0\n"
        "v_mov_b32 v187, 0\n"
        "v_mov_b32 v188, 0\n"
        "v_mov_b32 v189, 0\n"
        "v_mov_b32 v190, 0\n"
        "v_mov_b32 v191, 0\n"
        "v_mov_b32 v192, 0\n"
        "v_mov_b32 v193, 0\n"
        "v_mov_b32 v194, 0\n"
        "v_mov_b32 v195, 0\n"
        "v_mov_b32 v196, 0\n"
        "v_mov_b32 v197, 0\n"
        "v_mov_b32 v198, 0\n"
        "v_mov_b32 v199, 0\n"
        "v_mov_b32 v200, 0\n"
        "v_mov_b32 v201, 0\n"
      "v_mov_b32 v72, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v76, 0\n"
      "v_mov_b32 v80, 0\n"
        "v_mov_b32 v202, 0\n"
        "v_mov_b32 v203, 0\n"
        "v_mov_b32 v204, 0\n"
        "v_mov_b32 v205, 0\n"
        "v_mov_b32 v206, 0\n"
        "v_mov_b32 v207, 0\n"
        "v_mov_b32 v208, 0\n"
        "v_mov_b32 v209, 0\n"
        "v_mov_b32 v210, 0\n"
        "v_mov_b32 v211, 0\n"
        "v_mov_b32 v212, 0\n"
        "v_mov_b32 v213, 0\n"
        "v_mov_b32 v214, 0\n"
        "v_mov_b32 v215, 0\n"
        "v_mov_b32 v216, 0\n"
        "v_mov_b32 v217, 0\n"
        "v_mov_b32 v218, 0\n"
        "v_mov_b32 v219, 0\n"
        "v_mov_b32 v220, 0\n"
        "v_mov_b32 v221, 0\n"
        "v_mov_b32 v222, 0\n"
        "v_mov_b32 v223, 0\n"
        "v_mov_b32 v224, 0\n"
        "v_mov_b32 v225, 0\n"
        "v_mov_b32 v226, 0\n"
        "v_mov_b32 v227, 0\n"
        "v_mov_b32 v228, 0\n"
        "v_mov_b32 v229, 0\n"
        "v_mov_b32 v230, 0\n"
        "v_mov_b32 v231, 0\n"
        "v_mov_b32 v232, 0\n"
        "v_mov_b32 v233, 0\n"
      "v_mov_b32 v73, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v77, 0\n"
      "v_mov_b32 v81, 0\n"
        "v_mov_b32 v234, 0\n"
        "v_mov_b32 v235, 0\n"
        "v_mov_b32 v236, 0\n"
        "v_mov_b32 v237, 0\n"
        "v_mov_b32 v238, 0\n"
        "v_mov_b32 v239, 0\n"
        "v_mov_b32 v240, 0\n"
        "v_mov_b32 v241, 0\n"
        "v_mov_b32 v242, 0\n"
        "v_mov_b32 v243, 0\n"
        "v_mov_b32 v244, 0\n"
        "v_mov_b32 v245, 0\n"
        "v_mov_b32 v246, 0\n"
        "v_mov_b32 v247, 0\n"
        "v_mov_b32 v248, 0\n"
        "v_mov_b32 v249, 0\n"
        "v_mov_b32 v250, 0\n"
        "v_mov_b32 v251, 0\n"
        "v_mov_b32 v252, 0\n"
        "v_mov_b32 v253, 0\n"
        "v_accvgpr_write_b32 a80, 0\n"
        "v_accvgpr_write_b32 a81, 0\n"
        "v_accvgpr_write_b32 a82, 0\n"
        "v_accvgpr_write_b32 a83, 0\n"
        "v_accvgpr_write_b32 a84, 0\n"
        "v_accvgpr_write_b32 a85, 0\n"
        "v_accvgpr_write_b32 a86, 0\n"
        "v_accvgpr_write_b32 a87, 0\n"
        "v_accvgpr_write_b32 a88, 0\n"
        "v_accvgpr_write_b32 a89, 0\n"
        "v_accvgpr_write_b32 a90, 0\n"
        "v_accvgpr_write_b32 a91, 0\n"
      // The highest registers: the kernel's allocation covers all below.
      ::: "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v253", "a91");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    asm volatile(
        "ds_write_b128 %[wa], v[82:85] offset:0\n"
        "ds_write_b32 %[wr], v86 offset:0\n"
        "ds_write_b128 %[wa], v[88:91] offset:1024\n"
        "ds_write_b32 %[wr], v92 offset:128\n"
        "ds_write_b128 %[wa], v[94:97] offset:2048\n"
        "ds_write_b32 %[wr], v98 offset:1024\n"
        "ds_write_b128 %[wa], v[100:103] offset:3072\n"
        "ds_write_b32 %[wr], v104 offset:1152\n"
        :  : [wa] "v"(wa), [wr] "v"(wr) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");
    wa += STAGE_BYTES;
    wr += STAGE_BYTES;
    aim();
    asm volatile(
        "v_max_u32 %[bad], %[bad], v66\n"
        "v_min_u32 v64, %[maxid], v66\n"
        "v_add_u32 v65, %[tokn], %[row0]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v66, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[82:85], v[32:33], off offset:0\n"
        "global_load_dword v86, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v67\n"
        "v_min_u32 v64, %[maxid], v67\n"
        "v_add_u32 v65, %[tokn], %[row1]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v67, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[88:91], v[32:33], off offset:0\n"
        "global_load_dword v92, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v68\n"
        "v_min_u32 v64, %[maxid], v68\n"
        "v_add_u32 v65, %[tokn], %[row2]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v68, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[94:97], v[32:33], off offset:0\n"
        "global_load_dword v98, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v69\n"
        "v_min_u32 v64, %[maxid], v69\n"
        "v_add_u32 v65, %[tokn], %[row3]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v69, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[100:103], v[32:33], off offset:0\n"
        "global_load_dword v104, v[34:35], off\n"
        : [bad] "+v"(bad) : [maxid] "s"(maxid), [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [vcs] "v"(vcs), [cka] "v"(cka), [vks] "v"(vks), [kpa] "v"(kpa), [row1] "v"(row[1]), [row2] "v"(row[2]), [row3] "v"(row[3]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105");

    // Steps from a stage to the next; steps[k] is that of the stage k behind the present tile's.
    u32 steps[STAGES];
#pragma unroll
    for (u32 k = 0; k < STAGES; k++) steps[k] = k == STAGES - 1 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
    u32 &vd = steps[0], &kd = steps[0], &wd = steps[1];
    auto turn = [&] {
      const u32 first = steps[0];
#pragma unroll
      for (u32 k = 0; k + 1 < STAGES; k++) steps[k] = steps[k + 1];
      steps[STAGES - 1] = first;
    };
    u64 rise;
    // Between the two parts of an iteration: the scores of the tile that begins at token `at`, scaled to base 2, stand in
    // v[48..].
    int at = w.begin;
    const int all_see = visible(w, 0) - 15; // a tile that begins below: every row sees all of it
    auto mask = [&] {
      if (__builtin_expect(at < all_see, 1)) return;
      const int lane = lane_again();
      const float none = minus_inf();
      {
        const int left = visible(w, (wave * BLOCKS + 0) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v48, %1, v48, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v49, %1, v49, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v50, %1, v50, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v51, %1, v51, vcc\n"
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        const int left = visible(w, (wave * BLOCKS + 1) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v52, %1, v52, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v53, %1, v53, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v54, %1, v54, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v55, %1, v55, vcc\n"
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        const int left = visible(w, (wave * BLOCKS + 2) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v56, %1, v56, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v57, %1, v57, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v58, %1, v58, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v59, %1, v59, vcc\n"
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        const int left = visible(w, (wave * BLOCKS + 3) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v60, %1, v60, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v61, %1, v61, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v62, %1, v62, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v63, %1, v63, vcc\n"
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };
    auto rescale = [&] {
      if (LAZY && __builtin_expect(rise == 0, 1)) return;
      const int lane = lane_again();
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v48, v49, v50\n"
                     "v_max_f32 %0, %0, v51" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v70\n"
                     "v_max_f32 v70, %0, %2\n"
                     "v_sub_f32 %1, %0, v70" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v74, %0, v74\n"
                     "v_mul_f32 v78, %0, v78" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v138, %0, v138\n"
            "v_mul_f32 v139, %0, v139\n"
            "v_mul_f32 v140, %0, v140\n"
            "v_mul_f32 v141, %0, v141\n"
            "v_mul_f32 v142, %0, v142\n"
            "v_mul_f32 v143, %0, v143\n"
            "v_mul_f32 v144, %0, v144\n"
            "v_mul_f32 v145, %0, v145\n"
            "v_mul_f32 v146, %0, v146\n"
            "v_mul_f32 v147, %0, v147\n"
            "v_mul_f32 v148, %0, v148\n"
            "v_mul_f32 v149, %0, v149\n"
            "v_mul_f32 v150, %0, v150\n"
            "v_mul_f32 v151, %0, v151\n"
            "v_mul_f32 v152, %0, v152\n"
            "v_mul_f32 v153, %0, v153\n"
            "v_mul_f32 v154, %0, v154\n"
            "v_mul_f32 v155, %0, v155\n"
            "v_mul_f32 v156, %0, v156\n"
            "v_mul_f32 v157, %0, v157\n"
            "v_mul_f32 v158, %0, v158\n"
            "v_mul_f32 v159, %0, v159\n"
            "v_mul_f32 v160, %0, v160\n"
            "v_mul_f32 v161, %0, v161\n"
            "v_mul_f32 v162, %0, v162\n"
            "v_mul_f32 v163, %0, v163\n"
            "v_mul_f32 v164, %0, v164\n"
            "v_mul_f32 v165, %0, v165\n"
            "v_mul_f32 v166, %0, v166\n"
            "v_mul_f32 v167, %0, v167\n"
            "v_mul_f32 v168, %0, v168\n"
            "v_mul_f32 v169, %0, v169\n"
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v52, v53, v54\n"
                     "v_max_f32 %0, %0, v55" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v71\n"
                     "v_max_f32 v71, %0, %2\n"
                     "v_sub_f32 %1, %0, v71" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v75, %0, v75\n"
                     "v_mul_f32 v79, %0, v79" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v170, %0, v170\n"
            "v_mul_f32 v171, %0, v171\n"
            "v_mul_f32 v172, %0, v172\n"
            "v_mul_f32 v173, %0, v173\n"
            "v_mul_f32 v174, %0, v174\n"
            "v_mul_f32 v175, %0, v175\n"
            "v_mul_f32 v176, %0, v176\n"
            "v_mul_f32 v177, %0, v177\n"
            "v_mul_f32 v178, %0, v178\n"
            "v_mul_f32 v179, %0, v179\n"
            "v_mul_f32 v180, %0, v180\n"
            "v_mul_f32 v181, %0, v181\n"
            "v_mul_f32 v182, %0, v182\n"
            "v_mul_f32 v183, %0, v183\n"
            "v_mul_f32 v184, %0, v184\n"
            "v_mul_f32 v185, %0, v185\n"
            "v_mul_f32 v186, %0, v186\n"
            "v_mul_f32 v187, %0, v187\n"
            "v_mul_f32 v188, %0, v188\n"
            "v_mul_f32 v189, %0, v189\n"
            "v_mul_f32 v190, %0, v190\n"
            "v_mul_f32 v191, %0, v191\n"
            "v_mul_f32 v192, %0, v192\n"
            "v_mul_f32 v193, %0, v193\n"
            "v_mul_f32 v194, %0, v194\n"
            "v_mul_f32 v195, %0, v195\n"
            "v_mul_f32 v196, %0, v196\n"
            "v_mul_f32 v197, %0, v197\n"
            "v_mul_f32 v198, %0, v198\n"
            "v_mul_f32 v199, %0, v199\n"
            "v_mul_f32 v200, %0, v200\n"
            "v_mul_f32 v201, %0, v201\n"
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v56, v57, v58\n"
                     "v_max_f32 %0, %0, v59" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v72\n"
                     "v_max_f32 v72, %0, %2\n"
                     "v_sub_f32 %1, %0, v72" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v76, %0, v76\n"
                     "v_mul_f32 v80, %0, v80" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v202, %0, v202\n"
            "v_mul_f32 v203, %0, v203\n"
            "v_mul_f32 v204, %0, v204\n"
            "v_mul_f32 v205, %0, v205\n"
            "v_mul_f32 v206, %0, v206\n"
            "v_mul_f32 v207, %0, v207\n"
            "v_mul_f32 v208, %0, v208\n"
            "v_mul_f32 v209, %0, v209\n"
            "v_mul_f32 v210, %0, v210\n"
            "v_mul_f32 v211, %0, v211\n"
            "v_mul_f32 v212, %0, v212\n"
            "v_mul_f32 v213, %0, v213\n"
            "v_mul_f32 v214, %0, v214\n"
            "v_mul_f32 v215, %0, v215\n"
            "v_mul_f32 v216, %0, v216\n"
            "v_mul_f32 v217, %0, v217\n"
            "v_mul_f32 v218, %0, v218\n"
            "v_mul_f32 v219, %0, v219\n"
            "v_mul_f32 v220, %0, v220\n"
            "v_mul_f32 v221, %0, v221\n"
            "v_mul_f32 v222, %0, v222\n"
            "v_mul_f32 v223, %0, v223\n"
            "v_mul_f32 v224, %0, v224\n"
            "v_mul_f32 v225, %0, v225\n"
            "v_mul_f32 v226, %0, v226\n"
            "v_mul_f32 v227, %0, v227\n"
            "v_mul_f32 v228, %0, v228\n"
            "v_mul_f32 v229, %0, v229\n"
            "v_mul_f32 v230, %0, v230\n"
            "v_mul_f32 v231, %0, v231\n"
            "v_mul_f32 v232, %0, v232\n"
            "v_mul_f32 v233, %0, v233\n"
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v60, v61, v62\n"
                     "v_max_f32 %0, %0, v63" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v73\n"
                     "v_max_f32 v73, %0, %2\n"
                     "v_sub_f32 %1, %0, v73" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v77, %0, v77\n"
                     "v_mul_f32 v81, %0, v81" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v234, %0, v234\n"
            "v_mul_f32 v235, %0, v235\n"
            "v_mul_f32 v236, %0, v236\n"
            "v_mul_f32 v237, %0, v237\n"
            "v_mul_f32 v238, %0, v238\n"
            "v_mul_f32 v239, %0, v239\n"
            "v_mul_f32 v240, %0, v240\n"
            "v_mul_f32 v241, %0, v241\n"
            "v_mul_f32 v242, %0, v242\n"
            "v_mul_f32 v243, %0, v243\n"
            "v_mul_f32 v244, %0, v244\n"
            "v_mul_f32 v245, %0, v245\n"
            "v_mul_f32 v246, %0, v246\n"
            "v_mul_f32 v247, %0, v247\n"
            "v_mul_f32 v248, %0, v248\n"
            "v_mul_f32 v249, %0, v249\n"
            "v_mul_f32 v250, %0, v250\n"
            "v_mul_f32 v251, %0, v251\n"
            "v_mul_f32 v252, %0, v252\n"
            "v_mul_f32 v253, %0, v253\n"
            "v_accvgpr_read_b32 v64, a80\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a80, v64\n"
            "v_accvgpr_read_b32 v64, a81\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a81, v64\n"
            "v_accvgpr_read_b32 v64, a82\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a82, v64\n"
            "v_accvgpr_read_b32 v64, a83\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a83, v64\n"
            "v_accvgpr_read_b32 v64, a84\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a84, v64\n"
            "v_accvgpr_read_b32 v64, a85\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a85, v64\n"
            "v_accvgpr_read_b32 v64, a86\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a86, v64\n"
            "v_accvgpr_read_b32 v64, a87\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a87, v64\n"
            "v_accvgpr_read_b32 v64, a88\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a88, v64\n"
            "v_accvgpr_read_b32 v64, a89\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a89, v64\n"
            "v_accvgpr_read_b32 v64, a90\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a90, v64\n"
            "v_accvgpr_read_b32 v64, a91\n"
            "v_mul_f32 v64, %0, v64\n"
            "v_accvgpr_write_b32 a91, v64\n"
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };

    for (; at <= (int)last_tile; at += 16) {
      aim();
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[106:109], %[ka0] offset:0\n"
        "ds_read_b128 v[110:113], %[ka1] offset:0\n"
        "ds_read_b128 v[114:117], %[ka0] offset:128\n"
        "ds_read_b128 v[122:125], %[va0] offset:0\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[106:107], a[0:1], 0\n"
        "ds_read_b128 v[118:121], %[ka1] offset:128\n"
        "ds_read_b128 v[126:129], %[va1] offset:0\n"
        "ds_read_b128 v[130:133], %[va2] offset:0\n"
        "ds_read_b128 v[134:137], %[va3] offset:0\n"
        "ds_write_b128 %[wa], v[82:85] offset:0\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[106:107], a[20:21], 0\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[106:107], a[40:41], 0\n"
        "ds_write_b32 %[wr], v86 offset:0\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[106:107], a[60:61], 0\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[108:109], a[2:3], v[48:51]\n"
        "ds_write_b128 %[wa], v[88:91] offset:1024\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[108:109], a[22:23], v[52:55]\n"
        "ds_write_b32 %[wr], v92 offset:128\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[108:109], a[42:43], v[56:59]\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[108:109], a[62:63], v[60:63]\n"
        "ds_write_b128 %[wa], v[94:97] offset:2048\n"
        "s_waitcnt lgkmcnt(11)\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[110:111], a[4:5], v[48:51]\n"
        "ds_read_b128 v[106:109], %[kr0] offset:0\n"
        "ds_write_b32 %[wr], v98 offset:1024\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[110:111], a[24:25], v[52:55]\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[110:111], a[44:45], v[56:59]\n"
        "ds_write_b128 %[wa], v[100:103] offset:3072\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[110:111], a[64:65], v[60:63]\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[112:113], a[6:7], v[48:51]\n"
        "ds_write_b32 %[wr], v104 offset:1152\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[112:113], a[26:27], v[52:55]\n"
        "v_max_u32 %[bad], %[bad], v66\n"
        "v_min_u32 v64, %[maxid], v66\n"
        "v_add_u32 v65, %[tokn], %[row0]\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[112:113], a[46:47], v[56:59]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[112:113], a[66:67], v[60:63]\n"
        "global_load_dword v66, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[114:115], a[8:9], v[48:51]\n"
        "global_load_dwordx4 v[82:85], v[32:33], off offset:0\n"
        "global_load_dword v86, v[34:35], off\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_max_u32 %[bad], %[bad], v67\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[114:115], a[28:29], v[52:55]\n"
        "v_min_u32 v64, %[maxid], v67\n"
        "v_add_u32 v65, %[tokn], %[row1]\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[114:115], a[48:49], v[56:59]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v67, v65, %[pages]\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[114:115], a[68:69], v[60:63]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[88:91], v[32:33], off offset:0\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[116:117], a[10:11], v[48:51]\n"
        "global_load_dword v92, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v68\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[116:117], a[30:31], v[52:55]\n"
        "v_min_u32 v64, %[maxid], v68\n"
        "v_add_u32 v65, %[tokn], %[row2]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[116:117], a[50:51], v[56:59]\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "global_load_dword v68, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[116:117], a[70:71], v[60:63]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[94:97], v[32:33], off offset:0\n"
        "s_waitcnt lgkmcnt(12)\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[118:119], a[12:13], v[48:51]\n"
        "global_load_dword v98, v[34:35], off\n"
        "v_max_u32 %[bad], %[bad], v69\n"
        "v_min_u32 v64, %[maxid], v69\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[118:119], a[32:33], v[52:55]\n"
        "v_add_u32 v65, %[tokn], %[row3]\n"
        "v_min_u32 v65, %[last], v65\n"
        "v_lshlrev_b32 v65, 2, v65\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[118:119], a[52:53], v[56:59]\n"
        "global_load_dword v69, v65, %[pages]\n"
        "v_mad_u64_u32 v[32:33], vcc, v64, %[vcs], %[cka]\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[118:119], a[72:73], v[60:63]\n"
        "v_mad_u64_u32 v[34:35], vcc, v64, %[vks], %[kpa]\n"
        "global_load_dwordx4 v[100:103], v[32:33], off offset:0\n"
        "global_load_dword v104, v[34:35], off\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[120:121], a[14:15], v[48:51]\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[120:121], a[34:35], v[52:55]\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[120:121], a[54:55], v[56:59]\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[120:121], a[74:75], v[60:63]\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[106:107], a[16:17], v[48:51]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[106:107], a[36:37], v[52:55]\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[106:107], a[56:57], v[56:59]\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[106:107], a[76:77], v[60:63]\n"
        "v_mfma_f32_16x16x16_f16 v[48:51], v[108:109], a[18:19], v[48:51]\n"
        "v_mfma_f32_16x16x16_f16 v[52:55], v[108:109], a[38:39], v[52:55]\n"
        "v_mfma_f32_16x16x16_f16 v[56:59], v[108:109], a[58:59], v[56:59]\n"
        "v_mfma_f32_16x16x16_f16 v[60:63], v[108:109], a[78:79], v[60:63]\n"
        "s_nop 3\n"
        "v_mul_f32 v48, %[scale], v48\n"
        "v_mul_f32 v49, %[scale], v49\n"
        "v_mul_f32 v50, %[scale], v50\n"
        "v_mul_f32 v51, %[scale], v51\n"
        "v_mul_f32 v52, %[scale], v52\n"
        "v_mul_f32 v53, %[scale], v53\n"
        "v_mul_f32 v54, %[scale], v54\n"
        "v_mul_f32 v55, %[scale], v55\n"
        "v_mul_f32 v56, %[scale], v56\n"
        "v_mul_f32 v57, %[scale], v57\n"
        "v_mul_f32 v58, %[scale], v58\n"
        "v_mul_f32 v59, %[scale], v59\n"
        "v_mul_f32 v60, %[scale], v60\n"
        "v_mul_f32 v61, %[scale], v61\n"
        "v_mul_f32 v62, %[scale], v62\n"
        "v_mul_f32 v63, %[scale], v63\n"
        "v_max3_f32 v64, v48, v49, v50\n"
        "v_max_f32 v64, v64, v51\n"
        "v_sub_f32 v64, v64, v70\n"
        "v_max3_f32 v65, v52, v53, v54\n"
        "v_max_f32 v65, v65, v55\n"
        "v_sub_f32 v65, v65, v71\n"
        "v_max_f32 v64, v64, v65\n"
        "v_max3_f32 v65, v56, v57, v58\n"
        "v_max_f32 v65, v65, v59\n"
        "v_sub_f32 v65, v65, v72\n"
        "v_max_f32 v64, v64, v65\n"
        "v_max3_f32 v65, v60, v61, v62\n"
        "v_max_f32 v65, v65, v63\n"
        "v_sub_f32 v65, v65, v73\n"
        "v_max_f32 v64, v64, v65\n"
        "v_cmp_lt_f32 %[rise], %[slack], v64\n"
        : [va0] "+v"(va[0]), [va1] "+v"(va[1]), [bad] "+v"(bad), [rise] "=s"(rise) : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [wa] "v"(wa), [wr] "v"(wr), [kr0] "v"(kr[0]), [maxid] "s"(maxid), [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [vcs] "v"(vcs), [cka] "v"(cka), [vks] "v"(vks), [kpa] "v"(kpa), [vd] "s"(vd), [row1] "v"(row[1]), [row2] "v"(row[2]), [row3] "v"(row[3]), [scale] "s"(scale), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      mask();
      rescale();
    asm volatile(
        "v_sub_f32 v48, v48, v70\n"
        "v_sub_f32 v49, v49, v70\n"
        "v_sub_f32 v50, v50, v70\n"
        "v_sub_f32 v51, v51, v70\n"
        "v_exp_f32 v48, v48\n"
        "v_exp_f32 v49, v49\n"
        "v_exp_f32 v50, v50\n"
        "v_exp_f32 v51, v51\n"
        "v_add_f32 v74, v74, v48\n"
        "v_cvt_f16_f32 v48, v48\n"
        "v_add_f32 v74, v74, v49\n"
        "v_cvt_f16_f32 v49, v49\n"
        "v_add_f32 v74, v74, v50\n"
        "v_cvt_f16_f32 v50, v50\n"
        "v_add_f32 v74, v74, v51\n"
        "v_cvt_f16_f32 v51, v51\n"
        "v_pack_b32_f16 v40, v48, v49\n"
        "v_pack_b32_f16 v41, v50, v51\n"
        "v_sub_f32 v52, v52, v71\n"
        "v_sub_f32 v53, v53, v71\n"
        "v_sub_f32 v54, v54, v71\n"
        "v_sub_f32 v55, v55, v71\n"
        "v_exp_f32 v52, v52\n"
        "v_exp_f32 v53, v53\n"
        "v_exp_f32 v54, v54\n"
        "v_exp_f32 v55, v55\n"
        "v_add_f32 v75, v75, v52\n"
        "v_cvt_f16_f32 v52, v52\n"
        "v_add_f32 v75, v75, v53\n"
        "v_cvt_f16_f32 v53, v53\n"
        "v_add_f32 v75, v75, v54\n"
        "v_cvt_f16_f32 v54, v54\n"
        "v_add_f32 v75, v75, v55\n"
        "v_cvt_f16_f32 v55, v55\n"
        "v_pack_b32_f16 v42, v52, v53\n"
        "v_pack_b32_f16 v43, v54, v55\n"
        "v_sub_f32 v56, v56, v72\n"
        "v_sub_f32 v57, v57, v72\n"
        "v_sub_f32 v58, v58, v72\n"
        "v_sub_f32 v59, v59, v72\n"
        "v_exp_f32 v56, v56\n"
        "v_exp_f32 v57, v57\n"
        "v_exp_f32 v58, v58\n"
        "v_exp_f32 v59, v59\n"
        "v_add_f32 v76, v76, v56\n"
        "v_cvt_f16_f32 v56, v56\n"
        "v_add_f32 v76, v76, v57\n"
        "v_cvt_f16_f32 v57, v57\n"
        "v_add_f32 v76, v76, v58\n"
        "v_cvt_f16_f32 v58, v58\n"
        "v_add_f32 v76, v76, v59\n"
        "v_cvt_f16_f32 v59, v59\n"
        "v_pack_b32_f16 v44, v56, v57\n"
        "v_pack_b32_f16 v45, v58, v59\n"
        "v_sub_f32 v60, v60, v73\n"
        "v_sub_f32 v61, v61, v73\n"
        "v_sub_f32 v62, v62, v73\n"
        "v_sub_f32 v63, v63, v73\n"
        "v_exp_f32 v60, v60\n"
        "v_exp_f32 v61, v61\n"
        "v_exp_f32 v62, v62\n"
        "v_exp_f32 v63, v63\n"
        "v_add_f32 v77, v77, v60\n"
        "v_cvt_f16_f32 v60, v60\n"
        "v_add_f32 v77, v77, v61\n"
        "v_cvt_f16_f32 v61, v61\n"
        "v_add_f32 v77, v77, v62\n"
        "v_cvt_f16_f32 v62, v62\n"
        "v_add_f32 v77, v77, v63\n"
        "v_cvt_f16_f32 v63, v63\n"
        "v_pack_b32_f16 v46, v60, v61\n"
        "v_pack_b32_f16 v47, v62, v63\n"
        "v_perm_b32 v32, v126, v122, %[lo]\n"
        "v_perm_b32 v33, v134, v130, %[lo]\n"
        "v_perm_b32 v34, v126, v122, %[hi]\n"
        "v_perm_b32 v35, v134, v130, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[138:141], v[32:33], v[40:41], v[138:141]\n"
        "v_mfma_f32_16x16x16_f16 v[170:173], v[32:33], v[42:43], v[170:173]\n"
        "v_perm_b32 v36, v127, v123, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[202:205], v[32:33], v[44:45], v[202:205]\n"
        "v_dot2_f32_f16 v78, v40, %[ones], v78\n"
        "v_mfma_f32_16x16x16_f16 v[234:237], v[32:33], v[46:47], v[234:237]\n"
        "v_perm_b32 v37, v135, v131, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[142:145], v[34:35], v[40:41], v[142:145]\n"
        "v_mfma_f32_16x16x16_f16 v[174:177], v[34:35], v[42:43], v[174:177]\n"
        "v_perm_b32 v38, v127, v123, %[hi]\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_mfma_f32_16x16x16_f16 v[206:209], v[34:35], v[44:45], v[206:209]\n"
        "v_dot2_f32_f16 v78, v41, %[ones], v78\n"
        "v_mfma_f32_16x16x16_f16 v[238:241], v[34:35], v[46:47], v[238:241]\n"
        "v_perm_b32 v39, v135, v131, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[146:149], v[36:37], v[40:41], v[146:149]\n"
        "v_add_u32 %[wa], %[wd], %[wa]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_mfma_f32_16x16x16_f16 v[178:181], v[36:37], v[42:43], v[178:181]\n"
        "v_perm_b32 v32, v128, v124, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[210:213], v[36:37], v[44:45], v[210:213]\n"
        "v_dot2_f32_f16 v79, v42, %[ones], v79\n"
        "v_mfma_f32_16x16x16_f16 v[242:245], v[36:37], v[46:47], v[242:245]\n"
        "v_perm_b32 v33, v136, v132, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[150:153], v[38:39], v[40:41], v[150:153]\n"
        "v_mfma_f32_16x16x16_f16 v[182:185], v[38:39], v[42:43], v[182:185]\n"
        "v_perm_b32 v34, v128, v124, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[214:217], v[38:39], v[44:45], v[214:217]\n"
        "v_dot2_f32_f16 v79, v43, %[ones], v79\n"
        "v_mfma_f32_16x16x16_f16 v[246:249], v[38:39], v[46:47], v[246:249]\n"
        "v_perm_b32 v35, v136, v132, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[154:157], v[32:33], v[40:41], v[154:157]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_mfma_f32_16x16x16_f16 v[186:189], v[32:33], v[42:43], v[186:189]\n"
        "v_perm_b32 v36, v129, v125, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[218:221], v[32:33], v[44:45], v[218:221]\n"
        "v_dot2_f32_f16 v80, v44, %[ones], v80\n"
        "v_mfma_f32_16x16x16_f16 v[250:253], v[32:33], v[46:47], v[250:253]\n"
        "v_perm_b32 v37, v137, v133, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[158:161], v[34:35], v[40:41], v[158:161]\n"
        "v_mfma_f32_16x16x16_f16 v[190:193], v[34:35], v[42:43], v[190:193]\n"
        "v_perm_b32 v38, v129, v125, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[222:225], v[34:35], v[44:45], v[222:225]\n"
        "v_dot2_f32_f16 v80, v45, %[ones], v80\n"
        "v_mfma_f32_16x16x16_f16 a[80:83], v[34:35], v[46:47], a[80:83]\n"
        "v_perm_b32 v39, v137, v133, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[162:165], v[36:37], v[40:41], v[162:165]\n"
        "v_add_u32 %[wr], %[wd], %[wr]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        "v_mfma_f32_16x16x16_f16 v[194:197], v[36:37], v[42:43], v[194:197]\n"
        "v_mfma_f32_16x16x16_f16 v[226:229], v[36:37], v[44:45], v[226:229]\n"
        "v_dot2_f32_f16 v81, v46, %[ones], v81\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_mfma_f32_16x16x16_f16 a[84:87], v[36:37], v[46:47], a[84:87]\n"
        "v_mfma_f32_16x16x16_f16 v[166:169], v[38:39], v[40:41], v[166:169]\n"
        "v_mfma_f32_16x16x16_f16 v[198:201], v[38:39], v[42:43], v[198:201]\n"
        "v_mfma_f32_16x16x16_f16 v[230:233], v[38:39], v[44:45], v[230:233]\n"
        "v_dot2_f32_f16 v81, v47, %[ones], v81\n"
        "v_mfma_f32_16x16x16_f16 a[88:91], v[38:39], v[46:47], a[88:91]\n"
        : [ka0] "+v"(ka[0]), [wa] "+v"(wa), [va2] "+v"(va[2]), [ka1] "+v"(ka[1]), [wr] "+v"(wr), [va3] "+v"(va[3]), [kr0] "+v"(kr[0]) : [lo] "s"(lo), [hi] "s"(hi), [ones] "s"(ones), [kd] "s"(kd), [wd] "s"(wd), [vd] "s"(vd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      turn();
    }
    asm volatile("s_nop 7\ns_waitcnt vmcnt(0)" ::: "memory"); // O's last MFMAs; copies nobody waited for
  }

  // ---- The result ----
  const mlaf_decode_args to = a;
  const int lane = lane_again();
  __syncthreads(); // all have read the last tile: LDS is free
  bool broken = bad >= (u32)to.num_pages;
  { // each wave saw the ids of its own rows only
    int* const flags = (int*)lds;
    const bool seen = any_lane(broken);
    if (lane == 0) flags[wave] = seen;
    __syncthreads();
    for (int i = 0; i < WAVES; i++) broken |= flags[i] != 0;
    __syncthreads();
  }
  // 16 rows x 128 bytes of O at a time go through a place of this wave's in LDS, from columns of one row per lane to
  // stores of 128 consecutive bytes by 8 lanes; chunk c of row t lies at c ^ (t & 7).
  char* const turn = lds + 2048 * wave;
  char* const put = turn + 128 * (lane & 15);
  const char* const get = turn + 128 * (lane >> 3) + 16 * ((lane & 7) ^ (lane >> 3)); // and 8 rows below
  const u32 key = lane & 7, group = lane >> 4;
  {
    constexpr int FIRST = 0;
    const int row = wave * BLOCKS * 16 + FIRST + (lane & 15);
    float top, sum, total;
    asm volatile("v_mov_b32 %0, v70\nv_mov_b32 %1, v74\nv_mov_b32 %2, v78"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
    sum = broken ? __builtin_nanf("") : sum_over_groups(sum, lane);
    total = broken ? sum : sum_over_groups(total, lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = top + log2_fast(sum);
    if (row < w.rows && lane < 16) {
      if (!final) *(MLAF_GLOBAL float*)(global(to.part_lse) + 4 * (part + w.row + row)) = lse2;
      else if (to.lse) *(MLAF_GLOBAL float*)(global(to.lse) + 4 * (w.row + row)) = lse2 * 0.69314718f;
    }
    const int first = wave * BLOCKS * 16 + FIRST + (lane >> 3);
    const output out = output_at(to, final, part + w.row + first, w.row + first, lane, w.rows - first);
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v138, %8\n"
          "v_mul_f32 %1, v142, %8\n"
          "v_mul_f32 %2, v146, %8\n"
          "v_mul_f32 %3, v150, %8\n"
          "v_mul_f32 %4, v154, %8\n"
          "v_mul_f32 %5, v158, %8\n"
          "v_mul_f32 %6, v162, %8\n"
          "v_mul_f32 %7, v166, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v139, %8\n"
          "v_mul_f32 %1, v143, %8\n"
          "v_mul_f32 %2, v147, %8\n"
          "v_mul_f32 %3, v151, %8\n"
          "v_mul_f32 %4, v155, %8\n"
          "v_mul_f32 %5, v159, %8\n"
          "v_mul_f32 %6, v163, %8\n"
          "v_mul_f32 %7, v167, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v140, %8\n"
          "v_mul_f32 %1, v144, %8\n"
          "v_mul_f32 %2, v148, %8\n"
          "v_mul_f32 %3, v152, %8\n"
          "v_mul_f32 %4, v156, %8\n"
          "v_mul_f32 %5, v160, %8\n"
          "v_mul_f32 %6, v164, %8\n"
          "v_mul_f32 %7, v168, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v141, %8\n"
          "v_mul_f32 %1, v145, %8\n"
          "v_mul_f32 %2, v149, %8\n"
          "v_mul_f32 %3, v153, %8\n"
          "v_mul_f32 %4, v157, %8\n"
          "v_mul_f32 %5, v161, %8\n"
          "v_mul_f32 %6, v165, %8\n"
          "v_mul_f32 %7, v169, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
  }
  {
    constexpr int FIRST = 16;
    const int row = wave * BLOCKS * 16 + FIRST + (lane & 15);
    float top, sum, total;
    asm volatile("v_mov_b32 %0, v71\nv_mov_b32 %1, v75\nv_mov_b32 %2, v79"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
    sum = broken ? __builtin_nanf("") : sum_over_groups(sum, lane);
    total = broken ? sum : sum_over_groups(total, lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = top + log2_fast(sum);
    if (row < w.rows && lane < 16) {
      if (!final) *(MLAF_GLOBAL float*)(global(to.part_lse) + 4 * (part + w.row + row)) = lse2;
      else if (to.lse) *(MLAF_GLOBAL float*)(global(to.lse) + 4 * (w.row + row)) = lse2 * 0.69314718f;
    }
    const int first = wave * BLOCKS * 16 + FIRST + (lane >> 3);
    const output out = output_at(to, final, part + w.row + first, w.row + first, lane, w.rows - first);
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v170, %8\n"
          "v_mul_f32 %1, v174, %8\n"
          "v_mul_f32 %2, v178, %8\n"
          "v_mul_f32 %3, v182, %8\n"
          "v_mul_f32 %4, v186, %8\n"
          "v_mul_f32 %5, v190, %8\n"
          "v_mul_f32 %6, v194, %8\n"
          "v_mul_f32 %7, v198, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v171, %8\n"
          "v_mul_f32 %1, v175, %8\n"
          "v_mul_f32 %2, v179, %8\n"
          "v_mul_f32 %3, v183, %8\n"
          "v_mul_f32 %4, v187, %8\n"
          "v_mul_f32 %5, v191, %8\n"
          "v_mul_f32 %6, v195, %8\n"
          "v_mul_f32 %7, v199, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v172, %8\n"
          "v_mul_f32 %1, v176, %8\n"
          "v_mul_f32 %2, v180, %8\n"
          "v_mul_f32 %3, v184, %8\n"
          "v_mul_f32 %4, v188, %8\n"
          "v_mul_f32 %5, v192, %8\n"
          "v_mul_f32 %6, v196, %8\n"
          "v_mul_f32 %7, v200, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v173, %8\n"
          "v_mul_f32 %1, v177, %8\n"
          "v_mul_f32 %2, v181, %8\n"
          "v_mul_f32 %3, v185, %8\n"
          "v_mul_f32 %4, v189, %8\n"
          "v_mul_f32 %5, v193, %8\n"
          "v_mul_f32 %6, v197, %8\n"
          "v_mul_f32 %7, v201, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
  }
  {
    constexpr int FIRST = 32;
    const int row = wave * BLOCKS * 16 + FIRST + (lane & 15);
    float top, sum, total;
    asm volatile("v_mov_b32 %0, v72\nv_mov_b32 %1, v76\nv_mov_b32 %2, v80"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
    sum = broken ? __builtin_nanf("") : sum_over_groups(sum, lane);
    total = broken ? sum : sum_over_groups(total, lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = top + log2_fast(sum);
    if (row < w.rows && lane < 16) {
      if (!final) *(MLAF_GLOBAL float*)(global(to.part_lse) + 4 * (part + w.row + row)) = lse2;
      else if (to.lse) *(MLAF_GLOBAL float*)(global(to.lse) + 4 * (w.row + row)) = lse2 * 0.69314718f;
    }
    const int first = wave * BLOCKS * 16 + FIRST + (lane >> 3);
    const output out = output_at(to, final, part + w.row + first, w.row + first, lane, w.rows - first);
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v202, %8\n"
          "v_mul_f32 %1, v206, %8\n"
          "v_mul_f32 %2, v210, %8\n"
          "v_mul_f32 %3, v214, %8\n"
          "v_mul_f32 %4, v218, %8\n"
          "v_mul_f32 %5, v222, %8\n"
          "v_mul_f32 %6, v226, %8\n"
          "v_mul_f32 %7, v230, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v203, %8\n"
          "v_mul_f32 %1, v207, %8\n"
          "v_mul_f32 %2, v211, %8\n"
          "v_mul_f32 %3, v215, %8\n"
          "v_mul_f32 %4, v219, %8\n"
          "v_mul_f32 %5, v223, %8\n"
          "v_mul_f32 %6, v227, %8\n"
          "v_mul_f32 %7, v231, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v204, %8\n"
          "v_mul_f32 %1, v208, %8\n"
          "v_mul_f32 %2, v212, %8\n"
          "v_mul_f32 %3, v216, %8\n"
          "v_mul_f32 %4, v220, %8\n"
          "v_mul_f32 %5, v224, %8\n"
          "v_mul_f32 %6, v228, %8\n"
          "v_mul_f32 %7, v232, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v205, %8\n"
          "v_mul_f32 %1, v209, %8\n"
          "v_mul_f32 %2, v213, %8\n"
          "v_mul_f32 %3, v217, %8\n"
          "v_mul_f32 %4, v221, %8\n"
          "v_mul_f32 %5, v225, %8\n"
          "v_mul_f32 %6, v229, %8\n"
          "v_mul_f32 %7, v233, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
  }
  {
    constexpr int FIRST = 48;
    const int row = wave * BLOCKS * 16 + FIRST + (lane & 15);
    float top, sum, total;
    asm volatile("v_mov_b32 %0, v73\nv_mov_b32 %1, v77\nv_mov_b32 %2, v81"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
    sum = broken ? __builtin_nanf("") : sum_over_groups(sum, lane);
    total = broken ? sum : sum_over_groups(total, lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = top + log2_fast(sum);
    if (row < w.rows && lane < 16) {
      if (!final) *(MLAF_GLOBAL float*)(global(to.part_lse) + 4 * (part + w.row + row)) = lse2;
      else if (to.lse) *(MLAF_GLOBAL float*)(global(to.lse) + 4 * (w.row + row)) = lse2 * 0.69314718f;
    }
    const int first = wave * BLOCKS * 16 + FIRST + (lane >> 3);
    const output out = output_at(to, final, part + w.row + first, w.row + first, lane, w.rows - first);
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v234, %8\n"
          "v_mul_f32 %1, v238, %8\n"
          "v_mul_f32 %2, v242, %8\n"
          "v_mul_f32 %3, v246, %8\n"
          "v_mul_f32 %4, v250, %8\n"
          "v_accvgpr_read_b32 %5, a80\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a84\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a88\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v235, %8\n"
          "v_mul_f32 %1, v239, %8\n"
          "v_mul_f32 %2, v243, %8\n"
          "v_mul_f32 %3, v247, %8\n"
          "v_mul_f32 %4, v251, %8\n"
          "v_accvgpr_read_b32 %5, a81\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a85\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a89\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v236, %8\n"
          "v_mul_f32 %1, v240, %8\n"
          "v_mul_f32 %2, v244, %8\n"
          "v_mul_f32 %3, v248, %8\n"
          "v_mul_f32 %4, v252, %8\n"
          "v_accvgpr_read_b32 %5, a82\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a86\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a90\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v237, %8\n"
          "v_mul_f32 %1, v241, %8\n"
          "v_mul_f32 %2, v245, %8\n"
          "v_mul_f32 %3, v249, %8\n"
          "v_mul_f32 %4, v253, %8\n"
          "v_accvgpr_read_b32 %5, a83\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a87\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a91\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
  }
}

// ---- The kernel ----------------------------------------------------------------------------------------------------
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64),
                                     amdgpu_num_vgpr(32))) void
mlaf_mla_decode_mfma_lds_e132ff5a(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[12288];
  const int wave = uniform(thread_id() >> 6);
  piece x;
  if (only_piece(a, x)) work_on(a, x, lds, wave);
}
