/* What a code object says of itself against what its variant promised. */
#include <string.h>

#include "ops/mla_decode/launch.h"
#include "tune/tune.h"

uint32_t mlaf_resources_vgpr(const mlaf_kernel_meta *meta) {
  return meta->vgpr_count > meta->agpr_count ? meta->vgpr_count - meta->agpr_count : meta->vgpr_count;
}

mlaf_status mlaf_resources_of(const mlaf_tuner_steps *steps, const mlaf_kernel_desc *k, const void *code, size_t size,
                              mlaf_kernel_meta *out, mlaf_err *err) {
  mlaf_kernel_meta list[8];
  size_t n = 0;
  mlaf_status status =
      (steps ? steps : &mlaf_tuner_real_steps)->meta(code, size, list, sizeof list / sizeof *list, &n, err);
  if (status != MLAF_OK) return status;
  for (size_t i = 0; i < n && i < sizeof list / sizeof *list; i++)
    if (strcmp(list[i].symbol, k->symbol) == 0) {
      *out = list[i];
      return MLAF_OK;
    }
  return mlaf_fail(err, MLAF_E_INCORRECT, "the code object has no kernel '%s'", k->symbol);
}

mlaf_status mlaf_resources_check(const mlaf_kernel_desc *k, const mlaf_kernel_meta *m, size_t kernarg_bytes,
                                 mlaf_err *err) {
  const char *name = k->template_name;
  if (m->scratch_bytes)
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s uses %u bytes of scratch; 0 is allowed", name, m->scratch_bytes);
  if (m->vgpr_spills || m->sgpr_spills)
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s spills %u vector and %u scalar registers", name, m->vgpr_spills,
                     m->sgpr_spills);
  if (m->lds_bytes != k->lds_bytes)
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s takes %u bytes of LDS where its budget says %u", name, m->lds_bytes,
                     k->lds_bytes);
  /* The budget is what the occupancy was planned with: more registers mean fewer waves than the plan has. */
  if (k->vgpr_budget && m->vgpr_count > k->vgpr_budget)
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s takes %u registers (%u of them accumulation registers), budget %u",
                     name, m->vgpr_count, m->agpr_count, k->vgpr_budget);
  if (m->max_threads < k->threads)
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s was compiled for %u threads, %u are launched", name, m->max_threads,
                     k->threads);
  const uint32_t passed = mlaf_launch_block_size(&m->launch, (uint32_t)kernarg_bytes);
  if (kernarg_bytes && m->kernarg_bytes != passed)
    return mlaf_fail(err, MLAF_E_INCORRECT, "%s takes %u bytes of arguments, the runtime passes %u", name, m->kernarg_bytes,
                     passed);
  return MLAF_OK;
}
