/* Frequencies, tables and softmax scale of rotary positions (mlaforge/rope.h). */
#include "base/bits.h"
#include "mlaforge/rope.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static mlaf_status refuse(char *why, size_t why_size, const char *text) {
  if (why && why_size) snprintf(why, why_size, "%s", text);
  return MLAF_E_ARG;
}

static bool turns(const mlaf_rope *r) { return r->style != MLAF_ROPE_UNROTATED && r->columns > 0; }
static bool stretched(const mlaf_rope *r) { return r->factor > 1; }

/* NULL, or what is wrong. */
static const char *wrong(const mlaf_rope *r) {
  if (!r || r->struct_size < sizeof *r) return "rope: NULL, or struct_size is not set: begin with MLAF_ROPE_INIT";
  if (r->columns < 0 || r->columns % 2) return "rope: columns must be even, and 0 or more";
  if (r->style < MLAF_ROPE_PAIRS || r->style > MLAF_ROPE_UNROTATED) return "rope: style is none of MLAF_ROPE_*";
  if (!turns(r)) return NULL;
  if (!(r->base > 1) || isinf(r->base)) return "rope: base must be above 1, 10000 for example";
  if (!(r->factor >= 0) || isinf(r->factor)) return "rope: factor must be 0 (no YaRN) or more";
  if (!stretched(r)) return NULL;
  if (r->original < 1) return "rope: YaRN needs original, the positions before it was stretched";
  if (!(r->beta_slow > 0) || !(r->beta_fast >= r->beta_slow) || isinf(r->beta_fast))
    return "rope: YaRN needs beta_fast >= beta_slow > 0";
  if (!(r->mscale >= 0) || !(r->mscale_all_dim >= 0) || isinf(r->mscale) || isinf(r->mscale_all_dim))
    return "rope: mscale and mscale_all_dim must be 0 or more";
  return NULL;
}

double mlaf_rope_mscale(double factor, double mscale) { return factor > 1 ? 0.1 * mscale * log(factor) + 1 : 1; }

double mlaf_softmax_scale(int32_t nope, const mlaf_rope *rope) {
  const int64_t columns = rope ? rope->columns : 0;
  if (nope < 0 || nope + columns <= 0 || (rope && wrong(rope))) return NAN;
  const double m = rope && turns(rope) ? mlaf_rope_mscale(rope->factor, rope->mscale_all_dim) : 1;
  return m * m / sqrt((double)(nope + columns));
}

/* The pair that turns `beta` times in the original positions, as a real number. */
static double pair_of(const mlaf_rope *r, double beta) {
  return r->columns * log(r->original / (2 * M_PI * beta)) / (2 * log(r->base));
}

static double between(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

mlaf_status mlaf_rope_frequencies(const mlaf_rope *rope, double *theta, char *why, size_t why_size) {
  const char *fault = wrong(rope);
  if (fault) return refuse(why, why_size, fault);
  const int pairs = rope->columns / 2;
  for (int i = 0; i < pairs; i++) theta[i] = turns(rope) ? pow(rope->base, -2.0 * i / rope->columns) : 0;
  if (!turns(rope) || !stretched(rope)) return MLAF_OK;
  const double low = fmax(floor(pair_of(rope, rope->beta_fast)), 0);
  double high = fmin(ceil(pair_of(rope, rope->beta_slow)), rope->columns - 1);
  if (high == low) high += 0.001; /* as every implementation of YaRN keeps clear of 0/0 */
  for (int i = 0; i < pairs; i++) {
    const double slow = between((i - low) / (high - low), 0, 1);
    theta[i] *= slow / rope->factor + (1 - slow);
  }
  return MLAF_OK;
}

static mlaf_status room_for(const mlaf_rope *r, int64_t positions, size_t bytes, char *why, size_t why_size) {
  const size_t row = (size_t)r->columns * sizeof(float);
  if (positions < 0) return refuse(why, why_size, "rope: positions must be 0 or more");
  if (row && (size_t)positions > bytes / row) return refuse(why, why_size, "rope: the table needs positions * columns * 4 bytes");
  return MLAF_OK;
}

enum { PAIRS_MAX = 512 };

mlaf_status mlaf_rope_table(const mlaf_rope *rope, int64_t positions, float *table, size_t bytes, char *why, size_t why_size) {
  double theta[PAIRS_MAX];
  if (rope && rope->columns > 2 * PAIRS_MAX) return refuse(why, why_size, "rope: more than 1024 columns");
  mlaf_status status = mlaf_rope_frequencies(rope, theta, why, why_size);
  if (!status) status = room_for(rope, positions, bytes, why, why_size);
  if (status) return status;
  const int pairs = rope->columns / 2;
  const double m = mlaf_rope_mscale(rope->factor, rope->mscale), all = mlaf_rope_mscale(rope->factor, rope->mscale_all_dim);
  const double by = turns(rope) ? m / all : 1;
  for (int64_t at = 0; pairs && at < positions; at++) {
    float *row = table + at * rope->columns;
    for (int i = 0; i < pairs; i++) {
      row[i] = (float)(by * cos((double)at * theta[i]));
      row[pairs + i] = (float)(by * sin((double)at * theta[i]));
    }
  }
  return MLAF_OK;
}

/* To the nearest bf16, ties to even; finite numbers. */
static float bf16(float x) {
  const uint32_t u = mlaf_float_bits(x);
  return mlaf_bits_float((u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u);
}

mlaf_status mlaf_rope_table_bf16(const mlaf_rope *rope, int64_t positions, float *table, size_t bytes, char *why,
                                 size_t why_size) {
  const char *fault = wrong(rope);
  if (fault) return refuse(why, why_size, fault);
  if (stretched(rope)) return refuse(why, why_size, "rope: the chain in bf16 knows no YaRN; set factor to 0");
  mlaf_status status = room_for(rope, positions, bytes, why, why_size);
  if (status) return status;
  const int pairs = rope->columns / 2;
  const float base = bf16((float)rope->base); /* a scalar raised to a bf16 tensor is made a bf16 first: 9984 of 10000 */
  for (int64_t at = 0; pairs && at < positions; at++) {
    float *row = table + at * rope->columns;
    for (int i = 0; i < pairs; i++) {
      const float theta = turns(rope) ? bf16(powf(base, bf16(-(float)i / (float)pairs))) : 0;
      const float angle = bf16(bf16((float)at) * theta);
      row[i] = bf16(cosf(angle));
      row[pairs + i] = bf16(sinf(angle));
    }
  }
  return MLAF_OK;
}
