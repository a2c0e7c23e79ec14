/* The kernel argument block: the contract between templates and the runtime. templates/mla_merge/lib/args.h declares the same;
 * tests/ops/mla_merge/test_merge_kernels.c compares the two. Strides of O in bytes, of sums in floats; all device pointers. */
#ifndef MLAF_MERGE_LAUNCH_H
#define MLAF_MERGE_LAUNCH_H

#include <stdint.h>

/* Grid x: rows_per_wg rows each, of rows = T * H. */
typedef struct mlaf_merge_kernel_args {
  const void *prefix_o;
  const float *prefix_lse;
  const void *suffix_o;
  const float *suffix_lse;
  void *o;
  float *lse; /* NULL: not wanted */
  int64_t prefix_token, prefix_head, prefix_lse_token, prefix_lse_head;
  int64_t suffix_token, suffix_head, suffix_lse_token, suffix_lse_head;
  int64_t o_token, o_head, lse_token, lse_head;
  int64_t rows;
  uint32_t flags, reserved;
} mlaf_merge_kernel_args;

#endif
