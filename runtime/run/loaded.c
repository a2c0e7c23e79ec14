/* Loading a variant: its kernels on a device, and what they want of it. */
#include "run/loaded.h"

#include "run/resources.h"

struct mlaf_loaded {
  mlaf_bound bound;
  const mlaf_calls *calls;
  mlaf_series_chains *chains; /* of its kernels, alone and between others; NULL: launched one by one */
  char name[256];
};

static mlaf_status load(const mlaf_loaded *l, const mlaf_kernel_ref *ref, mlaf_code code, mlaf_stage *out, mlaf_err *err) {
  mlaf_device *dev = l->bound.dev;
  const mlaf_device_info *info = mlaf_info(dev);
  if (!code.bytes || !code.size) return mlaf_fail(err, MLAF_E_ARG, "kernel %s: no code object", ref->symbol);
  if (!ref->threads || ref->threads > (uint32_t)info->max_threads || !ref->rows_per_wg)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: %u threads (1..%d on %s), %u rows per workgroup", ref->symbol,
                     ref->threads, info->max_threads, info->name, ref->rows_per_wg);
  out->threads = ref->threads;
  out->rows_per_wg = ref->rows_per_wg;
  const mlaf_asking asking = {.symbol = ref->symbol, .calls = l->calls, .dev = dev};
  mlaf_status st = mlaf_code_launch(code.bytes, code.size, ref->symbol, &out->launch, err);
  if (!st && mlaf_declared_check(&asking, &out->launch, err)) return MLAF_E_TEMPLATE;
  if (!st) st = mlaf_ops(dev)->module_load(dev, code.bytes, code.size, &out->module, err);
  if (!st) st = mlaf_ops(dev)->function_get(dev, out->module, ref->symbol, &out->fn, err);
  if (!st && out->launch.flags & MLAF_KERNEL_LIBRARY) out->workspace = mlaf_ops(dev)->library_workspace(out->fn);
  return st ? mlaf_fail_prefix(err, st, "kernel %s", ref->symbol) : MLAF_OK;
}

static mlaf_status load_all(mlaf_loaded *l, const mlaf_loaded_desc *desc, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < MLAF_STAGES_MAX; i++) {
    const mlaf_kernel_ref *ref = desc->kernels[i].ref;
    if (ref && ref->template_name[0]) st = mlaf_shape_check(&l->bound.point, ref->symbol, ref->params, err);
  }
  for (int i = 0; !st && i < MLAF_STAGES_MAX; i++) {
    const mlaf_kernel_ref *ref = desc->kernels[i].ref;
    if (ref && ref->template_name[0]) st = load(l, ref, desc->kernels[i].code, &l->bound.stage[i], err);
  }
  if (st) return st;
  st = l->calls->check_stages(&l->bound, err);
  if (st) return mlaf_fail_prefix(err, st, "variant %s", l->name);
  if (l->calls->settle) l->calls->settle(&l->bound);
  return MLAF_OK;
}

mlaf_status mlaf_loaded_open(mlaf_device *dev, const mlaf_point *problem, const mlaf_loaded_desc *desc,
                             mlaf_loaded **out, mlaf_err *err) {
  mlaf_loaded *l = calloc(1, sizeof *l);
  if (!l) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to load variant %s", desc->name);
  l->bound = (mlaf_bound){.dev = dev, .point = *problem, .knob = desc->knob};
  l->calls = problem->op->calls;
  strncpy(l->name, desc->name ? desc->name : "", sizeof l->name - 1);
  mlaf_status st = load_all(l, desc, err);
  if (st) {
    mlaf_loaded_close(l);
    return st;
  }
  *out = l;
  return MLAF_OK;
}

void mlaf_loaded_chain(mlaf_loaded *l) {
  if (!l->chains) l->chains = mlaf_series_chains_new(l->bound.dev);
}

void mlaf_loaded_close(mlaf_loaded *l) {
  if (!l) return;
  mlaf_series_chains_free(l->chains);
  for (int i = 0; i < MLAF_STAGES_MAX; i++)
    if (l->bound.stage[i].module) mlaf_ops(l->bound.dev)->module_unload(l->bound.dev, l->bound.stage[i].module);
  free(l);
}

mlaf_device *mlaf_loaded_device(const mlaf_loaded *l) { return l->bound.dev; }
const mlaf_point *mlaf_loaded_problem(const mlaf_loaded *l) { return &l->bound.point; }
const char *mlaf_loaded_name(const mlaf_loaded *l) { return l->name; }
uint32_t mlaf_loaded_knob(const mlaf_loaded *l) { return l->bound.knob; }
const mlaf_bound *mlaf_loaded_bound(const mlaf_loaded *l) { return &l->bound; }
const mlaf_calls *mlaf_loaded_calls(const mlaf_loaded *l) { return l->calls; }

size_t mlaf_loaded_workspace_size(const mlaf_loaded *l, uint32_t knob, int64_t rows) {
  return l->calls->workspace ? l->calls->workspace(&l->bound, knob, rows) : 0;
}

mlaf_status mlaf_loaded_check(const mlaf_loaded *l, uint32_t knob, const void *args, mlaf_err *err) {
  return l->calls->check_args(&l->bound, knob, args, err);
}

mlaf_status mlaf_loaded_prepare(const mlaf_loaded *l, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  return l->calls->prepare(&l->bound, knob, args, out, err);
}

mlaf_status mlaf_loaded_launch(const mlaf_loaded *l, uint32_t knob, const void *args, void *stream, mlaf_err *err) {
  return mlaf_loaded_launch_within(l, knob, args, NULL, NULL, stream, err);
}

mlaf_status mlaf_loaded_launch_within(const mlaf_loaded *l, uint32_t knob, const void *args, const mlaf_second_prepared *around,
                                      mlaf_series *to, void *stream, mlaf_err *err) {
  mlaf_device *dev = l->bound.dev;
  mlaf_prepared prepared;
  mlaf_whole_args whole;
  mlaf_launch all[MLAF_STAGES_MAX + MLAF_SECOND_LAUNCHES];
  size_t n = 0;
  const void *a = mlaf_args_take(l->calls, args, &whole, err);
  mlaf_status st = a ? mlaf_loaded_check(l, knob, a, err) : MLAF_E_ARG;
  if (!st) st = mlaf_loaded_prepare(l, knob, a, &prepared, err);
  if (st) return st;
  for (size_t i = 0; around && i < around->ahead; i++) all[n++] = around->launch[i];
  for (size_t i = 0; i < prepared.n; i++) all[n++] = prepared.launches[i];
  for (size_t i = around ? around->ahead : 0; around && i < around->n; i++) all[n++] = around->launch[i];
  if (to) return mlaf_series_launch(to, all, n, err);
  if (l->chains && n > 1) return mlaf_series_chains_launch(l->chains, stream, all, n, err);
  for (size_t i = 0; !st && i < n; i++) st = mlaf_ops(dev)->launch(dev, stream, &all[i], err);
  return st;
}
