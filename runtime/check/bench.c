/* Timing buffers and the timing itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bench_internal.h"
#include "op/numeric.h"

enum { SETS_LEAST = 4, SETS_MOST = 128 };
#define CACHES_BETWEEN 4                       /* times the largest cache lie between two uses of a page */
#define POOL_ENOUGH    ((int64_t)4 << 30)      /* bytes: more are not made for the sake of further sets */

mlaf_time_opts mlaf_bench_time_opts(void) {
  return (mlaf_time_opts){
      .warmup = 3, .min_samples = 11, .max_samples = 51, .min_window_ns = 1e6, .limit_s = 2.0, .give_up_ns = 0};
}

mlaf_time_opts mlaf_bench_rested_opts(void) {
  return (mlaf_time_opts){.warmup = 1,
                          .min_samples = 7,
                          .max_samples = 40,
                          .min_window_ns = 2e4, /* a sample goes through all sets; its events resolve half a microsecond */
                          .limit_s = 0.025,
                          .idle_s = 0.1};
}

mlaf_work mlaf_problem_work(const mlaf_point *p) { return p->op->calls->work(p); }
mlaf_work mlaf_bench_work(const mlaf_bench *b) { return mlaf_decode_work_of(&b->problem, b->lengths); }
int mlaf_bench_sets(const mlaf_bench *b) { return b->sets; }

int64_t mlaf_bench_tokens(const mlaf_bench *b) {
  int64_t n = 0;
  for (int32_t i = 0; i < b->problem.batch; i++) n += b->lengths[i];
  return n;
}

static bool is_modelled(const mlaf_device *dev) { return mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED; }

static mlaf_status alloc_data(mlaf_bench *b, int64_t cache_bytes, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  mlaf_execute_args *a = &b->args;
  const mlaf_device_ops *ops = mlaf_ops(b->dev);
  const size_t rows = (size_t)p->batch * (size_t)p->q_len * (size_t)p->heads;
  const size_t q_bytes = rows * (size_t)(p->rank + p->rope) * 2, o_bytes = rows * (size_t)p->rank * 2;
  void *cache = NULL;
  mlaf_status st = mlaf_pool_need(b->pool, (mlaf_dtype)p->dtype, (size_t)cache_bytes, &cache, err);
  if (!st) st = ops->mem_alloc(b->dev, q_bytes, (void **)&a->q, err);
  if (!st) st = ops->mem_alloc(b->dev, o_bytes, &a->o, err);
  if (!st) st = ops->mem_alloc(b->dev, rows * sizeof(float), (void **)&a->lse, err);
  if (!st) st = mlaf_pool_fill(b->pool, (void *)a->q, q_bytes, mlaf_bench_q_first(p), err);
  a->ckv = cache;
  return st;
}

static int64_t pages_of(const mlaf_problem *p, int32_t tokens) { return ((int64_t)tokens + p->page_size - 1) / p->page_size; }

/* Physical pages of all sets: a random permutation of the cache, taken in turn. Neighbouring sets share none that way, as
 * long as the cache holds two. Each round begins a page further on, so that no set is the same as one of an earlier round. */
static mlaf_status deal_pages(mlaf_bench *b, int32_t *indices, mlaf_rng *rng, mlaf_err *err) {
  const int64_t physical = b->args.num_pages, n = b->pages * b->sets;
  int32_t *order = malloc((size_t)physical * sizeof *order);
  if (!order) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld pages", (long long)physical);
  for (int64_t i = 0; i < physical; i++) { /* inside-out shuffle */
    const int64_t j = mlaf_rng_below(rng, (uint32_t)i + 1);
    order[i] = order[j];
    order[j] = (int32_t)i;
  }
  for (int64_t i = 0; i < n; i++) indices[i] = order[(i + i / physical) % physical];
  free(order);
  return MLAF_OK;
}

/* All tables in one allocation. */
static mlaf_status alloc_tables(mlaf_bench *b, mlaf_rng *rng, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  mlaf_execute_args *a = &b->args;
  const size_t n = (size_t)p->batch, words = 3 * n + 2 + (size_t)(b->pages * b->sets);
  int32_t *host = b->host = malloc(words * sizeof *host);
  if (!host) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld pages", (long long)b->pages);
  int32_t *qo = host, *kv = qo + n + 1, *last = kv + n + 1, *indices = last + n;
  qo[0] = kv[0] = 0;
  for (size_t i = 0; i < n; i++) {
    qo[i + 1] = (int32_t)(i + 1) * p->q_len;
    kv[i + 1] = kv[i] + (int32_t)pages_of(p, b->lengths[i]);
    last[i] = (b->lengths[i] - 1) % p->page_size + 1;
  }
  mlaf_status st = deal_pages(b, indices, rng, err);
  if (!st) st = mlaf_ops(b->dev)->mem_alloc(b->dev, words * sizeof *host, &b->tables, err);
  if (!st) st = mlaf_ops(b->dev)->mem_write(b->dev, b->tables, host, words * sizeof *host, err);
  const int32_t *base = b->tables;
  a->qo_indptr = base;
  a->kv_indptr = base + (kv - host);
  a->kv_last_page_lens = base + (last - host);
  a->kv_indices = base + (indices - host);
  return st;
}

/* As many sets as keep CACHES_BETWEEN caches between two uses of a page. */
static int count_sets(const mlaf_bench *b, int64_t page_bytes) {
  const mlaf_device_info *info = mlaf_info(b->dev);
  const int64_t cache = info->l2_bytes > info->llc_bytes ? info->l2_bytes : info->llc_bytes;
  int sets = SETS_LEAST;
  if (is_modelled(b->dev) || cache <= 0) return 1;
  while (sets < SETS_MOST && sets * b->pages * page_bytes < CACHES_BETWEEN * cache && 2 * sets * b->pages <= INT32_MAX) sets *= 2;
  return sets;
}

/* Pages of a cache that launches go through so that each finds it cold, and how many sets that makes. */
static int64_t spread(mlaf_bench *b, const mlaf_bench_opts *opts, int64_t page_bytes) {
  const int64_t mem = mlaf_info(b->dev)->mem_bytes, room = mem ? (mem - mem / 8) / page_bytes : INT32_MAX;
  int64_t physical = opts->spread_bytes / page_bytes;
  if (physical < 2 * b->pages) physical = 2 * b->pages <= room ? 2 * b->pages : b->pages;
  if (physical > INT32_MAX) physical = INT32_MAX;
  const int64_t sets = physical / b->pages, most = INT32_MAX / b->pages;
  b->sets = (int)(sets < 2 ? 2 : sets > opts->spread_sets ? opts->spread_sets : sets);
  if (b->sets > most) b->sets = (int)most;
  return physical;
}

static mlaf_status plan_cache(mlaf_bench *b, const mlaf_bench_opts *opts, int64_t *bytes, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  const int64_t page_bytes = (int64_t)p->page_size * (p->rank + p->rope) * 2, mem = mlaf_info(b->dev)->mem_bytes;
  b->lengths = malloc((size_t)p->batch * sizeof *b->lengths);
  if (!b->lengths) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d lengths", p->batch);
  if (opts && opts->tokens) memcpy(b->lengths, opts->tokens, (size_t)p->batch * sizeof *b->lengths);
  else mlaf_lengths_draw(opts ? &opts->lengths : &(mlaf_lengths){.kind = MLAF_LENGTHS_EQUAL}, p->ctx, p->batch, b->lengths);
  for (int32_t i = 0; i < p->batch; i++) b->pages += pages_of(p, b->lengths[i]);
  if (b->pages > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "batch %d of ctx %d needs %lld pages; page ids are 32-bit", p->batch, p->ctx,
                     (long long)b->pages);
  b->sets = count_sets(b, page_bytes);
  const int64_t one = b->pages * page_bytes;
  int64_t limit = opts && opts->cache_limit ? opts->cache_limit : is_modelled(b->dev) ? (int64_t)1 << 30 : POOL_ENOUGH;
  if (!(opts && opts->cache_limit) && !is_modelled(b->dev) && limit < one) limit = one;
  int64_t physical = b->pages * b->sets;
  if (physical > limit / page_bytes) physical = limit / page_bytes ? limit / page_bytes : 1;
  if (opts && opts->spread_bytes) physical = spread(b, opts, page_bytes);
  *bytes = physical * page_bytes;
  if (mem && *bytes > mem - mem / 8)
    return mlaf_fail(err, MLAF_E_ARG,
                     "batch %d of ctx %d needs a cache of %.1f GiB, %s has %.1f GiB: time a smaller batch", p->batch,
                     p->ctx, (double)*bytes / 0x1p30, mlaf_info(b->dev)->name, (double)mem / 0x1p30);
  b->args.num_pages = (int32_t)physical;
  return MLAF_OK;
}

mlaf_status mlaf_bench_create(mlaf_device *dev, const mlaf_point *at, const mlaf_bench_opts *opts, mlaf_bench **out,
                              mlaf_err *err) {
  const mlaf_problem problem = mlaf_problem_of(at), *p = &problem;
  mlaf_bench *b = calloc(1, sizeof *b);
  if (!b) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a bench");
  b->dev = dev;
  b->problem = *p;
  b->args = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
  b->args.batch = p->batch;
  b->args.total_q = (int64_t)p->batch * p->q_len;
  b->args.scale = (float)(sqrt(3.0) / sqrt(p->rank + p->rope)); /* 1/sqrt(192) for 512 + 64, as DeepSeek-V3 has it */
  mlaf_rng rng = {opts ? opts->seed : 1};
  int64_t bytes = 0;
  mlaf_status st = plan_cache(b, opts, &bytes, err);
  if (!st && !(opts && opts->pool)) st = mlaf_pool_create(dev, rng.state, &b->own_pool, err);
  b->pool = opts && opts->pool ? opts->pool : b->own_pool;
  if (!st) st = alloc_data(b, bytes, err);
  if (!st) st = alloc_tables(b, &rng, err);
  if (st) {
    mlaf_bench_free(b);
    return mlaf_fail_prefix(err, st, "timing buffers");
  }
  *out = b;
  return MLAF_OK;
}

void mlaf_bench_free(mlaf_bench *b) {
  if (!b) return;
  void *const all[] = {(void *)b->args.q, b->args.o, b->args.lse, b->args.workspace, b->tables};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) mlaf_ops(b->dev)->mem_free(b->dev, all[i], NULL);
  mlaf_pool_free(b->own_pool);
  free(b->host);
  free(b->lengths);
  free(b);
}

static mlaf_status grow_workspace(mlaf_bench *b, size_t need, mlaf_err *err) {
  if (need <= b->args.workspace_size) return MLAF_OK;
  if (b->args.workspace) mlaf_ops(b->dev)->mem_free(b->dev, b->args.workspace, NULL);
  b->args.workspace = NULL;
  b->args.workspace_size = 0;
  mlaf_status st = mlaf_ops(b->dev)->mem_alloc(b->dev, need, &b->args.workspace, err);
  if (!st) b->args.workspace_size = need;
  return st;
}

static mlaf_status prepare_set(mlaf_bench *b, const mlaf_loaded *l, uint32_t splits, int set, mlaf_prepared *out, mlaf_err *err) {
  mlaf_execute_args args = b->args;
  args.kv_indices += set * b->pages;
  mlaf_status st = mlaf_loaded_check(l, splits, &args, err);
  return st ? st : mlaf_loaded_prepare(l, splits, &args, out, err);
}

mlaf_status mlaf_bench_prepare(mlaf_bench *b, const mlaf_loaded *l, uint32_t splits, mlaf_prepared *out, mlaf_err *err) {
  if (mlaf_loaded_device(l) != b->dev) return mlaf_fail(err, MLAF_E_ARG, "bench and variant are on different devices");
  mlaf_status st = grow_workspace(b, mlaf_loaded_workspace_size(l, splits, b->args.total_q), err);
  return st ? st : prepare_set(b, l, splits, 0, out, err);
}

/* All sets' launches, one sequence behind the other. */
static mlaf_status prepare_sets(mlaf_bench *b, const mlaf_loaded *l, mlaf_prepared *prepared, mlaf_launch *launches,
                                mlaf_err *err) {
  mlaf_status st = mlaf_bench_prepare(b, l, mlaf_loaded_knob(l), prepared, err);
  for (int s = 1; !st && s < b->sets; s++) st = prepare_set(b, l, mlaf_loaded_knob(l), s, &prepared[s], err);
  for (int s = 0; !st && s < b->sets; s++)
    memcpy(launches + (size_t)s * prepared->n, prepared[s].launches, prepared->n * sizeof *launches);
  return st;
}

mlaf_status mlaf_bench_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *time, mlaf_timing *out,
                            mlaf_err *err) {
  mlaf_time_opts opts = time ? *time : mlaf_bench_time_opts();
  mlaf_timing timing = {0};
  mlaf_prepared *prepared = aligned_alloc(_Alignof(mlaf_prepared), (size_t)b->sets * sizeof *prepared);
  mlaf_launch *launches = malloc((size_t)b->sets * sizeof prepared->launches);
  opts.sets = b->sets;
  for (int32_t i = 1; i < b->problem.batch; i++) opts.uneven |= b->lengths[i] != b->lengths[0];
  mlaf_status st = prepared && launches ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d launches", b->sets);
  if (!st) st = prepare_sets(b, l, prepared, launches, err);
  if (!st) st = mlaf_ops(b->dev)->time(b->dev, launches, prepared->n, &opts, &timing, err);
  free(launches);
  free(prepared);
  if (!st) *out = timing;
  return st;
}
