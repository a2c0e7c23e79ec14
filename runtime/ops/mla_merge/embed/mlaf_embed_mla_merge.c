/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_merge over mlaf_embed.c: checks and launch, as mlaforge's runtime/ops/mla_merge/args.c, prepare.c and launch.h. */
#include "mlaf_embed_mla_merge.h"

#include <string.h>

#include "mlaf_embed_inside.h"

/* A kernel's parameters. Strides of O in bytes, of sums in floats. */
typedef struct kernel_args {
  const void *prefix_o;
  const float *prefix_lse;
  const void *suffix_o;
  const float *suffix_lse;
  void *o;
  float *lse; /* NULL: not wanted */
  int64_t prefix_token, prefix_head, prefix_lse_token, prefix_lse_head;
  int64_t suffix_token, suffix_head, suffix_lse_token, suffix_lse_head;
  int64_t o_token, o_head, lse_token, lse_head;
  int64_t rows;
  uint32_t flags, reserved;
} kernel_args;
_Static_assert(sizeof(kernel_args) == 160, "not the kernels' layout");
_Static_assert(sizeof(mlaf_embed_merge_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

enum { ALIGN = 16, ELEMENTS = 8 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */

typedef struct shape {
  int heads, vdim;
} shape;

static shape shape_of(const mlaf_embed_plan *x) {
  mlaf_embed_merge_problem p;
  memcpy(&p, x->row->values, sizeof p);
  return (shape){p.heads, p.vdim};
}

typedef struct reason { char *why; size_t size; } reason;
#define refuse(err, ...) mlaf_embed_fail((err)->why, (err)->size, MLAF_EMBED_ARG, __VA_ARGS__)

/* --- one place where O and its sums lie --- */

typedef struct place {
  const char *o_name, *lse_name;
  const void *o;
  int64_t o_token, o_head;
  const float *lse;
  int64_t lse_token, lse_head;
  int lse_needed;
} place;

static mlaf_embed_status check_pointers(const place *p, reason *err) {
  if (!p->o) return refuse(err, "%s is NULL", p->o_name);
  if (!p->lse && p->lse_needed) return refuse(err, "%s is NULL", p->lse_name);
  if ((uintptr_t)p->o % ALIGN)
    return refuse(err, "%s is %p, must be %d-byte aligned", p->o_name, p->o, ALIGN);
  if ((uintptr_t)p->lse % sizeof(float))
    return refuse(err, "%s is %p, must be %d-byte aligned", p->lse_name, (const void *)p->lse, (int)sizeof(float));
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_strides(const shape *s, int64_t tokens, const place *p, reason *err) {
  const struct {
    const char *of;
    int64_t value;
  } list[] = {{"token", p->o_token}, {"head", p->o_head}};
  for (int i = 0; i < 2; i++)
    if (list[i].value && (list[i].value < s->vdim || list[i].value > STRIDE_MOST || list[i].value % ELEMENTS))
      return refuse(err, "%s_%s_stride is %lld, must be 0 or a multiple of %d from %d on", p->o_name, list[i].of,
                       (long long)list[i].value, ELEMENTS, s->vdim);
  const int64_t t = p->lse_token, h = p->lse_head;
  const int meet = (!t && tokens > 1) || (!h && s->heads > 1); /* rows would lie on each other */
  if (p->lse && (t < 0 || h < 0 || t > STRIDE_MOST || h > STRIDE_MOST || (t + h > 0 && meet)))
    return refuse(err, "%s_token_stride and %s_head_stride are %lld and %lld, must be positive, or both 0",
                     p->lse_name, p->lse_name, (long long)t, (long long)h);
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_place(const shape *s, int64_t tokens, const place *p, reason *err) {
  mlaf_embed_status st = check_pointers(p, err);
  return st ? st : check_strides(s, tokens, p, err);
}

static place part(const char *o_name, const char *lse_name, const mlaf_embed_merge_part *p) {
  return (place){o_name, lse_name, p->o, p->o_token_stride, p->o_head_stride,
                 p->lse, p->lse_token_stride, p->lse_head_stride, 1};
}

/* --- a result over a part --- */

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

static void dense_sums(int64_t tokens, int64_t *token, int64_t *head) {
  if (*token || *head) return;
  *token = 1;
  *head = tokens;
}

static void dense_part(const shape *s, int64_t tokens, mlaf_embed_merge_part *p) {
  p->o_token_stride = or_else(p->o_token_stride, (int64_t)s->heads * s->vdim);
  p->o_head_stride = or_else(p->o_head_stride, s->vdim);
  dense_sums(tokens, &p->lse_token_stride, &p->lse_head_stride);
}

static mlaf_embed_merge_args dense(const shape *s, const mlaf_embed_merge_args *a) {
  mlaf_embed_merge_args d = *a;
  dense_part(s, a->tokens, &d.prefix);
  dense_part(s, a->tokens, &d.suffix);
  if (a->flags & MLAF_EMBED_MERGE_IN_PLACE) {
    d.o = (void *)(uintptr_t)a->prefix.o;
    d.lse = (float *)(uintptr_t)a->prefix.lse;
    d.o_token_stride = d.prefix.o_token_stride;
    d.o_head_stride = d.prefix.o_head_stride;
    d.lse_token_stride = d.prefix.lse_token_stride;
    d.lse_head_stride = d.prefix.lse_head_stride;
  }
  d.o_token_stride = or_else(d.o_token_stride, (int64_t)s->heads * s->vdim);
  d.o_head_stride = or_else(d.o_head_stride, s->vdim);
  dense_sums(a->tokens, &d.lse_token_stride, &d.lse_head_stride);
  return d;
}

static mlaf_embed_status check_over(const mlaf_embed_merge_args *d, const char *name, const mlaf_embed_merge_part *p,
                                    reason *err) {
  if (d->o == p->o && (d->o_token_stride != p->o_token_stride || d->o_head_stride != p->o_head_stride))
    return refuse(err, "o lies over the %s's with other strides", name);
  if (d->lse && d->lse == p->lse && (d->lse_token_stride != p->lse_token_stride || d->lse_head_stride != p->lse_head_stride))
    return refuse(err, "lse lies over the %s's with other strides", name);
  return MLAF_EMBED_OK;
}

/* --- all of it --- */

static mlaf_embed_status check_size(const mlaf_embed_kernel *k, const shape *s, const mlaf_embed_merge_args *a, reason *err) {
  const uint64_t rows = (uint64_t)a->tokens * (uint64_t)s->heads, blocks = (rows + k->rows_per_wg - 1) / k->rows_per_wg;
  if (rows <= INT32_MAX && blocks <= UINT32_MAX / k->threads) return MLAF_EMBED_OK;
  return refuse(err, "tokens is %lld: more rows than a launch has blocks for; launch fewer at once", (long long)a->tokens);
}

static mlaf_embed_status check(const shape *s, const mlaf_embed_kernel *k, const mlaf_embed_merge_args *a, reason *err) {
  if (a->flags & ~(uint32_t)(MLAF_EMBED_MERGE_IN_PLACE | MLAF_EMBED_MERGE_BASE_2))
    return refuse(err, "flags is %#x, must be MLAF_MERGE_*", a->flags);
  if (a->tokens < 0 || a->tokens > INT32_MAX)
    return refuse(err, "tokens is %lld, must be 0..2^31-1", (long long)a->tokens);
  if (!a->tokens) return MLAF_EMBED_OK;
  if (a->flags & MLAF_EMBED_MERGE_IN_PLACE && (a->o || a->lse))
    return refuse(err, "o or lse is set beside MLAF_MERGE_IN_PLACE, which means the prefix's: NULL");
  const place prefix = part("prefix.o", "prefix.lse", &a->prefix), suffix = part("suffix.o", "suffix.lse", &a->suffix);
  const place result = {"o", "lse", a->o, a->o_token_stride, a->o_head_stride,
                        a->lse, a->lse_token_stride, a->lse_head_stride, 0};
  mlaf_embed_status st = check_place(s, a->tokens, &prefix, err);
  if (!st) st = check_place(s, a->tokens, &suffix, err);
  if (!st && !(a->flags & MLAF_EMBED_MERGE_IN_PLACE)) st = check_place(s, a->tokens, &result, err);
  const mlaf_embed_merge_args d = dense(s, a);
  if (!st) st = check_over(&d, "prefix", &d.prefix, err);
  if (!st) st = check_over(&d, "suffix", &d.suffix, err);
  return st ? st : check_size(k, s, a, err);
}

/* --- a launch --- */

static kernel_args fill(const shape *s, const mlaf_embed_merge_args *args) {
  const mlaf_embed_merge_args a = dense(s, args);
  return (kernel_args){.prefix_o = a.prefix.o,
                       .prefix_lse = a.prefix.lse,
                       .suffix_o = a.suffix.o,
                       .suffix_lse = a.suffix.lse,
                       .o = a.o,
                       .lse = a.lse,
                       .prefix_token = 2 * a.prefix.o_token_stride,
                       .prefix_head = 2 * a.prefix.o_head_stride,
                       .prefix_lse_token = a.prefix.lse_token_stride,
                       .prefix_lse_head = a.prefix.lse_head_stride,
                       .suffix_token = 2 * a.suffix.o_token_stride,
                       .suffix_head = 2 * a.suffix.o_head_stride,
                       .suffix_lse_token = a.suffix.lse_token_stride,
                       .suffix_lse_head = a.suffix.lse_head_stride,
                       .o_token = 2 * a.o_token_stride,
                       .o_head = 2 * a.o_head_stride,
                       .lse_token = a.lse_token_stride,
                       .lse_head = a.lse_head_stride,
                       .rows = a.tokens * s->heads,
                       .flags = a.flags};
}

static const mlaf_embed_rules rules = {"mla_merge", NULL, NULL, NULL, 0};

mlaf_embed_status mlaf_embed_merge_plan(mlaf_embed *e, const mlaf_embed_merge_problem *p, const mlaf_embed_plan **out, char *why,
                                        size_t size) {
  return mlaf_embed_plan_for(e, &rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_merge_execute(const mlaf_embed_plan *x, const mlaf_embed_merge_args *a, void *stream, char *why,
                                           size_t size) {
  reason err = {why, size};
  mlaf_embed_status st = mlaf_embed_expect(x, a, &rules, why, size);
  if (st) return st;
  const mlaf_embed_kernel *k = x->kernels[0];
  const shape s = shape_of(x);
  st = check(&s, k, a, &err);
  if (st || !a->tokens) return st;
  struct { _Alignas(64) kernel_args a; } block = {fill(&s, a)};
  int previous = 0;
  if ((st = mlaf_embed_begin(x->owner, &previous, why, size))) return st;
  const uint32_t grid[] = {(uint32_t)((block.a.rows + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1};
  const int code = mlaf_embed_launch(x->owner, k, x->functions[0], grid, &block.a, sizeof block.a, stream);
  return mlaf_embed_end(x->owner, previous, code, why, size);
}
