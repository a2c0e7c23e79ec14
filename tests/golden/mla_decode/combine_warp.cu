// Generated from templates/mla_decode/combine_early.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_combine_early_996c1b00
// parameters:
//   cut = 500
//   dtype = bf16
//   early = 1
//   fitted = 320
//   heads = 40
//   once = 0
//   page_size = 16
//   partials = 16
//   q_len = 2
//   rank = 512
//   rows = 4
//   team = 2
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_early target=sm_90a cut=500 dtype=bf16 early=1 fitted=320 heads=40 once=0 page_size=16 partials=16 q_len=2 rank=512 rows=4 team=2




#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_combine_early_996c1b00_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 0,
    {1, 1, 1}, 11, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};
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
// [30 more lines of templates/mla_decode/lib/merge.h]
    o[2 * i] = fmaf(w, narrow_lo(words[i]), o[2 * i]);
    o[2 * i + 1] = fmaf(w, narrow_hi(words[i]), o[2 * i + 1]);
  }
}

MLAF_DEV merged merge(const mlaf_combine_args& a, const sources& from, int group, int groups, int share) {
  const int lane = threadIdx.x & 31, column = VALUES * (32 * share + lane), splits = from.count;
  const char* base = (const char*)a.part_o + 16 * (32 * share + lane);
  asm("" : "+l"(base)); // added up once, not for each load
  merged m = {minus_inf()};
  float middle = 0.0f; // what a value of 0 has become in the sums
  int first = group;
  do { // 32 splits of the group
    const int mine = first + groups * lane;
    const u32 at = from.at(mine); // of the rows in part_o, which are fewer than 2^32: each takes 64 bytes at least
    float lse = load(a.part_lse + at, mine < splits), weight;
    float unit = load(a.part_o + (i64)at * R + R / 2, mine < splits);
    int done = 0;
// [17 more lines of templates/mla_decode/lib/merge.h]
        if (lse == minus_inf()) unit = 0.0f;
        middle *= past;
#pragma unroll
        for (int i = 0; i < VECTORS * VALUES; i++) m.o[i / VALUES][i % VALUES] *= past;
      }
#pragma unroll
      for (int k = 0; k < DEPTH; k++) {
        if (2 * k == DEPTH && first + groups * (done + k) >= splits) break;
        float w = __shfl_sync(~0u, weight, done + k);
        m.sum += w;
        w *= __shfl_sync(~0u, unit, done + k);
        middle = fmaf(w, NARROW_MIDDLE, middle); // no split, or none with a token: numbers, whatever they are, times 0
#pragma unroll
        for (int i = 0; i < VECTORS; i++) add(m.o[i], w, x[k][i]);
      }
      done += DEPTH;
    } while (done < 32 && first + groups * done < splits);
    first += 32 * groups;
  } while (first < splits);
#pragma unroll
  for (int i = 0; i < VECTORS * VALUES; i++) m.o[i / VALUES][i % VALUES] -= middle;
  return m;
// [9 more lines of templates/mla_decode/lib/merge.h]
  const int lane = pair / 16 * 4 + pair % 4, j = pair / 4 % 4; // mla_decode/lib/narrow.h
  return lane / 32 * 256 + j / 2 * 128 + lane % 32 * 4 + j % 2 * 2;
}

struct meeting {
  float top, sum; // of a group
};
typedef float sums[VALUES / 4][32][4];
struct meetings { // of all warps of the block
  sums parts[WARPS * VECTORS];
  meeting groups[WARPS];
};
// [45 more lines of templates/mla_decode/combine_warp.cu.in]

MLAF_DEV void write_alone(const merged& m, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  const int lane = threadIdx.x & 31;
  const float scale = scale_of(m.sum);
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    const int vector = 32 * (share + SHARES * i) + lane;
    u32 w[VALUES / 2];
#pragma unroll
    for (int k = 0; k < VALUES / 2; k++) w[k] = pack2(m.o[i][2 * k] * scale, m.o[i][2 * k + 1] * scale);
    transpose_quad(w);
    if (exists && (FULL || VALUES * vector < R))
      ((uint4*)(a.o + (i64)row * (2 * R)))[vector] = make_uint4(w[0], w[1], w[2], w[3]);
  }
  if (exists && share == 0 && lane == 0 && a.lse) a.lse[row] = (m.top + log2_fast(m.sum)) * LN_2;
}

MLAF_DEV bool surely_whole(const mlaf_decode_args& a) {
  const int slots = fit_slots(&a), cuts = fit_cuts(&a, PAGE, 1, slots, slots, 0); // all loads on their way together
  return !cuts & (schedule_start(a.kv_indptr[a.batch], a.batch, PAGE) < (1 << 22));
}

template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}
struct cut {
// [16 more lines of templates/mla_decode/lib/cut_list.h]

MLAF_DEV u32 compute_units() {
// [15 more lines of templates/mla_decode/lib/cut_list.h]

MLAF_DEV int list_cuts(const mlaf_decode_args& a, mlaf_entry entry, i64 width, int parts, int& most, int& far) {
  if (parts > THREADS) __trap();
// [15 more lines of templates/mla_decode/lib/cut_list.h]
  const bool is_far = is && pieces > FEW;
  const u32 some_far = __ballot_sync(~0u, is_far);
  if (lane == 0) list.found[warp] = (int)(longest << 16) + (__popc(some_far) << 8) + __popc(some);
  int before_far = __popc(some_far & ((1u << lane) - 1));
  far = 0;
  __syncthreads();
  int before = __popc(some & ((1u << lane) - 1)), all = 0;
  most = 0;
#pragma unroll
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? list.found[w] & 0xff : 0;
    all += list.found[w] & 0xff;
    before_far += w < warp ? list.found[w] >> 8 & 0xff : 0;
    far += list.found[w] >> 8 & 0xff;
    most = list.found[w] >> 16 > most ? list.found[w] >> 16 : most;
  }
  if (far > 0 && !apart_is_faster(all, far, most)) far = 0;
  if (far > 0) before = is_far ? before_far : far + before - before_far;
  if (is) list.of[before] = {(u32)entry.qo * H, (u32)n * H, (u32)part, pieces};
  __syncthreads();
  return all;
}

MLAF_DEV sources pieces_of(const cut& x, u32 mine) {
  return {x.part * (2 * SLOT_ROWS) + mine, 2 * SLOT_ROWS, SLOT_ROWS, x.pieces};
}

MLAF_DEV bool find_row(u32 n, u32& row, sources& from) {
  const cut x = cuts().of[n / SLOT_ROWS];
  const u32 mine = n % SLOT_ROWS;
  if (mine >= x.rows) return false;
  row = x.row + mine;
  from = pieces_of(x, mine);
  return true;
}

MLAF_DEV void write_row(const merged& m, int own, int groups, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  if (groups == GROUPS_MOST) return write_met<GROUPS_MOST, 1>(m, own, share, a, row, exists);
  write_alone(m, share, a, row, exists);
}

extern "C" __global__ void __launch_bounds__(256, 4) mlaf_mla_decode_combine_early_996c1b00(const __grid_constant__ mlaf_decode_params p) {
  const u32 warp = __shfl_sync(~0u, threadIdx.x >> 5, 0); // uniform, and known to be
  const mlaf_combine_args a = {p.a.part_o, p.a.part_lse, p.a.o, p.a.lse, p.a.total_q * H, fit_splits(&p.a), 0};
  const mlaf_entry entry = own_entry(p.a); // on its way while the next line looks at the tables
  const bool whole = a.splits == 1 && surely_whole(p.a);
  if (whole && blockIdx.x > 0) return; // block 0 ends when the launch before has, and asks nothing more
  const i64 total = schedule_start(p.a.kv_indptr[p.a.batch], p.a.batch, PAGE);
  int parts = p.a.batch <= THREADS ? fit_slots(&p.a) / a.splits * a.splits : 0, cut_requests = 0;
  int most = 0, far = 0; // pieces of a row; requests whose rows all warps of a block share, some of the columns at a time
#pragma unroll 1
  for (bool waited = false;; waited = true) {
    if (parts > 0 && !whole)
      cut_requests = list_cuts(p.a, entry, fit_width(total, parts), parts, most, far);
    if (waited) break;
    let_next_launch_start(); // its blocks come as the decode kernel's leave; its own wait is for this launch, and so for that one
    wait_for_previous_launch();
    if (whole) return;
    const int listed = parts;
// [14 more lines of templates/mla_decode/combine_warp.cu.in]
    sources from = {row, rows, 0, a.splits};
    if (parts > 0) exists = exists && find_row(row, row, from);
    if (!exists) from.count = 0;
    if (groups > 1 || exists) {
      const merged m = merge(a, from, own % groups, groups, share);
      write_row(m, own, groups, share, a, row, exists);
    }
    if (groups > 1) __syncthreads(); // the groups' sums are read
  }
}
