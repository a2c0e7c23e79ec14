/* The data that mla_prefill is timed on, and what was computed on it against fp64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/pattern.h"
#include "ops/mla_prefill/reference.h"

enum { O, LSE, ROWS_LEAST = 4 };

/* One set: prefill is bound by arithmetic, and what it reads is mostly larger than any cache. Keys and values lie side by
 * side in one buffer [Tk, H, N+V], as kv_b leaves them; LSE is [Tq, H], so that its rows are those of O. */
typedef struct prefill_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  const atomic_bool *cancel;
  mlaf_point point;
  prefill_view x; /* no tensors in it */
  mlaf_prefill_args args;
  int32_t *cu; /* [2][batch + 1], on the host */
  void *tables; /* on the device */
  /* Data of 8 bits, which no pool has: two patterns of bytes that repeat, for K and V, and for Q and k_pe; K and V. */
  uint8_t *codes[2];
  void *kv, *scales; /* on the device */
} prefill_data;

static const prefill_data *data_of(const mlaf_data *d) { return (const void *)d; }

/* Elements of the pool's pattern where Q and k_pe begin: rows of Q and K that hold the same numbers would be each other's
 * best match by far. */
static size_t q_first(const prefill_data *d) { return (MLAF_POOL_BLOCK - 100003) % MLAF_POOL_BLOCK; }
static size_t k_pe_first(const prefill_data *d) { return MLAF_POOL_BLOCK / 2; }

enum { CODE_STD = 8 };
static const float CODE_SCALE = 0.1f; /* of each tensor */

/* --- making it --- */

static mlaf_status draw_codes(prefill_data *d, mlaf_err *err) {
  mlaf_rng rng = {1};
  prefill_decode_codes(&d->x);
  for (int i = 0; i < 3; i++) d->x.tensor_scale[i] = CODE_SCALE;
  for (int i = 0; i < 2; i++) {
    if (!(d->codes[i] = malloc(MLAF_PATTERN))) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d bytes", MLAF_PATTERN);
    for (size_t j = 0; j < MLAF_PATTERN; j++) d->codes[i][j] = prefill_code(&d->x, CODE_STD * mlaf_rng_normal(&rng));
  }
  return MLAF_OK;
}

/* Device memory with `bytes` of the pool's pattern, or of one of 8 bits, from its element `first` on; none: NULL. */
static mlaf_status lay(prefill_data *d, int which, size_t first, size_t bytes, void **out, mlaf_err *err) {
  if (!bytes) return MLAF_OK;
  const mlaf_status st = mlaf_ops(d->dev)->mem_alloc(d->dev, bytes, out, err);
  if (st) return st;
  return d->codes[which] ? mlaf_pattern_lay(d->dev, d->codes[which], first, *out, bytes, err)
                         : mlaf_pool_fill(d->pool, *out, bytes, first, err);
}

static mlaf_status draw_lengths(prefill_data *d, const mlaf_data_opts *opts, mlaf_err *err) {
  const prefill_shape *s = &d->x.s;
  const size_t n = (size_t)s->batch;
  int32_t *lengths = mlaf_data_lengths(opts, s->ctx, s->batch, err);
  if (!lengths) return MLAF_E_NOMEM;
  if (!(d->cu = calloc(2 * (n + 1), sizeof *d->cu))) {
    free(lengths);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu lengths", n);
  }
  int64_t q = 0, k = 0;
  double seen = 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t part = lengths[i] * s->tokens / s->ctx, tokens = part > 0 ? part : 1;
    for (int64_t t = 0; t < tokens; t++) seen += (double)prefill_visible(s, lengths[i], t, tokens);
    q += tokens;
    k += lengths[i];
    if (q <= INT32_MAX) d->cu[i + 1] = (int32_t)q;
    if (k <= INT32_MAX) d->cu[n + 2 + i] = (int32_t)k;
    d->head.uneven |= lengths[i] != lengths[0];
  }
  free(lengths);
  if (q > INT32_MAX || k > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "batch %zu has %lld keys; lengths are 32-bit", n, (long long)(q > k ? q : k));
  d->head.work = prefill_work_of(s, (double)q * s->heads, (double)k, seen * s->heads);
  d->head.rows = d->x.total_q = q;
  d->head.tokens = d->x.total_k = k;
  d->x.batch = s->batch;
  d->x.cu_q = d->cu;
  d->x.cu_k = d->cu + n + 1;
  return MLAF_OK;
}

static mlaf_status lay_inputs(prefill_data *d, size_t q_bytes, size_t k_pe_bytes, void **kv, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const bool bytes = d->x.s.inputs;
  mlaf_prefill_args *a = &d->args;
  const size_t kv_bytes = (size_t)d->head.pool_bytes;
  mlaf_status st = bytes ? draw_codes(d, err) : mlaf_pool_need(d->pool, (mlaf_dtype)d->x.s.dtype, kv_bytes, kv, err);
  if (!st && bytes) st = lay(d, 0, 0, kv_bytes, &d->kv, err);
  if (!st) st = lay(d, 1, q_first(d), q_bytes, (void **)&a->q, err);
  if (!st) st = lay(d, 1, k_pe_first(d), k_pe_bytes, (void **)&a->k_pe, err);
  if (st || !bytes) return st;
  *kv = d->kv;
  st = ops->mem_alloc(d->dev, sizeof d->x.tensor_scale, &d->scales, err);
  if (st) return st;
  a->q_scale = d->scales, a->k_scale = a->q_scale + 1, a->v_scale = a->q_scale + 2;
  return ops->mem_write(d->dev, d->scales, d->x.tensor_scale, sizeof d->x.tensor_scale, err);
}

static mlaf_status alloc_tensors(prefill_data *d, mlaf_err *err) {
  const prefill_shape *s = &d->x.s;
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  mlaf_prefill_args *a = &d->args;
  const size_t rows = (size_t)(d->x.total_q * s->heads), words = 2 * (size_t)(s->batch + 1) * sizeof(int32_t);
  const size_t bytes = (size_t)s->bytes, q_bytes = rows * (size_t)s->qk * bytes;
  const size_t k_pe_bytes = (size_t)d->x.total_k * (size_t)s->rope * bytes;
  const int64_t mem = mlaf_info(d->dev)->mem_bytes;
  const mlaf_data_output outputs[] = {
      [O] = {"o", offsetof(mlaf_prefill_args, o), rows, (size_t)s->vdim * 2},
      [LSE] = {"lse", offsetof(mlaf_prefill_args, lse), rows, sizeof(float)},
  };
  memcpy(d->head.outputs, outputs, sizeof outputs);
  d->head.n_outputs = sizeof outputs / sizeof *outputs;
  d->head.pool_bytes = s->bytes * d->x.total_k * s->heads * (s->nope + s->vdim);
  const double all = (double)d->head.pool_bytes + (double)q_bytes + (double)rows * (s->vdim * 2 + 4) + (double)k_pe_bytes;
  if (mem && all > (double)(mem - mem / 8))
    return mlaf_fail(err, MLAF_E_ARG, "its tensors need %.1f GiB, %s has %.1f GiB: time a smaller batch", all / 0x1p30,
                     mlaf_info(d->dev)->name, (double)mem / 0x1p30);
  void *kv = NULL;
  mlaf_status st = lay_inputs(d, q_bytes, k_pe_bytes, &kv, err);
  if (!st) st = ops->mem_alloc(d->dev, rows * outputs[O].row_bytes, &a->o, err);
  if (!st) st = ops->mem_alloc(d->dev, rows * sizeof(float), (void **)&a->lse, err);
  if (!st) st = ops->mem_alloc(d->dev, words, &d->tables, err);
  if (!st) st = ops->mem_write(d->dev, d->tables, d->cu, words, err);
  a->k = kv;
  a->v = (char *)kv + s->bytes * s->nope;
  a->cu_seqlens_q = d->tables;
  a->cu_seqlens_k = (const int32_t *)d->tables + s->batch + 1;
  return st;
}

mlaf_status prefill_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                              mlaf_err *err) {
  prefill_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (prefill_data){.head = {.sets = 1}, .dev = dev, .pool = pool, .cancel = opts->cancel, .point = *p};
  d->x.s = prefill_shape_of(p);
  const prefill_shape *s = &d->x.s;
  mlaf_status st = draw_lengths(d, opts, err);
  if (!st) {
    const int64_t row = s->nope + s->vdim;
    d->args = (mlaf_prefill_args){
        .struct_size = sizeof d->args,
        .batch = (int32_t)s->batch,
        .scale = (float)(sqrt(3.0) / sqrt(s->qk)),
        .total_q = d->x.total_q,
        .total_k = d->x.total_k,
        .k_token_stride = s->heads * row,
        .k_head_stride = row,
        .v_token_stride = s->heads * row,
        .v_head_stride = row,
        .lse_token_stride = s->heads,
        .lse_head_stride = 1,
    };
    if (s->inputs) d->args.scale /= (CODE_STD * CODE_SCALE) * (CODE_STD * CODE_SCALE);
    d->x.scale = (double)d->args.scale;
    st = alloc_tensors(d, err);
  }
  if (st) {
    prefill_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void prefill_data_close(mlaf_data *data) {
  prefill_data *d = (void *)data;
  if (!d) return;
  void *const all[] = {(void *)d->args.q, (void *)d->args.k_pe, d->args.o, d->args.lse, d->tables, d->kv, d->scales};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) mlaf_ops(d->dev)->mem_free(d->dev, all[i], NULL);
  free(d->cu);
  free(d->codes[0]);
  free(d->codes[1]);
  free(d);
}

void prefill_data_args(const mlaf_data *d, int set, void *args) { *(mlaf_prefill_args *)args = data_of(d)->args; }

void prefill_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size) {
  const prefill_data *x = data_of(d);
  const prefill_row r = prefill_row_of(&x->x, (int64_t)row / x->x.s.heads);
  const int head = (int)(row % (size_t)x->x.s.heads);
  snprintf(out, size, "request %lld, token %lld, head %d", (long long)r.request, (long long)r.token, head);
}

/* --- checking it --- */

/* `count` elements to element `to` of `out`; `which`: of 8 bits there are two patterns. */
static void pattern(const prefill_data *d, int which, size_t at, size_t count, void *out, size_t to) {
  if (d->x.s.inputs) mlaf_pattern_read(d->codes[which], at, count, (uint8_t *)out + to);
  for (size_t i = 0; !d->x.s.inputs && i < count; i++)
    ((uint16_t *)out)[to + i] = mlaf_pool_block(d->pool)[(at + i) % MLAF_POOL_BLOCK];
}

/* A row of O in fp64, and what tells its bounds. */
typedef struct wanted {
  prefill_row row;
  double lse, magnitude, o[256];
} wanted;

static mlaf_status refer(const prefill_data *d, size_t at, wanted *w, mlaf_err *err) {
  const prefill_shape *s = &d->x.s;
  const int64_t token = (int64_t)(at / (size_t)s->heads), head = (int64_t)(at % (size_t)s->heads);
  w->row = prefill_row_of(&d->x, token);
  const size_t qk = (size_t)s->qk, vdim = (size_t)s->vdim, nope = (size_t)s->nope, rope = (size_t)s->rope;
  const size_t n = (size_t)w->row.visible;
  char *q = malloc((qk + n * (qk + vdim)) * sizeof(uint16_t)), *k = q + 2 * qk, *v = k + 2 * n * qk;
  double *scores = malloc((n + 1) * sizeof *scores);
  mlaf_status st = q && scores ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a reference of %zu keys", n);
  for (size_t j = 0; !st && j < n; j++) {
    const size_t key = (size_t)w->row.first_key + j, in = (key * (size_t)s->heads + (size_t)head) * (nope + vdim);
    pattern(d, 0, in, nope, k, j * qk);
    pattern(d, 1, k_pe_first(d) + key * rope, rope, k, j * qk + nope);
    pattern(d, 0, in + nope, vdim, v, j * vdim);
  }
  if (!st) {
    prefill_view one = d->x; /* codes and scales */
    one.q = q, one.k = k, one.k_pe = k + nope * (size_t)s->bytes, one.v = v;
    one.k_token = one.k_pe_token = s->qk;
    one.v_token = s->vdim;
    const prefill_row row = {.visible = w->row.visible};
    pattern(d, 1, q_first(d) + at * qk, qk, q, 0);
    prefill_reference(&one, &row, 0, 0, scores, w->o, &w->lse, &w->magnitude);
  }
  free(q);
  free(scores);
  return st;
}

static mlaf_status check_row(const prefill_data *d, void *const outputs[], size_t at, double *diff2, double *ref2,
                             mlaf_data_checked *out, mlaf_err *err) {
  const prefill_shape *s = &d->x.s;
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const size_t bytes = d->head.outputs[O].row_bytes;
  wanted w;
  uint16_t o[256];
  float lse;
  char where[80];
  int column = 0;
  mlaf_status st = refer(d, at, &w, err);
  if (!st) st = ops->mem_read(d->dev, o, (const char *)outputs[O] + at * bytes, bytes, err);
  if (!st) st = ops->mem_read(d->dev, &lse, (const char *)outputs[LSE] + at * sizeof lse, sizeof lse, err);
  if (st) return st;
  const double error = prefill_row_error(s->dtype, w.o, o, s->vdim, diff2, ref2, &column);
  const double bound = 2 * prefill_bound(&d->point), most = prefill_lse_bound(s, w.row.visible, w.magnitude, w.lse);
  const double off = fabs((double)lse - w.lse), ratio = isnan(off) ? INFINITY : off / most;
  out->rows++;
  out->row_error = fmax(out->row_error, error);
  out->lse_ratio = fmax(out->lse_ratio, ratio);
  prefill_data_row(&d->head, O, at, where, sizeof where);
  if (!(error <= bound))
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s: error of the row %.3g, bound %.3g; column %d is %g, reference %g", where, error,
                     bound, column, (double)mlaf_decode16(s->dtype, o[column]), w.o[column]);
  if (!(ratio <= 1)) return mlaf_fail(err, MLAF_E_INCORRECT, "%s: lse is %.9g, reference %.9g", where, (double)lse, w.lse);
  return MLAF_OK;
}

mlaf_status prefill_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                               mlaf_err *err) {
  const prefill_data *d = data_of(data);
  const size_t rows = data->outputs[O].rows;
  const size_t n = mlaf_data_affords(rows, most_work, data->work.flops / 2 / (double)rows, ROWS_LEAST);
  double diff2 = 0, ref2 = 0;
  *out = (mlaf_data_checked){0};
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n && !(d->cancel && atomic_load(d->cancel)); i++)
    st = check_row(d, outputs, mlaf_data_spread(i, n, rows), &diff2, &ref2, out, err);
  out->error = ref2 > 0 ? sqrt(diff2 / ref2) : 0;
  snprintf(out->which, sizeof out->which, "%zu of %zu rows", (size_t)out->rows, rows);
  const double bound = prefill_bound(&d->point);
  if (!st && out->error > bound)
    st = mlaf_fail(err, MLAF_E_INCORRECT, "error of %s %.3g, bound %.3g", out->which, out->error, bound);
  return st;
}

mlaf_status prefill_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                               double *error, mlaf_err *err) {
  const prefill_data *d = data_of(data);
  const prefill_shape *s = &d->x.s;
  wanted w = {.lse = 0};
  mlaf_status st = MLAF_OK;
  double diff2 = 0, ref2 = 0;
  int column = 0;
  if (!want) st = refer(d, row, &w, err);
  else if (output == LSE)
    w.lse = (double)*(const float *)want;
  else
    for (int c = 0; c < s->vdim; c++) w.o[c] = (double)mlaf_decode16(s->dtype, ((const uint16_t *)want)[c]);
  if (st) return st;
  if (output == O) {
    *error = prefill_row_error(s->dtype, w.o, got, s->vdim, &diff2, &ref2, &column);
    return MLAF_OK;
  }
  *error = fabs((double)*(const float *)got - w.lse);
  if (isnan(*error)) *error = INFINITY;
  return MLAF_OK;
}
