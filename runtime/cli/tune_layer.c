/* `mlaforge tune layer`: which stages of a layer share a kernel, for one number of requests after the other. */
#include "cli/layer.h"
#include "rig/tune.h"

enum { CHECKED = 4 /* outputs of a trial that are compared */ };

typedef struct run {
  cli *c;
  layer_setup setup;
  layer_weights weights;
  int32_t q_len, ctx;
  layer_tune_opts opts;
  cli_table *table;
  double start;
  size_t tuned, known, lacking; /* lacking: choices that the device has no kernels for */
} run;

static void on_progress(void *user, const char *what, const char *choice) {
  run *x = user;
  mlaf_cli_progress(x->c, "%d requests: %s %s", x->setup.batch, what, choice);
}

/* --- printing --- */

static void print_json(const run *x, const layer_tuned *t, const layer_trial *k) {
  cJSON *e = mlaf_cli_event("layer_choice");
  mlaf_cli_json(e, TEXT("problem", mlaf_point_text(&t->problem).s), TEXT("choice", k->name), FLAG("now", k->now),
                FLAG("known", t->known));
  if (!x->opts.dry || t->known) {
    mlaf_cli_json(e, TEXT("outcome", mlaf_outcome_name(k->outcome)), TEXT("detail", k->why), NUMBER("error", k->error));
    mlaf_cli_json_timing(e, &k->timing);
    cJSON_AddBoolToObject(e, "stored", !strcmp(k->name, t->stored));
  }
  mlaf_cli_emit(e);
}

static void print_row(run *x, const layer_tuned *t, const layer_trial *k) {
  const bool ran = !x->opts.dry || t->known;
  if (x->c->json) {
    print_json(x, t, k);
    return;
  }
  if (ran && k->outcome == MLAF_OUT_CONSTRAINT) {
    x->lacking++;
    return;
  }
  mlaf_cli_table_cell(x->table, "%d\t%s", mlaf_point_value(&t->problem, "tokens", 0), k->name);
  if (ran && !k->outcome) mlaf_cli_table_cell(x->table, "%.2f", k->timing.ns / 1000);
  else mlaf_cli_table_cell(x->table, "-");
  if (ran && !k->outcome) mlaf_cli_table_cell(x->table, "%.2e", k->error);
  else mlaf_cli_table_cell(x->table, "-");
  mlaf_cli_table_cell(x->table, "%s\t%s", !strcmp(k->name, t->stored) ? "stored" : k->now ? "before" : "",
                      ran && k->outcome ? k->why : "");
}

static void print_end(const run *x, mlaf_status st) {
  const bool modelled = mlaf_ops(mlaf_ctx_device(x->c->ctx))->features & MLAF_DEVICE_MODELLED;
  if (x->table) mlaf_cli_table_end(x->table);
  if (!x->c->json)
    printf("%s, tp %d%s%s, %d cached tokens, on %s: us are of a whole layer, %s. %zu numbers of tokens tuned, %zu known; %s in "
           "%s\n", x->setup.model->name, x->setup.tp, x->setup.encoding ? ", weights " : "", layer_encoding(x->setup.encoding),
           x->ctx, mlaf_info(mlaf_ctx_device(x->c->ctx))->name, modelled ? "modelled" : "measured in turns", x->tuned, x->known,
           x->opts.dry ? "choices would be stored" : "choices are stored", mlaf_db_path(x->c->ctx->db));
  if (x->lacking)
    fprintf(stderr, "mlaforge: left out: %zu choices that the device has no kernels for (--json lists them)\n", x->lacking);
  if (st == MLAF_E_CANCELLED)
    fprintf(stderr, "mlaforge: stopped; what is finished is recorded, and the same command goes on from there\n");
}

/* --- the run --- */

static mlaf_status tune_batch(run *x, rig_env *env, int32_t batch) {
  layer_tuned t;
  layer_request *requests = malloc((size_t)batch * sizeof *requests);
  if (!requests) return mlaf_fail(&x->c->err, MLAF_E_NOMEM, "no memory for %d requests", batch);
  for (int32_t i = 0; i < batch; i++) requests[i] = (layer_request){x->ctx - x->q_len, x->q_len};
  x->setup.batch = batch, x->setup.requests = requests;
  const mlaf_status st = layer_tune(env, &x->setup, &x->opts, &t);
  mlaf_cli_progress_end(x->c);
  if (st != MLAF_E_CANCELLED)
    for (size_t i = 0; i < t.n; i++) print_row(x, &t, &t.list[i]);
  x->tuned += !st && !t.known && !x->opts.dry;
  x->known += !st && t.known;
  free(requests);
  return st;
}

static int tune_all(run *x, const cli_axis *batches) {
  static const char *const columns[] = {">tokens", "choice", ">us", ">error", "is", "|why not", NULL};
  cli *c = x->c;
  rig_env env = mlaf_cli_rig_env(c);
  const double limit = mlaf_cli_real(c, O_TIME_LIMIT, 0);
  mlaf_status st = MLAF_OK;
  x->table = c->json ? NULL : mlaf_cli_table_new(columns);
  x->start = mlaf_now();
  for (size_t i = 0; !st && i < batches->n; i++) {
    if (limit > 0 && i && mlaf_now() - x->start >= limit) st = mlaf_fail(&c->err, MLAF_E_CANCELLED, "--time-limit is over");
    else st = tune_batch(x, &env, batches->values[i]);
  }
  print_end(x, st);
  layer_weights_free(&x->weights);
  return st ? mlaf_cli_fail(c) : CLI_OK;
}

static mlaf_status read_model(run *x) {
  cli *c = x->c;
  cli_models models;
  const char *tp = c->given[O_TP] ? c->given[O_TP] : "1";
  c->given[O_MODEL] = c->given[O_MODEL] ? c->given[O_MODEL] : "deepseek-v3";
  const mlaf_status st = mlaf_cli_models(c, &models);
  if (st) return st;
  if (models.n != 1 || strpbrk(tp, ",:"))
    return mlaf_fail(&c->err, MLAF_E_ARG, "--model names %zu models, and --tp is %s: a layer is tuned for one of each", models.n,
                     tp);
  const mlaf_model *m = x->setup.model = models.list[0];
  x->setup.tp = (int32_t)mlaf_cli_int(c, O_TP, 1);
  if (!m->hidden)
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s has no layer of this form (mlaforge models: hidden 0)", m->name);
  if (m->heads % x->setup.tp)
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s has %d heads, which --tp %d does not divide", m->name, m->heads, x->setup.tp);
  return MLAF_OK;
}

/* Sizes are fields of mla_decode; its shape comes from the model. */
static mlaf_status read_sizes(run *x, cli_axis *batches) {
  cli *c = x->c;
  mlaf_point p, shape;
  cli_axis axes[MLAF_FIELDS_MAX] = {{NULL, 0}};
  mlaf_status st = mlaf_cli_take_word(c, "mla_o_proj", "weights", &x->setup.encoding);
  if (!st) st = mlaf_cli_check_op(c);
  if (!st) st = read_model(x);
  if (st) return st;
  mlaf_point_init(mlaf_cli_op(c), &p);
  mlaf_cli_set_model(&p, x->setup.model, x->setup.tp);
  shape = p;
  st = mlaf_cli_fields(c, &p);
  if (st) return st;
  x->q_len = mlaf_point_value(&p, "q_len", 1), x->ctx = mlaf_point_value(&p, "ctx", 1024);
  x->setup.window = x->q_len, x->setup.page_size = mlaf_point_value(&p, "page_size", 64);
  x->setup.checked = CHECKED, x->setup.indexed = true;
  if (x->ctx < x->q_len) return mlaf_fail(&c->err, MLAF_E_PROBLEM, "--ctx %d counts the %d new tokens, too", x->ctx, x->q_len);
  static const char *const ours[] = {"q_len", "ctx", "page_size", "batch"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    for (int k = 0; k < p.op->n_fields; k++)
      if (!strcmp(p.op->fields[k].name, ours[i])) p.v[k] = shape.v[k];
  if (memcmp(p.v, shape.v, sizeof p.v))
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "a layer's heads, ranks and type come from --model and --tp: bf16");
  st = mlaf_cli_axes(c, p.op, axes);
  for (int i = 0; !st && i < p.op->n_fields; i++)
    if (!strcmp(p.op->fields[i].name, "batch") && axes[i].n) {
      *batches = axes[i];
      axes[i] = (cli_axis){NULL, 0};
    }
  mlaf_cli_axes_free(axes);
  return st || batches->n ? st : mlaf_cli_axis("batch", "1:128", 1, 65536, batches, &c->err);
}

int mlaf_cli_tune_layer(cli *c) {
  run x = {.c = c};
  cli_axis batches = {NULL, 0};
  x.setup.weights = &x.weights;
  x.opts = (layer_tune_opts){.no_resume = mlaf_cli_has(c, O_NO_RESUME), .dry = mlaf_cli_has(c, O_DRY_RUN),
                             .progress = on_progress, .user = &x};
  c->n_arguments = 0; /* "layer" is no problem */
  mlaf_status st = read_sizes(&x, &batches);
  if (!st) st = mlaf_cli_open(c, false); /* layers are timed with the kernels that they will have: shipped choices count */
  if (!st && c->ctx->db_why.status) st = mlaf_fail(&c->err, c->ctx->db_why.status, "%s", c->ctx->db_why.text);
  int code;
  if (st) code = mlaf_cli_fail(c);
  else { /* plans take the context's lock themselves: it is given back meanwhile */
    pthread_mutex_unlock(&c->ctx->lock);
    code = tune_all(&x, &batches);
    pthread_mutex_lock(&c->ctx->lock);
  }
  free(batches.values);
  return code;
}
