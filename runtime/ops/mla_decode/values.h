/* What becomes of attention's rows by W_UV, for variants whose combine kernel goes on into values. */
#ifndef MLAF_DECODE_VALUES_H
#define MLAF_DECODE_VALUES_H

#include "ops/mla_decode/compare.h"

/* W_UV on the host: head h's rows from h * head_stride on, row_stride apart, in elements. */
typedef struct mlaf_w_v {
  const uint16_t *data;
  int64_t row_stride, head_stride;
  int columns; /* of a head's values */
} mlaf_w_v;

/* *want's rows become values, in double precision of what W holds: row r is of head r % n_heads. LSEs stay: they tell which rows
 * are NaN or empty. */
mlaf_status mlaf_expect_values(mlaf_expected *want, size_t rows, int n_heads, const mlaf_w_v *w, mlaf_err *err);

#endif
