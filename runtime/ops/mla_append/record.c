/* The record of mla_append, and what follows from its fields. */
#include "ops/mla_append/append.h"

static const mlaf_field fields[] = {MLA_APPEND_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"append"};

const mlaf_op mlaf_op_mla_append = {.name = "mla_append",
                                    .example = MLA_APPEND_EXAMPLE,
                                    .fields = fields,
                                    .n_fields = MLA_APPEND_FIELDS,
                                    .stages = stages,
                                    .calls = &mlaf_append_calls};

append_shape append_shape_of(const mlaf_point *p) {
  static const uint8_t formats[] = {MLA_APPEND_FORMATS};
  const int32_t *v = p->v;
  return (append_shape){
      .heads = v[MLA_APPEND_HEADS],
      .rank = v[MLA_APPEND_RANK],
      .rope = v[MLA_APPEND_ROPE],
      .dtype = v[MLA_APPEND_DTYPE],
      .format = mlaf_cache_format_at(formats[v[MLA_APPEND_LAYOUT]]),
      .style = v[MLA_APPEND_STYLE],
      .norm = v[MLA_APPEND_NORM],
      .turned = v[MLA_APPEND_ROPE] && v[MLA_APPEND_STYLE] != APPEND_UNROTATED,
      .tokens = v[MLA_APPEND_TOKENS],
  };
}

/* Inputs and outputs once, slots, positions and the table's rows. */
mlaf_work append_work(const mlaf_point *p) {
  const append_shape s = append_shape_of(p);
  const double row = 2.0 * (s.rank + s.rope), tokens = (double)s.tokens;
  const double bytes = row + (double)append_bytes(&s, s.format->token) + 2 * s.heads * row + (s.turned ? 16 + 4.0 * s.rope : 8);
  return (mlaf_work){.bytes = tokens * bytes, .flops = tokens * (6.0 * s.rank + 3.0 * s.rope * (1 + s.heads))};
}
