// Generated from templates/mla_merge/rows.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_merge_rows_98b922af
// parameters:
//   depth = 2
//   dtype = bf16
//   heads = 16
//   threads = 128
//   vdim = 128
// regenerate: lua5.4 gen/cli.lua render mla_merge/rows target=sm_90a depth=2 dtype=bf16 heads=16 threads=128 vdim=128


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
// [templates/mla_merge/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_merge_rows_98b922af_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int H = 16, CHUNKS = 16, THREADS = 128, ROWS = 16;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;
constexpr float LOG2_E = 1.44269504f;

MLAF_DEV bool is_empty(float lse) { return (bits_of(lse) & 0x7fffffffu) == 0x7f800000u; }

struct weights {
  float prefix, suffix, lse;
  bool no_prefix, no_suffix;
};

MLAF_DEV weights weigh(float a, float b, u32 flags) {
  weights w;
  w.no_prefix = is_empty(a) && b == b;
  w.no_suffix = is_empty(b) && a == a;
  const bool base_2 = flags & MERGE_BASE_2;
  const float to_2 = base_2 ? 1.0f : LOG2_E, from_2 = base_2 ? 1.0f : LN_2;
  const float m = w.no_prefix ? b : w.no_suffix ? a : a > b ? a : b;
  const float wa = w.no_prefix ? 0.0f : exp2_fast((a - m) * to_2), wb = w.no_suffix ? 0.0f : exp2_fast((b - m) * to_2);
  const float inverse = 1.0f / (wa + wb);
  const bool lost = a != a || b != b; // then a NaN of our own: its low bits are zero, as number.h wants
  w.prefix = lost ? not_a_number() : wa * inverse;
  w.suffix = lost ? not_a_number() : wb * inverse;
  w.lse = w.no_prefix && w.no_suffix ? minus_inf() : lost ? not_a_number() : m + from_2 * log2_fast(wa + wb);
  return w;
}

MLAF_DEV word4 merged(const weights& w, word4 a, word4 b) {
  if (w.no_prefix) return w.no_suffix ? words(0, 0, 0, 0) : b;
  if (w.no_suffix) return a;
  float x[8], y[8];
  unpack(x, a);
  unpack(y, b);
#pragma unroll
  for (int i = 0; i < 8; i++) x[i] = multiply_add(x[i], w.prefix, y[i] * w.suffix);
  return pack(x);
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_merge_rows_98b922af(const mlaf_merge_kernel_args a) {
  const int thread = (int)my_thread();
  const u32 first = my_block() * ROWS; // rows of a launch fit 32 bits
  let_next_launch_start();
  wait_for_previous_launch();
  word4 prefix[DEPTH], suffix[DEPTH];
  float prefix_lse[DEPTH], suffix_lse[DEPTH];
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS;
    const u32 row = first + item / CHUNKS;
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows) {
      const i64 token = row / H, head = row % H, column = 16 * (item % CHUNKS);
      prefix[k] = load<word4>(a.prefix_o + token * a.prefix_token + head * a.prefix_head + column);
      suffix[k] = load<word4>(a.suffix_o + token * a.suffix_token + head * a.suffix_head + column);
      prefix_lse[k] = load<float>(a.prefix_lse + token * a.prefix_lse_token + head * a.prefix_lse_head);
      suffix_lse[k] = load<float>(a.suffix_lse + token * a.suffix_lse_token + head * a.suffix_lse_head);
    }
  }
  __syncthreads(); // nobody reads a sum of the block any more
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS;
    const u32 row = first + item / CHUNKS;
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows) {
      const i64 token = row / H, head = row % H, column = 16 * (item % CHUNKS);
      const weights w = weigh(prefix_lse[k], suffix_lse[k], a.flags);
      store(a.o + token * a.o_token + head * a.o_head + column, merged(w, prefix[k], suffix[k]));
      if (a.lse && item % CHUNKS == 0) store(a.lse + token * a.lse_token + head * a.lse_head, w.lse);
    }
  }
}
