/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Queries into the latent space, their rope columns turned behind them. As mlaforge's runtime/ops/mla_q_absorb/record.c. */
#include "mlaf_embed_mla_q_absorb.h"

#include <string.h>

#include "mlaf_embed_projection_inside.h"

_Static_assert(sizeof(mlaf_embed_q_absorb_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

enum { PAIRS, HALVES, UNROTATED }; /* styles */

static mlaf_embed_product product(const int32_t *values) {
  mlaf_embed_q_absorb_problem p;
  memcpy(&p, values, sizeof p);
  return (mlaf_embed_product){.heads = p.heads, .inner = p.nope, .outer = p.rank, .weights = p.weights, .by_inputs = 1,
                              .rope = p.rope, .turns = p.rope && p.style != UNROTATED};
}

const mlaf_embed_projection mlaf_embed_q_absorb_op = {{"mla_q_absorb", NULL, NULL, NULL, 0}, product};

mlaf_embed_status mlaf_embed_q_absorb_plan(mlaf_embed *e, const mlaf_embed_q_absorb_problem *p, const mlaf_embed_plan **out,
                                           char *why, size_t size) {
  return mlaf_embed_plan_for(e, &mlaf_embed_q_absorb_op.rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_q_absorb_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a, void *stream,
                                              char *why, size_t size) {
  return mlaf_embed_projection_execute(&mlaf_embed_q_absorb_op, x, a, NULL, stream, why, size);
}
