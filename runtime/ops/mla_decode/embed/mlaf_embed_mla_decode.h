/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Embedded kernels of mla_decode: attention over a paged latent cache. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_DECODE_H
#define MLAF_EMBED_MLA_DECODE_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MLAF_EMBED_DECODE_BF16 = 0, MLAF_EMBED_DECODE_F16 = 1 };

/* O = softmax(scale * Q K^T) V over a paged latent cache: K is all rank + rope columns of a cached row, V its first rank.
 * batch and ctx select the kernel tuned for the nearest shape and its splits; a plan executes any batch and any lengths. */
typedef struct mlaf_embed_decode_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank (1..256) */
  int32_t rank;      /* columns of the latent cache, which are K and V (a multiple of 32 up to 512) */
  int32_t rope;      /* columns with positions, which are K only (0, 32 or 64) */
  int32_t q_len;     /* query tokens of a request: more than 1 with drafts (1..16) */
  int32_t causal;    /* query token i of n sees the first kv_len - (n-1-i) tokens (0: not, 1: causal) */
  int32_t dtype;     /* type of Q, cache and O (0: bf16, 1: f16) */
  int32_t page_size; /* tokens of a page (1..65536) */
  int32_t batch;     /* requests of a launch (1..65536) */
  int32_t ctx;       /* cached tokens of a request, as tuned for (1..16777216) */
  int32_t rotate;    /* keys are rotated as they are read, the cache's are not: columns 2i and 2i+1, or i and i + P/2
                        (0: not, 1: rope_pairs, 2: rope_halves) */
  /* </problem> */
} mlaf_embed_decode_problem;

/* Device pointers; valid until the launch has finished. T total_q, H heads, R rank, P rope, B batch; strides in elements. */
typedef struct mlaf_embed_decode_args {
  int32_t batch;                    /* B: 0..65536 */
  int32_t num_pages;                /* pages in the cache; num_pages * page_size below 2^32 */
  int64_t total_q;                  /* T = qo_indptr[B], 0..B*q_len */
  const void *q;                    /* [T, H, R+P] dense, 16-byte aligned */
  const void *ckv;                  /* row j at ckv + j*ckv_row_stride: R+P elements if kpe is NULL, else R; 16-byte aligned */
  const void *kpe;                  /* NULL: combined cache. Else row j at kpe + j*kpe_row_stride, P elements; 16-byte aligned */
  int64_t ckv_row_stride;           /* multiple of 8, at most 2^27; 0: dense */
  int64_t kpe_row_stride;
  const int32_t *qo_indptr;         /* [B+1] query tokens */
  const int32_t *kv_indptr;         /* [B+1] pages */
  const int32_t *kv_indices;        /* [kv_indptr[B]] page ids; one outside [0, num_pages) makes its request NaN */
  const int32_t *kv_last_page_lens; /* [B] tokens in the last page, 1..page_size */
  void *o;                          /* [T, H, R] dense, 16-byte aligned */
  float *lse;                       /* [T, H] natural log; may be NULL */
  void *workspace;                  /* mlaf_embed_decode_workspace bytes, 256-byte aligned; what is in it does not matter, but for
                                     * what a launch with tables that contradict themselves left (docs/lab/kernels-hopper.md) */
  size_t workspace_size;
  float scale;                      /* softmax scale, e.g. 1/sqrt(qk_nope + rope) */
  int32_t rope_rows;                /* of problems that rotate the keys they read (rotate is not 0): positions of rope_table */
  const float *rope_table;          /* [rope_rows, P] dense, 16-byte aligned: P/2 cosines, then P/2 sines; a key behind it: NaN */
} mlaf_embed_decode_args;

/* The plan of the nearest shape; loads its kernels at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_decode_plan(mlaf_embed *e, const mlaf_embed_decode_problem *problem, const mlaf_embed_plan **out,
                                         char *why, size_t why_size);
/* Bytes of workspace for total_q query tokens; 0: none. SIZE_MAX: more than there can be. */
size_t mlaf_embed_decode_workspace(const mlaf_embed_plan *plan, int64_t total_q);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. Thread-safe: each thread with outputs, a workspace and lists of a block table of its
 * own, also on one stream, as an execution is up to two launches and those of another thread may come in between. */
mlaf_embed_status mlaf_embed_decode_execute(const mlaf_embed_plan *plan, const mlaf_embed_decode_args *args, void *stream,
                                            char *why, size_t why_size);

/* --- a block table in place of page lists --- */
/* Device pointers. */
typedef struct mlaf_embed_decode_tables {
  const int32_t *block_table; /* [B] rows of page ids, row_stride entries apart; one outside [0, num_pages): NaN, no fault */
  const int32_t *seq_lens;    /* [B] cached tokens; one that its row has no room for makes its request NaN */
  int64_t row_stride;         /* entries; 0: width */
  int32_t width;              /* entries of a row that are looked at: no more than the longest request needs */
  int32_t q_tokens;           /* query tokens of each request, 1..q_len */
} mlaf_embed_decode_tables;

/* Load the kernel for them: by the thread that plans, and not inside a graph capture. */
mlaf_embed_status mlaf_embed_decode_tables_open(mlaf_embed *e, char *why, size_t why_size);
/* Bytes that the lists of such a table take; SIZE_MAX: more than there can be. */
size_t mlaf_embed_decode_tables_size(int32_t batch, int32_t width);
/* Launch what writes the lists into `memory` (device, 4-byte aligned), and point args to them: total_q, qo_indptr, kv_indptr,
 * kv_indices and kv_last_page_lens are set, batch and num_pages read. mlaf_embed_decode_execute on the same stream comes next.
 * Table and lengths are read on the device, at each replay of a graph; it neither allocates nor waits. */
mlaf_embed_status mlaf_embed_decode_tables_make(const mlaf_embed_plan *plan, const mlaf_embed_decode_tables *tables, void *memory,
                                                size_t memory_size, mlaf_embed_decode_args *args, void *stream, char *why,
                                                size_t why_size);

/* For the loader's own files: the problem of a row's values. */
mlaf_embed_decode_problem mlaf_embed_decode_problem_of(const int32_t *values);

#ifdef __cplusplus
}
#endif
#endif
