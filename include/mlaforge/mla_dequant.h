/* mla_dequant: dequantises weights of 8 bits, with a scale for each 128 x 128 of them, to 16 bits, for operations that read
 * those: a layer's prefill expands what is cached by a kv_b_proj of 16 bits.
 *
 *   y[r, c] = w[r, c] scale[(first_row + r) / 128, (first_column + c) / 128]     in fp32, rounded once; a NaN stays one
 *
 * A plan of a problem such as "mla_dequant:c512,bf16,e4m3fn,t4096" (mlaf_plan_for) serves any number of rows.
 *
 * Made by tools/args.lua of gen/ops/mla_dequant/args.lua. */
#ifndef MLAFORGE_MLA_DEQUANT_H
#define MLAFORGE_MLA_DEQUANT_H

#include "mlaforge/operation.h"

/* Device pointers of the plan's device, w and y 16-byte aligned. Strides in elements; 0: dense. y must not overlap the others. */
typedef struct mlaf_dequant_args {
  uint32_t struct_size; /* sizeof(mlaf_dequant_args), set by MLAF_DEQUANT_ARGS_INIT */
  uint32_t flags; /* 0 */
  int64_t rows; /* 0 and up */
  const void *w; /* [rows, columns] bytes */
  int64_t w_row_stride; /* a multiple of 16 */
  const float *w_scale; /* the upper left scale of the tensor that w lies in, one for each 128 x 128 of it */
  int64_t w_scale_row_stride; /* 0: as many as the columns from the tensor's first to w's last have */
  int64_t w_scale_row; /* w's place in that tensor */
  int64_t w_scale_column; /* a multiple of 8 */
  void *y; /* [rows, columns] of the problem's dtype */
  int64_t y_row_stride; /* a multiple of 8 */
} mlaf_dequant_args;
#define MLAF_DEQUANT_ARGS_INIT {.struct_size = sizeof(mlaf_dequant_args)}

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device
 * memory on the host. w and w_scale are constants: a kernel may read them while the launch before still runs, which must not
 * write them. No launch behind it begins before y is there, so y is a constant for those. E_ARG names the argument.
 * Thread-safe. */
static inline mlaf_status mlaf_dequant_execute(const mlaf_plan *plan, const mlaf_dequant_args *args, void *stream) {
  return mlaf_run(plan, "mla_dequant", args, stream);
}

#endif
