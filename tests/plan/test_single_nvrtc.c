/* A choice tuned for one request does not serve several, while kernels for any lengths do: plans over a fake CUDA driver, with
 * real kernels that it does not run. */
#include "run/build.h"
#include "db/db_fixture.h"
#include "mlaforge/mlaforge.h"
#include "need.h"
#include "plan/ctx.h"
#include "plan/plan.h"
#include "plan/planner.h"
#include "plan/registry.h"
#include "point.h"

#define SHAPE "mla_decode:h16,r512,p64,q1,bf16,page64,"
#define ONE   "sm90_few:cluster=8,load=tma,rows=8,schedule=splits,wgs=1/s1"
#define ANY   "sm90_few:cluster=2,load=tma,rows=8,schedule=fitted,wgs=2/s1"

typedef struct fixture {
  db_dir *d;
  mlaf_device *dev;
  mlaf_gen *gen;
} fixture;

static fixture begin(void **state) {
  fixture f = {.d = *state};
  mlaf_err err;
  char path[600];
  need_compiler("sm_90a");
  snprintf(path, sizeof path, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR"));
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  setenv("FAKECUDA_ANY", "1", 1);
  if (mlaf_device_open("cuda", NULL, &f.dev, &err) || mlaf_gen_open(NULL, &f.gen, &err)) fail_msg("%s", err.text);
  return f;
}
static void end(fixture *f) {
  mlaf_gen_close(f->gen);
  mlaf_device_close(f->dev);
}

/* Tuned here: the choice of `problem`. */
static void tuned(fixture *f, const char *problem, const char *variant, double us) {
  mlaf_variant v = {.name = NULL};
  mlaf_build b = {.n = 0};
  mlaf_problem p;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_problem_parse(problem, &p, NULL, 0), MLAF_OK);
  if (mlaf_gen_variant(f->gen, mlaf_point_text(pt(&p)).s, "sm_90a", variant, &v, &err) || mlaf_build_init(&v, &b, &err))
    fail_msg("%s", err.text);
  mlaf_sample s = {.knob = v.knob, .kernels = {b.refs[0], b.refs[1]}, .outcome = MLAF_OUT_OK, .source = MLAF_SRC_MEASURED,
                   .error = 0.002, .timing = {.source = MLAF_TIME_MEASURED, .ns = 1000 * us, .samples = 7}};
  snprintf(s.variant, sizeof s.variant, "%s", v.name);
  snprintf(s.lengths, sizeof s.lengths, "equal");
  mlaf_db *db = open_db(f->d->path);
  if (mlaf_db_add_sample(db, mlaf_info(f->dev), TOOLCHAIN, pt(&p), &s, &err)) fail_msg("%s", err.text);
  mlaf_db_close(db);
  mlaf_build_clear(&b);
  mlaf_variant_clear(&v);
}

typedef struct planned {
  char rung[16], variant[256], tuned_for[MLAF_PROBLEM_TEXT_MAX], notes[4096];
  bool serves_next;
} planned;

/* Facts that a caller knows; `next`: the problem executed next, "": none. */
static mlaf_plan_inside knows(bool ahead, const char *next) {
  mlaf_plan_inside in = {.ahead = ahead};
  char why[200] = "";
  if (*next && mlaf_point_parse(NULL, next, &in.next, why, sizeof why)) fail_msg("%s", why);
  return in;
}

static planned plan_as(const fixture *f, const char *problem, mlaf_effort effort, mlaf_plan_inside inside, uint32_t flags) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_ctx *ctx = NULL;
  mlaf_plan *made = NULL;
  mlaf_problem p;
  char why[4096] = "", cache[512];
  snprintf(cache, sizeof cache, "%s/test-cache", getenv("MLAF_BUILD_DIR"));
  o.device = "cuda", o.db_path = f->d->path, o.cache_dir = cache, o.log_level = MLAF_LOG_ERROR;
  opts.effort = effort, opts.flags = flags;
  assert_int_equal(mlaf_problem_parse(problem, &p, NULL, 0), MLAF_OK);
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  if (mlaf_plan_create_inside(ctx, pt(&p), &opts, &inside, &made)) {
    mlaf_ctx_last_message(ctx, why, sizeof why);
    fail_msg("%s: %s", problem, why);
  }
  assert_int_equal(mlaf_plan_query(made, &info), MLAF_OK);
  planned out;
  snprintf(out.rung, sizeof out.rung, "%s", info.rung);
  snprintf(out.variant, sizeof out.variant, "%s", info.variant);
  snprintf(out.tuned_for, sizeof out.tuned_for, "%s", info.tuned_for);
  snprintf(out.notes, sizeof out.notes, "%s", info.notes);
  out.serves_next = mlaf_plan_serves_next(made);
  mlaf_plan_release(made);
  mlaf_ctx_destroy(ctx);
  return out;
}

static planned plan(const fixture *f, const char *problem, mlaf_effort effort) {
  return plan_as(f, problem, effort, knows(false, ""), 0);
}

static bool says_why(const planned *x) {
  return strstr(x->notes, "choice " ONE " of " SHAPE "b1,s1024: tuned for one request: requests of different lengths") != NULL;
}

/* True of the variants here that serve requests of any lengths. */
static bool any_lengths(const char *variant) {
  return strstr(variant, "schedule=fitted") || strstr(variant, "_shares:") || strstr(variant, "_clusters:");
}

TEST(only_choice_near_is_for_one_request) {
  fixture f = begin(state);
  tuned(&f, SHAPE "b1,s1024", ONE, 6.6);
  planned x = plan(&f, SHAPE "b4,s1024", MLAF_EFFORT_ESTIMATE); /* the model picks a kernel for any lengths */
  assert_string_equal(x.rung, "model");
  assert_true(any_lengths(x.variant));
  assert_true(says_why(&x));
  x = plan(&f, SHAPE "b1,s1200", MLAF_EFFORT_DB_ONLY); /* one request */
  assert_string_equal(x.tuned_for, SHAPE "b1,s1024");
  assert_string_equal(x.notes, "");
  x = plan(&f, SHAPE "b4,s1024", MLAF_EFFORT_DB_ONLY); /* nobody else answers */
  assert_string_equal(x.rung, "nearest");
  assert_string_equal(x.tuned_for, SHAPE "b1,s1024");
  assert_true(says_why(&x));
  end(&f);
}

/* The generator is told whether a plan's launches read index lists: sm90_mid_gather takes 42.9 us of page tables, the other
 * kernel 33.1. The device here refuses that kernel for its shared memory, which the notes say. */
TEST(forms_of_arguments_reach_the_model) {
  static const char *const problem = "mla_decode:h128,page1,b45,s712";
  fixture f = begin(state);
  const planned tables = plan(&f, problem, MLAF_EFFORT_ESTIMATE);
  const planned lists = plan_as(&f, problem, MLAF_EFFORT_ESTIMATE, knows(false, ""), MLAF_PLAN_LISTS);
  if (strncmp(tables.notes, "model's sm90_many_gather_whole:", 31)) fail_msg("page tables: %s, %s", tables.variant, tables.notes);
  if (strncmp(lists.variant, "sm90_mid_gather:", 16)) fail_msg("index lists: %s, %s", lists.variant, lists.notes);
  end(&f);
}

/* Q in two tensors is served by the kernel that dense Q gets, clusters of blocks among them. */
TEST(parts_of_q_take_the_dense_variant) {
  fixture f = begin(state);
  const planned dense = plan(&f, "mla_decode:h128,b30,s600", MLAF_EFFORT_ESTIMATE);
  const planned parts = plan(&f, "mla_decode:h128,q_parts,b30,s600", MLAF_EFFORT_ESTIMATE);
  assert_non_null(strstr(dense.variant, "_clusters:"));
  assert_string_equal(parts.variant, dense.variant);
  assert_string_equal(parts.rung, "model");
  end(&f);
}

/* A choice's kernel has a fused variant for callers that say what is old; another family's has none, and serves. */
TEST(a_twin_reads_ahead) {
  fixture f = begin(state);
  tuned(&f, SHAPE "b1,s1024", ONE, 6.6);
  planned x = plan_as(&f, SHAPE "b1,s1024", MLAF_EFFORT_DB_ONLY, knows(true, ""), 0);
  assert_string_equal(x.variant, "sm90_few_ahead:cluster=8,load=tma,rows=8,schedule=splits,wgs=1/s1");
  assert_string_equal(x.rung, "exact");
  assert_string_equal(x.tuned_for, SHAPE "b1,s1024");
  assert_string_equal(plan(&f, SHAPE "b1,s1024", MLAF_EFFORT_DB_ONLY).variant, ONE);
  x = plan_as(&f, SHAPE "b1,s1024", MLAF_EFFORT_DB_ONLY, knows(true, ""), MLAF_PLAN_NO_COMPILE); /* it was made above */
  assert_non_null(strstr(x.variant, "_ahead:"));
  end(&f);
}

#define MANY     "mla_decode:h128,r512,p64,q1,bf16,page64,"
#define MID      "mla_decode:h32,r512,p64,q1,bf16,page64,"
#define VALUES_OF(heads) "mla_v_out:h" #heads ",r512,v128,bf16,t16"
#define MANY_OF4 "sm90_many:cluster=1,schedule=fitted/s4,mixed=1,rows=4,team=2"

/* Attention's combine kernel is fused with the value projection where it may; where no kernel is, it reads ahead all the same. */
TEST(a_twin_goes_on_into_values) {
  fixture f = begin(state);
  tuned(&f, MANY "b16,s1024", MANY_OF4, 18.0);
  planned x = plan_as(&f, MANY "b16,s1024", MLAF_EFFORT_DB_ONLY, knows(true, VALUES_OF(128)), 0);
  assert_string_equal(x.variant, "sm90_many_ahead:cluster=1,schedule=fitted/s4,values=128");
  assert_string_equal(x.rung, "exact");
  assert_true(x.serves_next);
  tuned(&f, MID "b16,s1024", "sm90_mid:rows=32,schedule=fitted/s2,mixed=1,rows=4,team=2", 9.0);
  x = plan_as(&f, MID "b16,s1024", MLAF_EFFORT_DB_ONLY, knows(false, VALUES_OF(32)), 0); /* and nothing is said to be old */
  assert_string_equal(x.variant, "sm90_mid:rows=32,schedule=fitted/s2,values=128");
  assert_true(x.serves_next);
  x = plan_as(&f, MANY "b16,s1024", MLAF_EFFORT_DB_ONLY, knows(true, ""), 0);
  assert_false(x.serves_next);
  static const char *const others[] = {"mla_v_out:h128,r512,v64,bf16,t16", "mla_v_out:h64,r512,v128,bf16,t16",
                                       "mla_v_out:h128,r512,v128,bf16,e4m3fn,t16", "mla_o_proj:d7168,h128,v128,bf16,t16"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) { /* none that a combine kernel serves behind it */
    x = plan_as(&f, MANY "b16,s1024", MLAF_EFFORT_DB_ONLY, knows(true, others[i]), 0);
    assert_non_null(strstr(x.variant, "sm90_many_ahead:"));
    assert_false(x.serves_next);
  }
  tuned(&f, SHAPE "b1,s1024", ONE, 6.6); /* no kernel goes on behind it */
  x = plan_as(&f, SHAPE "b1,s1024", MLAF_EFFORT_DB_ONLY, knows(true, VALUES_OF(16)), 0);
  assert_non_null(strstr(x.variant, "sm90_few_ahead:"));
  assert_false(x.serves_next);
  end(&f);
}

/* The registry has both variants of one problem, and nobody gets the other one by a flag of the planner's own. */
TEST(a_twin_is_not_asked_for_by_flags) {
  fixture f = begin(state);
  tuned(&f, SHAPE "b1,s1024", ONE, 6.6);
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_ctx *ctx = NULL;
  mlaf_plan *twin = NULL, *plan = NULL;
  mlaf_problem p;
  char why[4096] = "", cache[512];
  snprintf(cache, sizeof cache, "%s/test-cache", getenv("MLAF_BUILD_DIR"));
  o.device = "cuda", o.db_path = f.d->path, o.cache_dir = cache, o.log_level = MLAF_LOG_ERROR;
  opts.effort = MLAF_EFFORT_DB_ONLY;
  assert_int_equal(mlaf_problem_parse(SHAPE "b1,s1024", &p, NULL, 0), MLAF_OK);
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  const mlaf_plan_inside inside = knows(true, "");
  const mlaf_registry_how ahead = {.quiet = true, .inside = &inside};
  assert_int_equal(mlaf_registry_get(ctx, pt(&p), &opts, &ahead, &twin), MLAF_OK);
  assert_int_equal(mlaf_plan_get(ctx, &p, &opts, &plan), MLAF_OK);
  assert_ptr_not_equal(plan, twin);
  mlaf_plan_release(plan);
  mlaf_plan_release(twin);
  opts.flags = 1u << 30; /* which meant it once, inside */
  assert_int_equal(mlaf_plan_get(ctx, &p, &opts, &plan), MLAF_E_ARG);
  mlaf_ctx_last_message(ctx, why, sizeof why);
  assert_non_null(strstr(why, "unknown flags 0x40000000"));
  mlaf_ctx_destroy(ctx);
  end(&f);
}

/* Kernels of several plans are compiled together, each once, and the plans find them. */
TEST(plans_compile_together) {
  fixture f = begin(state);
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  const mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_ctx *ctx = NULL;
  const char *const texts[] = {"mla_append:h16,r512,p64,bf16,paged,pairs,norm,t1",
                               "mla_append:h16,r512,p64,bf16,paged,pairs,norm,t2",
                               "mla_append:h16,r256,p64,bf16,paged,pairs,norm,t1"};
  mlaf_plan_request requests[3] = {{.opts = NULL}};
  mlaf_plan *plans[3] = {NULL};
  char why[4096] = "", cache[512];
  snprintf(cache, sizeof cache, "%s-cache", f.d->path);
  o.device = "cuda", o.db_path = f.d->path, o.cache_dir = cache, o.log_level = MLAF_LOG_ERROR;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  for (int i = 0; i < 3; i++) {
    if (mlaf_point_parse(NULL, texts[i], &requests[i].at, why, sizeof why)) fail_msg("%s", why);
    requests[i].opts = &opts;
  }
  mlaf_plan_compile_together(ctx, requests, 3);
  mlaf_compile_stats stats;
  mlaf_compiler_stats(ctx->compiler, &stats);
  const uint64_t compiled = stats.compiled;
  assert_in_range(compiled, 2, 3);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(mlaf_plan_create_at(ctx, &requests[i].at, &opts, &plans[i]), MLAF_OK);
    assert_int_equal(mlaf_plan_query(plans[i], &info), MLAF_OK);
    assert_int_equal(info.compiles, 0);
    mlaf_plan_release(plans[i]);
  }
  mlaf_compiler_stats(ctx->compiler, &stats);
  assert_int_equal(stats.compiled, compiled);
  mlaf_ctx_destroy(ctx);
  end(&f);
}

TEST(a_farther_choice_for_several_serves_them) {
  fixture f = begin(state);
  tuned(&f, SHAPE "b1,s1024", ONE, 6.6);
  tuned(&f, SHAPE "b32,s1024", ANY, 13);
  const mlaf_effort efforts[] = {MLAF_EFFORT_ESTIMATE, MLAF_EFFORT_DB_ONLY};
  for (int i = 0; i < 2; i++) {
    const planned x = plan(&f, SHAPE "b4,s1024", efforts[i]);
    assert_true(any_lengths(x.variant));
    assert_true(says_why(&x));
    if (i) assert_string_equal(x.tuned_for, SHAPE "b32,s1024");
    if (i) assert_null(strstr(x.notes, "is nearest, but")); /* it is the nearest for several */
  }
  end(&f);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
