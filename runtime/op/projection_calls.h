/* The table of functions that the projections share: cases and data to time beside op/projection.h. */
#pragma once

#include "op/projection.h"

/* --- projection_case.c --- */
enum { MLAF_PROJECTION_CASES = 3 };
double mlaf_projection_bound(const mlaf_point *p);
MLAF_CASE_FUNCTIONS(mlaf_projection);
/* Chained case: x is taken from the previous case's output, all heads side by side, instead of memory. `before` outlives it. */
mlaf_status mlaf_projection_chain(mlaf_case *c, const mlaf_case *before, mlaf_err *err);
/* Bound of a product's relative error, for so many tokens; a single token's row may have twice as much. */
double mlaf_product_bound(const mlaf_product *p, int64_t tokens);

/* --- projection_data.c --- */
MLAF_DATA_FUNCTIONS(mlaf_projection);
/* Chained data; sets are counted as those of `before` are from there on. */
void mlaf_projection_data_chain(mlaf_data *d, const mlaf_data *before);

/* Plans are made for 1, 2, 4, 8, .. tokens, and kernels for as many: what is best for 2 tokens took 1.5 times as long with 16
 * as the model's pick (docs/lab/layer.md). So a choice serves what it was made for. */
#define MLAF_PROJECTION_REACH 0.5

/* The functions of an operation of this kind, of its product alone; `table`: its arguments. */
#define MLAF_PROJECTION(table)                                                                                       \
  {                                                                                                                  \
    .args_name = "mlaf_projection_args", .args_init = "MLAF_PROJECTION_ARGS_INIT",                                   \
    .args_size = sizeof(mlaf_projection_args), .args_first = offsetof(mlaf_projection_args, w_scale),                \
    .workspace_at = offsetof(mlaf_projection_args, workspace),                                                       \
    .workspace_size_at = offsetof(mlaf_projection_args, workspace_size), .libraries = true, .arguments = table,      \
    .reach = MLAF_PROJECTION_REACH, .n_mapped = MLAF_PROJECTION_MAPS,                                                \
    .parameter_bytes = mlaf_projection_parameter_bytes, .check_stages = mlaf_projection_check_stages,                \
    .check_args = mlaf_projection_check_args, .workspace = mlaf_projection_workspace,                                \
    .rows = mlaf_projection_rows, .rows_of = mlaf_projection_rows_of, .prepare = mlaf_projection_prepare,            \
    .work = mlaf_projection_work, .bound = mlaf_projection_bound, .n_cases = MLAF_PROJECTION_CASES,                  \
    .error_about = "relative Frobenius error against fp64", .chain_case = mlaf_projection_chain,                     \
    .chain_data = mlaf_projection_data_chain, MLAF_CASE_CALLS(mlaf_projection), MLAF_DATA_CALLS(mlaf_projection)     \
  }
