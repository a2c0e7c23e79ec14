/* The reference of values. */
#include "ops/mla_decode/values.h"

#include "op/numeric.h"
#include "op/sums.h"

static double dot(int32_t dtype, const double *o, const uint16_t *w, int n) {
  double sum = 0;
  if (dtype == MLAF_BF16) return mlaf_dot_bf16(o, w, n);
  for (int i = 0; i < n; i++) sum += o[i] * mlaf_decode16(dtype, w[i]);
  return sum;
}

mlaf_status mlaf_expect_values(const mlaf_expected *rows, size_t n, int n_heads, const mlaf_w_v *w, mlaf_expected *out,
                               mlaf_err *err) {
  const mlaf_problem *p = &rows->data->batch.problem;
  *out = *rows;
  out->columns = w->columns;
  out->o = malloc((n * (size_t)w->columns + 1) * sizeof *out->o);
  if (!out->o) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for values of %zu rows", n);
  for (size_t r = 0; r < n; r++)
    for (int v = 0; v < w->columns; v++)
      out->o[r * (size_t)w->columns + (size_t)v] =
          dot(p->dtype, rows->o + r * (size_t)p->rank,
              w->data + (int64_t)(r % (size_t)n_heads) * w->head_stride + v * w->row_stride, p->rank);
  return MLAF_OK;
}
