/* `mlaforge layer --crossover`: from how many new tokens on a layer's prefill is faster than the same tokens as requests of few,
 * over so many cached ones. What is found is a choice of the database. It says nothing of weights, so none is stored of those of
 * 8 bits. */
#include "cli/layer.h"
#include "layer/chunked.h"

typedef struct crossing {
  cli *c;
  layer_crossing of;
  cli_table *table;
} crossing;

static mlaf_status lead(void *user, int32_t n, double *out) {
  crossing *x = user;
  mlaf_timing absorbed, expanded;
  const mlaf_status st = layer_crossing_lead(&x->of, n, &absorbed, &expanded);
  if (st) return st;
  *out = absorbed.ns - expanded.ns;
  if (x->table) {
    mlaf_cli_table_cell(x->table, "%d\t%.1f\t%.1f", n, absorbed.ns / 1000, expanded.ns / 1000);
    return MLAF_OK;
  }
  mlaf_cli_print("layer_forms_of_prefill", NUMBER("tokens", n), NUMBER("absorbed_ns", absorbed.ns),
                 NUMBER("expanded_ns", expanded.ns));
  return MLAF_OK;
}

/* --- what holds, and what is found --- */

/* The plans of a layer whose prefill answers; `known` counts, and what stands in the database. */
static mlaf_status what_holds(crossing *x, int32_t *counted, mlaf_point *problem) {
  layer_rig r = {.env = NULL};
  const layer_request request = {x->of.keys, 512}; /* a usual prompt: plans look at it */
  layer_setup s = x->of.setup;
  s.requests = &request, s.batch = 1, s.prefill = true, s.weights = &x->of.weights;
  mlaf_status st = layer_rig_open(x->of.env, &s, 1, &r);
  const mlaf_chunked_prefill *p = st ? NULL : layer_prefill_of(r.layer[0]);
  if (!st) st = crossover_point(p, x->of.keys, problem, &x->c->err);
  if (!st) {
    const int64_t n = crossover_counted(p, x->of.keys), now = mlaf_layer_prefill_crossover(r.layer[0], x->of.keys);
    const crossover_tuned *t = crossover_nearest(p, x->of.keys);
    char why[160] = "nothing was timed near: counted";
    if (t && t->keys == x->of.keys) snprintf(why, sizeof why, "timed (%s)", mlaf_source_name(t->source));
    else if (t) snprintf(why, sizeof why, "%d over %d keys (%s), by what counting says of both", t->tokens, t->keys,
                         mlaf_source_name(t->source));
    *counted = n < LAYER_CROSS_MOST ? (int32_t)n : LAYER_CROSS_MOST;
    if (!x->c->json) printf("over %d cached tokens plans expand from %lld new tokens on: %s; counting says %lld\n", x->of.keys,
                            (long long)now, why, (long long)n);
    else {
      mlaf_cli_print("layer_crossover_planned", NUMBER("keys", x->of.keys), NUMBER("tokens", now), NUMBER("counted", n),
                     TEXT("why", why));
    }
  }
  if (r.env) layer_rig_close(&r);
  return st;
}

static void say(const crossing *x, const mlaf_point *problem, int32_t tokens) {
  const char *source = x->of.expanded.source == MLAF_TIME_MODELLED ? "modelled" : "measured";
  if (x->c->json) {
    mlaf_cli_print("layer_crossover", TEXT("problem", mlaf_point_text(problem).s), NUMBER("tokens", tokens),
                   TEXT("source", source), NUMBER("error", x->of.error));
  } else if (tokens)
    printf("%s: from %d new tokens on expanding is faster, %s; %s. Outputs of both are within %.2e of fp64.\n",
           mlaf_point_text(problem).s, tokens, source,
           x->of.setup.encoding ? "not stored, as weights have 8 bits" : "stored", x->of.error);
  else
    printf("%s: expanding is not faster up to %d new tokens; nothing is stored.\n", mlaf_point_text(problem).s,
           LAYER_CROSS_MOST);
}

int mlaf_cli_layer_crossover(cli *c, const layer_setup *s) {
  static const char *const columns[] = {">new tokens", ">absorbed us", ">expanded us", NULL};
  rig_env env = mlaf_cli_rig_env(c);
  crossing x = {.c = c, .of = {.env = &env, .setup = *s, .keys = s->requests[0].past + s->requests[0].fresh}};
  mlaf_point problem;
  int32_t counted = 0, tokens = 0;
  mlaf_status st = what_holds(&x, &counted, &problem);
  if (!st && !mlaf_cli_has(c, O_DRY_RUN)) {
    x.table = c->json ? NULL : mlaf_cli_table_new(columns);
    st = layer_cross(counted, LAYER_CROSS_MOST, lead, &x, &tokens);
    if (x.table) mlaf_cli_table_end(x.table);
    if (!st && tokens && !s->encoding) st = layer_crossing_store(&x.of, &problem, tokens);
    if (!st) say(&x, &problem, tokens);
  }
  layer_weights_free(&x.of.weights);
  return st ? mlaf_cli_fail(c) : CLI_OK;
}
