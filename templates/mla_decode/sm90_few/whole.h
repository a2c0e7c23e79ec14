// The end of a request that was one piece, of two warpgroups, in one step. Each puts its O, as it is, in the place of its last
// tile: so the one that is done first does so while the other is still at the last tile, and has its instructions fetched for
// both. Then each thread adds up both of a row, by the row's states, which it reads of all warps. Of two blocks each writes half
// of the rows, and sends what it has of the other half.
//@ -- Handed over: column, weight and lists, as to ends.h; landed: where the other block's half goes, which nobody uses any more.
//@ needs("BOX", "COLS", "ENDS_AT", "LN_2", "N", "NB", "NV", "O_BOXES", "R", "RING", "STATE_AT", "WARPS_AT")

// The box from which on warpgroup g's O lies: of its last tile's, or the ring's first where that wraps around before. first: the
// box at which the piece begins.
MLAF_DEV int box_of_o(int first, int tiles, int g) {
  const int t = tiles > g ? g + (tiles - 1 - g) / 2 * 2 : g, slot = (int)((u32)(first + t * NB) % RING);
  return RING - slot >= O_BOXES ? slot : 0;
}

// A row over both warpgroups: top, sums, and what each warpgroup's O counts.
struct whole_row {
  float top, sum, weight, factor[2];
};
MLAF_DEV whole_row whole_row_of(const char* base, int n) {
  const float4* const parts = (const float4*)(base + WARPS_AT) + n;
  whole_row x;
  float m[2], sum[2], weight[2];
#pragma unroll
  for (int g = 0; g < 2; g++) {
    m[g] = parts[8 * g * N].x;
    sum[g] = weight[g] = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      sum[g] += parts[(8 * g + k) * N].y;
      weight[g] += parts[(8 * g + k) * N].z;
    }
  }
  x.top = fmaxf(m[0], m[1]);
#pragma unroll
  for (int g = 0; g < 2; g++) x.factor[g] = exp2_fast(m[g] - x.top);
  x.sum = sum[0] * x.factor[0] + sum[1] * x.factor[1];
  x.weight = weight[0] * x.factor[0] + weight[1] * x.factor[1];
  return x;
}

MLAF_DEV float4 weighed(const float4& x, float by, const float4& y, float and_by) {
  return make_float4(x.x * by + y.x * and_by, x.y * by + y.y * and_by, x.z * by + y.z * and_by, x.w * by + y.w * and_by);
}

MLAF_DEV void put_unit(const mlaf_decode_args& a, const work& w, int n, int column, const float4& y) {
  if (w.part < 0) store_kept(a.o + 2 * ((w.row + n) * R + column), make_uint2(pack2(y.x, y.y), pack2(y.z, y.w)));
  else store_kept(a.part_o + (w.part + w.row0 + n) * R + column, y);
}
MLAF_DEV void put_lse(const mlaf_decode_args& a, const work& w, int n, float top, float sum) {
  const float lse = top + log2_fast(sum);
  if (w.part >= 0) a.part_lse[w.part + w.row0 + n] = lse;
  else if (a.lse) a.lse[w.row + n] = lse * LN_2;
}

// Stores a warpgroup's sums to shared memory. After it all of both is there.
MLAF_DEV void put_whole(char* base, int first, int tiles, int group, const row_state& r, const float (&o)[NV][N / 2]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  named_sync(1 + group, 128); // its tile and its P are done with
  float4* const parts = (float4*)(base + WARPS_AT);
#pragma unroll
  for (int c = 0; c < COLS; c++) {
    const float sum = sum_over_lanes<4, 32>(r.sum[c]), weight = sum_over_lanes<4, 32>(r.${weight}[c]);
    if (lane < 4) parts[(8 * group + warp) * N + 8 * (c / 2) + 2 * lane + c % 2] = make_float4(r.m[c], sum, weight, 0.0f);
  }
  float ones[COLS];
#pragma unroll
  for (int c = 0; c < COLS; c++) ones[c] = 1.0f;
  float* const out = (float*)(base + BOX * box_of_o(first, tiles, group));
  put_o<0, 0, NV, R + 4, false>(out + 2 * (lane % 4) * (R + 4) + 16 * warp + ${column}, ones, o);
  named_sync(3, 256);
}

//@ local sink = lists and " * sink_factor(a, shared_address(base), n, x.top + log2_fast(x.sum))" or ""
template <int C>
MLAF_DEV void end_whole(const mlaf_decode_args& a, const work& w, char* base, u32 smem, int group, int cta_id, row_state& r,
                        const float (&o)[NV][N / 2], int first = 0) {
  constexpr int STRIDE = R + 4, ROWS = N / C; // that this block writes
  constexpr int EACH = 256 / ROWS >= 32 ? 32 : 256 / ROWS >= 16 ? 16 : 8; // threads of a row
  constexpr int ROUNDS = R / 4 / EACH, LANDED = ${landed};
  const int tiles = tiles_of(w);
  put_whole(base, first, tiles, group, r, o);
  if (C > 1) cluster_wait();
  const int mine = threadIdx.x / EACH, unit = threadIdx.x % EACH; // row of those that a block writes, first unit of 4 columns
  const char* const o0 = base + BOX * box_of_o(first, tiles, 0);
  const char* const o1 = base + BOX * box_of_o(first, tiles, 1);
  auto at = [&](int n, int k) { return 4 * (n * STRIDE + 4 * (unit + EACH * k)); };
  if (C > 1) {
    const int other = 1 - cta_id, n = ROWS * other + mine;
    if (threadIdx.x == 0) barrier_expect(smem + ENDS_AT + 8, 16 * ROWS + 4 * ROWS * R);
    if (mine < ROWS) {
      const whole_row x = whole_row_of(base, n);
      const u32 bar = cluster_address(smem + ENDS_AT + 8, other), to = cluster_address(smem + LANDED, other);
#pragma unroll
      for (int k = 0; k < ROUNDS; k++)
        cluster_send(to + 16 * (mine * (R / 4) + unit + EACH * k),
                     weighed(*(const float4*)(o0 + at(n, k)), x.factor[0], *(const float4*)(o1 + at(n, k)), x.factor[1]), bar);
      const float4 state = make_float4(x.top, x.sum, x.weight, 0.0f);
      if (unit == 0) cluster_send(cluster_address(smem + STATE_AT + 16 * mine, other), state, bar);
    }
  }
  const int n = C > 1 ? ROWS * cta_id + mine : mine;
  if (mine >= ROWS) return;
  whole_row x = whole_row_of(base, n);
  float4 y[ROUNDS];
  if (C > 1) {
#pragma unroll
    for (int k = 0; k < ROUNDS; k++)
      y[k] = weighed(*(const float4*)(o0 + at(n, k)), x.factor[0], *(const float4*)(o1 + at(n, k)), x.factor[1]);
    barrier_wait_cluster(smem + ENDS_AT + 8, 0);
    const float4 its = *(const float4*)(base + STATE_AT + 16 * mine);
    const float top = fmaxf(x.top, its.x), here = exp2_fast(x.top - top), there = exp2_fast(its.x - top);
    x.sum = x.sum * here + its.y * there;
    x.weight = x.weight * here + its.z * there;
    x.top = top;
    const float inverse = x.sum == 0.0f ? 0.0f : 1.0f / x.weight${sink};
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
      const float4 z = *(const float4*)(base + LANDED + 16 * (mine * (R / 4) + unit + EACH * k));
      y[k] = weighed(y[k], here * inverse, z, there * inverse);
    }
  } else {
    const float inverse = x.sum == 0.0f ? 0.0f : 1.0f / x.weight${sink};
#pragma unroll
    for (int k = 0; k < ROUNDS; k++)
      y[k] = weighed(*(const float4*)(o0 + at(n, k)), x.factor[0] * inverse, *(const float4*)(o1 + at(n, k)),
                     x.factor[1] * inverse);
  }
  if (n >= w.rows) return;
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) put_unit(a, w, n, 4 * (unit + EACH * k), y[k]);
  if (unit == 0) put_lse(a, w, n, x.top, x.sum);
}
