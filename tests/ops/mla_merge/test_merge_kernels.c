/* mla_merge on the emulator: shapes and parameters verify, what is wrong in a kernel is found; checks of arguments. */
#include <string.h>

#include "verdict.h"
#include "ops/mla_merge/launch.h"

/* --- kernels --- */

static void shapes_verify(void **state) {
  static const char *const list[][2] = {
      {"mla_merge:h16,v128,bf16,t64", "rows:depth=2,threads=128/s1"},
      {"mla_merge:h5,v512,f16,t64", "rows:depth=4,threads=64/s1"},
      {"mla_merge:h3,v72,bf16,t64", "rows:depth=4,threads=64/s1"}, /* rows that fill no block */
      {"mla_merge:h128,v256,f16,t4", NULL},
  };
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
      mlaf_verify_result r;
      if (verdict_of(&b, list[i][0], list[i][1], NULL, NULL, (mlaf_inject)inject, &r))
        fail_msg("%s %s: %s", list[i][0], list[i][1] ? list[i][1] : "baseline", r.detail);
      assert_true(r.rows > 0 && r.error > 0 && r.lse_ratio > 0);
    }
  close_verdicts(&b);
}

static const struct {
  const char *from, *to;
} mistakes[] = {
    {"== 0x7f800000u", "== 0xff800000u"},                                  /* nothing is empty */
    {"(bits_of(lse) & 0x7fffffffu) == 0x7f800000u", "bits_of(lse) == 0x7f800000u"}, /* -inf is not */
    {"if (w.no_prefix) return", "if (false) return"},                      /* 0 * NaN */
    {"if (w.no_suffix) return a", "if (false) return a"},
    {"w.no_suffix ? words(0, 0, 0, 0) : b", "b"},                          /* both empty */
    {"w.no_prefix && w.no_suffix ? minus_inf()", "false ? minus_inf()"},
    {"a > b ? a : b", "a"},                                                /* overflows where b is larger by far */
    {"base_2 ? 1.0f : LOG2_E", "LOG2_E"},
    {"base_2 ? 1.0f : LN_2", "LN_2"},
    {"wa * inverse", "wa"},
    {"m + from_2 *", "from_2 *"},
    {"head * a.suffix_head", "head * a.prefix_head"},
    {"head * a.prefix_lse_head", "head * a.suffix_lse_head"},
    {"token * a.lse_token", "token"},
    {"row < a.rows", "row + 1 < a.rows"},
    {"lost ? not_a_number() : wa", "wa"},
};

static void mistakes_are_found(void **state) {
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_inject inject = strstr(mistakes[i].from, "lost") ? MLAF_INJECT_OOB_PAGE : MLAF_INJECT_NONE;
    const mlaf_status st = verdict_of(&b, "mla_merge:h5,v64,bf16,t64", "rows:depth=1,threads=64/s1", mistakes[i].from,
                                      mistakes[i].to, inject, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s': %s", mistakes[i].from, mistakes[i].to, mlaf_status_text(st));
    assert_true(r.detail[0]);
  }
  close_verdicts(&b);
}

/* --- arguments --- */

static mlaf_merge_args good(void) {
  static _Alignas(16) uint16_t tensor[3][16];
  static float sums[3][4];
  return (mlaf_merge_args){.struct_size = sizeof(mlaf_merge_args), .tokens = 4, .prefix = {.o = tensor[0], .lse = sums[0]},
                           .suffix = {.o = tensor[1], .lse = sums[1]}, .o = tensor[2], .lse = sums[2]};
}

static mlaf_status checked(const mlaf_merge_args *a, mlaf_err *err) {
  mlaf_bound b = {.stage = {{.threads = 64, .rows_per_wg = 4}}};
  assert_int_equal(mlaf_point_parse(NULL, "mla_merge:h16,v128,bf16,t64", &b.point, NULL, 0), MLAF_OK);
  *err = (mlaf_err){MLAF_OK, ""};
  return mlaf_merge_calls.check_args(&b, 1, a, err);
}

static void arguments_are_checked(void **state) {
  mlaf_err err;
  mlaf_merge_args a = good();
  assert_int_equal(checked(&a, &err), MLAF_OK);
  a.o = (void *)(uintptr_t)a.suffix.o; /* over the suffix */
  a.lse = (float *)(uintptr_t)a.suffix.lse;
  assert_int_equal(checked(&a, &err), MLAF_OK);
#define WRONG(change, word)                                                            \
  do {                                                                                 \
    a = good();                                                                        \
    change;                                                                            \
    assert_int_equal(checked(&a, &err), MLAF_E_ARG);                                   \
    if (!strstr(err.text, word)) fail_msg("'%s' does not name %s", err.text, word);    \
  } while (0)
  WRONG(a.prefix.o = NULL, "prefix.o is NULL");
  WRONG(a.suffix.lse = NULL, "suffix.lse is NULL");
  WRONG(a.o = (char *)a.o + 2, "o is");
  WRONG(a.lse = (float *)(void *)((char *)a.lse + 2), "lse is");
  WRONG(a.prefix.o_token_stride = 132, "prefix.o_token_stride");
  WRONG(a.suffix.o_head_stride = 120, "suffix.o_head_stride");
  WRONG(a.suffix.lse_head_stride = 4, "suffix.lse_token_stride");
  WRONG(a.flags = 4, "flags");
  WRONG(a.tokens = -1, "tokens");
  WRONG(a.tokens = INT32_MAX, "tokens");
  WRONG(a.flags = MLAF_MERGE_IN_PLACE, "IN_PLACE");
  WRONG(a.o = (void *)(uintptr_t)a.prefix.o; a.o_head_stride = 256, "other strides");
  WRONG(a.lse = (float *)(uintptr_t)a.suffix.lse; a.lse_token_stride = 16; a.lse_head_stride = 1, "other strides");
  const mlaf_merge_args nothing = MLAF_MERGE_ARGS_INIT;
  assert_int_equal(checked(&nothing, &err), MLAF_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_are_checked),
                                     cmocka_unit_test(shapes_verify), cmocka_unit_test(mistakes_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
