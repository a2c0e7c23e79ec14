// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stationary_fp8 target=sm_90a dtype=bf16 nope=128 pass=64 per_sm=1 rank=512 rope=64 rows=128 style=pairs ways=2 weights=1

#define MLAF_BF16 1
// [40 more lines of tests/golden/mla_q_absorb/aside.cu]
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
// [45 more lines of tests/golden/lib/projection/dot.cu]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_stationary_fp8_5ec706a7_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 116864, {1, 1, 1},
    8209, 0, 0, {0, 0}, 2, {{1, 64, 128, 128}, {2, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
// [3 more lines of templates/lib/projection/maps.h]
  mlaf_projection_scaled_args a;
  mlaf_tensor_map w, x;
};
// [7 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
MLAF_DEV void wgmma_rs(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
// [39 more lines of tests/golden/mla_prefill/sm90.cu]

constexpr int INNER = 128, OUTER = 512, TOKENS = 64, TILE = 128, WAYS = 2, SPLIT = 1;
constexpr int THREADS = 256, MT = TILE / 64, VALUES = 64, GROUPS = VALUES / 16; // of a way
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 64;
// [62 more lines of tests/golden/mla_q_absorb/aside.cu]

struct place {
// [34 more lines of tests/golden/lib/projection/stay.hip]

MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }

constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each

MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank) {
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += THREADS) {
    const int token = i / OCTETS, column = i % OCTETS * 8;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float v[2][4] = {};
#pragma unroll
// [4 more lines of templates/lib/projection/sums.h]
    }
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column),
// [3 more lines of templates/lib/projection/sums.h]
constexpr int PLACES = 2, PLACE = 16384, BOXES = PLACE / (TOKENS * 128);
constexpr int X_AT = 16384, SUMS_AT = 49152;
constexpr int W_FULL = 116736, FULL_AT = W_FULL + 8, EMPTY_AT = FULL_AT + 8 * PLACES;
constexpr int X_WARP = 4 * WAYS, TURN_AT = 128 * WAYS + 32, TURN_THREADS = 352 - TURN_AT;

// [templates/lib/projection/x_rows.h]

MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at) {
// [3 more lines of templates/lib/projection/stationary_fp8.h]
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at) {
// [14 more lines of templates/lib/projection/stationary_fp8.h]
  u32 x;
// [60 more lines of templates/lib/projection/stationary_fp8.h]

MLAF_DEV void lay_sums(const float (&sum)[MT][TOKENS / 2], float* to, int t) {
// [5 more lines of templates/lib/projection/stationary_fp8.h]
      *(float4*)at = make_float4(sum[0][4 * j + e], sum[0][4 * j + 2 + e], sum[1][4 * j + e], sum[1][4 * j + 2 + e]);
    }
}

extern "C" __global__ void __launch_bounds__(352, 1) mlaf_mla_q_absorb_stationary_fp8_5ec706a7(
    const __grid_constant__ mlaf_projection_params p) {
// [16 more lines of templates/lib/projection/stationary_fp8.h]
    if (thread >= TURN_AT) ask_turn(p.a, at.first / TILE * TURN_THREADS + thread - TURN_AT, TILES * TURN_THREADS);
    wait_for_previous_launch();
    if (thread == 32 * X_WARP) load_x(p, shared, at);
    if (thread >= TURN_AT) turn_rows(p.a, at.x, at.y, at.first / TILE * TURN_THREADS + thread - TURN_AT, TILES * TURN_THREADS);
    return;
// [16 more lines of templates/lib/projection/stationary_fp8.h]
  int i = 0;
// [7 more lines of templates/lib/projection/stationary_fp8.h]
    if (t0) named_sync(1, THREADS); // the pass before is written
// [5 more lines of templates/lib/projection/stationary_fp8.h]
