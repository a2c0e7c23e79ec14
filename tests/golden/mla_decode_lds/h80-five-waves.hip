// Generated from templates/mla_decode_lds.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_4b4141c0
// parameters:
//   blocks = 1
//   causal = 0
//   dtype = bf16
//   heads = 80
//   load = dma
//   order = ahead
//   page_size = 8
//   q_len = 1
//   rank = 128
//   rescale = lazy
//   rope = 32
//   stages = 3
//   waves = 5
// regenerate: lua5.4 gen/cli.lua render mla_decode_lds target=gfx942 blocks=1 causal=0 dtype=bf16 heads=80 load=dma order=ahead page_size=8 q_len=1 rank=128 rescale=lazy rope=32 stages=3 waves=5
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

constexpr int H = 80, Q_LEN = 1, R = 128, P = 32, PAGE = 8;
constexpr bool CAUSAL = 0, LAZY = true;
constexpr int WAVES = 5, BLOCKS = 1, ROWS = 80, NJ = 1;
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
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(320, 320), amdgpu_num_vgpr(30))) void
mlaf_mla_decode_4b4141c0(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[20480];
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
    for (int i = thread_id(); i < ROWS && i < w.rows; i += 320) a.part_lse[part + w.row + i] = minus_inf();
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
      "v_mov_b32 v54, 0\n"
      "v_mov_b32 v55, 0\n"
      "v_mov_b32 v56, 0\n"
      "v_mov_b32 v57, 0\n"
      "v_mov_b32 v58, 0\n"
      "v_mov_b32 v59, 0\n"
      "v_mov_b32 v60, 0\n"
      "v_mov_b32 v61, 0\n"
      "v_mov_b32 v62, 0\n"
      "v_mov_b32 v63, 0\n"
      "v_mov_b32 v64, 0\n"
      "v_mov_b32 v65, 0\n"
      "v_mov_b32 v66, 0\n"
      "v_mov_b32 v67, 0\n"
      "v_mov_b32 v68, 0\n"
      "v_mov_b32 v69, 0\n"
      "v_mov_b32 v34, 0\n"
      "v_mov_b32 v35, 0\n"
      ::: "memory", "v133", "a19"); // the highest registers: the kernel's allocation covers all below
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
      mr[u] = base + (i < 8 ? LATENT_BYTES + 256 * i : STAGES * STAGE_BYTES + 6 * ROW_BYTES + 256 * (i - 8));
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
        "v_add_u32 v47, %[tokn], %[row0]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "global_load_dword v52, v47, %[pages]\n"
        "v_add_u32 v47, %[tokn], %[row1]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "global_load_dword v53, v47, %[pages]\n"
        :  : [tokn] "s"(tokn), [row0] "v"(row[0]), [last] "s"(last), [pages] "s"(pages), [row1] "v"(row[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim(0);
    asm volatile(
        "v_max_u32 %[bad], %[bad], v52\n"
        "v_min_u32 v46, %[maxid], v52\n"
        "v_add_u32 v47, %[tok], %[row0]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_and_b32 v47, 7, v47\n"
        "v_lshl_or_b32 v46, v46, 3, v47\n"
        "v_add_u32 v47, %[tokn], %[row0]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "global_load_dword v52, v47, %[pages]\n"
        "v_mad_u64_u32 v[48:49], vcc, v46, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[50:51], vcc, v46, %[vks], %[kp0]\n"
        "v_readlane_b32 s64, v48, 0\n"
        "v_readlane_b32 s65, v49, 0\n"
        "v_readlane_b32 s66, v48, 32\n"
        "v_readlane_b32 s67, v49, 32\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[50:51], off\n"
        "v_max_u32 %[bad], %[bad], v53\n"
        "v_min_u32 v46, %[maxid], v53\n"
        "v_add_u32 v47, %[tok], %[row1]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_and_b32 v47, 7, v47\n"
        "v_lshl_or_b32 v46, v46, 3, v47\n"
        "v_add_u32 v47, %[tokn], %[row1]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "global_load_dword v53, v47, %[pages]\n"
        "v_mad_u64_u32 v[48:49], vcc, v46, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[50:51], vcc, v46, %[vks], %[kp1]\n"
        "v_readlane_b32 s64, v48, 0\n"
        "v_readlane_b32 s65, v49, 0\n"
        "v_readlane_b32 s66, v48, 32\n"
        "v_readlane_b32 s67, v49, 32\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[50:51], off\n"
        : [bad] "+v"(bad) : [maxid] "s"(maxid), [tok] "s"(tok), [row0] "v"(row[0]), [last] "s"(last), [tokn] "s"(tokn), [pages] "s"(pages), [vcs] "v"(vcs), [ckv] "s"(ckv), [vks] "v"(vks), [kp0] "v"(kp[0]), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [mr0] "s"(mr[0]), [row1] "v"(row[1]), [kp1] "v"(kp[1]), [ml1] "s"(ml[1]), [la1] "v"(la[1]), [mr1] "s"(mr[1]) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
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
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    next_fill();
    aim(1);
    asm volatile(
        "v_max_u32 %[bad], %[bad], v52\n"
        "v_min_u32 v46, %[maxid], v52\n"
        "v_add_u32 v47, %[tok], %[row0]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_and_b32 v47, 7, v47\n"
        "v_lshl_or_b32 v46, v46, 3, v47\n"
        "v_add_u32 v47, %[tokn], %[row0]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "global_load_dword v52, v47, %[pages]\n"
        "v_mad_u64_u32 v[48:49], vcc, v46, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[50:51], vcc, v46, %[vks], %[kp0]\n"
        "v_readlane_b32 s64, v48, 0\n"
        "v_readlane_b32 s65, v49, 0\n"
        "v_readlane_b32 s66, v48, 32\n"
        "v_readlane_b32 s67, v49, 32\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[50:51], off\n"
        "v_max_u32 %[bad], %[bad], v53\n"
        "v_min_u32 v46, %[maxid], v53\n"
        "v_add_u32 v47, %[tok], %[row1]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_and_b32 v47, 7, v47\n"
        "v_lshl_or_b32 v46, v46, 3, v47\n"
        "v_add_u32 v47, %[tokn], %[row1]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "global_load_dword v53, v47, %[pages]\n"
        "v_mad_u64_u32 v[48:49], vcc, v46, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[50:51], vcc, v46, %[vks], %[kp1]\n"
        "v_readlane_b32 s64, v48, 0\n"
        "v_readlane_b32 s65, v49, 0\n"
        "v_readlane_b32 s66, v48, 32\n"
        "v_readlane_b32 s67, v49, 32\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 1\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[50:51], off\n"
        : [bad] "+v"(bad) : [maxid] "s"(maxid), [tok] "s"(tok), [row0] "v"(row[0]), [last] "s"(last), [tokn] "s"(tokn), [pages] "s"(pages), [vcs] "v"(vcs), [ckv] "s"(ckv), [vks] "v"(vks), [kp0] "v"(kp[0]), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [mr0] "s"(mr[0]), [row1] "v"(row[1]), [kp1] "v"(kp[1]), [ml1] "s"(ml[1]), [la1] "v"(la[1]), [mr1] "s"(mr[1]) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
    next_fill();

    // The step from a stage to the next, for K and V reads.
    u32 k_at = 0, kd = 0, v_at = 0, vd = 0, wd = 0;
    auto next = [](u32& at, u32& delta) {
      at = at == STAGES - 1 ? 0 : at + 1;
      delta = at == 0 ? 0u - (STAGES - 1) * STAGE_BYTES : STAGE_BYTES;
    };
    u64 rise;
    // Between the two parts of an iteration: scores of tile i stand in v[40..], scaled to base 2.
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
            :: "v"(left), "v"(none) : "vcc");
      }
    };
    auto rescale = [&] {
      if (LAZY && rise == 0) return;
      const int lane = lane_again();
      {
        float top;
        asm volatile("v_max3_f32 %0, v40, v41, v42\n"
                     "v_max_f32 %0, %0, v43" : "=v"(top));
        const float now = __builtin_fmaxf(m[0], max_over_groups(top, lane)), factor = exp2_fast(m[0] - now);
        m[0] = now;
        l[0] *= factor;
        n[0] *= factor;
        asm volatile("s_nop 7\n" // O's last MFMAs
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
            "s_nop 1" :: "v"(factor) : "memory");
      }
    };

    next(k_at, kd);
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[54:57], %[ka0] offset:0\n"
        "ds_read_b128 v[58:61], %[ka1] offset:0\n"
        "ds_read_b128 v[62:65], %[ka0] offset:128\n"
        "ds_read_b128 v[66:69], %[ka1] offset:128\n"
        "ds_read_b128 v[70:73], %[kr0] offset:0\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[54:55], a[0:1], 0\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[56:57], a[2:3], v[36:39]\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[58:59], a[4:5], v[36:39]\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[60:61], a[6:7], v[36:39]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[62:63], a[8:9], v[36:39]\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[64:65], a[10:11], v[36:39]\n"
        "s_waitcnt lgkmcnt(1)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[66:67], a[12:13], v[36:39]\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[68:69], a[14:15], v[36:39]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[70:71], a[16:17], v[36:39]\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[72:73], a[18:19], v[36:39]\n"
        :  : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [kr0] "v"(kr[0]) : "memory", "vcc", "scc", "s65", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
    asm volatile(
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        : [ka0] "+v"(ka[0]), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]) : [kd] "s"(kd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
    asm volatile("s_nop 7");
    for (int i = 0; i < w.tiles - 1; i++) {
      aim(i + LEAD);
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v30, v58, v54, %[lo]\n"
        "v_perm_b32 v31, v66, v62, %[lo]\n"
        "v_perm_b32 v32, v58, v54, %[hi]\n"
        "v_perm_b32 v33, v66, v62, %[hi]\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[30:31], v[34:35], v[102:105]\n"
        "ds_read_b128 v[70:73], %[ka0] offset:0\n"
        "ds_read_b128 v[74:77], %[ka1] offset:0\n"
        "ds_read_b128 v[78:81], %[ka0] offset:128\n"
        "v_max_u32 %[bad], %[bad], v52\n"
        "v_min_u32 v46, %[maxid], v52\n"
        "v_perm_b32 v30, v59, v55, %[lo]\n"
        "v_add_u32 v47, %[tok], %[row0]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_and_b32 v47, 7, v47\n"
        "v_perm_b32 v31, v67, v63, %[lo]\n"
        "v_lshl_or_b32 v46, v46, 3, v47\n"
        "v_mul_f32 v40, %[scale], v36\n"
        "v_add_u32 v47, %[tokn], %[row0]\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[32:33], v[34:35], v[106:109]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_perm_b32 v32, v59, v55, %[hi]\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "global_load_dword v52, v47, %[pages]\n"
        "v_perm_b32 v33, v67, v63, %[hi]\n"
        "v_mad_u64_u32 v[48:49], vcc, v46, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[50:51], vcc, v46, %[vks], %[kp0]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[30:31], v[34:35], v[110:113]\n"
        "ds_read_b128 v[82:85], %[ka1] offset:128\n"
        "v_readlane_b32 s64, v48, 0\n"
        "v_readlane_b32 s65, v49, 0\n"
        "v_perm_b32 v30, v60, v56, %[lo]\n"
        "v_readlane_b32 s66, v48, 32\n"
        "v_readlane_b32 s67, v49, 32\n"
        "v_mul_f32 v41, %[scale], v37\n"
        "s_mov_b32 m0, %[ml0]\n"
        "v_perm_b32 v31, v68, v64, %[lo]\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml0], 1024\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[32:33], v[34:35], v[114:117]\n"
        "global_load_lds_dword %[la0], s[66:67] offset:0\n"
        "v_perm_b32 v32, v60, v56, %[hi]\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[50:51], off\n"
        "v_max_u32 %[bad], %[bad], v53\n"
        "v_min_u32 v46, %[maxid], v53\n"
        "v_perm_b32 v33, v68, v64, %[hi]\n"
        "v_add_u32 v47, %[tok], %[row1]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[30:31], v[34:35], v[118:121]\n"
        "ds_read_b128 v[86:89], %[kr0] offset:0\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_and_b32 v47, 7, v47\n"
        "v_perm_b32 v30, v61, v57, %[lo]\n"
        "v_lshl_or_b32 v46, v46, 3, v47\n"
        "v_mul_f32 v42, %[scale], v38\n"
        "v_add_u32 v47, %[tokn], %[row1]\n"
        "v_min_u32 v47, %[last], v47\n"
        "v_perm_b32 v31, v69, v65, %[lo]\n"
        "v_lshrrev_b32 v47, 3, v47\n"
        "v_lshlrev_b32 v47, 2, v47\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[32:33], v[34:35], v[122:125]\n"
        "global_load_dword v53, v47, %[pages]\n"
        "v_perm_b32 v32, v61, v57, %[hi]\n"
        "v_mad_u64_u32 v[48:49], vcc, v46, %[vcs], %[ckv]\n"
        "v_mad_u64_u32 v[50:51], vcc, v46, %[vks], %[kp1]\n"
        "v_readlane_b32 s64, v48, 0\n"
        "v_readlane_b32 s65, v49, 0\n"
        "v_perm_b32 v33, v69, v65, %[hi]\n"
        "v_readlane_b32 s66, v48, 32\n"
        "v_mfma_f32_16x16x16_bf16 v[126:129], v[30:31], v[34:35], v[126:129]\n"
        "v_readlane_b32 s67, v49, 32\n"
        "v_mul_f32 v43, %[scale], v39\n"
        "s_mov_b32 m0, %[ml1]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "s_add_u32 m0, %[ml1], 1024\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[66:67] offset:0\n"
        "s_mov_b32 m0, %[mr1]\n"
        "s_nop 0\n"
        "global_load_lds_dword v[50:51], off\n"
        "v_mfma_f32_16x16x16_bf16 v[130:133], v[32:33], v[34:35], v[130:133]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[70:71], a[0:1], 0\n"
        "ds_read_b128 v[54:57], %[va0] offset:0\n"
        "ds_read_b128 v[58:61], %[va1] offset:0\n"
        "ds_read_b128 v[62:65], %[va2] offset:0\n"
        "ds_read_b128 v[66:69], %[va3] offset:0\n"
        "v_max3_f32 v44, v40, v41, v42\n"
        "v_max_f32 v44, v44, v43\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[72:73], a[2:3], v[36:39]\n"
        "v_sub_f32 v44, v44, %[m0]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v44\n"
        : [bad] "+v"(bad), [rise] "=s"(rise) : [lo] "s"(lo), [hi] "s"(hi), [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [maxid] "s"(maxid), [tok] "s"(tok), [row0] "v"(row[0]), [last] "s"(last), [scale] "s"(scale), [tokn] "s"(tokn), [pages] "s"(pages), [vcs] "v"(vcs), [ckv] "s"(ckv), [vks] "v"(vks), [kp0] "v"(kp[0]), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [mr0] "s"(mr[0]), [row1] "v"(row[1]), [kr0] "v"(kr[0]), [kp1] "v"(kp[1]), [ml1] "s"(ml[1]), [la1] "v"(la[1]), [mr1] "s"(mr[1]), [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [m0] "v"(m[0]), [slack] "s"(slack) : "memory", "vcc", "scc", "s64", "s65", "s66", "s67", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
      mask(i);
      rescale();
      next(k_at, kd);
      next(v_at, vd);
      next_fill();
      wd = fill;
    asm volatile(
        "s_waitcnt lgkmcnt(7)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[74:75], a[4:5], v[36:39]\n"
        "v_sub_f32 v40, v40, %[m0]\n"
        "v_sub_f32 v41, v41, %[m0]\n"
        "v_sub_f32 v42, v42, %[m0]\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[76:77], a[6:7], v[36:39]\n"
        "v_sub_f32 v43, v43, %[m0]\n"
        "v_exp_f32 v40, v40\n"
        "v_exp_f32 v41, v41\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[78:79], a[8:9], v[36:39]\n"
        "v_exp_f32 v42, v42\n"
        "v_exp_f32 v43, v43\n"
        "v_add_f32 %[l0], %[l0], v40\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[80:81], a[10:11], v[36:39]\n"
        "v_bfe_u32 v44, v40, 16, 1\n"
        "v_add3_u32 v40, v40, v44, %[half]\n"
        "v_add_f32 %[l0], %[l0], v41\n"
        "v_bfe_u32 v45, v41, 16, 1\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[82:83], a[12:13], v[36:39]\n"
        "v_add3_u32 v41, v41, v45, %[half]\n"
        "v_add_f32 %[l0], %[l0], v42\n"
        "v_bfe_u32 v44, v42, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[84:85], a[14:15], v[36:39]\n"
        "v_add3_u32 v42, v42, v44, %[half]\n"
        "v_add_f32 %[l0], %[l0], v43\n"
        "v_bfe_u32 v45, v43, 16, 1\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[86:87], a[16:17], v[36:39]\n"
        "v_add3_u32 v43, v43, v45, %[half]\n"
        "v_perm_b32 v34, v41, v40, %[hi]\n"
        "v_perm_b32 v35, v43, v42, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[36:39], v[88:89], a[18:19], v[36:39]\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_add_u32 %[ka1], %[kd], %[ka1]\n"
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        "v_lshlrev_b32 v44, 16, v34\n"
        "v_add_f32 %[n0], %[n0], v44\n"
        "v_and_b32 v44, 0xffff0000, v34\n"
        "v_add_f32 %[n0], %[n0], v44\n"
        "v_lshlrev_b32 v45, 16, v35\n"
        "v_add_f32 %[n0], %[n0], v45\n"
        "v_and_b32 v45, 0xffff0000, v35\n"
        "v_add_f32 %[n0], %[n0], v45\n"
        : [l0] "+v"(l[0]), [ka0] "+v"(ka[0]), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]), [va0] "+v"(va[0]), [va1] "+v"(va[1]), [va2] "+v"(va[2]), [va3] "+v"(va[3]), [n0] "+v"(n[0]) : [m0] "v"(m[0]), [half] "s"(half), [hi] "s"(hi), [kd] "s"(kd), [vd] "s"(vd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
    }
    {
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v30, v58, v54, %[lo]\n"
        "v_perm_b32 v31, v66, v62, %[lo]\n"
        "v_perm_b32 v32, v58, v54, %[hi]\n"
        "v_perm_b32 v33, v66, v62, %[hi]\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[30:31], v[34:35], v[102:105]\n"
        "ds_read_b128 v[70:73], %[va0] offset:0\n"
        "ds_read_b128 v[74:77], %[va1] offset:0\n"
        "ds_read_b128 v[78:81], %[va2] offset:0\n"
        "ds_read_b128 v[82:85], %[va3] offset:0\n"
        "v_perm_b32 v30, v59, v55, %[lo]\n"
        "v_perm_b32 v31, v67, v63, %[lo]\n"
        "v_mul_f32 v40, %[scale], v36\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[32:33], v[34:35], v[106:109]\n"
        "v_perm_b32 v32, v59, v55, %[hi]\n"
        "v_perm_b32 v33, v67, v63, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[30:31], v[34:35], v[110:113]\n"
        "v_perm_b32 v30, v60, v56, %[lo]\n"
        "v_mul_f32 v41, %[scale], v37\n"
        "v_perm_b32 v31, v68, v64, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[32:33], v[34:35], v[114:117]\n"
        "v_perm_b32 v32, v60, v56, %[hi]\n"
        "v_perm_b32 v33, v68, v64, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[30:31], v[34:35], v[118:121]\n"
        "v_perm_b32 v30, v61, v57, %[lo]\n"
        "v_mul_f32 v42, %[scale], v38\n"
        "v_perm_b32 v31, v69, v65, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[32:33], v[34:35], v[122:125]\n"
        "v_perm_b32 v32, v61, v57, %[hi]\n"
        "v_perm_b32 v33, v69, v65, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[126:129], v[30:31], v[34:35], v[126:129]\n"
        "v_mul_f32 v43, %[scale], v39\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_perm_b32 v30, v74, v70, %[lo]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v31, v82, v78, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[130:133], v[32:33], v[34:35], v[130:133]\n"
        "v_perm_b32 v32, v74, v70, %[hi]\n"
        "v_perm_b32 v33, v82, v78, %[hi]\n"
        "v_max3_f32 v44, v40, v41, v42\n"
        "v_max_f32 v44, v44, v43\n"
        "v_sub_f32 v44, v44, %[m0]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v44\n"
        : [rise] "=s"(rise) : [lo] "s"(lo), [hi] "s"(hi), [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [scale] "s"(scale), [m0] "v"(m[0]), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
      mask(w.tiles - 1);
      rescale();
    asm volatile(
        "v_sub_f32 v40, v40, %[m0]\n"
        "v_sub_f32 v41, v41, %[m0]\n"
        "v_sub_f32 v42, v42, %[m0]\n"
        "v_sub_f32 v43, v43, %[m0]\n"
        "v_exp_f32 v40, v40\n"
        "v_exp_f32 v41, v41\n"
        "v_exp_f32 v42, v42\n"
        "v_exp_f32 v43, v43\n"
        "v_add_f32 %[l0], %[l0], v40\n"
        "v_bfe_u32 v44, v40, 16, 1\n"
        "v_add3_u32 v40, v40, v44, %[half]\n"
        "v_add_f32 %[l0], %[l0], v41\n"
        "v_bfe_u32 v45, v41, 16, 1\n"
        "v_add3_u32 v41, v41, v45, %[half]\n"
        "v_add_f32 %[l0], %[l0], v42\n"
        "v_bfe_u32 v44, v42, 16, 1\n"
        "v_add3_u32 v42, v42, v44, %[half]\n"
        "v_add_f32 %[l0], %[l0], v43\n"
        "v_bfe_u32 v45, v43, 16, 1\n"
        "v_add3_u32 v43, v43, v45, %[half]\n"
        "v_perm_b32 v34, v41, v40, %[hi]\n"
        "v_perm_b32 v35, v43, v42, %[hi]\n"
        "s_nop 1\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[30:31], v[34:35], v[102:105]\n"
        "v_perm_b32 v30, v75, v71, %[lo]\n"
        "v_lshlrev_b32 v44, 16, v34\n"
        "v_perm_b32 v31, v83, v79, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[106:109], v[32:33], v[34:35], v[106:109]\n"
        "v_perm_b32 v32, v75, v71, %[hi]\n"
        "v_add_f32 %[n0], %[n0], v44\n"
        "v_perm_b32 v33, v83, v79, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[110:113], v[30:31], v[34:35], v[110:113]\n"
        "v_perm_b32 v30, v76, v72, %[lo]\n"
        "v_and_b32 v44, 0xffff0000, v34\n"
        "v_perm_b32 v31, v84, v80, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[32:33], v[34:35], v[114:117]\n"
        "v_perm_b32 v32, v76, v72, %[hi]\n"
        "v_add_f32 %[n0], %[n0], v44\n"
        "v_perm_b32 v33, v84, v80, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[30:31], v[34:35], v[118:121]\n"
        "v_perm_b32 v30, v77, v73, %[lo]\n"
        "v_lshlrev_b32 v45, 16, v35\n"
        "v_perm_b32 v31, v85, v81, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[32:33], v[34:35], v[122:125]\n"
        "v_perm_b32 v32, v77, v73, %[hi]\n"
        "v_add_f32 %[n0], %[n0], v45\n"
        "v_perm_b32 v33, v85, v81, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[126:129], v[30:31], v[34:35], v[126:129]\n"
        "v_and_b32 v45, 0xffff0000, v35\n"
        "v_mfma_f32_16x16x16_bf16 v[130:133], v[32:33], v[34:35], v[130:133]\n"
        "v_add_f32 %[n0], %[n0], v45\n"
        : [l0] "+v"(l[0]), [n0] "+v"(n[0]) : [m0] "v"(m[0]), [half] "s"(half), [hi] "s"(hi), [lo] "s"(lo) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19");
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
          "v_mov_b32 %0, v102\n"
          "v_mov_b32 %1, v106\n"
          "v_mov_b32 %2, v110\n"
          "v_mov_b32 %3, v114\n"
          "v_mov_b32 %4, v118\n"
          "v_mov_b32 %5, v122\n"
          "v_mov_b32 %6, v126\n"
          "v_mov_b32 %7, v130\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 0, at + 0, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v103\n"
          "v_mov_b32 %1, v107\n"
          "v_mov_b32 %2, v111\n"
          "v_mov_b32 %3, v115\n"
          "v_mov_b32 %4, v119\n"
          "v_mov_b32 %5, v123\n"
          "v_mov_b32 %6, v127\n"
          "v_mov_b32 %7, v131\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 8, at + 8, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v104\n"
          "v_mov_b32 %1, v108\n"
          "v_mov_b32 %2, v112\n"
          "v_mov_b32 %3, v116\n"
          "v_mov_b32 %4, v120\n"
          "v_mov_b32 %5, v124\n"
          "v_mov_b32 %6, v128\n"
          "v_mov_b32 %7, v132\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 16, at + 16, x, weight);
    }
    {
      float x[8];
      asm volatile(
          "v_mov_b32 %0, v105\n"
          "v_mov_b32 %1, v109\n"
          "v_mov_b32 %2, v113\n"
          "v_mov_b32 %3, v117\n"
          "v_mov_b32 %4, v121\n"
          "v_mov_b32 %5, v125\n"
          "v_mov_b32 %6, v129\n"
          "v_mov_b32 %7, v133\n"
          : "=v"(x[0]), "=v"(x[1]), "=v"(x[2]), "=v"(x[3]), "=v"(x[4]), "=v"(x[5]), "=v"(x[6]), "=v"(x[7]));
      if (exists) write_o(a, final, part * R + at + 24, at + 24, x, weight);
    }
  }
}
