/* A layer in double precision, in the four forms of execution that are told apart by what they cache and in which order they
 * multiply. What layers are checked against: plain loops over the checkpoint's weights, which share nothing with kernels.
 *
 *   cd       caches K [H, N+P] and V [H, V] of each token
 *   cc       caches the latent row and P rope columns; makes K and V of every token anew at each step
 *   acc      caches the same; multiplies the query by W_UK and the sum by W_UV instead, over keys concatenated for each head
 *   acc_me   as acc, but two score products are added and nothing is concatenated ("move elision"): what mla_layer runs
 *
 * In exact arithmetic they are equal. T new tokens, S cached ones, d hidden size, H heads, L q_lora_rank, R kv_lora_rank, N nope,
 * P rope, V value columns. */
#pragma once

#include "base/base.h"
#include "mlaforge/rope.h"

typedef enum mlaf_form { MLAF_FORM_CD, MLAF_FORM_CC, MLAF_FORM_ACC, MLAF_FORM_ACC_ME, MLAF_FORMS } mlaf_form;
extern const char *const mlaf_form_names[MLAF_FORMS]; /* "cd", "cc", "acc", "acc_me" */

enum {
  MLAF_FORM_NO_NORMS = 1,     /* as founding documents 000 and 003 */
  MLAF_FORM_ROPE_ON_READ = 2, /* rope columns are cached as they are, and turned to their position at each step (003) */
  MLAF_FORM_BF16_TURN = 4,    /* products and sum of a rotation are rounded to bf16, as PyTorch does in bf16 (003) */
};

/* Weights are bf16, [out, in] and dense, of this rank's heads. */
typedef struct mlaf_form_layer {
  uint32_t flags; /* MLAF_FORM_* */
  int32_t hidden, heads, q_rank, rank, rope, nope, v; /* q_rank 0: q_b is q_proj [H(N+P), d] */
  int32_t rope_style;                                 /* MLAF_ROPE_* */
  double eps, scale;
  const uint16_t *q_a, *q_norm, *q_b, *kv_a, *kv_norm, *kv_b, *o;
  const float *table; /* [table_rows, P]: cosines, then sines */
  int64_t table_rows;
  double q_beta;      /* queries times 1 + q_beta ln(1 + floor(position / q_original)); 0: they are not scaled */
  int32_t q_original;
} mlaf_form_layer;

/* Bytes of cache that a step reads, and operations that it does, for each cached token and query token; bf16. */
typedef struct mlaf_form_cost {
  double bytes, flops;
} mlaf_form_cost;
mlaf_form_cost mlaf_form_costs(const mlaf_form_layer *layer, mlaf_form form);

/* Bound of a bf16 layer's error relative to fp64: what its roundings come to, and no more than the 1e-2 that founding document
 * 004 asks. With hidden states and weights as mlaforge's tests draw them (rows of variance 1). */
double mlaf_form_bound(const mlaf_form_layer *layer);

/* The indexer of a layer (mlaforge/mla_index.h), which selects what a token attends to. */
enum { MLAF_FORM_INDEX_COLUMNS = 128, MLAF_FORM_INDEX_ROPE = 64 };
typedef struct mlaf_form_index {
  int32_t heads, topk, rope_style;
  double eps;
  const uint16_t *q, *k, *w; /* wq_b, wk, weights_proj */
  const float *norm, *bias;  /* of keys */
} mlaf_form_index;
/* The key of a token of hidden states x [d] at `position`, before it is quantised; its queries [heads, 128] and their weights,
 * scaled. */
mlaf_status mlaf_form_index_key(const mlaf_form_layer *layer, const mlaf_form_index *index, const uint16_t *x, int64_t position,
                                double key[MLAF_FORM_INDEX_COLUMNS], mlaf_err *err);
mlaf_status mlaf_form_index_queries(const mlaf_form_layer *layer, const mlaf_form_index *index, const uint16_t *x,
                                    int64_t position, double *q, double *w, mlaf_err *err);

/* The cache of one request, as its form has it. */
typedef struct mlaf_form_cache {
  mlaf_form form;
  int64_t tokens, capacity;
  double *rows; /* [capacity, R+P]; of cd [capacity, H(N+P+V) + P]: the rope columns as cached stand last */
} mlaf_form_cache;
/* E_NOMEM. To be freed either way. */
mlaf_status mlaf_form_cache_open(const mlaf_form_layer *layer, mlaf_form form, int64_t capacity, mlaf_form_cache *out,
                                 mlaf_err *err);
void mlaf_form_cache_free(mlaf_form_cache *cache);
/* Rows [n, R+P] behind those that are there: what earlier steps left. E_ARG: they do not fit. */
mlaf_status mlaf_form_fill(const mlaf_form_layer *layer, mlaf_form_cache *cache, const uint16_t *rows, int64_t n, mlaf_err *err);

/* The row that a token of hidden states x [d] leaves in a latent cache at `position`: row [R+P]. */
mlaf_status mlaf_form_row(const mlaf_form_layer *layer, const uint16_t *x, int64_t position, double *row, mlaf_err *err);
/* The two halves of a step. n tokens x [n, d] are appended at the positions behind the cached ones (rows rounded to bf16 first if
 * `rounded`, as a cache of bf16 has them). E_ARG: the cache or the table is full. */
mlaf_status mlaf_form_append(const mlaf_form_layer *layer, mlaf_form_cache *cache, const uint16_t *x, int64_t n, bool rounded,
                             mlaf_err *err);
/* Q [H, N+P] of the token x [d] at `position`; o [H, V] of heads first .. first + n - 1 of it (the others are left alone), once
 * its row and all before are cached; y [d]. What they are given is read only: threads may share out heads and tokens. */
mlaf_status mlaf_form_queries(const mlaf_form_layer *layer, const uint16_t *x, int64_t position, double *q, mlaf_err *err);
mlaf_status mlaf_form_heads(const mlaf_form_layer *layer, const mlaf_form_cache *cache, const double *q, int64_t position,
                            int32_t first, int32_t n, double *o, mlaf_err *err);
/* Attention over n_list cached tokens, by their positions, of a cache of MLAF_FORM_ACC or MLAF_FORM_ACC_ME. */
mlaf_status mlaf_form_heads_over(const mlaf_form_layer *layer, const mlaf_form_cache *cache, const double *q, const int64_t *list,
                                 int64_t n_list, int32_t first, int32_t n, double *o, mlaf_err *err);
void mlaf_form_output(const mlaf_form_layer *layer, const double *o, double *y);
/* All three. */
mlaf_status mlaf_form_attend(const mlaf_form_layer *layer, const mlaf_form_cache *cache, const uint16_t *x, int64_t position,
                             double *y, mlaf_err *err);
/* One step of a request: n tokens are appended, and each attends to what is cached up to itself; y [n, d]. */
mlaf_status mlaf_form_step(const mlaf_form_layer *layer, mlaf_form_cache *cache, const uint16_t *x, int64_t n, bool rounded,
                           double *y, mlaf_err *err);
