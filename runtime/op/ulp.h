/* Error of a stored 16-bit number relative to an fp64 one, in units of its last place. */
#pragma once

#include <math.h>

#include "op/numeric.h"

/* Distance of two neighbours around x. */
static inline double mlaf_ulp16(int32_t dtype, double x) {
  int exponent;
  frexp(x, &exponent); /* |x| in [2^(exponent-1), 2^exponent) */
  const int least = dtype == MLAF_F16 ? -14 : -126, bits = dtype == MLAF_F16 ? 10 : 7;
  return ldexp(1, (x == 0 || exponent - 1 < least ? least : exponent - 1) - bits);
}

/* 0 where both are NaN, INFINITY where one is. `slack`: what arithmetic before the rounding may be off by. */
static inline double mlaf_off16(int32_t dtype, uint16_t got, double want, double slack) {
  const double x = (double)mlaf_decode16(dtype, got);
  if (isnan(want) || isnan(x)) return isnan(want) && isnan(x) ? 0 : INFINITY;
  return fmax(0, fabs(x - want) - slack) / mlaf_ulp16(dtype, want);
}
