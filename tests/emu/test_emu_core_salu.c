/* Scalar instructions against C. */
#include "valu_diff.h"

#define NAME2(line) expect_##line
#define NAME(line) NAME2(line)
#define CASE2(kind, ulp, text, ...) \
  static void NAME(__LINE__)(const lane_in *in, lane_out *out) { __VA_ARGS__; }
#define CASE(...) CASE2(__VA_ARGS__)
#include "salu_cases.h"
#undef CASE2
#undef SC
#undef J
#undef R32
#undef R64
#undef SAVE
/* Vector outputs keep what the prologue put there. */
#define CASE2(kind, ulp, text, ...) {text, kind, ulp, NAME(__LINE__)},
static const diff_case cases[] = {
#include "salu_cases.h"
};

static void scalar_instructions(void **state) { diff_run(cases, sizeof cases / sizeof *cases); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scalar_instructions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
