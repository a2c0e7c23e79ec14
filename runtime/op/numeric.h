/* Host-side 16-bit floats and the test data generator. Exact arithmetic: every machine makes the same bits. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "mlaforge/problem.h"

static inline float mlaf_bf16_decode(uint16_t h) { return mlaf_bits_float((uint32_t)h << 16); }
/* Round to nearest even; NaN stays NaN. */
static inline uint16_t mlaf_bf16_encode(float f) {
  uint32_t u = mlaf_float_bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Exact; and rounded to nearest even, overflow to infinity, subnormals kept. NaN stays NaN. */
static inline float mlaf_f16_decode(uint16_t h) { return mlaf_half_decode(h); }
static inline uint16_t mlaf_f16_encode(float f) { return mlaf_half_encode(f); }

static inline float mlaf_decode16(int32_t dtype, uint16_t h) {
  return dtype == MLAF_F16 ? mlaf_f16_decode(h) : mlaf_bf16_decode(h);
}
static inline uint16_t mlaf_encode16(int32_t dtype, float f) {
  return dtype == MLAF_F16 ? mlaf_f16_encode(f) : mlaf_bf16_encode(f);
}
#define MLAF_NAN16 0xffffu /* a NaN in both formats, and what mem_fill(0xff) leaves */

/* splitmix64: one word of state, good enough for test data, seedable by any number. */
typedef struct mlaf_rng { uint64_t state; } mlaf_rng;
static inline uint64_t mlaf_rng_next(mlaf_rng *r) {
  uint64_t z = (r->state += 0x9e3779b97f4a7c15ull);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}
/* Uniform in [0, n), n >= 1; the bias of the multiply-shift is below 2^-32. */
static inline uint32_t mlaf_rng_below(mlaf_rng *r, uint32_t n) {
  return (uint32_t)((mlaf_rng_next(r) >> 32) * n >> 32);
}
/* Standard normal as the sum of twelve 16-bit uniforms: exact everywhere, no libm, tails end at +-6. */
static inline float mlaf_rng_normal(mlaf_rng *r) {
  const uint64_t even = 0x0000ffff0000ffffull; /* two sums side by side: each stays below 2^32 */
  uint64_t sums = 0;
  for (int i = 0; i < 3; i++) {
    const uint64_t z = mlaf_rng_next(r);
    sums += (z & even) + (z >> 16 & even);
  }
  return (float)((int32_t)((sums & 0xffffffffu) + (sums >> 32)) - 6 * 65535) * (1.0f / 65536);
}
/* As after `n` normals more. */
static inline void mlaf_rng_skip_normals(mlaf_rng *r, uint64_t n) { r->state += 3 * n * 0x9e3779b97f4a7c15ull; }

/* Numbers 0 to n - 1 in random order. */
static inline void mlaf_rng_deal(mlaf_rng *rng, int32_t *order, int64_t n) {
  for (int64_t i = 0; i < n; i++) { /* inside-out shuffle */
    const int64_t j = mlaf_rng_below(rng, (uint32_t)i + 1);
    order[i] = order[j];
    order[j] = (int32_t)i;
  }
}

/* Fills a table, if there is one, of cosines and then sines of `rows` positions. None has the angles of another. */
static inline void mlaf_rng_angles(mlaf_rng *rng, float *table, int64_t rows, int64_t half) {
  for (int64_t i = 0; table && i < rows * half; i++) {
    const double angle = mlaf_rng_normal(rng) * 8;
    float *row = table + i / half * 2 * half;
    row[i % half] = (float)cos(angle);
    row[half + i % half] = (float)sin(angle);
  }
}
