/* Values from the latent space: o[t, h] = W_UV[h] u[t, h]. */
#include "op/projection_calls.h"
#include "ops/mla_v_out/fields.h"

static mlaf_product product(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (mlaf_product){
      .heads = v[MLA_V_OUT_HEADS],
      .inner = v[MLA_V_OUT_RANK],
      .outer = v[MLA_V_OUT_V],
      .dtype = v[MLA_V_OUT_DTYPE],
      .weights = v[MLA_V_OUT_WEIGHTS],
      .tokens = v[MLA_V_OUT_TOKENS],
  };
}

static const mlaf_projection projection = MLAF_PROJECTION(product);
static const mlaf_field fields[] = {MLA_V_OUT_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"project"};

const mlaf_op mlaf_op_mla_v_out = {.name = "mla_v_out",
                               .example = MLA_V_OUT_EXAMPLE,
                               .fields = fields,
                               .n_fields = MLA_V_OUT_FIELDS,
                               .stages = stages,
                               .calls = &projection.calls};
