// Generated from templates/mla_gather_kv_b/mma.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_gather_kv_b_mma_781bf981
// parameters:
//   across = 4
//   cols = 128
//   dtype = bf16
//   heads = 8
//   layout = fp8_ds_mla
//   nope = 192
//   rank = 512
//   rope = 64
//   rotate = 0
//   rows = 64
//   stages = 4
//   vdim = 256
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/mma target=sm_90a across=4 cols=128 dtype=bf16 heads=8 layout=fp8_ds_mla nope=192 rank=512 rope=64 rotate=0 rows=64 stages=4 vdim=256


#define MLAF_BF16 1
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
// [templates/lib/mma.h]
struct mlaf_gather_kv_b_kernel_args {
// [21 more lines of templates/mla_gather_kv_b/lib/args.h]
};
static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 208, "differs from runtime/ops/mla_gather_kv_b/launch.h");
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_gather_kv_b_mma_781bf981_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 140800, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};

typedef uint2 word2;
MLAF_DEV float half_value(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
constexpr int H = 8, N = 192, OUT = 448, ALL = H * OUT, R = 512, ROPE = 64;
constexpr int TOKENS = 64, COLS = 128, ACROSS = 4, WIDE = COLS / ACROSS, THREADS = 256;
constexpr int STAGES = 4, STEP = 64, STEPS = R / STEP, TILES = (ALL + COLS - 1) / COLS;
constexpr int PITCH_X = 2 * R + 16, PITCH_W = 2 * STEP + 16; // bytes of a row in shared memory

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
// [18 more lines of templates/mla_gather_kv_b/lib/rows.h]
  if ((u64)page >= (u64)a.num_pages) return NO_ROW;
  return page * a.cache_page + (i64)((u32)position - in * a.page_tokens) * a.cache_row;
}

MLAF_DEV float decode1(u32 code) {
  const unsigned short half = (unsigned short)((code & 0x7fu) << 7 | (code & 0x80u) << 8);
  const float x = half_value(half) * 256.0f;
  return (code & 0x7fu) == 0x7fu ? not_a_number() : x;
}
MLAF_DEV u32 decode2(u32 codes, float scale) {
  return pack2(decode1(codes & 0xffu) * scale, decode1(codes >> 8 & 0xffu) * scale);
}
MLAF_DEV word4 decode8(word2 x, float scale) {
  return words(decode2(x.x, scale), decode2(x.x >> 16, scale), decode2(x.y, scale), decode2(x.y >> 16, scale));
}

MLAF_DEV float tidy(float x) { return x == x ? x : not_a_number(); }
MLAF_DEV word4 nan8() {
  const u32 two = pack2(not_a_number(), not_a_number());
  return words(two, two, two, two);
}

MLAF_DEV word4 latent8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c) {
  if (row < 0) return row == NO_TOKEN ? words(0, 0, 0, 0) : nan8();
  return decode8(load<word2>(a.cache + row + 8 * c), tidy(load<float>(a.cache + row + R + 4 * (c / 16))));
}

MLAF_DEV float scale_behind(const mlaf_gather_kv_b_kernel_args& a) {
  return 1.0f;
}

MLAF_DEV word4 rope8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c, float scale) {
  if (row < 0) return nan8();
  return load<word4>(a.cache + row + R + 16 + 16 * c);
}


MLAF_DEV void store_rope8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, u32 share, float scale) {
  const word4 x = rope8(a, row, c, scale);
  char* const to = a.k_pe + t * a.k_pe_token + 16 * c;
  for (u32 h = share; h < (a.k_pe_head ? H : 1u); h += a.shares) store(to + h * a.k_pe_head, x);
}

struct target {
// [12 more lines of templates/mla_gather_kv_b/lib/rows.h]

MLAF_DEV int place_of(int o) { return (o & ~31) + 8 * ((o & 7) >> 1) + 2 * ((o & 31) >> 3) + (o & 1); }
// [72 more lines of templates/mla_gather_kv_b/mma.cu.in]

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_gather_kv_b_mma_781bf981(const __grid_constant__ mlaf_gather_kv_b_kernel_args a) {
  extern __shared__ __align__(128) char memory[];
// [21 more lines of templates/mla_gather_kv_b/mma.cu.in]
  if (a.k_pe)
    for (int i = thread; i < TOKENS * (ROPE / 8); i += THREADS) {
      const int token = i / (ROPE / 8);
      if (rows[token] != NO_TOKEN) store_rope8(a, t0 + token, rows[token], i % (ROPE / 8), share, scale);
    }

  const int down = warp / ACROSS, side = warp % ACROSS;
// [18 more lines of templates/mla_gather_kv_b/mma.cu.in]
