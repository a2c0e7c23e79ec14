/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_gather_kv_b: rows of a paged latent cache become keys and values of each head, in one launch.
 *
 *   latent [R] and rope [P] of a token, found by its request's block table, dequantised
 *   k [T, H, N], v [T, H, V] = W_kvb [H, N+V, R] latent        k_pe [T, P] = rope
 *
 * Tokens are a chunk of each request: those of request r stand at cu_seqlens[r] .. cu_seqlens[r+1]-1 and have the positions from
 * seq_starts[r] on. Embedded kernels of it. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_GATHER_KV_B_H
#define MLAF_EMBED_MLA_GATHER_KV_B_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tokens selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_gather_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank (1..128) */
  int32_t nope;      /* columns of K that each head gets of its own (a multiple of 16 up to 192) */
  int32_t rope;      /* columns with positions, which are copied (a multiple of 16 up to 64) */
  int32_t vdim;      /* columns of V (a multiple of 16 up to 256) */
  int32_t rank;      /* columns of the latent (a multiple of 32 up to 512) */
  int32_t dtype;     /* type of W, of K and V, and of what is not quantised (0: bf16, 1: f16) */
  int32_t layout;    /* rows of the cache: 16 bits a column, with scales inside, fp8 with one scale, or 16 bits in two tensors
                        (0: paged, 1: fp8_ds_mla, 2: e4m3fn, 3: e4m3fnuz, 4: split) */
  int32_t rotate;    /* columns of keys are rotated on the way, the cache's are not: 2i and 2i+1, or i and i + P/2
                        (0: not, 1: rope_pairs, 2: rope_halves) */
  int32_t tokens;    /* tokens of a chunk, of all requests together (1..1048576) */
  /* </problem> */
} mlaf_embed_gather_problem;

/* Device pointers of the plan's device. cache, w, k, v and k_pe 16-byte aligned, all their strides a multiple of 16 bytes.
 * Strides in elements; a row of the cache counts 16-bit elements where it is paged or split, bytes else. A stride of 0: dense. w
 * is a constant: the launch before this one on its stream must not write it. */
typedef struct mlaf_embed_gather_args {
  uint32_t flags;       /* 0 */
  int32_t batch;        /* requests, 0 and up */
  int32_t page_tokens;  /* rows of a page */
  int64_t tokens;       /* T: rows of k that there are. Those behind cu_seqlens[batch] are not written */
  const void *cache;    /* rows of R+P; split: R; fp8_ds_mla: R bytes e4m3fn, 4 fp32 scales of 128 columns, P 16-bit */
  int64_t cache_row_stride, cache_page_stride;
  int64_t num_pages;     /* 0 .. 2^31-1 */
  const float *scale_at; /* of e4m3fn and e4m3fnuz: a value is stored x scale. On the device; NULL: `scale` */
  float scale;
  int32_t table_width; /* entries of a request's row of the table; 0: as many as its stride */
  /* Pages of each request: its row of a table [batch, table_stride], or, where table_indptr is set, the entries
   * table_indptr[r] .. table_indptr[r+1]-1 of a list. A page outside the cache, a position outside the table: NaN. */
  const int32_t *table;
  int64_t table_stride;
  const int32_t *table_indptr; /* [batch + 1], or NULL */
  const int32_t *cu_seqlens;   /* [batch + 1], from 0 on, not falling */
  const int32_t *seq_starts;   /* [batch]; NULL: all 0 */
  const void *w;               /* kv_b_proj's weight [H, N+V, R] */
  int64_t w_row_stride, w_head_stride;
  void *k;
  int64_t k_token_stride, k_head_stride; /* 0: dense, of rows of N+V where v is NULL */
  void *v;                               /* NULL: behind k's N columns */
  int64_t v_token_stride, v_head_stride;
  void *k_pe; /* NULL: not wanted */
  int64_t k_pe_token_stride;
  int64_t k_pe_head_stride; /* 0: one row for all heads; else each head gets a copy, e.g. behind its columns of k */
  /* Of split only: rows of P, in pages of as many rows as the cache's have, so that its page stride is whole rows. */
  const void *cache_kpe;
  int64_t cache_kpe_row_stride;
  /* Of rope_pairs and rope_halves only: a row a position, P/2 cosines, then P/2 sines, dense, 16-byte aligned. Positions outside
   * of it: NaN. */
  const float *rope_table;
  int64_t rope_rows;
} mlaf_embed_gather_args;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_gather_plan(mlaf_embed *e, const mlaf_embed_gather_problem *problem, const mlaf_embed_plan **out,
                                         char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_gather_execute(const mlaf_embed_plan *plan, const mlaf_embed_gather_args *args, void *stream,
                                            char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
