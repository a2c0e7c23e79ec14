// The first Q of sm90_mid_ahead, which the value warpgroups bring.
//@ needs("H", "N", "NB", "R", "ROPE")

// Q of the block's first piece by plain loads: a copy would queue behind those of the tiles, which are in flight since before
// there was a Q. To where boxes of 64 columns with a swizzle of 128 bytes would lie, in the order of a tile's boxes. Rows behind
// all requests' repeat the last.
MLAF_DEV void take_q(const mlaf_decode_args& a, i64 first_row, char* to) {
  constexpr int ROW = NB * 8, ALL = N * ROW, T = 256, AT_ONCE = 9; // pieces of 16 bytes: all of 32 rows
  const i64 last = a.total_q * H - 1;
#pragma unroll 1
  for (int first = threadIdx.x % T; first < ALL; first += T * AT_ONCE) {
    uint4 x[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      const int at = smaller(first + i * T, ALL - 1), column = 64 * column_of(at % ROW / 8) + at % 8 * 8;
      const i64 row = first_row + at / ROW;
      x[i] = *(const uint4*)(a.q + (row < last ? row : last) * (2 * (R + ROPE)) + 2 * smaller(column, R + ROPE - 8));
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      const int at = first + i * T, n = at / ROW, c = at % ROW;
      if (at < ALL) *(uint4*)(to + c / 8 * (N * 128) + n * 128 + ((c ^ n) % 8) * 16) = x[i];
    }
  }
  fence_async();
}
