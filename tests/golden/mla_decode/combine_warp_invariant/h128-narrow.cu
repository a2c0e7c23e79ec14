// Generated from templates/mla_decode/combine_warp_invariant.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_combine_warp_invariant_fea02686
// parameters:
//   dtype = bf16
//   heads = 128
//   page_size = 64
//   partials = 16
//   q_len = 1
//   rank = 512
//   rows = 4
//   team = 2
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_warp_invariant target=sm_90a dtype=bf16 heads=128 page_size=64 partials=16 q_len=1 rank=512 rows=4 team=2
// The merge kernel behind launches that cut each request by its own length: mla_decode/combine_warp.cu.in. A row's partial
// results are added in an order that its request's parts alone decide, by a team whose size no batch changes.
// Merges the KV splits of split-KV attention: O = sum_s w_s O_s / sum_s w_s with w_s = 2^(LSE_s - max LSE), all in fp32.
//
// A team of `team` warps owns one row (token, head); a workgroup holds `rows` teams. A row has `splits` partial results:
//
//   part_lse[s][row]   base 2
//   part_o[s][row][R]  partials=32 fp32; partials=16 values as mla_decode/lib/narrow.h has them, and their unit behind them
//
// A team is SHARES of the columns times GROUPS of the splits. A warp reads of its own splits alone, group, group + GROUPS, ...,
// the LSEs and units (lane l the l-th of them) and its columns, 16 bytes a lane, DEPTH splits in flight. GROUPS > 1: the groups
// meet in shared memory, once, and every thread writes a few columns of the row.
//
//   team = 4           share 0: columns 0-255   share 1: columns 256-511
//   splits 0, 2, ...   warp 0                   warp 1                     group 0
//   splits 1, 3, ...   warp 2                   warp 3                     group 1
//
// What a warp runs is as little as can be: every SM fetches its instructions anew for each launch, after the decode kernel's
// end. All loads of a round are on their way before the first wait.
//
// fitted: a request's fixed cost (gen/ops/mla_decode/plans/schedule.lua) if the launch before may have cut its whole batch into
// parts (mla_decode/lib/fit.h): then its partial results are the pieces that the parts have of it, and lie in their slots. Where
// rows are few, all warps of a workgroup share the pieces of one share of one row's columns: a long request has a piece in every
// part. 0: it may not.
//
//   mla_decode/combine_early  behind one split: where nothing is cut one block waits for the launch before, and the others have
//   ended by then. Else each of them would come, wait, and find that nothing is left to do: 1 to 2 us of a short launch.
//   mla_decode/combine_mixed, combine_early  rows of many pieces first, a share of one row at a time by all warps of a workgroup,
//   then the others, a row a team: one long request among short ones does not hold up a launch that has few warps for a row.
//
// The number of splits is a launch argument without limit. Splits without a token (LSE -inf) count for nothing, whatever their
// part_o holds. No live split: O = 0, LSE = -inf. A NaN in any LSE makes the row NaN.




#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object, and its parameter block. The includer
// hands over `launch`: shared (bytes of dynamic shared memory), and where wanted cluster ({x, y, z}, or x), maps (list of { of,
// cols, rows, swizzle }), values, and 0 or 1 of: overlaps, turns, meets, fits, invariant. runtime/device/kernel_launch.h says
// what each means.
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_combine_warp_invariant_fea02686_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 0,
    {1, 1, 1}, 9, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};
// [templates/mla_decode/lib/narrow.h]
#define SCHEDULE_FIXED 64
#define FIT_CUT 0 // decides nothing here
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/fit.h]
constexpr int H = 128, Q_LEN = 1, PAGE = 64;
// How a batch-invariant launch cuts a request (schedule=invariant): by the request's own cached tokens alone, so that its sums
// are the same in any batch and at any place in it. A part is computed by one block, and the combine kernel adds the parts in
// order.
//
//   grains of 64 tokens   1 .. LEAST: one part. Then one part for each LEAST grains, up to KNEE parts, then one for each WIDE
//                         grains, up to `most` (the variant's splits). Parts of a request differ by one grain at most
//
// Which block computes which part depends on the batch, which changes no bits: the parts of all requests, one request after the
// other, are dealt out to the blocks of the launch in turns.
//
// Plain C, so that a test can run it on the host, with constants of its own. The includer has u32 and MLAF_DEV, and hands over
// least, knee and wide (gen/ops/mla_decode/plans/invariant.lua).
enum { OWN_GRAIN = 64 };     // tokens: parts begin at multiples of it
enum { OWN_PARTS_BITS = 6 }; // a request has fewer parts than 2^6
#ifndef OWN_LEAST
enum { OWN_LEAST = 16, OWN_KNEE = 22, OWN_WIDE = 32 };
#endif

MLAF_DEV u32 own_grains(int tokens) { return ((u32)tokens + OWN_GRAIN - 1) / OWN_GRAIN; }

// Parts of a request of so many tokens, at least one.
MLAF_DEV int own_parts(int tokens, int most) {
  const u32 grains = own_grains(tokens), wide = (grains + OWN_WIDE - 1) / OWN_WIDE;
  u32 n = (grains + OWN_LEAST - 1) / OWN_LEAST;
  n = n < OWN_KNEE ? n : OWN_KNEE;
  n = n < wide ? wide : n;
  n = n < (u32)most ? n : (u32)most;
  return n > 0 ? (int)n : 1;
}

// First token of part k of n; that of part n is the end.
MLAF_DEV int own_begin(int tokens, int n, int k) {
  const u32 at = own_grains(tokens) * (u32)k / (u32)n * OWN_GRAIN;
  return at < (u32)tokens ? (int)at : tokens;
}
// Requests that are refused: qo_indptr says that one has more query tokens than the kernel has rows for, or rows outside Q. The
// host does not see that table. Such a request counts as one without query tokens, and its rows become NaN, with LSE NaN. The
// includer has H, Q_LEN and mla_decode/lib/args.h; `fills`: R, and it is a decode kernel, which writes them.

// Of n query tokens, fewer than none, too, which are [from, to) of `all`, counted in tokens or in rows.
template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}

#define MLAF_MEMBER __device__ __forceinline__
constexpr int R = 512, ROWS = 4, TEAM = 2, SHARES = 2, GROUPS = TEAM / SHARES;
constexpr int WARPS = ROWS * TEAM, THREADS = 32 * WARPS, GROUPS_MOST = 1; // of a row, or of a share of it
constexpr int VECTORS = 1, DEPTH = 4; // 16-byte loads of a lane for a split; splits in flight
constexpr int VALUES = 8;                      // in 16 bytes
constexpr bool FULL = 32 * SHARES * VECTORS * VALUES == R;      // else lanes at the row's end have no columns

// One warp's share of a merge: partial results of a row, weighed by their LSE, in fp32. The includer says how a row is shared out
// (mla_decode/combine_warp.cu.in), and with narrow values has mla_decode/lib/narrow.h.
// A row's partial results: so many, the k-th at row first + k stride of part_o and part_lse, the last one `aside` behind that.
struct sources {
  u32 first, stride, aside;
  int count;
  MLAF_MEMBER u32 at(int k) const { return first + k * stride + 0; }
};

struct merged {
  float top, sum; // largest LSE; weights
  float o[VECTORS][VALUES];
};

// Of all lanes, by a comparison of integers in the floats' order. A NaN may be the largest or the least.
MLAF_DEV float max_of_warp(float x) {
  const int key = (int)bits_of(x) ^ ((int)bits_of(x) >> 31 & 0x7fffffff);
  const int top = __reduce_max_sync(~0u, key); // one instruction, five shuffles otherwise
  return float_of(top ^ (top >> 31 & 0x7fffffff));
}

// 2^(x - top), 0 where x says that there is nothing.
MLAF_DEV float weight_of(float x, float top) { return x == minus_inf() ? 0.0f : exp2_fast(x - top); } // NaN stays NaN

// Loads that stay where they are, all of them before the first sum; !there: anything, nothing is read.
MLAF_DEV uint4 load(const char* at, bool there) {
  uint4 x;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(at), "r"((u32)there));
  return x;
}
MLAF_DEV float load(const float* at, bool there) {
  float x;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p ld.global.f32 %0, [%1];\n}" : "=f"(x) : "l"(at), "r"((u32)there));
  return x;
}

MLAF_DEV void add(float (&o)[VALUES], float w, const uint4& x) {
  const u32 words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    o[2 * i] = fmaf(w, narrow_lo(words[i]), o[2 * i]);
    o[2 * i + 1] = fmaf(w, narrow_hi(words[i]), o[2 * i + 1]);
  }
}

// The partial results of `group` of `groups` of a row, its vectors share, share + SHARES, ... of 32 lanes.
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
#pragma unroll 1
    do {
      uint4 x[DEPTH][VECTORS];
#pragma unroll
      for (int k = 0; k < DEPTH; k++) {
        const int split = first + groups * (done + k);
        const char* const data = base + (i64)from.at(split) * (4 * R);
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
          x[k][i] = load(data + 512 * SHARES * i, split < splits && (FULL || column + 32 * VALUES * SHARES * i < R));
      }
      if (done == 0) { // LSEs come with the first partial results; what was summed up before is worth less
        if (mine >= splits) lse = minus_inf();
        const float higher = fmaxf(m.top, max_of_warp(lse)), past = weight_of(m.top, higher);
        weight = weight_of(lse, higher);
        m.sum *= past;
        m.top = higher;
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
}

// sum is 0, at least 1 (the largest weight), or NaN.
MLAF_DEV float scale_of(float sum) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(sum));
  return sum == 0.0f ? 0.0f : y;
}

// Where columns 2 pair, 2 pair + 1 of merge() lie in memory, a vector behind the other: 4 columns a lane, or 8 in two halves.
MLAF_DEV int place_of_pair(int pair) {
  const int lane = pair / 16 * 4 + pair % 4, j = pair / 4 % 4; // mla_decode/lib/narrow.h
  return lane / 32 * 256 + j / 2 * 128 + lane % 32 * 4 + j % 2 * 2;
}


// A warp's share of the row.
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

// The request of a query token: as far along as the token is when all have as many, else by search.
MLAF_DEV int request_of(const mlaf_decode_args& a, int token) {
  const int each = (int)a.total_q / a.batch, guess = token / (each > 0 ? each : 1);
  int low = guess < a.batch ? guess : a.batch - 1, high = a.batch;
  if (a.qo_indptr[low] <= token && token < a.qo_indptr[low + 1]) return low;
  for (low = 0; high - low > 1;) {
    const int middle = (low + high) / 2;
    if (a.qo_indptr[middle] <= token) low = middle;
    else high = middle;
  }
  return low;
}

// Partial results of a row: as many as its request was cut into; none where that was one, or the request is refused, which the
// decode kernel has finished; or the row is no request's.
MLAF_DEV int own_results(const mlaf_decode_args& a, u32 row) {
  const int token = (int)(row / H);
  const mlaf_entry e = schedule_entry(&a, request_of(a, token));
  if (token < e.qo || token >= e.next_qo || is_refused(e.next_qo - e.qo, e.qo, e.next_qo, (int)a.total_q)) return 0;
  const int n = own_parts(schedule_tokens(e.next_page - e.page, e.last, PAGE), fit_splits(&a));
  return n > 1 ? n : 0;
}

// The row, whose groups are GROUPS, or all warps of the block where it works on one share of one row.
MLAF_DEV void write_row(const merged& m, int own, int groups, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  write_alone(m, share, a, row, exists);
}

extern "C" __global__ void __launch_bounds__(256, 4) mlaf_mla_decode_combine_warp_invariant_fea02686(const __grid_constant__ mlaf_decode_params p) {
  const u32 warp = __shfl_sync(~0u, threadIdx.x >> 5, 0); // uniform, and known to be
  const mlaf_combine_args a = {p.a.part_o, p.a.part_lse, p.a.o, p.a.lse, p.a.total_q * H, 0, 0};
  const u32 share = warp % SHARES, own = warp / SHARES; // of the block's groups
  const u32 row = blockIdx.x * ROWS + own / GROUPS;
  // The tables are older than the decode launch, which lets this one start only after its own wait.
  const int count = row < (u32)a.rows ? own_results(p.a, row) : 0;
  if (GROUPS == 1 && count == 0 && blockIdx.x > 0) return; // block 0 waits, so that no launch behind this one comes too early
  let_next_launch_start(); // its blocks come as the decode kernel's leave; its own wait is for this launch, and so for that one
  wait_for_previous_launch();
  const merged m = merge(a, {row, (u32)a.rows, 0, count}, own % GROUPS, GROUPS, share);
  write_row(m, own, GROUPS, share, a, row, count > 0);
}
