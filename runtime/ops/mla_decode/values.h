/* Multiplies attention's rows by W_UV, for variants whose combine kernel is fused with the value projection. */
#pragma once

#include "ops/mla_decode/compare.h"

/* W_UV on the host: head h's rows from h * head_stride on, row_stride apart, in elements. */
typedef struct mlaf_w_v {
  const uint16_t *data;
  int64_t row_stride, head_stride;
  int columns; /* of a head's values */
} mlaf_w_v;

/* Computes the values that `rows` leads to: in double precision of what W holds, row r of head r % n_heads. out->o is the
 * caller's to free; LSEs are those of `rows`, and tell which are NaN or empty. */
mlaf_status mlaf_expect_values(const mlaf_expected *rows, size_t n, int n_heads, const mlaf_w_v *w, mlaf_expected *out,
                               mlaf_err *err);
