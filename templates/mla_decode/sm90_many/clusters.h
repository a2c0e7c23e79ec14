// The end of a request that a cluster's blocks have cut among them (mla_decode/sm90_many_clusters), as of mla_decode/sm90_mid's
// clusters.h: each block finishes some of O's columns, which a warpgroup of each of the others hands over from its registers, a
// thread's values to the thread of the same number, 16 bytes at a time. They land where the cache's tiles were, and states of
// rows where Q was.
//@ needs("BAD_OF", "BUFFER", "BUFFERS", "ENDS_AT", "FREE_AT", "KV_AT", "LANDED_AT", "LN_2", "O_COLS", "P_AT", "Q_AT", "R",
//@   "ROWS", "ROW_OF", "SLICE", "SUMS_AT", "TOGETHER")
//@ include("mla_decode/lib/cluster.h")
//@ include("mla_decode/lib/cluster_ends.h")
constexpr int MINE = 2 * O_COLS / TOGETHER, UNITS_SENT = MINE / 4; // values of a thread that a block finishes; in 16 bytes
constexpr int STATES_AT = Q_AT;                                    // of the other blocks' rows: maximum and sum
constexpr int GIVES = TOGETHER / 2;                                // blocks that finish columns of one warpgroup
static_assert((TOGETHER - 1) * UNITS_SENT * 2048 <= BUFFERS * BUFFER && MINE % 16 == 0, "there is no room to land");

MLAF_DEV float value_of(const float (&o)[2][O_COLS / 2], int i) { return o[i / (O_COLS / 2)][i % (O_COLS / 2)]; }

// Hands over what other blocks finish.
MLAF_DEV void send_columns(const math& c, int wg, int cta_id, const float (&o)[2][O_COLS / 2]) {
#pragma unroll
  for (int q = 0; q < GIVES; q++) {
    const int to = wg * GIVES + q;
    if (to == cta_id) continue;
    const u32 place = c.shared + KV_AT + (cta_id - (cta_id > to)) * (UNITS_SENT * 2048) + 16 * (32 * c.warp + c.lane);
    const u32 at = cluster_address(place, to), bar = cluster_address(c.shared + LANDED_AT, to);
#pragma unroll
    for (int i = 0; i < UNITS_SENT; i++) {
      const int first = q * MINE + 4 * i;
      cluster_send(at + 2048 * i, make_float4(value_of(o, first), value_of(o, first + 1), value_of(o, first + 2),
                                              value_of(o, first + 3)), bar);
    }
  }
}

// This block's columns of O, which this warpgroup has, and the LSE. sum: of this block's tokens, over both warpgroups.
MLAF_DEV void finish_columns(const math& c, const mlaf_decode_args& a, u32 copy, int wg, int cta_id, int live,
                             const float (&m)[2], const float (&sum)[2], float (&o)[2][O_COLS / 2]) {
  const int row0 = 16 * c.warp + (c.lane >> 2), t = c.lane & 3;
#pragma unroll
  for (int q = 1; q < GIVES; q++)
    if (cta_id % GIVES == q)
#pragma unroll
      for (int i = 0; i < MINE; i++) o[i / (O_COLS / 2)][i % (O_COLS / 2)] = value_of(o, q * MINE + i);
  if (c.warp == 0 && c.lane == 0) barrier_expect(c.shared + LANDED_AT, (TOGETHER - 1) * UNITS_SENT * 2048);
  barrier_wait_cluster(c.shared + ENDS_AT, 0);
  float own[2], its[TOGETHER - 1][2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const u32 states = c.shared + STATES_AT + 8 * (row0 + 8 * h);
    float top = m[h];
#pragma unroll
    for (int k = 0; k < TOGETHER - 1; k++) top = fmaxf(top, load_4(states + 8 * ROWS * k));
    own[h] = exp2_fast(m[h] - top);
    float all = own[h] * sum[h];
#pragma unroll
    for (int k = 0; k < TOGETHER - 1; k++) {
      its[k][h] = exp2_fast(load_4(states + 8 * ROWS * k) - top);
      all = fmaf(its[k][h], load_4(states + 8 * ROWS * k + 4), all);
    }
    const float inverse = all == 0.0f ? 0.0f : 1.0f / all; // no token seen: O = 0
    own[h] *= inverse;
#pragma unroll
    for (int k = 0; k < TOGETHER - 1; k++) its[k][h] *= inverse;
    const int row = row0 + 8 * h;
    if (cta_id == 0 && t == 0 && row < live && a.lse)
      a.lse[known_row(copy, ROW_OF) + row] = all == 0.0f ? minus_inf() : (top + log2_fast(all)) * LN_2;
  }
  barrier_wait_cluster(c.shared + LANDED_AT, 0);
  asm volatile("" : "+r"(live), "+r"(cta_id)); // addresses are made behind it: registers are O's
  const o_rows to = {a.o + 2 * ((known_row(copy, ROW_OF) + row0) * R + cta_id * (R / TOGETHER)) + 16 * t,
                     {row0 < live, row0 + 8 < live}};
  const u32 stage = c.shared + P_AT + SLICE + 1024 * (4 * wg + c.warp), land = c.shared + KV_AT + 16 * (32 * c.warp + c.lane);
  const float one[2] = {1.0f, 1.0f};
#pragma unroll
  for (int first = 0; first < 2 * MINE; first += 32) { // columns
#pragma unroll
    for (int i = first / 2; i < first / 2 + 16; i++) o[i / (O_COLS / 2)][i % (O_COLS / 2)] *= own[i >> 1 & 1];
#pragma unroll
    for (int k = 0; k < TOGETHER - 1; k++)
#pragma unroll
      for (int i = first / 8; i < first / 8 + 4; i++) {
        u32 x[4];
        load_16(land + (k * UNITS_SENT + i) * 2048, x);
#pragma unroll
        for (int j = 0; j < 4; j++) {
          float& y = o[4 * i / (O_COLS / 2)][4 * i % (O_COLS / 2) + j];
          y = fmaf(float_of(x[j]), its[k][j / 2], y);
        }
      }
    write_columns(c, to, first, o[first / O_COLS], first % O_COLS, one, stage);
  }
}

// The end of the request for a warpgroup of math, whose sums are in shared memory.
MLAF_DEV void finish_together(const math& c, const mlaf_decode_args& a, u32 copy, int wg, int live, const rows_state& r,
                              float (&o)[2][O_COLS / 2]) {
  const int cta_id = cta_in_cluster(), row0 = 16 * c.warp + (c.lane >> 2);
  float sum[2];
  barrier_wait_cluster(c.shared + FREE_AT, 0); // all their products are done
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = row0 + 8 * h;
    sum[h] = known(copy, BAD_OF) ? not_a_number() : r.sum[h] + load_4(c.shared + SUMS_AT + 4 * (64 * (1 - wg) + row));
    if (wg > 0 || (c.lane & 3) > 0) continue;
#pragma unroll
    for (int k = 0; k < TOGETHER; k++)
      if (k != cta_id)
        cluster_send_8(cluster_address(c.shared + STATES_AT + 8 * (ROWS * (cta_id - (cta_id > k)) + row), k), r.m[h], sum[h],
                       cluster_address(c.shared + ENDS_AT, k));
  }
  send_columns(c, wg, cta_id, o);
  if (cta_id / GIVES == wg) finish_columns(c, a, copy, wg, cta_id, live, r.m, sum, o);
}
