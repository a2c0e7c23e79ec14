// Generated from templates/mla_gather_kv_b/sm90.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/sm90 target=sm_90a cluster=2 dtype=bf16 heads=128 layout=paged nope=128 rank=512 rope=64 rotate=0 vdim=128

#define MLAF_BF16 1
// [61 more lines of tests/golden/mla_gather_kv_b/aside.cu]
};
// [5 more lines of tests/golden/mla_gather_kv_b/mfma.hip]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_gather_kv_b_sm90_4e5cee55_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 230560, {2, 1, 1},
    1, 0, 0, {0, 0}, 1, {{1, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
// [6 more lines of templates/mla_gather_kv_b/sm90.cu.in]
// [templates/lib/hopper.h]
// [6 more lines of tests/golden/mla_decode/combine_values.cu]
MLAF_DEV void wgmma_rs(float (&d)[64], const u32 (&a)[4], u32 b, bool accumulate) {
// [4 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
// [3 more lines of tests/golden/mla_decode/sm90_many.cu, with other numbers]
// [6 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
// [9 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
// [3 more lines of tests/golden/mla_decode/sm90_small_rank.cu, with other numbers]
// [3 more lines of tests/golden/mla_decode/sm90_small_rank.cu]
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
// [13 more lines of tests/golden/mla_decode/combine_values.cu]

MLAF_DEV float half_value(unsigned short x) {
// [4 more lines of templates/mla_gather_kv_b/sm90.cu.in]
constexpr int H = 128, N = 128, OUT = 256, R = 512, ROPE = 64;
constexpr int TOKENS = 128, COLS = 128, OF_HEAD = OUT / COLS, TILES = H * OF_HEAD, SLABS = R / 64;
constexpr int STAGES = 6, CLUSTER = 2, SLAB = TOKENS * 128, STEP = COLS * 128, MATH = 256, WG_WARPS = 4;

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
// [42 more lines of tests/golden/mla_gather_kv_b/aside.cu]

MLAF_DEV void store_rope8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, u32 share, float scale) {
// [18 more lines of tests/golden/mla_gather_kv_b/mfma.hip]

struct shared_memory {
// [6 more lines of templates/mla_gather_kv_b/sm90.cu.in]
static_assert(sizeof(shared_memory) == 230560, "its plan counts otherwise");
enum { ROWS_FOUND = 1, TURN = 2 }; // named barriers; TURN: a warpgroup's each
// [41 more lines of templates/mla_gather_kv_b/sm90.cu.in]
    }
// [36 more lines of templates/mla_gather_kv_b/sm90.cu.in]
  if (k == 0) asm volatile("cp.async.wait_group 7;" ::: "memory");
// [7 more times the line above, with other numbers]
}

MLAF_DEV void give_share(u32 shared, int k) {
// [9 more lines of templates/mla_gather_kv_b/sm90.cu.in]
}
// [101 more lines of templates/mla_gather_kv_b/sm90.cu.in]

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_gather_kv_b_sm90_4e5cee55(const __grid_constant__ mlaf_gather_kv_b_params p) {
  const u32 shared = shared_address(memory()), rank = cta_in_cluster();
  const u32 tiles_of_tokens = ((u32)((p.a.tokens + TOKENS - 1) / TOKENS) + CLUSTER - 1) / CLUSTER * CLUSTER;
// [14 more lines of templates/mla_gather_kv_b/sm90.cu.in]
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
// [17 more lines of templates/mla_gather_kv_b/sm90.cu.in]
