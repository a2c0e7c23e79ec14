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
typedef uint2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return make_uint4(a, b, c, d); }
MLAF_DEV u32 my_block() { return blockIdx.x; }
MLAF_DEV u32 my_thread() { return threadIdx.x; }
MLAF_DEV float exchange(float x, int, int d) { return __shfl_xor_sync(~0u, x, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const T*)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(T*)p = x;
}
MLAF_DEV word4 load_weights(const void* p) {
  word4 x;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }

MLAF_DEV void unpack(float (&v)[8], word4 x) {
  const u32 w[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    v[2 * i] = unpack_lo(w[i]);
    v[2 * i + 1] = unpack_hi(w[i]);
  }
}
MLAF_DEV word4 pack(const float (&v)[8]) {
  return words(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7]));
}
MLAF_DEV u32 multiply2(u32 a, u32 b) { return pack2(unpack_lo(a) * unpack_lo(b), unpack_hi(a) * unpack_hi(b)); }
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
#pragma unroll
  for (int i = 0; i < ANGLES; i += 4) {
    if (narrow) {
      const word2 w = load<word2>(row + 2 * (ANGLES * item + i));
      to[i] = unpack_lo(w.x), to[i + 1] = unpack_hi(w.x), to[i + 2] = unpack_lo(w.y), to[i + 3] = unpack_hi(w.y);
    } else {
      const word4 w = load<word4>(row + 4 * (ANGLES * item + i));
      to[i] = float_of(w.x), to[i + 1] = float_of(w.y), to[i + 2] = float_of(w.z), to[i + 3] = float_of(w.w);
    }
  }
}

MLAF_DEV void ask_turn(const mlaf_projection_kernel_args& a, int first, int step) {
#pragma unroll 1
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    i64 position;
    asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(position) : "l"(a.positions + i / ITEMS) : "memory");
    if ((u64)position >= (u64)a.table_rows) continue;
    const i64 at = position * a.table_row + (a.flags & PROJECTION_TABLE_16 ? 2 : 4) * ANGLES * (i % ITEMS);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.cos + at) : "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.sin + at) : "memory");
  }
}

MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
#pragma unroll 2
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    const i64 t = i / ITEMS;
    const int item = (int)(i % ITEMS);
    const char* const from = x + t * a.x_token + 2 * INNER + 16 * item;
    char* const to = y + t * a.y_token + 2 * OUTER + 16 * item;
    word4 in[ITEM_CHUNKS];
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = load<word4>(from + k * ROPE);
    float v[ITEM_CHUNKS][8], c[ANGLES], s[ANGLES];
    const i64 position = load<i64>(a.positions + t);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) c[k] = s[k] = not_a_number();
    if ((u64)position < (u64)a.table_rows) {
      load_angles(c, a.cos + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
      load_angles(s, a.sin + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], in[k]);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) {
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
  int head, first; // first: output of the tile
  const char *x, *w;
  char* y;
};
MLAF_DEV place place_of(const mlaf_projection_kernel_args& a, u32 block) {
  place p;
  p.head = (int)(block / TILES);
  p.first = (int)(block % TILES) * TILE;
  p.x = a.x + p.head * a.x_head;
  p.w = a.w + p.head * a.w_head;
  p.y = a.y + p.head * a.y_head;
  return p;
}
MLAF_DEV place my_place(const mlaf_projection_kernel_args& a) { return place_of(a, my_block()); }

MLAF_DEV const char* row_of_x(const mlaf_projection_kernel_args& a, const place& p, i64 t) {
  return p.x + (t < a.tokens ? t : a.tokens - 1) * a.x_token;
}

MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares) {
#pragma unroll 1
  for (int i = (int)my_thread(); i < TOKENS * (TILE / 8); i += THREADS) {
    const int token = i / (TILE / 8), column = i % (TILE / 8) * 8;
    if (t0 + token >= a.tokens || p.first + column >= OUTER) continue;
    float v[8] = {};
    for (int way = 0; way < WAYS; way++) {
      const float* const from = sums + (way * TOKENS + token) * PITCH + column;
#pragma unroll
      for (int k = 0; k < 8; k++) v[k] += from[k];
    }
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
  decode2<0>(x, v[0], v[1]);
  decode2<1>(x, v[2], v[3]);
  decode2<0>(y, v[4], v[5]);
  decode2<1>(y, v[6], v[7]);
}
MLAF_DEV word4 expand8(u32 x, u32 y) { return words(expand2<0>(x), expand2<1>(x), expand2<0>(y), expand2<1>(y)); }

struct mlaf_projection_scaled_args : mlaf_projection_kernel_args {
  const float* w_scale;
  i64 scale_row, scale_first_row, scale_head, scale_first_column; // scale_row in bytes
};
static_assert(sizeof(mlaf_projection_scaled_args) == 192, "differs from runtime/op/projection.h");

MLAF_DEV const char* scales_of(const mlaf_projection_scaled_args& a, int head, int row) {
  return (const char*)a.w_scale + (a.scale_first_row + head * a.scale_head + row >> 7) * a.scale_row;
}
MLAF_DEV float scale_at(const mlaf_projection_scaled_args& a, const char* scales, int column) {
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
