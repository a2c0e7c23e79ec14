/* One candidate: its code, its resources, is it correct, how fast is it. */
#include "run/resources.h"
#include "tune/tune_internal.h"

#define GIVE_UP       3.0 /* timing stops early above this many times the best, unless the options say otherwise */
#define NOISY_RATIO   1.3 /* p90 / p10 of a measurement above this says nothing */
#define NOISY_SAMPLES 5   /* nor do fewer samples */
#define NOISY_TRIES   3   /* measurements of a noisy candidate */
#define PATIENCE      8   /* times the samples, where nothing else passed */

/* The first line of a detail, as the database keeps it. */
static void set_outcome(tune_candidate *c, mlaf_outcome outcome, const char *text) {
  mlaf_sample *s = &c->item.sample;
  s->outcome = outcome;
  snprintf(s->detail, sizeof s->detail, "%.*s", (int)strcspn(text, "\n"), text);
}

/* A status of the device or the verifier as a candidate's outcome; MLAF_OUT_COUNT: not the candidate's fault. */
static mlaf_outcome outcome_of(mlaf_status status) {
  switch (status) {
    case MLAF_E_FAULT: return MLAF_OUT_FAULT;
    case MLAF_E_INCORRECT: return MLAF_OUT_INCORRECT;
    case MLAF_E_TIMEOUT: return MLAF_OUT_TIMEOUT;
    case MLAF_E_TEMPLATE: return MLAF_OUT_CONSTRAINT; /* a library has fewer ways than the space */
    case MLAF_E_DEVICE:
    case MLAF_E_ARG: return MLAF_OUT_LAUNCH;
    default: return MLAF_OUT_COUNT;
  }
}

/* The candidate failed on the device. If the device did not survive it, the run ends here: with this candidate blamed. */
static mlaf_status failed_on_device(tuner *t, tune_candidate *c, const mlaf_err *why, mlaf_err *err) {
  mlaf_outcome outcome = outcome_of(why->status);
  if (outcome == MLAF_OUT_COUNT) {
    if (err) *err = *why;
    return why->status;
  }
  set_outcome(c, outcome, why->text);
  mlaf_err dead;
  if (outcome == MLAF_OUT_INCORRECT || t->steps->alive(t->env->device, &dead) == MLAF_OK) return MLAF_OK;
  c->state = TUNE_DONE; /* recorded by the caller before it returns the error */
  return mlaf_fail(err, MLAF_E_DEVICE,
                   "the device stopped working (%.300s) after variant '%s' (%.1000s); that variant is "
                   "recorded as failed, run again to go on with the others",
                   dead.text, c->item.sample.variant, why->text);
}

/* *usable: there is code to go on with. */
static mlaf_status check_code(tuner *t, tune_candidate *c, int index, int stage, bool *usable,
                              mlaf_kernel_meta *meta, mlaf_err *err) {
  const tune_kernel *k = &t->kernels[index];
  const mlaf_asking asking = {.symbol = k->desc->symbol, .threads = k->desc->threads, .calls = t->problem->op->calls,
                              .stage = stage, .budget = mlaf_budget_of(k->desc), .dev = t->env->device};
  mlaf_err why = {MLAF_OK, ""};
  *usable = false;
  if (k->trouble) {
    set_outcome(c, MLAF_OUT_COMPILE, k->trouble_text);
    return MLAF_OK;
  }
  const char *log = k->job.log && *k->job.log ? k->job.log : mlaf_status_text(k->job.status);
  if (mlaf_compile_blames_kernel(k->job.status)) {
    const mlaf_outcome outcome = k->job.status == MLAF_E_TIMEOUT ? MLAF_OUT_TIMEOUT : MLAF_OUT_COMPILE;
    mlaf_sample_blame_compile(&c->item.sample, outcome, log, t->toolchain);
    return MLAF_OK;
  }
  if (k->job.status != MLAF_OK)
    return mlaf_fail(err, k->job.status, "%s: %.*s", k->desc->symbol, (int)strcspn(log, "\n"), log);
  mlaf_status status = mlaf_resources_read(t->steps->meta, k->desc->symbol, k->job.code, k->job.code_size, meta, &why);
  if (status == MLAF_OK) status = mlaf_resources_check(&asking, meta, &why);
  if (status == MLAF_E_NOMEM) return mlaf_fail(err, status, "%s", why.text);
  if (status != MLAF_OK) set_outcome(c, MLAF_OUT_RESOURCES, why.text);
  *usable = status == MLAF_OK;
  return MLAF_OK;
}

/* The first kernel's resources are the candidate's: those behind it are small and shared. */
static mlaf_status check_codes(tuner *t, tune_candidate *c, bool *usable, mlaf_err *err) {
  mlaf_kernel_meta meta = {.vgpr_count = 0}, other = {.vgpr_count = 0};
  mlaf_status status = check_code(t, c, c->kernels[0], 0, usable, &meta, err);
  mlaf_sample *s = &c->item.sample;
  s->vgpr = mlaf_resources_vgpr(&meta);
  s->agpr = meta.agpr_count;
  s->lds = meta.lds_bytes;
  s->scratch = meta.scratch_bytes;
  for (int i = 1; status == MLAF_OK && *usable && i < MLAF_STAGES_MAX; i++)
    if (c->kernels[i] >= 0) status = check_code(t, c, c->kernels[i], i, usable, &other, err);
  return status;
}

mlaf_status mlaf_tuner_open(tuner *t, const tune_candidate *c, mlaf_loaded **out, mlaf_err *err) {
  const mlaf_sample *s = &c->item.sample;
  mlaf_loaded_desc desc = {.name = s->variant, .knob = s->knob};
  for (int i = 0; i < MLAF_STAGES_MAX; i++) {
    if (c->kernels[i] < 0) continue;
    const mlaf_compile_job *job = &t->kernels[c->kernels[i]].job;
    desc.kernels[i].ref = &s->kernels[i];
    desc.kernels[i].code = (mlaf_code){job->code, job->code_size};
  }
  return t->steps->open(t->env->device, t->problem, &desc, out, err);
}

/* A measurement ends with the run: at once when it is cancelled, with what it has at the run's time limit. */
mlaf_time_opts mlaf_tuner_protocol(const tuner *t) {
  mlaf_time_opts o = t->modelled ? mlaf_bench_time_opts() : mlaf_bench_rested_opts();
  o.cancel = t->opts.cancel;
  o.deadline = t->deadline;
  return o;
}

/* A candidate many times slower than the best needs no exact time; and none may outlast the run's limit. The early rungs
 * of a halving search take fewer and shorter samples. */
static mlaf_time_opts time_opts(const tuner *t) {
  mlaf_time_opts o = mlaf_tuner_protocol(t);
  int least = mlaf_tuner_min_samples(t, t->round);
  if (least < o.min_samples) {
    o.min_window_ns *= (double)least / o.min_samples;
    o.min_samples = least;
    o.max_samples = 2 * least;
  }
  if (t->best >= 0) o.give_up_ns = (t->opts.give_up > 0 ? t->opts.give_up : GIVE_UP) * t->list[t->best].item.sample.timing.ns;
  if (t->patient) o.min_samples *= PATIENCE, o.max_samples *= PATIENCE, o.limit_s *= PATIENCE;
  double left = t->deadline && !t->modelled ? t->deadline - mlaf_now() : o.limit_s; /* a model's limit is an amount of work */
  if (left < o.limit_s) o.limit_s = left > 0.1 ? left : 0.1;
  return o;
}

static double spread(const mlaf_timing *timing) { return timing->p10_ns > 0 ? timing->p90_ns / timing->p10_ns : INFINITY; }

static bool is_noisy(const mlaf_timing *timing, const mlaf_time_opts *opts) {
  if (timing->source == MLAF_TIME_MODELLED) return false; /* a model repeats itself exactly */
  if (opts->give_up_ns > 0 && timing->ns > opts->give_up_ns)
    return false; /* given up early: slow, whatever the spread */
  int least = opts->min_samples < NOISY_SAMPLES ? opts->min_samples : NOISY_SAMPLES;
  return timing->samples < least || spread(timing) > NOISY_RATIO;
}

/* Spikes come from elsewhere (another process, a clock step): the bulk of the samples agree. Unsteady: they do not. */
void mlaf_tuner_class_timing(tune_candidate *c, const mlaf_time_opts *opts) {
  const mlaf_timing *timing = &c->item.sample.timing;
  char text[160] = "";
  bool noisy = is_noisy(timing, opts);
  if (noisy && timing->samples < opts->min_samples && timing->samples < NOISY_SAMPLES)
    snprintf(text, sizeof text, "few: %d samples within the time allowed", timing->samples);
  else if (noisy)
    mlaf_snprintf(text, sizeof text, "%s: p90 is %.2f times p10, which is too much to rank it by",
                  timing->p90_ns - timing->ns > 3 * (timing->ns - timing->p10_ns) ? "spikes" : "unsteady", spread(timing));
  set_outcome(c, noisy ? MLAF_OUT_NOISY : MLAF_OUT_OK, text);
}

/* Noise gets further chances, with more samples each, and the time that these take (device/measure.c); the steadiest measurement
 * counts. */
static mlaf_status time_steadily(tuner *t, const mlaf_loaded *l, mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err) {
  mlaf_status status = t->steps->time(t->bench, l, opts, out, err);
  for (int again = 1; again < NOISY_TRIES && status == MLAF_OK && is_noisy(out, opts) && !mlaf_tuner_stop(t); again++) {
    mlaf_time_opts more = *opts;
    mlaf_timing timing = {.ns = 0};
    more.min_samples <<= again;
    more.max_samples <<= again;
    status = t->steps->time(t->bench, l, &more, &timing, err);
    if (status == MLAF_OK && (out->samples < opts->min_samples || spread(&timing) < spread(out))) *out = timing;
  }
  return status;
}

/* A model ends with the run's time limit, by the wall clock: that says nothing of the candidate. */
static mlaf_status not_timed(tune_candidate *c, const mlaf_err *why) {
  set_outcome(c, MLAF_OUT_TIMEOUT, why->text);
  c->fleeting = true;
  return MLAF_OK;
}

/* The time limit may run out waiting for the device: that is no failure. */
static mlaf_status as_stopped(mlaf_status st) { return st == MLAF_E_TIMEOUT ? MLAF_E_CANCELLED : st; }

static mlaf_status time_variant(tuner *t, tune_candidate *c, const mlaf_loaded *l, mlaf_err *err) {
  mlaf_sample *s = &c->item.sample;
  mlaf_time_opts opts = time_opts(t);
  mlaf_err why = {MLAF_OK, ""};
  int lock = -1;
  mlaf_tuner_report(t, "timing", c);
  mlaf_status status = mlaf_tuner_lock(t->env->device, t->env->log, t->opts.cancel, t->deadline, &lock, err);
  if (status != MLAF_OK) return as_stopped(status);
  status = time_steadily(t, l, &opts, &s->timing, &why);
  mlaf_tuner_unlock(lock);
  if (status == MLAF_E_TIMEOUT && t->modelled) return not_timed(c, &why);
  if (status != MLAF_OK) return failed_on_device(t, c, &why, err);
  t->timed++;
  t->modelled = s->timing.source == MLAF_TIME_MODELLED;
  s->source = t->modelled ? MLAF_SRC_MODELLED : MLAF_SRC_MEASURED;
  mlaf_tuner_class_timing(c, &opts);
  return MLAF_OK;
}

/* Takes the device beside other tuners that verify or load, but never beside one that times. */
static mlaf_status share(const tuner *t, int *lock, mlaf_err *err) {
  return as_stopped(mlaf_tuner_share(t->env->device, t->env->log, t->opts.cancel, t->deadline, lock, err));
}

static mlaf_status verify_variant(tuner *t, tune_candidate *c, const mlaf_loaded *l, mlaf_err *why, mlaf_err *err) {
  mlaf_verify_result verified = {.error = 0};
  int lock = -1;
  mlaf_tuner_report(t, "verifying", c);
  const mlaf_status shared = share(t, &lock, err);
  if (shared != MLAF_OK) return shared;
  const mlaf_status status = t->steps->verify(t->suite, l, &verified, why);
  mlaf_tuner_unlock(lock);
  c->item.sample.error = verified.error == verified.error && verified.error < 1e30 ? verified.error : 0;
  c->verified = status == MLAF_OK;
  if (c->verified) mlaf_tuner_note_verified(t, c);
  return status == MLAF_OK ? MLAF_OK : failed_on_device(t, c, why, err);
}

/* Verified with the very split count it will be timed and chosen with. */
static mlaf_status verify_and_time(tuner *t, tune_candidate *c, mlaf_err *err) {
  mlaf_loaded *loaded = NULL;
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status status = mlaf_tuner_open(t, c, &loaded, &why);
  if (status != MLAF_OK) return failed_on_device(t, c, &why, err);
  if (!c->verified) status = verify_variant(t, c, loaded, &why, err);
  if (status == MLAF_OK && c->verified) status = time_variant(t, c, loaded, err);
  if (loaded) t->steps->close(loaded);
  return status;
}

mlaf_status mlaf_tuner_make_bench(const tuner *t, const mlaf_bench_opts *opts, mlaf_bench **out, mlaf_err *err) {
  int lock = -1;
  mlaf_status status = share(t, &lock, err);
  if (status == MLAF_OK) status = t->steps->bench(t->env->device, t->problem, opts, out, err);
  mlaf_tuner_unlock(lock);
  return status;
}

mlaf_status mlaf_tuner_need_bench(tuner *t, mlaf_err *err) {
  mlaf_bench_opts opts = {.data = {.seed = t->opts.seed, .lengths = t->opts.lengths}};
  return t->bench ? MLAF_OK : mlaf_tuner_make_bench(t, &opts, &t->bench, err);
}

/* Suite and bench are made by the first candidate that needs them: a resumed run with nothing to do allocates neither. */
mlaf_status mlaf_tuner_try(tuner *t, tune_candidate *c, mlaf_err *err) {
  bool usable = false;
  c->item.sample.source = t->modelled ? MLAF_SRC_MODELLED : MLAF_SRC_MEASURED;
  mlaf_status status = check_codes(t, c, &usable, err);
  if (status != MLAF_OK) return status;
  c->verified = c->verified || (usable && mlaf_tuner_verified(t, c, &c->item.sample.error));
  if (usable && !c->verified && !t->suite) status = t->steps->suite(t->problem, t->opts.seed, MLAF_INJECT_NONE, &t->suite, err);
  if (usable && status == MLAF_OK) status = mlaf_tuner_need_bench(t, err);
  if (usable && status == MLAF_OK) status = verify_and_time(t, c, err);
  if (status == MLAF_OK) c->state = TUNE_DONE;
  return status;
}
