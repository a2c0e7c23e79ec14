// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/wide_fp8 target=sm_90a dtype=bf16 heads=16 nope=128 norm=1 q_rank=1536 rope=64 split=2 weights=2

#define MLAF_BF16 1
// [46 more lines of tests/golden/lib/projection/stationary_fp8.cu]
  const u32 w = __byte_perm(codes, 0, PAIR ? 0x3424 : 0x1404); // a byte each in the upper half of 16 bits
  const u32 other = w ^ 0x80008000u, nan = ~((other & 0x7fff7fffu) + 0x7fff7fffu | other) & 0x80008000u;
  u32 x = w >> 1 & 0x3f803f80u | w & 0x80008000u;
  asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(0x58005800u)); // 128 twice
  return x | nan - (nan >> 6); // its low bits stay zero, as number.h wants
// [37 more lines of tests/golden/mla_dequant/rows.cu]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/projection/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_wide_fp8_1f6eea79_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 208384, {2, 1, 1},
    17, 0, 0, {0, 0}, 2, {{1, 32, 128, 64}, {2, 64, 32, 128}}};
struct __align__(64) mlaf_tensor_map {
// [13 more lines of tests/golden/lib/projection/stationary_fp8.cu]
MLAF_DEV void wgmma_rs(float (&d)[64], const u32 (&a)[4], u32 b, bool accumulate) {
// [40 more lines of tests/golden/mla_prefill/sm90.cu]
MLAF_DEV void wgmma_rs(float (&d)[80], const u32 (&a)[4], u32 b, bool accumulate) {
// [4 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [3 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}, "
    "{%80, %81, %82, %83}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [8 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
      "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
// [9 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [3 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}, "
    "a, b, p, 1, 1, 0, 0;\n}"
// [9 more lines of tests/golden/lib/projection/ring_absorb.cu]
      "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
// [3 more lines of tests/golden/mla_decode/sm90_many.cu, with other numbers]
// [53 more lines of tests/golden/lib/projection/ring_absorb.cu]
MLAF_DEV void wgmma_rs(float (&d)[112], const u32 (&a)[4], u32 b, bool accumulate) {
// [4 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [5 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111}, "
    "{%112, %113, %114, %115}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [12 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
      "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
// [9 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [5 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111}, "
    "a, b, p, 1, 1, 0, 0;\n}"
// [11 more lines of tests/golden/lib/projection/ring_absorb.cu]
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
// [5 more lines of tests/golden/mla_decode/sm90_many.cu, with other numbers]
MLAF_DEV void wgmma_rs(float (&d)[128], const u32 (&a)[4], u32 b, bool accumulate) {
// [4 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [7 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "{%128, %129, %130, %131}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [18 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
MLAF_DEV void wgmma_ss(float (&d)[128], u32 a, u32 b, bool accumulate) {
// [5 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [7 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "a, b, p, 1, 1, 0, 0;\n}"
// [11 more lines of tests/golden/lib/projection/ring_absorb.cu]
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
// [18 more lines of tests/golden/mla_decode/sm90_small_rank.cu]

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 256, TILE = 128, WAYS = 1, SPLIT = 2;
constexpr int THREADS = 384, MATH = 256, STAGES = 5, STEPS = INNER / 64, SCALES = TILE / 16;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [43 more lines of tests/golden/lib/projection/mfma.hip]
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;
// [28 more lines of tests/golden/lib/projection/ring.cu]
    for (int i = (int)my_thread(); i < QUADS_OF_PASS; i += MATH) {
      float* const at = sums + i / QUADS * PITCH + i % QUADS * 4;
// [15 more lines of templates/lib/projection/sums.h]
  for (int i = rank * SHARE + (int)my_thread(); i < smaller(QUADS_OF_PASS, rank * SHARE + SHARE); i += MATH) {
    const int token = i / QUADS, column = i % QUADS * 4;
// [18 more lines of tests/golden/lib/projection/ring.cu]
constexpr int ROWS = 32; // tokens of a box of x
constexpr int W_AT = TOKENS * 128, W_BYTES = TILE * 64, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = 204800, X_AT = FULL_AT + 8 * STAGES, EMPTY_AT = X_AT + 8 * STAGES; // W is there; x; room
constexpr int SCALES_AT = 208000;
constexpr int GAIN_AT = 204928;
constexpr int W_WARP = MATH / 32, X_WARP = W_WARP + 1;

// [templates/lib/projection/places.h]

MLAF_DEV int width_of(i64 tokens) {
  const i64 passes = (tokens + TOKENS - 1) / TOKENS, each = (tokens + passes - 1) / passes;
  return each <= 128 ? 128 : (int)((each + ROWS - 1) / ROWS) * ROWS;
}
// [9 more lines of templates/lib/projection/wide_fp8.h]
  barrier_expect(full, (u32)width * 128);
// [4 more lines of templates/lib/projection/wide_fp8.h]

MLAF_DEV void load_pass(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int width,
                        int warp, int thread, ring& r) {
  if (thread == 32 * W_WARP)
// [7 more lines of tests/golden/lib/projection/ring_fp8.cu]
      load_x(p, shared, at, step, t0, width, r);
// [43 more lines of templates/lib/projection/wide_fp8.h]
MLAF_DEV u32 number2(u32 codes, float scale, u32 gain) {
  float a, b;
  decode2<0>(codes, a, b);
  return pack2(a * scale * unpack_lo(gain), b * scale * unpack_hi(gain));
}
MLAF_DEV void take_w(u32 (&a)[4][4], u32 w, int g, float scale, u32 gain) {
// [10 more lines of templates/lib/projection/wide_fp8.h]
    for (int i = 0; i < 4; i++) a[j][i] = number2(codes[j][i], scale, gains[i >> 1]);
  }
// [4 more lines of templates/lib/projection/wide_fp8.h]
  asm("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(y) : "r"(x));
  return y;
// [9 more lines of templates/lib/projection/wide_fp8.h]
                        ring& r, int& before, float& square) {
// [26 more lines of templates/lib/projection/wide_fp8.h]
  const lane_place l = {shared, (u32)(W_AT + (16 * warp + g) * 64 + 2 * t), shared + GAIN_AT + 4 * t,
                        (const float*)(memory + SCALES_AT) + warp - begin * SCALES, g, lane, thread};
// [6 more lines of templates/lib/projection/wide_fp8.h]
  take_w(a[0], shared + r.stage * STAGE + l.row, g, l.scales[begin * SCALES], l.gain + 128 * begin);
// [4 more lines of templates/lib/projection/wide_fp8.h]
    take_step<WIDTH>(total, a[0], a[1], l, step, end, r, before, square);
    take_step<WIDTH>(total, a[1], a[0], l, step + 1, end, r, before, square);
  }
// [17 more lines of templates/lib/projection/wide_fp8.h]
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#pragma unroll 1
  for (i64 t0 = 0; t0 < args.tokens; t0 += WIDTH) {
    multiply_pass<WIDTH>(memory, shared, begin, end, thread, r);
// [6 more lines of templates/lib/projection/wide_fp8.h]
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_q_b_wide_fp8_1f6eea79(
    const __grid_constant__ mlaf_projection_params p) {
// [5 more lines of templates/lib/projection/wide_fp8.h]
  const place at = place_of(p.a, my_block() / SPLIT);
  const int begin = 2 * (STEPS / 2 * rank / SPLIT), end = 2 * (STEPS / 2 * (rank + 1) / SPLIT);
// [4 more lines of templates/lib/projection/wide_fp8.h]
      barrier_init(shared + X_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, MATH / 32);
// [10 more lines of templates/lib/projection/wide_fp8.h]
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#pragma unroll 1
    for (i64 t0 = 0; t0 < p.a.tokens; t0 += width) {
      load_pass(p, shared, at, begin, end, t0, width, warp, thread, r);
// [3 more lines of templates/lib/projection/wide_fp8.h]
    }
    return;
  }
  if (width == 128) return multiply_all<128>(p.a, at, memory, shared, begin, end, thread, rank, r);
// [4 more times the line above, with other numbers]
}
