// Generated from templates/mla_combine_balanced.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_combine_32c73827
// parameters:
//   dtype = f16
//   fixed = 128
//   heads = 20
//   page_size = 16
//   q_len = 3
//   rank = 256
//   rows = 8
//   team = 1
// regenerate: lua5.4 gen/cli.lua render mla_combine_balanced target=sm_90a dtype=f16 fixed=128 heads=20 page_size=16 q_len=3 rank=256 rows=8 team=1
// Merges what the parts of a balanced decode left: for each row the partial results of the pieces its request was cut into. Which
// parts hold a piece, and in which of their slots, follows from the tables by the formula that cut them (lib/schedule.h); a
// request that lay whole in one part is finished and is left alone. Two loads deep: tables, then LSE and partial results at once.
//
// A team of `team` warps owns one row (token, head); a workgroup holds `rows` teams. lane l of every warp of the team looks at
// parts 32c + l of those its request touches; warp w adds up the live pieces w, w + team, ...:
//
//   warp 0:  piece 0 | lane 0: c 0-3 | lane 1: c 4-7 | ... | lane 31 |   16 bytes a lane, DEPTH pieces in flight
//   warp 1:  piece 1 | ...                                               team > 1: the warps' sums meet in shared memory, once
//
// A piece whose tokens are all masked for a row has LSE -inf and counts for nothing; all of them: O = 0, LSE = -inf. NaN stays.



#define MLAF_BF16 0
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/lib/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object, and its parameter block. The includer
// hands over `launch`: shared (bytes of dynamic shared memory), and where wanted cluster ({x, y, z}, or x), overlaps and balanced
// (0 or 1), maps (list of { of, cols, rows, swizzle }). runtime/core/launch.h says what each means.
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_combine_32c73827_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 0,
    {1, 1, 1}, 1, 1, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};
#define SCHEDULE_FIXED 128
// [templates/lib/schedule.h]

constexpr int H = 20, R = 256, PAGE = 16, SLOT_ROWS = 60;
constexpr int ROWS = 8, TEAM = 1;
constexpr int VECTORS = 2, DEPTH = 2; // 16-byte loads of a lane for a row; partial results in flight
constexpr int VALUES = 4;                               // in 16 bytes
// Bits 0, TEAM, 2 TEAM, ... of 32: what the team's first warp adds up.
constexpr u32 EVERY_TEAM = (u32)(0xffffffffull / ((1ull << TEAM) - 1));

// A row's partial results, merged: O = sum_s w_s O_s / sum_s w_s with w_s = 2^(LSE_s - max LSE), all in fp32.
struct merged {
  float top, sum; // largest LSE; weights of this lane's partial results
  float o[VECTORS][VALUES];
};

MLAF_DEV void add(float (&o)[VALUES], float w, const uint4& x) {
  const u32 words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) o[i] = fmaf(w, float_of(words[i]), o[i]);
}

// Up to 32 partial results more: lane l knows one, at row slot * stride + row of part_o, and its LSE; slot -1: none.
// The first rows are fetched together with the LSEs, before it is known which of them count: one with LSE -inf does not, whatever
// it holds.
MLAF_DEV void merge(merged& m, const float* part_o, int slot, u32 stride, u32 row, float lse, int mate) {
  const int lane = threadIdx.x & 31;
  const u32 mine = slot * stride + row; // of the rows in part_o, which are fewer than 2^32: each takes 64 bytes at least
  u32 todo = __ballot_sync(~0u, slot >= 0) & EVERY_TEAM << mate, live = 0;
  bool fresh = true;
  float weight = 0.0f;
  while (todo || fresh) {
    uint4 x[DEPTH][VECTORS];
    int from[DEPTH];
#pragma unroll
    for (int k = 0; k < DEPTH; k++) { // fewer than DEPTH left: nothing, as zero
      from[k] = todo ? __ffs(todo) - 1 : -1;
      todo &= todo - 1;
      const i64 at = (i64)__shfl_sync(~0u, mine, from[k] & 31) * R;
#pragma unroll
      for (int i = 0; i < VECTORS; i++) {
        const int vector = lane + 32 * i;
        x[k][i] = make_uint4(0, 0, 0, 0);
        if (from[k] >= 0 && (R % (32 * VALUES) == 0 || VALUES * vector < R)) x[k][i] = ((const uint4*)(part_o + at))[vector];
      }
    }
    if (fresh) { // what was summed up before is worth less
      const float higher = fmaxf(m.top, max_over_lanes<1, 32>(lse));
      const float past = higher == minus_inf() ? 0.0f : exp2_fast(m.top - higher);
      live = __ballot_sync(~0u, lse != minus_inf());
      weight = live >> lane & 1 ? exp2_fast(lse - higher) : 0.0f; // NaN stays NaN
      m.sum = m.sum * past + weight;
#pragma unroll
      for (int i = 0; i < VECTORS * VALUES; i++) m.o[i / VALUES][i % VALUES] *= past;
      m.top = higher;
      fresh = false;
    }
#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
      const float w = __shfl_sync(~0u, weight, from[k] & 31);
      if (from[k] < 0 || !(live >> from[k] & 1)) continue;
#pragma unroll
      for (int i = 0; i < VECTORS; i++) add(m.o[i], w, x[k][i]);
    }
  }
}

// Behind the last merge(): what the warps of all teams summed up, each team's in its first warp (mate 0). All warps of the block.
MLAF_DEV void join_team(merged& m, int warp, int mate) {
}

// The row, by its team's first warp: to `o` with the weights' sum, and its LSE where one is wanted.
MLAF_DEV void write_row(const merged& m, float sum, char* o, float* lse) {
  const int lane = threadIdx.x & 31;
  const float scale = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    const int vector = lane + 32 * i;
    u32 w[VALUES / 2];
#pragma unroll
    for (int k = 0; k < VALUES / 2; k++) w[k] = pack2(m.o[i][2 * k] * scale, m.o[i][2 * k + 1] * scale);
    if (VALUES * vector < R) ((uint2*)o)[vector] = make_uint2(w[0], w[1]);
  }
  if (lane == 0 && lse) *lse = (m.top + log2_fast(sum)) * LN_2;
}

// [templates/lib/row_place.h]

extern "C" __global__ void __launch_bounds__(256, 4) mlaf_mla_combine_32c73827(const __grid_constant__ mlaf_decode_params p) {
  const mlaf_decode_args& a = p.a;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, mate = warp % TEAM;
  const i64 mine = (i64)blockIdx.x * ROWS + warp / TEAM, last_row = a.total_q * H - 1;
  const i64 row = mine < last_row ? mine : last_row; // a team without a row still meets the others at the barrier

  const int all = a.kv_indptr[a.batch];
  const place here = find_place(a, (int)(row / H), lane);
  const mlaf_shares shares = schedule_shares(schedule_start(all, a.batch, PAGE), a.splits);
  int first, last;
  request_parts(shares, here.start, here.end, &first, &last);
  first = first < 0 ? 0 : first;
  last = smaller(last, a.splits - 1);
  const i64 r = row - (i64)here.first_token * H; // row of the request
  let_next_launch_start(); // its blocks come as the decode kernel's leave; its own wait is for this launch, and so for that one
  wait_for_previous_launch();

  merged m = {minus_inf()};
  bool cut = false;
  for (int id = first; id <= last; id += 32) {
    const int slot = id + lane <= last ? request_slot(shares, here.start, here.tokens, id + lane) : -1;
    const float lse = slot < 0 ? minus_inf() : a.part_lse[(i64)slot * SLOT_ROWS + r];
    cut |= __any_sync(~0u, slot >= 0);
    merge(m, a.part_o, slot, SLOT_ROWS, r, lse, mate);
  }
  const float sum = sum_over_lanes<1, 32>(m.sum);
  join_team(m, warp, mate);
  if (mate == 0 && mine <= last_row && cut) write_row(m, sum, a.o + 2 * row * R, a.lse ? a.lse + row : nullptr);
}
