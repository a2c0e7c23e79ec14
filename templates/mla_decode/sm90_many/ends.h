// The begin and the end of the many-rows Hopper kernel's pieces: Q of a negative scale, O as 16-bit output. The includer has math
// and the constants of the kernel.
//@ needs("O_COLS", "PAIR", "Q_AT", "Q_LAST_K", "Q_SLICES", "R", "ROWS", "SLICE")

// Zeros where no copy brings a row. The next barrier of both warpgroups lies before the first product.
MLAF_DEV void clear_q(u32 shared) {
#pragma unroll 1
  for (int i = 16 * (threadIdx.x & 127) + 2048 * (threadIdx.x >> 8); i < Q_SLICES * SLICE; i += 4096)
    if (i / 128 % ROWS >= q_rows()) store_16(shared + Q_AT + i, 0, 0, 0, 0);
  fence_async();
}

// Q's sign for a negative scale, and zeros where the block has no row (as no_rows) and a copy brought one. The next barrier of
// both warpgroups lies before the first product.
MLAF_DEV void prepare_q(const math& c, u32 sign, int live, u32 (&q_last)[4][4]) {
  const u32 shared = c.shared;
  const int to = sign == 0 && live >= q_rows() ? 0 : Q_SLICES * SLICE;
#pragma unroll 1
  for (int i = 16 * (threadIdx.x & 127) + 2048 * (threadIdx.x >> 8); i < to; i += 4096) {
    u32 x[4] = {sign, sign, sign, sign};
    if (i / 128 % ROWS < live) {
      if (sign == 0) continue;
      load_16(shared + Q_AT + i, x);
    }
    store_16(shared + Q_AT + i, x[0] ^ sign, x[1] ^ sign, x[2] ^ sign, x[3] ^ sign);
  }
  fence_async();
  const int row = 16 * c.warp + (c.lane >> 2);
#pragma unroll
  for (int i = 0; i < 4 * Q_LAST_K; i++) q_last[i / 4][i % 4] = row + i % 2 * 8 < live ? q_last[i / 4][i % 4] ^ sign : 0;
}

// A thread's place in O: two rows of its warp's, 8 apart, if they are there.
struct o_rows {
  char* at;
  bool there[2];
};
// 32 columns of a warp's 16 rows as 16-bit output, the first `first` behind `to`: through 1 KB of shared memory of its own, in
// the second P's place, so that a warp writes 64 bytes of a row at once.
MLAF_DEV void write_columns(const math& c, const o_rows& to, int first, const float (&o)[O_COLS / 2], int from,
                            const float (&by)[2], u32 stage) {
  const int row = c.lane & 15, chunk = c.lane >> 4, x = c.lane & 3;
#pragma unroll
  for (int k = 0; k < 2; k++) {
    u32 w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int at = 4 * (from / 8 + 2 * k + i / 2) + 2 * (i & 1);
      w[i] = pack2(o[at] * by[i & 1], o[at + 1] * by[i & 1]);
    }
    store_matrices(stage + row * 64 + (((2 * k + chunk) ^ (row >> 1 & 3)) << 4), w);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int r = (c.lane >> 2) + 8 * i;
    u32 w[4];
    load_16(stage + r * 64 + ((x ^ (r >> 1 & 3)) << 4), w);
    if (!to.there[i]) continue;
    char* const at = to.at + 8 * i * (2 * R) + 2 * first;
    const uint4 y = make_uint4(w[0], w[1], w[2], w[3]);
    if (PAIR == 1) store_kept(at, y); // in pairs it costs 1.5 %
    else *(uint4*)at = y;
  }
  __syncwarp();
}
