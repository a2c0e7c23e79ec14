// Generated from templates/mla_merge_parts/rows.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_merge_parts/rows target=sm_90a depth=2 dtype=bf16 heads=16 parts=4 threads=128 vdim=512

#define MLAF_BF16 1
// [39 more lines of tests/golden/mla_gather_kv_b/aside.cu]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_merge_parts_rows_ee06047a_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int N = 4, H = 16, CHUNKS = 64, THREADS = 128, ROWS = 4;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;
constexpr float LOG2_E = 1.44269504f;
constexpr u32 IN_BASE_2 = 1, OUT_BASE_2 = 2; // as in include/mlaforge/mla_merge_parts.h
// [57 more lines of templates/mla_merge_parts/rows.cu.in]

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_merge_parts_rows_ee06047a(const mlaf_merge_parts_kernel_args a) {
  const int thread = (int)my_thread();
// [32 more lines of templates/mla_merge_parts/rows.cu.in]
