/* Sums and conversions of references, against one sum after another. */
#include <float.h>

#include "cmocka_all.h"
#include "op/e4m3.h"
#include "op/numeric.h"
#include "op/sums.h"

enum { MOST = 67 };

typedef struct numbers {
  double a[MOST], b[MOST];
  uint16_t half[MOST];
} numbers;

static numbers draw(int32_t dtype) {
  mlaf_rng rng = {7};
  numbers x;
  for (int i = 0; i < MOST; i++) {
    x.a[i] = (double)mlaf_rng_normal(&rng);
    x.half[i] = mlaf_encode16(dtype, mlaf_rng_normal(&rng));
    x.b[i] = (double)mlaf_decode16(dtype, x.half[i]);
  }
  return x;
}

static void assert_near(double is, double want, double size) {
  if (!(fabs(is - want) <= MOST * DBL_EPSILON * size)) fail_msg("%.17g, not %.17g", is, want);
}

/* Every length, so every remainder behind groups of eight. */
TEST(sums_of_every_length) {
  const numbers x = draw(MLAF_BF16);
  for (int n = 0; n <= MOST; n++) {
    double sum = 0, size = 0;
    for (int i = 0; i < n; i++) sum += x.a[i] * x.b[i], size += fabs(x.a[i] * x.b[i]);
    const mlaf_sum both = mlaf_dot_sizes(x.a, x.b, n);
    assert_near(mlaf_dot(x.a, x.b, n), sum, size);
    assert_near(mlaf_dot_bf16(x.a, x.half, n), sum, size);
    assert_near(both.sum, sum, size);
    assert_near(both.size, size, size);
  }
}

/* Eight sums side by side, each product rounded before it is added. */
static double in_lanes(const double *a, const double *b, int n) {
  double s[8] = {0};
  for (int i = 0; i < n; i++) {
    const volatile double term = a[i] * b[i];
    s[i < n / 8 * 8 ? i % 8 : 0] += term;
  }
  return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

/* Hosts with fused multiplications and without find the same bits, so that a reported error does not depend on the host. */
TEST(sums_are_the_same_on_every_host) {
  numbers x = draw(MLAF_BF16);
  double to[MOST] = {0};
  for (int i = 0; i < MOST; i++) x.a[i] /= 3, x.b[i] /= 7; /* products that are not exact */
  for (int n = 0; n <= MOST; n++) {
    const double want = in_lanes(x.a, x.b, n);
    assert_true(mlaf_dot(x.a, x.b, n) == want && mlaf_dot_sizes(x.a, x.b, n).sum == want);
  }
  mlaf_add_scaled(to, 0.3, x.a, MOST);
  mlaf_add_scaled(to, 0.7, x.a, MOST);
  for (int i = 0; i < MOST; i++) {
    const volatile double first = 0.3 * x.a[i], second = 0.7 * x.a[i];
    assert_true(to[i] == first + second);
  }
}

/* Products of 8-bit floats are exact, and so is their sum in any order. */
TEST(sums_of_codes_are_exact) {
  double codes[256], a[MOST], b[MOST], sum = 0;
  uint8_t from[MOST];
  for (int i = 0; i < 256; i++) codes[i] = mlaf_e4m3_decode(false, (uint8_t)i);
  for (int i = 0; i < MOST; i++) from[i] = (uint8_t)(i * 37 % 126 + 128 * (i % 2));
  mlaf_widen8(codes, from, MOST, 1, a);
  mlaf_widen8(codes, from, MOST, 0.5, b);
  for (int i = 0; i < MOST; i++) {
    assert_true(a[i] == codes[from[i]] && b[i] == codes[from[i]] / 2);
    sum += a[i] * b[i];
  }
  assert_true(mlaf_dot(a, b, MOST) == sum && mlaf_dot_sizes(a, b, MOST).sum == sum);
}

/* A NaN or an infinity anywhere stays in the sum. */
TEST(what_is_not_finite_stays) {
  numbers x = draw(MLAF_BF16);
  for (int i = 0; i < MOST; i++) {
    const double was = x.a[i];
    x.a[i] = NAN;
    assert_true(isnan(mlaf_dot(x.a, x.b, MOST)) && isnan(mlaf_dot_sizes(x.a, x.b, MOST).sum));
    assert_true(isnan(mlaf_dot_bf16(x.a, x.half, MOST)));
    x.a[i] = INFINITY;
    assert_true(isinf(mlaf_dot(x.a, x.b, MOST)) && mlaf_dot_sizes(x.a, x.b, MOST).size == INFINITY);
    x.a[i] = was;
  }
}

TEST(scaled_rows_are_added) {
  const numbers x = draw(MLAF_BF16);
  for (int n = 0; n <= MOST; n++) {
    double to[MOST];
    for (int i = 0; i < MOST; i++) to[i] = x.b[i];
    mlaf_add_scaled(to, 0.25, x.a, n);
    for (int i = 0; i < MOST; i++) assert_true(to[i] == (i < n ? x.b[i] + 0.25 * x.a[i] : x.b[i]));
  }
}

/* All 65536 numbers of both formats. */
TEST(wide_numbers) {
  static uint16_t from[65536];
  static double to[65536];
  for (int k = 0; k < 65536; k++) from[k] = (uint16_t)k;
  for (int32_t dtype = MLAF_BF16; dtype <= MLAF_F16; dtype++) {
    mlaf_widen16(dtype, from, 65536, to);
    for (int k = 0; k < 65536; k++) {
      const double want = (double)mlaf_decode16(dtype, (uint16_t)k);
      assert_true(isnan(want) ? isnan(to[k]) : to[k] == want && signbit(to[k]) == signbit(want));
    }
  }
}

TESTS(NULL, NULL)
