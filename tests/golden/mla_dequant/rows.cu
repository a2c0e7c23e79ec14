// Generated from templates/mla_dequant/rows.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_dequant/rows target=sm_80 columns=96 depth=1 dtype=f16 threads=128 weights=e4m3fn

#define MLAF_BF16 0
// [39 more lines of tests/golden/mla_append/rows.cu]
// [templates/mla_dequant/lib/args.h]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_dequant_rows_1b75ae2a_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    0, 0, 0, {0, 0}, 0, {}};
// [templates/lib/projection/args.h]
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(a), "=f"(b) : "r"(x));
}
// [3 more lines of templates/lib/e4m3.h]
  const u32 w = __byte_perm(codes, 0, PAIR ? 0x3424 : 0x1404); // a byte each in the upper half of 16 bits
  const u32 nan = (w & 0x7f007f00u) + 0x01000100u & 0x80008000u;
  u32 x = w >> 1 & 0x3f803f80u | w & 0x80008000u;
  asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(0x5c005c00u)); // 256 twice
  return x | nan - (nan >> 6); // its low bits stay zero, as number.h wants
// [4 more lines of templates/lib/e4m3.h]
  unpack_halves(halves_of<PAIR>(codes), a, b);
// [7 more lines of templates/lib/e4m3.h]
#else
  return halves_of<PAIR>(codes);
#endif
}

MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
// [17 more lines of templates/lib/projection/fp8.h]
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}

constexpr int CHUNKS = 12, THREADS = 128, ROWS = 10;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;
// [4 more lines of templates/mla_dequant/rows.cu.in]
  return scale;
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_dequant_rows_1b75ae2a(const mlaf_dequant_kernel_args a) {
  const int thread = (int)my_thread();
// [26 more lines of templates/mla_dequant/rows.cu.in]
