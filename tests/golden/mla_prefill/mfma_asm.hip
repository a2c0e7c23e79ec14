// Generated from templates/mla_prefill/mfma_asm.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mfma_asm target=gfx942 blocks=1 causal=0 dtype=f16 heads=8 nope=128 rope=0 vdim=128

#pragma clang diagnostic ignored "-Winline-asm" // naming registers beyond the compiler's reach is the point
#define MLAF_BF16 0
// [3 more lines of tests/golden/mla_decode/combine_wave.hip, with other numbers]
// [templates/mla_prefill/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/launch_wave.h]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_prefill_mfma_asm_ac0be1b4_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int H = 8, NOPE = 128, ROPE = 0, V = 128, LANES = 64, XCDS = 8;
constexpr bool CAUSAL = 0;
constexpr int BLOCKS = 1, ROWS = 128, KEYS = 32;
constexpr u32 PITCH_K = 272, K_BYTES = 8704, V_BYTES = 8192; // in LDS
constexpr i64 HEADS_BYTES = 0, KEY_BYTES = 1;
// [3 more lines of templates/mla_prefill/mfma_asm.hip.in]
// [templates/mla_prefill/lib/tiles.h]

MLAF_DEV int lane_again() {
// [34 more lines of templates/mla_prefill/mfma_asm.hip.in]
    const int first = row_of(wave, 0), r = first + (lane & 31);
    float top, sum, total;
    asm volatile("v_mul_f32 %0, %3, v166\nv_mov_b32 %1, v160\nv_mov_b32 %2, v162"
                 : "=&v"(top), "=&v"(sum), "=&v"(total) : "s"(a.scale_log2e) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    sum += lane_xor(sum, lane, 32);
// [10 more lines of templates/mla_prefill/mfma_asm.hip.in]
          "v_accvgpr_read_b32 %0, a32\n"
          "v_accvgpr_read_b32 %1, a48\n"
          "v_accvgpr_read_b32 %2, a64\n"
          "v_accvgpr_read_b32 %3, a80\n"
          "v_accvgpr_read_b32 %4, a33\n"
// [3 more lines of those above, with other numbers]
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
// [3 more lines of those above, with other numbers]
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((0 + 2 * g) ^ (lane & 7))) = packed;
    }
// [3 more lines of tests/golden/mla_decode/mfma_lds.hip]
// [6 more times the 22 lines above, with other numbers]
          "v_accvgpr_read_b32 %0, a46\n"
// [7 more times the line above, with other numbers]
          "v_mul_f32 %0, %0, %8\n"
// [7 more times the line above, with other numbers]
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
// [4 more lines of those above, with other numbers]
// [11 more lines of templates/mla_prefill/mfma_asm.hip.in]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_num_vgpr(44))) void
mlaf_mla_prefill_mfma_asm_ac0be1b4(mlaf_prefill_kernel_args a) {
  __shared__ __attribute__((aligned(128))) char lds[41984];
  const int wave = uniform(thread_id() >> 6);
// [8 more lines of templates/mla_prefill/mfma_asm.hip.in]
  const int mine = near, both = near;
  auto clear = [&] {
    asm volatile( // l, n, -m/scale, O
        "v_mov_b32 v160, 0\n"
// [4 more times the line above, with other numbers]
        "v_mov_b32 v158, 0x3c003c00\n"
        "v_mov_b32 v159, v158\n"
        "v_mov_b32 v166, 0\n"
// [15 more times the line above, with other numbers]
        "v_accvgpr_write_b32 a32, 0\n"
// [63 more times the line above, with other numbers]
        ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "v181", "a95");
  };
// [3 more lines of templates/mla_prefill/mfma_asm.hip.in]
    const float slack = 8.0f * inverse;
    const u32 lo = 0x05040100, hi = 0x07060302; // v_perm: low halves, high halves
// [6 more lines of templates/mla_prefill/mfma_asm.hip.in]
    u64 ak[2], ap[1], av[4];
    auto aim_k = [&](int first) {
      const int thread = 64 * wave + lane_again();
      aim<NOPE>(of_k, first, t.keys, thread, ak);
    };
// [19 more lines of templates/mla_prefill/mfma_asm.hip.in]
      wv = base + 2 * K_BYTES + 16 * thread;
// [4 more lines of templates/mla_prefill/mfma_asm.hip.in]
    asm volatile(
        "global_load_dwordx4 v[132:135], %[ak0], off\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "global_load_dwordx4 v[136:139], %[ak1], off\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        : [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]) : [step_k] "s"(step_k) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    asm volatile(
        "global_load_dwordx2 v[140:141], %[av0], off\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
// [3 more times the 2 lines above, with other numbers]
        : [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]) : [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    aim_ends(1);
    asm volatile(
// [5 more lines of those above, with other numbers]
    aim_ends(2);
    const u32 q_place = base + 2 * K_BYTES + V_BYTES + 4096 * wave;
    {
// [4 more lines of templates/mla_prefill/mfma_asm.hip.in]
        const int r = smaller(row_of(wave, 0) + 8 * i + (lane >> 3), t.rows - 1);
        q[i] = (u64)a.q + (t.row + r) * a.q_token + t.head * a.q_head + 16 * (lane & 7);
      }
      asm volatile(
          "global_load_dwordx4 v[44:47], %0, off offset:0\n"
// [7 more times the line above, with other numbers]
          :: "v"(q[0]), "v"(q[1]), "v"(q[2]), "v"(q[3]) : "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    }
// [9 more lines of templates/mla_prefill/mfma_asm.hip.in]
    asm volatile(
        "s_waitcnt vmcnt(0)\n"
        "ds_write_b128 %[wk], v[132:135] offset:0\n"
        "ds_write_b128 %[wk], v[136:139] offset:4352\n"
        "v_subrev_u32 %[wk], %[kd], %[wk]\n"
        "v_perm_b32 v148, v142, v140, %[lo]\n"
        "v_perm_b32 v149, v146, v144, %[lo]\n"
        "v_perm_b32 v150, v142, v140, %[hi]\n"
        "v_perm_b32 v151, v146, v144, %[hi]\n"
        "ds_write_b128 %[wv], v[148:151] offset:0\n"
// [1 more times the 5 lines above, with other numbers]
        "v_add_u32 %[wv], %[vd2], %[wv]\n"
        "ds_write_b128 %[wk], v[108:111] offset:0\n"
        "ds_write_b128 %[wk], v[112:115] offset:4352\n"
        : [wk] "+v"(wk), [wv] "+v"(wv) : [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [vd2] "s"(vd2) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    asm volatile(
        "ds_write_b128 %[qw], v[44:47] offset:0\n"
        "ds_write_b128 %[qw], v[52:55] offset:1024\n"
        "ds_write_b128 %[qw], v[60:63] offset:2048\n"
// [3 more lines of tests/golden/mla_decode/mfma_lds.hip, with other numbers]
        "ds_read_b128 a[8:11], %[qr2]\n"
        "ds_read_b128 a[12:15], %[qr3]\n"
        "ds_write_b128 %[qw], v[48:51] offset:0\n"
// [6 more lines of those above, with other numbers]
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[28:31], %[qr3]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]), [qr2] "v"(qr[2]), [qr3] "v"(qr[3]) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
      wk -= K_BYTES;
    }
    asm volatile(
// [4 more lines of those above, with other numbers]
        "global_load_dwordx2 v[140:141], %[av0], off\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
// [3 more times the 2 lines above, with other numbers]
        : [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]), [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]) : [step_k] "s"(step_k), [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");

    kd = 0u - K_BYTES, vd = 0u - 2 * V_BYTES, vd1 = V_BYTES, vd2 = V_BYTES;
// [8 more lines of templates/mla_prefill/mfma_asm.hip.in]
    asm volatile("s_waitcnt lgkmcnt(0)\ns_barrier" ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    if (mine > 0) {
    asm volatile(
        "ds_read_b128 v[84:87], %[ka] offset:0\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[84:85], a[0:1], v[166:181]\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[86:87], a[2:3], v[44:59]\n"
// [7 more times the 4 lines above, with other numbers]
        :  : [ka] "v"(ka) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
      asm volatile("s_nop 7\ns_nop 2" ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95"); // S
      ka += K_BYTES;
      const int whole = t.keys / KEYS - 3; // rounds before: no copy to aim
      auto all_see = [&](int block) { return uniform(smaller(seen_by(t, row_of(wave, block)), t.keys)); };
      const int see[] = {all_see(0), all_see(0)};
      u64 rise;
// [3 more lines of templates/mla_prefill/mfma_asm.hip.in]
        if (0 >= from && (i + 1) * KEYS > see[0]) {
          const int left = smaller(seen_by(t, row_of(wave, 0) + (lane & 31)), t.keys) - i * KEYS - 4 * (lane >> 5);
          asm volatile(
              "v_cmp_lt_i32 vcc, 0, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v60, %1, v60, vcc\n"
// [15 more times the 3 lines above, with other numbers]
              :: "v"(left), "v"(none) : "vcc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
        }
// [3 more lines of templates/mla_prefill/mfma_asm.hip.in]
        if (0 >= from) {
          float top;
          asm volatile("v_max3_f32 %0, v60, v61, v62\n"
                       "v_max3_f32 %0, %0, v63, v64\n"
// [5 more times the line above, with other numbers]
                       "v_max_f32 %0, %0, v75" : "=&v"(top) :: "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
          top = __builtin_fmaxf(top, lane_xor(top, lane, 32));
// [3 more lines of templates/mla_prefill/mfma_asm.hip.in]
                       "v_sub_f32 v60, v60, %0\n"
// [31 more times the line above, with other numbers]
                       "v_mul_f32 v162, %1, v162\n"
                       "v_mul_f32 v163, %1, v163\n"
                       "v_mul_f32 v164, %1, v164\n"
                       "v_mul_f32 v165, %1, v165\n"
                       "v_mul_f32 v160, %1, v160" :: "v"(up), "v"(factor), "v"(down) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
          if (begun) asm volatile("s_nop 7\ns_nop 2\n" // O's last MFMAs
              "v_accvgpr_read_b32 v156, a32\n"
              "v_accvgpr_read_b32 v157, a33\n"
              "v_mul_f32 v156, %0, v156\n"
              "v_mul_f32 v157, %0, v157\n"
              "v_accvgpr_write_b32 a32, v156\n"
              "v_accvgpr_write_b32 a33, v157\n"
// [31 more times the 6 lines above, with other numbers]
              "s_nop 1" :: "v"(factor) : "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
        }
      };
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mul_f32 v60, %[scale], v44\n"
// [15 more times the line above, with other numbers]
        "v_max3_f32 v156, v44, v45, v46\n"
// [5 more times the line above, with other numbers]
        "v_max_f32 v156, v156, v51\n"
        "v_max_f32 v157, v157, v59\n"
        "v_max_f32 v156, v156, v157\n"
        "v_cmp_lt_f32 %[rise], %[slack], v156\n"
        "s_waitcnt vmcnt(0)\n"
// [10 more lines of those above, with other numbers]
        "ds_read_b128 v[84:87], %[ka] offset:0\n"
// [5 more times the line above, with other numbers]
        : [rise] "=&s"(rise), [wk] "+v"(wk), [wv] "+v"(wv) : [scale] "s"(scale), [slack] "s"(slack), [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [vd2] "s"(vd2), [ka] "v"(ka) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
      mask(0, 0);
      rescale(false, 0);
      aim_ends(3);
      {
        const int plain = smaller(see[0] / KEYS, whole); // rounds before: nothing to mask, no copy to aim
#pragma nounroll
        while (++done < mine) {
    asm volatile(
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[84:85], a[0:1], v[166:181]\n"
        "v_add_u32 %[va], %[vd], %[va]\n"
        "v_exp_f32 v60, v60\n"
        "v_exp_f32 v61, v61\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[86:87], a[2:3], v[44:59]\n"
        "global_load_dwordx4 v[132:135], %[ak0], off\n"
        "v_exp_f32 v62, v62\n"
        "ds_read_b128 v[84:87], %[ka] offset:192\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[88:89], a[4:5], v[44:59]\n"
        "v_exp_f32 v63, v63\n"
        "global_load_dwordx4 v[136:139], %[ak1], off\n"
        "v_add_f32 v160, v160, v60\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        "v_add_f32 v160, v160, v61\n"
        "v_cvt_f16_f32 v60, v60\n"
        "v_cvt_f16_f32 v61, v61\n"
        "global_load_dwordx2 v[140:141], %[av0], off\n"
        "v_pack_b32_f16 v76, v60, v61\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[90:91], a[6:7], v[44:59]\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
        "v_exp_f32 v64, v64\n"
        "ds_read_b128 v[88:91], %[ka] offset:224\n"
        "global_load_dwordx2 v[142:143], %[av1], off\n"
        "v_exp_f32 v65, v65\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[92:93], a[8:9], v[44:59]\n"
        "v_lshl_add_u64 %[av1], %[av1], 0, %[step_v]\n"
        "v_add_f32 v160, v160, v62\n"
        "v_add_f32 v160, v160, v63\n"
        "global_load_dwordx2 v[144:145], %[av2], off\n"
        "v_cvt_f16_f32 v62, v62\n"
        "v_cvt_f16_f32 v63, v63\n"
        "v_pack_b32_f16 v77, v62, v63\n"
        "v_lshl_add_u64 %[av2], %[av2], 0, %[step_v]\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[94:95], a[10:11], v[44:59]\n"
        "v_exp_f32 v66, v66\n"
        "global_load_dwordx2 v[146:147], %[av3], off\n"
        "v_exp_f32 v67, v67\n"
        "v_lshl_add_u64 %[av3], %[av3], 0, %[step_v]\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[96:97], a[12:13], v[44:59]\n"
        "v_add_f32 v160, v160, v64\n"
        "v_add_f32 v160, v160, v65\n"
        "v_cvt_f16_f32 v64, v64\n"
        "v_cvt_f16_f32 v65, v65\n"
        "v_pack_b32_f16 v78, v64, v65\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[98:99], a[14:15], v[44:59]\n"
        "v_exp_f32 v68, v68\n"
        "v_exp_f32 v69, v69\n"
        "s_waitcnt lgkmcnt(3)\n"
// [5 more lines of those above, with other numbers]
        "ds_read_b128 v[108:111], %[va] offset:0\n"
        "v_pack_b32_f16 v79, v66, v67\n"
        "v_exp_f32 v70, v70\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[102:103], a[18:19], v[44:59]\n"
        "ds_read_b128 v[112:115], %[va] offset:4096\n"
        "v_exp_f32 v71, v71\n"
        "v_add_f32 v160, v160, v68\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[104:105], a[20:21], v[44:59]\n"
        "v_add_f32 v160, v160, v69\n"
// [3 more lines of those above, with other numbers]
        "ds_read_b128 v[116:119], %[va] offset:1024\n"
        "v_exp_f32 v72, v72\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[106:107], a[22:23], v[44:59]\n"
        "v_exp_f32 v73, v73\n"
        "ds_read_b128 v[120:123], %[va] offset:5120\n"
        "v_add_f32 v160, v160, v70\n"
        "v_add_f32 v160, v160, v71\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[84:85], a[24:25], v[44:59]\n"
        "v_cvt_f16_f32 v70, v70\n"
        "v_cvt_f16_f32 v71, v71\n"
        "v_pack_b32_f16 v81, v70, v71\n"
        "v_exp_f32 v74, v74\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[86:87], a[26:27], v[44:59]\n"
        "v_add_u32 %[ka], %[kd], %[ka]\n"
        "v_exp_f32 v75, v75\n"
        "v_add_f32 v160, v160, v72\n"
        "s_sub_u32 %[kd], 0, %[kd]\n"
        "v_add_f32 v160, v160, v73\n"
        "v_cvt_f16_f32 v72, v72\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[88:89], a[28:29], v[44:59]\n"
        "v_cvt_f16_f32 v73, v73\n"
        "v_pack_b32_f16 v82, v72, v73\n"
        "s_mov_b32 %[vt], %[vd]\n"
        "v_add_f32 v160, v160, v74\n"
        "v_add_f32 v160, v160, v75\n"
        "v_cvt_f16_f32 v74, v74\n"
        "s_mov_b32 %[vd], %[vd1]\n"
        "v_cvt_f16_f32 v75, v75\n"
        "v_pack_b32_f16 v83, v74, v75\n"
        "v_mfma_f32_32x32x8_f16 v[44:59], v[90:91], a[30:31], v[44:59]\n"
        "s_mov_b32 %[vd1], %[vd2]\n"
        "s_mov_b32 %[vd2], %[vt]\n"
        : [va] "+v"(va), [vd] "+s"(vd), [ak0] "+v"(ak[0]), [ka] "+v"(ka), [ak1] "+v"(ak[1]), [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]), [kd] "+s"(kd), [vt] "=&s"(vt), [vd1] "+s"(vd1), [vd2] "+s"(vd2) : [step_k] "s"(step_k), [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    asm volatile(
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_32x32x8_f16 a[32:47], v[108:109], v[76:77], a[32:47]\n"
        "v_mfma_f32_32x32x8_f16 a[48:63], v[110:111], v[76:77], a[48:63]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "s_barrier\n"
        "ds_read_b128 v[124:127], %[va] offset:2048\n"
        "v_mfma_f32_4x4x4_16b_f16 v[162:165], v[158:159], v[76:77], v[162:165]\n"
        "v_mfma_f32_32x32x8_f16 a[64:79], v[112:113], v[76:77], a[64:79]\n"
        "s_nop 0\n"
        "v_mul_f32 v60, %[scale], v44\n"
        "ds_read_b128 v[128:131], %[va] offset:6144\n"
        "v_max3_f32 v156, v44, v45, v46\n"
        "v_mfma_f32_32x32x8_f16 a[80:95], v[114:115], v[76:77], a[80:95]\n"
        "v_mul_f32 v61, %[scale], v45\n"
        "v_max3_f32 v157, v52, v53, v54\n"
        "v_mul_f32 v62, %[scale], v46\n"
        "v_mfma_f32_32x32x8_f16 a[32:47], v[116:117], v[78:79], a[32:47]\n"
        "s_waitcnt vmcnt(0)\n"
        "v_mul_f32 v63, %[scale], v47\n"
        "ds_read_b128 v[108:111], %[va] offset:3072\n"
        "ds_write_b128 %[wk], v[132:135] offset:0\n"
        "v_mfma_f32_32x32x8_f16 a[48:63], v[118:119], v[78:79], a[48:63]\n"
        "v_max3_f32 v156, v156, v47, v48\n"
        "v_mfma_f32_4x4x4_16b_f16 v[162:165], v[158:159], v[78:79], v[162:165]\n"
        "ds_write_b128 %[wk], v[136:139] offset:4352\n"
        "v_mul_f32 v64, %[scale], v48\n"
        "v_subrev_u32 %[wk], %[kd], %[wk]\n"
        "v_mfma_f32_32x32x8_f16 a[64:79], v[120:121], v[78:79], a[64:79]\n"
        "v_mul_f32 v65, %[scale], v49\n"
        "v_max3_f32 v157, v157, v55, v56\n"
        "ds_read_b128 v[112:115], %[va] offset:7168\n"
        "v_perm_b32 v148, v142, v140, %[lo]\n"
        "v_mul_f32 v66, %[scale], v50\n"
        "v_perm_b32 v149, v146, v144, %[lo]\n"
        "v_mfma_f32_32x32x8_f16 a[80:95], v[122:123], v[78:79], a[80:95]\n"
        "v_max3_f32 v156, v156, v49, v50\n"
        "v_perm_b32 v150, v142, v140, %[hi]\n"
        "v_mul_f32 v67, %[scale], v51\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_f16 a[32:47], v[124:125], v[80:81], a[32:47]\n"
        "v_perm_b32 v151, v146, v144, %[hi]\n"
        "v_mul_f32 v68, %[scale], v52\n"
        "ds_write_b128 %[wv], v[148:151] offset:0\n"
        "v_max3_f32 v157, v157, v57, v58\n"
        "v_mfma_f32_4x4x4_16b_f16 v[162:165], v[158:159], v[80:81], v[162:165]\n"
        "v_mfma_f32_32x32x8_f16 a[48:63], v[126:127], v[80:81], a[48:63]\n"
        "v_perm_b32 v152, v143, v141, %[lo]\n"
        "v_mul_f32 v69, %[scale], v53\n"
        "v_perm_b32 v153, v147, v145, %[lo]\n"
        "v_max_f32 v156, v156, v51\n"
        "v_mul_f32 v70, %[scale], v54\n"
// [3 more lines of those above, with other numbers]
        "ds_read_b128 v[84:87], %[ka] offset:0\n"
        "v_mul_f32 v71, %[scale], v55\n"
        "v_perm_b32 v155, v147, v145, %[hi]\n"
        "v_mfma_f32_32x32x8_f16 a[80:95], v[130:131], v[80:81], a[80:95]\n"
        "v_max_f32 v157, v157, v59\n"
        "ds_write_b128 %[wv], v[152:155] offset:4096\n"
        "v_mul_f32 v72, %[scale], v56\n"
        "ds_read_b128 v[88:91], %[ka] offset:32\n"
        "v_add_u32 %[wv], %[vd2], %[wv]\n"
        "s_waitcnt lgkmcnt(7)\n"
        "v_mfma_f32_32x32x8_f16 a[32:47], v[108:109], v[82:83], a[32:47]\n"
        "v_mul_f32 v73, %[scale], v57\n"
        "v_max_f32 v156, v156, v157\n"
        "v_mfma_f32_4x4x4_16b_f16 v[162:165], v[158:159], v[82:83], v[162:165]\n"
        "ds_read_b128 v[92:95], %[ka] offset:64\n"
        "v_mul_f32 v74, %[scale], v58\n"
        "v_mfma_f32_32x32x8_f16 a[48:63], v[110:111], v[82:83], a[48:63]\n"
        "v_cmp_lt_f32 %[rise], %[slack], v156\n"
        "ds_read_b128 v[96:99], %[ka] offset:96\n"
        "v_mul_f32 v75, %[scale], v59\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_32x32x8_f16 a[64:79], v[112:113], v[82:83], a[64:79]\n"
        "ds_read_b128 v[100:103], %[ka] offset:128\n"
        "v_mfma_f32_32x32x8_f16 a[80:95], v[114:115], v[82:83], a[80:95]\n"
        "ds_read_b128 v[104:107], %[ka] offset:160\n"
        : [wk] "+v"(wk), [wv] "+v"(wv), [rise] "=&s"(rise) : [va] "v"(va), [scale] "s"(scale), [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [ka] "v"(ka), [vd2] "s"(vd2), [slack] "s"(slack) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
          if (__builtin_expect(done >= plain, 0)) {
            mask(done, 0);
            aim_ends(done + 3);
          }
          if (__builtin_expect(rise != 0, 0)) rescale(true, 0);
        }
        {
    asm volatile(
// [8 more lines of those above, with other numbers]
    asm volatile(
        "v_add_u32 %[va], %[vd], %[va]\n"
        "ds_read_b128 v[108:111], %[va] offset:0\n"
        "ds_read_b128 v[112:115], %[va] offset:4096\n"
        "ds_read_b128 v[116:119], %[va] offset:1024\n"
        "ds_read_b128 v[120:123], %[va] offset:5120\n"
        "v_exp_f32 v60, v60\n"
// [4 more lines of tests/golden/mla_decode/mfma_lds.hip, with other numbers]
        "v_add_f32 v160, v160, v61\n"
// [3 more lines of those above, with other numbers]
// [6 more times the 7 lines above, with other numbers]
        "v_add_f32 v160, v160, v74\n"
// [4 more lines of those above, with other numbers]
        : [va] "+v"(va) : [vd] "s"(vd) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
    asm volatile(
// [3 more lines of those above, with other numbers]
        "ds_read_b128 v[124:127], %[va] offset:2048\n"
        "v_mfma_f32_4x4x4_16b_f16 v[162:165], v[158:159], v[76:77], v[162:165]\n"
        "v_mfma_f32_32x32x8_f16 a[64:79], v[112:113], v[76:77], a[64:79]\n"
        "ds_read_b128 v[128:131], %[va] offset:6144\n"
        "v_mfma_f32_32x32x8_f16 a[80:95], v[114:115], v[76:77], a[80:95]\n"
        "v_mfma_f32_32x32x8_f16 a[32:47], v[116:117], v[78:79], a[32:47]\n"
        "ds_read_b128 v[108:111], %[va] offset:3072\n"
        "v_mfma_f32_32x32x8_f16 a[48:63], v[118:119], v[78:79], a[48:63]\n"
        "v_mfma_f32_4x4x4_16b_f16 v[162:165], v[158:159], v[78:79], v[162:165]\n"
// [3 more lines of those above, with other numbers]
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_32x32x8_f16 a[32:47], v[124:125], v[80:81], a[32:47]\n"
        "v_mfma_f32_4x4x4_16b_f16 v[162:165], v[158:159], v[80:81], v[162:165]\n"
        "v_mfma_f32_32x32x8_f16 a[48:63], v[126:127], v[80:81], a[48:63]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_32x32x8_f16 a[64:79], v[128:129], v[80:81], a[64:79]\n"
// [1 more times the 7 lines above, with other numbers]
        "v_mfma_f32_32x32x8_f16 a[80:95], v[114:115], v[82:83], a[80:95]\n"
        :  : [va] "v"(va) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
        }
        
      }
// [5 more lines of templates/mla_prefill/mfma_asm.hip.in]
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "s_barrier\n"
        "s_waitcnt vmcnt(0)\n"
// [10 more lines of those above, with other numbers]
        "global_load_dwordx4 v[132:135], %[ak0], off\n"
// [6 more lines of those above, with other numbers]
        : [wk] "+v"(wk), [wv] "+v"(wv), [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]), [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]) : [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [vd2] "s"(vd2), [step_k] "s"(step_k), [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95");
      turn();
    }
    asm volatile("s_nop 7\ns_nop 2\ns_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95"); // O's last MFMAs; copies nobody waited for
  }
  finish(a, t, lds, wave);
}
