/* mla_q_scale on the emulator: shapes and parameters verify, what is wrong in a kernel is found; checks of arguments. */
#include <math.h>
#include <string.h>

#include "verdict.h"
#include "ops/mla_q_scale/launch.h"

/* --- kernels --- */

static void shapes_verify(void **state) {
  static const char *const list[][2] = {
      {"mla_q_scale:h16,n192,bf16,t64", "rows:depth=2,threads=128/s1"}, /* rows that fill no block */
      {"mla_q_scale:h5,n512,f16,t64", "rows:depth=4,threads=128/s1"},
      {"mla_q_scale:h3,n72,bf16,t64", "rows:depth=4,threads=256/s1"},
      {"mla_q_scale:h128,n128,f16,t4", NULL},
  };
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
      mlaf_verify_result r;
      if (verdict_of(&b, list[i][0], list[i][1], NULL, NULL, (mlaf_inject)inject, &r))
        fail_msg("%s %s: %s", list[i][0], list[i][1] ? list[i][1] : "baseline", r.detail);
      assert_true(r.rows > 0 && r.error > 0);
    }
  close_verdicts(&b);
}

static const struct {
  const char *from, *to;
} mistakes[] = {
    {"position < 0 ? 0 :", ""},                                 /* one that nobody wrote counts */
    {"position > POSITION_MOST ? POSITION_MOST : position", "position"},
    {"(float)(k + 1)", "(float)k"},
    {"k = at / original", "k = (at + 1) / original"},           /* a step too soon */
    {"k = at / original", "k = (at - (at > 0)) / original"},    /* too late */
    {"LN_2 * log2_fast", "log2_fast"},
    {"multiply_add(beta,", "multiply_add(0.1f,"},
    {"row / H), a.beta", "row), a.beta"},                       /* another token's position */
    {"bool apart = a.x != a.y", "bool apart = false"},          /* nothing is copied */
    {"head * a.y_head", "head * a.x_head"},
    {"token * a.x_token", "token * a.y_token"},
    {"row < a.rows && (apart", "row + 1 < a.rows && (apart"},
    {"i < 8; i++) v[i] *= by", "i < 7; i++) v[i] *= by"},
};

static void mistakes_are_found(void **state) {
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_status st = verdict_of(&b, "mla_q_scale:h5,n64,bf16,t64", "rows:depth=1,threads=128/s1", mistakes[i].from,
                                      mistakes[i].to, MLAF_INJECT_NONE, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s': %s", mistakes[i].from, mistakes[i].to, mlaf_status_text(st));
    assert_true(r.detail[0]);
  }
  close_verdicts(&b);
}

/* --- arguments --- */

static mlaf_q_scale_args good(void) {
  static _Alignas(16) uint16_t tensor[2][16];
  static int64_t positions[4];
  return (mlaf_q_scale_args){.struct_size = sizeof(mlaf_q_scale_args), .tokens = 4, .x = tensor[0], .y = tensor[1],
                             .positions = positions, .beta = 0.1f, .original = 8192};
}

static mlaf_status checked(const mlaf_q_scale_args *a, mlaf_err *err) {
  mlaf_bound b = {.stage = {{.threads = 128, .rows_per_wg = 4}}};
  assert_int_equal(mlaf_point_parse(NULL, "mla_q_scale:h16,n192,bf16,t64", &b.point, NULL, 0), MLAF_OK);
  *err = (mlaf_err){MLAF_OK, ""};
  return mlaf_q_scale_calls.check_args(&b, 1, a, err);
}

static void arguments_are_checked(void **state) {
  mlaf_err err;
  mlaf_q_scale_args a = good();
  assert_int_equal(checked(&a, &err), MLAF_OK);
  a.y = NULL;
  assert_int_equal(checked(&a, &err), MLAF_OK);
#define WRONG(change, word)                                                            \
  do {                                                                                 \
    a = good();                                                                        \
    change;                                                                            \
    assert_int_equal(checked(&a, &err), MLAF_E_ARG);                                   \
    if (!strstr(err.text, word)) fail_msg("'%s' does not name %s", err.text, word);    \
  } while (0)
  WRONG(a.x = NULL, "x is NULL");
  WRONG(a.y = (char *)a.y + 2, "y is");
  WRONG(a.y = (void *)(uintptr_t)a.x, "y is x");
  WRONG(a.y = NULL; a.y_head_stride = 192, "strides");
  WRONG(a.x_token_stride = 196, "x_token_stride");
  WRONG(a.y_head_stride = 184, "y_head_stride");
  WRONG(a.y_token_stride = a.y_head_stride = 192, "y has rows that overlap");
  WRONG(a.y = NULL; a.x_token_stride = 192, "x has rows that overlap");
  WRONG(a.positions = NULL, "positions");
  WRONG(a.positions = (const int64_t *)(const void *)((const char *)a.positions + 4), "positions");
  WRONG(a.beta = NAN, "beta");
  WRONG(a.beta = 3e38f, "beta is 3e+38, must be in");
  WRONG(a.original = 0, "original");
  WRONG(a.flags = 1, "flags");
  WRONG(a.tokens = -1, "tokens");
  WRONG(a.tokens = INT32_MAX, "tokens");
  const mlaf_q_scale_args nothing = MLAF_Q_SCALE_ARGS_INIT;
  assert_int_equal(checked(&nothing, &err), MLAF_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_are_checked), cmocka_unit_test(shapes_verify),
                                     cmocka_unit_test(mistakes_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
