/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_q_scale over mlaf_embed.c: checks and launch, as mlaforge's runtime/ops/mla_q_scale/args.c, prepare.c and launch.h. */
#include "mlaf_embed_mla_q_scale.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "mlaf_embed_inside.h"

/* A kernel's parameters. Strides in bytes. */
typedef struct kernel_args {
  const void *x;
  void *y;
  const int64_t *positions;
  int64_t x_token, x_head, y_token, y_head;
  int64_t rows;
  float beta;
  uint32_t original;
} kernel_args;
_Static_assert(sizeof(kernel_args) == 72, "not the kernels' layout");
_Static_assert(sizeof(mlaf_embed_q_scale_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

enum { ALIGN = 16, ELEMENTS = 8 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */
static const float BETA_MOST = 1e6f;

typedef struct shape {
  int heads, qdim;
} shape;

static shape shape_of(const mlaf_embed_plan *x) {
  mlaf_embed_q_scale_problem p;
  memcpy(&p, x->row->values, sizeof p);
  return (shape){p.heads, p.qdim};
}

typedef struct reason { char *why; size_t size; } reason;
#define refuse(err, ...) mlaf_embed_fail((err)->why, (err)->size, MLAF_EMBED_ARG, __VA_ARGS__)

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

static mlaf_embed_q_scale_args dense(const shape *s, const mlaf_embed_q_scale_args *a) {
  mlaf_embed_q_scale_args d = *a;
  const int64_t token = (int64_t)s->heads * s->qdim;
  d.x_token_stride = or_else(d.x_token_stride, token);
  d.x_head_stride = or_else(d.x_head_stride, s->qdim);
  d.y = a->y ? a->y : (void *)(uintptr_t)a->x;
  d.y_token_stride = a->y ? or_else(d.y_token_stride, token) : d.x_token_stride;
  d.y_head_stride = a->y ? or_else(d.y_head_stride, s->qdim) : d.x_head_stride;
  return d;
}

static mlaf_embed_status check_tensor(const shape *s, const char *name, const void *at, int64_t token, int64_t head,
                                      reason *err) {
  const struct {
    const char *of;
    int64_t value;
  } list[] = {{"token", token}, {"head", head}};
  if (!at) return refuse(err, "%s is NULL", name);
  if ((uintptr_t)at % ALIGN) return refuse(err, "%s is %p, must be %d-byte aligned", name, at, ALIGN);
  for (int i = 0; i < 2; i++)
    if (list[i].value && (list[i].value < s->qdim || list[i].value > STRIDE_MOST || list[i].value % ELEMENTS))
      return refuse(err, "%s_%s_stride is %lld, must be 0 or a multiple of %d from %d on", name, list[i].of,
                    (long long)list[i].value, ELEMENTS, s->qdim);
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_y(const shape *s, const mlaf_embed_q_scale_args *a, reason *err) {
  if (a->y == a->x) return refuse(err, "y is x: in place y is NULL");
  if (a->y) return check_tensor(s, "y", a->y, a->y_token_stride, a->y_head_stride, err);
  if (!a->y_token_stride && !a->y_head_stride) return MLAF_EMBED_OK;
  return refuse(err, "y is NULL, and its strides are %lld and %lld: in place they must be 0", (long long)a->y_token_stride,
                (long long)a->y_head_stride);
}

/* True if steps of `step` elements pass over n rows of `columns`, each `stride` behind the one before: as a division, since the
 * product may not fit. */
static bool clears(int64_t step, int64_t n, int64_t stride, int64_t columns) {
  return step >= columns && (step - columns) / stride >= n - 1;
}

static bool apart(const shape *s, int64_t tokens, int64_t token, int64_t head) {
  return clears(token, s->heads, head, s->qdim) || clears(head, tokens, token, s->qdim);
}
static mlaf_embed_status check_apart(const shape *s, const mlaf_embed_q_scale_args *a, reason *err) {
  const mlaf_embed_q_scale_args d = dense(s, a);
  if (apart(s, a->tokens, d.y_token_stride, d.y_head_stride)) return MLAF_EMBED_OK;
  return refuse(err, "%s has rows that overlap: strides of %lld from token to token and %lld from head to head, for %lld tokens "
                "of %d heads of %d columns", a->y ? "y" : "x", (long long)d.y_token_stride, (long long)d.y_head_stride,
                (long long)a->tokens, s->heads, s->qdim);
}

static mlaf_embed_status check_factor(const mlaf_embed_q_scale_args *a, reason *err) {
  if (!a->positions || (uintptr_t)a->positions % sizeof(int64_t))
    return refuse(err, "positions is %p: 64-bit positions are wanted, %d-byte aligned", (const void *)a->positions,
                  (int)sizeof(int64_t));
  if (!(fabsf(a->beta) <= BETA_MOST))
    return refuse(err, "beta is %g, must be in -%g..%g", (double)a->beta, (double)BETA_MOST, (double)BETA_MOST);
  if (a->original < 1) return refuse(err, "original is %d, must be 1 or more", a->original);
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_size(const mlaf_embed_kernel *k, const shape *s, const mlaf_embed_q_scale_args *a, reason *err) {
  const uint64_t rows = (uint64_t)a->tokens * (uint64_t)s->heads, blocks = (rows + k->rows_per_wg - 1) / k->rows_per_wg;
  if (rows <= INT32_MAX && blocks <= UINT32_MAX / k->threads) return MLAF_EMBED_OK;
  return refuse(err, "tokens is %lld: more rows than a launch has blocks for; launch fewer at once", (long long)a->tokens);
}

static mlaf_embed_status check(const shape *s, const mlaf_embed_kernel *k, const mlaf_embed_q_scale_args *a, reason *err) {
  if (a->flags) return refuse(err, "flags is %#x, must be 0", a->flags);
  if (a->tokens < 0 || a->tokens > INT32_MAX)
    return refuse(err, "tokens is %lld, must be 0..2^31-1", (long long)a->tokens);
  if (!a->tokens) return MLAF_EMBED_OK;
  mlaf_embed_status st = check_tensor(s, "x", a->x, a->x_token_stride, a->x_head_stride, err);
  if (!st) st = check_y(s, a, err);
  if (!st) st = check_apart(s, a, err);
  if (!st) st = check_factor(a, err);
  return st ? st : check_size(k, s, a, err);
}

static kernel_args fill(const shape *s, const mlaf_embed_q_scale_args *args) {
  const mlaf_embed_q_scale_args a = dense(s, args);
  return (kernel_args){.x = a.x,
                       .y = a.y,
                       .positions = a.positions,
                       .x_token = 2 * a.x_token_stride,
                       .x_head = 2 * a.x_head_stride,
                       .y_token = 2 * a.y_token_stride,
                       .y_head = 2 * a.y_head_stride,
                       .rows = a.tokens * s->heads,
                       .beta = a.beta,
                       .original = (uint32_t)a.original};
}

static const mlaf_embed_rules rules = {"mla_q_scale", NULL, NULL, NULL, 0};

mlaf_embed_status mlaf_embed_q_scale_plan(mlaf_embed *e, const mlaf_embed_q_scale_problem *p, const mlaf_embed_plan **out,
                                          char *why, size_t size) {
  return mlaf_embed_plan_for(e, &rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_q_scale_execute(const mlaf_embed_plan *x, const mlaf_embed_q_scale_args *a, void *stream, char *why,
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
