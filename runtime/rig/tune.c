/* Whole layers in turns: each choice that a layer has is made over the same weights, checked, timed and stored. */
#include "db/db.h"
#include "plan/plan.h"
#include "rig/tune.h"
#include "tune/tune.h"

enum { TURNS = 9 };

typedef struct trials {
  layer_rig r;
  const layer_tune_opts *opts;
  layer_tuned *out;
  mlaf_layer *layers[LAYER_TRIALS][LAYER_SETS];
  mlaf_layer *own[LAYER_SETS]; /* the rig's */
  mlaf_timing turns[LAYER_TRIALS][TURNS];
  layer_choice missing[LAYER_TRIALS]; /* alternatives of the trial that no kernel does */
  mlaf_kernel_ref kernel;             /* attention's */
} trials;

static void say(const trials *t, const char *what, const layer_trial *x) {
  if (t->opts->progress) t->opts->progress(t->opts->user, what, x->name);
}

static void fail(layer_trial *x, mlaf_outcome outcome, const char *why) {
  x->outcome = outcome;
  snprintf(x->why, sizeof x->why, "%.290s", why);
}

/* --- which there are --- */

static mlaf_status list_trials(trials *t) {
  const struct layer_shape *shape = layer_shape_of(t->r.layer[0]);
  const mlaf_layer_args *a = &t->r.call[0].args;
  layer_choice c;
  layer_tuned *out = t->out;
  const mlaf_status st = layer_choice_point(shape, a->tokens, t->r.desc.ctx_max, &out->problem, t->r.env->err);
  for (size_t i = 0; !st && out->n < LAYER_TRIALS && layer_choice_at(shape, a->tokens, i, &c); i++) {
    layer_trial *x = &out->list[out->n++];
    *x = (layer_trial){.choice = c, .now = c == layer_choice_of_call(t->r.layer[0], a),
                        .usual = c == layer_choice_usual(shape, a->tokens)};
    layer_choice_print(c, x->name);
  }
  return st;
}

/* --- the database --- */

static mlaf_status with_db(const trials *t, mlaf_status (*fn)(const trials *, mlaf_db *, const void *), const void *what) {
  mlaf_ctx *ctx = t->r.env->ctx;
  pthread_mutex_lock(&ctx->lock);
  const mlaf_status st = ctx->db ? fn(t, ctx->db, what)
                                 : mlaf_fail(t->r.env->err, ctx->db_why.status, "it cannot be stored: %s", ctx->db_why.text);
  pthread_mutex_unlock(&ctx->lock);
  return st;
}

static mlaf_source source_of(const trials *t) { return t->r.modelled ? MLAF_SRC_MODELLED : MLAF_SRC_MEASURED; }

static void take_sample(layer_trial *x, const mlaf_sample *s) {
  x->outcome = s->outcome;
  x->timing = s->timing;
  x->error = s->error;
  snprintf(x->why, sizeof x->why, "%.290s", s->detail);
}

/* Failures that say something of the choice; others (a launch that failed, a compiler that was not there) are tried again. */
static bool is_known(const mlaf_sample *s, const layer_trial *x, mlaf_source source) {
  const bool settled = s->outcome == MLAF_OUT_OK || s->outcome == MLAF_OUT_CONSTRAINT || s->outcome == MLAF_OUT_INCORRECT;
  return settled && s->source == source && !strcmp(s->variant, x->name);
}

/* known: each trial has a sample of this kind. */
static mlaf_status read_samples(const trials *t, mlaf_db *db, const void *unused) {
  mlaf_sample *list = NULL;
  size_t n = 0, found = 0;
  layer_tuned *out = t->out;
  const mlaf_status st = mlaf_db_samples(db, mlaf_info(t->r.dev), &out->problem, &list, &n, t->r.env->err);
  for (size_t i = 0; !st && i < out->n; i++)
    for (size_t k = 0; k < n; k++)
      if (is_known(&list[k], &out->list[i], source_of(t))) {
        take_sample(&out->list[i], &list[k]);
        found++;
        break;
      }
  free(list);
  out->known = !st && found == out->n;
  return st;
}

static mlaf_status write_sample(const trials *t, mlaf_db *db, const void *what) {
  const layer_trial *x = what;
  mlaf_sample s = {.knob = 1, .outcome = x->outcome, .source = source_of(t), .timing = x->timing, .error = x->error};
  snprintf(s.variant, sizeof s.variant, "%s", x->name);
  snprintf(s.detail, sizeof s.detail, "%s", x->why);
  s.kernels[0] = t->kernel;
  return mlaf_db_add_sample(db, mlaf_info(t->r.dev), mlaf_ctx_toolchain(t->r.env->ctx), &t->out->problem, &s, t->r.env->err);
}

/* The fastest first: who is killed in between leaves a choice that is right. */
static mlaf_status store(const trials *t) {
  const layer_trial *best = layer_tuned_best(t->out);
  mlaf_status st = best ? with_db(t, write_sample, best) : MLAF_OK;
  for (size_t i = 0; !st && i < t->out->n; i++)
    if (&t->out->list[i] != best) st = with_db(t, write_sample, &t->out->list[i]);
  return st;
}

static mlaf_status read_choice(const trials *t, mlaf_db *db, const void *unused) {
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err ignored;
  t->out->stored[0] = 0;
  if (!mlaf_db_peek(db, mlaf_info(t->r.dev), NULL, &t->out->problem, &c, &rung, &ignored) && rung == MLAF_RUNG_EXACT)
    snprintf(t->out->stored, sizeof t->out->stored, "%.60s", c.variant);
  return MLAF_OK;
}

/* --- running --- */

static mlaf_status take_kernel(trials *t) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < mlaf_layer_stages(t->r.layer[0]); i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    st = layer_failed(t->r.env, mlaf_layer_stage_at(t->r.layer[0], i, &t->r.call[0].args, &s));
    if (!st && !strcmp(s.name, "decode")) t->kernel = *mlaf_plan_kernel(s.plan);
  }
  if (!st && !t->kernel.template_name[0])
    return mlaf_fail(t->r.env->err, MLAF_E_ARG, "kernels of a bundle do not say what they were made of: tune without --bundle");
  return st;
}

/* Makes a failure a finding about the choice; E_CANCELLED and E_NOMEM end the run. */
static mlaf_status judge(const trials *t, layer_trial *x, mlaf_status st, mlaf_outcome outcome) {
  if (!st || st == MLAF_E_CANCELLED || st == MLAF_E_NOMEM) return st;
  fail(x, outcome, t->r.env->err->text);
  *t->r.env->err = (mlaf_err){.status = MLAF_OK};
  return MLAF_OK;
}

/* An alternative that a trial before found no kernel for. */
static bool lacks(const trials *t, size_t k) {
  for (size_t i = 0; i < k; i++) {
    if (!t->missing[i] || (t->out->list[k].choice & t->missing[i]) != t->missing[i]) continue;
    t->out->list[k].outcome = MLAF_OUT_CONSTRAINT;
    memcpy(t->out->list[k].why, t->out->list[i].why, sizeof t->out->list[k].why);
    return true;
  }
  return false;
}

static mlaf_status make(trials *t, size_t k) {
  layer_trial *x = &t->out->list[k];
  mlaf_status st = MLAF_OK;
  size_t size = 0;
  if (lacks(t, k)) return MLAF_OK;
  say(t, "planning", x);
  for (int i = 0; !st && i < t->r.sets; i++) st = layer_rig_make(&t->r, i, &x->choice, &t->layers[k][i]);
  if (!st) size = mlaf_layer_workspace_size(t->layers[k][0], &t->r.call[0].args);
  if (!st) st = layer_rig_workspace(&t->r, size);
  if (st) return judge(t, x, st, MLAF_OUT_COMPILE);
  const layer_choice found = layer_choice_of_call(t->layers[k][0], &t->r.call[0].args);
  char name[LAYER_CHOICE_TEXT_MAX], why[200];
  t->missing[k] = x->choice & (layer_choice)~found;
  layer_choice_print(t->missing[k], name);
  snprintf(why, sizeof why, "there is no kernel of '%s' for it on %s", name, mlaf_info(t->r.dev)->target);
  if (t->missing[k]) fail(x, MLAF_OUT_CONSTRAINT, why);
  return MLAF_OK;
}

static void use(trials *t, size_t k) { memcpy(t->r.layer, t->layers[k], sizeof t->r.layer); }

static mlaf_status verify(trials *t, size_t k) {
  layer_trial *x = &t->out->list[k];
  const layer_tolerance bound = {.worst = mlaf_form_bound(&t->r.form), .row = 5e-3};
  layer_checked checked = {.worst = 0};
  if (x->outcome) return MLAF_OK;
  say(t, "checking", x);
  use(t, k);
  int lock = -1;
  mlaf_status st = mlaf_tuner_share(t->r.dev, &t->r.env->log, t->r.env->cancel, 0, &lock, t->r.env->err);
  if (!st) st = layer_rig_refill(&t->r); /* rows that the trial before appended */
  if (!st) st = layer_rig_run(&t->r);
  if (!st) st = layer_check(&t->r, &bound, &checked);
  mlaf_tuner_unlock(lock);
  x->error = checked.worst;
  return judge(t, x, st, st == MLAF_E_INCORRECT ? MLAF_OUT_INCORRECT : MLAF_OUT_LAUNCH);
}

static int by_time(const void *a, const void *b) {
  const double x = ((const mlaf_timing *)a)->ns, y = ((const mlaf_timing *)b)->ns;
  return x < y ? -1 : x > y;
}

static mlaf_status time_in_turns(trials *t) {
  const int turns = t->r.modelled ? 1 : TURNS;
  mlaf_status st = MLAF_OK;
  for (int turn = 0; !st && turn < turns; turn++)
    for (size_t k = 0; !st && k < t->out->n; k++) {
      layer_trial *x = &t->out->list[k];
      if (x->outcome) continue;
      say(t, "timing", x);
      use(t, k);
      st = layer_time(&t->r, 0, 0, &t->turns[k][turn]);
      st = judge(t, x, st, MLAF_OUT_LAUNCH);
      if (!st) st = rig_go_on(t->r.env);
    }
  for (size_t k = 0; !st && k < t->out->n; k++) {
    if (t->out->list[k].outcome) continue;
    qsort(t->turns[k], (size_t)turns, sizeof t->turns[k][0], by_time);
    t->out->list[k].timing = t->turns[k][turns / 2];
  }
  return st;
}

static mlaf_status run_all(trials *t) {
  mlaf_status st = take_kernel(t);
  for (size_t k = 0; !st && k < t->out->n; k++) {
    t->out->list[k].outcome = MLAF_OUT_OK;
    t->out->list[k].why[0] = 0;
    st = make(t, k);
    if (!st) st = verify(t, k);
    if (!st) st = rig_go_on(t->r.env);
  }
  if (!st) st = time_in_turns(t);
  return st ? st : store(t);
}

const layer_trial *layer_tuned_best(const layer_tuned *t) {
  const layer_trial *best = NULL;
  for (size_t i = 0; i < t->n; i++)
    if (!t->list[i].outcome && t->list[i].timing.ns > 0 && (!best || t->list[i].timing.ns < best->timing.ns)) best = &t->list[i];
  return best;
}

mlaf_status layer_tune(rig_env *env, const layer_setup *s, const layer_tune_opts *opts, layer_tuned *out) {
  trials *t = calloc(1, sizeof *t);
  if (!t) return mlaf_fail(env->err, MLAF_E_NOMEM, "no memory for a layer's trials");
  *out = (layer_tuned){.n = 0};
  t->opts = opts, t->out = out;
  mlaf_status st = layer_rig_open(env, s, opts->dry ? 1 : layer_sets_wanted(mlaf_ctx_device(env->ctx), s, false), &t->r);
  if (!st) st = list_trials(t);
  if (!st) st = with_db(t, read_samples, NULL);
  memcpy(t->own, t->r.layer, sizeof t->own);
  if (!st && !opts->dry && (opts->no_resume || !out->known)) {
    out->known = false;
    st = run_all(t);
  }
  if (!st) st = with_db(t, read_choice, NULL);
  memcpy(t->r.layer, t->own, sizeof t->own);
  for (int k = 0; k < LAYER_TRIALS; k++)
    for (int i = 0; i < LAYER_SETS; i++) mlaf_layer_destroy(t->layers[k][i]);
  if (t->r.env) layer_rig_close(&t->r);
  free(t);
  if (!st && !opts->dry && !layer_tuned_best(out))
    return mlaf_fail(env->err, MLAF_E_NOT_TUNED, "no choice of %s passed; the first: %s", mlaf_point_text(&out->problem).s,
                     out->list[0].why);
  return st;
}
