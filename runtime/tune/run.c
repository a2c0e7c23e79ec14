/* The run: rounds of candidates, each recorded as it finishes, then the choice. */
#include "tune/tune_internal.h"

bool mlaf_tuner_cancelled(const tuner *t) { return t->opts.cancel && atomic_load(t->opts.cancel); }

static bool out_of_time(const tuner *t) { return t->deadline && mlaf_now() >= t->deadline; }

bool mlaf_tuner_stop(const tuner *t) { return mlaf_tuner_cancelled(t) || out_of_time(t); }

/* That all rounds together may take: a library's stand beyond the limit. */
static size_t most_candidates(const tuner *t) {
  const size_t libraries = t->out->libraries;
  return (t->limit < t->n_own ? t->limit : t->n_own) + libraries;
}

void mlaf_tuner_report(tuner *t, const char *activity, const tune_candidate *c) {
  if (!t->opts.progress) return;
  const tune_candidate *best = t->best < 0 ? NULL : &t->list[t->best];
  pthread_mutex_lock(&t->compiler.lock);
  size_t compiled = t->compiler.done, kernels = t->compiler.n;
  pthread_mutex_unlock(&t->compiler.lock);
  mlaf_tuner_progress p = {
      .activity = activity,
      .variant = c ? c->item.sample.variant : "",
      .total = t->selected,
      .most = most_candidates(t),
      .done = t->done,
      .failed = t->failed,
      .kernels = kernels,
      .kernels_done = compiled,
      .best_ns = best ? best->item.sample.timing.ns : 0,
      .best = best ? best->item.sample.variant : "",
      .elapsed_s = mlaf_now() - t->start,
      .limit_s = t->opts.time_limit_s,
  };
  t->opts.progress(t->opts.progress_user, &p);
}

/* A full disk ends the run: hours of results that nobody keeps help nobody. What is recorded stays. */
mlaf_status mlaf_tuner_record(tuner *t, const tune_candidate *c, mlaf_err *err) {
  if (!t->record || c->fleeting) return MLAF_OK;
  mlaf_status status = mlaf_db_add_sample(t->env->db, t->info, t->toolchain, t->problem, &c->item.sample, err);
  if (status != MLAF_OK)
    return mlaf_fail_prefix(err, status, "tuning stopped, because results can no longer be recorded");
  return MLAF_OK;
}

/* The candidate is in the database before the next one begins, its failure too. */
static mlaf_status finish_one(tuner *t, tune_candidate *c, mlaf_err *err) {
  mlaf_status tried = mlaf_tuner_try(t, c, err);
  if (c->state != TUNE_DONE) return tried;
  if (mlaf_tuner_is_absent(t, c)) {
    mlaf_tuner_leave_out(t, c);
    return tried == MLAF_OK ? mlaf_tuner_record(t, c, err) : tried; /* so that a later run need not ask the library again */
  }
  t->done++;
  const mlaf_sample *s = &c->item.sample;
  if (s->outcome != MLAF_OUT_OK) {
    t->failed++;
    mlaf_log_line(t->env->log, MLAF_LOG_INFO, "%s: %s: %s", s->variant, mlaf_outcome_name(s->outcome), s->detail);
  }
  mlaf_tuner_note_best(t);
  mlaf_err why;
  mlaf_status recorded = mlaf_tuner_record(t, c, &why);
  if (tried == MLAF_OK && recorded != MLAF_OK && err) *err = why;
  return tried != MLAF_OK ? tried : recorded;
}

static tune_candidate *first_selected(tuner *t, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    if (t->list[i].state == TUNE_SELECTED) return &t->list[i];
  return NULL;
}

/* Returns the next candidate of the list; while its kernel is being compiled, a library's product, which is there at once. */
static tune_candidate *next(tuner *t) {
  tune_candidate *own = first_selected(t, 0, t->n_own);
  if (own && mlaf_tuner_compiled(t, own)) return own;
  tune_candidate *library = first_selected(t, t->n_own, t->n);
  return library ? library : own;
}

/* The compile thread is always joined here, whatever ends the round. */
mlaf_status mlaf_tuner_one_round(tuner *t, mlaf_err *err) {
  mlaf_status status = mlaf_tuner_compile_start(t, err);
  for (tune_candidate *c; status == MLAF_OK && !mlaf_tuner_stop(t) && (c = next(t)) != NULL;) {
    if (mlaf_tuner_is_passed_over(t, c)) {
      mlaf_tuner_take_back(t, c);
      continue;
    }
    if (!mlaf_tuner_compile_wait(t, c)) break; /* stopped, or the compiler failed as a whole: the join says which */
    status = finish_one(t, c, err);
  }
  bool stop = status != MLAF_OK || mlaf_tuner_stop(t);
  mlaf_status compiled = mlaf_tuner_compile_end(t, stop, stop ? NULL : err);
  return stop ? status : compiled;
}

/* A stop is told apart from a failure: a time limit is no error, a cancel is its own status, and both keep their results. */
static mlaf_status all_rounds(tuner *t, mlaf_err *err) {
  mlaf_status status = MLAF_OK;
  for (int round = 1; round <= mlaf_tuner_rounds(t) && status == MLAF_OK && !mlaf_tuner_stop(t); round++)
    if (mlaf_tuner_select(t, round)) status = mlaf_tuner_one_round(t, err);
  t->in_finals = true;
  if (status == MLAF_OK && !mlaf_tuner_stop(t)) status = mlaf_tuner_finals(t, err);
  if (mlaf_tuner_cancelled(t) && (status == MLAF_OK || status == MLAF_E_CANCELLED)) {
    snprintf(t->out->stopped, sizeof t->out->stopped, "cancelled");
    return mlaf_fail(err, MLAF_E_CANCELLED, "after %zu of up to %zu candidates; finished ones are kept",
                     t->done, most_candidates(t));
  }
  if (out_of_time(t) && (status == MLAF_OK || status == MLAF_E_CANCELLED)) {
    snprintf(t->out->stopped, sizeof t->out->stopped, "time limit");
    return MLAF_OK;
  }
  return status;
}

/* --- the result --- */
static int rank(const mlaf_sample *s) { return s->outcome == MLAF_OUT_OK ? 0 : s->outcome == MLAF_OUT_NOISY ? 1 : 2; }

static int best_first(const void *left, const void *right) {
  const mlaf_sample *a = &((const mlaf_tuner_item *)left)->sample, *b = &((const mlaf_tuner_item *)right)->sample;
  if (rank(a) != rank(b)) return rank(a) - rank(b);
  if (rank(a) < 2 && a->timing.ns != b->timing.ns) return a->timing.ns < b->timing.ns ? -1 : 1;
  return strcmp(a->variant, b->variant);
}

/* Only candidates of this run: what an earlier run with a larger limit tried is in the database, not in this table. */
static mlaf_status collect(tuner *t, mlaf_err *err) {
  mlaf_tuner_result *out = t->out;
  out->items = calloc(t->n + 1, sizeof *out->items);
  if (!out->items) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the results");
  for (size_t i = 0; i < t->n; i++) {
    const tune_candidate *c = &t->list[i];
    out->passed_over += c->passed_over && !t->counted[i];
    if (c->state != TUNE_DONE || !t->counted[i]) continue;
    out->items[out->n++] = c->item;
    out->resumed += c->item.resumed;
    out->failed += c->item.sample.outcome != MLAF_OUT_OK;
  }
  qsort(out->items, out->n, sizeof *out->items, best_first);
  return MLAF_OK;
}

/* Without a database: the best of this run. */
static void choose_here(tuner *t) {
  mlaf_tuner_result *out = t->out;
  const mlaf_sample *s = &out->items[0].sample;
  if (!out->n || s->outcome != MLAF_OUT_OK) return;
  const mlaf_sample *second = out->n > 1 && out->items[1].sample.outcome == MLAF_OUT_OK ? &out->items[1].sample : NULL;
  out->choice = (mlaf_choice){.knob = s->knob,
                              .source = s->source,
                              .ns = s->timing.ns,
                              .margin = second ? second->timing.ns / s->timing.ns - 1 : 0,
                              .error = s->error};
  memcpy(out->choice.kernels, s->kernels, sizeof out->choice.kernels);
  memcpy(out->choice.lengths, s->lengths, sizeof out->choice.lengths);
  out->choice.at = *t->problem;
  mlaf_point_print(t->problem, out->choice.problem, sizeof out->choice.problem);
  memcpy(out->choice.variant, s->variant, sizeof out->choice.variant);
  out->has_choice = true;
}

static bool same_templates(const mlaf_kernel_ref *a, const mlaf_kernel_ref *b) {
  bool same = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) same = same && strcmp(a[i].template_hash, b[i].template_hash) == 0;
  return same;
}

/* The database's rule, if its choice is exact and of today's templates. It need not be one of this run's candidates: an
 * earlier run may have tried more. */
static bool of_this_space(void *user, const mlaf_choice *c) {
  const tuner *t = user;
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_point_print(t->problem, problem, sizeof problem);
  for (size_t i = 0; i < t->n && strcmp(problem, c->problem) == 0; i++) {
    const mlaf_sample *s = &t->list[i].item.sample;
    if (strcmp(s->variant, c->variant) == 0) return same_templates(s->kernels, c->kernels);
  }
  return false;
}

/* The database's rule decides where there is one, so that CLI, planner and export agree. */
static void choose(tuner *t) {
  mlaf_tuner_result *out = t->out;
  mlaf_rung rung;
  mlaf_err ignored;
  if (t->env->db && out->n && out->items[0].sample.outcome == MLAF_OUT_OK)
    out->recorded = out->has_choice = mlaf_db_choose_if(t->env->db, t->info, t->toolchain, t->problem, of_this_space, t,
                                                        &out->choice, &rung, &ignored) == MLAF_OK;
  if (!out->has_choice) choose_here(t);
}

/* Nothing passed: say what became of all, and of the first in full. */
static mlaf_status explain_failure(const tuner *t, mlaf_err *err) {
  size_t counts[MLAF_OUT_COUNT] = {0};
  mlaf_text text = MLAF_TEXT_INIT(1024);
  for (size_t i = 0; i < t->out->n; i++) counts[t->out->items[i].sample.outcome]++;
  for (int o = 0; o < MLAF_OUT_COUNT; o++)
    if (counts[o])
      mlaf_text_fmt(&text, "%s%zu %s", text.len ? ", " : "", counts[o], mlaf_outcome_name((mlaf_outcome)o));
  const mlaf_sample *s = t->out->n ? &t->out->items[0].sample : NULL;
  mlaf_status status = s ? mlaf_fail(err, MLAF_E_NOT_TUNED, "none of %zu candidates passed (%s); the first: %s: %s",
                                     t->out->n, text.data ? text.data : "", s->variant, s->detail)
                         : mlaf_fail(err, MLAF_E_NOT_TUNED, "no candidate was finished%s%s: allow more time",
                                     t->out->stopped[0] ? ": " : "", t->out->stopped);
  mlaf_text_free(&text);
  return status;
}

static void note_standing(tuner *t) {
  mlaf_choice choice;
  mlaf_rung rung;
  if (!t->env->db || mlaf_db_peek(t->env->db, t->info, t->toolchain, t->problem, &choice, &rung, NULL)) return;
  if (rung == MLAF_RUNG_EXACT) memcpy(t->standing, choice.variant, sizeof t->standing);
}

static mlaf_status prepare(tuner *t, mlaf_err *err) {
  mlaf_status status = t->steps->identity(t->env->compiler, mlaf_info(t->env->device)->target, &t->toolchain, err);
  if (status == MLAF_OK) status = t->steps->options(t->env->gen, t->info->target, &t->options, err);
  if (status == MLAF_OK) status = mlaf_tuner_space_read(t, err);
  t->limit = mlaf_tuner_limit(&t->opts, t->n_own, t->modelled);
  if (status == MLAF_OK) status = mlaf_tuner_resume(t, err);
  if (status == MLAF_OK) note_standing(t);
  return status;
}

static void tear_down(tuner *t) {
  if (t->suite) t->steps->suite_free(t->suite);
  if (t->bench) t->steps->bench_free(t->bench);
  mlaf_tuner_kernels_free(t);
  mlaf_tuner_space_free(t);
  pthread_mutex_destroy(&t->compiler.lock);
  pthread_cond_destroy(&t->compiler.changed);
}

static void set_up(tuner *t, const mlaf_tuner_opts *opts) {
  if (opts) t->opts = *opts;
  if (!t->opts.seed) t->opts.seed = 1;
  t->start = mlaf_now();
  t->deadline = t->opts.time_limit_s > 0 ? t->start + t->opts.time_limit_s : 0;
  t->modelled = mlaf_emulated(mlaf_ops(t->env->device)->name) != NULL; /* until a time says so itself */
  t->record = t->env->db && !mlaf_db_is_read_only(t->env->db);
  t->best = -1;
  pthread_mutex_init(&t->compiler.lock, NULL);
  pthread_cond_init(&t->compiler.changed, NULL);
}

mlaf_status mlaf_tuner_run(const mlaf_tuner_env *env, const mlaf_point *p, const mlaf_tuner_opts *opts,
                           mlaf_tuner_result *out, mlaf_err *err) {
  *out = (mlaf_tuner_result){.n = 0};
  tuner t = {.env = env,
             .steps = env->steps ? env->steps : &mlaf_tuner_real_steps,
             .problem = p,
             .info = mlaf_info(env->device),
             .out = out};
  set_up(&t, opts);
  mlaf_status status = prepare(&t, err);
  if (status == MLAF_OK) status = all_rounds(&t, err);
  mlaf_err ignored;
  mlaf_status collected = collect(&t, status == MLAF_OK ? err : &ignored);
  if (status == MLAF_OK) status = collected;
  if (collected == MLAF_OK) choose(&t), mlaf_tuner_learn(&t);
  if (status == MLAF_OK && !out->has_choice) status = explain_failure(&t, err);
  out->seconds = mlaf_now() - t.start;
  tear_down(&t);
  return status;
}

void mlaf_tuner_result_clear(mlaf_tuner_result *r) {
  free(r->items);
  *r = (mlaf_tuner_result){.n = 0};
}
