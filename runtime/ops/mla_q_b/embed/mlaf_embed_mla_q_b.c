/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Low-rank columns, through RMSNorm, to query heads. As mlaforge's runtime/ops/mla_q_b/record.c. */
#include "mlaf_embed_mla_q_b.h"

#include <string.h>

#include "mlaf_embed_mla_append_inside.h"
#include "mlaf_embed_projection_inside.h"

_Static_assert(sizeof(mlaf_embed_q_b_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");
_Static_assert((int)MLAF_EMBED_BESIDE == (int)MLAF_EMBED_APPEND_BLOCK, "what is beside are the parameters of an append");

static mlaf_embed_product product(const int32_t *values) {
  mlaf_embed_q_b_problem p;
  memcpy(&p, values, sizeof p);
  return (mlaf_embed_product){.heads = 1, .inner = p.q_rank, .outer = p.heads * (p.nope + p.rope),
                              .weights = p.weights, .norm = p.norm};
}

const mlaf_embed_projection mlaf_embed_q_b_op = {{"mla_q_b", NULL, NULL, NULL, 0}, product};

mlaf_embed_status mlaf_embed_q_b_plan(mlaf_embed *e, const mlaf_embed_q_b_problem *p, const mlaf_embed_plan **out, char *why,
                                      size_t size) {
  return mlaf_embed_plan_for(e, &mlaf_embed_q_b_op.rules, (const int32_t *)p, out, why, size);
}

mlaf_embed_status mlaf_embed_q_b_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a, void *stream, char *why,
                                         size_t size) {
  return mlaf_embed_projection_execute(&mlaf_embed_q_b_op, x, a, NULL, stream, why, size);
}

/* --- rows beside the product, as mlaforge's runtime/ops/mla_q_b/append.c --- */

/* Threads of the product's blocks, of which a launch counts at most 2^32 with the others. */
static const int64_t PRODUCT_THREADS = INT64_C(1) << 26, THREADS_MOST = UINT32_MAX;

/* What is appended, as a problem of mla_append. */
static mlaf_embed_append_problem appended(const mlaf_embed_q_b_problem *p) {
  return (mlaf_embed_append_problem){.rank = p->rank,
                                     .rope = p->rope,
                                     .dtype = p->dtype,
                                     .layout = p->append - 1, /* both have them in the same order */
                                     .style = p->rope ? p->append_style : 0,
                                     .norm = p->append_norm,
                                     .tokens = p->tokens};
}

#define refuse(...) mlaf_embed_fail(why, size, MLAF_EMBED_ARG, __VA_ARGS__)

/* Check what is to be appended, and make the kernel's parameters of it. */
static mlaf_embed_status fill(const int32_t *values, const mlaf_embed_kernel *k, uint32_t wave, int64_t tokens,
                              const mlaf_embed_append_args *a, mlaf_embed_beside *out, char *why, size_t size) {
  mlaf_embed_q_b_problem p;
  char inner[256] = "";
  memcpy(&p, values, sizeof p);
  *out = (mlaf_embed_beside){.tokens = a->tokens};
  if (!p.append && a->tokens)
    return refuse("append: tokens is %lld, and the problem appends nothing: 0", (long long)a->tokens);
  if (!p.append) return MLAF_EMBED_OK;
  if (!tokens && a->tokens)
    return refuse("append: tokens is %lld, and the product's are 0: nothing is launched", (long long)a->tokens);
  const mlaf_embed_append_problem of = appended(&p);
  if (mlaf_embed_append_fill(&of, k->threads, wave, a, out->block, inner, sizeof inner)) return refuse("append: %s", inner);
  if (a->tokens * wave > THREADS_MOST - PRODUCT_THREADS)
    return refuse("append: tokens is %lld, and a launch takes no more than %lld: launch fewer at once", (long long)a->tokens,
                  (long long)((THREADS_MOST - PRODUCT_THREADS) / wave));
  return MLAF_EMBED_OK;
}

mlaf_embed_status mlaf_embed_q_b_append_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a,
                                                const mlaf_embed_append_args *append, void *stream, char *why, size_t size) {
  mlaf_embed_beside beside;
  mlaf_embed_status st = mlaf_embed_expect(x, append ? (const void *)a : NULL, &mlaf_embed_q_b_op.rules, why, size);
  if (!st) st = fill(x->row->values, x->kernels[0], mlaf_embed_wave(x->owner), a->tokens, append, &beside, why, size);
  return st ? st : mlaf_embed_projection_execute(&mlaf_embed_q_b_op, x, a, &beside, stream, why, size);
}
