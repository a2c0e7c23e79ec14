/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_dequant: weights of 8 bits with a scale for each 128 x 128 of them become numbers of 16 bits.
 *
 *   y[r, c] = w[r, c] scale[(first_row + r) / 128, (first_column + c) / 128]     in fp32, rounded once; a NaN stays one
 *
 * Embedded kernels of it. Opening a device and closing it: mlaf_embed.h. */
#ifndef MLAF_EMBED_MLA_DEQUANT_H
#define MLAF_EMBED_MLA_DEQUANT_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* w_rows selects the kernel tuned for the nearest size; a plan serves any number of them. */
typedef struct mlaf_embed_dequant_problem {
  /* <problem> */
  int32_t columns;   /* of a matrix: values of a sum. kv_b_proj has kv_lora_rank of them (a multiple of 32 up to 16384) */
  int32_t dtype;     /* type of what they become (0: bf16, 1: f16) */
  int32_t weights;   /* weights of 8 bits, each 128 x 128 of them with a scale in fp32 (0: e4m3fn, 1: e4m3fnuz) */
  int32_t w_rows;    /* of a matrix: outputs. kv_b_proj has heads times N+V of them (1..1048576) */
  /* </problem> */
} mlaf_embed_dequant_problem;

/* Device pointers, w and y 16-byte aligned. Strides in elements; 0: dense. y must not overlap the others. */
typedef struct mlaf_embed_dequant_args {
  uint32_t flags;       /* 0 */
  int64_t rows;         /* 0 and up */
  const void *w;        /* [rows, columns] bytes */
  int64_t w_row_stride; /* a multiple of 16 */
  const float *w_scale; /* the upper left scale of the tensor that w lies in, one for each 128 x 128 of it */
  int64_t w_scale_row_stride; /* 0: as many as the columns from the tensor's first to w's last have */
  int64_t w_scale_row, w_scale_column; /* w's place in that tensor; the column is a multiple of 8 */
  void *y;              /* [rows, columns] of the problem's dtype */
  int64_t y_row_stride; /* a multiple of 8 */
} mlaf_embed_dequant_args;

/* The plan of the nearest shape; loads its kernel at first use, so not inside a graph capture. */
mlaf_embed_status mlaf_embed_dequant_plan(mlaf_embed *e, const mlaf_embed_dequant_problem *problem, const mlaf_embed_plan **out,
                                          char *why, size_t why_size);
/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. */
mlaf_embed_status mlaf_embed_dequant_execute(const mlaf_embed_plan *plan, const mlaf_embed_dequant_args *args, void *stream,
                                             char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
