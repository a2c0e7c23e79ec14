/* The walk over a table of arguments. */
#include "op/args_check.h"

static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */
enum { SIZED_MULTIPLE = 16 };                        /* bytes */
static const uint64_t ROWS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as kernels and AMD's packets count them */

static const void *pointer_at(const void *args, size_t at) {
  const void *p;
  memcpy(&p, (const char *)args + at, sizeof p);
  return p;
}
static int64_t i64_at(const void *args, size_t at) {
  int64_t x;
  memcpy(&x, (const char *)args + at, sizeof x);
  return x;
}
static uint32_t u32_at(const void *args, size_t at) {
  uint32_t x;
  memcpy(&x, (const char *)args + at, sizeof x);
  return x;
}

int64_t mlaf_arguments_count(const mlaf_args_table *t, const void *args) {
  return t->also_at && !u32_at(args, t->also_at) ? 0 : i64_at(args, t->count_at);
}

bool mlaf_arguments_in_place(const mlaf_args_table *t, const mlaf_arg_tensor *x, const void *args) {
  if (x->in_place < 0) return false;
  return t->in_place_flag ? (u32_at(args, t->flags_at) & t->in_place_flag) != 0 : !pointer_at(args, x->at);
}

static int64_t given_stride(const mlaf_arg_axis *a, const void *args) { return a->stride_at ? i64_at(args, a->stride_at) : 0; }

/* --- scalars --- */

static mlaf_status check_scalar(const mlaf_arg_scalar *s, const void *args, mlaf_err *err) {
  if (!s->must) return MLAF_OK;
  if (s->kind == MLAF_NUMBER_F32) {
    float x;
    memcpy(&x, (const char *)args + s->at, sizeof x);
    if (fabs((double)x) <= s->within && (double)x >= (double)s->least && (double)x > s->above) return MLAF_OK; /* no NaN is */
    return mlaf_fail(err, MLAF_E_ARG, "%s is %g, must be %s", s->name, (double)x, s->must);
  }
  const int64_t x = s->kind == MLAF_NUMBER_I32 ? (int32_t)u32_at(args, s->at) : i64_at(args, s->at);
  if (x >= s->least && x <= s->most && !(x & (s->multiple - 1))) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be %s", s->name, (long long)x, s->must);
}

static mlaf_status check_scalars(const mlaf_args_table *t, const void *args, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < t->n_scalars; i++) st = check_scalar(&t->scalars[i], args, err);
  return st;
}

static mlaf_status check_flags(const mlaf_args_table *t, const void *args, mlaf_err *err) {
  const uint32_t flags = u32_at(args, t->flags_at);
  const int64_t count = i64_at(args, t->count_at);
  if (flags & ~t->flags) return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, %s", flags, t->flags_must);
  if (count < 0 || count > t->count_most)
    return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must %s", t->count_name, (long long)count,
                     t->count_most == INT32_MAX ? "be 0..2^31-1" : "not be negative");
  for (int i = 0; count && flags & t->in_place_flag && i < t->n_tensors; i++)
    if (t->tensors[i].in_place >= 0 && pointer_at(args, t->tensors[i].at))
      return mlaf_fail(err, MLAF_E_ARG, "%s", t->in_place_fault);
  return MLAF_OK;
}

/* --- a tensor --- */

static mlaf_status check_address(const mlaf_args_table *t, const mlaf_arg_tensor *x, const void *args, mlaf_err *err) {
  const void *at = pointer_at(args, x->at);
  const bool odd = ((uintptr_t)at & (x->align - 1u)) != 0;
  if (x->wanted && (!at || odd))
    return mlaf_fail(err, MLAF_E_ARG, "%s is %p: %s, %d-byte aligned", x->name, at, x->wanted, x->align);
  if (!at) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", x->name);
  if (x->unlike >= 0 && t->tensors[x->unlike].n_axes <= x->n_axes && at == pointer_at(args, t->tensors[x->unlike].at))
    return mlaf_fail(err, MLAF_E_ARG, "%s is %s: %s", x->name, t->tensors[x->unlike].name, x->not_itself);
  if (odd) return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", x->name, at, x->align);
  return MLAF_OK;
}

static mlaf_status check_row_stride(const mlaf_arg_tensor *x, const mlaf_arg_axis *a, const void *args, const int64_t *n,
                                    mlaf_err *err) {
  const int64_t given = given_stride(a, args), least = n[x->least];
  const bool sized = x->element == MLAF_ELEMENT_SIZED;
  if (!given) return MLAF_OK;
  if (given >= least && given <= STRIDE_MOST &&
      !(sized ? given * n[x->unit] & (SIZED_MULTIPLE - 1) : given & (x->multiple - 1)))
    return MLAF_OK;
  const int multiple = sized ? (int)(SIZED_MULTIPLE / n[x->unit]) : x->multiple;
  if (multiple == 1)
    return mlaf_fail(err, MLAF_E_ARG, "%s_%s_stride is %lld, must be 0 or %lld and up", x->stem, a->name, (long long)given,
                     (long long)least);
  return mlaf_fail(err, MLAF_E_ARG, "%s_%s_stride is %lld, must be 0 or a multiple of %d from %lld on", x->stem, a->name,
                   (long long)given, multiple, (long long)least);
}

/* Strides of single elements: both 0, or positive; one that is 0 beside another would lay rows on each other. */
static mlaf_status check_any_strides(const mlaf_arg_tensor *x, const void *args, const int64_t *n, mlaf_err *err) {
  const mlaf_arg_axis *a = &x->axes[0], *b = &x->axes[1];
  const int64_t s = given_stride(a, args), r = given_stride(b, args);
  const bool meet = (!s && n[a->size] > 1) || (!r && n[b->size] > 1);
  if (s >= 0 && r >= 0 && s <= STRIDE_MOST && r <= STRIDE_MOST && !(s + r > 0 && meet)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%s_%s_stride and %s_%s_stride are %lld and %lld, must be positive, or both 0", x->name,
                   a->name, x->name, b->name, (long long)s, (long long)r);
}

/* NULL means in place: then it has no strides of its own. */
static mlaf_status check_no_strides(const mlaf_arg_tensor *x, const void *args, mlaf_err *err) {
  const int64_t s = given_stride(&x->axes[0], args), r = x->n_axes > 1 ? given_stride(&x->axes[1], args) : 0;
  if (!s && !r) return MLAF_OK;
  if (x->n_axes == 1)
    return mlaf_fail(err, MLAF_E_ARG, "%s is NULL, and its stride is %lld: in place it must be 0", x->name, (long long)s);
  return mlaf_fail(err, MLAF_E_ARG, "%s is NULL, and its strides are %lld and %lld: in place they must be 0", x->name,
                   (long long)s, (long long)r);
}

static mlaf_status check_tensor(const mlaf_args_table *t, const mlaf_arg_tensor *x, const void *args, const int64_t *n,
                                mlaf_err *err) {
  if (mlaf_arguments_in_place(t, x, args)) return t->in_place_flag ? MLAF_OK : check_no_strides(x, args, err);
  if ((x->optional || !n[x->needed]) && !pointer_at(args, x->at)) return MLAF_OK;
  if (t->strict && !n[x->has])
    return mlaf_fail(err, MLAF_E_ARG, "%s is %p, and the problem has none: it must be NULL", x->name, pointer_at(args, x->at));
  mlaf_status st = check_address(t, x, args, err);
  if (!n[x->has]) return st;
  if (x->layout == MLAF_LAYOUT_ANY) return st ? st : check_any_strides(x, args, n, err);
  for (int k = 0; !st && k < x->n_axes; k++) st = check_row_stride(x, &x->axes[k], args, n, err);
  return st;
}

/* --- tensors beside each other --- */

/* True if steps of `step` elements pass over n rows of `columns`, each `stride` behind the one before: as a division, since the
 * product may not fit. */
static bool clears(int64_t step, int64_t n, int64_t stride, int64_t columns) {
  return step >= columns && (step - columns) / stride >= n - 1;
}

/* True if no two rows share an element: the rows of the second axis lie within one of the first, or the other way round. */
static bool rows_apart(const mlaf_arg_tensor *x, const mlaf_arg_place *p, const int64_t *n) {
  const int64_t a = p->stride[0], b = p->stride[1], columns = n[x->columns];
  if (x->n_axes < 2) return true; /* a stride is a row at least */
  return clears(a, n[x->axes[1].size], b, columns) || clears(b, n[x->axes[0].size], a, columns);
}

static mlaf_status check_apart(const mlaf_args_table *t, const mlaf_arg_tensor *x, const mlaf_arg_place *p, const void *args,
                               const int64_t *n, mlaf_err *err) {
  if (rows_apart(x, p, n)) return MLAF_OK;
  const mlaf_arg_axis *a = &x->axes[0], *b = &x->axes[1];
  return mlaf_fail(err, MLAF_E_ARG,
                   "%s has rows that overlap: strides of %lld from %s to %s and %lld from %s to %s, for %lld %ss of "
                   "%lld %ss of %lld columns",
                   mlaf_arguments_in_place(t, x, args) ? t->tensors[x->in_place].name : x->name, (long long)p->stride[0], a->name,
                   a->name, (long long)p->stride[1], b->name, b->name, (long long)n[a->size], a->name, (long long)n[b->size],
                   b->name, (long long)n[x->columns]);
}

static mlaf_status check_over(const mlaf_arg_tensor *x, const mlaf_arg_place *all, const mlaf_arg_place *p, mlaf_err *err) {
  for (int i = 0; p->at && i < 2; i++) {
    const mlaf_arg_place *q = x->over[i] < 0 ? NULL : &all[x->over[i]];
    if (q && q->at == p->at && memcmp(q->stride, p->stride, x->n_axes * sizeof *p->stride))
      return mlaf_fail(err, MLAF_E_ARG, "%s", x->over_text[i]);
  }
  return MLAF_OK;
}

/* A tensor must be none of those that an axis more makes one tensor of. */
static mlaf_status check_unlike(const mlaf_args_table *t, const mlaf_arg_tensor *x, const mlaf_arg_place *all,
                                const mlaf_arg_place *p, const int64_t *n, mlaf_err *err) {
  const mlaf_arg_tensor *y = x->unlike < 0 ? NULL : &t->tensors[x->unlike];
  if (!y || !p->at || y->n_axes <= x->n_axes) return MLAF_OK;
  const int64_t step = all[x->unlike].stride[0] * mlaf_element_bytes(y, n);
  for (int64_t i = 0; i < n[y->axes[0].size]; i++)
    if ((const char *)p->at == (const char *)all[x->unlike].at + i * step)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %s %lld of %s: %s", x->name, y->axes[0].name, (long long)i, y->name,
                       x->not_itself);
  return MLAF_OK;
}

static mlaf_status check_together(const mlaf_args_table *t, const void *args, const int64_t *n, mlaf_err *err) {
  mlaf_arg_place all[MLAF_ARG_TENSORS];
  mlaf_status st = MLAF_OK;
  t->places(args, n, all);
  for (int i = 0; !st && i < t->n_tensors; i++) {
    const mlaf_arg_tensor *x = &t->tensors[i];
    st = check_over(x, all, &all[i], err);
    if (!st) st = check_unlike(t, x, all, &all[i], n, err);
    if (!st && x->rows_apart) st = check_apart(t, x, &all[i], args, n, err);
  }
  return st;
}

static mlaf_status check_grid(const mlaf_args_table *t, const mlaf_stage *k, const void *args, uint64_t rows, mlaf_err *err) {
  const uint64_t blocks = (rows + k->rows_per_wg - 1) / k->rows_per_wg;
  if (rows <= ROWS_MOST && blocks <= THREADS_MOST / k->threads) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%s is %lld: %s a launch has blocks for; launch fewer at once", t->count_name,
                   (long long)mlaf_arguments_count(t, args), t->too_many);
}

mlaf_status mlaf_arguments_check(const mlaf_args_table *t, const mlaf_bound *b, const void *args, mlaf_err *err) {
  const int32_t *fields = b->point.v;
  int64_t n[MLAF_ARG_SIZES];
  mlaf_status st = check_flags(t, args, err);
  if (!st && t->numbers) st = t->numbers(fields, args, err);
  if (st || !mlaf_arguments_count(t, args)) return st;
  if ((st = check_scalars(t, args, err))) return st;
  t->sizes(fields, args, n);
  for (int i = 0; !st && i < t->n_tensors; i++) st = check_tensor(t, &t->tensors[i], args, n, err);
  if (!st && t->together) st = check_together(t, args, n, err);
  if (st) return st;
  return t->related ? t->related(b, args, n, err) : check_grid(t, &b->stage[0], args, (uint64_t)n[t->rows], err);
}

/* --- the block --- */

int64_t mlaf_arguments_fill(const mlaf_args_table *t, const int32_t *fields, const void *args, int64_t *n, void *block) {
  mlaf_arg_place all[MLAF_ARG_TENSORS];
  if (!mlaf_arguments_count(t, args)) return 0;
  t->sizes(fields, args, n);
  t->places(args, n, all);
  memset(block, 0, t->block_bytes);
  t->fill(args, n, all, block);
  return n[t->rows];
}
