/* Scalar instructions against C. */
#include "valu_diff.h"

/* Vector outputs keep what the prologue put there. */
#define CASES "salu_cases.h"
#include "diff_cases.h"

TEST(scalar_instructions) { diff_run(cases, sizeof cases / sizeof *cases); }

TESTS(NULL, NULL)
