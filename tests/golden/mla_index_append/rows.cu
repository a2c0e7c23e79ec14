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
// [10 more lines of templates/mla_append/lib/machine.h]
MLAF_DEV i64 load_past_l1(const i64* at) {
// [21 more lines of templates/mla_append/lib/machine.h]
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float inverse(float x) { return __frcp_rn(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
MLAF_DEV float magnitude(float x) { return fabsf(x); }
MLAF_DEV float larger(float a, float b) { return fmaxf(a, b); }
MLAF_DEV float apart(float x) { return x; }

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [10 more lines of templates/mla_append/lib/machine.h]
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
// [13 more lines of templates/mla_append/lib/fp8.h]

constexpr int H = 64, PARTS = 16, ROWS = 4; // lanes of a row; rows of a block
constexpr int ROPE_PARTS = 8;                                   // the first lanes have the rope columns
constexpr int ANGLES = 8;         // of a lane

MLAF_DEV float sum_of_row(float x, int lane) {
// [46 more lines of templates/mla_index_append/rows.cu.in]
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float across = apart(exchange(v[i], lane, ROPE_PARTS / 2) * s[i]);
    const float rotated = multiply_add(v[i], c[i], part < ROPE_PARTS / 2 ? -across : across);
    v[i] = part < ROPE_PARTS ? rotated : v[i];
  }
}

MLAF_DEV float scale_of(float most, bool power_of_two) {
// [11 more lines of templates/mla_index_append/rows.cu.in]

extern "C" __global__ void __launch_bounds__(64) mlaf_mla_index_append_rows_b3ce39a2(const mlaf_index_append_kernel_args a) {
  const int lane = (int)(my_thread() % LANES), part = (int)(my_thread() % PARTS);
// [19 more lines of templates/mla_index_append/rows.cu.in]
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
