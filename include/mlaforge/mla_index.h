/* mla_index: the cached tokens that sparse attention is to read, for models with an indexer (DSA: DeepSeek-V3.2, GLM-5).
 *
 *   logits[t, n] = scale[n] * sum over h of w[t, h] * max(0, q[t, h] . key[n])     n < lengths[t]
 *   indices[t]   = the topk largest of them, as rows of the cache: page * page_tokens + place in the page
 *
 * Entries are in ascending order of position. Of equal logits that of the lower position is larger; 0 and -0 are equal; NaN is
 * smaller than all else, -inf included. Behind min(topk, tokens that there are) entries are -1. So `indices` is what
 * mla_decode takes, and equal logits give equal lists on every rank.
 *
 * The cache is planar, 132 bytes a token: a page has page_tokens keys of 128 e4m3fn bytes, then as many fp32 scales. q is
 * e4m3fn; w holds its scale and the softmax's. A plan of a problem such as "mla_index:h64,s32768,t64" (mlaf_plan_for) serves
 * any number of tokens, requests and cached tokens, any page size and any topk.
 *
 * Made by tools/args.lua of gen/ops/mla_index/args.lua. */
#ifndef MLAFORGE_MLA_INDEX_H
#define MLAFORGE_MLA_INDEX_H

#include "mlaforge/operation.h"

/* Device pointers of the plan's device. Strides 0: dense; in elements, which are bytes of q and of the cache: there multiples
 * of 16. A page id outside the cache: its tokens are absent. They are never selected, and their logits are NaN with all bits
 * set. Entries of a table behind a token's length are not read. Nothing behind a length is written to logits. */
typedef struct mlaf_index_args {
  uint32_t struct_size; /* sizeof(mlaf_index_args), set by MLAF_INDEX_ARGS_INIT */
  uint32_t flags; /* 0 */
  int64_t tokens; /* T, 0 and up: query tokens, those of a request side by side */
  const void *q; /* [T, H, 128] */
  int64_t q_token_stride, q_head_stride;
  const float *w; /* [T, H] */
  int64_t w_token_stride;
  const void *cache; /* pages; dense only where page_tokens is a multiple of 4 */
  int64_t cache_page_stride;
  const int32_t *block_table; /* [T / q_tokens, table_width] page ids */
  int64_t block_table_request_stride;
  const int32_t *lengths; /* [T] cached tokens that a query token sees; below 0 counts as 0 */
  int32_t *indices; /* [T, topk] */
  int64_t indices_token_stride;
  float *logits; /* [T, max_length], written up to each length */
  int64_t logits_token_stride;
  int64_t num_pages; /* of the cache */
  int64_t max_length; /* a multiple of 4 that no length is beyond; what is beyond it is not seen */
  int32_t topk; /* entries of a row of indices */
  int32_t page_tokens; /* of a page of the cache */
  int32_t table_width; /* entries of a row of block_table */
  int32_t q_tokens; /* query tokens of each request; T is a multiple of it */
} mlaf_index_args;
#define MLAF_INDEX_ARGS_INIT {.struct_size = sizeof(mlaf_index_args)}

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device
 * memory on the host. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_index_execute(const mlaf_plan *plan, const mlaf_index_args *args, void *stream) {
  return mlaf_run(plan, "mla_index", args, stream);
}

#endif
