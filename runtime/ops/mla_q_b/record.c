/* Low-rank columns, through RMSNorm, to query heads; beside it, on demand, the latent rows to the cache. */
#include "ops/mla_q_b/q_b.h"

static mlaf_product product(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (mlaf_product){
      .heads = 1,
      .inner = v[MLA_Q_B_Q_RANK],
      .outer = v[MLA_Q_B_HEADS] * (v[MLA_Q_B_NOPE] + v[MLA_Q_B_ROPE]),
      .dtype = v[MLA_Q_B_DTYPE],
      .weights = v[MLA_Q_B_WEIGHTS],
      .norm = v[MLA_Q_B_NORM],
      .tokens = v[MLA_Q_B_TOKENS],
  };
}

static const mlaf_projection projection = {
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
    .product = product,
};
static const mlaf_field fields[] = {MLA_Q_B_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"project", "aside"};

const mlaf_op mlaf_op_mla_q_b = {.name = "mla_q_b",
                               .example = MLA_Q_B_EXAMPLE,
                               .fields = fields,
                               .n_fields = MLA_Q_B_FIELDS,
                               .stages = stages,
                               .calls = &projection.calls};
