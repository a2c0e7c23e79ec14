/* Launches of operations whose arguments are a table: one kernel, its grid rows by rows_per_wg. */
#include "op/args_launch.h"

uint32_t mlaf_arguments_parameter_bytes(const mlaf_args_table *t, const mlaf_kernel_launch *launch) {
  return (uint32_t)(t->block_bytes + launch->n_maps * MLAF_MAP_BYTES);
}

mlaf_status mlaf_arguments_check_stages(const mlaf_bound *b, mlaf_err *err) {
  const mlaf_op *op = b->point.op;
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no %s kernel", op->stages[0]);
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and %s has none: 1", b->knob, op->name);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many rows a workgroup has");
  return MLAF_OK;
}

mlaf_status mlaf_arguments_check_launch(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_stage *k = &b->stage[0];
  return mlaf_arguments_check(b->point.op->calls->arguments, b->point.v, k->threads, k->rows_per_wg, args, err);
}

mlaf_status mlaf_arguments_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_args_table *t = b->point.op->calls->arguments;
  const mlaf_stage *k = &b->stage[0];
  const int64_t rows = mlaf_arguments_fill(t, b->point.v, args, out->parameters);
  out->n = 0;
  if (!rows) return MLAF_OK;
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)((rows + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {1, 1, 1},
      .args = out->parameters,
      .args_size = mlaf_arguments_parameter_bytes(t, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
