// Generated from templates/mla_append/rows.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_append/rows target=sm_80 ahead=0 dtype=f16 group=8 heads=20 layout=e4m3fn norm=1 rank=256 rope=32 style=halves threads=64

#define MLAF_BF16 0
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
// [26 more lines of templates/mla_append/lib/machine.h]
// [templates/mla_append/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/launch_wave.h]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_append_rows_5bb6c3aa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int R = 256, ROPE = 32, H = 20, GROUP = 8, THREADS = 64;
constexpr int CHUNKS = R / 8;                                // 16 bytes of the inputs each
constexpr int ROUNDS = (CHUNKS + LANES - 1) / LANES;         // of a warp over a latent row
constexpr int ITEM_CHUNKS = 2; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr u32 NOT_NUMBERS = 0x7fc07fc0u;                     // NaN as fp32, two of bf16 and two of f16
constexpr int ANGLES = 8;      // of an item

MLAF_DEV int column_byte(int item, int k) { return 16 * item + k * ROPE; }
// [45 more lines of templates/mla_append/lib/rotate.h]
    const float across = apart(y * s), back = apart(x * s);
// [4 more lines of templates/mla_append/lib/rotate.h]
constexpr u32 MOST = 0x43e00000u;                            // 240 or 448
constexpr u32 LEAST_NORMAL = 1015021568;      // 2^(1-bias) as a float's bits
constexpr u32 STEP = 1182793728;     // of codes below: 2^(-2-bias), that of a float of 2^(21-bias)
MLAF_DEV u32 encode1(float x) {
  const u32 u = bits_of(x), size = u & 0x7fffffffu;
  const u32 h = size < MOST ? size : MOST;
  const u32 normal = (h + 0x7ffffu + (h >> 20 & 1u) >> 20) - 960;
  const u32 small = bits_of(float_of(h) + float_of(STEP)) - STEP;
  const u32 code = h < LEAST_NORMAL ? small : normal;
  return (size > 0x7f800000u ? 0x7fu : code) | (u >> 24 & 0x80u);
// [16 more lines of templates/mla_append/lib/fp8.h]

MLAF_DEV u32 quotient(u32 n, u64 inverse) { return (u32)(n * (inverse >> 32) + (n * (inverse & 0xffffffffu) >> 32) >> 32); }
// [3 more lines of templates/mla_append/lib/token.h]
  bool inside;
// [6 more lines of templates/mla_append/lib/token.h]
  return p;
// [4 more lines of templates/mla_append/lib/token.h]
  word4 w[ROUNDS];
// [8 more lines of templates/mla_append/lib/token.h]
  wait_for_previous_launch();
  const i64 slot = load<i64>(slot_at);
  const i64 position = load<i64>(position_at);
  word4 x[ROUNDS];
// [21 more lines of templates/mla_append/lib/token.h]
  if (!to.inside) return;
// [3 more lines of templates/mla_append/lib/token.h]
  const float factor = inverse_root(multiply_add(sum, 0.00390625f, a.eps));
  char* const rope = to.latent + 256;
  const bool wanted = mine && a.kpe_out;
// [9 more lines of templates/mla_append/lib/token.h]
    divide(v[k], scale, inverse_scale);
    if (mine) store(rope + column_byte(lane, k) / 2, encode(v[k]));
  }
// [4 more lines of templates/mla_append/lib/token.h]
    float v[8];
// [5 more lines of templates/mla_append/lib/token.h]
    divide(v, scale, inverse_scale);
    if (there) store(to.latent + 8 * chunk, encode(v));
  }
}

constexpr int GROUPS = (H + GROUP - 1) / GROUP;                                // of a token
// [16 more lines of templates/mla_append/rows.cu.in]
  const char* const from = a.q_nope + t * a.q_nope_token + first * a.q_nope_head + chunk_at(thread, a.q_nope_head);
// [7 more lines of templates/mla_append/rows.cu.in]
  wait_for_previous_launch();
  const i64 slot = load<i64>(slot_at);
  const i64 position = load<i64>(position_at);
  rope_item item[TURNS] = {};
// [23 more lines of templates/mla_append/rows.cu.in]
#pragma unroll
// [10 more lines of templates/mla_append/rows.cu.in]
  }
}

extern "C" __global__ void __launch_bounds__(64, 18) mlaf_mla_append_rows_5bb6c3aa(const mlaf_append_kernel_args a) {
  let_next_launch_start();
// [8 more lines of templates/mla_append/rows.cu.in]
