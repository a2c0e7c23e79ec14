// Generated from templates/mla_combine_warp.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_80
// symbol: mlaf_mla_combine_b3989439
// parameters:
//   dtype = bf16
//   rank = 512
//   rows = 1
//   team = 4
// regenerate: lua5.4 gen/cli.lua render mla_combine_warp target=sm_80 dtype=bf16 rank=512 rows=1 team=4
// Merges the KV splits of split-KV attention: O = sum_s w_s O_s / sum_s w_s with w_s = 2^(LSE_s - max LSE), all in fp32.
//
// A team of `team` warps owns one row (token, head); a workgroup holds `rows` teams. A row has `splits` partial results:
//
//   part_lse[s][row]   base 2; lane l of every warp of the team looks at splits 32c + l
//   part_o[s][row][R]  warp w of the team adds up splits w, w + team, ...; lane l owns columns 4(l + 32i) .. +3
//
//   warp 0:  split 0 | lane 0: c 0-3 | lane 1: c 4-7 | ... | lane 31 |   16 bytes a lane, DEPTH splits in flight
//   warp 1:  split 1 | ...                                               team > 1: the warps' sums meet in shared memory, once
//
// The number of splits is a launch argument without limit. LSEs and the first partial results are fetched together: one wait, not
// two. Splits without a token (LSE -inf) count for nothing, whatever their part_o holds. No live split: O = 0, LSE = -inf. A NaN
// in any LSE makes the row NaN.



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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_combine_b3989439_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 0,
    {1, 1, 1}, 0, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};

constexpr int R = 512, ROWS = 1, TEAM = 4, VECTORS = 4, DEPTH = 4;
// [templates/lib/merge.h]

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_combine_b3989439(const __grid_constant__ mlaf_combine_args a) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, mate = warp % TEAM;
  const i64 row = (i64)blockIdx.x * ROWS + warp / TEAM;
  const bool exists = row < a.rows; // a team without a row still meets the others at the barrier
  let_next_launch_start(); // its blocks come as the decode kernel's leave; its own wait is for this launch, and so for that one
  wait_for_previous_launch();
  merged m = {minus_inf()};
  for (int first = 0; first < a.splits; first += 32) {
    const int slot = exists && first + lane < a.splits ? first + lane : -1;
    const float lse = slot < 0 ? minus_inf() : a.part_lse[slot * a.rows + row];
    merge(m, a.part_o, slot, a.rows, row, lse, mate);
  }
  const float sum = sum_over_lanes<1, 32>(m.sum);

  __shared__ __align__(16) float parts[ROWS * TEAM][R];
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    if (4 * (lane + 32 * i) < R) *(float4*)&parts[warp][4 * (lane + 32 * i)] = m.o[i];
  __syncthreads();
  if (mate != 0) return;
#pragma unroll
  for (int i = 0; i < VECTORS; i++)
    if (4 * (lane + 32 * i) < R)
      for (int w = 1; w < TEAM; w++) add(m.o[i], 1.0f, *(const float4*)&parts[warp + w][4 * (lane + 32 * i)]);

  if (!exists) return;
  const float scale = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    const int column = 4 * (lane + 32 * i);
    if (column < R)
      *(uint2*)(a.o + 2 * (row * R + column)) =
          make_uint2(pack2(m.o[i].x * scale, m.o[i].y * scale), pack2(m.o[i].z * scale, m.o[i].w * scale));
  }
  if (lane == 0 && a.lse) a.lse[row] = (m.top + log2_fast(sum)) * LN_2;
}
