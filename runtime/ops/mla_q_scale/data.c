/* The data that mla_q_scale is timed and soaked on: queries from the pool, positions drawn over four steps, so that one in four
 * tokens keeps its bits. One set for timing, since queries come from the launch before and lie where it left them. */
#include "ops/mla_q_scale/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { ROWS_LEAST = 3, STEP = 8192, STEPS = 4 };
#define BETA 0.1f

typedef struct q_scale_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  const atomic_bool *cancel;
  q_scale_shape s;
  mlaf_q_scale_args args;
  size_t rows, part;  /* of a launch; elements of its queries */
  int64_t *positions; /* on the host */
} q_scale_data;

static const q_scale_data *data_of(const mlaf_data *d) { return (const void *)d; }

static mlaf_status alloc_tensors(q_scale_data *d, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  mlaf_q_scale_args *a = &d->args;
  const size_t bytes = (size_t)d->s.tokens * sizeof *d->positions, row = 2 * (size_t)d->s.qdim;
  mlaf_status st = mlaf_pool_need(d->pool, (mlaf_dtype)d->s.dtype, (size_t)d->head.pool_bytes, (void **)&a->x, err);
  if (!st) st = ops->mem_alloc(d->dev, bytes, (void **)&a->positions, err);
  if (!st) st = ops->mem_write(d->dev, (void *)(uintptr_t)a->positions, d->positions, bytes, err);
  if (!st) st = ops->mem_alloc(d->dev, d->rows * row, &a->y, err);
  d->head.outputs[0] = (mlaf_data_output){"y", offsetof(mlaf_q_scale_args, y), d->rows, row};
  d->head.n_outputs = 1;
  return st;
}

static void plan_sets(q_scale_data *d, const mlaf_data_opts *opts) {
  const int64_t bytes = (int64_t)(2 * d->part);
  d->head.sets = 1;
  if (opts->spread_bytes) {
    const int64_t sets = opts->spread_bytes / bytes;
    d->head.sets = (int)(sets < 2 ? 2 : sets > opts->spread_sets ? opts->spread_sets : sets);
  }
  d->head.pool_bytes = bytes * d->head.sets;
  d->head.rows = d->head.tokens = d->s.tokens;
}

static mlaf_status draw(q_scale_data *d, uint64_t seed, mlaf_err *err) {
  mlaf_rng rng = {seed};
  d->positions = malloc((size_t)d->s.tokens * sizeof *d->positions);
  if (!d->positions) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld positions", (long long)d->s.tokens);
  for (int64_t t = 0; t < d->s.tokens; t++) d->positions[t] = mlaf_rng_below(&rng, STEP * STEPS);
  return MLAF_OK;
}

mlaf_status q_scale_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                              mlaf_err *err) {
  q_scale_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (q_scale_data){.dev = dev, .pool = pool, .s = q_scale_shape_of(p), .cancel = opts->cancel};
  const int64_t mem = mlaf_info(dev)->mem_bytes;
  d->rows = (size_t)(d->s.tokens * d->s.heads);
  d->part = d->rows * (size_t)d->s.qdim;
  d->head.work = q_scale_work(p);
  plan_sets(d, opts);
  d->args = (mlaf_q_scale_args){.struct_size = sizeof d->args, .tokens = d->s.tokens, .beta = BETA, .original = STEP};
  mlaf_status st = MLAF_OK;
  const double need = (double)d->head.pool_bytes + 2 * (double)d->part + 8 * (double)d->s.tokens;
  if (mem && need > (double)(mem - mem / 8))
    st = mlaf_fail(err, MLAF_E_ARG, "%lld tokens need %.1f GiB, %s has %.1f GiB: time fewer", (long long)d->s.tokens,
                   need / 0x1p30, mlaf_info(dev)->name, (double)mem / 0x1p30);
  if (!st) st = draw(d, opts->seed, err);
  if (!st) st = alloc_tensors(d, err);
  if (st) {
    q_scale_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void q_scale_data_close(mlaf_data *data) {
  q_scale_data *d = (void *)data;
  if (!d) return;
  void *const all[] = {(void *)(uintptr_t)d->args.positions, d->args.y};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) mlaf_ops(d->dev)->mem_free(d->dev, all[i], NULL);
  free(d->positions);
  free(d);
}

void q_scale_data_args(const mlaf_data *data, int set, void *args) {
  const q_scale_data *d = data_of(data);
  mlaf_q_scale_args *a = args;
  *a = d->args;
  a->x = (const uint16_t *)d->args.x + d->part * (size_t)set;
}

void q_scale_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size) {
  const size_t heads = (size_t)data_of(d)->s.heads;
  snprintf(out, size, "token %zu, head %zu", row / heads, row % heads);
}

/* --- what came out --- */

static double row_off(const q_scale_data *d, int set, size_t row, const uint16_t *got, int *column) {
  const uint16_t *block = mlaf_pool_block(d->pool);
  const size_t n = (size_t)d->s.qdim, first = d->part * (size_t)set + row * n;
  uint16_t x[MLA_Q_SCALE_QDIM_MAX];
  for (size_t i = 0; i < n; i++) x[i] = block[(first + i) % MLAF_POOL_BLOCK];
  return q_scale_row_off(&d->s, q_scale_reference(d->positions[row / (size_t)d->s.heads], BETA, STEP), x, got, column);
}

mlaf_status q_scale_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                               double *error, mlaf_err *err) {
  const q_scale_data *d = data_of(data);
  int column = 0;
  /* Two launches give the same bits: any difference is a fault. */
  if (want) *error = memcmp(got, want, d->head.outputs[0].row_bytes) ? INFINITY : 0;
  else *error = row_off(d, set, row, got, &column);
  return MLAF_OK;
}

static mlaf_status check_row(const q_scale_data *d, int set, size_t row, void *const outputs[], mlaf_data_checked *out,
                             mlaf_err *err) {
  const size_t bytes = d->head.outputs[0].row_bytes;
  uint16_t y[MLA_Q_SCALE_QDIM_MAX];
  int column = 0;
  char where[80];
  mlaf_status st = mlaf_ops(d->dev)->mem_read(d->dev, y, (const char *)outputs[0] + row * bytes, bytes, err);
  if (st) return st;
  const double off = row_off(d, set, row, y, &column);
  out->rows++;
  out->error = out->row_error = fmax(out->error, off);
  if (off <= Q_SCALE_ULPS) return MLAF_OK;
  q_scale_data_row(&d->head, 0, row, where, sizeof where);
  return mlaf_fail(err, MLAF_E_INCORRECT, "%s of set %d: column %d is off by %g units in the last place", where, set, column,
                   off);
}

/* Rows evenly spread over all, the first and the last among them. */
mlaf_status q_scale_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                               mlaf_err *err) {
  const q_scale_data *d = data_of(data);
  double afford = most_work / d->s.qdim;
  if (afford > (double)d->rows) afford = (double)d->rows;
  size_t n = afford < ROWS_LEAST ? ROWS_LEAST : (size_t)afford;
  if (n > d->rows) n = d->rows;
  *out = (mlaf_data_checked){0};
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n && !(d->cancel && atomic_load(d->cancel)); i++)
    st = check_row(d, set, n > 1 ? (size_t)((double)i / (double)(n - 1) * (double)(d->rows - 1)) : 0, outputs, out, err);
  snprintf(out->which, sizeof out->which, "%zu of %zu rows of set %d", (size_t)out->rows, d->rows, set);
  return st;
}
