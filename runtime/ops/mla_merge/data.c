/* The data that mla_merge is timed and soaked on: parts from the pool, their sums drawn. One set for timing, since both parts
 * come from the launches before and lie where these left them. LSE is [T, H], so that its rows are those of O. */
#include "ops/mla_merge/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { O, LSE, ROWS_LEAST = 3 };

typedef struct merge_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  const atomic_bool *cancel;
  merge_shape s;
  mlaf_merge_args args;
  size_t rows, part; /* of a launch; elements of a part's O */
  float *lse;        /* [2][rows], on the host */
} merge_data;

static const merge_data *data_of(const mlaf_data *d) { return (const void *)d; }

static mlaf_status alloc_tensors(merge_data *d, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  mlaf_merge_args *a = &d->args;
  const size_t sums = d->rows * sizeof(float), row = 2 * (size_t)d->s.vdim;
  void *sums_at = NULL;
  mlaf_status st = mlaf_pool_need(d->pool, (mlaf_dtype)d->s.dtype, (size_t)d->head.pool_bytes, (void **)&a->prefix.o, err);
  if (!st) st = ops->mem_alloc(d->dev, 2 * sums, &sums_at, err);
  a->prefix.lse = sums_at;
  a->suffix.lse = (const float *)sums_at + d->rows;
  if (!st) st = ops->mem_write(d->dev, sums_at, d->lse, 2 * sums, err);
  if (!st) st = ops->mem_alloc(d->dev, d->rows * row, &a->o, err);
  if (!st) st = ops->mem_alloc(d->dev, sums, (void **)&a->lse, err);
  d->head.outputs[O] = (mlaf_data_output){"o", offsetof(mlaf_merge_args, o), d->rows, row};
  d->head.outputs[LSE] = (mlaf_data_output){"lse", offsetof(mlaf_merge_args, lse), d->rows, sizeof(float)};
  d->head.n_outputs = 2;
  return st;
}

static void plan_sets(merge_data *d, const mlaf_data_opts *opts) {
  const int64_t bytes = (int64_t)(4 * d->part); /* of both parts */
  d->head.sets = 1;
  if (opts->spread_bytes) {
    const int64_t sets = opts->spread_bytes / bytes;
    d->head.sets = (int)(sets < 2 ? 2 : sets > opts->spread_sets ? opts->spread_sets : sets);
  }
  d->head.pool_bytes = bytes * d->head.sets;
  d->head.rows = d->head.tokens = d->s.tokens;
}

static mlaf_status draw(merge_data *d, uint64_t seed, mlaf_err *err) {
  mlaf_rng rng = {seed};
  if (!(d->lse = malloc(2 * d->rows * sizeof *d->lse))) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu rows", d->rows);
  for (size_t i = 0; i < 2 * d->rows; i++) d->lse[i] = 8 + 2 * mlaf_rng_normal(&rng);
  return MLAF_OK;
}

mlaf_status merge_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                            mlaf_err *err) {
  merge_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (merge_data){.dev = dev, .pool = pool, .s = merge_shape_of(p), .cancel = opts->cancel};
  const int64_t heads = d->s.heads, mem = mlaf_info(dev)->mem_bytes;
  d->rows = (size_t)(d->s.tokens * heads);
  d->part = d->rows * (size_t)d->s.vdim;
  d->head.work = merge_work(p);
  plan_sets(d, opts);
  const int64_t stride = heads > 1 || d->s.tokens > 1 ? heads : 0;
  d->args = (mlaf_merge_args){.struct_size = sizeof d->args, .tokens = d->s.tokens, .lse_token_stride = stride,
                              .lse_head_stride = stride ? 1 : 0};
  d->args.prefix.lse_token_stride = d->args.suffix.lse_token_stride = stride;
  d->args.prefix.lse_head_stride = d->args.suffix.lse_head_stride = stride ? 1 : 0;
  mlaf_status st = MLAF_OK;
  const double need = (double)d->head.pool_bytes + 2 * (double)d->part + 12 * (double)d->rows;
  if (mem && need > (double)(mem - mem / 8))
    st = mlaf_fail(err, MLAF_E_ARG, "%lld tokens need %.1f GiB, %s has %.1f GiB: time fewer", (long long)d->s.tokens,
                   need / 0x1p30, mlaf_info(dev)->name, (double)mem / 0x1p30);
  if (!st) st = draw(d, opts->seed, err);
  if (!st) st = alloc_tensors(d, err);
  if (st) {
    merge_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void merge_data_close(mlaf_data *data) {
  merge_data *d = (void *)data;
  if (!d) return;
  void *const all[] = {(void *)(uintptr_t)d->args.prefix.lse, d->args.o, d->args.lse};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) mlaf_ops(d->dev)->mem_free(d->dev, all[i], NULL);
  free(d->lse);
  free(d);
}

void merge_data_args(const mlaf_data *data, int set, void *args) {
  const merge_data *d = data_of(data);
  mlaf_merge_args *a = args;
  *a = d->args;
  a->prefix.o = (const uint16_t *)d->args.prefix.o + 2 * d->part * (size_t)set;
  a->suffix.o = (const uint16_t *)a->prefix.o + d->part;
}

void merge_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size) {
  const size_t heads = (size_t)data_of(d)->s.heads;
  snprintf(out, size, "token %zu, head %zu", row / heads, row % heads);
}

/* --- what came out --- */

static void refer(const merge_data *d, int set, size_t row, merge_row *want) {
  const uint16_t *block = mlaf_pool_block(d->pool);
  const size_t n = (size_t)d->s.vdim, first = 2 * d->part * (size_t)set + row * n;
  uint16_t prefix[MLA_MERGE_VDIM_MAX], suffix[MLA_MERGE_VDIM_MAX];
  for (size_t i = 0; i < n; i++) {
    prefix[i] = block[(first + i) % MLAF_POOL_BLOCK];
    suffix[i] = block[(first + d->part + i) % MLAF_POOL_BLOCK];
  }
  merge_reference(&d->s, prefix, d->lse[row], suffix, d->lse[d->rows + row], false, want);
}

mlaf_status merge_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                             double *error, mlaf_err *err) {
  const merge_data *d = data_of(data);
  merge_row w;
  int column = 0;
  /* Two launches give the same bits: any difference is a fault. */
  if (want) {
    *error = memcmp(got, want, d->head.outputs[output].row_bytes) ? INFINITY : 0;
    return MLAF_OK;
  }
  refer(d, set, row, &w);
  *error = output == O ? merge_row_off(&d->s, &w, got, &column) : merge_lse_ratio(&w, *(const float *)got) * MERGE_ULPS;
  return MLAF_OK;
}

static mlaf_status check_row(const merge_data *d, int set, size_t row, void *const outputs[], mlaf_data_checked *out,
                             mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const size_t bytes = d->head.outputs[O].row_bytes;
  uint16_t o[MLA_MERGE_VDIM_MAX];
  float lse;
  merge_row want;
  int column = 0;
  char where[80];
  mlaf_status st = ops->mem_read(d->dev, o, (const char *)outputs[O] + row * bytes, bytes, err);
  if (!st) st = ops->mem_read(d->dev, &lse, (const char *)outputs[LSE] + row * sizeof lse, sizeof lse, err);
  if (st) return st;
  refer(d, set, row, &want);
  const double off = merge_row_off(&d->s, &want, o, &column), ratio = merge_lse_ratio(&want, lse);
  out->rows++;
  out->error = out->row_error = fmax(out->error, off);
  out->lse_ratio = fmax(out->lse_ratio, ratio);
  merge_data_row(&d->head, O, row, where, sizeof where);
  if (!(off <= MERGE_ULPS))
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s of set %d: column %d is %g, reference %g: off by %g units in the last place",
                     where, set, column, (double)mlaf_decode16(d->s.dtype, o[column]), want.o[column], off);
  if (!(ratio <= 1)) return mlaf_fail(err, MLAF_E_INCORRECT, "%s: lse is %.9g, reference %.9g", where, (double)lse, want.lse);
  return MLAF_OK;
}

/* Rows evenly spread over all, the first and the last among them. */
mlaf_status merge_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                             mlaf_err *err) {
  const merge_data *d = data_of(data);
  double afford = most_work / (4.0 * d->s.vdim);
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
