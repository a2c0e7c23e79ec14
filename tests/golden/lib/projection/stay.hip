// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stay target=gfx942 dtype=f16 nope=64 parts=4 rank=512 rope=32 style=halves waves=2

#define MLAF_BF16 0
#define MLAF_MFMA_K32 0
constexpr int LANES = 64;
// [37 more lines of tests/golden/mla_gather_kv_b/mfma.hip]
// [templates/lib/mfma.h]
// [templates/lib/projection/args.h]

constexpr int INNER = 64, OUTER = 512, TOKENS = 16, WAYS = 1, THREADS = 128;
constexpr int TILE = 128;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 32;
constexpr int ITEM_CHUNKS = 2; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 8;      // of an item

MLAF_DEV void load_angles(float (&to)[ANGLES], const char* row, int item, bool narrow) {
// [11 more lines of templates/lib/projection/turn.h]

MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
// [22 more lines of templates/lib/projection/turn.h]
      const float across = q * s[k], back = p * s[k];
// [9 more lines of templates/lib/projection/turn.h]

struct place {
// [20 more lines of templates/lib/projection/block.h]
                     const float* squares) {
#pragma unroll 1
// [9 more lines of templates/lib/projection/block.h]
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}
// [templates/lib/projection/one_trip.h]
constexpr int TILE_BLOCKS = 4;

struct share {
// [4 more lines of templates/lib/projection/parts.h]
  const u32 head = my_block() / (TILES * TILE_BLOCKS) * TILES, at = my_block() % (TILES * TILE_BLOCKS);
  return {head + at / TILE_BLOCKS, int(at % TILE_BLOCKS)}; // a die has two tiles at most: the same tokens count for more
}
constexpr int STEPS = INNER / 16, BLOCKS = 8;
constexpr int PATCH_ROW = 272; // bytes: neighbours begin in other banks

struct weights {
// [26 more lines of templates/lib/projection/stay.h]

extern "C" __global__ void __launch_bounds__(THREADS, 2) mlaf_mla_q_absorb_stay_133727e9(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[8704];
  const int thread = (int)my_thread(), lane = thread % 64, wave = uniform(thread / 64), row = lane % 16, group = lane / 16;
// [3 more lines of templates/lib/projection/stay.h]
  const i64 first = 16 * (mine.part * 2 + wave), step = 16 * TILE_BLOCKS * 2;
  const int output = p.first + BLOCKS * row;
// [4 more lines of templates/lib/projection/stay.h]
  char* const patch = lds + wave * 4352;
#pragma unroll 1
// [27 more lines of templates/lib/projection/stay.h]
