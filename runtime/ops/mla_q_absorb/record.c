/* Queries into the latent space, their rope columns turned behind them: Qout[t, h] = (q_nope W_UK[h], rope(q_pe)). */
#include "op/projection_calls.h"
#include "ops/mla_q_absorb/fields.h"

static mlaf_product product(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (mlaf_product){
      .heads = v[MLA_Q_ABSORB_HEADS],
      .inner = v[MLA_Q_ABSORB_NOPE],
      .outer = v[MLA_Q_ABSORB_RANK],
      .dtype = v[MLA_Q_ABSORB_DTYPE],
      .weights = v[MLA_Q_ABSORB_WEIGHTS],
      .by_inputs = true,
      .rope = v[MLA_Q_ABSORB_ROPE],
      .style = v[MLA_Q_ABSORB_STYLE],
      .tokens = v[MLA_Q_ABSORB_TOKENS],
  };
}

static const mlaf_projection projection = MLAF_PROJECTION(product);
static const mlaf_field fields[] = {MLA_Q_ABSORB_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"project", "aside"};

const mlaf_op mlaf_op_mla_q_absorb = {.name = "mla_q_absorb",
                               .example = MLA_Q_ABSORB_EXAMPLE,
                               .fields = fields,
                               .n_fields = MLA_Q_ABSORB_FIELDS,
                               .stages = stages,
                               .calls = &projection.calls};
