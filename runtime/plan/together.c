/* Compiles at once what many plans would compile one after the other.
 *
 * The planner lists these kernels without compiling. For hundreds of plans that takes seconds, nearly all of them the
 * generator's, so several threads ask: each by a context of its own, a scout, with a Lua state, a connection to the database and
 * hashes. Answers are kept in the cache's folder (gen/memo.c), where the plans find them. */
#include <stdatomic.h>

#include "plan/plan.h"
#include "plan/planner.h"

enum { SCOUTS_MOST = 32, PLANS_A_SCOUT = 4 }; /* fewer plans than that are no work for another thread */

/* --- the list --- */

void mlaf_missing_kernels_init(mlaf_missing_kernels *w) {
  *w = (mlaf_missing_kernels){.n = 0};
  pthread_mutex_init(&w->lock, NULL);
}

void mlaf_missing_kernels_clear(mlaf_missing_kernels *w) {
  for (size_t i = 0; i < w->n; i++) mlaf_build_clear(&w->list[i].build);
  free(w->list);
  free(w->seen);
  pthread_mutex_destroy(&w->lock);
}

static bool is_seen(const mlaf_missing_kernels *w, const char *symbol) {
  for (size_t k = 0; k < w->n_seen; k++)
    if (!strcmp(w->seen[k], symbol)) return true;
  return false;
}

bool mlaf_missing_kernels_seen(mlaf_missing_kernels *w, const mlaf_build *b) {
  bool all = true;
  pthread_mutex_lock(&w->lock);
  for (int i = 0; i < b->n; i++) {
    if (!b->refs[i].template_name[0] || is_seen(w, b->refs[i].symbol)) continue;
    all = false;
    if (mlaf_room(&w->seen, w->n_seen, sizeof *w->seen)) memcpy(w->seen[w->n_seen++], b->refs[i].symbol, sizeof *w->seen);
  }
  pthread_mutex_unlock(&w->lock);
  return all;
}

static bool is_listed(const mlaf_missing_kernels *w, const char *symbol) {
  for (size_t i = 0; i < w->n; i++)
    if (!strcmp(w->list[i].build.refs[w->list[i].stage].symbol, symbol)) return true;
  return false;
}

static void add_stage(mlaf_missing_kernels *w, mlaf_build *b, int stage, const mlaf_calls *calls) {
  if (!mlaf_room(&w->list, w->n, sizeof *w->list)) return;
  mlaf_missing_kernel *x = &w->list[w->n++];
  *x = (mlaf_missing_kernel){.build = {.n = stage + 1}, .stage = stage, .calls = calls};
  memcpy(x->build.name, b->name, sizeof x->build.name);
  x->build.refs[stage] = b->refs[stage];
  x->build.budget[stage] = b->budget[stage];
  x->build.source[stage] = b->source[stage];
  b->source[stage] = NULL;
}

void mlaf_missing_kernels_add(mlaf_missing_kernels *w, mlaf_build *b, const mlaf_calls *calls) {
  pthread_mutex_lock(&w->lock);
  for (int i = 0; i < b->n; i++)
    if (b->source[i] && !is_listed(w, b->refs[i].symbol)) add_stage(w, b, i, calls);
  pthread_mutex_unlock(&w->lock);
}

/* --- scouts --- */

typedef struct search {
  mlaf_ctx *ctx;
  const mlaf_plan_request *plans;
  size_t n;
  atomic_size_t next;
  mlaf_missing_kernels *kernels;
} search;

static void look_at(mlaf_ctx *ctx, const mlaf_plan_request *plan, mlaf_missing_kernels *kernels) {
  mlaf_plan_opts o;
  mlaf_err ignored;
  mlaf_point at = plan->at;
  if (mlaf_plan_read_opts(plan->opts, &o, &ignored)) return;
  mlaf_point_round(&at);
  mlaf_planner_find_missing(ctx, &at, &o, &plan->inside, kernels);
}

/* The planner's inputs, of this thread alone. It says nothing and writes to no database. A scout that has no database lists
 * what the model says. */
static mlaf_ctx *scout_new(const mlaf_ctx *ctx) {
  mlaf_ctx *s = calloc(1, sizeof *s);
  mlaf_err ignored;
  if (!s) return NULL;
  s->shared = ctx->shared;
  s->flags = ctx->flags;
  s->gen_root = ctx->gen_root;
  s->compiler = ctx->compiler;
  s->db_why = ctx->db_why;
  if (ctx->db && ctx->db_why.status) mlaf_db_open_outer("a scout writes nothing", &s->log, &s->db, &ignored);
  else if (ctx->db) mlaf_db_open_layered(mlaf_db_path(ctx->db), true, &s->log, &s->db, &ignored);
  return s;
}

static void scout_free(mlaf_ctx *s) {
  mlaf_gen_close(s->gen);
  mlaf_db_close(s->db);
  mlaf_hashes_free(&s->hashes);
  free(s);
}

static void *scout(void *user) {
  search *s = user;
  mlaf_ctx *ctx = scout_new(s->ctx);
  for (size_t i; ctx && (i = atomic_fetch_add(&s->next, 1)) < s->n;) look_at(ctx, &s->plans[i], s->kernels);
  if (ctx) scout_free(ctx);
  return NULL;
}

/* Looks at what no scout has, for want of a thread or of memory. */
static void find_missing(mlaf_ctx *ctx, const mlaf_plan_request *plans, size_t n, mlaf_missing_kernels *out) {
  search s = {.ctx = ctx, .plans = plans, .n = n, .kernels = out};
  pthread_t threads[SCOUTS_MOST];
  size_t want = n / PLANS_A_SCOUT, started = 0;
  const size_t most = (size_t)mlaf_compiler_jobs(ctx->compiler);
  if (want > most) want = most;
  if (want > SCOUTS_MOST) want = SCOUTS_MOST;
  atomic_init(&s.next, 0);
  while (want > 1 && started < want && !pthread_create(&threads[started], NULL, scout, &s)) started++;
  for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  for (size_t i; (i = atomic_fetch_add(&s.next, 1)) < n;) look_at(ctx, &plans[i], out);
}

/* --- compiling --- */

/* Plans then need not render it again. Of a stored choice's kernel it is not known what it may take: its plan finds that out. */
static void remember(mlaf_ctx *ctx, mlaf_missing_kernel *w, mlaf_compile_job *job) {
  const mlaf_device *dev = mlaf_ctx_device(ctx);
  mlaf_err ignored;
  if (job->status || mlaf_is_library(w->build.name) || !w->build.budget[w->stage].known) return;
  memcpy(w->build.refs[w->stage].code_key, job->key, sizeof job->key);
  void *code = job->code;
  job->code = NULL;
  mlaf_status st = mlaf_build_take(&w->build, w->stage, code, job->code_size, &ignored);
  if (!st) st = mlaf_build_check(&w->build, w->calls, dev, &ignored);
  if (!st)
    mlaf_build_remember(&w->build, &ctx->hashes, mlaf_ctx_target(ctx), mlaf_ctx_toolchain(ctx));
}

/* The longest source first: it takes longest, and what begins last should be short. */
static int by_length(const void *a, const void *b) {
  const mlaf_missing_kernel *x = a, *y = b;
  const size_t n = strlen(x->build.source[x->stage]), m = strlen(y->build.source[y->stage]);
  return n < m ? 1 : n > m ? -1 : strcmp(x->build.refs[x->stage].symbol, y->build.refs[y->stage].symbol);
}

/* The number of kernels that a compiler made. */
static size_t compile_all(mlaf_ctx *ctx, mlaf_missing_kernels *w) {
  mlaf_compile_job *jobs = calloc(w->n, sizeof *jobs);
  const char *const *options = NULL, *target = mlaf_ctx_target(ctx);
  mlaf_gen *gen;
  mlaf_err ignored;
  if (!jobs || mlaf_ctx_gen(ctx, &gen, &ignored) || mlaf_gen_options(gen, target, &options, &ignored)) {
    free(jobs);
    return 0;
  }
  qsort(w->list, w->n, sizeof *w->list, by_length);
  for (size_t i = 0; i < w->n; i++) {
    const mlaf_missing_kernel *x = &w->list[i];
    jobs[i] = (mlaf_compile_job){.source = x->build.source[x->stage], .options = options, .target = target,
                                 .name = x->build.refs[x->stage].symbol};
  }
  size_t made = 0;
  mlaf_compile(ctx->compiler, jobs, w->n, NULL, NULL, &ignored);
  for (size_t i = 0; i < w->n; i++) {
    made += jobs[i].code && !jobs[i].cached;
    remember(ctx, &w->list[i], &jobs[i]);
    mlaf_compile_job_clear(&jobs[i]);
  }
  free(jobs);
  return made;
}

/* Those that are not there yet. */
static size_t missing(mlaf_ctx *ctx, const mlaf_plan_request *plans, size_t n, mlaf_plan_request *out) {
  size_t left = 0;
  for (size_t i = 0; i < n; i++)
    if (!mlaf_registry_has(ctx, &plans[i].at, plans[i].opts, &plans[i].inside)) out[left++] = plans[i];
  return left;
}

size_t mlaf_plan_compile_together(mlaf_ctx *ctx, const mlaf_plan_request *plans, size_t n) {
  mlaf_missing_kernels kernels;
  size_t made = 0;
  mlaf_plan_request *left = calloc(n + 1, sizeof *left);
  const bool kept = !ctx->bundle && mlaf_compiler_cache_dir(ctx->compiler); /* else the plans would not look for it there */
  const size_t n_left = left && kept ? missing(ctx, plans, n, left) : 0;
  if (n_left > 1) {
    mlaf_missing_kernels_init(&kernels);
    pthread_mutex_lock(&ctx->lock);
    find_missing(ctx, left, n_left, &kernels);
    if (kernels.n > 1) made = compile_all(ctx, &kernels);
    pthread_mutex_unlock(&ctx->lock);
    mlaf_missing_kernels_clear(&kernels);
  }
  free(left);
  return made;
}
