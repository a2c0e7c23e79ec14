/* mla_gather_kv_b in fp64. */
#include <math.h>
#include <string.h>

#include "op/e4m3.h"
#include "op/numeric.h"
#include "ops/mla_gather_kv_b/case.h"

double gather_e4m3(bool fnuz, uint8_t code) { return mlaf_e4m3_decode(fnuz, code); }

static uint16_t half_at(const unsigned char *at) {
  uint16_t x;
  memcpy(&x, at, sizeof x);
  return x;
}

static double latent_at(const gather_shape *s, const unsigned char *row, int c) {
  if (mlaf_stored_in_16(s->format->latent)) return (double)mlaf_decode16(s->dtype, half_at(row + 2 * c));
  const double x = gather_e4m3(mlaf_stored_fnuz(s->format->latent), row[c]);
  if (s->format->scale != MLAF_SCALE_STORED) return x;
  float scale;
  memcpy(&scale, row + gather_bytes(s, s->format->scales_at) + 4 * (c / s->format->group), sizeof scale);
  return (double)mlaf_decode16(s->dtype, mlaf_encode16(s->dtype, (float)x * scale));
}

void gather_decode_row(const gather_shape *s, const unsigned char *row, const unsigned char *pe, double *latent, double *rope,
                       double scale, double *behind) {
  *behind = gather_has_scale(s) ? scale : 1;
  for (int c = 0; c < s->rank; c++) latent[c] = row ? latent_at(s, row, c) : NAN;
  for (int c = 0; c < s->rope; c++) {
    if (!row) rope[c] = NAN;
    else
      rope[c] = mlaf_stored_in_16(s->format->rope) ? (double)mlaf_decode16(s->dtype, half_at(pe + 2 * c))
                                                   : gather_e4m3(mlaf_stored_fnuz(s->format->rope), pe[c]) * scale;
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
