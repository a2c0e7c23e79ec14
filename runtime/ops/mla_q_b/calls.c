/* The table of mla_q_b's functions. */
#include "ops/mla_q_b/q_b_calls.h"

mlaf_work q_b_work(const mlaf_point *p) {
  mlaf_work work = mlaf_projection_work(p);
  if (!q_b_appends(p)) return work;
  if (q_b_absorbs(p)) { /* queries go neither out nor in */
    const mlaf_point second = q_b_absorb_point(p);
    const mlaf_work more = second.op->calls->work(&second);
    const double queries = 2.0 * p->v[MLA_Q_B_TOKENS] * p->v[MLA_Q_B_HEADS] * (p->v[MLA_Q_B_NOPE] + p->v[MLA_Q_B_ROPE]);
    work.bytes += more.bytes - 2 * queries;
    work.main_bytes += more.main_bytes;
    work.flops += more.flops;
  }
  const mlaf_point side = q_b_append_point(p);
  const mlaf_work more = side.op->calls->work(&side);
  work.bytes += more.bytes;
  work.flops += more.flops;
  return work;
}

const mlaf_projection q_b_projection = {
    .calls = {.args_name = "mlaf_q_b_args",
              .args_init = "MLAF_PROJECTION_ARGS_INIT, or where rows are appended from MLAF_Q_B_ARGS_INIT",
              .args_size = sizeof(mlaf_q_b_args),
              .args_first = offsetof(mlaf_projection_args, w_scale), /* the smallest there has been */
              .workspace_at = offsetof(mlaf_projection_args, workspace),
              .workspace_size_at = offsetof(mlaf_projection_args, workspace_size),
              .libraries = true,
              .reach = MLAF_PROJECTION_REACH,
              .n_mapped = Q_B_MAP_W_UK,
              .parameter_bytes = q_b_parameter_bytes,
              .check_stages = q_b_check_stages,
              .check_args = q_b_check_args,
              .workspace = mlaf_projection_workspace,
              .rows = mlaf_projection_rows,
              .rows_of = mlaf_projection_rows_of,
              .prepare = q_b_prepare,
              .work = q_b_work,
              .bound = q_b_bound,
              .n_cases = MLAF_PROJECTION_CASES,
              .make_case = q_b_make_case,
              .free_case = q_b_free_case,
              .case_buffers = q_b_case_buffers,
              .compare = q_b_compare,
              .same = q_b_same,
              .error_about = "relative Frobenius error against fp64",
              .data_open = q_b_data_open,
              .data_close = q_b_data_close,
              .data_args = q_b_data_args,
              .data_check = q_b_data_check,
              .data_error = q_b_data_error,
              .data_row = q_b_data_row},
    .product = q_b_product,
};
