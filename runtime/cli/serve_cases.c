/* Work of `tune --serve`: sizes that a server has, and from them the problems and layers of each model. */
#include "cli/tune.h"

enum { BATCH_MOST = 65536, CTX_MOST = 1 << 24, Q_MOST = 16 /* query tokens of a request in one call of a layer */ };
enum { PROMPT_MOST = 1 << 20, SERVE_AXES = 4, AXIS_TEXT = 400 };

/* --- the sizes --- */

typedef struct serve_sizes {
  cli_axis axes[SERVE_AXES]; /* batch, ctx, q, prefill */
} serve_sizes;

static const struct serve_axis {
  const char *key, *otherwise;
  long long most;
} serve_axes[SERVE_AXES] = {{"batch", "1:128", BATCH_MOST}, {"ctx", "1024:16384", CTX_MOST}, {"q", "1", Q_MOST},
                            {"prefill", NULL, PROMPT_MOST}};

static int find_axis(const char *key, size_t n) {
  for (int i = 0; i < SERVE_AXES; i++)
    if (strlen(serve_axes[i].key) == n && !memcmp(serve_axes[i].key, key, n)) return i;
  return -1;
}

/* "batch=1:256,ctx=1024:32768,q=1,2,4": a part without "=" goes on with the list before it. */
static mlaf_status split(cli *c, char texts[SERVE_AXES][AXIS_TEXT]) {
  const char *text = c->given[O_SERVE];
  int axis = -1;
  for (const char *at = text; *at;) {
    const size_t n = strcspn(at, ","), key = strcspn(at, "=,");
    const bool named = at[key] == '=';
    const char *value = named ? at + key + 1 : at;
    if (named) axis = find_axis(at, key);
    if (axis < 0 || value == at + n || (named && *texts[axis]))
      return mlaf_fail(&c->err, MLAF_E_ARG, "--serve '%s': '%.*s' is %s; wanted is batch=LIST,ctx=LIST,q=LIST,prefill=LIST",
                       text, (int)n, at, axis < 0 ? "no list of those" : value == at + n ? "empty" : "given twice");
    char *to = texts[axis];
    const size_t had = strlen(to), more = (size_t)(at + n - value);
    if (had + more + 2 > AXIS_TEXT) return mlaf_fail(&c->err, MLAF_E_ARG, "--serve: a list is longer than %d bytes", AXIS_TEXT);
    snprintf(to + had, AXIS_TEXT - had, "%s%.*s", had ? "," : "", (int)more, value);
    at += n + (at[n] == ',');
  }
  return MLAF_OK;
}

static mlaf_status read_sizes(cli *c, serve_sizes *out) {
  char texts[SERVE_AXES][AXIS_TEXT] = {""};
  *out = (serve_sizes){.axes = {{NULL, 0}}};
  mlaf_status st = split(c, texts);
  for (int i = 0; !st && i < SERVE_AXES; i++) {
    const struct serve_axis *x = &serve_axes[i];
    char name[24];
    snprintf(name, sizeof name, "serve %s", x->key);
    if (*texts[i] || x->otherwise)
      st = mlaf_cli_axis(name, *texts[i] ? texts[i] : x->otherwise, 1, x->most, &out->axes[i], &c->err);
  }
  return st;
}

/* --- the work --- */

typedef struct listing {
  cli *c;
  serve_work *out;
  layer_request *requests; /* of the layer that is being looked at */
} listing;

static int32_t past(int64_t n) { return (int32_t)(INT64_C(1) << layer_class_of(n)); }

mlaf_status mlaf_cli_serve_setup(cli *c, const serve_work *w, const serve_layer *l, layer_setup *out, layer_request **requests) {
  layer_request *list = realloc(*requests, (size_t)l->batch * sizeof *list);
  if (!list) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for %d requests", l->batch);
  *requests = list;
  for (int32_t i = 0; i < l->batch; i++) list[i] = (layer_request){l->ctx - l->q_len, l->q_len};
  *out = (layer_setup){.model = l->model, .tp = l->tp, .encoding = w->encoding, .page_size = w->page_size, .window = l->q_len,
                       .indexed = true, .requests = list, .batch = l->batch};
  return MLAF_OK;
}

/* Layers of one shape whose calls have as many tokens share a choice: the one with the fewest query tokens a request, which comes
 * first. */
static mlaf_status add_layer(listing *x, serve_layer *l, const mlaf_layer_desc *d) {
  serve_work *w = x->out;
  const mlaf_status st = layer_choice_point_of(d, (int64_t)l->batch * l->q_len, &l->point, &x->c->err);
  if (st) return st;
  for (size_t i = 0; i < w->n_layers; i++)
    if (!memcmp(w->layers[i].point.v, l->point.v, sizeof l->point.v)) return MLAF_OK;
  if (!mlaf_room(&w->layers, w->n_layers, sizeof *w->layers)) return mlaf_fail(&x->c->err, MLAF_E_NOMEM, "no memory for layers");
  w->layers[w->n_layers++] = *l;
  return MLAF_OK;
}

/* A layer lists its problems for all sizes up to its own: those of its own are kept. */
static bool of_this_size(const mlaf_point *p, const serve_layer *l) {
  const int32_t requests = mlaf_point_value(p, "batch", 0), tokens = past((int64_t)l->batch * l->q_len);
  return requests ? requests == past(l->batch) || requests == tokens : mlaf_point_value(p, "tokens", 0) == tokens;
}

/* The problems of a layer that `keep` says. */
static mlaf_status add_listed(listing *x, const serve_layer *l, const mlaf_layer_desc *d,
                              bool (*keep)(const mlaf_point *p, const serve_layer *l)) {
  char text[MLAF_PROBLEM_TEXT_MAX], why[512];
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st; i++) {
    mlaf_point p;
    if (mlaf_layer_problem_at(d, d->index_heads ? 2 : 1, i, text, sizeof text, why, sizeof why))
      return mlaf_fail(&x->c->err, MLAF_E_PROBLEM, "%s: %s", l->model->name, why);
    if (!*text) break;
    st = mlaf_point_parse(NULL, text, &p, why, sizeof why);
    if (st) return mlaf_fail(&x->c->err, MLAF_E_INTERNAL, "'%s': %s", text, why);
    if (keep(&p, l)) st = mlaf_cli_problems_add(x->c, &x->out->problems, &p);
  }
  return st;
}

static mlaf_status add_stages(listing *x, serve_layer *l) {
  mlaf_layer_desc d;
  layer_setup s;
  mlaf_status st = mlaf_cli_serve_setup(x->c, x->out, l, &s, &x->requests);
  if (st) return st;
  layer_describe(&s, &d);
  st = add_listed(x, l, &d, of_this_size);
  return st ? st : add_layer(x, l, &d);
}

static bool of_prompts(const mlaf_point *p, const serve_layer *l) {
  return p->op != mlaf_cli_op(&(cli){0}) && mlaf_point_value(p, "tokens", 0) >= l->q_len;
}

/* One prompt with nothing cached: its products, and what attends over keys and values of each head. A layer with an indexer has
 * no such form. */
static mlaf_status add_prompt(listing *x, const mlaf_model *m, int32_t tp, int32_t tokens) {
  const serve_layer l = {.model = m, .tp = tp, .batch = 1, .ctx = tokens, .q_len = tokens};
  mlaf_layer_desc d;
  layer_setup s;
  const mlaf_status st = mlaf_cli_serve_setup(x->c, x->out, &l, &s, &x->requests);
  if (st || !m->hidden || m->index_heads) return st;
  s.prefill = true;
  layer_describe(&s, &d);
  return add_listed(x, &l, &d, of_prompts);
}

/* A model without a layer of this library's form: its attention alone. */
static mlaf_status add_attention(listing *x, const serve_layer *l) {
  mlaf_point p;
  char why[400];
  mlaf_point_init(mlaf_cli_op(&(cli){0}), &p);
  mlaf_cli_set_model(&p, l->model, l->tp);
  const struct {
    const char *field;
    int32_t value;
  } sizes[] = {{"batch", l->batch}, {"ctx", l->ctx}, {"q_len", l->q_len}, {"causal", l->q_len > 1},
               {"page_size", x->out->page_size}};
  for (int i = 0; i < p.op->n_fields; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      if (!strcmp(p.op->fields[i].name, sizes[k].field)) p.v[i] = sizes[k].value;
  if (mlaf_point_check(&p, why, sizeof why)) return mlaf_fail(&x->c->err, MLAF_E_PROBLEM, "%s: %s", l->model->name, why);
  return mlaf_cli_problems_add(x->c, &x->out->problems, &p);
}

static mlaf_status add_model(listing *x, const mlaf_model *m, int32_t tp, const serve_sizes *z) {
  const cli_axis *batch = &z->axes[0], *ctx = &z->axes[1], *q = &z->axes[2];
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < q->n; i++)
    for (size_t j = 0; !st && j < ctx->n; j++)
      for (size_t k = 0; !st && k < batch->n; k++) {
        serve_layer l = {.model = m, .tp = tp, .batch = batch->values[k], .ctx = ctx->values[j], .q_len = q->values[i]};
        if (l.ctx < l.q_len)
          return mlaf_fail(&x->c->err, MLAF_E_ARG, "--serve: ctx %d counts the %d new tokens, too", l.ctx, l.q_len);
        st = m->hidden ? add_stages(x, &l) : add_attention(x, &l);
      }
  for (size_t i = 0; !st && i < z->axes[3].n; i++) st = add_prompt(x, m, tp, z->axes[3].values[i]);
  return st;
}

/* Attention's problems first, small before large: plans and layers take them most. */
static void attention_first(cli_problems *g) {
  const mlaf_op *attention = mlaf_cli_op(&(cli){0});
  for (size_t i = 0, done = 0; i < g->n; i++) {
    const mlaf_point p = g->list[i];
    if (p.op != attention) continue;
    memmove(&g->list[done + 1], &g->list[done], (i - done) * sizeof p);
    g->list[done++] = p;
  }
}

/* Fields that shape options may give: the sizes stand in --serve, and the model has the rest. */
static mlaf_status read_fields(cli *c, serve_work *w) {
  mlaf_point p;
  mlaf_status st = mlaf_cli_take_word(c, "mla_o_proj", "weights", &w->encoding);
  mlaf_point_init(mlaf_cli_op(c), &p);
  for (int i = 0; !st && i < mlaf_cli_field_count(); i++)
    if (c->given[O_FIELD + i] && strcmp(mlaf_cli_field(i)->name, "page_size"))
      return mlaf_fail(&c->err, MLAF_E_ARG, "--serve has lists for batch, ctx and q, and --model and --tp say the rest: beside "
                       "it there are --page-size and --weights");
  if (!st) st = mlaf_cli_fields(c, &p);
  w->page_size = mlaf_point_value(&p, "page_size", 64);
  return st;
}

mlaf_status mlaf_cli_serve_work(cli *c, serve_work *out) {
  listing x = {.c = c, .out = out};
  serve_sizes z = {.axes = {{NULL, 0}}};
  cli_axis tp = {NULL, 0};
  cli_models models = {.n = 0};
  *out = (serve_work){.n_layers = 0};
  mlaf_status st = c->given[O_MODEL] ? read_fields(c, out) : mlaf_fail(&c->err, MLAF_E_ARG, "--serve wants --model NAME, or all");
  if (!st) st = read_sizes(c, &z);
  if (!st) st = mlaf_cli_axis("tp", c->given[O_TP] ? c->given[O_TP] : "1", 1, 1024, &tp, &c->err);
  if (!st) st = mlaf_cli_models(c, &models);
  for (size_t m = 0; !st && m < models.n; m++)
    for (size_t t = 0; !st && t < tp.n; t++) {
      const int32_t heads = models.list[m]->heads, ranks = tp.values[t];
      if (heads % ranks == 0) st = add_model(&x, models.list[m], ranks, &z);
      else mlaf_log_line(&c->log, MLAF_LOG_WARN, "left out: %s has %d heads, which --tp %d does not divide", models.list[m]->name,
                         heads, ranks);
    }
  if (!st && !out->problems.n) st = mlaf_fail(&c->err, MLAF_E_PROBLEM, "no --tp divides the heads of any --model");
  if (!st) mlaf_cli_problems_sort(&out->problems), attention_first(&out->problems);
  for (int i = 0; i < SERVE_AXES; i++) free(z.axes[i].values);
  free(tp.values);
  free(x.requests);
  if (st) mlaf_cli_serve_free(out);
  return st;
}

void mlaf_cli_serve_free(serve_work *w) {
  mlaf_cli_problems_free(&w->problems);
  free(w->layers);
  *w = (serve_work){.n_layers = 0};
}
