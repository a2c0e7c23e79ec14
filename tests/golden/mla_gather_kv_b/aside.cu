// Generated from templates/mla_gather_kv_b/aside.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/aside target=sm_90a dtype=bf16 heads=16 layout=paged rank=512 rope=64 rotate=1 rows=8

#define MLAF_BF16 1
constexpr int LANES = 32;
// [38 more lines of tests/golden/mla_append/rows.cu]
struct mlaf_gather_kv_b_kernel_args {
// [25 more lines of templates/mla_gather_kv_b/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_gather_kv_b_aside_a741bb92_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    17, 0, 0, {0, 0}, 0, {}};

MLAF_DEV float half_value(unsigned short x) {
// [4 more lines of templates/mla_gather_kv_b/aside.cu.in]
constexpr int H = 16, N = 8, OUT = 16; // the products' outputs are not written here
constexpr int R = 512, ROPE = 64, THREADS = 256, TOKENS = 8;

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
// [21 more lines of tests/golden/mla_gather_kv_b/mfma.hip]

MLAF_DEV float tidy(float x) { return x == x ? x : not_a_number(); }
// [7 more lines of tests/golden/mla_gather_kv_b/mfma.hip]
  return load<word4>(a.cache + row + 16 * c);
}
// [7 more lines of tests/golden/mla_gather_kv_b/mfma.hip]
  return load<word4>(a.cache + row + 2 * R + 16 * c);
}
// [12 more lines of templates/mla_gather_kv_b/lib/rows.h]
  constexpr int ANGLES = 4, CHUNKS = 64 / 8; // of 16 bytes
  const i64 position = position_of(a, t);
  if (row < 0 || (u64)position >= (u64)a.rope_rows) return nan8();
  const int first = ANGLES * c;
  const char* const at = a.rope_table + (position * 64 + first) * 4;
  float v[8], cosine[ANGLES], sine[ANGLES];
// [3 more lines of templates/mla_gather_kv_b/lib/rows.h]
    const word4 x = load<word4>(at + 4 * i), y = load<word4>(at + 128 + 4 * i);
    cosine[i] = float_of(x.x), cosine[i + 1] = float_of(x.y), cosine[i + 2] = float_of(x.z), cosine[i + 3] = float_of(x.w);
// [8 more lines of templates/mla_gather_kv_b/lib/rows.h]
  return pack(v);
// [3 more lines of templates/mla_gather_kv_b/lib/rows.h]
  const word4 x = turned8(a, t, row, c, scale);
  char* const to = a.k_pe + t * a.k_pe_token + 16 * c;
// [16 more lines of templates/mla_gather_kv_b/lib/rows.h]

extern "C" __global__ void __launch_bounds__(256) mlaf_mla_gather_kv_b_aside_a741bb92(const mlaf_gather_kv_b_kernel_args a) {
  __shared__ i64 rows[TOKENS];
// [16 more lines of templates/mla_gather_kv_b/aside.cu.in]
