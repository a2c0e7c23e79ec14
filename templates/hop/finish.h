// How a piece of the many-rows Hopper kernel ends: sums of both math warpgroups, O and LSE to where they belong.
//@ include("hop/ends.h")

//@ if narrow then
//@ include("hop/partial.h", { tops_at = tops_at })
//@ end
template <int WG>
MLAF_DEV void finish(const math& c, const mlaf_decode_args& a, rows_state& r, float (&o)[2][PIECE / 2]) {
  const facts f = {0, 0, 0, known(c.shared, N_OF), known_row(c.shared, ROW_OF), known_row(c.shared, PART_OF),
                   known(c.shared, BAD_OF)};
//@ if merged then
  const int others = known(c.shared, OTHERS_OF);
//@ end
  if (MANY) { // the first P's place and that of the facts are the next piece's
    fence_async();
    barrier_arrive(c.shared + LAST_EMPTY_AT);
  }
  const u32 sums = c.shared + SUMS_AT; // [warpgroup][row]
  const int row0 = 16 * c.warp + (c.lane >> 2), t = c.lane & 3, live = f.n * H - 64 * (int)blockIdx.x;
//@ if narrow then
  float top[2];
  if (f.part >= 0) find_tops<WG>(c, o, top);
//@ end
#pragma unroll
  for (int h = 0; h < 2; h++) {
    r.sum[h] = sum_over_lanes<1, 4>(r.sum[h]);
    if (t == 0) store_4(sums + 4 * (64 * WG + row0 + 8 * h), r.sum[h]);
  }
//@ if merged then
  if (WG == 0 && c.warp == 0) take_pieces(a, others, live, c.lane);
//@ end
  named_sync(BOTH, 256);
  float by[2], sum[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    sum[h] = f.bad ? not_a_number() : r.sum[h] + load_4(sums + 4 * (64 * (1 - WG) + row0 + 8 * h));
    by[h] = sum[h] == 0.0f ? 0.0f : 1.0f / sum[h]; // no token seen: O = 0
  }
//@ if merged then
  if (others > 0 && live > 0) add_pieces<WG>(a, c.warp, c.lane, others, live, r.m, sum, by, o);
//@ end
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = row0 + 8 * h;
    if (WG == 0 && t == 0 && row < live) {
      const float lse2 = sum[h] == 0.0f ? minus_inf() : r.m[h] + log2_fast(sum[h]);
      if (f.part >= 0) a.part_lse[f.part + row] = lse2;
      else if (a.lse) a.lse[f.row + row] = lse2 * LN_2;
    }
  }
//@ if merged then
  if (f.part >= 0) {
    publish<WG>(a, c.warp, c.lane, live, by, o);
    return;
  }
//@ elseif narrow then
  if (f.part >= 0) {
    write_narrow<WG>(c, a.part_o + f.part * R, live, by, top, o);
    return;
  }
//@ end
#pragma unroll
  for (int v = 0; v < 2; v++) {
    const int column = WG * (R / 2) + v * PIECE;
    if (f.part < 0) {
#pragma unroll
      for (int i = 0; i < PIECE; i += 32)
        write_columns(c, a.o + 2 * ((f.row + 16 * c.warp) * R + column + i), o[v], i, by, live - 16 * c.warp, 4 * WG + c.warp);
    } else {
#pragma unroll
      for (int h = 0; h < 2; h++)
        if (row0 + 8 * h < live) {
          float* to = a.part_o + (f.part + row0 + 8 * h) * R + column + 2 * t;
#pragma unroll
          for (int i = 0; i < PIECE / 8; i++)
            *(float2*)(to + 8 * i) = make_float2(o[v][4 * i + 2 * h] * by[h], o[v][4 * i + 2 * h + 1] * by[h]);
        }
    }
  }
}
