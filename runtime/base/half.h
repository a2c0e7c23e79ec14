/* 16-bit IEEE floats in plain C: the compilers we build with do not all have _Float16 (gcc 11, clang 14 on x86-64). The one place
 * for both conversions; results are those of a compiler's own to the bit. Branch-free, so that loops over lanes become vectors.
 * Signalling NaNs come out quiet with their payload. To half: nearest even, overflow to infinity, subnormals kept. */
#pragma once

#include "base/bits.h"

/* The float's bits of the half in the low 16 bits of h; exact. */
static inline uint32_t mlaf_half_decode_bits(uint32_t h) {
  uint32_t sign = (h & 0x8000) << 16, em = h & 0x7fff;
  uint32_t normal = (em << 13) + 0x38000000;
  uint32_t special = em << 13 | (em > 0x7c00 ? 0x7fc00000 : 0x7f800000);
  uint32_t tiny = mlaf_float_bits((float)(int32_t)em * 0x1p-24f);
  return sign | (em >= 0x7c00 ? special : em < 0x400 ? tiny : normal);
}

/* Below 2^-14 the sum with 0.5 does the rounding: 0.5's last bit is a half's smallest number. */
static inline uint32_t mlaf_half_encode_bits(float f) {
  uint32_t u = mlaf_float_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  uint32_t normal = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;
  uint32_t tiny = mlaf_float_bits(mlaf_bits_float(a < 0x38800000 ? a : 0) + 0.5f) - 0x3f000000;
  uint32_t special = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x3ff) : 0x7c00;
  return sign | (a >= 0x47800000 ? special : a < 0x38800000 ? tiny : normal);
}

static inline float mlaf_half_decode(uint16_t h) { return mlaf_bits_float(mlaf_half_decode_bits(h)); }
static inline uint16_t mlaf_half_encode(float f) { return (uint16_t)mlaf_half_encode_bits(f); }
