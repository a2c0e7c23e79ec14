/* See nearby.h. */
#include "plan/nearby.h"

#include "mlaforge/plan.h"
#include "op/nearest.h"

#define NO_MEMORY "no memory for what was tuned nearby"

mlaf_point_string mlaf_question(const mlaf_point *p, uint32_t flags) {
  mlaf_point_string text = mlaf_point_text(p);
  const size_t n = strlen(text.s);
  const char *form = flags & (MLAF_PLAN_LISTS | MLAF_PLAN_POOLS) ? ";lists" : ";tables";
  if (p->op->calls->second && n + strlen(form) < sizeof text.s) memcpy(text.s + n, form, strlen(form) + 1);
  return text;
}

typedef struct gathering {
  mlaf_nearby *out;
  mlaf_db_accept_fn accept;
  void *user;
  const mlaf_point *problem;
  bool far; /* what is out of reach, too */
  bool holds; /* the choice that is being looked at */
} gathering;

/* The search goes through all choices, nearest first, when none is taken. */
static bool look(void *user, const mlaf_choice *c) {
  gathering *g = user;
  g->holds = g->out->n_choices < MLAF_NEARBY_CHOICES && c->distance > 0 &&
             (g->far || mlaf_in_reach(g->problem, c->distance, false)) && (!g->accept || g->accept(g->user, c));
  return false;
}

static bool known(const mlaf_nearby *n, const char *problem) {
  for (size_t i = 0; i < n->n_choices; i++)
    if (!strcmp(n->choices[i].problem, problem)) return true; /* in a nearer layer */
  return false;
}

/* Times of other lengths are no part of one picture. */
static bool same_lengths(const mlaf_nearby *n, const mlaf_choice *c) {
  return !n->n_choices || !strcmp(n->choices[0].lengths, c->lengths);
}

static void keep(void *user, const mlaf_db_considered *x) {
  gathering *g = user;
  mlaf_nearby *n = g->out;
  if (g->holds && x->rung == MLAF_RUNG_NEAREST && x->choice && !known(n, x->problem) && same_lengths(n, x->choice))
    n->choices[n->n_choices++] = *x->choice;
  g->holds = false;
}

static void add(mlaf_nearby *n, mlaf_nearby_item x, const char *variant) {
  snprintf(x.variant, sizeof x.variant, "%s", variant);
  n->items[n->n++] = x;
}

static bool one_kernel(const char *a, const char *b) {
  const size_t n = strcspn(a, "/");
  return n == strcspn(b, "/") && !memcmp(a, b, n);
}

/* The time that a kernel's is compared with: the choice's, or where that is a library's, which says nothing of kernels, the
 * fastest kernel's. */
static double fastest(const mlaf_choice *c, const mlaf_sample *list, size_t n) {
  for (size_t k = 0; mlaf_is_library(c->variant) && k < n; k++) /* best first */
    if (!mlaf_is_library(list[k].variant)) return list[k].timing.ns;
  return c->ns;
}

/* A choice, and what else was timed for its problem where it was tuned; a layer that has no samples has the choice. */
static bool add_problem(mlaf_nearby **n, size_t i, mlaf_db *db, const mlaf_device_info *dev) {
  const mlaf_choice *c = &(*n)->choices[i];
  mlaf_db *layer = mlaf_db_layer(db, c->layer);
  mlaf_sample *list = NULL;
  size_t found = 0;
  mlaf_err ignored;
  if (layer && mlaf_db_fastest(layer, dev, &c->at, c->lengths, MLAF_NEARBY_EACH, &list, &found, &ignored)) found = 0;
  mlaf_nearby *grown = realloc(*n, sizeof **n + ((*n)->n + 1 + found) * sizeof *(*n)->items);
  if (grown) {
    *n = grown;
    c = &grown->choices[i];
    const mlaf_nearby_item own = {.choice = i, .kernel = c->kernels[0], .ns = c->ns, .error = c->error, .fast = true};
    add(grown, own, c->variant);
  }
  for (size_t k = 0; grown && k < found; k++) {
    const mlaf_sample *s = &list[k];
    const bool fast = s->timing.ns <= MLAF_NEARBY_WITHIN * fastest(c, list, found);
    const mlaf_nearby_item x = {.choice = i, .kernel = s->kernels[0], .ns = s->timing.ns, .error = s->error, .fast = fast};
    if (mlaf_is_library(s->variant)) continue;
    if (s->knob != c->knob || !one_kernel(s->variant, c->variant)) add(grown, x, s->variant);
  }
  free(list);
  return grown;
}

/* By kernel, that is up to the slash; of one kernel in the order they came. */
static int by_kernel(const void *a, const void *b) {
  const mlaf_nearby_item *x = *(mlaf_nearby_item *const *)a, *y = *(mlaf_nearby_item *const *)b;
  const size_t n = strcspn(x->variant, "/"), m = strcspn(y->variant, "/");
  const int order = n != m ? (n < m ? -1 : 1) : memcmp(x->variant, y->variant, n);
  return order ? order : x < y ? -1 : x > y;
}

/* Keeps one item of each kernel that is fast nowhere. */
static bool thin_out(mlaf_nearby *n) {
  mlaf_nearby_item **order = calloc(n->n + 1, sizeof *order);
  if (!order) return false;
  for (size_t i = 0; i < n->n; i++) order[i] = &n->items[i];
  qsort(order, n->n, sizeof *order, by_kernel);
  for (size_t i = 0, end; i < n->n; i = end) {
    bool fast = false;
    for (end = i; end < n->n && one_kernel(order[i]->variant, order[end]->variant); end++) fast |= order[end]->fast;
    for (size_t k = i; k < end; k++) order[k]->fast = fast;
    for (size_t k = i + 1; k < end && !fast; k++) order[k]->variant[0] = 0;
  }
  free(order);
  size_t kept = 0;
  for (size_t i = 0; i < n->n; i++)
    if (n->items[i].variant[0]) n->items[kept++] = n->items[i];
  n->n = kept;
  return true;
}

mlaf_status mlaf_nearby_gather(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                               bool far, mlaf_db_accept_fn accept, void *user, mlaf_nearby **out, mlaf_err *err) {
  mlaf_nearby *n = calloc(1, sizeof *n);
  if (!n) return mlaf_fail(err, MLAF_E_NOMEM, NO_MEMORY);
  gathering g = {n, accept, user, p, far, false};
  mlaf_choice none;
  mlaf_rung rung;
  mlaf_err ignored;
  mlaf_status status = mlaf_db_why(db, dev, toolchain, p, look, &g, keep, &g, &none, &rung, &ignored);
  if (status == MLAF_E_NOT_TUNED) status = n->n_choices ? MLAF_OK : MLAF_E_NOT_TUNED;
  for (size_t i = 0; !status && i < n->n_choices; i++)
    if (!add_problem(&n, i, db, dev)) status = MLAF_E_NOMEM;
  if (!status && !thin_out(n)) status = MLAF_E_NOMEM;
  if (!status) *out = n;
  else free(n);
  return status ? mlaf_fail(err, status, "%s", status == MLAF_E_NOMEM ? NO_MEMORY : "no choice in reach") : MLAF_OK;
}

mlaf_status mlaf_nearby_choose(const mlaf_nearby *n, mlaf_gen *gen, const char *question, const char *target, bool any,
                               mlaf_gen_nearby *out, mlaf_err *err) {
  *out = (mlaf_gen_nearby){.from = -1};
  mlaf_gen_measured *list = calloc(n->n, sizeof *list);
  if (!list) return mlaf_fail(err, MLAF_E_NOMEM, NO_MEMORY);
  for (size_t i = 0; i < n->n; i++) {
    const mlaf_nearby_item *x = &n->items[i];
    const mlaf_choice *of = &n->choices[x->choice];
    list[i] = (mlaf_gen_measured){of->problem, x->variant, x->kernel.template_hash, of->lengths, x->ns, !x->fast};
  }
  const mlaf_status status = mlaf_gen_nearby_variant(gen, question, target, list, n->n, any, out, err);
  free(list);
  return status;
}

void mlaf_nearby_reason(const mlaf_nearby *n, const mlaf_gen_nearby *x, char *out, size_t size) {
  size_t counted = 0;
  for (size_t i = 0; i < n->n; i++) counted += n->items[i].fast;
  const char *from = x->from < 0 ? "measured nowhere near" : n->choices[n->items[x->from].choice].problem;
  int at = mlaf_snprintf(out, size, "%s (%s%s): the model and %zu times of %zu problems nearby say %.2f us", x->variant.name,
                         x->from < 0 ? "" : "kernel of ", from, counted, n->n_choices, x->ns / 1e3);
  if (at < 0 || (size_t)at >= size || x->ns == x->nearest_ns) return;
  if (x->nearest_ns > 0) mlaf_snprintf(out + at, size - (size_t)at, ", the nearest choice's kernel %.2f us", x->nearest_ns / 1e3);
  else snprintf(out + at, size - (size_t)at, ", the nearest choice's kernel does not fit");
}
