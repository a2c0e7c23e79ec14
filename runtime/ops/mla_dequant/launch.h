/* The kernel argument block: the contract between templates and the runtime. templates/mla_dequant/lib/args.h declares the same;
 * tests/ops/mla_dequant/test_dequant_kernels.c compares the two. Strides in bytes; all device pointers. */
#ifndef MLAF_DEQUANT_LAUNCH_H
#define MLAF_DEQUANT_LAUNCH_H

#include <stdint.h>

/* Grid x: rows_per_wg rows each. */
typedef struct mlaf_dequant_kernel_args {
  const void *w;
  const float *w_scale;
  void *y;
  int64_t w_row, scale_row, y_row;
  int64_t scale_first_row, scale_first_column;
  int64_t rows;
} mlaf_dequant_kernel_args;

#endif
