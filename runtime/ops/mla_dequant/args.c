/* The host-visible checks of a launch, and who may run. */
#include "ops/mla_dequant/dequant.h"

enum { ALIGN = 16, CHUNK = 8 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */
static const uint64_t ROWS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as kernels and AMD's packets count them */

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

mlaf_dequant_args dequant_dense(const dequant_shape *s, const mlaf_dequant_args *a) {
  mlaf_dequant_args d = *a;
  d.w_row_stride = or_else(d.w_row_stride, s->columns);
  d.w_scale_row_stride = or_else(d.w_scale_row_stride, dequant_blocks(d.w_scale_column + s->columns));
  d.y_row_stride = or_else(d.y_row_stride, s->columns);
  return d;
}

static mlaf_status check_tensor(const dequant_shape *s, const char *name, const void *at, int64_t row, int multiple,
                                mlaf_err *err) {
  if (!at) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", name);
  if ((uintptr_t)at % ALIGN) return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", name, at, ALIGN);
  if (!row || (row >= s->columns && row <= STRIDE_MOST && row % multiple == 0)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%s_row_stride is %lld, must be 0 or a multiple of %d from %d on", name, (long long)row,
                   multiple, s->columns);
}

static mlaf_status check_scales(const dequant_shape *s, const mlaf_dequant_args *a, mlaf_err *err) {
  if (!a->w_scale || (uintptr_t)a->w_scale % sizeof(float))
    return mlaf_fail(err, MLAF_E_ARG, "w_scale is %p: a scale in fp32 for each %d x %d is wanted, %d-byte aligned",
                     (const void *)a->w_scale, DEQUANT_BLOCK, DEQUANT_BLOCK, (int)sizeof(float));
  if (a->w_scale_row < 0 || a->w_scale_row > STRIDE_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "w_scale_row is %lld, must be 0..2^40", (long long)a->w_scale_row);
  if (a->w_scale_column < 0 || a->w_scale_column > STRIDE_MOST || a->w_scale_column % CHUNK)
    return mlaf_fail(err, MLAF_E_ARG, "w_scale_column is %lld, must be 0 or a multiple of %d up to 2^40",
                     (long long)a->w_scale_column, CHUNK);
  const int64_t least = dequant_blocks(a->w_scale_column + s->columns), row = or_else(a->w_scale_row_stride, least);
  if (row >= least && row <= STRIDE_MOST) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "w_scale_row_stride is %lld, must be 0 or %lld and up", (long long)row, (long long)least);
}

static mlaf_status check_size(const mlaf_stage *k, const mlaf_dequant_args *a, mlaf_err *err) {
  const uint64_t rows = (uint64_t)a->rows, blocks = (rows + k->rows_per_wg - 1) / k->rows_per_wg;
  if (rows <= ROWS_MOST && blocks <= THREADS_MOST / k->threads) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "rows is %lld: more than a launch has blocks for; launch fewer at once", (long long)a->rows);
}

mlaf_status dequant_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_dequant_args *a = args;
  const dequant_shape s = dequant_shape_of(&b->point);
  if (a->flags) return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, must be 0", a->flags);
  if (a->rows < 0 || a->rows > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "rows is %lld, must be 0..2^31-1", (long long)a->rows);
  if (!a->rows) return MLAF_OK;
  mlaf_status st = check_tensor(&s, "w", a->w, a->w_row_stride, ALIGN, err);
  if (!st) st = check_tensor(&s, "y", a->y, a->y_row_stride, CHUNK, err);
  if (!st && a->y == a->w) st = mlaf_fail(err, MLAF_E_ARG, "y is w: what has more bytes needs a place of its own");
  if (!st) st = check_scales(&s, a, err);
  return st ? st : check_size(&b->stage[0], a, err);
}

mlaf_status dequant_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no dequant kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_dequant has none: 1", b->knob);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many rows a workgroup has");
  return MLAF_OK;
}
