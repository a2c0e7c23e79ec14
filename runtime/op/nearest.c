/* See nearest.h. */
#include "op/nearest.h"

#include <math.h>

#include "mlaf_limits.h"

/* In rounds of tokens: what a workgroup needs before and behind its loop; what the combine kernel adds. Set so that the fitted
 * counts cost least by the generator's model. */
enum { EDGES = 4, COMBINE = 4 };

bool mlaf_same_shape(const mlaf_problem *p, const mlaf_problem *q) {
  return p->heads == q->heads && p->rank == q->rank && p->rope == q->rope && p->q_len == q->q_len && p->causal == q->causal &&
         p->dtype == q->dtype && p->page_size == q->page_size;
}

static double ratio(int32_t a, int32_t b) { return a > b ? (double)a / b : (double)b / a; }

double mlaf_times_apart(const mlaf_problem *p, const mlaf_problem *q) {
  return ratio(p->batch, q->batch) * ratio(p->ctx, q->ctx);
}

double mlaf_doublings(const mlaf_problem *p, const mlaf_problem *q) { return log2(mlaf_times_apart(p, q)); }

int mlaf_first_of_equals(const mlaf_problem *p, const mlaf_problem *a, const mlaf_problem *b) {
  const double x = ratio(p->batch, a->batch), y = ratio(p->batch, b->batch);
  if (x != y) return x < y ? -1 : 1;
  if (a->batch != b->batch) return a->batch < b->batch ? -1 : 1;
  return a->ctx == b->ctx ? 0 : a->ctx < b->ctx ? -1 : 1;
}

static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* `wgs` workgroups of a split on `slots` at once. */
static uint64_t time_of(uint64_t n, uint64_t wgs, uint64_t slots, uint64_t rounds) {
  return ceil_div(wgs * n, slots) * (ceil_div(rounds, n) + EDGES) + (n > 1 ? COMBINE : 0);
}

uint32_t mlaf_fit_splits(const mlaf_problem *p, const mlaf_fit_kernel *k, uint32_t splits) {
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
