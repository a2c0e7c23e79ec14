/* The host-visible checks of a launch, and who may run. */
#include "ops/mla_merge/merge.h"

enum { ALIGN = 16, ELEMENTS = 8 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */
static const uint64_t ROWS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as kernels and AMD's packets count them */

/* --- one place where O and its sums lie --- */

typedef struct place {
  const char *o_name, *lse_name;
  const void *o;
  int64_t o_token, o_head;
  const float *lse;
  int64_t lse_token, lse_head;
  bool lse_needed;
} place;

static mlaf_status check_pointers(const place *p, mlaf_err *err) {
  if (!p->o) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", p->o_name);
  if (!p->lse && p->lse_needed) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", p->lse_name);
  if ((uintptr_t)p->o % ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", p->o_name, p->o, ALIGN);
  if ((uintptr_t)p->lse % sizeof(float))
    return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", p->lse_name, (const void *)p->lse, (int)sizeof(float));
  return MLAF_OK;
}

static mlaf_status check_strides(const merge_shape *s, int64_t tokens, const place *p, mlaf_err *err) {
  const struct {
    const char *of;
    int64_t value;
  } list[] = {{"token", p->o_token}, {"head", p->o_head}};
  for (int i = 0; i < 2; i++)
    if (list[i].value && (list[i].value < s->vdim || list[i].value > STRIDE_MOST || list[i].value % ELEMENTS))
      return mlaf_fail(err, MLAF_E_ARG, "%s_%s_stride is %lld, must be 0 or a multiple of %d from %d on", p->o_name, list[i].of,
                       (long long)list[i].value, ELEMENTS, s->vdim);
  const int64_t t = p->lse_token, h = p->lse_head;
  const bool meet = (!t && tokens > 1) || (!h && s->heads > 1); /* rows would lie on each other */
  if (p->lse && (t < 0 || h < 0 || t > STRIDE_MOST || h > STRIDE_MOST || (t + h > 0 && meet)))
    return mlaf_fail(err, MLAF_E_ARG, "%s_token_stride and %s_head_stride are %lld and %lld, must be positive, or both 0",
                     p->lse_name, p->lse_name, (long long)t, (long long)h);
  return MLAF_OK;
}

static mlaf_status check_place(const merge_shape *s, int64_t tokens, const place *p, mlaf_err *err) {
  mlaf_status st = check_pointers(p, err);
  return st ? st : check_strides(s, tokens, p, err);
}

static place part(const char *o_name, const char *lse_name, const mlaf_merge_part *p) {
  return (place){o_name, lse_name, p->o, p->o_token_stride, p->o_head_stride,
                 p->lse, p->lse_token_stride, p->lse_head_stride, true};
}

/* --- a result over a part --- */

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

static void dense_sums(const merge_shape *s, int64_t tokens, int64_t *token, int64_t *head) {
  if (*token || *head) return;
  *token = 1;
  *head = tokens;
}

static void dense_part(const merge_shape *s, int64_t tokens, mlaf_merge_part *p) {
  p->o_token_stride = or_else(p->o_token_stride, (int64_t)s->heads * s->vdim);
  p->o_head_stride = or_else(p->o_head_stride, s->vdim);
  dense_sums(s, tokens, &p->lse_token_stride, &p->lse_head_stride);
}

mlaf_merge_args merge_dense(const merge_shape *s, const mlaf_merge_args *a) {
  mlaf_merge_args d = *a;
  dense_part(s, a->tokens, &d.prefix);
  dense_part(s, a->tokens, &d.suffix);
  if (a->flags & MLAF_MERGE_IN_PLACE) {
    d.o = (void *)(uintptr_t)a->prefix.o;
    d.lse = (float *)(uintptr_t)a->prefix.lse;
    d.o_token_stride = d.prefix.o_token_stride;
    d.o_head_stride = d.prefix.o_head_stride;
    d.lse_token_stride = d.prefix.lse_token_stride;
    d.lse_head_stride = d.prefix.lse_head_stride;
  }
  d.o_token_stride = or_else(d.o_token_stride, (int64_t)s->heads * s->vdim);
  d.o_head_stride = or_else(d.o_head_stride, s->vdim);
  dense_sums(s, a->tokens, &d.lse_token_stride, &d.lse_head_stride);
  return d;
}

static mlaf_status check_over(const mlaf_merge_args *d, const char *name, const mlaf_merge_part *p, mlaf_err *err) {
  if (d->o == p->o && (d->o_token_stride != p->o_token_stride || d->o_head_stride != p->o_head_stride))
    return mlaf_fail(err, MLAF_E_ARG, "o lies over the %s's with other strides", name);
  if (d->lse && d->lse == p->lse && (d->lse_token_stride != p->lse_token_stride || d->lse_head_stride != p->lse_head_stride))
    return mlaf_fail(err, MLAF_E_ARG, "lse lies over the %s's with other strides", name);
  return MLAF_OK;
}

/* --- all of it --- */

static mlaf_status check_size(const mlaf_stage *k, const merge_shape *s, const mlaf_merge_args *a, mlaf_err *err) {
  const uint64_t rows = (uint64_t)a->tokens * (uint64_t)s->heads, blocks = (rows + k->rows_per_wg - 1) / k->rows_per_wg;
  if (rows <= ROWS_MOST && blocks <= THREADS_MOST / k->threads) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld: more rows than a launch has blocks for; launch fewer at once",
                   (long long)a->tokens);
}

mlaf_status merge_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_merge_args *a = args;
  const merge_shape s = merge_shape_of(&b->point);
  if (a->flags & ~(uint32_t)(MLAF_MERGE_IN_PLACE | MLAF_MERGE_BASE_2))
    return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, must be MLAF_MERGE_*", a->flags);
  if (a->tokens < 0 || a->tokens > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, must be 0..2^31-1", (long long)a->tokens);
  if (!a->tokens) return MLAF_OK;
  if (a->flags & MLAF_MERGE_IN_PLACE && (a->o || a->lse))
    return mlaf_fail(err, MLAF_E_ARG, "o or lse is set beside MLAF_MERGE_IN_PLACE, which means the prefix's: NULL");
  const place prefix = part("prefix.o", "prefix.lse", &a->prefix), suffix = part("suffix.o", "suffix.lse", &a->suffix);
  const place result = {"o", "lse", a->o, a->o_token_stride, a->o_head_stride,
                        a->lse, a->lse_token_stride, a->lse_head_stride, false};
  mlaf_status st = check_place(&s, a->tokens, &prefix, err);
  if (!st) st = check_place(&s, a->tokens, &suffix, err);
  if (!st && !(a->flags & MLAF_MERGE_IN_PLACE)) st = check_place(&s, a->tokens, &result, err);
  const mlaf_merge_args d = merge_dense(&s, a);
  if (!st) st = check_over(&d, "prefix", &d.prefix, err);
  if (!st) st = check_over(&d, "suffix", &d.suffix, err);
  return st ? st : check_size(&b->stage[0], &s, a, err);
}

mlaf_status merge_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no merge kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_merge has none: 1", b->knob);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many rows a workgroup has");
  return MLAF_OK;
}
