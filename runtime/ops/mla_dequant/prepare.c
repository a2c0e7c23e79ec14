/* Filling a launch. */
#include "ops/mla_dequant/dequant.h"

_Static_assert(sizeof(mlaf_dequant_kernel_args) == 72, "templates/mla_dequant/lib/args.h has as many bytes");
_Static_assert(sizeof(mlaf_dequant_kernel_args) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");

uint32_t dequant_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return (uint32_t)(sizeof(mlaf_dequant_kernel_args) + launch->n_maps * MLAF_MAP_BYTES);
}

mlaf_status dequant_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const dequant_shape s = dequant_shape_of(&b->point);
  const mlaf_dequant_args a = dequant_dense(&s, args);
  const mlaf_stage *k = &b->stage[0];
  mlaf_dequant_kernel_args *to = (void *)out->parameters;
  out->n = 0;
  if (!a.rows) return MLAF_OK;
  *to = (mlaf_dequant_kernel_args){
      .w = a.w,
      .w_scale = a.w_scale,
      .y = a.y,
      .w_row = a.w_row_stride,
      .scale_row = (int64_t)sizeof(float) * a.w_scale_row_stride,
      .y_row = 2 * a.y_row_stride,
      .scale_first_row = a.w_scale_row,
      .scale_first_column = a.w_scale_column,
      .rows = a.rows,
  };
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)((a.rows + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {1, 1, 1},
      .args = to,
      .args_size = dequant_parameter_bytes(0, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
