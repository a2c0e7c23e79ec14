// Generated from templates/mla_decode/combine_warp.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_combine_warp_74226722
// parameters:
//   dtype = bf16
//   fitted = 320
//   heads = 128
//   page_size = 64
//   partials = 16
//   q_len = 1
//   rank = 512
//   rows = 1
//   team = 16
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_warp target=sm_90a dtype=bf16 fitted=320 heads=128 page_size=64 partials=16 q_len=1 rank=512 rows=1 team=16
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
// rows are few, all warps of a workgroup are one team: a long request has a piece in every part. 0: it may not.
//
// The number of splits is a launch argument without limit. Splits without a token (LSE -inf) count for nothing, whatever their
// part_o holds. No live split: O = 0, LSE = -inf. A NaN in any LSE makes the row NaN.



#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object, and its parameter block. The includer
// hands over `launch`: shared (bytes of dynamic shared memory), and where wanted cluster ({x, y, z}, or x), maps (list of { of,
// cols, rows, swizzle }), and 0 or 1 of: overlaps, turns, meets, fits. runtime/device/kernel_launch.h says what each
// means.
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_combine_warp_74226722_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 0,
    {1, 1, 1}, 9, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};
// [templates/mla_decode/lib/narrow.h]
#define SCHEDULE_FIXED 320
#define FIT_CUT 0 // decides nothing here
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/fit.h]
constexpr int H = 128, PAGE = 64, SLOT_ROWS = 128;
// [templates/mla_decode/lib/row_place.h]

#define MLAF_MEMBER __device__ __forceinline__
constexpr int R = 512, ROWS = 1, TEAM = 16, SHARES = 2, GROUPS = TEAM / SHARES;
constexpr int WARPS = ROWS * TEAM, GROUPS_MOST = 8; // of a row
constexpr int VECTORS = 1, DEPTH = 4; // 16-byte loads of a lane for a split; splits in flight
constexpr int VALUES = 8;                      // in 16 bytes
constexpr bool FULL = 32 * SHARES * VECTORS * VALUES == R;      // else lanes at the row's end have no columns

// A row's partial results: so many, the k-th at row first + k stride of part_o and part_lse, the last one `aside` behind that.
struct sources {
  u32 first, stride, aside;
  int count;
  MLAF_MEMBER u32 at(int k) const { return first + k * stride + (k == count - 1 ? aside : 0); }
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

struct meeting {
  float top, sum; // of a group
};
// A group's sums as its warps' lanes have them: 4 columns a lane, or 8 in two halves.
typedef float sums[SHARES * VECTORS][VALUES / 4][32][4];
struct meetings { // of all groups of the block
  sums parts[WARPS / SHARES];
  meeting groups[WARPS / SHARES];
};
MLAF_DEV meetings& meeting_place() {
  __shared__ __align__(16) meetings all;
  return all;
}

// Where columns 2 pair, 2 pair + 1 lie in `sums`.
MLAF_DEV int place_of_pair(int pair) {
  const int lane = pair / 16 * 4 + pair % 4, j = pair / 4 % 4; // mla_decode/lib/narrow.h
  return lane / 32 * 256 + j / 2 * 128 + lane % 32 * 4 + j % 2 * 2;
}

// The row, from the sums of its N groups, in which it is known what each counts for. All warps of the block; own: this one's
// group among all of the block.
template <int N>
MLAF_DEV void write_met(const merged& m, int own, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  meetings& all = meeting_place();
  const int lane = threadIdx.x & 31, thread = threadIdx.x % (32 * SHARES * N), first = own - own % N;
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
#pragma unroll
    for (int k = 0; k < VALUES; k += 4)
      *(float4*)all.parts[own][share + SHARES * i][k / 4][lane] =
          make_float4(m.o[i][k], m.o[i][k + 1], m.o[i][k + 2], m.o[i][k + 3]);
  if (share == 0 && lane == 0) all.groups[own] = {m.top, m.sum};
  __syncthreads();
  if (!exists || 2 * thread >= R) return;

  float top = minus_inf(), sum = 0.0f, weight[N];
#pragma unroll
  for (int g = 0; g < N; g++) top = fmaxf(top, all.groups[first + g].top);
#pragma unroll
  for (int g = 0; g < N; g++) {
    weight[g] = weight_of(all.groups[first + g].top, top);
    sum = fmaf(weight[g], all.groups[first + g].sum, sum);
  }
  const float scale = scale_of(sum);
#pragma unroll
  for (int pair = thread; pair < R / 2; pair += 32 * SHARES * N) {
    const float* const from = (const float*)all.parts[first] + place_of_pair(pair);
    float x = 0.0f, y = 0.0f;
#pragma unroll
    for (int g = 0; g < N; g++) {
      const float2 part = *(const float2*)(from + g * (sizeof(sums) / sizeof(float)));
      x = fmaf(weight[g], part.x, x);
      y = fmaf(weight[g], part.y, y);
    }
    ((u32*)(a.o + (i64)row * (2 * R)))[pair] = pack2(x * scale, y * scale);
  }
  if (thread == 0 && a.lse) a.lse[row] = (top + log2_fast(sum)) * LN_2;
}

// Of a launch that cut its batch: the requests that lie in several parts. Others were finished where they lay.
struct cuts {
  const int* words; // mla_decode/lib/fit.h
  int parts, lane;

  // Words base + lane, + 32, + 64, + 96, on their way together.
  MLAF_MEMBER void some(int base, int (&x)[4]) const {
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int part = base + 32 * k + lane;
      x[k] = part < parts ? words[part] : -1;
    }
  }
  MLAF_MEMBER int count() const {
    int n = 0;
    for (int base = 0; base < parts; base += 128) {
      int x[4];
      some(base, x);
#pragma unroll
      for (int k = 0; k < 4; k++) n += __popc(__ballot_sync(~0u, x[k] >= 0));
    }
    return n;
  }
  // The nth of them, from 0, and the part it begins in; -1: there are fewer.
  MLAF_MEMBER int find(int nth, int& part) const {
    for (int base = 0; base < parts; base += 128) {
      int x[4];
      some(base, x);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const u32 all = __ballot_sync(~0u, x[k] >= 0);
        const u32 it = __ballot_sync(~0u, x[k] >= 0 && __popc(all & ((1u << lane) - 1)) == nth);
        part = base + 32 * k + __ffs(it) - 1;
        if (it) return __shfl_sync(~0u, x[k], __ffs(it) - 1);
        nth -= __popc(all);
      }
    }
    return -1;
  }
};

// Row n of those requests', each with room for SLOT_ROWS, and its pieces; false: there is none.
MLAF_DEV bool find_row(const mlaf_decode_args& a, const cuts& all, i64 width, u32 n, u32& row, sources& from) {
  int part, first, next;
  const int request = all.find(n / SLOT_ROWS, part), mine = n % SLOT_ROWS;
  if (request < 0) return false;
  const place x = read_place(a, request, next);
  if (mine >= (next - x.first_token) * H) return false;
  const int behind = fit_pieces(x.start, x.tokens, width, &first);
  row = (u32)x.first_token * H + mine;
  from = {(u32)part * (2 * SLOT_ROWS) + mine, 2 * SLOT_ROWS, SLOT_ROWS, smaller(behind, all.parts - 1 - part) + 1};
  return true;
}

// The row, whose groups are GROUPS, or all of the block where it works on one row.
MLAF_DEV void write_row(const merged& m, int own, int groups, int share, const mlaf_combine_args& a, u32 row, bool exists) {
  write_met<GROUPS>(m, own, share, a, row, exists);
}

extern "C" __global__ void __launch_bounds__(512, 2) mlaf_mla_decode_combine_warp_74226722(const __grid_constant__ mlaf_decode_params p) {
  const u32 warp = __shfl_sync(~0u, threadIdx.x >> 5, 0); // uniform, and known to be
  const u32 share = warp % SHARES, own = warp / SHARES; // of the block's groups
  // The tables are older than the decode launch, which lets this one start only after its own wait.
  const mlaf_combine_args a = {p.a.part_o, p.a.part_lse, p.a.o, p.a.lse, p.a.total_q * H, fit_splits(&p.a), 0};
  const i64 total = schedule_start(p.a.kv_indptr[p.a.batch], p.a.batch, PAGE);
  let_next_launch_start(); // its blocks come as the decode kernel's leave; its own wait is for this launch, and so for that one
  wait_for_previous_launch();
  const int parts = fit_told(a.part_o);
  if (parts == 0 && a.splits == 1) return; // all is done
  const cuts all = {fit_words(a.part_o), parts, (int)(threadIdx.x & 31)};
  const i64 width = fit_width(total, parts > 0 ? parts : 1);
  const u32 rows = parts > 0 ? (u32)all.count() * SLOT_ROWS : (u32)a.rows;
  const bool one = false; // row at a time
  const u32 groups = one ? GROUPS_MOST : GROUPS, step = one ? 1 : ROWS;
#pragma unroll 1
  for (u32 first = blockIdx.x * step; first < rows; first += gridDim.x * step) { // there may be fewer blocks than rows
    u32 row = first + own / groups;
    bool exists = row < rows; // a team without a row still meets the others at the barrier
    sources from = {row, rows, 0, a.splits};
    if (parts > 0) exists = find_row(p.a, all, width, row, row, from);
    if (!exists) from.count = 0;
    if (groups > 1 || exists) {
      const merged m = merge(a, from, own % groups, groups, share);
      write_row(m, own, groups, share, a, row, exists);
    }
    if (groups > 1) __syncthreads(); // the groups' sums are read
  }
}
