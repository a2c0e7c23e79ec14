/* The public tuning calls on a context: options checked, progress that stops, text out and in again. */
#include "db/db_fixture.h"
#include "mlaforge/mlaforge.h"
#include "need.h"

static mlaf_ctx *open_ctx(db_dir *d) {
  char cache[128], why[1024];
  mlaf_ctx *ctx = NULL;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  snprintf(cache, sizeof cache, "%s/cache", d->dir);
  o.device = "emu:gfx942";
  o.db_path = d->path;
  o.cache_dir = cache;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why) != MLAF_OK) fail_msg("%s", why);
  return ctx;
}

static int teardown(void **state) {
  db_dir *d = *state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s/cache'", d->dir);
  if (system(command) != 0) return -1;
  return db_dir_teardown(state);
}

static const char *message(mlaf_ctx *ctx) {
  static char text[4096];
  mlaf_ctx_last_message(ctx, text, sizeof text);
  return text;
}

static int stop_at_once(void *user, const mlaf_tune_progress *p) {
  assert_int_equal(p->struct_size, sizeof *p);
  ++*(int *)user;
  return 1;
}

TEST(arguments_are_checked) {
  mlaf_ctx *ctx = open_ctx(*state);
  mlaf_problem p = MLAF_PROBLEM_INIT;
  mlaf_tune_opts o = MLAF_TUNE_OPTS_INIT;
  assert_int_equal(mlaf_tune(NULL, &p, NULL, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_tune(ctx, NULL, NULL, NULL), MLAF_E_ARG);
  p.heads = 0;
  assert_int_equal(mlaf_tune(ctx, &p, NULL, NULL), MLAF_E_PROBLEM);
  assert_has(message(ctx), "heads");
  p.heads = 16;
  o.flags = 1u << 9;
  assert_int_equal(mlaf_tune(ctx, &p, &o, NULL), MLAF_E_ARG);
  assert_has(message(ctx), "0x200");
  o = (mlaf_tune_opts)MLAF_TUNE_OPTS_INIT;
  o.time_limit_s = -1;
  assert_int_equal(mlaf_tune(ctx, &p, &o, NULL), MLAF_E_ARG);
  o.time_limit_s = 0;
  o.lengths = "sideways";
  assert_int_equal(mlaf_tune(ctx, &p, &o, NULL), MLAF_E_ARG);
  assert_has(message(ctx), "sideways");
  o.struct_size = 3;
  assert_int_equal(mlaf_tune(ctx, &p, &o, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_tuning_import(ctx, NULL, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_tuning_export(ctx, 0, NULL), MLAF_E_ARG);
  mlaf_ctx_destroy(ctx);
}

TEST_OF(tune_stop_and_export, db_dir *d) {
  need_compiler("gfx942");
  mlaf_ctx *ctx = open_ctx(d);
  mlaf_problem p = make_problem(16, 1, 256);
  mlaf_tune_opts o = MLAF_TUNE_OPTS_INIT;
  mlaf_tune_result r = MLAF_TUNE_RESULT_INIT;
  int calls = 0;
  o.max_candidates = 3;
  mlaf_status status = mlaf_tune(ctx, &p, &o, &r);
  if (status != MLAF_OK) fail_msg("%s", message(ctx));
  assert_int_equal(r.struct_size, sizeof r);
  assert_int_equal(r.candidates, 3);
  assert_true(r.compiles > 0 && r.ns > 0 && r.error > 0 && r.error < 2.5e-3 && r.knob > 0);
  assert_string_equal(r.source, "modelled");
  o.flags = MLAF_TUNE_NO_RESUME;
  o.progress = stop_at_once;
  o.progress_user = &calls;
  assert_int_equal(mlaf_tune(ctx, &p, &o, &r), MLAF_E_CANCELLED);
  assert_string_equal(r.stopped, "cancelled");
  assert_true(calls > 0);
  char *text = NULL, *again = NULL;
  size_t n = 0;
  assert_int_equal(mlaf_tuning_export(ctx, 0, &text), MLAF_OK);
  assert_has(text, "emu:gfx942");
  mlaf_ctx_destroy(ctx);
  unlink(d->path); /* another rank */
  ctx = open_ctx(d);
  assert_int_equal(mlaf_tuning_import(ctx, text, &n), MLAF_OK);
  assert_int_equal(n, 1);
  assert_int_equal(mlaf_tuning_export(ctx, 1, &again), MLAF_OK);
  assert_string_equal(text, again);
  mlaf_plan *plan = NULL; /* plans from the imported choice, and compiles nothing: the cache has its kernels */
  mlaf_plan_opts po = MLAF_PLAN_OPTS_INIT;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  po.effort = MLAF_EFFORT_DB_ONLY;
  if (mlaf_plan_create(ctx, &p, &po, &plan) != MLAF_OK) fail_msg("%s", message(ctx));
  assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
  assert_string_equal(info.rung, "exact");
  assert_int_equal(info.compiles, 0);
  mlaf_plan_release(plan);
  again[strlen(again) - 2] = 'x';
  assert_int_equal(mlaf_tuning_import(ctx, again, NULL), MLAF_E_ARG);
  assert_has(message(ctx), "line 3");
  mlaf_tuning_text_free(text);
  mlaf_tuning_text_free(again);
  mlaf_ctx_destroy(ctx);
}

TESTS_EACH(db_dir_setup, teardown)
