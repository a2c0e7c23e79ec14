/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_prefill: attention of new tokens, each head with keys and values of its own, over requests of any lengths in one launch.
 *
 *   q [Tq, H, N+P]   k [Tk, H, N] and k_pe [Tk, P] of all heads, or k [Tk, H, N+P]   v [Tk, H, V]   ->   o [Tq, H, V], lse
 *
 * k and v may be slices of one buffer: the output [Tk, H, N+V] of kv_b is read where it lies. Request r has the new tokens
 * cu_seqlens_q[r] .. cu_seqlens_q[r+1]-1 and the keys cu_seqlens_k[r] .. cu_seqlens_k[r+1]-1. Embedded kernels of it. Opening a
 * device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_PREFILL_H
#define MLAF_EMBED_MLA_PREFILL_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* batch, tokens and ctx select the kernel tuned for the nearest sizes; a plan serves any number of requests of any lengths. */
typedef struct mlaf_embed_prefill_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank (1..128) */
  int32_t nope;      /* columns of Q and K that each head has of its own (a multiple of 16 up to 192) */
  int32_t rope;      /* columns of Q and K with positions; K's may be shared by all heads (a multiple of 16 up to 64) */
  int32_t vdim;      /* columns of V and of O (a multiple of 16 up to 256) */
  int32_t dtype;     /* type of O, and of Q, K and V of 16 bits (0: bf16, 1: f16) */
  int32_t inputs;    /* Q, K and V of 8 bits, each tensor with a scale in fp32 (0: not, 1: e4m3fn, 2: e4m3fnuz) */
  int32_t causal;    /* new token i of t sees the first s - (t-1-i) keys of its request; else all s (0: not, 1: causal) */
  int32_t batch;     /* requests of a launch (1..65536) */
  int32_t tokens;    /* new tokens of a request, as tuned for (1..1048576) */
  int32_t ctx;       /* keys of a request, the new tokens' included, as tuned for (1..16777216) */
  /* </problem> */
} mlaf_embed_prefill_problem;

/* Device pointers of the plan's device, tensors 16-byte aligned. Strides in elements, tensors' a multiple of 16 bytes;
 * 0: dense. */
typedef struct mlaf_embed_prefill_args {
  uint32_t flags; /* 0 */
  int32_t batch;  /* requests, 0 and up */
  float scale;    /* of scores, before the softmax; positive */
  /* Tq, Tk: rows there are. A request whose keys reach behind Tk gets NaN; one that reaches behind Tq is left out. */
  int64_t total_q, total_k;
  const void *q;
  int64_t q_token_stride, q_head_stride;
  const void *k;
  int64_t k_token_stride, k_head_stride;
  const void *k_pe; /* NULL: a row of k has N+P columns */
  int64_t k_pe_token_stride;
  const void *v;
  int64_t v_token_stride, v_head_stride;
  const int32_t *cu_seqlens_q, *cu_seqlens_k; /* [batch + 1] each, from 0 on, not falling */
  void *o; /* 0 in rows that see no key */
  int64_t o_token_stride, o_head_stride;
  float *lse; /* natural log of the sum over scaled scores, -inf in rows that see no key; NULL: not wanted */
  int64_t lse_token_stride, lse_head_stride; /* both 0: [H, Tq] */
  const float *q_scale, *k_scale, *v_scale; /* only of 8 bits: one number each, read when the launch runs; NULL: 1 */
} mlaf_embed_prefill_args;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_prefill_plan(mlaf_embed *e, const mlaf_embed_prefill_problem *problem, const mlaf_embed_plan **out,
                                          char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_prefill_execute(const mlaf_embed_plan *plan, const mlaf_embed_prefill_args *args, void *stream,
                                             char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
