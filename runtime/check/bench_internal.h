/* The inside of a bench, shared by bench.c and bench_check.c. */
#ifndef MLAF_BENCH_INTERNAL_H
#define MLAF_BENCH_INTERNAL_H

#include "check/bench.h"
#include "ops/mla_decode/execute.h"

struct mlaf_bench {
  mlaf_device *dev;
  mlaf_problem problem;
  mlaf_execute_args args; /* with the first page table */
  mlaf_pool *pool, *own_pool;
  int32_t *lengths;       /* [batch] tokens of each request, on the host */
  int32_t *host;          /* tables: qo_indptr, kv_indptr, kv_last_page_lens, then kv_indices of each set */
  void *tables;           /* their copy on the device */
  int64_t pages;          /* of one set */
  int sets;
};

/* Element of the pool's pattern where Q begins: a row of Q and a row of the cache that hold the same numbers would be each
 * other's best match by far. With this shift the first such pair lies millions of cache rows away. */
static inline size_t mlaf_bench_q_first(const mlaf_problem *p) {
  return (size_t)(p->rank + p->rope) * (MLAF_POOL_BLOCK - 100000) % MLAF_POOL_BLOCK;
}

static inline const int32_t *mlaf_bench_kv_indptr(const mlaf_bench *b) { return b->host + b->problem.batch + 1; }
static inline const int32_t *mlaf_bench_indices(const mlaf_bench *b) { return b->host + 3 * (int64_t)b->problem.batch + 2; }

/* The fp64 answer of one token of one request with the pages of set `set`, for the given heads: a batch of one request with one
 * query token and a cache of its own. `visible` tokens count, 0 is allowed. o [n_heads, R], lse and magnitude [n_heads];
 * magnitude may be NULL (ops/mla_decode/reference.h). */
mlaf_status mlaf_bench_reference(const mlaf_bench *b, int set, int request, int token, int visible, const int *heads, int n_heads,
                                 double *o, double *lse, double *magnitude, mlaf_err *err);
/* Tokens of a request that its query token `token` sees. */
static inline int mlaf_bench_visible(const mlaf_bench *b, int request, int token) {
  const int unseen = b->problem.causal ? b->problem.q_len - 1 - token : 0;
  return b->lengths[request] > unseen ? b->lengths[request] - unseen : 0;
}
/* Up to `most` distinct of first, last and middle of n. */
int mlaf_bench_pick(int n, int most, int *out);

#endif
