/* The vector instructions that are rare in kernels, against C. */
#include "valu_diff.h"

#define FTZ(x) (fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : (x))
#define SAT16(x) ((uint32_t)((x) > 32767 ? 32767 : (x) < -32768 ? -32768 : (x)) & 0xffff)
#define NORM_U(x) ((uint32_t)roundevenf(((x) > 0 ? (x) < 1 ? (x) : 1 : 0) * 65535))
#define NORM_I(x) ((uint32_t)(int32_t)roundevenf((isnan(x) ? 0 : (x) > -1 ? (x) < 1 ? (x) : 1 : -1) * 32767) & 0xffff)

/* A quiet NaN loses; -0 is less than +0. */
static float min_of(float a, float b) { return isnan(a) ? b : isnan(b) ? a : a < b ? a : b < a ? b : signbit(a) ? a : b; }
static float med_of(float a, float b, float c) {
  if (isnan(a) || isnan(b) || isnan(c)) return min_of(min_of(a, b), c);
  float lo = min_of(a, b), hi = -min_of(-a, -b);
  return -min_of(-lo, -min_of(hi, c));
}
static float ftz16(float x) { return fabsf(x) < 0x1p-14f ? copysignf(0, x) : x; }
/* Product and sum rounded each, subnormals as zero everywhere. */
static float mad_ftz(float a, float b, float c) { return ftz16(f16_of(h_of(ftz16(f16_of(h_of(a * b))) + ftz16(c)))); }
static float turn(float x, bool cosine) {
  float r = x - floorf(x);
  r = r > 0x1.ffcp-1f ? 0x1.ffcp-1f : f16_of(h_of(r));
  return cosine ? (float)cos(2 * M_PI * r) : (float)sin(2 * M_PI * r);
}
static uint32_t sad(uint32_t a, uint32_t b, bool masked) {
  uint32_t sum = 0;
  for (int k = 0; k < 4; k++) {
    int x = (int)(a >> (8 * k) & 255), y = (int)(b >> (8 * k) & 255);
    if (!masked || y) sum += (uint32_t)abs(x - y);
  }
  return sum;
}
static uint64_t quad_sad(uint64_t a, uint32_t b, uint64_t acc, bool masked) {
  uint64_t r = 0;
  for (int k = 0; k < 4; k++) {
    uint16_t sum = (uint16_t)(sad((uint32_t)(a >> (8 * k)), b, masked) + (acc >> (16 * k)));
    r |= (uint64_t)sum << (16 * k);
  }
  return r;
}
static int64_t dot(uint32_t a, uint32_t b, int bits, bool is_signed) {
  int64_t sum = 0;
  for (int k = 0; k < 32; k += bits) {
    int64_t x = a >> k & ((1u << bits) - 1), y = b >> k & ((1u << bits) - 1);
    if (is_signed && x >> (bits - 1)) x -= 1 << bits;
    if (is_signed && y >> (bits - 1)) y -= 1 << bits;
    sum += x * y;
  }
  return sum;
}
static int class_of(int kind, bool minus, uint32_t quiet) {
  if (kind == FP_NAN) return quiet != 0;
  if (kind == FP_INFINITE) return minus ? 2 : 9;
  return kind == FP_NORMAL ? (minus ? 3 : 8) : kind == FP_SUBNORMAL ? (minus ? 4 : 7) : minus ? 5 : 6;
}
static int class16(uint32_t h) {
  uint32_t e = h >> 10 & 31, m = h & 0x3ff;
  return class_of(e == 31 ? (m ? FP_NAN : FP_INFINITE) : e ? FP_NORMAL : m ? FP_SUBNORMAL : FP_ZERO, h >> 15, h & 0x200);
}
/* The random bits land under the mantissa's last one; then the magnitude is cut off at the largest code not above it. */
static uint32_t random8(uint32_t u, uint32_t bits, int m, int bias) {
  float x = f32_of((u & 0x7fffffff) + bits);
  uint32_t best = 0;
  if ((u & 0x7f800000) == 0x7f800000) return 0x80;
  for (uint32_t c = 1; c < 0x80; c++) {
    int e = (int)(c >> m);
    float v = ldexpf((float)((c & ((1u << m) - 1)) + (e ? 1u << m : 0)), (e ? e : 1) - bias - m);
    if (v <= x) best = c;
  }
  float top = ldexpf((float)((2u << m) - 1), (0x7f >> m) - bias - m), step = ldexpf(1, (0x7f >> m) - bias - m);
  if (!(x < top + step)) return 0x80;
  return best ? best | (u >> 24 & 0x80) : 0;
}
/* 2/pi digit by digit: long division of 2 by pi's first 1300 bits. */
static double two_over_pi(uint64_t x, uint32_t segment) {
  static uint8_t bit[1400];
  enum { WORDS = 48 };
  if (!bit[0]) { /* pi = 16 atan(1/5) - 4 atan(1/239) in fixed point of 32-bit words, word 0 whole numbers */
    static uint32_t pi[WORDS], rest[WORDS];
    for (int part = 0; part < 2; part++) {
      uint32_t n = part ? 239 : 5, term[WORDS] = {part ? 4 : 16}, t[WORDS];
      for (uint32_t k = 0; k < 1400; k++) {
        uint64_t r = 0;
        for (int i = 0; i < WORDS; i++) r = r << 32 | term[i], term[i] = (uint32_t)(r / n), r %= n;
        r = 0; /* n^2 from one term to the next */
        for (int i = 0; k && i < WORDS; i++) r = r << 32 | term[i], term[i] = (uint32_t)(r / n), r %= n;
        r = 0;
        for (int i = 0; i < WORDS; i++) r = r << 32 | term[i], t[i] = (uint32_t)(r / (2 * k + 1)), r %= 2 * k + 1;
        bool minus = (k & 1) != (uint32_t)part;
        int64_t carry = 0;
        for (int i = WORDS - 1; i >= 0; i--) {
          carry += (int64_t)pi[i] + (minus ? -(int64_t)t[i] : (int64_t)t[i]);
          pi[i] = (uint32_t)carry;
          carry >>= 32;
        }
      }
    }
    rest[0] = 2; /* restoring division */
    for (int b = 0; b < 1300; b++) {
      uint32_t twice[WORDS], less[WORDS];
      int64_t carry = 0;
      for (int i = WORDS - 1; i >= 0; i--) carry += (int64_t)rest[i] * 2, twice[i] = (uint32_t)carry, carry >>= 32;
      for (int i = WORDS - 1; i >= 0; i--) carry += (int64_t)twice[i] - pi[i], less[i] = (uint32_t)carry, carry >>= 32;
      bit[b] = carry == 0;
      memcpy(rest, carry == 0 ? less : twice, sizeof rest);
    }
    assert_int_equal(bit[0], 1); /* 2/pi = 0.1010001011... */
  }
  int e = (int)(x >> 52 & 0x7ff), first = (int)(segment & 31) * 53 + (e > 1077 ? e - 1077 : 0);
  double r = 0;
  for (int k = 0; k < 53; k++)
    if (first + k < 1201 && bit[first + k]) r += ldexp(1, 52 - k);
  return ldexp(r, -53 - first + (e >= 1968 ? 128 : 0));
}

#define CASES "valu_cases_more.h"
#include "diff_cases.h"

TEST(rare_instructions) { diff_run_all(cases, sizeof cases / sizeof *cases); }

/* Three operands of 16 bits: least, largest and middle, by sorting. */
static int16_t s16(uint32_t v) { return (int16_t)v; }
static void sorted(const lane_in *in, int out[3], bool is_signed) {
  for (int k = 0; k < 3; k++) out[k] = is_signed ? s16(V(1 + k)) : (int)U16(1 + k);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2 - i; j++)
      if (out[j] > out[j + 1]) { int t = out[j]; out[j] = out[j + 1]; out[j + 1] = t; }
}
#define SORTED(name, is_signed, k) \
  static void name(const lane_in *in, lane_out *out) { int t[3]; sorted(in, t, is_signed); O(0) = 0xa5a50000 | (t[k] & 0xffff); }
SORTED(least_i, true, 0) SORTED(middle_i, true, 1) SORTED(most_i, true, 2)
SORTED(least_u, false, 0) SORTED(middle_u, false, 1) SORTED(most_u, false, 2)
static const diff_case of_three[] = {
    {"v_min3_i16 v16, v1, v2, v3", BITS, 0, least_i}, {"v_med3_i16 v16, v1, v2, v3", BITS, 0, middle_i},
    {"v_max3_i16 v16, v1, v2, v3", BITS, 0, most_i},  {"v_min3_u16 v16, v1, v2, v3", BITS, 0, least_u},
    {"v_med3_u16 v16, v1, v2, v3", BITS, 0, middle_u}, {"v_max3_u16 v16, v1, v2, v3", BITS, 0, most_u}};
TEST(three_of_16_bits) { diff_run_all(of_three, sizeof of_three / sizeof *of_three); }

TESTS(NULL, NULL)
