/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Projections over mlaf_embed.c: checks and launch, as mlaforge's runtime/op/projection.c. */
#include "mlaf_embed_projection.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "mlaf_embed_projection_inside.h"

/* A kernel's parameters; strides in bytes. Those of weights of 16 bits end before w_scale. Tensor maps stand behind all of it,
 * aligned to 64. */
typedef struct kernel_args {
  const void *x, *w;
  void *y;
  const void *gain, *residual;
  const int64_t *positions;
  const void *cos, *sin;
  int64_t x_token, x_head, w_row, w_head, y_token, y_head, residual_token;
  int64_t table_row, table_rows;
  int64_t tokens;
  float eps;
  uint32_t flags;
  const float *w_scale;
  int64_t scale_row, scale_first_row, scale_head, scale_first_column;
} kernel_args;
enum { MAP_W = 1, MAP_X, MAPS = 2 };
typedef struct parameters {
  kernel_args args;
  _Alignas(64) unsigned char maps[MAPS][128];
} parameters;
/* Behind all that, of kernels that append: the other operation's parameters, and how many blocks those rows have. */
typedef struct side {
  unsigned char block[MLAF_EMBED_BESIDE];
  int64_t blocks;
} side;
typedef struct everything { /* as much as any kernel takes */
  _Alignas(64) unsigned char bytes[sizeof(parameters) + sizeof(side) + 64];
} everything;
enum { TOKENS_OF_WARP = 4 }; /* rows that a warp appends at most where compute units are few */
_Static_assert(sizeof(kernel_args) == 192 && offsetof(kernel_args, w_scale) == 152, "not the kernels' layout");

enum { ALIGN = 16, SCALE_ROWS = 32, SCALE_COLUMNS = 64, SCALE_BLOCK = 128 };
static const int64_t STRIDE_MOST = INT64_C(1) << 39; /* elements */

typedef mlaf_embed_product product;
typedef mlaf_embed_projection_args arguments;
typedef struct reason { char *why; size_t size; } reason;
#define refuse(err, ...) mlaf_embed_fail((err)->why, (err)->size, MLAF_EMBED_ARG, __VA_ARGS__)

static int32_t w_rows(const product *p) { return p->by_inputs ? p->inner : p->outer; }
static int32_t w_columns(const product *p) { return p->by_inputs ? p->outer : p->inner; }
static int32_t w_bytes(const product *p) { return p->weights ? 1 : 2; }
static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

/* Scales from a row's first to the one of w's last column. */
static int64_t scales_across(const product *p, const arguments *a) {
  return (a->w_scale_column + w_columns(p) + SCALE_BLOCK - 1) / SCALE_BLOCK;
}

/* Every stride spelled out. */
static void dense(const product *p, arguments *a) {
  a->x_head_stride = or_else(a->x_head_stride, p->inner + p->rope);
  a->x_token_stride = or_else(a->x_token_stride, p->heads * a->x_head_stride);
  a->w_row_stride = or_else(a->w_row_stride, w_columns(p));
  a->w_head_stride = or_else(a->w_head_stride, w_rows(p) * a->w_row_stride);
  a->y_head_stride = or_else(a->y_head_stride, p->outer + p->rope);
  a->y_token_stride = or_else(a->y_token_stride, p->heads * a->y_head_stride);
  a->residual_token_stride = or_else(a->residual_token_stride, p->outer);
  a->table_row_stride = or_else(p->turns ? a->table_row_stride : 0, a->sin ? p->rope / 2 : p->rope);
  if (p->weights) a->w_scale_row_stride = or_else(a->w_scale_row_stride, scales_across(p, a));
}

/* --- arguments --- */

static mlaf_embed_status check_pointers(const product *p, const arguments *a, reason *err) {
  const struct {
    const char *name;
    const void *at;
    uintptr_t align;
    int needed, known;
  } list[] = {
      {"x", a->x, ALIGN, 1, 1},
      {"w", a->w, ALIGN, 1, 1},
      {"y", a->y, ALIGN, 1, 1},
      {"norm_weight", a->norm_weight, ALIGN, p->norm, p->norm},
      {"residual", a->residual, ALIGN, p->residual, p->residual},
      {"positions", a->positions, sizeof(int64_t), p->turns, p->turns},
      {"cos", a->cos, ALIGN, p->turns, p->turns},
      {"sin", a->sin, ALIGN, 0, p->turns},
      {"w_scale", a->w_scale, sizeof(float), p->weights, p->weights},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return refuse(err, "%s is NULL", list[i].name);
    if (list[i].at && !list[i].known)
      return refuse(err, "%s is %p, and the problem has none: it must be NULL", list[i].name, list[i].at);
    if ((uintptr_t)list[i].at % list[i].align)
      return refuse(err, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  return MLAF_EMBED_OK;
}

static mlaf_embed_status check_strides(const product *p, const arguments *a, reason *err) {
  const int64_t number = a->flags & MLAF_EMBED_PROJECTION_TABLE_16 ? 2 : 4;
  const struct {
    const char *name;
    int64_t value, least, bytes; /* bytes of an element */
  } list[] = {
      {"x_token_stride", a->x_token_stride, p->inner + p->rope, 2},
      {"x_head_stride", a->x_head_stride, p->inner + p->rope, 2},
      {"w_row_stride", a->w_row_stride, w_columns(p), w_bytes(p)},
      {"w_head_stride", a->w_head_stride, w_columns(p), w_bytes(p)},
      {"y_token_stride", a->y_token_stride, p->outer + p->rope, 2},
      {"y_head_stride", a->y_head_stride, p->outer + p->rope, 2},
      {"residual_token_stride", a->residual_token_stride, p->outer, 2},
      {"table_row_stride", p->turns ? a->table_row_stride : 0, a->sin ? p->rope / 2 : p->rope, number},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const int64_t x = list[i].value;
    if (!x || (x >= list[i].least && x <= STRIDE_MOST && x * list[i].bytes % ALIGN == 0)) continue;
    return refuse(err, "%s is %lld, must be 0 or a multiple of %d from %lld on", list[i].name, (long long)x,
                  (int)(ALIGN / list[i].bytes), (long long)list[i].least);
  }
  return MLAF_EMBED_OK;
}

/* Where w lies among its scales: no chunk of a sum that a kernel scales at once may lie in two blocks. */
static mlaf_embed_status check_scales(const product *p, const arguments *given, reason *err) {
  arguments a = *given;
  if (!p->weights && (a.w_scale_row_stride || a.w_scale_row || a.w_scale_column))
    return refuse(err, "w_scale_row_stride is %lld, w_scale_row %lld, w_scale_column %lld, and the problem has no scales: all "
                  "must be 0", (long long)a.w_scale_row_stride, (long long)a.w_scale_row, (long long)a.w_scale_column);
  if (!p->weights) return MLAF_EMBED_OK;
  const struct {
    const char *name;
    int64_t value, multiple;
  } list[] = {{"w_scale_row", a.w_scale_row, SCALE_ROWS},
              {"w_scale_column", a.w_scale_column, p->by_inputs ? SCALE_BLOCK : SCALE_COLUMNS}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].value < 0 || list[i].value > STRIDE_MOST || list[i].value % list[i].multiple)
      return refuse(err, "%s is %lld, must be a multiple of %lld from 0 on: a part that begins elsewhere in a block of 128 wants "
                    "scales of its own", list[i].name, (long long)list[i].value, (long long)list[i].multiple);
  dense(p, &a);
  if (p->heads > 1 && (a.w_head_stride % a.w_row_stride || a.w_head_stride / a.w_row_stride % SCALE_ROWS))
    return refuse(err, "w_head_stride is %lld, must be a multiple of %d rows of %lld: a head's scales are counted in rows",
                  (long long)a.w_head_stride, SCALE_ROWS, (long long)a.w_row_stride);
  if (a.w_scale_row_stride >= scales_across(p, &a) && a.w_scale_row_stride <= STRIDE_MOST) return MLAF_EMBED_OK;
  return refuse(err, "w_scale_row_stride is %lld, must be 0 or %lld and up", (long long)a.w_scale_row_stride,
                (long long)scales_across(p, &a));
}

static mlaf_embed_status check(const product *p, const arguments *a, reason *err) {
  if (a->flags & ~(uint32_t)MLAF_EMBED_PROJECTION_TABLE_16)
    return refuse(err, "flags is %#x, known are %#x", a->flags, MLAF_EMBED_PROJECTION_TABLE_16);
  if (a->tokens < 0) return refuse(err, "tokens is %lld, must not be negative", (long long)a->tokens);
  if (a->table_rows < 0) return refuse(err, "table_rows is %lld, must not be negative", (long long)a->table_rows);
  if (p->norm && !(isfinite(a->eps) && a->eps >= 0))
    return refuse(err, "eps is %g, must be finite and not negative", (double)a->eps);
  if (!a->tokens) return MLAF_EMBED_OK;
  mlaf_embed_status st = check_pointers(p, a, err);
  if (!st) st = check_strides(p, a, err);
  return st ? st : check_scales(p, a, err);
}

/* --- a launch --- */

/* `a` with its strides spelled out. */
static void fill(const product *p, const arguments *a, kernel_args *out) {
  const int64_t number = a->flags & MLAF_EMBED_PROJECTION_TABLE_16 ? 2 : 4;
  *out = (kernel_args){
      .x = a->x,
      .w = a->w,
      .y = a->y,
      .gain = a->norm_weight,
      .residual = a->residual,
      .positions = a->positions,
      .cos = a->cos,
      .sin = a->sin ? a->sin : a->cos ? (const char *)a->cos + number * p->rope / 2 : NULL,
      .x_token = 2 * a->x_token_stride,
      .x_head = 2 * a->x_head_stride,
      .w_row = w_bytes(p) * a->w_row_stride,
      .w_head = w_bytes(p) * a->w_head_stride,
      .y_token = 2 * a->y_token_stride,
      .y_head = 2 * a->y_head_stride,
      .residual_token = 2 * a->residual_token_stride,
      .table_row = number * a->table_row_stride,
      .table_rows = a->table_rows,
      .tokens = a->tokens,
      .eps = a->eps,
      .flags = a->flags,
      .w_scale = a->w_scale,
      .scale_row = (int64_t)sizeof(float) * a->w_scale_row_stride,
      .scale_first_row = a->w_scale_row,
      .scale_head = a->w_head_stride / a->w_row_stride,
      .scale_first_column = a->w_scale_column,
  };
}

/* The tensor that a map is of: all heads side by side, a row of W reaching into the next rows then, which no box looks at. */
typedef struct tensor { const void *data; uint64_t cols, rows, stride; } tensor;
static tensor tensor_of(const product *p, const kernel_args *a, uint32_t of) {
  const int weights = of == MAP_W;
  const int64_t head = weights ? a->w_head : a->x_head, columns = weights && p->by_inputs ? p->outer : p->inner;
  const int64_t bytes = weights ? w_bytes(p) * columns : 2 * columns; /* of a row: maps count 16 bits */
  return (tensor){weights ? a->w : a->x, (uint64_t)((p->heads - 1) * head / 2 + bytes / 2),
                  (uint64_t)(!weights ? a->tokens : p->by_inputs ? p->inner : p->outer),
                  (uint64_t)(weights ? a->w_row : a->x_token)};
}

/* The tiles of each head; of a kernel with clusters the blocks of one work on a tile together. */
static uint64_t blocks_of(const product *p, const mlaf_embed_kernel *k) {
  return (uint64_t)p->heads * (((uint32_t)p->outer + k->rows_per_wg - 1) / k->rows_per_wg) *
         (k->cluster[0] > 1 ? k->cluster[0] : 1);
}

static size_t product_bytes(const mlaf_embed_kernel *k) {
  if (!k->n_maps) return k->flags & EMBED_SCALES ? sizeof(kernel_args) : offsetof(kernel_args, w_scale);
  return offsetof(parameters, maps) + k->n_maps * sizeof((parameters *)NULL)->maps[0];
}
static size_t parameter_bytes(const mlaf_embed_kernel *k) {
  const size_t align = k->n_maps ? 64 : 8;
  if (!(k->flags & EMBED_APPENDS)) return product_bytes(k);
  return (product_bytes(k) + sizeof(side) + align - 1) / align * align;
}

static uint32_t in_teams(uint32_t blocks, uint32_t team) { return (blocks + team - 1) / team * team; }

/* Blocks beside `product` ones, as mlaforge's runtime/ops/mla_q_b/append.c: a token a warp, where compute units are left for so
 * many in the product's last turn; with fewer of them a warp takes several tokens. */
static uint32_t side_blocks(const mlaf_embed_kernel *k, uint32_t units, uint32_t wave, uint32_t blocks, int64_t tokens) {
  const uint32_t team = k->cluster[0] > 1 ? k->cluster[0] : 1, warps = k->threads / wave;
  const uint32_t most = (uint32_t)((tokens + warps - 1) / warps), least = (most + TOKENS_OF_WARP - 1) / TOKENS_OF_WARP;
  const uint32_t left = units ? (units - blocks % units) % units / team * team : most;
  return in_teams(left < least ? least : left > most ? most : left, team);
}

/* The whole of a kernel's parameters but for maps; beside NULL: nothing is. Its blocks. */
static uint32_t fill_all(const product *p, const mlaf_embed_kernel *k, uint32_t units, uint32_t wave, const arguments *a,
                         const mlaf_embed_beside *beside, everything *out) {
  const uint32_t blocks = (uint32_t)blocks_of(p, k);
  fill(p, a, &((parameters *)(void *)out)->args);
  if (!(k->flags & EMBED_APPENDS)) return blocks;
  side more = {.blocks = side_blocks(k, units, wave, blocks, beside ? beside->tokens : 0)};
  if (beside) memcpy(more.block, beside->block, sizeof more.block);
  memset(out->bytes + product_bytes(k), 0, parameter_bytes(k) - product_bytes(k));
  memcpy(out->bytes + product_bytes(k), &more, sizeof more);
  return blocks + (uint32_t)more.blocks;
}

/* Fill the block and launch it, with the device current: a driver error. */
static int launch(const mlaf_embed_plan *x, const product *p, const arguments *given, const mlaf_embed_beside *beside,
                  void *stream) {
  const mlaf_embed_kernel *k = x->kernels[0];
  arguments a = *given;
  everything all;
  parameters *const block = (void *)&all;
  int code = 0;
  dense(p, &a);
  const uint32_t grid[] = {fill_all(p, k, mlaf_embed_units(x->owner), mlaf_embed_wave(x->owner), &a, beside, &all), 1, 1};
  for (uint32_t i = 0; i < k->n_maps && i < MAPS && !code; i++) {
    const tensor t = tensor_of(p, &block->args, k->maps[i].of);
    code = mlaf_embed_encode(x->owner, &k->maps[i], t.data, t.cols, t.rows, t.stride, block->maps[i]);
  }
  return code ? code : mlaf_embed_launch(x->owner, k, x->functions[0], grid, &all, parameter_bytes(k), stream);
}

mlaf_embed_status mlaf_embed_projection_execute(const mlaf_embed_projection *op, const mlaf_embed_plan *x,
                                                const mlaf_embed_projection_args *a, const mlaf_embed_beside *beside,
                                                void *stream, char *why, size_t size) {
  reason err = {why, size};
  mlaf_embed_status st = mlaf_embed_expect(x, a, &op->rules, why, size);
  if (st) return st;
  const product p = op->product(x->row->values);
  st = check(&p, a, &err);
  if (st || !a->tokens) return st;
  int previous = 0;
  if ((st = mlaf_embed_begin(x->owner, &previous, why, size))) return st;
  const int code = launch(x, &p, a, beside, stream);
  return mlaf_embed_end(x->owner, previous, code, why, size);
}
