/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* What launches of the projections take: y[t,h,:] = W[h] x[t,h,:], with weights as they lie in the checkpoint. Each operation's
 * header says what x, W and y are. Embedded kernels of them. Opening a device and closing it: mlaf_embed.h.
 *
 * T tokens, H heads, R kv_lora_rank, L q_lora_rank, N and P columns of a head without and with positions, V of a value head, d
 * hidden size. W_UK and W_UV may be read where they lie in kv_b_proj.weight [H, N+V, R]: w at the first row, w_head_stride
 * (N+V) R. Sums are fp32, outputs rounded once; with a norm, x times its weights is rounded to 16 bits where the product is
 * made of matrix instructions.
 *
 * Weights of 8 bits are bytes, and strides of w count those. Row r of W[h] is row w_scale_row + h w_head_stride / w_row_stride
 * + r of a tensor with a scale for each 128 rows and 128 columns, such as a checkpoint's weight_scale_inv; w's first column is
 * its column w_scale_column. For W_UV in kv_b_proj w_scale is that of kv_b_proj and w_scale_row N. A value is the byte's times
 * the scale. Rows before w and from a head to the next are multiples of 32, columns before it one of 64, of mla_q_absorb one of
 * 128. */
#ifndef MLAF_EMBED_PROJECTION_H
#define MLAF_EMBED_PROJECTION_H

#include "mlaf_embed.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MLAF_EMBED_PROJECTION_TABLE_16 = 1u << 0 }; /* cosines and sines are of the problem's dtype; else fp32 */

/* Device pointers of the plan's device, tensors of the problem's dtype unless said. Strides in elements. All but positions and
 * w_scale 16-byte aligned, all strides a multiple of 16 bytes. A stride of 0: dense. w and norm_weight are constants: a kernel
 * may read them while the launch before still runs, which must not write them. */
typedef struct mlaf_embed_projection_args {
  uint32_t flags;            /* MLAF_EMBED_PROJECTION_* */
  float eps;                 /* of the norm, added to the mean square */
  int64_t tokens;            /* T, 0 and up */
  const void *x;
  int64_t x_token_stride, x_head_stride;
  const void *w;
  int64_t w_row_stride, w_head_stride;
  void *y;                   /* must not overlap the inputs; the residual may be y itself */
  int64_t y_token_stride, y_head_stride;
  const void *norm_weight;   /* [L]; only with norm */
  const void *residual;      /* [T, d]; only with residual */
  int64_t residual_token_stride;
  const int64_t *positions;  /* [T] rows of the table; only where columns turn. Outside [0, table_rows): those columns are NaN */
  const void *cos, *sin;     /* [table_rows, P/2]; sin NULL: a row of cos has its P/2 sines behind */
  int64_t table_row_stride;  /* 0: P/2, or P where sin is NULL */
  int64_t table_rows;
  const float *w_scale;      /* only with weights of 8 bits: one for each 128 x 128 of the tensor that w lies in */
  int64_t w_scale_row_stride; /* 0: dense, as many as the columns from w_scale's first to w's last have */
  int64_t w_scale_row, w_scale_column; /* w's place in that tensor, of which w_scale is the upper left scale */
} mlaf_embed_projection_args;

#ifdef __cplusplus
}
#endif
#endif
