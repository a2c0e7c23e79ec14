// Generated from templates/mla_decode/sm90_small_rank.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_small_rank target=sm_90a causal=1 dtype=f16 heads=40 page_size=16 q_len=3 rank=256 rope=32 schedule=fitted

#define MLAF_BF16 0
// [templates/lib/cuda.h]
// [9 more lines of tests/golden/mla_decode/combine_warp.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_small_rank_479c91ac_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 213152,
    {1, 1, 1}, 11, 0, {}, 3,
    {{3, 64, 128, 128}, {1, 64, 16, 128}, {2, 32, 16, 64}}};
struct __align__(64) mlaf_tensor_map {
// [3 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [templates/mla_decode/lib/narrow.h]
// [templates/lib/hopper.h]
// [10 more lines of tests/golden/mla_decode/sm90_many.cu]
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
// [13 more lines of tests/golden/mla_decode/sm90_many.cu]
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
// [9 more lines of tests/golden/mla_decode/sm90_many.cu]
MLAF_DEV void wgmma_rs_t(float (&d)[128], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %133, 0;\nmov.b64 b, {%132, %134};\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
// [6 more times the line above, with other numbers]
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
// [3 more lines of tests/golden/mla_decode/sm90_many.cu, with other numbers]
// [13 more times the line above, with other numbers]
      "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
// [7 more lines of tests/golden/mla_decode/sm90_many.cu, with other numbers]
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16\n{"
// [3 more lines of those above, with other numbers]
    "a, b, p, 1, 1, 0, 1;\n}"
// [3 more lines of tests/golden/mla_decode/sm90_many.cu]
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
// [11 more times the line above, with other numbers]
      "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
// [19 more lines of tests/golden/mla_decode/sm90_many.cu]
constexpr bool CAUSAL = 1, FITTED = 1; // a block may walk several pieces
constexpr int ROWS = 128;                         // of a block
constexpr int BOX = 16, BOXES = 64 / BOX;     // tokens of one copy
constexpr int SLICES = R / 64, ALL = SLICES + (ROPE > 0); // of 64 columns, without and with rope
constexpr int SLICE = 8192, ROPE_BYTES = 128 * ROPE; // bytes of 64 tokens
constexpr int BUFFERS = 4, BUFFER = 36864;
constexpr int LOADERS = 3;                        // warps that load the cache
// [12 more lines of templates/mla_decode/sm90_small_rank.cu.in]
static_assert(sizeof(shared_memory) == 213152 && BUFFER == SLICES * SLICE + ROPE_BYTES, "its plan counts otherwise");
static_assert(BUFFER % 1024 == 0 && BUFFERS >= 3, "tiles are swizzled; a block is awaited while the two before it are in use");
// [9 more lines of templates/mla_decode/sm90_small_rank.cu.in]
#define FIT_CUT 500
// [93 more lines of tests/golden/mla_decode/sm90_many.cu]

MLAF_DEV bool check_pages(const mlaf_decode_args& a, const piece& x, int lane) {
// [53 more lines of tests/golden/mla_decode/sm90_many.cu]

struct ring {
// [48 more lines of templates/mla_decode/sm90_small_rank.cu.in]
      if (more && lane < ALL) fetch_box(&p.maps[MAP_Q], 64 * lane, (int)x.row);
      barrier_wait(shared + Q_EMPTY_AT, (k - 1) & 1);
// [6 more lines of templates/mla_decode/sm90_small_rank.cu.in]
      for (int i = 0; i < SLICES && more; i++) copy_box(shared + Q_AT + i * Q_SLICE, &p.maps[MAP_Q], 64 * i, (int)x.row, full);
    }
// [36 more lines of templates/mla_decode/sm90_small_rank.cu.in]

MLAF_DEV void load_q_rope(const math& c, const char* q, q_rope& to) {
  const int row = 64 * c.wg + 16 * c.warp + (c.lane >> 2), live = known(c.shared, N_OF) * H - ROWS * (int)blockIdx.x;
  const char* from = q + 2 * ((known_row(c.shared, ROW_OF) + row) * (R + ROPE) + R + 2 * (c.lane & 3));
// [4 more lines of templates/mla_decode/q/rope_fragments.h]
      to[i][k] = row + 8 * (k & 1) < live ? *(const u32*)(from + 2 * (8 * (k & 1) * (R + ROPE) + 16 * i + 8 * (k >> 1))) : 0;
}

MLAF_DEV void multiply_k(const math& c, const q_rope& rope, float (&s)[32]) {
// [196 more lines of templates/mla_decode/sm90_small_rank.cu.in]
  }
// [18 more lines of templates/mla_decode/sm90_small_rank.cu.in]
    load_q_rope(c, a.q, rope);
    rows_state r = {{LOWEST, LOWEST}, {0.0f, 0.0f}, {0.0f, 0.0f}};
// [14 more lines of templates/mla_decode/sm90_small_rank.cu.in]

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_small_rank_479c91ac(const __grid_constant__ mlaf_decode_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < BUFFERS; i++) {
// [9 more lines of templates/mla_decode/sm90_small_rank.cu.in]
  __syncthreads();
// [3 more lines of templates/mla_decode/sm90_small_rank.cu.in]
  if (wg == 0) { // registers: 128 * 40 + 256 * 232 = 384 * 168
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0), lane = threadIdx.x & 31;
// [3 more lines of templates/mla_decode/sm90_small_rank.cu.in]
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    work_on_pieces(p, shared, wg - 1);
  }
}
