// Generated from templates/mla_q_scale/rows.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_scale/rows target=sm_90a depth=1 dtype=bf16 heads=16 qdim=192 threads=256

#define MLAF_BF16 1
// [39 more lines of tests/golden/mla_gather_kv_b/aside.cu]
// [templates/mla_q_scale/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_scale_rows_29c59b70_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, CHUNKS = 24, THREADS = 256, ROWS = 10;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;
// [14 more lines of templates/mla_q_scale/rows.cu.in]

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_q_scale_rows_29c59b70(const mlaf_q_scale_kernel_args a) {
  const int thread = (int)my_thread();
// [31 more lines of templates/mla_q_scale/rows.cu.in]
