/* `mlaforge layer`: a whole layer on a device. Without more, it is checked; --profile and --forms time it, --case runs a founding
 * document's shapes, --crossover times when a prefill expands, --problems lists what a bundle of it needs. */
#include "cli/layer.h"

enum { WINDOW = 8 /* query tokens of a call at most, as mla_decode has them */ };

/* --- what the command line says --- */

typedef struct asked {
  layer_setup setup;
  layer_request *requests;
} asked;

static const mlaf_model *model_of(cli *c) {
  const mlaf_model *m = mlaf_model_find(c->given[O_MODEL] ? c->given[O_MODEL] : "deepseek-v3");
  if (m && !m->hidden) {
    mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s has no layer of this form (mlaforge models: hidden 0)", m->name);
    return NULL;
  }
  return m;
}

/* Sizes are fields of mla_decode; its shape comes from the model. */
static mlaf_status read_sizes(cli *c, asked *a) {
  char why[512] = "";
  mlaf_point p, shape;
  c->given[O_MODEL] = c->given[O_MODEL] ? c->given[O_MODEL] : "deepseek-v3";
  mlaf_status st = mlaf_cli_check_op(c);
  mlaf_point_init(mlaf_cli_op(c), &p);
  if (!st) st = mlaf_cli_problem(c, &p);
  const mlaf_model *m = st ? NULL : model_of(c);
  if (!m) return c->err.status;
  a->setup.tp = (int32_t)mlaf_cli_int(c, O_TP, 1);
  shape = p;
  mlaf_cli_set_model(&shape, m, a->setup.tp);
  if (!mlaf_point_same_shape(&p, &shape) || mlaf_point_value(&p, "dtype", 0) != MLAF_BF16)
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "a layer's heads, ranks and type come from --model and --tp: bf16");
  if (mlaf_point_check(&p, why, sizeof why)) return mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s", why);
  const int32_t q_len = mlaf_point_value(&p, "q_len", 1), ctx = mlaf_point_value(&p, "ctx", 1024);
  const int32_t batch = mlaf_point_value(&p, "batch", 1);
  if (ctx < q_len) return mlaf_fail(&c->err, MLAF_E_PROBLEM, "--ctx %d counts the %d new tokens, too", ctx, q_len);
  a->requests = malloc((size_t)batch * sizeof *a->requests);
  if (!a->requests) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for %d requests", batch);
  for (int32_t i = 0; i < batch; i++) a->requests[i] = (layer_request){ctx - q_len, q_len};
  a->setup.model = m, a->setup.batch = batch, a->setup.requests = a->requests;
  a->setup.window = mlaf_cli_has(c, O_CROSSOVER) ? WINDOW : q_len;
  a->setup.page_size = mlaf_point_value(&p, "page_size", 64);
  a->setup.in_order = mlaf_cli_has(c, O_FORMS);
  a->setup.checked = 8;
  a->setup.indexed = !mlaf_cli_has(c, O_CROSSOVER) && !mlaf_cli_has(c, O_FORMS); /* both know tokens that attend to all others */
  return MLAF_OK;
}

/* --- what it does --- */

rig_env mlaf_cli_rig_env(cli *c) {
  rig_env e = {.ctx = c->ctx, .log = c->log, .cancel = c->cancel, .seed = mlaf_cli_seed(c), .err = &c->err};
  if (mlaf_cli_has(c, O_NO_COMPILE)) e.plan_flags |= MLAF_PLAN_NO_COMPILE;
  if (mlaf_cli_has(c, O_INVARIANT)) e.plan_flags |= MLAF_PLAN_BATCH_INVARIANT;
  return e;
}

static void print_check(const cli *c, const layer_rig *r, const layer_tolerance *t, const layer_checked *x) {
  const layer_setup *s = &r->setup;
  if (c->json) {
    cJSON *e = mlaf_cli_event("layer_check");
    mlaf_cli_json(e, TEXT("model", s->model->name), NUMBER("tp", s->tp), TEXT("weights", layer_encoding(s->encoding)),
                  NUMBER("batch", s->batch), NUMBER("ctx", r->desc.ctx_max), NUMBER("outputs", x->tokens),
                  NUMBER("worst", x->worst), NUMBER("rms", x->rms), NUMBER("rows", x->rows), NUMBER("row_worst", x->row_worst),
                  NUMBER("untouched", x->untouched));
    if (r->desc.index_heads) cJSON_AddNumberToObject(e, "key_worst", x->key_worst);
    if (r->desc.index_heads) cJSON_AddNumberToObject(e, "list_worst", x->list_worst);
    mlaf_cli_emit(e);
    return;
  }
  printf("%s, tp %d%s%s: %d requests of %d tokens, %d of them new, on %s\n", s->model->name, s->tp,
         s->encoding ? ", weights " : "", layer_encoding(s->encoding), s->batch, r->desc.ctx_max, s->requests[0].fresh,
         mlaf_info(r->dev)->name);
  printf("%lld outputs: worst %.2e off fp64 (bound %.1e), all %.2e; %lld appended rows: worst %.2e (bound %.1e); %lld other rows "
         "keep their bits\n", (long long)x->tokens, x->worst, t->worst, x->rms, (long long)x->rows, x->row_worst, t->row,
         (long long)x->untouched);
  if (r->desc.index_heads)
    printf("indexer, %d of %d tokens: lists worst %.2e of the scores' deviation on the wrong side (bound %.2g); appended keys: "
           "worst %.2e (bound %.2g)\n", r->desc.index_topk, r->desc.ctx_max, x->list_worst, LAYER_LIST_BOUND, x->key_worst,
           LAYER_KEY_BOUND);
}

static int check(cli *c, layer_rig *r) {
  const layer_tolerance t = {.worst = mlaf_form_bound(&r->form), .row = 5e-3};
  layer_checked x;
  mlaf_status st = layer_rig_run(r);
  if (!st) st = layer_check(r, &t, &x);
  if (st) return mlaf_cli_fail(c);
  print_check(c, r, &t, &x);
  return CLI_OK;
}

static int profile(cli *c, layer_rig *r) {
  mlaf_ceilings ceilings;
  int code = check(c, r);
  if (code) return code;
  return layer_ceilings(r->env, &ceilings) ? mlaf_cli_fail(c) : mlaf_cli_layer_profile(c, r, &ceilings);
}

void mlaf_cli_layer_put_problem(const cli *c, const char *text) {
  if (c->json) mlaf_cli_print("problem", TEXT("problem", text));
  else printf("%s\n", text);
}

mlaf_status mlaf_cli_layer_problems(cli *c, const layer_setup *s) {
  char text[MLAF_PROBLEM_TEXT_MAX], why[512];
  mlaf_layer_desc d;
  layer_describe(s, &d);
  for (size_t i = 0;; i++) {
    mlaf_status st = mlaf_layer_problem_at(&d, s->indexed ? 2 : 1, i, text, sizeof text, why, sizeof why);
    if (st) return mlaf_fail(&c->err, st, "%s", why);
    if (!text[0]) return MLAF_OK;
    mlaf_cli_layer_put_problem(c, text);
  }
}

static int problems(cli *c, const asked *a) {
  if (c->given[O_CASE]) return mlaf_cli_layer_case_problems(c, c->given[O_CASE]);
  return mlaf_cli_layer_problems(c, &a->setup) ? mlaf_cli_fail(c) : CLI_OK;
}

/* Plans take the context's lock themselves: it is given back meanwhile. */
static int with_rig(cli *c, const layer_setup *s) {
  layer_rig r;
  rig_env env = mlaf_cli_rig_env(c);
  if (mlaf_cli_has(c, O_CROSSOVER)) return mlaf_cli_layer_crossover(c, s);
  const bool times = mlaf_cli_has(c, O_PROFILE) || mlaf_cli_has(c, O_FORMS);
  const int sets = times ? layer_sets_wanted(mlaf_ctx_device(c->ctx), s, mlaf_cli_has(c, O_PROFILE)) : 1;
  int code;
  if (layer_rig_open(&env, s, sets, &r)) code = mlaf_cli_fail(c);
  else code = mlaf_cli_has(c, O_PROFILE) ? profile(c, &r) : mlaf_cli_has(c, O_FORMS) ? mlaf_cli_layer_forms(c, &r) : check(c, &r);
  layer_rig_close(&r);
  return code;
}

static int run(cli *c, const asked *a) {
  if (mlaf_cli_open(c, false)) return mlaf_cli_fail(c);
  pthread_mutex_unlock(&c->ctx->lock);
  const int code = c->given[O_CASE] ? mlaf_cli_layer_case(c, c->given[O_CASE]) : with_rig(c, &a->setup);
  pthread_mutex_lock(&c->ctx->lock);
  return code;
}

int mlaf_cli_layer(cli *c) {
  asked a = {.requests = NULL};
  int code = CLI_OK;
  if (mlaf_cli_has(c, O_PROFILE) + mlaf_cli_has(c, O_FORMS) + mlaf_cli_has(c, O_CROSSOVER) + mlaf_cli_has(c, O_CASE) > 1)
    return mlaf_cli_usage(c, "--profile, --forms, --crossover and --case exclude each other");
  if (mlaf_cli_has(c, O_DRY_RUN) && !mlaf_cli_has(c, O_CROSSOVER)) return mlaf_cli_usage(c, "--dry-run is for --crossover");
  if (c->given[O_OUT] && !mlaf_cli_has(c, O_PROFILE)) return mlaf_cli_usage(c, "--out is the page of a --profile");
  if (mlaf_cli_take_word(c, "mla_o_proj", "weights", &a.setup.encoding)) return mlaf_cli_fail(c); /* the projections' field */
  if (c->given[O_CASE] && (mlaf_cli_names_problem(c) || c->given[O_MODEL] || c->given[O_TP] || a.setup.encoding))
    return mlaf_cli_usage(c, "--case has a model, sizes and weights of its own");
  if (mlaf_cli_has(c, O_FORMS) && a.setup.encoding)
    return mlaf_cli_usage(c, "--forms compares forms over weights of 16 bits: leave --weights out, or see --profile");
  if (!c->given[O_CASE] && read_sizes(c, &a)) code = mlaf_cli_fail(c);
  else code = mlaf_cli_has(c, O_PROBLEMS) ? problems(c, &a) : run(c, &a);
  free(a.requests);
  return code;
}
