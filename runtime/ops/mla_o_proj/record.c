/* Values of all heads back to hidden states, the residual added on demand. */
#include "op/projection_calls.h"
#include "ops/mla_o_proj/fields.h"

static mlaf_product product(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (mlaf_product){
      .heads = 1,
      .inner = v[MLA_O_PROJ_HEADS] * v[MLA_O_PROJ_V],
      .outer = v[MLA_O_PROJ_HIDDEN],
      .dtype = v[MLA_O_PROJ_DTYPE],
      .weights = v[MLA_O_PROJ_WEIGHTS],
      .residual = v[MLA_O_PROJ_RESIDUAL],
      .tokens = v[MLA_O_PROJ_TOKENS],
  };
}

static const mlaf_projection projection = MLAF_PROJECTION(product);
static const mlaf_field fields[] = {MLA_O_PROJ_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"project"};

const mlaf_op mlaf_op_mla_o_proj = {.name = "mla_o_proj",
                               .example = MLA_O_PROJ_EXAMPLE,
                               .fields = fields,
                               .n_fields = MLA_O_PROJ_FIELDS,
                               .stages = stages,
                               .calls = &projection.calls};
