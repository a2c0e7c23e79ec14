// Partial results in 16 bits: what a decode kernel leaves of a row and a combine kernel merges, in the 4 R bytes that fp32 takes.
//
//   bytes 0 .. 2R-1    R values x, each the middle two bytes of the float 1.25 + x / unit, which lies in [0.5, 2): its first byte
//                      is 0x3f in all of them, its last one is cut off (half a step is added before)
//   bytes 2R .. 2R+3   unit, fp32: the row's largest |x| / 0.7499; not finite when an x is not, which makes the whole row NaN
//
// No value is off by more than 2^-16 unit, 2.1e-5 of the row's largest. One byte permutation and the FMA that weighs it bring a
// value back, with 1.25 in it: what that adds up to is taken off at the end.
//
// Each 16 bytes hold the 8 values that a thread has of 32 columns of a wgmma's result, so that who writes need not hand them
// over: lane t of a quad has columns 8j + 2t, +1 for j = 0..3. Who reads puts them in order once, behind the sum.
//
// Plain C up to #ifdef, so that a test can run it on the host. The includer has u32, MLAF_DEV, bits_of() and float_of().

#define NARROW_MIDDLE 1.25f   // what 0 becomes
#define NARROW_REACH 0.7499f  // how far from it values may lie
#define NARROW_LEAST 7.5e-37f // of a row's largest value: less counts as 0

// Two values.
MLAF_DEV u32 narrow_word(float x, float y, float per_unit) {
  const float half = 0x1p-16f; // of a step
  return __byte_perm(bits_of(fmaf(x, per_unit, NARROW_MIDDLE + half)), bits_of(fmaf(y, per_unit, NARROW_MIDDLE + half)), 0x6521);
}
// Back, with the middle in them.
MLAF_DEV float narrow_lo(u32 w) { return float_of(__byte_perm(w, 0x3f000000u, 0x7104)); }
MLAF_DEV float narrow_hi(u32 w) { return float_of(__byte_perm(w, 0x3f000000u, 0x7324)); }

#ifdef __CUDACC__
// The larger of m and |x|; NaN stays.
MLAF_DEV float narrow_larger(float m, float x) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(m), "f"(fabsf(x)));
  return y;
}

// The larger of `top` and a thread's values of two rows in a wgmma's result, by row.
template <int N>
MLAF_DEV void narrow_raise(float (&top)[2], const float (&o)[N]) {
  float odd[2] = {NARROW_LEAST, NARROW_LEAST};
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    top[i >> 1 & 1] = narrow_larger(top[i >> 1 & 1], o[i]);
    odd[i >> 1 & 1] = narrow_larger(odd[i >> 1 & 1], o[i + 1]);
  }
#pragma unroll
  for (int h = 0; h < 2; h++) top[h] = narrow_larger(top[h], odd[h]);
}

// The largest of a quad of lanes.
MLAF_DEV float narrow_of_quad(float top) {
#pragma unroll
  for (int d = 1; d < 4; d *= 2) top = narrow_larger(top, __shfl_xor_sync(~0u, top, d));
  return top;
}

// 16 bytes: a thread's values of row h in columns [32 at, +32) of a wgmma's result.
template <int N>
MLAF_DEV uint4 narrow_values(const float (&o)[N], int at, int h, float per_unit) {
  u32 w[4];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int i = 16 * at + 4 * j + 2 * h;
    w[j] = narrow_word(o[i], o[i + 1], per_unit);
  }
  return make_uint4(w[0], w[1], w[2], w[3]);
}

// Word j of lane t of a quad and word t of its lane j change places.
MLAF_DEV void transpose_quad(u32 (&w)[4]) {
#pragma unroll
  for (int d = 1; d < 4; d *= 2)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (j & d) continue;
      const bool upper = threadIdx.x & d;
      const u32 other = __shfl_xor_sync(~0u, upper ? w[j] : w[j | d], d);
      if (upper) w[j] = other;
      else w[j | d] = other;
    }
}
#endif
