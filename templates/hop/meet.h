// What a block of the many-rows Hopper kernel publishes of its part and adds from earlier ones (lib/meet.h). The includer has the
// constants of the kernel.

// Into L2, which they left long ago, by one warp. Of one that is not there yet nothing is read.
MLAF_DEV void fetch_pieces(const mlaf_decode_args& a, int whom, int live, int lane) {
  for (int k = lane; live > 0 && k < meet_count(whom); k += 32) {
    const float* const o = a.part_o + part_row(meet_part(PART, whom, k)) * R;
    for (int i = 0; i < smaller(live, ROWS); i++) fetch_bytes(o + (i64)i * R, 2 * R + 16);
  }
}

// Until they are there, by one warp. No row of this block lives: nobody published.
MLAF_DEV void take_pieces(const mlaf_decode_args& a, int whom, int live, int lane) {
  for (int k = lane; live > 0 && k < meet_count(whom); k += 32) {
    const int p = meet_part(PART, whom, k);
    meet_take(word_of(a, p), a.part_lse + part_row(p), smaller(live, ROWS));
  }
}

// Other parts' pieces of the request to this one, each by its LSE: first what all count for together, then one after the other, in
// 16 bits as write_narrow() leaves them, each value by the thread that has its column. by: what O counts, before and after.
template <int WG>
MLAF_DEV void add_pieces(const mlaf_decode_args& a, int warp, int lane, int whom, int live, float (&m)[2], float (&sum)[2],
                         float (&by)[2], float (&o)[2][PIECE / 2]) {
  const int row0 = 16 * warp + (lane >> 2), t = lane & 3, count = meet_count(whom);
  const int rows[2] = {smaller(row0, live - 1), smaller(row0 + 8, live - 1)};
  float top[2] = {m[0], m[1]}, middle[2] = {0.0f, 0.0f};
#pragma unroll 1
  for (int k = 0; k < count; k++)
#pragma unroll
    for (int h = 0; h < 2; h++) top[h] = fmaxf(top[h], a.part_lse[part_row(meet_part(PART, whom, k)) + rows[h]]);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const float mine = exp2_fast(m[h] - top[h]);
    by[h] *= sum[h] * mine; // 0 where this block saw no token
    sum[h] *= mine;
    m[h] = top[h];
  }
#pragma unroll
  for (int i = 0; i < PIECE / 2; i++) o[0][i] *= by[i >> 1 & 1], o[1][i] *= by[i >> 1 & 1];
#pragma unroll 1
  for (int k = 0; k < count; k++) {
    const i64 first = part_row(meet_part(PART, whom, k));
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float* const row = a.part_o + (first + rows[h]) * R;
      const float its = exp2_fast(a.part_lse[first + rows[h]] - m[h]), weight = its * row[R / 2];
      const uint4* const from = (const uint4*)row + WG * (R / 16) + t;
      uint4 x[R / 64];
#pragma unroll
      for (int i = 0; i < R / 64; i++) x[i] = from[4 * i];
      sum[h] += its;
      middle[h] = fmaf(weight, NARROW_MIDDLE, middle[h]);
#pragma unroll
      for (int i = 0; i < R / 64; i++) {
        const u32 words[4] = {x[i].x, x[i].y, x[i].z, x[i].w};
        float* const to = &o[i / (R / 128)][16 * (i % (R / 128)) + 2 * h];
#pragma unroll
        for (int j = 0; j < 4; j++) {
          to[4 * j] = fmaf(weight, narrow_lo(words[j]), to[4 * j]);
          to[4 * j + 1] = fmaf(weight, narrow_hi(words[j]), to[4 * j + 1]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < PIECE / 2; i++) o[0][i] -= middle[i >> 1 & 1], o[1][i] -= middle[i >> 1 & 1];
#pragma unroll
  for (int h = 0; h < 2; h++) by[h] = sum[h] == 0.0f ? 0.0f : 1.0f / sum[h];
}

// Word of a piece whose rows and LSEs are written, by all math warps.
template <int WG>
MLAF_DEV void publish(const mlaf_decode_args& a, int warp, int lane, int live) {
  if (WG == 1) named_arrive(WRITTEN, 256);
  else named_sync(WRITTEN, 256);
  if (WG == 0 && warp == 0 && lane == 0 && live > 0) meet_publish(word_of(a, PART));
}
