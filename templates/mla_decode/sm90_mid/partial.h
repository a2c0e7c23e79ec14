// Partial results of sm90_mid: values of a few bits, in units of each row (mla_decode/lib/narrow.h).
//@ needs("BOX", "GROUPS", "HALF", "HALVES", "INVERSE_AT", "N", "NARROW_LEAST", "NARROW_REACH", "R", "ROW0_OF")
//@ needs("ROWS_OF", "SCALES_AT")

// Each row's unit, from its largest value in both halves, and what its values are multiplied by, to where the half looks for it:
// its inverse's place, or scales. By way of the first of each half's boxes.
MLAF_DEV void find_units(const mlaf_decode_args& a, u32 smem, int half, u32 k, i64 part, const place& at,
                         const float (&o)[HALF][N / 2]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, n = threadIdx.x % 128;
  const u32 tops = smem + BOX * value_slot(at, half, 0), others = smem + BOX * value_slot(at, 1 - half, 0);
  named_sync(2 + half, 128); // all of the half are through with the boxes
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    float x[8]; // as in fold()
#pragma unroll
    for (int i = 0; i < 8; i++) {
      x[i] = NARROW_LEAST;
      if (4 * g + i / 2 >= N / 8) continue;
#pragma unroll
      for (int c = 0; c < HALF; c++)
#pragma unroll
        for (int h = 0; h < 2; h++) x[i] = narrow_larger(x[i], o[c][(16 * g + i / 2 * 4 + 2 * h + i % 2) % (N / 2)]);
    }
#pragma unroll
    for (int d = 4; d > 0; d /= 2) {
      const bool upper = lane & 4 * d;
#pragma unroll
      for (int i = 0; i < d; i++)
        x[i] = narrow_larger(upper ? x[i + d] : x[i], __shfl_xor_sync(~0u, upper ? x[i] : x[i + d], 4 * d));
    }
    if (own_row(lane, g) < N) store_4(tops + 4 * (N * warp + own_row(lane, g)), x[0]);
  }
  named_sync(HALVES, 256);
  if (n < N) {
    float top = NARROW_LEAST;
#pragma unroll
    for (int w = 0; w < 4; w++)
      top = narrow_larger(narrow_larger(top, load_4(tops + 4 * (N * w + n))), load_4(others + 4 * (N * w + n)));
    const u32 about = facts_of(smem, k), inverse = smem + INVERSE_AT + 4 * (N * (k & 1) + n);
    if (half == 0 && n < known(about, ROWS_OF))
      a.part_o[(part + known(about, ROW0_OF) + n) * R + R / 2] = top * load_4(inverse) * (1 / NARROW_REACH);
    store_4(half == 0 ? inverse : smem + SCALES_AT + 4 * n, NARROW_REACH / top);
  }
  named_sync(HALVES, 256);
}
// This warpgroup's columns: lane t of a quad reads 16 bytes' words from four units of a box and writes them as one.
MLAF_DEV void write_partial(const mlaf_decode_args& a, u32 smem, int half, u32 k, i64 part, const place& at,
                            const float (&o)[HALF][N / 2]) {
  const u32 about = facts_of(smem, k), by = half == 0 ? smem + INVERSE_AT + 4 * N * (k & 1) : smem + SCALES_AT;
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, rows = known(about, ROWS_OF);
  find_units(a, smem, half, k, part, at, o);
  // A warp takes a box, at rank 256 half of its rows.
  const u32 from = smem + BOX * value_slot(at, half, warp % HALF) + 4 * (lane % 4);
  uint4* const to = (uint4*)(a.part_o + (part + known(about, ROW0_OF)) * R) + (R / 16) * half + 8 * (warp % HALF) + lane % 8;
#pragma unroll
  for (int first = 0; first < N; first += 64) {
    if (first > 0) named_sync(2 + half, 128);
    store_columns(smem, half, at, first, by, o, [](float x, float y) { return narrow_word(x, y, 1.0f); });
    named_sync(2 + half, 128);
#pragma unroll 4
    for (int n = first + lane / 8 + 4 * (warp / HALF); n < smaller(first + 64, rows); n += 4 * (4 / HALF)) {
      u32 w[4];
#pragma unroll
      for (int j = 0; j < 4; j++)
        w[j] = load_s32(from + (n - first) * 128 + ((lane / 4 % 2 * 4 + j ^ n % 8) << 4));
      to[n * (R / 4)] = make_uint4(w[0], w[1], w[2], w[3]);
    }
  }
  give_boxes_back(smem, half, at);
}
