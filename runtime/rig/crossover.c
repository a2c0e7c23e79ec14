/* Search for the number of new tokens from which on a layer's prefill is faster than calls with few query tokens, over so many
 * cached ones. Whole layers of both forms are checked and timed; what is found is a choice of the database. */
#include "rig/rig.h"
#include "layer/chunked.h"

mlaf_status layer_cross(int32_t first, int32_t most, layer_lead_fn lead, void *user, int32_t *out) {
  int32_t low = 0, high = 0, n = first < 1 ? 1 : first < most ? first : most; /* leads below 0 at `low`, above at `high` */
  double at_low = 0, at_high = 0, x;
  *out = 0;
  while (!low || !high) {
    const mlaf_status st = lead(user, n, &x);
    if (st) return st;
    if (x > 0) high = n, at_high = x;
    else low = n, at_low = x;
    if (high == 1) break;
    if (low == most) return MLAF_OK;
    n = !low ? n * 2 / 3 : n > most * 2 / 3 ? most : n + (n + 1) / 2;
    if (n < 1) n = 1;
  }
  while (low && high - low > 1 + low / 16) {
    const mlaf_status st = lead(user, n = low + (high - low) / 2, &x);
    if (st) return st;
    if (x > 0) high = n, at_high = x;
    else low = n, at_low = x;
  }
  *out = low ? low + (int32_t)ceil((high - low) * at_low / (at_low - at_high)) : high;
  if (*out <= low) *out = low + 1;
  return MLAF_OK;
}

/* --- one number of new tokens --- */

static mlaf_status time_form(layer_crossing *x, int32_t n, bool prefill, mlaf_timing *out) {
  layer_rig r = {.env = NULL};
  layer_checked checked;
  const layer_request request = {x->keys, n};
  layer_setup s = x->setup;
  s.requests = &request, s.batch = 1, s.prefill = prefill, s.weights = &x->weights, s.checked = 1;
  mlaf_status st = layer_rig_open(x->env, &s, layer_sets_wanted(mlaf_ctx_device(x->env->ctx), &s, false), &r);
  const layer_tolerance bound = {.worst = st ? 0 : mlaf_form_bound(&r.form), .row = 5e-3};
  if (!st) st = layer_rig_run(&r);
  if (!st) st = layer_check(&r, &bound, &checked);
  if (!st) st = layer_time(&r, 0, 0, out);
  if (!st) x->error = fmax(x->error, checked.worst);
  if (!st && prefill) x->kernel = *mlaf_plan_kernel(layer_prefill_of(r.layer[0])->context);
  if (r.env) layer_rig_close(&r);
  return st;
}

mlaf_status layer_crossing_lead(layer_crossing *x, int32_t n, mlaf_timing *absorbed, mlaf_timing *expanded) {
  mlaf_status st = time_form(x, n, false, absorbed);
  if (!st) st = time_form(x, n, true, expanded);
  if (!st && absorbed->ns > expanded->ns) x->expanded = *expanded;
  return st;
}

mlaf_status layer_crossing_store(layer_crossing *x, const mlaf_point *problem, int32_t tokens) {
  mlaf_ctx *ctx = x->env->ctx;
  mlaf_sample sample = {.variant = "new_tokens", .knob = (uint32_t)tokens, .outcome = MLAF_OUT_OK, .timing = x->expanded,
                        .error = x->error,
                        .source = x->expanded.source == MLAF_TIME_MODELLED ? MLAF_SRC_MODELLED : MLAF_SRC_MEASURED};
  sample.kernels[0] = x->kernel;
  if (!x->kernel.template_name[0])
    return mlaf_fail(x->env->err, MLAF_E_ARG, "kernels of a bundle do not say what they were made of: time it without --bundle");
  pthread_mutex_lock(&ctx->lock);
  const mlaf_status st = ctx->db ? mlaf_db_add_sample(ctx->db, mlaf_info(mlaf_ctx_device(ctx)), mlaf_ctx_toolchain(ctx), problem,
                                                      &sample, x->env->err)
                                 : mlaf_fail(x->env->err, ctx->db_why.status, "it cannot be stored: %s", ctx->db_why.text);
  pthread_mutex_unlock(&ctx->lock);
  return st;
}
