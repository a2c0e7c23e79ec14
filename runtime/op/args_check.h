/* Checks of a launch's arguments, and the kernel's parameter block made of them, by the operation's table (op/args_table.h). */
#ifndef MLAF_ARGS_CHECK_H
#define MLAF_ARGS_CHECK_H

#include "base/base.h"
#include "op/args_table.h"

/* A tensor as the kernel gets it: its address, with what is in place or dense spelled out. */
typedef struct mlaf_arg_place {
  const void *at;
  int64_t stride[MLAF_ARG_AXES]; /* elements */
} mlaf_arg_place;

/* Checks what the host can see. `fields`: the problem's values in the order of its record; threads and rows_per_wg: of the kernel
 * that will run. E_ARG names the argument, its value and what is wanted. */
mlaf_status mlaf_arguments_check(const mlaf_args_table *t, const int32_t *fields, uint32_t threads, uint32_t rows_per_wg,
                            const void *args, mlaf_err *err);
/* Fills the block (t->block_bytes) from checked arguments. Returns the rows that workgroups share out; 0: there is nothing to
 * launch, and the block is untouched. */
int64_t mlaf_arguments_fill(const mlaf_args_table *t, const int32_t *fields, const void *args, void *block);

/* Parts of both, for code that makes arguments. */
int64_t mlaf_arguments_count(const mlaf_args_table *t, const void *args);
bool mlaf_arguments_in_place(const mlaf_args_table *t, const mlaf_arg_tensor *x, const void *args);
void mlaf_arguments_places(const mlaf_args_table *t, const void *args, const int64_t *n, mlaf_arg_place *out);

#endif
