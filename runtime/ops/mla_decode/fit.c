/* Fitting a number of splits to another batch and context. */
#include "ops/mla_decode/calls.h"
#include "ops/mla_decode/fields.h"
#include "ops/mla_decode/problem.h"
#include "mlaf_limits.h"

/* Costs in rounds of tokens: what a workgroup needs before and after its loop; what the combine kernel adds. Set so that the
 * fitted counts cost least by the generator's model. */
enum { EDGES = 4, COMBINE = 4 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* `wgs` workgroups of a split on `slots` at once. */
static uint64_t time_of(uint64_t n, uint64_t wgs, uint64_t slots, uint64_t rounds) {
  return ceil_div(wgs * n, slots) * (ceil_div(rounds, n) + EDGES) + (n > 1 ? COMBINE : 0);
}

uint32_t mlaf_decode_fit(const mlaf_point *at, const mlaf_fit_kernel *k, uint32_t splits) {
  const mlaf_problem problem = mlaf_problem_of(at), *p = &problem;
  if (!k->step || !k->slots || !k->rows_per_wg || splits < 1) return splits;
  const uint64_t rounds = ceil_div((uint64_t)p->ctx, k->step), batch = (uint64_t)p->batch;
  const uint64_t wgs = batch * ceil_div((uint64_t)p->heads * (uint64_t)p->q_len, k->rows_per_wg);
  uint64_t most = 4 * (uint64_t)k->slots / wgs, best = 1;
  if (most > MLAF_SPLITS_MAX) most = MLAF_SPLITS_MAX;
  if (splits > rounds) splits = (uint32_t)rounds;
  splits = (uint32_t)ceil_div(rounds, ceil_div(rounds, splits)); /* as many as get work */
  for (uint64_t n = 2; n <= most && n <= rounds; n++)
    if (ceil_div(rounds, ceil_div(rounds, n)) == n && time_of(n, wgs, k->slots, rounds) < time_of(best, wgs, k->slots, rounds))
      best = n;
  return 20 * time_of(best, wgs, k->slots, rounds) < 19 * time_of(splits, wgs, k->slots, rounds) ? (uint32_t)best : splits;
}

bool mlaf_decode_stands_back(const mlaf_point *asked, const mlaf_point *tuned) {
  return asked->v[MLA_DECODE_BATCH] > 1 && tuned->v[MLA_DECODE_BATCH] == 1;
}

bool mlaf_decode_any_lengths(uint32_t flags) { return flags & MLAF_KERNEL_FITS; }

uint32_t mlaf_decode_splits_most(const mlaf_point *p, uint32_t step) {
  const uint64_t rounds = step ? ceil_div((uint64_t)p->v[MLA_DECODE_CTX], step) : UINT64_MAX;
  return rounds < MLAF_SPLITS_MAX ? (uint32_t)rounds : MLAF_SPLITS_MAX;
}
