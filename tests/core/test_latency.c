/* What planning costs once everything is known: a hit in the registry, and a hit in the database whose code is there.
 *
 * CPU time, not wall time, and the least of many runs: the machine has other work too. Loading the code on the device is the
 * driver's time (here the emulator's: it decodes the code), is measured beside and taken off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/built.h"
#include "core/ctx.h"
#include "core/place.h"
#include "db/db_internal.h"
#include "mlaforge/mlaforge.h"

#define PROBLEM "mla_decode:h5,r64,p32,q2,causal,bf16,page16,b2,s128"

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

static mlaf_ctx *open_ctx(const fixture *f) { return place_open(&f->at, NULL, NULL); }

/* The baseline variant, tuned for PROBLEM and compiled into the fixture's own cache. by_name: as a default that has no hashes. */
static fixture *begin(bool by_name) {
  fixture *f = calloc(1, sizeof *f);
  mlaf_err err;
  mlaf_plan *plan = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  const char *toolchain;
  built_open(&f->b, PROBLEM, NULL);
  place_make(&f->at);
  mlaf_ctx *ctx = open_ctx(f);
  const mlaf_build *b = &f->b.build;
  mlaf_sample s = {.splits = b->splits, .decode = b->refs[0], .outcome = MLAF_OUT_OK, .source = MLAF_SRC_MEASURED,
                   .timing = {.source = MLAF_TIME_MEASURED, .ns = 1234, .samples = 7}};
  if (b->n == 2) s.combine = b->refs[1];
  for (int i = 0; by_name && i < 2; i++) {
    mlaf_kernel_ref *ref = i ? &s.combine : &s.decode;
    ref->template_hash[0] = ref->src_hash[0] = ref->code_key[0] = 0;
  }
  snprintf(s.variant, sizeof s.variant, "%s", b->name);
  assert_int_equal(mlaf_compiler_identity(f->b.compiler, &toolchain, &err), MLAF_OK);
  assert_int_equal(mlaf_db_add_sample(ctx->db, mlaf_info(mlaf_ctx_device(ctx)), toolchain, &f->b.problem, &s, &err), MLAF_OK);
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
  assert_int_equal(mlaf_build_load(&f->b.build, mlaf_ctx_device(ctx), &f->b.problem, &loaded, &err), MLAF_OK);
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

/* In a fresh context each time: the first plan of a process. */
static void database_hit(void **state) {
  fixture *f = begin(false);
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
    assert_false(ctx->db->asked[MLAF_LAYER_SHIPPED]); /* what was measured here for this very problem is not in question */
    mlaf_ctx_destroy(ctx);
  }
  print_message("loading the code on the device: %.0f ns\n", load * 1e9);
  assert_below("database hit, a further one", again - load, 1e-3);
  assert_below("database hit, the first of a context", first - load, 1e-3);
  end(f);
}

/* A shipped default is rebuilt from its name, which takes the generator; its code is known from the first time on, so that no
 * source is rendered to find it. */
static void default_hit(void **state) {
  fixture *f = begin(true);
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

static void registry_hit(void **state) {
  enum { BATCHES = 50, HITS = 2000 };
  fixture *f = begin(false);
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(registry_hit), cmocka_unit_test(database_hit),
                                     cmocka_unit_test(default_hit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
