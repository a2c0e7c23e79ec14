/* Which plans of a bundle serve a problem, and with how many splits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "op/nearest.h"

bool mlaf_bundle_has_target(const mlaf_bundle *b, const char *target) {
  for (size_t i = 0; i < b->n_targets; i++)
    if (!strcmp(b->targets[i].name, target)) return true;
  return false;
}

static bool serves(const mlaf_bundle_plan *x, const char *target, const mlaf_point *p) {
  return mlaf_point_same_shape(&x->problem, p) && !strcmp(x->target, target);
}

typedef struct ranked {
  const mlaf_bundle_plan *plan;
  const mlaf_point *asked;
  double distance, apart; /* mlaf_point_distance, mlaf_point_times_apart */
  bool last; /* for one request, among others that serve any lengths */
} ranked;

/* Whether a kernel is as good for requests of any lengths: the launch cuts its batch, always or where that is better. */
static bool any_lengths(const mlaf_bundle_plan *x) {
  const mlaf_calls *calls = x->problem.op->calls;
  return calls->any_lengths && calls->any_lengths(x->kernels[0]->flags);
}

static int by_distance(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->last != y->last) return x->last ? 1 : -1;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  if (x->apart != y->apart) return x->apart < y->apart ? -1 : 1;
  if (x->plan->baseline != y->plan->baseline) return x->plan->baseline ? 1 : -1;
  const int c = mlaf_point_first_of_equals(x->asked, &x->plan->problem, &y->plan->problem);
  return c ? c : x->plan < y->plan ? -1 : 1; /* the manifest's order */
}

mlaf_status mlaf_bundle_rank(const mlaf_bundle *b, const char *target, const mlaf_point *p, const mlaf_bundle_plan ***list,
                             size_t *n, mlaf_err *err) {
  size_t found = 0;
  for (size_t i = 0; i < b->n_plans; i++) found += serves(&b->plans[i], target, p);
  *list = NULL;
  *n = 0;
  if (!found) return MLAF_OK;
  ranked *r = malloc(found * sizeof *r);
  const mlaf_bundle_plan **out = malloc(found * sizeof *out);
  if (!r || !out) {
    free(r);
    free(out);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory to look into the bundle");
  }
  bool some = false;
  found = 0;
  for (size_t i = 0; i < b->n_plans; i++) {
    const mlaf_bundle_plan *x = &b->plans[i];
    if (!serves(x, target, p)) continue;
    some = some || any_lengths(x);
    r[found++] = (ranked){x, p, mlaf_point_distance(p, &x->problem), mlaf_point_times_apart(p, &x->problem),
                          mlaf_stands_back(p, &x->problem) && !any_lengths(x)};
  }
  for (size_t i = 0; i < found && !some; i++) r[i].last = false;
  qsort(r, found, sizeof *r, by_distance);
  for (size_t i = 0; i < found; i++) out[i] = r[i].plan;
  free(r);
  *list = out;
  *n = found;
  return MLAF_OK;
}

/* The nearest plan whose combine kernel merges what x's decode kernel leaves. */
static const mlaf_bundle_plan *with_combine(const mlaf_bundle_plan *const *list, size_t n, const mlaf_bundle_plan *x) {
  for (size_t i = 0; !x->kernels[1] && i < n; i++)
    if (list[i]->kernels[0] == x->kernels[0] && list[i]->kernels[1]) return list[i];
  return x->kernels[1] ? x : NULL;
}

/* Whether x's first kernel wants nothing behind it where the knob is 1. */
static bool ends_alone(const mlaf_bundle_plan *const *list, size_t n, const mlaf_bundle_plan *x) {
  bool alone = !any_lengths(x);
  for (size_t i = 0; i < n && !alone; i++)
    alone = list[i]->kernels[0] == x->kernels[0] && list[i]->knob == 1 && !list[i]->kernels[1];
  return alone;
}

/* FAMILY:decode/sN[,combine], with another N. */
static void rename_variant(const mlaf_bundle_plan *x, const mlaf_bundle_plan *merge, mlaf_bundle_fitted *out) {
  const char *slash = strrchr(x->variant, '/'), *rest = merge ? strrchr(merge->variant, '/') : NULL;
  if (rest) rest = strchr(rest, ',');
  const size_t stem = slash ? (size_t)(slash - x->variant) : strlen(x->variant);
  snprintf(out->variant, sizeof out->variant, "%.*s/s%u%s", (int)stem, x->variant, out->knob, rest ? rest : "");
}

void mlaf_bundle_fit(const mlaf_bundle_plan *const *list, size_t n, const mlaf_bundle_plan *x, const mlaf_point *p,
                     mlaf_bundle_fitted *out) {
  const mlaf_fit_kernel k = {x->kernels[0]->rows_per_wg, x->kernels[0]->step, x->kernels[0]->slots};
  const bool exact = mlaf_point_distance(p, &x->problem) == 0;
  const mlaf_bundle_plan *merge = with_combine(list, n, x);
  const bool wants_second = p->op->calls->needs_second != NULL; /* of one stage there is nothing to go without */
  *out = (mlaf_bundle_fitted){.knob = exact ? x->knob : mlaf_fit_knob(p, &k, x->knob)};
  memcpy(out->kernels, x->kernels, sizeof out->kernels);
  if (out->knob == x->knob || (wants_second && out->knob > 1 && !merge)) {
    /* as it was tuned, or nothing here merges more than one */
    out->knob = x->knob;
    snprintf(out->variant, sizeof out->variant, "%s", x->variant);
    return;
  }
  if (out->knob == 1 && ends_alone(list, n, x)) merge = NULL;
  out->kernels[1] = merge ? merge->kernels[1] : NULL;
  rename_variant(x, merge, out);
}
