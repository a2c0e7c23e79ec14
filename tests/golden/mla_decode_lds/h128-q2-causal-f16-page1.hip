// Generated from templates/mla_decode_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_5c2d3d88
// parameters:
//   blocks = 4
//   causal = 1
//   dtype = f16
//   heads = 128
//   load = dma
//   order = plain
//   page_size = 1
//   q_len = 2
//   rank = 128
//   rescale = lazy
//   rope = 32
//   stages = 2
//   waves = 2
// regenerate: lua5.4 gen/cli.lua render mla_decode_lds target=gfx942 blocks=4 causal=1 dtype=f16 heads=128 load=dma order=plain page_size=1 q_len=2 rank=128 rescale=lazy rope=32 stages=2 waves=2
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

constexpr int H = 128, Q_LEN = 2, R = 128, P = 32, PAGE = 1;
constexpr bool CAUSAL = 1, LAZY = true;
constexpr int WAVES = 2, BLOCKS = 4, ROWS = 128, NJ = 1;
constexpr u32 STAGES = 2, STAGE_BYTES = 6144, LATENT_BYTES = 4096, ROW_BYTES = 256;
constexpr int UNITS = 4, LEAD = 1;

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
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(128, 128), amdgpu_num_vgpr(50))) void
mlaf_mla_decode_5c2d3d88(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[12288];
  const work mine = my_work<2>(a.splits, a.batch);
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
    for (int i = thread_id(); i < ROWS && i < w.rows; i += 128) a.part_lse[part + w.row + i] = minus_inf();
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
      ::: "memory", "v247", "a79"); // the highest registers: the kernel's allocation covers all below
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
    const u32 magic = 0u, page = PAGE;
    u32 row[UNITS], vcs = cs, vks = ks, tok, tokn;
    asm volatile("" : "+v"(vcs), "+v"(vks)); // one scalar operand per vector instruction: the strides stand in vector registers
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
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const int i = wave + WAVES * u;
      ml[u] = base + (i < 8 ? pair_row(i) * ROW_BYTES : STAGES * STAGE_BYTES + (i - 8) * ROW_BYTES);
      mr[u] = base + (i < 8 ? LATENT_BYTES + 256 * i : STAGES * STAGE_BYTES + 4 * ROW_BYTES + 256 * (i - 8));
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
      tok = here;
      tokn = next;
    };

    aim(-1); // the look-up of tile 0
    asm volatile(
        "v_add_u32 v83, %[tokn], %[row0]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v84, v83, %[pages]\n"
        "v_add_u32 v83, %[tokn], %[row1]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v85, v83, %[pages]\n"
        "v_add_u32 v83, %[tokn], %[row2]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v86, v83, %[pages]\n"
        "v_add_u32 v83, %[tokn], %[row3]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v87, v83, %[pages]\n"
        :  : [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [row1] "v"(row[1]), [row2] "v"(row[2]), [row3] "v"(row[3]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim(0);
    asm volatile(
        "v_max_u32 %[bad], %[bad], v84\n"
        "v_min_u32 v82, %[maxid], v84\n"
        "v_add_u32 v83, %[tokn], %[row0]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v84, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp0]\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        "v_max_u32 %[bad], %[bad], v85\n"
        "v_min_u32 v82, %[maxid], v85\n"
        "v_add_u32 v83, %[tokn], %[row1]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v85, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp1]\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        "v_max_u32 %[bad], %[bad], v86\n"
        "v_min_u32 v82, %[maxid], v86\n"
        "v_add_u32 v83, %[tokn], %[row2]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v86, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp2]\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml2]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml2], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la2], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr2]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        "v_max_u32 %[bad], %[bad], v87\n"
        "v_min_u32 v82, %[maxid], v87\n"
        "v_add_u32 v83, %[tokn], %[row3]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "global_load_dword v87, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp3]\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml3]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml3], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la3], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr3]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        : [bad] "+v"(bad) : [maxid] "s"(maxid), [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [vcs] "v"(vcs), [ckv] "s"(ckv), [vks] "v"(vks), [kp0] "v"(kp[0]), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [mr0] "s"(mr[0]), [row1] "v"(row[1]), [kp1] "v"(kp[1]), [ml1] "s"(ml[1]), [la1] "v"(la[1]), [mr1] "s"(mr[1]), [row2] "v"(row[2]), [kp2] "v"(kp[2]), [ml2] "s"(ml[2]), [la2] "v"(la[2]), [mr2] "s"(mr[2]), [row3] "v"(row[3]), [kp3] "v"(kp[3]), [ml3] "s"(ml[3]), [la3] "v"(la[3]), [mr3] "s"(mr[3]) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49");
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
          :: "v"(from) : "memory");
    }
    {
      const int at = smaller((wave * BLOCKS + 1) * 16 + (int)t, w.rows - 1);
      const u64 from = (u64)a.q + (u64)(w.row + at) * (2 * (R + P)) + 16 * q;
      asm volatile(
          "global_load_dwordx4 a[20:23], %0, off offset:0\n"
          "global_load_dwordx4 a[24:27], %0, off offset:64\n"
          "global_load_dwordx4 a[28:31], %0, off offset:128\n"
          "global_load_dwordx4 a[32:35], %0, off offset:192\n"
          "global_load_dwordx4 a[36:39], %0, off offset:256\n"
          :: "v"(from) : "memory");
    }
    {
      const int at = smaller((wave * BLOCKS + 2) * 16 + (int)t, w.rows - 1);
      const u64 from = (u64)a.q + (u64)(w.row + at) * (2 * (R + P)) + 16 * q;
      asm volatile(
          "global_load_dwordx4 a[40:43], %0, off offset:0\n"
          "global_load_dwordx4 a[44:47], %0, off offset:64\n"
          "global_load_dwordx4 a[48:51], %0, off offset:128\n"
          "global_load_dwordx4 a[52:55], %0, off offset:192\n"
          "global_load_dwordx4 a[56:59], %0, off offset:256\n"
          :: "v"(from) : "memory");
    }
    {
      const int at = smaller((wave * BLOCKS + 3) * 16 + (int)t, w.rows - 1);
      const u64 from = (u64)a.q + (u64)(w.row + at) * (2 * (R + P)) + 16 * q;
      asm volatile(
          "global_load_dwordx4 a[60:63], %0, off offset:0\n"
          "global_load_dwordx4 a[64:67], %0, off offset:64\n"
          "global_load_dwordx4 a[68:71], %0, off offset:128\n"
          "global_load_dwordx4 a[72:75], %0, off offset:192\n"
          "global_load_dwordx4 a[76:79], %0, off offset:256\n"
          :: "v"(from) : "memory");
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    next_fill();

    // The step from a stage to the next, for K and V reads.
    u32 k_at = 0, kd = 0, v_at = 0, vd = 0, wd = 0;
    auto next = [](u32& at, u32& delta) {
      at = at == STAGES - 1 ? 0 : at + 1;
      delta = at == 0 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
    };
    u64 rise;
    // Between the two parts of an iteration: scores of tile i stand in v[66..], scaled to base 2.
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
            "v_cndmask_b32 v66, %1, v66, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v67, %1, v67, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v68, %1, v68, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v69, %1, v69, vcc\n"
            :: "v"(left), "v"(none) : "vcc");
      }
      {
        const int left = visible(w, (wave * BLOCKS + 1) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v70, %1, v70, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v71, %1, v71, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v72, %1, v72, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v73, %1, v73, vcc\n"
            :: "v"(left), "v"(none) : "vcc");
      }
      {
        const int left = visible(w, (wave * BLOCKS + 2) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v74, %1, v74, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v75, %1, v75, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v76, %1, v76, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v77, %1, v77, vcc\n"
            :: "v"(left), "v"(none) : "vcc");
      }
      {
        const int left = visible(w, (wave * BLOCKS + 3) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v78, %1, v78, vcc\n"
            "v_cmp_lt_i32 vcc, 1, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v79, %1, v79, vcc\n"
            "v_cmp_lt_i32 vcc, 2, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v80, %1, v80, vcc\n"
            "v_cmp_lt_i32 vcc, 3, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v81, %1, v81, vcc\n"
            :: "v"(left), "v"(none) : "vcc");
      }
    };
    auto rescale = [&] {
      if (LAZY && rise == 0) return;
      const int lane = lane_again();
      {
        float top;
        asm volatile("v_max3_f32 %0, v66, v67, v68\n"
                     "v_max_f32 %0, %0, v69" : "=v"(top));
        const float now = __builtin_fmaxf(m[0], max_over_groups(top, lane)), factor = exp2_fast(m[0] - now);
        m[0] = now;
        l[0] *= factor;
        n[0] *= factor;
        asm volatile("s_nop 7\n" // O's last MFMAs
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
            "s_nop 1" :: "v"(factor) : "memory");
      }
      {
        float top;
        asm volatile("v_max3_f32 %0, v70, v71, v72\n"
                     "v_max_f32 %0, %0, v73" : "=v"(top));
        const float now = __builtin_fmaxf(m[1], max_over_groups(top, lane)), factor = exp2_fast(m[1] - now);
        m[1] = now;
        l[1] *= factor;
        n[1] *= factor;
        asm volatile("s_nop 7\n" // O's last MFMAs
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
            "s_nop 1" :: "v"(factor) : "memory");
      }
      {
        float top;
        asm volatile("v_max3_f32 %0, v74, v75, v76\n"
                     "v_max_f32 %0, %0, v77" : "=v"(top));
        const float now = __builtin_fmaxf(m[2], max_over_groups(top, lane)), factor = exp2_fast(m[2] - now);
        m[2] = now;
        l[2] *= factor;
        n[2] *= factor;
        asm volatile("s_nop 7\n" // O's last MFMAs
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
            "s_nop 1" :: "v"(factor) : "memory");
      }
      {
        float top;
        asm volatile("v_max3_f32 %0, v78, v79, v80\n"
                     "v_max_f32 %0, %0, v81" : "=v"(top));
        const float now = __builtin_fmaxf(m[3], max_over_groups(top, lane)), factor = exp2_fast(m[3] - now);
        m[3] = now;
        l[3] *= factor;
        n[3] *= factor;
        asm volatile("s_nop 7\n" // O's last MFMAs
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
            "s_nop 1" :: "v"(factor) : "memory");
      }
    };

    for (int i = 0; i < w.tiles; i++) {
      aim(i + LEAD);
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[88:91], %[ka0] offset:0\n"
        "ds_read_b128 v[92:95], %[ka1] offset:0\n"
        "ds_read_b128 v[96:99], %[ka0] offset:128\n"
        "ds_read_b128 v[104:107], %[va0] offset:0\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[88:89], a[0:1], 0\n"
        "ds_read_b128 v[100:103], %[ka1] offset:128\n"
        "ds_read_b128 v[108:111], %[va1] offset:0\n"
        "ds_read_b128 v[112:115], %[va2] offset:0\n"
        "ds_read_b128 v[116:119], %[va3] offset:0\n"
        "v_max_u32 %[bad], %[bad], v84\n"
        "v_min_u32 v82, %[maxid], v84\n"
        "v_add_u32 v83, %[tokn], %[row0]\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[88:89], a[20:21], 0\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[88:89], a[40:41], 0\n"
        "global_load_dword v84, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp0]\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[88:89], a[60:61], 0\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[90:91], a[2:3], v[66:69]\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml0]\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[90:91], a[22:23], v[70:73]\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[90:91], a[42:43], v[74:77]\n"
        "global_load_lds_dword %[la0], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[90:91], a[62:63], v[78:81]\n"
        "v_max_u32 %[bad], %[bad], v85\n"
        "v_min_u32 v82, %[maxid], v85\n"
        "v_add_u32 v83, %[tokn], %[row1]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[92:93], a[4:5], v[66:69]\n"
        "ds_read_b128 v[88:91], %[kr0] offset:0\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[92:93], a[24:25], v[70:73]\n"
        "global_load_dword v85, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp1]\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[92:93], a[44:45], v[74:77]\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[92:93], a[64:65], v[78:81]\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml1]\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[94:95], a[6:7], v[66:69]\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[94:95], a[26:27], v[70:73]\n"
        "global_load_lds_dword %[la1], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[94:95], a[46:47], v[74:77]\n"
        "v_max_u32 %[bad], %[bad], v86\n"
        "v_min_u32 v82, %[maxid], v86\n"
        "v_add_u32 v83, %[tokn], %[row2]\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[94:95], a[66:67], v[78:81]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[96:97], a[8:9], v[66:69]\n"
        "global_load_dword v86, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp2]\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[96:97], a[28:29], v[70:73]\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[96:97], a[48:49], v[74:77]\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml2]\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[96:97], a[68:69], v[78:81]\n"
        "global_load_lds_dword %[la2], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml2], 1024\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[98:99], a[10:11], v[66:69]\n"
        "global_load_lds_dword %[la2], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr2]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[98:99], a[30:31], v[70:73]\n"
        "v_max_u32 %[bad], %[bad], v87\n"
        "v_min_u32 v82, %[maxid], v87\n"
        "v_add_u32 v83, %[tokn], %[row3]\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[98:99], a[50:51], v[74:77]\n"
        "v_min_u32 v83, %[last], v83\n"
        "v_lshlrev_b32 v83, 2, v83\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[98:99], a[70:71], v[78:81]\n"
        "global_load_dword v87, v83, %[pages]\n"
        "v_mad_u64_u32 v[50:51], vcc, v82, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[52:53], vcc, v82, %[vks], %[kp3]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[100:101], a[12:13], v[66:69]\n"
        "v_readlane_b32 s64, v50, 0\n"
        "v_readlane_b32 s65, v51, 0\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[100:101], a[32:33], v[70:73]\n"
        "v_readlane_b32 s66, v50, 32\n"
        "v_readlane_b32 s67, v51, 32\n"
        "s_mov_b32 m0, %[ml3]\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[100:101], a[52:53], v[74:77]\n"
        "global_load_lds_dword %[la3], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml3], 1024\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[100:101], a[72:73], v[78:81]\n"
        "global_load_lds_dword %[la3], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr3]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[52:53], off\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[102:103], a[14:15], v[66:69]\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[102:103], a[34:35], v[70:73]\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[102:103], a[54:55], v[74:77]\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[102:103], a[74:75], v[78:81]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[88:89], a[16:17], v[66:69]\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[88:89], a[36:37], v[70:73]\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[88:89], a[56:57], v[74:77]\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[88:89], a[76:77], v[78:81]\n"
        "v_mfma_f32_16x16x16_f16 v[66:69], v[90:91], a[18:19], v[66:69]\n"
        "v_mfma_f32_16x16x16_f16 v[70:73], v[90:91], a[38:39], v[70:73]\n"
        "v_mfma_f32_16x16x16_f16 v[74:77], v[90:91], a[58:59], v[74:77]\n"
        "v_mfma_f32_16x16x16_f16 v[78:81], v[90:91], a[78:79], v[78:81]\n"
        "s_nop 3\n"
        "v_mul_f32 v66, %[scale], v66\n"
        "v_mul_f32 v67, %[scale], v67\n"
        "v_mul_f32 v68, %[scale], v68\n"
        "v_mul_f32 v69, %[scale], v69\n"
        "v_mul_f32 v70, %[scale], v70\n"
        "v_mul_f32 v71, %[scale], v71\n"
        "v_mul_f32 v72, %[scale], v72\n"
        "v_mul_f32 v73, %[scale], v73\n"
        "v_mul_f32 v74, %[scale], v74\n"
        "v_mul_f32 v75, %[scale], v75\n"
        "v_mul_f32 v76, %[scale], v76\n"
        "v_mul_f32 v77, %[scale], v77\n"
        "v_mul_f32 v78, %[scale], v78\n"
        "v_mul_f32 v79, %[scale], v79\n"
        "v_mul_f32 v80, %[scale], v80\n"
        "v_mul_f32 v81, %[scale], v81\n"
        "v_max3_f32 v82, v66, v67, v68\n"
        "v_max_f32 v82, v82, v69\n"
        "v_sub_f32 v82, v82, %[m0]\n"
        "v_max3_f32 v83, v70, v71, v72\n"
        "v_max_f32 v83, v83, v73\n"
        "v_sub_f32 v83, v83, %[m1]\n"
        "v_max_f32 v82, v82, v83\n"
        "v_max3_f32 v83, v74, v75, v76\n"
        "v_max_f32 v83, v83, v77\n"
        "v_sub_f32 v83, v83, %[m2]\n"
        "v_max_f32 v82, v82, v83\n"
        "v_max3_f32 v83, v78, v79, v80\n"
        "v_max_f32 v83, v83, v81\n"
        "v_sub_f32 v83, v83, %[m3]\n"
        "v_max_f32 v82, v82, v83\n"
        "v_cmp_lt_f32 %[rise], %[slack], v82\n"
        : [bad] "+v"(bad), [rise] "=s"(rise) : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [maxid] "s"(maxid), [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [vcs] "v"(vcs), [ckv] "s"(ckv), [vks] "v"(vks), [kp0] "v"(kp[0]), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [mr0] "s"(mr[0]), [row1] "v"(row[1]), [kr0] "v"(kr[0]), [kp1] "v"(kp[1]), [ml1] "s"(ml[1]), [la1] "v"(la[1]), [mr1] "s"(mr[1]), [row2] "v"(row[2]), [kp2] "v"(kp[2]), [ml2] "s"(ml[2]), [la2] "v"(la[2]), [mr2] "s"(mr[2]), [row3] "v"(row[3]), [kp3] "v"(kp[3]), [ml3] "s"(ml[3]), [la3] "v"(la[3]), [mr3] "s"(mr[3]), [scale] "s"(scale), [m0] "v"(m[0]), [m1] "v"(m[1]), [m2] "v"(m[2]), [m3] "v"(m[3]), [slack] "s"(slack) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49");
      mask(i);
      rescale();
      next(k_at, kd);
      vd = kd;
      next_fill();
      wd = fill;
    asm volatile(
        "v_sub_f32 v66, v66, %[m0]\n"
        "v_sub_f32 v67, v67, %[m0]\n"
        "v_sub_f32 v68, v68, %[m0]\n"
        "v_sub_f32 v69, v69, %[m0]\n"
        "v_exp_f32 v66, v66\n"
        "v_exp_f32 v67, v67\n"
        "v_exp_f32 v68, v68\n"
        "v_exp_f32 v69, v69\n"
        "v_add_f32 %[l0], %[l0], v66\n"
        "v_cvt_f16_f32 v66, v66\n"
        "v_add_f32 %[l0], %[l0], v67\n"
        "v_cvt_f16_f32 v67, v67\n"
        "v_add_f32 %[l0], %[l0], v68\n"
        "v_cvt_f16_f32 v68, v68\n"
        "v_add_f32 %[l0], %[l0], v69\n"
        "v_cvt_f16_f32 v69, v69\n"
        "v_pack_b32_f16 v58, v66, v67\n"
        "v_pack_b32_f16 v59, v68, v69\n"
        "v_sub_f32 v70, v70, %[m1]\n"
        "v_sub_f32 v71, v71, %[m1]\n"
        "v_sub_f32 v72, v72, %[m1]\n"
        "v_sub_f32 v73, v73, %[m1]\n"
        "v_exp_f32 v70, v70\n"
        "v_exp_f32 v71, v71\n"
        "v_exp_f32 v72, v72\n"
        "v_exp_f32 v73, v73\n"
        "v_add_f32 %[l1], %[l1], v70\n"
        "v_cvt_f16_f32 v70, v70\n"
        "v_add_f32 %[l1], %[l1], v71\n"
        "v_cvt_f16_f32 v71, v71\n"
        "v_add_f32 %[l1], %[l1], v72\n"
        "v_cvt_f16_f32 v72, v72\n"
        "v_add_f32 %[l1], %[l1], v73\n"
        "v_cvt_f16_f32 v73, v73\n"
        "v_pack_b32_f16 v60, v70, v71\n"
        "v_pack_b32_f16 v61, v72, v73\n"
        "v_sub_f32 v74, v74, %[m2]\n"
        "v_sub_f32 v75, v75, %[m2]\n"
        "v_sub_f32 v76, v76, %[m2]\n"
        "v_sub_f32 v77, v77, %[m2]\n"
        "v_exp_f32 v74, v74\n"
        "v_exp_f32 v75, v75\n"
        "v_exp_f32 v76, v76\n"
        "v_exp_f32 v77, v77\n"
        "v_add_f32 %[l2], %[l2], v74\n"
        "v_cvt_f16_f32 v74, v74\n"
        "v_add_f32 %[l2], %[l2], v75\n"
        "v_cvt_f16_f32 v75, v75\n"
        "v_add_f32 %[l2], %[l2], v76\n"
        "v_cvt_f16_f32 v76, v76\n"
        "v_add_f32 %[l2], %[l2], v77\n"
        "v_cvt_f16_f32 v77, v77\n"
        "v_pack_b32_f16 v62, v74, v75\n"
        "v_pack_b32_f16 v63, v76, v77\n"
        "v_sub_f32 v78, v78, %[m3]\n"
        "v_sub_f32 v79, v79, %[m3]\n"
        "v_sub_f32 v80, v80, %[m3]\n"
        "v_sub_f32 v81, v81, %[m3]\n"
        "v_exp_f32 v78, v78\n"
        "v_exp_f32 v79, v79\n"
        "v_exp_f32 v80, v80\n"
        "v_exp_f32 v81, v81\n"
        "v_add_f32 %[l3], %[l3], v78\n"
        "v_cvt_f16_f32 v78, v78\n"
        "v_add_f32 %[l3], %[l3], v79\n"
        "v_cvt_f16_f32 v79, v79\n"
        "v_add_f32 %[l3], %[l3], v80\n"
        "v_cvt_f16_f32 v80, v80\n"
        "v_add_f32 %[l3], %[l3], v81\n"
        "v_cvt_f16_f32 v81, v81\n"
        "v_pack_b32_f16 v64, v78, v79\n"
        "v_pack_b32_f16 v65, v80, v81\n"
        "v_perm_b32 v50, v108, v104, %[lo]\n"
        "v_perm_b32 v51, v116, v112, %[lo]\n"
        "v_perm_b32 v52, v108, v104, %[hi]\n"
        "v_perm_b32 v53, v116, v112, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[120:123], v[50:51], v[58:59], v[120:123]\n"
        "v_mfma_f32_16x16x16_f16 v[152:155], v[50:51], v[60:61], v[152:155]\n"
        "v_perm_b32 v54, v109, v105, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[184:187], v[50:51], v[62:63], v[184:187]\n"
        "v_dot2_f32_f16 %[n0], v58, %[ones], %[n0]\n"
        "v_mfma_f32_16x16x16_f16 v[216:219], v[50:51], v[64:65], v[216:219]\n"
        "v_perm_b32 v55, v117, v113, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[124:127], v[52:53], v[58:59], v[124:127]\n"
        "v_mfma_f32_16x16x16_f16 v[156:159], v[52:53], v[60:61], v[156:159]\n"
        "v_perm_b32 v56, v109, v105, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[188:191], v[52:53], v[62:63], v[188:191]\n"
        "v_dot2_f32_f16 %[n0], v59, %[ones], %[n0]\n"
        "v_mfma_f32_16x16x16_f16 v[220:223], v[52:53], v[64:65], v[220:223]\n"
        "v_perm_b32 v57, v117, v113, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[128:131], v[54:55], v[58:59], v[128:131]\n"
        "v_mfma_f32_16x16x16_f16 v[160:163], v[54:55], v[60:61], v[160:163]\n"
        "v_perm_b32 v50, v110, v106, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[192:195], v[54:55], v[62:63], v[192:195]\n"
        "v_dot2_f32_f16 %[n1], v60, %[ones], %[n1]\n"
        "v_mfma_f32_16x16x16_f16 v[224:227], v[54:55], v[64:65], v[224:227]\n"
        "v_perm_b32 v51, v118, v114, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[132:135], v[56:57], v[58:59], v[132:135]\n"
        "v_mfma_f32_16x16x16_f16 v[164:167], v[56:57], v[60:61], v[164:167]\n"
        "v_perm_b32 v52, v110, v106, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[196:199], v[56:57], v[62:63], v[196:199]\n"
        "v_dot2_f32_f16 %[n1], v61, %[ones], %[n1]\n"
        "v_mfma_f32_16x16x16_f16 v[228:231], v[56:57], v[64:65], v[228:231]\n"
        "v_perm_b32 v53, v118, v114, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[136:139], v[50:51], v[58:59], v[136:139]\n"
        "v_mfma_f32_16x16x16_f16 v[168:171], v[50:51], v[60:61], v[168:171]\n"
        "v_perm_b32 v54, v111, v107, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[200:203], v[50:51], v[62:63], v[200:203]\n"
        "v_dot2_f32_f16 %[n2], v62, %[ones], %[n2]\n"
        "v_mfma_f32_16x16x16_f16 v[232:235], v[50:51], v[64:65], v[232:235]\n"
        "v_perm_b32 v55, v119, v115, %[lo]\n"
        "v_mfma_f32_16x16x16_f16 v[140:143], v[52:53], v[58:59], v[140:143]\n"
        "v_mfma_f32_16x16x16_f16 v[172:175], v[52:53], v[60:61], v[172:175]\n"
        "v_perm_b32 v56, v111, v107, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[204:207], v[52:53], v[62:63], v[204:207]\n"
        "v_dot2_f32_f16 %[n2], v63, %[ones], %[n2]\n"
        "v_mfma_f32_16x16x16_f16 v[236:239], v[52:53], v[64:65], v[236:239]\n"
        "v_perm_b32 v57, v119, v115, %[hi]\n"
        "v_mfma_f32_16x16x16_f16 v[144:147], v[54:55], v[58:59], v[144:147]\n"
        "v_mfma_f32_16x16x16_f16 v[176:179], v[54:55], v[60:61], v[176:179]\n"
        "v_mfma_f32_16x16x16_f16 v[208:211], v[54:55], v[62:63], v[208:211]\n"
        "v_dot2_f32_f16 %[n3], v64, %[ones], %[n3]\n"
        "v_mfma_f32_16x16x16_f16 v[240:243], v[54:55], v[64:65], v[240:243]\n"
        "v_mfma_f32_16x16x16_f16 v[148:151], v[56:57], v[58:59], v[148:151]\n"
        "v_mfma_f32_16x16x16_f16 v[180:183], v[56:57], v[60:61], v[180:183]\n"
        "v_mfma_f32_16x16x16_f16 v[212:215], v[56:57], v[62:63], v[212:215]\n"
        "v_dot2_f32_f16 %[n3], v65, %[ones], %[n3]\n"
        "v_mfma_f32_16x16x16_f16 v[244:247], v[56:57], v[64:65], v[244:247]\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        : [l0] "+v"(l[0]), [l1] "+v"(l[1]), [l2] "+v"(l[2]), [l3] "+v"(l[3]), [n0] "+v"(n[0]), [n1] "+v"(n[1]), [n2] "+v"(n[2]), [n3] "+v"(n[3]), [ka0] "+v"(ka[0]), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]), [va0] "+v"(va[0]), [va1] "+v"(va[1]), [va2] "+v"(va[2]), [va3] "+v"(va[3]) : [m0] "v"(m[0]), [m1] "v"(m[1]), [m2] "v"(m[2]), [m3] "v"(m[3]), [lo] "s"(lo), [hi] "s"(hi), [ones] "s"(ones), [kd] "s"(kd), [vd] "s"(vd) : "memory", "vcc", "scc", "s65", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49");
    }
    asm volatile("s_nop 7\ns_waitcnt vmcnt(0)" ::: "memory"); // O's last MFMAs; copies nobody waited for
  }

  // ---- The result ----
  const int lane = lane_again();
  bool broken = no_cache || bad >= (u32)a.num_pages && w.tiles > 0;
  { // each wave saw the ids of its own rows only
    int* const flags = (int*)lds;
    const bool seen = any_lane(broken);
    __syncthreads();
    if (lane == 0) flags[wave] = seen;
    __syncthreads();
    for (int i = 0; i < WAVES; i++) broken |= flags[i] != 0;
  }
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
          "v_mov_b32 %0, v120\n"
          "v_mov_b32 %1, v124\n"
          "v_mov_b32 %2, v128\n"
          "v_mov_b32 %3, v132\n"
          "v_mov_b32 %4, v136\n"
          "v_mov_b32 %5, v140\n"
          "v_mov_b32 %6, v144\n"
          "v_mov_b32 %7, v148\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 0, at + 0, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v121\n"
          "v_mov_b32 %1, v125\n"
          "v_mov_b32 %2, v129\n"
          "v_mov_b32 %3, v133\n"
          "v_mov_b32 %4, v137\n"
          "v_mov_b32 %5, v141\n"
          "v_mov_b32 %6, v145\n"
          "v_mov_b32 %7, v149\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 8, at + 8, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v122\n"
          "v_mov_b32 %1, v126\n"
          "v_mov_b32 %2, v130\n"
          "v_mov_b32 %3, v134\n"
          "v_mov_b32 %4, v138\n"
          "v_mov_b32 %5, v142\n"
          "v_mov_b32 %6, v146\n"
          "v_mov_b32 %7, v150\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 16, at + 16, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v123\n"
          "v_mov_b32 %1, v127\n"
          "v_mov_b32 %2, v131\n"
          "v_mov_b32 %3, v135\n"
          "v_mov_b32 %4, v139\n"
          "v_mov_b32 %5, v143\n"
          "v_mov_b32 %6, v147\n"
          "v_mov_b32 %7, v151\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 24, at + 24, x, weight);
    }
  }
  {
    const int row = (wave * BLOCKS + 1) * 16 + (lane & 15);
    float sum = sum_over_groups(l[1], lane);
    if (broken) sum = __builtin_nanf("");
    const float total = broken ? sum : sum_over_groups(n[1], lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = m[1] + log2_fast(sum);
    const bool exists = row < w.rows;
    if (exists && lane < 16) {
      if (!final) a.part_lse[part + w.row + row] = lse2;
      else if (a.lse) a.lse[w.row + row] = lse2 * 0.69314718f;
    }
    const i64 at = (w.row + row) * R + 32 * (lane >> 4);
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v152\n"
          "v_mov_b32 %1, v156\n"
          "v_mov_b32 %2, v160\n"
          "v_mov_b32 %3, v164\n"
          "v_mov_b32 %4, v168\n"
          "v_mov_b32 %5, v172\n"
          "v_mov_b32 %6, v176\n"
          "v_mov_b32 %7, v180\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 0, at + 0, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v153\n"
          "v_mov_b32 %1, v157\n"
          "v_mov_b32 %2, v161\n"
          "v_mov_b32 %3, v165\n"
          "v_mov_b32 %4, v169\n"
          "v_mov_b32 %5, v173\n"
          "v_mov_b32 %6, v177\n"
          "v_mov_b32 %7, v181\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 8, at + 8, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v154\n"
          "v_mov_b32 %1, v158\n"
          "v_mov_b32 %2, v162\n"
          "v_mov_b32 %3, v166\n"
          "v_mov_b32 %4, v170\n"
          "v_mov_b32 %5, v174\n"
          "v_mov_b32 %6, v178\n"
          "v_mov_b32 %7, v182\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 16, at + 16, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v155\n"
          "v_mov_b32 %1, v159\n"
          "v_mov_b32 %2, v163\n"
          "v_mov_b32 %3, v167\n"
          "v_mov_b32 %4, v171\n"
          "v_mov_b32 %5, v175\n"
          "v_mov_b32 %6, v179\n"
          "v_mov_b32 %7, v183\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 24, at + 24, x, weight);
    }
  }
  {
    const int row = (wave * BLOCKS + 2) * 16 + (lane & 15);
    float sum = sum_over_groups(l[2], lane);
    if (broken) sum = __builtin_nanf("");
    const float total = broken ? sum : sum_over_groups(n[2], lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = m[2] + log2_fast(sum);
    const bool exists = row < w.rows;
    if (exists && lane < 16) {
      if (!final) a.part_lse[part + w.row + row] = lse2;
      else if (a.lse) a.lse[w.row + row] = lse2 * 0.69314718f;
    }
    const i64 at = (w.row + row) * R + 32 * (lane >> 4);
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v184\n"
          "v_mov_b32 %1, v188\n"
          "v_mov_b32 %2, v192\n"
          "v_mov_b32 %3, v196\n"
          "v_mov_b32 %4, v200\n"
          "v_mov_b32 %5, v204\n"
          "v_mov_b32 %6, v208\n"
          "v_mov_b32 %7, v212\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 0, at + 0, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v185\n"
          "v_mov_b32 %1, v189\n"
          "v_mov_b32 %2, v193\n"
          "v_mov_b32 %3, v197\n"
          "v_mov_b32 %4, v201\n"
          "v_mov_b32 %5, v205\n"
          "v_mov_b32 %6, v209\n"
          "v_mov_b32 %7, v213\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 8, at + 8, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v186\n"
          "v_mov_b32 %1, v190\n"
          "v_mov_b32 %2, v194\n"
          "v_mov_b32 %3, v198\n"
          "v_mov_b32 %4, v202\n"
          "v_mov_b32 %5, v206\n"
          "v_mov_b32 %6, v210\n"
          "v_mov_b32 %7, v214\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 16, at + 16, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v187\n"
          "v_mov_b32 %1, v191\n"
          "v_mov_b32 %2, v195\n"
          "v_mov_b32 %3, v199\n"
          "v_mov_b32 %4, v203\n"
          "v_mov_b32 %5, v207\n"
          "v_mov_b32 %6, v211\n"
          "v_mov_b32 %7, v215\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 24, at + 24, x, weight);
    }
  }
  {
    const int row = (wave * BLOCKS + 3) * 16 + (lane & 15);
    float sum = sum_over_groups(l[3], lane);
    if (broken) sum = __builtin_nanf("");
    const float total = broken ? sum : sum_over_groups(n[3], lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = m[3] + log2_fast(sum);
    const bool exists = row < w.rows;
    if (exists && lane < 16) {
      if (!final) a.part_lse[part + w.row + row] = lse2;
      else if (a.lse) a.lse[w.row + row] = lse2 * 0.69314718f;
    }
    const i64 at = (w.row + row) * R + 32 * (lane >> 4);
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v216\n"
          "v_mov_b32 %1, v220\n"
          "v_mov_b32 %2, v224\n"
          "v_mov_b32 %3, v228\n"
          "v_mov_b32 %4, v232\n"
          "v_mov_b32 %5, v236\n"
          "v_mov_b32 %6, v240\n"
          "v_mov_b32 %7, v244\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 0, at + 0, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v217\n"
          "v_mov_b32 %1, v221\n"
          "v_mov_b32 %2, v225\n"
          "v_mov_b32 %3, v229\n"
          "v_mov_b32 %4, v233\n"
          "v_mov_b32 %5, v237\n"
          "v_mov_b32 %6, v241\n"
          "v_mov_b32 %7, v245\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 8, at + 8, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v218\n"
          "v_mov_b32 %1, v222\n"
          "v_mov_b32 %2, v226\n"
          "v_mov_b32 %3, v230\n"
          "v_mov_b32 %4, v234\n"
          "v_mov_b32 %5, v238\n"
          "v_mov_b32 %6, v242\n"
          "v_mov_b32 %7, v246\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 16, at + 16, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v219\n"
          "v_mov_b32 %1, v223\n"
          "v_mov_b32 %2, v227\n"
          "v_mov_b32 %3, v231\n"
          "v_mov_b32 %4, v235\n"
          "v_mov_b32 %5, v239\n"
          "v_mov_b32 %6, v243\n"
          "v_mov_b32 %7, v247\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 24, at + 24, x, weight);
    }
  }
}
