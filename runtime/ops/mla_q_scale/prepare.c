/* Filling a launch. */
#include "ops/mla_q_scale/scale.h"

_Static_assert(sizeof(mlaf_q_scale_kernel_args) == 72, "templates/mla_q_scale/lib/args.h has as many bytes");
_Static_assert(sizeof(mlaf_q_scale_kernel_args) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");

uint32_t q_scale_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return (uint32_t)(sizeof(mlaf_q_scale_kernel_args) + launch->n_maps * MLAF_MAP_BYTES);
}

mlaf_status q_scale_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const q_scale_shape s = q_scale_shape_of(&b->point);
  const mlaf_q_scale_args a = q_scale_dense(&s, args);
  const mlaf_stage *k = &b->stage[0];
  mlaf_q_scale_kernel_args *to = (void *)out->parameters;
  const int64_t rows = a.tokens * s.heads;
  out->n = 0;
  if (!rows) return MLAF_OK;
  *to = (mlaf_q_scale_kernel_args){
      .x = a.x,
      .y = a.y,
      .positions = a.positions,
      .x_token = 2 * a.x_token_stride,
      .x_head = 2 * a.x_head_stride,
      .y_token = 2 * a.y_token_stride,
      .y_head = 2 * a.y_head_stride,
      .rows = rows,
      .beta = a.beta,
      .original = (uint32_t)a.original,
  };
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)((rows + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {1, 1, 1},
      .args = to,
      .args_size = q_scale_parameter_bytes(0, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
