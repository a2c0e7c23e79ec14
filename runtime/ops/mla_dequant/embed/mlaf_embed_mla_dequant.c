/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_dequant over mlaf_embed.c: checks and launch, as mlaforge's runtime/ops/mla_dequant/args.c, prepare.c and launch.h. */
#include "mlaf_embed_mla_dequant.h"

#include <string.h>

#include "mlaf_embed_inside.h"

/* A kernel's parameters. Strides in bytes. */
typedef struct kernel_args {
  const void *w;
  const float *w_scale;
  void *y;
  int64_t w_row, scale_row, y_row;
  int64_t scale_first_row, scale_first_column;
  int64_t rows;
} kernel_args;
_Static_assert(sizeof(kernel_args) == 72, "not the kernels' layout");
_Static_assert(sizeof(mlaf_embed_dequant_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

enum { ALIGN = 16, CHUNK = 8, BLOCK = 128 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */

typedef struct reason { char *why; size_t size; } reason;
#define refuse(err, ...) mlaf_embed_fail((err)->why, (err)->size, MLAF_EMBED_ARG, __VA_ARGS__)

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }
static int64_t blocks(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

static int columns_of(const mlaf_embed_plan *x) {
  mlaf_embed_dequant_problem p;
  memcpy(&p, x->row->values, sizeof p);
  return p.columns;
}

static mlaf_embed_status check_tensor(int columns, const char *name, const void *at, int64_t row, int multiple, reason *err) {
  if (!at) return refuse(err, "%s is NULL", name);
  if ((uintptr_t)at % ALIGN) return refuse(err, "%s is %p, must be %d-byte aligned", name, at, ALIGN);
  if (!row || (row >= columns && row <= STRIDE_MOST && row % multiple == 0)) return MLAF_EMBED_OK;
  return refuse(err, "%s_row_stride is %lld, must be 0 or a multiple of %d from %d on", name, (long long)row, multiple, columns);
}

static mlaf_embed_status check_scales(int columns, const mlaf_embed_dequant_args *a, reason *err) {
  if (!a->w_scale || (uintptr_t)a->w_scale % sizeof(float))
    return refuse(err, "w_scale is %p: a scale in fp32 for each %d x %d is wanted, %d-byte aligned", (const void *)a->w_scale,
                  BLOCK, BLOCK, (int)sizeof(float));
  if (a->w_scale_row < 0 || a->w_scale_row > STRIDE_MOST)
    return refuse(err, "w_scale_row is %lld, must be 0..2^40", (long long)a->w_scale_row);
  if (a->w_scale_column < 0 || a->w_scale_column > STRIDE_MOST || a->w_scale_column % CHUNK)
    return refuse(err, "w_scale_column is %lld, must be 0 or a multiple of %d up to 2^40", (long long)a->w_scale_column, CHUNK);
  const int64_t least = blocks(a->w_scale_column + columns), row = or_else(a->w_scale_row_stride, least);
  if (row >= least && row <= STRIDE_MOST) return MLAF_EMBED_OK;
  return refuse(err, "w_scale_row_stride is %lld, must be 0 or %lld and up", (long long)row, (long long)least);
}

static mlaf_embed_status check_size(const mlaf_embed_kernel *k, const mlaf_embed_dequant_args *a, reason *err) {
  const uint64_t rows = (uint64_t)a->rows, groups = (rows + k->rows_per_wg - 1) / k->rows_per_wg;
  if (rows <= INT32_MAX && groups <= UINT32_MAX / k->threads) return MLAF_EMBED_OK;
  return refuse(err, "rows is %lld: more than a launch has blocks for; launch fewer at once", (long long)a->rows);
}

static mlaf_embed_status check(int columns, const mlaf_embed_kernel *k, const mlaf_embed_dequant_args *a, reason *err) {
  if (a->flags) return refuse(err, "flags is %#x, must be 0", a->flags);
  if (a->rows < 0 || a->rows > INT32_MAX) return refuse(err, "rows is %lld, must be 0..2^31-1", (long long)a->rows);
  if (!a->rows) return MLAF_EMBED_OK;
  mlaf_embed_status st = check_tensor(columns, "w", a->w, a->w_row_stride, ALIGN, err);
  if (!st) st = check_tensor(columns, "y", a->y, a->y_row_stride, CHUNK, err);
  if (!st && a->y == a->w) st = refuse(err, "y is w: what has more bytes needs a place of its own");
  if (!st) st = check_scales(columns, a, err);
  return st ? st : check_size(k, a, err);
}

static kernel_args fill(int columns, const mlaf_embed_dequant_args *a) {
  return (kernel_args){.w = a->w,
                       .w_scale = a->w_scale,
                       .y = a->y,
                       .w_row = or_else(a->w_row_stride, columns),
                       .scale_row = (int64_t)sizeof(float) * or_else(a->w_scale_row_stride, blocks(a->w_scale_column + columns)),
                       .y_row = 2 * or_else(a->y_row_stride, columns),
                       .scale_first_row = a->w_scale_row,
                       .scale_first_column = a->w_scale_column,
                       .rows = a->rows};
}

static const mlaf_embed_rules rules = {"mla_dequant", NULL, NULL, NULL, 0};

mlaf_embed_status mlaf_embed_dequant_plan(mlaf_embed *e, const mlaf_embed_dequant_problem *p, const mlaf_embed_plan **out,
                                          char *why, size_t size) {
  return mlaf_embed_plan_for(e, &rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_dequant_execute(const mlaf_embed_plan *x, const mlaf_embed_dequant_args *a, void *stream, char *why,
                                             size_t size) {
  reason err = {why, size};
  mlaf_embed_status st = mlaf_embed_expect(x, a, &rules, why, size);
  if (st) return st;
  const mlaf_embed_kernel *k = x->kernels[0];
  const int columns = columns_of(x);
  st = check(columns, k, a, &err);
  if (st || !a->rows) return st;
  struct { _Alignas(64) kernel_args a; } block = {fill(columns, a)};
  int previous = 0;
  if ((st = mlaf_embed_begin(x->owner, &previous, why, size))) return st;
  const uint32_t grid[] = {(uint32_t)((block.a.rows + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1};
  const int code = mlaf_embed_launch(x->owner, k, x->functions[0], grid, &block.a, sizeof block.a, stream);
  return mlaf_embed_end(x->owner, previous, code, why, size);
}
