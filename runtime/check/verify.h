/* Is a loaded variant correct? Runs it on its device over random cases and compares with the fp64 reference. */
#ifndef MLAF_VERIFY_H
#define MLAF_VERIFY_H

#include "run/loaded.h"
#include "ops/mla_decode/testcase.h"

/* The cases of one problem with their references: made once, used for every variant. Immutable; sizes are small enough
 * for an emulator (some hundred tokens) and hit every path: empty and one-token requests, tile and page edges, last
 * pages partly filled, page tables in random order, several tiles per split, splits without work, running maxima that
 * rise late, both cache layouts, lse NULL. */
typedef struct mlaf_suite mlaf_suite;

/* `seed` fixes everything. With an injection the suite holds one case that carries it. */
mlaf_status mlaf_suite_create(const mlaf_problem *p, uint64_t seed, mlaf_inject inject, mlaf_suite **out,
                              mlaf_err *err);
void mlaf_suite_free(mlaf_suite *s);

typedef struct mlaf_verify_result {
  double error;      /* relative Frobenius error of O against fp64, worst case; INFINITY: NaN or a number misplaced */
  double row_error;  /* the same of one (token, head) row, worst row */
  double lse_error;  /* |lse - reference|, worst row */
  double lse_ratio;  /* lse_error over its bound, worst row: above 1 is wrong */
  int32_t cases;     /* that ran */
  int64_t rows;      /* (token, head) rows compared */
  char detail[1024]; /* "" when correct; else case, request, token, head, column of the worst element, and the values */
  char command[640]; /* reproduces this run */
} mlaf_verify_result;

/* What O may differ by: relative Frobenius error of a whole case, and twice that for any single row. */
double mlaf_error_bound(mlaf_dtype dtype);
/* What the LSE of a row may differ by, in natural-log units. u = 2^-24, d = rank + rope, n tokens seen, A = the row's
 * magnitude (core/reference.h). Rounding errors of a sum of k terms stay below 8 sqrt(k) u times the sum of magnitudes
 * but for a chance of 2 exp(-32) (Higham and Mary 2019; the certain bound has k in place of 8 sqrt(k)):
 *   scores: exact 16-bit products, d fp32 additions, the roundings of scale and log2(e) .......... 8 sqrt(d + 4) u A
 *   sum:    n additions of positive terms, n rescales, exp2 and the merge of splits at 2 u each ... (16 sqrt(n) + 16) u
 *   log2, the running maximum added, the change of base ............................................ 8 u |lse| */
double mlaf_lse_bound(int32_t d, int64_t n, double magnitude, double lse);

/* Run every case twice, in differently aligned and differently poisoned buffers, once with canaries around each and
 * once with exact allocations, and compare. MLAF_E_INCORRECT with out->detail (and err) when: a bound is exceeded, an
 * empty row is not exactly (0, -inf), a NaN appears where none belongs or is lost, a canary or an input changed, or the
 * two runs differ in any bit. Launch failures (E_FAULT, E_DEVICE, E_TIMEOUT) are returned as they are. `out` is always
 * filled as far as the runs came. */
mlaf_status mlaf_suite_run(const mlaf_suite *s, const mlaf_loaded *l, mlaf_verify_result *out, mlaf_err *err);

#endif
