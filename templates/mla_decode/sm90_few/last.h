// The end of a block's last piece where parts add up what they cut among themselves (mla_decode/lib/meet.h).
// A piece that goes on in earlier parts, the block's last: all of O at once, through the ring, which nobody uses any more. To
// the partials if it goes on in a later part, too; else pieces of the others are added, and it is the request's O.
//@ -- Handed over: thread (its number).
//@ needs("LN_2", "MET_AT", "N", "NV", "PART", "R", "STATE_AT", "T", "W")
MLAF_DEV void finish_last(const mlaf_decode_args& a, const work& w, char* base, u32 smem, int group, const row_state& r,
                          const float (&o)[NV][N / 2]) {
  constexpr int EACH = (N * R / 4 + T - 1) / T, MOST = N <= 16 ? 8 : 4, AT_ONCE = EACH < MOST ? EACH : MOST; // units of 4 columns
  constexpr int PIECES = 2; // under way together: a thread's loads take as long as one piece's bytes
  const int units = w.rows * (R / 4);
  gather_o<0, R>(base, base, group, r, o);
  named_sync(3, 128 * W);
  const int others = meet_count(w.whom);
  if (others > 0) barrier_wait(smem + MET_AT, 0);
#pragma unroll 1
  for (int first = 0; first < EACH; first += AT_ONCE) {
    float4 y[AT_ONCE];
    float m[AT_ONCE], sum[AT_ONCE];
    auto unit = [&](int k) { return (first + k) * T + ${thread}; };
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = unit(k), n = smaller(i / (R / 4), N - 1);
      const float4 state = ((const float4*)(base + STATE_AT))[n];
      const float4 x = *(const float4*)(base + 4 * (n * (R + 4) + i % (R / 4) * 4));
      const float factor = state.y == 0.0f ? 0.0f : state.y / state.z;
      m[k] = state.x, sum[k] = state.y;
      y[k] = make_float4(x.x * factor, x.y * factor, x.z * factor, x.w * factor);
    }
#pragma unroll 1
    for (int other = 0; other < others; other += PIECES) {
      float4 x[PIECES][AT_ONCE];
      float lse[PIECES][AT_ONCE];
#pragma unroll
      for (int j = 0; j < PIECES; j++) {
        const int p = meet_part(PART, w.whom, smaller(other + j, others - 1));
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
          const i64 row = part_row(p) + smaller(unit(k), units - 1) / (R / 4);
          lse[j][k] = other + j < others ? a.part_lse[row] : minus_inf();
          x[j][k] = *(const float4*)(a.part_o + row * R + unit(k) % (R / 4) * 4);
        }
      }
#pragma unroll
      for (int j = 0; j < PIECES; j++)
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
          const float top = fmaxf(m[k], lse[j][k]), mine = exp2_fast(m[k] - top);
          const float its = other + j < others ? exp2_fast(lse[j][k] - top) : 0.0f;
          const float4 z = x[j][k];
          m[k] = top;
          sum[k] = sum[k] * mine + its;
          y[k] = make_float4(y[k].x * mine + z.x * its, y[k].y * mine + z.y * its, y[k].z * mine + z.z * its,
                             y[k].w * mine + z.w * its);
        }
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int i = unit(k), n = i / (R / 4), column = i % (R / 4) * 4;
      if (i >= units) break;
      const float by = sum[k] == 0.0f ? 0.0f : 1.0f / sum[k], lse = m[k] + log2_fast(sum[k]);
      const float4 z = make_float4(y[k].x * by, y[k].y * by, y[k].z * by, y[k].w * by);
      if (w.part >= 0) store_kept(a.part_o + (w.part + w.row0 + n) * R + column, z);
      else store_kept(a.o + 2 * ((w.row + n) * R + column), make_uint2(pack2(z.x, z.y), pack2(z.z, z.w)));
      if (column > 0) continue;
      if (w.part >= 0) a.part_lse[w.part + w.row0 + n] = lse;
      else if (a.lse) a.lse[w.row + n] = lse * LN_2;
    }
  }
  named_sync(3, 128 * W);
}
