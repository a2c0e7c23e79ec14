// Generated from templates/mla_decode/mfma_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_mfma_lds_9e1e3d2d
// parameters:
//   blocks = 1
//   causal = 0
//   dtype = f16
//   heads = 16
//   load = vgpr
//   order = plain
//   page_size = 64
//   q_len = 1
//   rank = 128
//   rescale = lazy
//   rope = 64
//   schedule = splits
//   stages = 2
//   waves = 1
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_lds target=gfx942 blocks=1 causal=0 dtype=f16 heads=16 load=vgpr order=plain page_size=64 q_len=1 rank=128 rescale=lazy rope=64 schedule=splits stages=2 waves=1
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

constexpr int H = 16, Q_LEN = 1, R = 128, ROPE = 64, PAGE = 64;
constexpr bool CAUSAL = 0, LAZY = true;
constexpr int WAVES = 1, BLOCKS = 1, ROWS = 16, STEP = 16, NJ = 1;
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
struct piece {
  i64 row;                // first row of this workgroup, counted over all requests
  int rows;               // rows of the request from there on, at least 1
  int first_row;          // within the request
  int n;                  // query tokens of the request
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
MLAF_DEV bool request_of(const entries& e, int first_row, piece& x) {
  const int pages = e.pages_end - e.page, last = e.last < 0 ? 0 : smaller(e.last, PAGE);
  x.n = smaller(e.q_end - e.q_begin, Q_LEN);
  x.first_row = first_row;
  x.row = (i64)e.q_begin * H + first_row;
  x.rows = x.n * H - first_row;
  x.first_page = e.page;
  x.tokens = uniform(pages > 0 ? (pages - 1) * PAGE + last : 0); // the clamp went through vector registers
  return x.rows > 0;
}
MLAF_DEV bool read_request(const mlaf_decode_args& a, int request, int first_row, piece& x) {
  entries e = entries_of(a, request);
  int none = 0;
  together(e, none);
  return request_of(e, first_row, x);
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

// Byte offsets from the tile's first row; rows behind `last` repeat it.
MLAF_DEV void tile_offsets(u32 last, u32 cs, u32 ks, int wave, int lane, u32 (&la)[4],
                           u32 (&lr)[UNITS]) {
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const u32 t = smaller((u32)group_row(wave, u, lane), last);
    la[u] = t * cs + latent_column(wave, lane);
    lr[u] = t * ks + rope_column(wave, lane);
  }
}

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
    const u32 ckl = (u32)(u64)a.ckv, ckh = (u32)((u64)a.ckv >> 32);
    const u32 kpl = (u32)(u64)a.kpe, kph = (u32)((u64)a.kpe >> 32);
    u32 la[4], lr[UNITS], pos, pgo;
    tile_offsets(15, cs, ks, wave, lane, la, lr);
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
      pos = here % PAGE;
      pgo = next / PAGE * 4;
      if (__builtin_expect(here + 15 > last, 0)) tile_offsets(last - here, cs, ks, wave, lane_again(), la, lr);
    };

    pgo = next / PAGE * 4;
    asm volatile(
        "v_mov_b32 v45, %[pgo]\n"
        "global_load_dword v46, v45, %[pages]\n"
        :  : [pgo] "s"(pgo), [pages] "s"(pages) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
    asm volatile(
        "global_load_dwordx4 v[122:125], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[126:129], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[130:133], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[134:137], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[138:141], %[qa0], off offset:256\n"
        "global_load_dwordx4 v[142:145], %[qa1], off offset:256\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim();
    asm volatile(
        "v_readfirstlane_b32 s68, v46\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "s_lshl_b32 s68, s68, 6\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mov_b32 v45, %[pgo]\n"
        "global_load_dword v46, v45, %[pages]\n"
        "global_load_dwordx4 v[50:53], %[la0], s[64:65] offset:0\n"
        "global_load_dwordx2 v[54:55], %[lr0], s[66:67]\n"
        "global_load_dwordx4 v[56:59], %[la1], s[64:65] offset:0\n"
        "global_load_dwordx2 v[60:61], %[lr1], s[66:67]\n"
        "global_load_dwordx4 v[62:65], %[la2], s[64:65] offset:0\n"
        "global_load_dwordx2 v[66:67], %[lr2], s[66:67]\n"
        "global_load_dwordx4 v[68:71], %[la3], s[64:65] offset:0\n"
        "global_load_dwordx2 v[72:73], %[lr3], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [la0] "v"(la[0]), [lr0] "v"(lr[0]), [la1] "v"(la[1]), [lr1] "v"(lr[1]), [la2] "v"(la[2]), [lr2] "v"(lr[2]), [la3] "v"(la[3]), [lr3] "v"(lr[3]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "s64", "s65", "s66", "s67", "s68", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile(
        "ds_write_b128 %[qw], v[122:125] offset:0\n"
        "ds_write_b128 %[qw], v[126:129] offset:1024\n"
        "ds_read_b128 a[0:3], %[qr0]\n"
        "ds_read_b128 a[4:7], %[qr1]\n"
        "ds_write_b128 %[qw], v[130:133] offset:0\n"
        "ds_write_b128 %[qw], v[134:137] offset:1024\n"
        "ds_read_b128 a[8:11], %[qr0]\n"
        "ds_read_b128 a[12:15], %[qr1]\n"
        "ds_write_b128 %[qw], v[138:141] offset:0\n"
        "ds_write_b128 %[qw], v[142:145] offset:1024\n"
        "ds_read_b128 a[16:19], %[qr0]\n"
        "ds_read_b128 a[20:23], %[qr1]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    // m, l, n, O
    asm volatile(
      "v_mov_b32 v47, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v48, 0\n"
      "v_mov_b32 v49, 0\n"
        "v_mov_b32 v122, 0\n"
        "v_mov_b32 v123, 0\n"
        "v_mov_b32 v124, 0\n"
        "v_mov_b32 v125, 0\n"
        "v_mov_b32 v126, 0\n"
        "v_mov_b32 v127, 0\n"
        "v_mov_b32 v128, 0\n"
        "v_mov_b32 v129, 0\n"
        "v_mov_b32 v130, 0\n"
        "v_mov_b32 v131, 0\n"
        "v_mov_b32 v132, 0\n"
        "v_mov_b32 v133, 0\n"
        "v_mov_b32 v134, 0\n"
        "v_mov_b32 v135, 0\n"
        "v_mov_b32 v136, 0\n"
        "v_mov_b32 v137, 0\n"
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
      // The highest registers: the kernel's allocation covers all below.
      ::: "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "v153", "a23");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    asm volatile(
        "ds_write_b128 %[wa], v[50:53] offset:0\n"
        "ds_write_b64 %[wr], v[54:55] offset:0\n"
        "ds_write_b128 %[wa], v[56:59] offset:1024\n"
        "ds_write_b64 %[wr], v[60:61] offset:128\n"
        "ds_write_b128 %[wa], v[62:65] offset:2048\n"
        "ds_write_b64 %[wr], v[66:67] offset:1024\n"
        "ds_write_b128 %[wa], v[68:71] offset:3072\n"
        "ds_write_b64 %[wr], v[72:73] offset:1152\n"
        :  : [wa] "v"(wa), [wr] "v"(wr) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    wa += STAGE_BYTES;
    wr += STAGE_BYTES;
    aim();
    asm volatile(
        "v_readfirstlane_b32 s68, v46\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "s_lshl_b32 s68, s68, 6\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mov_b32 v45, %[pgo]\n"
        "global_load_dword v46, v45, %[pages]\n"
        "global_load_dwordx4 v[50:53], %[la0], s[64:65] offset:0\n"
        "global_load_dwordx2 v[54:55], %[lr0], s[66:67]\n"
        "global_load_dwordx4 v[56:59], %[la1], s[64:65] offset:0\n"
        "global_load_dwordx2 v[60:61], %[lr1], s[66:67]\n"
        "global_load_dwordx4 v[62:65], %[la2], s[64:65] offset:0\n"
        "global_load_dwordx2 v[66:67], %[lr2], s[66:67]\n"
        "global_load_dwordx4 v[68:71], %[la3], s[64:65] offset:0\n"
        "global_load_dwordx2 v[72:73], %[lr3], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [la0] "v"(la[0]), [lr0] "v"(lr[0]), [la1] "v"(la[1]), [lr1] "v"(lr[1]), [la2] "v"(la[2]), [lr2] "v"(lr[2]), [la3] "v"(la[3]), [lr3] "v"(lr[3]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "s64", "s65", "s66", "s67", "s68", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v122", "v123", "v124", "v125", "v126", "v127", "v128");

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
    // v[40..].
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
            "v_cndmask_b32 v40, %1, v40, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v41, %1, v41, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v42, %1, v42, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v43, %1, v43, vcc\n"
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };
    auto rescale = [&] {
      if (LAZY && __builtin_expect(rise == 0, 1)) return;
      const int lane = lane_again();
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v40, v41, v42\n"
                     "v_max_f32 %0, %0, v43" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v47\n"
                     "v_max_f32 v47, %0, %2\n"
                     "v_sub_f32 %1, %0, v47" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v48, %0, v48\n"
                     "v_mul_f32 v49, %0, v49" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v122, %0, v122\n"
            "v_mul_f32 v123, %0, v123\n"
            "v_mul_f32 v124, %0, v124\n"
            "v_mul_f32 v125, %0, v125\n"
            "v_mul_f32 v126, %0, v126\n"
            "v_mul_f32 v127, %0, v127\n"
            "v_mul_f32 v128, %0, v128\n"
            "v_mul_f32 v129, %0, v129\n"
            "v_mul_f32 v130, %0, v130\n"
            "v_mul_f32 v131, %0, v131\n"
            "v_mul_f32 v132, %0, v132\n"
            "v_mul_f32 v133, %0, v133\n"
            "v_mul_f32 v134, %0, v134\n"
            "v_mul_f32 v135, %0, v135\n"
            "v_mul_f32 v136, %0, v136\n"
            "v_mul_f32 v137, %0, v137\n"
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
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };

    for (; at <= (int)last_tile; at += 16) {
      aim();
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[74:77], %[ka0] offset:0\n"
        "ds_read_b128 v[78:81], %[ka1] offset:0\n"
        "ds_read_b128 v[82:85], %[ka0] offset:128\n"
        "ds_read_b128 v[86:89], %[ka1] offset:128\n"
        "ds_read_b128 v[90:93], %[kr0] offset:0\n"
        "ds_read_b128 v[94:97], %[kr1] offset:0\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[74:75], a[0:1], 0\n"
        "ds_write_b128 %[wa], v[50:53] offset:0\n"
        "ds_write_b64 %[wr], v[54:55] offset:0\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[76:77], a[2:3], v[40:43]\n"
        "ds_write_b128 %[wa], v[56:59] offset:1024\n"
        "ds_write_b64 %[wr], v[60:61] offset:128\n"
        "ds_read_b128 v[74:77], %[va0] offset:0\n"
        "s_waitcnt lgkmcnt(9)\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[78:79], a[4:5], v[40:43]\n"
        "ds_read_b128 v[98:101], %[va1] offset:0\n"
        "ds_read_b128 v[102:105], %[va2] offset:0\n"
        "ds_read_b128 v[106:109], %[va3] offset:0\n"
        "ds_write_b128 %[wa], v[62:65] offset:2048\n"
        "ds_write_b64 %[wr], v[66:67] offset:1024\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[80:81], a[6:7], v[40:43]\n"
        "ds_write_b128 %[wa], v[68:71] offset:3072\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b64 %[wr], v[72:73] offset:1152\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[82:83], a[8:9], v[40:43]\n"
        "v_readfirstlane_b32 s68, v46\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "s_lshl_b32 s68, s68, 6\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[84:85], a[10:11], v[40:43]\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[86:87], a[12:13], v[40:43]\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mov_b32 v45, %[pgo]\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[88:89], a[14:15], v[40:43]\n"
        "global_load_dword v46, v45, %[pages]\n"
        "global_load_dwordx4 v[50:53], %[la0], s[64:65] offset:0\n"
        "global_load_dwordx2 v[54:55], %[lr0], s[66:67]\n"
        "global_load_dwordx4 v[56:59], %[la1], s[64:65] offset:0\n"
        "s_waitcnt lgkmcnt(13)\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[90:91], a[16:17], v[40:43]\n"
        "global_load_dwordx2 v[60:61], %[lr1], s[66:67]\n"
        "global_load_dwordx4 v[62:65], %[la2], s[64:65] offset:0\n"
        "global_load_dwordx2 v[66:67], %[lr2], s[66:67]\n"
        "global_load_dwordx4 v[68:71], %[la3], s[64:65] offset:0\n"
        "global_load_dwordx2 v[72:73], %[lr3], s[66:67]\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[92:93], a[18:19], v[40:43]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "s_waitcnt lgkmcnt(12)\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[94:95], a[20:21], v[40:43]\n"
        "v_mfma_f32_16x16x16_f16 v[40:43], v[96:97], a[22:23], v[40:43]\n"
        "s_nop 6\n"
        "v_mul_f32 v40, %[scale], v40\n"
        "v_mul_f32 v41, %[scale], v41\n"
        "v_mul_f32 v42, %[scale], v42\n"
        "v_mul_f32 v43, %[scale], v43\n"
        "v_max3_f32 v44, v40, v41, v42\n"
        "v_max_f32 v44, v44, v43\n"
        "v_sub_f32 v44, v44, v47\n"
        "v_cmp_lt_f32 %[rise], %[slack], v44\n"
        : [va0] "+v"(va[0]), [va1] "+v"(va[1]), [bad] "+s"(bad), [rise] "=s"(rise) : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [kr0] "v"(kr[0]), [kr1] "v"(kr[1]), [wa] "v"(wa), [wr] "v"(wr), [va2] "v"(va[2]), [va3] "v"(va[3]), [maxid] "s"(maxid), [pos] "s"(pos), [vd] "s"(vd), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [la0] "v"(la[0]), [lr0] "v"(lr[0]), [la1] "v"(la[1]), [lr1] "v"(lr[1]), [la2] "v"(la[2]), [lr2] "v"(lr[2]), [la3] "v"(la[3]), [lr3] "v"(lr[3]), [scale] "s"(scale), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "s64", "s65", "s66", "s67", "s68", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      mask();
      rescale();
    asm volatile(
        "v_sub_f32 v40, v40, v47\n"
        "v_sub_f32 v41, v41, v47\n"
        "v_sub_f32 v42, v42, v47\n"
        "v_sub_f32 v43, v43, v47\n"
        "v_exp_f32 v40, v40\n"
        "v_exp_f32 v41, v41\n"
        "v_exp_f32 v42, v42\n"
        "v_exp_f32 v43, v43\n"
        "v_add_f32 v48, v48, v40\n"
        "v_cvt_f16_f32 v40, v40\n"
        "v_add_f32 v48, v48, v41\n"
        "v_cvt_f16_f32 v41, v41\n"
        "v_add_f32 v48, v48, v42\n"
        "v_cvt_f16_f32 v42, v42\n"
        "v_add_f32 v48, v48, v43\n"
        "v_cvt_f16_f32 v43, v43\n"
        "v_pack_b32_f16 v38, v40, v41\n"
        "v_pack_b32_f16 v39, v42, v43\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v30, v98, v74, %[lo]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v31, v106, v102, %[lo]\n"
        "v_perm_b32 v32, v98, v74, %[hi]\n"
        "v_perm_b32 v33, v106, v102, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[122:125], v[30:31], v[38:39], v[122:125]\n"
        "v_perm_b32 v34, v99, v75, %[lo]\n"
        "v_perm_b32 v35, v107, v103, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[126:129], v[32:33], v[38:39], v[126:129]\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_perm_b32 v36, v99, v75, %[hi]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_perm_b32 v37, v107, v103, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[130:133], v[34:35], v[38:39], v[130:133]\n"
        "v_dot2_f32_f16 v49, v38, %[ones], v49\n"
        "v_add_u32 %[wa], %[wd], %[wa]\n"
        "v_perm_b32 v30, v100, v76, %[lo]\n"
        "v_perm_b32 v31, v108, v104, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[134:137], v[36:37], v[38:39], v[134:137]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_perm_b32 v32, v100, v76, %[hi]\n"
        "v_perm_b32 v33, v108, v104, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[138:141], v[30:31], v[38:39], v[138:141]\n"
        "v_perm_b32 v34, v101, v77, %[lo]\n"
        "v_perm_b32 v35, v109, v105, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[142:145], v[32:33], v[38:39], v[142:145]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_perm_b32 v36, v101, v77, %[hi]\n"
        "v_perm_b32 v37, v109, v105, %[hi]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        "v_mfma_f32_16x16x16_f16 v[146:149], v[34:35], v[38:39], v[146:149]\n"
        "v_dot2_f32_f16 v49, v39, %[ones], v49\n"
        "v_add_u32 %[wr], %[wd], %[wr]\n"
        "v_mfma_f32_16x16x16_f16 v[150:153], v[36:37], v[38:39], v[150:153]\n"
        "v_add_u32 %[kr1], %[kd], %[kr1]\n"
        : [ka0] "+v"(ka[0]), [va2] "+v"(va[2]), [wa] "+v"(wa), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]), [va3] "+v"(va[3]), [wr] "+v"(wr), [kr1] "+v"(kr[1]) : [lo] "s"(lo), [hi] "s"(hi), [kd] "s"(kd), [vd] "s"(vd), [ones] "s"(ones), [wd] "s"(wd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      turn();
    }
    asm volatile("s_nop 7\ns_waitcnt vmcnt(0)" ::: "memory"); // O's last MFMAs; copies nobody waited for
  }

  // ---- The result ----
  const mlaf_decode_args to = a;
  const int lane = lane_again();
  __syncthreads(); // all have read the last tile: LDS is free
  bool broken = bad >= (u32)to.num_pages;
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
    asm volatile("v_mov_b32 %0, v47\nv_mov_b32 %1, v48\nv_mov_b32 %2, v49"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "v47", "v48", "v49", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          "v_mul_f32 %0, v122, %8\n"
          "v_mul_f32 %1, v126, %8\n"
          "v_mul_f32 %2, v130, %8\n"
          "v_mul_f32 %3, v134, %8\n"
          "v_mul_f32 %4, v138, %8\n"
          "v_mul_f32 %5, v142, %8\n"
          "v_mul_f32 %6, v146, %8\n"
          "v_mul_f32 %7, v150, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v47", "v48", "v49", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v123, %8\n"
          "v_mul_f32 %1, v127, %8\n"
          "v_mul_f32 %2, v131, %8\n"
          "v_mul_f32 %3, v135, %8\n"
          "v_mul_f32 %4, v139, %8\n"
          "v_mul_f32 %5, v143, %8\n"
          "v_mul_f32 %6, v147, %8\n"
          "v_mul_f32 %7, v151, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v47", "v48", "v49", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v124, %8\n"
          "v_mul_f32 %1, v128, %8\n"
          "v_mul_f32 %2, v132, %8\n"
          "v_mul_f32 %3, v136, %8\n"
          "v_mul_f32 %4, v140, %8\n"
          "v_mul_f32 %5, v144, %8\n"
          "v_mul_f32 %6, v148, %8\n"
          "v_mul_f32 %7, v152, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v47", "v48", "v49", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v125, %8\n"
          "v_mul_f32 %1, v129, %8\n"
          "v_mul_f32 %2, v133, %8\n"
          "v_mul_f32 %3, v137, %8\n"
          "v_mul_f32 %4, v141, %8\n"
          "v_mul_f32 %5, v145, %8\n"
          "v_mul_f32 %6, v149, %8\n"
          "v_mul_f32 %7, v153, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v47", "v48", "v49", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
  }
}

// ---- The kernel ----------------------------------------------------------------------------------------------------
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64),
                                     amdgpu_num_vgpr(30))) void
mlaf_mla_decode_mfma_lds_9e1e3d2d(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[12288];
  const int wave = uniform(thread_id() >> 6);
  piece x;
  if (only_piece(a, x)) work_on(a, x, lds, wave);
}
