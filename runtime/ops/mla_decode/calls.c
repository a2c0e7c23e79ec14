/* The table of mla_decode's functions. */
#include "ops/mla_decode/calls.h"

#include "ops/mla_decode/data.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/fields.h"
#include "ops/mla_decode/index_lists.h"
#include "ops/mla_decode/suite.h"

static int64_t rows(const void *args) { return ((const mlaf_execute_args *)args)->total_q; }

static int64_t rows_of(const mlaf_point *p) {
  const mlaf_problem problem = mlaf_problem_of(p);
  return (int64_t)problem.batch * problem.q_len;
}

/* Enough rounds that what happens once a launch is below half of them. */
static void small(mlaf_point *p) {
  p->v[MLA_DECODE_BATCH] = 1;
  p->v[MLA_DECODE_CTX] = 1024;
}

/* One part. */
static void keep_whole(const mlaf_kernel_launch *kernel, mlaf_prepared *launch) {
  if (kernel->flags & MLAF_KERNEL_FITS) mlaf_decode_parameters_of(launch)->decode.splits = mlaf_fit_word(1, false, 1);
}

const mlaf_calls mlaf_decode_calls = {
    .args_name = "mlaf_execute_args",
    .args_init = "MLAF_EXECUTE_ARGS_INIT",
    .args_size = sizeof(mlaf_execute_args),
    .args_first = MLAF_EXECUTE_ARGS_FIRST,
    .workspace_at = offsetof(mlaf_execute_args, workspace),
    .workspace_size_at = offsetof(mlaf_execute_args, workspace_size),
    .n_mapped = MLAF_MAP_Q_PE,
    .parameter_bytes = mlaf_decode_parameter_bytes,
    .check_stages = mlaf_decode_check_stages,
    .settle = mlaf_decode_settle,
    .check_args = mlaf_decode_check_args,
    .workspace = mlaf_decode_workspace,
    .rows = rows,
    .rows_of = rows_of,
    .prepare = mlaf_decode_prepare,
    .work = mlaf_decode_work,
    .second = mlaf_decode_forms,
    .knob_most = mlaf_decode_splits_most,
    .fit_knob = mlaf_decode_fit,
    .stands_back = mlaf_decode_stands_back,
    .any_lengths = mlaf_decode_any_lengths,
    .needs_second = mlaf_launch_needs_combine,
    .small = small,
    .keep_whole = keep_whole,
    .bound = mlaf_decode_bound,
    .error_about = "relative Frobenius error against fp64",
    .n_cases = MLAF_DECODE_CASES,
    .make_case = mlaf_decode_make_case,
    .long_q = true,
    .free_case = mlaf_decode_free_case,
    .case_buffers = mlaf_decode_case_buffers,
    .compare = mlaf_decode_compare_case,
    .same = mlaf_decode_same_case,
    MLAF_DATA_CALLS(mlaf_decode),
};
