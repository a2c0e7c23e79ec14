/* Relations between mla_index_append's arguments that its table does not say, and the grid: rows_per_wg rows a workgroup, those
 * of a token its queries and its key. */
#include "ops/mla_index_append/index_append.h"

static const uint64_t THREADS_MOST = UINT32_MAX; /* of a launch, as AMD's packets count them */
_Static_assert(sizeof(mlaf_index_append_kernel_args) == 256, "templates/mla_index_append/lib/args.h has as many bytes");

void index_append_sizes(const int32_t *f, const mlaf_index_append_args *a, int64_t *n) {
  n[INDEX_APPEND_SIZE_NUMBER] = a->flags & MLAF_INDEX_APPEND_TABLE_16 ? 2 : 4;
  n[INDEX_APPEND_SIZE_ANGLES] = a->sin ? INDEX_APPEND_ROPE / 2 : INDEX_APPEND_ROPE;
  n[INDEX_APPEND_SIZE_B] = a->q_tokens > 0 ? mlaf_up(a->tokens, a->q_tokens) : 0;
}

mlaf_status index_append_numbers(const int32_t *f, const mlaf_index_append_args *a, mlaf_err *err) {
  if (!(isfinite(a->eps) && a->eps >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "eps is %g, must be finite and not negative", (double)a->eps);
  if (a->lengths && !a->seq_lens)
    return mlaf_fail(err, MLAF_E_ARG, "lengths is given, and seq_lens, which it is made of, is NULL");
  if (a->q_tokens < 1 || a->tokens % a->q_tokens == 0) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, must be a multiple of q_tokens, which is %d: that many of each request",
                   (long long)a->tokens, a->q_tokens);
}

static uint64_t blocks_of(const mlaf_stage *k, int64_t heads, int64_t tokens) {
  return ((uint64_t)tokens * (uint64_t)(heads + 1) + k->rows_per_wg - 1) / k->rows_per_wg;
}

mlaf_status index_append_related(const mlaf_bound *b, const mlaf_index_append_args *a, const int64_t *n, mlaf_err *err) {
  const mlaf_stage *k = &b->stage[0];
  if (a->num_pages > INT32_MAX / a->page_tokens)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %lld, of %d tokens each: rows of the cache must be below 2^31",
                     (long long)a->num_pages, a->page_tokens);
  if (blocks_of(k, n[INDEX_APPEND_SIZE_H], a->tokens) <= THREADS_MOST / k->threads) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, more than a launch of this kernel takes: launch fewer at once",
                   (long long)a->tokens);
}

mlaf_status index_append_complete(const mlaf_bound *b, const mlaf_index_append_args *a, const int64_t *n,
                                  mlaf_index_append_kernel_args *k, mlaf_launch *launch, mlaf_err *err) {
  const uintptr_t half = (uintptr_t)(n[INDEX_APPEND_SIZE_NUMBER] * INDEX_APPEND_ROPE / 2);
  if (!a->sin) k->sin = (const void *)((uintptr_t)a->cos + half);
  k->num_slots = (uint32_t)n[INDEX_APPEND_SIZE_SLOTS];
  k->tokens = (uint32_t)a->tokens;
  launch->grid[0] = (uint32_t)blocks_of(&b->stage[0], n[INDEX_APPEND_SIZE_H], a->tokens);
  return MLAF_OK;
}
