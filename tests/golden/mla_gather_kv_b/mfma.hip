// Generated from templates/mla_gather_kv_b/mfma.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/mfma target=gfx90a blocks=1 dtype=f16 heads=8 layout=fp8_ds_mla nope=192 rank=256 rope=64 rotate=0 stages=1 vdim=256 waves=2

#define MLAF_BF16 0
constexpr int LANES = 64;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/wave.h]
#define MLAF_CVT_BF16 0
// [templates/lib/number.h]
typedef u32x4 word4;
// [32 more lines of templates/lib/projection/machine.h]
struct mlaf_gather_kv_b_kernel_args {
// [21 more lines of templates/mla_gather_kv_b/lib/args.h]
};
static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 208, "differs from runtime/ops/mla_gather_kv_b/launch.h");
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_gather_kv_b_mfma_3574fd2a_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    0, 0, 0, {0, 0}, 0, {}};

MLAF_DEV float half_value(unsigned short x) { return (float)__builtin_bit_cast(_Float16, x); }
constexpr int H = 8, N = 192, OUT = 448, ALL = H * OUT, R = 256, ROPE = 64;
constexpr int WAVES = 2, THREADS = 64 * WAVES, TOKENS = 32 * WAVES, BLOCKS = 1, OUTPUTS = 32 * BLOCKS;
constexpr int STAGES = 1, STAGE = OUTPUTS * 2 * R, ROUNDS = (ALL + OUTPUTS - 1) / OUTPUTS;
constexpr int ROW_CHUNKS = R / 8, CHUNKS = OUTPUTS * ROW_CHUNKS, COPIES = (CHUNKS + THREADS - 1) / THREADS;
constexpr int TURN = ROW_CHUNKS % 8 == 0 ? 7 : 3; // what chunks are exchanged by stays within a row

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
// [18 more lines of templates/mla_gather_kv_b/lib/rows.h]
  if ((u64)page >= (u64)a.num_pages) return NO_ROW;
  return page * a.cache_page + (i64)((u32)position - in * a.page_tokens) * a.cache_row;
}
// [3 more lines of templates/mla_gather_kv_b/lib/rows.h]
  const float x = half_value(half) * 256.0f;
  return (code & 0x7fu) == 0x7fu ? not_a_number() : x;
}
// [12 more lines of templates/mla_gather_kv_b/lib/rows.h]

MLAF_DEV word4 latent8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c) {
  if (row < 0) return row == NO_TOKEN ? words(0, 0, 0, 0) : nan8();
  return decode8(load<word2>(a.cache + row + 8 * c), tidy(load<float>(a.cache + row + R + 4 * (c / 16))));
}

MLAF_DEV float scale_behind(const mlaf_gather_kv_b_kernel_args& a) {
  return 1.0f;
// [4 more lines of templates/mla_gather_kv_b/lib/rows.h]
  return load<word4>(a.cache + row + R + 16 + 16 * c);
}

MLAF_DEV void store_rope8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, u32 share, float scale) {
  const word4 x = rope8(a, row, c, scale);
  char* const to = a.k_pe + t * a.k_pe_token + 16 * c;
// [16 more lines of templates/mla_gather_kv_b/lib/rows.h]

typedef float f32x16 __attribute__((ext_vector_type(16)));
// [55 more lines of templates/mla_gather_kv_b/mfma.hip.in]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(128, 128),
                                     amdgpu_waves_per_eu(2, 2))) void
mlaf_mla_gather_kv_b_mfma_3574fd2a(mlaf_gather_kv_b_kernel_args a) {
  __shared__ __attribute__((aligned(16))) char lds[16384];
  const int thread = (int)my_thread(), lane = thread & 63, wave = uniform(thread >> 6);
// [27 more lines of templates/mla_gather_kv_b/mfma.hip.in]
