// Generated from templates/mla_index/logits.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_index/logits target=sm_90a heads=64 part=2048 threads=128

#define MLAF_BF16 0
// [39 more lines of tests/golden/mla_append/rows.cu]
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
// [5 more lines of tests/golden/mla_dequant/rows.cu]
  u32 x;
// [3 more lines of templates/lib/e4m3.h]

template <int PAIR>
// [13 more lines of tests/golden/mla_dequant/rows.cu]
// [templates/lib/mma.h]
// [templates/mla_index/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_index_logits_7e40ad98_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 64, THREADS = 128, WAVES = THREADS / LANES, TOKENS = 2048;
constexpr int PITCH = 272, STEP = 32, TILES = STEP / 16;

struct shared_part {
// [16 more lines of templates/mla_index/logits.cu.in]
MLAF_DEV u32 word_of(word4 x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }
// [32 more lines of templates/mla_index/logits.cu.in]
    }
// [4 more lines of templates/mla_index/logits.cu.in]
  const char* queries = s.queries + (head + lane_head(lane)) * PITCH + 32 * group_of(lane);
// [7 more lines of templates/mla_index/logits.cu.in]
    }
// [9 more lines of templates/mla_index/logits.cu.in]
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_index_logits_7e40ad98(const mlaf_index_kernel_args a) {
  __shared__ shared_part s;
// [50 more lines of templates/mla_index/logits.cu.in]
