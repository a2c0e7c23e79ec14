// Generated from templates/mla_q_scale/rows.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_scale_rows_29c59b70
// parameters:
//   depth = 1
//   dtype = bf16
//   heads = 16
//   qdim = 192
//   threads = 256
// regenerate: lua5.4 gen/cli.lua render mla_q_scale/rows target=sm_90a depth=1 dtype=bf16 heads=16 qdim=192 threads=256


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
// [templates/mla_q_scale/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_scale_rows_29c59b70_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, CHUNKS = 24, THREADS = 256, ROWS = 10;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;
constexpr i64 POSITION_MOST = 0x7fffffff;

MLAF_DEV float factor_of(i64 position, float beta, u32 original) {
  const u32 at = (u32)(position < 0 ? 0 : position > POSITION_MOST ? POSITION_MOST : position), k = at / original;
  return k ? multiply_add(beta, LN_2 * log2_fast((float)(k + 1)), 1.0f) : 1.0f;
}

MLAF_DEV word4 scaled(word4 q, float by) {
  float v[8];
  unpack(v, q);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] *= by;
  return pack(v);
}

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_q_scale_rows_29c59b70(const mlaf_q_scale_kernel_args a) {
  const int thread = (int)my_thread();
  const u32 first = my_block() * ROWS; // rows of a launch fit 32 bits
  const bool apart = a.x != a.y;
  let_next_launch_start();
  wait_for_previous_launch();
  float factor[DEPTH];
  word4 q[DEPTH];
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS;
    const u32 row = first + item / CHUNKS;
    factor[k] = 1.0f;
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows)
      factor[k] = factor_of(load<i64>(a.positions + row / H), a.beta, a.original);
  }
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS;
    const u32 row = first + item / CHUNKS;
    const i64 token = row / H, head = row % H, column = 16 * (item % CHUNKS);
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows && (apart || factor[k] != 1.0f))
      q[k] = load<word4>(a.x + token * a.x_token + head * a.x_head + column);
  }
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS;
    const u32 row = first + item / CHUNKS;
    const i64 token = row / H, head = row % H, column = 16 * (item % CHUNKS);
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows && (apart || factor[k] != 1.0f))
      store(a.y + token * a.y_token + head * a.y_head + column, factor[k] != 1.0f ? scaled(q[k], factor[k]) : q[k]);
  }
}
