// Generated from templates/mla_index_append/rows.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_index_append/rows target=sm_90a dtype=bf16 hadamard=0 heads=64 style=halves threads=64

#define MLAF_BF16 1
// [39 more lines of tests/golden/mla_gather_kv_b/aside.cu]
MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
// [26 more lines of templates/mla_append/lib/machine.h]
// [templates/mla_index_append/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/launch_wave.h]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_index_append_rows_b3ce39a2_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 1, 0, 0, {0, 0}, 0, {}};
MLAF_DEV u32 encode2(float lo, float hi) {
// [4 more lines of templates/mla_append/lib/fp8.h]
MLAF_DEV word2 encode(const float (&v)[8]) {
// [13 more lines of templates/mla_append/lib/fp8.h]

constexpr int H = 64, PARTS = 16, ROWS = 4; // lanes of a row; rows of a block
constexpr int ROPE_PARTS = 8;                                   // the first lanes have the rope columns
constexpr int ANGLES = 8;         // of a lane

MLAF_DEV float sum_of_row(float x, int lane) {
// [52 more lines of templates/mla_index_append/rows.cu.in]
}
// [13 more lines of templates/mla_index_append/rows.cu.in]

extern "C" __global__ void __launch_bounds__(64) mlaf_mla_index_append_rows_b3ce39a2(const mlaf_index_append_kernel_args a) {
  const int lane = (int)(my_thread() % LANES), part = (int)(my_thread() % PARTS);
// [19 more lines of templates/mla_index_append/rows.cu.in]
  float most = 0.0f;
// [23 more lines of templates/mla_index_append/rows.cu.in]
