/* e4m3 as caches have it: the largest number, and what codes are apart. */
#ifndef MLAF_APPEND_FP8_H
#define MLAF_APPEND_FP8_H

#include "op/e4m3.h"

static inline double append_fp8_most(bool fnuz) { return fnuz ? 240.0 : 448.0; }

static inline double append_fp8_decode(bool fnuz, uint8_t code) { return mlaf_e4m3_decode(fnuz, code); }

/* Distance of two neighbouring codes around x. */
static inline double append_fp8_ulp(bool fnuz, double x) {
  int exponent;
  frexp(x, &exponent); /* |x| in [2^(exponent-1), 2^exponent) */
  const int least = 1 - (fnuz ? 8 : 7);
  return ldexp(1, (x == 0 || exponent - 1 < least ? least : exponent - 1) - 3);
}

#endif
