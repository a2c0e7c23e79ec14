/* mlaf_compile: many jobs over the worker pool, driven by one poll loop on the calling thread. */
#include <poll.h>

#include "compile/blame.h"
#include "compile/internal.h"
#include "compile/vendor.h"

#define OPTIONS_MAX ((size_t)1 << 20)
static const double lock_poll_s = 0.02, lock_announce_s = 2, tick_s = 0.1;

typedef enum task_state { WAITING, RUNNING, FINISHED } task_state;

/* A failure that need not be the kernel's is repeated by another worker, and then asked about by the simplest kernel. */
typedef enum attempt { FIRST, SECOND, CONTROL } attempt;

typedef struct failure {
  mlaf_status status;
  mlaf_err why;
  char *log;
} failure;

typedef struct task {
  mlaf_compile_job *job;
  task_state state;
  mlaf_worker *worker;
  int lock;
  bool no_lock;      /* waited long enough for it: compile without */
  bool announced;
  attempt attempt;
  failure *failed;   /* of the second attempt, while the control runs */
  double lock_since; /* when the lock was first found busy, 0 = not yet */
  double start;
} task;

typedef struct batch {
  mlaf_compiler *c;
  task *tasks;
  size_t n, done, running;
  mlaf_compile_progress progress;
  void *user;
  bool cancelled;
  mlaf_status status; /* first failure that is not one kernel's own */
  mlaf_err *err;
} batch;

static mlaf_tool tool_of(const mlaf_compile_job *job) { return mlaf_tool_of(job->target, strlen(job->target)); }

static mlaf_cache_label label_of(const batch *b, const mlaf_compile_job *job) {
  return (mlaf_cache_label){MLAF_CACHE_CODE, job->target, job->key, b->c->toolchain[tool_of(job)].identity, job->name};
}

/* Tell the caller what is finished, or (job NULL) that something is still waited for. */
static void ask_to_go_on(batch *b, const mlaf_compile_job *job) {
  if (!b->progress || b->cancelled) return;
  if (!b->progress(b->user, b->done, b->n, job)) b->cancelled = true;
}

/* A job's outcome is known: release what it held and tell the caller. */
static void finish(batch *b, task *t, mlaf_status status) {
  mlaf_compile_job *job = t->job;
  job->status = status;
  if (!job->log) job->log = mlaf_strdup("");
  if (t->lock >= 0) {
    mlaf_cache_label label = label_of(b, job);
    mlaf_cache_unlock(&b->c->cache, &label, t->lock);
    t->lock = MLAF_LOCK_NONE;
  }
  if (t->failed) free(t->failed->log);
  free(t->failed);
  t->failed = NULL;
  t->state = FINISHED;
  b->done++;
  ask_to_go_on(b, job);
}

static void finish_failed(batch *b, task *t, mlaf_status status, const mlaf_err *why) {
  mlaf_compile_job *job = t->job;
  const char *name = job->name ? job->name : "kernel";
  const bool kernels_own = mlaf_compile_blames_kernel(status);
  char *kept = kernels_own ? mlaf_cache_keep_source(&b->c->cache, job->key, job->source) : NULL;
  /* the detail is the first error line already when the compiler's log has one: say it once */
  bool said = job->log && status == MLAF_E_COMPILE && job->log[0];
  char *log = mlaf_format("%s%s%s%s%s%s", said ? job->log : why->text, said && job->log[strlen(job->log) - 1] == '\n' ? "" : "\n",
                          kept ? "source of " : "", kept ? name : "", kept ? " kept in " : "", kept ? kept : "");
  free(job->log);
  job->log = log;
  free(kept);
  if (!kernels_own && b->status == MLAF_OK) b->status = mlaf_fail(b->err, status, "%s: %s", name, why->text);
  finish(b, t, status);
}

static void finish_compiled(batch *b, task *t, mlaf_answer *a) {
  mlaf_compile_job *job = t->job;
  job->code = a->payload;
  job->code_size = a->size;
  job->log = a->log;
  job->seconds = a->seconds;
  mlaf_compiler_count(b->c, MLAF_COUNT_COMPILED);
  mlaf_cache_label label = label_of(b, job);
  mlaf_cache_store(&b->c->cache, &label, job->code, job->code_size);
  finish(b, t, MLAF_OK);
}

static bool finish_from_cache(batch *b, task *t) {
  mlaf_compile_job *job = t->job;
  mlaf_cache_label label = label_of(b, job);
  double start = mlaf_now();
  if (mlaf_cache_load(&b->c->cache, &label, &job->code, &job->code_size, NULL) != MLAF_OK) return false;
  job->cached = true;
  job->seconds = mlaf_now() - start;
  mlaf_compiler_count(b->c, MLAF_COUNT_HIT);
  finish(b, t, MLAF_OK);
  return true;
}

/* Get the right to compile this key. False while another process has it. */
static bool lock(batch *b, task *t) {
  if (t->lock >= 0 || t->no_lock) return true;
  mlaf_cache_label label = label_of(b, t->job);
  long holder = 0;
  t->lock = mlaf_cache_try_lock(&b->c->cache, &label, &holder);
  if (t->lock != MLAF_LOCK_BUSY) return true;
  double now = mlaf_now();
  if (!t->lock_since) t->lock_since = now;
  if (!t->announced && now - t->lock_since > lock_announce_s) {
    mlaf_log_line(&b->c->log, MLAF_LOG_INFO, "waiting for process %ld, which compiles the same kernel (key %.16s...)", holder,
                  t->job->key);
    t->announced = true;
  }
  if (now - t->lock_since <= b->c->timeout_s) return false;
  mlaf_log_line(&b->c->log, MLAF_LOG_WARN, "process %ld holds the lock of key %.16s... for more than %g s: compiling without",
                holder, t->job->key, b->c->timeout_s);
  t->no_lock = true;
  return true;
}

/* Options as the wire has them: NUL-terminated strings in a row. */
static bool pack_options(const mlaf_compile_job *job, mlaf_text *out) {
  *out = MLAF_TEXT_INIT(OPTIONS_MAX);
  for (size_t i = 0; job->options && job->options[i]; i++) mlaf_text_add(out, job->options[i], strlen(job->options[i]) + 1);
  return !out->failed;
}

/* The request of a task's attempt. `options` is to be freed. */
static mlaf_status make_request(const task *t, mlaf_text *options, mlaf_wire_field f[3], mlaf_err *err) {
  static const mlaf_compile_job none = {.options = NULL};
  const bool control = t->attempt == CONTROL;
  const char *source = control ? mlaf_blame_control : t->job->source;
  if (!pack_options(control ? &none : t->job, options)) return mlaf_fail(err, MLAF_E_ARG, "more than 1 MiB of options");
  f[0] = (mlaf_wire_field){t->job->target, strlen(t->job->target)};
  f[1] = (mlaf_wire_field){options->data, options->len};
  f[2] = (mlaf_wire_field){source, strlen(source)};
  return MLAF_OK;
}

/* Hand a task to a worker. False: the worker was not used. */
static bool start_on(batch *b, task *t, mlaf_worker *w) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_text options;
  mlaf_wire_field fields[3];
  mlaf_status status = make_request(t, &options, fields, &why);
  if (status == MLAF_OK) status = mlaf_worker_send(w, MLAF_WIRE_COMPILE, fields, b->c->timeout_s, &why);
  mlaf_text_free(&options);
  if (status != MLAF_OK) {
    finish_failed(b, t, status, &why);
    return false;
  }
  t->worker = w;
  t->start = mlaf_now();
  t->state = RUNNING;
  b->running++;
  return true;
}

/* There is no compiler for these: the other toolchain's, or another target's, may still work. `target` NULL: any. */
static void fail_waiting(batch *b, mlaf_tool tool, const char *target, mlaf_status status, const mlaf_err *why) {
  for (size_t i = 0; i < b->n && !b->cancelled; i++) {
    task *t = &b->tasks[i];
    if (t->state == WAITING && tool_of(t->job) == tool && (!target || !strcmp(t->job->target, target)))
      finish_failed(b, t, status, why);
  }
}

/* Start what can be started. Returns false if some task waits for a lock while a worker would be free. */
static bool start_ready(batch *b) {
  mlaf_worker *spare = NULL;
  bool lock_wait = false;
  for (size_t i = 0; i < b->n && !b->cancelled; i++) {
    task *t = &b->tasks[i];
    if (t->state != WAITING) continue;
    if (spare && spare->tool != tool_of(t->job)) {
      mlaf_compiler_give_worker(b->c, spare);
      spare = NULL;
    }
    if (!spare) {
      mlaf_err why = {MLAF_OK, ""};
      bool must = b->running == 0;
      mlaf_status status = mlaf_compiler_take_worker(b->c, tool_of(t->job), must, &spare, &why);
      if (status != MLAF_OK && must) {
        fail_waiting(b, tool_of(t->job), NULL, status, &why);
        continue;
      }
      if (!spare) break; /* all busy (or no process to be had just now): the running ones will free one */
    }
    if (!lock(b, t)) {
      lock_wait = true;
    } else if (!(t->lock >= 0 && finish_from_cache(b, t)) && start_on(b, t, spare)) { /* somebody may have just published */
      spare = NULL;
    }
  }
  if (spare) mlaf_compiler_give_worker(b->c, spare);
  return !lock_wait;
}

/* The simplest kernel's outcome decides about the failure that it was compiled for. */
static void conclude_control(batch *b, task *t, mlaf_status status, mlaf_answer *a, mlaf_err *why) {
  const mlaf_tool tool = tool_of(t->job);
  const bool compiles = status == MLAF_OK;
  if (!compiles) status = mlaf_blame(tool, status, a->log, why);
  if (mlaf_compile_blames_kernel(status))
    status = mlaf_blame_compiler(b->c->toolchain[tool].lib_dir, b->c->worker, t->job->target, why);
  free(a->payload);
  if (compiles) {
    free(a->log);
    t->job->log = t->failed->log;
    t->failed->log = NULL;
    finish_failed(b, t, t->failed->status, &t->failed->why);
  } else {
    t->job->log = a->log;
    finish_failed(b, t, status, why);
    if (status == MLAF_E_NO_COMPILER) fail_waiting(b, tool, t->job->target, status, why);
  }
}

/* Once more, by another worker. */
static void again(batch *b, task *t, attempt next, mlaf_answer *a, const mlaf_err *why) {
  mlaf_log_line(&b->c->log, MLAF_LOG_INFO, "%s: %s; compiling %s", t->job->name ? t->job->name : "kernel", why->text,
                next == CONTROL ? "an empty kernel to see whose fault it is" : "it again");
  free(a->log);
  t->attempt = next;
  t->state = WAITING;
}

/* An attempt ended: the task is finished, or waits for its next one. */
static void conclude(batch *b, task *t, mlaf_status status, mlaf_answer *a, mlaf_err *why) {
  t->job->seconds = mlaf_now() - t->start;
  if (t->attempt == CONTROL) return conclude_control(b, t, status, a, why);
  if (status == MLAF_OK) return finish_compiled(b, t, a);
  const mlaf_tool tool = tool_of(t->job);
  const bool unsure = mlaf_blame_is_unsure(status, a->log);
  if (t->attempt == FIRST && (unsure || status == MLAF_E_KILLED)) return again(b, t, SECOND, a, why);
  mlaf_status blamed = mlaf_blame(tool, status, a->log, why);
  if (unsure && blamed == status) {
    if ((t->failed = malloc(sizeof *t->failed))) {
      *t->failed = (failure){status, *why, mlaf_strdup(a->log)};
      return again(b, t, CONTROL, a, why);
    }
    blamed = mlaf_fail(why, MLAF_E_NOMEM, "no memory to look into a failed compile");
  }
  t->job->log = a->log;
  finish_failed(b, t, blamed, why);
  if (blamed == MLAF_E_IO) fail_waiting(b, tool, NULL, blamed, why); /* they would fail for the same want of room */
}

/* A worker's task ended one way or another. */
static void reap(batch *b, task *t, mlaf_worker_state state) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_worker *w = t->worker;
  mlaf_answer a = {NULL, 0, NULL, 0};
  mlaf_status status;
  t->worker = NULL;
  b->running--;
  if (state == MLAF_WORKER_DONE) {
    status = mlaf_compiler_answer(w, &a, &why);
    mlaf_compiler_give_worker(b->c, w);
  } else {
    status = mlaf_worker_bury(w, state, &why);
    mlaf_compiler_give_worker(b->c, NULL);
    mlaf_compiler_count(b->c, status == MLAF_E_TIMEOUT ? MLAF_COUNT_TIMEOUT : MLAF_COUNT_CRASH);
  }
  conclude(b, t, status, &a, &why);
}

/* Wait a moment for something to happen. False when out of memory. */
static bool wait_and_reap(batch *b, bool lock_wait) {
  struct pollfd *polls = calloc(b->running + 1, sizeof *polls);
  if (!polls) return false;
  nfds_t k = 0;
  for (size_t i = 0; i < b->n; i++) {
    mlaf_worker *w = b->tasks[i].worker;
    if (!w) continue;
    polls[k++] = (struct pollfd){w->fd, mlaf_worker_events(w), 0};
  }
  poll(polls, k, (int)(1000 * (lock_wait ? lock_poll_s : tick_s)));
  free(polls);
  for (size_t i = 0; i < b->n && !b->cancelled; i++) {
    task *t = &b->tasks[i];
    if (!t->worker) continue;
    mlaf_worker_state state = mlaf_worker_step(t->worker); /* listen first: a reply that is here is in time */
    if (state == MLAF_WORKER_BUSY) state = mlaf_worker_pace(t->worker);
    if (state != MLAF_WORKER_BUSY) reap(b, t, state);
  }
  if (b->done < b->n) ask_to_go_on(b, NULL);
  return true;
}

/* Stop everything that has not finished. */
static void abandon(batch *b, mlaf_status status, const char *text) {
  for (size_t i = 0; i < b->n; i++) {
    task *t = &b->tasks[i];
    if (t->worker) {
      mlaf_worker_stop(t->worker);
      mlaf_compiler_give_worker(b->c, NULL);
      t->worker = NULL;
    }
    if (t->state == FINISHED) continue;
    t->job->log = mlaf_strdup(text);
    b->cancelled = true; /* no more progress calls */
    finish(b, t, status);
  }
  b->running = 0;
}

static void run_pool(batch *b) {
  while (b->done < b->n && !b->cancelled) {
    bool lock_wait = !start_ready(b);
    if (b->done < b->n && !b->cancelled && !wait_and_reap(b, lock_wait)) {
      b->status = mlaf_fail(b->err, MLAF_E_NOMEM, "no memory to wait for %zu compiles", b->running);
      abandon(b, MLAF_E_NOMEM, "out of memory");
    }
  }
}

static void attempt_here(batch *b, task *t) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_answer a = {NULL, 0, NULL, 0};
  mlaf_text options;
  mlaf_wire_field fields[3];
  t->start = mlaf_now();
  t->state = RUNNING;
  mlaf_status status = make_request(t, &options, fields, &why);
  if (status == MLAF_OK) status = mlaf_compiler_request(b->c, MLAF_WIRE_COMPILE, fields, &a, &why);
  mlaf_text_free(&options);
  conclude(b, t, status, &a, &why);
}

/* One after the other in this process. */
static void run_here(batch *b) {
  for (size_t i = 0; i < b->n; i++) {
    task *t = &b->tasks[i];
    while (t->state == WAITING && !b->cancelled) {
      while (!lock(b, t)) poll(NULL, 0, (int)(lock_poll_s * 1000));
      if (!(t->lock >= 0 && finish_from_cache(b, t))) attempt_here(b, t);
    }
  }
}

/* A library's product is its text and the library's identity. */
static void finish_library(batch *b, task *t, mlaf_vendor vendor) {
  mlaf_compile_job *job = t->job;
  mlaf_vendor_library found;
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status status = mlaf_vendor_find(vendor, &found, &why);
  if (status == MLAF_OK) status = mlaf_vendor_code(job->source, &found, &job->code, &job->code_size, &why);
  job->cached = true; /* no compiler ran */
  if (status != MLAF_OK) {
    finish_failed(b, t, status, &why);
    return;
  }
  const mlaf_cache_label label = {MLAF_CACHE_CODE, job->target, job->key, found.identity, job->name};
  mlaf_cache_store(&b->c->cache, &label, job->code, job->code_size);
  finish(b, t, MLAF_OK);
}

/* Keys and cache hits: what needs no compiler at all. */
static void answer_from_cache(batch *b) {
  for (size_t i = 0; i < b->n && !b->cancelled; i++) {
    task *t = &b->tasks[i];
    mlaf_err why = {MLAF_OK, ""};
    mlaf_status status = mlaf_compile_key(b->c, t->job, &why);
    if (status != MLAF_OK) {
      finish_failed(b, t, status, &why);
    } else if (!finish_from_cache(b, t)) {
      const mlaf_vendor vendor = mlaf_vendor_of_source(t->job->source);
      if (vendor < MLAF_VENDORS) finish_library(b, t, vendor);
    }
  }
}

mlaf_status mlaf_compile(mlaf_compiler *c, mlaf_compile_job *jobs, size_t n, mlaf_compile_progress progress, void *user,
                         mlaf_err *err) {
  if (!n) return MLAF_OK;
  batch b = {.c = c, .tasks = calloc(n, sizeof(task)), .n = n, .progress = progress, .user = user, .err = err};
  if (!b.tasks) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu compile jobs", n);
  for (size_t i = 0; i < n; i++) {
    mlaf_compile_job *job = &jobs[i];
    job->status = MLAF_E_CANCELLED;
    job->code = NULL;
    job->code_size = 0;
    job->log = NULL;
    job->key[0] = 0;
    job->cached = false;
    job->seconds = 0;
    b.tasks[i] = (task){.job = job, .state = WAITING, .lock = MLAF_LOCK_NONE};
  }
  answer_from_cache(&b);
  if (b.done < n && !b.cancelled) {
    size_t first = 0;
    while (b.tasks[first].state != WAITING) first++;
    bool here = mlaf_compiler_runs_here(c, tool_of(b.tasks[first].job), n - b.done == 1);
    (here ? run_here : run_pool)(&b);
  }
  if (b.done < n) {
    b.status = mlaf_fail(err, MLAF_E_CANCELLED, "%zu of %zu kernels not compiled", n - b.done, n);
    abandon(&b, MLAF_E_CANCELLED, "cancelled");
  }
  free(b.tasks);
  return b.status;
}
