/* Loading a variant: its kernels on a device, and what they want of it. */
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "run/loaded_impl.h"

/* What the kernel asks for that not every back end has. */
static mlaf_status check_wishes(mlaf_device *dev, const mlaf_kernel_launch *l, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  const bool clustered = l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1;
  if (clustered && !(ops->features & MLAF_DEVICE_CLUSTERS))
    return mlaf_fail(err, MLAF_E_ARG, "wants clusters of %ux%ux%u blocks, %s has none", l->cluster[0], l->cluster[1],
                     l->cluster[2], ops->name);
  if (l->n_maps && !ops->tensor_map_encode)
    return mlaf_fail(err, MLAF_E_ARG, "wants %u tensor maps, %s has none", l->n_maps, ops->name);
  for (uint32_t i = 0; i < l->n_maps; i++)
    if (l->maps[i].of > MLAF_MAP_O)
      return mlaf_fail(err, MLAF_E_ARG, "wants a map of tensor %u, of which the operation has %d: another version made it",
                       l->maps[i].of, MLAF_MAP_O);
  return MLAF_OK;
}

static mlaf_status load(mlaf_device *dev, const mlaf_kernel_ref *ref, mlaf_code code, mlaf_loaded_kernel *out,
                        mlaf_err *err) {
  const mlaf_device_info *info = mlaf_info(dev);
  if (!code.bytes || !code.size) return mlaf_fail(err, MLAF_E_ARG, "kernel %s: no code object", ref->symbol);
  if (!ref->threads || ref->threads > (uint32_t)info->max_threads || !ref->rows_per_wg)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: %u threads (1..%d on %s), %u rows per workgroup", ref->symbol,
                     ref->threads, info->max_threads, info->name, ref->rows_per_wg);
  out->threads = ref->threads;
  out->rows_per_wg = ref->rows_per_wg;
  mlaf_status st = mlaf_code_launch(code.bytes, code.size, ref->symbol, &out->launch, err);
  if (!st) st = check_wishes(dev, &out->launch, err);
  if (!st) st = mlaf_ops(dev)->module_load(dev, code.bytes, code.size, &out->module, err);
  if (!st) st = mlaf_ops(dev)->function_get(dev, out->module, ref->symbol, &out->fn, err);
  return st ? mlaf_fail_prefix(err, st, "kernel %s", ref->symbol) : MLAF_OK;
}

/* What is left cut is merged, and a combine kernel reads what its decode kernel writes. */
static mlaf_status check_pair(const mlaf_loaded *l, mlaf_err *err) {
  if (l->splits > 1 && !l->combine.fn)
    return mlaf_fail(err, MLAF_E_ARG, "variant %s: %u splits without a combine kernel", l->name, l->splits);
  if (!l->combine.fn && mlaf_launch_needs_combine(l->decode.launch.flags))
    return mlaf_fail(err, MLAF_E_ARG, "variant %s: no combine kernel, and its decode kernel may cut its batch by itself and "
                     "leaves the pieces to one, also with one split", l->name);
  if (!l->combine.fn) return MLAF_OK;
  if ((l->combine.launch.flags & MLAF_KERNEL_FITS) != (l->decode.launch.flags & MLAF_KERNEL_FITS))
    return mlaf_fail(err, MLAF_E_ARG, "variant %s: decode and combine kernel are of different schedules", l->name);
  if (l->combine.launch.n_maps)
    return mlaf_fail(err, MLAF_E_ARG, "variant %s: a combine kernel gets no tensor maps", l->name);
  return MLAF_OK;
}

/* The shape reaches a launch twice: compiled into the kernels, and from the problem, by which the launch is laid out. */
static mlaf_status check_shape(const mlaf_kernel_ref *ref, const mlaf_problem *p, mlaf_err *err) {
  const struct {
    const char *name;
    int32_t value;
  } fields[] = {{"heads=", p->heads}, {"rank=", p->rank}, {"rope=", p->rope}, {"q_len=", p->q_len}, {"page_size=", p->page_size}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    for (const char *at = ref->params; *at; at += strcspn(at, ","), at += *at == ',') {
      const size_t n = strlen(fields[i].name);
      if (strncmp(at, fields[i].name, n) || strtol(at + n, NULL, 10) == fields[i].value) continue;
      return mlaf_fail(err, MLAF_E_ARG, "kernel %s was made for %.*s, and the problem has %s%d: plan or make the bundle again",
                       ref->symbol, (int)strcspn(at, ","), at, fields[i].name, fields[i].value);
    }
  return MLAF_OK;
}

mlaf_status mlaf_loaded_open(mlaf_device *dev, const mlaf_problem *problem, const mlaf_loaded_desc *desc,
                             mlaf_loaded **out, mlaf_err *err) {
  const bool has_combine = desc->combine && desc->combine->template_name[0];
  if (!desc->splits) return mlaf_fail(err, MLAF_E_ARG, "variant %s: 0 splits", desc->name);
  mlaf_loaded *l = calloc(1, sizeof *l);
  if (!l) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to load variant %s", desc->name);
  l->dev = dev;
  l->problem = *problem;
  l->splits = desc->splits;
  strncpy(l->name, desc->name ? desc->name : "", sizeof l->name - 1);
  mlaf_status st = check_shape(desc->decode, problem, err);
  if (!st && has_combine) st = check_shape(desc->combine, problem, err);
  if (!st) st = load(dev, desc->decode, desc->decode_code, &l->decode, err);
  if (!st && has_combine) st = load(dev, desc->combine, desc->combine_code, &l->combine, err);
  if (!st) st = check_pair(l, err);
  if (st) {
    mlaf_loaded_close(l);
    return st;
  }
  *out = l;
  return MLAF_OK;
}

void mlaf_loaded_close(mlaf_loaded *l) {
  if (!l) return;
  if (l->decode.module) mlaf_ops(l->dev)->module_unload(l->dev, l->decode.module);
  if (l->combine.module) mlaf_ops(l->dev)->module_unload(l->dev, l->combine.module);
  free(l);
}

mlaf_device *mlaf_loaded_device(const mlaf_loaded *l) { return l->dev; }
const mlaf_problem *mlaf_loaded_problem(const mlaf_loaded *l) { return &l->problem; }
const char *mlaf_loaded_name(const mlaf_loaded *l) { return l->name; }
uint32_t mlaf_loaded_splits(const mlaf_loaded *l) { return l->splits; }
