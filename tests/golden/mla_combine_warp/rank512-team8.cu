// Generated from templates/mla_combine_warp.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_combine_c7b60b3f
// parameters:
//   dtype = bf16
//   rank = 512
//   rows = 2
//   team = 8
// regenerate: lua5.4 gen/cli.lua render mla_combine_warp target=sm_90a dtype=bf16 rank=512 rows=2 team=8
// Merges the KV splits of split-KV attention: O = sum_s w_s O_s / sum_s w_s with w_s = 2^(LSE_s - max LSE), all in fp32.
//
// A team of `team` warps owns one row (token, head); a workgroup holds `rows` teams. A row has `splits` partial results:
//
//   part_lse[s][row]   base 2; lane l of every warp of the team holds splits 32c + l, so maximum and sum are two passes of
//                      warp reductions, and a ballot tells which splits hold anything
//   part_o[s][row][R]  warp w of the team adds up the live splits w, w + team, ...; lane l owns columns 4(l + 32i) .. +3
//
//   warp 0:  split 0 | lane 0: c 0-3 | lane 1: c 4-7 | ... | lane 31 |   16 bytes a lane, DEPTH splits in flight
//   warp 1:  split 1 | ...                                               team > 1: the warps' sums meet in shared memory, once
//
// The number of splits is a launch argument without limit. Splits without a token (LSE -inf) are skipped: their part_o is
// neither fetched nor multiplied, it may hold anything. No live split: O = 0, LSE = -inf. A NaN in any LSE makes the row NaN.



#define MLAF_BF16 1
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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_combine_c7b60b3f_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 0,
    {1, 1, 1}, 1, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};

constexpr int R = 512, ROWS = 2, TEAM = 8, VECTORS = 4, DEPTH = 4;
// Bits 0, TEAM, 2 TEAM, ... of 32: the splits of a team's first warp.
constexpr u32 EVERY_TEAM = (u32)(0xffffffffull / ((1ull << TEAM) - 1));

MLAF_DEV void add(float4& o, float w, const float4& x) {
  o.x += w * x.x;
  o.y += w * x.y;
  o.z += w * x.z;
  o.w += w * x.w;
}

extern "C" __global__ void __launch_bounds__(512) mlaf_mla_combine_c7b60b3f(const __grid_constant__ mlaf_combine_args a) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, mate = warp % TEAM;
  const i64 row = (i64)blockIdx.x * ROWS + warp / TEAM;
  const bool exists = row < a.rows; // a team without a row still meets the others at the barrier
  const u64 rows = (u64)a.rows;     // of one split
  const float* lses = a.part_lse + row;
  const float* os = a.part_o + row * R;

  wait_for_previous_launch();
  // LSE of split 32c + lane; no split there: -inf.
  auto lse_of = [&](int first) {
    const int s = first + lane;
    return exists && s < a.splits ? lses[rows * (u32)s] : minus_inf();
  };
  float top = minus_inf();
  for (int first = 0; first < a.splits; first += 32) top = fmaxf(top, lse_of(first));
  top = max_over_lanes<1, 32>(top);

  float sum = 0.0f;
  float4 o[VECTORS] = {};
  for (int first = 0; first < a.splits; first += 32) {
    const float lse = lse_of(first);
    const bool live = lse != minus_inf(); // true for NaN
    const float weight = live ? exp2_fast(lse - top) : 0.0f;
    sum += weight;
    u32 todo = __ballot_sync(~0u, live) & EVERY_TEAM << mate;
    while (todo) {
      float4 x[DEPTH][VECTORS];
      float w[DEPTH];
      int s = 0;
#pragma unroll
      for (int k = 0; k < DEPTH; k++) { // fewer than DEPTH left: nothing, as zero
        const bool real = todo != 0;
        if (real) s = __ffs(todo) - 1;
        todo &= todo - 1;
        w[k] = __shfl_sync(~0u, weight, s);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
          const int column = 4 * (lane + 32 * i);
          x[k][i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          if (real && (R % 128 == 0 || column < R)) x[k][i] = *(const float4*)(os + rows * (u32)(first + s) * R + column);
        }
      }
#pragma unroll
      for (int k = 0; k < DEPTH; k++)
#pragma unroll
        for (int i = 0; i < VECTORS; i++) add(o[i], w[k], x[k][i]);
    }
  }
  let_next_launch_start();
  sum = sum_over_lanes<1, 32>(sum);

  __shared__ __align__(16) float parts[ROWS * TEAM][R];
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    if (4 * (lane + 32 * i) < R) *(float4*)&parts[warp][4 * (lane + 32 * i)] = o[i];
  __syncthreads();
  if (mate != 0) return;
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    if (4 * (lane + 32 * i) < R)
      for (int w = 1; w < TEAM; w++) add(o[i], 1.0f, *(const float4*)&parts[warp + w][4 * (lane + 32 * i)]);

  if (!exists) return;
  const float scale = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    const int column = 4 * (lane + 32 * i);
    if (column < R)
      *(uint2*)(a.o + 2 * (row * R + column)) =
          make_uint2(pack2(o[i].x * scale, o[i].y * scale), pack2(o[i].z * scale, o[i].w * scale));
  }
  if (lane == 0 && a.lse) a.lse[row] = (top + log2_fast(sum)) * LN_2;
}
