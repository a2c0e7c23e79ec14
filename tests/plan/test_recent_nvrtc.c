/* Kernels of the latest processes' plans are there when a context is: over a fake CUDA driver, with a real kernel that it does
 * not run. */
#include "compile/internal.h"
#include "db/db_fixture.h"
#include "mlaforge/mlaforge.h"
#include "need.h"
#include "plan/ctx.h"
#include "plan/plan.h"
#include "run/build.h"
#include "said.h"

#define PROBLEM "mla_append:h16,r512,p64,bf16,paged,pairs,norm,t1"

/* The driver knows any kernel, or none of ours. */
static mlaf_ctx *context_where(const char *cache, bool any) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_ctx *ctx = NULL;
  char why[4096] = "", path[600];
  snprintf(path, sizeof path, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR"));
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  if (any) setenv("FAKECUDA_ANY", "1", 1);
  else unsetenv("FAKECUDA_ANY");
  o.device = "cuda", o.cache_dir = cache, o.log_level = MLAF_LOG_ERROR, o.flags = MLAF_CTX_NO_DB;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  return ctx;
}
static mlaf_ctx *context(const char *cache) { return context_where(cache, true); }

/* The module that the plan runs, which it keeps until the caller lets go of it. */
static mlaf_plan *planned(mlaf_ctx *ctx, uint32_t flags, const mlaf_module **module) {
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_plan *plan = NULL;
  mlaf_point p;
  char why[4096] = "";
  if (mlaf_point_parse(NULL, PROBLEM, &p, why, sizeof why)) fail_msg("%s", why);
  opts.flags = flags;
  if (mlaf_plan_create_at(ctx, &p, &opts, &plan)) fail_msg("%s", said(ctx));
  *module = mlaf_plan_bound(plan)->stage[0].module;
  return plan;
}

static int held(const mlaf_ctx *ctx) {
  int n = 0;
  for (int i = 0; i < MLAF_HELD_MAX; i++) n += ctx->compiler->held[i].key[0] != 0;
  return n;
}

static void leave(mlaf_ctx *ctx, mlaf_plan *plan) {
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

static void rewrite(const char *path, const char *text) {
  mlaf_err err;
  if (mlaf_file_publish(path, text, strlen(text), &err)) fail_msg("%s", err.text);
}

/* The first process compiles; the second has the kernel with its context, so that its plan needs no file. */
TEST_OF(a_first_plan_finds_its_kernel, const db_dir *d) {
  char cache[200], code[400], hidden[420], key[MLAF_HASH_HEX], hint[300], line[300];
  const mlaf_module *module;
  need_compiler("sm_90a");
  snprintf(cache, sizeof cache, "%s-cache", d->dir);
  snprintf(hint, sizeof hint, "%s/recent/sm_90a.tsv", cache);

  mlaf_ctx *ctx = context(cache);
  assert_int_equal(ctx->recent.first.n, 0);
  leave(ctx, planned(ctx, 0, &module));

  ctx = context(cache);
  assert_int_equal(ctx->recent.first.n, 1);
  assert_non_null(ctx->recent.first.kernels[0].module);
  assert_int_equal(held(ctx), 1);
  snprintf(key, sizeof key, "%s", ctx->recent.first.kernels[0].key);
  snprintf(code, sizeof code, "%s/v1/sm_90a/%.2s/%s.co", cache, key, key);
  snprintf(hidden, sizeof hidden, "%s.away", code);
  assert_int_equal(rename(code, hidden), 0);
  mlaf_plan *plan = planned(ctx, MLAF_PLAN_NO_COMPILE, &module);
  assert_ptr_equal(module, ctx->recent.first.kernels[0].module);
  assert_int_equal(held(ctx), 0);
  leave(ctx, plan);

  ctx = context(cache); /* its code is gone: nothing to load, nothing to say */
  assert_int_equal(ctx->recent.first.n, 0);
  mlaf_ctx_destroy(ctx);
  assert_int_equal(rename(hidden, code), 0);

  snprintf(line, sizeof line, "\t\nno key\tx\n%s\n%.60s\tx\n%s\tno_such_kernel\n", key, key, key);
  rewrite(hint, line); /* damaged: nothing of it is taken */
  ctx = context_where(cache, false);
  assert_int_equal(ctx->recent.first.n, 0);
  assert_int_equal(held(ctx), 0);
  mlaf_ctx_destroy(ctx);

  setenv("MLAF_LOAD_AHEAD", "0", 1);
  ctx = context(cache);
  assert_int_equal(ctx->recent.first.n, 0);
  mlaf_ctx_destroy(ctx);
  unsetenv("MLAF_LOAD_AHEAD");
}

/* Later plans of a process are on their own list, and are there for the next one, too. */
TEST_OF(later_plans_find_theirs, const db_dir *d) {
  char cache[200];
  const mlaf_module *module;
  need_compiler("sm_90a");
  snprintf(cache, sizeof cache, "%s-cache", d->dir);
  mlaf_ctx *ctx = context(cache);
  ctx->recent.noted = true; /* it has had one */
  leave(ctx, planned(ctx, 0, &module));

  ctx = context(cache);
  assert_int_equal(ctx->recent.first.n, 0);
  assert_int_equal(ctx->recent.later.n, 1);
  assert_int_equal(held(ctx), 1);
  mlaf_plan *plan = planned(ctx, MLAF_PLAN_NO_COMPILE, &module);
  assert_ptr_equal(module, ctx->recent.later.kernels[0].module);
  assert_int_equal(ctx->recent.first.n, 1); /* as this context's first plan it is among those now */
  leave(ctx, plan);

  ctx = context(cache); /* once, of both lists */
  assert_int_equal(ctx->recent.first.n, 1);
  assert_int_equal(ctx->recent.later.n, 0);
  mlaf_ctx_destroy(ctx);
}

/* The latest stand in front, of each plan its first kernel; the oldest goes, but no first plan's for one behind it. */
static void note(mlaf_ctx *ctx, int number, bool first) {
  mlaf_build b = {.n = 2};
  for (int i = 0; i < 2; i++) {
    snprintf(b.refs[i].code_key, sizeof b.refs[i].code_key, "%064d", 2 * number + i);
    snprintf(b.refs[i].symbol, sizeof b.refs[i].symbol, "kernel_%d", 2 * number + i);
  }
  ctx->recent.noted = !first;
  mlaf_recent_note(ctx, &b);
}

static void expect_list(const char *cache, const char *name, const int *numbers, int n) {
  char path[300];
  void *data;
  size_t size;
  mlaf_err err;
  snprintf(path, sizeof path, "%s/recent/%s.tsv", cache, name);
  if (mlaf_file_read(path, 65536, &data, &size, &err)) fail_msg("%s", err.text);
  const char *text = data;
  for (int i = 0; i < n; i++) {
    char want[200];
    const int length = snprintf(want, sizeof want, "%064d\tkernel_%d\n", numbers[i], numbers[i]);
    assert_memory_equal(text, want, (size_t)length);
    text += length;
  }
  assert_int_equal(*text, '\n'); /* and nothing behind them */
  free(data);
}

TEST_OF(the_oldest_goes, const db_dir *d) {
  char cache[200];
  int later[MLAF_RECENT_LATER];
  snprintf(cache, sizeof cache, "%s-cache", d->dir);
  mlaf_ctx *ctx = context(cache);
  for (int i = 1; i <= 5; i++) note(ctx, i, true);
  note(ctx, 3, true); /* known: it stays where it is */
  assert_int_equal(ctx->recent.first.n, MLAF_RECENT_FIRST);
  expect_list(cache, "sm_90a", (const int[]){10, 11, 8, 9, 6, 7, 4, 5}, MLAF_RECENT_FIRST);

  for (int i = 4; i <= 30; i++) note(ctx, i, false); /* 4 and 5 are on the other list */
  for (int i = 0; i < MLAF_RECENT_LATER; i++) later[i] = 2 * (30 - i / 2) + i % 2;
  assert_int_equal(ctx->recent.later.n, MLAF_RECENT_LATER);
  expect_list(cache, "sm_90a-later", later, MLAF_RECENT_LATER);
  expect_list(cache, "sm_90a", (const int[]){10, 11, 8, 9, 6, 7, 4, 5}, MLAF_RECENT_FIRST);
  mlaf_ctx_destroy(ctx);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
