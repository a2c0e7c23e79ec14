/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Hidden states to the low-rank columns of queries, and the latent row. As mlaforge's runtime/ops/mla_qkv_a/record.c. */
#include "mlaf_embed_mla_qkv_a.h"

#include <string.h>

#include "mlaf_embed_projection_inside.h"

_Static_assert(sizeof(mlaf_embed_qkv_a_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");

static mlaf_embed_product product(const int32_t *values) {
  mlaf_embed_qkv_a_problem p;
  memcpy(&p, values, sizeof p);
  return (mlaf_embed_product){.heads = 1, .inner = p.hidden, .outer = p.q_rank + p.rank + p.rope, .weights = p.weights};
}

const mlaf_embed_projection mlaf_embed_qkv_a_op = {{"mla_qkv_a", NULL, NULL, NULL, 0}, product};

mlaf_embed_status mlaf_embed_qkv_a_plan(mlaf_embed *e, const mlaf_embed_qkv_a_problem *p, const mlaf_embed_plan **out,
                                        char *why, size_t size) {
  return mlaf_embed_plan_for(e, &mlaf_embed_qkv_a_op.rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_qkv_a_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a, void *stream,
                                           char *why, size_t size) {
  return mlaf_embed_projection_execute(&mlaf_embed_qkv_a_op, x, a, NULL, stream, why, size);
}
