// Generated from templates/mla_decode/combine_wave.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_combine_wave_85c425e7
// parameters:
//   dtype = bf16
//   fitted = 0
//   rank = 512
//   rows = 1
//   team = 8
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_wave target=gfx942 dtype=bf16 fitted=0 rank=512 rows=1 team=8
// Merges the KV splits of split-KV attention: O = sum_s w_s O_s / sum_s w_s with w_s = 2^(LSE_s - max LSE), all in fp32.
//
// A team of `team` waves owns one row (token, head); a workgroup holds `rows` teams. A row has `splits` partial results:
//
//   part_lse[s][row]   base 2; lane l of every wave of the team holds splits 64c + l, so maximum and sum are two passes of
//                      wave reductions, and a ballot tells which splits hold anything
//   part_o[s][row][R]  wave w of the team adds up the live splits w, w + team, ...; lane l owns columns 4(l + 64i) .. +3
//
//   wave 0:  split 0 | lane 0: c 0-3 | lane 1: c 4-7 | ... | lane 63 |   16 bytes a lane, DEPTH splits in flight
//   wave 1:  split 1 | ...                                               team > 1: the waves' sums meet in LDS, once
//
// fitted: a request's fixed cost (gen/ops/mla_decode/plans/fit_wave.lua) if the launch before may have cut its whole batch into
// parts (mla_decode/lib/fit_wave.h): then a row's partial results are the pieces that the parts have of its request, and lie in
// their slots. 0: it may not.
//
// The number of splits is a launch argument without limit. Splits without a token (LSE -inf) are skipped: their part_o is
// neither fetched nor multiplied, it may hold anything. No live split: O = 0, LSE = -inf. A NaN in any LSE makes the row NaN.




#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_decode/lib/args.h]

constexpr int R = 512, ROWS = 1, TEAM = 8, VECTORS = 2, DEPTH = 8;


MLAF_DEV float max_over_wave(float x, int lane) {
#pragma unroll
  for (int d = 1; d < 64; d *= 2) x = __builtin_fmaxf(x, lane_xor(x, lane, d));
  return x;
}
MLAF_DEV float sum_over_wave(float x, int lane) {
#pragma unroll
  for (int d = 1; d < 64; d *= 2) x += lane_xor(x, lane, d);
  return x;
}
MLAF_DEV float of_lane(float x, int lane) { return float_of((u32)__builtin_amdgcn_readlane((int)bits_of(x), lane)); }

// A row's partial results: so many, the k-th at row first + k * stride of part_o and part_lse, the last one `aside` behind that.
// Rows there are fewer than 2^32: each takes 128 bytes at least.
struct sources {
  u64 first, stride, aside;
  int count;
};

#if 1
typedef float part_rows[R]; // of each wave
static __shared__ __attribute__((aligned(16))) part_rows parts[ROWS * TEAM];
#endif

// The row of each `Team` waves. All waves of the workgroup.
template <int Team>
MLAF_DEV void merge_row(const mlaf_combine_args& a, const sources& from, i64 row, bool exists, int lane, int wave) {
  constexpr u64 EVERY_TEAM = ~0ul / ((1ul << Team) - 1); // bits 0, Team, 2 Team, ... of 64: what a team's first wave adds up
  const int mate = wave % Team;
  auto row_of = [&](u32 s) { return from.first + from.stride * s + ((int)s == from.count - 1 ? from.aside : 0); };

  // LSE of partial result 64c + lane; none there: -inf.
  auto lse_of = [&](int first) {
    const int s = first + lane;
    return s < from.count ? *(const MLAF_GLOBAL float*)(global(a.part_lse) + 4 * row_of((u32)s)) : minus_inf();
  };
  float top = minus_inf();
  for (int first = 0; first < from.count; first += 64) top = __builtin_fmaxf(top, lse_of(first));
  top = max_over_wave(top, lane);

  float sum = 0.0f;
  f32x4 o[VECTORS] = {};
  for (int first = 0; first < from.count; first += 64) {
    const float lse = lse_of(first);
    const bool live = lse != minus_inf(); // true for NaN
    const float weight = live ? exp2_fast(lse - top) : 0.0f;
    sum += weight;
    u64 todo = __builtin_amdgcn_ballot_w64(live) & EVERY_TEAM << mate;
    while (todo) {
      f32x4 x[DEPTH][VECTORS];
      float w[DEPTH];
      bool real[DEPTH];
      int s = 0;
#pragma unroll
      for (int k = 0; k < DEPTH; k++) { // fewer than DEPTH left: the last one again, as zero
        real[k] = todo != 0;
        if (real[k]) s = __builtin_ctzl(todo);
        todo &= todo - 1;
        w[k] = of_lane(weight, s);
        const gptr data = global(a.part_o) + row_of((u32)(first + s)) * (4 * R);
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
          x[k][i] = *(const MLAF_GLOBAL f32x4*)(data + 4 * smaller(4 * (lane + 64 * i), R - 4));
      }
      __builtin_amdgcn_sched_barrier(0); // all loads leave before the first is waited for
#pragma unroll
      for (int k = 0; k < DEPTH; k++)
#pragma unroll
        for (int i = 0; i < VECTORS; i++) o[i] += w[k] * (real[k] ? x[k][i] : f32x4{0.0f, 0.0f, 0.0f, 0.0f});
    }
  }
  sum = sum_over_wave(sum, lane);

#if 1
  if (Team > 1) {
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      if (4 * (lane + 64 * i) < R) *(f32x4*)&parts[wave][4 * (lane + 64 * i)] = o[i];
    __syncthreads();
    if (mate != 0) return;
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      if (4 * (lane + 64 * i) < R)
        for (int w = 1; w < Team; w++) o[i] += *(const f32x4*)&parts[wave + w][4 * (lane + 64 * i)];
  }
#endif

  if (!exists) return;
  const float scale = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    const int column = 4 * (lane + 64 * i);
    if (column < R)
      *(MLAF_GLOBAL u32x2*)(global(a.o) + 2 * (row * R + column)) =
          u32x2{pack2(o[i][0] * scale, o[i][1] * scale), pack2(o[i][2] * scale, o[i][3] * scale)};
  }
  if (lane == 0 && a.lse) *(MLAF_GLOBAL float*)(global(a.lse) + 4 * row) = (top + log2_fast(sum)) * LN_2;
}


extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(512, 512))) void
mlaf_mla_decode_combine_wave_85c425e7(mlaf_combine_args p) {
  const int lane = thread_id() & 63, wave = uniform(thread_id() >> 6);
  const i64 row = (i64)group_x() * ROWS + wave / TEAM;
  const bool exists = row < p.rows; // a team without a row still meets the others at the barrier
  merge_row<TEAM>(p, {(u64)row, (u64)p.rows, 0, exists ? p.splits : 0}, row, exists, lane, wave);
}
