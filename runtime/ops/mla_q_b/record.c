/* Low-rank columns, through RMSNorm, to query heads; in the same launch, on demand, problems that follow (joint.c). */
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

const mlaf_projection q_b_alone = MLAF_PROJECTION(product);

static uint32_t parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return mlaf_joint_parameter_bytes(&q_b_joint, stage, launch);
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
              .n_mapped = MLAF_PROJECTION_MAPS + 1, /* W_UK of mla_q_absorb */
              .parameter_bytes = parameter_bytes,
              .workspace = mlaf_projection_workspace,
              .rows = mlaf_projection_rows,
              .rows_of = mlaf_projection_rows_of,
              .n_cases = MLAF_PROJECTION_CASES,
              .error_about = "relative Frobenius error against fp64",
              MLAF_JOINT_CALLS},
    .product = product,
};
static const mlaf_field fields[] = {MLA_Q_B_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"project", "aside"};

const mlaf_op mlaf_op_mla_q_b = {.name = "mla_q_b",
                               .example = MLA_Q_B_EXAMPLE,
                               .fields = fields,
                               .n_fields = MLA_Q_B_FIELDS,
                               .stages = stages,
                               .joint = &q_b_joint,
                               .calls = &projection.calls};
