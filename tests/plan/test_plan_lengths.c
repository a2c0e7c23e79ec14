/* Plans for requests of stated lengths: one problem tuned for two of them, and a caller who says which it has. */
#include "run/built.h"
#include "plan/ctx.h"
#include "plan/place.h"
#include "mlaforge/mlaforge.h"
#include "point.h"
#include "said.h"

#define BASE "blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=always,schedule=splits,tile=16,waves=4"
#define PROBLEM "mla_decode:h5,r64,p32,q1,bf16,page16,b2,s512"

typedef struct fixture {
  built one, two; /* the same decode kernel with one split and with two */
  place at;
} fixture;

static mlaf_ctx *open_ctx(const fixture *f) { return place_open(&f->at, NULL, NULL); }

/* As the tuner would: verified, and timed with requests of these lengths. */
static void record(const fixture *f, const built *b, double ns, const char *lengths, const char *template_hash) {
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_err err = {MLAF_OK, ""};
  const char *toolchain = NULL;
  mlaf_sample s = {.knob = b->build.knob, .kernels = {b->build.refs[0], b->build.refs[1]}, .outcome = MLAF_OUT_OK,
                   .source = MLAF_SRC_MODELLED, .timing = {.source = MLAF_TIME_MODELLED, .ns = ns, .samples = 7}, .error = 0.001};
  snprintf(s.variant, sizeof s.variant, "%s", b->build.name);
  snprintf(s.lengths, sizeof s.lengths, "%s", lengths);
  if (template_hash) snprintf(s.kernels[0].template_hash, sizeof s.kernels[0].template_hash, "%s", template_hash);
  if (mlaf_compiler_identity(b->compiler, &toolchain, &err) ||
      mlaf_db_add_sample(ctx->db, mlaf_info(mlaf_ctx_device(ctx)), toolchain, pt(&b->problem), &s, &err))
    fail_msg("%s", err.text);
  mlaf_ctx_destroy(ctx);
}

static int setup(void **state) {
  fixture *f = *state = calloc(1, sizeof *f);
  built_open(&f->one, PROBLEM, "mfma_reg:" BASE "/s1");
  built_open(&f->two, PROBLEM, "mfma_reg:" BASE "/s2,rows=1,team=1");
  place_make(&f->at);
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  built_close(&f->one);
  built_close(&f->two);
  place_remove(&f->at);
  free(f);
  return 0;
}

static void expect(mlaf_ctx *ctx, const mlaf_problem *p, const char *lengths, int splits, const char *answers, const char *note) {
  mlaf_plan *plan = NULL;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.lengths = lengths;
  if (mlaf_plan_create(ctx, p, &o, &plan)) fail_msg("%s", said(ctx));
  assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
  assert_int_equal(info.knob, splits);
  assert_string_equal(info.rung, "exact");
  assert_string_equal(info.lengths, answers);
  if (*note ? !strstr(info.notes, note) : *info.notes) fail_msg("notes: '%s', not '%s'", info.notes, note);
  mlaf_plan_release(plan);
}

TEST_OF(each_has_its_own, fixture *f) {
  const mlaf_problem *p = &f->one.problem;
  record(f, &f->one, 1000, "equal", NULL);
  record(f, &f->two, 1200, "equal", NULL);
  record(f, &f->one, 1500, "normal:1,0.5", NULL);
  record(f, &f->two, 1100, "normal:1,0.5", NULL); /* the newest lengths: those of the choice */
  mlaf_ctx *ctx = open_ctx(f);
  expect(ctx, p, NULL, 2, "normal:1,0.5", "");
  expect(ctx, p, "equal", 1, "equal", "");
  expect(ctx, p, "normal:1.0,0.50", 2, "normal:1,0.5", ""); /* another spelling */
  expect(ctx, p, "uniform", 2, "normal:1,0.5", "nothing was tuned here with requests of lengths uniform");
  mlaf_ctx_destroy(ctx);
  /* a template that changed since voids its sample for these lengths, too: what is left is the choice */
  char other[MLAF_HASH_HEX];
  mlaf_sha256_hex("other", 5, other);
  record(f, &f->one, 10, "uniform", other);
  record(f, &f->two, 1100, "normal:1,0.5", NULL);
  ctx = open_ctx(f);
  expect(ctx, p, "uniform", 2, "normal:1,0.5", "changed since it was tuned");
  mlaf_ctx_destroy(ctx);
}

TEST_OF(registry_tells_them_apart, fixture *f) {
  mlaf_ctx *ctx = open_ctx(f);
  const mlaf_problem *p = &f->one.problem;
  mlaf_plan *any = NULL, *equal = NULL, *old = NULL, *again = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT, first = MLAF_PLAN_OPTS_INIT;
  assert_int_equal(mlaf_plan_get(ctx, p, NULL, &any), MLAF_OK);
  o.lengths = "equal";
  assert_int_equal(mlaf_plan_get(ctx, p, &o, &equal), MLAF_OK);
  assert_int_equal(mlaf_plan_get(ctx, p, &o, &again), MLAF_OK);
  assert_true(any != equal && equal == again);
  /* a caller built against the first version of the struct, with whatever lies behind it */
  first.struct_size = offsetof(mlaf_plan_opts, lengths);
  first.lengths = "no lengths";
  assert_int_equal(mlaf_plan_get(ctx, p, &first, &old), MLAF_OK);
  assert_ptr_equal(old, any);
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  info.struct_size = offsetof(mlaf_plan_info, lengths);
  info.lengths = "untouched";
  assert_int_equal(mlaf_plan_query(old, &info), MLAF_OK);
  assert_string_equal(info.lengths, "untouched");
  mlaf_plan *plans[] = {any, equal, again, old};
  for (int i = 0; i < 4; i++) mlaf_plan_release(plans[i]);
  o.lengths = "long ones";
  assert_int_equal(mlaf_plan_get(ctx, p, &o, &any), MLAF_E_ARG);
  assert_non_null(strstr(said(ctx), "lengths 'long ones': accepted are"));
  mlaf_ctx_destroy(ctx);
}

/* mlaf_plan_get's plan for p: choices for sizes between those that plans are made for serve it. */
static void expect_get(mlaf_ctx *ctx, mlaf_problem p, int32_t cached, const char *lengths, int splits, const char *tuned_for) {
  mlaf_plan *plan = NULL;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  p.ctx = cached;
  o.lengths = lengths;
  assert_int_equal(mlaf_plan_get(ctx, &p, &o, &plan), MLAF_OK);
  assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
  assert_string_equal(info.rung, "exact");
  assert_string_equal(info.tuned_for, tuned_for);
  assert_string_equal(info.notes, "");
  assert_int_equal(info.knob, splits);
  mlaf_plan_release(plan);
}

TEST_OF(serves_what_rounds_to_it, fixture *f) {
  built one = f->one, two = f->two;
  mlaf_plan *plan = NULL;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  one.problem.ctx = two.problem.ctx = 2000; /* between 1792 and 2048 */
  record(f, &one, 1000, "equal", NULL);
  record(f, &two, 1200, "equal", NULL);
  record(f, &one, 1500, "normal:1,0.5", NULL);
  record(f, &two, 1100, "normal:1,0.5", NULL);
  mlaf_ctx *ctx = open_ctx(f);
  const char *at = "mla_decode:h5,r64,p32,q1,bf16,page16,b2,s2000";
  expect_get(ctx, one.problem, 2000, NULL, 2, at);
  expect_get(ctx, one.problem, 2000, "equal", 1, at);
  expect_get(ctx, one.problem, 2000, "normal:1,0.5", 2, at);
  expect_get(ctx, one.problem, 1793, "equal", 1, at);
  expect_get(ctx, one.problem, 2048, "equal", 1, at);
  one.problem.ctx = 2049; /* rounds to 2560 */
  assert_int_equal(mlaf_plan_get(ctx, &one.problem, NULL, &plan), MLAF_OK);
  assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
  assert_string_not_equal(info.rung, "exact");
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
  one.problem.ctx = 2048; /* the point itself comes first */
  record(f, &one, 1000, "normal:1,0.5", NULL);
  ctx = open_ctx(f);
  expect_get(ctx, one.problem, 2000, "normal:1,0.5", 1, "mla_decode:h5,r64,p32,q1,bf16,page16,b2,s2048");
  mlaf_ctx_destroy(ctx);
}

TESTS(setup, teardown)
