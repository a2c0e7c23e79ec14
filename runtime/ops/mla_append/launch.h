/* The kernel argument block: the contract between templates and the runtime. templates/mla_append/lib/args.h declares the same;
 * tests/ops/mla_append/test_append_kernels.c compares the two. Strides in bytes, all device pointers. */
#ifndef MLAF_APPEND_LAUNCH_H
#define MLAF_APPEND_LAUNCH_H

#include <stdint.h>

/* Grid: token_blocks blocks of up to threads / wave tokens each, `token_blocks` apart; then, where there are queries,
 * ceil(H / rows_per_wg) a token. */
typedef struct mlaf_append_kernel_args {
  const void *ckv, *kpe, *weight;
  const int64_t *slots, *positions;
  const void *cos, *sin;
  const float *scale_at; /* NULL: scale */
  void *latent, *rope;   /* first row's columns in the cache */
  void *kpe_out;         /* NULL: not wanted */
  const void *q_nope, *q_pe;
  void *q_out, *q_pe_out;
  int64_t ckv_stride, kpe_stride, kpe_out_stride, table_stride;
  int64_t latent_page, rope_page; /* from page to page */
  int64_t latent_row, rope_row;
  int64_t q_nope_token, q_nope_head, q_pe_token, q_pe_head, q_out_token, q_out_head, q_pe_out_token, q_pe_out_head;
  int64_t tokens, table_rows;
  uint64_t page_inverse;           /* 2^64 / page_tokens, rounded up; 0: pages follow each other */
  uint32_t num_slots, page_tokens;
  uint32_t token_blocks, flags;    /* MLAF_APPEND_* */
  float eps, scale;
} mlaf_append_kernel_args;

#endif
