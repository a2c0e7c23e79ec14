/* Finals, after the rounds: noise that could hide the best, and a comparison in turns. Two times measured minutes apart differ by
 * what the clock did in between; measured in turns, they differ by what the kernels do. */
#include "tune/tune_internal.h"

#define NEAR_FINAL   1.03 /* of the best: who is this close takes part */
#define NEAR_NOISY   1.05 /* a noisy candidate whose fast samples are this close is worth another look */
enum { FINALISTS = 5, PASSES = 5, MOST_FINALS = 3, ENOUGH_ALONE = 5 /* samples of a candidate without a rival */ };

static bool usable(const tune_candidate *c) { return c->state == TUNE_DONE && c->item.sample.outcome == MLAF_OUT_OK; }
static double best_ns(const tuner *t) { return t->best < 0 ? INFINITY : t->list[t->best].item.sample.timing.ns; }

/* The machine may be quieter by now. Where nothing else passed all noisy ones are measured longer. */
static mlaf_status noisy_again(tuner *t, mlaf_err *err) {
  bool any = false;
  t->patient = t->best < 0;
  for (size_t i = 0; i < t->n; i++) {
    tune_candidate *c = &t->list[i];
    const mlaf_sample *s = &c->item.sample;
    if (!t->counted[i] || !c->verified || s->outcome != MLAF_OUT_NOISY || s->timing.p10_ns > NEAR_NOISY * best_ns(t)) continue;
    c->state = TUNE_SELECTED;
    t->done--;
    t->failed--;
    any = true;
  }
  const mlaf_status status = any ? mlaf_tuner_one_round(t, err) : MLAF_OK;
  t->patient = false;
  return status;
}

/* A candidate that passed and has no rival need not be ranked: its median stands, with its spread. */
static mlaf_status accept_alone(tuner *t, mlaf_err *err) {
  tune_candidate *only = NULL;
  for (size_t i = 0; i < t->n; i++) {
    tune_candidate *c = &t->list[i];
    if (!t->counted[i] || !c->verified || c->item.sample.outcome != MLAF_OUT_NOISY) continue;
    if (only) return MLAF_OK;
    only = c;
  }
  if (!only || t->best >= 0 || only->item.sample.timing.samples < ENOUGH_ALONE) return MLAF_OK;
  mlaf_sample *s = &only->item.sample;
  snprintf(s->timing.detail, sizeof s->timing.detail, "no rival; %.110s", s->detail);
  s->outcome = MLAF_OUT_OK;
  s->detail[0] = 0;
  t->failed--;
  mlaf_tuner_note_best(t);
  return mlaf_tuner_record(t, only, err);
}

/* --- the comparison in turns --- */
typedef struct finalist {
  tune_candidate *c;
  mlaf_loaded *loaded;
  double ns[PASSES], p10[PASSES], p90[PASSES], mad;
  int samples;
} finalist;

typedef struct finals {
  tuner *t;
  finalist list[FINALISTS];
  int n, passes;
} finals;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *values, int n) {
  double sorted[PASSES];
  memcpy(sorted, values, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, ascending);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void add(finals *f, tune_candidate *c) {
  for (int i = 0; i < f->n; i++)
    if (f->list[i].c == c) return;
  if (f->n < FINALISTS) f->list[f->n++] = (finalist){.c = c};
}

/* The choice that stands, so that what was measured last week is not compared with what is measured today. */
static tune_candidate *incumbent(const tuner *t) {
  for (size_t i = 0; i < t->n; i++)
    if (usable(&t->list[i]) && !strcmp(t->list[i].item.sample.variant, t->standing)) return &t->list[i];
  return NULL;
}

static bool is_uneven(const tuner *t) { return t->opts.lengths.kind != MLAF_LENGTHS_EQUAL; }

/* The fastest, those near it, fastest first, and the incumbent wherever it stands. Where lengths differ the model's pick, too:
 * what wins with one draw of lengths must win with others. */
static void invite(finals *f) {
  tuner *t = f->t;
  tune_candidate *standing = incumbent(t), *guess = is_uneven(t) ? mlaf_tuner_pick(t) : NULL;
  add(f, &t->list[t->best]);
  if (standing) add(f, standing);
  if (guess && t->counted[guess - t->list] && usable(guess)) add(f, guess);
  for (;;) {
    tune_candidate *next = NULL;
    for (size_t i = 0; i < t->n; i++) {
      tune_candidate *c = &t->list[i];
      bool in = false;
      for (int k = 0; k < f->n; k++) in = in || f->list[k].c == c;
      if (in || !t->counted[i] || !usable(c) || c->item.sample.timing.ns > NEAR_FINAL * best_ns(t)) continue;
      if (!next || c->item.sample.timing.ns < next->item.sample.timing.ns) next = c;
    }
    if (!next || f->n == FINALISTS) return;
    add(f, next);
  }
}

/* Those of an earlier run have no code here yet; what does not compile or load now stays as it was. */
static mlaf_status load(finals *f, mlaf_err *err) {
  tuner *t = f->t;
  for (int i = 0; i < f->n; i++) f->list[i].c->state = TUNE_SELECTED;
  mlaf_status status = mlaf_tuner_compile_start(t, err);
  bool ready = status == MLAF_OK;
  for (int i = 0; i < f->n; i++) {
    ready = ready && mlaf_tuner_compile_wait(t, f->list[i].c);
    f->list[i].c->state = TUNE_DONE;
  }
  mlaf_status compiled = mlaf_tuner_compile_end(t, !ready, status == MLAF_OK ? err : NULL);
  if (status == MLAF_OK && ready) status = compiled;
  for (int i = 0; i < f->n && status == MLAF_OK && ready; i++) {
    const tune_candidate *c = f->list[i].c;
    bool code = true;
    for (int k = 0; k < MLAF_STAGES_MAX; k++) code = code && (c->kernels[k] < 0 || t->kernels[c->kernels[k]].job.code);
    if (code) mlaf_tuner_open(t, c, &f->list[i].loaded, NULL);
  }
  return status;
}

/* Lengths that differ are drawn anew for each pass but the first. Where memory is short those of the first serve. */
static mlaf_status bench_of_pass(finals *f, int pass, mlaf_bench **out, mlaf_err *err) {
  tuner *t = f->t;
  mlaf_bench_opts opts = {.data = {.seed = t->opts.seed, .lengths = t->opts.lengths}};
  *out = t->bench;
  if (!pass || !is_uneven(t)) return MLAF_OK;
  opts.data.lengths.seed += opts.data.lengths.seed ? (uint64_t)pass : (uint64_t)pass + 1; /* 0 is 1 */
  mlaf_status status = mlaf_tuner_make_bench(t, &opts, out, err);
  if (status != MLAF_E_NOMEM) return status;
  *out = t->bench;
  return MLAF_OK;
}

/* Times in terms of the first pass: its lengths are those of the rounds. */
static void in_terms_of_first(finals *f, int pass) {
  double first = 0, now = 0;
  for (int i = 0; i < f->n; i++) first += f->list[i].ns[0], now += f->list[i].ns[pass];
  for (int i = 0; i < f->n && now > 0; i++) {
    finalist *x = &f->list[i];
    x->ns[pass] *= first / now, x->p10[pass] *= first / now, x->p90[pass] *= first / now;
  }
}

static mlaf_status one_pass(finals *f, int pass, mlaf_err *err) {
  tuner *t = f->t;
  int lock = -1;
  mlaf_bench *bench;
  mlaf_status status = bench_of_pass(f, pass, &bench, err);
  if (status != MLAF_OK) return status;
  status = mlaf_tuner_lock(t->env->device, t->env->log, t->opts.cancel, t->deadline, &lock, err);
  for (int k = 0; k < f->n && status == MLAF_OK; k++) {
    finalist *x = &f->list[(k + pass) % f->n]; /* nobody is always first behind a pause */
    if (!x->loaded) continue;
    const mlaf_time_opts opts = mlaf_tuner_protocol(t);
    mlaf_timing timing = {.ns = 0};
    mlaf_tuner_report(t, "timing in turns", x->c);
    status = t->steps->time(bench, x->loaded, &opts, &timing, err);
    x->ns[pass] = timing.ns;
    x->p10[pass] = timing.p10_ns;
    x->p90[pass] = timing.p90_ns;
    x->mad = fmax(x->mad, timing.mad_ns);
    x->samples += timing.samples;
  }
  mlaf_tuner_unlock(lock);
  if (bench != t->bench) {
    t->steps->bench_free(bench);
    in_terms_of_first(f, pass);
  }
  return status;
}

/* One new sample each; the older ones stay in the database, the newest counts. */
static mlaf_status keep(finals *f, mlaf_err *err) {
  mlaf_status status = MLAF_OK;
  for (int i = 0; i < f->n && status == MLAF_OK; i++) {
    finalist *x = &f->list[i];
    if (!x->loaded) continue;
    mlaf_timing *timing = &x->c->item.sample.timing;
    timing->ns = median(x->ns, f->passes);
    timing->p10_ns = median(x->p10, f->passes);
    timing->p90_ns = median(x->p90, f->passes);
    timing->samples = x->samples;
    double off[PASSES];
    for (int p = 0; p < f->passes; p++) off[p] = fabs(x->ns[p] - timing->ns);
    timing->mad_ns = fmax(median(off, f->passes), x->mad);
    snprintf(timing->detail, sizeof timing->detail, "%d samples in %d turns with %d others", x->samples, f->passes, f->n - 1);
    const mlaf_time_opts opts = mlaf_tuner_protocol(f->t);
    mlaf_tuner_class_timing(x->c, &opts);
    status = mlaf_tuner_record(f->t, x->c, err);
  }
  mlaf_tuner_note_best(f->t);
  return status;
}

static mlaf_status compare(tuner *t, mlaf_err *err) {
  finals f = {.t = t};
  invite(&f);
  for (int i = 0; i < f.n; i++) f.list[i].c->compared = true;
  if (f.n < 2) return MLAF_OK;
  mlaf_status status = load(&f, err);
  int loaded = 0;
  for (int i = 0; i < f.n; i++) loaded += f.list[i].loaded != NULL;
  if (status == MLAF_OK && loaded > 1) status = mlaf_tuner_need_bench(t, err);
  while (status == MLAF_OK && loaded > 1 && f.passes < PASSES && !mlaf_tuner_stop(t)) {
    status = one_pass(&f, f.passes, err);
    f.passes += status == MLAF_OK;
  }
  /* The limit ran out waiting for the device: the rounds' times stand. */
  if (status == MLAF_E_TIMEOUT || (status == MLAF_E_CANCELLED && !mlaf_tuner_cancelled(t))) status = MLAF_OK;
  if (status == MLAF_OK && f.passes >= 3) status = keep(&f, err);
  for (int i = 0; i < f.n; i++)
    if (f.list[i].loaded) t->steps->close(f.list[i].loaded);
  return status;
}

/* Who leads behind a comparison without having been in it owes that to a quieter moment: then it is compared, too. */
mlaf_status mlaf_tuner_finals(tuner *t, mlaf_err *err) {
  if (t->modelled || !t->timed) return MLAF_OK; /* a model repeats itself; nothing new was timed */
  mlaf_status status = noisy_again(t, err);
  if (status == MLAF_OK && !mlaf_tuner_stop(t)) status = accept_alone(t, err);
  for (int i = 0; i < MOST_FINALS && status == MLAF_OK && t->best >= 0 && !t->list[t->best].compared && !mlaf_tuner_stop(t); i++)
    status = compare(t, err);
  return status;
}
