/* Taking a problem in from a caller. */
#ifndef MLAF_PROBLEM_INTERNAL_H
#define MLAF_PROBLEM_INTERNAL_H

#include "mlaforge/problem.h"

/* Check and canonicalise a copy: the caller's struct stays as it is, may be longer than ours (with zeros behind), and `out`
 * has our size. `out` is untouched on failure. */
mlaf_status mlaf_problem_take(const mlaf_problem *in, mlaf_problem *out, char *why, size_t why_size);

#endif
