/* Transcendental and division-step functions of the vector ALU. Accuracy: each is computed in double precision with a
 * relative error below 2^-40 and rounded once, so a result is the correctly rounded one in all but about one case in
 * 10^4, and then the neighbour; the hardware promises 1 ulp. */
#pragma once

#include "emu/valu_lane.h"

/* 2^t: t = n + f, |f| <= 1/2, Taylor of e^(f ln 2) to degree 11 (remainder 6e-15). */
static inline double exp2_d(double t) {
  t = t > 1100.0 ? 1100.0 : t < -1100.0 ? -1100.0 : t;
  double shifted = t + 0x1.8p52, n = shifted - 0x1.8p52, x = (t - n) * 0.69314718055994530942;
  double p = 1.0 / 39916800;
  p = p * x + 1.0 / 3628800;
  p = p * x + 1.0 / 362880;
  p = p * x + 1.0 / 40320;
  p = p * x + 1.0 / 5040;
  p = p * x + 1.0 / 720;
  p = p * x + 1.0 / 120;
  p = p * x + 1.0 / 24;
  p = p * x + 1.0 / 6;
  p = p * x + 0.5;
  p = p * x + 1.0;
  p = p * x + 1.0;
  /* n as an integer sits in the low bits of `shifted`; two half-sized scalings keep both factors normal. */
  int64_t k = (int64_t)(asq(shifted) - asq(0x1.8p52)), half = k >> 1;
  return p * asd((uint64_t)(half + 1023) << 52) * asd((uint64_t)(k - half + 1023) << 52);
}

/* log2(x), x a normal positive double: x = 2^e m, m in [sqrt(1/2), sqrt 2), atanh series in s = (m-1)/(m+1), |s| < 0.172. */
static inline double log2_d(double x) {
  uint64_t u = asq(x), biased = u - UINT64_C(0x3fe6a09e667f3bcd); /* sqrt(1/2) */
  int64_t e = (int64_t)biased >> 52;
  double m = asd(u - ((uint64_t)e << 52)), s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  return (double)(int32_t)e + 2.88539008177792681472 * s * p; /* 2 / ln 2 */
}

static inline float exp2_f(float x) { return (float)exp2_d((double)x); }
static inline float log2_f(float x) {
  bool normal = (x > 0.0f) & (x < INFINITY);
  float r = (float)log2_d(normal ? (double)x : 1.0);
  return normal ? r : x == 0.0f ? -INFINITY : x == INFINITY ? INFINITY : NAN;
}
static inline float rsq_f(float x) { return (float)(1.0 / sqrt((double)x)); }
/* x in revolutions; outside [-256, 256] the result is that of 0. */
static inline float sin_turns(float x) {
  return fabsf(x) <= 256.0f ? (float)sin(6.283185307179586476925 * ((double)x - floor((double)x))) : isfinite(x) ? 0.0f : NAN;
}
static inline float cos_turns(float x) {
  return fabsf(x) <= 256.0f ? (float)cos(6.283185307179586476925 * ((double)x - floor((double)x))) : isfinite(x) ? 1.0f : NAN;
}
static inline float fract_f(float x) {
  float r = x - floorf(x);
  return r >= 1.0f ? 0x1.fffffep-1f : r;
}
static inline float fract_half(float x) {
  float r = x - floorf(x);
  return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r;
}
static inline double fract_d(double x) {
  double r = x - floor(x);
  return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}

/* Scaling in double is exact, so the one rounding is the conversion back: right for subnormal results too. */
static inline float ldexp_f(float x, int32_t e) {
  int32_t n = e < -400 ? -400 : e > 400 ? 400 : e;
  return (float)((double)x * asd((uint64_t)(n + 1023) << 52));
}

static inline uint32_t frexp_mant32(uint32_t u) {
  uint32_t a = u & 0x7fffffff, scaled = asu(asf(a) * 0x1p32f);
  uint32_t frac = (a < 0x800000 ? scaled : a) & 0x7fffff;
  uint32_t quiet = a > 0x7f800000 ? u | 0x400000 : u;
  return a == 0 || a >= 0x7f800000 ? quiet : (u & 0x80000000) | 0x3f000000 | frac;
}
static inline int32_t frexp_exp32(uint32_t u) {
  uint32_t a = u & 0x7fffffff, scaled = asu(asf(a) * 0x1p32f);
  int32_t e = a < 0x800000 ? (int32_t)(scaled >> 23) - 126 - 32 : (int32_t)(a >> 23) - 126;
  return a == 0 || a >= 0x7f800000 ? 0 : e;
}
static inline uint64_t frexp_mant64(uint64_t u) {
  uint64_t a = u & INT64_MAX, inf = UINT64_C(0x7ff) << 52, scaled = asq(asd(a) * 0x1p64);
  uint64_t frac = (a < UINT64_C(1) << 52 ? scaled : a) & ((UINT64_C(1) << 52) - 1);
  uint64_t quiet = a > inf ? u | UINT64_C(1) << 51 : u;
  return a == 0 || a >= inf ? quiet : (u & ~(uint64_t)INT64_MAX) | UINT64_C(0x3fe) << 52 | frac;
}
static inline int32_t frexp_exp64(uint64_t u) {
  uint64_t a = u & INT64_MAX, inf = UINT64_C(0x7ff) << 52, scaled = asq(asd(a) * 0x1p64);
  int32_t e = a < UINT64_C(1) << 52 ? (int32_t)(scaled >> 52) - 1022 - 64 : (int32_t)(a >> 52) - 1022;
  return a == 0 || a >= inf ? 0 : e;
}

/* --- conversions to integers: truncate, saturate, NaN gives 0 --- */
static inline int32_t f32_to_i32(float x) {
  int32_t v = (int32_t)((x >= -0x1p31f) & (x < 0x1p31f) ? x : 0.0f);
  return x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : v;
}
static inline uint32_t f32_to_u32(float x) {
  uint32_t v = (uint32_t)((x > 0.0f) & (x < 0x1p32f) ? x : 0.0f);
  return x >= 0x1p32f ? UINT32_MAX : v;
}
static inline int32_t f64_to_i32(double x) {
  int32_t v = (int32_t)((x > -0x1.00000002p31) & (x < 0x1p31) ? x : 0.0);
  return x >= 0x1p31 ? INT32_MAX : x <= -0x1.00000002p31 ? INT32_MIN : v;
}
static inline uint32_t f64_to_u32(double x) {
  uint32_t v = (uint32_t)((x > 0.0) & (x < 0x1p32) ? x : 0.0);
  return x >= 0x1p32 ? UINT32_MAX : v;
}
/* Truncated and saturated. */
static inline uint32_t f32_to_u8(float x) { return x > 0.0f ? x < 255.0f ? (uint32_t)(int32_t)x : 255 : 0; }
/* Fixed point in [-1, 1] and [0, 1], to nearest even. */
static inline int32_t snorm16(float x) {
  float c = x > -1.0f ? x < 1.0f ? x : 1.0f : -1.0f;
  return x != x ? 0 : (int32_t)rintf(c * 32767.0f);
}
static inline uint32_t unorm16(float x) {
  float c = x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
  return (uint32_t)(int32_t)rintf(c * 65535.0f);
}

/* --- division steps (div_scale, div_fmas, div_fixup), CDNA3 ISA pseudo-code. x: value to scale, y: denominator, z:
 * numerator. *flag says that div_fmas must undo the scaling. Where the pseudo-code scales a huge denominator up (it would
 * overflow), it is scaled down here: with that, compiled divisions are correctly rounded over the whole range (tested). --- */
static inline float div_scale32(float x, float y, float z, bool *flag) {
  uint32_t ey = asu(y) >> 23 & 0xff, ez = asu(z) >> 23 & 0xff;
  /* |1 / y| and |z / y| below 2^-126, without dividing: exact in double. */
  bool r_tiny = fabsf(y) > 0x1p126f, q_tiny = fabs((double)z) < fabs((double)y) * 0x1p-126;
  bool same_y = asu(x) == asu(y), same_z = asu(x) == asu(z), none = (y == 0.0f) | (z == 0.0f);
  bool far = (int32_t)(ez - ey) >= 96, low = ey == 0;
  /* The first of these that holds decides; no branch, so that lanes go side by side. */
  bool both = r_tiny & q_tiny, up, down;
  up = far ? same_y : low ? true : both ? false : r_tiny ? false : q_tiny ? same_z : ez <= 23;
  down = far | low ? false : both ? same_y : r_tiny;
  *flag = (!none) & (far | ((!low) & q_tiny));
  float scaled = x * (up ? 0x1p64f : 0x1p-64f);
  return none ? NAN : up | down ? scaled : x;
}

static inline double div_scale64(double x, double y, double z, bool *flag) {
  uint32_t ey = asq(y) >> 52 & 0x7ff, ez = asq(z) >> 52 & 0x7ff;
  double q = z / y, r = 1.0 / y;
  bool q_tiny = fabs(q) < 0x1p-1022, r_tiny = fabs(r) < 0x1p-1022;
  bool same_y = asq(x) == asq(y), same_z = asq(x) == asq(z);
  *flag = false;
  if (y == 0.0 || z == 0.0) return NAN;
  if ((int32_t)(ez - ey) >= 768) {
    *flag = true;
    return same_y ? x * 0x1p128 : x;
  }
  if (ey == 0) return x * 0x1p128;
  if (r_tiny && q_tiny) {
    *flag = true;
    return same_y ? x * 0x1p-128 : x;
  }
  if (r_tiny) return x * 0x1p-128;
  if (q_tiny) {
    *flag = true;
    return same_z ? x * 0x1p128 : x;
  }
  return ez <= 53 ? x * 0x1p128 : x;
}

/* x*y + z scaled by a power of two with one rounding, so that a subnormal quotient is not rounded twice. For f32 the sum
 * is rounded to odd in double first. */
static inline float div_fmas32(float x, float y, float z, bool scale) {
  double up = (asu(z) >> 23 & 0xff) > 127 ? 0x1p64 : 0x1p-64, p = (double)x * (double)y, s = p + z, t = s - p;
  double e = (p - (s - t)) + (z - t);
  uint64_t u = asq(s), step = ((asq(e) ^ u) >> 63) ? ~UINT64_C(0) : 1;
  bool odd = (e != 0.0) & !(u & 1) & ((u >> 52 & 0x7ff) != 0x7ff);
  float scaled = (float)(asd(u + (odd ? step : 0)) * up), plain = __builtin_fmaf(x, y, z);
  return scale ? scaled : plain;
}
/* For f64 a subnormal result is repaired where the first rounding made a tie that is none: e says on which side it lies. */
static inline double div_fmas64(double x, double y, double z, bool scale) {
  double up = (asq(z) >> 52 & 0x7ff) > 1023 ? 0x1p128 : 0x1p-128, plain = __builtin_fma(x, y, z);
  double p = x * y, s = p + z, t = s - p, e = ((p - (s - t)) + (z - t)) + __builtin_fma(x, y, -p);
  double r = s * 0x1p-128, d = s - r * 0x1p128;
  bool wrong = (fabs(d) == 0x1p-947) & (e != 0.0) & !((asq(e) ^ asq(d)) >> 63);
  double tiny = r + (wrong ? (d > 0.0 ? 0x1p-1074 : -0x1p-1074) : 0.0);
  return !scale ? plain : fabs(plain) < 0x1p-894 ? tiny : plain * up;
}

static inline uint32_t div_fixup32(uint32_t q, uint32_t y, uint32_t z) {
  uint32_t ay = y & 0x7fffffff, az = z & 0x7fffffff, sign = (y ^ z) & 0x80000000;
  int32_t ey = (int32_t)(ay >> 23), ez = (int32_t)(az >> 23);
  if (az > 0x7f800000) return z | 0x400000;
  if (ay > 0x7f800000) return y | 0x400000;
  if ((ay == 0 && az == 0) || (ay == 0x7f800000 && az == 0x7f800000)) return 0xffc00000;
  if (ay == 0 || az == 0x7f800000) return sign | 0x7f800000;
  if (ay == 0x7f800000 || az == 0) return sign;
  if (ez - ey < -150) return sign; /* underflow */
  if (ey == 255 || nan32(q)) return sign | 0x7f800000; /* the steps overflowed: inf - inf */
  return sign | (q & 0x7fffffff);
}

static inline uint64_t div_fixup64(uint64_t q, uint64_t y, uint64_t z) {
  const uint64_t inf = UINT64_C(0x7ff) << 52, quiet = UINT64_C(1) << 51;
  uint64_t ay = y & INT64_MAX, az = z & INT64_MAX, sign = (y ^ z) & ~(uint64_t)INT64_MAX;
  int32_t ey = (int32_t)(ay >> 52), ez = (int32_t)(az >> 52);
  if (az > inf) return z | quiet;
  if (ay > inf) return y | quiet;
  if ((ay == 0 && az == 0) || (ay == inf && az == inf)) return UINT64_C(0xfff8) << 48;
  if (ay == 0 || az == inf) return sign | inf;
  if (ay == inf || az == 0) return sign;
  if (ez - ey < -1075) return sign;
  if ((q & INT64_MAX) > inf) return sign | inf;
  return sign | (q & INT64_MAX);
}

static inline uint32_t div_fixup16(uint32_t q, uint32_t y, uint32_t z) {
  uint32_t ay = y & 0x7fff, az = z & 0x7fff, sign = (y ^ z) & 0x8000;
  if (az > 0x7c00) return z | 0x200;
  if (ay > 0x7c00) return y | 0x200;
  if ((ay == 0 && az == 0) || (ay == 0x7c00 && az == 0x7c00)) return 0xfe00;
  if (ay == 0 || az == 0x7c00) return sign | 0x7c00;
  if (ay == 0x7c00 || az == 0) return sign;
  return sign | (q & 0x7fff);
}

/* To bf16, nearest even; a NaN becomes a quiet one. */
static inline uint32_t f32_to_bf16(float f) {
  uint32_t u = asu(f);
  return f != f ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

/* --- 8-bit floats of gfx942, FNUZ: no infinity, no -0, NaN = 0x80. fp8: 4 exponent bits, bias 8; bf8: 5, bias 16.
 * m: mantissa bits. --- */
static inline float f8_to_f32(uint32_t b, int m, int bias) {
  uint32_t mant = b & ((1u << m) - 1), e = (b & 0x7f) >> m;
  float v = e ? asf((uint32_t)((int)e - bias + 127) << 23 | mant << (23 - m))
              : (float)(int32_t)mant * asf((uint32_t)(127 + 1 - bias - m) << 23);
  return b == 0x80 ? NAN : b & 0x80 ? -v : v;
}

/* Round to nearest even. No saturation, as with MODE.FP16_OVFL clear: too large becomes NaN. */
static inline uint32_t f32_to_f8(float f, int m, int bias) {
  uint32_t u = asu(f), sign = u >> 24 & 0x80, a = u & 0x7fffffff;
  int e = (int)(a >> 23) - 127, lowest = 1 - bias;
  uint32_t mant = (a & 0x7fffff) | 0x800000;
  int drop = 23 - m + (e < lowest ? lowest - e : 0);
  if (a >= 0x7f800000) return 0x80;
  if (drop > 25) return 0; /* below half of the smallest number, f32 subnormals too */
  uint32_t r = (mant + (1u << (drop - 1)) - 1 + (mant >> drop & 1)) >> drop; /* kept mantissa with its leading bit */
  uint32_t out = e < lowest ? r : r + ((uint32_t)(e - lowest) << m);
  return out > 0x7f ? (half_mode.ovfl ? sign | 0x7f : 0x80) : out ? sign | out : 0;
}

/* Stochastic rounding: random bits below the mantissa's last one are added, then the rest is cut off. */
static inline uint32_t f32_to_f8_random(float f, uint32_t random, int m, int bias) {
  uint32_t u = asu(f), a = u & 0x7fffffff;
  if (a >= 0x7f800000) return 0x80;
  a += random >> (9 + m); /* 23 - m bits */
  int e = (int)(a >> 23) - 127, lowest = 1 - bias, drop = 23 - m + (e < lowest ? lowest - e : 0);
  uint32_t r = drop > 31 ? 0 : ((a & 0x7fffff) | 0x800000) >> drop, out = e < lowest ? r : r + ((uint32_t)(e - lowest) << m);
  return out > 0x7f ? (half_mode.ovfl ? (u >> 24 & 0x80) | 0x7f : 0x80) : out ? (u >> 24 & 0x80) | out : 0;
}

/* --- 8-bit floats of gfx950, OCP's: fp8 has 3 mantissa bits, no infinity and one NaN (all ones); bf8 is IEEE's with 2. --- */
static inline float ocp8_to_f32(uint32_t b, int m, int bias) {
  uint32_t a = b & 0x7f, mant = a & ((1u << m) - 1), e = a >> m;
  float v = e ? asf((uint32_t)((int)e - bias + 127) << 23 | mant << (23 - m))
              : (float)(int32_t)mant * asf((uint32_t)(127 + 1 - bias - m) << 23);
  float special = m == 2 && mant == 0 ? INFINITY : NAN;
  v = a >= (m == 3 ? 0x7fu : 0x7cu) ? special : v;
  return b & 0x80 ? -v : v;
}

/* `a` an f32's magnitude as bits, to be rounded to nearest even, or cut off. Too large: fp8's NaN, bf8's infinity, or with
 * MODE.fp16_ovfl the largest number. */
static inline uint32_t ocp8_pack(uint32_t a, int m, int bias, bool cut) {
  uint32_t end = m == 3 ? 0x7f : 0x7c, mant = (a & 0x7fffff) | 0x800000;
  int e = (int)(a >> 23) - 127, lowest = 1 - bias, drop = 23 - m + (e < lowest ? lowest - e : 0);
  if (a >= 0x7f800000) return a > 0x7f800000 ? 0x7f : end;
  if (drop > 25) return 0;
  uint32_t r = cut ? mant >> drop : (mant + (1u << (drop - 1)) - 1 + (mant >> drop & 1)) >> drop;
  uint32_t out = e < lowest ? r : r + ((uint32_t)(e - lowest) << m);
  return out < end ? out : half_mode.ovfl ? end - 1 : end;
}
static inline uint32_t f32_to_ocp8(float f, int m, int bias) {
  uint32_t u = asu(f);
  return (u >> 24 & 0x80) | ocp8_pack(u & 0x7fffffff, m, bias, false);
}
static inline uint32_t f32_to_ocp8_random(float f, uint32_t random, int m, int bias) {
  uint32_t u = asu(f), a = u & 0x7fffffff;
  if (a < 0x7f800000) a += random >> (9 + m);
  return (u >> 24 & 0x80) | ocp8_pack(a, m, bias, true);
}

/* --- cube map coordinates: which axis is the largest, and what that face calls s and t --- */
static inline float cube_pick(float x, float y, float z, float if_x, float if_y, float if_z) {
  bool zz = (fabsf(z) >= fabsf(x)) & (fabsf(z) >= fabsf(y)), yy = fabsf(y) >= fabsf(x);
  return zz ? if_z : yy ? if_y : if_x;
}
static inline float cube_face(float x, float y, float z) {
  return cube_pick(x, y, z, x < 0.0f ? 1.0f : 0.0f, y < 0.0f ? 3.0f : 2.0f, z < 0.0f ? 5.0f : 4.0f);
}

/* v_trig_preop_f64: 53 bits of 2/pi, from where segment y of an argument as large as x needs them. */
static inline double trig_preop(uint64_t x, uint32_t y) {
  static const uint64_t two_over_pi[20] = { /* 0.b b b ...: 1201 bits */
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
    0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
    0x56033046fc7b0000, 0};
  uint32_t e = (uint32_t)(x >> 52) & 0x7ff, shift = (y & 31) * 53 + (e > 1077 ? e - 1077 : 0), word = shift / 64,
           bit = shift % 64;
  uint64_t bits = 0;
  if (word < 19) bits = two_over_pi[word] << bit | (bit ? two_over_pi[word + 1] >> (64 - bit) : 0);
  int32_t scale = -53 - (int32_t)shift + (e >= 1968 ? 128 : 0);
  return ldexp((double)(bits >> 11), scale);
}
