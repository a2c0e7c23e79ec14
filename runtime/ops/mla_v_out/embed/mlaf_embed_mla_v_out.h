/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_v_out: y [T, H, V] = W_UV[h] x[t,h]: what attention gave to value heads.
 *
 *   x [T, H, R], W_UV[h] [V, R]
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_V_OUT_H
#define MLAF_EMBED_MLA_V_OUT_H

#include "mlaf_embed_projection.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tokens selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_v_out_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank (1..256) */
  int32_t rank;      /* columns of the latent (a multiple of 32 up to 512) */
  int32_t v;         /* columns of a value head (a multiple of 32 up to 256) */
  int32_t dtype;     /* type of inputs, outputs, and of weights of 16 bits (0: bf16, 1: f16) */
  int32_t weights;   /* weights of 8 bits, each 128 x 128 of them with a scale in fp32 (0: not, 1: e4m3fn, 2: e4m3fnuz) */
  int32_t tokens;    /* tokens of a launch; plans are made for 1, 2, 4, 8, ..., and serve any number (1..65536) */
  /* </problem> */
} mlaf_embed_v_out_problem;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_v_out_plan(mlaf_embed *e, const mlaf_embed_v_out_problem *problem, const mlaf_embed_plan **out,
                                        char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_v_out_execute(const mlaf_embed_plan *plan, const mlaf_embed_projection_args *args, void *stream,
                                           char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
