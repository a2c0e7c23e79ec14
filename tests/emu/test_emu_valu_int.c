/* Integer, lane, DPP and SDWA instructions against C. */
#include "valu_diff.h"

#define CASES "valu_cases_int.h"
#include "diff_cases.h"

TEST(integer_instructions) { diff_run_all(cases, sizeof cases / sizeof *cases); }

TESTS(NULL, NULL)
