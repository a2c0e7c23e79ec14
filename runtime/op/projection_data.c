/* The data that projections are timed and soaked on: weights and inputs from the pool, in as many sets as make each launch find
 * its weights cold. Weights of 8 bits lie apart, a pattern of bytes that repeats with a period prime to rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/pattern.h"
#include "op/projection_case.h"

enum { TABLE_ROWS = 4096, SETS_MOST = 128, ROWS_LEAST = 3, OWNED = 6 };
#define CACHES_BETWEEN 4                  /* times the largest cache lie between two uses of a weight */
#define POOL_ENOUGH    ((int64_t)4 << 30) /* bytes: more are not made for the sake of further sets */

typedef struct projection_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  mlaf_product p;
  mlaf_projection_args args; /* of set 0 */
  size_t at_x, at_gain, at_residual, per_set; /* elements of a set, weights of 16 bits first */
  size_t codes_per_set;                       /* bytes of a set's weights of 8 bits; 0: they have 16 */
  uint8_t *codes;                             /* the pattern */
  float *scales;                              /* of all sets alike */
  int64_t *positions;
  float *table;
  void *owned[OWNED];
  int n_owned;
  const atomic_bool *cancel;
  const struct projection_data *before; /* whose outputs are x; NULL: x is in the pool */
} projection_data;

static const projection_data *data_of(const mlaf_data *d) { return (const projection_data *)d; }

/* --- how much --- */

static size_t in_lines(int64_t elements) { return (size_t)(elements + 63) / 64 * 64; } /* of 128 bytes */

static void plan_sets(projection_data *d, const mlaf_data_opts *opts) {
  const mlaf_product *p = &d->p;
  const mlaf_device_info *info = mlaf_info(d->dev);
  const int64_t cache = info->l2_bytes > info->llc_bytes ? info->l2_bytes : info->llc_bytes;
  const int64_t limit = opts->cache_limit ? opts->cache_limit : POOL_ENOUGH;
  const int64_t weights = (int64_t)p->heads * p->inner * p->outer;
  d->codes_per_set = p->weights ? (size_t)(weights + 127) / 128 * 128 : 0;
  d->at_x = p->weights ? 0 : in_lines(weights);
  d->at_gain = d->at_x + in_lines(p->tokens * p->heads * (p->inner + p->rope));
  d->at_residual = d->at_gain + in_lines(p->inner);
  d->per_set = d->at_residual + in_lines(p->residual ? p->tokens * p->outer : 0);
  const int64_t bytes = (int64_t)(2 * d->per_set + d->codes_per_set);
  d->head.sets = 1;
  if (opts->spread_bytes) {
    const int64_t sets = opts->spread_bytes / bytes;
    d->head.sets = (int)(sets < 2 ? 2 : sets > opts->spread_sets ? opts->spread_sets : sets);
  } else if (!(mlaf_ops(d->dev)->features & MLAF_DEVICE_MODELLED)) {
    while (d->head.sets < SETS_MOST && d->head.sets * bytes < CACHES_BETWEEN * cache && 2 * d->head.sets * bytes <= limit)
      d->head.sets *= 2;
  }
  d->head.pool_bytes = d->head.sets * (int64_t)(p->weights ? d->codes_per_set : 2 * d->per_set);
  d->head.rows = d->head.tokens = p->tokens;
}

/* --- filling it --- */

static mlaf_status own(projection_data *d, const void *from, size_t bytes, void **at, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  mlaf_status st = ops->mem_alloc(d->dev, bytes ? bytes : 1, at, err);
  if (st) return st;
  d->owned[d->n_owned++] = *at;
  return from ? ops->mem_write(d->dev, *at, from, bytes, err) : MLAF_OK;
}

/* Scales are counted from w's first element. */
static size_t scales_of(const mlaf_product *p) {
  const int64_t rows = (int64_t)p->heads * mlaf_product_w_rows(p), columns = mlaf_product_w_columns(p);
  return (size_t)((rows + MLAF_SCALE_BLOCK - 1) / MLAF_SCALE_BLOCK * ((columns + MLAF_SCALE_BLOCK - 1) / MLAF_SCALE_BLOCK));
}

static mlaf_status draw_codes(projection_data *d, mlaf_rng *rng, mlaf_err *err) {
  const size_t n = scales_of(&d->p);
  d->codes = malloc(MLAF_PATTERN);
  d->scales = malloc(n * sizeof *d->scales);
  if (!d->codes || !d->scales) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d weights", MLAF_PATTERN);
  for (size_t i = 0; i < MLAF_PATTERN; i++) {
    const uint8_t code = (uint8_t)mlaf_rng_below(rng, 256);
    d->codes[i] = (code & 0x7f) == 0x7f || code == 0x80 ? 0x3c : code; /* NaN in neither encoding */
  }
  for (size_t i = 0; i < n; i++) d->scales[i] = 0x1p-8f * (1 + (float)mlaf_rng_below(rng, 1u << 20) * 0x1p-20f);
  return MLAF_OK;
}

static mlaf_status draw(projection_data *d, uint64_t seed, mlaf_err *err) {
  const size_t T = (size_t)d->p.tokens, table = (size_t)TABLE_ROWS * (size_t)d->p.rope;
  mlaf_rng rng = {seed};
  d->positions = malloc(T * sizeof *d->positions);
  d->table = malloc((table + 1) * sizeof *d->table);
  if (!d->positions || !d->table) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu tokens", T);
  for (size_t t = 0; t < T; t++) d->positions[t] = mlaf_rng_below(&rng, TABLE_ROWS);
  for (size_t i = 0; i < table; i++) d->table[i] = mlaf_rng_normal(&rng) / 2;
  return d->p.weights ? draw_codes(d, &rng, err) : MLAF_OK;
}

static mlaf_status lay_codes(projection_data *d, mlaf_projection_args *a, mlaf_err *err) {
  const size_t bytes = (size_t)d->head.sets * d->codes_per_set;
  void *w = NULL, *scales = NULL;
  mlaf_status st = own(d, NULL, bytes, &w, err);
  if (!st) st = mlaf_pattern_lay(d->dev, d->codes, 0, w, bytes, err);
  if (!st) st = own(d, d->scales, scales_of(&d->p) * sizeof *d->scales, &scales, err);
  a->w = d->head.pool = w;
  a->w_scale = scales;
  return st;
}

static mlaf_status lay_out(projection_data *d, mlaf_err *err) {
  const mlaf_product *p = &d->p;
  mlaf_projection_args *a = &d->args;
  const size_t T = (size_t)p->tokens, rows = T * (size_t)p->heads, row_bytes = 2 * (size_t)(p->outer + p->rope);
  *a = (mlaf_projection_args)MLAF_PROJECTION_ARGS_INIT;
  a->tokens = p->tokens;
  d->head.n_outputs = 1;
  d->head.outputs[0] = (mlaf_data_output){"y", offsetof(mlaf_projection_args, y), rows, row_bytes};
  const size_t pooled = 2 * (size_t)d->head.sets * d->per_set;
  void *now; /* another product's data may have the pool grow: arguments ask it where it is */
  mlaf_status st = mlaf_pool_need(d->pool, (mlaf_dtype)p->dtype, pooled, &now, err);
  if (!st && p->weights) st = lay_codes(d, a, err);
  if (!st) st = own(d, NULL, rows * row_bytes, &a->y, err);
  if (st || !mlaf_product_turns(p)) return st;
  a->table_rows = TABLE_ROWS;
  st = own(d, d->positions, T * sizeof *d->positions, (void **)&a->positions, err);
  return st ? st : own(d, d->table, (size_t)TABLE_ROWS * (size_t)p->rope * sizeof *d->table, (void **)&a->cos, err);
}

mlaf_status mlaf_projection_data_open(mlaf_device *dev, const mlaf_point *point, const mlaf_data_opts *opts, mlaf_pool *pool,
                                      mlaf_data **out, mlaf_err *err) {
  projection_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (projection_data){.dev = dev, .pool = pool, .p = mlaf_product_of(point), .cancel = opts->cancel};
  d->head.work = mlaf_projection_work(point);
  plan_sets(d, opts);
  const int64_t mem = mlaf_info(dev)->mem_bytes, all = d->head.sets * (int64_t)(2 * d->per_set + d->codes_per_set);
  mlaf_status st = MLAF_OK;
  if (mem && all > mem - mem / 8)
    st = mlaf_fail(err, MLAF_E_ARG, "%lld tokens need %.1f GiB, %s has %.1f GiB: time fewer", (long long)d->p.tokens,
                   (double)all / 0x1p30, mlaf_info(dev)->name, (double)mem / 0x1p30);
  if (!st) st = draw(d, opts->seed, err);
  if (!st) st = lay_out(d, err);
  if (st) {
    mlaf_projection_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void mlaf_projection_data_close(mlaf_data *data) {
  projection_data *d = (projection_data *)data;
  if (!d) return;
  for (int i = 0; i < d->n_owned; i++) mlaf_ops(d->dev)->mem_free(d->dev, d->owned[i], NULL);
  free(d->positions);
  free(d->table);
  free(d->codes);
  free(d->scales);
  free(d);
}

void mlaf_projection_data_chain(mlaf_data *data, const mlaf_data *before) {
  projection_data *d = (projection_data *)data;
  d->before = data_of(before);
  d->p.behind = d->before->p.inner;
}

void mlaf_projection_data_args(const mlaf_data *data, int set, void *args) {
  const projection_data *d = data_of(data);
  set %= d->head.sets;
  const uint16_t *first = (const uint16_t *)mlaf_pool_data(d->pool) + (size_t)set * d->per_set;
  mlaf_projection_args *a = args;
  *a = d->args;
  a->w = d->p.weights ? (const char *)d->args.w + (size_t)set * d->codes_per_set : (const char *)first;
  a->x = first + d->at_x;
  if (d->p.norm) a->norm_weight = first + d->at_gain;
  if (d->p.residual) a->residual = first + d->at_residual;
}

/* --- what came out --- */

/* `n` elements of a set from its element `first` on. */
static void inputs(const projection_data *d, int set, size_t first, size_t n, uint16_t *out) {
  const uint16_t *block = mlaf_pool_block(d->pool);
  size_t at = ((size_t)set * d->per_set + first) % MLAF_POOL_BLOCK;
  for (size_t i = 0; i < n; i++) {
    out[i] = block[at];
    if (++at == MLAF_POOL_BLOCK) at = 0;
  }
}

/* One row as a case of one token and one head, whose weights stay while rows of the same head follow. */
typedef struct one {
  mlaf_projection_case c, before; /* before: of the product ahead, where there is one, its outputs of that head alone */
  int64_t position;
  int set, head; /* whose weights are there; -1: none */
} one;

static void close_case(mlaf_projection_case *c) {
  void *all[] = {c->x, c->w, c->gain, c->residual, c->wide, c->want, c->given}; /* scales are the data's */
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}
static void close_one(one *o) {
  close_case(&o->c);
  close_case(&o->before);
}

static bool open_case(const projection_data *d, int outer, mlaf_projection_case *c) {
  *c = (mlaf_projection_case){.p = d->p, .a = d->args, .step = 1};
  const size_t inner = (size_t)c->p.inner, rope = (size_t)c->p.rope;
  c->p.heads = 1;
  c->p.outer = outer;
  c->spec.one_table = true;
  c->a.sin = NULL;
  mlaf_projection_dense(&c->p, &c->a);
  mlaf_projection_codes(c);
  c->scales = d->scales;
  c->cos = d->table;
  c->x = malloc((inner + rope) * 2);
  c->w = malloc(inner * (size_t)outer * 2);
  c->gain = malloc(inner * 2);
  c->residual = malloc((size_t)outer * 2);
  c->wide = malloc(inner * sizeof *c->wide);
  c->want = malloc(((size_t)outer + rope) * sizeof *c->want);
  c->given = malloc((inner + rope) * sizeof *c->given);
  return c->x && c->w && c->gain && c->residual && c->wide && c->want && c->given;
}

static mlaf_status open_one(const projection_data *d, one *o, mlaf_err *err) {
  *o = (one){.set = -1};
  bool good = open_case(d, d->p.outer, &o->c);
  if (good && d->before) good = open_case(d->before, d->p.inner + d->p.rope, &o->before);
  o->c.positions = &o->position;
  if (d->before) o->c.before = &o->before;
  if (good) return MLAF_OK;
  close_one(o);
  return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row's reference");
}

/* Row `row` of a set's x, and if `anew` the weights of `head`, of which there are c's outputs. */
static void take(const projection_data *d, mlaf_projection_case *c, int set, size_t row, size_t head, bool anew) {
  const mlaf_product *p = &c->p;
  const size_t width = (size_t)(p->inner + p->rope), weights = (size_t)p->inner * (size_t)p->outer;
  inputs(d, set, d->at_x + row * width, width, c->x);
  if (anew && p->weights) mlaf_pattern_read(d->codes, (size_t)set * d->codes_per_set + head * weights, weights, c->w);
  else if (anew) inputs(d, set, head * weights, weights, c->w);
  if (p->norm) inputs(d, set, d->at_gain, (size_t)p->inner, c->gain);
}

/* The relative error of a row, on the host. */
static double row_off(const projection_data *d, one *o, int set, size_t row, const uint16_t *got) {
  const mlaf_product *p = &d->p;
  const size_t heads = (size_t)p->heads, t = row / heads, h = row % heads;
  const bool anew = o->set != set || o->head != (int)h;
  double off = 0, all = 0;
  take(d, &o->c, set % d->head.sets, row, h, anew);
  if (d->before) take(d->before, &o->before, set, t, h, anew);
  o->c.a.w_scale_row = p->weights ? (int64_t)h * mlaf_product_w_rows(p) : 0;
  o->set = set, o->head = (int)h;
  if (p->residual) inputs(d, set % d->head.sets, d->at_residual + t * (size_t)p->outer, (size_t)p->outer, o->c.residual);
  o->position = d->positions[t];
  mlaf_projection_reference(&o->c, 0, 0, o->c.want);
  for (int i = 0; i < p->outer + p->rope; i++) {
    const double e = (double)mlaf_decode16(p->dtype, got[i]) - o->c.want[i];
    off += e * e;
    all += o->c.want[i] * o->c.want[i];
  }
  const double e = sqrt(off / all);
  return isnan(e) ? INFINITY : e;
}

void mlaf_projection_data_row(const mlaf_data *data, int output, size_t row, char *out, size_t size) {
  const size_t heads = (size_t)data_of(data)->p.heads;
  snprintf(out, size, "token %zu, head %zu", row / heads, row % heads);
}

mlaf_status mlaf_projection_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                                       double *error, mlaf_err *err) {
  const projection_data *d = data_of(data);
  one o;
  /* Two launches give the same bits: any difference is a fault. */
  if (want) {
    *error = memcmp(got, want, d->head.outputs[output].row_bytes) ? INFINITY : 0;
    return MLAF_OK;
  }
  mlaf_status st = open_one(d, &o, err);
  if (st) return st;
  *error = row_off(d, &o, set, row, got);
  close_one(&o);
  return MLAF_OK;
}

static mlaf_status check_row(const projection_data *d, one *o, int set, size_t row, const void *y, uint16_t *host, double bound,
                             mlaf_data_checked *out, mlaf_err *err) {
  const size_t bytes = d->head.outputs[0].row_bytes;
  mlaf_status st = mlaf_ops(d->dev)->mem_read(d->dev, host, (const char *)y + row * bytes, bytes, err);
  if (st) return st;
  const double e = row_off(d, o, set, row, host);
  out->error = out->row_error = fmax(out->error, e);
  out->rows++;
  if (e <= 2 * bound) return MLAF_OK;
  char where[80];
  mlaf_projection_data_row(&d->head, 0, row, where, sizeof where);
  return mlaf_fail(err, MLAF_E_INCORRECT, "y of set %d, %s: relative error %.3g, bound %.3g", set, where, e, 2 * bound);
}

mlaf_status mlaf_projection_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work,
                                       mlaf_data_checked *out, mlaf_err *err) {
  const projection_data *d = data_of(data);
  const size_t rows = d->head.outputs[0].rows;
  const double most = most_work / ((double)d->p.inner * d->p.outer);
  const size_t n = most >= (double)rows ? rows : most < ROWS_LEAST ? ROWS_LEAST : (size_t)most;
  const size_t step = n < rows ? (rows - 1) / (n - 1) : 1; /* the first and the last among them */
  one o;
  *out = (mlaf_data_checked){.error = 0};
  snprintf(out->which, sizeof out->which, "rows of set %d", set);
  uint16_t *host = malloc(d->head.outputs[0].row_bytes);
  if (!host) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row");
  mlaf_status st = open_one(d, &o, err);
  if (!st) {
    const double bound = mlaf_product_bound(&d->p, d->head.tokens);
    for (size_t row = 0; !st && row < rows; row += step) {
      if (d->cancel && atomic_load(d->cancel)) break;
      st = check_row(d, &o, set, row, outputs[0], host, bound, out, err);
    }
    if (!st && step > 1) st = check_row(d, &o, set, rows - 1, outputs[0], host, bound, out, err);
    close_one(&o);
  }
  free(host);
  return st;
}
