/* Building blocks of the per-lane statements of valu_ops_*.h: operand types and number formats. Everything is branch-free
 * integer or float C, so that a compiler turns the 64-lane loops into vector code for whatever host it builds for. */
#pragma once

#include "base/half.h"
#include "emu/valu.h"

static inline float asf(uint32_t u) { return mlaf_bits_float(u); }
static inline uint32_t asu(float f) { return mlaf_float_bits(f); }
static inline double asd(uint64_t u) { return mlaf_bits_double(u); }
static inline uint64_t asq(double d) { return mlaf_double_bits(d); }

/* --- f16 --- */
static inline uint32_t f16_to_f32_bits(uint32_t h) { return mlaf_half_decode_bits(h); }
static inline float f16_to_f32(uint32_t h) { return asf(f16_to_f32_bits(h)); }

static inline uint32_t f32_to_f16(float f) { return mlaf_half_encode_bits(f); } /* nearest even */

/* Round toward zero: finite values never become infinite. */
static inline uint32_t f32_to_f16_rtz(float f) {
  uint32_t u = asu(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  uint32_t normal = (a - 0x38000000) >> 13;
  uint32_t tiny = (uint32_t)(int32_t)(asf(a < 0x38800000 ? a : 0) * 0x1p24f);
  uint32_t special = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x3ff) : a == 0x7f800000 ? 0x7c00 : 0x7bff;
  return sign | (a >= 0x47800000 ? special : a < 0x38800000 ? tiny : normal);
}

/* f16 fma with one rounding: product exact in f32 (22 bits), the sum rounded to odd (24 >= 11 + 2 bits), then to f16. */
static inline float fma_f16_odd(float x, float y, float z) {
  float p = x * y, s = p + z, t = s - p, e = (p - (s - t)) + (z - t);
  uint32_t u = asu(s), step = ((asu(e) ^ u) >> 31) ? (uint32_t)-1 : 1u;
  bool odd = (e != 0.0f) & !(u & 1) & ((u & 0x7f800000) != 0x7f800000);
  return asf(u + (odd ? step : 0));
}

/* a + b rounded to odd: what is rounded once more, to at least two bits less, comes out as if rounded once. */
static inline double add_odd(double p, double z) {
  double s = p + z, t = s - p, e = (p - (s - t)) + (z - t);
  uint64_t u = asq(s), step = ((asq(e) ^ u) >> 63) ? ~UINT64_C(0) : 1;
  bool odd = (e != 0.0) & !(u & 1) & ((u >> 52 & 0x7ff) != 0x7ff);
  return asd(u + (odd ? step : 0));
}

/* MODE.round of f16 (0 nearest even, 1 up, 2 down, 3 toward zero) and MODE.fp16_ovfl, set around a lane loop. */
static __thread struct { uint32_t round; bool ovfl; } half_mode;

/* Any rounding, with one step; finite values that overflow become the largest number where the direction or ovfl says so. */
static inline uint32_t f64_to_f16(double v) {
  uint64_t u = asq(v), a = u & INT64_MAX;
  uint32_t sign = (uint32_t)(u >> 48) & 0x8000, mode = half_mode.round;
  if (a > UINT64_C(0x7ff) << 52) return sign | 0x7e00;
  if (a == UINT64_C(0x7ff) << 52) return sign | 0x7c00;
  int e = (int)(a >> 52) - 1023, drop = 42 + (e < -14 ? -14 - e : 0);
  uint64_t mant = (a & ((UINT64_C(1) << 52) - 1)) | (a >> 52 ? UINT64_C(1) << 52 : 0);
  if (drop > 60) drop = 60; /* all of it is below the last bit */
  uint64_t kept = mant >> drop, rest = mant & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
  bool away = mode == 0 ? rest > half || (rest == half && kept & 1) : rest && (mode == 1 ? !sign : mode == 2 ? sign != 0 : false);
  uint32_t r = (uint32_t)kept + away + (e < -14 ? 0 : (uint32_t)(e + 14) << 10);
  bool stays = half_mode.ovfl || mode == 3 || (mode == 1 && sign) || (mode == 2 && !sign);
  return sign | (e > 15 || r >= 0x7c00 ? (stays ? 0x7bff : 0x7c00) : r);
}

/* Both forms of an expression: in f32 for rounding to nearest even, in double for every mode. */
static inline float mad_half_f(float x, float y, float z) {
  float p = f16_to_f32(f32_to_f16(x * y)), s;
  p = fabsf(p) < 0x1p-14f ? copysignf(0.0f, p) : p;
  z = fabsf(z) < 0x1p-14f ? copysignf(0.0f, z) : z;
  s = p + z;
  return fabsf(s) < 0x1p-14f ? copysignf(0.0f, s) : s;
}
/* Exact in double but for the sign of a zero sum: minus when rounding down. */
static inline double add_half_d(double x, double y) {
  double s = x + y;
  return (s == 0.0) & (half_mode.round == 2) & ((asq(x) ^ asq(y)) >> 63) ? -0.0 : s;
}
static inline float add_half_f(float x, float y) { return x + y; }
static inline double fma_half_d(double x, double y, double z) {
  double p = x * y, s = add_odd(p, z);
  return s == 0.0 ? add_half_d(p, z) : s;
}
static inline double mad_half_d(double x, double y, double z) {
  double p = f16_to_f32(f64_to_f16(x * y)), s;
  p = fabs(p) < 0x1p-14 ? copysign(0.0, p) : p;
  z = fabs(z) < 0x1p-14 ? copysign(0.0, z) : z;
  s = add_half_d(p, z);
  return fabs(s) < 0x1p-14 ? copysign(0.0, s) : s;
}
#define add_half(x, y) _Generic((x), double: add_half_d, float: add_half_f)(x, y)
#define fma_half(x, y, z) _Generic((x), double: fma_half_d, float: fma_f16_odd)(x, y, z)
#define mad_half(x, y, z) _Generic((x), double: mad_half_d, float: mad_half_f)(x, y, z)

static inline float bf16_to_f32(uint32_t h) { return asf(h << 16); }
static inline float flush_single(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }
static inline float mad_single(float x, float y, float z) {
  return flush_single(flush_single(flush_single(x) * flush_single(y)) + flush_single(z));
}

/* --- integers --- */
static inline int32_t clamp_i64(int64_t v, int64_t lo, int64_t hi) { return (int32_t)(v < lo ? lo : v > hi ? hi : v); }
static inline uint32_t low_mask(uint32_t n) { return n >= 32 ? ~0u : (1u << n) - 1; }
static inline int32_t sext24(uint32_t v) { return (int32_t)(v << 8) >> 8; }
static inline uint32_t bfe_i(uint32_t v, uint32_t offset, uint32_t width) {
  uint32_t n = width > 32 - offset ? 32 - offset : width, up = 32 - n;
  uint32_t field = v >> offset;
  return n == 0 ? 0 : (uint32_t)((int32_t)(field << (up & 31)) >> (up & 31));
}
static inline uint32_t clz(uint32_t v) { return v ? (uint32_t)__builtin_clz(v) : ~0u; }
static inline uint32_t ctz(uint32_t v) { return v ? (uint32_t)__builtin_ctz(v) : ~0u; }
static inline uint32_t bitrev(uint32_t v) {
  v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
  v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
  v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(v);
}
static inline uint32_t popcount(uint32_t v) {
  v -= v >> 1 & 0x55555555;
  v = (v & 0x33333333) + (v >> 2 & 0x33333333);
  return ((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}
/* One byte of v_perm_b32: 0-7 a byte of {hi, lo}, 8-11 a sign, 12 zero, above all ones. */
static inline uint32_t perm_byte(uint32_t hi, uint32_t lo, uint32_t sel) {
  uint32_t v = sel & 4 ? hi : lo, byte = v >> (8 * (sel & 3)) & 0xff;
  uint32_t s = sel & 2 ? hi : lo, sign = (uint32_t)((int32_t)(sel & 1 ? s : s << 16) >> 31) & 0xff;
  return sel < 8 ? byte : sel < 12 ? sign : sel == 12 ? 0 : 0xff;
}
static inline uint32_t perm(uint32_t hi, uint32_t lo, uint32_t sel) {
  return perm_byte(hi, lo, sel & 0xff) | perm_byte(hi, lo, sel >> 8 & 0xff) << 8 |
         perm_byte(hi, lo, sel >> 16 & 0xff) << 16 | perm_byte(hi, lo, sel >> 24) << 24;
}
static inline uint32_t absdiff(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
static inline uint32_t sad_u8(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int s = 0; s < 32; s += 8) sum += absdiff(a >> s & 0xff, b >> s & 0xff);
  return sum;
}
/* Bytes of b that are 0 are masked out. */
static inline uint32_t msad_u8(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (int s = 0; s < 32; s += 8) sum += b >> s & 0xff ? absdiff(a >> s & 0xff, b >> s & 0xff) : 0;
  return sum;
}
/* Four sums over windows of x that begin at each byte, each on its own 16 bits of z. */
static inline uint64_t qsad(uint64_t x, uint32_t y, uint64_t z, bool masked) {
  uint64_t r = 0;
  for (int k = 0; k < 4; k++) {
    uint32_t w = (uint32_t)(x >> (8 * k)), sum = masked ? msad_u8(w, y) : sad_u8(w, y);
    r |= (uint64_t)((sum + (uint32_t)(z >> (16 * k))) & 0xffff) << (16 * k);
  }
  return r;
}
static inline uint32_t insert_byte(uint32_t old, uint32_t at, uint32_t byte) {
  uint32_t shift = 8 * (at & 3);
  return (old & ~(0xffu << shift)) | byte << shift;
}
/* Sum of products of the `bits`-wide parts of two dwords, plus z. */
static inline int64_t dot_i(uint32_t x, uint32_t y, uint32_t z, int bits) {
  int64_t sum = (int32_t)z;
  for (int s = 0; s < 32; s += bits)
    sum += (int64_t)((int32_t)(x << (32 - bits - s)) >> (32 - bits)) * ((int32_t)(y << (32 - bits - s)) >> (32 - bits));
  return sum;
}
static inline uint64_t dot_u(uint32_t x, uint32_t y, uint32_t z, int bits) {
  uint64_t sum = z;
  uint32_t mask = low_mask((uint32_t)bits);
  for (int s = 0; s < 32; s += bits) sum += (uint64_t)(x >> s & mask) * (y >> s & mask);
  return sum;
}
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MED3(a, b, c) MAX(MIN(a, b), MIN(MAX(a, b), c))

/* --- float min/max, IEEE minNum as the hardware does it: a signalling NaN wins (quieted), a quiet one loses; -0 < +0 --- */
static inline uint32_t order32(uint32_t u) { return u & 0x80000000 ? ~u : u | 0x80000000; }
static inline bool nan32(uint32_t u) { return (u & 0x7fffffff) > 0x7f800000; }
static inline bool snan32(uint32_t u) { return nan32(u) & !(u & 0x400000); }
static inline uint32_t minmax32(uint32_t a, uint32_t b, bool max) {
  uint32_t pick = (order32(a) < order32(b)) != max ? a : b;
  pick = nan32(b) ? a : pick;
  pick = nan32(a) ? b : pick;
  pick = nan32(a) & nan32(b) ? a | 0x400000 : pick;
  pick = snan32(b) & !snan32(a) ? b | 0x400000 : pick;
  return snan32(a) ? a | 0x400000 : pick;
}
static inline uint32_t med32(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t lo = minmax32(a, b, false), hi = minmax32(a, b, true);
  uint32_t med = minmax32(lo, minmax32(hi, c, false), true);
  return nan32(a) | nan32(b) | nan32(c) ? minmax32(lo, c, false) : med;
}
/* IEEE 754-2019 minimum and maximum: a NaN wins. */
static inline uint32_t minimum32(uint32_t a, uint32_t b, bool max) {
  uint32_t pick = (order32(a) < order32(b)) != max ? a : b;
  return nan32(a) ? a | 0x400000 : nan32(b) ? b | 0x400000 : pick;
}
static inline uint32_t order16(uint32_t u) { return u & 0x8000 ? ~u & 0xffff : u | 0x8000; }
static inline bool nan16(uint32_t u) { return (u & 0x7fff) > 0x7c00; }
static inline bool snan16(uint32_t u) { return nan16(u) & !(u & 0x200); }
static inline uint32_t minmax16(uint32_t a, uint32_t b, bool max) {
  uint32_t pick = (order16(a) < order16(b)) != max ? a : b;
  pick = nan16(b) ? a : pick;
  pick = nan16(a) ? b : pick;
  pick = nan16(a) & nan16(b) ? a | 0x200 : pick;
  pick = snan16(b) & !snan16(a) ? b | 0x200 : pick;
  return snan16(a) ? a | 0x200 : pick;
}
static inline uint32_t minimum16(uint32_t a, uint32_t b, bool max) {
  uint32_t pick = (order16(a) < order16(b)) != max ? a : b;
  return nan16(a) ? a | 0x200 : nan16(b) ? b | 0x200 : pick;
}
static inline uint32_t med16(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t lo = minmax16(a, b, false), hi = minmax16(a, b, true);
  uint32_t med = minmax16(lo, minmax16(hi, c, false), true);
  return nan16(a) | nan16(b) | nan16(c) ? minmax16(lo, c, false) : med;
}
static inline uint64_t minmax64(uint64_t a, uint64_t b, bool max) {
  const uint64_t inf = UINT64_C(0x7ff) << 52, quiet = UINT64_C(1) << 51, top = UINT64_C(1) << 63;
  bool na = (a & ~top) > inf, nb = (b & ~top) > inf, sa = na & !(a & quiet), sb = nb & !(b & quiet);
  uint64_t oa = a & top ? ~a : a | top, ob = b & top ? ~b : b | top;
  uint64_t pick = (oa < ob) != max ? a : b;
  pick = nb ? a : pick;
  pick = na ? b : pick;
  pick = na & nb ? a | quiet : pick;
  pick = sb & !sa ? b | quiet : pick;
  return sa ? a | quiet : pick;
}

/* v_cmp_class: which of the ten classes the number is in, as the mask's bit. */
static inline uint32_t class_bit(bool sign, bool zero, bool denorm, bool inf, bool nan, bool quiet) {
  uint32_t finite = zero ? (sign ? 0x20 : 0x40) : denorm ? (sign ? 0x10 : 0x80) : (sign ? 0x8 : 0x100);
  return nan ? (quiet ? 2 : 1) : inf ? (sign ? 4 : 0x200) : finite;
}
static inline uint32_t class32(uint32_t u) {
  uint32_t a = u & 0x7fffffff;
  return class_bit(u >> 31, a == 0, a < 0x800000, a == 0x7f800000, a > 0x7f800000, u & 0x400000);
}
static inline uint32_t class16(uint32_t u) {
  uint32_t a = u & 0x7fff;
  return class_bit(u >> 15 & 1, a == 0, a < 0x400, a == 0x7c00, a > 0x7c00, u & 0x200);
}
static inline uint32_t class64(uint64_t u) {
  uint64_t a = u & INT64_MAX, inf = UINT64_C(0x7ff) << 52;
  return class_bit(u >> 63, a == 0, a < UINT64_C(1) << 52, a == inf, a > inf, u >> 51 & 1);
}
