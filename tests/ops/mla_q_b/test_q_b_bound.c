/* The bound of a product is what its roundings come to: right outputs stay below it however few they are, a third rounding of
 * many does not, and what many outputs are held to has not moved. */
#include "cmocka_all.h"
#include "op/numeric.h"
#include "op/projection_calls.h"

static double rounded(double x) { return (double)mlaf_bf16_decode(mlaf_bf16_encode((float)x)); }

/* Relative error of one token: x of `inner` numbers is rounded `before` times over, sums of them once. */
static double off_by(int inner, int outputs, int before, mlaf_rng *rng) {
  double exact[512], with[512], off = 0, all = 0;
  for (int k = 0; k < inner; k++) {
    exact[k] = (double)mlaf_rng_normal(rng);
    with[k] = exact[k];
    for (int i = 0; i < before; i++) with[k] = rounded(with[k] * (0.9 - 0.1 * i)) / (0.9 - 0.1 * i); /* a grid of its own */
  }
  for (int o = 0; o < outputs; o++) {
    double want = 0, got = 0;
    for (int k = 0; k < inner; k++) {
      const double w = (double)mlaf_rng_normal(rng);
      want += w * exact[k], got += w * with[k];
    }
    off += (rounded(got) - want) * (rounded(got) - want), all += want * want;
  }
  return sqrt(off / all);
}

TEST(right_products_are_within) {
  static const struct {
    int inner, outputs, norm;
  } of[] = {{256, 64, 1}, {64, 64, 1}, {32, 256, 1}, {256, 32, 0}, {512, 400, 1}};
  mlaf_rng rng = {5};
  int beyond_usual = 0;
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const mlaf_product p = {.heads = 1, .inner = of[i].inner, .outer = of[i].outputs, .norm = of[i].norm};
    const double bound = mlaf_product_bound(&p, 1);
    double worst = 0, sum = 0;
    for (int k = 0; k < 100; k++) {
      const double e = off_by(of[i].inner, of[i].outputs, of[i].norm, &rng);
      sum += e, beyond_usual += e > 2.5e-3;
      worst = fmax(worst, e);
    }
    print_message("%d x %d: %.2e, worst %.2e, bound %.2e\n", of[i].inner, of[i].outputs, sum / 100, worst, bound);
    assert_true(worst <= bound && bound < 2 * sum / 100);
  }
  assert_true(beyond_usual > 20); /* why it is not one number */
}

TEST(many_outputs_are_held_to_what_they_were) {
  mlaf_product p = {.heads = 1, .inner = 1536, .outer = 3072, .norm = 1};
  mlaf_rng rng = {6};
  assert_true(mlaf_product_bound(&p, 16) == 2.5e-3);
  p.norm = 0;
  assert_true(mlaf_product_bound(&p, 1) == 2.5e-3);
  p.dtype = MLAF_F16;
  assert_true(mlaf_product_bound(&p, 1) == 2.5e-3 / 8);
  p = (mlaf_product){.heads = 1, .inner = 512, .outer = 500, .norm = 1};
  double squares = 0;
  for (int t = 0; t < 16; t++) squares += pow(off_by(512, 500, 3, &rng), 2);
  assert_true(sqrt(squares / 16) > mlaf_product_bound(&p, 16)); /* two roundings more than there are */
}

TESTS(NULL, NULL)
