// Generated from templates/mla_q_scale/rows.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_scale/rows target=sm_90a depth=1 dtype=bf16 heads=16 qdim=192 threads=256

#define MLAF_BF16 1
// [39 more lines of tests/golden/mla_gather_kv_b/aside.cu]
// [templates/mla_q_scale/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_scale_rows_29c59b70_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
// [4 more lines of tests/golden/mla_merge/rows.cu, with other numbers]
// [14 more lines of templates/mla_q_scale/rows.cu.in]

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_q_scale_rows_29c59b70(const mlaf_q_scale_kernel_args a) {
  const int thread = (int)my_thread();
// [31 more lines of templates/mla_q_scale/rows.cu.in]
