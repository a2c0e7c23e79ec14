/* The data that mla_dequant is timed and soaked on: the pool's bytes, whatever they are as weights, and random scales that all
 * sets share. In as many sets as make each launch find its weights cold: a layer's others were read since. */
#include "ops/mla_dequant/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { ROWS_LEAST = 3, SETS_MOST = 128, ELEMENT = 2 };
#define CACHES_BETWEEN 4                  /* times the largest cache lie between two uses of a weight */
#define POOL_ENOUGH    ((int64_t)4 << 30) /* bytes: more are not made for the sake of further sets */

typedef struct dequant_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  const atomic_bool *cancel;
  dequant_shape s;
  mlaf_dequant_args args;
  size_t part;   /* bytes of a set's weights */
  float *scales; /* on the host */
} dequant_data;

static const dequant_data *data_of(const mlaf_data *d) { return (const void *)d; }

static size_t scale_bytes(const dequant_shape *s) {
  return (size_t)(dequant_blocks(s->rows) * dequant_blocks(s->columns)) * sizeof(float);
}

static void plan_sets(dequant_data *d, const mlaf_data_opts *opts) {
  const mlaf_device_info *info = mlaf_info(d->dev);
  const int64_t cache = info->l2_bytes > info->llc_bytes ? info->l2_bytes : info->llc_bytes, bytes = (int64_t)d->part;
  const int64_t limit = opts->cache_limit ? opts->cache_limit : POOL_ENOUGH;
  d->head.sets = 1;
  if (opts->spread_bytes) {
    const int64_t sets = opts->spread_bytes / bytes;
    d->head.sets = (int)(sets < 2 ? 2 : sets > opts->spread_sets ? opts->spread_sets : sets);
  } else if (!(mlaf_ops(d->dev)->features & MLAF_DEVICE_MODELLED)) {
    while (d->head.sets < SETS_MOST && d->head.sets * bytes < CACHES_BETWEEN * cache && 2 * d->head.sets * bytes <= limit)
      d->head.sets *= 2;
  }
  d->head.pool_bytes = bytes * d->head.sets;
  d->head.rows = d->head.tokens = d->s.rows;
}

static mlaf_status draw(dequant_data *d, uint64_t seed, mlaf_err *err) {
  const size_t bytes = scale_bytes(&d->s);
  mlaf_rng rng = {seed};
  d->scales = malloc(bytes);
  if (!d->scales) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu bytes of scales", bytes);
  for (size_t i = 0; i < bytes / sizeof *d->scales; i++)
    d->scales[i] = 0x1p-8f * (1 + (float)mlaf_rng_below(&rng, 1u << 20) * 0x1p-20f);
  return MLAF_OK;
}

static mlaf_status alloc_tensors(dequant_data *d, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const size_t rows = (size_t)d->s.rows, row = ELEMENT * (size_t)d->s.columns, bytes = scale_bytes(&d->s);
  mlaf_dequant_args *a = &d->args;
  void *now; /* other data may have the pool grow: arguments ask it where it is */
  mlaf_status st = mlaf_pool_need(d->pool, (mlaf_dtype)d->s.dtype, (size_t)d->head.pool_bytes, &now, err);
  if (!st) st = ops->mem_alloc(d->dev, bytes, (void **)&a->w_scale, err);
  if (!st) st = ops->mem_write(d->dev, (void *)(uintptr_t)a->w_scale, d->scales, bytes, err);
  if (!st) st = ops->mem_alloc(d->dev, rows * row, &a->y, err);
  d->head.outputs[0] = (mlaf_data_output){"y", offsetof(mlaf_dequant_args, y), rows, row};
  d->head.n_outputs = 1;
  return st;
}

mlaf_status dequant_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                              mlaf_err *err) {
  dequant_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (dequant_data){.dev = dev, .pool = pool, .s = dequant_shape_of(p), .cancel = opts->cancel};
  const int64_t mem = mlaf_info(dev)->mem_bytes;
  d->part = (size_t)d->s.rows * (size_t)d->s.columns;
  d->head.work = dequant_work(p);
  plan_sets(d, opts);
  d->args = (mlaf_dequant_args){.struct_size = sizeof d->args, .rows = d->s.rows};
  mlaf_status st = MLAF_OK;
  const double need = (double)d->head.pool_bytes + ELEMENT * (double)d->part;
  if (mem && need > (double)(mem - mem / 8))
    st = mlaf_fail(err, MLAF_E_ARG, "%lld rows need %.1f GiB, %s has %.1f GiB: time fewer", (long long)d->s.rows, need / 0x1p30,
                   mlaf_info(dev)->name, (double)mem / 0x1p30);
  if (!st) st = draw(d, opts->seed, err);
  if (!st) st = alloc_tensors(d, err);
  if (st) {
    dequant_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void dequant_data_close(mlaf_data *data) {
  dequant_data *d = (void *)data;
  if (!d) return;
  void *const all[] = {(void *)(uintptr_t)d->args.w_scale, d->args.y};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) mlaf_ops(d->dev)->mem_free(d->dev, all[i], NULL);
  free(d->scales);
  free(d);
}

void dequant_data_args(const mlaf_data *data, int set, void *args) {
  const dequant_data *d = data_of(data);
  mlaf_dequant_args *a = args;
  *a = d->args;
  a->w = (const char *)mlaf_pool_data(d->pool) + d->part * (size_t)set;
}

void dequant_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size) { snprintf(out, size, "row %zu", row); }

/* --- what came out --- */

/* The first column of a row that is not what it must be; -1: none. */
static int wrong_column(const dequant_data *d, int set, size_t row, const uint16_t *got) {
  const uint8_t *block = (const void *)mlaf_pool_block(d->pool);
  const size_t first = d->part * (size_t)set + row * (size_t)d->s.columns;
  const float *scales = d->scales + row / DEQUANT_BLOCK * (size_t)dequant_blocks(d->s.columns);
  for (int i = 0; i < d->s.columns; i++) {
    const uint8_t code = block[(first + (size_t)i) % ((size_t)MLAF_POOL_BLOCK * ELEMENT)];
    if (!dequant_agrees(&d->s, code, scales[i / DEQUANT_BLOCK], got[i])) return i;
  }
  return -1;
}

mlaf_status dequant_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                               double *error, mlaf_err *err) {
  const dequant_data *d = data_of(data);
  const bool wrong = want ? memcmp(got, want, d->head.outputs[0].row_bytes) != 0 : wrong_column(d, set, row, got) >= 0;
  *error = wrong ? INFINITY : 0;
  return MLAF_OK;
}

static mlaf_status check_row(const dequant_data *d, int set, size_t row, void *const outputs[], mlaf_data_checked *out,
                             mlaf_err *err) {
  const size_t bytes = d->head.outputs[0].row_bytes;
  uint16_t y[MLA_DEQUANT_COLUMNS_MAX];
  mlaf_status st = mlaf_ops(d->dev)->mem_read(d->dev, y, (const char *)outputs[0] + row * bytes, bytes, err);
  if (st) return st;
  const int column = wrong_column(d, set, row, y);
  out->rows++;
  if (column < 0) return MLAF_OK;
  out->error = out->row_error = INFINITY;
  return mlaf_fail(err, MLAF_E_INCORRECT, "row %zu of set %d: column %d is %g", row, set, column,
                   (double)mlaf_decode16(d->s.dtype, y[column]));
}

/* Rows evenly spread over all, the first and the last among them. */
mlaf_status dequant_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                               mlaf_err *err) {
  const dequant_data *d = data_of(data);
  const size_t rows = (size_t)d->s.rows;
  double afford = most_work / d->s.columns;
  if (afford > (double)rows) afford = (double)rows;
  size_t n = afford < ROWS_LEAST ? ROWS_LEAST : (size_t)afford;
  if (n > rows) n = rows;
  *out = (mlaf_data_checked){0};
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n && !(d->cancel && atomic_load(d->cancel)); i++)
    st = check_row(d, set, n > 1 ? (size_t)((double)i / (double)(n - 1) * (double)(rows - 1)) : 0, outputs, out, err);
  snprintf(out->which, sizeof out->which, "%zu of %zu rows of set %d", (size_t)out->rows, rows, set);
  return st;
}
