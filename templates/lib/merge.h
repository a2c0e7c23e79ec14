// A row's partial results, merged: O = sum_s w_s O_s / sum_s w_s with w_s = 2^(LSE_s - max LSE), all in fp32, by a team of TEAM
// warps. The includer has R, TEAM, ROWS (of a block), VECTORS (16-byte loads of a lane for a row) and DEPTH (partial results in
// flight), and hands over team. Of the balanced schedule, whose pieces are few and anywhere; the other: mla_combine_warp.cu.in.

constexpr int VALUES = 4; // in 16 bytes
// Bits 0, TEAM, 2 TEAM, ... of 32: what the team's first warp adds up.
constexpr u32 EVERY_TEAM = (u32)(0xffffffffull / ((1ull << TEAM) - 1));

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
//@ if team > 1 then
  __shared__ __align__(16) float parts[ROWS * TEAM][VECTORS * VALUES / 4][32][4];
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < VECTORS * VALUES; i += 4) {
    const float* const o = &m.o[i / VALUES][i % VALUES];
    *(float4*)parts[warp][i / 4][lane] = make_float4(o[0], o[1], o[2], o[3]);
  }
  __syncthreads();
  if (mate != 0) return;
#pragma unroll
  for (int i = 0; i < VECTORS * VALUES; i += 4) {
    float* const o = &m.o[i / VALUES][i % VALUES];
    for (int w = 1; w < TEAM; w++) {
      const float4 x = *(const float4*)parts[warp + w][i / 4][lane];
      o[0] += x.x, o[1] += x.y, o[2] += x.z, o[3] += x.w;
    }
  }
//@ end
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
