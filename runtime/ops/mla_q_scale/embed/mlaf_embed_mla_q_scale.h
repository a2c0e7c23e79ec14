/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_q_scale: the queries of each token times a factor of its position.
 *
 *   y[t, h, :] = f x[t, h, :]     f = 1 + beta ln(1 + floor(positions[t] / original))
 *
 * Embedded kernels of it. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_Q_SCALE_H
#define MLAF_EMBED_MLA_Q_SCALE_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tokens selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_q_scale_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank (1..256) */
  int32_t qdim;      /* columns of a query, those with positions included (a multiple of 8 up to 512) */
  int32_t dtype;     /* type of queries (0: bf16, 1: f16) */
  int32_t tokens;    /* tokens of a launch (1..1048576) */
  /* </problem> */
} mlaf_embed_q_scale_problem;

/* Device pointers, x and y [T, H, n] 16-byte aligned. Strides in elements, a multiple of 8; 0: dense. y NULL: x is scaled in
 * place, and tokens before `original` are not touched. Else the two must not overlap. Rows of what is written must not overlap
 * either. */
typedef struct mlaf_embed_q_scale_args {
  uint32_t flags; /* 0 */
  int64_t tokens; /* T, 0 and up */
  const void *x;  /* in place written to, too */
  int64_t x_token_stride, x_head_stride;
  void *y;        /* NULL: in place */
  int64_t y_token_stride, y_head_stride;
  const int64_t *positions; /* [T]; below 0 counts as 0, beyond 2^31-1 as that */
  float beta;               /* -1e6..1e6 */
  int32_t original;         /* positions that share a factor, 1 and up */
} mlaf_embed_q_scale_args;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_q_scale_plan(mlaf_embed *e, const mlaf_embed_q_scale_problem *problem, const mlaf_embed_plan **out,
                                          char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_q_scale_execute(const mlaf_embed_plan *plan, const mlaf_embed_q_scale_args *args, void *stream,
                                             char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
