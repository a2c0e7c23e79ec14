/* mla_merge in fp64. */
#include <math.h>

#include "op/ulp.h"
#include "ops/mla_merge/case.h"

/* fp32 keeps a term but for some sixteen roundings, and its weight's exponent but for one of what it is far from 0. */
#define FP32_OFF 0x1p-20
#define EXPONENT_OFF 0x1p-22

void merge_reference(const merge_shape *s, const uint16_t *prefix, float prefix_lse, const uint16_t *suffix, float suffix_lse,
                     bool base_2, merge_row *out) {
  const double a = (double)prefix_lse, b = (double)suffix_lse, e = base_2 ? M_LN2 : 1;
  const bool no_prefix = isinf(a), no_suffix = isinf(b), none = no_prefix && no_suffix;
  const double m = no_prefix ? b : no_suffix ? a : fmax(a, b);
  const double wa = no_prefix ? 0 : exp((a - m) * e), wb = no_suffix ? 0 : exp((b - m) * e), sum = wa + wb;
  const double off_a = FP32_OFF + EXPONENT_OFF * fabs(a - m), off_b = FP32_OFF + EXPONENT_OFF * fabs(b - m);
  const bool lost = isnan(a) || isnan(b);
  out->lse = none ? -INFINITY : lost ? NAN : m + log(sum) / e;
  out->lse_slack = FP32_OFF * (1 + fabs(out->lse));
  for (int c = 0; c < s->vdim; c++) {
    const double x = no_prefix ? 0 : wa / sum * (double)mlaf_decode16(s->dtype, prefix[c]);
    const double y = no_suffix ? 0 : wb / sum * (double)mlaf_decode16(s->dtype, suffix[c]);
    out->o[c] = lost ? NAN : x + y;
    /* A part alone comes out as it is. */
    out->slack[c] = no_prefix || no_suffix ? 0 : off_a * fabs(x) + off_b * fabs(y);
  }
}

double merge_row_off(const merge_shape *s, const merge_row *want, const uint16_t *got, int *column) {
  double worst = -1;
  for (int c = 0; c < s->vdim; c++) {
    const double off = mlaf_off16(s->dtype, got[c], want->o[c], want->slack[c]);
    if (off > worst) worst = off, *column = c;
  }
  return worst;
}

double merge_lse_ratio(const merge_row *want, float got) {
  const double x = (double)got;
  if (isnan(want->lse) || isinf(want->lse)) return isnan(want->lse) ? (isnan(x) ? 0 : INFINITY) : x == want->lse ? 0 : INFINITY;
  const double off = fabs(x - want->lse) / want->lse_slack;
  return isnan(off) ? INFINITY : off;
}
