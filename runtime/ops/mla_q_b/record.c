/* Low-rank columns, through RMSNorm, to query heads; in the same launch, on demand, problems that follow (joint.c). */
#include "op/projection_calls.h"
#include "ops/mla_q_b/q_b.h"

mlaf_product q_b_product(const mlaf_point *p) {
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

const mlaf_projection q_b_alone = MLAF_PROJECTION(q_b_product);

static const mlaf_field fields[] = {MLA_Q_B_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"project", "aside"};

const mlaf_op mlaf_op_mla_q_b = {.name = "mla_q_b",
                               .example = MLA_Q_B_EXAMPLE,
                               .fields = fields,
                               .n_fields = MLA_Q_B_FIELDS,
                               .stages = stages,
                               .joint = &q_b_joint,
                               .calls = &q_b_projection.calls};
