/* Block tables, and pages with a stride: the launch that makes of them what decode kernels read (templates/block_tables). What it
 * makes lies in the workspace, behind the kernels' own. */
#pragma once

#include "mlaforge/mla_decode.h"
#include "op/calls.h"
#include "ops/mla_decode/problem.h"

extern const mlaf_second_form mlaf_block_tables;

/* Bytes that the tables made of these arguments take; SIZE_MAX where there are too many entries, or no such arguments. */
size_t mlaf_block_tables_size(const mlaf_problem *p, const mlaf_execute_args *a);
/* Check the second form, fill the launch of its kernel, *fns, which writes to `at` (mlaf_block_tables_size bytes, 4-byte
 * aligned), and give the arguments of the first form in *first. fns NULL: it is not loaded. */
mlaf_status mlaf_block_tables_prepare(mlaf_device *dev, const mlaf_function *const *fns, const mlaf_problem *p,
                                      const mlaf_execute_args *a, void *at, mlaf_execute_args *first, mlaf_second_prepared *out,
                                      mlaf_err *err);
