// Generated from templates/mla_prefill/mfma_fp8.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_prefill_mfma_fp8_21be5145
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   inputs = 2
//   keys = 32
//   nope = 128
//   rope = 64
//   stages = 1
//   vdim = 128
//   waves = 2
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mfma_fp8 target=gfx942 causal=1 dtype=bf16 heads=16 inputs=2 keys=32 nope=128 rope=64 stages=1 vdim=128 waves=2


#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_prefill/lib/args.h]
// [templates/mla_prefill/lib/args_fp8.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_prefill_mfma_fp8_21be5145_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 16, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, COLUMNS = 192, QK = 192, V = 128, LANES = 64, XCDS = 8;
constexpr bool CAUSAL = 1;
constexpr int WAVES = 2, THREADS = 64 * WAVES, ROWS = 32 * WAVES, KEYS = 32, BLOCKS = KEYS / 32, STAGES = 1;
constexpr int V_PADDED = 128; // columns of O in registers; those behind V repeat the last ones, and are not stored
constexpr int PITCH_K = QK + 16, PITCH_V = V, STAGE = KEYS * (PITCH_K + PITCH_V); // bytes in LDS
constexpr int WIDE = V_PADDED % 128 == 0 ? 4 : 2, GROUPS = V_PADDED / (32 * WIDE); // of 32 * WIDE columns
constexpr int LAST = V - 32 * WIDE * (GROUPS - 1); // columns of V in the last group
constexpr i64 HEADS_BYTES = 0, KEY_BYTES = 1;
constexpr float UP = 7.0f; // weights are at most 128, of 240
constexpr float LEAST = -3.402823466e38f; // of maxima: no inf - inf arises
MLAF_DEV int load_length(const int* at) { return *(const MLAF_GLOBAL int*)(u64)at; }
MLAF_DEV int lanes_true(bool x) { return __builtin_popcountll(__builtin_amdgcn_ballot_w64(x)); }
MLAF_DEV int same_in_all(int x) { return uniform(x); }
// [templates/mla_prefill/lib/tiles.h]

typedef float f32x16 __attribute__((ext_vector_type(16)));
// [70 more lines of templates/mla_prefill/mfma_fp8.hip.in]

MLAF_DEV void multiply_pv(const char* v, const u32x2 (&p)[BLOCKS][2], int lane, o_blocks& o) {
// [84 more lines of templates/mla_prefill/mfma_fp8.hip.in]

MLAF_DEV float scale_at(const float* at) {
  if (!at) return 1.0f;
  const float x = *(const MLAF_GLOBAL float*)(u64)at;
  return x >= 0.0f ? x : float_of(0x7fc00000u);
// [5 more lines of templates/mla_prefill/lib/scales.h]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(128, 128),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_prefill_mfma_fp8_21be5145(mlaf_prefill_scaled_args scaled) {
  const mlaf_prefill_kernel_args& a = scaled.all;
  __shared__ __attribute__((aligned(16))) char lds[10752];
  const int thread = thread_id(), lane = thread & 63, wave = uniform(thread >> 6), row_at = 32 * wave;
// [47 more lines of templates/mla_prefill/mfma_fp8.hip.in]
