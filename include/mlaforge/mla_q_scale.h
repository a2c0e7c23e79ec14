/* mla_q_scale: the queries of each token times a factor of its position, for models that were trained so (Mistral-Large-3,
 * Mistral-Small-4; their configs call it llama_4_scaling).
 *
 *   y[t, h, :] = f x[t, h, :]     f = 1 + beta ln(1 + floor(positions[t] / original))
 *
 * Columns that are rotated get it like the others, so it may stand before the rotation or behind it. A plan of a problem such
 * as "mla_q_scale:h16,n192,bf16,t64" (mlaf_plan_for) serves any number of tokens.
 *
 * Made by tools/args.lua of gen/ops/mla_q_scale/args.lua. */
#ifndef MLAFORGE_MLA_Q_SCALE_H
#define MLAFORGE_MLA_Q_SCALE_H

#include "mlaforge/operation.h"

#define MLAF_Q_SCALE_BETA_MOST 1e6f /* either way: no factor of any position is near what a float holds */

/* Device pointers of the plan's device, x and y [T, H, n] 16-byte aligned. Strides in elements, a multiple of 8; 0: dense. y
 * NULL: x is scaled in place, and tokens before `original` are not touched. Else the two must not overlap. Rows of what is
 * written must not overlap either. */
typedef struct mlaf_q_scale_args {
  uint32_t struct_size; /* sizeof(mlaf_q_scale_args), set by MLAF_Q_SCALE_ARGS_INIT */
  uint32_t flags; /* 0 */
  int64_t tokens; /* T, 0 and up */
  const void *x; /* in place written to, too */
  int64_t x_token_stride, x_head_stride;
  void *y; /* NULL: in place */
  int64_t y_token_stride, y_head_stride;
  const int64_t *positions; /* [T]; below 0 counts as 0, beyond 2^31-1 as that */
  float beta; /* at most MLAF_Q_SCALE_BETA_MOST either way */
  int32_t original; /* positions that share a factor, 1 and up */
} mlaf_q_scale_args;
#define MLAF_Q_SCALE_ARGS_INIT {.struct_size = sizeof(mlaf_q_scale_args)}

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device
 * memory on the host. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_q_scale_execute(const mlaf_plan *plan, const mlaf_q_scale_args *args, void *stream) {
  return mlaf_run(plan, "mla_q_scale", args, stream);
}

#endif
