/* Is what a timed variant computes on the timing buffers right? A sample of rows against the fp64 reference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bench_internal.h"
#include "op/numeric.h"
#include "ops/mla_decode/reference.h"
#include "ops/mla_decode/compare.h"

enum { HEADS = 3, TOKENS = 2, REQUESTS = 3 };

int mlaf_bench_pick(int n, int most, int *out) {
  const int wanted[] = {0, n - 1, n / 2};
  int count = 0;
  for (int i = 0; i < most && i < 3; i++) {
    bool known = false;
    for (int k = 0; k < count; k++) known = known || out[k] == wanted[i];
    if (!known) out[count++] = wanted[i];
  }
  return count;
}

/* The shortest, the longest and one more request. */
static int pick_requests(const mlaf_bench *b, int *out) {
  int least = 0, most = 0;
  for (int i = 1; i < b->problem.batch; i++) {
    if (b->lengths[i] < b->lengths[least]) least = i;
    if (b->lengths[i] > b->lengths[most]) most = i;
  }
  if (b->lengths[least] == b->lengths[most]) return mlaf_bench_pick(b->problem.batch, REQUESTS, out);
  out[0] = least;
  out[1] = most;
  out[2] = b->problem.batch / 2;
  return out[2] == least || out[2] == most ? 2 : 3;
}

/* `count` elements of the pool's pattern from element `at` on. */
static void pattern(const mlaf_bench *b, size_t at, size_t count, uint16_t *out) {
  const uint16_t *block = mlaf_pool_block(b->pool);
  for (size_t i = 0; i < count; i++) out[i] = block[(at + i) % MLAF_POOL_BLOCK];
}

typedef struct sums {
  double off, all; /* squares of differences and of the reference */
} sums;

mlaf_status mlaf_bench_reference(const mlaf_bench *b, int set, int r, int token, int visible, const int *heads, int n_heads,
                                 double *o, double *lse, double *magnitude, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  const size_t d = (size_t)(p->rank + p->rope);
  uint16_t *q = malloc((size_t)n_heads * d * sizeof *q), *kv = malloc((size_t)visible * d * sizeof *kv + 1);
  mlaf_status st = q && kv ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory to check %d tokens", visible);
  for (int h = 0; !st && h < n_heads; h++) {
    const size_t row = ((size_t)r * (size_t)p->q_len + (size_t)token) * (size_t)p->heads + (size_t)heads[h];
    pattern(b, mlaf_bench_q_first(p) + row * d, d, q + (size_t)h * d);
  }
  const int32_t *pages = mlaf_bench_indices(b) + set * b->pages + mlaf_bench_kv_indptr(b)[r];
  for (int t = 0; !st && t < visible; t++) {
    const size_t row = (size_t)pages[t / p->page_size] * (size_t)p->page_size + (size_t)(t % p->page_size);
    pattern(b, row * d, d, kv + (size_t)t * d);
  }
  const int32_t qo[] = {0, 1}, indptr[] = {0, visible > 0}, index = 0;
  mlaf_batch x = {.problem = *p, .batch = 1, .num_pages = 1, .total_q = 1, .q = q, .ckv = kv, .kpe = kv + p->rank,
                  .ckv_row_stride = (int64_t)d, .kpe_row_stride = (int64_t)d, .qo_indptr = qo, .kv_indptr = indptr,
                  .kv_indices = &index, .kv_last_page_lens = &visible, .scale = b->args.scale};
  x.problem.heads = n_heads;
  x.problem.q_len = 1;
  x.problem.causal = 0;
  x.problem.page_size = visible > 0 ? visible : 1;
  if (!st) st = mlaf_reference(&x, o, lse, magnitude, err);
  free(q);
  free(kv);
  return st;
}

static mlaf_status check_token(const mlaf_bench *b, const uint16_t *o, int r, int token, sums *s, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  const int visible = mlaf_bench_visible(b, r, token);
  int heads[HEADS];
  double lse[HEADS];
  const int n = mlaf_bench_pick(p->heads, HEADS, heads);
  if (visible < 1) return MLAF_OK; /* sees nothing: the suite has such rows */
  double *want = malloc((size_t)n * (size_t)p->rank * sizeof *want);
  if (!want) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to check rows");
  mlaf_status st = mlaf_bench_reference(b, 0, r, token, visible, heads, n, want, lse, NULL, err);
  for (int h = 0; !st && h < n; h++) {
    const size_t row = ((size_t)r * (size_t)p->q_len + (size_t)token) * (size_t)p->heads + (size_t)heads[h];
    const uint16_t *got = o + row * (size_t)p->rank;
    for (int c = 0; c < p->rank; c++) {
      const double w = want[h * p->rank + c], off = mlaf_decode16(p->dtype, got[c]) - w;
      s->off += off * off;
      s->all += w * w;
    }
  }
  free(want);
  return st;
}

/* One launch over poisoned outputs. */
static mlaf_status run_once(mlaf_bench *b, const mlaf_loaded *l, uint16_t *o, size_t bytes, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(b->dev);
  mlaf_prepared prepared;
  mlaf_status st = ops->mem_fill(b->dev, b->args.o, 0xff, bytes, err);
  if (!st) st = mlaf_bench_prepare(b, l, mlaf_loaded_knob(l), &prepared, err);
  for (size_t i = 0; !st && i < prepared.n; i++) st = ops->launch(b->dev, NULL, &prepared.launches[i], err);
  if (!st) st = ops->sync(b->dev, NULL, err);
  return st ? st : ops->mem_read(b->dev, o, b->args.o, bytes, err);
}

mlaf_status mlaf_bench_check(mlaf_bench *b, const mlaf_loaded *l, double *error, mlaf_err *err) {
  const mlaf_problem *p = &b->problem;
  const size_t count = (size_t)p->batch * (size_t)p->q_len * (size_t)p->heads * (size_t)p->rank;
  uint16_t *o = malloc(count * sizeof *o);
  if (!o) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the output of %d requests", p->batch);
  mlaf_status st = run_once(b, l, o, count * sizeof *o, err);
  for (size_t i = 0; !st && i < count; i++)
    if (o[i] == MLAF_NAN16)
      st = mlaf_fail(err, MLAF_E_INCORRECT, "variant %s left element %zu of %zu of O unwritten", mlaf_loaded_name(l), i, count);
  int requests[REQUESTS], tokens[TOKENS];
  const int n = pick_requests(b, requests), m = mlaf_bench_pick(p->q_len, TOKENS, tokens);
  double worst = 0; /* of the requests: together, short ones with their larger O would hide long ones */
  for (int r = 0; !st && r < n; r++) {
    sums s = {0, 0};
    for (int t = 0; !st && t < m; t++) st = check_token(b, o, requests[r], tokens[t], &s, err);
    const double error_r = s.all > 0 ? sqrt(s.off / s.all) : sqrt(s.off);
    if (!(error_r <= worst)) worst = error_r;
  }
  free(o);
  if (st) return st;
  *error = worst;
  const double bound = mlaf_error_bound((mlaf_dtype)p->dtype);
  if (*error <= bound) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_INCORRECT, "variant %s on the timed data: relative error %.3g of some rows of O, %.3g is accepted",
                   mlaf_loaded_name(l), *error, bound);
}
