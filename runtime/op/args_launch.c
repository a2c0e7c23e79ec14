/* Launches of operations whose arguments are a table: one kernel, its grid rows by rows_per_wg. */
#include "op/args_launch.h"

enum { MAP_ALIGN = 64 };

static uint32_t block_bytes(const mlaf_args_table *t, const mlaf_kernel_launch *launch) {
  return launch->flags & MLAF_KERNEL_SCALES ? t->block_bytes : t->short_bytes;
}
uint32_t mlaf_arguments_maps_at(const mlaf_args_table *t, const mlaf_kernel_launch *launch) {
  return (block_bytes(t, launch) + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN;
}
uint32_t mlaf_arguments_parameter_bytes(const mlaf_args_table *t, const mlaf_kernel_launch *launch) {
  return launch->n_maps ? mlaf_arguments_maps_at(t, launch) + launch->n_maps * MLAF_MAP_BYTES : block_bytes(t, launch);
}

mlaf_status mlaf_arguments_check_stages(const mlaf_bound *b, mlaf_err *err) {
  const mlaf_op *op = b->point.op;
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no %s kernel", op->stages[0]);
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and %s has none: 1", b->knob, op->name);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many rows a workgroup has");
  return MLAF_OK;
}

mlaf_status mlaf_arguments_check_launch(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  return mlaf_arguments_check(b->point.op->calls->arguments, b, args, err);
}

mlaf_status mlaf_arguments_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_args_table *t = b->point.op->calls->arguments;
  const mlaf_stage *k = &b->stage[0];
  int64_t n[MLAF_ARG_SIZES];
  const int64_t rows = mlaf_arguments_fill(t, b->point.v, args, n, out->parameters);
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
  return t->complete ? t->complete(b, args, n, out->parameters, &out->launches[0], err) : MLAF_OK;
}
