/* Candidates that are worth a timing: those that the model, corrected by what was timed before and so far, says may be the
 * fastest. */
#include "tune/tune_internal.h"

/* Shares of a sample in a candidate's correction: of the same first kernel, of its template. Another template's says nothing, so
 * the first of each template is timed. */
#define OF_KERNEL   1.0
#define OF_TEMPLATE 0.25
#define PRIOR       0.06 /* standard deviation of log(time / estimate) of one more of a template ... */
#define PRIOR_FALLS 4.0 /* ... which so many times the shares lessen */
#define DOUBTS      0.4  /* standard deviations that a candidate is given */

static double share(const tune_candidate *a, const tune_candidate *b) {
  if (a->group == b->group) return OF_KERNEL;
  return strcmp(a->variant->kernels[0].template_name, b->variant->kernels[0].template_name) ? 0 : OF_TEMPLATE;
}

static double off(const tune_candidate *c) { return log(c->item.sample.timing.ns / c->estimate_ns); }

/* True if the time of x may judge c. */
static bool tells(const tuner *t, const tune_candidate *x, const tune_candidate *c) {
  return x->told || (x < c && t->counted[x - t->list] && x->state == TUNE_DONE && x->item.sample.outcome == MLAF_OUT_OK);
}

static bool may_win(const tuner *t, const tune_candidate *c) {
  double shares = 0, sum = 0, squares = 0, best = INFINITY;
  if (c->sure || c->variant->model_ns <= 0) return true;
  for (size_t i = 0; i < t->n; i++) {
    if (!tells(t, &t->list[i], c)) continue;
    best = fmin(best, t->list[i].item.sample.timing.ns);
    if (t->list[i].variant->model_ns <= 0) continue; /* a library's */
    const double w = share(c, &t->list[i]), x = off(&t->list[i]);
    shares += w;
    sum += w * x;
    squares += w * x * x;
  }
  if (shares == 0) return true;
  const double mean = sum / shares, spread = fmax(squares / shares - mean * mean, 0);
  const double doubt = sqrt(spread + PRIOR * PRIOR / (1 + PRIOR_FALLS * shares));
  return c->estimate_ns * exp(mean - DOUBTS * doubt) < best;
}

bool mlaf_tuner_is_passed_over(const tuner *t, tune_candidate *c) {
  if (t->opts.strategy != MLAF_STRATEGY_PRUNED || t->in_finals) return false;
  return c->passed_over = !may_win(t, c);
}
