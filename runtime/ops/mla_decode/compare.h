/* Comparing one output with its reference; a part of verify. */
#ifndef MLAF_COMPARE_H
#define MLAF_COMPARE_H

#include "check/verify.h"

/* A case with what it must give. */
typedef struct mlaf_expected {
  mlaf_testcase *data;
  double *o, *lse, *magnitude;
} mlaf_expected;

/* Compare o [T, H, R] (dtype) and lse [T, H] over all rows; updates the worst figures in `out`. False when any bound is
 * exceeded, a NaN is missing or unwanted, or an empty row is not exact: then out->detail names the worst element. */
bool mlaf_compare(const mlaf_expected *want, const uint16_t *o, const float *lse, mlaf_verify_result *out);

#endif
