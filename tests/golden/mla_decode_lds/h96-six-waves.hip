// Generated from templates/mla_decode_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_299f43ef
// parameters:
//   blocks = 1
//   causal = 0
//   dtype = bf16
//   heads = 96
//   load = dma
//   order = ahead
//   page_size = 48
//   q_len = 1
//   rank = 128
//   rescale = always
//   rope = 64
//   stages = 3
//   waves = 6
// regenerate: lua5.4 gen/cli.lua render mla_decode_lds target=gfx942 blocks=1 causal=0 dtype=bf16 heads=96 load=dma order=ahead page_size=48 q_len=1 rank=128 rescale=always rope=64 stages=3 waves=6
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



#define MLAF_BF16 1
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/lib/args.h]
// [templates/lib/grid.h]
// [templates/lib/paging.h]

constexpr int H = 96, Q_LEN = 1, R = 128, P = 64, PAGE = 48;
constexpr bool CAUSAL = 0, LAZY = false;
constexpr int WAVES = 6, BLOCKS = 1, ROWS = 96, NJ = 1;
constexpr u32 STAGES = 3, STAGE_BYTES = 6144, LATENT_BYTES = 4096, ROW_BYTES = 256;
constexpr int UNITS = 2, LEAD = 2;

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
MLAF_DEV int pair_row(int i) { return (i & 3) + 8 * (i >> 2); }
MLAF_DEV u32 latent_column(int i, int lane) { return 16 * ((lane >> 2) ^ 2 * (i & 3)) + 4 * (lane & 3); }
MLAF_DEV u32 rope_column(int i, int lane) { return 16 * ((((lane & 31) >> 2) ^ 2 * (i & 3)) & (P / 8 - 1)) + 4 * (lane & 3); }

// Byte offsets from the tile's first row; rows behind `last` repeat it.
MLAF_DEV void tile_offsets(u32 last, u32 cs, u32 ks, int wave, int lane, u32 (&la)[4], u32 (&lr)[UNITS]) {
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const int i = unit_of(wave, u);
    const u32 t = pair_row(i);
    la[2 * u] = smaller(t, last) * cs + latent_column(i, lane);
    la[2 * u + 1] = smaller(t + 4, last) * cs + latent_column(i, lane);
    lr[u] = smaller(t + 4 * (lane >> 5), last) * ks + rope_column(i, lane);
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
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(384, 384), amdgpu_num_vgpr(26))) void
mlaf_mla_decode_299f43ef(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[21504];
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
    for (int i = thread_id(); i < ROWS && i < w.rows; i += 384) a.part_lse[part + w.row + i] = minus_inf();
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
      "v_mov_b32 v94, 0\n"
      "v_mov_b32 v95, 0\n"
      "v_mov_b32 v96, 0\n"
      "v_mov_b32 v97, 0\n"
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
      "v_mov_b32 v46, 0\n"
      "v_mov_b32 v47, 0\n"
      "v_mov_b32 v48, 0\n"
      "v_mov_b32 v49, 0\n"
      "v_mov_b32 v50, 0\n"
      "v_mov_b32 v51, 0\n"
      "v_mov_b32 v52, 0\n"
      "v_mov_b32 v53, 0\n"
      "v_mov_b32 v54, 0\n"
      "v_mov_b32 v55, 0\n"
      "v_mov_b32 v56, 0\n"
      "v_mov_b32 v57, 0\n"
      "v_mov_b32 v58, 0\n"
      "v_mov_b32 v59, 0\n"
      "v_mov_b32 v60, 0\n"
      "v_mov_b32 v61, 0\n"
      "v_mov_b32 v30, 0\n"
      "v_mov_b32 v31, 0\n"
      ::: "memory", "v125", "a23"); // the highest registers: the kernel's allocation covers all below
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
    u32 ml[UNITS], mr[UNITS];
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const int i = wave + WAVES * u;
      ml[u] = base + (i < 8 ? pair_row(i) * ROW_BYTES : STAGES * STAGE_BYTES + (i - 8) * ROW_BYTES);
      mr[u] = base + (i < 8 ? LATENT_BYTES + 256 * i : STAGES * STAGE_BYTES + 8 * ROW_BYTES + 256 * (i - 8));
    }
    u32 fill = 0, fill_at = 0; // step to the stage after the one just filled, its number
    auto next_fill = [&] {
      fill_at = fill_at == STAGES - 1 ? 0 : fill_at + 1;
      fill = fill_at == 0 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
#pragma unroll
      for (int u = 0; u < UNITS; u++)
        if (WAVES * u + wave < 8) {
          ml[u] += fill;
          mr[u] += fill;
        }
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
        "v_mov_b32 v43, %[pgo]\n"
        "global_load_dword v44, v43, %[pages]\n"
        :  : [pgo] "s"(pgo), [pages] "s"(pages) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim(0);
    asm volatile(
        "v_readfirstlane_b32 s68, v44\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "s_mul_i32 s68, s68, 48\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mov_b32 v43, %[pgo]\n"
        "global_load_dword v44, v43, %[pages]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr1], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]), [ml1] "s"(ml[1]), [la2] "v"(la[2]), [la3] "v"(la[3]), [mr1] "s"(mr[1]), [lr1] "v"(lr[1]) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "s68", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
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
    next_fill();
    aim(1);
    asm volatile(
        "v_readfirstlane_b32 s68, v44\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "s_mul_i32 s68, s68, 48\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mov_b32 v43, %[pgo]\n"
        "global_load_dword v44, v43, %[pages]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr1], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]), [ml1] "s"(ml[1]), [la2] "v"(la[2]), [la3] "v"(la[3]), [mr1] "s"(mr[1]), [lr1] "v"(lr[1]) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "s68", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    next_fill();

    // The step from a stage to the next, for K and V reads.
    u32 k_at = 0, kd = 0, v_at = 0, vd = 0, wd = 0;
    auto next = [](u32& at, u32& delta) {
      at = at == STAGES - 1 ? 0 : at + 1;
      delta = at == 0 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
    };
    u64 rise;
    // Between the two parts of an iteration: scores of tile i stand in v[36..], scaled to base 2.
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
            "v_cndmask_b32 v36, %1, v36, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v37, %1, v37, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v38, %1, v38, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v39, %1, v39, vcc\n"
            :: "v"(left), "v"(none) : "vcc");
      }
    };
    auto rescale = [&] {
      if (LAZY && rise == 0) return;
      const int lane = lane_again();
      {
        float top;
        asm volatile("v_max3_f32 %0, v36, v37, v38\n"
                     "v_max_f32 %0, %0, v39" : "=v"(top));
        const float now = __builtin_fmaxf(m[0], max_over_groups(top, lane)), factor = exp2_fast(m[0] - now);
        m[0] = now;
        l[0] *= factor;
        n[0] *= factor;
        asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v94, %0, v94\n"
            "v_mul_f32 v95, %0, v95\n"
            "v_mul_f32 v96, %0, v96\n"
            "v_mul_f32 v97, %0, v97\n"
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
            "s_nop 1" :: "v"(factor) : "memory");
      }
    };

    next(k_at, kd);
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[46:49], %[ka0] offset:0\n"
        "ds_read_b128 v[50:53], %[ka1] offset:0\n"
        "ds_read_b128 v[54:57], %[ka0] offset:128\n"
        "ds_read_b128 v[58:61], %[ka1] offset:128\n"
        "ds_read_b128 v[62:65], %[kr0] offset:0\n"
        "ds_read_b128 v[66:69], %[kr1] offset:0\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[46:47], a[0:1], 0\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[48:49], a[2:3], v[32:35]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[50:51], a[4:5], v[32:35]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[52:53], a[6:7], v[32:35]\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[54:55], a[8:9], v[32:35]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[56:57], a[10:11], v[32:35]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[58:59], a[12:13], v[32:35]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[60:61], a[14:15], v[32:35]\n"
        "s_waitcnt lgkmcnt(1)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[62:63], a[16:17], v[32:35]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[64:65], a[18:19], v[32:35]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[66:67], a[20:21], v[32:35]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[68:69], a[22:23], v[32:35]\n"
        :  : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [kr0] "v"(kr[0]), [kr1] "v"(kr[1]) : "memory", "vcc", "scc", "s65", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    asm volatile(
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_add_u32 %[kr1], %[kd], %[kr1]\n"
        : [ka0] "+v"(ka[0]), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]), [kr1] "+v"(kr[1]) : [kd] "s"(kd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    asm volatile("s_nop 7");
    for (int i = 0; i < w.tiles - 1; i++) {
      aim(i + LEAD);
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v26, v50, v46, %[lo]\n"
        "v_perm_b32 v27, v58, v54, %[lo]\n"
        "v_perm_b32 v28, v50, v46, %[hi]\n"
        "v_perm_b32 v29, v58, v54, %[hi]\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_16x16x16_bf16 v[94:97], v[26:27], v[30:31], v[94:97]\n"
        "ds_read_b128 v[62:65], %[ka0] offset:0\n"
        "ds_read_b128 v[66:69], %[ka1] offset:0\n"
        "ds_read_b128 v[70:73], %[ka0] offset:128\n"
        "v_readfirstlane_b32 s68, v44\n"
        "v_perm_b32 v26, v51, v47, %[lo]\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "v_perm_b32 v27, v59, v55, %[lo]\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "v_mul_f32 v36, %[scale], v32\n"
        "v_mfma_f32_16x16x16_bf16 v[98:101], v[28:29], v[30:31], v[98:101]\n"
        "s_mul_i32 s68, s68, 48\n"
        "v_perm_b32 v28, v51, v47, %[hi]\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "v_perm_b32 v29, v59, v55, %[hi]\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[26:27], v[30:31], v[102:105]\n"
        "ds_read_b128 v[74:77], %[ka1] offset:128\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "v_perm_b32 v26, v52, v48, %[lo]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "v_mul_f32 v37, %[scale], v33\n"
        "v_perm_b32 v27, v60, v56, %[lo]\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[28:29], v[30:31], v[106:109]\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "v_perm_b32 v28, v52, v48, %[hi]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "v_perm_b32 v29, v60, v56, %[hi]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[26:27], v[30:31], v[110:113]\n"
        "ds_read_b128 v[78:81], %[kr0] offset:0\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_perm_b32 v26, v53, v49, %[lo]\n"
        "v_mul_f32 v38, %[scale], v34\n"
        "v_mov_b32 v43, %[pgo]\n"
        "v_perm_b32 v27, v61, v57, %[lo]\n"
        "global_load_dword v44, v43, %[pages]\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[28:29], v[30:31], v[114:117]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "v_perm_b32 v28, v53, v49, %[hi]\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "v_perm_b32 v29, v61, v57, %[hi]\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[26:27], v[30:31], v[118:121]\n"
        "ds_read_b128 v[54:57], %[kr1] offset:0\n"
        "v_mul_f32 v39, %[scale], v35\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[28:29], v[30:31], v[122:125]\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[62:63], a[0:1], 0\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "v_max3_f32 v40, v36, v37, v38\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr1], s[66:67]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[64:65], a[2:3], v[32:35]\n"
        "v_max_f32 v40, v40, v39\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[66:67], a[4:5], v[32:35]\n"
        "ds_read_b128 v[46:49], %[va0] offset:0\n"
        "ds_read_b128 v[50:53], %[va1] offset:0\n"
        "ds_read_b128 v[58:61], %[va3] offset:0\n"
        "v_sub_f32 v40, v40, %[m0]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[68:69], a[6:7], v[32:35]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v40\n"
        : [bad] "+s"(bad), [rise] "=s"(rise) : [lo] "s"(lo), [hi] "s"(hi), [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [maxid] "s"(maxid), [scale] "s"(scale), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kr0] "v"(kr[0]), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [kr1] "v"(kr[1]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]), [ml1] "s"(ml[1]), [la2] "v"(la[2]), [la3] "v"(la[3]), [mr1] "s"(mr[1]), [lr1] "v"(lr[1]), [va0] "v"(va[0]), [va1] "v"(va[1]), [va3] "v"(va[3]), [m0] "v"(m[0]), [slack] "s"(slack) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "s68", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
      mask(i);
      rescale();
      next(k_at, kd);
      next(v_at, vd);
      next_fill();
      wd = fill;
    asm volatile(
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[70:71], a[8:9], v[32:35]\n"
        "v_sub_f32 v36, v36, %[m0]\n"
        "v_sub_f32 v37, v37, %[m0]\n"
        "v_sub_f32 v38, v38, %[m0]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[72:73], a[10:11], v[32:35]\n"
        "v_sub_f32 v39, v39, %[m0]\n"
        "v_exp_f32 v36, v36\n"
        "v_exp_f32 v37, v37\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[74:75], a[12:13], v[32:35]\n"
        "v_exp_f32 v38, v38\n"
        "v_exp_f32 v39, v39\n"
        "v_add_f32 %[l0], %[l0], v36\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[76:77], a[14:15], v[32:35]\n"
        "v_bfe_u32 v40, v36, 16, 1\n"
        "v_add3_u32 v36, v36, v40, %[half]\n"
        "v_add_f32 %[l0], %[l0], v37\n"
        "v_bfe_u32 v41, v37, 16, 1\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[78:79], a[16:17], v[32:35]\n"
        "v_add3_u32 v37, v37, v41, %[half]\n"
        "v_add_f32 %[l0], %[l0], v38\n"
        "v_bfe_u32 v40, v38, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[80:81], a[18:19], v[32:35]\n"
        "v_add3_u32 v38, v38, v40, %[half]\n"
        "v_add_f32 %[l0], %[l0], v39\n"
        "v_bfe_u32 v41, v39, 16, 1\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[54:55], a[20:21], v[32:35]\n"
        "v_add3_u32 v39, v39, v41, %[half]\n"
        "v_perm_b32 v30, v37, v36, %[hi]\n"
        "v_perm_b32 v31, v39, v38, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[32:35], v[56:57], a[22:23], v[32:35]\n"
        "ds_read_b128 v[54:57], %[va2] offset:0\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_add_u32 %[kr1], %[kd], %[kr1]\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        "v_lshlrev_b32 v40, 16, v30\n"
        "v_add_f32 %[n0], %[n0], v40\n"
        "v_and_b32 v40, 0xffff0000, v30\n"
        "v_add_f32 %[n0], %[n0], v40\n"
        "v_lshlrev_b32 v41, 16, v31\n"
        "v_add_f32 %[n0], %[n0], v41\n"
        "v_and_b32 v41, 0xffff0000, v31\n"
        "v_add_f32 %[n0], %[n0], v41\n"
        : [l0] "+v"(l[0]), [va2] "+v"(va[2]), [ka0] "+v"(ka[0]), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]), [kr1] "+v"(kr[1]), [va0] "+v"(va[0]), [va1] "+v"(va[1]), [va3] "+v"(va[3]), [n0] "+v"(n[0]) : [m0] "v"(m[0]), [half] "s"(half), [hi] "s"(hi), [kd] "s"(kd), [vd] "s"(vd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
    }
    {
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v26, v50, v46, %[lo]\n"
        "v_perm_b32 v27, v58, v54, %[lo]\n"
        "v_perm_b32 v28, v50, v46, %[hi]\n"
        "v_perm_b32 v29, v58, v54, %[hi]\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_16x16x16_bf16 v[94:97], v[26:27], v[30:31], v[94:97]\n"
        "ds_read_b128 v[62:65], %[va0] offset:0\n"
        "ds_read_b128 v[66:69], %[va1] offset:0\n"
        "ds_read_b128 v[70:73], %[va2] offset:0\n"
        "ds_read_b128 v[74:77], %[va3] offset:0\n"
        "v_perm_b32 v26, v51, v47, %[lo]\n"
        "v_perm_b32 v27, v59, v55, %[lo]\n"
        "v_mul_f32 v36, %[scale], v32\n"
        "v_mfma_f32_16x16x16_bf16 v[98:101], v[28:29], v[30:31], v[98:101]\n"
        "v_perm_b32 v28, v51, v47, %[hi]\n"
        "v_perm_b32 v29, v59, v55, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[26:27], v[30:31], v[102:105]\n"
        "v_perm_b32 v26, v52, v48, %[lo]\n"
        "v_mul_f32 v37, %[scale], v33\n"
        "v_perm_b32 v27, v60, v56, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[28:29], v[30:31], v[106:109]\n"
        "v_perm_b32 v28, v52, v48, %[hi]\n"
        "v_perm_b32 v29, v60, v56, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[26:27], v[30:31], v[110:113]\n"
        "v_perm_b32 v26, v53, v49, %[lo]\n"
        "v_mul_f32 v38, %[scale], v34\n"
        "v_perm_b32 v27, v61, v57, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[28:29], v[30:31], v[114:117]\n"
        "v_perm_b32 v28, v53, v49, %[hi]\n"
        "v_perm_b32 v29, v61, v57, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[26:27], v[30:31], v[118:121]\n"
        "v_mul_f32 v39, %[scale], v35\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_perm_b32 v26, v66, v62, %[lo]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v27, v74, v70, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[28:29], v[30:31], v[122:125]\n"
        "v_perm_b32 v28, v66, v62, %[hi]\n"
        "v_perm_b32 v29, v74, v70, %[hi]\n"
        "v_max3_f32 v40, v36, v37, v38\n"
        "v_max_f32 v40, v40, v39\n"
        "v_sub_f32 v40, v40, %[m0]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v40\n"
        : [rise] "=s"(rise) : [lo] "s"(lo), [hi] "s"(hi), [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [scale] "s"(scale), [m0] "v"(m[0]), [slack] "s"(slack) : "memory", "vcc", "scc", "s65", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
      mask(w.tiles - 1);
      rescale();
    asm volatile(
        "v_sub_f32 v36, v36, %[m0]\n"
        "v_sub_f32 v37, v37, %[m0]\n"
        "v_sub_f32 v38, v38, %[m0]\n"
        "v_sub_f32 v39, v39, %[m0]\n"
        "v_exp_f32 v36, v36\n"
        "v_exp_f32 v37, v37\n"
        "v_exp_f32 v38, v38\n"
        "v_exp_f32 v39, v39\n"
        "v_add_f32 %[l0], %[l0], v36\n"
        "v_bfe_u32 v40, v36, 16, 1\n"
        "v_add3_u32 v36, v36, v40, %[half]\n"
        "v_add_f32 %[l0], %[l0], v37\n"
        "v_bfe_u32 v41, v37, 16, 1\n"
        "v_add3_u32 v37, v37, v41, %[half]\n"
        "v_add_f32 %[l0], %[l0], v38\n"
        "v_bfe_u32 v40, v38, 16, 1\n"
        "v_add3_u32 v38, v38, v40, %[half]\n"
        "v_add_f32 %[l0], %[l0], v39\n"
        "v_bfe_u32 v41, v39, 16, 1\n"
        "v_add3_u32 v39, v39, v41, %[half]\n"
        "v_perm_b32 v30, v37, v36, %[hi]\n"
        "v_perm_b32 v31, v39, v38, %[hi]\n"
        "s_nop 1\n"
        "v_mfma_f32_16x16x16_bf16 v[94:97], v[26:27], v[30:31], v[94:97]\n"
        "v_perm_b32 v26, v67, v63, %[lo]\n"
        "v_lshlrev_b32 v40, 16, v30\n"
        "v_perm_b32 v27, v75, v71, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[98:101], v[28:29], v[30:31], v[98:101]\n"
        "v_perm_b32 v28, v67, v63, %[hi]\n"
        "v_add_f32 %[n0], %[n0], v40\n"
        "v_perm_b32 v29, v75, v71, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[26:27], v[30:31], v[102:105]\n"
        "v_perm_b32 v26, v68, v64, %[lo]\n"
        "v_and_b32 v40, 0xffff0000, v30\n"
        "v_perm_b32 v27, v76, v72, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[28:29], v[30:31], v[106:109]\n"
        "v_perm_b32 v28, v68, v64, %[hi]\n"
        "v_add_f32 %[n0], %[n0], v40\n"
        "v_perm_b32 v29, v76, v72, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[26:27], v[30:31], v[110:113]\n"
        "v_perm_b32 v26, v69, v65, %[lo]\n"
        "v_lshlrev_b32 v41, 16, v31\n"
        "v_perm_b32 v27, v77, v73, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[28:29], v[30:31], v[114:117]\n"
        "v_perm_b32 v28, v69, v65, %[hi]\n"
        "v_add_f32 %[n0], %[n0], v41\n"
        "v_perm_b32 v29, v77, v73, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[26:27], v[30:31], v[118:121]\n"
        "v_and_b32 v41, 0xffff0000, v31\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[28:29], v[30:31], v[122:125]\n"
        "v_add_f32 %[n0], %[n0], v41\n"
        : [l0] "+v"(l[0]), [n0] "+v"(n[0]) : [m0] "v"(m[0]), [half] "s"(half), [hi] "s"(hi), [lo] "s"(lo) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23");
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
          "v_mov_b32 %0, v94\n"
          "v_mov_b32 %1, v98\n"
          "v_mov_b32 %2, v102\n"
          "v_mov_b32 %3, v106\n"
          "v_mov_b32 %4, v110\n"
          "v_mov_b32 %5, v114\n"
          "v_mov_b32 %6, v118\n"
          "v_mov_b32 %7, v122\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 0, at + 0, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v95\n"
          "v_mov_b32 %1, v99\n"
          "v_mov_b32 %2, v103\n"
          "v_mov_b32 %3, v107\n"
          "v_mov_b32 %4, v111\n"
          "v_mov_b32 %5, v115\n"
          "v_mov_b32 %6, v119\n"
          "v_mov_b32 %7, v123\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 8, at + 8, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v96\n"
          "v_mov_b32 %1, v100\n"
          "v_mov_b32 %2, v104\n"
          "v_mov_b32 %3, v108\n"
          "v_mov_b32 %4, v112\n"
          "v_mov_b32 %5, v116\n"
          "v_mov_b32 %6, v120\n"
          "v_mov_b32 %7, v124\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 16, at + 16, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v97\n"
          "v_mov_b32 %1, v101\n"
          "v_mov_b32 %2, v105\n"
          "v_mov_b32 %3, v109\n"
          "v_mov_b32 %4, v113\n"
          "v_mov_b32 %5, v117\n"
          "v_mov_b32 %6, v121\n"
          "v_mov_b32 %7, v125\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 24, at + 24, x, weight);
    }
  }
}
