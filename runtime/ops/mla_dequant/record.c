/* The record of mla_dequant, and what follows from its fields. */
#include "ops/mla_dequant/dequant.h"

static const mlaf_field fields[] = {MLA_DEQUANT_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"dequant"};

const mlaf_op mlaf_op_mla_dequant = {.name = "mla_dequant",
                                     .example = MLA_DEQUANT_EXAMPLE,
                                     .fields = fields,
                                     .n_fields = MLA_DEQUANT_FIELDS,
                                     .stages = stages,
                                     .calls = &mlaf_dequant_calls};

dequant_shape dequant_shape_of(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (dequant_shape){.columns = v[MLA_DEQUANT_COLUMNS],
                         .dtype = v[MLA_DEQUANT_DTYPE],
                         .fnuz = v[MLA_DEQUANT_WEIGHTS] == 1,
                         .rows = v[MLA_DEQUANT_W_ROWS]};
}

/* Weights in and out, and scales. */
mlaf_work dequant_work(const mlaf_point *p) {
  const dequant_shape s = dequant_shape_of(p);
  const double values = (double)s.rows * s.columns, scales = (double)(dequant_blocks(s.rows) * dequant_blocks(s.columns));
  return (mlaf_work){.bytes = 3 * values + 4 * scales, .flops = values};
}
