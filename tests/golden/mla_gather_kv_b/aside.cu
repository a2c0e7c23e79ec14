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
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
struct mlaf_gather_kv_b_kernel_args {
// [21 more lines of templates/mla_gather_kv_b/lib/args.h]
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
// [18 more lines of templates/mla_gather_kv_b/lib/rows.h]
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
// [10 more lines of templates/mla_gather_kv_b/lib/rows.h]
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
// [12 more lines of templates/mla_gather_kv_b/lib/rows.h]

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_gather_kv_b_aside_a741bb92(const mlaf_gather_kv_b_kernel_args a) {
  __shared__ i64 rows[TOKENS];
// [10 more lines of templates/mla_gather_kv_b/aside.cu.in]
  if (a.k_pe)
    for (int i = thread; i < TOKENS * (ROPE / 8); i += THREADS) {
      const int token = i / (ROPE / 8);
      if (rows[token] != NO_TOKEN) store_rope8(a, t0 + token, rows[token], i % (ROPE / 8), 0, scale_behind(a));
    }
}
