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
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
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
// [10 more lines of templates/mla_index/logits.cu.in]
MLAF_DEV u32 word_of(word4 x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }
// [26 more lines of templates/mla_index/logits.cu.in]
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
// [50 more lines of templates/mla_index/logits.cu.in]
