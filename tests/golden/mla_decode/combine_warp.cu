// Generated from templates/mla_decode/combine_early.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_early target=sm_90a cut=500 dtype=bf16 early=1 fitted=320 heads=40 once=0 page_size=16 partials=16 q_len=2 rank=512 rows=4 team=2

// [4 more times the line above, with other numbers]
#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
struct mlaf_map_want {
// [6 more lines of templates/lib/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_combine_early_996c1b00_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 0,
    {1, 1, 1}, 11, 0, {}, 0,
    {}};
// [6 more lines of tests/golden/mla_decode/mma.cu]
// [templates/mla_decode/lib/narrow.h]
#define SCHEDULE_FIXED 320
#define FIT_CUT 492
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/fit.h]
constexpr int H = 40, Q_LEN = 2, PAGE = 16, SLOT_ROWS = Q_LEN * H;

#define MLAF_MEMBER __device__ __forceinline__
constexpr int R = 512, ROWS = 4, TEAM = 2, SHARES = 2, GROUPS = TEAM / SHARES;
constexpr int WARPS = ROWS * TEAM, THREADS = 32 * WARPS, GROUPS_MOST = 8; // of a row, or of a share of it
constexpr int VECTORS = 1, DEPTH = 4; // 16-byte loads of a lane for a split; splits in flight
constexpr int VALUES = 8;                      // in 16 bytes
constexpr bool FULL = 32 * SHARES * VECTORS * VALUES == R;      // else lanes at the row's end have no columns
constexpr int FEW = 2 * DEPTH * GROUPS; // pieces that a team adds up in two trips
constexpr u32 AT_ONCE = 4; // blocks of a compute unit, as the bounds below ask for

struct sources {
  u32 first, stride, aside;
  int count;
  MLAF_MEMBER u32 at(int k) const { return first + k * stride + (k == count - 1 ? aside : 0); }
};
// [32 more lines of templates/mla_decode/lib/merge.h]
  }
// [14 more lines of templates/mla_decode/lib/merge.h]
    int done = 0;
// [19 more lines of templates/mla_decode/lib/merge.h]
#pragma unroll
// [9 more lines of templates/mla_decode/lib/merge.h]
#pragma unroll
// [20 more lines of templates/mla_decode/lib/merge.h]
}
// [7 more lines of templates/mla_decode/combine_warp.cu.in]
  meeting groups[WARPS];
};
// [6 more lines of templates/mla_decode/combine_warp.cu.in]
MLAF_DEV void write_met(const merged& m, int own, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  constexpr int PAIRS = 16 * VALUES; // of columns in a vector
// [20 more lines of templates/mla_decode/combine_warp.cu.in]
  const float scale = scale_of(sum);
#pragma unroll
// [15 more lines of templates/mla_decode/combine_warp.cu.in]

MLAF_DEV void write_alone(const merged& m, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  const int lane = threadIdx.x & 31;
  const float scale = scale_of(m.sum);
#pragma unroll
// [8 more lines of templates/mla_decode/combine_warp.cu.in]
  }
// [4 more lines of templates/mla_decode/combine_warp.cu.in]
  const int slots = fit_slots(&a), cuts = fit_cuts(&a, PAGE, 1, slots, slots, fit_longest(&a));
  return !cuts & (schedule_start(a.kv_indptr[a.batch], a.batch, PAGE) < (1 << 22));
}

template <typename T>
// [3 more lines of templates/mla_decode/lib/refuse.h]
struct cut {
// [33 more lines of templates/mla_decode/lib/cut_list.h]

MLAF_DEV int list_cuts(const mlaf_decode_args& a, mlaf_entry entry, i64 width, int parts, int& most, int& far) {
  if (parts > THREADS) __trap();
// [20 more lines of templates/mla_decode/lib/cut_list.h]
  __syncthreads();
// [8 more lines of templates/mla_decode/lib/cut_list.h]
    most = list.found[w] >> 16 > most ? list.found[w] >> 16 : most;
// [11 more lines of templates/mla_decode/lib/cut_list.h]

MLAF_DEV bool find_row(u32 n, u32& row, sources& from) {
// [7 more lines of templates/mla_decode/combine_warp.cu.in]

MLAF_DEV void write_row(const merged& m, int own, int groups, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  if (groups == GROUPS_MOST) return write_met<GROUPS_MOST, 1>(m, own, share, a, row, exists);
  write_alone(m, share, a, row, exists);
}

extern "C" __global__ void __launch_bounds__(256, 4) mlaf_mla_decode_combine_early_996c1b00(const __grid_constant__ mlaf_decode_params p) {
  const u32 warp = __shfl_sync(~0u, threadIdx.x >> 5, 0); // uniform, and known to be
  const mlaf_combine_args a = {p.a.part_o, p.a.part_lse, p.a.o, p.a.lse, p.a.total_q * H, fit_splits(&p.a), 0};
  const mlaf_entry entry = own_entry(p.a); // on its way while the next line looks at the tables
// [3 more lines of templates/mla_decode/combine_warp.cu.in]
  int parts = p.a.batch <= THREADS ? fit_slots(&p.a) / a.splits * a.splits : 0, cut_requests = 0;
  int most = 0, far = 0; // pieces of a row; requests whose rows all warps of a block share, some of the columns at a time
#pragma unroll 1
  for (bool waited = false;; waited = true) {
    if (parts > 0 && !whole)
      cut_requests = list_cuts(p.a, entry, fit_width(total, parts), parts, most, far);
// [4 more lines of templates/mla_decode/combine_warp.cu.in]
    const int listed = parts;
// [14 more lines of templates/mla_decode/combine_warp.cu.in]
    sources from = {row, rows, 0, a.splits};
// [3 more lines of templates/mla_decode/combine_warp.cu.in]
      const merged m = merge(a, from, own % groups, groups, share);
      write_row(m, own, groups, share, a, row, exists);
    }
    if (groups > 1) __syncthreads(); // the groups' sums are read
  }
}
