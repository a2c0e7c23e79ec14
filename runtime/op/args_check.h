/* Checks of a launch's arguments, and the kernel's parameter block made of them, by the operation's table (op/args_table.h). */
#pragma once

#include "base/base.h"
#include "op/args_table.h"

/* Checks what the host can see; b: the variant that will run. E_ARG names the argument, its value and what is wanted. */
mlaf_status mlaf_arguments_check(const mlaf_args_table *t, const mlaf_bound *b, const void *args, mlaf_err *err);
/* Fills the block (t->block_bytes) from checked arguments, but for what t->complete does, and all sizes. Returns the rows that
 * workgroups share out; 0: there is nothing to launch, and nothing is filled. fields: the problem's values, in the record's
 * order. */
int64_t mlaf_arguments_fill(const mlaf_args_table *t, const int32_t *fields, const void *args, int64_t *n, void *block);

/* Parts of both, for code that makes arguments. */
int64_t mlaf_arguments_count(const mlaf_args_table *t, const void *args);
bool mlaf_arguments_in_place(const mlaf_args_table *t, const mlaf_arg_tensor *x, const void *args);
