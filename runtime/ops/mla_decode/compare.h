/* Comparing one output with its reference. */
#pragma once

#include "op/verified.h"
#include "ops/mla_decode/testcase.h"

/* A case with what it must give. */
typedef struct mlaf_expected {
  mlaf_testcase *data;
  double *o, *lse, *magnitude;
  int columns; /* of a row of o; 0: the problem's rank */
} mlaf_expected;

/* Compare o [T, H, R] (dtype) and lse [T, H] (NULL: there is none) over all rows; updates the worst figures in `out`. False when
 * any bound is exceeded, a NaN is missing or unwanted, or an empty row is not exact: then out->detail names the worst element. */
bool mlaf_compare(const mlaf_expected *want, const uint16_t *o, const float *lse, mlaf_verify_result *out);

/* Bound of O's error: relative Frobenius error of a whole case, and twice that for any single row. Values made of it may differ
 * by what their own rounding adds. */
double mlaf_error_bound(mlaf_dtype dtype);
/* Bound of the error of a row's LSE, in natural-log units. u = 2^-24, d = rank + rope, n tokens seen, A = the row's
 * magnitude (ops/mla_decode/reference.h). Rounding errors of a sum of k terms stay below 8 sqrt(k) u times the sum of magnitudes
 * but for a chance of 2 exp(-32) (Higham and Mary 2019; the certain bound has k in place of 8 sqrt(k)):
 *   scores: exact 16-bit products, d fp32 additions, the roundings of scale and log2(e) .......... 8 sqrt(d + 4) u A
 *   sum:    n additions of positive terms, n rescales, exp2 and the merge of splits at 2 u each ... (16 sqrt(n) + 16) u
 *   log2, the running maximum added, the change of base ............................................ 8 u |lse| */
double mlaf_lse_bound(int32_t d, int64_t n, double magnitude, double lse);
