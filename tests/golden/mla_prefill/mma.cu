// Generated from templates/mla_prefill/mma_invariant.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_prefill/mma_invariant target=sm_90a causal=1 dtype=bf16 heads=16 keys=32 nope=128 rope=64 stages=2 vdim=128 warps=4

#define MLAF_BF16 1
// [4 more lines of tests/golden/mla_prefill/mma_fp8.cu]
struct mlaf_kernel_launch {
// [3 more lines of templates/mla_prefill/lib/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_mma_invariant_cb385862_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 68608, {0, 0, 0}, 1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 32;
constexpr bool CAUSAL = 1;
constexpr int WARPS = 4, THREADS = 32 * WARPS, ROWS = 16 * WARPS, KEYS = 32, STAGES = 2;
constexpr int PITCH_K = 2 * QK + 16, PITCH_V = 2 * V + 16; // bytes of a row in shared memory
constexpr i64 HEADS_BYTES = 25165824, KEY_BYTES = 2 * (QK + V);
MLAF_DEV int load_length(const int* at) { return *at; }
// [3 more lines of tests/golden/mla_prefill/mma_fp8.cu]

constexpr int SLABS_K = (QK + 63) / 64, SLABS_V = (V + 63) / 64, ROWS_AT_ONCE = THREADS / 8;
// [65 more lines of templates/mla_prefill/mma.cu.in]
    row.top[h] = m;
// [28 more lines of templates/mla_prefill/mma.cu.in]

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_prefill_mma_invariant_cb385862(const __grid_constant__ mlaf_prefill_kernel_args a) {
  extern __shared__ __align__(128) char memory[];
// [90 more lines of templates/mla_prefill/mma.cu.in]
