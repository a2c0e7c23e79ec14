// Generated from templates/mla_merge/rows.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_merge/rows target=sm_90a depth=2 dtype=bf16 heads=16 threads=128 vdim=128

#define MLAF_BF16 1
// [39 more lines of tests/golden/mla_gather_kv_b/aside.cu]
// [templates/mla_merge/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_merge_rows_98b922af_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, CHUNKS = 16, THREADS = 128, ROWS = 16;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;
constexpr float LOG2_E = 1.44269504f;

MLAF_DEV bool is_empty(float lse) { return (bits_of(lse) & 0x7fffffffu) == 0x7f800000u; }
// [32 more lines of templates/mla_merge/rows.cu.in]

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_merge_rows_98b922af(const mlaf_merge_kernel_args a) {
  const int thread = (int)my_thread();
// [30 more lines of templates/mla_merge/rows.cu.in]
