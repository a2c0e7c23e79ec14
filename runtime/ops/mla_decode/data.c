/* The data that mla_decode is timed on. */
#include "ops/mla_decode/data.h"

#include "op/pattern.h"
#include "ops/mla_decode/testcase.h"
#include "ops/mla_decode/tokens.h"

enum { SETS_LEAST = 4, SETS_MOST = 128 };
#define CACHES_BETWEEN 4                       /* times the largest cache lie between two uses of a page */
#define POOL_ENOUGH    ((int64_t)4 << 30)      /* bytes: more are not made for the sake of further sets */

static bool is_modelled(const mlaf_device *dev) { return mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED; }

/* A row of Q and a row of the cache that hold the same numbers would be each other's best match by far. With this shift the first
 * such pair lies millions of cache rows away. */
size_t mlaf_decode_q_first(const mlaf_problem *p) {
  return (size_t)(p->rank + p->rope) * (MLAF_POOL_BLOCK - 100000) % MLAF_POOL_BLOCK;
}

size_t mlaf_decode_w_first(const mlaf_problem *p) { return (mlaf_decode_q_first(p) + MLAF_POOL_BLOCK / 2) % MLAF_POOL_BLOCK; }

/* --- how large --- */

static int64_t pages_of(const mlaf_problem *p, int32_t tokens) { return ((int64_t)tokens + p->page_size - 1) / p->page_size; }

/* As many sets as keep CACHES_BETWEEN caches between two uses of a page. */
static int count_sets(const mlaf_decode_data *d, int64_t page_bytes) {
  const mlaf_device_info *info = mlaf_info(d->dev);
  const int64_t cache = info->l2_bytes > info->llc_bytes ? info->l2_bytes : info->llc_bytes;
  int sets = SETS_LEAST;
  if (is_modelled(d->dev) || cache <= 0) return 1;
  while (sets < SETS_MOST && sets * d->pages * page_bytes < CACHES_BETWEEN * cache && 2 * sets * d->pages <= INT32_MAX) sets *= 2;
  return sets;
}

/* Pages of a cache that launches go through so that each finds it cold, and how many sets that makes. */
static int64_t spread(mlaf_decode_data *d, const mlaf_data_opts *opts, int64_t page_bytes) {
  const int64_t mem = mlaf_info(d->dev)->mem_bytes, room = mem ? (mem - mem / 8) / page_bytes : INT32_MAX;
  int64_t physical = opts->spread_bytes / page_bytes;
  if (physical < 2 * d->pages) physical = 2 * d->pages <= room ? 2 * d->pages : d->pages;
  if (physical > INT32_MAX) physical = INT32_MAX;
  const int64_t sets = physical / d->pages, most = INT32_MAX / d->pages;
  d->head.sets = (int)(sets < 2 ? 2 : sets > opts->spread_sets ? opts->spread_sets : sets);
  if (d->head.sets > most) d->head.sets = (int)most;
  return physical;
}

static mlaf_status draw_lengths(mlaf_decode_data *d, const mlaf_data_opts *opts, mlaf_err *err) {
  const mlaf_problem *p = &d->problem;
  d->lengths = mlaf_data_lengths(opts, p->ctx, p->batch, err);
  if (!d->lengths) return MLAF_E_NOMEM;
  for (int32_t i = 0; i < p->batch; i++) {
    d->pages += pages_of(p, d->lengths[i]);
    d->head.tokens += d->lengths[i];
    d->head.uneven |= d->lengths[i] != d->lengths[0];
  }
  d->head.work = mlaf_decode_work_of(p, d->lengths);
  if (d->pages <= INT32_MAX) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "batch %d of ctx %d needs %lld pages; page ids are 32-bit", p->batch, p->ctx,
                   (long long)d->pages);
}

static mlaf_status plan_cache(mlaf_decode_data *d, const mlaf_data_opts *opts, mlaf_err *err) {
  const mlaf_problem *p = &d->problem;
  const int64_t page_bytes = mlaf_decode_page_rows(p) * (mlaf_decode_ckv_bytes(p) + mlaf_decode_kpe_bytes(p));
  const int64_t mem = mlaf_info(d->dev)->mem_bytes;
  mlaf_status st = draw_lengths(d, opts, err);
  if (st) return st;
  d->head.sets = count_sets(d, page_bytes);
  const int64_t one = d->pages * page_bytes;
  int64_t limit = opts->cache_limit ? opts->cache_limit : is_modelled(d->dev) ? (int64_t)1 << 30 : POOL_ENOUGH;
  if (!opts->cache_limit && !is_modelled(d->dev) && limit < one) limit = one;
  int64_t physical = d->pages * d->head.sets;
  if (physical > limit / page_bytes) physical = limit / page_bytes ? limit / page_bytes : 1;
  if (opts->spread_bytes) physical = spread(d, opts, page_bytes);
  d->head.pool_bytes = physical * page_bytes;
  if (mem && d->head.pool_bytes > mem - mem / 8)
    return mlaf_fail(err, MLAF_E_ARG,
                     "batch %d of ctx %d needs a cache of %.1f GiB, %s has %.1f GiB: time a smaller batch", p->batch,
                     p->ctx, (double)d->head.pool_bytes / 0x1p30, mlaf_info(d->dev)->name, (double)mem / 0x1p30);
  d->args.num_pages = (int32_t)physical;
  return MLAF_OK;
}

/* --- what lies there --- */

/* Scales of tokens that hold their own are like those of normal numbers, for which writers take their largest / 448. */
static void draw_token(const mlaf_problem *p, const mlaf_cache_format *f, mlaf_stored_token at, mlaf_rng *rng) {
  const bool fnuz = mlaf_stored_fnuz(f->latent);
  const int latent = mlaf_format_latent(f, p->rank), rope = mlaf_format_rope(f, p->rope);
  for (int i = 0; i < f->scales; i++) {
    const float scale = ldexpf(1 + (float)mlaf_rng_below(rng, 1000) / 1000, -8);
    if (f->powers) at.scales[i] = (unsigned char)(119 + mlaf_rng_below(rng, 2));
    else memcpy(at.scales + 4 * i, &scale, sizeof scale);
  }
  for (int c = 0; c < latent; c++) {
    const float scale = f->scales ? mlaf_stored_factor(f, at.scales, c) : MLAF_DECODE_KV_SCALE;
    at.latent[c] = mlaf_e4m3_encode(fnuz, (double)(mlaf_rng_normal(rng) / scale));
  }
  for (int c = 0; c < rope; c++) {
    const float x = mlaf_rng_normal(rng);
    const uint16_t half = mlaf_encode16(p->dtype, x);
    if (mlaf_stored_in_16(f->rope)) memcpy(at.rope + 2 * c, &half, sizeof half);
    else at.rope[c] = mlaf_e4m3_encode(fnuz, (double)(x / MLAF_DECODE_KV_SCALE));
  }
}

mlaf_stored_token mlaf_decode_data_token(const mlaf_decode_data *d, int64_t page, int64_t slot) {
  const mlaf_problem *p = &d->problem;
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  const int64_t row = mlaf_decode_ckv_bytes(p), second = mlaf_decode_kpe_bytes(p), rows = mlaf_decode_page_rows(p);
  const int64_t at = (f->aside ? page * rows : page * rows + slot) % d->token_rows;
  const mlaf_stored_page of = {.rows = d->tokens + at * row, .row = row, .tokens = p->page_size,
                               .second = d->tokens + d->token_rows * row + at * second, .second_row = second};
  return mlaf_stored_token_of(f, p->rank, p->rope, &of, f->aside ? slot : 0);
}

/* The tokens of an 8-bit cache, over and over. */
static mlaf_status alloc_bytes(mlaf_decode_data *d, uint64_t seed, void **cache, mlaf_err *err) {
  const mlaf_problem *p = &d->problem;
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  const int64_t page_rows = mlaf_decode_page_rows(p);
  d->token_rows = !f->aside ? MLAF_DECODE_TOKENS : page_rows > MLAF_DECODE_TOKENS ? page_rows
                  : MLAF_DECODE_TOKENS / page_rows * page_rows;
  const size_t row = (size_t)mlaf_decode_ckv_bytes(p), kpe = (size_t)mlaf_decode_kpe_bytes(p);
  const size_t rows = (size_t)(d->args.num_pages * page_rows);
  const size_t all = rows * row, once = (size_t)d->token_rows * row, second = (size_t)d->token_rows * kpe;
  mlaf_rng rng = {seed ^ 0x6b76};
  void *ignored;
  d->tokens = calloc(once + second, 1);
  if (!d->tokens) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld tokens", (long long)d->token_rows);
  for (int64_t i = 0; i < d->token_rows && (size_t)i < rows; i++)
    if (i % page_rows < p->page_size) draw_token(p, f, mlaf_decode_data_token(d, i / page_rows, i % page_rows), &rng);
  mlaf_status st = mlaf_pool_need(d->pool, (mlaf_dtype)p->dtype, row, &ignored, err); /* Q's numbers are the pool's */
  if (!st) st = ops->mem_alloc(d->dev, all + rows * kpe, cache, err);
  d->args.ckv = d->head.pool = *cache;
  if (!st) st = mlaf_pattern_lay(d->dev, (mlaf_pattern){d->tokens, once}, 0, *cache, all, err);
  if (st || !kpe) return st;
  d->args.kpe = (char *)*cache + all;
  return mlaf_pattern_lay(d->dev, (mlaf_pattern){d->tokens + once, second}, 0, (char *)*cache + all, rows * kpe, err);
}

void mlaf_decode_q_codes(const mlaf_problem *p, const uint16_t *pattern, size_t count, unsigned char *out) {
  const bool fnuz = mlaf_stored_fnuz(mlaf_decode_format(p, false)->latent);
  for (size_t i = 0; i < count; i++)
    out[i] = mlaf_e4m3_encode(fnuz, (double)mlaf_decode16(p->dtype, pattern[i]) / (double)MLAF_DECODE_Q_SCALE);
}

/* Q of 8 bits: the pool's pattern as codes, over and over. */
static mlaf_status fill_codes(mlaf_decode_data *d, size_t bytes, mlaf_err *err) {
  unsigned char *codes = malloc(MLAF_POOL_BLOCK);
  if (!codes) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for queries of 8 bits");
  mlaf_decode_q_codes(&d->problem, mlaf_pool_block(d->pool), MLAF_POOL_BLOCK, codes);
  mlaf_status st = mlaf_pattern_lay(d->dev, (mlaf_pattern){codes, MLAF_POOL_BLOCK}, mlaf_decode_q_first(&d->problem),
                                    (void *)(uintptr_t)d->args.q, bytes, err);
  free(codes);
  return st;
}

static mlaf_status alloc_tensors(mlaf_decode_data *d, uint64_t seed, mlaf_err *err) {
  const mlaf_problem *p = &d->problem;
  mlaf_execute_args *a = &d->args;
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const size_t rows = (size_t)p->batch * (size_t)p->q_len * (size_t)p->heads;
  const size_t q_bytes = rows * (size_t)(p->rank + p->rope) * (p->fp8_q ? 1 : 2);
  const mlaf_data_output outputs[] = {
      [MLAF_DECODE_O] = {"o", offsetof(mlaf_execute_args, o), rows, (size_t)p->rank * 2},
      [MLAF_DECODE_LSE] = {"lse", offsetof(mlaf_execute_args, lse), rows, sizeof(float)},
  };
  void *cache = NULL;
  memcpy(d->head.outputs, outputs, sizeof outputs);
  d->head.n_outputs = sizeof outputs / sizeof *outputs;
  mlaf_status st = p->cache ? alloc_bytes(d, seed, &cache, err)
                            : mlaf_pool_need(d->pool, (mlaf_dtype)p->dtype, (size_t)d->head.pool_bytes, &cache, err);
  if (!st) st = ops->mem_alloc(d->dev, q_bytes, (void **)&a->q, err);
  if (!st) st = ops->mem_alloc(d->dev, rows * outputs[MLAF_DECODE_O].row_bytes, &a->o, err);
  if (!st) st = ops->mem_alloc(d->dev, rows * sizeof(float), (void **)&a->lse, err);
  if (!st && p->fp8_q) st = fill_codes(d, q_bytes, err);
  else if (!st) st = mlaf_pool_fill(d->pool, (void *)a->q, q_bytes, mlaf_decode_q_first(p), err);
  a->ckv = cache;
  if (!p->q_parts) return st;
  a->q_pe = (const char *)a->q + 2 * p->rank; /* parts of the rows of one tensor */
  a->q_head_stride = a->q_pe_head_stride = p->rank + p->rope;
  a->q_token_stride = a->q_pe_token_stride = p->heads * (p->rank + p->rope);
  return st;
}

/* W_UV, dense, and the values; lse has no place then. */
static mlaf_status alloc_values(mlaf_decode_data *d, mlaf_err *err) {
  const mlaf_problem *p = &d->problem;
  mlaf_execute_args *a = &d->args;
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  const size_t rows = d->head.outputs[MLAF_DECODE_O].rows, row = (size_t)d->values * 2;
  const size_t bytes = (size_t)p->heads * row * (size_t)p->rank;
  if (!d->values) return MLAF_OK;
  mlaf_status st = ops->mem_alloc(d->dev, bytes, (void **)&a->w_v, err);
  if (!st) st = ops->mem_alloc(d->dev, rows * row, &a->values, err);
  if (!st) st = mlaf_pool_fill(d->pool, (void *)a->w_v, bytes, mlaf_decode_w_first(p), err);
  a->w_v_row_stride = p->rank;
  a->w_v_head_stride = (int64_t)d->values * p->rank;
  d->head.outputs[0] = (mlaf_data_output){"values", offsetof(mlaf_execute_args, values), rows, row};
  d->head.n_outputs = 1;
  return st;
}

/* Physical pages of all sets: a random permutation of the cache, taken in turn. Neighbouring sets share none that way, as
 * long as the cache holds two. Each round begins a page further on, so that no set is the same as one of an earlier round. */
static mlaf_status deal_pages(mlaf_decode_data *d, int32_t *indices, mlaf_rng *rng, mlaf_err *err) {
  const int64_t physical = d->args.num_pages, n = d->pages * d->head.sets;
  int32_t *order = malloc((size_t)physical * sizeof *order);
  if (!order) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld pages", (long long)physical);
  mlaf_rng_deal(rng, order, physical);
  for (int64_t i = 0; i < n; i++) indices[i] = order[(i + i / physical) % physical];
  free(order);
  return MLAF_OK;
}

/* All tables in one allocation. */
static mlaf_status alloc_tables(mlaf_decode_data *d, mlaf_rng *rng, mlaf_err *err) {
  const mlaf_problem *p = &d->problem;
  mlaf_execute_args *a = &d->args;
  const size_t n = (size_t)p->batch;
  d->words = 3 * n + 2 + (size_t)(d->pages * d->head.sets);
  int32_t *host = d->host = malloc(d->words * sizeof *host);
  if (!host) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld pages", (long long)d->pages);
  int32_t *qo = host, *kv = qo + n + 1, *last = kv + n + 1, *indices = last + n;
  qo[0] = kv[0] = 0;
  for (size_t i = 0; i < n; i++) {
    qo[i + 1] = (int32_t)(i + 1) * p->q_len;
    kv[i + 1] = kv[i] + (int32_t)pages_of(p, d->lengths[i]);
    last[i] = (d->lengths[i] - 1) % p->page_size + 1;
  }
  mlaf_status st = deal_pages(d, indices, rng, err);
  if (!st) st = mlaf_ops(d->dev)->mem_alloc(d->dev, d->words * sizeof *host, &d->tables, err);
  if (!st) st = mlaf_ops(d->dev)->mem_write(d->dev, d->tables, host, d->words * sizeof *host, err);
  const int32_t *base = d->tables;
  a->qo_indptr = base;
  a->kv_indptr = base + (kv - host);
  a->kv_last_page_lens = base + (last - host);
  a->kv_indices = base + (indices - host);
  return st;
}

/* Cosines and sines of all positions that there are, as the models have them: base 10000. */
static mlaf_status make_angles(mlaf_decode_data *d, mlaf_err *err) {
  const int32_t rope = d->problem.rope, half = rope / 2;
  int32_t rows = 1;
  if (!d->problem.rotate) return MLAF_OK;
  for (int32_t i = 0; i < d->problem.batch; i++) rows = d->lengths[i] > rows ? d->lengths[i] : rows;
  float *const angles = d->rope_table = malloc((size_t)rows * (size_t)rope * sizeof *angles);
  if (!angles) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a table of %d positions", rows);
  for (int32_t i = 0; i < half; i++) {
    const double theta = pow(10000, -2.0 * i / rope), c = cos(theta), s = sin(theta);
    double x = 1, y = 0; /* one turn more at each position */
    for (int32_t t = 0; t < rows; t++) {
      angles[(size_t)t * (size_t)rope + (size_t)i] = (float)x;
      angles[(size_t)t * (size_t)rope + (size_t)(half + i)] = (float)y;
      const double next = x * c - y * s;
      y = y * c + x * s;
      x = next;
    }
  }
  d->args.rope_rows = rows;
  return MLAF_OK;
}

static mlaf_status alloc_given(mlaf_decode_data *d, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(d->dev);
  mlaf_status st = make_angles(d, err);
  for (int i = 0; !st && i < MLAF_GIVEN; i++) {
    const mlaf_given *g = &mlaf_decode_given[i];
    const size_t bytes = mlaf_given_bytes(g, &d->problem, &d->args);
    void **const at = (void **)mlaf_given_place(g, &d->args);
    st = mlaf_given_draw(g, &d->problem, &d->args, g->timing, &d->given[i], err);
    if (!st && d->given[i]) st = ops->mem_alloc(d->dev, bytes, at, err);
    if (!st && d->given[i]) st = ops->mem_write(d->dev, *at, d->given[i], bytes, err);
  }
  return st;
}

mlaf_status mlaf_decode_data_open(mlaf_device *dev, const mlaf_point *at, const mlaf_data_opts *opts, mlaf_pool *pool,
                                  mlaf_data **out, mlaf_err *err) {
  const mlaf_problem problem = mlaf_problem_of(at), *p = &problem;
  mlaf_decode_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  *d = (mlaf_decode_data){.dev = dev, .pool = pool, .problem = *p, .cancel = opts->cancel};
  d->values = opts->bound ? mlaf_decode_goes_on(opts->bound) : 0;
  d->args = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
  d->args.batch = p->batch;
  d->args.total_q = d->head.rows = (int64_t)p->batch * p->q_len;
  d->args.scale = (float)(sqrt(3.0) / sqrt(p->rank + p->rope)); /* 1/sqrt(192) for 512 + 64, as DeepSeek-V3 has it */
  mlaf_rng rng = {opts->seed};
  mlaf_status st = plan_cache(d, opts, err);
  if (!st) st = alloc_tensors(d, opts->seed, err);
  if (!st) st = alloc_values(d, err);
  if (!st) st = alloc_tables(d, &rng, err);
  if (!st) st = alloc_given(d, err);
  if (st) {
    mlaf_decode_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void mlaf_decode_data_close(mlaf_data *data) {
  mlaf_decode_data *d = (void *)data;
  if (!d) return;
  void *const all[] = {(void *)d->args.q, d->args.o, d->args.lse, d->tables, (void *)d->args.w_v, d->args.values,
                       d->problem.cache ? (void *)d->args.ckv : NULL}; /* which is the pool's otherwise */
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) mlaf_ops(d->dev)->mem_free(d->dev, all[i], NULL);
  free(d->host);
  free(d->lengths);
  for (int i = 0; i < MLAF_GIVEN; i++) {
    void *const at = (void *)*mlaf_given_place(&mlaf_decode_given[i], &d->args);
    if (at) mlaf_ops(d->dev)->mem_free(d->dev, at, NULL);
    free(d->given[i]);
  }
  free(d->tokens);
  free(d);
}

void mlaf_decode_data_args(const mlaf_data *data, int set, void *args) {
  const mlaf_decode_data *d = mlaf_decode_data_of(data);
  mlaf_execute_args *a = args;
  *a = d->args;
  a->kv_indices += set * d->pages;
  if (d->values) a->o = NULL, a->lse = NULL;
}

void mlaf_decode_data_row(const mlaf_data *data, int output, size_t row, char *out, size_t size) {
  const mlaf_problem *p = &mlaf_decode_data_of(data)->problem;
  const size_t token = row / (size_t)p->heads;
  snprintf(out, size, "request %zu, token %zu, head %zu", token / (size_t)p->q_len, token % (size_t)p->q_len,
           row % (size_t)p->heads);
}
