/* The verifier accepts a right kernel with little to spare, and finds each of twenty bugs. */
#include "cmocka_all.h"
#include "run/fake_device.h"
#include "check/verify.h"
#include "ops/mla_decode/compare.h"
#include "decode_problem.h"
#include "point.h"

static mlaf_status verify(const mlaf_problem *p, mlaf_inject inject, fake_bug bug, uint32_t splits,
                          mlaf_verify_result *out, mlaf_err *err) {
  mlaf_suite *suite = NULL;
  fake_device dev = fake_make(p, bug);
  assert_int_equal(mlaf_suite_create(pt(p), 7, inject, &suite, err), MLAF_OK);
  mlaf_loaded *l = fake_load(&dev, splits);
  assert_non_null(l);
  mlaf_status st = mlaf_suite_run(suite, l, out, err);
  mlaf_loaded_close(l);
  mlaf_suite_free(suite);
  assert_int_equal(dev.allocations, 0); /* every buffer went back, on every path */
  return st;
}

TEST(right_kernels_pass) {
  static const char *const problems[] = {
      "mla_decode:h1,r64,p0,q1,bf16,page1,b1,s100",          "mla_decode:h5,r128,p32,q3,causal,bf16,page16,b1,s100",
      "mla_decode:h16,r256,p64,q1,f16,page64,b1,s100",       "mla_decode:h2,r32,p64,q8,causal,f16,page3,b1,s100",
      "mla_decode:h3,r96,p32,q5,bf16,page7,b1,s100",         "mla_decode:h1,r32,p0,q1,bf16,page65536,b1,s100",
      "mla_decode:h2,r512,p64,q2,causal,bf16,page64,b1,s99",
  };
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    for (uint32_t splits = 1; splits <= 16; splits *= 4) {
      mlaf_problem p = parsed(problems[i]);
      mlaf_verify_result r;
      mlaf_err err = {MLAF_OK, ""};
      if (verify(&p, MLAF_INJECT_NONE, BUG_NONE, splits, &r, &err))
        fail_msg("%s, %u splits: %s", problems[i], splits, err.text);
      assert_int_equal(r.cases, 3);
      assert_true(r.error > 0 && r.error < mlaf_error_bound((mlaf_dtype)p.dtype));
      assert_true(r.lse_ratio < 1);
      assert_string_equal(r.detail, "");
      print_message("%s s%u: error %.3g of %.3g, row %.3g, lse %.2g (%.2g of its bound)\n", problems[i], splits,
                    r.error, mlaf_error_bound((mlaf_dtype)p.dtype), r.row_error, r.lse_error, r.lse_ratio);
    }
}

/* The bound must be of use: what correct rounding costs is more than a quarter of it, for both types. */
TEST(bounds_are_tight) {
  static const char *const problems[] = {"mla_decode:h16,r512,p64,q1,bf16,page16,b1,s100",
                                         "mla_decode:h16,r512,p64,q1,f16,page16,b1,s100"};
  for (int i = 0; i < 2; i++) {
    mlaf_problem p = parsed(problems[i]);
    mlaf_verify_result r;
    mlaf_err err;
    assert_int_equal(verify(&p, MLAF_INJECT_NONE, BUG_NONE, 4, &r, &err), MLAF_OK);
    assert_true(r.error > mlaf_error_bound((mlaf_dtype)p.dtype) / 4);
  }
}

typedef struct bug_case {
  fake_bug bug;
  const char *says, *problem; /* part of the detail; NULL: four heads */
  uint32_t splits;            /* 0: one */
  mlaf_inject inject;
  mlaf_status status; /* 0: MLAF_E_INCORRECT */
} bug_case;

static const bug_case bugs[] = {
    {.bug = BUG_EXTRA_TOKEN, .says = "nan, reference"},
    {.bug = BUG_DROP_TOKEN, .says = "relative error"},
    {.bug = BUG_NO_CAUSAL, .says = "no token is visible", .problem = "mla_decode:h4,r64,p32,q3,causal,bf16,page16,b1,s9"},
    {.bug = BUG_HEAD_ORDER, .says = "head"},
    {.bug = BUG_WRITE_BEHIND, .says = "behind the end of buffer o"},
    {.bug = BUG_WRITE_BEFORE, .says = "before buffer o"},
    {.bug = BUG_WRITE_INPUT, .says = "wrote to input q"},
    {.bug = BUG_RANDOM, .says = "two runs differ"},
    {.bug = BUG_COARSE_P, .says = "relative error"},
    {.bug = BUG_LSE_BASE2, .says = "lse is"},
    {.bug = BUG_LSE_P16, .says = "lse is"},
    {.bug = BUG_EMPTY_LSE, .says = "must be -inf"},
    {.bug = BUG_EMPTY_O, .says = "must be 0"},
    {.bug = BUG_COMBINE_EMPTY, .says = "nan, reference", .splits = 16},
    {.bug = BUG_PAGE_STRIDE, .says = "relative error"},
    {.bug = BUG_UNWRITTEN, .says = "column 0: o is"},
    {.bug = BUG_LAUNCH_FAILS, .says = "the fake refuses", .status = MLAF_E_FAULT},
    {.bug = BUG_SWALLOW_NAN, .says = "must be NaN", .inject = MLAF_INJECT_NAN_Q},
    {.bug = BUG_SPREAD_NAN, .says = "nan, reference", .inject = MLAF_INJECT_NAN_Q},
    {.bug = BUG_CLAMP_PAGE, .says = "must be NaN", .inject = MLAF_INJECT_OOB_PAGE},
};

TEST(every_bug_is_found) {
  bool seen[BUG_COUNT] = {true};
  for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
    const bug_case *b = &bugs[i];
    mlaf_problem p = parsed(b->problem ? b->problem : "mla_decode:h4,r64,p32,q1,bf16,page16,b1,s9");
    mlaf_verify_result r;
    mlaf_err err = {MLAF_OK, ""};
    mlaf_status st = verify(&p, b->inject, b->bug, b->splits ? b->splits : 1, &r, &err);
    seen[b->bug] = true;
    if (st != (b->status ? b->status : MLAF_E_INCORRECT) || !strstr(err.text, b->says))
      fail_msg("bug %d: status %d, '%s' does not say '%s'", b->bug, st, err.text, b->says);
    /* The detail alone must be enough to run it again. */
    assert_non_null(strstr(err.text, "mlaforge verify 'mla_decode:h4,r64,p32"));
    assert_non_null(strstr(err.text, "--seed 7"));
  }
  for (int b = 0; b < BUG_COUNT; b++) assert_true(seen[b]);
}

TEST(injections_pass_on_right_kernels) {
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q1,bf16,page16,b1,s9",
                                         "mla_decode:h3,r64,p32,q4,causal,f16,page1,b1,s9"};
  static const mlaf_inject injects[] = {MLAF_INJECT_NAN_Q, MLAF_INJECT_OOB_PAGE};
  for (int i = 0; i < 4; i++)
    for (uint32_t splits = 1; splits <= 9; splits += 4) {
      mlaf_problem p = parsed(problems[i / 2]);
      mlaf_verify_result r;
      mlaf_err err = {MLAF_OK, ""};
      if (verify(&p, injects[i % 2], BUG_NONE, splits, &r, &err)) fail_msg("%s", err.text);
      assert_int_equal(r.cases, 1);
    }
}

/* Two suites of one seed are the same data; another seed is other data. */
TEST(deterministic_by_seed) {
  mlaf_problem p = parsed("mla_decode:h4,r64,p32,q2,causal,bf16,page16,b1,s9");
  mlaf_case_spec spec = {.name = "x",
                         .problem = p,
                         .seed = 5,
                         .n = 2,
                         .q_lens = {2, 1},
                         .kv_lens = {40, 17},
                         .unused_pages = 2,
                         .score_std = 1};
  mlaf_testcase *a = NULL, *b = NULL, *c = NULL;
  assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &a, NULL), MLAF_OK);
  assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &b, NULL), MLAF_OK);
  spec.seed = 6;
  assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &c, NULL), MLAF_OK);
  assert_memory_equal(a->ckv, b->ckv, a->ckv_count * 2);
  assert_memory_equal(a->q, b->q, a->q_count * 2);
  assert_memory_not_equal(a->q, c->q, a->q_count * 2);
  /* 3 + 2 pages of 16 rows are used of 7; whoever reads a row that holds no token reads NaN. */
  size_t nan_rows = 0;
  for (size_t i = 0; i < a->ckv_count; i += 96) nan_rows += a->ckv[i] == MLAF_NAN16;
  assert_int_equal(nan_rows, 7 * 16 - 40 - 17);
  mlaf_testcase_free(a);
  mlaf_testcase_free(b);
  mlaf_testcase_free(c);
  spec.kv_lens[1] = -1;
  mlaf_err err;
  assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &a, &err), MLAF_E_ARG);
  spec.kv_lens[0] = spec.kv_lens[1] = 0;
  assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NAN_Q, &a, &err), MLAF_E_ARG);
  assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_OOB_PAGE, &a, &err), MLAF_E_ARG);
}

TESTS(NULL, NULL)
