// Generated from templates/mla_gather_kv_b/aside.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_gather_kv_b_aside_a741bb92
// parameters:
//   dtype = bf16
//   heads = 16
//   layout = paged
//   rank = 512
//   rope = 64
//   rotate = 1
//   rows = 8
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/aside target=sm_90a dtype=bf16 heads=16 layout=paged rank=512 rope=64 rotate=1 rows=8


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
struct mlaf_gather_kv_b_kernel_args {
  const char* cache;
  union {
    const float* scale_at;
    const char* kpe;
  };
  const int* table;
  const int* table_indptr;
  const int* cu_seqlens;
  const int* seq_starts;
  const char* w;
  char* k;
  char* v;
  char* k_pe;
  i64 cache_row, cache_page, num_pages, table_stride;
  i64 w_row, w_head;
  i64 k_token, k_head, v_token, v_head, k_pe_token, k_pe_head;
  i64 tokens;
  int batch, table_width;
  u32 page_tokens, shares;
  float scale;
  u32 kpe_row;
  const char* rope_table; // a row of fp32 a position: P/2 cosines, P/2 sines
  i64 rope_rows;
};
static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 224, "differs from runtime/ops/mla_gather_kv_b/launch.h");
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_gather_kv_b_aside_a741bb92_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    17, 0, 0, {0, 0}, 0, {}};

MLAF_DEV float half_value(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
constexpr int H = 16, N = 8, OUT = 16; // the products' outputs are not written here
constexpr int R = 512, ROPE = 64, THREADS = 256, TOKENS = 8;

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
MLAF_DEV i64 find_row(const mlaf_gather_kv_b_kernel_args& a, i64 t) {
  if (t >= a.tokens || a.batch <= 0 || t < load<int>(a.cu_seqlens)) return NO_TOKEN;
  int low = 0, high = a.batch - 1; // the last request that begins at t or before
  while (low < high) {
    const int middle = (low + high + 1) >> 1;
    if (load<int>(a.cu_seqlens + middle) <= t) low = middle;
    else high = middle - 1;
  }
  if (t >= load<int>(a.cu_seqlens + low + 1)) return NO_TOKEN;
  const i64 position = t - load<int>(a.cu_seqlens + low) + (a.seq_starts ? load<int>(a.seq_starts + low) : 0);
  const u32 in = (u32)position / a.page_tokens; // of a negative position more than any table has
  i64 first = low * a.table_stride, width = a.table_width;
  if (a.table_indptr) {
    first = load<int>(a.table_indptr + low);
    width = load<int>(a.table_indptr + low + 1) - first;
  }
  if (first < 0 || in >= width) return NO_ROW;
  const i64 page = load<int>(a.table + first + in);
  if ((u64)page >= (u64)a.num_pages) return NO_ROW;
  return page * a.cache_page + (i64)((u32)position - in * a.page_tokens) * a.cache_row;
}


MLAF_DEV float tidy(float x) { return x == x ? x : not_a_number(); }
MLAF_DEV word4 nan8() {
  const u32 two = pack2(not_a_number(), not_a_number());
  return words(two, two, two, two);
}

MLAF_DEV word4 latent8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c) {
  if (row < 0) return row == NO_TOKEN ? words(0, 0, 0, 0) : nan8();
  return load<word4>(a.cache + row + 16 * c);
}

MLAF_DEV float scale_behind(const mlaf_gather_kv_b_kernel_args& a) {
  return 1.0f;
}

MLAF_DEV word4 rope8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c, float scale) {
  if (row < 0) return nan8();
  return load<word4>(a.cache + row + 2 * R + 16 * c);
}

MLAF_DEV i64 position_of(const mlaf_gather_kv_b_kernel_args& a, i64 t) {
  int r = 0;
  for (int above = a.batch; above - r > 1;) { // request r begins at t or before, `above` behind it
    const int middle = (r + above) >> 1;
    if (load<int>(a.cu_seqlens + middle) <= t) r = middle;
    else above = middle;
  }
  return t - load<int>(a.cu_seqlens + r) + (a.seq_starts ? load<int>(a.seq_starts + r) : 0);
}

MLAF_DEV word4 turned8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, float scale) {
  constexpr int ANGLES = 4, CHUNKS = 64 / 8; // of 16 bytes
  const i64 position = position_of(a, t);
  if (row < 0 || (u64)position >= (u64)a.rope_rows) return nan8();
  const int first = ANGLES * c;
  const char* const at = a.rope_table + (position * 64 + first) * 4;
  float v[8], cosine[ANGLES], sine[ANGLES];
  unpack(v, rope8(a, row, c, scale));
#pragma unroll
  for (int i = 0; i < ANGLES; i += 4) {
    const word4 x = load<word4>(at + 4 * i), y = load<word4>(at + 128 + 4 * i);
    cosine[i] = float_of(x.x), cosine[i + 1] = float_of(x.y), cosine[i + 2] = float_of(x.z), cosine[i + 3] = float_of(x.w);
    sine[i] = float_of(y.x), sine[i + 1] = float_of(y.y), sine[i + 2] = float_of(y.z), sine[i + 3] = float_of(y.w);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float across = v[2 * i + 1] * sine[i], back = v[2 * i] * sine[i];
    v[2 * i] = multiply_add(v[2 * i], cosine[i], -across);
    v[2 * i + 1] = multiply_add(v[2 * i + 1], cosine[i], back);
  }
  return pack(v);
}

MLAF_DEV void store_rope8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, u32 share, float scale) {
  const word4 x = turned8(a, t, row, c, scale);
  char* const to = a.k_pe + t * a.k_pe_token + 16 * c;
  for (u32 h = share; h < (a.k_pe_head ? H : 1u); h += a.shares) store(to + h * a.k_pe_head, x);
}

struct target {
  char* at;
  i64 token;
};
MLAF_DEV target target_of(const mlaf_gather_kv_b_kernel_args& a, int f) {
  const int head = f / OUT, i = f % OUT;
  if (i < N) return {a.k + head * a.k_head + 2 * i, a.k_token};
  return {a.v + head * a.v_head + 2 * (i - N), a.v_token};
}

MLAF_DEV const char* row_of_w(const mlaf_gather_kv_b_kernel_args& a, int f) {
  return a.w + f / OUT * a.w_head + f % OUT * a.w_row;
}

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_gather_kv_b_aside_a741bb92(const mlaf_gather_kv_b_kernel_args a) {
  __shared__ i64 rows[TOKENS];
  const int thread = (int)my_thread();
  const i64 t0 = (i64)my_block() * TOKENS;
  let_next_launch_start();
  wait_for_previous_launch();
  for (int i = thread; i < TOKENS; i += THREADS) rows[i] = find_row(a, t0 + i);
  __syncthreads();
  for (int i = thread; i < TOKENS * (R / 8); i += THREADS) {
    const int token = i / (R / 8), c = i % (R / 8);
    if (t0 + token < a.tokens) store(a.k + (t0 + token) * a.k_token + 16 * c, latent8(a, rows[token], c));
  }
  if (a.k_pe)
    for (int i = thread; i < TOKENS * (ROPE / 8); i += THREADS) {
      const int token = i / (ROPE / 8);
      if (rows[token] != NO_TOKEN) store_rope8(a, t0 + token, rows[token], i % (ROPE / 8), 0, scale_behind(a));
    }
}
