// Generated from templates/mla_prefill/sm90.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_prefill/sm90 target=sm_90a causal=1 dtype=bf16 heads=16 keys=128 nope=128 pair=2 room=20 rope=64 vdim=128

#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_prefill/lib/args.h]
// [4 more lines of tests/golden/mla_prefill/mfma_asm.hip]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_sm90_c23faa89_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 229968, {2, 0, 0}, 3, 0, 0, {0, 0},
    4,
    {{1, 64, 64, 128}, {2, 64, 64, 128}, {4, 64, 64, 128}, {3, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
// [4 more lines of templates/mla_prefill/lib/launch_maps.h]
  mlaf_tensor_map maps[4];
};
// [47 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs_t(float (&d)[64], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
// [6 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
    "{%64, %65, %66, %67}, b, p, 1, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [10 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
MLAF_DEV void wgmma_ss_t(float (&d)[64], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
// [7 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
    "a, b, p, 1, 1, 0, 1;\n}"
// [7 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
// [3 more lines of tests/golden/mla_decode/sm90_many.cu, with other numbers]
// [28 more lines of tests/golden/mla_decode/sm90_many.cu]

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// [10 more lines of templates/lib/wgmma.h]

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 32;
constexpr bool CAUSAL = 1;
constexpr int PAIR = 2, ROWS = 128 * PAIR, KEYS = 128, STAGES = 2;
constexpr int Q_HALF = 64 * 2 * QK, K_BYTES = KEYS * 2 * QK, SLABS_V = (V + 63) / 64, SLAB = KEYS * 128;
constexpr bool HALVES = KEYS == 128;
constexpr int TOLD = 6;
constexpr int MAP_V = 2;
constexpr i64 ROOM = 20971520, KEY_BYTES = 2 * (NOPE + V);
MLAF_DEV int larger(int a, int b) { return a > b ? a : b; }
// [3 more lines of templates/mla_prefill/sm90.cu.in]
// [templates/mla_prefill/lib/deal.h]
struct shared_memory {
// [9 more lines of templates/mla_prefill/sm90.cu.in]
static_assert(sizeof(shared_memory) == 229968 && sizeof(tile) <= 64, "its plan counts otherwise");
enum { TURN = 1 }; // named barriers: each warpgroup's turn
constexpr int WG_WARPS = 4;

// [templates/mla_prefill/lib/rings.h]

MLAF_DEV int first_row(int wg, int cta) { return 64 * (wg ? 2 * PAIR - 1 - cta : cta); }
// [28 more lines of templates/mla_prefill/lib/load.h]
  copy_box_to_all(to + 0, &p.maps[1], column[0] + 0, row, full);
  copy_box_to_all(to + 16384, &p.maps[1], column[0] + 64, row, full);
  copy_box_to_all(to + 32768, &p.maps[3], column[1] + 0, row, full);
}
// [39 more lines of templates/mla_prefill/lib/load.h]
    copy_box_once(shared + Q_AT + half * Q_HALF + 0, &p.maps[0], column + 0,
                  t.row + first_row(half, my_cta()), full);
// [2 more times the 2 lines above, with other numbers]
// [14 more lines of templates/mla_prefill/lib/load.h]

MLAF_DEV void deal_tiles(const mlaf_prefill_kernel_args& a, u32 shared, int lane) {
// [16 more lines of templates/mla_prefill/lib/deal_tiles.h]
      if (my_cta() == 0) write_empty(a, t, lane);
      continue;
// [10 more lines of templates/mla_prefill/lib/deal_tiles.h]

template <bool IS_V>
// [20 more lines of templates/mla_prefill/lib/load.h]
// [templates/mla_prefill/lib/softmax.h]

struct math {
// [28 more lines of templates/mla_prefill/sm90.cu.in]
  wgmma_ss(s, q + 0, k + 0, false);
  wgmma_ss(s, q + 2, k + 2, true);
// [10 more times the line above, with other numbers]
  wgmma_commit();
// [10 more lines of templates/mla_prefill/sm90.cu.in]

// [templates/mla_prefill/lib/masks.h]

MLAF_DEV void end_products(math& c, float (&o)[V / 2]) {
// [92 more lines of templates/mla_prefill/sm90.cu.in]

// [templates/mla_prefill/lib/rounds.h]

MLAF_DEV bool half_of(const math& c, const tile& f) {
// [142 more lines of templates/mla_prefill/sm90.cu.in]

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_prefill_sm90_c23faa89(const __grid_constant__ mlaf_prefill_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < STAGES; i++) {
// [35 more lines of templates/mla_prefill/sm90.cu.in]
