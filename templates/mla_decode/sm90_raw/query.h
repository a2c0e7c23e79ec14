// Q of a piece, which the copy engine brought as it is: to f16, each row times a power of two that puts its largest number into
// [2^14, 2^15), since f16 keeps what is 2^-29 of that exactly where it has room for Q's 16 bits. Rows of 128 bytes, swizzled, a
// slab for 64 columns.
//@ -- scales: 0 where the rope columns are bytes, too. Else they are of the problem's type, and so is Q there, in its own order;
//@ -- 7: the rank's last columns are, from CODES on.
//@ -- rows_of_q: where Q's rows lie (mla_decode/q/bytes.h); least: threads of a row where there are more than 16.
//@ needs("N", "Q_AT", "Q_SLAB", "R", "ROPE", "ROWS_AT")
constexpr int Q_ROW = 2 * (R + ROPE), Q_BLOCKS = (R + ROPE) / 16; // of 16 columns
constexpr int Q_THREADS = N <= 8 ? 32 : N <= 16 ? 16 : ${least}, Q_EACH = (Q_BLOCKS + Q_THREADS - 1) / Q_THREADS; // of a row

MLAF_DEV float larger_of(u32 x, float than) { return fmaxf(than, fmaxf(fabsf(unpack_lo(x)), fabsf(unpack_hi(x)))); }
MLAF_DEV u32 pack_f16(float lo, float hi) {
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
  return y;
}

// By 256 threads; `rows`: of the piece. Behind it Q is ready, and so are the factors of scores (from ROWS_AT on). Of eight
// threads four read a block's second half first: they ask for the same banks else.
MLAF_DEV void take_q(char* base, ${rows_of_q.of}int rows, float scale) {
  const int n = threadIdx.x / Q_THREADS, first = threadIdx.x % Q_THREADS, second = first / 4 % 2;
  uint4 x[Q_EACH][2];
  float top = 0.0f;
//@ rows_of_q.begin()
#pragma unroll
  for (int j = 0; j < Q_EACH; j++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int k = first + Q_THREADS * j;
      x[j][i] = make_uint4(0, 0, 0, 0);
      if (n < rows && k < Q_BLOCKS) x[j][i] = *(const uint4*)(${rows_of_q.row_at} + 32 * k + 16 * (i ^ second));
      top = larger_of(x[j][i].x, larger_of(x[j][i].y, larger_of(x[j][i].z, larger_of(x[j][i].w, top))));
    }
  const u32 exponent = bits_of(max_over_lanes<1, Q_THREADS>(top)) >> 23;
  const u32 kept = exponent < 20 ? 20 : exponent > 254 ? 254 : exponent;
  const float by = float_of(268 - kept << 23);
  if (n >= N) return;
  if (first == 0) *(float*)(base + ROWS_AT + 4 * n) = scale * float_of(kept - 14 << 23);
#pragma unroll
  for (int j = 0; j < Q_EACH; j++) {
    const int k = first + Q_THREADS * j;
    if (k >= Q_BLOCKS) break;
    const uint4 p = second ? x[j][1] : x[j][0], q = second ? x[j][0] : x[j][1];
    const u32 w[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
    char* const to = base + Q_AT + k / 4 * Q_SLAB + n * 128;
    uint4* const a = (uint4*)(to + ((2 * k ^ n) % 8 << 4));
    uint4* const b = (uint4*)(to + ((2 * k + 1 ^ n) % 8 << 4));
    u32 y[8];
//@ if scales > 0 then
    if (k >= ${scales == 7 and "CODES" or "R"} / 16) {
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
