/* The data that mla_gather_kv_b is timed and soaked on. One set: what it writes is far more than what it reads. K and V lie side
 * by side in rows [T, H, N+V]; W is from the pool, row i of the cache is row i % PATTERN of a pattern. */
#include "ops/mla_gather_kv_b/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/ulp.h"

enum { KV, K_PE, PATTERN = 509, PAGE = 64, REQUEST = 1024, ROWS_LEAST = 3, OWNED = 9 };
#define FLAT_SCALE 0.03125f

typedef struct gather_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  const atomic_bool *cancel;
  gather_shape s;
  mlaf_gather_kv_b_args args;
  unsigned char *pattern; /* [PATTERN] rows */
  int32_t *table;         /* page of each PAGE tokens; requests begin at a page, so this is one for all */
  int64_t pages;
  float *angles; /* of a problem that rotates: [REQUEST, P] */
  void *owned[OWNED];
  int n_owned;
} gather_data;

static const gather_data *data_of(const mlaf_data *d) { return (const void *)d; }

/* --- filling it --- */

static void draw_wide(const gather_shape *s, unsigned char *at, int64_t bytes, mlaf_rng *rng) {
  for (int64_t i = 0; i < bytes; i += 2) {
    const uint16_t x = mlaf_encode16(s->dtype, mlaf_rng_normal(rng));
    memcpy(at + i, &x, sizeof x);
  }
}

static void draw_row(const gather_shape *s, unsigned char *row, mlaf_rng *rng) {
  const int64_t bytes = gather_row_bytes(s);
  const bool all = mlaf_stored_in_16(s->format->latent), rope = mlaf_stored_in_16(s->format->rope);
  const int64_t wide_at = all ? 0 : gather_bytes(s, s->format->rope_at);
  if (all || rope) draw_wide(s, row + wide_at, bytes - wide_at, rng);
  for (int64_t i = 0; !all && i < (rope ? s->rank : bytes); i++)
    row[i] = (unsigned char)(mlaf_rng_below(rng, 2) << 7 | (40 + mlaf_rng_below(rng, 40)));
  for (int i = 0; i < s->format->scales; i++) {
    const float scale = 0x1p-5f;
    memcpy(row + gather_bytes(s, s->format->scales_at) + 4 * i, &scale, sizeof scale);
  }
}

/* Of a row of a split cache's second tensor, whose pattern is behind the other. */
static size_t kpe_bytes(const gather_shape *s) { return s->format->split ? (size_t)gather_rope_bytes(s) : 0; }

static mlaf_status draw(gather_data *d, uint64_t seed, mlaf_err *err) {
  const size_t row = (size_t)gather_row_bytes(&d->s), kpe = kpe_bytes(&d->s);
  mlaf_rng rng = {seed};
  d->pattern = malloc(PATTERN * (row + kpe));
  d->table = malloc((size_t)d->pages * sizeof *d->table);
  if (!d->pattern || !d->table) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld pages", (long long)d->pages);
  for (size_t i = 0; i < PATTERN; i++) draw_row(&d->s, d->pattern + i * row, &rng);
  draw_wide(&d->s, d->pattern + PATTERN * row, (int64_t)(PATTERN * kpe), &rng);
  for (int64_t i = 0; i < d->pages; i++) { /* inside-out shuffle */
    const uint32_t j = mlaf_rng_below(&rng, (uint32_t)i + 1);
    d->table[i] = d->table[j];
    d->table[j] = (int32_t)i;
  }
  return MLAF_OK;
}

static mlaf_status own(gather_data *d, const void *from, size_t bytes, void **at, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  mlaf_status st = ops->mem_alloc(d->dev, bytes ? bytes : 1, at, err);
  if (st) return st;
  d->owned[d->n_owned++] = *at;
  return from ? ops->mem_write(d->dev, *at, from, bytes, err) : MLAF_OK;
}

static mlaf_status write_rows(gather_data *d, const unsigned char *pattern, size_t row, const void **at, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const size_t rows = (size_t)d->pages * PAGE;
  void *to = NULL;
  mlaf_status st = own(d, NULL, rows * row, &to, err);
  *at = to;
  for (size_t i = 0; !st && i < rows; i += PATTERN)
    st = ops->mem_write(d->dev, (char *)to + i * row, pattern, (rows - i < PATTERN ? rows - i : PATTERN) * row, err);
  return st;
}

static mlaf_status write_cache(gather_data *d, mlaf_err *err) {
  const size_t row = (size_t)gather_row_bytes(&d->s), kpe = kpe_bytes(&d->s);
  const mlaf_status st = write_rows(d, d->pattern, row, &d->args.cache, err);
  return st || !kpe ? st : write_rows(d, d->pattern + PATTERN * row, kpe, &d->args.cache_kpe, err);
}

/* Requests of REQUEST tokens, the last one of what is left. */
static mlaf_status write_tables(gather_data *d, mlaf_err *err) {
  const int n = d->args.batch;
  int32_t *cu = malloc(2 * (size_t)(n + 1) * sizeof *cu), *indptr = cu + n + 1;
  if (!cu) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d requests", n);
  for (int r = 0; r <= n; r++) {
    cu[r] = (int32_t)(r < n ? (int64_t)r * REQUEST : d->s.tokens);
    indptr[r] = (int32_t)(r < n ? r * (REQUEST / PAGE) : d->pages);
  }
  mlaf_status st = own(d, cu, (size_t)(n + 1) * sizeof *cu, (void **)&d->args.cu_seqlens, err);
  if (!st) st = own(d, indptr, (size_t)(n + 1) * sizeof *cu, (void **)&d->args.table_indptr, err);
  if (!st) st = own(d, d->table, (size_t)d->pages * sizeof *d->table, (void **)&d->args.table, err);
  free(cu);
  return st;
}

/* Positions of a request are below REQUEST. */
static mlaf_status write_angles(gather_data *d, mlaf_err *err) {
  const int half = d->s.rope / 2;
  const size_t bytes = REQUEST * 2 * (size_t)half * sizeof *d->angles;
  void *at = NULL;
  if (!d->s.rotate) return MLAF_OK;
  d->angles = malloc(bytes);
  if (!d->angles) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a table of %d positions", REQUEST);
  for (int i = 0; i < REQUEST * half; i++) {
    float *row = d->angles + i / half * 2 * half;
    row[i % half] = (float)cos(i * 0.7), row[half + i % half] = (float)sin(i * 0.7);
  }
  const mlaf_status st = own(d, d->angles, bytes, &at, err);
  d->args.rope_table = at;
  d->args.rope_rows = REQUEST;
  return st;
}

static mlaf_status alloc_outputs(gather_data *d, mlaf_err *err) {
  const size_t T = (size_t)d->s.tokens, kv = (size_t)(d->s.heads * d->s.out) * 2, pe = (size_t)d->s.rope * 2;
  d->head.outputs[KV] = (mlaf_data_output){"k", offsetof(mlaf_gather_kv_b_args, k), T, kv};
  d->head.outputs[K_PE] = (mlaf_data_output){"k_pe", offsetof(mlaf_gather_kv_b_args, k_pe), T, pe};
  d->head.n_outputs = pe ? 2 : 1;
  mlaf_status st = own(d, NULL, T * kv, &d->args.k, err);
  if (!st && pe) st = own(d, NULL, T * pe, &d->args.k_pe, err);
  return st;
}

mlaf_status gather_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                             mlaf_err *err) {
  gather_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (gather_data){.head = {.sets = 1}, .dev = dev, .pool = pool, .s = gather_shape_of(p), .cancel = opts->cancel};
  const gather_shape *s = &d->s;
  const int64_t mem = mlaf_info(dev)->mem_bytes;
  d->head.work = gather_work(p);
  d->head.rows = d->head.tokens = s->tokens;
  d->head.pool_bytes = 2 * (int64_t)s->heads * s->out * s->rank;
  d->pages = (s->tokens + PAGE - 1) / PAGE;
  d->args = (mlaf_gather_kv_b_args)MLAF_GATHER_KV_B_ARGS_INIT;
  d->args.batch = (int32_t)((s->tokens + REQUEST - 1) / REQUEST);
  d->args.tokens = s->tokens;
  d->args.page_tokens = PAGE;
  d->args.num_pages = d->pages;
  d->args.scale = FLAT_SCALE;
  const double need = (double)d->head.work.bytes + 0x1p20;
  mlaf_status st = MLAF_OK;
  if (mem && need > (double)(mem - mem / 8))
    st = mlaf_fail(err, MLAF_E_ARG, "%lld tokens need %.1f GiB, %s has %.1f GiB: time fewer", (long long)s->tokens, need / 0x1p30,
                   mlaf_info(dev)->name, (double)mem / 0x1p30);
  if (!st) st = mlaf_pool_need(pool, (mlaf_dtype)s->dtype, (size_t)d->head.pool_bytes, (void **)&d->args.w, err);
  if (!st) st = draw(d, opts->seed, err);
  if (!st) st = write_cache(d, err);
  if (!st) st = write_tables(d, err);
  if (!st) st = write_angles(d, err);
  if (!st) st = alloc_outputs(d, err);
  if (st) {
    gather_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void gather_data_close(mlaf_data *data) {
  gather_data *d = (void *)data;
  if (!d) return;
  for (int i = 0; i < d->n_owned; i++) mlaf_ops(d->dev)->mem_free(d->dev, d->owned[i], NULL);
  free(d->pattern);
  free(d->table);
  free(d->angles);
  free(d);
}

void gather_data_args(const mlaf_data *d, int set, void *args) { *(mlaf_gather_kv_b_args *)args = data_of(d)->args; }

void gather_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size) {
  snprintf(out, size, "request %zu, token %zu", row / REQUEST, row % REQUEST);
}

/* --- what came out --- */

/* How far a row is off, in units of the last place; `outputs` of them, from the first on (0: all). */
static double worst_row(const gather_data *d, int output, size_t row, const uint16_t *got, int outputs) {
  const gather_shape *s = &d->s;
  const uint16_t *block = mlaf_pool_block(d->pool);
  const size_t at = (size_t)d->table[row / PAGE] * PAGE + row % PAGE;
  double latent[MLA_GATHER_KV_B_RANK_MAX], rope[MLA_GATHER_KV_B_ROPE_MAX + 1], off[MLA_GATHER_KV_B_ROPE_MAX + 1], behind;
  double worst = 0;
  uint16_t w[MLA_GATHER_KV_B_RANK_MAX];
  const size_t row_bytes = (size_t)gather_row_bytes(s);
  const unsigned char *const cached = d->pattern + at % PATTERN * row_bytes;
  const unsigned char *const pe = s->format->split ? d->pattern + PATTERN * row_bytes + at % PATTERN * kpe_bytes(s)
                                                   : cached + gather_bytes(s, s->format->rope_at);
  gather_decode_row(s, cached, pe, latent, rope, (double)FLAT_SCALE, &behind);
  if (output == K_PE) {
    for (int i = 0; i < s->rope; i++) off[i] = fabs(rope[i]) * 0x1p-22;
    if (s->rotate) gather_turn(s, d->angles + row % REQUEST * (size_t)s->rope, rope, off);
    for (int i = 0; i < s->rope; i++) worst = fmax(worst, mlaf_off16(s->dtype, got[i], rope[i], off[i]));
    return worst;
  }
  const int all = s->heads * s->out, n = outputs && outputs < all ? outputs : all;
  for (int i = 0; i < n; i++) {
    const size_t f = n < all ? (size_t)((double)i / (double)n * all) : (size_t)i, first = f * (size_t)s->rank;
    double slack;
    for (size_t k = 0; k < (size_t)s->rank; k++) w[k] = block[(first + k) % MLAF_POOL_BLOCK];
    const double want = gather_output(s, w, latent, behind, &slack);
    worst = fmax(worst, mlaf_off16(s->dtype, got[f], want, slack));
  }
  return worst;
}

mlaf_status gather_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                              double *error, mlaf_err *err) {
  const gather_data *d = data_of(data);
  /* Two launches give the same bits: any difference is a fault. */
  if (want) *error = memcmp(got, want, d->head.outputs[output].row_bytes) ? INFINITY : 0;
  else *error = worst_row(d, output, row, got, 0);
  return MLAF_OK;
}

static mlaf_status check_row(const gather_data *d, int output, size_t row, void *const outputs[], uint16_t *host, int columns,
                             mlaf_data_checked *out, mlaf_err *err) {
  const mlaf_data_output *o = &d->head.outputs[output];
  const char *const at = (const char *)outputs[output] + row * o->row_bytes;
  mlaf_status st = mlaf_ops(d->dev)->mem_read(d->dev, host, at, o->row_bytes, err);
  if (st) return st;
  const double off = worst_row(d, output, row, host, columns);
  char where[80];
  out->error = out->row_error = fmax(out->error, off);
  out->rows++;
  gather_data_row(&d->head, output, row, where, sizeof where);
  if (off <= GATHER_ULPS) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_INCORRECT, "%s of %s: off by %g units in the last place, at most %g", o->name, where, off,
                   GATHER_ULPS);
}

/* Rows evenly spread over all, the first and the last among them; of each as many outputs as the work allows. */
mlaf_status gather_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                              mlaf_err *err) {
  const gather_data *d = data_of(data);
  const size_t rows = (size_t)d->s.tokens;
  const double row_work = 128.0 * d->s.rank;
  double afford = most_work / row_work;
  if (afford > (double)rows) afford = (double)rows;
  size_t n = afford < ROWS_LEAST ? ROWS_LEAST : (size_t)afford;
  if (n > rows) n = rows;
  const double columns_most = (double)d->s.heads * d->s.out, afforded = most_work / ((double)n * d->s.rank);
  const int columns = (int)fmin(columns_most, fmax(128, afforded));
  uint16_t *host = malloc(data->outputs[KV].row_bytes);
  if (!host) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row");
  *out = (mlaf_data_checked){0};
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n && !(d->cancel && atomic_load(d->cancel)); i++) {
    const size_t row = n > 1 ? (size_t)((double)i / (double)(n - 1) * (double)(rows - 1)) : 0;
    for (int o = 0; !st && o < data->n_outputs; o++) st = check_row(d, o, row, outputs, host, columns, out, err);
  }
  free(host);
  snprintf(out->which, sizeof out->which, "%zu rows, %d outputs of each", (size_t)out->rows, columns);
  return st;
}
