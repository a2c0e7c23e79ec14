/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Between mlaf_embed_projection.c and the projections' files: a problem as a product. Nothing here is for programs. */
#ifndef MLAF_EMBED_PROJECTION_INSIDE_H
#define MLAF_EMBED_PROJECTION_INSIDE_H

#include "mlaf_embed_inside.h"
#include "mlaf_embed_projection.h"

/* As mlaforge's runtime/op/projection.h. */
typedef struct mlaf_embed_product {
  int32_t heads, inner, outer; /* tensors W[h]; values of a sum; outputs of a head */
  int32_t weights;             /* 0: of 16 bits */
  int32_t by_inputs;           /* W[h] is [inner][outer]; else [outer][inner] */
  int32_t norm, residual;
  int32_t rope, turns;         /* columns of x behind the inner ones that go behind y's, 0: none; whether they turn */
} mlaf_embed_product;

/* An operation of this kind. */
typedef struct mlaf_embed_projection {
  mlaf_embed_rules rules;
  mlaf_embed_product (*product)(const int32_t *values); /* of a row's values */
} mlaf_embed_projection;
extern const mlaf_embed_projection mlaf_embed_qkv_a_op, mlaf_embed_q_b_op, mlaf_embed_q_absorb_op, mlaf_embed_v_out_op,
    mlaf_embed_o_proj_op;

mlaf_embed_status mlaf_embed_projection_execute(const mlaf_embed_projection *op, const mlaf_embed_plan *plan,
                                                const mlaf_embed_projection_args *args, void *stream, char *why, size_t why_size);

#endif
