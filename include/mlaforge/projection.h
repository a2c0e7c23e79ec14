/* The projections of an MLA layer: products of a few tokens with weights as they lie in the checkpoint, in one launch each.
 * Names: T tokens, H heads, R kv_lora_rank, L q_lora_rank, N and P columns of a head without and with positions, V of a value
 * head, d hidden size.
 *
 *   mla_qkv_a     y [T, L+R+P] = W_a x[t]                    x [T, d], W_a rows of q_a_proj, then of kv_a_proj_with_mqa
 *   mla_q_b       y [T, H(N+P)] = W_qb x[t]                  x [T, L], through RMSNorm where the problem says norm; where
 *                                                            mla_append's problem follows its work is done, too
 *   mla_q_absorb  y [T, H, R+P] = (x[t,h,:N] W_UK[h], rope(x[t,h,N:]))   x [T, H, N+P], W_UK[h] [N, R]
 *   mla_v_out     y [T, H, V] = W_UV[h] x[t,h]               x [T, H, R], W_UV[h] [V, R]
 *   mla_o_proj    y [T, d] = W_o x[t] + residual[t]          x [T, H V]; the residual where the problem says so
 *
 * W_UK and W_UV may be read where they lie in kv_b_proj.weight [H, N+V, R]: w at the first row, w_head_stride (N+V) R. Sums are
 * fp32, outputs rounded once; with a norm, x times its weights is rounded to 16 bits where the product is made of matrix
 * instructions.
 *
 * Weights of 8 bits (e4m3fn, e4m3fnuz in the problem) are bytes, and strides of w count bytes. Row r of W[h] is row
 * w_scale_row + h w_head_stride / w_row_stride + r of a tensor with a scale for each 128 rows and 128 columns, such as a
 * checkpoint's weight_scale_inv; w's first column is its column w_scale_column. For W_UV in kv_b_proj w_scale is that of
 * kv_b_proj and w_scale_row N. A value is the byte's times the scale, exactly; sums are scaled in fp32, a block at a time.
 * Rows before w and from a head to the next are multiples of 32; columns before it a multiple of 64, for mla_q_absorb of 128.
 *
 * A plan, e.g. of "mla_v_out:h16,r512,v128,bf16,t16" (mlaf_plan_for), serves any number of tokens; it was made for t of them. */
#ifndef MLAFORGE_PROJECTION_H
#define MLAFORGE_PROJECTION_H

#include "mlaforge/mla_append.h"
#include "mlaforge/operation.h"

enum { MLAF_PROJECTION_TABLE_16 = 1u << 0 }; /* cosines and sines are of the problem's dtype; else fp32 */

/* Device pointers of the plan's device, tensors of the problem's dtype unless said. Strides in elements. All but positions
 * 16-byte aligned, all strides a multiple of 16 bytes. A stride of 0: dense. */
typedef struct mlaf_projection_args {
  uint32_t struct_size;      /* sizeof(mlaf_projection_args), set by MLAF_PROJECTION_ARGS_INIT */
  uint32_t flags;            /* MLAF_PROJECTION_* */
  int64_t tokens;            /* T, 0 and up */
  const void *x;
  int64_t x_token_stride, x_head_stride;
  const void *w;
  int64_t w_row_stride, w_head_stride;
  void *y;                   /* must not overlap the inputs; the residual may be y itself */
  int64_t y_token_stride, y_head_stride;
  const void *norm_weight;   /* [L]; only with norm */
  float eps;                 /* of the norm, added to the mean square */
  int32_t reserved;          /* 0 */
  const void *residual;      /* [T, d]; only with residual */
  int64_t residual_token_stride;
  const int64_t *positions;  /* [T] rows of the table; only where columns are rotated. Outside [0, table_rows): NaN there */
  const void *cos, *sin;     /* [table_rows, P/2]; sin NULL: a row of cos has its P/2 sines behind */
  int64_t table_row_stride;  /* 0: P/2, or P where sin is NULL */
  int64_t table_rows;
  const float *w_scale;      /* only with weights of 8 bits: one for each 128 x 128 of the tensor that w lies in */
  int64_t w_scale_row_stride; /* 0: dense, as many as the columns from w_scale's first to w's last have */
  int64_t w_scale_row, w_scale_column; /* w's place in that tensor, of which w_scale is the upper left scale: see above */
  void *workspace;           /* 256-byte aligned; wanted where mlaf_run_workspace says so, as launches of plans made with
                              * MLAF_PLAN_LIBRARY may. NULL with workspace_size 0: the stream's, which the context keeps
                              * (context.h). Launches that overlap must not share one of the caller's */
  size_t workspace_size;
} mlaf_projection_args;
#define MLAF_PROJECTION_ARGS_INIT \
  { .struct_size = sizeof(mlaf_projection_args), .eps = 1e-6f }

/* Arguments of mla_q_b where other problems follow in the same launch.
 *
 * "mla_q_b:l1536,h16,n128,p64,norm,bf16,t16+mla_append:r512,paged,pairs,norm": blocks beside the product do what a launch of
 * mla_append without query rows does. `append` is as that operation has it, its tokens apart from the product's, which are more
 * than 0. Its ckv and kpe are what the launch before wrote, and not y.
 *
 * "...,norm+mla_q_absorb:pairs": query heads go on into the latent space at once. `absorb` is as mla_q_absorb has it, of as many
 * tokens, but that its x is NULL and has no strides. The product's y is NULL then, without strides: queries are nowhere. */
typedef struct mlaf_q_b_args {
  mlaf_projection_args projection; /* whose struct_size is sizeof(mlaf_q_b_args) */
  mlaf_append_args append;         /* q_nope, q_pe, q_out, q_pe_out: NULL */
  mlaf_projection_args absorb;     /* looked at only where the problem absorbs */
} mlaf_q_b_args;
#define MLAF_Q_B_ARGS_INIT \
  { .projection = {.struct_size = sizeof(mlaf_q_b_args), .eps = 1e-6f}, .append = MLAF_APPEND_ARGS_INIT, \
    .absorb = MLAF_PROJECTION_ARGS_INIT }

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device memory
 * on the host. w and norm_weight are constants: a kernel may read them while the launch before still runs, which must not write
 * them. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_qkv_a_execute(const mlaf_plan *plan, const mlaf_projection_args *args, void *stream) {
  return mlaf_run(plan, "mla_qkv_a", args, stream);
}
static inline mlaf_status mlaf_q_b_execute(const mlaf_plan *plan, const mlaf_projection_args *args, void *stream) {
  return mlaf_run(plan, "mla_q_b", args, stream);
}
static inline mlaf_status mlaf_q_b_append_execute(const mlaf_plan *plan, const mlaf_q_b_args *args, void *stream) {
  return mlaf_run(plan, "mla_q_b", args, stream);
}
static inline mlaf_status mlaf_q_absorb_execute(const mlaf_plan *plan, const mlaf_projection_args *args, void *stream) {
  return mlaf_run(plan, "mla_q_absorb", args, stream);
}
static inline mlaf_status mlaf_v_out_execute(const mlaf_plan *plan, const mlaf_projection_args *args, void *stream) {
  return mlaf_run(plan, "mla_v_out", args, stream);
}
static inline mlaf_status mlaf_o_proj_execute(const mlaf_plan *plan, const mlaf_projection_args *args, void *stream) {
  return mlaf_run(plan, "mla_o_proj", args, stream);
}

#endif
