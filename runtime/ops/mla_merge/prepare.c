/* Filling a launch. */
#include "ops/mla_merge/merge.h"

_Static_assert(sizeof(mlaf_merge_kernel_args) == 160, "templates/mla_merge/lib/args.h has as many bytes");
_Static_assert(sizeof(mlaf_merge_kernel_args) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");

uint32_t merge_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return (uint32_t)(sizeof(mlaf_merge_kernel_args) + launch->n_maps * MLAF_MAP_BYTES);
}

mlaf_status merge_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const merge_shape s = merge_shape_of(&b->point);
  const mlaf_merge_args a = merge_dense(&s, args);
  const mlaf_stage *k = &b->stage[0];
  mlaf_merge_kernel_args *to = (void *)out->parameters;
  const int64_t rows = a.tokens * s.heads;
  out->n = 0;
  if (!rows) return MLAF_OK;
  *to = (mlaf_merge_kernel_args){
      .prefix_o = a.prefix.o,
      .prefix_lse = a.prefix.lse,
      .suffix_o = a.suffix.o,
      .suffix_lse = a.suffix.lse,
      .o = a.o,
      .lse = a.lse,
      .prefix_token = 2 * a.prefix.o_token_stride,
      .prefix_head = 2 * a.prefix.o_head_stride,
      .prefix_lse_token = a.prefix.lse_token_stride,
      .prefix_lse_head = a.prefix.lse_head_stride,
      .suffix_token = 2 * a.suffix.o_token_stride,
      .suffix_head = 2 * a.suffix.o_head_stride,
      .suffix_lse_token = a.suffix.lse_token_stride,
      .suffix_lse_head = a.suffix.lse_head_stride,
      .o_token = 2 * a.o_token_stride,
      .o_head = 2 * a.o_head_stride,
      .lse_token = a.lse_token_stride,
      .lse_head = a.lse_head_stride,
      .rows = rows,
      .flags = a.flags,
  };
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)((rows + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {1, 1, 1},
      .args = to,
      .args_size = merge_parameter_bytes(0, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
