/* mla_append in fp64. */
#include <math.h>

#include "op/numeric.h"
#include "ops/mla_append/case.h"

void append_reference_latent(const append_shape *s, const uint16_t *row, const uint16_t *weight, double eps, double *out) {
  double sum = 0;
  for (int i = 0; i < s->rank; i++) {
    out[i] = (double)mlaf_decode16(s->dtype, row[i]);
    sum += out[i] * out[i];
  }
  if (!s->norm) return;
  const double factor = 1 / sqrt(sum / s->rank + eps);
  for (int i = 0; i < s->rank; i++) out[i] *= factor * (double)mlaf_decode16(s->dtype, weight[i]);
}

void append_reference_rope(const append_shape *s, const uint16_t *row, const double *cos, const double *sin, double *out,
                           double *size) {
  const int pairs = s->rope / 2, halves = s->style == APPEND_HALVES;
  for (int i = 0; i < s->rope; i++) {
    out[i] = (double)mlaf_decode16(s->dtype, row[i]);
    size[i] = fabs(out[i]);
  }
  if (!s->turned) return;
  for (int i = 0; i < pairs; i++) {
    const int a = halves ? i : 2 * i, b = halves ? i + pairs : 2 * i + 1;
    const double x = out[a], y = out[b], c = cos ? cos[i] : NAN, d = sin ? sin[i] : NAN;
    out[a] = x * c - y * d;
    size[a] = fabs(x * c) + fabs(y * d);
    out[b] = y * c + x * d;
    size[b] = fabs(y * c) + fabs(x * d);
  }
}
