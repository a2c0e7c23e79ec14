// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_absorb_dot_fp8_426986f1
// parameters:
//   cols = 16
//   depth = 8
//   dtype = f16
//   nope = 64
//   pass = 4
//   rank = 256
//   rope = 32
//   style = halves
//   threads = 128
//   weights = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/dot_fp8 target=sm_90a cols=16 depth=8 dtype=f16 nope=64 pass=4 rank=256 rope=32 style=halves threads=128 weights=1

#define MLAF_BF16 0
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
// [templates/lib/projection/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_dot_fp8_426986f1_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    17, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 64, OUTER = 256, TOKENS = 4, THREADS = 128;
constexpr int TILE = 128, WAYS = 8;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 32;
constexpr int ITEM_CHUNKS = 2; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 8;      // of an item

MLAF_DEV void load_angles(float (&to)[ANGLES], const char* row, int item, bool narrow) {
// [11 more lines of templates/lib/projection/turn.h]

MLAF_DEV void ask_turn(const mlaf_projection_kernel_args& a, int first, int step) {
// [10 more lines of templates/lib/projection/turn.h]

MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
// [9 more lines of templates/lib/projection/turn.h]
    float v[ITEM_CHUNKS][8], c[ANGLES], s[ANGLES];
// [11 more lines of templates/lib/projection/turn.h]
      float &p = v[0][k], &q = v[ITEM_CHUNKS - 1][k];
      const float across = q * s[k], back = p * s[k];
      p = multiply_add(p, c[k], -across);
      q = multiply_add(q, c[k], back);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = pack(v[k]);
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) store(to + k * ROPE, in[k]);
  }
}

struct place {
// [18 more lines of templates/lib/projection/block.h]

MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares) {
#pragma unroll 1
// [9 more lines of templates/lib/projection/block.h]
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(a), "=f"(b) : "r"(x));
}

template <int PAIR>
MLAF_DEV u32 halves_of(u32 codes) {
  u32 x;
  asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(x) : "h"((unsigned short)(codes >> 16 * PAIR)));
  return x;
}

template <int PAIR>
MLAF_DEV void decode2(u32 codes, float& a, float& b) {
  unpack_halves(halves_of<PAIR>(codes), a, b);
}
template <int PAIR>
MLAF_DEV u32 expand2(u32 codes) {
#if MLAF_BF16
  float a, b;
  decode2<PAIR>(codes, a, b);
  return pack2(a, b);
#else
  return halves_of<PAIR>(codes);
#endif
}

MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
// [17 more lines of templates/lib/projection/fp8.h]
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}

constexpr int SPAN = TILE / 8, ROWS = (INNER + WAYS - 1) / WAYS; // rows of a thread, every WAYS-th
constexpr int DEPTH = ROWS < 8 ? ROWS : 8;

template <int N>
MLAF_DEV void add_rows(const char* w, i64 w_row, int first, const float* x, float (&s)[TOKENS][8]) {
  word2 weights[N];
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int row = first + r * WAYS;
    weights[r] = load<word2>(w + (INNER % WAYS == 0 || row < INNER ? row : INNER - 1) * w_row); // whose x is 0
  }
#pragma unroll
  for (int r = 0; r < N; r++) {
    const int row = first + r * WAYS;
    float u[8];
    decode8(u, weights[r].x, weights[r].y);
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
      const float v = x[t * (ROWS * WAYS) + row];
#pragma unroll
      for (int i = 0; i < 8; i++) s[t][i] = multiply_add(u[i], v, s[t][i]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_q_absorb_dot_fp8_426986f1(const mlaf_projection_scaled_args a) {
  __shared__ __attribute__((aligned(16))) float sums[WAYS * TOKENS * PITCH];
  __shared__ float inputs[TOKENS * ROWS * WAYS];
  const int thread = (int)my_thread(), way = thread / SPAN, column = thread % SPAN * 8;
  const place p = my_place(a);
  const int output = p.first + column < OUTER ? p.first + column : OUTER - 8;
  if (!FIRST_OF_LAYER) let_next_launch_start();
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();
  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    for (int i = thread; i < TOKENS * (ROWS * WAYS / 2); i += THREADS) { // two values at a time; zeros behind the last
      const int t = i / (ROWS * WAYS / 2), k = i % (ROWS * WAYS / 2) * 2;
      const u32 pair = INNER % WAYS == 0 || k < INNER ? load<u32>(row_of_x(a, p, t0 + t) + 2 * k) : 0;
      const float scale = scale_at(a, scales_of(a, p.head, k < INNER ? k : INNER - 1), p.first); // of both rows
      inputs[t * (ROWS * WAYS) + k] = unpack_lo(pair) * scale;
      inputs[t * (ROWS * WAYS) + k + 1] = unpack_hi(pair) * scale;
    }
    __syncthreads();
    float s[TOKENS][8] = {};
    int row = way;
#pragma unroll 1
    for (int r = 0; r + DEPTH <= ROWS; r += DEPTH, row += DEPTH * WAYS)
      add_rows<DEPTH>(p.w + output, a.w_row, row, inputs, s);
    if (ROWS % DEPTH) add_rows<(ROWS % DEPTH ? ROWS % DEPTH : 1)>(p.w + output, a.w_row, row, inputs, s);
#pragma unroll
    for (int t = 0; t < TOKENS; t++)
#pragma unroll
      for (int i = 0; i < 8; i++) sums[(way * TOKENS + t) * PITCH + column + i] = s[t][i];
    __syncthreads();
    finish(a, p, t0, sums, nullptr);
    __syncthreads();
  }
  if (p.first == 0) turn_rows(a, p.x, p.y, (int)my_thread(), THREADS);
}
