/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_append: new tokens into the latent cache of an MLA layer, and on demand the query rows that attention reads, in one launch.
 *
 *   latent  ckv [T, R] -> RMSNorm, or as it is -> cast or quantised -> the cache's row slots[t]
 *   rope    kpe [T, P] -> rotated to positions[t] -> cast or quantised -> the cache's row slots[t]
 *   query   (q_nope [T, H, R], q_pe [T, H, P] rotated) -> q_out [T, H, R+P]
 *
 * Embedded kernels of it. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_APPEND_H
#define MLAF_EMBED_MLA_APPEND_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MLAF_EMBED_APPEND_ALL_Q = 1u << 0,        /* query rows also of tokens whose slot is negative: their positions are used then */
  MLAF_EMBED_APPEND_POWER_OF_TWO = 1u << 1, /* scales of fp8_ds_mla are powers of two; else largest / 448 */
  MLAF_EMBED_APPEND_TABLE_16 = 1u << 2      /* cosines and sines are of the problem's dtype; else fp32 */
};

/* tokens selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_append_problem {
  /* <problem> */
  int32_t heads;     /* query heads on this rank whose rows are made in the same launch; 0: none (0..256) */
  int32_t rank;      /* columns of the latent (a multiple of 32 up to 512) */
  int32_t rope;      /* columns with positions (0, 32 or 64) */
  int32_t dtype;     /* type of inputs, of Qout and of what is not quantised (0: bf16, 1: f16) */
  int32_t layout;    /* rows of the cache: latent and rope together, in two tensors, with scales inside, or fp8 with one scale
                        (0: paged, 1: split, 2: fp8_ds_mla, 3: e4m3fn, 4: e4m3fnuz) */
  int32_t style;     /* columns that turn together: 2i and 2i+1, i and i + P/2, or none (0: pairs, 1: halves, 2: unrotated) */
  int32_t norm;      /* the latent goes through RMSNorm (0: not, 1: norm) */
  int32_t tokens;    /* tokens of a launch (1..1048576) */
  /* </problem> */
} mlaf_embed_append_problem;

/* Device pointers of the plan's device. T tokens, H heads, R rank, P rope. Strides in elements; a row of the cache counts 16-bit
 * elements of paged and split caches, bytes of the others. All but slots, positions and scale_at 16-byte aligned, all strides a
 * multiple of 16 bytes. A stride of 0: dense. */
typedef struct mlaf_embed_append_args {
  uint32_t flags;             /* MLAF_EMBED_APPEND_* */
  int64_t tokens;             /* T, 0 and up */
  const void *ckv, *kpe;      /* rows may be slices of one row of a projection's output */
  int64_t ckv_row_stride, kpe_row_stride;
  const void *norm_weight;    /* [R], of the problem's dtype; only with norm */
  float eps;                  /* of the norm, added to the mean square; 1e-6 mostly */
  float scale;                /* of e4m3fn and e4m3fnuz: stored is value / scale, saturated; used where scale_at is NULL */
  const float *scale_at;      /* the same on the device, or NULL */
  const int64_t *slots;       /* [T] rows of the cache, all different; outside [0, num_slots): nothing is written */
  const int64_t *positions;   /* [T] rows of the table; not used where the slot is outside. Outside [0, table_rows): NaN */
  const void *cos, *sin;      /* [table_rows, P/2]; sin NULL: a row of cos has its P/2 sines behind */
  int64_t table_row_stride;   /* 0: P/2, or P where sin is NULL */
  int64_t table_rows;
  void *cache;                /* rows of R+P; of split R. fp8_ds_mla: R bytes e4m3fn, 4 fp32 scales of 128 columns, P 16-bit */
  void *cache_kpe;            /* rows of P, of split only */
  int64_t cache_row_stride, cache_kpe_row_stride;
  int64_t num_slots;          /* 0 .. 2^32-1 */
  int64_t cache_page_stride;  /* from page to page where pages lie apart; 0: page_tokens rows */
  int64_t cache_kpe_page_stride;
  int32_t page_tokens;        /* rows of a page; needed only where pages lie apart */
  void *kpe_out;              /* [T, P] the rotated rope columns, e.g. kpe itself; NULL: not wanted */
  int64_t kpe_out_row_stride;
  const void *q_nope, *q_pe;  /* all NULL: no query rows in this launch. q_nope NULL: the rope columns alone */
  int64_t q_nope_token_stride, q_nope_head_stride, q_pe_token_stride, q_pe_head_stride;
  void *q_out;                /* [T, H, R+P] */
  int64_t q_out_token_stride, q_out_head_stride;
  void *q_pe_out;             /* NULL: behind q_out's R columns; else the rope columns go here, e.g. to q_pe itself */
  int64_t q_pe_out_token_stride, q_pe_out_head_stride;
} mlaf_embed_append_args;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_append_plan(mlaf_embed *e, const mlaf_embed_append_problem *problem, const mlaf_embed_plan **out,
                                         char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_append_execute(const mlaf_embed_plan *plan, const mlaf_embed_append_args *args, void *stream,
                                            char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
