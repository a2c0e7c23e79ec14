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

TEST(scalar_instructions) { diff_run(cases, sizeof cases / sizeof *cases); }

TESTS(NULL, NULL)
