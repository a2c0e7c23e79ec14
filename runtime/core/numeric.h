/* Host-side 16-bit floats and the test data generator. Exact arithmetic: every machine makes the same bits. */
#ifndef MLAF_NUMERIC_H
#define MLAF_NUMERIC_H

#include <stdint.h>
#include <string.h>

#include "mlaforge/problem.h"

static inline float mlaf_bits_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static inline uint32_t mlaf_float_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static inline float mlaf_bf16_decode(uint16_t h) { return mlaf_bits_float((uint32_t)h << 16); }
/* Round to nearest even; NaN stays NaN. */
static inline uint16_t mlaf_bf16_encode(float f) {
  uint32_t u = mlaf_float_bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static inline float mlaf_f16_decode(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 1023u;
  if (e == 31) return mlaf_bits_float(sign | 0x7f800000u | m << 13);
  if (e) return mlaf_bits_float(sign | (e + 112) << 23 | m << 13);
  float v = (float)m * 0x1p-24f; /* subnormal or zero: exact */
  return sign ? -v : v;
}
/* Round to nearest even, overflow to infinity, subnormals kept; NaN stays NaN. */
static inline uint16_t mlaf_f16_encode(float f) {
  uint32_t u = mlaf_float_bits(f), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and up round to infinity */
  if (a < 0x38800000u) {
    /* Below 2^-14: adding 0.5 aligns the last f16 bit with the last float bit, so the FPU does the rounding. */
    float aligned = mlaf_bits_float(a) + 0.5f;
    return (uint16_t)(sign | (mlaf_float_bits(aligned) - 0x3f000000u));
  }
  a += 0xfffu + (a >> 13 & 1u);
  return (uint16_t)(sign | (a - 0x38000000u) >> 13);
}

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
  int64_t sum = 0;
  for (int i = 0; i < 3; i++)
    for (uint64_t z = mlaf_rng_next(r), k = 0; k < 4; k++, z >>= 16) sum += (int64_t)(z & 0xffffu);
  return (float)(sum - 6 * 65535) * (1.0f / 65536);
}

#endif
