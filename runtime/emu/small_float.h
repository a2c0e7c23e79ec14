/* Floating-point formats of up to 16 bits, from their parameters: OCP's fp8, bf8, fp6, bf6 and fp4 (gfx950), f16 and bf16; also
 * f32, as the wide end of a conversion. Values are doubles, which hold every one of them and every one of them times a power of
 * two between 2^-254 and 2^254 exactly. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

/* Meaning of the highest exponent: numbers like any other, IEEE's infinity and NaNs, or numbers but for all ones, the one NaN. */
typedef enum emu_small_top { EMU_TOP_NUMBERS, EMU_TOP_IEEE, EMU_TOP_ONE_NAN } emu_small_top;
typedef struct emu_small {
  uint8_t bits, man; /* of the whole, of the mantissa */
  int16_t bias;
  uint8_t top;
} emu_small;

/* OCP Microscaling Formats 1.0: E4M3, E5M2, E2M3, E3M2, E2M1. */
static const emu_small emu_fp8 = {8, 3, 7, EMU_TOP_ONE_NAN}, emu_bf8 = {8, 2, 15, EMU_TOP_IEEE};
static const emu_small emu_fp6 = {6, 3, 1, EMU_TOP_NUMBERS}, emu_bf6 = {6, 2, 3, EMU_TOP_NUMBERS};
static const emu_small emu_fp4 = {4, 1, 1, EMU_TOP_NUMBERS};
static const emu_small emu_f16 = {16, 10, 15, EMU_TOP_IEEE}, emu_bf16 = {16, 7, 127, EMU_TOP_IEEE};
static const emu_small emu_f32 = {32, 23, 127, EMU_TOP_IEEE};

static inline uint32_t emu_small_sign(const emu_small *f) { return UINT32_C(1) << (f->bits - 1); }
/* The code above all numbers, without the sign: infinity, the one NaN, or one more than all ones. */
static inline uint32_t emu_small_end(const emu_small *f) {
  uint32_t ones = emu_small_sign(f) - 1;
  return f->top == EMU_TOP_IEEE ? ones >> f->man << f->man : f->top == EMU_TOP_ONE_NAN ? ones : ones + 1;
}

static inline double emu_small_value(const emu_small *f, uint32_t code) {
  uint32_t a = code & (emu_small_sign(f) - 1), e = a >> f->man, m = a & ((UINT32_C(1) << f->man) - 1);
  double v = e ? ldexp((double)(m | UINT32_C(1) << f->man), (int)e - f->bias - f->man) : ldexp(m, 1 - f->bias - f->man);
  if (a >= emu_small_end(f)) v = f->top == EMU_TOP_IEEE && m == 0 ? INFINITY : NAN;
  return code & emu_small_sign(f) ? -v : v;
}

/* Result for a number that does not fit: infinity or the NaN, the largest number where the format has neither or `saturate` asks
 * for it. A NaN stays one where there is one (its payload is lost) and becomes the largest number elsewhere. */
static inline uint32_t emu_small_beyond(const emu_small *f, bool nan, bool saturate) {
  uint32_t end = emu_small_end(f);
  if (f->top == EMU_TOP_NUMBERS || (saturate && !nan)) return end - 1;
  return f->top == EMU_TOP_IEEE && nan ? end | UINT32_C(1) << (f->man - 1) : end;
}

/* `lost`: the bits of x below the result's are cut off, not rounded. */
static inline uint32_t emu_small_pack(const emu_small *f, double x, bool lost, bool saturate) {
  uint32_t sign = signbit(x) ? emu_small_sign(f) : 0;
  double a = fabs(x);
  int e;
  if (!(a < INFINITY)) return sign | emu_small_beyond(f, a != a, false); /* an infinity stays one */
  frexp(a, &e); /* a is in [2^(e-1), 2^e) */
  e = a == 0.0 || e - 1 < 1 - f->bias ? 1 - f->bias : e - 1;
  double n = ldexp(a, f->man - e);
  n = lost ? floor(n) : rint(n);
  if (e - (1 - f->bias) > 300) return sign | emu_small_beyond(f, false, saturate);
  uint32_t code = (uint32_t)n + ((uint32_t)(e - (1 - f->bias)) << f->man);
  return sign | (code < emu_small_end(f) ? code : emu_small_beyond(f, false, saturate));
}

/* To nearest even. */
static inline uint32_t emu_small_code(const emu_small *f, double x, bool saturate) {
  return emu_small_pack(f, x, false, saturate);
}

/* Stochastic rounding: random bits below the mantissa's last one are added, then the rest is cut off. */
static inline uint32_t emu_small_random(const emu_small *f, double x, uint32_t random, bool saturate) {
  if (!isfinite(x)) return emu_small_pack(f, x, true, saturate);
  /* The upper 23 - man bits, at the place they have in an f32. */
  const uint64_t u = mlaf_double_bits(x) + ((uint64_t)(random >> (9 + f->man)) << 29);
  return emu_small_pack(f, mlaf_bits_double(u), true, saturate);
}
