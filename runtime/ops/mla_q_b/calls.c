/* The table of mla_q_b's functions. */
#include "op/joint_calls.h"
#include "ops/mla_q_b/q_b.h"

_Static_assert(2 * Q_B_PRODUCT_BUFFERS + Q_B_APPEND_BUFFERS <= MLAF_CASE_BUFFERS, "a case's list holds them");

/* Queries that are chained to mla_q_absorb. */
static double query_bytes(const mlaf_point *p) {
  const mlaf_product of = mlaf_product_of(p);
  return 2.0 * (double)of.tokens * of.heads * of.outer;
}

static mlaf_work work(const mlaf_point *p) { return mlaf_joint_work(p, query_bytes(p)); }

static double bound(const mlaf_point *p) {
  if (!mlaf_joint_has(p, Q_B_ABSORB)) return mlaf_projection_bound(p);
  const mlaf_point second = mlaf_joint_point(p, Q_B_ABSORB);
  mlaf_product of = mlaf_product_of(&second);
  of.behind = p->v[MLA_Q_B_Q_RANK];
  return mlaf_product_bound(&of, of.tokens);
}

static uint32_t parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return mlaf_joint_parameter_bytes(&q_b_joint, stage, launch);
}

const mlaf_calls q_b_calls = {.args_name = "mlaf_q_b_args",
                              .args_init = "MLAF_PROJECTION_ARGS_INIT, or where rows are appended from MLAF_Q_B_ARGS_INIT",
                              .args_size = sizeof(mlaf_q_b_args),
                              .args_first = offsetof(mlaf_projection_args, w_scale), /* the smallest there has been */
                              .workspace_at = offsetof(mlaf_projection_args, workspace),
                              .workspace_size_at = offsetof(mlaf_projection_args, workspace_size),
                              .libraries = true,
                              .arguments = &q_b_arguments,
                              .table = MLAF_PROJECTION_TABLE(&q_b_arguments, MLA_Q_B_DTYPE),
                              .reach = MLAF_PROJECTION_REACH,
                              .n_mapped = MLAF_PROJECTION_MAPS + 1, /* W_UK of mla_q_absorb */
                              .parameter_bytes = parameter_bytes,
                              .workspace = mlaf_projection_workspace,
                              .work = work,
                              .bound = bound,
                              .rows = mlaf_projection_rows,
                              .rows_of = mlaf_projection_rows_of,
                              .n_cases = MLAF_PROJECTION_CASES,
                              .error_about = "relative Frobenius error against fp64",
                              MLAF_JOINT_CALLS};
