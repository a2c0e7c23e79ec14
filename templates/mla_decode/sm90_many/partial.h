// The many-rows Hopper kernel's 64 rows of partial results in 16 bits. The includer has math, R and O_COLS.
//@ needs("O_COLS", "R", "TOPS_AT")
//@ include("mla_decode/lib/narrow.h")

// The largest of a thread's values of its two rows, over its quad, and handed to both warpgroups. The next barrier of both
// lies before write_narrow().
MLAF_DEV void find_tops(const math& c, int wg, const float (&o)[2][O_COLS / 2]) {
  float top[2] = {NARROW_LEAST, NARROW_LEAST};
  narrow_raise(top, o[0]);
  narrow_raise(top, o[1]);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    top[h] = narrow_of_quad(top[h]);
    if ((c.lane & 3) == 0) store_4(c.shared + TOPS_AT + 4 * (64 * wg + 16 * c.warp + (c.lane >> 2) + 8 * h), top[h]);
  }
}

// O times `by` to the rows at part_o, of which `live` are there.
MLAF_DEV void write_narrow(const math& c, int wg, float* part_o, int live, const float (&by)[2],
                           const float (&o)[2][O_COLS / 2]) {
  const int t = c.lane & 3;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = 16 * c.warp + (c.lane >> 2) + 8 * h;
    if (row >= live) continue;
    const u32 tops = c.shared + TOPS_AT + 4 * row;
    const float most = narrow_larger(load_4(tops), load_4(tops + 4 * 64));
    const float per_unit = NARROW_REACH / most;
    float* const at = part_o + (i64)row * R;
    uint4* const to = (uint4*)at + wg * (R / 16) + t;
#pragma unroll
    for (int i = 0; i < R / 64; i++) to[4 * i] = narrow_values(o[i / (R / 128)], i % (R / 128), h, per_unit);
    if (wg == 0 && t == 0) at[R / 2] = most * by[h] * (1 / NARROW_REACH);
  }
}
