// Eight floats to eight bytes of e4m3, rounded to nearest even. What is too large becomes the largest number, as all writers of
// such caches do; NaN stays NaN.
//
//   e4m3fn    bias 7, up to 448, NaN is 0x7f and 0xff        e4m3fnuz  bias 8, up to 240, NaN is 0x80, no -0
//
// Conversion in integers, unless the target has an instruction for it: from 2^(1-bias) on the code is the float's upper bits,
// rounded, less the difference of the biases; below, adding a number whose last bit is worth a code's step rounds to it.
//@ if hardware then
MLAF_DEV u32 encode2(float lo, float hi) {
  unsigned short y;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(hi), "f"(lo));
  return y;
}
//@ else
//@ local bias, most = fnuz and 8 or 7, fnuz and "0x43700000u" or "0x43e00000u"
constexpr u32 MOST = ${most};                            // 240 or 448
constexpr u32 LEAST_NORMAL = ${(128 - bias) << 23};      // 2^(1-bias) as a float's bits
constexpr u32 STEP = ${(127 + 23 - bias - 2) << 23};     // of codes below: 2^(-2-bias), that of a float of 2^(21-bias)
MLAF_DEV u32 encode1(float x) {
  const u32 u = bits_of(x), size = u & 0x7fffffffu;
  const u32 h = size < MOST ? size : MOST;
  const u32 normal = (h + 0x7ffffu + (h >> 20 & 1u) >> 20) - ${(127 - bias) * 8};
  const u32 small = bits_of(float_of(h) + float_of(STEP)) - STEP;
  const u32 code = h < LEAST_NORMAL ? small : normal;
//@ if fnuz then
  return size > 0x7f800000u ? 0x80u : code ? code | (u >> 24 & 0x80u) : 0u;
//@ else
  return (size > 0x7f800000u ? 0x7fu : code) | (u >> 24 & 0x80u);
//@ end
}
MLAF_DEV u32 encode2(float lo, float hi) { return encode1(lo) | encode1(hi) << 8; }
//@ end
MLAF_DEV word2 encode(const float (&v)[8]) {
  return words(encode2(v[0], v[1]) | encode2(v[2], v[3]) << 16, encode2(v[4], v[5]) | encode2(v[6], v[7]) << 16);
}

MLAF_DEV float infinity() { return float_of(0x7f800000u); }
// A scale from device memory: NaN unless it is a positive normal number, so that the row reads as NaN.
MLAF_DEV float usable(float scale) { return scale >= float_of(0x00800000u) && scale < infinity() ? scale : not_a_number(); }

// v / scale, correctly rounded, by the rounded inverse of scale: the product's error is what a second step takes away. A finite v
// beyond all codes stays beyond them. An infinite one becomes NaN, by the term v * 0.
MLAF_DEV void divide(float (&v)[8], float scale, float inverse_scale) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float q = multiply_add(v[i], 0.0f, v[i] * inverse_scale);
    v[i] = magnitude(q) < 1024.0f ? multiply_add(multiply_add(-q, scale, v[i]), inverse_scale, q) : q;
  }
}
