/* The table of mla_decode's functions. */
#include "ops/mla_decode/execute.h"

static const mlaf_calls calls = {
    .name = "mla_decode",
    .args_size = sizeof(mlaf_execute_args),
    .n_mapped = MLAF_MAP_O,
    .parameter_bytes = mlaf_decode_parameter_bytes,
    .check_stages = mlaf_decode_check_stages,
    .check_args = mlaf_decode_check_args,
    .workspace = mlaf_decode_workspace,
    .prepare = mlaf_decode_prepare,
};

/* A mlaf_problem is a point of this operation. */
const mlaf_calls *mlaf_calls_of(const mlaf_problem *p) { return &calls; }
