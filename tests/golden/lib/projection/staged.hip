// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/staged target=gfx942 blocks=4 depth=4 dtype=bf16 heads=16 nope=128 norm=1 parts=2 pass=64 q_rank=1536 rope=64

#define MLAF_BF16 1
// [41 more lines of tests/golden/lib/projection/mfma_absorb.hip]

constexpr int INNER = 1536, OUTER = 3072, WAYS = 2, THREADS = 256;
constexpr int TOKENS = 64; // whose sums meet at a time
constexpr int TILE = 64;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [44 more lines of tests/golden/lib/projection/mfma.hip]
constexpr int TILE_BLOCKS = 2;

struct share {
// [5 more lines of tests/golden/lib/projection/stay.hip]
  return {head + at % TILES, int(at / TILES)};
}
constexpr int WAVES = 4, BLOCKS = 4, GROUPS = 4, LINES = 1; // LINES: of a round
constexpr int MY_BLOCKS = 4, MY_GROUPS = 2, MY_HALVES = 2 * LINES / WAYS; // of a wave
constexpr int WAVES_BY_TOKENS = 2, TOGETHER = 2;
constexpr int DEPTH = 4, GROUPS_OF_ROUNDS = INNER / (64 * LINES * DEPTH);
constexpr int STAGE = 16384, STAGES = 3, X_AT = LINES * BLOCKS * 2048; // bytes; 16 rows are 2048
constexpr int W_LOADS = 2 * LINES * BLOCKS / WAVES, X_LOADS = 2 * LINES * GROUPS / WAVES, LOADS = W_LOADS + X_LOADS;
// [18 more lines of templates/lib/projection/staged.h]

constexpr int ASKS = LOADS + 1;
MLAF_DEV void ask(const source& from, int at, int i, line_set& to) {
// [34 more lines of templates/lib/projection/staged.h]

constexpr int COLUMN = MY_BLOCKS + 1, PRODUCTS = 2 * MY_HALVES * COLUMN * MY_GROUPS;
template <int FIRST, int LAST>
// [19 more lines of templates/lib/projection/staged.h]
constexpr int REGIONS = 4 * W_LOADS; // with a norm a word of W each
constexpr int LDS_REGIONS = STAGES == 3 ? REGIONS : REGIONS - REGIONS / 6; // of two stages the barrier waits for all of it
// [36 more lines of templates/lib/projection/staged.h]

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_q_b_staged_b888127d(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[49152];
  float* const sums = (float*)lds;
// [3 more lines of templates/lib/projection/staged.h]
  const share mine = my_share();
// [50 more lines of templates/lib/projection/staged.h]
#pragma unroll 1
// [29 more lines of templates/lib/projection/staged.h]
