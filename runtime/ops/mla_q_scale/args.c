/* The host-visible checks of a launch, and who may run. */
#include <math.h>

#include "ops/mla_q_scale/scale.h"

enum { ALIGN = 16, ELEMENTS = 8 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */
static const uint64_t ROWS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as kernels and AMD's packets count them */

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

mlaf_q_scale_args q_scale_dense(const q_scale_shape *s, const mlaf_q_scale_args *a) {
  mlaf_q_scale_args d = *a;
  const int64_t token = (int64_t)s->heads * s->qdim;
  d.x_token_stride = or_else(d.x_token_stride, token);
  d.x_head_stride = or_else(d.x_head_stride, s->qdim);
  d.y = a->y ? a->y : (void *)(uintptr_t)a->x;
  d.y_token_stride = a->y ? or_else(d.y_token_stride, token) : d.x_token_stride;
  d.y_head_stride = a->y ? or_else(d.y_head_stride, s->qdim) : d.x_head_stride;
  return d;
}

static mlaf_status check_tensor(const q_scale_shape *s, const char *name, const void *at, int64_t token, int64_t head,
                                mlaf_err *err) {
  const struct {
    const char *of;
    int64_t value;
  } list[] = {{"token", token}, {"head", head}};
  if (!at) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", name);
  if ((uintptr_t)at % ALIGN) return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", name, at, ALIGN);
  for (int i = 0; i < 2; i++)
    if (list[i].value && (list[i].value < s->qdim || list[i].value > STRIDE_MOST || list[i].value % ELEMENTS))
      return mlaf_fail(err, MLAF_E_ARG, "%s_%s_stride is %lld, must be 0 or a multiple of %d from %d on", name, list[i].of,
                       (long long)list[i].value, ELEMENTS, s->qdim);
  return MLAF_OK;
}

static mlaf_status check_factor(const mlaf_q_scale_args *a, mlaf_err *err) {
  if (!a->positions || (uintptr_t)a->positions % sizeof(int64_t))
    return mlaf_fail(err, MLAF_E_ARG, "positions is %p: 64-bit positions are wanted, %d-byte aligned", (const void *)a->positions,
                     (int)sizeof(int64_t));
  if (!(fabsf(a->beta) <= MLAF_Q_SCALE_BETA_MOST))
    return mlaf_fail(err, MLAF_E_ARG, "beta is %g, must be in -%g..%g", (double)a->beta, (double)MLAF_Q_SCALE_BETA_MOST,
                     (double)MLAF_Q_SCALE_BETA_MOST);
  if (a->original < 1) return mlaf_fail(err, MLAF_E_ARG, "original is %d, must be 1 or more", a->original);
  return MLAF_OK;
}

static mlaf_status check_y(const q_scale_shape *s, const mlaf_q_scale_args *a, mlaf_err *err) {
  if (a->y == a->x) return mlaf_fail(err, MLAF_E_ARG, "y is x: in place y is NULL");
  if (a->y) return check_tensor(s, "y", a->y, a->y_token_stride, a->y_head_stride, err);
  if (!a->y_token_stride && !a->y_head_stride) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "y is NULL, and its strides are %lld and %lld: in place they must be 0",
                   (long long)a->y_token_stride, (long long)a->y_head_stride);
}

/* True if steps of `step` elements pass over n rows of `columns`, each `stride` behind the one before: as a division, since the
 * product may not fit. */
static bool clears(int64_t step, int64_t n, int64_t stride, int64_t columns) {
  return step >= columns && (step - columns) / stride >= n - 1;
}

/* Whether no two rows of a tensor share an element: its heads lie within a token, or its tokens within a head. */
static bool apart(const q_scale_shape *s, int64_t tokens, int64_t token, int64_t head) {
  return clears(token, s->heads, head, s->qdim) || clears(head, tokens, token, s->qdim);
}
static mlaf_status check_apart(const q_scale_shape *s, const mlaf_q_scale_args *a, mlaf_err *err) {
  const mlaf_q_scale_args d = q_scale_dense(s, a);
  if (apart(s, a->tokens, d.y_token_stride, d.y_head_stride)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%s has rows that overlap: strides of %lld from token to token and %lld from head to head, "
                   "for %lld tokens of %d heads of %d columns", a->y ? "y" : "x", (long long)d.y_token_stride,
                   (long long)d.y_head_stride, (long long)a->tokens, s->heads, s->qdim);
}

static mlaf_status check_size(const mlaf_stage *k, const q_scale_shape *s, const mlaf_q_scale_args *a, mlaf_err *err) {
  const uint64_t rows = (uint64_t)a->tokens * (uint64_t)s->heads, blocks = (rows + k->rows_per_wg - 1) / k->rows_per_wg;
  if (rows <= ROWS_MOST && blocks <= THREADS_MOST / k->threads) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld: more rows than a launch has blocks for; launch fewer at once",
                   (long long)a->tokens);
}

mlaf_status q_scale_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_q_scale_args *a = args;
  const q_scale_shape s = q_scale_shape_of(&b->point);
  if (a->flags) return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, must be 0", a->flags);
  if (a->tokens < 0 || a->tokens > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, must be 0..2^31-1", (long long)a->tokens);
  if (!a->tokens) return MLAF_OK;
  mlaf_status st = check_tensor(&s, "x", a->x, a->x_token_stride, a->x_head_stride, err);
  if (!st) st = check_y(&s, a, err);
  if (!st) st = check_apart(&s, a, err);
  if (!st) st = check_factor(a, err);
  return st ? st : check_size(&b->stage[0], &s, a, err);
}

mlaf_status q_scale_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no scale kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_q_scale has none: 1", b->knob);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many rows a workgroup has");
  return MLAF_OK;
}
