// Generated from templates/mla_gather_kv_b/mma.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/mma target=sm_90a across=4 cols=128 dtype=bf16 heads=8 layout=fp8_ds_mla nope=192 rank=512 rope=64 rotate=0 rows=64 stages=4 vdim=256

#define MLAF_BF16 1
// [39 more lines of tests/golden/mla_gather_kv_b/aside.cu]
// [templates/lib/mma.h]
struct mlaf_gather_kv_b_kernel_args {
// [27 more lines of tests/golden/mla_gather_kv_b/mfma.hip]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_gather_kv_b_mma_781bf981_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 140800, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

typedef uint2 word2;
// [5 more lines of templates/mla_gather_kv_b/mma.cu.in]
constexpr int H = 8, N = 192, OUT = 448, ALL = H * OUT, R = 512, ROPE = 64;
constexpr int TOKENS = 64, COLS = 128, ACROSS = 4, WIDE = COLS / ACROSS, THREADS = 256;
constexpr int STAGES = 4, STEP = 64, STEPS = R / STEP, TILES = (ALL + COLS - 1) / COLS;
constexpr int PITCH_X = 2 * R + 16, PITCH_W = 2 * STEP + 16; // bytes of a row in shared memory

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
// [74 more lines of tests/golden/mla_gather_kv_b/mfma.hip]

MLAF_DEV int place_of(int o) { return (o & ~31) + 8 * ((o & 7) >> 1) + 2 * ((o & 31) >> 3) + (o & 1); }
// [72 more lines of templates/mla_gather_kv_b/mma.cu.in]

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_gather_kv_b_mma_781bf981(const __grid_constant__ mlaf_gather_kv_b_kernel_args a) {
  extern __shared__ __align__(128) char memory[];
// [46 more lines of templates/mla_gather_kv_b/mma.cu.in]
