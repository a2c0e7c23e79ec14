/* The kernel argument block: the contract between templates and the runtime. templates/mla_q_scale/lib/args.h declares the same;
 * tests/ops/mla_q_scale/test_q_scale_kernels.c compares the two. Strides in bytes; all device pointers. */
#ifndef MLAF_Q_SCALE_LAUNCH_H
#define MLAF_Q_SCALE_LAUNCH_H

#include <stdint.h>

/* Grid x: rows_per_wg rows each, of rows = T * H. */
typedef struct mlaf_q_scale_kernel_args {
  const void *x;
  void *y;
  const int64_t *positions;
  int64_t x_token, x_head, y_token, y_head;
  int64_t rows;
  float beta;
  uint32_t original;
} mlaf_q_scale_kernel_args;

#endif
