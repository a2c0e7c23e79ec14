// The end of a piece of the many-rows Hopper kernel: sums of both math warpgroups, O and LSE to where they belong.
//@ -- lists: sinks may come with index lists (mla_decode/lib/list_sink.h).
//@ needs("BAD_OF", "BOTH", "H", "LAST_EMPTY_AT", "LN_2", "MANY", "N_OF", "O_COLS", "PART_OF", "P_AT", "R", "ROW_OF", "SLICE",
//@   "SUMS_AT")
//@ include("mla_decode/sm90_many/ends.h")

//@ include("mla_decode/sm90_many/partial.h")
//@ if clusters then
//@   needs("FREE_AT", "MEETS", "TOGETHER")
//@   include("mla_decode/sm90_many/clusters.h")
//@ end

// Piece k. What is known of it is read from its copy where it is wanted: registers are O's.
MLAF_DEV void finish(const math& c, const mlaf_decode_args& a, u32 k, int wg, rows_state& r, float (&o)[2][O_COLS / 2]) {
  const u32 copy = c.shared + 40 * (2 + (k & 1));
  if (MANY) { // the first P's place and that of the facts are the next piece's
    fence_async();
    barrier_arrive(c.shared + LAST_EMPTY_AT);
  }
//@ if clusters then
  if (known_row(copy, PART_OF) == MEETS && c.lane < TOGETHER && c.lane != (int)cta_in_cluster())
    cluster_tell(cluster_address(c.shared + FREE_AT, c.lane)); // this warp's products are done
//@ end
  const u32 sums = c.shared + SUMS_AT; // [warpgroup][row]
  const int row0 = 16 * c.warp + (c.lane >> 2), t = c.lane & 3, live = known(copy, N_OF) * H - 64 * (int)blockIdx.x;
  const bool part = known_row(copy, PART_OF) >= 0; // not all of its request
  if (part) find_tops(c, wg, o);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    r.sum[h] = sum_over_lanes<1, 4>(r.sum[h]);
    if (t == 0) store_4(sums + 4 * (64 * wg + row0 + 8 * h), r.sum[h]);
  }
  named_sync(BOTH, 256);
//@ if clusters then
  if (known_row(copy, PART_OF) == MEETS) {
    finish_together(c, a, copy, wg, live, r, o);
    return;
  }
//@ end
  float by[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = row0 + 8 * h;
    const float sum = known(copy, BAD_OF) ? not_a_number() : r.sum[h] + load_4(sums + 4 * (64 * (1 - wg) + row));
//@ if lists then
    const float lse2 = sum == 0.0f ? minus_inf() : r.m[h] + log2_fast(sum);
    by[h] = sum == 0.0f ? 0.0f : 1.0f / sum * sink_factor(a, c.shared, row, lse2); // no token seen: O = 0
    if (wg == 0 && t == 0 && row < live) {
//@ else
    by[h] = sum == 0.0f ? 0.0f : 1.0f / sum; // no token seen: O = 0
    if (wg == 0 && t == 0 && row < live) {
      const float lse2 = sum == 0.0f ? minus_inf() : r.m[h] + log2_fast(sum);
//@ end
      if (part) a.part_lse[known_row(copy, PART_OF) + row] = lse2;
      else if (a.lse) a.lse[known_row(copy, ROW_OF) + row] = lse2 * LN_2;
    }
  }
  if (part) {
    write_narrow(c, wg, a.part_o + known_row(copy, PART_OF) * R, live, by, o);
    return;
  }
  const o_rows to = {a.o + 2 * ((known_row(copy, ROW_OF) + row0) * R + wg * (R / 2)) + 16 * t,
                     {row0 < live, row0 + 8 < live}};
  const u32 stage = c.shared + P_AT + SLICE + 1024 * (4 * wg + c.warp);
#pragma unroll
  for (int v = 0; v < 2; v++)
#pragma unroll
    for (int i = 0; i < O_COLS; i += 32) write_columns(c, to, v * O_COLS + i, o[v], i, by, stage);
}
