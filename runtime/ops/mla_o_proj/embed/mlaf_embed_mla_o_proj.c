/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Value heads to hidden states. As mlaforge's runtime/ops/mla_o_proj/record.c. */
#include "mlaf_embed_mla_o_proj.h"

#include <string.h>

#include "mlaf_embed_projection_inside.h"

_Static_assert(sizeof(mlaf_embed_o_proj_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

static mlaf_embed_product product(const int32_t *values) {
  mlaf_embed_o_proj_problem p;
  memcpy(&p, values, sizeof p);
  return (mlaf_embed_product){.heads = 1, .inner = p.heads * p.v, .outer = p.hidden,
                              .weights = p.weights, .residual = p.residual};
}

const mlaf_embed_projection mlaf_embed_o_proj_op = {{"mla_o_proj", NULL, NULL, NULL, 0}, product};

mlaf_embed_status mlaf_embed_o_proj_plan(mlaf_embed *e, const mlaf_embed_o_proj_problem *p, const mlaf_embed_plan **out,
                                         char *why, size_t size) {
  return mlaf_embed_plan_for(e, &mlaf_embed_o_proj_op.rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_o_proj_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a, void *stream,
                                            char *why, size_t size) {
  return mlaf_embed_projection_execute(&mlaf_embed_o_proj_op, x, a, NULL, stream, why, size);
}
