/* Block tables, and pages with a stride: the launch that makes of them what decode kernels read (templates/block_tables). */
#ifndef MLAF_BLOCK_TABLES_H
#define MLAF_BLOCK_TABLES_H

#include "op/kernel.h"
#include "device/device.h"
#include "mlaforge/plan.h"

/* Template, parameters, symbol and threads of the kernel, for whoever builds it. Every bundle has it for each of its targets. */
const mlaf_kernel_ref *mlaf_block_tables_kernel(void);

/* Whether arguments want it. */
static inline bool mlaf_block_tables_wanted(const mlaf_execute_args *a) {
  return a->block_table || a->seq_lens || a->page_tokens || a->page_rows;
}
/* Bytes that the tables made of these arguments take; SIZE_MAX where there are too many entries, or no such arguments. */
size_t mlaf_block_tables_size(const mlaf_problem *p, const mlaf_execute_args *a);
/* Check the second form, launch the kernel `fn`, which writes to `at` (mlaf_block_tables_size bytes, 4-byte aligned), and give
 * the arguments of the first form in *out. fn NULL: the plan has not loaded it. */
mlaf_status mlaf_block_tables_launch(mlaf_device *dev, const mlaf_function *fn, const mlaf_problem *p, const mlaf_execute_args *a,
                                     void *at, void *stream, mlaf_execute_args *out, mlaf_err *err);

#endif
