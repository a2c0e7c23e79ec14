// A row's partial results, merged: O = sum_s w_s O_s / sum_s w_s with w_s = 2^(LSE_s - max LSE), all in fp32, by a team of TEAM
// warps. The includer has R, TEAM, VECTORS (16-byte loads of a lane for a row) and DEPTH (partial results in flight).

// Bits 0, TEAM, 2 TEAM, ... of 32: what the team's first warp adds up.
constexpr u32 EVERY_TEAM = (u32)(0xffffffffull / ((1ull << TEAM) - 1));

struct merged {
  float top, sum; // largest LSE; weights of this lane's partial results
  float4 o[VECTORS];
};

MLAF_DEV void add(float4& o, float w, const float4& x) {
  o.x += w * x.x;
  o.y += w * x.y;
  o.z += w * x.z;
  o.w += w * x.w;
}

// Up to 32 partial results more: lane l knows one, at row slot * stride + row of part_o, and its LSE; slot -1: none.
// The first rows are fetched together with the LSEs, before it is known which of them count: one with LSE -inf does not, whatever
// it holds.
MLAF_DEV void merge(merged& m, const float* part_o, int slot, i64 stride, i64 row, float lse, int mate) {
  const int lane = threadIdx.x & 31;
  u32 todo = __ballot_sync(~0u, slot >= 0) & EVERY_TEAM << mate;
  bool fresh = true;
  float weight = 0.0f;
  while (todo || fresh) {
    float4 x[DEPTH][VECTORS];
    int from[DEPTH];
#pragma unroll
    for (int k = 0; k < DEPTH; k++) { // fewer than DEPTH left: nothing, as zero
      from[k] = todo ? __ffs(todo) - 1 : -1;
      todo &= todo - 1;
      const i64 at = (i64)__shfl_sync(~0u, slot, from[k] & 31) * stride + row;
#pragma unroll
      for (int i = 0; i < VECTORS; i++) {
        const int column = 4 * (lane + 32 * i);
        x[k][i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (from[k] >= 0 && (R % 128 == 0 || column < R)) x[k][i] = *(const float4*)(part_o + at * R + column);
      }
    }
    if (fresh) { // what was summed up before is worth less
      const float higher = fmaxf(m.top, max_over_lanes<1, 32>(lse));
      const float past = higher == minus_inf() ? 0.0f : exp2_fast(m.top - higher);
      weight = lse == minus_inf() ? 0.0f : exp2_fast(lse - higher); // NaN stays NaN
      m.sum = m.sum * past + weight;
#pragma unroll
      for (int i = 0; i < VECTORS; i++)
        m.o[i] = make_float4(m.o[i].x * past, m.o[i].y * past, m.o[i].z * past, m.o[i].w * past);
      m.top = higher;
      fresh = false;
    }
#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
      const float w = __shfl_sync(~0u, weight, from[k] & 31), of = __shfl_sync(~0u, lse, from[k] & 31);
      if (from[k] < 0 || of == minus_inf()) continue;
#pragma unroll
      for (int i = 0; i < VECTORS; i++) add(m.o[i], w, x[k][i]);
    }
  }
}
