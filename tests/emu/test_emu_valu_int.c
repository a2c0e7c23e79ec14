/* Integer, lane, DPP and SDWA instructions against C. */
#include "valu_diff.h"

#define NAME2(line) expect_##line
#define NAME(line) NAME2(line)
#define CASE(kind, ulp, text, ...) \
  static void NAME(__LINE__)(const lane_in *in, lane_out *out) { __VA_ARGS__; }
#include "valu_cases_int.h"
#undef CASE
#define CASE(kind, ulp, text, ...) {text, kind, ulp, NAME(__LINE__)},
static const diff_case cases[] = {
#include "valu_cases_int.h"
};

TEST(integer_instructions) { diff_run_all(cases, sizeof cases / sizeof *cases); }

TESTS(NULL, NULL)
