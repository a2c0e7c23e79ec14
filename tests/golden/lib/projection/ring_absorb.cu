// Generated from templates/mla_q_b/ring_absorb_append.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_q_b/ring_absorb_append target=sm_90a absorb=1 append=1 append_norm=1 append_style=0 dtype=bf16 heads=128 nope=128 norm=1 pass=128 q_rank=1536 rank=512 rope=64

#define MLAF_BF16 1
// [45 more lines of tests/golden/lib/projection/mma.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_ring_absorb_append_3a19537f_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 224384, {1, 1, 1},
    8577, 0, 0, {0, 0}, 3, {{1, 64, 192, 128}, {2, 64, 128, 128}, {3, 64, 128, 128}}};
struct __align__(64) mlaf_tensor_map {
// [13 more lines of tests/golden/lib/projection/ring.cu]
MLAF_DEV void wgmma_rs(float (&d)[96], const u32 (&a)[4], u32 b, bool accumulate) {
// [4 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [4 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
    "{%96, %97, %98, %99}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [10 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
// [9 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [4 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
    "a, b, p, 1, 1, 0, 0;\n}"
// [7 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
// [3 more lines of tests/golden/mla_gather_kv_b/sm90.cu, with other numbers]
// [42 more lines of tests/golden/mla_prefill/sm90.cu]

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// [10 more lines of templates/lib/wgmma.h]

constexpr int INNER = 1536, OUTER = 24576, TOKENS = 128, TILE = 192, WAYS = 1;
constexpr int NOPE = 128, P = 64, OUTS = 128, PARTS = 512 / OUTS;
constexpr int THREADS = 384, STAGES = 5, STEPS = INNER / 64, MATH_WARPS = 8;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
// [43 more lines of tests/golden/lib/projection/mfma.hip]

MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
// [26 more lines of templates/mla_append/lib/machine.h]
namespace append {
// [77 more lines of tests/golden/lib/projection/mfma_absorb.hip]
  i64 slot = load_past_l1(slot_at);
// [13 more lines of templates/mla_append/lib/token.h]
  const i64 slot_now = load<i64>(slot_at);
// [10 more lines of templates/mla_append/lib/token.h]
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
// [9 more lines of templates/mla_append/lib/token.h]
  if (__builtin_expect(slot_now != slot, 0)) to = place_of(a, slot_now);
// [5 more lines of templates/mla_append/lib/token.h]
  const float factor = inverse_root(multiply_add(sum, 0.001953125f, a.eps));
// [43 more lines of tests/golden/lib/projection/mfma_absorb.hip]
struct gain_scale {
// [9 more lines of templates/lib/projection/gain.h]
constexpr int W_AT = TOKENS * 128, STAGE = 40960;
constexpr int FULL_AT = 204800, EMPTY_AT = FULL_AT + 8 * STAGES;
constexpr int GAIN_AT = 204928, ROOM_AT = 208000; // the norm's weights; outputs of each warp
constexpr int W_WARP = MATH_WARPS, X_WARP = MATH_WARPS + 1;
// [templates/lib/projection/places.h]
MLAF_DEV u32 times(u32 a, u32 b) { // two pairs multiplied, each product rounded once
// [33 more lines of tests/golden/lib/projection/ring.cu]

template <class ARGS>
// [6 more lines of templates/lib/projection/ring_absorb.h]

// [templates/lib/projection/x_rows.h]

MLAF_DEV void load_w(const params& p, u32 shared, int head, int step, const ring& r) {
// [67 more lines of templates/lib/projection/ring_absorb.h]
    factor[h] = inverse_root(multiply_add(square, 0.000651041667f, p.a.eps)) * up;
  }
// [46 more lines of templates/lib/projection/ring_absorb.h]
    for (int i = 0; i < P / 8; i++)
#pragma unroll
      for (int k = 0; k < 1; k++) {
        const int angle = 4 * i + (lane & 3);
        float c = not_a_number(), s = c;
// [7 more lines of templates/lib/projection/ring_absorb.h]
        float &x = q[4 * i + 2 * h], &y = q[4 * i + 2 * h + 1];
// [13 more lines of templates/lib/projection/ring_absorb.h]
  u32 a[NOPE / 16][4];
// [8 more lines of templates/lib/projection/ring_absorb.h]
  constexpr int AHEAD = 1;
  float d[AHEAD][OUTS / 2];
// [16 more lines of templates/lib/projection/ring_absorb.h]
      write_rows(p, room, head, first, least, 512, pe, lane);
    }
// [18 more lines of templates/lib/projection/ring_absorb.h]

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_q_b_ring_absorb_append_3a19537f(const __grid_constant__ params p) {
  extern __shared__ __align__(1024) char memory[];
// [18 more lines of templates/lib/projection/ring_absorb.h]
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#pragma unroll 1
// [4 more lines of templates/lib/projection/ring_absorb.h]
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#pragma unroll 1
// [3 more lines of templates/lib/projection/ring_absorb.h]
