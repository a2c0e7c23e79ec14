// Q of a piece whose queries are of 8 bits, in place of query.h: to f16, exactly. Rows of 128 bytes, swizzled, a slab for 64
// columns.
//@ -- rows_of_q, least: as query.h has them.
//@ needs("N", "Q_AT", "Q_SLAB", "R", "ROPE", "ROWS_AT")
//@ include("lib/e4m3.h", { encoding = 1 })
constexpr int Q_ROW = R + ROPE, Q_BLOCKS = (R + ROPE) / 16; // of 16 columns
constexpr int Q_THREADS = N <= 8 ? 32 : N <= 16 ? 16 : ${least}; // of a row

MLAF_DEV u32 pack_f16(float lo, float hi) { // of P
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
  return y;
}

// Q of 8 bits to f16 by 256 threads; `rows`: of the piece. Behind it Q is ready, and so are the factors of scores (from ROWS_AT
// on).
MLAF_DEV void take_q(char* base, ${rows_of_q.of}int rows, float scale) {
  const int n = threadIdx.x / Q_THREADS, first = threadIdx.x % Q_THREADS;
  if (n >= N) return;
  if (first == 0) *(float*)(base + ROWS_AT + 4 * n) = scale;
#pragma unroll
  for (int k = first; k < Q_BLOCKS; k += Q_THREADS) {
    const uint4 x = n < rows ? *(const uint4*)(${rows_of_q.row_at} + 16 * k) : make_uint4(0, 0, 0, 0);
    char* const to = base + Q_AT + k / 4 * Q_SLAB + n * 128;
    *(uint4*)(to + ((2 * k ^ n) % 8 << 4)) = // the order of k indices in operands_of()
        make_uint4(halves_of<0>(x.x), halves_of<0>(x.y), halves_of<0>(x.z), halves_of<0>(x.w));
    *(uint4*)(to + ((2 * k + 1 ^ n) % 8 << 4)) =
        make_uint4(halves_of<1>(x.x), halves_of<1>(x.y), halves_of<1>(x.z), halves_of<1>(x.w));
  }
}
