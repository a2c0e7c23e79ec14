/* Timing buffers and the timing itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bench.h"
#include "core/numeric.h"

enum {
  BLOCK_ELEMENTS = 4 * 1000 * 1000 + 1237
}; /* of random data; coprime to row sizes, so that no two rows line up */

struct mlaf_bench {
  mlaf_device *dev;
  mlaf_problem problem;
  mlaf_execute_args args;
  void *tables;
  int32_t *lengths; /* [batch] tokens of each request, on the host */
};

mlaf_time_opts mlaf_bench_time_opts(void) {
  return (mlaf_time_opts){
      .warmup = 3, .min_samples = 11, .max_samples = 51, .min_window_ns = 1e6, .limit_s = 2.0, .give_up_ns = 0};
}

mlaf_work mlaf_problem_work(const mlaf_problem *p) {
  const double rows = (double)p->batch * p->q_len * p->heads, d = p->rank + p->rope;
  double seen = p->ctx; /* tokens a row sees on average */
  if (p->causal) seen -= (fmin(p->q_len, p->ctx) - 1) / 2.0;
  return (mlaf_work){
      .bytes = 2 * (rows * d + (double)p->batch * p->ctx * d + rows * p->rank) + 4 * rows,
      .flops = 2 * rows * seen * (d + p->rank),
  };
}

static bool is_emulator(const mlaf_device *dev) { return !strncmp(mlaf_ops(dev)->name, "emu", 3); }

/* Fill `bytes` of device memory with random normal data by writing one host block over and over. */
static mlaf_status fill_random(mlaf_device *dev, void *dst, size_t bytes, const uint16_t *block, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (size_t at = 0; !st && at < bytes;) {
    size_t n = bytes - at < BLOCK_ELEMENTS * sizeof *block ? bytes - at : BLOCK_ELEMENTS * sizeof *block;
    st = mlaf_ops(dev)->mem_write(dev, (char *)dst + at, block, n, err);
    at += n;
  }
  return st;
}

static mlaf_status alloc_data(mlaf_bench *b, int64_t cache_bytes, mlaf_rng *rng, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  mlaf_execute_args *a = &b->args;
  const mlaf_device_ops *ops = mlaf_ops(b->dev);
  const size_t rows = (size_t)p->batch * (size_t)p->q_len * (size_t)p->heads;
  const size_t q_bytes = rows * (size_t)(p->rank + p->rope) * 2, o_bytes = rows * (size_t)p->rank * 2;
  uint16_t *block = malloc(BLOCK_ELEMENTS * sizeof *block);
  if (!block) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for random data");
  for (int i = 0; i < BLOCK_ELEMENTS; i++) block[i] = mlaf_encode16(p->dtype, mlaf_rng_normal(rng));
  mlaf_status st = ops->mem_alloc(b->dev, q_bytes, (void **)&a->q, err);
  if (!st) st = ops->mem_alloc(b->dev, (size_t)cache_bytes, (void **)&a->ckv, err);
  if (!st) st = ops->mem_alloc(b->dev, o_bytes, &a->o, err);
  if (!st) st = ops->mem_alloc(b->dev, rows * sizeof(float), (void **)&a->lse, err);
  if (!st) st = fill_random(b->dev, (void *)a->q, q_bytes, block, err);
  if (!st) st = fill_random(b->dev, (void *)a->ckv, (size_t)cache_bytes, block, err);
  free(block);
  return st;
}

static int64_t pages_of(const mlaf_problem *p, int32_t tokens) { return ((int64_t)tokens + p->page_size - 1) / p->page_size; }

/* All four tables in one allocation. Page ids: a random permutation of the logical pages, modulo the physical ones. */
static mlaf_status alloc_tables(mlaf_bench *b, int64_t pages, mlaf_rng *rng, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  mlaf_execute_args *a = &b->args;
  const size_t n = (size_t)p->batch, words = 3 * n + 2 + (size_t)pages;
  int32_t *host = malloc(words * sizeof *host);
  if (!host) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld pages", (long long)pages);
  int32_t *qo = host, *kv = qo + n + 1, *last = kv + n + 1, *indices = last + n;
  qo[0] = kv[0] = 0;
  for (size_t i = 0; i < n; i++) {
    qo[i + 1] = (int32_t)(i + 1) * p->q_len;
    kv[i + 1] = kv[i] + (int32_t)pages_of(p, b->lengths[i]);
    last[i] = (b->lengths[i] - 1) % p->page_size + 1;
  }
  for (int64_t i = 0; i < pages; i++) {
    int64_t j = mlaf_rng_below(rng, (uint32_t)i + 1); /* inside-out shuffle */
    indices[i] = indices[j];
    indices[j] = (int32_t)i;
  }
  for (int64_t i = 0; i < pages; i++) indices[i] %= a->num_pages;
  mlaf_status st = mlaf_ops(b->dev)->mem_alloc(b->dev, words * sizeof *host, &b->tables, err);
  if (!st) st = mlaf_ops(b->dev)->mem_write(b->dev, b->tables, host, words * sizeof *host, err);
  const int32_t *base = b->tables;
  a->qo_indptr = base;
  a->kv_indptr = base + (kv - host);
  a->kv_last_page_lens = base + (last - host);
  a->kv_indices = base + (indices - host);
  free(host);
  return st;
}

static mlaf_status plan_cache(mlaf_bench *b, const mlaf_bench_opts *opts, int64_t *pages, int64_t *bytes,
                              mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  const int64_t page_bytes = (int64_t)p->page_size * (p->rank + p->rope) * 2, mem = mlaf_info(b->dev)->mem_bytes;
  const int64_t limit = opts && opts->cache_limit ? opts->cache_limit
                        : is_emulator(b->dev)     ? (int64_t)1 << 30
                                                  : INT64_MAX;
  b->lengths = malloc((size_t)p->batch * sizeof *b->lengths);
  if (!b->lengths) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %d lengths", p->batch);
  mlaf_lengths_draw(opts ? &opts->lengths : &(mlaf_lengths){MLAF_LENGTHS_EQUAL, 0, 0, 0}, p->ctx, p->batch, b->lengths);
  *pages = 0;
  for (int32_t i = 0; i < p->batch; i++) *pages += pages_of(p, b->lengths[i]);
  if (*pages > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "batch %d of ctx %d needs %lld pages; page ids are 32-bit", p->batch, p->ctx,
                     (long long)*pages);
  int64_t physical = *pages;
  if (physical > limit / page_bytes) physical = limit / page_bytes ? limit / page_bytes : 1;
  *bytes = physical * page_bytes;
  if (mem && *bytes > mem - mem / 8)
    return mlaf_fail(err, MLAF_E_ARG,
                     "batch %d of ctx %d needs a cache of %.1f GiB, %s has %.1f GiB: time a smaller batch", p->batch,
                     p->ctx, (double)*bytes / 0x1p30, mlaf_info(b->dev)->name, (double)mem / 0x1p30);
  b->args.num_pages = (int32_t)physical;
  return MLAF_OK;
}

mlaf_status mlaf_bench_create(mlaf_device *dev, const mlaf_problem *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                              mlaf_err *err) {
  mlaf_bench *b = calloc(1, sizeof *b);
  if (!b) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a bench");
  b->dev = dev;
  b->problem = *p;
  b->args = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
  b->args.batch = p->batch;
  b->args.total_q = (int64_t)p->batch * p->q_len;
  b->args.scale = (float)(sqrt(3.0) / sqrt(p->rank + p->rope)); /* 1/sqrt(192) for 512 + 64, as DeepSeek-V3 has it */
  mlaf_rng rng = {opts ? opts->seed : 1};
  int64_t pages = 0, bytes = 0;
  mlaf_status st = plan_cache(b, opts, &pages, &bytes, err);
  if (!st) st = alloc_data(b, bytes, &rng, err);
  if (!st) st = alloc_tables(b, pages, &rng, err);
  if (st) {
    mlaf_bench_free(b);
    return mlaf_fail_prefix(err, st, "timing buffers");
  }
  *out = b;
  return MLAF_OK;
}

void mlaf_bench_free(mlaf_bench *b) {
  if (!b) return;
  void *const all[] = {(void *)b->args.q, (void *)b->args.ckv, b->args.o, b->args.lse, b->args.workspace, b->tables};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) mlaf_ops(b->dev)->mem_free(b->dev, all[i], NULL);
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

mlaf_status mlaf_bench_prepare(mlaf_bench *b, const mlaf_loaded *l, uint32_t splits, mlaf_prepared *out, mlaf_err *err) {
  if (mlaf_loaded_device(l) != b->dev) return mlaf_fail(err, MLAF_E_ARG, "bench and variant are on different devices");
  mlaf_status st = grow_workspace(b, mlaf_loaded_workspace_size(l, splits, b->args.total_q), err);
  if (!st) st = mlaf_loaded_check(l, splits, &b->args, err);
  return st ? st : mlaf_loaded_prepare(l, splits, &b->args, out, err);
}

mlaf_status mlaf_bench_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *time, mlaf_timing *out,
                            mlaf_err *err) {
  const mlaf_time_opts defaults = mlaf_bench_time_opts();
  mlaf_prepared prepared;
  mlaf_timing timing = {0};
  mlaf_status st = mlaf_bench_prepare(b, l, mlaf_loaded_splits(l), &prepared, err);
  if (!st) st = mlaf_ops(b->dev)->time(b->dev, prepared.launches, prepared.n, time ? time : &defaults, &timing, err);
  if (!st) *out = timing;
  return st;
}
