// Generated from templates/mla_q_b/aside.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_q_b_aside_029ce0c5
// parameters:
//   dtype = f16
//   q_rank = 768
//   threads = 256
// regenerate: lua5.4 gen/cli.lua render mla_q_b/aside target=gfx942 dtype=f16 q_rank=768 threads=256
// RMSNorm of mla_q_b's input where a library makes the product: y[t] = x[t] * gain / root(mean square of x[t] + eps), rounded
// once. A block has a token; a thread has 16 bytes of the row, every THREADS-th.

#define MLAF_BF16 0
// One text for CUDA and HIP: block and thread numbers, lanes, loads and stores of global memory, packs of eight 16-bit values.
constexpr int LANES = 64;
// A layer's first launch lets the next one start only behind its own wait. So whatever was there before a layer's launches is
// there for all of them but the second, ahead of their own waits, too: mla_decode/sm90_few_ahead reads a cache then.
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/wave.h]
#define MLAF_CVT_BF16 0
// [templates/lib/number.h]
typedef u32x4 word4;
typedef u32x2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return word4{a, b, c, d}; }
MLAF_DEV u32 my_block() { return (u32)group_x(); }
MLAF_DEV u32 my_thread() { return (u32)thread_id(); }
MLAF_DEV void wait_for_previous_launch() {}
MLAF_DEV void let_next_launch_start() {}
MLAF_DEV float exchange(float x, int lane, int d) { return lane_xor(x, lane, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const MLAF_GLOBAL T*)(u64)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(MLAF_GLOBAL T*)(u64)p = x;
}
MLAF_DEV word4 load_weights(const void* p) { return load<word4>(p); }
MLAF_DEV float not_a_number() { return float_of(0x7fc00000u); } // its low bits are zero, as number.h wants
MLAF_DEV float inverse_root(float x) { return __builtin_amdgcn_rsqf(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Eight 16-bit values as floats, and back, rounded to nearest even.
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
// Two pairs multiplied, each product rounded.
MLAF_DEV u32 multiply2(u32 a, u32 b) { return pack2(unpack_lo(a) * unpack_lo(b), unpack_hi(a) * unpack_hi(b)); }
// [templates/lib/projection/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `shared`, bytes of dynamic shared memory, `cluster`, blocks that work on a tile
// together, `maps`, tensor maps { which of 1 W, 2 x; columns and rows of a box }, and `flags` beside PDL's: 16, it takes scales;
// 64, what it loads ahead wants room in L1.
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_q_b_aside_029ce0c5_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    0, 0, 0, {0, 0}, 0, {}};

constexpr int INNER = 768, CHUNKS = INNER / 8, THREADS = 256, WAVES = THREADS / LANES;
constexpr int ROUNDS = (CHUNKS + THREADS - 1) / THREADS;

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_q_b_aside_029ce0c5(const mlaf_projection_kernel_args a) {
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
  const float factor = inverse_root(multiply_add(square, 0.00130208333f, a.eps));
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
