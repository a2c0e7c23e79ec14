// Generated from templates/mla_index/logits.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_index_logits_7e40ad98
// parameters:
//   heads = 64
//   part = 2048
//   threads = 128
// regenerate: lua5.4 gen/cli.lua render mla_index/logits target=sm_90a heads=64 part=2048 threads=128


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
// [templates/lib/mma.h]
// [templates/mla_index/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_index_logits_7e40ad98_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 64, THREADS = 128, WAVES = THREADS / LANES, TOKENS = 2048;
constexpr int PITCH = 272, STEP = 32, TILES = STEP / 16;

struct shared_part {
  alignas(16) char queries[H * PITCH]; // f16, columns in their order
  float weights[H];
  int pages[TOKENS]; // of this block's tokens; -1: outside the cache
};

constexpr int ROWS = 2, HEADS = 8;
MLAF_DEV int lane_head(int lane) { return lane / 4; } // whose query a lane hands over
MLAF_DEV int row_of(int lane) { return lane / 4; } // and 8 more
MLAF_DEV int group_of(int lane) { return lane % 4; }
constexpr int NEAR = 1; // lanes that differ in this bit, or in the next, have other groups
typedef u32 operand[4];
MLAF_DEV float positive(float x) { // NaN stays
  float y;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
  return y;
}
MLAF_DEV u32 word_of(word4 x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }

MLAF_DEV place place_of(const mlaf_index_kernel_args& a, const int* pages, u32 first_page, int position, int end) {
  const u32 page = page_of(a, position);
  return place_in(a, position < end ? pages[page - first_page] : -1, page, position);
}

struct keys {
  word4 x[TILES][ROWS][2];
};
MLAF_DEV void load_keys(keys& k, const mlaf_index_kernel_args& a, const int* pages, u32 first_page, int at, int end, int lane) {
#pragma unroll
  for (int tile = 0; tile < TILES; tile++)
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
      const place p = place_of(a, pages, first_page, at + 16 * tile + 8 * row + row_of(lane), end);
#pragma unroll
      for (int c = 0; c < 2; c++)
        k.x[tile][row][c] = p.key ? load_weights(p.key + 64 * c + 16 * group_of(lane)) : words(0, 0, 0, 0);
    }
}

MLAF_DEV void expand(operand (&out)[TILES][8], const keys& k) {
#pragma unroll
  for (int tile = 0; tile < TILES; tile++)
#pragma unroll
    for (int s = 0; s < 8; s++) {
#pragma unroll
      for (int row = 0; row < ROWS; row++) {
        const u32 w = word_of(k.x[tile][row][s / 4], s % 4);
        out[tile][s][row] = expand2<0>(w);
        out[tile][s][2 + row] = expand2<1>(w);
      }
    }
}

MLAF_DEV void add_heads(float (&sum)[TILES][ROWS], const operand (&k)[TILES][8], const shared_part& s, int head, int lane) {
  float d[TILES][4] = {};
  const char* queries = s.queries + (head + lane_head(lane)) * PITCH + 32 * group_of(lane);
#pragma unroll
  for (int half = 0; half < 4; half++) {
    const word4 q = *(const word4*)(queries + 128 * (half / 2) + 16 * (half % 2));
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
      mma16(d[tile], k[tile][2 * half], q.x, q.y);
      mma16(d[tile], k[tile][2 * half + 1], q.z, q.w);
    }
  }
  const float w0 = s.weights[head + 2 * group_of(lane)], w1 = s.weights[head + 2 * group_of(lane) + 1];
#pragma unroll
  for (int tile = 0; tile < TILES; tile++)
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
      sum[tile][row] = multiply_add(w0, positive(d[tile][2 * row]), sum[tile][row]);
      sum[tile][row] = multiply_add(w1, positive(d[tile][2 * row + 1]), sum[tile][row]);
    }
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_index_logits_7e40ad98(const mlaf_index_kernel_args a) {
  __shared__ shared_part s;
  const int thread = (int)my_thread(), lane = thread % LANES, wave = thread / LANES;
  const u32 t = my_block() % a.tokens;
  const int first = (int)(my_block() / a.tokens) * TOKENS;
  let_next_launch_start();
  wait_for_previous_launch();
  const int length = length_of(a, t), end = smaller(length, first + TOKENS);
  if (first >= end) return;

  const u32 first_page = page_of(a, first), last_page = page_of(a, end - 1);
  const char* table = table_of(a, t);
  for (u32 page = first_page + thread; page <= last_page; page += THREADS) {
    const int id = load<int>(table + 4ul * page);
    s.pages[page - first_page] = id < a.num_pages ? id : -1;
  }
  for (int i = thread; i < 8 * H; i += THREADS) { // 16 columns of a head
    const word4 x = load<word4>(a.q + t * a.q_token + i / 8 * a.q_head + 16 * (i % 8));
    word4* to = (word4*)(s.queries + i / 8 * PITCH + 32 * (i % 8));
    to[0] = words(expand2<0>(x.x), expand2<1>(x.x), expand2<0>(x.y), expand2<1>(x.y));
    to[1] = words(expand2<0>(x.z), expand2<1>(x.z), expand2<0>(x.w), expand2<1>(x.w));
  }
  for (int i = thread; i < H; i += THREADS) s.weights[i] = load<float>(a.w + t * a.w_token + 4 * i);
  __syncthreads();

  keys next;
  int at = first + STEP * wave;
  if (at < end) load_keys(next, a, s.pages, first_page, at, end, lane);
  for (; at < end; at += STEP * WAVES) {
    operand k[TILES][8];
    float sum[TILES][ROWS] = {};
    const int mine = STEP == LANES ? 8 * group_of(lane) + row_of(lane) : 16 * group_of(lane) + row_of(lane);
    const place p = place_of(a, s.pages, first_page, at + mine, mine < STEP ? end : 0);
    const float scale = p.scale ? load<float>(p.scale) : 0.0f;
    expand(k, next);
    if (at + STEP * WAVES < end) load_keys(next, a, s.pages, first_page, at + STEP * WAVES, end, lane);
#pragma unroll 2
    for (int head = 0; head < H; head += HEADS) add_heads(sum, k, s, head, lane);
    float logit = 0.0f;
#pragma unroll
    for (int i = 0; i < TILES * ROWS; i++) {
      float x = sum[i / ROWS][i % ROWS];
      x += exchange(x, lane, NEAR);
      x += exchange(x, lane, 2 * NEAR);
      if (i == group_of(lane)) logit = x * scale;
    }
    if (mine < STEP && at + mine < end) {
      const u32 bits = p.key ? logit == logit ? bits_of(logit) : 0x7fc00000u : ABSENT;
      store(a.logits + t * a.logits_token + 4 * (i64)(at + mine), bits);
    }
  }
}
