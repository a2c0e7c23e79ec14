// Generated from templates/mla_q_absorb/aside.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/aside target=sm_90a dtype=bf16 nope=128 rank=512 rope=64 style=pairs threads=128

#define MLAF_BF16 1
// [39 more lines of tests/golden/mla_gather_kv_b/aside.cu]
// [templates/lib/projection/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_aside_39632e6d_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 128, OUTER = 512, THREADS = 128, TOKENS = THREADS / 8;
constexpr int ROPE = 64;
// [5 more lines of tests/golden/lib/projection/stay.hip, with other numbers]
// [23 more lines of templates/lib/projection/turn.h]

MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
// [21 more lines of templates/lib/projection/turn.h]
      float &p = v[0][2 * k], &q = v[0][2 * k + 1];
// [10 more lines of templates/lib/projection/turn.h]

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_q_absorb_aside_39632e6d(const mlaf_projection_kernel_args a) {
  const int blocks = (int)((a.tokens + TOKENS - 1) / TOKENS); // of a head
// [5 more lines of templates/mla_q_absorb/aside.cu.in]
