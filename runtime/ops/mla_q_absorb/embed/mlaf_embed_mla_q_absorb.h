/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_q_absorb: y [T, H, R+P] = (x[t,h,:N] W_UK[h], rope(x[t,h,N:])): queries into the latent space.
 *
 *   x [T, H, N+P], W_UK[h] [N, R]
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_Q_ABSORB_H
#define MLAF_EMBED_MLA_Q_ABSORB_H

#include "mlaf_embed_projection.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tokens selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_q_absorb_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank (1..256) */
  int32_t nope;      /* columns of a query head without positions (a multiple of 32 up to 256) */
  int32_t rope;      /* columns with positions (0, 32 or 64) */
  int32_t rank;      /* columns of the latent (a multiple of 32 up to 512) */
  int32_t dtype;     /* type of inputs, outputs, and of weights of 16 bits (0: bf16, 1: f16) */
  int32_t weights;   /* weights of 8 bits, each 128 x 128 of them with a scale in fp32 (0: not, 1: e4m3fn, 2: e4m3fnuz) */
  int32_t style;     /* columns that turn together: 2i and 2i+1, i and i + P/2, or none (0: pairs, 1: halves, 2: unrotated) */
  int32_t tokens;    /* tokens of a launch; plans are made for 1, 2, 4, 8, ..., and serve any number (1..65536) */
  /* </problem> */
} mlaf_embed_q_absorb_problem;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_q_absorb_plan(mlaf_embed *e, const mlaf_embed_q_absorb_problem *problem,
                                           const mlaf_embed_plan **out, char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_q_absorb_execute(const mlaf_embed_plan *plan, const mlaf_embed_projection_args *args,
                                              void *stream, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
