// Generated from templates/mla_prefill/mfma_invariant.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_prefill_mfma_invariant_e8fcab9c
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   keys = 32
//   nope = 128
//   rope = 64
//   stages = 2
//   vdim = 128
//   waves = 4
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mfma_invariant target=gfx942 causal=1 dtype=bf16 heads=16 keys=32 nope=128 rope=64 stages=2 vdim=128 waves=4


#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_prefill/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_prefill_mfma_invariant_e8fcab9c_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 64, XCDS = 8;
constexpr bool CAUSAL = 1;
constexpr int WAVES = 4, THREADS = 64 * WAVES, ROWS = 32 * WAVES, KEYS = 32, BLOCKS = KEYS / 32, STAGES = 2;
constexpr int V_PADDED = 128; // columns of O in registers; those behind V repeat the last ones, and are not stored
constexpr int PITCH_K = 2 * QK + 16, PITCH_V = 2 * V, STAGE = KEYS * (PITCH_K + PITCH_V); // bytes in LDS
constexpr int WIDE = V_PADDED % 128 == 0 ? 4 : 2, GROUPS = V_PADDED / (32 * WIDE); // of 32 * WIDE columns
constexpr int LAST = V - 32 * WIDE * (GROUPS - 1); // columns of V in the last group
constexpr i64 HEADS_BYTES = 0, KEY_BYTES = 1;
constexpr float LEAST = -3.402823466e38f; // of maxima: no inf - inf arises
MLAF_DEV int load_length(const int* at) { return *(const MLAF_GLOBAL int*)(u64)at; }
MLAF_DEV int lanes_true(bool x) { return __builtin_popcountll(__builtin_amdgcn_ballot_w64(x)); }
MLAF_DEV int same_in_all(int x) { return uniform(x); }
// [templates/mla_prefill/lib/tiles.h]

typedef float f32x16 __attribute__((ext_vector_type(16)));
// [57 more lines of templates/mla_prefill/mfma.hip.in]

MLAF_DEV void join_keys(const char* at, u32x2 (&a)[WIDE]) {
// [9 more lines of templates/mla_prefill/mfma.hip.in]

MLAF_DEV void multiply_pv(const char* v, const u32x2 (&p)[BLOCKS][4], int lane, o_blocks& o) {
// [35 more lines of templates/mla_prefill/mfma.hip.in]
  const float now = m == row.top ? 1.0f : row.top == LEAST ? 0.0f : exp2_fast(row.top * scale - offset);
  row.top = m;
// [46 more lines of templates/mla_prefill/mfma.hip.in]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_prefill_mfma_invariant_e8fcab9c(mlaf_prefill_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[41984];
  const int thread = thread_id(), lane = thread & 63, wave = uniform(thread >> 6), row_at = 32 * wave;
// [43 more lines of templates/mla_prefill/mfma.hip.in]
