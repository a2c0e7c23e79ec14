// Generated from templates/mla_index/select.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_index/select target=gfx942 threads=1024

#define MLAF_BF16 0
// [38 more lines of tests/golden/mla_gather_kv_b/mfma.hip]
// [templates/mla_index/lib/args.h]
// [4 more lines of tests/golden/mla_index/logits.cu]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_index_select_348ed8c9_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    0, 0, 0, {0, 0}, 0, {}};

constexpr int THREADS = 1024, WAVES = THREADS / LANES, BINS = 2048, OWN = BINS / THREADS;
constexpr u32 LIST = 4096; // entries
// [9 more lines of templates/mla_index/select.cu.in]
static_assert(sizeof(shared_part) == 41248, "differs from gen/ops/mla_index/shape.lua");
constexpr u32 FINITE = 0x00800000u, INFINITE = 0xff800000u; // keys of finite values are from FINITE to below INFINITE
constexpr u32 NONE = 0xffffffffu;

MLAF_DEV u32 from_lane(u32 x, int lane) { return (u32)__builtin_amdgcn_ds_bpermute(lane << 2, (int)x); }
// [328 more lines of templates/mla_index/select.cu.in]

extern "C" __global__ void __launch_bounds__(1024, 1) mlaf_mla_index_select_348ed8c9(const mlaf_index_kernel_args a) {
  __shared__ shared_part s;
// [28 more lines of templates/mla_index/select.cu.in]
