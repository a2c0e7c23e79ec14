/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_q_b: y [T, H(N+P)] = W_qb x[t]: low-rank columns to query heads.
 *
 *   x [T, L], through RMSNorm where the problem says norm
 *
 * Letters and arguments: mlaf_embed_projection.h. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_Q_B_H
#define MLAF_EMBED_MLA_Q_B_H

#include "mlaf_embed_mla_append.h"
#include "mlaf_embed_projection.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tokens selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_q_b_problem {
  /* <problem> */
  int32_t q_rank;    /* low-rank columns of the queries, or hidden size (a multiple of 32 up to 8192) */
  int32_t heads;     /* query heads on this rank (1..256) */
  int32_t nope;      /* columns of a query head without positions (a multiple of 32 up to 256) */
  int32_t rope;      /* columns with positions (0, 32 or 64) */
  int32_t norm;      /* the input goes through RMSNorm (0: not, 1: norm) */
  int32_t dtype;     /* type of inputs, outputs, and of weights of 16 bits (0: bf16, 1: f16) */
  int32_t weights;   /* weights of 8 bits, each 128 x 128 of them with a scale in fp32 (0: not, 1: e4m3fn, 2: e4m3fnuz) */
  int32_t append;    /* blocks beside the product append latent rows to a cache, whose layouts are mla_append's
                        (0: not, 1: append_paged, 2: append_split, 3: append_fp8_ds_mla, 4: append_e4m3fn, 5: append_e4m3fnuz) */
  int32_t rank;      /* columns of a latent row that is appended (a multiple of 32 up to 512) */
  int32_t append_style; /* of a row's rope columns, as mla_append's; else pairs
                        (0: not, 1: append_halves, 2: append_unrotated) */
  int32_t append_norm; /* the latent goes through RMSNorm (0: not, 1: append_norm) */
  int32_t absorb;    /* query heads go on into the latent space, as by mla_q_absorb; only where rows are appended
                        (0: not, 1: absorb_pairs, 2: absorb_halves, 3: absorb_unrotated) */
  int32_t tokens;    /* tokens of a launch; plans are made for 1, 2, 4, 8, ..., and serve any number (1..65536) */
  /* </problem> */
} mlaf_embed_q_b_problem;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_q_b_plan(mlaf_embed *e, const mlaf_embed_q_b_problem *problem, const mlaf_embed_plan **out,
                                      char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_q_b_execute(const mlaf_embed_plan *plan, const mlaf_embed_projection_args *args, void *stream,
                                         char *why, size_t why_size);
/* Where the problem appends (append is not 0): blocks beside the product do what a launch of mla_append without query rows does.
 * append's tokens are apart from the product's, which are more than 0; its ckv and kpe are what the launch before wrote, and not
 * y; q_nope, q_pe, q_out and q_pe_out are NULL. Without, as by mlaf_embed_q_b_execute, such a plan appends nothing. */
mlaf_embed_status mlaf_embed_q_b_append_execute(const mlaf_embed_plan *plan, const mlaf_embed_projection_args *args,
                                                const mlaf_embed_append_args *append, void *stream, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
