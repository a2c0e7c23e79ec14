/* The nearest rule: which tuned problem answers for another one, and how its splits are fitted. The tuning database, the planner
 * and bundles ask here; the vendored loader (runtime/embed) has a copy of its own, which tests/bundle compares with this one. */
#ifndef MLAF_NEAREST_H
#define MLAF_NEAREST_H

#include <stdbool.h>
#include <stdint.h>

#include "mlaforge/problem.h"

/* Farther than this, 16 times the batch or the context, another regime begins, and the model, which looks at the problem
 * itself, is the better guess: on the emulator a fitted choice within it was at most 3.9 % behind the tuned best, farther
 * away 13.5 %, the model there 0.2 % (docs/lab/search.md). Who may not ask the model takes a farther choice all the same. */
#define MLAF_REACH 4.0

/* A default without hashes is somebody's estimate: farther than this the model picks better (on the emulator, such defaults two
 * doublings away were up to 1.7 times slower than its pick). */
#define MLAF_DEFAULT_REACH 1.0

/* estimate: such a default. */
static inline bool mlaf_in_reach(double doublings, bool estimate) {
  return doublings <= (estimate ? MLAF_DEFAULT_REACH : MLAF_REACH);
}

/* All fields but batch and ctx agree: one's kernels can execute the other. */
bool mlaf_same_shape(const mlaf_problem *p, const mlaf_problem *q);
/* The problem string without what is only tuned for, the operation included: equal for problems of one shape. */
mlaf_status mlaf_problem_family(const mlaf_problem *p, char *out, size_t out_size);
/* How many times over two problems of one shape are apart, in batch times in ctx; 1: the same. Batch 4 is as far from 8 as
 * from 2. */
double mlaf_times_apart(const mlaf_problem *p, const mlaf_problem *q);
/* The same in doublings, which add up: 0 for the same. */
double mlaf_doublings(const mlaf_problem *p, const mlaf_problem *q);
/* Of two that are equally far from p the nearer in batch (as many blocks fill the device alike), then the smaller batch, then the
 * smaller ctx comes first: < 0 when that is a. */
int mlaf_first_of_equals(const mlaf_problem *p, const mlaf_problem *a, const mlaf_problem *b);

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
