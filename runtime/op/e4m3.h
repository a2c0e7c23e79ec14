/* One byte of e4m3 on the host, exactly. e4m3fn: bias 7, up to 448, NaN 0x7f and 0xff. e4m3fnuz: bias 8, up to 240, NaN 0x80. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

static inline double mlaf_e4m3_decode(bool fnuz, uint8_t code) {
  const int bias = fnuz ? 8 : 7, exponent = code >> 3 & 15, mantissa = code & 7;
  if (fnuz ? code == 0x80 : (code & 0x7f) == 0x7f) return NAN;
  const uint64_t power = (uint64_t)(1023 + (exponent ? exponent : 1) - bias - 3) << 52; /* the bits of a power of two */
  const double size = ((exponent ? 8 : 0) + mantissa) * mlaf_bits_double(power);
  return code & 0x80 ? -size : size;
}

static inline double mlaf_e4m3_most(bool fnuz) { return fnuz ? 240.0 : 448.0; }

/* Distance of two neighbouring codes around x. */
static inline double mlaf_e4m3_ulp(bool fnuz, double x) {
  int exponent;
  frexp(x, &exponent); /* |x| in [2^(exponent-1), 2^exponent) */
  const int least = 1 - (fnuz ? 8 : 7);
  return ldexp(1, (x == 0 || exponent - 1 < least ? least : exponent - 1) - 3);
}

/* The code nearest to x, the largest where x is beyond it. */
static inline uint8_t mlaf_e4m3_encode(bool fnuz, double x) {
  const double size = fabs(x);
  int low = 0, high = fnuz ? 0x7f : 0x7e;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (mlaf_e4m3_decode(fnuz, (uint8_t)middle) <= size) low = middle;
    else high = middle;
  }
  const double below = size - mlaf_e4m3_decode(fnuz, (uint8_t)low), above = mlaf_e4m3_decode(fnuz, (uint8_t)high) - size;
  const int code = below <= above ? low : high;
  return (uint8_t)(x < 0 && code ? code | 0x80 : code);
}
