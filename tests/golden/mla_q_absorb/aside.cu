// Generated from templates/mla_q_absorb/aside.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_absorb_aside_39632e6d
// parameters:
//   dtype = bf16
//   nope = 128
//   rank = 512
//   rope = 64
//   style = pairs
//   threads = 128
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/aside target=sm_90a dtype=bf16 nope=128 rank=512 rope=64 style=pairs threads=128

#define MLAF_BF16 1
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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_aside_39632e6d_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 128, OUTER = 512, THREADS = 128, TOKENS = THREADS / 8;
constexpr int ROPE = 64;
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 4;      // of an item

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
      float &p = v[0][2 * k], &q = v[0][2 * k + 1];
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

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_q_absorb_aside_39632e6d(const mlaf_projection_kernel_args a) {
  const int blocks = (int)((a.tokens + TOKENS - 1) / TOKENS); // of a head
  const int head = (int)my_block() / blocks, first = (int)my_block() % blocks * THREADS + (int)my_thread();
  let_next_launch_start();
  wait_for_previous_launch();
  turn_rows(a, a.x + head * a.x_head, a.y + head * a.y_head, first, blocks * THREADS);
}
