// Generated from templates/mla_prefill/mma_fp8.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mma_fp8 target=sm_90a causal=1 dtype=bf16 heads=8 inputs=1 keys=32 nope=192 rope=64 vdim=256 warps=8

#define MLAF_BF16 1
// [3 more lines of tests/golden/mla_decode/mma.cu]
// [templates/mla_prefill/lib/args.h]
// [templates/mla_prefill/lib/args_fp8.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/mla_prefill/lib/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_mma_fp8_db71ec8f_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 52224, {0, 0, 0}, 17, 0, 0, {0, 0}, 0, {}};

constexpr int H = 8, NOPE = 192, COLUMNS = 256, QK = 256, V = 256, LANES = 32;
constexpr bool CAUSAL = 1;
constexpr int WARPS = 8, THREADS = 32 * WARPS, PARTS = 2, ROWS = 16 * WARPS / PARTS, KEYS = 32;
constexpr int PART = 128; // columns of O that a warp makes; those behind V are not stored
constexpr int PITCH_K = QK + 16, PITCH_V = 272; // bytes of a row in shared memory: an odd number of 16
constexpr i64 HEADS_BYTES = 25165824, KEY_BYTES = QK + V;
constexpr float UP = 8.0f; // weights are at most 256, of 448
// [3 more lines of templates/mla_prefill/mma_fp8.cu.in]
// [templates/mla_prefill/lib/tiles.h]

MLAF_DEV u32 pack4(float x0, float x1, float x2, float x3) {
// [114 more lines of templates/mla_prefill/mma_fp8.cu.in]

MLAF_DEV float scale_at(const float* at) {
  if (!at) return 1.0f;
  const float x = *at;
// [6 more lines of templates/mla_prefill/lib/scales.h]

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_prefill_mma_fp8_db71ec8f(const __grid_constant__ mlaf_prefill_scaled_args scaled) {
  extern __shared__ __align__(128) char memory[];
// [68 more lines of templates/mla_prefill/mma_fp8.cu.in]
