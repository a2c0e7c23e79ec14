/* mla_q_scale in fp64. */
#include <math.h>

#include "op/ulp.h"
#include "ops/mla_q_scale/case.h"

#define FP32_OFF 0x1p-20 /* some sixteen roundings */

q_scale_factor q_scale_reference(int64_t position, float beta, int32_t original) {
  const int64_t at = position < 0 ? 0 : position > INT32_MAX ? INT32_MAX : position, k = at / original;
  const double more = (double)beta * log(1 + (double)k);
  return (q_scale_factor){1 + more, k ? FP32_OFF * (1 + fabs(more)) : 0};
}

double q_scale_row_off(const q_scale_shape *s, q_scale_factor by, const uint16_t *x, const uint16_t *got, int *column) {
  double worst = -1;
  for (int c = 0; c < s->qdim; c++) {
    const double value = (double)mlaf_decode16(s->dtype, x[c]);
    const double off = by.slack > 0 ? mlaf_off16(s->dtype, got[c], by.value * value, by.slack * fabs(value))
                                    : got[c] == x[c] ? 0 : INFINITY;
    if (off > worst) worst = off, *column = c;
  }
  return worst;
}
