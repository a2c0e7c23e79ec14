// Generated from templates/mla_q_b/aside.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_aside_f2876c20
// parameters:
//   dtype = bf16
//   q_rank = 1536
//   threads = 128
// regenerate: lua5.4 gen/cli.lua render mla_q_b/aside target=sm_90a dtype=bf16 q_rank=1536 threads=128

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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_aside_f2876c20_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 1536, CHUNKS = INNER / 8, THREADS = 128, WAVES = THREADS / LANES;
constexpr int ROUNDS = (CHUNKS + THREADS - 1) / THREADS;

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_q_b_aside_f2876c20(const mlaf_projection_kernel_args a) {
  __shared__ __attribute__((aligned(16))) float squares[16];
  const int thread = (int)my_thread(), lane = thread % LANES;
  const i64 token = my_block();
  word4 gain[ROUNDS], x[ROUNDS];
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    const int chunk = r * THREADS + thread;
    gain[r] = load<word4>(a.gain + 16 * (chunk < CHUNKS ? chunk : CHUNKS - 1));
  }
  let_next_launch_start();
  wait_for_previous_launch();
  float square = 0.0f;
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    const int chunk = r * THREADS + thread;
    float v[8];
    x[r] = chunk < CHUNKS ? load<word4>(a.x + token * a.x_token + 16 * chunk) : words(0, 0, 0, 0);
    unpack(v, x[r]);
#pragma unroll
    for (int i = 0; i < 8; i++) square = multiply_add(v[i], v[i], square);
  }
  for (int d = LANES / 2; d; d /= 2) square += exchange(square, lane, d);
  if (lane == 0) squares[thread / LANES] = square;
  __syncthreads();
  square = 0.0f;
#pragma unroll
  for (int w = 0; w < WAVES; w++) square += squares[w];
  const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps));
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    const int chunk = r * THREADS + thread;
    float v[8], g[8];
    unpack(v, x[r]);
    unpack(g, gain[r]);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = v[i] * factor * g[i];
    if (chunk < CHUNKS) store(a.y + token * a.y_token + 16 * chunk, pack(v));
  }
}
