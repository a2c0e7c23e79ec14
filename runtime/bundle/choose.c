/* Which variants a bundle holds: for each problem of the grid the tuned choice, else the model's, and the baseline behind it. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "bundle/make_internal.h"
#include "op/nearest.h"
#include "run/build.h"

/* --- tuned choices --- */

typedef struct tuned {
  mlaf_choice choice;
  mlaf_point problem;
  char device[160];
} tuned;

typedef struct tuned_list {
  const mlaf_bundle_make_opts *opts;
  const char *target;
  tuned *items;
  size_t n;
  bool failed;
} tuned_list;

static bool device_of(const char *device, const char *target) {
  char its[64];
  mlaf_target_of_device(device, its, sizeof its);
  return !strcmp(its, target);
}

static bool keep_tuned(void *user, const char *device, const mlaf_choice *choice) {
  tuned_list *l = user;
  tuned t = {.choice = *choice};
  if (l->opts->device_id ? strcmp(device, l->opts->device_id) != 0 : !device_of(device, l->target)) return true;
  if (!choice->at.op || !choice->at.op->calls) return true;
  t.problem = choice->at;
  if ((l->failed = !mlaf_room(&l->items, l->n, sizeof *l->items))) return false;
  snprintf(t.device, sizeof t.device, "%s", device);
  l->items[l->n++] = t;
  return true;
}

static bool is_own(void *user, const mlaf_choice *c) { return !mlaf_choice_wants_workspace(c); }

/* A bundle serves where nobody knows which library is there: the best kernel that was timed beside a library's product takes its
 * place, or, where none is known, what is near. */
static void without_libraries(tuned_list *l) {
  size_t kept = 0;
  for (size_t i = 0; i < l->n; i++) {
    tuned *t = &l->items[i];
    mlaf_device_info device = {.id = ""};
    mlaf_choice own;
    if (mlaf_choice_wants_workspace(&t->choice)) {
      snprintf(device.id, sizeof device.id, "%s", t->device);
      const char *lengths = *t->choice.lengths ? t->choice.lengths : "equal";
      const bool found = !mlaf_db_choose_lengths(l->opts->db, &device, &t->problem, lengths, is_own, NULL, &own, NULL);
      mlaf_log_line(l->opts->log, MLAF_LOG_INFO, "%s: %s is %s, which no bundle holds; %s", t->choice.problem,
                    t->choice.variant, mlaf_is_library(t->choice.variant) ? "a library's product" : "for plans with workspace",
                    found ? own.variant : "what is near serves");
      if (!found) continue;
      t->choice = own;
    }
    l->items[kept++] = *t;
  }
  l->n = kept;
}

/* Nearest first; at one distance a better kind of time, then the device's name, so that the answer has one order. */
static const tuned *better(const mlaf_point *p, const tuned *a, const tuned *b) {
  if (!a) return b;
  double x = mlaf_point_distance(p, &a->problem), y = mlaf_point_distance(p, &b->problem);
  if (x != y) return x < y ? a : b;
  if (a->choice.source != b->choice.source) return a->choice.source < b->choice.source ? a : b;
  x = mlaf_point_times_apart(p, &a->problem), y = mlaf_point_times_apart(p, &b->problem); /* of those that one plan serves */
  if (x != y) return x < y ? a : b;
  int c = strcmp(a->device, b->device);
  if (!c) c = mlaf_point_first_of_equals(p, &a->problem, &b->problem);
  return c <= 0 ? a : b;
}

/* Too far, and the model is the better guess. */
static bool in_reach(const tuned *t, const mlaf_point *p) {
  return mlaf_in_reach(p, mlaf_point_distance(p, &t->problem), !strncmp(t->device, "arch:", 5) &&
                       !t->choice.kernels[0].template_hash[0]);
}

/* As the planner's rule: not what was tuned for one request where other kernels serve several better. */
static bool serves(mlaf_gen *gen, const char *target, const tuned *t, const mlaf_point *p) {
  char *reason = NULL;
  if (!mlaf_stands_back(p, &t->problem) || mlaf_gen_serve(gen, mlaf_point_text(p).s, target, t->choice.variant, &reason,
                                                          NULL)) return true;
  const bool good = !reason;
  free(reason);
  return good;
}

static const tuned *find_tuned(mlaf_gen *gen, const tuned_list *l, const mlaf_point *p) {
  const tuned *best = NULL;
  for (size_t i = 0; i < l->n; i++) {
    const tuned *t = &l->items[i];
    if (!mlaf_point_same_shape(&t->problem, p) || !in_reach(t, p) || better(p, best, t) != t) continue;
    if (serves(gen, l->target, t, p)) best = t;
  }
  return best;
}

/* --- asking the generator, several threads at once --- */

/* A thread's result for one problem; the kernels are entered into the table afterwards, in order. */
typedef struct found {
  mlaf_variant variants[MAKE_TRIES + 1];
  make_choice choices[MAKE_TRIES + 1]; /* the last is the baseline */
  int n;
  mlaf_err err;
} found;

typedef struct asking {
  const maker *m;
  const make_target *t;
  const tuned_list *tuned;
  found *all;
  atomic_size_t next, done;
  atomic_bool stop;
} asking;

/* A default of a whole architecture names no version of its template: it is good for any. */
static bool same_hash(const mlaf_kernel_ref *ref, const mlaf_kernel_desc *k) {
  if (!k->template_name || !ref->template_name[0]) return !k->template_name && !ref->template_name[0];
  return !ref->template_hash[0] || !strcmp(ref->template_hash, k->template_hash);
}

/* The variant *v of a tuned problem for another one: as it was tuned where one plan serves both, else fitted to the other batch
 * and ctx. (Planning compares it with what else was measured near.) */
static void fit(mlaf_gen *gen, const char *target, const tuned *t, const mlaf_point *p, mlaf_variant *v) {
  mlaf_variant fitted;
  if (mlaf_point_order(&t->problem, p) == 0) return;
  const mlaf_point_string text = mlaf_point_text(p);
  const char *name = t->choice.variant;
  const bool as_tuned = mlaf_point_distance(p, &t->problem) == 0 && !mlaf_gen_variant(gen, text.s, target, name, &fitted, NULL);
  if (!as_tuned && mlaf_gen_refit(gen, text.s, target, name, &fitted, NULL)) return;
  mlaf_variant_clear(v);
  *v = fitted;
}

/* A tuned choice counts while the generator still makes the kernels that were timed. */
static void take_tuned(const asking *a, mlaf_gen *gen, const mlaf_point *p, found *f) {
  const tuned *t = find_tuned(gen, a->tuned, p);
  mlaf_variant *v = &f->variants[0];
  mlaf_err why;
  if (!t) return;
  if (mlaf_gen_variant(gen, mlaf_point_text(&t->problem).s, a->t->request->target, t->choice.variant, v, &why)) {
    *v = (mlaf_variant){0};
    return;
  }
  bool same = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) same = same && same_hash(&t->choice.kernels[i], &v->kernels[i]);
  if (!same) {
    mlaf_variant_clear(v);
    return;
  }
  fit(gen, a->t->request->target, t, p, v);
  f->choices[0] = (make_choice){.rung = mlaf_point_distance(p, &t->problem) == 0 ? MLAF_RUNG_EXACT : MLAF_RUNG_NEAREST,
                                .source = t->choice.source, .ns = t->choice.ns, .error = t->choice.error};
  f->n = 1;
}

static mlaf_status ask(const asking *a, mlaf_gen *gen, const mlaf_point *p, found *f) {
  mlaf_variant *list = NULL;
  size_t n = 0;
  const char *target = a->t->request->target;
  take_tuned(a, gen, p, f);
  mlaf_status st = mlaf_gen_best(gen, mlaf_point_text(p).s, target, MAKE_TRIES, &list, &n, &f->err);
  for (size_t i = 0; !st && i < n && f->n < MAKE_TRIES; i++) {
    f->choices[f->n] = (make_choice){.rung = MLAF_RUNG_MODEL, .source = MLAF_SRC_COUNT, .ns = list[i].model_ns};
    f->variants[f->n++] = list[i];
    list[i] = (mlaf_variant){0};
  }
  mlaf_variants_free(list, n);
  if (!st) st = mlaf_gen_baseline(gen, mlaf_point_text(p).s, target, &f->variants[MAKE_TRIES], &f->err);
  f->choices[MAKE_TRIES] = (make_choice){.rung = MLAF_RUNG_BASELINE, .source = MLAF_SRC_COUNT,
                                         .ns = st ? 0 : f->variants[MAKE_TRIES].model_ns};
  return f->err.status = st;
}

static void *ask_some(void *user) {
  asking *a = user;
  mlaf_gen *gen = NULL;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_status opened = mlaf_gen_open(a->m->opts->gen_root, &gen, &err);
  for (size_t i; !a->stop && (i = atomic_fetch_add(&a->next, 1)) < a->t->request->n;) {
    if (opened) a->all[i].err = err;
    else ask(a, gen, &a->t->request->problems[i], &a->all[i]);
    if (a->all[i].err.status) a->stop = true;
    atomic_fetch_add(&a->done, 1);
  }
  mlaf_gen_close(gen);
  return NULL;
}

static mlaf_status ask_all(asking *a, mlaf_err *err) {
  const mlaf_bundle_make_opts *o = a->m->opts;
  const size_t total = a->t->request->n;
  enum { THREADS_MAX = 64 };
  pthread_t threads[THREADS_MAX];
  int n = 0, want = o->jobs < 1 ? 1 : o->jobs > THREADS_MAX ? THREADS_MAX : o->jobs;
  bool cancelled = false;
  while (n < want && (size_t)n < total && !pthread_create(&threads[n], NULL, ask_some, a)) n++;
  if (!n) return mlaf_fail(err, MLAF_E_NOMEM, "no thread could be started");
  for (size_t done; !a->stop && !cancelled && (done = atomic_load(&a->done)) < total;) {
    cancelled = o->progress && !o->progress(o->user, "choosing", a->t->request->target, done, total);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
  }
  if (cancelled) a->stop = true;
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
  if (cancelled) return mlaf_fail(err, MLAF_E_CANCELLED, "stopped; run the same command to go on");
  for (size_t i = 0; i < total; i++)
    if (a->all[i].err.status) return mlaf_fail(err, a->all[i].err.status, "%s", a->all[i].err.text);
  return MLAF_OK;
}

/* --- into the tables --- */

static int kernel_index(make_target *t, const mlaf_op *op, const mlaf_kernel_ref *ref, const mlaf_kernel_desc *k, int stage,
                        bool verified, bool baseline) {
  for (size_t i = 0; i < t->n_kernels; i++)
    if (!strcmp(t->kernels[i].ref.symbol, ref->symbol)) {
      t->kernels[i].verified |= verified;
      t->kernels[i].baseline |= baseline;
      return (int)i;
    }
  if (!mlaf_room(&t->kernels, t->n_kernels, sizeof *t->kernels)) return NO_KERNEL;
  t->kernels[t->n_kernels] = (make_kernel){.ref = *ref, .step = k->step, .slots = k->slots, .op = op, .stage = stage,
                                           .verified = verified, .baseline = baseline};
  if (k->template_name) t->kernels[t->n_kernels].budget = mlaf_budget_of(k);
  return (int)t->n_kernels++;
}

/* Completes a choice by what its variant says. */
static mlaf_status enter(make_target *t, const mlaf_op *op, make_choice *c, const mlaf_variant *v, mlaf_err *err) {
  mlaf_build b;
  mlaf_status st = mlaf_build_init(v, &b, err);
  if (st) return st;
  const bool verified = c->error > 0, baseline = c->rung == MLAF_RUNG_BASELINE;
  c->variant = mlaf_strdup(b.name);
  c->knob = b.knob;
  bool all = c->variant != NULL;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) {
    const bool has = v->kernels[i].template_name != NULL;
    c->kernels[i] = has ? kernel_index(t, op, &b.refs[i], &v->kernels[i], i, verified, baseline) : NO_KERNEL;
    all = all && (!has || c->kernels[i] != NO_KERNEL);
  }
  mlaf_build_clear(&b);
  return all ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a bundle's kernels");
}

static mlaf_status enter_all(make_target *t, found *all, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < t->request->n; i++) {
    make_entry *e = &t->entries[i];
    e->problem = t->request->problems[i];
    for (int k = 0; !st && k < all[i].n; k++) {
      e->tries[k] = all[i].choices[k];
      e->n = k + 1;
      st = enter(t, e->problem.op, &e->tries[k], &all[i].variants[k], err);
    }
    e->baseline = all[i].choices[MAKE_TRIES];
    if (!st) st = enter(t, e->problem.op, &e->baseline, &all[i].variants[MAKE_TRIES], err);
  }
  return st;
}

/* Enters the kernels that serve every problem whose arguments come in a further form. */
static mlaf_status enter_second_forms(make_target *t, mlaf_err *err) {
  const mlaf_kernel_desc plain = {.template_name = NULL};
  for (size_t k = 0; k < t->request->n; k++) {
    const mlaf_op *op = t->request->problems[k].op;
    const mlaf_second_form *const *forms = op->calls->second;
    if (k && t->request->problems[k - 1].op == op) continue; /* one that is there is found again */
    for (int f = 0; forms && forms[f]; f++)
      for (int n = 0; n < forms[f]->n_kernels; n++) {
        const int i = kernel_index(t, op, &forms[f]->kernels[n], &plain, 0, false, true);
        if (i == NO_KERNEL) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a bundle's kernels");
        t->kernels[i].always = forms[f]->what;
      }
  }
  return MLAF_OK;
}

mlaf_status make_choose(maker *m, make_target *t, mlaf_err *err) {
  const size_t n = t->request->n;
  tuned_list known = {.opts = m->opts, .target = t->request->target};
  mlaf_db *db = m->opts->db, *shipped = db ? mlaf_db_layer(db, MLAF_LAYER_SHIPPED) : NULL;
  mlaf_status st = db ? mlaf_db_each_choice(db, keep_tuned, &known, err) : MLAF_OK;
  /* not the site's: the same bytes on any machine */
  if (!st && shipped) st = mlaf_db_each_choice(shipped, keep_tuned, &known, err);
  if (!st && db && !known.failed) without_libraries(&known);
  if (!st && known.failed) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory for the database's choices");
  asking a = {.m = m, .t = t, .tuned = &known, .all = calloc(n ? n : 1, sizeof *a.all)};
  t->entries = calloc(n ? n : 1, sizeof *t->entries);
  if (!st && (!a.all || !t->entries)) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory for a grid of %zu problems", n);
  if (!st) st = ask_all(&a, err);
  if (!st) st = enter_all(t, a.all, err);
  if (!st) st = enter_second_forms(t, err);
  for (size_t i = 0; a.all && i < n; i++)
    for (int k = 0; k <= MAKE_TRIES; k++) mlaf_variant_clear(&a.all[i].variants[k]);
  free(a.all);
  free(known.items);
  return st;
}
