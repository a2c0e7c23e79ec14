/* See nearby.h. */
#include "core/nearby.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/nearest.h"

typedef struct gathering {
  mlaf_nearby *out;
  mlaf_db_accept_fn accept;
  void *user;
  bool holds; /* the choice that is being looked at */
} gathering;

/* The search goes through all choices, nearest first, when none is taken. */
static bool look(void *user, const mlaf_choice *c) {
  gathering *g = user;
  g->holds = g->out->n_choices < MLAF_NEARBY_CHOICES && c->distance > 0 && mlaf_in_reach(c->distance, false) &&
             (!g->accept || g->accept(g->user, c));
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
  if (g->holds && x->rung == MLAF_RUNG_NEAREST && x->choice && !known(n, x->problem) && same_lengths(n, x->choice) &&
      mlaf_problem_parse(x->problem, &n->at[n->n_choices], NULL, 0) == MLAF_OK)
    n->choices[n->n_choices++] = *x->choice;
  g->holds = false;
}

static void add(mlaf_nearby *n, size_t choice, const char *variant, const mlaf_kernel_ref *decode, double ns, double error) {
  mlaf_nearby_item *x = &n->items[n->n++];
  *x = (mlaf_nearby_item){.choice = choice, .decode = *decode, .ns = ns, .error = error};
  snprintf(x->variant, sizeof x->variant, "%s", variant);
}

/* A choice, and what else was timed for its problem where it was tuned; a layer that has no samples has the choice. */
static void add_problem(mlaf_nearby *n, size_t i, mlaf_db *db, const mlaf_device_info *dev) {
  const mlaf_choice *c = &n->choices[i];
  mlaf_db *layer = mlaf_db_layer(db, c->layer);
  mlaf_sample *list = NULL;
  size_t found = 0;
  mlaf_err ignored;
  add(n, i, c->variant, &c->decode, c->ns, c->error);
  if (!layer || mlaf_db_fastest(layer, dev, &n->at[i], c->lengths, MLAF_NEARBY_SAMPLES, &list, &found, &ignored)) return;
  for (size_t k = 0; k < found && list[k].timing.ns <= MLAF_NEARBY_WITHIN * c->ns; k++)
    if (strcmp(list[k].variant, c->variant) != 0)
      add(n, i, list[k].variant, &list[k].decode, list[k].timing.ns, list[k].error);
  free(list);
}

mlaf_status mlaf_nearby_gather(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_problem *p,
                               mlaf_db_accept_fn accept, void *user, mlaf_nearby **out, mlaf_err *err) {
  mlaf_nearby *n = calloc(1, sizeof *n);
  if (!n) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for what was tuned nearby");
  gathering g = {n, accept, user, false};
  mlaf_choice none;
  mlaf_rung rung;
  mlaf_err ignored;
  mlaf_status status = mlaf_db_why(db, dev, toolchain, p, look, &g, keep, &g, &none, &rung, &ignored);
  if (status == MLAF_E_NOT_TUNED) status = n->n_choices ? MLAF_OK : MLAF_E_NOT_TUNED;
  for (size_t i = 0; !status && i < n->n_choices; i++) add_problem(n, i, db, dev);
  if (!status) *out = n;
  else free(n);
  return status ? mlaf_fail(err, status, "no choice in reach") : MLAF_OK;
}

mlaf_status mlaf_nearby_choose(const mlaf_nearby *n, mlaf_gen *gen, const mlaf_problem *p, const char *target, bool any,
                               mlaf_gen_nearby *out, mlaf_err *err) {
  mlaf_gen_measured list[sizeof n->items / sizeof *n->items];
  for (size_t i = 0; i < n->n; i++) {
    const mlaf_nearby_item *x = &n->items[i];
    list[i] = (mlaf_gen_measured){n->at[x->choice].batch, n->at[x->choice].ctx, x->variant, x->decode.template_hash, x->ns};
  }
  *out = (mlaf_gen_nearby){.from = -1};
  return mlaf_gen_nearby_variant(gen, p, target, list, n->n, any, out, err);
}

void mlaf_nearby_reason(const mlaf_nearby *n, const mlaf_gen_nearby *x, char *out, size_t size) {
  const char *from = x->from < 0 ? "measured nowhere near" : n->choices[n->items[x->from].choice].problem;
  int at = snprintf(out, size, "%s (%s%s): the model and %zu times of %zu problems nearby say %.2f us", x->variant.name,
                    x->from < 0 ? "" : "kernel of ", from, n->n, n->n_choices, x->ns / 1e3);
  if (at < 0 || (size_t)at >= size || x->ns == x->nearest_ns) return;
  if (x->nearest_ns > 0) snprintf(out + at, size - (size_t)at, ", the nearest choice's kernel %.2f us", x->nearest_ns / 1e3);
  else snprintf(out + at, size - (size_t)at, ", the nearest choice's kernel does not fit");
}
