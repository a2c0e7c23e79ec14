// Generated from templates/mla_prefill/mfma_asm.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_prefill_mfma_asm_e5983e4d
// parameters:
//   blocks = 2
//   causal = 1
//   dtype = bf16
//   heads = 16
//   nope = 128
//   rope = 64
//   vdim = 128
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mfma_asm target=gfx942 blocks=2 causal=1 dtype=bf16 heads=16 nope=128 rope=64 vdim=128
// Prefill by assembly for CDNA: 32x32x8 matrix instructions that hardly ever wait.
//
// A workgroup of four waves, one on each SIMD, owns ROWS = 128*blocks new tokens of one head, a wave 32*blocks of them, and goes
// through the keys they see, 32 a round. Who holds what is as in mla_prefill/mfma: S^T = K Q^T, O^T += V^T P^T, lane l = 32 g + c
// has token c of each block and keys 8m + 4g + e, and P never leaves its lane. A fragment of K and a joined operand of V^T
// serve all blocks of a wave, so that with two blocks LDS and joins cost half.
//
//   round t   [barrier | O += P(t-1) V(t-1); scores of t and their maximum; K(t+2), V(t+1) to LDS] mask? rescale?
//             [S(t+1) = K(t+1) Q; P(t) = exp2(scores); K(t+3), V(t+2) asked for]
//
//   LDS       K of two rounds, rows padded by 16 bytes | V of three rounds, turned on its way in: no bank conflicts
//             V: two planes of [8 groups of four keys][32 groups of four columns][2 columns][4 keys]; a lane that reads 16 bytes
//             has A operands of two columns
//
// The inner blocks are assembly with fixed registers, listed by gen/ops/mla_prefill/plans/mfma_asm_loop.lua and woven by
// gen/weave.lua, which also puts in every wait and wait state. The compiler owns v0 .. v<frame-1> and the code between blocks;
// gen/ops/mla_prefill/plans/mfma_asm.lua deals the rest.
//
// A wave whose tokens see fewer keys than the workgroup's last one goes on copying, behind its own end. Copies behind the
// request's last key bring that one again: finite, and masked or never used.
//
// Numbers: a row's m starts as the maximum of its first round and follows when a score exceeds it by more than 8 in base 2, so
// O is seldom rescaled. Sums in fp32; P rounded to 16 bits to nearest; O is divided by the sum of P as rounded, so that the
// rounding of a heavy weight cancels.


#pragma clang diagnostic ignored "-Winline-asm" // naming registers beyond the compiler's reach is the point
#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_prefill/lib/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `launch`: flags, and per_cu (workgroups that a compute unit holds at once; 0: one).
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_prefill_mfma_asm_e5983e4d_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, ROPE = 64, V = 128, LANES = 64, XCDS = 8;
constexpr bool CAUSAL = 1;
constexpr int BLOCKS = 2, ROWS = 256, OWN = 32 * BLOCKS, KEYS = 32; // OWN: a wave's tokens
constexpr u32 PITCH_K = 400, K_BYTES = 12800, V_BYTES = 8192; // in LDS
constexpr i64 HEADS_BYTES = 0, KEY_BYTES = 1;
MLAF_DEV int load_length(const int* at) { return *(const MLAF_GLOBAL int*)(u64)at; }
MLAF_DEV int lanes_true(bool x) { return __builtin_popcountll(__builtin_amdgcn_ballot_w64(x)); }
MLAF_DEV int same_in_all(int x) { return uniform(x); }
// [templates/mla_prefill/lib/tiles.h]

// The lane number, made anew where it is seldom needed, so that nothing derived from it occupies a register in the loop.
MLAF_DEV int lane_again() {
  int x;
  asm volatile("v_mbcnt_lo_u32_b32 %0, -1, 0\nv_mbcnt_hi_u32_b32 %0, -1, %0" : "=v"(x));
  return x;
}

// ---- Copies: units of 16 bytes a thread ------------------------------------------------------------------------------------
// Thread i of unit u: chunk i % CHUNKS of row u * (256 / CHUNKS) + i / CHUNKS.
struct source {
  u64 at;      // of the request's first key
  i64 pitch;
};
template <int COLUMNS, int UNITS>
MLAF_DEV void aim(const source& s, int first, int keys, int thread, u64 (&to)[UNITS]) {
  constexpr int CHUNKS = COLUMNS / 8, AT_ONCE = 256 / CHUNKS;
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const int row = smaller(first + u * AT_ONCE + thread / CHUNKS, keys - 1); // behind the last key: that one again
    to[u] = s.at + (u64)((i64)row * s.pitch) + 16 * (thread % CHUNKS);
  }
}

// O leaves through LDS, so that stores have whole lines: 32 rows of 256 bytes of a wave at a time, chunk c of row r at
// c ^ (r & 7).
// To nearest, ties away from 0.
MLAF_DEV u32 pack2_away(float lo, float hi) {
#if MLAF_BF16 && !MLAF_CVT_BF16
  return __builtin_amdgcn_perm(bits_of(hi) + 0x8000u, bits_of(lo) + 0x8000u, 0x07060302u);
#else
  return pack2(lo, hi);
#endif
}

MLAF_DEV void finish(const mlaf_prefill_kernel_args& a, const tile& t, char* lds, int wave) {
  const int lane = lane_again(), g = lane >> 5;
  char* const turn = lds + 8192 * wave;
  __syncthreads(); // all have read the last round: LDS is free
  {
    const int first = OWN * wave + 0, r = first + (lane & 31);
    float top, sum, total;
    asm volatile("v_mul_f32 %0, %3, v214\nv_mov_b32 %1, v204\nv_mov_b32 %2, v206"
                 : "=&v"(top), "=&v"(sum), "=&v"(total) : "s"(a.scale_log2e) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    sum += lane_xor(sum, lane, 32);
    total += lane_xor(total, lane, 32);
    if (t.bad) sum = total = __builtin_nanf("");
    const float weight = total == 0.0f ? 0.0f : 1.0f / total; // no key seen: O = 0. NaN stays
    if (a.lse && g == 0 && r < t.rows)
      ((MLAF_GLOBAL float*)(u64)a.lse)[(t.row + r) * a.lse_token + t.head * a.lse_head] =
          sum == 0.0f ? minus_inf() : (log2_fast(sum) - top) * LN_2;
    char* const put = turn + 256 * (lane & 31);
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a96\n"
          "v_accvgpr_read_b32 %1, a112\n"
          "v_accvgpr_read_b32 %2, a128\n"
          "v_accvgpr_read_b32 %3, a144\n"
          "v_accvgpr_read_b32 %4, a97\n"
          "v_accvgpr_read_b32 %5, a113\n"
          "v_accvgpr_read_b32 %6, a129\n"
          "v_accvgpr_read_b32 %7, a145\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((0 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a98\n"
          "v_accvgpr_read_b32 %1, a114\n"
          "v_accvgpr_read_b32 %2, a130\n"
          "v_accvgpr_read_b32 %3, a146\n"
          "v_accvgpr_read_b32 %4, a99\n"
          "v_accvgpr_read_b32 %5, a115\n"
          "v_accvgpr_read_b32 %6, a131\n"
          "v_accvgpr_read_b32 %7, a147\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((1 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a100\n"
          "v_accvgpr_read_b32 %1, a116\n"
          "v_accvgpr_read_b32 %2, a132\n"
          "v_accvgpr_read_b32 %3, a148\n"
          "v_accvgpr_read_b32 %4, a101\n"
          "v_accvgpr_read_b32 %5, a117\n"
          "v_accvgpr_read_b32 %6, a133\n"
          "v_accvgpr_read_b32 %7, a149\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((4 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a102\n"
          "v_accvgpr_read_b32 %1, a118\n"
          "v_accvgpr_read_b32 %2, a134\n"
          "v_accvgpr_read_b32 %3, a150\n"
          "v_accvgpr_read_b32 %4, a103\n"
          "v_accvgpr_read_b32 %5, a119\n"
          "v_accvgpr_read_b32 %6, a135\n"
          "v_accvgpr_read_b32 %7, a151\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((5 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a104\n"
          "v_accvgpr_read_b32 %1, a120\n"
          "v_accvgpr_read_b32 %2, a136\n"
          "v_accvgpr_read_b32 %3, a152\n"
          "v_accvgpr_read_b32 %4, a105\n"
          "v_accvgpr_read_b32 %5, a121\n"
          "v_accvgpr_read_b32 %6, a137\n"
          "v_accvgpr_read_b32 %7, a153\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((8 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a106\n"
          "v_accvgpr_read_b32 %1, a122\n"
          "v_accvgpr_read_b32 %2, a138\n"
          "v_accvgpr_read_b32 %3, a154\n"
          "v_accvgpr_read_b32 %4, a107\n"
          "v_accvgpr_read_b32 %5, a123\n"
          "v_accvgpr_read_b32 %6, a139\n"
          "v_accvgpr_read_b32 %7, a155\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((9 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a108\n"
          "v_accvgpr_read_b32 %1, a124\n"
          "v_accvgpr_read_b32 %2, a140\n"
          "v_accvgpr_read_b32 %3, a156\n"
          "v_accvgpr_read_b32 %4, a109\n"
          "v_accvgpr_read_b32 %5, a125\n"
          "v_accvgpr_read_b32 %6, a141\n"
          "v_accvgpr_read_b32 %7, a157\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((12 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a110\n"
          "v_accvgpr_read_b32 %1, a126\n"
          "v_accvgpr_read_b32 %2, a142\n"
          "v_accvgpr_read_b32 %3, a158\n"
          "v_accvgpr_read_b32 %4, a111\n"
          "v_accvgpr_read_b32 %5, a127\n"
          "v_accvgpr_read_b32 %6, a143\n"
          "v_accvgpr_read_b32 %7, a159\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((13 + 2 * g) ^ (lane & 7))) = packed;
    }
    asm volatile("" ::: "memory"); // other lanes' values are read: the compiler must not see through
    MLAF_GLOBAL char* const to = (MLAF_GLOBAL char*)(u64)a.o + t.row * a.o_token + t.head * a.o_head + 16 * (lane & 15);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int row = 4 * i + (lane >> 4);
      const u32x4 x = *(const u32x4*)(turn + 256 * row + 16 * ((lane & 15) ^ (row & 7)));
      if (first + row < t.rows) *(MLAF_GLOBAL u32x4*)(to + (first + row) * a.o_token) = x;
    }
    asm volatile("" ::: "memory");
  }
  {
    const int first = OWN * wave + 32, r = first + (lane & 31);
    float top, sum, total;
    asm volatile("v_mul_f32 %0, %3, v230\nv_mov_b32 %1, v205\nv_mov_b32 %2, v210"
                 : "=&v"(top), "=&v"(sum), "=&v"(total) : "s"(a.scale_log2e) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    sum += lane_xor(sum, lane, 32);
    total += lane_xor(total, lane, 32);
    if (t.bad) sum = total = __builtin_nanf("");
    const float weight = total == 0.0f ? 0.0f : 1.0f / total; // no key seen: O = 0. NaN stays
    if (a.lse && g == 0 && r < t.rows)
      ((MLAF_GLOBAL float*)(u64)a.lse)[(t.row + r) * a.lse_token + t.head * a.lse_head] =
          sum == 0.0f ? minus_inf() : (log2_fast(sum) - top) * LN_2;
    char* const put = turn + 256 * (lane & 31);
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a160\n"
          "v_accvgpr_read_b32 %1, a176\n"
          "v_accvgpr_read_b32 %2, a192\n"
          "v_accvgpr_read_b32 %3, a208\n"
          "v_accvgpr_read_b32 %4, a161\n"
          "v_accvgpr_read_b32 %5, a177\n"
          "v_accvgpr_read_b32 %6, a193\n"
          "v_accvgpr_read_b32 %7, a209\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((0 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a162\n"
          "v_accvgpr_read_b32 %1, a178\n"
          "v_accvgpr_read_b32 %2, a194\n"
          "v_accvgpr_read_b32 %3, a210\n"
          "v_accvgpr_read_b32 %4, a163\n"
          "v_accvgpr_read_b32 %5, a179\n"
          "v_accvgpr_read_b32 %6, a195\n"
          "v_accvgpr_read_b32 %7, a211\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((1 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a164\n"
          "v_accvgpr_read_b32 %1, a180\n"
          "v_accvgpr_read_b32 %2, a196\n"
          "v_accvgpr_read_b32 %3, a212\n"
          "v_accvgpr_read_b32 %4, a165\n"
          "v_accvgpr_read_b32 %5, a181\n"
          "v_accvgpr_read_b32 %6, a197\n"
          "v_accvgpr_read_b32 %7, a213\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((4 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a166\n"
          "v_accvgpr_read_b32 %1, a182\n"
          "v_accvgpr_read_b32 %2, a198\n"
          "v_accvgpr_read_b32 %3, a214\n"
          "v_accvgpr_read_b32 %4, a167\n"
          "v_accvgpr_read_b32 %5, a183\n"
          "v_accvgpr_read_b32 %6, a199\n"
          "v_accvgpr_read_b32 %7, a215\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((5 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a168\n"
          "v_accvgpr_read_b32 %1, a184\n"
          "v_accvgpr_read_b32 %2, a200\n"
          "v_accvgpr_read_b32 %3, a216\n"
          "v_accvgpr_read_b32 %4, a169\n"
          "v_accvgpr_read_b32 %5, a185\n"
          "v_accvgpr_read_b32 %6, a201\n"
          "v_accvgpr_read_b32 %7, a217\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((8 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a170\n"
          "v_accvgpr_read_b32 %1, a186\n"
          "v_accvgpr_read_b32 %2, a202\n"
          "v_accvgpr_read_b32 %3, a218\n"
          "v_accvgpr_read_b32 %4, a171\n"
          "v_accvgpr_read_b32 %5, a187\n"
          "v_accvgpr_read_b32 %6, a203\n"
          "v_accvgpr_read_b32 %7, a219\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((9 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a172\n"
          "v_accvgpr_read_b32 %1, a188\n"
          "v_accvgpr_read_b32 %2, a204\n"
          "v_accvgpr_read_b32 %3, a220\n"
          "v_accvgpr_read_b32 %4, a173\n"
          "v_accvgpr_read_b32 %5, a189\n"
          "v_accvgpr_read_b32 %6, a205\n"
          "v_accvgpr_read_b32 %7, a221\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((12 + 2 * g) ^ (lane & 7))) = packed;
    }
    {
      float x[8];
      asm volatile(
          "v_accvgpr_read_b32 %0, a174\n"
          "v_accvgpr_read_b32 %1, a190\n"
          "v_accvgpr_read_b32 %2, a206\n"
          "v_accvgpr_read_b32 %3, a222\n"
          "v_accvgpr_read_b32 %4, a175\n"
          "v_accvgpr_read_b32 %5, a191\n"
          "v_accvgpr_read_b32 %6, a207\n"
          "v_accvgpr_read_b32 %7, a223\n"
          "v_mul_f32 %0, %0, %8\n"
          "v_mul_f32 %1, %1, %8\n"
          "v_mul_f32 %2, %2, %8\n"
          "v_mul_f32 %3, %3, %8\n"
          "v_mul_f32 %4, %4, %8\n"
          "v_mul_f32 %5, %5, %8\n"
          "v_mul_f32 %6, %6, %8\n"
          "v_mul_f32 %7, %7, %8\n"
          : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
          : "v"(weight) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      const u32x4 packed = {pack2_away(x[0], x[1]), pack2_away(x[2], x[3]), pack2_away(x[4], x[5]), pack2_away(x[6], x[7])};
      *(u32x4*)(put + 16 * ((13 + 2 * g) ^ (lane & 7))) = packed;
    }
    asm volatile("" ::: "memory"); // other lanes' values are read: the compiler must not see through
    MLAF_GLOBAL char* const to = (MLAF_GLOBAL char*)(u64)a.o + t.row * a.o_token + t.head * a.o_head + 16 * (lane & 15);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int row = 4 * i + (lane >> 4);
      const u32x4 x = *(const u32x4*)(turn + 256 * row + 16 * ((lane & 15) ^ (row & 7)));
      if (first + row < t.rows) *(MLAF_GLOBAL u32x4*)(to + (first + row) * a.o_token) = x;
    }
    asm volatile("" ::: "memory");
  }
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_num_vgpr(44))) void
mlaf_mla_prefill_mfma_asm_e5983e4d(mlaf_prefill_kernel_args a) {
  __shared__ __attribute__((aligned(128))) char lds[50176];
  const int wave = uniform(thread_id() >> 6), row_at = OWN * wave;
  tile t;
  if (!find_tile(a, (u32)group_x(), lane_again(), H, t)) return;

  // Rounds of the workgroup, and of this wave.
  auto rounds = [&](int row) {
    const int most = uniform(smaller(seen_by(t, smaller(row, t.rows - 1)), t.keys));
    return most > 0 ? (most + KEYS - 1) / KEYS : 0;
  };
  const int count = rounds(t.rows - 1), mine = row_at < t.rows ? rounds(row_at + OWN - 1) : 0;
  auto clear = [&] {
    asm volatile( // l, n, -m/scale, O
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
        "v_mov_b32 v202, 0x3f803f80\n"
        "v_mov_b32 v203, v202\n"
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
        "v_accvgpr_write_b32 a96, 0\n"
        "v_accvgpr_write_b32 a97, 0\n"
        "v_accvgpr_write_b32 a98, 0\n"
        "v_accvgpr_write_b32 a99, 0\n"
        "v_accvgpr_write_b32 a100, 0\n"
        "v_accvgpr_write_b32 a101, 0\n"
        "v_accvgpr_write_b32 a102, 0\n"
        "v_accvgpr_write_b32 a103, 0\n"
        "v_accvgpr_write_b32 a104, 0\n"
        "v_accvgpr_write_b32 a105, 0\n"
        "v_accvgpr_write_b32 a106, 0\n"
        "v_accvgpr_write_b32 a107, 0\n"
        "v_accvgpr_write_b32 a108, 0\n"
        "v_accvgpr_write_b32 a109, 0\n"
        "v_accvgpr_write_b32 a110, 0\n"
        "v_accvgpr_write_b32 a111, 0\n"
        "v_accvgpr_write_b32 a112, 0\n"
        "v_accvgpr_write_b32 a113, 0\n"
        "v_accvgpr_write_b32 a114, 0\n"
        "v_accvgpr_write_b32 a115, 0\n"
        "v_accvgpr_write_b32 a116, 0\n"
        "v_accvgpr_write_b32 a117, 0\n"
        "v_accvgpr_write_b32 a118, 0\n"
        "v_accvgpr_write_b32 a119, 0\n"
        "v_accvgpr_write_b32 a120, 0\n"
        "v_accvgpr_write_b32 a121, 0\n"
        "v_accvgpr_write_b32 a122, 0\n"
        "v_accvgpr_write_b32 a123, 0\n"
        "v_accvgpr_write_b32 a124, 0\n"
        "v_accvgpr_write_b32 a125, 0\n"
        "v_accvgpr_write_b32 a126, 0\n"
        "v_accvgpr_write_b32 a127, 0\n"
        "v_accvgpr_write_b32 a128, 0\n"
        "v_accvgpr_write_b32 a129, 0\n"
        "v_accvgpr_write_b32 a130, 0\n"
        "v_accvgpr_write_b32 a131, 0\n"
        "v_accvgpr_write_b32 a132, 0\n"
        "v_accvgpr_write_b32 a133, 0\n"
        "v_accvgpr_write_b32 a134, 0\n"
        "v_accvgpr_write_b32 a135, 0\n"
        "v_accvgpr_write_b32 a136, 0\n"
        "v_accvgpr_write_b32 a137, 0\n"
        "v_accvgpr_write_b32 a138, 0\n"
        "v_accvgpr_write_b32 a139, 0\n"
        "v_accvgpr_write_b32 a140, 0\n"
        "v_accvgpr_write_b32 a141, 0\n"
        "v_accvgpr_write_b32 a142, 0\n"
        "v_accvgpr_write_b32 a143, 0\n"
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
        // The highest registers: the kernel's allocation covers all below.
        ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128", "v245", "a223");
  };
  if (count <= 0) clear();
  if (count > 0) {
    const float scale = a.scale_log2e, inverse = float_of((u32)uniform((int)bits_of(1.0f / scale)));
    const float slack = 8.0f * inverse;
    const u32 lo = 0x05040100, hi = 0x07060302; // v_perm: low halves, high halves
    const u32 half = 0x8000;                     // bf16's rounding
    const u32 base = (u32)(u64)(__attribute__((address_space(3))) char*)lds;
    const source of_k = {(u64)a.k + t.key * a.k_token + t.head * a.k_head, a.k_token};
    const source of_p = {(u64)a.k_pe + t.key * a.k_pe_token + t.head * a.k_pe_head, a.k_pe_token};
    const source of_v = {(u64)a.v + t.key * a.v_token + t.head * a.v_head, a.v_token};
    const u64 step_k = KEYS * a.k_token, step_p = KEYS * a.k_pe_token, step_v = KEYS * a.v_token;
    u64 ak[2], ap[1], av[4];
    auto aim_k = [&](int first) {
      const int thread = 64 * wave + lane_again();
      aim<NOPE>(of_k, first, t.keys, thread, ak);
      aim<ROPE>(of_p, first, t.keys, thread, ap);
    };
    auto aim_v = [&](int first) { // thread i: columns 4 (i % 32) .. of keys 4 (i / 32) ..
      const int thread = 64 * wave + lane_again();
#pragma unroll
      for (int r = 0; r < 4; r++)
        av[r] = of_v.at + (u64)((i64)smaller(first + thread / 32 * 4 + r, t.keys - 1) * of_v.pitch) + 8 * (thread % 32);
    };
    // Copies step from round to round by themselves; the last rounds' are aimed anew.
    auto aim_ends = [&](int round) { // K of this round, V of the one before
      if (__builtin_expect((round + 1) * KEYS > t.keys, 0)) {
        aim_k(round * KEYS);
        if (round * KEYS > t.keys) aim_v((round - 1) * KEYS);
      }
    };

    // Places in LDS: what this lane reads, and where it writes.
    u32 ka, va, wk, wp, wv;
    {
      const int lane = lane_again(), thread = 64 * wave + lane;
      ka = base + (lane & 31) * PITCH_K + 16 * (lane >> 5);
      va = base + 2 * K_BYTES + 2 * V_BYTES + 16 * lane;
      wk = base + thread / (NOPE / 8) * PITCH_K + 16 * (thread % (NOPE / 8));
      wp = base + thread / (ROPE / 8) * PITCH_K + 2 * NOPE + 16 * (thread % (ROPE / 8));
      wv = base + 2 * K_BYTES + 16 * thread;
    }

    // K of rounds 0 and 1, V of round 0; then K of round 2 and V of round 1 are on their way.
    aim_k(0);
    aim_v(0);
    asm volatile(
        "global_load_dwordx4 v[172:175], %[ak0], off\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "global_load_dwordx4 v[176:179], %[ak1], off\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        "global_load_dwordx4 v[180:183], %[ap0], off\n"
        "v_lshl_add_u64 %[ap0], %[ap0], 0, %[step_p]\n"
        : [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]), [ap0] "+v"(ap[0]) : [step_k] "s"(step_k), [step_p] "s"(step_p) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    asm volatile(
        "global_load_dwordx2 v[184:185], %[av0], off\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
        "global_load_dwordx2 v[186:187], %[av1], off\n"
        "v_lshl_add_u64 %[av1], %[av1], 0, %[step_v]\n"
        "global_load_dwordx2 v[188:189], %[av2], off\n"
        "v_lshl_add_u64 %[av2], %[av2], 0, %[step_v]\n"
        "global_load_dwordx2 v[190:191], %[av3], off\n"
        "v_lshl_add_u64 %[av3], %[av3], 0, %[step_v]\n"
        : [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]) : [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    aim_ends(1);
    asm volatile(
        "global_load_dwordx4 v[148:151], %[ak0], off\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "global_load_dwordx4 v[152:155], %[ak1], off\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        "global_load_dwordx4 v[156:159], %[ap0], off\n"
        "v_lshl_add_u64 %[ap0], %[ap0], 0, %[step_p]\n"
        : [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]), [ap0] "+v"(ap[0]) : [step_k] "s"(step_k), [step_p] "s"(step_p) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    aim_ends(2);
    // Q: lane l fetches chunk l%8 of row l/8 (+ 8, 16, 24) of a block; LDS turns 64 columns at a time into the layout of B. Rows
    // that do not exist repeat the last that does; nobody stores what they compute.
    const u32 q_place = base + 2 * K_BYTES + V_BYTES + 4096 * wave;
    {
      const int lane = lane_again();
      u64 q[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int r = smaller(row_at + 0 + 8 * i + (lane >> 3), t.rows - 1);
        q[i] = (u64)a.q + (t.row + r) * a.q_token + t.head * a.q_head + 16 * (lane & 7);
      }
      asm volatile(
          "global_load_dwordx4 v[44:47], %0, off offset:0\n"
          "global_load_dwordx4 v[48:51], %0, off offset:128\n"
          "global_load_dwordx4 v[52:55], %0, off offset:256\n"
          "global_load_dwordx4 v[56:59], %1, off offset:0\n"
          "global_load_dwordx4 v[60:63], %1, off offset:128\n"
          "global_load_dwordx4 v[64:67], %1, off offset:256\n"
          "global_load_dwordx4 v[68:71], %2, off offset:0\n"
          "global_load_dwordx4 v[72:75], %2, off offset:128\n"
          "global_load_dwordx4 v[76:79], %2, off offset:256\n"
          "global_load_dwordx4 v[80:83], %3, off offset:0\n"
          "global_load_dwordx4 v[84:87], %3, off offset:128\n"
          "global_load_dwordx4 v[88:91], %3, off offset:256\n"
          :: "v"(q[0]), "v"(q[1]), "v"(q[2]), "v"(q[3]) : "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    }
    {
      const int lane = lane_again();
      u64 q[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int r = smaller(row_at + 32 + 8 * i + (lane >> 3), t.rows - 1);
        q[i] = (u64)a.q + (t.row + r) * a.q_token + t.head * a.q_head + 16 * (lane & 7);
      }
      asm volatile(
          "global_load_dwordx4 v[92:95], %0, off offset:0\n"
          "global_load_dwordx4 v[96:99], %0, off offset:128\n"
          "global_load_dwordx4 v[100:103], %0, off offset:256\n"
          "global_load_dwordx4 v[104:107], %1, off offset:0\n"
          "global_load_dwordx4 v[108:111], %1, off offset:128\n"
          "global_load_dwordx4 v[112:115], %1, off offset:256\n"
          "global_load_dwordx4 v[116:119], %2, off offset:0\n"
          "global_load_dwordx4 v[120:123], %2, off offset:128\n"
          "global_load_dwordx4 v[124:127], %2, off offset:256\n"
          "global_load_dwordx4 v[128:131], %3, off offset:0\n"
          "global_load_dwordx4 v[132:135], %3, off offset:128\n"
          "global_load_dwordx4 v[136:139], %3, off offset:256\n"
          :: "v"(q[0]), "v"(q[1]), "v"(q[2]), "v"(q[3]) : "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    }
    clear();
    u32 kd = K_BYTES, vd = 0, vd1 = 0, vd2 = V_BYTES, vt; // steps from a place of K, of V to another
    {
      const int lane = lane_again();
      const u32 qw = q_place + 128 * (lane >> 3) + 16 * ((lane & 7) ^ (lane >> 3));
      u32 qr[4];
#pragma unroll
      for (int f = 0; f < 4; f++) qr[f] = q_place + 128 * (lane & 31) + 16 * ((2 * f + (lane >> 5)) ^ (lane & 7));
      kd = 0u - kd;
    asm volatile(
        "s_waitcnt vmcnt(0)\n"
        "ds_write_b128 %[wk], v[172:175] offset:0\n"
        "ds_write_b128 %[wk], v[176:179] offset:6400\n"
        "ds_write_b128 %[wp], v[180:183] offset:0\n"
        "v_subrev_u32 %[wk], %[kd], %[wk]\n"
        "v_subrev_u32 %[wp], %[kd], %[wp]\n"
        "v_perm_b32 v192, v186, v184, %[lo]\n"
        "v_perm_b32 v193, v190, v188, %[lo]\n"
        "v_perm_b32 v194, v186, v184, %[hi]\n"
        "v_perm_b32 v195, v190, v188, %[hi]\n"
        "ds_write_b128 %[wv], v[192:195] offset:0\n"
        "v_perm_b32 v196, v187, v185, %[lo]\n"
        "v_perm_b32 v197, v191, v189, %[lo]\n"
        "v_perm_b32 v198, v187, v185, %[hi]\n"
        "v_perm_b32 v199, v191, v189, %[hi]\n"
        "ds_write_b128 %[wv], v[196:199] offset:4096\n"
        "v_add_u32 %[wv], %[vd2], %[wv]\n"
        "ds_write_b128 %[wk], v[148:151] offset:0\n"
        "ds_write_b128 %[wk], v[152:155] offset:6400\n"
        "ds_write_b128 %[wp], v[156:159] offset:0\n"
        : [wk] "+v"(wk), [wp] "+v"(wp), [wv] "+v"(wv) : [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [vd2] "s"(vd2) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    asm volatile(
        "ds_write_b128 %[qw], v[44:47] offset:0\n"
        "ds_write_b128 %[qw], v[56:59] offset:1024\n"
        "ds_write_b128 %[qw], v[68:71] offset:2048\n"
        "ds_write_b128 %[qw], v[80:83] offset:3072\n"
        "ds_read_b128 a[0:3], %[qr0]\n"
        "ds_read_b128 a[4:7], %[qr1]\n"
        "ds_read_b128 a[8:11], %[qr2]\n"
        "ds_read_b128 a[12:15], %[qr3]\n"
        "ds_write_b128 %[qw], v[48:51] offset:0\n"
        "ds_write_b128 %[qw], v[60:63] offset:1024\n"
        "ds_write_b128 %[qw], v[72:75] offset:2048\n"
        "ds_write_b128 %[qw], v[84:87] offset:3072\n"
        "ds_read_b128 a[16:19], %[qr0]\n"
        "ds_read_b128 a[20:23], %[qr1]\n"
        "ds_read_b128 a[24:27], %[qr2]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[28:31], %[qr3]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[52:55] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[64:67] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[76:79] offset:2048\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[88:91] offset:3072\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[32:35], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[36:39], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[40:43], %[qr2]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[44:47], %[qr3]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]), [qr2] "v"(qr[2]), [qr3] "v"(qr[3]) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    asm volatile(
        "ds_write_b128 %[qw], v[92:95] offset:0\n"
        "ds_write_b128 %[qw], v[104:107] offset:1024\n"
        "ds_write_b128 %[qw], v[116:119] offset:2048\n"
        "ds_write_b128 %[qw], v[128:131] offset:3072\n"
        "ds_read_b128 a[48:51], %[qr0]\n"
        "ds_read_b128 a[52:55], %[qr1]\n"
        "ds_read_b128 a[56:59], %[qr2]\n"
        "ds_read_b128 a[60:63], %[qr3]\n"
        "ds_write_b128 %[qw], v[96:99] offset:0\n"
        "ds_write_b128 %[qw], v[108:111] offset:1024\n"
        "ds_write_b128 %[qw], v[120:123] offset:2048\n"
        "ds_write_b128 %[qw], v[132:135] offset:3072\n"
        "ds_read_b128 a[64:67], %[qr0]\n"
        "ds_read_b128 a[68:71], %[qr1]\n"
        "ds_read_b128 a[72:75], %[qr2]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[76:79], %[qr3]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[100:103] offset:0\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[112:115] offset:1024\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[124:127] offset:2048\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_write_b128 %[qw], v[136:139] offset:3072\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[80:83], %[qr0]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[84:87], %[qr1]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[88:91], %[qr2]\n"
        "s_waitcnt lgkmcnt(14)\n"
        "ds_read_b128 a[92:95], %[qr3]\n"
        :  : [qw] "v"(qw), [qr0] "v"(qr[0]), [qr1] "v"(qr[1]), [qr2] "v"(qr[2]), [qr3] "v"(qr[3]) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      wk -= K_BYTES;
      wp -= K_BYTES;
    }
    asm volatile(
        "global_load_dwordx4 v[172:175], %[ak0], off\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "global_load_dwordx4 v[176:179], %[ak1], off\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        "global_load_dwordx4 v[180:183], %[ap0], off\n"
        "v_lshl_add_u64 %[ap0], %[ap0], 0, %[step_p]\n"
        "global_load_dwordx2 v[184:185], %[av0], off\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
        "global_load_dwordx2 v[186:187], %[av1], off\n"
        "v_lshl_add_u64 %[av1], %[av1], 0, %[step_v]\n"
        "global_load_dwordx2 v[188:189], %[av2], off\n"
        "v_lshl_add_u64 %[av2], %[av2], 0, %[step_v]\n"
        "global_load_dwordx2 v[190:191], %[av3], off\n"
        "v_lshl_add_u64 %[av3], %[av3], 0, %[step_v]\n"
        : [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]), [ap0] "+v"(ap[0]), [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]) : [step_k] "s"(step_k), [step_p] "s"(step_p), [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");

    // Steps of this round: of K's place that is read (back, for the one that is written), of V's, of V's one and two rounds on.
    kd = 0u - K_BYTES, vd = 0u - 2 * V_BYTES, vd1 = V_BYTES, vd2 = V_BYTES;
    auto turn = [&] {
      kd = 0u - kd;
      const u32 first = vd;
      vd = vd1;
      vd1 = vd2;
      vd2 = first;
    };
    int done = 0;
    asm volatile("s_waitcnt lgkmcnt(0)\ns_barrier" ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    if (mine > 0) {
    asm volatile(
        "ds_read_b128 v[124:127], %[ka] offset:0\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[124:125], a[0:1], v[214:229]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[124:125], a[48:49], v[230:245]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[126:127], a[2:3], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[126:127], a[50:51], v[60:75]\n"
        "ds_read_b128 v[128:131], %[ka] offset:32\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[128:129], a[4:5], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[128:129], a[52:53], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[130:131], a[6:7], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[130:131], a[54:55], v[60:75]\n"
        "ds_read_b128 v[132:135], %[ka] offset:64\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[132:133], a[8:9], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[132:133], a[56:57], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[134:135], a[10:11], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[134:135], a[58:59], v[60:75]\n"
        "ds_read_b128 v[136:139], %[ka] offset:96\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[136:137], a[12:13], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[136:137], a[60:61], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[138:139], a[14:15], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[138:139], a[62:63], v[60:75]\n"
        "ds_read_b128 v[140:143], %[ka] offset:128\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[140:141], a[16:17], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[140:141], a[64:65], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[142:143], a[18:19], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[142:143], a[66:67], v[60:75]\n"
        "ds_read_b128 v[144:147], %[ka] offset:160\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[144:145], a[20:21], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[144:145], a[68:69], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[146:147], a[22:23], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[146:147], a[70:71], v[60:75]\n"
        "ds_read_b128 v[124:127], %[ka] offset:192\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[124:125], a[24:25], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[124:125], a[72:73], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[126:127], a[26:27], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[126:127], a[74:75], v[60:75]\n"
        "ds_read_b128 v[128:131], %[ka] offset:224\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[128:129], a[28:29], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[128:129], a[76:77], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[130:131], a[30:31], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[130:131], a[78:79], v[60:75]\n"
        "ds_read_b128 v[132:135], %[ka] offset:256\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[132:133], a[32:33], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[132:133], a[80:81], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[134:135], a[34:35], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[134:135], a[82:83], v[60:75]\n"
        "ds_read_b128 v[136:139], %[ka] offset:288\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[136:137], a[36:37], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[136:137], a[84:85], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[138:139], a[38:39], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[138:139], a[86:87], v[60:75]\n"
        "ds_read_b128 v[140:143], %[ka] offset:320\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[140:141], a[40:41], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[140:141], a[88:89], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[142:143], a[42:43], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[142:143], a[90:91], v[60:75]\n"
        "ds_read_b128 v[144:147], %[ka] offset:352\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[144:145], a[44:45], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[144:145], a[92:93], v[60:75]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[146:147], a[46:47], v[44:59]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[146:147], a[94:95], v[60:75]\n"
        :  : [ka] "v"(ka) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      asm volatile("s_nop 7\ns_nop 2" ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128"); // S
      ka += K_BYTES;
      const int all_see = uniform(smaller(seen_by(t, row_at), t.keys)); // keys that each row of the wave sees
      const int plain = smaller(all_see / KEYS, t.keys / KEYS - 3);     // rounds before: nothing to mask, no copy to aim
      u64 rise;
      auto mask = [&](int i) {
        const int lane = lane_again();
        const float none = minus_inf();
        {
          const int left = smaller(seen_by(t, row_at + 0 + (lane & 31)), t.keys) - i * KEYS - 4 * (lane >> 5);
          asm volatile(
              "v_cmp_lt_i32 vcc, 0, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v76, %1, v76, vcc\n"
              "v_cmp_lt_i32 vcc, 1, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v77, %1, v77, vcc\n"
              "v_cmp_lt_i32 vcc, 2, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v78, %1, v78, vcc\n"
              "v_cmp_lt_i32 vcc, 3, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v79, %1, v79, vcc\n"
              "v_cmp_lt_i32 vcc, 8, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v80, %1, v80, vcc\n"
              "v_cmp_lt_i32 vcc, 9, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v81, %1, v81, vcc\n"
              "v_cmp_lt_i32 vcc, 10, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v82, %1, v82, vcc\n"
              "v_cmp_lt_i32 vcc, 11, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v83, %1, v83, vcc\n"
              "v_cmp_lt_i32 vcc, 16, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v84, %1, v84, vcc\n"
              "v_cmp_lt_i32 vcc, 17, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v85, %1, v85, vcc\n"
              "v_cmp_lt_i32 vcc, 18, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v86, %1, v86, vcc\n"
              "v_cmp_lt_i32 vcc, 19, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v87, %1, v87, vcc\n"
              "v_cmp_lt_i32 vcc, 24, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v88, %1, v88, vcc\n"
              "v_cmp_lt_i32 vcc, 25, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v89, %1, v89, vcc\n"
              "v_cmp_lt_i32 vcc, 26, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v90, %1, v90, vcc\n"
              "v_cmp_lt_i32 vcc, 27, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v91, %1, v91, vcc\n"
              :: "v"(left), "v"(none) : "vcc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
        }
        {
          const int left = smaller(seen_by(t, row_at + 32 + (lane & 31)), t.keys) - i * KEYS - 4 * (lane >> 5);
          asm volatile(
              "v_cmp_lt_i32 vcc, 0, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v92, %1, v92, vcc\n"
              "v_cmp_lt_i32 vcc, 1, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v93, %1, v93, vcc\n"
              "v_cmp_lt_i32 vcc, 2, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v94, %1, v94, vcc\n"
              "v_cmp_lt_i32 vcc, 3, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v95, %1, v95, vcc\n"
              "v_cmp_lt_i32 vcc, 8, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v96, %1, v96, vcc\n"
              "v_cmp_lt_i32 vcc, 9, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v97, %1, v97, vcc\n"
              "v_cmp_lt_i32 vcc, 10, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v98, %1, v98, vcc\n"
              "v_cmp_lt_i32 vcc, 11, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v99, %1, v99, vcc\n"
              "v_cmp_lt_i32 vcc, 16, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v100, %1, v100, vcc\n"
              "v_cmp_lt_i32 vcc, 17, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v101, %1, v101, vcc\n"
              "v_cmp_lt_i32 vcc, 18, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v102, %1, v102, vcc\n"
              "v_cmp_lt_i32 vcc, 19, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v103, %1, v103, vcc\n"
              "v_cmp_lt_i32 vcc, 24, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v104, %1, v104, vcc\n"
              "v_cmp_lt_i32 vcc, 25, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v105, %1, v105, vcc\n"
              "v_cmp_lt_i32 vcc, 26, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v106, %1, v106, vcc\n"
              "v_cmp_lt_i32 vcc, 27, %0\n"
              "s_nop 1\n"
              "v_cndmask_b32 v107, %1, v107, vcc\n"
              :: "v"(left), "v"(none) : "vcc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
        }
      };
      auto rescale = [&](bool begun) {
        const int lane = lane_again();
        {
          float top;
          asm volatile("v_max3_f32 %0, v76, v77, v78\n"
                       "v_max3_f32 %0, %0, v79, v80\n"
                       "v_max3_f32 %0, %0, v81, v82\n"
                       "v_max3_f32 %0, %0, v83, v84\n"
                       "v_max3_f32 %0, %0, v85, v86\n"
                       "v_max3_f32 %0, %0, v87, v88\n"
                       "v_max3_f32 %0, %0, v89, v90\n"
                       "v_max_f32 %0, %0, v91" : "=&v"(top) :: "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
          top = __builtin_fmaxf(top, lane_xor(top, lane, 32));
          const float up = begun ? __builtin_fmaxf(top, 0.0f) : top < -3e38f ? 0.0f : top; // of m
          const float factor = exp2_fast(-up), down = up * inverse;
          asm volatile("s_nop 1\n"
                       "v_sub_f32 v76, v76, %0\n"
                       "v_sub_f32 v214, v214, %2\n"
                       "v_sub_f32 v77, v77, %0\n"
                       "v_sub_f32 v215, v215, %2\n"
                       "v_sub_f32 v78, v78, %0\n"
                       "v_sub_f32 v216, v216, %2\n"
                       "v_sub_f32 v79, v79, %0\n"
                       "v_sub_f32 v217, v217, %2\n"
                       "v_sub_f32 v80, v80, %0\n"
                       "v_sub_f32 v218, v218, %2\n"
                       "v_sub_f32 v81, v81, %0\n"
                       "v_sub_f32 v219, v219, %2\n"
                       "v_sub_f32 v82, v82, %0\n"
                       "v_sub_f32 v220, v220, %2\n"
                       "v_sub_f32 v83, v83, %0\n"
                       "v_sub_f32 v221, v221, %2\n"
                       "v_sub_f32 v84, v84, %0\n"
                       "v_sub_f32 v222, v222, %2\n"
                       "v_sub_f32 v85, v85, %0\n"
                       "v_sub_f32 v223, v223, %2\n"
                       "v_sub_f32 v86, v86, %0\n"
                       "v_sub_f32 v224, v224, %2\n"
                       "v_sub_f32 v87, v87, %0\n"
                       "v_sub_f32 v225, v225, %2\n"
                       "v_sub_f32 v88, v88, %0\n"
                       "v_sub_f32 v226, v226, %2\n"
                       "v_sub_f32 v89, v89, %0\n"
                       "v_sub_f32 v227, v227, %2\n"
                       "v_sub_f32 v90, v90, %0\n"
                       "v_sub_f32 v228, v228, %2\n"
                       "v_sub_f32 v91, v91, %0\n"
                       "v_sub_f32 v229, v229, %2\n"
                       "v_mul_f32 v206, %1, v206\n"
                       "v_mul_f32 v207, %1, v207\n"
                       "v_mul_f32 v208, %1, v208\n"
                       "v_mul_f32 v209, %1, v209\n"
                       "v_mul_f32 v204, %1, v204" :: "v"(up), "v"(factor), "v"(down) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
          if (begun) asm volatile("s_nop 7\ns_nop 2\n" // O's last MFMAs
              "v_accvgpr_read_b32 v200, a96\n"
              "v_accvgpr_read_b32 v201, a97\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a96, v200\n"
              "v_accvgpr_write_b32 a97, v201\n"
              "v_accvgpr_read_b32 v200, a98\n"
              "v_accvgpr_read_b32 v201, a99\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a98, v200\n"
              "v_accvgpr_write_b32 a99, v201\n"
              "v_accvgpr_read_b32 v200, a100\n"
              "v_accvgpr_read_b32 v201, a101\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a100, v200\n"
              "v_accvgpr_write_b32 a101, v201\n"
              "v_accvgpr_read_b32 v200, a102\n"
              "v_accvgpr_read_b32 v201, a103\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a102, v200\n"
              "v_accvgpr_write_b32 a103, v201\n"
              "v_accvgpr_read_b32 v200, a104\n"
              "v_accvgpr_read_b32 v201, a105\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a104, v200\n"
              "v_accvgpr_write_b32 a105, v201\n"
              "v_accvgpr_read_b32 v200, a106\n"
              "v_accvgpr_read_b32 v201, a107\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a106, v200\n"
              "v_accvgpr_write_b32 a107, v201\n"
              "v_accvgpr_read_b32 v200, a108\n"
              "v_accvgpr_read_b32 v201, a109\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a108, v200\n"
              "v_accvgpr_write_b32 a109, v201\n"
              "v_accvgpr_read_b32 v200, a110\n"
              "v_accvgpr_read_b32 v201, a111\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a110, v200\n"
              "v_accvgpr_write_b32 a111, v201\n"
              "v_accvgpr_read_b32 v200, a112\n"
              "v_accvgpr_read_b32 v201, a113\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a112, v200\n"
              "v_accvgpr_write_b32 a113, v201\n"
              "v_accvgpr_read_b32 v200, a114\n"
              "v_accvgpr_read_b32 v201, a115\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a114, v200\n"
              "v_accvgpr_write_b32 a115, v201\n"
              "v_accvgpr_read_b32 v200, a116\n"
              "v_accvgpr_read_b32 v201, a117\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a116, v200\n"
              "v_accvgpr_write_b32 a117, v201\n"
              "v_accvgpr_read_b32 v200, a118\n"
              "v_accvgpr_read_b32 v201, a119\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a118, v200\n"
              "v_accvgpr_write_b32 a119, v201\n"
              "v_accvgpr_read_b32 v200, a120\n"
              "v_accvgpr_read_b32 v201, a121\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a120, v200\n"
              "v_accvgpr_write_b32 a121, v201\n"
              "v_accvgpr_read_b32 v200, a122\n"
              "v_accvgpr_read_b32 v201, a123\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a122, v200\n"
              "v_accvgpr_write_b32 a123, v201\n"
              "v_accvgpr_read_b32 v200, a124\n"
              "v_accvgpr_read_b32 v201, a125\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a124, v200\n"
              "v_accvgpr_write_b32 a125, v201\n"
              "v_accvgpr_read_b32 v200, a126\n"
              "v_accvgpr_read_b32 v201, a127\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a126, v200\n"
              "v_accvgpr_write_b32 a127, v201\n"
              "v_accvgpr_read_b32 v200, a128\n"
              "v_accvgpr_read_b32 v201, a129\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a128, v200\n"
              "v_accvgpr_write_b32 a129, v201\n"
              "v_accvgpr_read_b32 v200, a130\n"
              "v_accvgpr_read_b32 v201, a131\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a130, v200\n"
              "v_accvgpr_write_b32 a131, v201\n"
              "v_accvgpr_read_b32 v200, a132\n"
              "v_accvgpr_read_b32 v201, a133\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a132, v200\n"
              "v_accvgpr_write_b32 a133, v201\n"
              "v_accvgpr_read_b32 v200, a134\n"
              "v_accvgpr_read_b32 v201, a135\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a134, v200\n"
              "v_accvgpr_write_b32 a135, v201\n"
              "v_accvgpr_read_b32 v200, a136\n"
              "v_accvgpr_read_b32 v201, a137\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a136, v200\n"
              "v_accvgpr_write_b32 a137, v201\n"
              "v_accvgpr_read_b32 v200, a138\n"
              "v_accvgpr_read_b32 v201, a139\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a138, v200\n"
              "v_accvgpr_write_b32 a139, v201\n"
              "v_accvgpr_read_b32 v200, a140\n"
              "v_accvgpr_read_b32 v201, a141\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a140, v200\n"
              "v_accvgpr_write_b32 a141, v201\n"
              "v_accvgpr_read_b32 v200, a142\n"
              "v_accvgpr_read_b32 v201, a143\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a142, v200\n"
              "v_accvgpr_write_b32 a143, v201\n"
              "v_accvgpr_read_b32 v200, a144\n"
              "v_accvgpr_read_b32 v201, a145\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a144, v200\n"
              "v_accvgpr_write_b32 a145, v201\n"
              "v_accvgpr_read_b32 v200, a146\n"
              "v_accvgpr_read_b32 v201, a147\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a146, v200\n"
              "v_accvgpr_write_b32 a147, v201\n"
              "v_accvgpr_read_b32 v200, a148\n"
              "v_accvgpr_read_b32 v201, a149\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a148, v200\n"
              "v_accvgpr_write_b32 a149, v201\n"
              "v_accvgpr_read_b32 v200, a150\n"
              "v_accvgpr_read_b32 v201, a151\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a150, v200\n"
              "v_accvgpr_write_b32 a151, v201\n"
              "v_accvgpr_read_b32 v200, a152\n"
              "v_accvgpr_read_b32 v201, a153\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a152, v200\n"
              "v_accvgpr_write_b32 a153, v201\n"
              "v_accvgpr_read_b32 v200, a154\n"
              "v_accvgpr_read_b32 v201, a155\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a154, v200\n"
              "v_accvgpr_write_b32 a155, v201\n"
              "v_accvgpr_read_b32 v200, a156\n"
              "v_accvgpr_read_b32 v201, a157\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a156, v200\n"
              "v_accvgpr_write_b32 a157, v201\n"
              "v_accvgpr_read_b32 v200, a158\n"
              "v_accvgpr_read_b32 v201, a159\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a158, v200\n"
              "v_accvgpr_write_b32 a159, v201\n"
              "s_nop 1" :: "v"(factor) : "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
        }
        {
          float top;
          asm volatile("v_max3_f32 %0, v92, v93, v94\n"
                       "v_max3_f32 %0, %0, v95, v96\n"
                       "v_max3_f32 %0, %0, v97, v98\n"
                       "v_max3_f32 %0, %0, v99, v100\n"
                       "v_max3_f32 %0, %0, v101, v102\n"
                       "v_max3_f32 %0, %0, v103, v104\n"
                       "v_max3_f32 %0, %0, v105, v106\n"
                       "v_max_f32 %0, %0, v107" : "=&v"(top) :: "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
          top = __builtin_fmaxf(top, lane_xor(top, lane, 32));
          const float up = begun ? __builtin_fmaxf(top, 0.0f) : top < -3e38f ? 0.0f : top; // of m
          const float factor = exp2_fast(-up), down = up * inverse;
          asm volatile("s_nop 1\n"
                       "v_sub_f32 v92, v92, %0\n"
                       "v_sub_f32 v230, v230, %2\n"
                       "v_sub_f32 v93, v93, %0\n"
                       "v_sub_f32 v231, v231, %2\n"
                       "v_sub_f32 v94, v94, %0\n"
                       "v_sub_f32 v232, v232, %2\n"
                       "v_sub_f32 v95, v95, %0\n"
                       "v_sub_f32 v233, v233, %2\n"
                       "v_sub_f32 v96, v96, %0\n"
                       "v_sub_f32 v234, v234, %2\n"
                       "v_sub_f32 v97, v97, %0\n"
                       "v_sub_f32 v235, v235, %2\n"
                       "v_sub_f32 v98, v98, %0\n"
                       "v_sub_f32 v236, v236, %2\n"
                       "v_sub_f32 v99, v99, %0\n"
                       "v_sub_f32 v237, v237, %2\n"
                       "v_sub_f32 v100, v100, %0\n"
                       "v_sub_f32 v238, v238, %2\n"
                       "v_sub_f32 v101, v101, %0\n"
                       "v_sub_f32 v239, v239, %2\n"
                       "v_sub_f32 v102, v102, %0\n"
                       "v_sub_f32 v240, v240, %2\n"
                       "v_sub_f32 v103, v103, %0\n"
                       "v_sub_f32 v241, v241, %2\n"
                       "v_sub_f32 v104, v104, %0\n"
                       "v_sub_f32 v242, v242, %2\n"
                       "v_sub_f32 v105, v105, %0\n"
                       "v_sub_f32 v243, v243, %2\n"
                       "v_sub_f32 v106, v106, %0\n"
                       "v_sub_f32 v244, v244, %2\n"
                       "v_sub_f32 v107, v107, %0\n"
                       "v_sub_f32 v245, v245, %2\n"
                       "v_mul_f32 v210, %1, v210\n"
                       "v_mul_f32 v211, %1, v211\n"
                       "v_mul_f32 v212, %1, v212\n"
                       "v_mul_f32 v213, %1, v213\n"
                       "v_mul_f32 v205, %1, v205" :: "v"(up), "v"(factor), "v"(down) : "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
          if (begun) asm volatile("s_nop 7\ns_nop 2\n" // O's last MFMAs
              "v_accvgpr_read_b32 v200, a160\n"
              "v_accvgpr_read_b32 v201, a161\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a160, v200\n"
              "v_accvgpr_write_b32 a161, v201\n"
              "v_accvgpr_read_b32 v200, a162\n"
              "v_accvgpr_read_b32 v201, a163\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a162, v200\n"
              "v_accvgpr_write_b32 a163, v201\n"
              "v_accvgpr_read_b32 v200, a164\n"
              "v_accvgpr_read_b32 v201, a165\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a164, v200\n"
              "v_accvgpr_write_b32 a165, v201\n"
              "v_accvgpr_read_b32 v200, a166\n"
              "v_accvgpr_read_b32 v201, a167\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a166, v200\n"
              "v_accvgpr_write_b32 a167, v201\n"
              "v_accvgpr_read_b32 v200, a168\n"
              "v_accvgpr_read_b32 v201, a169\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a168, v200\n"
              "v_accvgpr_write_b32 a169, v201\n"
              "v_accvgpr_read_b32 v200, a170\n"
              "v_accvgpr_read_b32 v201, a171\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a170, v200\n"
              "v_accvgpr_write_b32 a171, v201\n"
              "v_accvgpr_read_b32 v200, a172\n"
              "v_accvgpr_read_b32 v201, a173\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a172, v200\n"
              "v_accvgpr_write_b32 a173, v201\n"
              "v_accvgpr_read_b32 v200, a174\n"
              "v_accvgpr_read_b32 v201, a175\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a174, v200\n"
              "v_accvgpr_write_b32 a175, v201\n"
              "v_accvgpr_read_b32 v200, a176\n"
              "v_accvgpr_read_b32 v201, a177\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a176, v200\n"
              "v_accvgpr_write_b32 a177, v201\n"
              "v_accvgpr_read_b32 v200, a178\n"
              "v_accvgpr_read_b32 v201, a179\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a178, v200\n"
              "v_accvgpr_write_b32 a179, v201\n"
              "v_accvgpr_read_b32 v200, a180\n"
              "v_accvgpr_read_b32 v201, a181\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a180, v200\n"
              "v_accvgpr_write_b32 a181, v201\n"
              "v_accvgpr_read_b32 v200, a182\n"
              "v_accvgpr_read_b32 v201, a183\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a182, v200\n"
              "v_accvgpr_write_b32 a183, v201\n"
              "v_accvgpr_read_b32 v200, a184\n"
              "v_accvgpr_read_b32 v201, a185\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a184, v200\n"
              "v_accvgpr_write_b32 a185, v201\n"
              "v_accvgpr_read_b32 v200, a186\n"
              "v_accvgpr_read_b32 v201, a187\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a186, v200\n"
              "v_accvgpr_write_b32 a187, v201\n"
              "v_accvgpr_read_b32 v200, a188\n"
              "v_accvgpr_read_b32 v201, a189\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a188, v200\n"
              "v_accvgpr_write_b32 a189, v201\n"
              "v_accvgpr_read_b32 v200, a190\n"
              "v_accvgpr_read_b32 v201, a191\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a190, v200\n"
              "v_accvgpr_write_b32 a191, v201\n"
              "v_accvgpr_read_b32 v200, a192\n"
              "v_accvgpr_read_b32 v201, a193\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a192, v200\n"
              "v_accvgpr_write_b32 a193, v201\n"
              "v_accvgpr_read_b32 v200, a194\n"
              "v_accvgpr_read_b32 v201, a195\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a194, v200\n"
              "v_accvgpr_write_b32 a195, v201\n"
              "v_accvgpr_read_b32 v200, a196\n"
              "v_accvgpr_read_b32 v201, a197\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a196, v200\n"
              "v_accvgpr_write_b32 a197, v201\n"
              "v_accvgpr_read_b32 v200, a198\n"
              "v_accvgpr_read_b32 v201, a199\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a198, v200\n"
              "v_accvgpr_write_b32 a199, v201\n"
              "v_accvgpr_read_b32 v200, a200\n"
              "v_accvgpr_read_b32 v201, a201\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a200, v200\n"
              "v_accvgpr_write_b32 a201, v201\n"
              "v_accvgpr_read_b32 v200, a202\n"
              "v_accvgpr_read_b32 v201, a203\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a202, v200\n"
              "v_accvgpr_write_b32 a203, v201\n"
              "v_accvgpr_read_b32 v200, a204\n"
              "v_accvgpr_read_b32 v201, a205\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a204, v200\n"
              "v_accvgpr_write_b32 a205, v201\n"
              "v_accvgpr_read_b32 v200, a206\n"
              "v_accvgpr_read_b32 v201, a207\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a206, v200\n"
              "v_accvgpr_write_b32 a207, v201\n"
              "v_accvgpr_read_b32 v200, a208\n"
              "v_accvgpr_read_b32 v201, a209\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a208, v200\n"
              "v_accvgpr_write_b32 a209, v201\n"
              "v_accvgpr_read_b32 v200, a210\n"
              "v_accvgpr_read_b32 v201, a211\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a210, v200\n"
              "v_accvgpr_write_b32 a211, v201\n"
              "v_accvgpr_read_b32 v200, a212\n"
              "v_accvgpr_read_b32 v201, a213\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a212, v200\n"
              "v_accvgpr_write_b32 a213, v201\n"
              "v_accvgpr_read_b32 v200, a214\n"
              "v_accvgpr_read_b32 v201, a215\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a214, v200\n"
              "v_accvgpr_write_b32 a215, v201\n"
              "v_accvgpr_read_b32 v200, a216\n"
              "v_accvgpr_read_b32 v201, a217\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a216, v200\n"
              "v_accvgpr_write_b32 a217, v201\n"
              "v_accvgpr_read_b32 v200, a218\n"
              "v_accvgpr_read_b32 v201, a219\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a218, v200\n"
              "v_accvgpr_write_b32 a219, v201\n"
              "v_accvgpr_read_b32 v200, a220\n"
              "v_accvgpr_read_b32 v201, a221\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a220, v200\n"
              "v_accvgpr_write_b32 a221, v201\n"
              "v_accvgpr_read_b32 v200, a222\n"
              "v_accvgpr_read_b32 v201, a223\n"
              "v_mul_f32 v200, %0, v200\n"
              "v_mul_f32 v201, %0, v201\n"
              "v_accvgpr_write_b32 a222, v200\n"
              "v_accvgpr_write_b32 a223, v201\n"
              "s_nop 1" :: "v"(factor) : "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
        }
      };
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mul_f32 v76, %[scale], v44\n"
        "v_mul_f32 v77, %[scale], v45\n"
        "v_mul_f32 v78, %[scale], v46\n"
        "v_mul_f32 v79, %[scale], v47\n"
        "v_mul_f32 v80, %[scale], v48\n"
        "v_mul_f32 v81, %[scale], v49\n"
        "v_mul_f32 v82, %[scale], v50\n"
        "v_mul_f32 v83, %[scale], v51\n"
        "v_mul_f32 v84, %[scale], v52\n"
        "v_mul_f32 v85, %[scale], v53\n"
        "v_mul_f32 v86, %[scale], v54\n"
        "v_mul_f32 v87, %[scale], v55\n"
        "v_mul_f32 v88, %[scale], v56\n"
        "v_mul_f32 v89, %[scale], v57\n"
        "v_mul_f32 v90, %[scale], v58\n"
        "v_mul_f32 v91, %[scale], v59\n"
        "v_mul_f32 v92, %[scale], v60\n"
        "v_mul_f32 v93, %[scale], v61\n"
        "v_mul_f32 v94, %[scale], v62\n"
        "v_mul_f32 v95, %[scale], v63\n"
        "v_mul_f32 v96, %[scale], v64\n"
        "v_mul_f32 v97, %[scale], v65\n"
        "v_mul_f32 v98, %[scale], v66\n"
        "v_mul_f32 v99, %[scale], v67\n"
        "v_mul_f32 v100, %[scale], v68\n"
        "v_mul_f32 v101, %[scale], v69\n"
        "v_mul_f32 v102, %[scale], v70\n"
        "v_mul_f32 v103, %[scale], v71\n"
        "v_mul_f32 v104, %[scale], v72\n"
        "v_mul_f32 v105, %[scale], v73\n"
        "v_mul_f32 v106, %[scale], v74\n"
        "v_mul_f32 v107, %[scale], v75\n"
        "v_max3_f32 v200, v44, v45, v46\n"
        "v_max3_f32 v201, v60, v61, v62\n"
        "v_max3_f32 v200, v200, v47, v48\n"
        "v_max3_f32 v201, v201, v63, v64\n"
        "v_max3_f32 v200, v200, v49, v50\n"
        "v_max3_f32 v201, v201, v65, v66\n"
        "v_max3_f32 v200, v200, v51, v52\n"
        "v_max3_f32 v201, v201, v67, v68\n"
        "v_max3_f32 v200, v200, v53, v54\n"
        "v_max3_f32 v201, v201, v69, v70\n"
        "v_max3_f32 v200, v200, v55, v56\n"
        "v_max3_f32 v201, v201, v71, v72\n"
        "v_max3_f32 v200, v200, v57, v58\n"
        "v_max3_f32 v201, v201, v73, v74\n"
        "v_max_f32 v200, v200, v59\n"
        "v_max_f32 v201, v201, v75\n"
        "v_max_f32 v200, v200, v201\n"
        "v_cmp_lt_f32 %[rise], %[slack], v200\n"
        "s_waitcnt vmcnt(0)\n"
        "ds_write_b128 %[wk], v[172:175] offset:0\n"
        "ds_write_b128 %[wk], v[176:179] offset:6400\n"
        "ds_write_b128 %[wp], v[180:183] offset:0\n"
        "v_subrev_u32 %[wk], %[kd], %[wk]\n"
        "v_subrev_u32 %[wp], %[kd], %[wp]\n"
        "v_perm_b32 v192, v186, v184, %[lo]\n"
        "v_perm_b32 v193, v190, v188, %[lo]\n"
        "v_perm_b32 v194, v186, v184, %[hi]\n"
        "v_perm_b32 v195, v190, v188, %[hi]\n"
        "ds_write_b128 %[wv], v[192:195] offset:0\n"
        "v_perm_b32 v196, v187, v185, %[lo]\n"
        "v_perm_b32 v197, v191, v189, %[lo]\n"
        "v_perm_b32 v198, v187, v185, %[hi]\n"
        "v_perm_b32 v199, v191, v189, %[hi]\n"
        "ds_write_b128 %[wv], v[196:199] offset:4096\n"
        "v_add_u32 %[wv], %[vd2], %[wv]\n"
        "ds_read_b128 v[124:127], %[ka] offset:0\n"
        "ds_read_b128 v[128:131], %[ka] offset:32\n"
        "ds_read_b128 v[132:135], %[ka] offset:64\n"
        "ds_read_b128 v[136:139], %[ka] offset:96\n"
        "ds_read_b128 v[140:143], %[ka] offset:128\n"
        "ds_read_b128 v[144:147], %[ka] offset:160\n"
        : [rise] "=&s"(rise), [wk] "+v"(wk), [wp] "+v"(wp), [wv] "+v"(wv) : [scale] "s"(scale), [slack] "s"(slack), [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [vd2] "s"(vd2), [ka] "v"(ka) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      if (all_see < KEYS) mask(0);
      rescale(false);
      aim_ends(3);
      while (++done < mine) {
    asm volatile(
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[124:125], a[0:1], v[214:229]\n"
        "v_add_u32 %[va], %[vd], %[va]\n"
        "v_exp_f32 v76, v76\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[124:125], a[48:49], v[230:245]\n"
        "v_exp_f32 v77, v77\n"
        "global_load_dwordx4 v[172:175], %[ak0], off\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[126:127], a[2:3], v[44:59]\n"
        "v_exp_f32 v78, v78\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[126:127], a[50:51], v[60:75]\n"
        "v_exp_f32 v79, v79\n"
        "ds_read_b128 v[124:127], %[ka] offset:192\n"
        "v_add_f32 v204, v204, v76\n"
        "v_add_f32 v204, v204, v77\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[128:129], a[4:5], v[44:59]\n"
        "global_load_dwordx4 v[176:179], %[ak1], off\n"
        "v_add_u32 v76, %[half], v76\n"
        "v_add_u32 v77, %[half], v77\n"
        "v_perm_b32 v108, v77, v76, %[hi]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[128:129], a[52:53], v[60:75]\n"
        "v_exp_f32 v80, v80\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[130:131], a[6:7], v[44:59]\n"
        "v_exp_f32 v81, v81\n"
        "global_load_dwordx4 v[180:183], %[ap0], off\n"
        "v_add_f32 v204, v204, v78\n"
        "v_add_f32 v204, v204, v79\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[130:131], a[54:55], v[60:75]\n"
        "v_add_u32 v78, %[half], v78\n"
        "v_add_u32 v79, %[half], v79\n"
        "ds_read_b128 v[128:131], %[ka] offset:224\n"
        "v_perm_b32 v109, v79, v78, %[hi]\n"
        "v_lshl_add_u64 %[ap0], %[ap0], 0, %[step_p]\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[132:133], a[8:9], v[44:59]\n"
        "v_exp_f32 v82, v82\n"
        "global_load_dwordx2 v[184:185], %[av0], off\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[132:133], a[56:57], v[60:75]\n"
        "v_exp_f32 v83, v83\n"
        "v_add_f32 v204, v204, v80\n"
        "v_add_f32 v204, v204, v81\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[134:135], a[10:11], v[44:59]\n"
        "v_add_u32 v80, %[half], v80\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
        "v_add_u32 v81, %[half], v81\n"
        "v_perm_b32 v110, v81, v80, %[hi]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[134:135], a[58:59], v[60:75]\n"
        "v_exp_f32 v84, v84\n"
        "global_load_dwordx2 v[186:187], %[av1], off\n"
        "ds_read_b128 v[132:135], %[ka] offset:256\n"
        "v_exp_f32 v85, v85\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[136:137], a[12:13], v[44:59]\n"
        "v_lshl_add_u64 %[av1], %[av1], 0, %[step_v]\n"
        "v_add_f32 v204, v204, v82\n"
        "v_add_f32 v204, v204, v83\n"
        "v_add_u32 v82, %[half], v82\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[136:137], a[60:61], v[60:75]\n"
        "v_add_u32 v83, %[half], v83\n"
        "v_perm_b32 v111, v83, v82, %[hi]\n"
        "global_load_dwordx2 v[188:189], %[av2], off\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[138:139], a[14:15], v[44:59]\n"
        "v_exp_f32 v86, v86\n"
        "v_exp_f32 v87, v87\n"
        "v_lshl_add_u64 %[av2], %[av2], 0, %[step_v]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[138:139], a[62:63], v[60:75]\n"
        "v_add_f32 v204, v204, v84\n"
        "ds_read_b128 v[136:139], %[ka] offset:288\n"
        "v_add_f32 v204, v204, v85\n"
        "v_add_u32 v84, %[half], v84\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[140:141], a[16:17], v[44:59]\n"
        "v_add_u32 v85, %[half], v85\n"
        "global_load_dwordx2 v[190:191], %[av3], off\n"
        "v_perm_b32 v112, v85, v84, %[hi]\n"
        "v_exp_f32 v88, v88\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[140:141], a[64:65], v[60:75]\n"
        "v_lshl_add_u64 %[av3], %[av3], 0, %[step_v]\n"
        "v_exp_f32 v89, v89\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[142:143], a[18:19], v[44:59]\n"
        "v_add_f32 v204, v204, v86\n"
        "v_add_f32 v204, v204, v87\n"
        "v_add_u32 v86, %[half], v86\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[142:143], a[66:67], v[60:75]\n"
        "v_add_u32 v87, %[half], v87\n"
        "v_perm_b32 v113, v87, v86, %[hi]\n"
        "ds_read_b128 v[140:143], %[ka] offset:320\n"
        "v_exp_f32 v90, v90\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[144:145], a[20:21], v[44:59]\n"
        "v_exp_f32 v91, v91\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[144:145], a[68:69], v[60:75]\n"
        "v_add_f32 v204, v204, v88\n"
        "v_add_f32 v204, v204, v89\n"
        "v_add_u32 v88, %[half], v88\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[146:147], a[22:23], v[44:59]\n"
        "v_add_u32 v89, %[half], v89\n"
        "v_perm_b32 v114, v89, v88, %[hi]\n"
        "v_exp_f32 v92, v92\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[146:147], a[70:71], v[60:75]\n"
        "ds_read_b128 v[144:147], %[ka] offset:352\n"
        "v_exp_f32 v93, v93\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[124:125], a[24:25], v[44:59]\n"
        "v_add_f32 v204, v204, v90\n"
        "v_add_f32 v204, v204, v91\n"
        "v_add_u32 v90, %[half], v90\n"
        "v_add_u32 v91, %[half], v91\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[124:125], a[72:73], v[60:75]\n"
        "v_perm_b32 v115, v91, v90, %[hi]\n"
        "v_exp_f32 v94, v94\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[126:127], a[26:27], v[44:59]\n"
        "v_exp_f32 v95, v95\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[126:127], a[74:75], v[60:75]\n"
        "v_add_f32 v205, v205, v92\n"
        "v_add_f32 v205, v205, v93\n"
        "v_add_u32 v92, %[half], v92\n"
        "v_add_u32 v93, %[half], v93\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[128:129], a[28:29], v[44:59]\n"
        "v_perm_b32 v116, v93, v92, %[hi]\n"
        "v_exp_f32 v96, v96\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[128:129], a[76:77], v[60:75]\n"
        "v_exp_f32 v97, v97\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[130:131], a[30:31], v[44:59]\n"
        "v_add_f32 v205, v205, v94\n"
        "v_add_f32 v205, v205, v95\n"
        "v_add_u32 v94, %[half], v94\n"
        "v_add_u32 v95, %[half], v95\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[130:131], a[78:79], v[60:75]\n"
        "v_perm_b32 v117, v95, v94, %[hi]\n"
        "v_exp_f32 v98, v98\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[132:133], a[32:33], v[44:59]\n"
        "v_exp_f32 v99, v99\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[132:133], a[80:81], v[60:75]\n"
        "ds_read_b128 v[148:151], %[va] offset:0\n"
        "v_add_f32 v205, v205, v96\n"
        "v_add_f32 v205, v205, v97\n"
        "v_add_u32 v96, %[half], v96\n"
        "v_add_u32 v97, %[half], v97\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[134:135], a[34:35], v[44:59]\n"
        "v_perm_b32 v118, v97, v96, %[hi]\n"
        "v_exp_f32 v100, v100\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[134:135], a[82:83], v[60:75]\n"
        "ds_read_b128 v[152:155], %[va] offset:4096\n"
        "v_exp_f32 v101, v101\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[136:137], a[36:37], v[44:59]\n"
        "v_add_f32 v205, v205, v98\n"
        "v_add_f32 v205, v205, v99\n"
        "v_add_u32 v98, %[half], v98\n"
        "v_add_u32 v99, %[half], v99\n"
        "v_perm_b32 v119, v99, v98, %[hi]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[136:137], a[84:85], v[60:75]\n"
        "ds_read_b128 v[156:159], %[va] offset:1024\n"
        "v_exp_f32 v102, v102\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[138:139], a[38:39], v[44:59]\n"
        "v_exp_f32 v103, v103\n"
        "v_add_f32 v205, v205, v100\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[138:139], a[86:87], v[60:75]\n"
        "ds_read_b128 v[160:163], %[va] offset:5120\n"
        "v_add_f32 v205, v205, v101\n"
        "v_add_u32 v100, %[half], v100\n"
        "v_add_u32 v101, %[half], v101\n"
        "v_perm_b32 v120, v101, v100, %[hi]\n"
        "s_waitcnt lgkmcnt(5)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[140:141], a[40:41], v[44:59]\n"
        "v_exp_f32 v104, v104\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[140:141], a[88:89], v[60:75]\n"
        "v_exp_f32 v105, v105\n"
        "v_add_f32 v205, v205, v102\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[142:143], a[42:43], v[44:59]\n"
        "v_add_f32 v205, v205, v103\n"
        "v_add_u32 v102, %[half], v102\n"
        "v_add_u32 v103, %[half], v103\n"
        "v_perm_b32 v121, v103, v102, %[hi]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[142:143], a[90:91], v[60:75]\n"
        "v_exp_f32 v106, v106\n"
        "s_waitcnt lgkmcnt(4)\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[144:145], a[44:45], v[44:59]\n"
        "v_exp_f32 v107, v107\n"
        "v_add_f32 v205, v205, v104\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[144:145], a[92:93], v[60:75]\n"
        "v_add_f32 v205, v205, v105\n"
        "v_add_u32 %[ka], %[kd], %[ka]\n"
        "v_add_u32 v104, %[half], v104\n"
        "v_add_u32 v105, %[half], v105\n"
        "s_sub_u32 %[kd], 0, %[kd]\n"
        "v_perm_b32 v122, v105, v104, %[hi]\n"
        "v_add_f32 v205, v205, v106\n"
        "v_mfma_f32_32x32x8_bf16 v[44:59], v[146:147], a[46:47], v[44:59]\n"
        "v_add_f32 v205, v205, v107\n"
        "s_mov_b32 %[vt], %[vd]\n"
        "v_add_u32 v106, %[half], v106\n"
        "v_add_u32 v107, %[half], v107\n"
        "s_mov_b32 %[vd], %[vd1]\n"
        "v_perm_b32 v123, v107, v106, %[hi]\n"
        "v_mfma_f32_32x32x8_bf16 v[60:75], v[146:147], a[94:95], v[60:75]\n"
        "s_mov_b32 %[vd1], %[vd2]\n"
        "s_mov_b32 %[vd2], %[vt]\n"
        : [va] "+v"(va), [vd] "+s"(vd), [ak0] "+v"(ak[0]), [ka] "+v"(ka), [ak1] "+v"(ak[1]), [ap0] "+v"(ap[0]), [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]), [kd] "+s"(kd), [vt] "=&s"(vt), [vd1] "+s"(vd1), [vd2] "+s"(vd2) : [step_k] "s"(step_k), [half] "s"(half), [hi] "s"(hi), [step_p] "s"(step_p), [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    asm volatile(
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[148:149], v[108:109], a[96:111]\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[148:149], v[116:117], a[160:175]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "s_barrier\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[108:109], v[206:209]\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[150:151], v[108:109], a[112:127]\n"
        "v_mul_f32 v76, %[scale], v44\n"
        "ds_read_b128 v[164:167], %[va] offset:2048\n"
        "v_max3_f32 v200, v44, v45, v46\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[150:151], v[116:117], a[176:191]\n"
        "v_mul_f32 v77, %[scale], v45\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[152:153], v[108:109], a[128:143]\n"
        "v_mul_f32 v78, %[scale], v46\n"
        "v_max3_f32 v201, v60, v61, v62\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[152:153], v[116:117], a[192:207]\n"
        "v_mul_f32 v79, %[scale], v47\n"
        "ds_read_b128 v[168:171], %[va] offset:6144\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[116:117], v[210:213]\n"
        "v_max3_f32 v200, v200, v47, v48\n"
        "v_mul_f32 v80, %[scale], v48\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[154:155], v[108:109], a[144:159]\n"
        "v_mul_f32 v81, %[scale], v49\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[154:155], v[116:117], a[208:223]\n"
        "v_max3_f32 v201, v201, v63, v64\n"
        "v_mul_f32 v82, %[scale], v50\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[156:157], v[110:111], a[96:111]\n"
        "s_waitcnt vmcnt(0)\n"
        "v_mul_f32 v83, %[scale], v51\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[156:157], v[118:119], a[160:175]\n"
        "v_max3_f32 v200, v200, v49, v50\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[110:111], v[206:209]\n"
        "ds_write_b128 %[wk], v[172:175] offset:0\n"
        "v_mul_f32 v84, %[scale], v52\n"
        "ds_read_b128 v[148:151], %[va] offset:3072\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[158:159], v[110:111], a[112:127]\n"
        "v_mul_f32 v85, %[scale], v53\n"
        "ds_write_b128 %[wk], v[176:179] offset:6400\n"
        "v_max3_f32 v201, v201, v65, v66\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[158:159], v[118:119], a[176:191]\n"
        "v_mul_f32 v86, %[scale], v54\n"
        "ds_write_b128 %[wp], v[180:183] offset:0\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[160:161], v[110:111], a[128:143]\n"
        "v_mul_f32 v87, %[scale], v55\n"
        "v_max3_f32 v200, v200, v51, v52\n"
        "v_subrev_u32 %[wk], %[kd], %[wk]\n"
        "v_mul_f32 v88, %[scale], v56\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[160:161], v[118:119], a[192:207]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[118:119], v[210:213]\n"
        "v_subrev_u32 %[wp], %[kd], %[wp]\n"
        "ds_read_b128 v[152:155], %[va] offset:7168\n"
        "v_max3_f32 v201, v201, v67, v68\n"
        "v_mul_f32 v89, %[scale], v57\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[162:163], v[110:111], a[144:159]\n"
        "v_perm_b32 v192, v186, v184, %[lo]\n"
        "v_mul_f32 v90, %[scale], v58\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[162:163], v[118:119], a[208:223]\n"
        "v_perm_b32 v193, v190, v188, %[lo]\n"
        "v_max3_f32 v200, v200, v53, v54\n"
        "v_mul_f32 v91, %[scale], v59\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[164:165], v[112:113], a[96:111]\n"
        "v_perm_b32 v194, v186, v184, %[hi]\n"
        "v_mul_f32 v92, %[scale], v60\n"
        "v_max3_f32 v201, v201, v69, v70\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[112:113], v[206:209]\n"
        "v_perm_b32 v195, v190, v188, %[hi]\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[164:165], v[120:121], a[160:175]\n"
        "v_mul_f32 v93, %[scale], v61\n"
        "ds_write_b128 %[wv], v[192:195] offset:0\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[166:167], v[112:113], a[112:127]\n"
        "v_mul_f32 v94, %[scale], v62\n"
        "v_max3_f32 v200, v200, v55, v56\n"
        "v_perm_b32 v196, v187, v185, %[lo]\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[166:167], v[120:121], a[176:191]\n"
        "v_mul_f32 v95, %[scale], v63\n"
        "v_perm_b32 v197, v191, v189, %[lo]\n"
        "v_max3_f32 v201, v201, v71, v72\n"
        "v_mul_f32 v96, %[scale], v64\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[168:169], v[112:113], a[128:143]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[120:121], v[210:213]\n"
        "v_perm_b32 v198, v187, v185, %[hi]\n"
        "v_mul_f32 v97, %[scale], v65\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[168:169], v[120:121], a[192:207]\n"
        "ds_read_b128 v[124:127], %[ka] offset:0\n"
        "v_max3_f32 v200, v200, v57, v58\n"
        "v_perm_b32 v199, v191, v189, %[hi]\n"
        "v_mul_f32 v98, %[scale], v66\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[170:171], v[112:113], a[144:159]\n"
        "v_mul_f32 v99, %[scale], v67\n"
        "ds_write_b128 %[wv], v[196:199] offset:4096\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[170:171], v[120:121], a[208:223]\n"
        "v_max3_f32 v201, v201, v73, v74\n"
        "ds_read_b128 v[128:131], %[ka] offset:32\n"
        "v_mul_f32 v100, %[scale], v68\n"
        "v_add_u32 %[wv], %[vd2], %[wv]\n"
        "s_waitcnt lgkmcnt(7)\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[148:149], v[114:115], a[96:111]\n"
        "v_mul_f32 v101, %[scale], v69\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[114:115], v[206:209]\n"
        "v_max_f32 v200, v200, v59\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[148:149], v[122:123], a[160:175]\n"
        "ds_read_b128 v[132:135], %[ka] offset:64\n"
        "v_mul_f32 v102, %[scale], v70\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[150:151], v[114:115], a[112:127]\n"
        "v_mul_f32 v103, %[scale], v71\n"
        "v_max_f32 v201, v201, v75\n"
        "v_mul_f32 v104, %[scale], v72\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[150:151], v[122:123], a[176:191]\n"
        "ds_read_b128 v[136:139], %[ka] offset:96\n"
        "v_max_f32 v200, v200, v201\n"
        "v_mul_f32 v105, %[scale], v73\n"
        "s_waitcnt lgkmcnt(6)\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[152:153], v[114:115], a[128:143]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[122:123], v[210:213]\n"
        "v_mul_f32 v106, %[scale], v74\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[152:153], v[122:123], a[192:207]\n"
        "ds_read_b128 v[140:143], %[ka] offset:128\n"
        "v_cmp_lt_f32 %[rise], %[slack], v200\n"
        "v_mul_f32 v107, %[scale], v75\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[154:155], v[114:115], a[144:159]\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[154:155], v[122:123], a[208:223]\n"
        "ds_read_b128 v[144:147], %[ka] offset:160\n"
        : [wk] "+v"(wk), [wp] "+v"(wp), [wv] "+v"(wv), [rise] "=&s"(rise) : [scale] "s"(scale), [va] "v"(va), [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [ka] "v"(ka), [vd2] "s"(vd2), [slack] "s"(slack) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
        if (__builtin_expect(done >= plain, 0)) {
          if ((done + 1) * KEYS > all_see) mask(done);
          aim_ends(done + 3);
        }
        if (__builtin_expect(rise != 0, 0)) rescale(true);
      }
    asm volatile(
        "global_load_dwordx4 v[172:175], %[ak0], off\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "global_load_dwordx4 v[176:179], %[ak1], off\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        "global_load_dwordx4 v[180:183], %[ap0], off\n"
        "v_lshl_add_u64 %[ap0], %[ap0], 0, %[step_p]\n"
        "global_load_dwordx2 v[184:185], %[av0], off\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
        "global_load_dwordx2 v[186:187], %[av1], off\n"
        "v_lshl_add_u64 %[av1], %[av1], 0, %[step_v]\n"
        "global_load_dwordx2 v[188:189], %[av2], off\n"
        "v_lshl_add_u64 %[av2], %[av2], 0, %[step_v]\n"
        "global_load_dwordx2 v[190:191], %[av3], off\n"
        "v_lshl_add_u64 %[av3], %[av3], 0, %[step_v]\n"
        : [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]), [ap0] "+v"(ap[0]), [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]) : [step_k] "s"(step_k), [step_p] "s"(step_p), [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    asm volatile(
        "v_add_u32 %[va], %[vd], %[va]\n"
        "ds_read_b128 v[148:151], %[va] offset:0\n"
        "ds_read_b128 v[152:155], %[va] offset:4096\n"
        "ds_read_b128 v[156:159], %[va] offset:1024\n"
        "ds_read_b128 v[160:163], %[va] offset:5120\n"
        "v_exp_f32 v76, v76\n"
        "v_exp_f32 v77, v77\n"
        "v_exp_f32 v78, v78\n"
        "v_exp_f32 v79, v79\n"
        "v_add_f32 v204, v204, v76\n"
        "v_add_f32 v204, v204, v77\n"
        "v_add_u32 v76, %[half], v76\n"
        "v_add_u32 v77, %[half], v77\n"
        "v_perm_b32 v108, v77, v76, %[hi]\n"
        "v_exp_f32 v80, v80\n"
        "v_exp_f32 v81, v81\n"
        "v_add_f32 v204, v204, v78\n"
        "v_add_f32 v204, v204, v79\n"
        "v_add_u32 v78, %[half], v78\n"
        "v_add_u32 v79, %[half], v79\n"
        "v_perm_b32 v109, v79, v78, %[hi]\n"
        "v_exp_f32 v82, v82\n"
        "v_exp_f32 v83, v83\n"
        "v_add_f32 v204, v204, v80\n"
        "v_add_f32 v204, v204, v81\n"
        "v_add_u32 v80, %[half], v80\n"
        "v_add_u32 v81, %[half], v81\n"
        "v_perm_b32 v110, v81, v80, %[hi]\n"
        "v_exp_f32 v84, v84\n"
        "v_exp_f32 v85, v85\n"
        "v_add_f32 v204, v204, v82\n"
        "v_add_f32 v204, v204, v83\n"
        "v_add_u32 v82, %[half], v82\n"
        "v_add_u32 v83, %[half], v83\n"
        "v_perm_b32 v111, v83, v82, %[hi]\n"
        "v_exp_f32 v86, v86\n"
        "v_exp_f32 v87, v87\n"
        "v_add_f32 v204, v204, v84\n"
        "v_add_f32 v204, v204, v85\n"
        "v_add_u32 v84, %[half], v84\n"
        "v_add_u32 v85, %[half], v85\n"
        "v_perm_b32 v112, v85, v84, %[hi]\n"
        "v_exp_f32 v88, v88\n"
        "v_exp_f32 v89, v89\n"
        "v_add_f32 v204, v204, v86\n"
        "v_add_f32 v204, v204, v87\n"
        "v_add_u32 v86, %[half], v86\n"
        "v_add_u32 v87, %[half], v87\n"
        "v_perm_b32 v113, v87, v86, %[hi]\n"
        "v_exp_f32 v90, v90\n"
        "v_exp_f32 v91, v91\n"
        "v_add_f32 v204, v204, v88\n"
        "v_add_f32 v204, v204, v89\n"
        "v_add_u32 v88, %[half], v88\n"
        "v_add_u32 v89, %[half], v89\n"
        "v_perm_b32 v114, v89, v88, %[hi]\n"
        "v_exp_f32 v92, v92\n"
        "v_exp_f32 v93, v93\n"
        "v_add_f32 v204, v204, v90\n"
        "v_add_f32 v204, v204, v91\n"
        "v_add_u32 v90, %[half], v90\n"
        "v_add_u32 v91, %[half], v91\n"
        "v_perm_b32 v115, v91, v90, %[hi]\n"
        "v_exp_f32 v94, v94\n"
        "v_exp_f32 v95, v95\n"
        "v_add_f32 v205, v205, v92\n"
        "v_add_f32 v205, v205, v93\n"
        "v_add_u32 v92, %[half], v92\n"
        "v_add_u32 v93, %[half], v93\n"
        "v_perm_b32 v116, v93, v92, %[hi]\n"
        "v_exp_f32 v96, v96\n"
        "v_exp_f32 v97, v97\n"
        "v_add_f32 v205, v205, v94\n"
        "v_add_f32 v205, v205, v95\n"
        "v_add_u32 v94, %[half], v94\n"
        "v_add_u32 v95, %[half], v95\n"
        "v_perm_b32 v117, v95, v94, %[hi]\n"
        "v_exp_f32 v98, v98\n"
        "v_exp_f32 v99, v99\n"
        "v_add_f32 v205, v205, v96\n"
        "v_add_f32 v205, v205, v97\n"
        "v_add_u32 v96, %[half], v96\n"
        "v_add_u32 v97, %[half], v97\n"
        "v_perm_b32 v118, v97, v96, %[hi]\n"
        "v_exp_f32 v100, v100\n"
        "v_exp_f32 v101, v101\n"
        "v_add_f32 v205, v205, v98\n"
        "v_add_f32 v205, v205, v99\n"
        "v_add_u32 v98, %[half], v98\n"
        "v_add_u32 v99, %[half], v99\n"
        "v_perm_b32 v119, v99, v98, %[hi]\n"
        "v_exp_f32 v102, v102\n"
        "v_exp_f32 v103, v103\n"
        "v_add_f32 v205, v205, v100\n"
        "v_add_f32 v205, v205, v101\n"
        "v_add_u32 v100, %[half], v100\n"
        "v_add_u32 v101, %[half], v101\n"
        "v_perm_b32 v120, v101, v100, %[hi]\n"
        "v_exp_f32 v104, v104\n"
        "v_exp_f32 v105, v105\n"
        "v_add_f32 v205, v205, v102\n"
        "v_add_f32 v205, v205, v103\n"
        "v_add_u32 v102, %[half], v102\n"
        "v_add_u32 v103, %[half], v103\n"
        "v_perm_b32 v121, v103, v102, %[hi]\n"
        "v_exp_f32 v106, v106\n"
        "v_exp_f32 v107, v107\n"
        "v_add_f32 v205, v205, v104\n"
        "v_add_f32 v205, v205, v105\n"
        "v_add_u32 v104, %[half], v104\n"
        "v_add_u32 v105, %[half], v105\n"
        "v_perm_b32 v122, v105, v104, %[hi]\n"
        "v_add_f32 v205, v205, v106\n"
        "v_add_f32 v205, v205, v107\n"
        "v_add_u32 v106, %[half], v106\n"
        "v_add_u32 v107, %[half], v107\n"
        "v_perm_b32 v123, v107, v106, %[hi]\n"
        : [va] "+v"(va) : [vd] "s"(vd), [half] "s"(half), [hi] "s"(hi) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[148:149], v[108:109], a[96:111]\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[148:149], v[116:117], a[160:175]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[108:109], v[206:209]\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[150:151], v[108:109], a[112:127]\n"
        "ds_read_b128 v[164:167], %[va] offset:2048\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[150:151], v[116:117], a[176:191]\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[152:153], v[108:109], a[128:143]\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[152:153], v[116:117], a[192:207]\n"
        "ds_read_b128 v[168:171], %[va] offset:6144\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[116:117], v[210:213]\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[154:155], v[108:109], a[144:159]\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[154:155], v[116:117], a[208:223]\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[156:157], v[110:111], a[96:111]\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[156:157], v[118:119], a[160:175]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[110:111], v[206:209]\n"
        "ds_read_b128 v[148:151], %[va] offset:3072\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[158:159], v[110:111], a[112:127]\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[158:159], v[118:119], a[176:191]\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[160:161], v[110:111], a[128:143]\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[160:161], v[118:119], a[192:207]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[118:119], v[210:213]\n"
        "ds_read_b128 v[152:155], %[va] offset:7168\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[162:163], v[110:111], a[144:159]\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[162:163], v[118:119], a[208:223]\n"
        "s_waitcnt lgkmcnt(3)\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[164:165], v[112:113], a[96:111]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[112:113], v[206:209]\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[164:165], v[120:121], a[160:175]\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[166:167], v[112:113], a[112:127]\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[166:167], v[120:121], a[176:191]\n"
        "s_waitcnt lgkmcnt(2)\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[168:169], v[112:113], a[128:143]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[120:121], v[210:213]\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[168:169], v[120:121], a[192:207]\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[170:171], v[112:113], a[144:159]\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[170:171], v[120:121], a[208:223]\n"
        "s_waitcnt lgkmcnt(1)\n"
        "v_mfma_f32_32x32x8_bf16 a[96:111], v[148:149], v[114:115], a[96:111]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[206:209], v[202:203], v[114:115], v[206:209]\n"
        "v_mfma_f32_32x32x8_bf16 a[160:175], v[148:149], v[122:123], a[160:175]\n"
        "v_mfma_f32_32x32x8_bf16 a[112:127], v[150:151], v[114:115], a[112:127]\n"
        "v_mfma_f32_32x32x8_bf16 a[176:191], v[150:151], v[122:123], a[176:191]\n"
        "s_waitcnt lgkmcnt(0)\n"
        "v_mfma_f32_32x32x8_bf16 a[128:143], v[152:153], v[114:115], a[128:143]\n"
        "v_mfma_f32_4x4x4_16b_bf16 v[210:213], v[202:203], v[122:123], v[210:213]\n"
        "v_mfma_f32_32x32x8_bf16 a[192:207], v[152:153], v[122:123], a[192:207]\n"
        "v_mfma_f32_32x32x8_bf16 a[144:159], v[154:155], v[114:115], a[144:159]\n"
        "v_mfma_f32_32x32x8_bf16 a[208:223], v[154:155], v[122:123], a[208:223]\n"
        :  : [va] "v"(va) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      turn();
    }
    // The workgroup's other rounds: copies.
#pragma nounroll
    for (; done < count; done++) {
      aim_ends(done + 3);
    asm volatile(
        "s_waitcnt lgkmcnt(0)\n"
        "s_barrier\n"
        "s_waitcnt vmcnt(0)\n"
        "ds_write_b128 %[wk], v[172:175] offset:0\n"
        "ds_write_b128 %[wk], v[176:179] offset:6400\n"
        "ds_write_b128 %[wp], v[180:183] offset:0\n"
        "v_subrev_u32 %[wk], %[kd], %[wk]\n"
        "v_subrev_u32 %[wp], %[kd], %[wp]\n"
        "v_perm_b32 v192, v186, v184, %[lo]\n"
        "v_perm_b32 v193, v190, v188, %[lo]\n"
        "v_perm_b32 v194, v186, v184, %[hi]\n"
        "v_perm_b32 v195, v190, v188, %[hi]\n"
        "ds_write_b128 %[wv], v[192:195] offset:0\n"
        "v_perm_b32 v196, v187, v185, %[lo]\n"
        "v_perm_b32 v197, v191, v189, %[lo]\n"
        "v_perm_b32 v198, v187, v185, %[hi]\n"
        "v_perm_b32 v199, v191, v189, %[hi]\n"
        "ds_write_b128 %[wv], v[196:199] offset:4096\n"
        "v_add_u32 %[wv], %[vd2], %[wv]\n"
        "global_load_dwordx4 v[172:175], %[ak0], off\n"
        "v_lshl_add_u64 %[ak0], %[ak0], 0, %[step_k]\n"
        "global_load_dwordx4 v[176:179], %[ak1], off\n"
        "v_lshl_add_u64 %[ak1], %[ak1], 0, %[step_k]\n"
        "global_load_dwordx4 v[180:183], %[ap0], off\n"
        "v_lshl_add_u64 %[ap0], %[ap0], 0, %[step_p]\n"
        "global_load_dwordx2 v[184:185], %[av0], off\n"
        "v_lshl_add_u64 %[av0], %[av0], 0, %[step_v]\n"
        "global_load_dwordx2 v[186:187], %[av1], off\n"
        "v_lshl_add_u64 %[av1], %[av1], 0, %[step_v]\n"
        "global_load_dwordx2 v[188:189], %[av2], off\n"
        "v_lshl_add_u64 %[av2], %[av2], 0, %[step_v]\n"
        "global_load_dwordx2 v[190:191], %[av3], off\n"
        "v_lshl_add_u64 %[av3], %[av3], 0, %[step_v]\n"
        : [wk] "+v"(wk), [wp] "+v"(wp), [wv] "+v"(wv), [ak0] "+v"(ak[0]), [ak1] "+v"(ak[1]), [ap0] "+v"(ap[0]), [av0] "+v"(av[0]), [av1] "+v"(av[1]), [av2] "+v"(av[2]), [av3] "+v"(av[3]) : [kd] "s"(kd), [lo] "s"(lo), [hi] "s"(hi), [vd2] "s"(vd2), [step_k] "s"(step_k), [step_p] "s"(step_p), [step_v] "s"(step_v) : "memory", "vcc", "scc", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128");
      turn();
    }
    asm volatile("s_nop 7\ns_nop 2\ns_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53", "v54", "v55", "v56", "v57", "v58", "v59", "v60", "v61", "v62", "v63", "v64", "v65", "v66", "v67", "v68", "v69", "v70", "v71", "v72", "v73", "v74", "v75", "v76", "v77", "v78", "v79", "v80", "v81", "v82", "v83", "v84", "v85", "v86", "v87", "v88", "v89", "v90", "v91", "v92", "v93", "v94", "v95", "v96", "v97", "v98", "v99", "v100", "v101", "v102", "v103", "v104", "v105", "v106", "v107", "v108", "v109", "v110", "v111", "v112", "v113", "v114", "v115", "v116", "v117", "v118", "v119", "v120", "v121", "v122", "v123", "v124", "v125", "v126", "v127", "v128", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29", "a30", "a31", "a32", "a33", "a34", "a35", "a36", "a37", "a38", "a39", "a40", "a41", "a42", "a43", "a44", "a45", "a46", "a47", "a48", "a49", "a50", "a51", "a52", "a53", "a54", "a55", "a56", "a57", "a58", "a59", "a60", "a61", "a62", "a63", "a64", "a65", "a66", "a67", "a68", "a69", "a70", "a71", "a72", "a73", "a74", "a75", "a76", "a77", "a78", "a79", "a80", "a81", "a82", "a83", "a84", "a85", "a86", "a87", "a88", "a89", "a90", "a91", "a92", "a93", "a94", "a95", "a96", "a97", "a98", "a99", "a100", "a101", "a102", "a103", "a104", "a105", "a106", "a107", "a108", "a109", "a110", "a111", "a112", "a113", "a114", "a115", "a116", "a117", "a118", "a119", "a120", "a121", "a122", "a123", "a124", "a125", "a126", "a127", "a128"); // O's last MFMAs; copies nobody waited for
  }
  finish(a, t, lds, wave);
}
