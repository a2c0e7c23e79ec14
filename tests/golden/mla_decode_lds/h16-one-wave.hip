// Generated from templates/mla_decode_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_7f8a3f4e
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
//   stages = 2
//   waves = 1
// regenerate: lua5.4 gen/cli.lua render mla_decode_lds target=gfx942 blocks=1 causal=0 dtype=f16 heads=16 load=vgpr order=plain page_size=64 q_len=1 rank=128 rescale=lazy rope=64 stages=2 waves=1
// MLA decode for many heads: a tile of KV in LDS, shared by all waves of a workgroup, serves K and V; MFMA throughput binds.
//
// A workgroup owns ROWS = 16*waves*blocks query rows (head-major within a token) of one request and one KV split. Wave w owns the
// rows [16*blocks*w, + 16*blocks) for everything: their Q, their running O^T, their m and l. All waves together copy the tiles of 16
// tokens into a ring of LDS stages, each tile once per workgroup, and meet at one barrier per tile.
//
//   LDS stage: 16 latent rows of 2*rank bytes | 16 rope rows of 128 bytes (rope 32 uses half), 16-byte chunks XOR-swizzled:
//       row t holds chunk c at place c ^ 2*(t & 3).   With rows a multiple of 128 bytes apart that is free of bank conflicts both
//       for K (lane l: row l%16, chunk 4f + l/16) and for V (lane l: row 4(l/16)+r, chunk 16j + l%16).
//       Rope rows lie in the order in which pairs of them are copied: slot 2*((t&3) + 4*(t>>3)) + (t>>2 & 1).
//
//   S^T = K Q^T      A = K fragment f (one ds_read_b128: columns 32f + 8(l/16) .. +7, two MFMAs), B = Q from accumulation registers.
//                    One fragment serves all blocks of the wave.
//   P                S^T in D layout (lane l, register r: token 4(l/16)+r, row l%16) is, after exp2 and packing, B of the next product.
//   O^T += V^T P^T   A = V^T by v_perm from four row reads, one per token 4(l/16)+r: the eight columns 128j + 8(l%16) + c of a lane are
//                    eight operands; each serves all blocks. O^T block (j,c), lane l, register r: column 128j + 8(4(l/16)+r) + c.
//
// Inner blocks are assembly with fixed registers, because no compiler version places 450 live registers without spilling. The
// listings come from gen/lds_loop.lua: streams of instructions (MFMA, LDS reads, joins, softmax, copies, addresses) laid over each
// other by position and woven by gen/weave.lua, which also puts in every wait and wait state. The compiler owns v0 .. v<frame-1>
// and the code between the blocks.
//
//   order=plain  [wait, barrier | QK(t), copy] mask? rescale? [softmax(t), PV(t)]            2 stages; 3 with dma keep two copies in flight
//   order=ahead  [wait, barrier | PV(t-1) rest, QK(t+1) begins, copy] mask? rescale? [QK(t+1) ends, softmax(t), PV(t) but its rest]
//                3 stages: softmax in the shadow of QK, and MFMAs to issue while the barrier's LDS reads are on their way
//
//   load=dma     direct-to-LDS copies: 64 lanes bring 256 bytes of one row, lane i the dword whose place is i: the swizzle is in the address
//   load=vgpr    16-byte loads into registers, written to LDS one iteration later
//
// Numbers: as in mla_decode_reg. rescale=lazy: O is rescaled when a score exceeds its row's m by more than 8 in base 2; always: in
// every tile. Rows of the last tile beyond the end repeat the request's last token. A page id outside the cache is replaced by the last
// page for the copy and turns the workgroup's result into NaN.
//
// Limits: row strides below 4 GiB, fewer than 2^32 cache rows.



#define MLAF_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/lib/args.h]
// [templates/lib/grid.h]
// [templates/lib/paging.h]

constexpr int H = 16, Q_LEN = 1, R = 128, P = 64, PAGE = 64;
constexpr bool CAUSAL = 0, LAZY = true;
constexpr int WAVES = 1, BLOCKS = 1, ROWS = 16, NJ = 1;
constexpr u32 STAGES = 2, STAGE_BYTES = 6144, LATENT_BYTES = 4096, ROW_BYTES = 256;
constexpr int UNITS = 4, LEAD = 2;

// The lane number, made anew where it is seldom needed, so that nothing derived from it occupies a register in the loop.
MLAF_DEV int lane_again() {
  int x;
  asm volatile("v_mbcnt_lo_u32_b32 %0, -1, 0\nv_mbcnt_hi_u32_b32 %0, -1, %0" : "=v"(x));
  return x;
}

// ---- Which rows, which tokens -----------------------------------------------------------------------------------------------------
struct rows_and_tokens {
  i64 row;                // first row of this workgroup, counted over all requests
  int rows;               // rows of the request from there on
  int first_row;          // within the request
  int n;                  // query tokens of the request
  int tokens, begin, tiles; // cached tokens; this split's first and its number of tiles
};

// Tokens that a row sees.
MLAF_DEV int visible(const rows_and_tokens& w, int row) {
  return CAUSAL ? w.tokens - (w.n - 1 - (w.first_row + row) / H) : w.tokens;
}

// ---- Copy addresses ---------------------------------------------------------------------------------------------------------------
// Where the lanes of unit u copy from, relative to the tile's first row (whole pages) or to their own row. dma: unit u of wave w is
// the pair of rows t, t+4 with t = (i & 3) + 8*(i >> 2), i = w + WAVES*u; vgpr: rows 4i + l/16, i = w + WAVES*u.
MLAF_DEV int unit_of(int wave, int u) { return (wave + WAVES * u) & 7; } // & 7: spare turns repeat a pair
constexpr u32 HALVES = 1, ROPE_LANE = P / (8 * HALVES); // bytes of a rope row that a lane copies
MLAF_DEV int group_row(int wave, int u, int lane) { return 4 * ((wave & 3) + WAVES * u) + (lane >> 4); }
MLAF_DEV u32 latent_column(int wave, int lane) { return (u32)(wave >> 2) * (R / HALVES * 2) + 16 * (lane & 15); }
MLAF_DEV u32 rope_column(int wave, int lane) { return (u32)(wave >> 2) * 64 + ROPE_LANE * (lane & 15); }

// Byte offsets from the tile's first row; rows behind `last` repeat it.
MLAF_DEV void tile_offsets(u32 last, u32 cs, u32 ks, int wave, int lane, u32 (&la)[4], u32 (&lr)[UNITS]) {
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const u32 t = smaller((u32)group_row(wave, u, lane), last);
    la[u] = t * cs + latent_column(wave, lane);
    lr[u] = t * ks + rope_column(wave, lane);
  }
}

// Eight columns of a row.
MLAF_DEV void write_o(const mlaf_decode_args& a, bool final, i64 part_at, i64 at, const float (&x)[8], float weight) {
  if (final) {
    u32x4 packed;
#pragma unroll
    for (int i = 0; i < 4; i++) packed[i] = pack2(x[2 * i] * weight, x[2 * i + 1] * weight);
    *(MLAF_GLOBAL u32x4*)(global(a.o) + 2 * at) = packed;
  } else {
    MLAF_GLOBAL f32x4* to = (MLAF_GLOBAL f32x4*)(global(a.part_o) + 4 * part_at);
    to[0] = f32x4{x[0] * weight, x[1] * weight, x[2] * weight, x[3] * weight};
    to[1] = f32x4{x[4] * weight, x[5] * weight, x[6] * weight, x[7] * weight};
  }
}

// ---- The kernel -------------------------------------------------------------------------------------------------------------------
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64), amdgpu_num_vgpr(34))) void
mlaf_mla_decode_7f8a3f4e(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[12288];
  const work mine = my_work<1>(a.splits, a.batch);
  const int request = mine.request, split = mine.split, wave = uniform(thread_id() >> 6);
  const bool final = a.splits == 1;

  rows_and_tokens w;
  const int q_begin = constants(a.qo_indptr)[request];
  w.n = smaller(constants(a.qo_indptr)[request + 1] - q_begin, Q_LEN);
  w.first_row = mine.rows * ROWS;
  w.rows = w.n * H - w.first_row;
  if (w.rows <= 0) return;
  w.row = (i64)q_begin * H + w.first_row;
  int first_page, end;
  w.tokens = cached_tokens<PAGE>(a, request, first_page);
  split_range(w.tokens, 16, a.splits, split, w.begin, end);
  const i64 part = (i64)split * a.total_q * H;
  if (w.begin >= end && !final) { // nothing to do, and to say so
    for (int i = thread_id(); i < ROWS && i < w.rows; i += 64) a.part_lse[part + w.row + i] = minus_inf();
    return;
  }
  const bool no_cache = a.num_pages <= 0 && w.begin < end; // nothing may be read
  w.tiles = no_cache ? 0 : (end - w.begin + 15) / 16;

  // Q, O = 0; behind the first tile no more than needed.
  float m[BLOCKS], l[BLOCKS], n[BLOCKS];
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    m[b] = -3.402823466e38f;
    l[b] = n[b] = 0.0f;
  }
  asm volatile(
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
      ::: "memory", "v155", "a23"); // the highest registers: the kernel's allocation covers all below
  u32 bad = 0; // the largest page id seen, as unsigned
  if (w.tiles > 0) {
    const int lane = thread_id() & 63;
    const float scale = a.scale_log2e, slack = 8.0f;
    const u32 lo = 0x05040100, hi = 0x07060302, half = 0x7fff, ones = 0x3c003c00; // v_perm: low halves, high halves; bf16 rounding; f16 1, 1
    const u32 maxid = a.num_pages - 1, last = w.tokens - 1;
    const u32 cs = (u32)(2 * a.ckv_row_stride), ks = (u32)(2 * a.kpe_row_stride);
    const u64 pages = (u64)(a.kv_indices + first_page);
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
    for (int r = 0; r < 4; r++) va[r] = base + (4 * q + r) * ROW_BYTES + 16 * (t ^ 2 * r);

    // Copies: sources.
    const u32 ckl = (u32)(u64)a.ckv, ckh = (u32)((u64)a.ckv >> 32), kpl = (u32)(u64)a.kpe, kph = (u32)((u64)a.kpe >> 32);
    u32 la[4], lr[UNITS], pos, pgo;
    tile_offsets(15, cs, ks, wave, lane, la, lr);
    // Copies: places in LDS, of the stage to be filled next.
    const u32 group = wave & 3, byte = rope_column(wave, lane);
    u32 wa = base + (4 * group + q) * ROW_BYTES + (latent_column(wave, lane) ^ 32 * q);
    u32 wr = base + LATENT_BYTES + 128 * (2 * (q + 4 * (group >> 1)) + (group & 1)) + (byte ^ 32 * q);
    u32 fill = 0, fill_at = 0; // step to the stage after the one just filled, its number
    auto next_fill = [&] {
      fill_at = fill_at == STAGES - 1 ? 0 : fill_at + 1;
      fill = fill_at == 0 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
    };
    // What the copy of tile i and the look-up of tile i+1 need; both stop at the last tile.
    auto aim = [&](int i) {
      const u32 here = w.begin + 16 * smaller(i, w.tiles - 1), next = w.begin + 16 * smaller(i + 1, w.tiles - 1);
      pos = here % PAGE;
      pgo = next / PAGE * 4;
      if (here + 15 > last) tile_offsets(last - here, cs, ks, wave, lane_again(), la, lr);
    };

    aim(-1); // the look-up of tile 0
    asm volatile(
        "v_mov_b32 v49, %[pgo]\n"
        "global_load_dword v50, v49, %[pages]\n"
        :  : [pgo] "s"(pgo), [pages] "s"(pages) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim(0);
    asm volatile(
        "v_readfirstlane_b32 s68, v50\n"
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
        "v_mov_b32 v49, %[pgo]\n"
        "global_load_dword v50, v49, %[pages]\n"
        "global_load_dwordx4 v[52:55], %[la0], s[64:65] offset:0\n"
        "global_load_dwordx2 v[56:57], %[lr0], s[66:67]\n"
        "global_load_dwordx4 v[58:61], %[la1], s[64:65] offset:0\n"
        "global_load_dwordx2 v[62:63], %[lr1], s[66:67]\n"
        "global_load_dwordx4 v[64:67], %[la2], s[64:65] offset:0\n"
        "global_load_dwordx2 v[68:69], %[lr2], s[66:67]\n"
        "global_load_dwordx4 v[70:73], %[la3], s[64:65] offset:0\n"
        "global_load_dwordx2 v[74:75], %[lr3], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [la0] "v"(la[0]), [lr0] "v"(lr[0]), [la1] "v"(la[1]), [lr1] "v"(lr[1]), [la2] "v"(la[2]), [lr2] "v"(lr[2]), [la3] "v"(la[3]), [lr3] "v"(lr[3]) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "s68", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    // Q of row l%16 of each block, columns 32f + 8(l/16) .. +7. Rows that do not exist repeat the last that does; nobody stores them.
    {
      const int at = smaller((wave * BLOCKS + 0) * 16 + (int)t, w.rows - 1);
      const u64 from = (u64)a.q + (u64)(w.row + at) * (2 * (R + P)) + 16 * q;
      asm volatile(
          "global_load_dwordx4 a[0:3], %0, off offset:0\n"
          "global_load_dwordx4 a[4:7], %0, off offset:64\n"
          "global_load_dwordx4 a[8:11], %0, off offset:128\n"
          "global_load_dwordx4 a[12:15], %0, off offset:192\n"
          "global_load_dwordx4 a[16:19], %0, off offset:256\n"
          "global_load_dwordx4 a[20:23], %0, off offset:320\n"
          :: "v"(from) : "memory");
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    asm volatile(
        "ds_write_b128 %[wa], v[52:55] offset:0\n"
        "ds_write_b64 %[wr], v[56:57] offset:0\n"
        "ds_write_b128 %[wa], v[58:61] offset:1024\n"
        "ds_write_b64 %[wr], v[62:63] offset:128\n"
        "ds_write_b128 %[wa], v[64:67] offset:2048\n"
        "ds_write_b64 %[wr], v[68:69] offset:1024\n"
        "ds_write_b128 %[wa], v[70:73] offset:3072\n"
        "ds_write_b64 %[wr], v[74:75] offset:1152\n"
        :  : [wa] "v"(wa), [wr] "v"(wr) : "memory", "vcc", "scc", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    next_fill();
    wa += fill;
    wr += fill;
    aim(1);
    asm volatile(
        "v_readfirstlane_b32 s68, v50\n"
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
        "v_mov_b32 v49, %[pgo]\n"
        "global_load_dword v50, v49, %[pages]\n"
        "global_load_dwordx4 v[52:55], %[la0], s[64:65] offset:0\n"
        "global_load_dwordx2 v[56:57], %[lr0], s[66:67]\n"
        "global_load_dwordx4 v[58:61], %[la1], s[64:65] offset:0\n"
        "global_load_dwordx2 v[62:63], %[lr1], s[66:67]\n"
        "global_load_dwordx4 v[64:67], %[la2], s[64:65] offset:0\n"
        "global_load_dwordx2 v[68:69], %[lr2], s[66:67]\n"
        "global_load_dwordx4 v[70:73], %[la3], s[64:65] offset:0\n"
        "global_load_dwordx2 v[74:75], %[lr3], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [la0] "v"(la[0]), [lr0] "v"(lr[0]), [la1] "v"(la[1]), [lr1] "v"(lr[1]), [la2] "v"(la[2]), [lr2] "v"(lr[2]), [la3] "v"(la[3]), [lr3] "v"(lr[3]) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "s68", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");

    // The step from a stage to the next, for K and V reads.
    u32 k_at = 0, kd = 0, v_at = 0, vd = 0, wd = 0;
    auto next = [](u32& at, u32& delta) {
      at = at == STAGES - 1 ? 0 : at + 1;
      delta = at == 0 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
    };
    u64 rise;
    // Between the two parts of an iteration: scores of tile i stand in v[44..], scaled to base 2.
    auto mask = [&](int i) {
      const int at = w.begin + 16 * i;
      if (at + 15 < visible(w, 0)) return;
      const int lane = lane_again();
      const float none = minus_inf();
      {
        const int left = visible(w, (wave * BLOCKS + 0) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v44, %1, v44, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v45, %1, v45, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v46, %1, v46, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v47, %1, v47, vcc\n"
            :: "v"(left), "v"(none) : "vcc");
      }
    };
    auto rescale = [&] {
      if (LAZY && rise == 0) return;
      const int lane = lane_again();
      {
        float top;
        asm volatile("v_max3_f32 %0, v44, v45, v46\n"
                     "v_max_f32 %0, %0, v47" : "=v"(top));
        const float now = __builtin_fmaxf(m[0], max_over_groups(top, lane)), factor = exp2_fast(m[0] - now);
        m[0] = now;
        l[0] *= factor;
        n[0] *= factor;
        asm volatile("s_nop 7\n" // O's last MFMAs
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
            "s_nop 1" :: "v"(factor) : "memory");
      }
    };

    for (int i = 0; i < w.tiles; i++) {
      aim(i + LEAD);
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[76:79], %[ka0] offset:0\n"
        "ds_read_b128 v[80:83], %[ka1] offset:0\n"
        "ds_read_b128 v[84:87], %[ka0] offset:128\n"
        "ds_read_b128 v[88:91], %[ka1] offset:128\n"
        "ds_read_b128 v[92:95], %[kr0] offset:0\n"
        "ds_read_b128 v[96:99], %[kr1] offset:0\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[76:77], a[0:1], 0\n"
        "ds_write_b128 %[wa], v[52:55] offset:0\n"
        "ds_write_b64 %[wr], v[56:57] offset:0\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[78:79], a[2:3], v[44:47]\n"
        "ds_write_b128 %[wa], v[58:61] offset:1024\n"
        "ds_write_b64 %[wr], v[62:63] offset:128\n"
        "ds_read_b128 v[76:79], %[va0] offset:0\n"
        "s_waitcnt lgkmcnt(9)\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[80:81], a[4:5], v[44:47]\n"
        "ds_read_b128 v[100:103], %[va1] offset:0\n"
        "ds_read_b128 v[104:107], %[va2] offset:0\n"
        "ds_read_b128 v[108:111], %[va3] offset:0\n"
        "ds_write_b128 %[wa], v[64:67] offset:2048\n"
        "ds_write_b64 %[wr], v[68:69] offset:1024\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[82:83], a[6:7], v[44:47]\n"
        "ds_write_b128 %[wa], v[70:73] offset:3072\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b64 %[wr], v[74:75] offset:1152\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[84:85], a[8:9], v[44:47]\n"
        "v_readfirstlane_b32 s68, v50\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "s_lshl_b32 s68, s68, 6\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[86:87], a[10:11], v[44:47]\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[88:89], a[12:13], v[44:47]\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mov_b32 v49, %[pgo]\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[90:91], a[14:15], v[44:47]\n"
        "global_load_dword v50, v49, %[pages]\n"
        "global_load_dwordx4 v[52:55], %[la0], s[64:65] offset:0\n"
        "global_load_dwordx2 v[56:57], %[lr0], s[66:67]\n"
        "global_load_dwordx4 v[58:61], %[la1], s[64:65] offset:0\n"
        "s_waitcnt lgkmcnt(13)\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[92:93], a[16:17], v[44:47]\n"
        "global_load_dwordx2 v[62:63], %[lr1], s[66:67]\n"
        "global_load_dwordx4 v[64:67], %[la2], s[64:65] offset:0\n"
        "global_load_dwordx2 v[68:69], %[lr2], s[66:67]\n"
        "global_load_dwordx4 v[70:73], %[la3], s[64:65] offset:0\n"
        "global_load_dwordx2 v[74:75], %[lr3], s[66:67]\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[94:95], a[18:19], v[44:47]\n"
        "s_waitcnt lgkmcnt(12)\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[96:97], a[20:21], v[44:47]\n"
        "v_mfma_f32_16x16x16_f16 v[44:47], v[98:99], a[22:23], v[44:47]\n"
        "s_nop 6\n"
        "v_mul_f32 v44, %[scale], v44\n"
        "v_mul_f32 v45, %[scale], v45\n"
        "v_mul_f32 v46, %[scale], v46\n"
        "v_mul_f32 v47, %[scale], v47\n"
        "v_max3_f32 v48, v44, v45, v46\n"
        "v_max_f32 v48, v48, v47\n"
        "v_sub_f32 v48, v48, %[m0]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v48\n"
        : [bad] "+s"(bad), [rise] "=s"(rise) : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [kr0] "v"(kr[0]), [kr1] "v"(kr[1]), [wa] "v"(wa), [wr] "v"(wr), [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [la0] "v"(la[0]), [lr0] "v"(lr[0]), [la1] "v"(la[1]), [lr1] "v"(lr[1]), [la2] "v"(la[2]), [lr2] "v"(lr[2]), [la3] "v"(la[3]), [lr3] "v"(lr[3]), [scale] "s"(scale), [m0] "v"(m[0]), [slack] "s"(slack) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "s68", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
      mask(i);
      rescale();
      next(k_at, kd);
      vd = kd;
      next_fill();
      wd = fill;
    asm volatile(
        "v_sub_f32 v44, v44, %[m0]\n"
        "v_sub_f32 v45, v45, %[m0]\n"
        "v_sub_f32 v46, v46, %[m0]\n"
        "v_sub_f32 v47, v47, %[m0]\n"
        "v_exp_f32 v44, v44\n"
        "v_exp_f32 v45, v45\n"
        "v_exp_f32 v46, v46\n"
        "v_exp_f32 v47, v47\n"
        "v_add_f32 %[l0], %[l0], v44\n"
        "v_cvt_f16_f32 v44, v44\n"
        "v_add_f32 %[l0], %[l0], v45\n"
        "v_cvt_f16_f32 v45, v45\n"
        "v_add_f32 %[l0], %[l0], v46\n"
        "v_cvt_f16_f32 v46, v46\n"
        "v_add_f32 %[l0], %[l0], v47\n"
        "v_cvt_f16_f32 v47, v47\n"
        "v_pack_b32_f16 v42, v44, v45\n"
        "v_pack_b32_f16 v43, v46, v47\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v34, v100, v76, %[lo]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v35, v108, v104, %[lo]\n"
        "v_perm_b32 v36, v100, v76, %[hi]\n"
        "v_perm_b32 v37, v108, v104, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[124:127], v[34:35], v[42:43], v[124:127]\n"
        "v_perm_b32 v38, v101, v77, %[lo]\n"
        "v_perm_b32 v39, v109, v105, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[128:131], v[36:37], v[42:43], v[128:131]\n"
        "v_perm_b32 v40, v101, v77, %[hi]\n"
        "v_perm_b32 v41, v109, v105, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[132:135], v[38:39], v[42:43], v[132:135]\n"
        "v_dot2_f32_f16 %[n0], v42, %[ones], %[n0]\n"
        "v_perm_b32 v34, v102, v78, %[lo]\n"
        "v_perm_b32 v35, v110, v106, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[136:139], v[40:41], v[42:43], v[136:139]\n"
        "v_perm_b32 v36, v102, v78, %[hi]\n"
        "v_perm_b32 v37, v110, v106, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[140:143], v[34:35], v[42:43], v[140:143]\n"
        "v_perm_b32 v38, v103, v79, %[lo]\n"
        "v_perm_b32 v39, v111, v107, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[144:147], v[36:37], v[42:43], v[144:147]\n"
        "v_perm_b32 v40, v103, v79, %[hi]\n"
        "v_perm_b32 v41, v111, v107, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[148:151], v[38:39], v[42:43], v[148:151]\n"
        "v_dot2_f32_f16 %[n0], v43, %[ones], %[n0]\n"
        "v_mfma_f32_16x16x16_f16 v[152:155], v[40:41], v[42:43], v[152:155]\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_add_u32 %[kr1], %[kd], %[kr1]\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        "v_add_u32 %[wa], %[wd], %[wa]\n"
        "v_add_u32 %[wr], %[wd], %[wr]\n"
        : [l0] "+v"(l[0]), [n0] "+v"(n[0]), [ka0] "+v"(ka[0]), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]), [kr1] "+v"(kr[1]), [va0] "+v"(va[0]), [va1] "+v"(va[1]), [va2] "+v"(va[2]), [va3] "+v"(va[3]), [wa] "+v"(wa), [wr] "+v"(wr) : [m0] "v"(m[0]), [lo] "s"(lo), [hi] "s"(hi), [ones] "s"(ones), [kd] "s"(kd), [vd] "s"(vd), [wd] "s"(wd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    }
    asm volatile("s_nop 7\ns_waitcnt vmcnt(0)" ::: "memory"); // O's last MFMAs; copies nobody waited for
  }

  // ---- The result ----
  const int lane = lane_again();
  bool broken = no_cache || bad >= (u32)a.num_pages && w.tiles > 0;
  {
    const int row = (wave * BLOCKS + 0) * 16 + (lane & 15);
    float sum = sum_over_groups(l[0], lane);
    if (broken) sum = __builtin_nanf("");
    const float total = broken ? sum : sum_over_groups(n[0], lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = m[0] + log2_fast(sum);
    const bool exists = row < w.rows;
    if (exists && lane < 16) {
      if (!final) a.part_lse[part + w.row + row] = lse2;
      else if (a.lse) a.lse[w.row + row] = lse2 * 0.69314718f;
    }
    const i64 at = (w.row + row) * R + 32 * (lane >> 4);
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v124\n"
          "v_mov_b32 %1, v128\n"
          "v_mov_b32 %2, v132\n"
          "v_mov_b32 %3, v136\n"
          "v_mov_b32 %4, v140\n"
          "v_mov_b32 %5, v144\n"
          "v_mov_b32 %6, v148\n"
          "v_mov_b32 %7, v152\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 0, at + 0, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v125\n"
          "v_mov_b32 %1, v129\n"
          "v_mov_b32 %2, v133\n"
          "v_mov_b32 %3, v137\n"
          "v_mov_b32 %4, v141\n"
          "v_mov_b32 %5, v145\n"
          "v_mov_b32 %6, v149\n"
          "v_mov_b32 %7, v153\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 8, at + 8, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v126\n"
          "v_mov_b32 %1, v130\n"
          "v_mov_b32 %2, v134\n"
          "v_mov_b32 %3, v138\n"
          "v_mov_b32 %4, v142\n"
          "v_mov_b32 %5, v146\n"
          "v_mov_b32 %6, v150\n"
          "v_mov_b32 %7, v154\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 16, at + 16, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v127\n"
          "v_mov_b32 %1, v131\n"
          "v_mov_b32 %2, v135\n"
          "v_mov_b32 %3, v139\n"
          "v_mov_b32 %4, v143\n"
          "v_mov_b32 %5, v147\n"
          "v_mov_b32 %6, v151\n"
          "v_mov_b32 %7, v155\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 24, at + 24, x, weight);
    }
  }
}
