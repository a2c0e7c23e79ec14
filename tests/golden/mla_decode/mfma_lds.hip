// Generated from templates/mla_decode/mfma_lds.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_lds target=gfx942 blocks=1 causal=0 dtype=bf16 heads=128 load=dma order=ahead page_size=48 q_len=1 rank=256 rescale=always rope=64 schedule=fitted stages=3 waves=8

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
// [3 more lines of tests/golden/mla_decode/combine_wave.hip, with other numbers]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_mfma_lds_3349ede3_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 1, {0, 0}, 0, {}};
// [templates/mla_decode/lib/fit_wave.h]

constexpr int H = 128, Q_LEN = 1, R = 256, ROPE = 64, PAGE = 48;
constexpr bool CAUSAL = 0, LAZY = false;
constexpr int WAVES = 8, BLOCKS = 1, ROWS = 128, STEP = 16, NJ = 2;
constexpr u32 STAGES = 3, STAGE_BYTES = 10240;
constexpr u32 LATENT_BYTES = 8192, ROW_BYTES = 512;
constexpr int UNITS = 1, LEAD = 2;

MLAF_DEV int lane_again() {
// [9 more lines of templates/mla_decode/mfma_lds.hip.in]

template <typename T>
// [9 more lines of templates/mla_decode/lib/refuse.h]
  MLAF_GLOBAL u32* const lse = (MLAF_GLOBAL u32*)(u64)(part < 0 ? a.lse : a.part_lse + part);
  MLAF_GLOBAL u32* const o = (MLAF_GLOBAL u32*)(u64)(part < 0 ? a.o : (char*)(a.part_o + part * R));
#pragma unroll 1
// [6 more lines of templates/mla_decode/lib/refuse.h]
struct piece {
// [49 more lines of templates/mla_decode/lib/fit_walk.h]
  int next; // request; -1: none is left
// [132 more lines of templates/mla_decode/lib/fit_walk.h]

MLAF_DEV int visible(const piece& w, int row) {
// [9 more lines of templates/mla_decode/mfma_lds.hip.in]

MLAF_DEV void tile_offsets(u32 last, u32 cs, u32 ks, int wave, int lane, u32 (&la)[2],
                           u32 (&lr)[UNITS]) {
// [7 more lines of templates/mla_decode/mfma_lds.hip.in]
  }
// [8 more lines of templates/mla_decode/mfma_lds.hip.in]
  MLAF_GLOBAL char* const upper = (MLAF_GLOBAL char*)(u64)base + wide(16 * (lane & 7));
  return {upper, upper + (final ? 16 * R : 32 * R), rows_left > 0, rows_left > 8};
// [20 more lines of templates/mla_decode/mfma_lds.hip.in]

MLAF_DEV void write_constant(const mlaf_decode_args& a, bool final, const piece& w, i64 part, float value, int wave) {
  const int rows = smaller(ROWS, w.rows);
  const float lse = value == 0.0f ? minus_inf() : value;
  const int first = 64 * wave + lane_again();
  for (int i = first; i < rows; i += 64 * WAVES) {
    if (!final) *(MLAF_GLOBAL float*)(global(a.part_lse) + 4 * (part + w.row + i)) = lse;
// [6 more lines of templates/mla_decode/mfma_lds.hip.in]
  for (int i = first; i < rows * (final ? R / 8 : R / 4); i += 64 * WAVES)
    *(MLAF_GLOBAL u32x4*)(to + 16 * i) = u32x4{bits, bits, bits, bits};
// [6 more lines of templates/mla_decode/mfma_lds.hip.in]
  if (__builtin_expect(w.n == 0, 0)) return refuse_piece(a, w, 64 * wave + lane_again());
  if (tiles == 0 || no_cache) {
    write_constant(a, final, w, part, tiles == 0 ? 0.0f : __builtin_nanf(""), wave);
    return;
// [3 more lines of templates/mla_decode/mfma_lds.hip.in]
    const int lane = lane_again();
    const float scale = a.scale_log2e, slack = 8.0f;
    const u32 lo = 0x05040100, hi = 0x07060302; // v_perm: low halves, high halves
    const u32 half = 0x7fff, ones = 0x3c003c00; // bf16 rounding; 1, 1 in f16
    const u32 maxid = a.num_pages - 1, last = w.tokens - 1;
    const u32 cs = (u32)(2 * a.ckv_row_stride), ks = (u32)(2 * a.kpe_row_stride);
// [14 more lines of templates/mla_decode/mfma_lds.hip.in]
      va[r] = base + (4 * q + r) * ROW_BYTES + 16 * (chunk ^ 2 * r);
    }

    const u32 ckl = (u32)(u64)a.ckv, ckh = (u32)((u64)a.ckv >> 32);
    const u32 kpl = (u32)(u64)a.kpe, kph = (u32)((u64)a.kpe >> 32);
    u32 la[2], lr[UNITS], pos, pgo;
    tile_offsets(15, cs, ks, wave, lane, la, lr);
    u32 ml[UNITS], mr[UNITS];
// [12 more lines of templates/mla_decode/mfma_lds.hip.in]
      ml[u] = base + (i < 8 ? pair_row(i) * ROW_BYTES : 36864 + (i - 8) * ROW_BYTES);
      mr[u] = base + (i < 8 ? LATENT_BYTES + 256 * i : 38912 + 256 * (i - 8));
    }
    const u32 last_tile = w.begin + 16 * (tiles - 1);
// [7 more lines of templates/mla_decode/mfma_lds.hip.in]
    };

    pgo = next / PAGE * 4;
    asm volatile(
        "v_mov_b32 v37, %[pgo]\n"
        "global_load_dword v38, v37, %[pages]\n"
        :  : [pgo] "s"(pgo), [pages] "s"(pages) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v37", "v38", "v39", "v40", "v41", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    const u32 qw = base + 20480 + 2048 * wave + 128 * (lane >> 3) + 16 * ((lane & 7) ^ (lane >> 3));
    const u32 qr[2] = {base + 20480 + 2048 * wave + 128 * t + 16 * (q ^ (t & 7)),
                       base + 20480 + 2048 * wave + 128 * t + 16 * ((4 + q) ^ (t & 7))};
    auto q_row = [&](int b, int i) {
      const int at = smaller((wave * BLOCKS + b) * 16 + 8 * i + (lane >> 3), w.rows - 1);
      return (u64)a.q + (u64)(w.row + at) * (2 * (R + ROPE));
    };
    {
      const u64 qa[2] = {q_row(0, 0) + wide(16 * (lane & 7)), q_row(0, 1) + wide(16 * (lane & 7))};
    asm volatile(
        "global_load_dwordx4 v[90:93], %[qa0], off offset:0\n"
// [9 more times the line above, with other numbers]
        :  : [qa0] "v"(qa[0]), [qa1] "v"(qa[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v38", "v39", "v40", "v41", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    aim();
    asm volatile(
        "v_readfirstlane_b32 s68, v38\n"
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
        "v_mov_b32 v37, %[pgo]\n"
        "global_load_dword v38, v37, %[pages]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:256\n"
        "s_add_u32 m0, %[ml0], 2048\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:256\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        : [bad] "+s"(bad) : [maxid] "s"(maxid), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "s64", "s65", "s66", "s67", "s68", "v37", "v38", "v39", "v40", "v41", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile(
        "ds_write_b128 %[qw], v[90:93] offset:0\n"
        "ds_write_b128 %[qw], v[94:97] offset:1024\n"
        "ds_read_b128 a[0:3], %[qr0]\n"
        "ds_read_b128 a[4:7], %[qr1]\n"
// [2 more times the 4 lines above, with other numbers]
        "ds_write_b128 %[qw], v[114:117] offset:0\n"
        "ds_write_b128 %[qw], v[118:121] offset:1024\n"
        "ds_read_b128 a[24:27], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[28:31], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[122:125] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[126:129] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[32:35], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[36:39], %[qr1]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v38", "v39", "v40", "v41", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile(
      "v_mov_b32 v39, 0xff7fffff\n" // -FLT_MAX
      "v_mov_b32 v40, 0\n"
      "v_mov_b32 v41, 0\n"
        "v_mov_b32 v90, 0\n"
// [63 more times the line above, with other numbers]
      ::: "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v38", "v39", "v40", "v41", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "v153", "a39");
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    step_copies();
    aim();
// [28 more lines of those above, with other numbers]
    step_copies();
// [4 more lines of templates/mla_decode/mfma_lds.hip.in]
    u32 &vd = steps[0], &kd = steps[1], &wd = steps[2];
    auto turn = [&] {
// [13 more lines of templates/mla_decode/mfma_lds.hip.in]
        const int left = visible(w, (wave * BLOCKS + 0) * 16 + (lane & 15)) - at - 4 * (lane >> 4);
        asm volatile(
            "v_cmp_lt_i32 vcc, 0, %0\n"
            "s_nop 1\n"
            "v_cndmask_b32 v30, %1, v30, vcc\n"
// [3 more times the 3 lines above, with other numbers]
            :: "v"(left), "v"(none) : "vcc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
// [6 more lines of templates/mla_decode/mfma_lds.hip.in]
        asm volatile("v_max3_f32 %0, v30, v31, v32\n"
                     "v_max_f32 %0, %0, v33" : "=v"(top) :: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        top = max_over_groups(top, lane);
        asm volatile("v_mov_b32 %0, v39\n"
                     "v_max_f32 v39, %0, %2\n"
                     "v_sub_f32 %1, %0, v39" : "=&v"(old), "=&v"(step) : "v"(top) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        const float factor = exp2_fast(step);
        const bool started = any_lane(old > -3e38f); // else O = 0
        asm volatile("s_nop 0\n"
                     "v_mul_f32 v40, %0, v40\n"
                     "v_mul_f32 v41, %0, v41" :: "v"(factor) : "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
        if (started) asm volatile("s_nop 7\n" // O's last MFMAs
            "v_mul_f32 v90, %0, v90\n"
// [63 more times the line above, with other numbers]
            "s_nop 1" :: "v"(factor) : "memory", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      }
    };

    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[42:45], %[ka0] offset:0\n"
// [5 more times the line above, with other numbers]
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[42:43], a[0:1], 0\n"
        "ds_read_b128 v[66:69], %[ka0] offset:384\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[44:45], a[2:3], v[26:29]\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[46:47], a[4:5], v[26:29]\n"
// [1 more times the 4 lines above, with other numbers]
        "ds_read_b128 v[46:49], %[kr0] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[52:53], a[10:11], v[26:29]\n"
// [3 more lines of those above, with other numbers]
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[60:61], a[18:19], v[26:29]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[62:63], a[20:21], v[26:29]\n"
// [4 more times the 3 lines above, with other numbers]
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[52:53], a[38:39], v[26:29]\n"
        :  : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [kr0] "v"(kr[0]), [kr1] "v"(kr[1]) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    asm volatile( // the rest of a tile in front of the first
        "v_mov_b32 v42, 0\n"
// [21 more times the line above, with other numbers]
        "s_nop 7" ::: "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128"); // S
#pragma unroll
// [4 more lines of templates/mla_decode/mfma_lds.hip.in]
    for (; at != (int)last_tile; at += 16) {
      aim();
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_16x16x16_bf16 v[122:125], v[20:21], v[24:25], v[122:125]\n"
        "ds_read_b128 v[58:61], %[ka0] offset:0\n"
        "ds_read_b128 v[62:65], %[ka1] offset:0\n"
        "ds_read_b128 v[66:69], %[ka0] offset:128\n"
        "v_readfirstlane_b32 s68, v38\n"
        "v_perm_b32 v20, v47, v43, %[lo]\n"
        "s_max_u32 %[bad], %[bad], s68\n"
        "v_perm_b32 v21, v55, v51, %[lo]\n"
        "v_mul_f32 v30, %[scale], v26\n"
        "v_mfma_f32_16x16x16_bf16 v[126:129], v[22:23], v[24:25], v[126:129]\n"
        "s_min_u32 s68, s68, %[maxid]\n"
        "v_perm_b32 v22, v47, v43, %[hi]\n"
        "s_mul_i32 s68, s68, 48\n"
        "v_perm_b32 v23, v55, v51, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[130:133], v[20:21], v[24:25], v[130:133]\n"
        "ds_read_b128 v[70:73], %[ka1] offset:128\n"
        "s_add_u32 s68, s68, %[pos]\n"
        "v_perm_b32 v20, v48, v44, %[lo]\n"
        "v_mul_f32 v31, %[scale], v27\n"
        "s_mul_i32 s64, s68, %[cs]\n"
        "v_perm_b32 v21, v56, v52, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[134:137], v[22:23], v[24:25], v[134:137]\n"
        "s_mul_hi_u32 s65, s68, %[cs]\n"
        "v_perm_b32 v22, v48, v44, %[hi]\n"
        "s_add_u32 s64, s64, %[ckl]\n"
        "v_perm_b32 v23, v56, v52, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[138:141], v[20:21], v[24:25], v[138:141]\n"
        "ds_read_b128 v[74:77], %[ka0] offset:256\n"
        "s_addc_u32 s65, s65, %[ckh]\n"
        "v_perm_b32 v20, v49, v45, %[lo]\n"
        "v_mul_f32 v32, %[scale], v28\n"
        "s_mul_i32 s66, s68, %[ks]\n"
        "v_perm_b32 v21, v57, v53, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[142:145], v[22:23], v[24:25], v[142:145]\n"
        "s_mul_hi_u32 s67, s68, %[ks]\n"
        "v_perm_b32 v22, v49, v45, %[hi]\n"
        "s_add_u32 s66, s66, %[kpl]\n"
        "v_perm_b32 v23, v57, v53, %[hi]\n"
        "s_addc_u32 s67, s67, %[kph]\n"
        "v_mfma_f32_16x16x16_bf16 v[146:149], v[20:21], v[24:25], v[146:149]\n"
        "ds_read_b128 v[50:53], %[ka1] offset:256\n"
        "v_mul_f32 v33, %[scale], v29\n"
        "v_mov_b32 v37, %[pgo]\n"
        "global_load_dword v38, v37, %[pages]\n"
        "v_mfma_f32_16x16x16_bf16 v[150:153], v[22:23], v[24:25], v[150:153]\n"
        "s_mov_b32 m0, %[ml0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[la0], s[64:65] offset:0\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[58:59], a[0:1], 0\n"
        "ds_read_b128 v[54:57], %[ka0] offset:384\n"
        "global_load_lds_dword %[la0], s[64:65] offset:256\n"
        "v_max3_f32 v34, v30, v31, v32\n"
        "s_add_u32 m0, %[ml0], 2048\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[60:61], a[2:3], v[26:29]\n"
        "global_load_lds_dword %[la1], s[64:65] offset:0\n"
        "global_load_lds_dword %[la1], s[64:65] offset:256\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[62:63], a[4:5], v[26:29]\n"
        "ds_read_b128 v[58:61], %[ka1] offset:384\n"
        "v_max_f32 v34, v34, v33\n"
        "s_mov_b32 m0, %[mr0]\n"
        "s_nop 0\n"
        "global_load_lds_dword %[lr0], s[66:67]\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[64:65], a[6:7], v[26:29]\n"
        "v_sub_f32 v34, v34, v39\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[66:67], a[8:9], v[26:29]\n"
        "ds_read_b128 v[62:65], %[kr0] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[68:69], a[10:11], v[26:29]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v34\n"
        : [bad] "+s"(bad), [rise] "=s"(rise) : [ka0] "v"(ka[0]), [ka1] "v"(ka[1]), [lo] "s"(lo), [scale] "s"(scale), [maxid] "s"(maxid), [hi] "s"(hi), [pos] "s"(pos), [cs] "s"(cs), [ckl] "s"(ckl), [ckh] "s"(ckh), [ks] "s"(ks), [kpl] "s"(kpl), [kph] "s"(kph), [pgo] "s"(pgo), [pages] "s"(pages), [ml0] "s"(ml[0]), [la0] "v"(la[0]), [la1] "v"(la[1]), [mr0] "s"(mr[0]), [lr0] "v"(lr[0]), [kr0] "v"(kr[0]), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "s64", "s65", "s66", "s67", "s68", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      mask();
      rescale();
    asm volatile(
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[70:71], a[12:13], v[26:29]\n"
        "ds_read_b128 v[66:69], %[kr1] offset:0\n"
        "v_sub_f32 v30, v30, v39\n"
        "v_sub_f32 v31, v31, v39\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[72:73], a[14:15], v[26:29]\n"
// [3 more lines of those above, with other numbers]
        "v_sub_f32 v33, v33, v39\n"
        "ds_read_b128 v[70:73], %[va0] offset:0\n"
        "ds_read_b128 v[42:45], %[va1] offset:0\n"
        "v_exp_f32 v30, v30\n"
        "ds_read_b128 v[46:49], %[va2] offset:0\n"
        "ds_read_b128 v[78:81], %[va3] offset:0\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[76:77], a[18:19], v[26:29]\n"
        "v_exp_f32 v31, v31\n"
        "v_exp_f32 v32, v32\n"
        "s_waitcnt lgkmcnt(8)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[50:51], a[20:21], v[26:29]\n"
        "v_exp_f32 v33, v33\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[52:53], a[22:23], v[26:29]\n"
        "v_add_f32 v40, v40, v30\n"
        "v_bfe_u32 v34, v30, 16, 1\n"
        "s_waitcnt lgkmcnt(7)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[54:55], a[24:25], v[26:29]\n"
        "v_add3_u32 v30, v30, v34, %[half]\n"
        "v_add_f32 v40, v40, v31\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[56:57], a[26:27], v[26:29]\n"
        "v_bfe_u32 v35, v31, 16, 1\n"
        "v_add3_u32 v31, v31, v35, %[half]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[58:59], a[28:29], v[26:29]\n"
// [1 more times the 6 lines above, with other numbers]
        "ds_read_b128 v[50:53], %[va2] offset:256\n"
        "ds_read_b128 v[54:57], %[va3] offset:256\n"
        "v_add_f32 v40, v40, v33\n"
        "v_bfe_u32 v35, v33, 16, 1\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[64:65], a[34:35], v[26:29]\n"
        "v_add3_u32 v33, v33, v35, %[half]\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[66:67], a[36:37], v[26:29]\n"
        "v_perm_b32 v24, v31, v30, %[hi]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v20, v42, v70, %[lo]\n"
        "v_perm_b32 v25, v33, v32, %[hi]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_perm_b32 v21, v78, v46, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[26:29], v[68:69], a[38:39], v[26:29]\n"
        "v_perm_b32 v22, v42, v70, %[hi]\n"
        "v_perm_b32 v23, v78, v46, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[90:93], v[20:21], v[24:25], v[90:93]\n"
        "v_perm_b32 v20, v43, v71, %[lo]\n"
        "v_lshlrev_b32 v34, 16, v24\n"
        "v_perm_b32 v21, v79, v47, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[94:97], v[22:23], v[24:25], v[94:97]\n"
        "v_add_u32 %[ka0], %[kd], %[ka0]\n"
        "v_perm_b32 v22, v43, v71, %[hi]\n"
        "v_add_f32 v41, v41, v34\n"
        "v_perm_b32 v23, v79, v47, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[98:101], v[20:21], v[24:25], v[98:101]\n"
        "s_add_u32 %[ml0], %[wd], %[ml0]\n"
        "v_perm_b32 v20, v44, v72, %[lo]\n"
        "v_and_b32 v34, 0xffff0000, v24\n"
        "v_perm_b32 v21, v80, v48, %[lo]\n"
// [6 more lines of those above, with other numbers]
        "v_perm_b32 v20, v45, v73, %[lo]\n"
// [3 more lines of those above, with other numbers]
        "v_add_u32 %[kr0], %[kd], %[kr0]\n"
        "v_perm_b32 v22, v45, v73, %[hi]\n"
        "ds_read_b128 v[42:45], %[va0] offset:256\n"
        "v_add_f32 v41, v41, v35\n"
        "v_perm_b32 v23, v81, v49, %[hi]\n"
        "ds_read_b128 v[46:49], %[va1] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[20:21], v[24:25], v[114:117]\n"
        "s_add_u32 %[mr0], %[wd], %[mr0]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_perm_b32 v20, v46, v42, %[lo]\n"
        "v_add_u32 %[va0], %[vd], %[va0]\n"
        "v_and_b32 v35, 0xffff0000, v25\n"
        "v_perm_b32 v21, v54, v50, %[lo]\n"
        "v_add_u32 %[va1], %[vd], %[va1]\n"
        "v_mfma_f32_16x16x16_bf16 v[118:121], v[22:23], v[24:25], v[118:121]\n"
        "v_add_u32 %[kr1], %[kd], %[kr1]\n"
        "v_perm_b32 v22, v46, v42, %[hi]\n"
        "v_add_u32 %[va2], %[vd], %[va2]\n"
        "v_add_f32 v41, v41, v35\n"
        "v_perm_b32 v23, v54, v50, %[hi]\n"
        "v_add_u32 %[va3], %[vd], %[va3]\n"
        : [kr1] "+v"(kr[1]), [va0] "+v"(va[0]), [va1] "+v"(va[1]), [va2] "+v"(va[2]), [va3] "+v"(va[3]), [ka0] "+v"(ka[0]), [ml0] "+s"(ml[0]), [ka1] "+v"(ka[1]), [kr0] "+v"(kr[0]), [mr0] "+s"(mr[0]) : [half] "s"(half), [hi] "s"(hi), [lo] "s"(lo), [kd] "s"(kd), [wd] "s"(wd), [vd] "s"(vd) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      turn();
    }
    {
    asm volatile(
// [3 more lines of those above, with other numbers]
        "ds_read_b128 v[58:61], %[va0] offset:0\n"
        "ds_read_b128 v[62:65], %[va1] offset:0\n"
        "ds_read_b128 v[66:69], %[va2] offset:0\n"
        "ds_read_b128 v[70:73], %[va3] offset:0\n"
        "v_perm_b32 v20, v47, v43, %[lo]\n"
        "v_perm_b32 v21, v55, v51, %[lo]\n"
        "v_mul_f32 v30, %[scale], v26\n"
        "v_mfma_f32_16x16x16_bf16 v[126:129], v[22:23], v[24:25], v[126:129]\n"
        "v_perm_b32 v22, v47, v43, %[hi]\n"
// [3 more lines of those above, with other numbers]
        "v_mul_f32 v31, %[scale], v27\n"
        "v_perm_b32 v21, v56, v52, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[134:137], v[22:23], v[24:25], v[134:137]\n"
// [3 more lines of those above, with other numbers]
        "ds_read_b128 v[74:77], %[va0] offset:256\n"
        "v_perm_b32 v20, v49, v45, %[lo]\n"
        "ds_read_b128 v[78:81], %[va1] offset:256\n"
        "v_mul_f32 v32, %[scale], v28\n"
        "v_perm_b32 v21, v57, v53, %[lo]\n"
        "ds_read_b128 v[82:85], %[va2] offset:256\n"
        "ds_read_b128 v[86:89], %[va3] offset:256\n"
        "v_mfma_f32_16x16x16_bf16 v[142:145], v[22:23], v[24:25], v[142:145]\n"
// [3 more lines of those above, with other numbers]
        "v_mul_f32 v33, %[scale], v29\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_perm_b32 v20, v62, v58, %[lo]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_perm_b32 v21, v70, v66, %[lo]\n"
// [3 more lines of those above, with other numbers]
        "v_max3_f32 v34, v30, v31, v32\n"
        "v_max_f32 v34, v34, v33\n"
        "v_sub_f32 v34, v34, v39\n"
        "v_cmp_lt_f32 %[rise], %[slack], v34\n"
        : [rise] "=s"(rise) : [va0] "v"(va[0]), [va1] "v"(va[1]), [va2] "v"(va[2]), [va3] "v"(va[3]), [lo] "s"(lo), [scale] "s"(scale), [hi] "s"(hi), [slack] "s"(slack) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      mask();
      rescale();
    asm volatile(
        "v_sub_f32 v30, v30, v39\n"
        "v_sub_f32 v31, v31, v39\n"
        "v_sub_f32 v32, v32, v39\n"
        "v_sub_f32 v33, v33, v39\n"
        "v_exp_f32 v30, v30\n"
        "v_exp_f32 v31, v31\n"
        "v_exp_f32 v32, v32\n"
        "v_exp_f32 v33, v33\n"
        "v_add_f32 v40, v40, v30\n"
        "v_bfe_u32 v34, v30, 16, 1\n"
        "v_add3_u32 v30, v30, v34, %[half]\n"
// [3 more times the 3 lines above, with other numbers]
        "v_perm_b32 v24, v31, v30, %[hi]\n"
        "v_perm_b32 v25, v33, v32, %[hi]\n"
        "s_nop 1\n"
        "v_mfma_f32_16x16x16_bf16 v[90:93], v[20:21], v[24:25], v[90:93]\n"
        "v_perm_b32 v20, v63, v59, %[lo]\n"
        "v_perm_b32 v21, v71, v67, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[94:97], v[22:23], v[24:25], v[94:97]\n"
        "v_lshlrev_b32 v34, 16, v24\n"
        "v_perm_b32 v22, v63, v59, %[hi]\n"
// [3 more lines of those above, with other numbers]
        "v_perm_b32 v21, v72, v68, %[lo]\n"
        "v_mfma_f32_16x16x16_bf16 v[102:105], v[22:23], v[24:25], v[102:105]\n"
        "v_add_f32 v41, v41, v34\n"
        "v_perm_b32 v22, v64, v60, %[hi]\n"
// [5 more lines of those above, with other numbers]
        "v_and_b32 v34, 0xffff0000, v24\n"
        "v_perm_b32 v22, v65, v61, %[hi]\n"
        "v_perm_b32 v23, v73, v69, %[hi]\n"
        "v_mfma_f32_16x16x16_bf16 v[114:117], v[20:21], v[24:25], v[114:117]\n"
        "s_waitcnt lgkmcnt(2)\n"
// [4 more lines of those above, with other numbers]
        "v_add_f32 v41, v41, v34\n"
// [6 more lines of those above, with other numbers]
        "v_lshlrev_b32 v35, 16, v25\n"
// [17 more lines of those above, with other numbers]
        "s_nop 0\n"
        "v_mfma_f32_16x16x16_bf16 v[150:153], v[22:23], v[24:25], v[150:153]\n"
        "v_add_f32 v41, v41, v35\n"
        :  : [half] "s"(half), [hi] "s"(hi), [lo] "s"(lo) : "memory", "vcc", "scc", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    }
    asm volatile("s_nop 7\ns_waitcnt vmcnt(0)" ::: "memory"); // O's last MFMAs; copies nobody waited for
  }

  const mlaf_decode_args to = arguments_again();
  const int lane = lane_again();
  __syncthreads(); // all have read the last tile: LDS is free
  bool broken = bad >= (u32)to.num_pages;
  char* const turn = lds + 2048 * wave;
  char* const put = turn + 128 * (lane & 15);
// [3 more lines of templates/mla_decode/mfma_lds.hip.in]
    constexpr int FIRST = 0;
    const int row = wave * BLOCKS * 16 + FIRST + (lane & 15);
    float top, sum, total;
    asm volatile("v_mov_b32 %0, v39\nv_mov_b32 %1, v40\nv_mov_b32 %2, v41"
                 : "=v"(top), "=v"(sum), "=v"(total) :: "v39", "v40", "v41", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
    sum = broken ? __builtin_nanf("") : sum_over_groups(sum, lane);
    total = broken ? sum : sum_over_groups(total, lane);
    const float weight = sum == 0.0f ? 0.0f : 1.0f / total; // no token seen: O = 0. NaN stays
    const float lse2 = top + log2_fast(sum);
// [4 more lines of templates/mla_decode/mfma_lds.hip.in]
    const int first = wave * BLOCKS * 16 + FIRST + (lane >> 3);
// [4 more lines of templates/mla_decode/mfma_lds.hip.in]
          "v_mul_f32 %0, v90, %8\n"
          "v_mul_f32 %1, v94, %8\n"
          "v_mul_f32 %2, v98, %8\n"
          "v_mul_f32 %3, v102, %8\n"
          "v_mul_f32 %4, v106, %8\n"
// [3 more lines of those above, with other numbers]
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v39", "v40", "v41", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128");
      write_o<0>(out, final, put, get, key, group ^ 0, 0, x);
    }
    {
      float x[8];
      asm volatile(
// [6 more times the 15 lines above, with other numbers]
          "v_mul_f32 %0, v125, %8\n"
// [7 more times the line above, with other numbers]
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
// [3 more lines of those above, with other numbers]
  }
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(512, 512),
                                     amdgpu_num_vgpr(20))) void
mlaf_mla_decode_mfma_lds_3349ede3(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(128))) char lds[36864];
  const int wave = uniform(thread_id() >> 6);
// [13 more lines of templates/mla_decode/mfma_lds.hip.in]
}
