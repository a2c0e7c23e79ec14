/* The record of mla_merge, and what follows from its fields. */
#include "ops/mla_merge/merge.h"

static const mlaf_field fields[] = {MLA_MERGE_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"merge"};

const mlaf_op mlaf_op_mla_merge = {.name = "mla_merge",
                                   .example = MLA_MERGE_EXAMPLE,
                                   .fields = fields,
                                   .n_fields = MLA_MERGE_FIELDS,
                                   .stages = stages,
                                   .calls = &mlaf_merge_calls};

merge_shape merge_shape_of(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (merge_shape){.heads = v[MLA_MERGE_HEADS],
                       .vdim = v[MLA_MERGE_VDIM],
                       .dtype = v[MLA_MERGE_DTYPE],
                       .tokens = v[MLA_MERGE_TOKENS]};
}

/* Two parts in, one out, each with its sums; two products and a sum of an element, of which the second product counts one. */
mlaf_work merge_work(const mlaf_point *p) {
  const merge_shape s = merge_shape_of(p);
  const double rows = (double)s.tokens * s.heads;
  return (mlaf_work){.bytes = 3 * rows * (2 * s.vdim + 4), .flops = 3 * rows * s.vdim};
}
