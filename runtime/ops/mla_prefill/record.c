/* The record of mla_prefill, and what follows from its fields. */
#include "ops/mla_prefill/prefill.h"

static const mlaf_field fields[] = {MLA_PREFILL_ROWS};
static const char *const stages[MLAF_STAGES_MAX + 1] = {"prefill"};

const mlaf_op mlaf_op_mla_prefill = {.name = "mla_prefill",
                                     .example = MLA_PREFILL_EXAMPLE,
                                     .fields = fields,
                                     .n_fields = MLA_PREFILL_FIELDS,
                                     .stages = stages,
                                     .calls = &mlaf_prefill_calls};

prefill_shape prefill_shape_of(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (prefill_shape){
      .heads = v[MLA_PREFILL_HEADS],
      .nope = v[MLA_PREFILL_NOPE],
      .rope = v[MLA_PREFILL_ROPE],
      .qk = v[MLA_PREFILL_NOPE] + v[MLA_PREFILL_ROPE],
      .vdim = v[MLA_PREFILL_VDIM],
      .dtype = v[MLA_PREFILL_DTYPE],
      .inputs = v[MLA_PREFILL_INPUTS],
      .bytes = v[MLA_PREFILL_INPUTS] ? 1 : 2,
      .causal = v[MLA_PREFILL_CAUSAL],
      .batch = v[MLA_PREFILL_BATCH],
      .tokens = v[MLA_PREFILL_TOKENS],
      .ctx = v[MLA_PREFILL_CTX],
  };
}

/* Q, K with k_pe once for all heads, V, O and LSE; two products of the scores that are seen. */
mlaf_work prefill_work(const mlaf_point *p) {
  const prefill_shape s = prefill_shape_of(p);
  const double q = (double)s.batch * (double)s.tokens * s.heads, k = (double)s.batch * (double)s.ctx;
  const double n = (double)(s.tokens < s.ctx ? s.tokens : s.ctx), ctx = (double)s.ctx;
  const double seen = s.causal ? s.heads * (double)s.batch * n * (ctx - (n - 1) / 2) : q * ctx;
  return (mlaf_work){.bytes = s.bytes * (q * s.qk + k * (s.heads * (double)(s.nope + s.vdim) + s.rope)) + q * (2 * s.vdim + 4),
                     .flops = 2 * seen * (s.qk + s.vdim)};
}
