/* The kernel argument block: the contract between templates and the runtime. templates/mla_prefill/lib/args.h declares the same;
 * tests/ops/mla_prefill/test_prefill_kernels.c compares the two. Strides in bytes, lse's in floats; all device pointers. */
#ifndef MLAF_PREFILL_LAUNCH_H
#define MLAF_PREFILL_LAUNCH_H

#include <stdint.h>

/* Tensors of which kernels may want maps. */
enum { PREFILL_MAP_Q = 1, PREFILL_MAP_K, PREFILL_MAP_K_PE, PREFILL_MAP_V };

/* A kernel that says MLAF_KERNEL_TURNS deals its tiles to so many crews of blocks (templates/mla_prefill/lib/deal.h). It may have
 * more tiles than the blocks counted below, and no crew may be without a block. */
enum { PREFILL_CREWS = 4 };

/* Blocks: (total_q / rows_per_wg + batch) * H blocks. Request r's are those from (cu_seqlens_q[r] / rows_per_wg + r) * H on, at
 * least as many as it has tiles: so a block finds its request by a search, and nobody needs a list of tiles. A kernel that
 * says MLAF_KERNEL_TURNS has a grid of at most the device's compute units, each of which takes every gridDim.x-th block. With
 * clusters a block here is a cluster: its blocks work on a tile together. */
typedef struct mlaf_prefill_kernel_args {
  const void *q, *k, *k_pe, *v; /* k_pe: of key 0, head 0 */
  const int32_t *cu_seqlens_q, *cu_seqlens_k;
  void *o;
  float *lse; /* NULL: not wanted */
  int64_t q_token, q_head, k_token, k_head, k_pe_token, k_pe_head, v_token, v_head, o_token, o_head;
  int64_t lse_token, lse_head;
  int64_t total_q, total_k;
  int32_t batch;
  float scale_log2e;
  const float *q_scale, *k_scale, *v_scale; /* from here on: only of kernels that say MLAF_KERNEL_SCALES. NULL: 1 */
} mlaf_prefill_kernel_args;

#endif
