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
/* What blocks behind the product's do, of a kernel that says EMBED_APPENDS: another operation's parameters, and its tokens. */
enum { MLAF_EMBED_BESIDE = 296 };
typedef struct mlaf_embed_beside {
  unsigned char block[MLAF_EMBED_BESIDE];
  int64_t tokens;
} mlaf_embed_beside;

extern const mlaf_embed_projection mlaf_embed_qkv_a_op, mlaf_embed_q_b_op, mlaf_embed_q_absorb_op, mlaf_embed_v_out_op,
    mlaf_embed_o_proj_op;

mlaf_embed_status mlaf_embed_projection_execute(const mlaf_embed_projection *op, const mlaf_embed_plan *plan,
                                                const mlaf_embed_projection_args *args, const mlaf_embed_beside *beside,
                                                void *stream, char *why, size_t why_size);

#endif
