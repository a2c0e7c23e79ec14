/* Partial results in 16 bits (templates/mla_decode/lib/narrow.h) on the host: what a value becomes and what comes back. */
#include "cmocka_all.h"
#include "op/numeric.h"

typedef uint32_t u32;
#define MLAF_DEV static inline
MLAF_DEV u32 bits_of(float x) {
  u32 u;
  memcpy(&u, &x, sizeof u);
  return u;
}
MLAF_DEV float float_of(u32 u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}
MLAF_DEV u32 __byte_perm(u32 x, u32 y, u32 selector) { /* CUDA's: bytes 0-3 are x's, 4-7 y's */
  const uint64_t all = (uint64_t)y << 32 | x;
  u32 r = 0;
  for (int i = 0; i < 4; i++) r |= (u32)(all >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return r;
}
#include "../templates/mla_decode/lib/narrow.h"

enum { R = 512 };

/* As the kernels do it: there with the row's unit, and back without the middle. */
static float there(const float *x, u32 *words) {
  float top = NARROW_LEAST;
  for (int i = 0; i < R; i++) top = isnan(x[i]) || isnan(top) ? NAN : fmaxf(top, fabsf(x[i]));
  for (int i = 0; i < R; i += 2) words[i / 2] = narrow_word(x[i], x[i + 1], NARROW_REACH / top);
  return top * (1 / NARROW_REACH);
}
static double back(const u32 *words, int i, float unit) {
  return ((double)(i & 1 ? narrow_hi(words[i / 2]) : narrow_lo(words[i / 2])) - (double)NARROW_MIDDLE) * (double)unit;
}

static double largest(const float *x) {
  double top = 0;
  for (int i = 0; i < R; i++) top = fmax(top, fabs((double)x[i]));
  return top;
}

TEST(errors_stay_below_the_bound) {
  mlaf_rng rng = {7};
  static const float sizes[] = {1, 3e-30f, 2e-3f, 70000, 1e30f};
  for (int round = 0; round < 2000; round++) {
    float x[R];
    u32 words[R / 2];
    for (int i = 0; i < R; i++) x[i] = sizes[round % 5] * (float)mlaf_rng_normal(&rng);
    if (round % 7 == 0) x[mlaf_rng_below(&rng, R)] *= 300; /* one stands out */
    const float unit = there(x, words);
    double off2 = 0, all2 = 0;
    for (int i = 0; i < R; i++) {
      const double off = back(words, i, unit) - (double)x[i];
      assert_true(fabs(off) <= 2.1e-5 * largest(x));
      off2 += off * off, all2 += (double)x[i] * (double)x[i];
    }
    assert_true(sqrt(off2 / all2) < (round % 7 == 0 ? 3e-4 : 6e-5));
  }
}

/* Every value between the two ends is brought back to a neighbour, and the ends do not wrap around. */
TEST(ends_and_order) {
  float last = 0;
  for (int i = -1000000; i <= 1000000; i++) {
    const float x = (float)i * 1e-6f, t = narrow_lo(narrow_word(x, -x, NARROW_REACH));
    assert_true(t >= 0.5f && t < 2 && t >= last);
    assert_true(fabs((double)t - 1.25 - (double)(x * NARROW_REACH)) <= 0x1.01p-16);
    assert_true(narrow_hi(narrow_word(-x, x, NARROW_REACH)) == t);
    last = t;
  }
}

TEST(zeros_and_what_is_not_finite) {
  float x[R] = {0};
  u32 words[R / 2];
  float unit = there(x, words);
  for (int i = 0; i < R; i++) assert_true(back(words, i, unit) == 0);
  x[5] = 1e-38f; /* below the least: as 0, and nothing overflows */
  unit = there(x, words);
  for (int i = 0; i < R; i++) assert_true(fabs(back(words, i, unit)) < 2e-38);
  x[7] = NAN;
  assert_true(isnan(there(x, words)));
  x[7] = -INFINITY;
  unit = there(x, words);
  assert_true(isinf(unit)); /* times a value less the middle: NaN or infinite */
  for (int i = 0; i < R; i++) assert_true(!isfinite(back(words, i, unit)));
}

TESTS(NULL, NULL)
