/* Compares what a code object says of itself with what was promised of it. */
#include "run/resources.h"

mlaf_budget mlaf_budget_of(const mlaf_kernel_desc *k) { return (mlaf_budget){true, k->lds_bytes, k->vgpr_budget}; }

uint32_t mlaf_resources_vgpr(const mlaf_kernel_meta *meta) {
  return meta->vgpr_count > meta->agpr_count ? meta->vgpr_count - meta->agpr_count : meta->vgpr_count;
}

static bool find(const char *symbol, const mlaf_kernel_meta *list, size_t n, mlaf_kernel_meta *out) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(list[i].symbol, symbol)) {
      *out = list[i];
      return true;
    }
  return false;
}

/* Code objects of ours have one kernel; whatever others have, all are looked at. */
mlaf_status mlaf_resources_read(mlaf_meta_fn read, const char *symbol, const void *code, size_t size, mlaf_kernel_meta *out,
                                mlaf_err *err) {
  enum { FEW = 2 };
  mlaf_kernel_meta few[FEW], *all = few;
  size_t n = 0, kept = FEW;
  if (!read) read = mlaf_code_meta;
  mlaf_status st = read(code, size, few, FEW, &n, err);
  if (!st && n > FEW) {
    kept = n;
    all = calloc(n, sizeof *all);
    st = all ? read(code, size, all, kept, &n, err) : mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu kernels", kept);
  }
  if (st) mlaf_fail_prefix(err, st, "%s", symbol);
  else if (!find(symbol, all, n < kept ? n : kept, out))
    st = mlaf_fail(err, MLAF_E_TEMPLATE, "the code object has no kernel '%s'", symbol);
  if (all != few) free(all);
  return st;
}

/* --- the rule --- */

static mlaf_status check_memory(const mlaf_asking *k, const mlaf_kernel_meta *m, mlaf_err *err) {
  const int32_t room = k->dev ? mlaf_info(k->dev)->lds_bytes : 0;
  if (m->scratch_bytes)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s uses %u bytes of scratch; 0 is allowed", k->symbol, m->scratch_bytes);
  if (m->vgpr_spills || m->sgpr_spills)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s spills %u vector and %u scalar registers", k->symbol, m->vgpr_spills,
                     m->sgpr_spills);
  if (k->budget.known && m->lds_bytes != k->budget.lds_bytes)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s takes %u bytes of LDS where its budget says %u", k->symbol, m->lds_bytes,
                     k->budget.lds_bytes);
  if (room > 0 && m->lds_bytes > (uint32_t)room)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s takes %u bytes of LDS, %s has %d", k->symbol, m->lds_bytes,
                     mlaf_info(k->dev)->name, room);
  return MLAF_OK;
}

static mlaf_status check_threads(const mlaf_asking *k, const mlaf_kernel_meta *m, mlaf_err *err) {
  /* The budget is what the occupancy was planned with: more registers mean fewer waves than the plan has. */
  if (k->budget.known && k->budget.vgpr && m->vgpr_count > k->budget.vgpr)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s takes %u registers (%u of them accumulation registers), budget %u", k->symbol,
                     m->vgpr_count, m->agpr_count, k->budget.vgpr);
  if (m->max_threads < k->threads)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s was compiled for %u threads, %u are launched", k->symbol, m->max_threads,
                     k->threads);
  return MLAF_OK;
}

static mlaf_status check_parameters(const mlaf_asking *k, const mlaf_kernel_meta *m, mlaf_err *err) {
  const uint32_t passed = k->calls ? k->calls->parameter_bytes(k->stage, &m->launch) : m->kernarg_bytes;
  if (m->kernarg_bytes != passed)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s takes %u bytes of arguments, the runtime passes %u", k->symbol, m->kernarg_bytes,
                     passed);
  return MLAF_OK;
}

mlaf_status mlaf_declared_check(const mlaf_asking *k, const mlaf_kernel_launch *l, mlaf_err *err) {
  const mlaf_device_ops *ops = k->dev ? mlaf_ops(k->dev) : NULL;
  const bool clustered = l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1;
  const uint32_t mapped = k->calls ? k->calls->n_mapped : 0;
  for (uint32_t i = 0; i < l->n_maps; i++)
    if (l->maps[i].of > mapped)
      return mlaf_fail(err, MLAF_E_TEMPLATE, "%s wants a map of tensor %u, of which the operation has %u: another version made "
                       "it", k->symbol, l->maps[i].of, mapped);
  if (l->flags & MLAF_KERNEL_LIBRARY && k->calls && !k->calls->libraries)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s is a library's product, which the operation has no use for", k->symbol);
  if (l->flags & MLAF_KERNEL_LIBRARY && ops && !(ops->features & MLAF_DEVICE_LIBRARIES))
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s is a library's product, and %s runs no libraries", k->symbol, ops->name);
  if (ops && clustered && !(ops->features & MLAF_DEVICE_CLUSTERS))
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s wants clusters of %ux%ux%u blocks, %s has none", k->symbol, l->cluster[0],
                     l->cluster[1], l->cluster[2], ops->name);
  if (ops && l->n_maps && !ops->tensor_map_encode)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%s wants %u tensor maps, %s has none", k->symbol, l->n_maps, ops->name);
  return MLAF_OK;
}

mlaf_status mlaf_resources_check(const mlaf_asking *k, const mlaf_kernel_meta *m, mlaf_err *err) {
  mlaf_status st = check_memory(k, m, err);
  if (!st) st = check_threads(k, m, err);
  if (!st) st = mlaf_declared_check(k, &m->launch, err);
  return st ? st : check_parameters(k, m, err); /* maps are parameters */
}

/* --- the shape --- */

/* A field's value as parameters have it: "16", "bf16". */
static void value_of(const mlaf_point *p, const mlaf_field *f, char out[32]) {
  const int32_t v = p->v[f - p->op->fields];
  if (f->words && !mlaf_field_is_flag(f)) snprintf(out, 32, "%s", f->words[v]);
  else snprintf(out, 32, "%d", v);
}

mlaf_status mlaf_shape_check(const mlaf_point *p, const char *symbol, const char *params, mlaf_err *err) {
  for (const char *at = params; *at; at += strcspn(at, ","), at += *at == ',')
    for (int i = 0; i < p->op->n_fields; i++) {
      const mlaf_field *f = &p->op->fields[i];
      const size_t n = strlen(f->name), all = strcspn(at, ",");
      char value[32];
      if (strncmp(at, f->name, n) || at[n] != '=') continue;
      value_of(p, f, value);
      if (strlen(value) == all - n - 1 && !strncmp(at + n + 1, value, all - n - 1)) continue;
      return mlaf_fail(err, MLAF_E_ARG, "kernel %s was made for %.*s, and the problem has %s=%s: plan or make the bundle again",
                       symbol, (int)all, at, f->name, value);
    }
  return MLAF_OK;
}
