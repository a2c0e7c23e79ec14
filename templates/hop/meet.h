// What a block of the many-rows Hopper kernel publishes of its part and adds from earlier ones (lib/meet.h). The includer has the
// constants of the kernel.

// Into L2, which they left long ago, by one warp. Of one that is not there yet nothing is read.
MLAF_DEV void fetch_pieces(const mlaf_decode_args& a, int others, int live, int lane) {
  for (int i = lane + 1; live > 0 && i <= others; i += 32)
    fetch_bytes(a.part_o + part_row(blockIdx.y - i) * R, smaller(live, ROWS) * R * 4);
}

// Until they are there, by one warp. No row of this block lives: nobody published.
MLAF_DEV void take_pieces(const mlaf_decode_args& a, int others, int live, int lane) {
  for (int i = lane + 1; live > 0 && i <= others; i += 32)
    meet_take(word_of(a, blockIdx.y - i), a.part_lse + part_row(blockIdx.y - i), smaller(live, ROWS));
}

// The order of a row's columns in a published piece: thread t of a quad has 16i + 2t, +1, +8, +9 side by side.
MLAF_DEV i64 column_of(int wg, int v, int i, int t) { return wg * (R / 2) + v * PIECE + 16 * i + 4 * t; }

// Other parts' pieces of the request to this one, each by its LSE. by: what O counts, before and after.
template <int WG>
MLAF_DEV void add_pieces(const mlaf_decode_args& a, int warp, int lane, int others, int live, float (&m)[2], float (&sum)[2],
                         float (&by)[2], float (&o)[2][PIECE / 2]) {
  constexpr int AT_ONCE = 4; // columns' loads under way together, of both rows
  const int row0 = 16 * warp + (lane >> 2), t = lane & 3;
  by[0] *= sum[0], by[1] *= sum[1];
#pragma unroll
  for (int i = 0; i < PIECE / 2; i++) o[0][i] *= by[i >> 1 & 1], o[1][i] *= by[i >> 1 & 1];
#pragma unroll 1
  for (int p = blockIdx.y - others; p < (int)blockIdx.y; p++) {
    const i64 rows[2] = {part_row(p) + smaller(row0, live - 1), part_row(p) + smaller(row0 + 8, live - 1)};
    float mine[2], its[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float lse = a.part_lse[rows[h]], top = fmaxf(m[h], lse);
      mine[h] = exp2_fast(m[h] - top);
      its[h] = exp2_fast(lse - top);
      m[h] = top;
      sum[h] = sum[h] * mine[h] + its[h];
    }
#pragma unroll
    for (int v = 0; v < 2; v++)
#pragma unroll
      for (int i = 0; i < PIECE / 16; i++) {
        if (i % AT_ONCE == 0) asm volatile("" ::: "memory"); // all loads at once would want more registers than there are
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const float4 x = *(const float4*)(a.part_o + rows[h] * R + column_of(WG, v, i, t));
          float* const to = &o[v][8 * i + 2 * h];
          to[0] = to[0] * mine[h] + x.x * its[h];
          to[1] = to[1] * mine[h] + x.y * its[h];
          to[4] = to[4] * mine[h] + x.z * its[h];
          to[5] = to[5] * mine[h] + x.w * its[h];
        }
      }
  }
#pragma unroll
  for (int h = 0; h < 2; h++) by[h] = sum[h] == 0.0f ? 0.0f : 1.0f / sum[h];
}

// O of this block's rows to its slot, and word of it; the LSEs are there.
template <int WG>
MLAF_DEV void publish(const mlaf_decode_args& a, int warp, int lane, int live, const float (&by)[2],
                      const float (&o)[2][PIECE / 2]) {
  const int row0 = 16 * warp + (lane >> 2), t = lane & 3;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    if (row0 + 8 * h >= live) continue;
    float* const to = a.part_o + (part_row(blockIdx.y) + row0 + 8 * h) * R;
#pragma unroll
    for (int v = 0; v < 2; v++)
#pragma unroll
      for (int i = 0; i < PIECE / 16; i++) {
        const float* const x = &o[v][8 * i + 2 * h];
        *(float4*)(to + column_of(WG, v, i, t)) = make_float4(x[0] * by[h], x[1] * by[h], x[4] * by[h], x[5] * by[h]);
      }
  }
  if (WG == 1) named_arrive(WRITTEN, 256);
  else named_sync(WRITTEN, 256);
  if (WG == 0 && warp == 0 && lane == 0 && live > 0) meet_publish(word_of(a, blockIdx.y));
}
