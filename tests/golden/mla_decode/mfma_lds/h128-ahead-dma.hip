// Generated from templates/mla_decode/mfma_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_mfma_lds_c50d1d51
// parameters:
//   blocks = 2
//   causal = 0
//   dtype = bf16
//   heads = 128
//   load = dma
//   order = ahead
//   page_size = 64
//   q_len = 1
//   rank = 512
//   rescale = lazy
//   rope = 64
//   schedule = fitted
//   stages = 3
//   waves = 4
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_lds target=gfx942 blocks=2 causal=0 dtype=bf16 heads=128 load=dma order=ahead page_size=64 q_len=1 rank=512 rescale=lazy rope=64 schedule=fitted stages=3 waves=4
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
#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
#define MLAF_XCDS 8
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_decode/lib/args.h]
// [templates/mla_decode/lib/grid.h]
// [templates/mla_decode/lib/paging.h]
#define FIT_FIXED 64
#define FIT_CUT 300
#define FIT_PACE 75
#define FIT_LEAST 256
// What this kernel wants of its launch, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `launch`: flags, and per_cu (workgroups that a compute unit holds at once; 0: one).
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_mfma_lds_c50d1d51_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 1, {0, 0}, 0, {}};
// [templates/mla_decode/lib/fit_wave.h]

constexpr int H = 128, Q_LEN = 1, R = 512, P = 64, PAGE = 64;
constexpr bool CAUSAL = 0, LAZY = true;
constexpr int WAVES = 4, BLOCKS = 2, ROWS = 128, STEP = 16, NJ = 4;
constexpr u32 STAGES = 3, STAGE_BYTES = 18432;
constexpr u32 LATENT_BYTES = 16384, ROW_BYTES = 1024;
constexpr int UNITS = 2, LEAD = 2;

// The lane number, made anew where it is seldom needed, so that nothing derived from it occupies a register in the loop.
MLAF_DEV int lane_again() {
  int x;
  asm volatile("v_mbcnt_lo_u32_b32 %0, -1, 0\nv_mbcnt_hi_u32_b32 %0, -1, %0" : "=v"(x));
  return x;
}

// x < 2^31, whose upper half nobody knows to be 0: that 0 would be made in front of the loop over pieces, and live through it.
MLAF_DEV u64 wide(u32 x) {
  asm volatile("" : "+v"(x));
  return (u64)(i64)(int)x;
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

// Little, since it lives through the loops: what follows from it is computed anew for each piece.
struct walk {
  int next; // request; -1: none is left
  u32 mine; // the split of a request, or where the batch is cut the part; CUT; group of rows << 16
};
enum { WALK_CUT = 0x8000 };

MLAF_DEV i64 total_of(const mlaf_decode_args& a) { return fit_start(constants(a.kv_indptr)[a.batch], a.batch, PAGE); }

MLAF_DEV walk begin_walk(const mlaf_decode_args& a, int lane) {
  const int splits = fit_splits(a.splits), slots = fit_slots(a.splits), requests = fit_requests(splits, slots, a.batch);
  const work mine = my_work<(Q_LEN * H + ROWS - 1) / ROWS>(splits, requests);
  const u32 rows = (u32)uniform(mine.rows) << 16;
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
  const i64 total = total_of(a);
  const int parts = fit_parts(splits, slots, a.batch, total), id = uniform(mine.request * splits + mine.split);
  bool cut = a.batch > FIT_REQUESTS;
  if (!cut) {
    const float weight = fit_weight(splits, slots, parts, a.batch), limit = fit_limit(total, parts);
    for (int i = lane; i < a.batch; i += 64) cut |= fit_is_long(table[i + 1] - table[i], PAGE, weight, limit);
    cut = any_lane(cut);
  }
  if (thread_id() == 0 && id == 0 && rows == 0) fit_tell(a.part_o, cut ? parts : 0);
  if (!cut) return {mine.request < a.batch ? uniform(mine.request) : -1, rows | (u32)uniform(mine.split)};
  if (id >= parts) return {-1, 0};
  const i64 lo = fit_width(total, parts) * id;
  const int first = fit_find(a.batch, lane, [&](int i) { return fit_start(table[i], i, PAGE) <= lo; });
  return {uniform(first), rows | WALK_CUT | (u32)id};
}

// The next piece of this workgroup.
MLAF_DEV bool next_piece(walk& w, piece& x) {
  const mlaf_decode_args a = arguments_again();
  const int splits = fit_splits(a.splits), id = (int)(w.mine & 0x7fff), first_row = (int)(w.mine >> 16) * ROWS;
  i64 width = 0;
  if (w.mine & WALK_CUT) {
    const i64 total = total_of(a);
    width = fit_width(total, fit_parts(splits, fit_slots(a.splits), a.batch, total));
  }
  const i64 lo = (i64)uniform((u64)(width * id)), hi = (i64)uniform((u64)(lo + width));
  while (w.next >= 0) {
    const int request = w.next;
    const bool here = read_request(a, request, first_row, x);
    if (!(w.mine & WALK_CUT)) {
      w.next = -1;
      split_range(x.tokens, STEP, splits, id, x.begin, x.end);
      x.begin = uniform(x.begin); // the division went through vector registers
      x.end = uniform(x.end);
      x.final = splits == 1;
      x.part = (i64)id * a.total_q * H;
      return here;
    }
    const i64 start = fit_start(x.first_page, request, PAGE);
    const bool some = fit_piece(lo, hi, start, x.tokens, &x.begin, &x.end);
    w.next = request + 1 < a.batch && fit_start(constants(a.kv_indptr)[request + 1], request + 1, PAGE) < hi ? request + 1 : -1;
    if (!here || !some) continue;
    const int slot = fit_slot(id, x.begin, x.end, x.tokens);
    x.final = slot < 0;
    x.part = (i64)slot * (Q_LEN * H) + first_row - x.row;
    return true;
  }
  return false;
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

// Byte offsets from the tile's first row; rows behind `last` repeat it.
MLAF_DEV void tile_offsets(u32 last, u32 cs, u32 ks, int wave, int lane, u32 (&la)[4],
                           u32 (&lr)[UNITS]) {
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const int i = unit_of(wave, u);
    const u32 t = pair_row(i);
    la[2 * u] = smaller(t, last) * cs + latent_column(i, lane);
    la[2 * u + 1] = smaller(t + 4, last) * cs + latent_column(i, lane);
    lr[u] = smaller(t + 4 * (lane >> 5), last) * ks + rope_column(i, lane);
  }
}

// Where this lane stores: 16 bytes of a row and of the row 8 below.
struct output {
  MLAF_GLOBAL char *upper, *lower;
  bool has_upper, has_lower;
};
MLAF_DEV output output_at(const mlaf_decode_args& a, bool final, i64 part_row, i64 row, int lane, int rows_left) {
  char* const base = final ? a.o + row * (2 * R) : (char*)a.part_o + part_row * (4 * R);
  MLAF_GLOBAL char* const upper = (MLAF_GLOBAL char*)(u64)base + wide(16 * (lane & 7));
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
MLAF_DEV void write_constant(const mlaf_decode_args& a, bool final, const piece& w, i64 part, float value, int wave) {
  const int rows = smaller(ROWS, w.rows);
  const float lse = value == 0.0f ? minus_inf() : value;
  const int first = 64 * wave + lane_again();
  for (int i = first; i < rows; i += 64 * WAVES) {
    if (!final) *(MLAF_GLOBAL float*)(global(a.part_lse) + 4 * (part + w.row + i)) = lse;
    else if (a.lse) *(MLAF_GLOBAL float*)(global(a.lse) + 4 * (w.row + i)) = lse;
  }
  if (!final && value == 0.0f) return;
  char* const base = final ? a.o + w.row * (2 * R) : (char*)(a.part_o + (part + w.row) * R);
  MLAF_GLOBAL char* const to = (MLAF_GLOBAL char*)(u64)base;
  const u32 pair = pack2(value, value), bits = final ? pair : bits_of(value);
  for (int i = first; i < rows * (final ? R / 8 : R / 4); i += 64 * WAVES)
    *(MLAF_GLOBAL u32x4*)(to + 16 * i) = u32x4{bits, bits, bits, bits};
}

// ---- A piece -------------------------------------------------------------------------------------------------------
MLAF_DEV void work_on(const mlaf_decode_args& a, const piece& w, char* lds, int wave) {
  const int tiles = (w.end - w.begin + 15) / 16;
  const bool final = w.final, no_cache = a.num_pages <= 0; // then nothing may be read
  const i64 part = w.part;
  if (tiles == 0 || no_cache) {
    write_constant(a, final, w, part, tiles == 0 ? 0.0f : __builtin_nanf(""), wave);
    return;
  }
  u32 bad = 0; // the largest page id seen, as unsigned
  {
    const int lane = lane_again();
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
      ml[u] = base + (i < 8 ? pair_row(i) * ROW_BYTES : 55296 + (i - 8) * ROW_BYTES);
      mr[u] = base + (i < 8 ? LATENT_BYTES + 256 * i : 59392 + 256 * (i - 8));
    }
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
        "v_mov_b32 v57, %[pgo]\n"
        "global_load_dword v58, v57, %[pages]\n"
        :  : [pgo] "s"(pgo), [pages] "s"(pages) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    // Q: lane l fetches chunk l%8 of row l/8 (+ 8) of a block; LDS turns 64 columns at a time into the layout of B. Rows
    // that do not exist repeat the last that does; nobody stores what they compute.
    const u32 qw = base + 36864 + 2048 * wave + 128 * (lane >> 3) + 16 * ((lane & 7) ^ (lane >> 3));
    const u32 qr[2] = {base + 36864 + 2048 * wave + 128 * t + 16 * (q ^ (t & 7)),
                       base + 36864 + 2048 * wave + 128 * t + 16 * ((4 + q) ^ (t & 7))};
    auto q_row = [&](int b, int i) {
      const int at = smaller((wave * BLOCKS + b) * 16 + 8 * i + (lane >> 3), w.rows - 1);
      return (u64)a.q + (u64)(w.row + at) * (2 * (R + P));
    };
    {
      const u64 qa[2] = {q_row(0, 0) + wide(16 * (lane & 7)), q_row(0, 1) + wide(16 * (lane & 7))};
    asm volatile(
        "global_load_dwordx4 v[98:101], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[102:105], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[106:109], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[110:113], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[114:117], %[qa0], off offset:256\n"
        "global_load_dwordx4 v[118:121], %[qa1], off offset:256\n"
        "global_load_dwordx4 v[122:125], %[qa0], off offset:384\n"
        "global_load_dwordx4 v[126:129], %[qa1], off offset:384\n"
        "global_load_dwordx4 v[130:133], %[qa0], off offset:512\n"
        "global_load_dwordx4 v[134:137], %[qa1], off offset:512\n"
        "global_load_dwordx4 v[138:141], %[qa0], off offset:640\n"
        "global_load_dwordx4 v[142:145], %[qa1], off offset:640\n"
        "global_load_dwordx4 v[146:149], %[qa0], off offset:768\n"
        "global_load_dwordx4 v[150:153], %[qa1], off offset:768\n"
        "global_load_dwordx4 v[154:157], %[qa0], off offset:896\n"
        "global_load_dwordx4 v[158:161], %[qa1], off offset:896\n"
        "global_load_dwordx4 v[162:165], %[qa0], off offset:1024\n"
        "global_load_dwordx4 v[166:169], %[qa1], off offset:1024\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    {
      const u64 qa[2] = {q_row(1, 0) + wide(16 * (lane & 7)), q_row(1, 1) + wide(16 * (lane & 7))};
    asm volatile(
        "global_load_dwordx4 v[170:173], %[qa0], off offset:0\n"
        "global_load_dwordx4 v[174:177], %[qa1], off offset:0\n"
        "global_load_dwordx4 v[178:181], %[qa0], off offset:128\n"
        "global_load_dwordx4 v[182:185], %[qa1], off offset:128\n"
        "global_load_dwordx4 v[186:189], %[qa0], off offset:256\n"
        "global_load_dwordx4 v[190:193], %[qa1], off offset:256\n"
        "global_load_dwordx4 v[194:197], %[qa0], off offset:384\n"
        "global_load_dwordx4 v[198:201], %[qa1], off offset:384\n"
        "global_load_dwordx4 v[202:205], %[qa0], off offset:512\n"
        "global_load_dwordx4 v[206:209], %[qa1], off offset:512\n"
        "global_load_dwordx4 v[210:213], %[qa0], off offset:640\n"
        "global_load_dwordx4 v[214:217], %[qa1], off offset:640\n"
        "global_load_dwordx4 v[218:221], %[qa0], off offset:768\n"
        "global_load_dwordx4 v[222:225], %[qa1], off offset:768\n"
        "global_load_dwordx4 v[226:229], %[qa0], off offset:896\n"
        "global_load_dwordx4 v[230:233], %[qa1], off offset:896\n"
        "global_load_dwordx4 v[234:237], %[qa0], off offset:1024\n"
        "global_load_dwordx4 v[238:241], %[qa1], off offset:1024\n"
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim();
    asm volatile(
        "v_readfirstlane_b32 s68, v58\n"
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
        "v_mov_b32 v57, %[pgo]\n"
        "global_load_dword v58, v57, %[pages]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:256\n"
        "global_load_lds_dword %[la0], s[64:65] offset:512\n"
        "global_load_lds_dword %[la0], s[64:65] offset:768\n"
        "s_add_u32 m0, %[ml0], 4096\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:256\n"
        "global_load_lds_dword %[la1], s[64:65] offset:512\n"
        "global_load_lds_dword %[la1], s[64:65] offset:768\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "global_load_lds_dword %[la2], s[64:65] offset:256\n"
        "global_load_lds_dword %[la2], s[64:65] offset:512\n"
        "global_load_lds_dword %[la2], s[64:65] offset:768\n"
        "s_add_u32 m0, %[ml1], 4096\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "global_load_lds_dword %[la3], s[64:65] offset:256\n"
        "global_load_lds_dword %[la3], s[64:65] offset:512\n"
        "global_load_lds_dword %[la3], s[64:65] offset:768\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr1], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]), [ml1] "s"(ml[1]), [la2] "v"(la[2]), [la3] "v"(la[3]), [mr1] "s"(mr[1]), [lr1] "v"(lr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "s64", "s65", "s66", "s67", "s68", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile(
        "ds_write_b128 %[qw], v[98:101] offset:0\n"
        "ds_write_b128 %[qw], v[102:105] offset:1024\n"
        "ds_read_b128 a[0:3], %[qr0]\n"
        "ds_read_b128 a[4:7], %[qr1]\n"
        "ds_write_b128 %[qw], v[106:109] offset:0\n"
        "ds_write_b128 %[qw], v[110:113] offset:1024\n"
        "ds_read_b128 a[8:11], %[qr0]\n"
        "ds_read_b128 a[12:15], %[qr1]\n"
        "ds_write_b128 %[qw], v[114:117] offset:0\n"
        "ds_write_b128 %[qw], v[118:121] offset:1024\n"
        "ds_read_b128 a[16:19], %[qr0]\n"
        "ds_read_b128 a[20:23], %[qr1]\n"
        "ds_write_b128 %[qw], v[122:125] offset:0\n"
        "ds_write_b128 %[qw], v[126:129] offset:1024\n"
        "ds_read_b128 a[24:27], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[28:31], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[130:133] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[134:137] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[32:35], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[36:39], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[138:141] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[142:145] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[40:43], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[44:47], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[146:149] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[150:153] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[48:51], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[52:55], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[154:157] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[158:161] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[56:59], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[60:63], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[162:165] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[166:169] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[64:67], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[68:71], %[qr1]\n"
        "s_waitcnt lgkmcnt(0)\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile(
        "ds_write_b128 %[qw], v[170:173] offset:0\n"
        "ds_write_b128 %[qw], v[174:177] offset:1024\n"
        "ds_read_b128 a[72:75], %[qr0]\n"
        "ds_read_b128 a[76:79], %[qr1]\n"
        "ds_write_b128 %[qw], v[178:181] offset:0\n"
        "ds_write_b128 %[qw], v[182:185] offset:1024\n"
        "ds_read_b128 a[80:83], %[qr0]\n"
        "ds_read_b128 a[84:87], %[qr1]\n"
        "ds_write_b128 %[qw], v[186:189] offset:0\n"
        "ds_write_b128 %[qw], v[190:193] offset:1024\n"
        "ds_read_b128 a[88:91], %[qr0]\n"
        "ds_read_b128 a[92:95], %[qr1]\n"
        "ds_write_b128 %[qw], v[194:197] offset:0\n"
        "ds_write_b128 %[qw], v[198:201] offset:1024\n"
        "ds_read_b128 a[96:99], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[100:103], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[202:205] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[206:209] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[104:107], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[108:111], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[210:213] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[214:217] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[112:115], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[116:119], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[218:221] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[222:225] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[120:123], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[124:127], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[226:229] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[230:233] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[128:131], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[132:135], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[234:237] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[238:241] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[136:139], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[140:143], %[qr1]\n"
        "s_waitcnt lgkmcnt(0)\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    // m, l, n, O
    asm volatile(
      "v_mov_b32 v59, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v61, 0\n"
      "v_mov_b32 v63, 0\n"
        "v_mov_b32 v98, 0\n"
        "v_mov_b32 v99, 0\n"
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
      "v_mov_b32 v60, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v62, 0\n"
      "v_mov_b32 v64, 0\n"
        "v_mov_b32 v226, 0\n"
        "v_mov_b32 v227, 0\n"
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
      ::: "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "v253", "a243");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    step_copies();
    aim();
    asm volatile(
        "v_readfirstlane_b32 s68, v58\n"
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
        "v_mov_b32 v57, %[pgo]\n"
        "global_load_dword v58, v57, %[pages]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:256\n"
        "global_load_lds_dword %[la0], s[64:65] offset:512\n"
        "global_load_lds_dword %[la0], s[64:65] offset:768\n"
        "s_add_u32 m0, %[ml0], 4096\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:256\n"
        "global_load_lds_dword %[la1], s[64:65] offset:512\n"
        "global_load_lds_dword %[la1], s[64:65] offset:768\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "global_load_lds_dword %[la2], s[64:65] offset:256\n"
        "global_load_lds_dword %[la2], s[64:65] offset:512\n"
        "global_load_lds_dword %[la2], s[64:65] offset:768\n"
        "s_add_u32 m0, %[ml1], 4096\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "global_load_lds_dword %[la3], s[64:65] offset:256\n"
        "global_load_lds_dword %[la3], s[64:65] offset:512\n"
        "global_load_lds_dword %[la3], s[64:65] offset:768\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr1], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]), [ml1] "s"(ml[1]), [la2] "v"(la[2]), [la3] "v"(la[3]), [mr1] "s"(mr[1]), [lr1] "v"(lr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "s64", "s65", "s66", "s67", "s68", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    step_copies();

    // Steps from a stage to the next; steps[k] is that of the stage k behind the present tile's.
    u32 steps[STAGES];
#pragma unroll
    for (u32 k = 0; k < STAGES; k++) steps[k] = k == STAGES - 1 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
    u32 &vd = steps[0], &kd = steps[1], &wd = steps[2];
    auto turn = [&] {
      const u32 first = steps[0];
#pragma unroll
      for (u32 k = 0; k + 1 < STAGES; k++) steps[k] = steps[k + 1];
      steps[STAGES - 1] = first;
    };
    u64 rise;
    // Between the two parts of an iteration: the scores of the tile that begins at token `at`, scaled to base 2, stand in
    // v[46..].
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
            "v_cndmask_b32 v46, %1, v46, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v47, %1, v47, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v48, %1, v48, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v49, %1, v49, vcc\n"
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        const int left = visible(w, (wave * BLOCKS + 1) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v50, %1, v50, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v51, %1, v51, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v52, %1, v52, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v53, %1, v53, vcc\n"
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };
    auto rescale = [&] {
      if (LAZY && __builtin_expect(rise == 0, 1)) return;
      const int lane = lane_again();
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v46, v47, v48\n"
                     "v_max_f32 %0, %0, v49" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v59\n"
                     "v_max_f32 v59, %0, %2\n"
                     "v_sub_f32 %1, %0, v59" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v61, %0, v61\n"
                     "v_mul_f32 v63, %0, v63" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v98, %0, v98\n"
            "v_mul_f32 v99, %0, v99\n"
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
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
      {
        float top, old, step;
        asm volatile("v_max3_f32 %0, v50, v51, v52\n"
                     "v_max_f32 %0, %0, v53" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v60\n"
                     "v_max_f32 v60, %0, %2\n"
                     "v_sub_f32 %1, %0, v60" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v62, %0, v62\n"
                     "v_mul_f32 v64, %0, v64" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v226, %0, v226\n"
            "v_mul_f32 v227, %0, v227\n"
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
            "v_accvgpr_read_b32 v54, a144\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a144, v54\n"
            "v_accvgpr_read_b32 v54, a145\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a145, v54\n"
            "v_accvgpr_read_b32 v54, a146\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a146, v54\n"
            "v_accvgpr_read_b32 v54, a147\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a147, v54\n"
            "v_accvgpr_read_b32 v54, a148\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a148, v54\n"
            "v_accvgpr_read_b32 v54, a149\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a149, v54\n"
            "v_accvgpr_read_b32 v54, a150\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a150, v54\n"
            "v_accvgpr_read_b32 v54, a151\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a151, v54\n"
            "v_accvgpr_read_b32 v54, a152\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a152, v54\n"
            "v_accvgpr_read_b32 v54, a153\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a153, v54\n"
            "v_accvgpr_read_b32 v54, a154\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a154, v54\n"
            "v_accvgpr_read_b32 v54, a155\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a155, v54\n"
            "v_accvgpr_read_b32 v54, a156\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a156, v54\n"
            "v_accvgpr_read_b32 v54, a157\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a157, v54\n"
            "v_accvgpr_read_b32 v54, a158\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a158, v54\n"
            "v_accvgpr_read_b32 v54, a159\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a159, v54\n"
            "v_accvgpr_read_b32 v54, a160\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a160, v54\n"
            "v_accvgpr_read_b32 v54, a161\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a161, v54\n"
            "v_accvgpr_read_b32 v54, a162\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a162, v54\n"
            "v_accvgpr_read_b32 v54, a163\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a163, v54\n"
            "v_accvgpr_read_b32 v54, a164\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a164, v54\n"
            "v_accvgpr_read_b32 v54, a165\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a165, v54\n"
            "v_accvgpr_read_b32 v54, a166\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a166, v54\n"
            "v_accvgpr_read_b32 v54, a167\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a167, v54\n"
            "v_accvgpr_read_b32 v54, a168\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a168, v54\n"
            "v_accvgpr_read_b32 v54, a169\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a169, v54\n"
            "v_accvgpr_read_b32 v54, a170\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a170, v54\n"
            "v_accvgpr_read_b32 v54, a171\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a171, v54\n"
            "v_accvgpr_read_b32 v54, a172\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a172, v54\n"
            "v_accvgpr_read_b32 v54, a173\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a173, v54\n"
            "v_accvgpr_read_b32 v54, a174\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a174, v54\n"
            "v_accvgpr_read_b32 v54, a175\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a175, v54\n"
            "v_accvgpr_read_b32 v54, a176\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a176, v54\n"
            "v_accvgpr_read_b32 v54, a177\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a177, v54\n"
            "v_accvgpr_read_b32 v54, a178\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a178, v54\n"
            "v_accvgpr_read_b32 v54, a179\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a179, v54\n"
            "v_accvgpr_read_b32 v54, a180\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a180, v54\n"
            "v_accvgpr_read_b32 v54, a181\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a181, v54\n"
            "v_accvgpr_read_b32 v54, a182\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a182, v54\n"
            "v_accvgpr_read_b32 v54, a183\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a183, v54\n"
            "v_accvgpr_read_b32 v54, a184\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a184, v54\n"
            "v_accvgpr_read_b32 v54, a185\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a185, v54\n"
            "v_accvgpr_read_b32 v54, a186\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a186, v54\n"
            "v_accvgpr_read_b32 v54, a187\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a187, v54\n"
            "v_accvgpr_read_b32 v54, a188\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a188, v54\n"
            "v_accvgpr_read_b32 v54, a189\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a189, v54\n"
            "v_accvgpr_read_b32 v54, a190\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a190, v54\n"
            "v_accvgpr_read_b32 v54, a191\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a191, v54\n"
            "v_accvgpr_read_b32 v54, a192\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a192, v54\n"
            "v_accvgpr_read_b32 v54, a193\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a193, v54\n"
            "v_accvgpr_read_b32 v54, a194\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a194, v54\n"
            "v_accvgpr_read_b32 v54, a195\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a195, v54\n"
            "v_accvgpr_read_b32 v54, a196\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a196, v54\n"
            "v_accvgpr_read_b32 v54, a197\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a197, v54\n"
            "v_accvgpr_read_b32 v54, a198\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a198, v54\n"
            "v_accvgpr_read_b32 v54, a199\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a199, v54\n"
            "v_accvgpr_read_b32 v54, a200\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a200, v54\n"
            "v_accvgpr_read_b32 v54, a201\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a201, v54\n"
            "v_accvgpr_read_b32 v54, a202\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a202, v54\n"
            "v_accvgpr_read_b32 v54, a203\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a203, v54\n"
            "v_accvgpr_read_b32 v54, a204\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a204, v54\n"
            "v_accvgpr_read_b32 v54, a205\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a205, v54\n"
            "v_accvgpr_read_b32 v54, a206\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a206, v54\n"
            "v_accvgpr_read_b32 v54, a207\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a207, v54\n"
            "v_accvgpr_read_b32 v54, a208\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a208, v54\n"
            "v_accvgpr_read_b32 v54, a209\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a209, v54\n"
            "v_accvgpr_read_b32 v54, a210\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a210, v54\n"
            "v_accvgpr_read_b32 v54, a211\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a211, v54\n"
            "v_accvgpr_read_b32 v54, a212\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a212, v54\n"
            "v_accvgpr_read_b32 v54, a213\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a213, v54\n"
            "v_accvgpr_read_b32 v54, a214\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a214, v54\n"
            "v_accvgpr_read_b32 v54, a215\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a215, v54\n"
            "v_accvgpr_read_b32 v54, a216\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a216, v54\n"
            "v_accvgpr_read_b32 v54, a217\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a217, v54\n"
            "v_accvgpr_read_b32 v54, a218\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a218, v54\n"
            "v_accvgpr_read_b32 v54, a219\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a219, v54\n"
            "v_accvgpr_read_b32 v54, a220\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a220, v54\n"
            "v_accvgpr_read_b32 v54, a221\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a221, v54\n"
            "v_accvgpr_read_b32 v54, a222\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a222, v54\n"
            "v_accvgpr_read_b32 v54, a223\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a223, v54\n"
            "v_accvgpr_read_b32 v54, a224\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a224, v54\n"
            "v_accvgpr_read_b32 v54, a225\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a225, v54\n"
            "v_accvgpr_read_b32 v54, a226\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a226, v54\n"
            "v_accvgpr_read_b32 v54, a227\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a227, v54\n"
            "v_accvgpr_read_b32 v54, a228\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a228, v54\n"
            "v_accvgpr_read_b32 v54, a229\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a229, v54\n"
            "v_accvgpr_read_b32 v54, a230\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a230, v54\n"
            "v_accvgpr_read_b32 v54, a231\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a231, v54\n"
            "v_accvgpr_read_b32 v54, a232\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a232, v54\n"
            "v_accvgpr_read_b32 v54, a233\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a233, v54\n"
            "v_accvgpr_read_b32 v54, a234\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a234, v54\n"
            "v_accvgpr_read_b32 v54, a235\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a235, v54\n"
            "v_accvgpr_read_b32 v54, a236\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a236, v54\n"
            "v_accvgpr_read_b32 v54, a237\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a237, v54\n"
            "v_accvgpr_read_b32 v54, a238\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a238, v54\n"
            "v_accvgpr_read_b32 v54, a239\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a239, v54\n"
            "v_accvgpr_read_b32 v54, a240\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a240, v54\n"
            "v_accvgpr_read_b32 v54, a241\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a241, v54\n"
            "v_accvgpr_read_b32 v54, a242\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a242, v54\n"
            "v_accvgpr_read_b32 v54, a243\n"
            "v_mul_f32 v54, %0, v54\n"
            "v_accvgpr_write_b32 a243, v54\n"
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };

    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[66:69], %[ka0] offset:0\n"
        "ds_read_b128 v[70:73], %[ka1] offset:0\n"
        "ds_read_b128 v[74:77], %[ka0] offset:128\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[66:67], a[0:1], 0\n"
        "ds_read_b128 v[78:81], %[ka1] offset:128\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[66:67], a[72:73], 0\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[68:69], a[2:3], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[68:69], a[74:75], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[70:71], a[4:5], v[38:41]\n"
        "ds_read_b128 v[66:69], %[ka0] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[70:71], a[76:77], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[72:73], a[6:7], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[72:73], a[78:79], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[8:9], v[38:41]\n"
        "ds_read_b128 v[70:73], %[ka1] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[80:81], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[10:11], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[82:83], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[12:13], v[38:41]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:384\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[84:85], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[14:15], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[86:87], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[66:67], a[16:17], v[38:41]\n"
        "ds_read_b128 v[78:81], %[ka1] offset:384\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[66:67], a[88:89], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[68:69], a[18:19], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[68:69], a[90:91], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[70:71], a[20:21], v[38:41]\n"
        "ds_read_b128 v[66:69], %[ka0] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[70:71], a[92:93], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[72:73], a[22:23], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[72:73], a[94:95], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[24:25], v[38:41]\n"
        "ds_read_b128 v[70:73], %[ka1] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[96:97], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[26:27], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[98:99], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[28:29], v[38:41]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:640\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[100:101], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[30:31], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[102:103], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[66:67], a[32:33], v[38:41]\n"
        "ds_read_b128 v[78:81], %[ka1] offset:640\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[66:67], a[104:105], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[68:69], a[34:35], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[68:69], a[106:107], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[70:71], a[36:37], v[38:41]\n"
        "ds_read_b128 v[66:69], %[ka0] offset:768\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[70:71], a[108:109], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[72:73], a[38:39], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[72:73], a[110:111], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[40:41], v[38:41]\n"
        "ds_read_b128 v[70:73], %[ka1] offset:768\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[112:113], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[42:43], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[114:115], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[44:45], v[38:41]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:896\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[116:117], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[46:47], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[118:119], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[66:67], a[48:49], v[38:41]\n"
        "ds_read_b128 v[78:81], %[ka1] offset:896\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[66:67], a[120:121], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[68:69], a[50:51], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[68:69], a[122:123], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[70:71], a[52:53], v[38:41]\n"
        "ds_read_b128 v[66:69], %[kr0] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[70:71], a[124:125], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[72:73], a[54:55], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[72:73], a[126:127], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[56:57], v[38:41]\n"
        "ds_read_b128 v[70:73], %[kr1] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[128:129], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[58:59], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[130:131], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[60:61], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[132:133], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[62:63], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[134:135], v[42:45]\n"
        "s_waitcnt lgkmcnt(1)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[66:67], a[64:65], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[66:67], a[136:137], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[68:69], a[66:67], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[68:69], a[138:139], v[42:45]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[70:71], a[68:69], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[70:71], a[140:141], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[72:73], a[70:71], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[72:73], a[142:143], v[42:45]\n"
        :  : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [kr0] "v"(kr[0]), [kr1] "v"(kr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile( // the rest of a tile in front of the first
        "v_mov_b32 v66, 0\n"
        "v_mov_b32 v67, 0\n"
        "v_mov_b32 v68, 0\n"
        "v_mov_b32 v69, 0\n"
        "v_mov_b32 v70, 0\n"
        "v_mov_b32 v71, 0\n"
        "v_mov_b32 v72, 0\n"
        "v_mov_b32 v73, 0\n"
        "v_mov_b32 v74, 0\n"
        "v_mov_b32 v75, 0\n"
        "v_mov_b32 v76, 0\n"
        "v_mov_b32 v77, 0\n"
        "v_mov_b32 v78, 0\n"
        "v_mov_b32 v79, 0\n"
        "v_mov_b32 v80, 0\n"
        "v_mov_b32 v81, 0\n"
        "v_mov_b32 v34, 0\n"
        "v_mov_b32 v35, 0\n"
        "v_mov_b32 v36, 0\n"
        "v_mov_b32 v37, 0\n"
        "v_mov_b32 v26, 0\n"
        "v_mov_b32 v27, 0\n"
        "v_mov_b32 v28, 0\n"
        "v_mov_b32 v29, 0\n"
        "s_nop 7" ::: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128"); // S
#pragma unroll
    for (int p = 0; p < 2; p++) {
      ka[p] += STAGE_BYTES;
      kr[p] += STAGE_BYTES;
    }
    for (; at != (int)last_tile; at += 16) {
      aim();
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_16x16x16_bf16 v[194:197], v[26:27], v[34:35], v[194:197]\n"
        "v_readfirstlane_b32 s68, v58\n"
        "v_perm_b32 v30, v71, v67, %[lo]\n"
        "v_mul_f32 v46, %[scale], v38\n"
        "v_mfma_f32_16x16x16_bf16 a[212:215], v[26:27], v[36:37], a[212:215]\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "v_perm_b32 v31, v79, v75, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[198:201], v[28:29], v[34:35], v[198:201]\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "v_perm_b32 v32, v71, v67, %[hi]\n"
        "v_mul_f32 v47, %[scale], v39\n"
        "v_mfma_f32_16x16x16_bf16 a[216:219], v[28:29], v[36:37], a[216:219]\n"
        "s_lshl_b32 s68, s68, 6\n"
        "v_perm_b32 v33, v79, v75, %[hi]\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "v_mfma_f32_16x16x16_bf16 v[202:205], v[30:31], v[34:35], v[202:205]\n"
        "ds_read_b128 v[82:85], %[ka0] offset:0\n"
        "v_perm_b32 v26, v72, v68, %[lo]\n"
        "v_mul_f32 v48, %[scale], v40\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "v_mfma_f32_16x16x16_bf16 a[220:223], v[30:31], v[36:37], a[220:223]\n"
        "v_perm_b32 v27, v80, v76, %[lo]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "v_mfma_f32_16x16x16_bf16 v[206:209], v[32:33], v[34:35], v[206:209]\n"
        "v_perm_b32 v28, v72, v68, %[hi]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "v_mul_f32 v49, %[scale], v41\n"
        "v_mfma_f32_16x16x16_bf16 a[224:227], v[32:33], v[36:37], a[224:227]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "v_perm_b32 v29, v80, v76, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[210:213], v[26:27], v[34:35], v[210:213]\n"
        "ds_read_b128 v[86:89], %[ka1] offset:0\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "v_mul_f32 v50, %[scale], v42\n"
        "v_perm_b32 v30, v73, v69, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[228:231], v[26:27], v[36:37], a[228:231]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "v_perm_b32 v31, v81, v77, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[214:217], v[28:29], v[34:35], v[214:217]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "v_mul_f32 v51, %[scale], v43\n"
        "v_perm_b32 v32, v73, v69, %[hi]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mfma_f32_16x16x16_bf16 a[232:235], v[28:29], v[36:37], a[232:235]\n"
        "v_perm_b32 v33, v81, v77, %[hi]\n"
        "v_mov_b32 v57, %[pgo]\n"
        "v_mfma_f32_16x16x16_bf16 v[218:221], v[30:31], v[34:35], v[218:221]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:128\n"
        "v_mul_f32 v52, %[scale], v44\n"
        "global_load_dword v58, v57, %[pages]\n"
        "v_mfma_f32_16x16x16_bf16 a[236:239], v[30:31], v[36:37], a[236:239]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "v_mfma_f32_16x16x16_bf16 v[222:225], v[32:33], v[34:35], v[222:225]\n"
        "v_mul_f32 v53, %[scale], v45\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 a[240:243], v[32:33], v[36:37], a[240:243]\n"
        "global_load_lds_dword %[la0], s[64:65] offset:256\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[82:83], a[0:1], 0\n"
        "ds_read_b128 v[78:81], %[ka1] offset:128\n"
        "global_load_lds_dword %[la0], s[64:65] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[82:83], a[72:73], 0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:768\n"
        "v_max3_f32 v54, v46, v47, v48\n"
        "s_add_u32 m0, %[ml0], 4096\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[84:85], a[2:3], v[38:41]\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[84:85], a[74:75], v[42:45]\n"
        "global_load_lds_dword %[la1], s[64:65] offset:256\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[86:87], a[4:5], v[38:41]\n"
        "ds_read_b128 v[82:85], %[ka0] offset:256\n"
        "global_load_lds_dword %[la1], s[64:65] offset:512\n"
        "v_max_f32 v54, v54, v49\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[86:87], a[76:77], v[42:45]\n"
        "global_load_lds_dword %[la1], s[64:65] offset:768\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[88:89], a[6:7], v[38:41]\n"
        "s_mov_b32 m0, %[mr0]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[88:89], a[78:79], v[42:45]\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        "v_sub_f32 v54, v54, v59\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[8:9], v[38:41]\n"
        "ds_read_b128 v[86:89], %[ka1] offset:256\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[80:81], v[42:45]\n"
        "global_load_lds_dword %[la2], s[64:65] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[10:11], v[38:41]\n"
        "v_max3_f32 v55, v50, v51, v52\n"
        "global_load_lds_dword %[la2], s[64:65] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[82:83], v[42:45]\n"
        "global_load_lds_dword %[la2], s[64:65] offset:768\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[12:13], v[38:41]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:384\n"
        "s_add_u32 m0, %[ml1], 4096\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[84:85], v[42:45]\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "v_max_f32 v55, v55, v53\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[14:15], v[38:41]\n"
        "global_load_lds_dword %[la3], s[64:65] offset:256\n"
        "global_load_lds_dword %[la3], s[64:65] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[86:87], v[42:45]\n"
        "global_load_lds_dword %[la3], s[64:65] offset:768\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[82:83], a[16:17], v[38:41]\n"
        "ds_read_b128 v[78:81], %[ka1] offset:384\n"
        "v_sub_f32 v55, v55, v60\n"
        "s_mov_b32 m0, %[mr1]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[82:83], a[88:89], v[42:45]\n"
        "global_load_lds_dword %[lr1], s[66:67]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[84:85], a[18:19], v[38:41]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[84:85], a[90:91], v[42:45]\n"
        "v_max_f32 v54, v54, v55\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[86:87], a[20:21], v[38:41]\n"
        "ds_read_b128 v[82:85], %[ka0] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[86:87], a[92:93], v[42:45]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[88:89], a[22:23], v[38:41]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v54\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[88:89], a[94:95], v[42:45]\n"
        : [bad] "+s"(bad), [rise] "=s"(rise) : [lo] "s"(lo), [scale] "s"(scale), [maxid] "s"(maxid), [hi] "s"(hi), [pos] "s"(pos), [ka0] "v"(ka[0]), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ka1] "v"(ka[1]), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]), [ml1] "s"(ml[1]), [la2] "v"(la[2]), [la3] "v"(la[3]), [mr1] "s"(mr[1]), [lr1] "v"(lr[1]), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "s64", "s65", "s66", "s67", "s68", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      mask();
      rescale();
    asm volatile(
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[24:25], v[38:41]\n"
        "ds_read_b128 v[86:89], %[ka1] offset:512\n"
        "v_sub_f32 v46, v46, v59\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[96:97], v[42:45]\n"
        "v_sub_f32 v47, v47, v59\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[26:27], v[38:41]\n"
        "v_sub_f32 v48, v48, v59\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[98:99], v[42:45]\n"
        "v_sub_f32 v49, v49, v59\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[28:29], v[38:41]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:640\n"
        "v_exp_f32 v46, v46\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[100:101], v[42:45]\n"
        "v_exp_f32 v47, v47\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[30:31], v[38:41]\n"
        "v_exp_f32 v48, v48\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[102:103], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[82:83], a[32:33], v[38:41]\n"
        "ds_read_b128 v[78:81], %[ka1] offset:640\n"
        "v_exp_f32 v49, v49\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[82:83], a[104:105], v[42:45]\n"
        "v_add_f32 v61, v61, v46\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[84:85], a[34:35], v[38:41]\n"
        "v_bfe_u32 v54, v46, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[84:85], a[106:107], v[42:45]\n"
        "v_add3_u32 v46, v46, v54, %[half]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[86:87], a[36:37], v[38:41]\n"
        "ds_read_b128 v[82:85], %[ka0] offset:768\n"
        "v_add_f32 v61, v61, v47\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[86:87], a[108:109], v[42:45]\n"
        "v_bfe_u32 v55, v47, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[88:89], a[38:39], v[38:41]\n"
        "v_add3_u32 v47, v47, v55, %[half]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[88:89], a[110:111], v[42:45]\n"
        "v_add_f32 v61, v61, v48\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[40:41], v[38:41]\n"
        "ds_read_b128 v[86:89], %[ka1] offset:768\n"
        "v_bfe_u32 v54, v48, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[112:113], v[42:45]\n"
        "v_add3_u32 v48, v48, v54, %[half]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[42:43], v[38:41]\n"
        "v_add_f32 v61, v61, v49\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[114:115], v[42:45]\n"
        "v_bfe_u32 v55, v49, 16, 1\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[44:45], v[38:41]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:896\n"
        "v_add3_u32 v49, v49, v55, %[half]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[116:117], v[42:45]\n"
        "v_perm_b32 v34, v47, v46, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[46:47], v[38:41]\n"
        "v_perm_b32 v35, v49, v48, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[118:119], v[42:45]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[82:83], a[48:49], v[38:41]\n"
        "ds_read_b128 v[78:81], %[ka1] offset:896\n"
        "v_sub_f32 v50, v50, v60\n"
        "ds_read_b128 v[66:69], %[va0] offset:0\n"
        "ds_read_b128 v[70:73], %[va1] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[82:83], a[120:121], v[42:45]\n"
        "v_sub_f32 v51, v51, v60\n"
        "ds_read_b128 v[90:93], %[va2] offset:0\n"
        "ds_read_b128 v[94:97], %[va3] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[84:85], a[50:51], v[38:41]\n"
        "v_sub_f32 v52, v52, v60\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[84:85], a[122:123], v[42:45]\n"
        "v_sub_f32 v53, v53, v60\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[86:87], a[52:53], v[38:41]\n"
        "ds_read_b128 v[82:85], %[kr0] offset:0\n"
        "v_exp_f32 v50, v50\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[86:87], a[124:125], v[42:45]\n"
        "v_exp_f32 v51, v51\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[88:89], a[54:55], v[38:41]\n"
        "v_exp_f32 v52, v52\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[88:89], a[126:127], v[42:45]\n"
        "v_exp_f32 v53, v53\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[74:75], a[56:57], v[38:41]\n"
        "ds_read_b128 v[86:89], %[kr1] offset:0\n"
        "v_add_f32 v62, v62, v50\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[74:75], a[128:129], v[42:45]\n"
        "v_bfe_u32 v54, v50, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[76:77], a[58:59], v[38:41]\n"
        "v_add3_u32 v50, v50, v54, %[half]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[76:77], a[130:131], v[42:45]\n"
        "v_add_f32 v62, v62, v51\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[78:79], a[60:61], v[38:41]\n"
        "v_bfe_u32 v55, v51, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[78:79], a[132:133], v[42:45]\n"
        "v_add3_u32 v51, v51, v55, %[half]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[80:81], a[62:63], v[38:41]\n"
        "v_add_f32 v62, v62, v52\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[80:81], a[134:135], v[42:45]\n"
        "s_waitcnt lgkmcnt(1)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[82:83], a[64:65], v[38:41]\n"
        "v_bfe_u32 v54, v52, 16, 1\n"
        "ds_read_b128 v[78:81], %[va0] offset:256\n"
        "ds_read_b128 v[74:77], %[va1] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[82:83], a[136:137], v[42:45]\n"
        "v_add3_u32 v52, v52, v54, %[half]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[84:85], a[66:67], v[38:41]\n"
        "v_add_f32 v62, v62, v53\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[84:85], a[138:139], v[42:45]\n"
        "ds_read_b128 v[82:85], %[va2] offset:256\n"
        "v_bfe_u32 v55, v53, 16, 1\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[86:87], a[68:69], v[38:41]\n"
        "v_add3_u32 v53, v53, v55, %[half]\n"
        "v_perm_b32 v26, v70, v66, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[86:87], a[140:141], v[42:45]\n"
        "v_perm_b32 v36, v51, v50, %[hi]\n"
        "v_perm_b32 v27, v94, v90, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[38:41], v[88:89], a[70:71], v[38:41]\n"
        "v_perm_b32 v37, v53, v52, %[hi]\n"
        "v_perm_b32 v28, v70, v66, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[42:45], v[88:89], a[142:143], v[42:45]\n"
        "ds_read_b128 v[86:89], %[va3] offset:256\n"
        "v_perm_b32 v29, v94, v90, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[98:101], v[26:27], v[34:35], v[98:101]\n"
        "v_perm_b32 v30, v71, v67, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[226:229], v[26:27], v[36:37], v[226:229]\n"
        "v_perm_b32 v31, v95, v91, %[lo]\n"
        "v_lshlrev_b32 v54, 16, v34\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[28:29], v[34:35], v[102:105]\n"
        "v_perm_b32 v32, v71, v67, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[230:233], v[28:29], v[36:37], v[230:233]\n"
        "v_perm_b32 v33, v95, v91, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[30:31], v[34:35], v[106:109]\n"
        "v_perm_b32 v26, v72, v68, %[lo]\n"
        "v_add_f32 v63, v63, v54\n"
        "v_mfma_f32_16x16x16_bf16 v[234:237], v[30:31], v[36:37], v[234:237]\n"
        "v_perm_b32 v27, v96, v92, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[32:33], v[34:35], v[110:113]\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "s_add_u32 %[ml0], %[wd], %[ml0]\n"
        "v_perm_b32 v28, v72, v68, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[238:241], v[32:33], v[36:37], v[238:241]\n"
        "v_perm_b32 v29, v96, v92, %[hi]\n"
        "v_and_b32 v54, 0xffff0000, v34\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[26:27], v[34:35], v[114:117]\n"
        "v_perm_b32 v30, v73, v69, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[242:245], v[26:27], v[36:37], v[242:245]\n"
        "v_perm_b32 v31, v97, v93, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[28:29], v[34:35], v[118:121]\n"
        "v_perm_b32 v32, v73, v69, %[hi]\n"
        "v_add_f32 v63, v63, v54\n"
        "ds_read_b128 v[66:69], %[va0] offset:512\n"
        "ds_read_b128 v[70:73], %[va1] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[246:249], v[28:29], v[36:37], v[246:249]\n"
        "v_perm_b32 v33, v97, v93, %[hi]\n"
        "ds_read_b128 v[90:93], %[va2] offset:512\n"
        "ds_read_b128 v[94:97], %[va3] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[30:31], v[34:35], v[122:125]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v26, v74, v78, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[250:253], v[30:31], v[36:37], v[250:253]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v27, v86, v82, %[lo]\n"
        "v_lshlrev_b32 v55, 16, v35\n"
        "v_mfma_f32_16x16x16_bf16 v[126:129], v[32:33], v[34:35], v[126:129]\n"
        "v_perm_b32 v28, v74, v78, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[144:147], v[32:33], v[36:37], a[144:147]\n"
        "v_perm_b32 v29, v86, v82, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[130:133], v[26:27], v[34:35], v[130:133]\n"
        "v_perm_b32 v30, v75, v79, %[lo]\n"
        "v_add_f32 v63, v63, v55\n"
        "v_mfma_f32_16x16x16_bf16 a[148:151], v[26:27], v[36:37], a[148:151]\n"
        "v_perm_b32 v31, v87, v83, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[134:137], v[28:29], v[34:35], v[134:137]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "s_add_u32 %[mr0], %[wd], %[mr0]\n"
        "v_perm_b32 v32, v75, v79, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[152:155], v[28:29], v[36:37], a[152:155]\n"
        "v_perm_b32 v33, v87, v83, %[hi]\n"
        "v_and_b32 v55, 0xffff0000, v35\n"
        "v_mfma_f32_16x16x16_bf16 v[138:141], v[30:31], v[34:35], v[138:141]\n"
        "v_perm_b32 v26, v76, v80, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[156:159], v[30:31], v[36:37], a[156:159]\n"
        "v_perm_b32 v27, v88, v84, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[142:145], v[32:33], v[34:35], v[142:145]\n"
        "v_perm_b32 v28, v76, v80, %[hi]\n"
        "v_add_f32 v63, v63, v55\n"
        "v_mfma_f32_16x16x16_bf16 a[160:163], v[32:33], v[36:37], a[160:163]\n"
        "v_perm_b32 v29, v88, v84, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[146:149], v[26:27], v[34:35], v[146:149]\n"
        "v_perm_b32 v30, v77, v81, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[164:167], v[26:27], v[36:37], a[164:167]\n"
        "v_perm_b32 v31, v89, v85, %[lo]\n"
        "v_lshlrev_b32 v54, 16, v36\n"
        "v_mfma_f32_16x16x16_bf16 v[150:153], v[28:29], v[34:35], v[150:153]\n"
        "v_perm_b32 v32, v77, v81, %[hi]\n"
        "ds_read_b128 v[74:77], %[va2] offset:768\n"
        "ds_read_b128 v[78:81], %[va3] offset:768\n"
        "v_mfma_f32_16x16x16_bf16 a[168:171], v[28:29], v[36:37], a[168:171]\n"
        "v_perm_b32 v33, v89, v85, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[154:157], v[30:31], v[34:35], v[154:157]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v26, v70, v66, %[lo]\n"
        "v_add_f32 v64, v64, v54\n"
        "v_mfma_f32_16x16x16_bf16 a[172:175], v[30:31], v[36:37], a[172:175]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_perm_b32 v27, v94, v90, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[158:161], v[32:33], v[34:35], v[158:161]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "s_add_u32 %[ml1], %[wd], %[ml1]\n"
        "v_perm_b32 v28, v70, v66, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[176:179], v[32:33], v[36:37], a[176:179]\n"
        "v_perm_b32 v29, v94, v90, %[hi]\n"
        "v_and_b32 v54, 0xffff0000, v36\n"
        "v_mfma_f32_16x16x16_bf16 v[162:165], v[26:27], v[34:35], v[162:165]\n"
        "v_perm_b32 v30, v71, v67, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[180:183], v[26:27], v[36:37], a[180:183]\n"
        "v_perm_b32 v31, v95, v91, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[166:169], v[28:29], v[34:35], v[166:169]\n"
        "v_perm_b32 v32, v71, v67, %[hi]\n"
        "v_add_f32 v64, v64, v54\n"
        "v_mfma_f32_16x16x16_bf16 a[184:187], v[28:29], v[36:37], a[184:187]\n"
        "v_perm_b32 v33, v95, v91, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[170:173], v[30:31], v[34:35], v[170:173]\n"
        "v_perm_b32 v26, v72, v68, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[188:191], v[30:31], v[36:37], a[188:191]\n"
        "v_perm_b32 v27, v96, v92, %[lo]\n"
        "v_lshlrev_b32 v55, 16, v37\n"
        "v_mfma_f32_16x16x16_bf16 v[174:177], v[32:33], v[34:35], v[174:177]\n"
        "v_perm_b32 v28, v72, v68, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[192:195], v[32:33], v[36:37], a[192:195]\n"
        "v_perm_b32 v29, v96, v92, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[178:181], v[26:27], v[34:35], v[178:181]\n"
        "v_perm_b32 v30, v73, v69, %[lo]\n"
        "v_add_f32 v64, v64, v55\n"
        "v_mfma_f32_16x16x16_bf16 a[196:199], v[26:27], v[36:37], a[196:199]\n"
        "v_perm_b32 v31, v97, v93, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[182:185], v[28:29], v[34:35], v[182:185]\n"
        "v_add_u32 %[kr1], %[kd], %[kr1]\n"
        "s_add_u32 %[mr1], %[wd], %[mr1]\n"
        "v_perm_b32 v32, v73, v69, %[hi]\n"
        "ds_read_b128 v[66:69], %[va0] offset:768\n"
        "ds_read_b128 v[70:73], %[va1] offset:768\n"
        "v_mfma_f32_16x16x16_bf16 a[200:203], v[28:29], v[36:37], a[200:203]\n"
        "v_perm_b32 v33, v97, v93, %[hi]\n"
        "v_and_b32 v55, 0xffff0000, v37\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_mfma_f32_16x16x16_bf16 v[186:189], v[30:31], v[34:35], v[186:189]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v26, v70, v66, %[lo]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_mfma_f32_16x16x16_bf16 a[204:207], v[30:31], v[36:37], a[204:207]\n"
        "v_perm_b32 v27, v78, v74, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[190:193], v[32:33], v[34:35], v[190:193]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_perm_b32 v28, v70, v66, %[hi]\n"
        "v_add_f32 v64, v64, v55\n"
        "v_mfma_f32_16x16x16_bf16 a[208:211], v[32:33], v[36:37], a[208:211]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        "v_perm_b32 v29, v78, v74, %[hi]\n"
        : [ka1] "+v"(ka[1]), [ka0] "+v"(ka[0]), [va0] "+v"(va[0]), [va1] "+v"(va[1]), [va2] "+v"(va[2]), [va3] "+v"(va[3]), [kr0] "+v"(kr[0]), [kr1] "+v"(kr[1]), [ml0] "+s"(ml[0]), [mr0] "+s"(mr[0]), [ml1] "+s"(ml[1]), [mr1] "+s"(mr[1]) : [half] "s"(half), [hi] "s"(hi), [lo] "s"(lo), [kd] "s"(kd), [wd] "s"(wd), [vd] "s"(vd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      turn();
    }
    {
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_16x16x16_bf16 v[194:197], v[26:27], v[34:35], v[194:197]\n"
        "ds_read_b128 v[82:85], %[va0] offset:0\n"
        "ds_read_b128 v[86:89], %[va1] offset:0\n"
        "ds_read_b128 v[90:93], %[va2] offset:0\n"
        "ds_read_b128 v[94:97], %[va3] offset:0\n"
        "v_perm_b32 v30, v71, v67, %[lo]\n"
        "v_mul_f32 v46, %[scale], v38\n"
        "v_mfma_f32_16x16x16_bf16 a[212:215], v[26:27], v[36:37], a[212:215]\n"
        "v_perm_b32 v31, v79, v75, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[198:201], v[28:29], v[34:35], v[198:201]\n"
        "v_perm_b32 v32, v71, v67, %[hi]\n"
        "v_mul_f32 v47, %[scale], v39\n"
        "v_mfma_f32_16x16x16_bf16 a[216:219], v[28:29], v[36:37], a[216:219]\n"
        "v_perm_b32 v33, v79, v75, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[202:205], v[30:31], v[34:35], v[202:205]\n"
        "v_perm_b32 v26, v72, v68, %[lo]\n"
        "v_mul_f32 v48, %[scale], v40\n"
        "v_mfma_f32_16x16x16_bf16 a[220:223], v[30:31], v[36:37], a[220:223]\n"
        "v_perm_b32 v27, v80, v76, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[206:209], v[32:33], v[34:35], v[206:209]\n"
        "v_perm_b32 v28, v72, v68, %[hi]\n"
        "v_mul_f32 v49, %[scale], v41\n"
        "v_mfma_f32_16x16x16_bf16 a[224:227], v[32:33], v[36:37], a[224:227]\n"
        "v_perm_b32 v29, v80, v76, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[210:213], v[26:27], v[34:35], v[210:213]\n"
        "v_mul_f32 v50, %[scale], v42\n"
        "v_perm_b32 v30, v73, v69, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[228:231], v[26:27], v[36:37], a[228:231]\n"
        "v_perm_b32 v31, v81, v77, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[214:217], v[28:29], v[34:35], v[214:217]\n"
        "v_mul_f32 v51, %[scale], v43\n"
        "v_perm_b32 v32, v73, v69, %[hi]\n"
        "ds_read_b128 v[66:69], %[va0] offset:256\n"
        "ds_read_b128 v[70:73], %[va1] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 a[232:235], v[28:29], v[36:37], a[232:235]\n"
        "v_perm_b32 v33, v81, v77, %[hi]\n"
        "ds_read_b128 v[74:77], %[va2] offset:256\n"
        "ds_read_b128 v[78:81], %[va3] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 v[218:221], v[30:31], v[34:35], v[218:221]\n"
        "v_mul_f32 v52, %[scale], v44\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v26, v86, v82, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[236:239], v[30:31], v[36:37], a[236:239]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v27, v94, v90, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[222:225], v[32:33], v[34:35], v[222:225]\n"
        "v_mul_f32 v53, %[scale], v45\n"
        "v_perm_b32 v28, v86, v82, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[240:243], v[32:33], v[36:37], a[240:243]\n"
        "v_perm_b32 v29, v94, v90, %[hi]\n"
        "v_max3_f32 v54, v46, v47, v48\n"
        "v_max_f32 v54, v54, v49\n"
        "v_sub_f32 v54, v54, v59\n"
        "v_max3_f32 v55, v50, v51, v52\n"
        "v_max_f32 v55, v55, v53\n"
        "v_sub_f32 v55, v55, v60\n"
        "v_max_f32 v54, v54, v55\n"
        "v_cmp_lt_f32 %[rise], %[slack], v54\n"
        : [rise] "=s"(rise) : [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [lo] "s"(lo), [scale] "s"(scale), [hi] "s"(hi), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      mask();
      rescale();
    asm volatile(
        "v_sub_f32 v46, v46, v59\n"
        "v_sub_f32 v47, v47, v59\n"
        "v_sub_f32 v48, v48, v59\n"
        "v_sub_f32 v49, v49, v59\n"
        "v_exp_f32 v46, v46\n"
        "v_exp_f32 v47, v47\n"
        "v_exp_f32 v48, v48\n"
        "v_exp_f32 v49, v49\n"
        "v_add_f32 v61, v61, v46\n"
        "v_bfe_u32 v54, v46, 16, 1\n"
        "v_add3_u32 v46, v46, v54, %[half]\n"
        "v_add_f32 v61, v61, v47\n"
        "v_bfe_u32 v55, v47, 16, 1\n"
        "v_add3_u32 v47, v47, v55, %[half]\n"
        "v_add_f32 v61, v61, v48\n"
        "v_bfe_u32 v54, v48, 16, 1\n"
        "v_add3_u32 v48, v48, v54, %[half]\n"
        "v_add_f32 v61, v61, v49\n"
        "v_bfe_u32 v55, v49, 16, 1\n"
        "v_add3_u32 v49, v49, v55, %[half]\n"
        "v_perm_b32 v34, v47, v46, %[hi]\n"
        "v_perm_b32 v35, v49, v48, %[hi]\n"
        "v_sub_f32 v50, v50, v60\n"
        "v_sub_f32 v51, v51, v60\n"
        "v_sub_f32 v52, v52, v60\n"
        "v_sub_f32 v53, v53, v60\n"
        "v_exp_f32 v50, v50\n"
        "v_exp_f32 v51, v51\n"
        "v_exp_f32 v52, v52\n"
        "v_exp_f32 v53, v53\n"
        "v_add_f32 v62, v62, v50\n"
        "v_bfe_u32 v54, v50, 16, 1\n"
        "v_add3_u32 v50, v50, v54, %[half]\n"
        "v_add_f32 v62, v62, v51\n"
        "v_bfe_u32 v55, v51, 16, 1\n"
        "v_add3_u32 v51, v51, v55, %[half]\n"
        "v_add_f32 v62, v62, v52\n"
        "v_bfe_u32 v54, v52, 16, 1\n"
        "v_add3_u32 v52, v52, v54, %[half]\n"
        "v_add_f32 v62, v62, v53\n"
        "v_bfe_u32 v55, v53, 16, 1\n"
        "v_add3_u32 v53, v53, v55, %[half]\n"
        "v_perm_b32 v36, v51, v50, %[hi]\n"
        "v_perm_b32 v37, v53, v52, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[98:101], v[26:27], v[34:35], v[98:101]\n"
        "v_perm_b32 v30, v87, v83, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[226:229], v[26:27], v[36:37], v[226:229]\n"
        "v_perm_b32 v31, v95, v91, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[28:29], v[34:35], v[102:105]\n"
        "v_lshlrev_b32 v54, 16, v34\n"
        "v_perm_b32 v32, v87, v83, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[230:233], v[28:29], v[36:37], v[230:233]\n"
        "v_perm_b32 v33, v95, v91, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[30:31], v[34:35], v[106:109]\n"
        "v_perm_b32 v26, v88, v84, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[234:237], v[30:31], v[36:37], v[234:237]\n"
        "v_perm_b32 v27, v96, v92, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[32:33], v[34:35], v[110:113]\n"
        "v_add_f32 v63, v63, v54\n"
        "v_perm_b32 v28, v88, v84, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[238:241], v[32:33], v[36:37], v[238:241]\n"
        "v_perm_b32 v29, v96, v92, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[26:27], v[34:35], v[114:117]\n"
        "v_perm_b32 v30, v89, v85, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[242:245], v[26:27], v[36:37], v[242:245]\n"
        "v_perm_b32 v31, v97, v93, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[28:29], v[34:35], v[118:121]\n"
        "v_and_b32 v54, 0xffff0000, v34\n"
        "v_perm_b32 v32, v89, v85, %[hi]\n"
        "ds_read_b128 v[82:85], %[va0] offset:512\n"
        "ds_read_b128 v[86:89], %[va1] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[246:249], v[28:29], v[36:37], v[246:249]\n"
        "v_perm_b32 v33, v97, v93, %[hi]\n"
        "ds_read_b128 v[90:93], %[va2] offset:512\n"
        "ds_read_b128 v[94:97], %[va3] offset:512\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[30:31], v[34:35], v[122:125]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v26, v70, v66, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[250:253], v[30:31], v[36:37], v[250:253]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v27, v78, v74, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[126:129], v[32:33], v[34:35], v[126:129]\n"
        "v_add_f32 v63, v63, v54\n"
        "v_perm_b32 v28, v70, v66, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[144:147], v[32:33], v[36:37], a[144:147]\n"
        "v_perm_b32 v29, v78, v74, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[130:133], v[26:27], v[34:35], v[130:133]\n"
        "v_perm_b32 v30, v71, v67, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[148:151], v[26:27], v[36:37], a[148:151]\n"
        "v_perm_b32 v31, v79, v75, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[134:137], v[28:29], v[34:35], v[134:137]\n"
        "v_lshlrev_b32 v55, 16, v35\n"
        "v_perm_b32 v32, v71, v67, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[152:155], v[28:29], v[36:37], a[152:155]\n"
        "v_perm_b32 v33, v79, v75, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[138:141], v[30:31], v[34:35], v[138:141]\n"
        "v_perm_b32 v26, v72, v68, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[156:159], v[30:31], v[36:37], a[156:159]\n"
        "v_perm_b32 v27, v80, v76, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[142:145], v[32:33], v[34:35], v[142:145]\n"
        "v_add_f32 v63, v63, v55\n"
        "v_perm_b32 v28, v72, v68, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[160:163], v[32:33], v[36:37], a[160:163]\n"
        "v_perm_b32 v29, v80, v76, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[146:149], v[26:27], v[34:35], v[146:149]\n"
        "v_perm_b32 v30, v73, v69, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[164:167], v[26:27], v[36:37], a[164:167]\n"
        "v_perm_b32 v31, v81, v77, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[150:153], v[28:29], v[34:35], v[150:153]\n"
        "v_and_b32 v55, 0xffff0000, v35\n"
        "v_perm_b32 v32, v73, v69, %[hi]\n"
        "ds_read_b128 v[66:69], %[va0] offset:768\n"
        "ds_read_b128 v[70:73], %[va1] offset:768\n"
        "v_mfma_f32_16x16x16_bf16 a[168:171], v[28:29], v[36:37], a[168:171]\n"
        "v_perm_b32 v33, v81, v77, %[hi]\n"
        "ds_read_b128 v[74:77], %[va2] offset:768\n"
        "ds_read_b128 v[78:81], %[va3] offset:768\n"
        "v_mfma_f32_16x16x16_bf16 v[154:157], v[30:31], v[34:35], v[154:157]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v26, v86, v82, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[172:175], v[30:31], v[36:37], a[172:175]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v27, v94, v90, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[158:161], v[32:33], v[34:35], v[158:161]\n"
        "v_add_f32 v63, v63, v55\n"
        "v_perm_b32 v28, v86, v82, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[176:179], v[32:33], v[36:37], a[176:179]\n"
        "v_perm_b32 v29, v94, v90, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[162:165], v[26:27], v[34:35], v[162:165]\n"
        "v_perm_b32 v30, v87, v83, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[180:183], v[26:27], v[36:37], a[180:183]\n"
        "v_perm_b32 v31, v95, v91, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[166:169], v[28:29], v[34:35], v[166:169]\n"
        "v_lshlrev_b32 v54, 16, v36\n"
        "v_perm_b32 v32, v87, v83, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[184:187], v[28:29], v[36:37], a[184:187]\n"
        "v_perm_b32 v33, v95, v91, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[170:173], v[30:31], v[34:35], v[170:173]\n"
        "v_perm_b32 v26, v88, v84, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[188:191], v[30:31], v[36:37], a[188:191]\n"
        "v_perm_b32 v27, v96, v92, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[174:177], v[32:33], v[34:35], v[174:177]\n"
        "v_add_f32 v64, v64, v54\n"
        "v_perm_b32 v28, v88, v84, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[192:195], v[32:33], v[36:37], a[192:195]\n"
        "v_perm_b32 v29, v96, v92, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[178:181], v[26:27], v[34:35], v[178:181]\n"
        "v_perm_b32 v30, v89, v85, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[196:199], v[26:27], v[36:37], a[196:199]\n"
        "v_perm_b32 v31, v97, v93, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[182:185], v[28:29], v[34:35], v[182:185]\n"
        "v_and_b32 v54, 0xffff0000, v36\n"
        "v_perm_b32 v32, v89, v85, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[200:203], v[28:29], v[36:37], a[200:203]\n"
        "v_perm_b32 v33, v97, v93, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[186:189], v[30:31], v[34:35], v[186:189]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_perm_b32 v26, v70, v66, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[204:207], v[30:31], v[36:37], a[204:207]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v27, v78, v74, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[190:193], v[32:33], v[34:35], v[190:193]\n"
        "v_add_f32 v64, v64, v54\n"
        "v_perm_b32 v28, v70, v66, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[208:211], v[32:33], v[36:37], a[208:211]\n"
        "v_perm_b32 v29, v78, v74, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[194:197], v[26:27], v[34:35], v[194:197]\n"
        "v_perm_b32 v30, v71, v67, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[212:215], v[26:27], v[36:37], a[212:215]\n"
        "v_perm_b32 v31, v79, v75, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[198:201], v[28:29], v[34:35], v[198:201]\n"
        "v_lshlrev_b32 v55, 16, v37\n"
        "v_perm_b32 v32, v71, v67, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[216:219], v[28:29], v[36:37], a[216:219]\n"
        "v_perm_b32 v33, v79, v75, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[202:205], v[30:31], v[34:35], v[202:205]\n"
        "v_perm_b32 v26, v72, v68, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[220:223], v[30:31], v[36:37], a[220:223]\n"
        "v_perm_b32 v27, v80, v76, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[206:209], v[32:33], v[34:35], v[206:209]\n"
        "v_add_f32 v64, v64, v55\n"
        "v_perm_b32 v28, v72, v68, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[224:227], v[32:33], v[36:37], a[224:227]\n"
        "v_perm_b32 v29, v80, v76, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[210:213], v[26:27], v[34:35], v[210:213]\n"
        "v_perm_b32 v30, v73, v69, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 a[228:231], v[26:27], v[36:37], a[228:231]\n"
        "v_perm_b32 v31, v81, v77, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[214:217], v[28:29], v[34:35], v[214:217]\n"
        "v_and_b32 v55, 0xffff0000, v37\n"
        "v_perm_b32 v32, v73, v69, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 a[232:235], v[28:29], v[36:37], a[232:235]\n"
        "v_perm_b32 v33, v81, v77, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[218:221], v[30:31], v[34:35], v[218:221]\n"
        "v_mfma_f32_16x16x16_bf16 a[236:239], v[30:31], v[36:37], a[236:239]\n"
        "v_mfma_f32_16x16x16_bf16 v[222:225], v[32:33], v[34:35], v[222:225]\n"
        "v_add_f32 v64, v64, v55\n"
        "v_mfma_f32_16x16x16_bf16 a[240:243], v[32:33], v[36:37], a[240:243]\n"
        :  : [half] "s"(half), [hi] "s"(hi), [lo] "s"(lo), [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    asm volatile("s_nop 7\ns_waitcnt vmcnt(0)" ::: "memory"); // O's last MFMAs; copies nobody waited for
  }

  // ---- The result ----
  const mlaf_decode_args to = arguments_again();
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
    asm volatile("v_mov_b32 %0, v59\nv_mov_b32 %1, v61\nv_mov_b32 %2, v63"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          "v_mul_f32 %0, v98, %8\n"
          "v_mul_f32 %1, v102, %8\n"
          "v_mul_f32 %2, v106, %8\n"
          "v_mul_f32 %3, v110, %8\n"
          "v_mul_f32 %4, v114, %8\n"
          "v_mul_f32 %5, v118, %8\n"
          "v_mul_f32 %6, v122, %8\n"
          "v_mul_f32 %7, v126, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v99, %8\n"
          "v_mul_f32 %1, v103, %8\n"
          "v_mul_f32 %2, v107, %8\n"
          "v_mul_f32 %3, v111, %8\n"
          "v_mul_f32 %4, v115, %8\n"
          "v_mul_f32 %5, v119, %8\n"
          "v_mul_f32 %6, v123, %8\n"
          "v_mul_f32 %7, v127, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 96, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v130, %8\n"
          "v_mul_f32 %1, v134, %8\n"
          "v_mul_f32 %2, v138, %8\n"
          "v_mul_f32 %3, v142, %8\n"
          "v_mul_f32 %4, v146, %8\n"
          "v_mul_f32 %5, v150, %8\n"
          "v_mul_f32 %6, v154, %8\n"
          "v_mul_f32 %7, v158, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 128, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v131, %8\n"
          "v_mul_f32 %1, v135, %8\n"
          "v_mul_f32 %2, v139, %8\n"
          "v_mul_f32 %3, v143, %8\n"
          "v_mul_f32 %4, v147, %8\n"
          "v_mul_f32 %5, v151, %8\n"
          "v_mul_f32 %6, v155, %8\n"
          "v_mul_f32 %7, v159, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 160, x);
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 192, x);
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 224, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v162, %8\n"
          "v_mul_f32 %1, v166, %8\n"
          "v_mul_f32 %2, v170, %8\n"
          "v_mul_f32 %3, v174, %8\n"
          "v_mul_f32 %4, v178, %8\n"
          "v_mul_f32 %5, v182, %8\n"
          "v_mul_f32 %6, v186, %8\n"
          "v_mul_f32 %7, v190, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 256, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v163, %8\n"
          "v_mul_f32 %1, v167, %8\n"
          "v_mul_f32 %2, v171, %8\n"
          "v_mul_f32 %3, v175, %8\n"
          "v_mul_f32 %4, v179, %8\n"
          "v_mul_f32 %5, v183, %8\n"
          "v_mul_f32 %6, v187, %8\n"
          "v_mul_f32 %7, v191, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 288, x);
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 320, x);
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 352, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v194, %8\n"
          "v_mul_f32 %1, v198, %8\n"
          "v_mul_f32 %2, v202, %8\n"
          "v_mul_f32 %3, v206, %8\n"
          "v_mul_f32 %4, v210, %8\n"
          "v_mul_f32 %5, v214, %8\n"
          "v_mul_f32 %6, v218, %8\n"
          "v_mul_f32 %7, v222, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 384, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v195, %8\n"
          "v_mul_f32 %1, v199, %8\n"
          "v_mul_f32 %2, v203, %8\n"
          "v_mul_f32 %3, v207, %8\n"
          "v_mul_f32 %4, v211, %8\n"
          "v_mul_f32 %5, v215, %8\n"
          "v_mul_f32 %6, v219, %8\n"
          "v_mul_f32 %7, v223, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 416, x);
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 448, x);
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 480, x);
    }
  }
  {
    constexpr int FIRST = 16;
    const int row = wave * BLOCKS * 16 + FIRST + (lane & 15);
    float top, sum, total;
    asm volatile("v_mov_b32 %0, v60\nv_mov_b32 %1, v62\nv_mov_b32 %2, v64"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          "v_mul_f32 %0, v226, %8\n"
          "v_mul_f32 %1, v230, %8\n"
          "v_mul_f32 %2, v234, %8\n"
          "v_mul_f32 %3, v238, %8\n"
          "v_mul_f32 %4, v242, %8\n"
          "v_mul_f32 %5, v246, %8\n"
          "v_mul_f32 %6, v250, %8\n"
          "v_accvgpr_read_b32 %7, a144\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
          "v_mul_f32 %0, v227, %8\n"
          "v_mul_f32 %1, v231, %8\n"
          "v_mul_f32 %2, v235, %8\n"
          "v_mul_f32 %3, v239, %8\n"
          "v_mul_f32 %4, v243, %8\n"
          "v_mul_f32 %5, v247, %8\n"
          "v_mul_f32 %6, v251, %8\n"
          "v_accvgpr_read_b32 %7, a145\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<1>(out, final, put, get, key, group ^ 0, 32, x);
    }
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
          "v_accvgpr_read_b32 %7, a146\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<2>(out, final, put, get, key, group ^ 2, 64, x);
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
          "v_accvgpr_read_b32 %7, a147\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
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
          : "v"(weight) : "v59", "v60", "v61", "v62", "v63", "v64", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<3>(out, final, put, get, key, group ^ 2, 480, x);
    }
  }
}

// ---- The kernel ----------------------------------------------------------------------------------------------------
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                     amdgpu_num_vgpr(26))) void
mlaf_mla_decode_mfma_lds_c50d1d51(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[55296];
  const int wave = uniform(thread_id() >> 6);
  piece x;
  walk w = begin_walk(a, lane_again());
#pragma nounroll
  while (next_piece(w, x)) {
    int mine = wave;
    asm volatile("" : "+s"(mine)); // as lane_again(): what follows from it is computed anew for each piece
    work_on(arguments_again(), x, lds, mine);
    __syncthreads(); // what waves still read is where the next piece's tiles and Q come
  }
}
