/* The data that mla_append is timed and soaked on: inputs from the pool, slots in random order, every row of the cache with one.
 * As many sets as make a launch find its rows cold. A server's rows are partly where the launch before left them; but on one H200
 * a choice made that way was up to 17 % slower on cold rows. */
#include "ops/mla_append/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"
#include "ops/mla_append/case.h"
#include "ops/mla_append/fp8.h"

enum { TABLE_ROWS = 4096, TOKENS_LEAST = 3, OWNED = 9, SETS_MOST = 128 };
#define CACHES_BETWEEN 4                  /* times the largest cache lie between two uses of a row */
#define POOL_ENOUGH    ((int64_t)4 << 30) /* bytes: more are not made for the sake of further sets */
#define FLAT_SCALE 0.03125f /* of fp8 caches: normal numbers neither saturate nor vanish */

/* Outputs, as far as the problem has them. */
typedef enum kind { CACHE, CACHE_KPE, Q_OUT } kind;

typedef struct append_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  append_shape s;
  mlaf_append_args args;
  kind kinds[MLAF_DATA_OUTPUTS];
  size_t per_set;   /* elements of the pool */
  size_t at_kpe, at_q_nope, at_q_pe; /* in them, ckv first */
  int64_t *slots, *owner, *positions; /* owner: of a slot, its token */
  float *table;
  uint16_t *weight;
  void *owned[OWNED];
  int n_owned;
  const atomic_bool *cancel;
} append_data;

static const append_data *data_of(const mlaf_data *d) { return (const append_data *)d; }

/* --- what there is --- */

static void plan_sets(append_data *d, const mlaf_data_opts *opts) {
  const append_shape *s = &d->s;
  const size_t T = (size_t)s->tokens, rank = (size_t)s->rank, rope = (size_t)s->rope, heads = (size_t)s->heads;
  d->at_kpe = T * rank;
  d->at_q_nope = d->at_kpe + T * rope;
  d->at_q_pe = d->at_q_nope + T * heads * rank;
  d->per_set = d->at_q_pe + T * heads * rope;
  d->head.sets = 1;
  if (opts->spread_bytes) {
    const int64_t sets = opts->spread_bytes / (int64_t)(2 * d->per_set);
    d->head.sets = (int)(sets < 2 ? 2 : sets > opts->spread_sets ? opts->spread_sets : sets);
  } else if (!(mlaf_ops(d->dev)->features & MLAF_DEVICE_MODELLED)) {
    const mlaf_device_info *info = mlaf_info(d->dev);
    const int64_t cache = info->l2_bytes > info->llc_bytes ? info->l2_bytes : info->llc_bytes, bytes = (int64_t)(2 * d->per_set);
    const int64_t limit = opts->cache_limit ? opts->cache_limit : POOL_ENOUGH;
    while (d->head.sets < SETS_MOST && d->head.sets * bytes < CACHES_BETWEEN * cache && 2 * d->head.sets * bytes <= limit)
      d->head.sets *= 2;
  }
  d->head.pool_bytes = (int64_t)(2 * d->per_set) * d->head.sets;
  d->head.rows = d->head.tokens = s->tokens;
}

static void add_output(append_data *d, kind k, const char *name, size_t arg, size_t rows, size_t row_bytes) {
  d->kinds[d->head.n_outputs] = k;
  d->head.outputs[d->head.n_outputs++] = (mlaf_data_output){name, arg, rows, row_bytes};
}

static void list_outputs(append_data *d) {
  const append_shape *s = &d->s;
  const size_t T = (size_t)s->tokens;
  add_output(d, CACHE, "cache", offsetof(mlaf_append_args, cache), T, (size_t)append_row_bytes(s));
  if (s->format->split && s->rope)
    add_output(d, CACHE_KPE, "cache_kpe", offsetof(mlaf_append_args, cache_kpe), T, (size_t)append_rope_bytes(s));
  if (s->heads)
    add_output(d, Q_OUT, "q_out", offsetof(mlaf_append_args, q_out), T * (size_t)s->heads, 2 * (size_t)(s->rank + s->rope));
}

/* --- filling it --- */

static mlaf_status own(append_data *d, const void *from, size_t bytes, void **at, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  mlaf_status st = ops->mem_alloc(d->dev, bytes ? bytes : 1, at, err);
  if (st) return st;
  d->owned[d->n_owned++] = *at;
  return from ? ops->mem_write(d->dev, *at, from, bytes, err) : MLAF_OK;
}

static mlaf_status draw(append_data *d, uint64_t seed, mlaf_err *err) {
  const append_shape *s = &d->s;
  const size_t T = (size_t)s->tokens, table = (size_t)TABLE_ROWS * (size_t)s->rope;
  mlaf_rng rng = {seed};
  d->slots = malloc(T * sizeof *d->slots);
  d->owner = malloc(T * sizeof *d->owner);
  d->positions = malloc(T * sizeof *d->positions);
  d->table = malloc((table + 1) * sizeof *d->table);
  d->weight = malloc((size_t)s->rank * sizeof *d->weight);
  if (!d->slots || !d->owner || !d->positions || !d->table || !d->weight)
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld tokens", (long long)s->tokens);
  for (size_t t = 0; t < T; t++) { /* inside-out shuffle */
    const size_t j = mlaf_rng_below(&rng, (uint32_t)t + 1);
    d->slots[t] = d->slots[j];
    d->slots[j] = (int64_t)t;
    d->positions[t] = mlaf_rng_below(&rng, TABLE_ROWS);
  }
  for (size_t t = 0; t < T; t++) d->owner[d->slots[t]] = (int64_t)t;
  for (size_t i = 0; i < table; i++) d->table[i] = mlaf_rng_normal(&rng) / 6;
  for (int i = 0; i < s->rank; i++) d->weight[i] = mlaf_encode16(s->dtype, 1 + mlaf_rng_normal(&rng) / 4);
  return MLAF_OK;
}

static mlaf_status lay_out(append_data *d, mlaf_err *err) {
  const append_shape *s = &d->s;
  const size_t T = (size_t)s->tokens;
  mlaf_append_args *a = &d->args;
  *a = (mlaf_append_args)MLAF_APPEND_ARGS_INIT;
  a->tokens = a->num_slots = s->tokens;
  a->table_rows = TABLE_ROWS;
  a->scale = FLAT_SCALE;
  mlaf_status st = mlaf_pool_need(d->pool, (mlaf_dtype)s->dtype, (size_t)d->head.pool_bytes, (void **)&a->ckv, err);
  if (!st) st = own(d, d->slots, T * sizeof *d->slots, (void **)&a->slots, err);
  if (!st) st = own(d, d->positions, T * sizeof *d->positions, (void **)&a->positions, err);
  if (!st) st = own(d, d->table, (size_t)TABLE_ROWS * (size_t)s->rope * sizeof *d->table, (void **)&a->cos, err);
  if (!st) st = own(d, d->weight, (size_t)s->rank * sizeof *d->weight, (void **)&a->norm_weight, err);
  for (int i = 0; !st && i < d->head.n_outputs; i++) {
    const mlaf_data_output *o = &d->head.outputs[i];
    void *at;
    st = own(d, NULL, o->rows * o->row_bytes, &at, err);
    if (!st) memcpy((char *)a + o->arg, &at, sizeof at);
  }
  return st;
}

mlaf_status append_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                             mlaf_err *err) {
  append_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (append_data){.dev = dev, .pool = pool, .s = append_shape_of(p), .cancel = opts->cancel};
  d->head.work = append_work(p);
  plan_sets(d, opts);
  list_outputs(d);
  const int64_t mem = mlaf_info(dev)->mem_bytes;
  mlaf_status st = MLAF_OK;
  if (mem && 2 * d->head.pool_bytes > mem - mem / 8)
    st = mlaf_fail(err, MLAF_E_ARG, "%lld tokens need %.1f GiB, %s has %.1f GiB: time fewer", (long long)d->s.tokens,
                   2 * (double)d->head.pool_bytes / 0x1p30, mlaf_info(dev)->name, (double)mem / 0x1p30);
  if (!st) st = draw(d, opts->seed, err);
  if (!st) st = lay_out(d, err);
  if (st) {
    append_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void append_data_close(mlaf_data *data) {
  append_data *d = (append_data *)data;
  if (!d) return;
  for (int i = 0; i < d->n_owned; i++) mlaf_ops(d->dev)->mem_free(d->dev, d->owned[i], NULL);
  free(d->slots);
  free(d->owner);
  free(d->positions);
  free(d->table);
  free(d->weight);
  free(d);
}

void append_data_args(const mlaf_data *data, int set, void *args) {
  const append_data *d = data_of(data);
  mlaf_append_args *a = args;
  *a = d->args;
  const uint16_t *first = (const uint16_t *)d->args.ckv + (size_t)set * d->per_set;
  a->ckv = first;
  if (d->s.rope) a->kpe = first + d->at_kpe;
  if (d->s.heads) a->q_nope = first + d->at_q_nope;
  if (d->s.heads && d->s.rope) a->q_pe = first + d->at_q_pe;
}

/* --- what came out --- */

/* `n` elements of a set's inputs from its element `first` on. */
static void inputs(const append_data *d, int set, size_t first, int n, uint16_t *out) {
  const uint16_t *block = mlaf_pool_block(d->pool);
  const size_t at = (size_t)set * d->per_set + first;
  for (int i = 0; i < n; i++) out[i] = block[(at + (size_t)i) % MLAF_POOL_BLOCK];
}

static double worst16(const append_shape *s, const void *got, const double *want, const double *size, int n) {
  double worst = 0;
  for (int i = 0; i < n; i++)
    worst = fmax(worst, append_off16(s->dtype, ((const uint16_t *)got)[i], want[i], size ? size[i] : fabs(want[i])));
  return worst;
}

static double worst8(const append_shape *s, const void *got, const double *want, const double *size, int n, double scale) {
  double worst = 0;
  for (int i = 0; i < n; i++)
    worst = fmax(worst, append_off8(mlaf_stored_fnuz(s->format->latent), ((const uint8_t *)got)[i], want[i] / scale,
                                    (size ? size[i] : fabs(want[i])) / scale));
  return worst;
}

static double worst_tile(const append_shape *s, const unsigned char *row, const double *want) {
  double worst = 0;
  for (int tile = 0; tile * s->format->group < s->rank; tile++) {
    const int first = tile * s->format->group, n = append_columns(s, first);
    float scale;
    double most = 0;
    memcpy(&scale, row + append_bytes(s, s->format->scales_at) + 4 * tile, sizeof scale);
    for (int i = 0; i < n; i++) most = fmax(most, fabs(want[first + i]));
    if (!append_scale_fits(mlaf_stored_fnuz(s->format->latent), false, most, (double)scale)) return INFINITY;
    worst = fmax(worst, worst8(s, row + first, want + first, NULL, n, (double)scale));
  }
  return worst;
}

static double worst_latent(const append_data *d, int set, int64_t t, const unsigned char *row) {
  const append_shape *s = &d->s;
  uint16_t in[MLA_APPEND_RANK_MAX];
  double want[MLA_APPEND_RANK_MAX];
  inputs(d, set, (size_t)t * (size_t)s->rank, s->rank, in);
  append_reference_latent(s, in, d->weight, (double)d->args.eps, want);
  if (s->format->scale == MLAF_SCALE_STORED) return worst_tile(s, row, want);
  return append_has_scale(s) ? worst8(s, row, want, NULL, s->rank, (double)FLAT_SCALE) : worst16(s, row, want, NULL, s->rank);
}

/* The rope columns that begin at element `first` of the set's inputs; a cache's may be bytes of fp8. */
static double worst_rope(const append_data *d, int set, size_t first, int64_t t, const void *got, bool bytes) {
  const append_shape *s = &d->s;
  uint16_t in[MLA_APPEND_ROPE_MAX + 1];
  double want[MLA_APPEND_ROPE_MAX + 1], size[MLA_APPEND_ROPE_MAX + 1], cos[MLA_APPEND_ROPE_MAX + 1], sin[MLA_APPEND_ROPE_MAX + 1];
  const float *row = d->table + d->positions[t] * s->rope;
  for (int i = 0; i < s->rope / 2; i++) cos[i] = (double)row[i], sin[i] = (double)row[s->rope / 2 + i];
  inputs(d, set, first, s->rope, in);
  append_reference_rope(s, in, cos, sin, want, size);
  return bytes ? worst8(s, got, want, size, s->rope, (double)FLAT_SCALE) : worst16(s, got, want, size, s->rope);
}

static double worst_query(const append_data *d, int set, size_t row, const uint16_t *got) {
  const append_shape *s = &d->s;
  uint16_t in[MLA_APPEND_RANK_MAX];
  inputs(d, set, d->at_q_nope + row * (size_t)s->rank, s->rank, in);
  if (memcmp(in, got, (size_t)s->rank * sizeof *in)) return INFINITY;
  return worst_rope(d, set, d->at_q_pe + row * (size_t)s->rope, (int64_t)(row / (size_t)s->heads), got + s->rank, false);
}

static double worst_row(const append_data *d, int set, int output, size_t row, const unsigned char *got) {
  const append_shape *s = &d->s;
  const int64_t t = d->kinds[output] == Q_OUT ? 0 : d->owner[row];
  const size_t rope = d->at_kpe + (size_t)t * (size_t)s->rope;
  const bool bytes = !mlaf_stored_in_16(s->format->rope);
  switch (d->kinds[output]) {
    case Q_OUT: return worst_query(d, set, row, (const uint16_t *)(const void *)got);
    case CACHE_KPE: return worst_rope(d, set, rope, t, got, bytes);
    default: break;
  }
  const double latent = worst_latent(d, set, t, got);
  if (s->format->split) return latent;
  return fmax(latent, worst_rope(d, set, rope, t, got + append_bytes(s, s->format->rope_at), bytes));
}

void append_data_row(const mlaf_data *data, int output, size_t row, char *out, size_t size) {
  const append_data *d = data_of(data);
  if (d->kinds[output] == Q_OUT) snprintf(out, size, "token %zu, head %zu", row / (size_t)d->s.heads, row % (size_t)d->s.heads);
  else
    snprintf(out, size, "slot %zu, token %lld", row, (long long)d->owner[row]);
}

mlaf_status append_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                              double *error, mlaf_err *err) {
  const append_data *d = data_of(data);
  /* Two launches give the same bits: any difference is a fault. */
  if (want) *error = memcmp(got, want, d->head.outputs[output].row_bytes) ? INFINITY : 0;
  else *error = worst_row(d, set, output, row, got);
  return MLAF_OK;
}

/* --- the whole of it --- */

static mlaf_status check_row(const append_data *d, int set, int output, size_t row, const void *at, unsigned char *host,
                             mlaf_data_checked *out, mlaf_err *err) {
  const mlaf_data_output *o = &d->head.outputs[output];
  mlaf_status st = mlaf_ops(d->dev)->mem_read(d->dev, host, (const char *)at + row * o->row_bytes, o->row_bytes, err);
  if (st) return st;
  const double off = worst_row(d, set, output, row, host);
  out->error = out->row_error = fmax(out->error, off);
  out->rows++;
  if (off <= APPEND_ULPS) return MLAF_OK;
  char where[80];
  append_data_row(&d->head, output, row, where, sizeof where);
  return mlaf_fail(err, MLAF_E_INCORRECT, "%s of set %d, %s: off by %g units in the last place, at most %g", o->name, set, where,
                   off, APPEND_ULPS);
}

mlaf_status append_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                              mlaf_err *err) {
  const append_data *d = data_of(data);
  unsigned char host[2 * (MLA_APPEND_RANK_MAX + MLA_APPEND_ROPE_MAX) + MLAF_FORMAT_FIXED_MAX];
  mlaf_status st = MLAF_OK;
  *out = (mlaf_data_checked){.error = 0};
  snprintf(out->which, sizeof out->which, "rows of set %d", set);
  for (int i = 0; !st && i < d->head.n_outputs; i++) {
    const size_t rows = d->head.outputs[i].rows, row_work = 4 * (size_t)(d->s.rank + d->s.rope);
    const double most = most_work / (double)row_work / d->head.n_outputs;
    const size_t n = most >= (double)rows ? rows : most < TOKENS_LEAST ? TOKENS_LEAST : (size_t)most;
    const size_t step = n < rows ? (rows - 1) / (n - 1) : 1; /* the first and the last among them */
    for (size_t row = 0; !st && row < rows; row += step) {
      if (d->cancel && atomic_load(d->cancel)) return MLAF_OK;
      st = check_row(d, set, i, row, outputs[i], host, out, err);
    }
    if (!st && rows > 1) st = check_row(d, set, i, rows - 1, outputs[i], host, out, err);
  }
  return st;
}
