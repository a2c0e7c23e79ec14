/* The table of mla_decode's functions. */
#include "ops/mla_decode/compare.h"
#include "ops/mla_decode/data.h"
#include "ops/mla_decode/suite.h"

static const mlaf_calls calls = {
    .name = "mla_decode",
    .args_size = sizeof(mlaf_execute_args),
    .workspace_at = offsetof(mlaf_execute_args, workspace),
    .workspace_size_at = offsetof(mlaf_execute_args, workspace_size),
    .n_mapped = MLAF_MAP_O,
    .parameter_bytes = mlaf_decode_parameter_bytes,
    .check_shape = mlaf_decode_check_shape,
    .check_stages = mlaf_decode_check_stages,
    .check_args = mlaf_decode_check_args,
    .workspace = mlaf_decode_workspace,
    .prepare = mlaf_decode_prepare,
    .work = mlaf_decode_work,
    .n_cases = MLAF_DECODE_CASES,
    .make_case = mlaf_decode_make_case,
    .free_case = mlaf_decode_free_case,
    .case_buffers = mlaf_decode_case_buffers,
    .compare = mlaf_decode_compare_case,
    .same = mlaf_decode_same_case,
    .bound = mlaf_decode_bound,
    .data_open = mlaf_decode_data_open,
    .data_close = mlaf_decode_data_close,
    .data_args = mlaf_decode_data_args,
    .data_check = mlaf_decode_data_check,
    .data_error = mlaf_decode_data_error,
    .data_row = mlaf_decode_data_row,
};

/* A mlaf_problem is a point of this operation. */
const mlaf_calls *mlaf_calls_of(const mlaf_problem *p) { return &calls; }
