/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_merge: two partial attentions of the same queries, over keys apart from each other, become one.
 *
 *   (o [T, H, V], lse [H, T]) of a prefix and of a suffix   ->   o [T, H, V], lse
 *
 * A part whose lse is infinite, of either sign, is empty: it has no say, whatever its o holds. Both empty: 0 and -inf. Embedded
 * kernels of it. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_MERGE_H
#define MLAF_EMBED_MLA_MERGE_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MLAF_EMBED_MERGE_IN_PLACE = 1u << 0, /* over the prefix: o and lse are NULL */
  MLAF_EMBED_MERGE_BASE_2 = 1u << 1    /* all lse are logs to the base 2; else natural ones */
};

/* tokens selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_merge_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank (1..256) */
  int32_t vdim;      /* columns of O: of prefill the value dim, of decode the rank (a multiple of 8 up to 512) */
  int32_t dtype;     /* type of O (0: bf16, 1: f16) */
  int32_t tokens;    /* tokens of a launch (1..1048576) */
  /* </problem> */
} mlaf_embed_merge_problem;

/* A part, device pointers, o 16-byte aligned. Strides in elements, o's a multiple of 8, 0: dense. lse's both 0: [H, T]. */
typedef struct mlaf_embed_merge_part {
  const void *o;
  int64_t o_token_stride, o_head_stride;
  const float *lse;
  int64_t lse_token_stride, lse_head_stride;
} mlaf_embed_merge_part;

/* The result may lie over a part, o over its o and lse over its lse, with the same strides; else it must not overlap. */
typedef struct mlaf_embed_merge_args {
  uint32_t flags; /* MLAF_EMBED_MERGE_* */
  int64_t tokens; /* T, 0 and up */
  mlaf_embed_merge_part prefix, suffix;
  void *o;
  int64_t o_token_stride, o_head_stride;
  float *lse; /* NULL: not wanted */
  int64_t lse_token_stride, lse_head_stride;
} mlaf_embed_merge_args;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_merge_plan(mlaf_embed *e, const mlaf_embed_merge_problem *problem, const mlaf_embed_plan **out,
                                        char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_merge_execute(const mlaf_embed_plan *plan, const mlaf_embed_merge_args *args, void *stream,
                                           char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
