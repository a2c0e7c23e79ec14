/* The kernel argument block: the contract between templates and the runtime. templates/mla_gather_kv_b/lib/args.h declares the
 * same; tests/ops/mla_gather_kv_b/test_gather_kernels.c compares the two. Strides in bytes, the table's in entries. */
#ifndef MLAF_GATHER_LAUNCH_H
#define MLAF_GATHER_LAUNCH_H

#include <stdint.h>

/* Blocks: `shares` of the outputs one behind the other, each with all tiles of rows_per_wg tokens. */
typedef struct mlaf_gather_kv_b_kernel_args {
  const void *cache;
  union {
    const float *scale_at;
    const void *kpe; /* of a split cache, whose row n has row n of these columns */
  };
  const int32_t *table, *table_indptr, *cu_seqlens, *seq_starts;
  const void *w;
  void *k, *v, *k_pe;
  int64_t cache_row, cache_page, num_pages, table_stride;
  int64_t w_row, w_head;
  int64_t k_token, k_head, v_token, v_head, k_pe_token, k_pe_head;
  int64_t tokens;
  int32_t batch, table_width;
  uint32_t page_tokens, shares;
  float scale;
  uint32_t kpe_row; /* of a split cache */
  const float *rope_table; /* from here on: only of kernels that say MLAF_KERNEL_SCALES, which rotate */
  int64_t rope_rows;
} mlaf_gather_kv_b_kernel_args;

#endif
