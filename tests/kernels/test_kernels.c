/* Whole kernels on the emulator: variants of both families over a covering set of problems, each verified against fp64
 * (ragged lengths with 0 and 1, random page order, poisons, canaries, several split counts; see runtime/check/verify.h).
 * MLAF_KERNEL_VARIANTS=N verifies N variants of each problem instead of two; "all" every distinct kernel. */
#include "cmocka_all.h"
#include "check/verify.h"
#include "ops/mla_decode/fields.h"
#include "rig.h"
#include "point.h"

/* Heads x q_len x (rank, rope) x page size x mask x type, so that every value meets the ones it could quarrel with. */
static const char *const problems[] = {
    "mla_decode:h1,r512,p64,q1,bf16,page64,b4,s1024",         "mla_decode:h5,r256,p32,q3,causal,bf16,page1,b4,s1024",
    "mla_decode:h8,r512,p64,q2,causal,bf16,page16,b4,s1024",  "mla_decode:h16,r512,p64,q1,bf16,page1,b4,s1024",
    "mla_decode:h16,r512,p0,q5,bf16,page16,b4,s1024",         "mla_decode:h20,r512,p64,q1,f16,page64,b4,s1024",
    "mla_decode:h40,r256,p64,q2,causal,bf16,page3,b4,s1024",  "mla_decode:h64,r256,p32,q1,bf16,page16,b4,s1024",
    "mla_decode:h128,r512,p64,q1,bf16,page64,b4,s1024",       "mla_decode:h128,r512,p0,q1,f16,page1,b4,s1024",
    "mla_decode:h5,r256,p64,q16,causal,bf16,page64,b4,s1024",  "mla_decode:h16,r96,p32,q1,bf16,page48,b4,s1024",
};

static size_t wanted_variants(size_t n) {
  const char *text = getenv("MLAF_KERNEL_VARIANTS");
  size_t wanted = !text ? 2 : !strcmp(text, "all") ? n : strtoul(text, NULL, 10);
  return wanted < n ? wanted : n;
}

/* Verify a spread of the problem's variants, another spread for each `turn`. Returns how many. */
static size_t verify_problem(rig *r, const char *text, size_t turn, double *worst) {
  mlaf_problem p = rig_problem(text);
  rig_candidates c;
  mlaf_suite *suite;
  mlaf_err err = {MLAF_OK, ""};
  rig_candidates_make(r, &p, &c);
  if (c.n < 24) fail_msg("%s: %zu distinct variants; 24 are promised", text, c.n);
  if (mlaf_suite_create(pt(&p), 7 + turn, MLAF_INJECT_NONE, &suite, &err)) fail_msg("%s: %s", text, err.text);
  const size_t wanted = wanted_variants(c.n);
  const mlaf_variant **chosen = calloc(wanted + 1, sizeof *chosen);
  for (size_t k = 0; k < wanted; k++) chosen[k] = c.distinct[(turn + k * c.n / wanted) % c.n];
  rig_compile(r, chosen, wanted);
  *worst = 0;
  for (size_t k = 0; k < wanted; k++) {
    mlaf_loaded *l = rig_load(r, &p, chosen[k]);
    mlaf_verify_result result;
    if (mlaf_suite_run(suite, l, &result, &err)) fail_msg("%s\n%s\n%s", text, chosen[k]->name, err.text);
    if (result.error > *worst) *worst = result.error;
    mlaf_loaded_close(l);
  }
  free(chosen);
  mlaf_suite_free(suite);
  rig_candidates_free(&c);
  return wanted;
}

TEST(every_sampled_variant_is_correct) {
  rig r;
  rig_open(&r);
  size_t verified = 0;
  double worst;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) verified += verify_problem(&r, problems[i], i, &worst);
  print_message("%zu kernels verified\n", verified);
  rig_close(&r);
}

/* Heads gathered over ranks: between 128 and the most there may be, which is the edge of gen/limits.lua. */
TEST(many_heads) {
  static const char *const rest[] = {"r512,p64,q1,bf16,page64", "r256,p64,q2,causal,bf16,page16", "r512,p64,q3,causal,f16,page1"};
  const int heads[] = {192, MLA_DECODE_HEADS_MAX, MLA_DECODE_HEADS_MAX};
  rig r;
  rig_open(&r);
  for (size_t i = 0; i < 3; i++) {
    char text[MLAF_PROBLEM_TEXT_MAX];
    double worst;
    snprintf(text, sizeof text, "mla_decode:h%d,%s,b4,s1024", heads[i], rest[i]);
    const size_t n = verify_problem(&r, text, i, &worst);
    print_message("%s: %zu variants, worst error %.2e\n", text, n, worst);
  }
  rig_close(&r);
}

/* Every heads x q_len pair, each with one of the four (rank, rope) pairs, page sizes and masks in rotation, so that all
 * values of any two of heads, q_len and (rank, rope) meet. Long: only with MLAF_KERNEL_GRID set (tools/verify-grid.sh). */
static void covering_grid(void **state) {
  static const int heads[] = {1, 5, 8, 16, 20, 40, 64, 128}, q_lens[] = {1, 2, 3, 8, 16}, pages[] = {64, 1, 16};
  static const char *const dims[] = {"r512,p64", "r512,p0", "r256,p64", "r256,p32"};
  rig r;
  rig_open(&r);
  size_t verified = 0;
  double worst = 0, error;
  for (size_t i = 0; i < 8; i++)
    for (size_t j = 0; j < 5; j++) {
      char text[MLAF_PROBLEM_TEXT_MAX];
      snprintf(text, sizeof text, "mla_decode:h%d,%s,q%d%s,bf16,page%d,b4,s1024", heads[i], dims[(i + j) % 4], q_lens[j],
               q_lens[j] > 1 && (i + j) % 2 == 0 ? ",causal" : "", pages[(2 * i + j) % 3]);
      size_t n = verify_problem(&r, text, 5 * i + j, &error);
      printf("%-58s %3zu variants, worst error %.2e\n", text, n, error);
      fflush(stdout);
      verified += n;
      worst = error > worst ? error : worst;
    }
  printf("40 problems, %zu variants compiled, executed and verified, worst error %.2e\n", verified, worst);
  rig_close(&r);
}

/* NaN in one Q row stays in that row; a page id outside the cache, more query tokens than the plan's or some behind all that the
 * host was told of make their request NaN and fault nobody. */
TEST(injected_faults_stay_where_they_are) {
  static const char *const some[] = {"mla_decode:h16,r512,p64,q1,bf16,page3,b4,s1024",
                                     "mla_decode:h128,r512,p64,q1,bf16,page64,b4,s1024"};
  rig r;
  rig_open(&r);
  for (size_t i = 0; i < 6; i++) {
    mlaf_problem p = rig_problem(some[i / 3]);
    rig_candidates c;
    mlaf_suite *suite;
    mlaf_err err;
    rig_candidates_make(&r, &p, &c);
    assert_int_equal(mlaf_suite_create(pt(&p), 3, MLAF_INJECT_NAN_Q + i % 3, &suite, &err), MLAF_OK);
    for (size_t k = 0; k < 2; k++) {
      mlaf_loaded *l = rig_load(&r, &p, c.distinct[k * (c.n - 1)]);
      mlaf_verify_result result;
      if (mlaf_suite_run(suite, l, &result, &err)) fail_msg("%s", err.text);
      mlaf_loaded_close(l);
    }
    mlaf_suite_free(suite);
    rig_candidates_free(&c);
  }
  rig_close(&r);
}

/* The variant of a problem whose merge makes `next` of its rows, in place of the first candidate of such a schedule that has one;
 * false: none has. */
static bool verify_inside(rig *r, const mlaf_problem *p, const rig_candidates *c, const char *schedule, const char *next) {
  mlaf_variant *list = NULL;
  mlaf_suite *suite;
  mlaf_verify_result result;
  mlaf_err err = {MLAF_OK, ""};
  size_t n = 0;
  for (size_t i = 0; !n && i < c->n_all; i++) {
    if (c->all[i].rejected || !strstr(c->all[i].name, schedule) || !c->all[i].kernels[1].template_name) continue;
    if (mlaf_gen_inside(r->gen, mlaf_point_text(pt(p)).s, "gfx942", c->all[i].name, false, next, &list, &n, &err))
      fail_msg("%s", err.text);
  }
  if (!n) return false;
  assert_non_null(strstr(list[0].name, "values=128"));
  mlaf_loaded *l = rig_load(r, p, &list[0]);
  if (mlaf_suite_create(pt(p), 5, MLAF_INJECT_NONE, &suite, &err)) fail_msg("%s", err.text);
  if (mlaf_suite_run(suite, l, &result, &err)) fail_msg("%s\n%s", list[0].name, err.text);
  assert_true(result.cases > 0 && result.error > 0);
  mlaf_suite_free(suite);
  mlaf_loaded_close(l);
  mlaf_variants_free(list, n);
  return true;
}

/* Merge kernels that multiply by W_UV, too, behind splits and behind launches that may cut their batch. */
TEST(merges_make_values) {
  static const struct {
    const char *problem, *next, *schedule;
  } some[] = {{"mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024", "mla_v_out:h16,r512,v128,bf16,t1", "schedule=splits"},
              {"mla_decode:h20,r512,p64,q2,causal,f16,page16,b4,s1024", "mla_v_out:h20,r512,v128,f16,t8", "schedule=fitted"},
              /* partial results of 16 bits */
              {"mla_decode:h64,r512,p64,q1,bf16,page64,b1,s1024", "mla_v_out:h64,r512,v128,bf16,t1",
               "order=columns,rescale=lazy,schedule=splits"},
              {"mla_decode:h64,r512,p64,q1,f16,page1,b4,s1024", "mla_v_out:h64,r512,v128,f16,t4",
               "order=columns,rescale=lazy,schedule=fitted"}};
  rig r;
  rig_open(&r);
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    mlaf_problem p = rig_problem(some[i].problem);
    rig_candidates c;
    rig_candidates_make(&r, &p, &c);
    if (!verify_inside(&r, &p, &c, some[i].schedule, some[i].next)) fail_msg("%s: no such merge", some[i].problem);
    rig_candidates_free(&c);
  }
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest grid[] = {cmocka_unit_test(covering_grid)};
  return getenv("MLAF_KERNEL_GRID") ? cmocka_run_group_tests(grid, NULL, NULL) : tests_run(NULL, NULL);
}
