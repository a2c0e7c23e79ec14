// The begin of sm90_few_ahead: one thread of math makes the barriers, and all of them bring Q of a block's first piece.
//@ needs("BAD_AT", "C", "EMPTY_Q_AT", "ENDS_AT", "FULL_Q_AT", "H", "MET_AT", "N", "PLACES", "R", "RING", "ROPE", "W")

// Run by one thread: of several in a warp each waits for the one before at its fences, 1 us for a ring's.
MLAF_DEV void make_barriers(char* base, u32 smem) {
  for (int k = 0; k < PLACES; k++) {
    barrier_init(smem + FULL_Q_AT + 8 * k, 1);
    barrier_init(smem + EMPTY_Q_AT + 8 * k, 128 * W);
  }
//@ if meets then
  barrier_init(smem + MET_AT, 1);
//@ end
  if (C > 1) {
    barrier_init(smem + ENDS_AT, 1);
    barrier_init(smem + ENDS_AT + 8, 1);
    barrier_expect(smem + ENDS_AT, 16 * N * C);
  }
#pragma unroll
  for (int s = 0; s < RING; s++) {
    barrier_init(full_barrier(smem, s), 1);
    barrier_init(empty_barrier(smem, s), 4);
    ((int*)(base + BAD_AT))[s] = 0;
  }
  barriers_ready();
}

// Q of the block's first piece, by math itself: a copy would queue behind those of the tiles, which are in flight since before
// there was a Q. To where boxes of 64 columns with a swizzle of 128 bytes would lie. Rows behind all requests' repeat the last.
MLAF_DEV void take_q(const mlaf_decode_args& a, const work& w, char* to) {
  constexpr int ROW = (R + ROPE) / 8, ALL = N * ROW, T = 128 * W, AT_ONCE = 5; // pieces of 16 bytes
  const i64 last = a.total_q * H - 1;
#pragma unroll 1
  for (int first = threadIdx.x; first < ALL; first += T * AT_ONCE) {
    uint4 x[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      const int at = smaller(first + i * T, ALL - 1);
      const i64 row = w.row + at / ROW;
      x[i] = *(const uint4*)(a.q + (row < last ? row : last) * (16 * ROW) + at % ROW * 16);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      const int at = first + i * T, n = at / ROW, c = at % ROW;
      if (at < ALL) *(uint4*)(to + c / 8 * (N * 128) + n * 128 + ((c ^ n) % 8) * 16) = x[i];
    }
  }
  fence_async();
  named_sync(3, T);
}
