// Generated from templates/mla_q_b/mfma_absorb_append.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/mfma_absorb_append target=gfx942 absorb=1 append=1 append_norm=1 append_style=0 columns=8 dtype=bf16 each=8 heads=16 nope=128 norm=1 q_rank=1536 rank=512 rope=64 shares=2

#define MLAF_BF16 1
#define MLAF_MFMA_K32 0
// [40 more lines of tests/golden/lib/projection/stay.hip]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_q_b_mfma_absorb_append_c55e6256_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    384, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 1536, NOPE = 128, P = 64, THREADS = 512, WAVES = 8;
constexpr int EACH = 8, SHARES = 2, COLUMNS = 8;
constexpr int TILES = 16 * SHARES * COLUMNS; // blocks of the product
constexpr int UNITS = INNER / 256, AHEAD = 2; // UNITS: sets of four lines of a row; so many are in flight
constexpr int TURNED = 1, TURNING = 4; // groups of rope columns, of as many blocks of a head
constexpr int TURNED_UNITS = 1; // of a wave
constexpr int OUTS = 64, LANE_COLUMNS = 4, WAYS = 8; // OUTS: latent columns of a block
constexpr int STEPS = NOPE / 16 / WAYS; // of the second product
constexpr int Q_PITCH = 2 * NOPE + 8, TURN_PITCH = 20, SUM_PITCH = OUTS + 4; // bytes; floats: neighbours lie in other banks
constexpr int SUMS_AT = 7680, Q_AT = 42496, FACTORS_AT = 46720;
struct gain_scale {
// [9 more lines of templates/lib/projection/gain.h]
// [templates/lib/projection/one_trip.h]

MLAF_DEV word2 words(u32 a, u32 b) { return word2{a, b}; }
// [17 more lines of templates/mla_append/lib/machine.h]
namespace append {
// [templates/mla_append/lib/args.h]
constexpr int R = 512, ROPE = 64;
constexpr int CHUNKS = R / 8, ROUNDS = (CHUNKS + LANES - 1) / LANES;
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
// [5 more lines of tests/golden/mla_append/rows.cu, with other numbers]
// [44 more lines of templates/mla_append/lib/rotate.h]
    float &x = v[0][2 * i], &y = v[0][2 * i + 1];
// [5 more lines of templates/mla_append/lib/rotate.h]

MLAF_DEV u32 quotient(u32 n, u64 inverse) { return (u32)(n * (inverse >> 32) + (n * (inverse & 0xffffffffu) >> 32) >> 32); }
// [36 more lines of tests/golden/mla_append/rows.cu]
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
// [15 more lines of tests/golden/mla_append/rows.cu]
  const float factor = inverse_root(multiply_add(sum, 0.001953125f, a.eps));
// [3 more lines of tests/golden/mla_append/rows.cu, with other numbers]
    if (mine) store(rope + column_byte(lane, k), item.x[k]);
// [5 more lines of templates/mla_append/lib/token.h]
    float v[8];
// [6 more lines of templates/mla_append/lib/token.h]
  }
}
} // namespace append
// [16 more lines of templates/lib/projection/side.h]

template <class ARGS>
// [43 more lines of templates/lib/projection/mfma_absorb.h]

MLAF_DEV void add_product(f32x4& sum, u32x2 a, u32x2 b) { MFMA_ASM("v_mfma_f32_16x16x16_bf16", "v", "v", "v", a, b, sum); }
MLAF_DEV void begin_sum(f32x4 (&sum)[2]) {
// [5 more lines of templates/lib/projection/mfma_absorb.h]
  asm volatile("s_nop 6" : "+v"(sum[0]), "+v"(sum[1]));
  return sum[0] + sum[1];
// [48 more lines of templates/lib/projection/mfma_absorb.h]
}
// [30 more lines of templates/lib/projection/mfma_absorb.h]
          inverse_root(multiply_add(square[k], 0.000651041667f, p.eps)) * up;
}
// [5 more lines of templates/lib/projection/mfma_absorb.h]
  const mlaf_projection_kernel_args& a = p.second;
// [7 more lines of templates/lib/projection/mfma_absorb.h]
  return 16 * of + row;
}
// [4 more lines of templates/lib/projection/mfma_absorb.h]
  const int first = 2 * pair, other = first + 1;
  float a = 0.0f, b = 0.0f;
// [11 more lines of templates/lib/projection/mfma_absorb.h]
  store(y + 2 * (512 + rope_column(of, first)), both);
}
// [43 more lines of templates/lib/projection/mfma_absorb.h]

extern "C" __global__ void __launch_bounds__(THREADS) mlaf_mla_q_b_mfma_absorb_append_c55e6256(const params p) {
  __shared__ __attribute__((aligned(16))) char memory[46784];
  const u32 thread = my_thread();
// [3 more lines of templates/lib/projection/mfma_absorb.h]
  const u32 turn_of_die = my_block() / 8;
  const int head = int(turn_of_die / (SHARES * COLUMNS) * 8 + my_block() % 8);
  const int part = int(turn_of_die % (SHARES * COLUMNS)), share = part % SHARES, column = part / SHARES;
// [84 more lines of templates/lib/projection/mfma_absorb.h]
    float* const sums = (float*)(memory + SUMS_AT);
// [22 more lines of templates/lib/projection/mfma_absorb.h]
