// Generated from templates/mla_merge_parts/rows.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_merge_parts_rows_ee06047a
// parameters:
//   depth = 2
//   dtype = bf16
//   heads = 16
//   parts = 4
//   threads = 128
//   vdim = 512
// regenerate: lua5.4 gen/cli.lua render mla_merge_parts/rows target=sm_90a depth=2 dtype=bf16 heads=16 parts=4 threads=128 vdim=512


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
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_merge_parts_rows_ee06047a_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

constexpr int N = 4, H = 16, CHUNKS = 64, THREADS = 128, ROWS = 4;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;
constexpr float LOG2_E = 1.44269504f;
constexpr u32 IN_BASE_2 = 1, OUT_BASE_2 = 2; // as in include/mlaforge/mla_merge_parts.h

struct mlaf_merge_parts_kernel_args {
  const char* parts;
  const float* parts_lse;
  char* o;
  float* lse;
  i64 parts_part, parts_token, parts_head, parts_lse_part, parts_lse_token, parts_lse_head;
  i64 o_token, o_head, lse_token, lse_head;
  i64 rows;
  u32 flags, reserved;
};
static_assert(sizeof(mlaf_merge_parts_kernel_args) == 128, "differs from gen/ops/mla_merge_parts/args.lua");

MLAF_DEV bool is_empty(float lse) { return (bits_of(lse) & 0x7fffffffu) == 0x7f800000u; }

struct merged_row {
  float weight[N], lse;
  int n; // parts that are not empty
};

MLAF_DEV merged_row weigh(const float (&lse)[N], u32 flags) {
  merged_row r;
  const float to_2 = flags & IN_BASE_2 ? 1.0f : LOG2_E;
  float m = minus_inf(), sum = 0.0f;
  bool lost = false; // some LSE is a NaN
  r.n = 0;
#pragma unroll
  for (int i = 0; i < N; i++) {
    lost |= lse[i] != lse[i];
    if (!is_empty(lse[i])) r.n++, m = lse[i] > m ? lse[i] : m;
  }
#pragma unroll
  for (int i = 0; i < N; i++) sum += r.weight[i] = is_empty(lse[i]) ? 0.0f : exp2_fast((lse[i] - m) * to_2);
  const float inverse = 1.0f / sum, log2_sum = log2_fast(sum);
#pragma unroll
  for (int i = 0; i < N; i++) r.weight[i] = lost ? not_a_number() : r.weight[i] * inverse;
  const float in_2 = m * to_2 + log2_sum; // -inf where all parts are empty, as is `natural`
  const float natural = flags & IN_BASE_2 ? in_2 * LN_2 : m + log2_sum * LN_2;
  r.lse = lost ? not_a_number() : flags & OUT_BASE_2 ? in_2 : natural;
  if (lost) r.n = N + 1; // no part alone: its weight is a NaN
  return r;
}

MLAF_DEV word4 merged(const merged_row& r, const float (&lse)[N], const word4 (&part)[N]) {
  word4 alone = words(0, 0, 0, 0);
  float sum[8] = {};
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (is_empty(lse[i])) continue;
    float x[8];
    unpack(x, part[i]);
    alone = part[i];
#pragma unroll
    for (int k = 0; k < 8; k++) sum[k] = multiply_add(x[k], r.weight[i], sum[k]);
  }
  return r.n <= 1 ? alone : pack(sum);
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_merge_parts_rows_ee06047a(const mlaf_merge_parts_kernel_args a) {
  const int thread = (int)my_thread();
  const u32 first = my_block() * ROWS; // rows of a launch fit 32 bits
  let_next_launch_start();
  wait_for_previous_launch();
  word4 part[DEPTH][N];
  float lse[DEPTH][N];
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS;
    const u32 row = first + item / CHUNKS;
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows) {
      const i64 token = row / H, head = row % H, column = 16 * (item % CHUNKS);
      const char* o = a.parts + token * a.parts_token + head * a.parts_head + column;
      const float* sums = a.parts_lse + token * a.parts_lse_token + head * a.parts_lse_head;
#pragma unroll
      for (int i = 0; i < N; i++) {
        part[k][i] = load<word4>(o + i * a.parts_part);
        lse[k][i] = load<float>(sums + i * a.parts_lse_part);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS;
    const u32 row = first + item / CHUNKS;
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows) {
      const i64 token = row / H, head = row % H, column = 16 * (item % CHUNKS);
      const merged_row r = weigh(lse[k], a.flags);
      store(a.o + token * a.o_token + head * a.o_head + column, merged(r, lse[k], part[k]));
      if (a.lse && item % CHUNKS == 0) store(a.lse + token * a.lse_token + head * a.lse_head, r.lse);
    }
  }
}
