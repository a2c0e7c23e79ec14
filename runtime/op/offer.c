/* Choice of the variant made ahead that serves a problem. */
#include "op/offer.h"

#include "op/nearest.h"

/* True if the first kernel is as good for requests of any lengths: the launch cuts its batch, always or where that is better. */
static bool any_lengths(const mlaf_offer *x) {
  const mlaf_calls *calls = x->problem.op->calls;
  return calls->any_lengths && calls->any_lengths(x->flags);
}

static int by_distance(const void *a, const void *b) {
  const mlaf_offer *x = a, *y = b;
  if (x->last != y->last) return x->last ? 1 : -1;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  if (x->apart != y->apart) return x->apart < y->apart ? -1 : 1;
  if (x->baseline != y->baseline) return x->baseline ? 1 : -1;
  const int c = mlaf_point_first_of_equals(x->asked, &x->problem, &y->problem);
  return c ? c : (uintptr_t)x->of < (uintptr_t)y->of ? -1 : 1; /* both are of one table */
}

void mlaf_offers_rank(mlaf_offer *list, size_t n, const mlaf_point *p) {
  bool some = false;
  for (size_t i = 0; i < n; i++) {
    some = some || any_lengths(&list[i]);
    list[i].asked = p;
    list[i].distance = mlaf_point_distance(p, &list[i].problem);
    list[i].apart = mlaf_point_times_apart(p, &list[i].problem);
    list[i].last = mlaf_stands_back(p, &list[i].problem) && !any_lengths(&list[i]);
  }
  for (size_t i = 0; i < n && !some; i++) list[i].last = false;
  qsort(list, n, sizeof *list, by_distance);
}

/* x, if it has a second kernel, or the best offer with x's first one that has; NULL: there is none. */
static const mlaf_offer *with_second(const mlaf_offer *list, size_t n, const mlaf_offer *x) {
  for (size_t i = 0; !x->kernels[1] && i < n; i++)
    if (list[i].kernels[0] == x->kernels[0] && list[i].kernels[1]) return &list[i];
  return x->kernels[1] ? x : NULL;
}

/* True if x's first kernel wants nothing behind it where the knob is 1. */
static bool ends_alone(const mlaf_offer *list, size_t n, const mlaf_offer *x) {
  bool alone = !any_lengths(x);
  for (size_t i = 0; i < n && !alone; i++)
    alone = list[i].kernels[0] == x->kernels[0] && list[i].knob == 1 && !list[i].kernels[1];
  return alone;
}

mlaf_offer_fitted mlaf_offer_fit(const mlaf_offer *list, size_t n, size_t i, const mlaf_point *p) {
  const mlaf_offer *x = &list[i], *second = with_second(list, n, x);
  const uint32_t knob = x->distance == 0 ? x->knob : mlaf_fit_knob(p, &x->first, x->knob);
  const bool wants_second = p->op->calls->needs_second != NULL; /* an operation of one stage has nothing to go without */
  if (knob == x->knob || (wants_second && knob > 1 && !second)) /* as it was tuned, or nothing here merges more than one */
    return (mlaf_offer_fitted){x->knob, x->kernels[1] ? x : NULL};
  return (mlaf_offer_fitted){knob, knob == 1 && ends_alone(list, n, x) ? NULL : second};
}
