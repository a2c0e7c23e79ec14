// Generated from templates/mla_prefill/sm90_fp8.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_prefill/sm90_fp8 target=sm_90a causal=0 dtype=f16 heads=3 inputs=1 nope=192 room=20 rope=64 vdim=128

#define MLAF_BF16 0
// [templates/lib/cuda.h]
// [6 more lines of tests/golden/mla_prefill/sm90.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_sm90_fp8_2839f818_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 229984, {0, 0, 0}, 19, 0, 0, {0, 0},
    6,
    {{4, 64, 128, 128}, {1, 64, 64, 128}, {2, 64, 128, 128}, {1, 32, 64, 64}, {2, 32, 128, 64}, {3, 32, 128, 64}}};
struct __align__(64) mlaf_tensor_map {
// [5 more lines of templates/mla_prefill/lib/launch_maps.h]
  mlaf_tensor_map maps[6];
};
static_assert(sizeof(mlaf_prefill_params) == 256 + 128 * 6, "differs from runtime/ops/mla_prefill/prepare.c");
// [templates/lib/hopper.h]
// [4 more lines of tests/golden/mla_decode/combine_values.cu]

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// [10 more lines of templates/lib/wgmma.h]
constexpr u32 SWIZZLE_32 = 16 | 3u << 30;
template <u32 HI = SWIZZLE_128>
MLAF_DEV void wgmma_bytes_rs(float (&d)[64], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %69, 0;\nmov.b64 b, {%68, %70};\n"
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
// [3 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
    "{%64, %65, %66, %67}, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [7 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(HI));
}
template <u32 HI = SWIZZLE_128>
MLAF_DEV void wgmma_bytes_ss(float (&d)[64], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %66, 0;\nmov.b64 b, {%65, %67};\n"
    "mov.b64 a, {%64, %67};\n"
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
// [3 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
    "a, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [7 more lines of tests/golden/mla_gather_kv_b/sm90.cu]
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(HI));
}
template <u32 HI = SWIZZLE_128>
// [5 more lines of those above, with other numbers]
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "{%32, %33, %34, %35}, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [3 more lines of tests/golden/mla_decode/sm90_many.cu]
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(HI));
// [8 more lines of those above, with other numbers]
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "a, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [3 more lines of tests/golden/mla_decode/sm90_many.cu]
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(HI));
}

constexpr int H = 3, NOPE = 192, QK = 256, V = 128, LANES = 32;
MLAF_DEV int head_of(int dealt) { return dealt; }
MLAF_DEV int first_of_v(int) { return 0; }
MLAF_DEV bool says_lse(int) { return true; }
constexpr bool CAUSAL = 0;
constexpr int ROWS = 128, KEYS = 128, STAGES = 2, RAWS = 2;
constexpr int Q_HALF = 64 * QK, K_BYTES = KEYS * QK, V_BYTES = KEYS * V, RAW_BYTES = KEYS * 128;
constexpr int TOLD = 6;
constexpr int MAP_V = 0;
constexpr int SUM_ROUNDS = 16, TRANSPOSERS = 2;
constexpr i64 ROOM = 20971520, KEY_BYTES = NOPE + V;
constexpr int CREWS = 4; // of at most 33 blocks each: lib/deal.h
// [3 more lines of templates/mla_prefill/sm90_fp8.cu.in]
// [templates/mla_prefill/lib/deal.h]
struct shared_memory {
// [10 more lines of templates/mla_prefill/sm90_fp8.cu.in]
static_assert(sizeof(shared_memory) == 229984 && sizeof(tile) <= 64, "its plan counts otherwise");
constexpr int WG_WARPS = 4;

// [templates/mla_prefill/lib/rings.h]

MLAF_DEV void load_k(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane) {
// [7 more lines of templates/mla_prefill/lib/load_fp8.h]
  copy_box(to + 0, &p.maps[2], column[0] + 0, row, full);
  copy_box(to + 16384, &p.maps[4], column[0] + 64, row, full);
  copy_box(to + 24576, &p.maps[5], column[1] + 0, row, full);
}
// [20 more lines of templates/mla_prefill/lib/load_fp8.h]
    copy_box_once(to + 0, &p.maps[1], column + 0, row, full);
    copy_box_once(to + 8192, &p.maps[3], column + 64, row, full);
    copy_box_once(to + 12288, &p.maps[3], column + 96, row, full);
  }
// [14 more lines of templates/mla_prefill/lib/load_fp8.h]

MLAF_DEV void deal_tiles(const mlaf_prefill_kernel_args& a, u32 shared, int lane) {
// [16 more lines of templates/mla_prefill/lib/deal_tiles.h]
      write_empty(a, t, lane);
      continue;
// [10 more lines of templates/mla_prefill/lib/deal_tiles.h]

MLAF_DEV tile told_next(u32 shared, ring<TOLD>& told, int lane) {
// [83 more lines of templates/mla_prefill/lib/load_fp8.h]

struct row_state {
// [75 more lines of templates/mla_prefill/sm90_fp8.cu.in]
  wgmma_bytes_ss<SWIZZLE_128>(s, q + 0, k + 0, false);
  wgmma_bytes_ss<SWIZZLE_128>(s, q + 2, k + 2, true);
// [6 more times the line above, with other numbers]
  wgmma_commit();
// [8 more lines of templates/mla_prefill/sm90_fp8.cu.in]

// [templates/mla_prefill/lib/masks.h]
// [4 more lines of tests/golden/mla_prefill/sm90.cu]
  give_back(c, V_EMPTY_AT + 8 * c.v.stage);
// [95 more lines of templates/mla_prefill/sm90_fp8.cu.in]

// [templates/mla_prefill/lib/rounds.h]
// [3 more lines of tests/golden/mla_prefill/sm90.cu]
  return most - c.round * KEYS <= KEYS / 2;
// [108 more lines of templates/mla_prefill/sm90_fp8.cu.in]

MLAF_DEV float scale_at(const float* at) {
// [8 more lines of tests/golden/mla_prefill/mma_fp8.cu]

MLAF_DEV void work_on_tiles(const mlaf_prefill_params& p, u32 shared, int wg) {
// [20 more lines of templates/mla_prefill/sm90_fp8.cu.in]

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_prefill_sm90_fp8_2839f818(const __grid_constant__ mlaf_prefill_params p) {
  const u32 shared = shared_address(memory());
// [3 more lines of tests/golden/mla_prefill/sm90.cu, with other numbers]
// [36 more lines of templates/mla_prefill/sm90_fp8.cu.in]
