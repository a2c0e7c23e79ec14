/* Halves for tests, from the definition of the format: the quantum of the number's binade and the nearest multiple. Nothing of
 * it is the library's bit arithmetic. Where the compiler has _Float16, base/test_half compares its conversions with these. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/bits.h"

/* clang before 15 defines the limits of _Float16 on x86-64 but not the type. */
#if defined(__FLT16_MAX__) && !(defined(__clang__) && __clang_major__ < 15 && defined(__x86_64__))
#define TEST_HAS_FLOAT16 1
#endif

static inline double test_half_value(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : ldexp(e ? m + 1024 : m, (e ? e : 1) - 25);
  return h >> 15 ? -v : v;
}

/* The half of a number that is no NaN. */
static inline uint16_t test_half_bits(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  int e = 0;
  if (isinf(x) || x == 0) return x == 0 ? sign : sign | 0x7c00;
  frexp(x, &e);
  e = e - 1 < -14 ? -14 : e - 1;
  if (e > 15) return sign | 0x7c00;
  int n = (int)nearbyint(ldexp(fabs(x), 10 - e)) + (e + 14) * 1024; /* one step beyond a binade is the next one's first */
  return (uint16_t)(sign | (n > 0x7c00 ? 0x7c00 : n));
}

/* The half of a float; a NaN keeps its sign and the high part of its payload, and is quiet. */
static inline uint16_t test_half_of(float f) {
  const uint32_t u = mlaf_float_bits(f);
  return isnan(f) ? (uint16_t)((u >> 16 & 0x8000) | 0x7e00 | (u >> 13 & 0x1ff)) : test_half_bits(f);
}
static inline float test_half_to_float(uint16_t h) {
  uint32_t u = (uint32_t)(h & 0x8000) << 16 | 0x7fc00000 | (uint32_t)(h & 0x3ff) << 13;
  return (h & 0x7fff) > 0x7c00 ? mlaf_bits_float(u) : (float)test_half_value(h);
}

#ifdef __SIZEOF_FLOAT128__
/* The half of a number of 113 bits: to 53 bits by rounding to odd, which a second rounding to 11 does not see. */
static inline uint16_t test_half_of_quad(__float128 x) {
  const double d = (double)x;
  if (!isfinite(d)) return test_half_bits(d);
  if ((x < 0 ? -x : x) < (__float128)0x1p-1000) return test_half_bits(x == 0 ? d : x < 0 ? -0x1p-1000 : 0x1p-1000);
  uint64_t u = mlaf_double_bits(d);
  if ((__float128)d != x && !(u & 1)) u += ((__float128)d < x) == (d > 0) ? 1 : -1;
  return test_half_bits(mlaf_bits_double(u));
}
#endif
