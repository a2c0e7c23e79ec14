// Generated from templates/mla_decode/combine_values.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_values target=sm_90a dtype=bf16 fitted=320 heads=112 page_size=16 partials=16 q_len=2 rank=512 values=128

#define MLAF_BF16 1
// [3 more lines of tests/golden/mla_decode/combine_warp.cu]
// [templates/mla_decode/lib/args_values.h]
struct mlaf_map_want {
// [6 more lines of templates/lib/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_combine_values_a69c0229_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 213248,
    {1, 1, 1}, 9, 0, {0, 128}, 1,
    {{5, 64, 128, 128}}};
struct __align__(64) mlaf_tensor_map {
// [4 more lines of templates/lib/launch.h]
  mlaf_tensor_map maps[1];
};
struct mlaf_values_params {
// [3 more lines of templates/mla_decode/combine_values.cu.in]
// [templates/mla_decode/lib/narrow.h]
// [templates/lib/mma.h]
// [templates/lib/hopper.h]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[24], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %29, 0;\nmov.b64 b, {%28, %30};\n"
    "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23}, "
    "{%24, %25, %26, %27}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss(float (&d)[24], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %26, 0;\nmov.b64 b, {%25, %27};\n"
    "mov.b64 a, {%24, %28};\n"
    "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
}

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// [10 more lines of templates/lib/wgmma.h]
#define SCHEDULE_FIXED 320
#define FIT_CUT 0 // decides nothing here
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/fit.h]

#define MLAF_MEMBER __device__ __forceinline__
constexpr int H = 112, Q_LEN = 2, PAGE = 16, SLOT_ROWS = Q_LEN * H, R = 512, V = 128;
constexpr int PASS = 48;
constexpr int WARPS = 16, THREADS = 32 * WARPS, SHARES = 1, WAYS = 2;
constexpr int VECTORS = 2, DEPTH = 4; // 16-byte loads of a lane for a split; splits in flight
constexpr int VALUES = 8;                      // in 16 bytes
constexpr bool FULL = true;                                     // no lane is without columns
constexpr int FEW = 2 * DEPTH;                                  // pieces that a warp adds up in two trips
constexpr int X_AT = 131072, MEET_AT = 180224, FULL_AT = 213184;
constexpr int W_BOX = V * 128, X_BOX = PASS * 128;              // 64 values of each row
struct sources {
// [103 more lines of tests/golden/mla_decode/combine_warp.cu]

template <typename T>
// [20 more lines of tests/golden/mla_decode/combine_warp.cu]

MLAF_DEV int list_cuts(const mlaf_decode_args& a, mlaf_entry entry, i64 width, int parts, int& most) {
  if (parts > THREADS) __trap();
// [15 more lines of templates/mla_decode/lib/cut_list.h]
  if (lane == 0) list.found[warp] = (int)(longest << 16) + __popc(some);
// [5 more lines of templates/mla_decode/lib/cut_list.h]
    before += w < warp ? list.found[w] & 0xffff : 0;
// [3 more lines of templates/mla_decode/lib/cut_list.h]
  if (is) list.of[before] = {(u32)entry.qo * H, (u32)n * H, (u32)part, pieces};
// [7 more lines of templates/mla_decode/lib/cut_list.h]

MLAF_DEV u32 place_of(int box, int row, int chunk) { return chunk / 8 * box + row * 128 + ((chunk % 8 ^ row % 8) << 4); }
// [48 more lines of templates/mla_decode/combine_values.cu.in]
  }
// [104 more lines of templates/mla_decode/combine_values.cu.in]

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_decode_combine_values_a69c0229(const __grid_constant__ mlaf_values_params p) {
  extern __shared__ __align__(1024) char memory[];
// [24 more lines of templates/mla_decode/combine_values.cu.in]
