/* The compiler object: opening, identity, keys, and the stock of worker processes. */
#include <sched.h>
#include <unistd.h>

#include "compile/internal.h"
#include "compile/vendor.h"

/* Part of every key: raise it when the meaning of a cached code object changes. */
#define KEY_EPOCH "mlaforge code object 1"

/* CPUs this process may use: fewer than the machine has in a container or under taskset. */
static int usable_cpus(void) {
  cpu_set_t set;
  long n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > MLAF_JOBS_MAX ? MLAF_JOBS_MAX : (int)n;
}

mlaf_status mlaf_compiler_open(const mlaf_compiler_opts *opts, const mlaf_log *log, mlaf_compiler **out, mlaf_err *err) {
  static const mlaf_compiler_opts none = {0};
  if (!opts) opts = &none;
  if (opts->jobs < 0 || opts->jobs > MLAF_JOBS_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "jobs is %d; 0 (all CPUs) to %d are accepted", opts->jobs, MLAF_JOBS_MAX);
  if (!(opts->timeout_s >= 0 && opts->timeout_s < 1e6))
    return mlaf_fail(err, MLAF_E_ARG, "timeout_s is %g; 0 (the default) to 1e6 is accepted", opts->timeout_s);
  mlaf_compiler *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a compiler");
  if (log) c->log = *log;
  c->jobs = opts->jobs ? opts->jobs : usable_cpus();
  c->timeout_s = opts->timeout_s > 0 ? opts->timeout_s : 120;
  c->in_process = opts->in_process;
  c->prefix = mlaf_strdup(opts->rocm_prefix);
  c->worker_path = mlaf_strdup(opts->worker_path);
  pthread_mutex_init(&c->mutex, NULL); /* cannot fail with default attributes on Linux */
  pthread_mutex_init(&c->rocm_mutex, NULL);
  mlaf_status status = mlaf_cache_open(&c->cache, opts->cache_dir, opts->no_cache, &c->log, err);
  if (status == MLAF_OK && ((opts->rocm_prefix && !c->prefix) || (opts->worker_path && !c->worker_path)))
    status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for a compiler");
  if (status != MLAF_OK) {
    mlaf_compiler_close(c);
    return status;
  }
  *out = c;
  return MLAF_OK;
}

void mlaf_compiler_close(mlaf_compiler *c) {
  if (!c) return;
  for (int i = 0; i < c->n_idle; i++) mlaf_worker_stop(c->idle[i]);
  for (int i = 0; i < MLAF_HELD_MAX; i++)
    if (c->held[i].key[0]) free(c->held[i].code);
  mlaf_rocm_free(c->rocm);
  mlaf_nvrtc_free(c->nvrtc);
  mlaf_cache_close(&c->cache);
  for (int i = 0; i < MLAF_TOOLS; i++) mlaf_toolchain_clear(&c->toolchain[i]);
  pthread_mutex_destroy(&c->mutex);
  pthread_mutex_destroy(&c->rocm_mutex);
  free(c->worker);
  free(c->prefix);
  free(c->worker_path);
  free(c);
}

int mlaf_compiler_jobs(const mlaf_compiler *c) { return c->jobs; }

void mlaf_compiler_count(mlaf_compiler *c, mlaf_compile_count what) {
  uint64_t *const counters[] = {[MLAF_COUNT_COMPILED] = &c->stats.compiled, [MLAF_COUNT_HIT] = &c->stats.cache_hits,
                                [MLAF_COUNT_CRASH] = &c->stats.worker_crashes, [MLAF_COUNT_TIMEOUT] = &c->stats.timeouts};
  pthread_mutex_lock(&c->mutex);
  ++*counters[what];
  pthread_mutex_unlock(&c->mutex);
}

void mlaf_compiler_stats(const mlaf_compiler *c, mlaf_compile_stats *out) {
  mlaf_compiler *m = (mlaf_compiler *)c; /* the lock is not part of what callers see as state */
  pthread_mutex_lock(&m->mutex);
  *out = m->stats;
  pthread_mutex_unlock(&m->mutex);
  pthread_mutex_lock(&m->cache.mutex);
  out->cache_healed = m->cache.healed;
  pthread_mutex_unlock(&m->cache.mutex);
}

mlaf_status mlaf_compiler_toolchain(mlaf_compiler *c, mlaf_tool tool, const mlaf_toolchain **out, mlaf_err *err) {
  mlaf_toolchain *t = &c->toolchain[tool];
  mlaf_status status = MLAF_OK;
  pthread_mutex_lock(&c->mutex);
  if (!c->found[tool]) status = tool == MLAF_TOOL_NVRTC ? mlaf_nvrtc_find(t, err) : mlaf_toolchain_find(c->prefix, t, err);
  c->found[tool] = status == MLAF_OK; /* a failure is looked at again next time: the user may have run setup meanwhile */
  pthread_mutex_unlock(&c->mutex);
  if (status == MLAF_OK) *out = t;
  return status;
}

mlaf_status mlaf_compiler_identity_for(mlaf_compiler *c, const char *target, const char **id, mlaf_err *err) {
  const mlaf_toolchain *t;
  mlaf_status status = mlaf_compiler_toolchain(c, mlaf_tool_of(target, strlen(target)), &t, err);
  if (status == MLAF_OK) *id = t->identity;
  return status;
}

mlaf_status mlaf_compiler_identity(mlaf_compiler *c, const char **id, mlaf_err *err) {
  return mlaf_compiler_identity_for(c, "", id, err);
}

mlaf_status mlaf_compile_key(mlaf_compiler *c, mlaf_compile_job *job, mlaf_err *err) {
  const char *identity;
  if (!job->source || !job->target || !mlaf_cache_target_ok(job->target))
    return mlaf_fail(err, MLAF_E_ARG, "a compile job needs a source and a target such as gfx942, not '%s'",
                     job->target ? job->target : "");
  mlaf_vendor_library library;
  const mlaf_vendor vendor = mlaf_vendor_of_source(job->source);
  mlaf_status status = vendor < MLAF_VENDORS ? mlaf_vendor_find(vendor, &library, err)
                                             : mlaf_compiler_identity_for(c, job->target, &identity, err);
  if (status != MLAF_OK) return status;
  if (vendor < MLAF_VENDORS) identity = library.identity;
  size_t n = 4;
  for (size_t i = 0; job->options && job->options[i]; i++) n++;
  const void **parts = calloc(n, sizeof *parts);
  size_t *sizes = calloc(n, sizeof *sizes);
  if (parts && sizes) {
    const char *fixed[] = {KEY_EPOCH, job->target, identity, mlaf_vendor_request(job->source)};
    for (size_t i = 0; i < n; i++) {
      parts[i] = i < 4 ? fixed[i] : job->options[i - 4];
      sizes[i] = strlen(parts[i]);
    }
    mlaf_sha256_parts(parts, sizes, n, job->key);
    if (!job->key[0]) status = mlaf_fail(err, MLAF_E_INTERNAL, "libcrypto refused to hash");
  } else {
    status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for a compile key");
  }
  free(parts);
  free(sizes);
  return status;
}

void mlaf_cache_hold(mlaf_compiler *c, const char *key, void *code, size_t size) {
  pthread_mutex_lock(&c->mutex);
  for (int i = 0; code && i < MLAF_HELD_MAX; i++) {
    if (c->held[i].key[0]) continue;
    snprintf(c->held[i].key, sizeof c->held[i].key, "%s", key);
    c->held[i].code = code;
    c->held[i].size = size;
    code = NULL;
  }
  pthread_mutex_unlock(&c->mutex);
  free(code);
}

static bool take_held(mlaf_compiler *c, const char *key, void **code, size_t *size) {
  bool taken = false;
  pthread_mutex_lock(&c->mutex);
  for (int i = 0; !taken && i < MLAF_HELD_MAX; i++) {
    if (strcmp(c->held[i].key, key) != 0) continue;
    *code = c->held[i].code;
    *size = c->held[i].size;
    c->held[i].key[0] = 0;
    taken = true;
  }
  pthread_mutex_unlock(&c->mutex);
  return taken;
}

mlaf_status mlaf_cache_get(mlaf_compiler *c, const char *key, void **code, size_t *size, mlaf_err *err) {
  if (!key || strlen(key) != MLAF_HASH_HEX - 1 || strspn(key, "0123456789abcdef") != MLAF_HASH_HEX - 1)
    return mlaf_fail(err, MLAF_E_ARG, "'%.80s' is no cache key (64 lower-case hex digits)", key ? key : "");
  mlaf_cache_label label = {.kind = MLAF_CACHE_CODE, .key = key};
  mlaf_status status = take_held(c, key, code, size) ? MLAF_OK : mlaf_cache_load(&c->cache, &label, code, size, err);
  if (status == MLAF_OK) mlaf_compiler_count(c, MLAF_COUNT_HIT);
  return status;
}

void mlaf_compile_job_clear(mlaf_compile_job *job) {
  free(job->code);
  free(job->log);
  job->code = NULL;
  job->log = NULL;
  job->code_size = 0;
}

/* ---- workers ---- */

static mlaf_status worker_executable(mlaf_compiler *c, mlaf_err *err) {
  pthread_mutex_lock(&c->mutex);
  mlaf_status status = c->worker ? MLAF_OK : mlaf_worker_find(c->worker_path, &c->worker, err);
  pthread_mutex_unlock(&c->mutex);
  return status;
}

bool mlaf_compiler_runs_here(mlaf_compiler *c, mlaf_tool tool, bool single) {
  /* One that is named and cannot be run is an error, which asking for a worker gives. */
  if (worker_executable(c, NULL) != MLAF_OK) return c->in_process || !mlaf_worker_named(c->worker_path);
  if (!c->in_process || !single) return false;
  pthread_mutex_lock(&c->rocm_mutex);
  bool loads = mlaf_compiler_load(c, tool, NULL) == MLAF_OK;
  pthread_mutex_unlock(&c->rocm_mutex);
  return loads;
}

/* Take an idle worker of this toolchain out of the stock; NULL if there is none. With the mutex held. */
static mlaf_worker *take_idle(mlaf_compiler *c, mlaf_tool tool) {
  for (int i = c->n_idle - 1; i >= 0; i--) {
    mlaf_worker *w = c->idle[i];
    if (w->tool != tool) continue;
    c->idle[i] = c->idle[--c->n_idle];
    if (mlaf_worker_alive(w)) return w;
    mlaf_worker_stop(w); /* died while nobody asked it anything: nobody's fault, take another */
    c->n_live--;
  }
  return NULL;
}

mlaf_status mlaf_compiler_take_worker(mlaf_compiler *c, mlaf_tool tool, bool must, mlaf_worker **out, mlaf_err *err) {
  const mlaf_toolchain *t;
  mlaf_status status = mlaf_compiler_toolchain(c, tool, &t, err);
  if (status == MLAF_OK) status = worker_executable(c, err);
  if (status != MLAF_OK) return status;
  pthread_mutex_lock(&c->mutex);
  mlaf_worker *w = take_idle(c, tool);
  if (!w && c->n_live >= c->jobs && c->n_idle) { /* an idle one of the other toolchain makes room */
    mlaf_worker_stop(c->idle[--c->n_idle]);
    c->n_live--;
  }
  bool start = !w && (must || c->n_live < c->jobs);
  if (start) c->n_live++;
  pthread_mutex_unlock(&c->mutex);
  if (start && (status = mlaf_worker_start(t, tool, c->worker, &w, err)) != MLAF_OK) {
    mlaf_compiler_give_worker(c, NULL);
    return status;
  }
  *out = w;
  return MLAF_OK;
}

void mlaf_compiler_give_worker(mlaf_compiler *c, mlaf_worker *w) {
  pthread_mutex_lock(&c->mutex);
  bool keep = w && c->n_live <= c->jobs;
  if (keep) {
    c->idle[c->n_idle++] = w;
  } else {
    c->n_live--;
  }
  pthread_mutex_unlock(&c->mutex);
  if (!keep) mlaf_worker_stop(w);
}

mlaf_status mlaf_compiler_load(mlaf_compiler *c, mlaf_tool tool, mlaf_err *err) {
  if (tool == MLAF_TOOL_NVRTC ? c->nvrtc != NULL : c->rocm != NULL) return MLAF_OK;
  const mlaf_toolchain *t;
  mlaf_status status = mlaf_compiler_toolchain(c, tool, &t, err);
  if (status != MLAF_OK) return status;
  status = tool == MLAF_TOOL_NVRTC ? mlaf_nvrtc_load(t->lib_dir, &c->nvrtc, err) : mlaf_rocm_load(t->lib_dir, &c->rocm, err);
  mlaf_err none = {MLAF_OK, ""};
  if (status != MLAF_OK && worker_executable(c, &none) != MLAF_OK)
    mlaf_fail_prefix(err, status, "%s; and in this process", none.text);
  return status;
}
