// Generated from templates/mla_decode/mfma_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx90a
// symbol: mlaf_mla_decode_mfma_lds_a40a576f
// parameters:
//   blocks = 2
//   causal = 0
//   dtype = f16
//   heads = 96
//   load = dma
//   order = plain
//   page_size = 3
//   q_len = 1
//   rank = 512
//   rescale = lazy
//   rope = 64
//   schedule = splits
//   stages = 2
//   waves = 3
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_lds target=gfx90a blocks=2 causal=0 dtype=f16 heads=96 load=dma order=plain page_size=3 q_len=1 rank=512 rescale=lazy rope=64 schedule=splits stages=2 waves=3
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
#define MLAF_XCDS 1
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_decode/lib/args.h]
// [templates/mla_decode/lib/grid.h]
// [templates/mla_decode/lib/paging.h]

constexpr int H = 96, Q_LEN = 1, R = 512, P = 64, PAGE = 3;
constexpr bool CAUSAL = 0, LAZY = true;
constexpr int WAVES = 3, BLOCKS = 2, ROWS = 96, STEP = 16, NJ = 4;
constexpr u32 STAGES = 2, STAGE_BYTES = 18432;
constexpr u32 LATENT_BYTES = 16384, ROW_BYTES = 1024;
constexpr int UNITS = 3, LEAD = 1;

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

// The request's entries in the tables; false: no query token has a row here.
MLAF_DEV bool read_request(const mlaf_decode_args& a, int request, int first_row, piece& x) {
  const int q_begin = constants(a.qo_indptr)[request];
  x.n = smaller(constants(a.qo_indptr)[request + 1] - q_begin, Q_LEN);
  x.first_row = first_row;
  x.row = (i64)q_begin * H + first_row;
  x.rows = x.n * H - first_row;
  x.tokens = cached_tokens<PAGE>(a, request, x.first_page);
  return x.rows > 0;
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
MLAF_DEV int pair_row(int i) { return (i & 3) + 8 * (i >> 2); }
MLAF_DEV u32 latent_column(int i, int lane) { return 16 * ((lane >> 2) ^ 2 * (i & 3)) + 4 * (lane & 3); }
MLAF_DEV u32 rope_column(int i, int lane) {
  return 16 * ((((lane & 31) >> 2) ^ 2 * (i & 3)) & (P / 8 - 1)) + 4 * (lane & 3);
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
    const u32 magic = 2863311531u, page = PAGE;
    u32 row[UNITS], vcs = cs, vks = ks, tok, tokn;
    asm volatile("" : "+v"(vcs), "+v"(vks)); // in vector registers: an instruction may have one scalar operand only
    const u64 ckv = (u64)a.ckv;
    u32 la[UNITS];
    u64 kp[UNITS];
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const int i = unit_of(wave, u);
      row[u] = pair_row(i) + 4 * (lane >> 5);
      la[u] = latent_column(i, lane);
      kp[u] = (u64)a.kpe + rope_column(i, lane);
    }
    // Copies: places in LDS, of the stage to be filled next.
    u32 ml[UNITS], mr[UNITS];
    const bool spare = WAVES * (UNITS - 1) + wave >= 8; // this wave's last unit has no place in the ring
    auto step_copies = [&] {
#pragma unroll
      for (int u = 0; u < UNITS; u++)
        if (u < UNITS - 1 || !spare) {
          ml[u] += STAGE_BYTES;
          mr[u] += STAGE_BYTES;
        }
    };
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const int i = wave + WAVES * u;
      ml[u] = base + (i < 8 ? pair_row(i) * ROW_BYTES : 36864 + (i - 8) * ROW_BYTES);
      mr[u] = base + (i < 8 ? LATENT_BYTES + 256 * i : 41984 + 256 * (i - 8));
    }
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
        "v_add_u32 v57, %[tokn], %[row0]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "global_load_dword v58, v57, %[pages]\n"
        "v_add_u32 v57, %[tokn], %[row1]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "global_load_dword v59, v57, %[pages]\n"
        "v_add_u32 v57, %[tokn], %[row2]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "global_load_dword v60, v57, %[pages]\n"
        :  : [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [magic] "s"(magic), [pages] "s"(pages), [row1] "v"(row[1]), [row2] "v"(row[2]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    // Q: lane l fetches chunk l%8 of row l/8 (+ 8) of a block; LDS turns 64 columns at a time into the layout of B. Rows
    // that do not exist repeat the last that does; nobody stores what they compute.
    const u32 qw = base + 18432 + 2048 * wave + 128 * (lane >> 3) + 16 * ((lane & 7) ^ (lane >> 3));
    const u32 qr[2] = {base + 18432 + 2048 * wave + 128 * t + 16 * (q ^ (t & 7)),
                       base + 18432 + 2048 * wave + 128 * t + 16 * ((4 + q) ^ (t & 7))};
    auto q_row = [&](int b, int i) {
      const int at = smaller((wave * BLOCKS + b) * 16 + 8 * i + (lane >> 3), w.rows - 1);
      return (u64)a.q + (u64)(w.row + at) * (2 * (R + P));
    };
    {
      const u64 qa[2] = {q_row(0, 0) + 16 * (lane & 7), q_row(0, 1) + 16 * (lane & 7)};
    asm volatile(
        "global_load_dwordx4 v[100:103], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[104:107], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[108:111], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[112:115], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[116:119], %[qa0], off offset:256\n"
        "global_load_dwordx4 v[120:123], %[qa1], off offset:256\n"
        "global_load_dwordx4 v[124:127], %[qa0], off offset:384\n"
        "global_load_dwordx4 v[128:131], %[qa1], off offset:384\n"
        "global_load_dwordx4 v[132:135], %[qa0], off offset:512\n"
        "global_load_dwordx4 v[136:139], %[qa1], off offset:512\n"
        "global_load_dwordx4 v[140:143], %[qa0], off offset:640\n"
        "global_load_dwordx4 v[144:147], %[qa1], off offset:640\n"
        "global_load_dwordx4 v[148:151], %[qa0], off offset:768\n"
        "global_load_dwordx4 v[152:155], %[qa1], off offset:768\n"
        "global_load_dwordx4 v[156:159], %[qa0], off offset:896\n"
        "global_load_dwordx4 v[160:163], %[qa1], off offset:896\n"
        "global_load_dwordx4 v[164:167], %[qa0], off offset:1024\n"
        "global_load_dwordx4 v[168:171], %[qa1], off offset:1024\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    {
      const u64 qa[2] = {q_row(1, 0) + 16 * (lane & 7), q_row(1, 1) + 16 * (lane & 7)};
    asm volatile(
        "global_load_dwordx4 v[172:175], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[176:179], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[180:183], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[184:187], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[188:191], %[qa0], off offset:256\n"
        "global_load_dwordx4 v[192:195], %[qa1], off offset:256\n"
        "global_load_dwordx4 v[196:199], %[qa0], off offset:384\n"
        "global_load_dwordx4 v[200:203], %[qa1], off offset:384\n"
        "global_load_dwordx4 v[204:207], %[qa0], off offset:512\n"
        "global_load_dwordx4 v[208:211], %[qa1], off offset:512\n"
        "global_load_dwordx4 v[212:215], %[qa0], off offset:640\n"
        "global_load_dwordx4 v[216:219], %[qa1], off offset:640\n"
        "global_load_dwordx4 v[220:223], %[qa0], off offset:768\n"
        "global_load_dwordx4 v[224:227], %[qa1], off offset:768\n"
        "global_load_dwordx4 v[228:231], %[qa0], off offset:896\n"
        "global_load_dwordx4 v[232:235], %[qa1], off offset:896\n"
        "global_load_dwordx4 v[236:239], %[qa0], off offset:1024\n"
        "global_load_dwordx4 v[240:243], %[qa1], off offset:1024\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim();
    asm volatile(
        "v_max_u32 %[bad], %[bad], v58\n"
        "v_min_u32 v56, %[maxid], v58\n"
        "v_add_u32 v57, %[tok], %[row0]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v36, v57, %[magic]\n"
        "v_lshrrev_b32 v36, 1, v36\n"
        "v_mul_lo_u32 v36, v36, %[page]\n"
        "v_sub_u32 v57, v57, v36\n"
        "v_mul_lo_u32 v56, v56, %[page]\n"
        "v_add_u32 v56, v56, v57\n"
        "v_add_u32 v57, %[tokn], %[row0]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "global_load_dword v58, v57, %[pages]\n"
        "v_mad_u64_u32 v[36:37], vcc, v56, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[38:39], vcc, v56, %[vks], %[kp0]\n"
        "v_readlane_b32 s64, v36, 0\n"
        "v_readlane_b32 s65, v37, 0\n"
        "v_readlane_b32 s66, v36, 32\n"
        "v_readlane_b32 s67, v37, 32\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 1\n"
        "global_load_dword %[la0], s[64:65] offset:0 lds\n"
        "global_load_dword %[la0], s[64:65] offset:256 lds\n"
        "global_load_dword %[la0], s[64:65] offset:512 lds\n"
        "global_load_dword %[la0], s[64:65] offset:768 lds\n"
        "s_add_u32 m0, %[ml0], 4096\n"
        "s_nop 0\n"
        "global_load_dword %[la0], s[66:67] offset:0 lds\n"
        "global_load_dword %[la0], s[66:67] offset:256 lds\n"
        "global_load_dword %[la0], s[66:67] offset:512 lds\n"
        "global_load_dword %[la0], s[66:67] offset:768 lds\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_dword v[38:39], off lds\n"
        "v_max_u32 %[bad], %[bad], v59\n"
        "v_min_u32 v56, %[maxid], v59\n"
        "v_add_u32 v57, %[tok], %[row1]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v36, v57, %[magic]\n"
        "v_lshrrev_b32 v36, 1, v36\n"
        "v_mul_lo_u32 v36, v36, %[page]\n"
        "v_sub_u32 v57, v57, v36\n"
        "v_mul_lo_u32 v56, v56, %[page]\n"
        "v_add_u32 v56, v56, v57\n"
        "v_add_u32 v57, %[tokn], %[row1]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "global_load_dword v59, v57, %[pages]\n"
        "v_mad_u64_u32 v[36:37], vcc, v56, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[38:39], vcc, v56, %[vks], %[kp1]\n"
        "v_readlane_b32 s64, v36, 0\n"
        "v_readlane_b32 s65, v37, 0\n"
        "v_readlane_b32 s66, v36, 32\n"
        "v_readlane_b32 s67, v37, 32\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 1\n"
        "global_load_dword %[la1], s[64:65] offset:0 lds\n"
        "global_load_dword %[la1], s[64:65] offset:256 lds\n"
        "global_load_dword %[la1], s[64:65] offset:512 lds\n"
        "global_load_dword %[la1], s[64:65] offset:768 lds\n"
        "s_add_u32 m0, %[ml1], 4096\n"
        "s_nop 0\n"
        "global_load_dword %[la1], s[66:67] offset:0 lds\n"
        "global_load_dword %[la1], s[66:67] offset:256 lds\n"
        "global_load_dword %[la1], s[66:67] offset:512 lds\n"
        "global_load_dword %[la1], s[66:67] offset:768 lds\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_dword v[38:39], off lds\n"
        "v_max_u32 %[bad], %[bad], v60\n"
        "v_min_u32 v56, %[maxid], v60\n"
        "v_add_u32 v57, %[tok], %[row2]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v36, v57, %[magic]\n"
        "v_lshrrev_b32 v36, 1, v36\n"
        "v_mul_lo_u32 v36, v36, %[page]\n"
        "v_sub_u32 v57, v57, v36\n"
        "v_mul_lo_u32 v56, v56, %[page]\n"
        "v_add_u32 v56, v56, v57\n"
        "v_add_u32 v57, %[tokn], %[row2]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "global_load_dword v60, v57, %[pages]\n"
        "v_mad_u64_u32 v[36:37], vcc, v56, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[38:39], vcc, v56, %[vks], %[kp2]\n"
        "v_readlane_b32 s64, v36, 0\n"
        "v_readlane_b32 s65, v37, 0\n"
        "v_readlane_b32 s66, v36, 32\n"
        "v_readlane_b32 s67, v37, 32\n"
        "s_mov_b32 m0, %[ml2]\n"
        "s_nop 1\n"
        "global_load_dword %[la2], s[64:65] offset:0 lds\n"
        "global_load_dword %[la2], s[64:65] offset:256 lds\n"
        "global_load_dword %[la2], s[64:65] offset:512 lds\n"
        "global_load_dword %[la2], s[64:65] offset:768 lds\n"
        "s_add_u32 m0, %[ml2], 4096\n"
        "s_nop 0\n"
        "global_load_dword %[la2], s[66:67] offset:0 lds\n"
        "global_load_dword %[la2], s[66:67] offset:256 lds\n"
        "global_load_dword %[la2], s[66:67] offset:512 lds\n"
        "global_load_dword %[la2], s[66:67] offset:768 lds\n"
        "s_mov_b32 m0, %[mr2]\n"
        "s_nop 0\n"
        "global_load_dword v[38:39], off lds\n"
        : [bad] "+v"(bad) : [maxid] "s"(maxid), [tok] "s"(tok), [row0] "v"(row[0]), [last] "s"(last), [magic] "s"(magic), [page] "s"(page), [tokn] "s"(tokn), [pages] "s"(pages), [vcs] "v"(vcs), [ckv] "s"(ckv), [vks] "v"(vks), [kp0] "v"(kp[0]), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [mr0] "s"(mr[0]), [row1] "v"(row[1]), [kp1] "v"(kp[1]), [ml1] "s"(ml[1]), [la1] "v"(la[1]), [mr1] "s"(mr[1]), [row2] "v"(row[2]), [kp2] "v"(kp[2]), [ml2] "s"(ml[2]), [la2] "v"(la[2]), [mr2] "s"(mr[2]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "s64", "s65", "s66", "s67", "v36", "v37", "v38", "v39", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile(
        "ds_write_b128 %[qw], v[100:103] offset:0\n"
        "ds_write_b128 %[qw], v[104:107] offset:1024\n"
        "ds_read_b128 a[0:3], %[qr0]\n"
        "ds_read_b128 a[4:7], %[qr1]\n"
        "ds_write_b128 %[qw], v[108:111] offset:0\n"
        "ds_write_b128 %[qw], v[112:115] offset:1024\n"
        "ds_read_b128 a[8:11], %[qr0]\n"
        "ds_read_b128 a[12:15], %[qr1]\n"
        "ds_write_b128 %[qw], v[116:119] offset:0\n"
        "ds_write_b128 %[qw], v[120:123] offset:1024\n"
        "ds_read_b128 a[16:19], %[qr0]\n"
        "ds_read_b128 a[20:23], %[qr1]\n"
        "ds_write_b128 %[qw], v[124:127] offset:0\n"
        "ds_write_b128 %[qw], v[128:131] offset:1024\n"
        "ds_read_b128 a[24:27], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[28:31], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[132:135] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[136:139] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[32:35], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[36:39], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[140:143] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[144:147] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[40:43], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[44:47], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[148:151] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[152:155] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[48:51], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[52:55], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[156:159] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[160:163] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[56:59], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[60:63], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[164:167] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[168:171] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[64:67], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[68:71], %[qr1]\n"
        "s_waitcnt lgkmcnt(0)\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile(
        "ds_write_b128 %[qw], v[172:175] offset:0\n"
        "ds_write_b128 %[qw], v[176:179] offset:1024\n"
        "ds_read_b128 a[72:75], %[qr0]\n"
        "ds_read_b128 a[76:79], %[qr1]\n"
        "ds_write_b128 %[qw], v[180:183] offset:0\n"
        "ds_write_b128 %[qw], v[184:187] offset:1024\n"
        "ds_read_b128 a[80:83], %[qr0]\n"
        "ds_read_b128 a[84:87], %[qr1]\n"
        "ds_write_b128 %[qw], v[188:191] offset:0\n"
        "ds_write_b128 %[qw], v[192:195] offset:1024\n"
        "ds_read_b128 a[88:91], %[qr0]\n"
        "ds_read_b128 a[92:95], %[qr1]\n"
        "ds_write_b128 %[qw], v[196:199] offset:0\n"
        "ds_write_b128 %[qw], v[200:203] offset:1024\n"
        "ds_read_b128 a[96:99], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[100:103], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[204:207] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[208:211] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[104:107], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[108:111], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[212:215] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[216:219] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[112:115], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[116:119], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[220:223] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[224:227] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[120:123], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[124:127], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[228:231] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[232:235] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[128:131], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[132:135], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[236:239] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[240:243] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[136:139], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[140:143], %[qr1]\n"
        "s_waitcnt lgkmcnt(0)\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    // m, l, n, O
    asm volatile(
      "v_mov_b32 v61, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v63, 0\n"
      "v_mov_b32 v65, 0\n"
        "v_mov_b32 v100, 0\n"
        "v_mov_b32 v101, 0\n"
        "v_mov_b32 v102, 0\n"
        "v_mov_b32 v103, 0\n"
        "v_mov_b32 v104, 0\n"
        "v_mov_b32 v105, 0\n"
        "v_mov_b32 v106, 0\n"
        "v_mov_b32 v107, 0\n"
        "v_mov_b32 v108, 0\n"
        "v_mov_b32 v109, 0\n"
        "v_mov_b32 v110, 0\n"
        "v_mov_b32 v111, 0\n"
        "v_mov_b32 v112, 0\n"
        "v_mov_b32 v113, 0\n"
        "v_mov_b32 v114, 0\n"
        "v_mov_b32 v115, 0\n"
        "v_mov_b32 v116, 0\n"
        "v_mov_b32 v117, 0\n"
        "v_mov_b32 v118, 0\n"
        "v_mov_b32 v119, 0\n"
        "v_mov_b32 v120, 0\n"
        "v_mov_b32 v121, 0\n"
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
      "v_mov_b32 v62, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v64, 0\n"
      "v_mov_b32 v66, 0\n"
        "v_mov_b32 v228, 0\n"
        "v_mov_b32 v229, 0\n"
        "v_mov_b32 v230, 0\n"
        "v_mov_b32 v231, 0\n"
        "v_mov_b32 v232, 0\n"
        "v_mov_b32 v233, 0\n"
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
        "v_mov_b32 v254, 0\n"
        "v_mov_b32 v255, 0\n"
        "v_accvgpr_write_b32 a144, 0\n"
        "v_accvgpr_write_b32 a145, 0\n"
        "v_accvgpr_write_b32 a146, 0\n"
        "v_accvgpr_write_b32 a147, 0\n"
        "v_accvgpr_write_b32 a148, 0\n"
        "v_accvgpr_write_b32 a149, 0\n"
        "v_accvgpr_write_b32 a150, 0\n"
        "v_accvgpr_write_b32 a151, 0\n"
        "v_accvgpr_write_b32 a152, 0\n"
        "v_accvgpr_write_b32 a153, 0\n"
        "v_accvgpr_write_b32 a154, 0\n"
        "v_accvgpr_write_b32 a155, 0\n"
        "v_accvgpr_write_b32 a156, 0\n"
        "v_accvgpr_write_b32 a157, 0\n"
        "v_accvgpr_write_b32 a158, 0\n"
        "v_accvgpr_write_b32 a159, 0\n"
        "v_accvgpr_write_b32 a160, 0\n"
        "v_accvgpr_write_b32 a161, 0\n"
        "v_accvgpr_write_b32 a162, 0\n"
        "v_accvgpr_write_b32 a163, 0\n"
        "v_accvgpr_write_b32 a164, 0\n"
        "v_accvgpr_write_b32 a165, 0\n"
        "v_accvgpr_write_b32 a166, 0\n"
        "v_accvgpr_write_b32 a167, 0\n"
        "v_accvgpr_write_b32 a168, 0\n"
        "v_accvgpr_write_b32 a169, 0\n"
        "v_accvgpr_write_b32 a170, 0\n"
        "v_accvgpr_write_b32 a171, 0\n"
        "v_accvgpr_write_b32 a172, 0\n"
        "v_accvgpr_write_b32 a173, 0\n"
        "v_accvgpr_write_b32 a174, 0\n"
        "v_accvgpr_write_b32 a175, 0\n"
        "v_accvgpr_write_b32 a176, 0\n"
        "v_accvgpr_write_b32 a177, 0\n"
        "v_accvgpr_write_b32 a178, 0\n"
        "v_accvgpr_write_b32 a179, 0\n"
        "v_accvgpr_write_b32 a180, 0\n"
        "v_accvgpr_write_b32 a181, 0\n"
        "v_accvgpr_write_b32 a182, 0\n"
        "v_accvgpr_write_b32 a183, 0\n"
        "v_accvgpr_write_b32 a184, 0\n"
        "v_accvgpr_write_b32 a185, 0\n"
        "v_accvgpr_write_b32 a186, 0\n"
        "v_accvgpr_write_b32 a187, 0\n"
        "v_accvgpr_write_b32 a188, 0\n"
        "v_accvgpr_write_b32 a189, 0\n"
        "v_accvgpr_write_b32 a190, 0\n"
        "v_accvgpr_write_b32 a191, 0\n"
        "v_accvgpr_write_b32 a192, 0\n"
        "v_accvgpr_write_b32 a193, 0\n"
        "v_accvgpr_write_b32 a194, 0\n"
        "v_accvgpr_write_b32 a195, 0\n"
        "v_accvgpr_write_b32 a196, 0\n"
        "v_accvgpr_write_b32 a197, 0\n"
        "v_accvgpr_write_b32 a198, 0\n"
        "v_accvgpr_write_b32 a199, 0\n"
        "v_accvgpr_write_b32 a200, 0\n"
        "v_accvgpr_write_b32 a201, 0\n"
        "v_accvgpr_write_b32 a202, 0\n"
        "v_accvgpr_write_b32 a203, 0\n"
        "v_accvgpr_write_b32 a204, 0\n"
        "v_accvgpr_write_b32 a205, 0\n"
        "v_accvgpr_write_b32 a206, 0\n"
        "v_accvgpr_write_b32 a207, 0\n"
        "v_accvgpr_write_b32 a208, 0\n"
        "v_accvgpr_write_b32 a209, 0\n"
        "v_accvgpr_write_b32 a210, 0\n"
        "v_accvgpr_write_b32 a211, 0\n"
        "v_accvgpr_write_b32 a212, 0\n"
        "v_accvgpr_write_b32 a213, 0\n"
        "v_accvgpr_write_b32 a214, 0\n"
        "v_accvgpr_write_b32 a215, 0\n"
        "v_accvgpr_write_b32 a216, 0\n"
        "v_accvgpr_write_b32 a217, 0\n"
        "v_accvgpr_write_b32 a218, 0\n"
        "v_accvgpr_write_b32 a219, 0\n"
        "v_accvgpr_write_b32 a220, 0\n"
        "v_accvgpr_write_b32 a221, 0\n"
        "v_accvgpr_write_b32 a222, 0\n"
        "v_accvgpr_write_b32 a223, 0\n"
        "v_accvgpr_write_b32 a224, 0\n"
        "v_accvgpr_write_b32 a225, 0\n"
        "v_accvgpr_write_b32 a226, 0\n"
        "v_accvgpr_write_b32 a227, 0\n"
        "v_accvgpr_write_b32 a228, 0\n"
        "v_accvgpr_write_b32 a229, 0\n"
        "v_accvgpr_write_b32 a230, 0\n"
        "v_accvgpr_write_b32 a231, 0\n"
        "v_accvgpr_write_b32 a232, 0\n"
        "v_accvgpr_write_b32 a233, 0\n"
        "v_accvgpr_write_b32 a234, 0\n"
        "v_accvgpr_write_b32 a235, 0\n"
        "v_accvgpr_write_b32 a236, 0\n"
        "v_accvgpr_write_b32 a237, 0\n"
        "v_accvgpr_write_b32 a238, 0\n"
        "v_accvgpr_write_b32 a239, 0\n"
        "v_accvgpr_write_b32 a240, 0\n"
        "v_accvgpr_write_b32 a241, 0\n"
        "v_accvgpr_write_b32 a242, 0\n"
        "v_accvgpr_write_b32 a243, 0\n"
      // The highest registers: the kernel's allocation covers all below.
      ::: "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "v255", "a243");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    step_copies();

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
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };
    auto rescale = [&] {
      if (LAZY && __builtin_expect(rise == 0, 1)) return;
      const int lane = lane_again();
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v48, v49, v50\n"
                     "v_max_f32 %0, %0, v51" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v61\n"
                     "v_max_f32 v61, %0, %2\n"
                     "v_sub_f32 %1, %0, v61" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v63, %0, v63\n"
                     "v_mul_f32 v65, %0, v65" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\ns_nop 2\n" // O's last MFMAs
            "v_mul_f32 v100, %0, v100\n"
            "v_mul_f32 v101, %0, v101\n"
            "v_mul_f32 v102, %0, v102\n"
            "v_mul_f32 v103, %0, v103\n"
            "v_mul_f32 v104, %0, v104\n"
            "v_mul_f32 v105, %0, v105\n"
            "v_mul_f32 v106, %0, v106\n"
            "v_mul_f32 v107, %0, v107\n"
            "v_mul_f32 v108, %0, v108\n"
            "v_mul_f32 v109, %0, v109\n"
            "v_mul_f32 v110, %0, v110\n"
            "v_mul_f32 v111, %0, v111\n"
            "v_mul_f32 v112, %0, v112\n"
            "v_mul_f32 v113, %0, v113\n"
            "v_mul_f32 v114, %0, v114\n"
            "v_mul_f32 v115, %0, v115\n"
            "v_mul_f32 v116, %0, v116\n"
            "v_mul_f32 v117, %0, v117\n"
            "v_mul_f32 v118, %0, v118\n"
            "v_mul_f32 v119, %0, v119\n"
            "v_mul_f32 v120, %0, v120\n"
            "v_mul_f32 v121, %0, v121\n"
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
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v52, v53, v54\n"
                     "v_max_f32 %0, %0, v55" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v62\n"
                     "v_max_f32 v62, %0, %2\n"
                     "v_sub_f32 %1, %0, v62" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v64, %0, v64\n"
                     "v_mul_f32 v66, %0, v66" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\ns_nop 2\n" // O's last MFMAs
            "v_mul_f32 v228, %0, v228\n"
            "v_mul_f32 v229, %0, v229\n"
            "v_mul_f32 v230, %0, v230\n"
            "v_mul_f32 v231, %0, v231\n"
            "v_mul_f32 v232, %0, v232\n"
            "v_mul_f32 v233, %0, v233\n"
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
            "v_mul_f32 v254, %0, v254\n"
            "v_mul_f32 v255, %0, v255\n"
            "v_accvgpr_read_b32 v56, a144\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a144, v56\n"
            "v_accvgpr_read_b32 v56, a145\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a145, v56\n"
            "v_accvgpr_read_b32 v56, a146\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a146, v56\n"
            "v_accvgpr_read_b32 v56, a147\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a147, v56\n"
            "v_accvgpr_read_b32 v56, a148\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a148, v56\n"
            "v_accvgpr_read_b32 v56, a149\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a149, v56\n"
            "v_accvgpr_read_b32 v56, a150\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a150, v56\n"
            "v_accvgpr_read_b32 v56, a151\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a151, v56\n"
            "v_accvgpr_read_b32 v56, a152\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a152, v56\n"
            "v_accvgpr_read_b32 v56, a153\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a153, v56\n"
            "v_accvgpr_read_b32 v56, a154\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a154, v56\n"
            "v_accvgpr_read_b32 v56, a155\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a155, v56\n"
            "v_accvgpr_read_b32 v56, a156\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a156, v56\n"
            "v_accvgpr_read_b32 v56, a157\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a157, v56\n"
            "v_accvgpr_read_b32 v56, a158\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a158, v56\n"
            "v_accvgpr_read_b32 v56, a159\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a159, v56\n"
            "v_accvgpr_read_b32 v56, a160\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a160, v56\n"
            "v_accvgpr_read_b32 v56, a161\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a161, v56\n"
            "v_accvgpr_read_b32 v56, a162\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a162, v56\n"
            "v_accvgpr_read_b32 v56, a163\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a163, v56\n"
            "v_accvgpr_read_b32 v56, a164\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a164, v56\n"
            "v_accvgpr_read_b32 v56, a165\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a165, v56\n"
            "v_accvgpr_read_b32 v56, a166\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a166, v56\n"
            "v_accvgpr_read_b32 v56, a167\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a167, v56\n"
            "v_accvgpr_read_b32 v56, a168\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a168, v56\n"
            "v_accvgpr_read_b32 v56, a169\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a169, v56\n"
            "v_accvgpr_read_b32 v56, a170\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a170, v56\n"
            "v_accvgpr_read_b32 v56, a171\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a171, v56\n"
            "v_accvgpr_read_b32 v56, a172\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a172, v56\n"
            "v_accvgpr_read_b32 v56, a173\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a173, v56\n"
            "v_accvgpr_read_b32 v56, a174\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a174, v56\n"
            "v_accvgpr_read_b32 v56, a175\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a175, v56\n"
            "v_accvgpr_read_b32 v56, a176\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a176, v56\n"
            "v_accvgpr_read_b32 v56, a177\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a177, v56\n"
            "v_accvgpr_read_b32 v56, a178\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a178, v56\n"
            "v_accvgpr_read_b32 v56, a179\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a179, v56\n"
            "v_accvgpr_read_b32 v56, a180\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a180, v56\n"
            "v_accvgpr_read_b32 v56, a181\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a181, v56\n"
            "v_accvgpr_read_b32 v56, a182\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a182, v56\n"
            "v_accvgpr_read_b32 v56, a183\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a183, v56\n"
            "v_accvgpr_read_b32 v56, a184\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a184, v56\n"
            "v_accvgpr_read_b32 v56, a185\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a185, v56\n"
            "v_accvgpr_read_b32 v56, a186\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a186, v56\n"
            "v_accvgpr_read_b32 v56, a187\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a187, v56\n"
            "v_accvgpr_read_b32 v56, a188\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a188, v56\n"
            "v_accvgpr_read_b32 v56, a189\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a189, v56\n"
            "v_accvgpr_read_b32 v56, a190\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a190, v56\n"
            "v_accvgpr_read_b32 v56, a191\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a191, v56\n"
            "v_accvgpr_read_b32 v56, a192\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a192, v56\n"
            "v_accvgpr_read_b32 v56, a193\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a193, v56\n"
            "v_accvgpr_read_b32 v56, a194\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a194, v56\n"
            "v_accvgpr_read_b32 v56, a195\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a195, v56\n"
            "v_accvgpr_read_b32 v56, a196\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a196, v56\n"
            "v_accvgpr_read_b32 v56, a197\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a197, v56\n"
            "v_accvgpr_read_b32 v56, a198\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a198, v56\n"
            "v_accvgpr_read_b32 v56, a199\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a199, v56\n"
            "v_accvgpr_read_b32 v56, a200\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a200, v56\n"
            "v_accvgpr_read_b32 v56, a201\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a201, v56\n"
            "v_accvgpr_read_b32 v56, a202\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a202, v56\n"
            "v_accvgpr_read_b32 v56, a203\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a203, v56\n"
            "v_accvgpr_read_b32 v56, a204\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a204, v56\n"
            "v_accvgpr_read_b32 v56, a205\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a205, v56\n"
            "v_accvgpr_read_b32 v56, a206\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a206, v56\n"
            "v_accvgpr_read_b32 v56, a207\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a207, v56\n"
            "v_accvgpr_read_b32 v56, a208\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a208, v56\n"
            "v_accvgpr_read_b32 v56, a209\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a209, v56\n"
            "v_accvgpr_read_b32 v56, a210\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a210, v56\n"
            "v_accvgpr_read_b32 v56, a211\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a211, v56\n"
            "v_accvgpr_read_b32 v56, a212\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a212, v56\n"
            "v_accvgpr_read_b32 v56, a213\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a213, v56\n"
            "v_accvgpr_read_b32 v56, a214\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a214, v56\n"
            "v_accvgpr_read_b32 v56, a215\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a215, v56\n"
            "v_accvgpr_read_b32 v56, a216\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a216, v56\n"
            "v_accvgpr_read_b32 v56, a217\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a217, v56\n"
            "v_accvgpr_read_b32 v56, a218\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a218, v56\n"
            "v_accvgpr_read_b32 v56, a219\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a219, v56\n"
            "v_accvgpr_read_b32 v56, a220\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a220, v56\n"
            "v_accvgpr_read_b32 v56, a221\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a221, v56\n"
            "v_accvgpr_read_b32 v56, a222\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a222, v56\n"
            "v_accvgpr_read_b32 v56, a223\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a223, v56\n"
            "v_accvgpr_read_b32 v56, a224\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a224, v56\n"
            "v_accvgpr_read_b32 v56, a225\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a225, v56\n"
            "v_accvgpr_read_b32 v56, a226\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a226, v56\n"
            "v_accvgpr_read_b32 v56, a227\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a227, v56\n"
            "v_accvgpr_read_b32 v56, a228\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a228, v56\n"
            "v_accvgpr_read_b32 v56, a229\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a229, v56\n"
            "v_accvgpr_read_b32 v56, a230\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a230, v56\n"
            "v_accvgpr_read_b32 v56, a231\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a231, v56\n"
            "v_accvgpr_read_b32 v56, a232\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a232, v56\n"
            "v_accvgpr_read_b32 v56, a233\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a233, v56\n"
            "v_accvgpr_read_b32 v56, a234\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a234, v56\n"
            "v_accvgpr_read_b32 v56, a235\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a235, v56\n"
            "v_accvgpr_read_b32 v56, a236\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a236, v56\n"
            "v_accvgpr_read_b32 v56, a237\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a237, v56\n"
            "v_accvgpr_read_b32 v56, a238\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a238, v56\n"
            "v_accvgpr_read_b32 v56, a239\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a239, v56\n"
            "v_accvgpr_read_b32 v56, a240\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a240, v56\n"
            "v_accvgpr_read_b32 v56, a241\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a241, v56\n"
            "v_accvgpr_read_b32 v56, a242\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a242, v56\n"
            "v_accvgpr_read_b32 v56, a243\n"
            "v_mul_f32 v56, %0, v56\n"
            "v_accvgpr_write_b32 a243, v56\n"
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };

    for (; at <= (int)last_tile; at += 16) {
      aim();
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[68:71], %[ka0] offset:0\n"
        "ds_read_b128 v[72:75], %[ka1] offset:0\n"
        "ds_read_b128 v[76:79], %[ka0] offset:128\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[68:69], a[0:1], 0\n"
        "ds_read_b128 v[80:83], %[ka1] offset:128\n"
        "v_max_u32 %[bad], %[bad], v58\n"
        "v_min_u32 v56, %[maxid], v58\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[68:69], a[72:73], 0\n"
        "v_add_u32 v57, %[tok], %[row0]\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[70:71], a[2:3], v[48:51]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v36, v57, %[magic]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[70:71], a[74:75], v[52:55]\n"
        "v_lshrrev_b32 v36, 1, v36\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[72:73], a[4:5], v[48:51]\n"
        "ds_read_b128 v[68:71], %[ka0] offset:256\n"
        "v_mul_lo_u32 v36, v36, %[page]\n"
        "v_sub_u32 v57, v57, v36\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[72:73], a[76:77], v[52:55]\n"
        "v_mul_lo_u32 v56, v56, %[page]\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[74:75], a[6:7], v[48:51]\n"
        "v_add_u32 v56, v56, v57\n"
        "v_add_u32 v57, %[tokn], %[row0]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[74:75], a[78:79], v[52:55]\n"
        "v_min_u32 v57, %[last], v57\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[76:77], a[8:9], v[48:51]\n"
        "ds_read_b128 v[72:75], %[ka1] offset:256\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[76:77], a[80:81], v[52:55]\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[78:79], a[10:11], v[48:51]\n"
        "global_load_dword v58, v57, %[pages]\n"
        "v_mad_u64_u32 v[36:37], vcc, v56, %[vcs], %[ckv]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[78:79], a[82:83], v[52:55]\n"
        "v_mad_u64_u32 v[38:39], vcc, v56, %[vks], %[kp0]\n"
        "v_readlane_b32 s64, v36, 0\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[80:81], a[12:13], v[48:51]\n"
        "ds_read_b128 v[76:79], %[ka0] offset:384\n"
        "v_readlane_b32 s65, v37, 0\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[80:81], a[84:85], v[52:55]\n"
        "v_readlane_b32 s66, v36, 32\n"
        "v_readlane_b32 s67, v37, 32\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[82:83], a[14:15], v[48:51]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[82:83], a[86:87], v[52:55]\n"
        "global_load_dword %[la0], s[64:65] offset:0 lds\n"
        "global_load_dword %[la0], s[64:65] offset:256 lds\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[68:69], a[16:17], v[48:51]\n"
        "ds_read_b128 v[80:83], %[ka1] offset:384\n"
        "global_load_dword %[la0], s[64:65] offset:512 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[68:69], a[88:89], v[52:55]\n"
        "global_load_dword %[la0], s[64:65] offset:768 lds\n"
        "s_add_u32 m0, %[ml0], 4096\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[70:71], a[18:19], v[48:51]\n"
        "global_load_dword %[la0], s[66:67] offset:0 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[70:71], a[90:91], v[52:55]\n"
        "global_load_dword %[la0], s[66:67] offset:256 lds\n"
        "global_load_dword %[la0], s[66:67] offset:512 lds\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[72:73], a[20:21], v[48:51]\n"
        "ds_read_b128 v[68:71], %[ka0] offset:512\n"
        "global_load_dword %[la0], s[66:67] offset:768 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[72:73], a[92:93], v[52:55]\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_dword v[38:39], off lds\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[74:75], a[22:23], v[48:51]\n"
        "v_max_u32 %[bad], %[bad], v59\n"
        "v_min_u32 v56, %[maxid], v59\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[74:75], a[94:95], v[52:55]\n"
        "v_add_u32 v57, %[tok], %[row1]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[76:77], a[24:25], v[48:51]\n"
        "ds_read_b128 v[72:75], %[ka1] offset:512\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v36, v57, %[magic]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[76:77], a[96:97], v[52:55]\n"
        "v_lshrrev_b32 v36, 1, v36\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[78:79], a[26:27], v[48:51]\n"
        "v_mul_lo_u32 v36, v36, %[page]\n"
        "v_sub_u32 v57, v57, v36\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[78:79], a[98:99], v[52:55]\n"
        "v_mul_lo_u32 v56, v56, %[page]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[80:81], a[28:29], v[48:51]\n"
        "ds_read_b128 v[76:79], %[ka0] offset:640\n"
        "v_add_u32 v56, v56, v57\n"
        "v_add_u32 v57, %[tokn], %[row1]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[80:81], a[100:101], v[52:55]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[82:83], a[30:31], v[48:51]\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[82:83], a[102:103], v[52:55]\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[68:69], a[32:33], v[48:51]\n"
        "ds_read_b128 v[80:83], %[ka1] offset:640\n"
        "global_load_dword v59, v57, %[pages]\n"
        "v_mad_u64_u32 v[36:37], vcc, v56, %[vcs], %[ckv]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[68:69], a[104:105], v[52:55]\n"
        "v_mad_u64_u32 v[38:39], vcc, v56, %[vks], %[kp1]\n"
        "v_readlane_b32 s64, v36, 0\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[70:71], a[34:35], v[48:51]\n"
        "v_readlane_b32 s65, v37, 0\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[70:71], a[106:107], v[52:55]\n"
        "v_readlane_b32 s66, v36, 32\n"
        "v_readlane_b32 s67, v37, 32\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[72:73], a[36:37], v[48:51]\n"
        "ds_read_b128 v[68:71], %[ka0] offset:768\n"
        "s_mov_b32 m0, %[ml1]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[72:73], a[108:109], v[52:55]\n"
        "global_load_dword %[la1], s[64:65] offset:0 lds\n"
        "global_load_dword %[la1], s[64:65] offset:256 lds\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[74:75], a[38:39], v[48:51]\n"
        "global_load_dword %[la1], s[64:65] offset:512 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[74:75], a[110:111], v[52:55]\n"
        "global_load_dword %[la1], s[64:65] offset:768 lds\n"
        "s_add_u32 m0, %[ml1], 4096\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[76:77], a[40:41], v[48:51]\n"
        "ds_read_b128 v[72:75], %[ka1] offset:768\n"
        "global_load_dword %[la1], s[66:67] offset:0 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[76:77], a[112:113], v[52:55]\n"
        "global_load_dword %[la1], s[66:67] offset:256 lds\n"
        "global_load_dword %[la1], s[66:67] offset:512 lds\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[78:79], a[42:43], v[48:51]\n"
        "global_load_dword %[la1], s[66:67] offset:768 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[78:79], a[114:115], v[52:55]\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_dword v[38:39], off lds\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[80:81], a[44:45], v[48:51]\n"
        "ds_read_b128 v[76:79], %[ka0] offset:896\n"
        "v_max_u32 %[bad], %[bad], v60\n"
        "v_min_u32 v56, %[maxid], v60\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[80:81], a[116:117], v[52:55]\n"
        "v_add_u32 v57, %[tok], %[row2]\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[82:83], a[46:47], v[48:51]\n"
        "v_min_u32 v57, %[last], v57\n"
        "v_mul_hi_u32 v36, v57, %[magic]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[82:83], a[118:119], v[52:55]\n"
        "v_lshrrev_b32 v36, 1, v36\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[68:69], a[48:49], v[48:51]\n"
        "ds_read_b128 v[80:83], %[ka1] offset:896\n"
        "v_mul_lo_u32 v36, v36, %[page]\n"
        "v_sub_u32 v57, v57, v36\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[68:69], a[120:121], v[52:55]\n"
        "v_mul_lo_u32 v56, v56, %[page]\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[70:71], a[50:51], v[48:51]\n"
        "v_add_u32 v56, v56, v57\n"
        "v_add_u32 v57, %[tokn], %[row2]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[70:71], a[122:123], v[52:55]\n"
        "v_min_u32 v57, %[last], v57\n"
        "ds_read_b128 v[84:87], %[va0] offset:0\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[72:73], a[52:53], v[48:51]\n"
        "ds_read_b128 v[68:71], %[kr0] offset:0\n"
        "ds_read_b128 v[88:91], %[va1] offset:0\n"
        "ds_read_b128 v[92:95], %[va2] offset:0\n"
        "ds_read_b128 v[96:99], %[va3] offset:0\n"
        "v_mul_hi_u32 v57, v57, %[magic]\n"
        "v_lshrrev_b32 v57, 1, v57\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[72:73], a[124:125], v[52:55]\n"
        "v_lshlrev_b32 v57, 2, v57\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[74:75], a[54:55], v[48:51]\n"
        "global_load_dword v60, v57, %[pages]\n"
        "v_mad_u64_u32 v[36:37], vcc, v56, %[vcs], %[ckv]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[74:75], a[126:127], v[52:55]\n"
        "v_mad_u64_u32 v[38:39], vcc, v56, %[vks], %[kp2]\n"
        "v_readlane_b32 s64, v36, 0\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[76:77], a[56:57], v[48:51]\n"
        "ds_read_b128 v[72:75], %[kr1] offset:0\n"
        "v_readlane_b32 s65, v37, 0\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[76:77], a[128:129], v[52:55]\n"
        "v_readlane_b32 s66, v36, 32\n"
        "v_readlane_b32 s67, v37, 32\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[78:79], a[58:59], v[48:51]\n"
        "s_mov_b32 m0, %[ml2]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[78:79], a[130:131], v[52:55]\n"
        "global_load_dword %[la2], s[64:65] offset:0 lds\n"
        "global_load_dword %[la2], s[64:65] offset:256 lds\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[80:81], a[60:61], v[48:51]\n"
        "global_load_dword %[la2], s[64:65] offset:512 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[80:81], a[132:133], v[52:55]\n"
        "global_load_dword %[la2], s[64:65] offset:768 lds\n"
        "s_add_u32 m0, %[ml2], 4096\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[82:83], a[62:63], v[48:51]\n"
        "global_load_dword %[la2], s[66:67] offset:0 lds\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[82:83], a[134:135], v[52:55]\n"
        "global_load_dword %[la2], s[66:67] offset:256 lds\n"
        "global_load_dword %[la2], s[66:67] offset:512 lds\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[68:69], a[64:65], v[48:51]\n"
        "global_load_dword %[la2], s[66:67] offset:768 lds\n"
        "ds_read_b128 v[80:83], %[va0] offset:256\n"
        "ds_read_b128 v[76:79], %[va1] offset:256\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[68:69], a[136:137], v[52:55]\n"
        "s_mov_b32 m0, %[mr2]\n"
        "s_nop 0\n"
        "global_load_dword v[38:39], off lds\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[70:71], a[66:67], v[48:51]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[70:71], a[138:139], v[52:55]\n"
        "ds_read_b128 v[68:71], %[va2] offset:256\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[72:73], a[68:69], v[48:51]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[72:73], a[140:141], v[52:55]\n"
        "v_mfma_f32_16x16x16f16 v[48:51], v[74:75], a[70:71], v[48:51]\n"
        "v_mfma_f32_16x16x16f16 v[52:55], v[74:75], a[142:143], v[52:55]\n"
        "ds_read_b128 v[72:75], %[va3] offset:256\n"
        "s_nop 7\n"
        "s_nop 0\n"
        "v_mul_f32 v48, %[scale], v48\n"
        "v_mul_f32 v49, %[scale], v49\n"
        "v_mul_f32 v50, %[scale], v50\n"
        "v_mul_f32 v51, %[scale], v51\n"
        "v_mul_f32 v52, %[scale], v52\n"
        "v_mul_f32 v53, %[scale], v53\n"
        "v_mul_f32 v54, %[scale], v54\n"
        "v_mul_f32 v55, %[scale], v55\n"
        "v_max3_f32 v56, v48, v49, v50\n"
        "v_max_f32 v56, v56, v51\n"
        "v_sub_f32 v56, v56, v61\n"
        "v_max3_f32 v57, v52, v53, v54\n"
        "v_max_f32 v57, v57, v55\n"
        "v_sub_f32 v57, v57, v62\n"
        "v_max_f32 v56, v56, v57\n"
        "v_cmp_lt_f32 %[rise], %[slack], v56\n"
        : [bad] "+v"(bad), [rise] "=s"(rise) : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [maxid] "s"(maxid), [tok] "s"(tok), [row0] "v"(row[0]), [last] "s"(last), [magic] "s"(magic), [page] "s"(page), [tokn] "s"(tokn), [pages] "s"(pages), [vcs] "v"(vcs), [ckv] "s"(ckv), [vks] "v"(vks), [kp0] "v"(kp[0]), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [mr0] "s"(mr[0]), [row1] "v"(row[1]), [kp1] "v"(kp[1]), [ml1] "s"(ml[1]), [la1] "v"(la[1]), [mr1] "s"(mr[1]), [row2] "v"(row[2]), [va0] "v"(va[0]), [kr0] "v"(kr[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [kp2] "v"(kp[2]), [kr1] "v"(kr[1]), [ml2] "s"(ml[2]), [la2] "v"(la[2]), [mr2] "s"(mr[2]), [scale] "s"(scale), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "s64", "s65", "s66", "s67", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      mask();
      rescale();
      const u32 ws = spare ? 0 : wd;
    asm volatile(
        "v_sub_f32 v48, v48, v61\n"
        "v_sub_f32 v49, v49, v61\n"
        "v_sub_f32 v50, v50, v61\n"
        "v_sub_f32 v51, v51, v61\n"
        "v_exp_f32 v48, v48\n"
        "v_exp_f32 v49, v49\n"
        "v_exp_f32 v50, v50\n"
        "v_exp_f32 v51, v51\n"
        "v_add_f32 v63, v63, v48\n"
        "v_cvt_f16_f32 v48, v48\n"
        "v_add_f32 v63, v63, v49\n"
        "v_cvt_f16_f32 v49, v49\n"
        "v_add_f32 v63, v63, v50\n"
        "v_cvt_f16_f32 v50, v50\n"
        "v_add_f32 v63, v63, v51\n"
        "v_cvt_f16_f32 v51, v51\n"
        "v_pack_b32_f16 v44, v48, v49\n"
        "v_pack_b32_f16 v45, v50, v51\n"
        "v_sub_f32 v52, v52, v62\n"
        "v_sub_f32 v53, v53, v62\n"
        "v_sub_f32 v54, v54, v62\n"
        "v_sub_f32 v55, v55, v62\n"
        "v_exp_f32 v52, v52\n"
        "v_exp_f32 v53, v53\n"
        "v_exp_f32 v54, v54\n"
        "v_exp_f32 v55, v55\n"
        "v_add_f32 v64, v64, v52\n"
        "v_cvt_f16_f32 v52, v52\n"
        "v_add_f32 v64, v64, v53\n"
        "v_cvt_f16_f32 v53, v53\n"
        "v_add_f32 v64, v64, v54\n"
        "v_cvt_f16_f32 v54, v54\n"
        "v_add_f32 v64, v64, v55\n"
        "v_cvt_f16_f32 v55, v55\n"
        "v_pack_b32_f16 v46, v52, v53\n"
        "v_pack_b32_f16 v47, v54, v55\n"
        "v_perm_b32 v36, v88, v84, %[lo]\n"
        "v_perm_b32 v37, v96, v92, %[lo]\n"
        "v_perm_b32 v38, v88, v84, %[hi]\n"
        "v_perm_b32 v39, v96, v92, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[100:103], v[36:37], v[44:45], v[100:103]\n"
        "v_perm_b32 v40, v89, v85, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[228:231], v[36:37], v[46:47], v[228:231]\n"
        "v_perm_b32 v41, v97, v93, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[104:107], v[38:39], v[44:45], v[104:107]\n"
        "v_perm_b32 v42, v89, v85, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[232:235], v[38:39], v[46:47], v[232:235]\n"
        "v_perm_b32 v43, v97, v93, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[108:111], v[40:41], v[44:45], v[108:111]\n"
        "v_perm_b32 v36, v90, v86, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[236:239], v[40:41], v[46:47], v[236:239]\n"
        "s_add_u32 %[ml0], %[wd], %[ml0]\n"
        "v_perm_b32 v37, v98, v94, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[112:115], v[42:43], v[44:45], v[112:115]\n"
        "v_perm_b32 v38, v90, v86, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[240:243], v[42:43], v[46:47], v[240:243]\n"
        "v_perm_b32 v39, v98, v94, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[116:119], v[36:37], v[44:45], v[116:119]\n"
        "v_dot2_f32_f16 v65, v44, %[ones], v65\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_perm_b32 v40, v91, v87, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[244:247], v[36:37], v[46:47], v[244:247]\n"
        "v_perm_b32 v41, v99, v95, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[120:123], v[38:39], v[44:45], v[120:123]\n"
        "v_perm_b32 v42, v91, v87, %[hi]\n"
        "ds_read_b128 v[84:87], %[va0] offset:512\n"
        "ds_read_b128 v[88:91], %[va1] offset:512\n"
        "v_mfma_f32_16x16x16f16 v[248:251], v[38:39], v[46:47], v[248:251]\n"
        "v_perm_b32 v43, v99, v95, %[hi]\n"
        "ds_read_b128 v[92:95], %[va2] offset:512\n"
        "ds_read_b128 v[96:99], %[va3] offset:512\n"
        "v_mfma_f32_16x16x16f16 v[124:127], v[40:41], v[44:45], v[124:127]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v36, v76, v80, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[252:255], v[40:41], v[46:47], v[252:255]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v37, v72, v68, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[128:131], v[42:43], v[44:45], v[128:131]\n"
        "v_perm_b32 v38, v76, v80, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[144:147], v[42:43], v[46:47], a[144:147]\n"
        "v_perm_b32 v39, v72, v68, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[132:135], v[36:37], v[44:45], v[132:135]\n"
        "s_add_u32 %[mr0], %[wd], %[mr0]\n"
        "v_perm_b32 v40, v77, v81, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[148:151], v[36:37], v[46:47], a[148:151]\n"
        "v_perm_b32 v41, v73, v69, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[136:139], v[38:39], v[44:45], v[136:139]\n"
        "v_perm_b32 v42, v77, v81, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[152:155], v[38:39], v[46:47], a[152:155]\n"
        "v_perm_b32 v43, v73, v69, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[140:143], v[40:41], v[44:45], v[140:143]\n"
        "v_perm_b32 v36, v78, v82, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[156:159], v[40:41], v[46:47], a[156:159]\n"
        "v_perm_b32 v37, v74, v70, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[144:147], v[42:43], v[44:45], v[144:147]\n"
        "v_perm_b32 v38, v78, v82, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[160:163], v[42:43], v[46:47], a[160:163]\n"
        "v_perm_b32 v39, v74, v70, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[148:151], v[36:37], v[44:45], v[148:151]\n"
        "v_dot2_f32_f16 v65, v45, %[ones], v65\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_perm_b32 v40, v79, v83, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[164:167], v[36:37], v[46:47], a[164:167]\n"
        "v_perm_b32 v41, v75, v71, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[152:155], v[38:39], v[44:45], v[152:155]\n"
        "v_perm_b32 v42, v79, v83, %[hi]\n"
        "ds_read_b128 v[76:79], %[va0] offset:768\n"
        "ds_read_b128 v[80:83], %[va1] offset:768\n"
        "s_add_u32 %[ml1], %[wd], %[ml1]\n"
        "v_mfma_f32_16x16x16f16 a[168:171], v[38:39], v[46:47], a[168:171]\n"
        "v_perm_b32 v43, v75, v71, %[hi]\n"
        "ds_read_b128 v[68:71], %[va2] offset:768\n"
        "ds_read_b128 v[72:75], %[va3] offset:768\n"
        "v_mfma_f32_16x16x16f16 v[156:159], v[40:41], v[44:45], v[156:159]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v36, v88, v84, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[172:175], v[40:41], v[46:47], a[172:175]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v37, v96, v92, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[160:163], v[42:43], v[44:45], v[160:163]\n"
        "v_perm_b32 v38, v88, v84, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[176:179], v[42:43], v[46:47], a[176:179]\n"
        "v_perm_b32 v39, v96, v92, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[164:167], v[36:37], v[44:45], v[164:167]\n"
        "v_perm_b32 v40, v89, v85, %[lo]\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_mfma_f32_16x16x16f16 a[180:183], v[36:37], v[46:47], a[180:183]\n"
        "v_perm_b32 v41, v97, v93, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[168:171], v[38:39], v[44:45], v[168:171]\n"
        "v_perm_b32 v42, v89, v85, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[184:187], v[38:39], v[46:47], a[184:187]\n"
        "v_perm_b32 v43, v97, v93, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[172:175], v[40:41], v[44:45], v[172:175]\n"
        "v_perm_b32 v36, v90, v86, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[188:191], v[40:41], v[46:47], a[188:191]\n"
        "s_add_u32 %[mr1], %[wd], %[mr1]\n"
        "v_perm_b32 v37, v98, v94, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[176:179], v[42:43], v[44:45], v[176:179]\n"
        "v_perm_b32 v38, v90, v86, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[192:195], v[42:43], v[46:47], a[192:195]\n"
        "v_perm_b32 v39, v98, v94, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[180:183], v[36:37], v[44:45], v[180:183]\n"
        "v_dot2_f32_f16 v66, v46, %[ones], v66\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_perm_b32 v40, v91, v87, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[196:199], v[36:37], v[46:47], a[196:199]\n"
        "v_perm_b32 v41, v99, v95, %[lo]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_mfma_f32_16x16x16f16 v[184:187], v[38:39], v[44:45], v[184:187]\n"
        "v_perm_b32 v42, v91, v87, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[200:203], v[38:39], v[46:47], a[200:203]\n"
        "v_perm_b32 v43, v99, v95, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[188:191], v[40:41], v[44:45], v[188:191]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_perm_b32 v36, v80, v76, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[204:207], v[40:41], v[46:47], a[204:207]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v37, v72, v68, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[192:195], v[42:43], v[44:45], v[192:195]\n"
        "v_perm_b32 v38, v80, v76, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[208:211], v[42:43], v[46:47], a[208:211]\n"
        "v_perm_b32 v39, v72, v68, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[196:199], v[36:37], v[44:45], v[196:199]\n"
        "s_add_u32 %[ml2], %[ws], %[ml2]\n"
        "v_perm_b32 v40, v81, v77, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[212:215], v[36:37], v[46:47], a[212:215]\n"
        "v_perm_b32 v41, v73, v69, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[200:203], v[38:39], v[44:45], v[200:203]\n"
        "v_perm_b32 v42, v81, v77, %[hi]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_mfma_f32_16x16x16f16 a[216:219], v[38:39], v[46:47], a[216:219]\n"
        "v_perm_b32 v43, v73, v69, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[204:207], v[40:41], v[44:45], v[204:207]\n"
        "v_perm_b32 v36, v82, v78, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[220:223], v[40:41], v[46:47], a[220:223]\n"
        "v_perm_b32 v37, v74, v70, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[208:211], v[42:43], v[44:45], v[208:211]\n"
        "v_perm_b32 v38, v82, v78, %[hi]\n"
        "v_mfma_f32_16x16x16f16 a[224:227], v[42:43], v[46:47], a[224:227]\n"
        "v_perm_b32 v39, v74, v70, %[hi]\n"
        "v_mfma_f32_16x16x16f16 v[212:215], v[36:37], v[44:45], v[212:215]\n"
        "v_dot2_f32_f16 v66, v47, %[ones], v66\n"
        "v_add_u32 %[kr1], %[kd], %[kr1]\n"
        "v_perm_b32 v40, v83, v79, %[lo]\n"
        "v_mfma_f32_16x16x16f16 a[228:231], v[36:37], v[46:47], a[228:231]\n"
        "v_perm_b32 v41, v75, v71, %[lo]\n"
        "v_mfma_f32_16x16x16f16 v[216:219], v[38:39], v[44:45], v[216:219]\n"
        "v_perm_b32 v42, v83, v79, %[hi]\n"
        "s_add_u32 %[mr2], %[ws], %[mr2]\n"
        "v_mfma_f32_16x16x16f16 a[232:235], v[38:39], v[46:47], a[232:235]\n"
        "v_perm_b32 v43, v75, v71, %[hi]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        "v_mfma_f32_16x16x16f16 v[220:223], v[40:41], v[44:45], v[220:223]\n"
        "v_mfma_f32_16x16x16f16 a[236:239], v[40:41], v[46:47], a[236:239]\n"
        "v_mfma_f32_16x16x16f16 v[224:227], v[42:43], v[44:45], v[224:227]\n"
        "v_mfma_f32_16x16x16f16 a[240:243], v[42:43], v[46:47], a[240:243]\n"
        : [ml0] "+s"(ml[0]), [ka0] "+v"(ka[0]), [va0] "+v"(va[0]), [va1] "+v"(va[1]), [va2] "+v"(va[2]), [va3] "+v"(va[3]), [mr0] "+s"(mr[0]), [ka1] "+v"(ka[1]), [ml1] "+s"(ml[1]), [mr1] "+s"(mr[1]), [kr0] "+v"(kr[0]), [ml2] "+s"(ml[2]), [kr1] "+v"(kr[1]), [mr2] "+s"(mr[2]) : [lo] "s"(lo), [hi] "s"(hi), [wd] "s"(wd), [ones] "s"(ones), [kd] "s"(kd), [vd] "s"(vd), [ws] "s"(ws) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      turn();
    }
    asm volatile("s_nop 7\ns_nop 2\ns_waitcnt vmcnt(0)" ::: "memory"); // O's last MFMAs; copies nobody waited for
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
    asm volatile("v_mov_b32 %0, v61\nv_mov_b32 %1, v63\nv_mov_b32 %2, v65"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          "v_mul_f32 %0, v100, %8\n"
          "v_mul_f32 %1, v104, %8\n"
          "v_mul_f32 %2, v108, %8\n"
          "v_mul_f32 %3, v112, %8\n"
          "v_mul_f32 %4, v116, %8\n"
          "v_mul_f32 %5, v120, %8\n"
          "v_mul_f32 %6, v124, %8\n"
          "v_mul_f32 %7, v128, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v101, %8\n"
          "v_mul_f32 %1, v105, %8\n"
          "v_mul_f32 %2, v109, %8\n"
          "v_mul_f32 %3, v113, %8\n"
          "v_mul_f32 %4, v117, %8\n"
          "v_mul_f32 %5, v121, %8\n"
          "v_mul_f32 %6, v125, %8\n"
          "v_mul_f32 %7, v129, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v102, %8\n"
          "v_mul_f32 %1, v106, %8\n"
          "v_mul_f32 %2, v110, %8\n"
          "v_mul_f32 %3, v114, %8\n"
          "v_mul_f32 %4, v118, %8\n"
          "v_mul_f32 %5, v122, %8\n"
          "v_mul_f32 %6, v126, %8\n"
          "v_mul_f32 %7, v130, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v103, %8\n"
          "v_mul_f32 %1, v107, %8\n"
          "v_mul_f32 %2, v111, %8\n"
          "v_mul_f32 %3, v115, %8\n"
          "v_mul_f32 %4, v119, %8\n"
          "v_mul_f32 %5, v123, %8\n"
          "v_mul_f32 %6, v127, %8\n"
          "v_mul_f32 %7, v131, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v132, %8\n"
          "v_mul_f32 %1, v136, %8\n"
          "v_mul_f32 %2, v140, %8\n"
          "v_mul_f32 %3, v144, %8\n"
          "v_mul_f32 %4, v148, %8\n"
          "v_mul_f32 %5, v152, %8\n"
          "v_mul_f32 %6, v156, %8\n"
          "v_mul_f32 %7, v160, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 128, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v133, %8\n"
          "v_mul_f32 %1, v137, %8\n"
          "v_mul_f32 %2, v141, %8\n"
          "v_mul_f32 %3, v145, %8\n"
          "v_mul_f32 %4, v149, %8\n"
          "v_mul_f32 %5, v153, %8\n"
          "v_mul_f32 %6, v157, %8\n"
          "v_mul_f32 %7, v161, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 160, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v134, %8\n"
          "v_mul_f32 %1, v138, %8\n"
          "v_mul_f32 %2, v142, %8\n"
          "v_mul_f32 %3, v146, %8\n"
          "v_mul_f32 %4, v150, %8\n"
          "v_mul_f32 %5, v154, %8\n"
          "v_mul_f32 %6, v158, %8\n"
          "v_mul_f32 %7, v162, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 192, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v135, %8\n"
          "v_mul_f32 %1, v139, %8\n"
          "v_mul_f32 %2, v143, %8\n"
          "v_mul_f32 %3, v147, %8\n"
          "v_mul_f32 %4, v151, %8\n"
          "v_mul_f32 %5, v155, %8\n"
          "v_mul_f32 %6, v159, %8\n"
          "v_mul_f32 %7, v163, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 224, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v164, %8\n"
          "v_mul_f32 %1, v168, %8\n"
          "v_mul_f32 %2, v172, %8\n"
          "v_mul_f32 %3, v176, %8\n"
          "v_mul_f32 %4, v180, %8\n"
          "v_mul_f32 %5, v184, %8\n"
          "v_mul_f32 %6, v188, %8\n"
          "v_mul_f32 %7, v192, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 256, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v165, %8\n"
          "v_mul_f32 %1, v169, %8\n"
          "v_mul_f32 %2, v173, %8\n"
          "v_mul_f32 %3, v177, %8\n"
          "v_mul_f32 %4, v181, %8\n"
          "v_mul_f32 %5, v185, %8\n"
          "v_mul_f32 %6, v189, %8\n"
          "v_mul_f32 %7, v193, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 288, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v166, %8\n"
          "v_mul_f32 %1, v170, %8\n"
          "v_mul_f32 %2, v174, %8\n"
          "v_mul_f32 %3, v178, %8\n"
          "v_mul_f32 %4, v182, %8\n"
          "v_mul_f32 %5, v186, %8\n"
          "v_mul_f32 %6, v190, %8\n"
          "v_mul_f32 %7, v194, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 320, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v167, %8\n"
          "v_mul_f32 %1, v171, %8\n"
          "v_mul_f32 %2, v175, %8\n"
          "v_mul_f32 %3, v179, %8\n"
          "v_mul_f32 %4, v183, %8\n"
          "v_mul_f32 %5, v187, %8\n"
          "v_mul_f32 %6, v191, %8\n"
          "v_mul_f32 %7, v195, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 352, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v196, %8\n"
          "v_mul_f32 %1, v200, %8\n"
          "v_mul_f32 %2, v204, %8\n"
          "v_mul_f32 %3, v208, %8\n"
          "v_mul_f32 %4, v212, %8\n"
          "v_mul_f32 %5, v216, %8\n"
          "v_mul_f32 %6, v220, %8\n"
          "v_mul_f32 %7, v224, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 384, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v197, %8\n"
          "v_mul_f32 %1, v201, %8\n"
          "v_mul_f32 %2, v205, %8\n"
          "v_mul_f32 %3, v209, %8\n"
          "v_mul_f32 %4, v213, %8\n"
          "v_mul_f32 %5, v217, %8\n"
          "v_mul_f32 %6, v221, %8\n"
          "v_mul_f32 %7, v225, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 416, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v198, %8\n"
          "v_mul_f32 %1, v202, %8\n"
          "v_mul_f32 %2, v206, %8\n"
          "v_mul_f32 %3, v210, %8\n"
          "v_mul_f32 %4, v214, %8\n"
          "v_mul_f32 %5, v218, %8\n"
          "v_mul_f32 %6, v222, %8\n"
          "v_mul_f32 %7, v226, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 448, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v199, %8\n"
          "v_mul_f32 %1, v203, %8\n"
          "v_mul_f32 %2, v207, %8\n"
          "v_mul_f32 %3, v211, %8\n"
          "v_mul_f32 %4, v215, %8\n"
          "v_mul_f32 %5, v219, %8\n"
          "v_mul_f32 %6, v223, %8\n"
          "v_mul_f32 %7, v227, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 480, x);
    }
  }
  {
    constexpr int FIRST = 16;
    const int row = wave * BLOCKS * 16 + FIRST + (lane & 15);
    float top, sum, total;
    asm volatile("v_mov_b32 %0, v62\nv_mov_b32 %1, v64\nv_mov_b32 %2, v66"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          "v_mul_f32 %0, v228, %8\n"
          "v_mul_f32 %1, v232, %8\n"
          "v_mul_f32 %2, v236, %8\n"
          "v_mul_f32 %3, v240, %8\n"
          "v_mul_f32 %4, v244, %8\n"
          "v_mul_f32 %5, v248, %8\n"
          "v_mul_f32 %6, v252, %8\n"
          "v_accvgpr_read_b32 %7, a144\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v229, %8\n"
          "v_mul_f32 %1, v233, %8\n"
          "v_mul_f32 %2, v237, %8\n"
          "v_mul_f32 %3, v241, %8\n"
          "v_mul_f32 %4, v245, %8\n"
          "v_mul_f32 %5, v249, %8\n"
          "v_mul_f32 %6, v253, %8\n"
          "v_accvgpr_read_b32 %7, a145\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v230, %8\n"
          "v_mul_f32 %1, v234, %8\n"
          "v_mul_f32 %2, v238, %8\n"
          "v_mul_f32 %3, v242, %8\n"
          "v_mul_f32 %4, v246, %8\n"
          "v_mul_f32 %5, v250, %8\n"
          "v_mul_f32 %6, v254, %8\n"
          "v_accvgpr_read_b32 %7, a146\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v231, %8\n"
          "v_mul_f32 %1, v235, %8\n"
          "v_mul_f32 %2, v239, %8\n"
          "v_mul_f32 %3, v243, %8\n"
          "v_mul_f32 %4, v247, %8\n"
          "v_mul_f32 %5, v251, %8\n"
          "v_mul_f32 %6, v255, %8\n"
          "v_accvgpr_read_b32 %7, a147\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a148\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a152\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a156\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a160\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a164\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a168\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a172\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a176\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 128, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a149\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a153\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a157\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a161\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a165\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a169\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a173\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a177\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 160, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a150\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a154\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a158\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a162\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a166\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a170\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a174\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a178\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 192, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a151\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a155\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a159\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a163\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a167\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a171\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a175\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a179\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 224, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a180\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a184\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a188\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a192\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a196\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a200\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a204\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a208\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 256, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a181\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a185\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a189\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a193\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a197\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a201\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a205\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a209\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 288, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a182\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a186\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a190\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a194\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a198\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a202\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a206\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a210\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 320, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a183\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a187\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a191\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a195\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a199\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a203\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a207\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a211\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 352, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a212\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a216\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a220\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a224\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a228\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a232\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a236\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a240\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 384, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a213\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a217\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a221\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a225\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a229\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a233\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a237\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a241\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 416, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a214\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a218\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a222\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a226\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a230\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a234\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a238\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a242\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 448, x);
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a215\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_accvgpr_read_b32 %1, a219\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_accvgpr_read_b32 %2, a223\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_accvgpr_read_b32 %3, a227\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_accvgpr_read_b32 %4, a231\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_accvgpr_read_b32 %5, a235\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_accvgpr_read_b32 %6, a239\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_accvgpr_read_b32 %7, a243\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v61", "v62", "v63", "v64", "v65", "v66", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 480, x);
    }
  }
}

// ---- The kernel ----------------------------------------------------------------------------------------------------
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(192, 192),
                                     amdgpu_num_vgpr(36))) void
mlaf_mla_decode_mfma_lds_a40a576f(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[42240];
  const int wave = uniform(thread_id() >> 6);
  piece x;
  if (only_piece(a, x)) work_on(a, x, lds, wave);
}
