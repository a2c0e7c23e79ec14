/* The kernels of a run: rendered when needed, compiled on a thread of their own while the device verifies and times. */
#include <time.h>

#include "tune/tune_internal.h"

enum { WAIT_MS = 100 };

mlaf_status mlaf_tuner_kernel_prepare(tuner *t, int index, mlaf_err *err) {
  tune_kernel *k = &t->kernels[index];
  if (k->prepared) return MLAF_OK;
  mlaf_err why = {MLAF_OK, ""};
  k->trouble = t->steps->render(t->env->gen, k->desc, t->info->target, &k->source, k->src_hash, &why);
  snprintf(k->trouble_text, sizeof k->trouble_text, "%.500s", k->trouble ? why.text : "");
  if (k->trouble == MLAF_E_NOMEM) return mlaf_fail(err, k->trouble, "%s", why.text);
  k->job = (mlaf_compile_job){
      .source = k->source, .options = t->options, .target = t->info->target, .name = k->desc->symbol};
  if (k->trouble == MLAF_OK) {
    mlaf_status status = t->steps->key(t->env->compiler, &k->job, err);
    if (status != MLAF_OK) return status;
    memcpy(k->code_key, k->job.key, sizeof k->code_key);
  }
  k->prepared = true;
  return MLAF_OK;
}

mlaf_status mlaf_tuner_candidate_prepare(tuner *t, tune_candidate *c, mlaf_err *err) {
  for (int i = 0; i < MLAF_STAGES_MAX; i++) {
    mlaf_kernel_ref *ref = &c->item.sample.kernels[i];
    if (c->kernels[i] < 0) continue;
    mlaf_status status = mlaf_tuner_kernel_prepare(t, c->kernels[i], err);
    if (status != MLAF_OK) return status;
    memcpy(ref->src_hash, t->kernels[c->kernels[i]].src_hash, sizeof ref->src_hash);
    memcpy(ref->code_key, t->kernels[c->kernels[i]].code_key, sizeof ref->code_key);
  }
  return MLAF_OK;
}

void mlaf_tuner_kernels_free(tuner *t) {
  for (size_t i = 0; i < t->n_kernels; i++) {
    mlaf_compile_job_clear(&t->kernels[i].job);
    free(t->kernels[i].source);
  }
  free(t->kernels);
}

/* --- the compile thread --- */
static void hand_over(tuner *t, size_t i) {
  tune_compiler *c = &t->compiler;
  tune_kernel *k = &t->kernels[c->kernel_of[i]];
  k->job = c->jobs[i]; /* with its code and log */
  k->ready = true;
  c->done++;
}

/* On the compile thread. Returning false makes the pool drop what it has not started. */
static bool on_job(void *user, size_t done, size_t total, const mlaf_compile_job *job) {
  tuner *t = user;
  tune_compiler *c = &t->compiler;
  pthread_mutex_lock(&c->lock);
  if (job) hand_over(t, (size_t)(job - c->jobs));
  bool go_on = !c->stop && !mlaf_tuner_cancelled(t);
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return go_on;
}

static void *compile_all(void *user) {
  tuner *t = user;
  tune_compiler *c = &t->compiler;
  mlaf_status status = t->steps->compile(t->env->compiler, c->jobs, c->n, on_job, t, &c->err);
  pthread_mutex_lock(&c->lock);
  for (size_t i = 0; i < c->n; i++) /* stopped jobs are not announced, but they have a status */
    if (!t->kernels[c->kernel_of[i]].ready) hand_over(t, i);
  c->status = status;
  c->finished = true;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

/* Asks for a kernel once. Called in the order of the candidates: the first one can be verified while the rest is compiled. */
static void ask_for(tuner *t, int index) {
  tune_compiler *c = &t->compiler;
  tune_kernel *k = index < 0 ? NULL : &t->kernels[index];
  if (!k || k->asked || k->trouble) return;
  k->asked = true;
  c->kernel_of[c->n] = index;
  c->jobs[c->n++] = k->job;
}

mlaf_status mlaf_tuner_compile_start(tuner *t, mlaf_err *err) {
  tune_compiler *c = &t->compiler;
  c->jobs = calloc(t->n_kernels + 1, sizeof *c->jobs);
  c->kernel_of = calloc(t->n_kernels + 1, sizeof *c->kernel_of);
  if (!c->jobs || !c->kernel_of) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu compile jobs", t->n_kernels);
  c->n = c->done = 0;
  c->finished = c->stop = false;
  c->status = MLAF_OK;
  for (size_t i = 0; i < t->n; i++) {
    tune_candidate *x = &t->list[i];
    if (x->state != TUNE_SELECTED) continue;
    mlaf_status status = mlaf_tuner_candidate_prepare(t, x, err);
    if (status != MLAF_OK) return status;
    for (int k = 0; k < MLAF_STAGES_MAX; k++) ask_for(t, x->kernels[k]);
  }
  t->out->kernels += c->n;
  if (!c->n) {
    c->finished = true;
    return MLAF_OK;
  }
  if (pthread_create(&c->thread, NULL, compile_all, t) != 0)
    return mlaf_fail(err, MLAF_E_NOMEM, "cannot start the compile thread (too many threads?)");
  c->running = true;
  return MLAF_OK;
}

static bool is_ready(const tuner *t, const tune_candidate *x) {
  bool ready = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) {
    const tune_kernel *k = x->kernels[i] < 0 ? NULL : &t->kernels[x->kernels[i]];
    ready = ready && (!k || k->ready || k->trouble);
  }
  return ready;
}

bool mlaf_tuner_compiled(tuner *t, const tune_candidate *c) {
  pthread_mutex_lock(&t->compiler.lock);
  const bool ready = is_ready(t, c);
  pthread_mutex_unlock(&t->compiler.lock);
  return ready;
}

/* Wakes up ten times a second to notice a cancel and to keep the progress line alive. */
bool mlaf_tuner_compile_wait(tuner *t, const tune_candidate *x) {
  tune_compiler *c = &t->compiler;
  bool ready = false;
  while (!ready && !mlaf_tuner_stop(t)) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
      until.tv_nsec -= 1000000000L;
      until.tv_sec++;
    }
    pthread_mutex_lock(&c->lock);
    ready = is_ready(t, x);
    bool over = c->finished;
    if (!ready && !over) pthread_cond_timedwait(&c->changed, &c->lock, &until);
    pthread_mutex_unlock(&c->lock);
    if (!ready && over) return false;
    if (!ready) mlaf_tuner_report(t, "compiling", NULL);
  }
  return ready;
}

/* The run's figures count what really happened: a cancelled job never reached a compiler. */
mlaf_status mlaf_tuner_compile_end(tuner *t, bool stop, mlaf_err *err) {
  tune_compiler *c = &t->compiler;
  if (c->running) {
    pthread_mutex_lock(&c->lock);
    c->stop = stop;
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    c->running = false;
    for (size_t i = 0; i < c->n; i++) {
      const mlaf_compile_job *job = &t->kernels[c->kernel_of[i]].job;
      t->out->cached += job->status == MLAF_OK && job->cached;
      t->out->compiles += job->status != MLAF_E_CANCELLED && !job->cached;
    }
  }
  free(c->jobs);
  free(c->kernel_of);
  c->jobs = NULL;
  c->kernel_of = NULL;
  if (c->status != MLAF_OK && err) *err = c->err;
  return c->status;
}
