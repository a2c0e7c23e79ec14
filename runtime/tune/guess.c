/* The model's guesses beside what was measured. */
#include "tune/tune.h"

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

bool mlaf_guess_judge(const mlaf_guessed *list, size_t n, mlaf_guess *out) {
  double *errors = calloc(n + 1, sizeof *errors);
  size_t pick = n;
  *out = (mlaf_guess){.rank = 1};
  for (size_t i = 0; errors && i < n; i++) {
    if (list[i].model_ns <= 0 || list[i].ns <= 0) continue;
    errors[out->of++] = fabs(list[i].model_ns / list[i].ns - 1);
    if (pick == n || list[i].model_ns < list[pick].model_ns) pick = i;
    if (out->best_ns == 0 || list[i].ns < out->best_ns) out->best_ns = list[i].ns;
  }
  if (pick < n) out->pick_ns = list[pick].ns;
  for (size_t i = 0; pick < n && i < n; i++) out->rank += list[i].model_ns > 0 && list[i].ns > 0 && list[i].ns < out->pick_ns;
  if (out->of) {
    qsort(errors, out->of, sizeof *errors, ascending);
    out->error = (errors[(out->of - 1) / 2] + errors[out->of / 2]) / 2;
  }
  free(errors);
  return pick < n;
}

bool mlaf_guess_of(const mlaf_tuner_result *r, mlaf_guess *out) {
  mlaf_guessed *list = calloc(r->n + 1, sizeof *list);
  for (size_t i = 0; list && i < r->n; i++)
    if (r->items[i].sample.outcome == MLAF_OUT_OK) list[i] = (mlaf_guessed){r->items[i].model_ns, r->items[i].sample.timing.ns};
  const bool any = list && mlaf_guess_judge(list, r->n, out);
  free(list);
  return any;
}

void mlaf_guesses_add(mlaf_guesses *to, const mlaf_guess *g) {
  const double ratio = g->pick_ns / g->best_ns;
  to->n++;
  to->first += g->rank == 1;
  to->near += ratio <= MLAF_GUESS_NEAR;
  to->log_ratio += log(ratio);
  to->errors += g->error;
  if (ratio > to->worst) to->worst = ratio;
}
