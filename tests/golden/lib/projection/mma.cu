// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_absorb_mma_fp8_e77f742f
// parameters:
//   cols = 2
//   dtype = bf16
//   nope = 256
//   pass = 16
//   rank = 512
//   rope = 64
//   stages = 3
//   style = halves
//   ways = 8
//   weights = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/mma_fp8 target=sm_90a cols=2 dtype=bf16 nope=256 pass=16 rank=512 rope=64 stages=3 style=halves ways=8 weights=1

#define MLAF_BF16 1
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
// [templates/lib/mma.h]
// [templates/lib/projection/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_mma_fp8_e77f742f_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 62208, {1, 1, 1},
    17, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 256, OUTER = 512, TOKENS = 16, COLS = 2, WAYS = 8, STAGES = 3;
constexpr int THREADS = 512, TILE = 32, STEP = 256, STEPS = (INNER + STEP - 1) / STEP;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 64;
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
constexpr int NT = TOKENS / 8;
constexpr int PITCH_X = 2 * STEP + 16, PITCH_W = 48; // bytes
constexpr int X_AT = 12288, GAIN_AT = X_AT + TOKENS * PITCH_X, STAGE = 20736; // in a stage

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
MLAF_DEV u32 load_two(u32 at) {
// [13 more lines of templates/lib/projection/mma_fp8.h]

MLAF_DEV float scale_of_step(const mlaf_projection_scaled_args& a, const place& p, int step, int col, int way) {
  const int value = step * STEP + 32 * way < INNER ? step * STEP + 32 * way : INNER - 1;
  const int output = p.first + 16 * col < OUTER ? p.first + 16 * col : OUTER - 1;
  return scale_at(a, scales_of(a, p.head, value), output);
}
MLAF_DEV void copy_step(const mlaf_projection_kernel_args& a, const place& p, i64 t0, int step, u32 at, int thread) {
  const int first = step * STEP;
  constexpr int CHUNKS = TILE / 16, W_ROWS = STEP;
#pragma unroll
  for (int i = 0; i < (W_ROWS * CHUNKS + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, row = n / CHUNKS, chunk = n % CHUNKS;
    if (W_ROWS * CHUNKS % THREADS != 0 && n >= W_ROWS * CHUNKS) break;
    const int output = p.first + 16 * chunk, value = first + row;
    const bool real = (OUTER % TILE == 0 || output < OUTER) && (INNER % STEP == 0 || value < INNER);
    copy16(at + row * PITCH_W + 16 * chunk, real ? p.w + value * a.w_row + output : p.w, real);
  }
#pragma unroll
  for (int i = 0; i < (TOKENS * (STEP / 8) + THREADS - 1) / THREADS; i++) {
    const int n = i * THREADS + thread, token = n / (STEP / 8), chunk = n % (STEP / 8), value = first + 8 * chunk;
    if (TOKENS * (STEP / 8) % THREADS != 0 && n >= TOKENS * (STEP / 8)) break;
    const bool real = t0 + token < a.tokens && (INNER % STEP == 0 || value < INNER);
    copy16(at + X_AT + token * PITCH_X + 16 * chunk, real ? p.x + (t0 + token) * a.x_token + 2 * value : p.x, real);
  }
}


extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_q_absorb_mma_fp8_e77f742f(const mlaf_projection_scaled_args a) {
  extern __shared__ __align__(128) char memory[];
  const int thread = (int)my_thread(), lane = thread & 31, warp = thread >> 5, col = warp % COLS, way = warp / COLS;
  const u32 ring = shared_address(memory);
  const place p = my_place(a);
  float* const sums = (float*)memory;
  float* const squares = sums + WAYS * TOKENS * PITCH;
  if (!FIRST_OF_LAYER) let_next_launch_start();
  wait_for_previous_launch();
  if (FIRST_OF_LAYER) let_next_launch_start();

  for (i64 t0 = 0; t0 < a.tokens; t0 += TOKENS) {
    float s[NT][4] = {};
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
      if (i < STEPS) copy_step(a, p, t0, i, ring + i * STAGE, thread);
      end_copy_group();
    }
    int slot = 0, free = STAGES - 1;
    float next_scale = scale_of_step(a, p, 0, col, way);
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
      wait_for_copies<STAGES - 2>();
      __syncthreads(); // everybody's copies are there, and the slot of the step before is free
      if (step + STAGES - 1 < STEPS) copy_step(a, p, t0, step + STAGES - 1, ring + free * STAGE, thread);
      end_copy_group();
      const u32 w = ring + slot * STAGE, x = w + X_AT;
      u32 a0[4], a1[4]; // 16 outputs, values 0..15 and 16..31 of the warp's
      load_operands(a0, a1, w, col, way, lane);
      const float scale = next_scale;
      next_scale = scale_of_step(a, p, step + 1, col, way);
      const u32 xa = x + (lane & 7) * PITCH_X + 64 * way + (lane >> 3) * 16;
#pragma unroll
      for (int n = 0; n < NT; n++) {
        u32 b[4];
        load_matrices(b, xa + n * 8 * PITCH_X);
        float part[4] = {};
        mma16(part, a0, b[0], b[1]);
        mma16(part, a1, b[2], b[3]);
#pragma unroll
        for (int i = 0; i < 4; i++) s[n][i] = fmaf(part[i], scale, s[n][i]);
      }
      slot = slot + 1 == STAGES ? 0 : slot + 1;
      free = free + 1 == STAGES ? 0 : free + 1;
    }
    wait_for_copies<0>();
    __syncthreads();
    float* const mine = sums + way * TOKENS * PITCH + 16 * col + 2 * (lane >> 2);
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) mine[(8 * n + 2 * (lane & 3) + (i & 1)) * PITCH + (i >> 1)] = s[n][i];
    __syncthreads();
    finish(a, p, t0, sums, squares);
    __syncthreads(); // the next pass copies to where the sums are
  }
  if (p.first == 0) turn_rows(a, p.x, p.y, (int)my_thread(), THREADS);
}
