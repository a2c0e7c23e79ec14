/* Which plans of a bundle serve a problem, and with how many splits. */
#include "bundle/bundle.h"

bool mlaf_bundle_has_target(const mlaf_bundle *b, const char *target) {
  for (size_t i = 0; i < b->n_targets; i++)
    if (!strcmp(b->targets[i].name, target)) return true;
  return false;
}

static bool serves(const mlaf_bundle_plan *x, const char *target, const mlaf_point *p) {
  return mlaf_point_same_shape(&x->problem, p) && !strcmp(x->target, target);
}

static mlaf_offer offer_of(const mlaf_bundle_plan *x) {
  const mlaf_bundle_kernel *k = x->kernels[0];
  mlaf_offer out = {.of = x, .problem = x->problem, .baseline = x->baseline, .knob = x->knob, .flags = k->flags,
                    .first = {k->rows_per_wg, k->step, k->slots}};
  for (int i = 0; i < MLAF_STAGES_MAX; i++) out.kernels[i] = x->kernels[i];
  return out;
}

mlaf_status mlaf_bundle_rank(const mlaf_bundle *b, const char *target, const mlaf_point *p, mlaf_offer **list, size_t *n,
                             mlaf_err *err) {
  size_t found = 0;
  for (size_t i = 0; i < b->n_plans; i++) found += serves(&b->plans[i], target, p);
  *list = NULL;
  *n = 0;
  if (!found) return MLAF_OK;
  *list = malloc(found * sizeof **list);
  if (!*list) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to look into the bundle");
  for (size_t i = 0; i < b->n_plans; i++)
    if (serves(&b->plans[i], target, p)) (*list)[(*n)++] = offer_of(&b->plans[i]);
  mlaf_offers_rank(*list, *n, p);
  return MLAF_OK;
}

/* FAMILY:decode/sN[,combine], with another N. */
static void rename_variant(const mlaf_bundle_plan *x, const mlaf_bundle_plan *merge, mlaf_bundle_fitted *out) {
  const char *slash = strrchr(x->variant, '/'), *rest = merge ? strrchr(merge->variant, '/') : NULL;
  if (rest) rest = strchr(rest, ',');
  const size_t stem = slash ? (size_t)(slash - x->variant) : strlen(x->variant);
  snprintf(out->variant, sizeof out->variant, "%.*s/s%u%s", (int)stem, x->variant, out->knob, rest ? rest : "");
}

void mlaf_bundle_fit(const mlaf_offer *list, size_t n, size_t i, const mlaf_point *p, mlaf_bundle_fitted *out) {
  const mlaf_bundle_plan *x = list[i].of;
  const mlaf_offer_fitted f = mlaf_offer_fit(list, n, i, p);
  const mlaf_bundle_plan *second = f.second ? f.second->of : NULL;
  *out = (mlaf_bundle_fitted){.knob = f.knob};
  memcpy(out->kernels, x->kernels, sizeof out->kernels);
  out->kernels[1] = second ? second->kernels[1] : NULL;
  if (f.knob == x->knob) snprintf(out->variant, sizeof out->variant, "%s", x->variant);
  else rename_variant(x, second, out);
}
