/* The record of mla_q_scale, and what follows from its fields. */
#include "ops/mla_q_scale/scale.h"

static const mlaf_field fields[] = {MLA_Q_SCALE_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"scale"};

const mlaf_op mlaf_op_mla_q_scale = {.name = "mla_q_scale",
                                     .example = MLA_Q_SCALE_EXAMPLE,
                                     .fields = fields,
                                     .n_fields = MLA_Q_SCALE_FIELDS,
                                     .stages = stages,
                                     .calls = &mlaf_q_scale_calls};

q_scale_shape q_scale_shape_of(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (q_scale_shape){.heads = v[MLA_Q_SCALE_HEADS],
                         .qdim = v[MLA_Q_SCALE_QDIM],
                         .dtype = v[MLA_Q_SCALE_DTYPE],
                         .tokens = v[MLA_Q_SCALE_TOKENS]};
}

/* Queries in and out, and positions. */
mlaf_work q_scale_work(const mlaf_point *p) {
  const q_scale_shape s = q_scale_shape_of(p);
  const double row = (double)s.heads * s.qdim, tokens = (double)s.tokens;
  return (mlaf_work){.bytes = tokens * (4 * row + 8), .flops = tokens * row};
}
