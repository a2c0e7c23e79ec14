/* mla_gather_kv_b in fp64. */
#include <math.h>
#include <string.h>

#include "op/stored.h"
#include "ops/mla_gather_kv_b/case.h"

double gather_e4m3(bool fnuz, uint8_t code) { return mlaf_e4m3_decode(fnuz, code); }

static double latent_at(const gather_shape *s, const unsigned char *row, int c) {
  const double x = mlaf_stored_number(s->format->latent, s->dtype, row, c);
  if (s->format->scale != MLAF_SCALE_STORED) return x;
  const float scale = mlaf_stored_scale(s->format, s->rank, s->rope, row, c);
  return (double)mlaf_decode16(s->dtype, mlaf_encode16(s->dtype, (float)x * scale));
}

void gather_decode_row(const gather_shape *s, const unsigned char *row, const unsigned char *pe, double *latent, double *rope,
                       double scale, double *behind) {
  *behind = gather_has_scale(s) ? scale : 1;
  for (int c = 0; c < s->rank; c++) latent[c] = row ? latent_at(s, row, c) : NAN;
  for (int c = 0; c < s->rope; c++) {
    if (!row) rope[c] = NAN;
    else
      rope[c] = mlaf_stored_number(s->format->rope, s->dtype, pe, c) * (mlaf_stored_in_16(s->format->rope) ? 1 : scale);
  }
}

void gather_turn(const gather_shape *s, const float *table, double *rope, double *slack) {
  const int half = s->rope / 2;
  for (int i = 0; i < s->rope; i++) {
    rope[i] = (double)mlaf_decode16(s->dtype, mlaf_encode16(s->dtype, (float)rope[i]));
    slack[i] = 0;
  }
  for (int i = 0; i < half; i++) {
    const int at = s->rotate == GATHER_PAIRS ? 2 * i : i, to = s->rotate == GATHER_PAIRS ? 2 * i + 1 : i + half;
    const double x = rope[at], y = rope[to], c = table ? (double)table[i] : NAN, n = table ? (double)table[half + i] : NAN;
    rope[at] = x * c - y * n, rope[to] = y * c + x * n;
    slack[at] = (fabs(x * c) + fabs(y * n)) * 0x1p-22, slack[to] = (fabs(y * c) + fabs(x * n)) * 0x1p-22;
  }
}

/* u = 2^-24; rounding errors of a sum of n terms stay below 8 sqrt(n) u times the sum of magnitudes but for a chance of
 * 2 exp(-32) (Higham and Mary 2019); one more for the scale. */
double gather_output(const gather_shape *s, const uint16_t *w, const double *latent, double behind, double *slack) {
  double sum = 0, size = 0;
  for (int c = 0; c < s->rank; c++) {
    const double x = (double)mlaf_decode16(s->dtype, w[c]) * latent[c];
    sum += x;
    size += fabs(x);
  }
  *slack = 8 * sqrt(s->rank + 1) * 0x1p-24 * size * behind;
  return sum * behind;
}
