// Generated from templates/mla_index/sm90.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_index/sm90 target=sm_90a groups=2 heads=64 part=2048

#define MLAF_BF16 0
// [64 more lines of tests/golden/mla_index/logits.cu]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
// [32 more lines of tests/golden/mla_decode/sm90_small_rank.cu]

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// [10 more lines of templates/lib/wgmma.h]
// [templates/mla_index/lib/args.h]
// [4 more lines of tests/golden/mla_index/logits.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_index_sm90_b784bdfa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 84416, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};
struct mlaf_tensor_map; // none is used
// [templates/lib/hopper.h]

constexpr int H = 64, GROUPS = 2, MATH = 128 * GROUPS, TOKENS = 2048, STEP = 64;
constexpr int SLAB = H * 128; // bytes: 64 columns of all heads, rows of 128 bytes swizzled
constexpr int STAGES = 8, KEYS = 128 * STEP, SCALES = 4 * STEP;

struct shared_memory {
// [9 more lines of templates/mla_index/sm90.cu.in]
static_assert(sizeof(shared_memory) == 84416, "differs from gen/ops/mla_index/shape.lua");

MLAF_DEV shared_memory& memory() {
// [175 more lines of templates/mla_index/sm90.cu.in]

extern "C" __global__ void __launch_bounds__(288, 2) mlaf_mla_index_sm90_b784bdfa(const mlaf_index_kernel_args a) {
  const int thread = (int)my_thread();
// [21 more lines of templates/mla_index/sm90.cu.in]
