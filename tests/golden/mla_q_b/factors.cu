// Generated from templates/mla_q_b/factors.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/factors target=sm_90a dtype=bf16 q_rank=1536 threads=128

#define MLAF_BF16 1
// [44 more lines of tests/golden/mla_q_absorb/aside.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_factors_a178cbbe_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 1536, CHUNKS = INNER / 8, WAVES = 128 / LANES, ROUNDS = (CHUNKS + LANES - 1) / LANES;

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_q_b_factors_a178cbbe(const mlaf_projection_kernel_args a) {
  const int thread = (int)my_thread(), lane = thread % LANES;
// [19 more lines of templates/mla_q_b/factors.cu.in]
  if (lane == 0) store(a.y + 4 * token, inverse_root(multiply_add(square, 0.000651041667f, a.eps)));
}
