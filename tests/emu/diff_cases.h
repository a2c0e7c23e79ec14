/* The cases of the file CASES: of each what it must give, as a function, and their table. Included once, behind valu_diff.h. */
#define CASE_NAME2(line) expect_##line
#define CASE_NAME(line)  CASE_NAME2(line)
#define CASE(...)        CASE2(__VA_ARGS__)
#define CASE2(kind, ulp, text, ...) static void CASE_NAME(__LINE__)(const lane_in *in, lane_out *out) { __VA_ARGS__; }
#include CASES
#undef CASE2
#define CASE2(kind, ulp, text, ...) {text, kind, ulp, CASE_NAME(__LINE__)},
static const diff_case cases[] = {
#include CASES
};
#undef CASE2
#undef CASE
