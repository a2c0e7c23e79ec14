/* The table of functions that the projections share. */
#pragma once

#include "op/projection_table.h"

/* Plans are made for 1, 2, 4, 8, .. tokens, and kernels for as many: what is best for 2 tokens took 1.5 times as long with 16
 * as the model's pick (docs/lab/layer.md). So a choice serves what it was made for. */
#define MLAF_PROJECTION_REACH 0.5

/* The functions of an operation of this kind, of its product alone; its arguments, and its field. */
#define MLAF_PROJECTION(args, dtype)                                                                                  \
  {                                                                                                                  \
    .args_name = "mlaf_projection_args", .args_init = "MLAF_PROJECTION_ARGS_INIT",                                   \
    .args_size = sizeof(mlaf_projection_args), .args_first = offsetof(mlaf_projection_args, w_scale),                \
    .workspace_at = offsetof(mlaf_projection_args, workspace),                                                       \
    .workspace_size_at = offsetof(mlaf_projection_args, workspace_size), .libraries = true, .arguments = (args),     \
    .table = MLAF_PROJECTION_TABLE(args, dtype), .reach = MLAF_PROJECTION_REACH, .n_mapped = MLAF_PROJECTION_MAPS,   \
    .parameter_bytes = mlaf_projection_parameter_bytes, .check_stages = mlaf_projection_check_stages,                \
    .check_args = mlaf_projection_check_args, .workspace = mlaf_projection_workspace,                                \
    .rows = mlaf_projection_rows, .rows_of = mlaf_projection_rows_of, .prepare = mlaf_projection_prepare,            \
    .work = mlaf_projection_work, .bound = mlaf_projection_bound, .n_cases = MLAF_PROJECTION_CASES,                  \
    .error_about = "relative Frobenius error against fp64", .chain_case = mlaf_table_chain_case,                     \
    .chain_data = mlaf_table_chain_data, MLAF_CASE_CALLS(mlaf_table), MLAF_DATA_CALLS(mlaf_table)                    \
  }
