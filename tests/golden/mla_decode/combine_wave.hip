// Generated from templates/mla_decode/combine_wave_invariant.hip.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_decode_combine_wave_invariant_8c4aab7e
// parameters:
//   dtype = bf16
//   heads = 16
//   page_size = 64
//   q_len = 1
//   rank = 512
//   rows = 4
//   team = 2
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_wave_invariant target=gfx942 dtype=bf16 heads=16 page_size=64 q_len=1 rank=512 rows=4 team=2




#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_decode/lib/args.h]

constexpr int R = 512, ROWS = 4, TEAM = 2, VECTORS = 2, DEPTH = 8;
#define FIT_FIXED 16
#define FIT_CUT 0 // these decide nothing here
#define FIT_PACE 0
#define FIT_LEAST 1
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_combine_wave_invariant_8c4aab7e_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 0, {0, 0}, 0, {}};
// [templates/mla_decode/lib/fit_wave.h]
constexpr int H = 16, Q_LEN = 1, PAGE = 64;
enum { OWN_GRAIN = 64 };     // tokens: parts begin at multiples of it
enum { OWN_PARTS_BITS = 6 }; // a request has fewer parts than 2^6
#ifndef OWN_LEAST
enum { OWN_LEAST = 8, OWN_KNEE = 32, OWN_WIDE = 16 };
#endif

MLAF_DEV u32 own_grains(int tokens) { return ((u32)tokens + OWN_GRAIN - 1) / OWN_GRAIN; }

MLAF_DEV int own_parts(int tokens, int most) {
  const u32 grains = own_grains(tokens), wide = (grains + OWN_WIDE - 1) / OWN_WIDE;
  u32 n = (grains + OWN_LEAST - 1) / OWN_LEAST;
  n = n < OWN_KNEE ? n : OWN_KNEE;
  n = n < wide ? wide : n;
  n = n < (u32)most ? n : (u32)most;
  return n > 0 ? (int)n : 1;
}

MLAF_DEV int own_begin(int tokens, int n, int k) {
  const u32 at = own_grains(tokens) * (u32)k / (u32)n * OWN_GRAIN;
  return at < (u32)tokens ? (int)at : tokens;
}
// [templates/mla_decode/lib/paging.h]

template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}


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

struct sources {
  u64 first, stride, aside;
  int count;
};

#if 1
typedef float part_rows[R]; // of each wave
static __shared__ __attribute__((aligned(16))) part_rows parts[ROWS * TEAM];
#endif

template <int Team>
MLAF_DEV void merge_row(const mlaf_combine_args& a, const sources& from, i64 row, bool exists, int lane, int wave) {
  constexpr u64 EVERY_TEAM = ~0ul / ((1ul << Team) - 1); // bits 0, Team, 2 Team, ... of 64: what a team's first wave adds up
  const int mate = wave % Team;
  auto row_of = [&](u32 s) { return from.first + from.stride * s + ((int)s == from.count - 1 ? from.aside : 0); };

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

MLAF_DEV int request_of(const mlaf_decode_args& a, int token, int lane) {
  const int each = (int)a.total_q / a.batch, guess = uniform(smaller(token / (each > 0 ? each : 1), a.batch - 1));
  if (constants(a.qo_indptr)[guess] <= token && token < constants(a.qo_indptr)[guess + 1]) return guess;
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.qo_indptr;
  return uniform(fit_find(a.batch, lane, [&](int i) { return table[i] <= token; }));
}

MLAF_DEV int own_results(const mlaf_decode_args& a, i64 row, int lane) {
  int first_page;
  const int token = (int)(row / H), request = request_of(a, token, lane);
  const int q_begin = constants(a.qo_indptr)[request], q_end = constants(a.qo_indptr)[request + 1];
  if (token < q_begin || token >= q_end || is_refused(q_end - q_begin, q_begin, q_end, (int)a.total_q)) return 0;
  const int n = own_parts(cached_tokens<PAGE>(a, request, first_page), fit_splits(a.splits));
  return n > 1 ? n : 0;
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(512, 512))) void
mlaf_mla_decode_combine_wave_invariant_8c4aab7e(mlaf_decode_args p) {
  const int lane = thread_id() & 63, wave = uniform(thread_id() >> 6);
  const i64 row = (i64)group_x() * ROWS + wave / TEAM;
  const mlaf_combine_args a = {p.part_o, p.part_lse, p.o, p.lse, p.total_q * H, 0, 0};
  const int count = row < a.rows ? own_results(p, row, lane) : 0;
  merge_row<TEAM>(a, {(u64)row, (u64)a.rows, 0, count}, row, count > 0, lane, wave);
}
