// Q of a piece, which the copy engine brought as it is: to f16, each row times a power of two that puts its largest number into
// [2^14, 2^15), since f16 keeps what is 2^-29 of that exactly where it has room for Q's 16 bits. Rows of 128 bytes, swizzled, a
// slab for 64 columns.
//@ -- scales: 0 where the rope columns are bytes, too. Else they are of the problem's type, and so is Q there, in its own order.
//@ needs("N", "Q_AT", "Q_SLAB", "R", "RAW_Q_AT", "ROPE", "ROWS_AT")
constexpr int Q_ROW = 2 * (R + ROPE), Q_BLOCKS = (R + ROPE) / 16, Q_THREADS = N <= 8 ? 32 : N <= 16 ? 16 : 8; // of a row

MLAF_DEV float larger_of(u32 x, float than) { return fmaxf(than, fmaxf(fabsf(unpack_lo(x)), fabsf(unpack_hi(x)))); }
MLAF_DEV u32 pack_f16(float lo, float hi) {
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
  return y;
}

// By all math threads; `rows`: of the piece. Behind it Q is ready, and so are the factors of scores (from ROWS_AT on).
MLAF_DEV void take_q(char* base, int rows, float scale) {
  const int n = threadIdx.x / Q_THREADS, first = threadIdx.x % Q_THREADS;
  const char* const from = base + RAW_Q_AT + n * Q_ROW;
  float top = 0.0f;
  if (n < rows)
#pragma unroll 3
    for (int k = first; k < Q_BLOCKS; k += Q_THREADS)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const uint4 x = *(const uint4*)(from + 32 * k + 16 * i);
        top = larger_of(x.x, larger_of(x.y, larger_of(x.z, larger_of(x.w, top))));
      }
  const u32 exponent = bits_of(max_over_lanes<1, Q_THREADS>(top)) >> 23;
  const u32 kept = exponent < 20 ? 20 : exponent > 254 ? 254 : exponent;
  const float by = float_of(268 - kept << 23);
  if (first == 0 && n < N) *(float*)(base + ROWS_AT + 4 * n) = scale * float_of(kept - 14 << 23);
  if (n < N)
#pragma unroll 3
    for (int k = first; k < Q_BLOCKS; k += Q_THREADS) {
      u32 w[8];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        uint4 x = make_uint4(0, 0, 0, 0);
        if (n < rows) x = *(const uint4*)(from + 32 * k + 16 * i);
        w[4 * i] = x.x, w[4 * i + 1] = x.y, w[4 * i + 2] = x.z, w[4 * i + 3] = x.w;
      }
      char* const to = base + Q_AT + k / 4 * Q_SLAB + n * 128;
      uint4* const a = (uint4*)(to + ((2 * k ^ n) % 8 << 4));
      uint4* const b = (uint4*)(to + ((2 * k + 1 ^ n) % 8 << 4));
      u32 y[8];
//@ if scales > 0 then
      if (k >= R / 16) {
#pragma unroll
        for (int i = 0; i < 8; i++) y[i] = pack2(unpack_lo(w[i]) * by, unpack_hi(w[i]) * by);
        *a = make_uint4(y[0], y[1], y[2], y[3]);
        *b = make_uint4(y[4], y[5], y[6], y[7]);
        continue;
      }
//@ end
#pragma unroll
      for (int i = 0; i < 8; i++) y[i] = pack_f16(unpack_lo(w[i]) * by, unpack_hi(w[i]) * by);
      *a = make_uint4(y[0], y[2], y[4], y[6]); // the order of k indices in operands_of()
      *b = make_uint4(y[1], y[3], y[5], y[7]);
    }
}
