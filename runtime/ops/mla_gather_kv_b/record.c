/* The record of mla_gather_kv_b, and what follows from its fields. */
#include "ops/mla_gather_kv_b/gather.h"

static const mlaf_field fields[] = {MLA_GATHER_KV_B_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"gather", "aside"};

const mlaf_op mlaf_op_mla_gather_kv_b = {.name = "mla_gather_kv_b",
                                         .example = MLA_GATHER_KV_B_EXAMPLE,
                                         .fields = fields,
                                         .n_fields = MLA_GATHER_KV_B_FIELDS,
                                         .stages = stages,
                                         .calls = &mlaf_gather_calls};

gather_shape gather_shape_of(const mlaf_point *p) {
  static const uint8_t formats[] = {MLA_GATHER_KV_B_FORMATS};
  const int32_t *v = p->v;
  return (gather_shape){
      .heads = v[MLA_GATHER_KV_B_HEADS],
      .nope = v[MLA_GATHER_KV_B_NOPE],
      .rope = v[MLA_GATHER_KV_B_ROPE],
      .vdim = v[MLA_GATHER_KV_B_VDIM],
      .rank = v[MLA_GATHER_KV_B_RANK],
      .dtype = v[MLA_GATHER_KV_B_DTYPE],
      .format = mlaf_cache_format_at(formats[v[MLA_GATHER_KV_B_LAYOUT]]),
      .rotate = v[MLA_GATHER_KV_B_ROTATE],
      .out = v[MLA_GATHER_KV_B_NOPE] + v[MLA_GATHER_KV_B_VDIM],
      .tokens = v[MLA_GATHER_KV_B_TOKENS],
  };
}

/* Rows of the cache, W once, K and V and the rope columns. */
mlaf_work gather_work(const mlaf_point *p) {
  const gather_shape s = gather_shape_of(p);
  const double t = (double)s.tokens, outputs = (double)s.heads * s.out;
  return (mlaf_work){.bytes = t * ((double)gather_row_bytes(&s) + 2 * (outputs + s.rope)) + 2 * outputs * s.rank,
                     .flops = 2 * t * outputs * s.rank};
}
