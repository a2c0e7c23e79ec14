/* Is a loaded variant correct? Runs it on its device over random cases and compares with the fp64 reference. */
#pragma once

#include "run/loaded.h"

/* The cases of one problem with their references: made once, used for every variant. Immutable. Which they are is the
 * operation's (op/cases.h). */
typedef struct mlaf_suite mlaf_suite;

/* `seed` fixes everything. With an injection the suite holds one case that carries it. */
mlaf_status mlaf_suite_create(const mlaf_point *p, uint64_t seed, mlaf_inject inject, mlaf_suite **out,
                              mlaf_err *err);
void mlaf_suite_free(mlaf_suite *s);

/* Run every case twice, in differently aligned and differently poisoned buffers, once with canaries around each and
 * once with exact allocations, and compare. MLAF_E_INCORRECT with out->detail (and err) when: a bound is exceeded, an
 * empty row is not exactly (0, -inf), a NaN appears where none belongs or is lost, a case without injection has no number
 * to compare, a canary or an input changed, or the two runs differ in any bit. Launch failures (E_FAULT, E_DEVICE,
 * E_TIMEOUT) are returned as they are. `out` is always filled as far as the runs came. */
mlaf_status mlaf_suite_run(const mlaf_suite *s, const mlaf_loaded *l, mlaf_verify_result *out, mlaf_err *err);
