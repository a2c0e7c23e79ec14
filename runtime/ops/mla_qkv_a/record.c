/* Hidden states to the low-rank columns of queries, and the latent row. */
#include "op/projection_calls.h"
#include "ops/mla_qkv_a/fields.h"

static mlaf_product product(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (mlaf_product){
      .heads = 1,
      .inner = v[MLA_QKV_A_HIDDEN],
      .outer = v[MLA_QKV_A_Q_RANK] + v[MLA_QKV_A_RANK] + v[MLA_QKV_A_ROPE],
      .dtype = v[MLA_QKV_A_DTYPE],
      .weights = v[MLA_QKV_A_WEIGHTS],
      .tokens = v[MLA_QKV_A_TOKENS],
  };
}

static const mlaf_projection projection = MLAF_PROJECTION(product);
static const mlaf_field fields[] = {MLA_QKV_A_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"project"};

const mlaf_op mlaf_op_mla_qkv_a = {.name = "mla_qkv_a",
                               .example = MLA_QKV_A_EXAMPLE,
                               .fields = fields,
                               .n_fields = MLA_QKV_A_FIELDS,
                               .stages = stages,
                               .calls = &projection.calls};
