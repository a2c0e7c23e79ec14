// Generated from templates/mla_q_b/aside.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/aside target=sm_90a dtype=bf16 q_rank=1536 threads=128

#define MLAF_BF16 1
// [44 more lines of tests/golden/mla_q_absorb/aside.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_aside_f2876c20_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 1536, CHUNKS = INNER / 8, THREADS = 128, WAVES = THREADS / LANES;
constexpr int ROUNDS = (CHUNKS + THREADS - 1) / THREADS;

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_q_b_aside_f2876c20(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) float squares[16];
// [26 more lines of templates/mla_q_b/aside.cu.in]
  const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps));
#pragma unroll
// [10 more lines of templates/mla_q_b/aside.cu.in]
