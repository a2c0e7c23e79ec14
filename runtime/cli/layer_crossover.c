/* `mlaforge layer --crossover`: from how many new tokens on a layer's prefill is faster than the same tokens as requests of few,
 * over so many cached ones. Whole layers of both forms are checked and timed; what is found is a choice of the database, which
 * says nothing of weights: of 8 bits none is stored. */
#include <math.h>
#include <string.h>

#include "cli/layer.h"
#include "layer/chunked.h"

enum { MOST = 4096 /* new tokens, which are tried and stored */ };

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

typedef struct crossing {
  cli *c;
  layer_setup setup;
  layer_weights weights;
  cli_table *table;
  int32_t keys;
  double error;
  mlaf_timing expanded; /* of the last number of tokens where it led, and what it led with */
  mlaf_kernel_ref kernel;
} crossing;

static mlaf_status time_form(crossing *x, int32_t n, bool prefill, mlaf_timing *out) {
  layer_rig r = {.c = NULL};
  layer_checked checked;
  const layer_request request = {x->keys, n};
  layer_setup s = x->setup;
  s.requests = &request, s.batch = 1, s.prefill = prefill, s.weights = &x->weights, s.checked = 1;
  mlaf_status st = layer_rig_open(x->c, &s, layer_sets_wanted(mlaf_ctx_device(x->c->ctx), &s, false), &r);
  const layer_tolerance bound = {.worst = st ? 0 : mlaf_form_bound(&r.form), .row = 5e-3};
  if (!st) st = layer_rig_run(&r);
  if (!st) st = layer_check(&r, &bound, &checked);
  if (!st) st = layer_time(&r, 0, 0, out);
  if (!st) x->error = fmax(x->error, checked.worst);
  if (!st && prefill) x->kernel = *mlaf_plan_kernel(layer_prefill_of(r.layer[0])->context);
  if (r.c) layer_rig_close(&r);
  return st;
}

static mlaf_status lead(void *user, int32_t n, double *out) {
  crossing *x = user;
  mlaf_timing absorbed, expanded;
  mlaf_status st = time_form(x, n, false, &absorbed);
  if (!st) st = time_form(x, n, true, &expanded);
  if (st) return st;
  *out = absorbed.ns - expanded.ns;
  if (*out > 0) x->expanded = expanded;
  if (x->table) {
    mlaf_cli_table_cell(x->table, "%d", n);
    mlaf_cli_table_cell(x->table, "%.1f", absorbed.ns / 1000);
    mlaf_cli_table_cell(x->table, "%.1f", expanded.ns / 1000);
    return MLAF_OK;
  }
  cJSON *e = mlaf_cli_event("layer_forms_of_prefill");
  cJSON_AddNumberToObject(e, "tokens", n);
  cJSON_AddNumberToObject(e, "absorbed_ns", absorbed.ns);
  cJSON_AddNumberToObject(e, "expanded_ns", expanded.ns);
  mlaf_cli_emit(e);
  return MLAF_OK;
}

/* --- what holds, and what is found --- */

/* The plans of a layer whose prefill answers; `known` counts, and what stands in the database. */
static mlaf_status what_holds(crossing *x, int32_t *counted, mlaf_point *problem) {
  layer_rig r = {.c = NULL};
  const layer_request request = {x->keys, 512}; /* a usual prompt: plans look at it */
  layer_setup s = x->setup;
  s.requests = &request, s.batch = 1, s.prefill = true, s.weights = &x->weights;
  mlaf_status st = layer_rig_open(x->c, &s, 1, &r);
  const mlaf_chunked_prefill *p = st ? NULL : layer_prefill_of(r.layer[0]);
  if (!st) st = crossover_point(p, x->keys, problem, &x->c->err);
  if (!st) {
    const int64_t n = crossover_counted(p, x->keys), now = mlaf_layer_prefill_crossover(r.layer[0], x->keys);
    const crossover_tuned *t = crossover_nearest(p, x->keys);
    char why[160] = "nothing was timed near: counted";
    if (t && t->keys == x->keys) snprintf(why, sizeof why, "timed (%s)", mlaf_source_name(t->source));
    else if (t) snprintf(why, sizeof why, "%d over %d keys (%s), by what counting says of both", t->tokens, t->keys,
                         mlaf_source_name(t->source));
    *counted = n < MOST ? (int32_t)n : MOST;
    if (!x->c->json) printf("over %d cached tokens plans expand from %lld new tokens on: %s; counting says %lld\n", x->keys,
                            (long long)now, why, (long long)n);
    else {
      cJSON *e = mlaf_cli_event("layer_crossover_planned");
      cJSON_AddNumberToObject(e, "keys", x->keys);
      cJSON_AddNumberToObject(e, "tokens", (double)now);
      cJSON_AddNumberToObject(e, "counted", (double)n);
      cJSON_AddStringToObject(e, "why", why);
      mlaf_cli_emit(e);
    }
  }
  if (r.c) layer_rig_close(&r);
  return st;
}

static mlaf_status store(crossing *x, const mlaf_point *problem, int32_t tokens) {
  mlaf_ctx *ctx = x->c->ctx;
  mlaf_sample sample = {.variant = "new_tokens", .knob = (uint32_t)tokens, .outcome = MLAF_OUT_OK, .timing = x->expanded,
                        .error = x->error,
                        .source = x->expanded.source == MLAF_TIME_MODELLED ? MLAF_SRC_MODELLED : MLAF_SRC_MEASURED};
  sample.kernels[0] = x->kernel;
  if (!x->kernel.template_name[0])
    return mlaf_fail(&x->c->err, MLAF_E_ARG, "kernels of a bundle do not say what they were made of: time it without --bundle");
  pthread_mutex_lock(&ctx->lock);
  const mlaf_status st = ctx->db ? mlaf_db_add_sample(ctx->db, mlaf_info(mlaf_ctx_device(ctx)), mlaf_ctx_toolchain(ctx), problem,
                                                      &sample, &x->c->err)
                                 : mlaf_fail(&x->c->err, ctx->db_why.status, "it cannot be stored: %s", ctx->db_why.text);
  pthread_mutex_unlock(&ctx->lock);
  return st;
}

static void say(const crossing *x, const mlaf_point *problem, int32_t tokens) {
  const char *source = x->expanded.source == MLAF_TIME_MODELLED ? "modelled" : "measured";
  if (x->c->json) {
    cJSON *e = mlaf_cli_event("layer_crossover");
    cJSON_AddStringToObject(e, "problem", mlaf_point_text(problem).s);
    cJSON_AddNumberToObject(e, "tokens", tokens);
    cJSON_AddStringToObject(e, "source", source);
    cJSON_AddNumberToObject(e, "error", x->error);
    mlaf_cli_emit(e);
  } else if (tokens)
    printf("%s: from %d new tokens on expanding is faster, %s; %s. Outputs of both are within %.2e of fp64.\n",
           mlaf_point_text(problem).s, tokens, source,
           x->setup.encoding ? "not stored, as weights have 8 bits" : "stored", x->error);
  else printf("%s: expanding is not faster up to %d new tokens; nothing is stored.\n", mlaf_point_text(problem).s, MOST);
}

int layer_crossover(cli *c, const layer_setup *s) {
  static const char *const columns[] = {">new tokens", ">absorbed us", ">expanded us", NULL};
  crossing x = {.c = c, .setup = *s, .keys = s->requests[0].past + s->requests[0].fresh};
  mlaf_point problem;
  int32_t counted = 0, tokens = 0;
  mlaf_status st = what_holds(&x, &counted, &problem);
  if (!st && !mlaf_cli_has(c, O_DRY_RUN)) {
    x.table = c->json ? NULL : mlaf_cli_table_new(columns);
    st = layer_cross(counted, MOST, lead, &x, &tokens);
    if (x.table) mlaf_cli_table_end(x.table);
    if (!st && tokens && !s->encoding) st = store(&x, &problem, tokens);
    if (!st) say(&x, &problem, tokens);
  }
  layer_weights_free(&x.weights);
  return st ? mlaf_cli_fail(c) : CLI_OK;
}
