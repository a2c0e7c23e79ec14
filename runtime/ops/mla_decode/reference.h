/* The truth every kernel is judged by: absorbed MLA decode on the host in double precision. */
#pragma once

#include "base/base.h"
#include "mlaforge/problem.h"
#include "ops/mla_decode/args.h"

/* One batch in host memory, laid out as the kernels see it (ops/mla_decode/launch.h). All pointers are borrowed.
 * problem: heads, rank, rope, q_len, causal, dtype and page_size count; its batch and ctx are not looked at. */
typedef struct mlaf_batch {
  mlaf_problem problem;
  int32_t batch, num_pages;
  int64_t total_q;
  const uint16_t *q, *ckv, *kpe; /* q: bytes with fp8_q; kpe: ckv + rank in one tensor, of an 8-bit cache row 0's rope columns */
  int64_t ckv_row_stride, kpe_row_stride; /* units of the cache's format */
  int64_t page_rows;             /* of an 8-bit cache whose rows are not all tokens: rows from page to page */
  MLA_DECODE_GIVEN(const float *); /* optional tensors, of problems that have them; a scale that is NULL is 1 */
  const int32_t *qo_indptr, *kv_indptr, *kv_indices, *kv_last_page_lens;
  double scale;
  int32_t rope_rows;             /* of rope_table, [rope_rows, P] */
} mlaf_batch;

/* Context length of request b. */
static inline int64_t mlaf_batch_kv_len(const mlaf_batch *x, int32_t b) {
  int64_t pages = x->kv_indptr[b + 1] - x->kv_indptr[b];
  return pages ? (pages - 1) * x->problem.page_size + x->kv_last_page_lens[b] : 0;
}
/* Tokens that query token i of n sees. */
static inline int64_t mlaf_batch_visible(const mlaf_batch *x, int64_t kv_len, int32_t i, int32_t n) {
  int64_t visible = x->problem.causal ? kv_len - (n - 1 - i) : kv_len;
  return visible > 0 ? visible : 0;
}

/* o [T, H, R], lse [T, H] (natural log), and, when not NULL, magnitude [T, H]: the largest
 * scale * sum |q_c| |k_c| over the row's tokens, which rounding-error bounds of its scores are made of.
 * Where the problem rotates what it reads, the key of token t of its request is turned by row t of the table as kernels do it, to
 * the bit: fused multiply-adds in fp32, then rounded to the 16-bit type. Behind the table it is NaN.
 * Stored numbers of an 8-bit cache are taken exactly, times the launch's scale or their token's.
 * A row that sees no token has o = 0, lse = -inf, magnitude 0. A request with a page id outside [0, num_pages), with more query
 * tokens than the problem's q_len, or with some outside of total_q is NaN in all its rows. NaN in Q or in a visible K or V
 * propagates as arithmetic does. Rows nobody sees are not read. */
mlaf_status mlaf_reference(const mlaf_batch *x, double *o, double *lse, double *magnitude, mlaf_err *err);
