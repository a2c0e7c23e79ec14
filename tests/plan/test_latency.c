/* Cost of planning once everything is known: a hit in the registry, and a hit in the database whose code is there.
 *
 * What the first plan of a process does is counted: files, rows of tuning text, Lua and SQLite states; the times beside it are
 * for people. CPU time, not wall time, and the least of many runs: the machine has other work too. Loading the code on the device
 * is the driver's time (here the emulator's: it decodes the code), is measured beside and taken off. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "run/built.h"
#include "plan/ctx.h"
#include "plan/place.h"
#include "db/db_internal.h"
#include "gen/host.h"
#include "mlaforge/mlaforge.h"
#include "point.h"

#define PROBLEM "mla_decode:h5,r64,p32,q2,causal,bf16,page16,b1,s128"

typedef struct fixture {
  built b;
  place at;
} fixture;

static double cpu_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Under a sanitizer the figures say nothing of the library. */
static void assert_below(const char *what, double s, double limit) {
  print_message("%s: %.0f ns\n", what, s * 1e9);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (s >= limit) fail_msg("%s: %.0f ns of CPU time, %.0f are allowed", what, s * 1e9, limit * 1e9);
#endif
}

/* Files that this program's code opens, the library's rooms with it; SQLite's own are not among them. */
static long opened;
int open(const char *path, int flags, ...);
int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
  va_end(more);
  opened++;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static mlaf_ctx *open_ctx(const fixture *f) { return place_open(&f->at, NULL, NULL); }

/* The baseline variant, tuned for PROBLEM and compiled into the fixture's own cache: as measured here, as a default that has no
 * hashes, or as by another compiler, whose key no cache here has. */
typedef enum tuned { HERE, BY_NAME, ELSEWHERE, FROM_ANOTHER_SOURCE } tuned;

static void record(const fixture *f, mlaf_ctx *ctx, tuned how) {
  const mlaf_build *b = &f->b.build;
  const char *toolchain;
  mlaf_err err;
  mlaf_sample s = {.knob = b->knob, .kernels = {b->refs[0], b->refs[1]}, .outcome = MLAF_OUT_OK, .source = MLAF_SRC_MEASURED,
                   .timing = {.source = MLAF_TIME_MEASURED, .ns = 1234, .samples = 7}};
  for (int i = 0; i < b->n; i++) {
    mlaf_kernel_ref *ref = &s.kernels[i];
    if (how == BY_NAME) ref->template_hash[0] = ref->src_hash[0] = ref->code_key[0] = 0;
    if (how >= ELSEWHERE) memset(ref->code_key, '0', 32);
    if (how == FROM_ANOTHER_SOURCE) memset(ref->src_hash, '0', 32);
  }
  snprintf(s.variant, sizeof s.variant, "%s", b->name);
  assert_int_equal(mlaf_compiler_identity(f->b.compiler, &toolchain, &err), MLAF_OK);
  assert_int_equal(mlaf_db_add_sample(ctx->db, mlaf_info(mlaf_ctx_device(ctx)), toolchain, pt(&f->b.problem), &s, &err), MLAF_OK);
}

static fixture *begin(tuned how) {
  fixture *f = calloc(1, sizeof *f);
  mlaf_plan *plan = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  built_open(&f->b, PROBLEM, NULL);
  place_make(&f->at);
  mlaf_ctx *ctx = open_ctx(f);
  record(f, ctx, how);
  o.effort = MLAF_EFFORT_DB_ONLY;
  if (mlaf_plan_create(ctx, &f->b.problem, &o, &plan)) fail_msg("%s", ctx->shared->message.text);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
  return f;
}

static void end(fixture *f) {
  built_close(&f->b);
  place_remove(&f->at);
  free(f);
}

static double load_s(const fixture *f, mlaf_ctx *ctx) {
  mlaf_loaded *loaded = NULL;
  mlaf_err err;
  const double begun = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  assert_int_equal(mlaf_build_load(&f->b.build, mlaf_ctx_device(ctx), pt(&f->b.problem), &loaded, &err), MLAF_OK);
  const double took = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - begun;
  mlaf_loaded_close(loaded);
  return took;
}

static double plan_s(const fixture *f, mlaf_ctx *ctx) {
  mlaf_plan *plan = NULL;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.effort = MLAF_EFFORT_DB_ONLY;
  o.flags = MLAF_PLAN_NO_COMPILE;
  const double begun = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
  assert_int_equal(mlaf_plan_create(ctx, &f->b.problem, &o, &plan), MLAF_OK);
  const double took = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - begun;
  assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
  assert_string_equal(info.rung, "exact");
  assert_string_equal(info.code, "cache");
  mlaf_plan_release(plan);
  return took;
}

/* Plans in a fresh context each time: the first plan of a process. */
TEST(database_hit) {
  fixture *f = begin(HERE);
  double first = 1, again = 1, load = 1;
  for (int i = 0; i < 20; i++) {
    mlaf_ctx *ctx = open_ctx(f);
    double took = plan_s(f, ctx);
    first = took < first ? took : first;
    took = plan_s(f, ctx);
    again = took < again ? took : again;
    took = load_s(f, ctx);
    load = took < load ? took : load;
    assert_null(ctx->gen); /* no Lua */
    const mlaf_db *shipped = ctx->db->outer[MLAF_LAYER_SHIPPED]; /* read with the context */
    assert_non_null(shipped);
    assert_int_equal(mlaf_db_texts_parsed(shipped), 0); /* what was measured here for this very problem is not in question */
    mlaf_ctx_destroy(ctx);
  }
  print_message("loading the code on the device: %.0f ns\n", load * 1e9);
  assert_below("database hit, a further one", again - load, 1e-3);
  assert_below("database hit, the first of a context", first - load, 1e-3);
  end(f);
}

/* Shipped choices carry the keys of the compiler that tuned them. Once compiled here, they are found without the generator. */
TEST(another_compilers_choice) {
  fixture *f = begin(ELSEWHERE);
  for (int i = 0; i < 3; i++) {
    mlaf_ctx *ctx = open_ctx(f);
    plan_s(f, ctx);
    assert_null(ctx->gen);
    mlaf_ctx_destroy(ctx);
  }
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  mlaf_plan *plan = NULL;
  o.effort = MLAF_EFFORT_DB_ONLY;
  record(f, ctx, FROM_ANOTHER_SOURCE); /* all else equal: it is refused as ever */
  assert_int_not_equal(mlaf_plan_create(ctx, &f->b.problem, &o, &plan), MLAF_OK);
  if (!strstr(ctx->shared->message.text, "another source")) fail_msg("%s", ctx->shared->message.text);
  mlaf_ctx_destroy(ctx);
  end(f);
}

/* The first plan of a process off the exact rung, once code and answers lie in the cache: no Lua state, nothing imported, no
 * transaction. */
static void first_plan(const fixture *f, int ctx_of, mlaf_effort effort, const char *rung, long files) {
  mlaf_problem p = f->b.problem;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  double best = 1, load = 1;
  char path[160];
  p.ctx = ctx_of;
  o.effort = effort;
  snprintf(path, sizeof path, "%s-misses", f->at.db);
  for (int i = 0; i < 6; i++) {
    mlaf_ctx *ctx = open_ctx(f);
    mlaf_plan *plan = NULL;
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    const int changes = sqlite3_total_changes(ctx->db->sql);
    const long before = opened;
    const double begun = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    if (mlaf_plan_create(ctx, &p, &o, &plan)) fail_msg("%s", ctx->shared->message.text);
    const double took = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - begun;
    assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
    assert_string_equal(info.rung, rung);
    assert_int_equal(sqlite3_total_changes(ctx->db->sql), changes);
    assert_int_equal(access(path, F_OK), 0); /* the miss is a line */
    if (i > 0) { /* the first filled the cache */
      const mlaf_db *shipped = ctx->db->outer[MLAF_LAYER_SHIPPED];
      const double its = load_s(f, ctx);
      assert_int_equal(info.compiles, 0);
      assert_false(ctx->gen && ctx->gen->L); /* no Lua */
      assert_non_null(shipped);
      assert_null(shipped->sql);
      assert_int_equal(mlaf_db_texts_parsed(shipped), 0); /* none of its rows are of this device and shape */
      if (opened - before > files) fail_msg("rung %s: %ld files were opened, %ld are allowed", rung, opened - before, files);
      if (i == 1) print_message("rung %s: %ld files opened\n", rung, opened - before);
      best = took < best ? took : best;
      load = its < load ? its : load;
    }
    mlaf_plan_release(plan);
    mlaf_ctx_destroy(ctx);
  }
  print_message("first plan, rung %s, without the loading: %.0f ns\n", rung, (best - load) * 1e9);
}

TEST(first_plans) {
  fixture *f = begin(HERE);
  char dir[400];
  snprintf(dir, sizeof dir, "%s/tuning", getenv("MLAF_SOURCE_DIR"));
  setenv("MLAF_TUNING_DIR", dir, 1);
  first_plan(f, 3 * f->b.problem.ctx, MLAF_EFFORT_ESTIMATE, "nearest", 6);
  unlink(f->at.db);
  first_plan(f, 3 * f->b.problem.ctx, MLAF_EFFORT_ESTIMATE, "model", 6);
  unsetenv("MLAF_TUNING_DIR");
  end(f);
}

/* A shipped default is rebuilt from its name, which takes the generator; its code is known from the first time on, so that no
 * source is rendered to find it. */
TEST(default_hit) {
  fixture *f = begin(BY_NAME);
  double again = 1, load = 1;
  mlaf_ctx *ctx = open_ctx(f);
  for (int i = 0; i < 20; i++) {
    double took = plan_s(f, ctx);
    again = took < again ? took : again;
    took = load_s(f, ctx);
    load = took < load ? took : load;
  }
  assert_non_null(ctx->gen);
  mlaf_ctx_destroy(ctx);
  assert_below("default without hashes, a further plan", again - load, 4e-4);
  end(f);
}

TEST(registry_hit) {
  enum { BATCHES = 50, HITS = 2000 };
  fixture *f = begin(HERE);
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_plan *plan = NULL, *first = NULL;
  double best = 1;
  assert_int_equal(mlaf_plan_get(ctx, &f->b.problem, NULL, &first), MLAF_OK);
  for (int b = 0; b < BATCHES; b++) {
    const double begun = cpu_s(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < HITS; i++) {
      mlaf_plan_get(ctx, &f->b.problem, NULL, &plan);
      mlaf_plan_release(plan);
    }
    const double took = (cpu_s(CLOCK_THREAD_CPUTIME_ID) - begun) / HITS;
    best = took < best ? took : best;
    assert_ptr_equal(plan, first);
  }
  mlaf_plan_release(first);
  mlaf_ctx_destroy(ctx);
  assert_below("registry hit, its release included", best, 200e-9);
  end(f);
}

TESTS(NULL, NULL)
