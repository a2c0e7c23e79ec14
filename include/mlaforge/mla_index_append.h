/* mla_index_append: what the indexer of sparse attention (DSA: DeepSeek-V3.2, GLM-5) makes of a token, in one launch: its key
 * goes to the paged cache, and its queries get 8 bits, as mla_index reads them.
 *
 *   key = quantised(rotated(LayerNorm(k[t])))           keys[slots[t]], scales[slots[t]]
 *   q8[t, h] = quantised(rotated(q[t, h]))              w8[t, h] = w[t, h] w_scale, times the scale of q8[t, h]
 *
 * LayerNorm has a gain and a bias. rotated: RoPE of columns 0..63 at positions[t]; in problems with "hadamard" then times the
 * orthonormal Hadamard matrix of 128. That matrix cancels in the products, and spreads what is large over all columns:
 * queries, cached keys, and everybody else who reads or writes the cache have to agree. quantised: 128 codes of e4m3fn and
 * their scale, max(largest, 1e-4) / 448, or the power of two from there on. All arithmetic is fp32, and what is stored is
 * rounded once.
 *
 * A plan of a problem such as "mla_index_append:h64,bf16,halves,t64" (mlaf_plan_for) serves any number of tokens.
 *
 * Made by tools/args.lua of gen/ops/mla_index_append/args.lua. */
#ifndef MLAFORGE_MLA_INDEX_APPEND_H
#define MLAFORGE_MLA_INDEX_APPEND_H

#include "mlaforge/operation.h"

enum {
  MLAF_INDEX_APPEND_POWER_OF_TWO = 1u << 0, /* scales are powers of two (ue8m0), of keys and queries */
  MLAF_INDEX_APPEND_TABLE_16 = 1u << 1 /* cosines and sines are of the problem's dtype; else fp32 */
};

#define MLAF_INDEX_APPEND_W_SCALE_MOST 1e6f

/* Device pointers of the plan's device. Strides in elements, which are bytes of keys and q8; 0: dense. A planar cache of 132
 * bytes a token is keys = cache, scales = cache + 128 page_tokens, and both page strides: 132 page_tokens bytes, so of scales
 * 33 page_tokens elements. A slot outside of the cache writes no key. A position outside of the table makes a token's codes
 * NaN. */
typedef struct mlaf_index_append_args {
  uint32_t struct_size; /* sizeof(mlaf_index_append_args), set by MLAF_INDEX_APPEND_ARGS_INIT */
  uint32_t flags; /* MLAF_INDEX_APPEND_* */
  int64_t tokens; /* T, 0 and up: those of a request side by side */
  const void *k; /* [T, 128] */
  int64_t k_token_stride;
  const float *norm_weight; /* [128] gain of the LayerNorm */
  const float *norm_bias; /* [128] */
  const int64_t *slots; /* [T] page * page_tokens + place in the page */
  const int64_t *positions; /* [T] rows of the table */
  const void *cos; /* [table_rows, 32] cosines */
  int64_t table_row_stride;
  const void *sin; /* sines, at the stride of cos. NULL: a row of cos has its 32 sines behind */
  const void *q; /* [T, H, 128] */
  int64_t q_token_stride, q_head_stride;
  const void *w; /* [T, H] */
  int64_t w_token_stride;
  const int32_t *seq_lens; /* [T / q_tokens] cached tokens of a request, new ones included */
  void *keys; /* 128 bytes a token */
  int64_t keys_page_stride, keys_row_stride;
  float *scales; /* one a token */
  int64_t scales_page_stride, scales_row_stride;
  void *q8; /* [T, H, 128] */
  int64_t q8_token_stride, q8_head_stride;
  float *w8; /* [T, H] */
  int64_t w8_token_stride;
  int32_t *lengths; /* [T] tokens that each query token sees: seq_lens less the request's tokens behind it */
  int64_t table_rows; /* 1 and up */
  int64_t num_pages; /* of the cache */
  int32_t page_tokens; /* of a page of the cache */
  int32_t q_tokens; /* query tokens of each request; T is a multiple of it */
  float eps; /* of the LayerNorm */
  float w_scale; /* of w: 128^-1/2 H^-1/2 in models so far */
} mlaf_index_append_args;
#define MLAF_INDEX_APPEND_ARGS_INIT {.struct_size = sizeof(mlaf_index_append_args)}

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device
 * memory on the host. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_index_append_execute(const mlaf_plan *plan, const mlaf_index_append_args *args, void *stream) {
  return mlaf_run(plan, "mla_index_append", args, stream);
}

#endif
