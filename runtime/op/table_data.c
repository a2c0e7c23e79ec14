/* Data to time and soak operations on whose arguments are a table: inputs of 16 and 8 bits from the pool or of bytes that repeat,
 * whatever else drawn by the operation, dense outputs. */
#include "op/pattern.h"
#include "op/table_calls.h"

enum { ROWS_LEAST = 3, SETS_MOST = 128, ALIGNED = 256 }; /* as allocators align */
#define CACHES_BETWEEN 4                  /* times the largest cache lie between two uses of an input that is to be cold */
#define POOL_ENOUGH    ((int64_t)4 << 30) /* bytes: more are not made for the sake of further sets */

typedef struct table_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  const atomic_bool *cancel;
  mlaf_host h;
  void *device[MLAF_ARG_TENSORS]; /* of tensors that are not in the pool */
  int32_t *lengths;               /* of requests; NULL: there are none */
  const struct table_data *before; /* whose output is its input; NULL: it is not chained */
} table_data;

static const table_data *data_of(const mlaf_data *d) { return (const void *)d; }
static const mlaf_args_table *args_of(const table_data *d) { return d->h.table->args; }

/* --- sets --- */

/* True for 16-bit numbers, which the pool has, and bytes, which may be any. */
static bool is_random(const mlaf_arg_tensor *x, const int64_t *n) {
  return x->element == MLAF_ELEMENT_16 || x->element == MLAF_ELEMENT_8 ||
         (x->element == MLAF_ELEMENT_SIZED && n[x->unit] == 2);
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED; }

/* True for inputs of bytes that repeat. */
static bool is_pattern(const table_data *d, int tensor) {
  const mlaf_arg_tensor *x = &args_of(d)->tensors[tensor];
  return !x->out && !d->h.t[tensor].absent && !d->h.t[tensor].pooled && d->h.table->hooks->code &&
         x->element == MLAF_ELEMENT_SIZED && mlaf_element_bytes(x, d->h.n) == 1;
}

/* Bytes of a set. */
static size_t set_of(const table_data *d) {
  size_t all = d->h.set_bytes;
  for (int i = 0; i < args_of(d)->n_tensors; i++)
    if (d->h.t[i].lies_in == i) all += d->h.t[i].per_set;
  return all;
}

static void place_in_pool(table_data *d) {
  for (int i = 0; i < args_of(d)->n_tensors; i++) {
    const mlaf_arg_tensor *x = &args_of(d)->tensors[i];
    mlaf_host_tensor *t = &d->h.t[i];
    if (x->out || t->absent || !is_random(x, d->h.n)) continue;
    t->pooled = true;
    if (t->lies_in != i) {
      t->first += d->h.t[t->lies_in].first;
      continue;
    }
    t->first = d->h.set_bytes;
    d->h.set_bytes += aligned(mlaf_host_bytes(&d->h, i));
  }
  for (int i = 0; i < args_of(d)->n_tensors; i++)
    if (is_pattern(d, i)) d->h.t[i].per_set = aligned(mlaf_host_bytes(&d->h, d->h.t[i].lies_in));
}

/* Sets of inputs: one, since they come from the launch before and lie where it left them; of constants as many as make each
 * launch find its own cold. */
static int count_sets(const table_data *d, const mlaf_data_opts *opts) {
  const mlaf_device_info *info = mlaf_info(d->dev);
  const int64_t cache = info->l2_bytes > info->llc_bytes ? info->l2_bytes : info->llc_bytes;
  const int64_t bytes = set_of(d) ? (int64_t)set_of(d) : ALIGNED; /* none is in the pool: sets are the same */
  const int64_t limit = opts->cache_limit ? opts->cache_limit : POOL_ENOUGH;
  int sets = 1;
  if (opts->spread_bytes) {
    const int64_t n = opts->spread_bytes / bytes;
    return (int)(n < 2 ? 2 : n > opts->spread_sets ? opts->spread_sets : n);
  }
  if (d->h.table->cold && !(mlaf_ops(d->dev)->features & MLAF_DEVICE_MODELLED))
    while (sets < SETS_MOST && sets * bytes < CACHES_BETWEEN * cache && 2 * sets * bytes <= limit) sets *= 2;
  return sets;
}

/* Bytes of a tensor that is not in the pool, of all sets. */
static size_t memory_of(const table_data *d, int tensor) {
  const size_t each = d->h.t[tensor].per_set;
  return each ? each * (size_t)d->head.sets : mlaf_host_bytes(&d->h, tensor);
}

static mlaf_status check_memory(const table_data *d, mlaf_err *err) {
  const mlaf_device_info *info = mlaf_info(d->dev);
  double need = (double)d->head.pool_bytes;
  for (int i = 0; i < args_of(d)->n_tensors; i++)
    if (!d->h.t[i].pooled && d->h.t[i].lies_in == i) need += (double)memory_of(d, i);
  if (!info->mem_bytes || need <= (double)(info->mem_bytes - info->mem_bytes / 8)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%lld %s need %.1f GiB, %s has %.1f GiB: time fewer", (long long)d->head.tokens,
                   args_of(d)->count_name, need / 0x1p30, info->name, (double)info->mem_bytes / 0x1p30);
}

/* --- tensors --- */

static mlaf_status draw_pattern(mlaf_host *h, int tensor, mlaf_rng *rng, mlaf_err *err) {
  mlaf_host_tensor *t = &h->t[tensor];
  t->pattern = t->lies_in == tensor ? malloc(MLAF_PATTERN) : h->t[t->lies_in].pattern;
  if (!t->pattern) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d bytes", MLAF_PATTERN);
  for (size_t i = 0; t->lies_in == tensor && i < MLAF_PATTERN; i++) t->pattern[i] = h->table->hooks->code(h, rng);
  return MLAF_OK;
}

static mlaf_status draw(table_data *d, uint64_t seed, mlaf_err *err) {
  const mlaf_table *t = d->h.table;
  mlaf_rng rng = {seed};
  mlaf_status st = mlaf_host_alloc_more(&d->h, err);
  for (int i = 0; !st && i < t->args->n_tensors; i++) {
    const mlaf_arg_tensor *x = &t->args->tensors[i];
    if (x->out || d->h.t[i].pooled || d->h.t[i].absent) continue;
    if (is_pattern(d, i)) st = draw_pattern(&d->h, i, &rng, err);
    else st = mlaf_host_alloc(&d->h, i, 0, err);
  }
  if (!st && t->hooks->draw_timing) t->hooks->draw_timing(&d->h, &rng);
  return st;
}

static mlaf_status upload(table_data *d, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  void *now; /* other data may have the pool grow: arguments ask it where it is */
  mlaf_status st = mlaf_pool_need(d->pool, (mlaf_dtype)d->h.dtype, d->h.set_bytes * (size_t)d->head.sets, &now, err);
  for (int i = 0; !st && i < args_of(d)->n_tensors; i++) {
    const mlaf_host_tensor *t = &d->h.t[i];
    if (t->pooled || t->absent || t->lies_in != i) continue;
    const size_t bytes = memory_of(d, i);
    st = ops->mem_alloc(d->dev, bytes, &d->device[i], err);
    if (!st && bytes > (size_t)d->head.pool_bytes && t->pattern) {
      d->head.pool_bytes = (int64_t)bytes;
      d->head.pool = d->device[i];
    }
    if (!st && t->data) st = ops->mem_write(d->dev, d->device[i], t->data, bytes, err);
    if (!st && t->pattern) st = mlaf_pattern_lay(d->dev, (mlaf_pattern){t->pattern, MLAF_PATTERN}, 0, d->device[i], bytes, err);
  }
  return st;
}

static void name_outputs(table_data *d) {
  d->head.n_outputs = d->h.n_outputs;
  for (int k = 0; k < d->head.n_outputs; k++) {
    const mlaf_arg_tensor *x = &args_of(d)->tensors[d->h.outputs[k]];
    d->head.outputs[k] = (mlaf_data_output){x->name, x->at,
        (size_t)(mlaf_host_rows(&d->h, d->h.outputs[k], 0) * mlaf_host_rows(&d->h, d->h.outputs[k], 1)),
        (size_t)(mlaf_host_columns(&d->h, d->h.outputs[k]) * mlaf_element_bytes(x, d->h.n))};
  }
}

/* Requests as the options say them, and the sizes and the work that follow. */
static mlaf_status size_up(table_data *d, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_err *err) {
  const mlaf_table *t = p->op->calls->table;
  mlaf_table_case dense = *t->timing;
  int64_t rows = p->op->calls->rows_of(p), keys = 0;
  dense.straight = ~0u; /* every output has its rows in the same order */
  if (t->lengths) {
    dense.n_lengths = mlaf_point_value(p, "batch", 1);
    dense.lengths = d->lengths = mlaf_data_lengths(opts, mlaf_point_value(p, "ctx", 1), dense.n_lengths, err);
    if (!d->lengths) return MLAF_E_NOMEM;
    rows = t->hooks->count(p, &dense);
  }
  for (int64_t i = 0; i < dense.n_lengths; i++) {
    keys += d->lengths[i];
    d->head.uneven |= d->lengths[i] != d->lengths[0];
  }
  if (keys > INT32_MAX || (t->lengths && rows > INT32_MAX))
    return mlaf_fail(err, MLAF_E_ARG, "batch %lld has %lld keys; lengths are 32-bit", (long long)dense.n_lengths,
                     (long long)(rows > keys ? rows : keys));
  mlaf_host_init(&d->h, p, &dense, rows);
  d->head.rows = rows;
  d->head.tokens = t->lengths ? keys : rows;
  d->head.work = t->hooks->work ? t->hooks->work(&d->h) : p->op->calls->work(p);
  return MLAF_OK;
}

mlaf_status mlaf_table_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,
                                 mlaf_data **out, mlaf_err *err) {
  table_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  d->dev = dev, d->pool = pool, d->cancel = opts->cancel;
  mlaf_status st = size_up(d, p, opts, err);
  if (!st) {
    place_in_pool(d);
    d->head.sets = count_sets(d, opts);
    d->head.pool_bytes = (int64_t)d->h.set_bytes * d->head.sets;
    name_outputs(d);
    st = check_memory(d, err);
  }
  if (!st) st = draw(d, opts->seed, err);
  if (!st) st = upload(d, err);
  if (st) {
    mlaf_table_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void mlaf_table_data_close(mlaf_data *data) {
  table_data *d = (void *)data;
  if (!d) return;
  for (int i = 0; i < MLAF_ARG_TENSORS; i++)
    if (d->device[i]) mlaf_ops(d->dev)->mem_free(d->dev, d->device[i], NULL);
  mlaf_host_free(&d->h);
  free(d->lengths);
  free(d);
}

void mlaf_table_chain_data(mlaf_data *data, const mlaf_data *before) { ((table_data *)data)->before = data_of(before); }

void mlaf_table_data_args(const mlaf_data *data, int set, void *args) {
  const table_data *d = data_of(data);
  set %= d->head.sets;
  memcpy(args, d->h.args.bytes, d->h.table->args_size);
  for (int i = 0; i < args_of(d)->n_tensors; i++) {
    const mlaf_host_tensor *t = &d->h.t[i];
    const char *own = d->device[t->lies_in];
    const void *at = t->pooled ? (const char *)mlaf_pool_data(d->pool) + d->h.set_bytes * (size_t)set + t->first
                     : own     ? own + t->per_set * (size_t)set + t->first
                               : NULL;
    memcpy((char *)args + args_of(d)->tensors[i].at, &at, sizeof at);
  }
}

/* --- what came out --- */

static void place_of(const table_data *d, int output, size_t row, int64_t *i, int64_t *j) {
  const int64_t inner = mlaf_host_rows(&d->h, d->h.outputs[output], 1);
  *i = (int64_t)row / inner, *j = (int64_t)row % inner;
  if (d->h.table->hooks->find) d->h.table->hooks->find(&d->h, d->h.outputs[output], (int64_t)row, i, j);
}

void mlaf_table_data_row(const mlaf_data *data, int output, size_t row, char *out, size_t size) {
  int64_t i, j;
  place_of(data_of(data), output, row, &i, &j);
  mlaf_rows_name(&data_of(data)->h, output, i, j, out, size);
}

/* The rows' reader, over one set. h: two hosts, of the data and of those before. */
static mlaf_status open_rows(const table_data *d, int set, mlaf_host h[2], mlaf_rows *r, mlaf_err *err) {
  h[0] = d->h;
  h[0].pool = mlaf_pool_block(d->pool);
  if (d->before) {
    h[1] = d->before->h;
    h[1].pool = mlaf_pool_block(d->before->pool);
    h[0].before = &h[1];
  }
  mlaf_status st = mlaf_rows_open(h, r, err);
  r->nth = set % d->head.sets;
  r->nth_before = d->before ? set % d->before->head.sets : 0;
  return st;
}

mlaf_status mlaf_table_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                                  double *error, mlaf_err *err) {
  const table_data *d = data_of(data);
  mlaf_host h[2];
  mlaf_rows r;
  int column = 0;
  double is;
  int64_t i, j;
  /* Two launches give the same bits: any difference is a fault. */
  if (want) {
    *error = memcmp(got, want, d->head.outputs[output].row_bytes) ? INFINITY : 0;
    return MLAF_OK;
  }
  mlaf_status st = open_rows(d, set, h, &r, err);
  if (st) return st;
  place_of(d, output, row, &i, &j);
  mlaf_rows_seek(&r, i, j);
  *error = mlaf_rows_off(&r, output, got, &column, &is);
  const bool by_slack = args_of(d)->tensors[d->h.outputs[output]].element == MLAF_ELEMENT_F32;
  if (by_slack && mlaf_host_bound(h) > 0) *error *= mlaf_host_bound(h); /* 0: to the bit */
  mlaf_rows_close(&r);
  return MLAF_OK;
}

static mlaf_status check_output(const table_data *d, mlaf_rows *r, int set, int k, const void *got, mlaf_data_checked *out,
                                mlaf_err *err) {
  const bool log = args_of(d)->tensors[d->h.outputs[k]].element == MLAF_ELEMENT_F32;
  char where[64], what[160], note[MLAF_NOTE + 3] = "";
  int column = 0;
  double is = 0;
  const double off = mlaf_rows_off(r, k, got, &column, &is);
  if (!log) out->error = out->row_error = fmax(out->error, off);
  else out->lse_ratio = fmax(out->lse_ratio, off);
  if (off <= mlaf_rows_bound(r->h, d->h.outputs[k])) return MLAF_OK;
  mlaf_rows_name(&d->h, k, r->i, r->j, where, sizeof where);
  mlaf_rows_fault(r, k, column, is, what, sizeof what);
  if (r->note[0]) snprintf(note, sizeof note, " (%s)", r->note);
  return mlaf_fail(err, MLAF_E_INCORRECT, "%s%s of set %d: %s: off by %g%s", where, note, set, what, off,
                   log                   ? " times its bound"
                   : d->h.table->relative ? " of the row"
                                          : " units in the last place");
}

/* An output that has no row of its own at a place is looked at where it has one for the first axis. */
static mlaf_status check_row(const table_data *d, mlaf_rows *r, int set, int64_t i, int64_t j, void *const outputs[],
                             void *buffer, mlaf_data_checked *out, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  mlaf_rows_seek(r, i, j);
  out->rows++;
  for (int k = 0; !st && k < d->head.n_outputs; k++) {
    const size_t bytes = d->head.outputs[k].row_bytes;
    const int64_t own = mlaf_host_place(&d->h, d->h.outputs[k], i, j) < 0 ? 0 : j;
    const int64_t at = mlaf_host_place(&d->h, d->h.outputs[k], i, own);
    if (r->j != own) mlaf_rows_seek(r, i, own);
    const int64_t unit = mlaf_element_bytes(&args_of(d)->tensors[d->h.outputs[k]], d->h.n);
    st = mlaf_ops(d->dev)->mem_read(d->dev, buffer, (const char *)outputs[k] + at * unit, bytes, err);
    if (!st) st = check_output(d, r, set, k, buffer, out, err);
  }
  return st;
}

static size_t rows_of(const table_data *d) { return (size_t)(mlaf_host_walk(&d->h, 0) * mlaf_host_walk(&d->h, 1)); }

/* All rows together, where errors are relative. */
static mlaf_status check_whole(const table_data *d, const mlaf_rows *r, mlaf_data_checked *out, mlaf_err *err) {
  const double bound = mlaf_host_bound(r->h);
  out->error = mlaf_rows_whole(r);
  if (out->error <= bound) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_INCORRECT, "error of %s %.3g, bound %.3g", out->which, out->error, bound);
}

mlaf_status mlaf_table_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                                  mlaf_err *err) {
  const table_data *d = data_of(data);
  const size_t rows = rows_of(d), n = mlaf_data_affords(rows, most_work, d->head.work.flops / (double)rows, ROWS_LEAST),
               inner = (size_t)mlaf_host_walk(&d->h, 1);
  size_t largest = 0;
  char note[MLAF_NOTE] = "";
  mlaf_host h[2];
  mlaf_rows r;
  for (int k = 0; k < d->head.n_outputs; k++)
    if (d->head.outputs[k].row_bytes > largest) largest = d->head.outputs[k].row_bytes;
  *out = (mlaf_data_checked){0};
  mlaf_status st = open_rows(d, set, h, &r, err);
  if (st) return st;
  void *buffer = malloc(largest);
  if (!buffer) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row of %zu bytes", largest);
  r.note = note;
  for (size_t i = 0; !st && i < n && !(d->cancel && atomic_load(d->cancel)); i++) {
    const size_t row = mlaf_data_spread(i, n, rows);
    st = check_row(d, &r, set, (int64_t)(row / inner), (int64_t)(row % inner), outputs, buffer, out, err);
  }
  free(buffer);
  snprintf(out->which, sizeof out->which, "%zu of %zu rows of set %d", (size_t)out->rows, rows, set);
  if (!st && out->rows && !r.compared)
    st = mlaf_fail(err, MLAF_E_INCORRECT, "nothing was compared: the reference of %s is NaN throughout", out->which);
  if (!st && d->h.table->relative) st = check_whole(d, &r, out, err);
  mlaf_rows_close(&r);
  return st;
}
