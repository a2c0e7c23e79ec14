/* Making a bundle: choose, compile what is chosen, fit it to the budget, write it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "bundle/make_internal.h"
#include "compile/vendor.h"
#include "run/build.h"

/* --- targets --- */

static mlaf_status check_target(maker *m, const mlaf_bundle_request *request, mlaf_err *err) {
  const char *target = request->target;
  mlaf_text names = MLAF_TEXT_INIT(1024);
  mlaf_variant v = {0};
  mlaf_err why = {MLAF_OK, ""};
  bool table = false;
  mlaf_status st = MLAF_OK;
  for (const char *const *t = mlaf_gen_targets(m->gen); t && *t; t++) {
    table = table || !strcmp(*t, target);
    mlaf_text_fmt(&names, "%s%s", names.len ? ", " : "", *t);
  }
  if (!table)
    st = mlaf_fail(err, MLAF_E_ARG,
                   "no kernels for the target '%.60s': gen/arch/%.60s.lua, its arch table, does not exist; there "
                   "are tables for %s", target, target, names.data ? names.data : "nothing");
  else if (mlaf_gen_baseline(m->gen, mlaf_point_text(&request->problems[0]).s, target, &v, &why)) {
    char *cut = strchr(why.text, '\n');
    if (cut) *cut = 0;
    st = mlaf_fail(err, MLAF_E_ARG, "no kernels for the target '%.60s': it has an arch table, but no family of gen/ops/ "
                   "has a baseline for it (%.300s)", target, why.text);
  }
  mlaf_variant_clear(&v);
  mlaf_text_free(&names);
  return st;
}

/* --- compiling --- */

static bool tell(const maker *m, const char *activity, const make_target *t, size_t done, size_t total) {
  const mlaf_bundle_make_opts *o = m->opts;
  return !o->progress || o->progress(o->user, activity, t->request->target, done, total);
}

static bool is(const make_target *t, int kernel, make_state state) {
  return kernel != NO_KERNEL && t->kernels[kernel].state == state;
}
static bool any(const make_target *t, const make_choice *c, make_state state) {
  bool some = false;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) some = some || is(t, c->kernels[i], state);
  return some;
}

/* Which kernels to compile next: those of every choice in force, after passing over choices whose kernels were refused. */
static size_t wanted(make_target *t, int *list) {
  size_t n = 0;
  bool *seen = calloc(t->n_kernels + 1, 1);
  for (size_t k = 0; seen && k < t->n_kernels; k++)
    if (t->kernels[k].always && is(t, (int)k, MAKE_NEW)) {
      seen[k] = true;
      list[n++] = (int)k;
    }
  for (size_t i = 0; seen && i < t->request->n; i++) {
    make_entry *e = &t->entries[i];
    while (e->at < e->n && any(t, &e->tries[e->at], MAKE_BAD)) e->at++;
    const make_choice *choices[] = {make_in_force(e), &e->baseline};
    for (int k = 0; k < 2 * MLAF_STAGES_MAX; k++) {
      int index = choices[k / MLAF_STAGES_MAX]->kernels[k % MLAF_STAGES_MAX];
      if (!is(t, index, MAKE_NEW) || seen[index]) continue;
      seen[index] = true;
      list[n++] = index;
    }
  }
  free(seen);
  return n;
}

typedef struct compile_watch {
  const maker *m;
  const make_target *t;
} compile_watch;

static bool on_compiled(void *user, size_t done, size_t total, const mlaf_compile_job *job) {
  const compile_watch *w = user;
  return tell(w->m, "compiling", w->t, done, total);
}

static mlaf_status render(maker *m, make_target *t, make_kernel *k, mlaf_compile_job *job, mlaf_err *err) {
  return mlaf_build_render(m->gen, t->request->target, &k->ref, &k->source, k->ref.src_hash, job, err);
}

/* Checks a compiled kernel by the rule of planner and tuner; there is no device to ask. Sets its launch. */
static mlaf_status check_code(const make_target *t, make_kernel *k, mlaf_err *why) {
  const mlaf_asking asking = {.symbol = k->ref.symbol, .threads = k->ref.threads, .stage = k->stage, .budget = k->budget,
                              .calls = k->always ? NULL : k->op->calls};
  mlaf_kernel_meta meta;
  if (mlaf_vendor_is_code(k->code, k->size))
    return mlaf_fail(why, MLAF_E_TEMPLATE, "%s is a library's product, which no bundle holds", k->ref.symbol);
  mlaf_status st = mlaf_resources_read(NULL, k->ref.symbol, k->code, k->size, &meta, why);
  if (!st) st = mlaf_resources_check(&asking, &meta, why);
  if (!st) k->launch = meta.launch;
  return st;
}

/* E_COMPILE and its like are a kernel's own fault and leave it out; what is wrong with the machine ends the work. */
static mlaf_status take(maker *m, make_target *t, make_kernel *k, mlaf_compile_job *job, size_t *compiled, mlaf_err *err) {
  mlaf_err bad = {MLAF_OK, ""};
  if (job->status == MLAF_E_CANCELLED) return mlaf_fail(err, MLAF_E_CANCELLED, "stopped; run the same command to go on");
  if (job->status && job->status != MLAF_E_COMPILE)
    return mlaf_fail(err, job->status, "%s: %.3500s", k->ref.symbol, job->log ? job->log : "");
  if (job->status) mlaf_fail(&bad, job->status, "%.280s", job->log ? job->log : "it does not compile");
  else {
    k->code = job->code;
    k->size = job->code_size;
    job->code = NULL;
    *compiled += !job->cached;
    memcpy(k->ref.code_key, job->key, sizeof job->key);
    mlaf_sha256_hex(k->code, k->size, k->sha256);
    check_code(t, k, &bad);
  }
  if (bad.status == MLAF_E_NOMEM) return mlaf_fail(err, bad.status, "%s", bad.text);
  k->state = bad.status ? MAKE_BAD : MAKE_OK;
  free(k->source);
  k->source = NULL;
  if (!bad.status) return MLAF_OK;
  if (k->baseline)
    return mlaf_fail(err, bad.status,
                     "%s for %s cannot be made, so the bundle would not serve every problem: %s (%s): "
                     "%.3000s", k->always ? k->always : "the baseline",
                     t->request->target, k->ref.symbol, k->ref.params, bad.text);
  mlaf_log_line(m->opts->log, MLAF_LOG_WARN, "%s %s (%s) is left out: %.300s", t->request->target, k->ref.symbol, k->ref.params,
                bad.text);
  return MLAF_OK;
}

static mlaf_status compile_round(maker *m, make_target *t, const int *list, size_t n, size_t *compiled, mlaf_err *err) {
  mlaf_compile_job *jobs = calloc(n, sizeof *jobs);
  compile_watch watch = {m, t};
  mlaf_status st = jobs ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu compiles", n);
  for (size_t i = 0; !st && i < n; i++) st = render(m, t, &t->kernels[list[i]], &jobs[i], err);
  if (!st) st = mlaf_compile(m->opts->compiler, jobs, n, on_compiled, &watch, err);
  for (size_t i = 0; !st && i < n; i++) st = take(m, t, &t->kernels[list[i]], &jobs[i], compiled, err);
  for (size_t i = 0; jobs && i < n; i++) mlaf_compile_job_clear(&jobs[i]);
  free(jobs);
  return st;
}

static mlaf_status compile_target(maker *m, make_target *t, size_t *compiled, mlaf_err *err) {
  int *list = calloc(t->n_kernels + 1, sizeof *list);
  size_t n;
  mlaf_status st = list ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu kernels", t->n_kernels);
  while (!st && (n = wanted(t, list)) > 0) st = compile_round(m, t, list, n, compiled, err);
  free(list);
  if (!st) st = mlaf_compiler_identity_for(m->opts->compiler, t->request->target, &t->compiler, err);
  return st;
}

/* --- the whole --- */

static void free_all(maker *m) {
  for (size_t i = 0; m->targets && i < m->opts->n_requests; i++) {
    make_target *t = &m->targets[i];
    for (size_t k = 0; k < t->n_kernels; k++) {
      free(t->kernels[k].source);
      free(t->kernels[k].code);
    }
    for (size_t e = 0; t->entries && e < t->request->n; e++) {
      for (int k = 0; k < MAKE_TRIES; k++) free(t->entries[e].tries[k].variant);
      free(t->entries[e].baseline.variant);
    }
    free(t->kernels);
    free(t->entries);
    free(t->drops);
  }
  free(m->targets);
  mlaf_gen_close(m->gen);
}

/* One maker at a time: the lock is on the directory itself and leaves no file behind. */
static int lock_dir(const char *dir, mlaf_err *err) {
  if (mlaf_dir_make_open(dir, err)) return -1; /* a bundle is for others to read, if the umask says so */
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) mlaf_fail(err, MLAF_E_IO, "cannot open the directory '%s': %s", dir, strerror(errno));
  else if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
    mlaf_fail(err, MLAF_E_ARG, "another `mlaforge generate` is writing '%s': wait for it, or name another directory", dir);
    close(fd);
    return -1;
  }
  return fd;
}

mlaf_status mlaf_bundle_make(const mlaf_bundle_make_opts *opts, const char *dir, mlaf_bundle_made *out, mlaf_err *err) {
  maker m = {.opts = opts, .targets = calloc(opts->n_requests + 1, sizeof *m.targets)};
  mlaf_bundle_made made = {0};
  mlaf_status st = m.targets ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a bundle");
  if (!st) st = mlaf_gen_open(opts->gen_root, &m.gen, err);
  if (!st) st = mlaf_gen_stamp(opts->gen_root, m.stamp, err);
  for (size_t i = 0; m.targets && i < opts->n_requests; i++) m.targets[i].request = &opts->requests[i];
  for (size_t i = 0; !st && i < opts->n_requests; i++) st = check_target(&m, &opts->requests[i], err);
  int lock = -1;
  if (!st && (lock = lock_dir(dir, err)) < 0) st = err ? err->status : MLAF_E_IO;
  for (size_t i = 0; !st && i < opts->n_requests; i++) {
    st = make_choose(&m, &m.targets[i], err);
    if (!st) st = compile_target(&m, &m.targets[i], &made.compiled, err);
  }
  if (!st) st = make_fit(&m, err);
  if (!st) st = make_write(&m, dir, &made, err);
  if (lock >= 0) close(lock);
  free_all(&m);
  if (!st) *out = made;
  return st;
}
