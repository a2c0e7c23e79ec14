/* The nearest rule, of mla_decode: which tuned problem answers for another one (op/nearest.h, op/op.h), and how its splits are
 * fitted. The tuning database, the planner and bundles ask here; the vendored loader (runtime/embed) has a copy of its own, which
 * tests/embed compares with this one. */
#ifndef MLAF_MLA_DECODE_NEAREST_H
#define MLAF_MLA_DECODE_NEAREST_H

#include "mlaforge/problem.h"
#include "op/nearest.h"

/* mlaf_point_... (op/op.h) of problems. */
bool mlaf_same_shape(const mlaf_problem *p, const mlaf_problem *q);
int mlaf_problem_order(const mlaf_problem *p, const mlaf_problem *q);
double mlaf_times_apart(const mlaf_problem *p, const mlaf_problem *q);
int mlaf_first_of_equals(const mlaf_problem *p, const mlaf_problem *a, const mlaf_problem *b);
/* times_apart in doublings, which add up: 0 for the same. */
double mlaf_doublings(const mlaf_problem *p, const mlaf_problem *q);

/* What was tuned for one request stands back for several, unless its kernel is as good for requests of any lengths: one request
 * has no other beside it whose length differs, so its kernels were chosen without a look at that. Where no kernel is that good it
 * serves like any other. */
static inline bool mlaf_for_one(const mlaf_problem *asked, const mlaf_problem *tuned) {
  return asked->batch > 1 && tuned->batch == 1;
}

/* What the fit must know of a decode kernel. */
typedef struct mlaf_fit_kernel {
  uint32_t rows_per_wg;
  uint32_t step;  /* tokens that a split takes in one round; 0: not known, nothing is fitted */
  uint32_t slots; /* workgroups that the device runs at once; 0: not known */
} mlaf_fit_kernel;

/* The split count of a decode kernel, tuned with `splits` for another batch and ctx, that suits p: fewest rounds of
 * workgroups times rounds of tokens, unless what was tuned is within 5 % of that. For those who cannot ask the generator's
 * model (gen/space.lua, refit). Judged by it, over 3400 pairs of problems on gfx942 and sm_90a (five head counts, 1 and 2
 * query tokens), the fitted count takes 1.4 % more time than the model's own on average, the tuned count as it is 7 %. */
uint32_t mlaf_fit_splits(const mlaf_problem *p, const mlaf_fit_kernel *k, uint32_t splits);

#endif
