// Generated from templates/mla_index_append/rows.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_index_append_rows_b3ce39a2
// parameters:
//   dtype = bf16
//   hadamard = 0
//   heads = 64
//   style = halves
//   threads = 64
// regenerate: lua5.4 gen/cli.lua render mla_index_append/rows target=sm_90a dtype=bf16 hadamard=0 heads=64 style=halves threads=64


#define MLAF_BF16 1
constexpr int LANES = 32;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
typedef uint2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return make_uint4(a, b, c, d); }
MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
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
MLAF_DEV i64 load_past_l1(const i64* at) {
  i64 x;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
#else
  x = *(const volatile i64*)at;
#endif
  return x;
}
MLAF_DEV void load_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w)
               : "l"(at), "r"((u32)there));
}
MLAF_DEV void load_half_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n@p ld.global.v2.u32 {%0, %1}, [%2];\n}"
               : "+r"(w.x), "+r"(w.y)
               : "l"(at), "r"((u32)there));
}
MLAF_DEV void ready(const void* p, u32 never) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p prefetch.global.L2 [%0];\n}" ::"l"(p), "r"(never) : "memory");
}
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float inverse(float x) { return __frcp_rn(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
MLAF_DEV float magnitude(float x) { return fabsf(x); }
MLAF_DEV float larger(float a, float b) { return fmaxf(a, b); }
MLAF_DEV float apart(float x) { return x; }

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
// [templates/mla_index_append/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_index_append_rows_b3ce39a2_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 1, 0, 0, {0, 0}, 0, {}};
MLAF_DEV u32 encode2(float lo, float hi) {
  unsigned short y;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(hi), "f"(lo));
  return y;
}
MLAF_DEV word2 encode(const float (&v)[8]) {
  return words(encode2(v[0], v[1]) | encode2(v[2], v[3]) << 16, encode2(v[4], v[5]) | encode2(v[6], v[7]) << 16);
}

MLAF_DEV float infinity() { return float_of(0x7f800000u); }
MLAF_DEV float usable(float scale) { return scale >= float_of(0x00800000u) && scale < infinity() ? scale : not_a_number(); }

MLAF_DEV void divide(float (&v)[8], float scale, float inverse_scale) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float q = multiply_add(v[i], 0.0f, v[i] * inverse_scale);
    v[i] = magnitude(q) < 1024.0f ? multiply_add(multiply_add(-q, scale, v[i]), inverse_scale, q) : q;
  }
}

constexpr int H = 64, PARTS = 16, ROWS = 4; // lanes of a row; rows of a block
constexpr int ROPE_PARTS = 8;                                   // the first lanes have the rope columns
constexpr int ANGLES = 8;         // of a lane

MLAF_DEV float sum_of_row(float x, int lane) {
#pragma unroll
  for (int d = 1; d < PARTS; d *= 2) x += exchange(x, lane, d);
  return x;
}

MLAF_DEV void norm(float (&v)[8], const mlaf_index_append_kernel_args& a, int part, int lane) {
  float sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; i++) sum += v[i];
  const float mean = sum_of_row(sum, lane) * 0.0078125f;
#pragma unroll
  for (int i = 0; i < 8; i++) squares = multiply_add(v[i] - mean, v[i] - mean, squares);
  const float factor = inverse_root(multiply_add(sum_of_row(squares, lane), 0.0078125f, a.eps));
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    const word4 g = load<word4>(a.norm_weight + 32 * part + 4 * i), b = load<word4>(a.norm_bias + 32 * part + 4 * i);
    const u32 gain[4] = {g.x, g.y, g.z, g.w}, bias[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int k = 0; k < 4; k++)
      v[i + k] = multiply_add((v[i + k] - mean) * factor, float_of(gain[k]), float_of(bias[k]));
  }
}

MLAF_DEV void load_angles(float (&out)[ANGLES], const char* row, int first, bool narrow) {
#pragma unroll
  for (int i = 0; i < ANGLES; i += 4) {
    if (narrow) {
      const word2 w = load<word2>(row + 2 * (first + i));
      out[i] = unpack_lo(w.x), out[i + 1] = unpack_hi(w.x), out[i + 2] = unpack_lo(w.y), out[i + 3] = unpack_hi(w.y);
    } else {
      const word4 w = load<word4>(row + 4 * (first + i));
      out[i] = float_of(w.x), out[i + 1] = float_of(w.y), out[i + 2] = float_of(w.z), out[i + 3] = float_of(w.w);
    }
  }
}

MLAF_DEV void rotate(float (&v)[8], const mlaf_index_append_kernel_args& a, i64 position, int part, int lane) {
  float c[ANGLES], s[ANGLES];
#pragma unroll
  for (int i = 0; i < ANGLES; i++) c[i] = s[i] = not_a_number();
  if (part < ROPE_PARTS && (u64)position < (u64)a.table_rows) {
    const bool narrow = a.flags & TABLE_16;
    const int first = ANGLES * (part % (32 / ANGLES));
    load_angles(c, a.cos + position * a.table_stride, first, narrow);
    load_angles(s, a.sin + position * a.table_stride, first, narrow);
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float across = apart(exchange(v[i], lane, ROPE_PARTS / 2) * s[i]);
    const float rotated = multiply_add(v[i], c[i], part < ROPE_PARTS / 2 ? -across : across);
    v[i] = part < ROPE_PARTS ? rotated : v[i];
  }
}

MLAF_DEV float scale_of(float most, bool power_of_two) {
  const float held = larger(most, 1e-4f), x = held * inverse(448.0f);
  if (held == infinity()) return held;
  const float exact = multiply_add(multiply_add(-x, 448.0f, held), inverse(448.0f), x);
  return power_of_two ? float_of(bits_of(exact) + 0x7fffffu & 0xff800000u) : exact;
}

MLAF_DEV void store_length(const mlaf_index_append_kernel_args& a, u32 t) {
  const u32 request = t / (u32)a.q_tokens, behind = (u32)a.q_tokens - 1 - t % (u32)a.q_tokens;
  const int all = load<int>(a.seq_lens + 4ul * request), n = all < 0 ? 0 : all;
  store(a.lengths + 4ul * t, (u32)n > behind ? n - (int)behind : 0);
}

extern "C" __global__ void __launch_bounds__(64) mlaf_mla_index_append_rows_b3ce39a2(const mlaf_index_append_kernel_args a) {
  const int lane = (int)(my_thread() % LANES), part = (int)(my_thread() % PARTS);
  const u32 row = my_block() * ROWS + my_thread() / PARTS, t = row / (H + 1); // rows of a launch fit 32 bits
  const int head = (int)(row % (H + 1));
  const bool there = t < a.tokens, key = head == H;
  let_next_launch_start();
  wait_for_previous_launch();
  word4 x = words(0, 0, 0, 0);
  i64 position = 0;
  if (there) {
    x = load<word4>((key ? a.k + t * a.k_token : a.q + t * a.q_token + head * a.q_head) + 16 * part);
    position = load<i64>(a.positions + 8ul * t);
  }
  float v[8], normed[8];
  unpack(v, x);
#pragma unroll
  for (int i = 0; i < 8; i++) normed[i] = v[i];
  norm(normed, a, part, lane);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = key ? normed[i] : v[i];
  rotate(v, a, position, part, lane);
  float most = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; i++) most = larger(most, magnitude(v[i]));
#pragma unroll
  for (int d = 1; d < PARTS; d *= 2) most = larger(most, exchange(most, lane, d));
  const float scale = scale_of(most, a.flags & POWER_OF_TWO);
  divide(v, scale, inverse(scale));
  const word2 codes = encode(v);
  if (!there) return;
  if (!key) {
    store(a.q8 + t * a.q8_token + head * a.q8_head + 8 * part, codes);
    if (part == 0) {
      const u32 w = load<unsigned short>(a.w + t * a.w_token + 2 * head);
      store(a.w8 + t * a.w8_token + 4 * head, unpack_lo(w) * a.w_scale * scale);
    }
    return;
  }
  if (part == 0 && a.lengths) store_length(a, t);
  const i64 slot = load<i64>(a.slots + 8ul * t);
  if ((u64)slot >= (u64)a.num_slots) return;
  const u32 page = (u32)slot / (u32)a.page_tokens, place = (u32)slot % (u32)a.page_tokens;
  store(a.keys + page * a.keys_page + place * a.keys_row + 8 * part, codes);
  if (part == 0) store(a.scales + page * a.scales_page + place * a.scales_row, scale);
}
