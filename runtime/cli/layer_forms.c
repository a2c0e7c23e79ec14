/* The forms of execution of a layer: what each reads and computes for a cached token, beside founding document 002's table, and
 * how long a layer takes in each. */
#include "cli/layer.h"

/* The document's table: bytes and operations for a cached token, V2's dims; "-": the form is not in it under this name. */
static const struct {
  double kilobytes, megaflops;
  const char *about;
} document[MLAF_FORMS] = {
    [MLAF_FORM_CD] = {81.92, 0.08, "K and V of each head are cached"},
    [MLAF_FORM_CC] = {1.152, 33.64, "the latent is cached, K and V are made anew"},
    [MLAF_FORM_ACC] = {1.152, 0.28, "as acc_me, over keys concatenated for each head"},
    [MLAF_FORM_ACC_ME] = {1.152, 0.28, "mla_layer: two score products are added"},
};

typedef struct result {
  mlaf_status status;
  char why[300];
  layer_checked checked;
  mlaf_timing timing;
} result;

static mlaf_status run_layer(layer_rig *r, result *x) {
  const layer_tolerance bound = {.worst = mlaf_form_bound(&r->form), .row = 5e-3};
  mlaf_status st = layer_rig_run(r);
  if (!st) st = layer_check(r, &bound, &x->checked);
  return st ? st : layer_time(r, 0, 0, &x->timing);
}

static void run_form(layer_rig *r, mlaf_form form, result *x) {
  const layer_tolerance bound = {.worst = mlaf_form_bound(&r->form), .row = 5e-3};
  *x = (result){.status = MLAF_E_ARG};
  x->status = form == MLAF_FORM_ACC_ME ? run_layer(r, x) : layer_chain(r, form, &bound, &x->checked, &x->timing);
  snprintf(x->why, sizeof x->why, "%.250s", x->status ? r->env->err->text : "");
  if (x->status != MLAF_E_CANCELLED) *r->env->err = (mlaf_err){.status = MLAF_OK};
}

static void print_json(const layer_rig *r, mlaf_form form, const result *x) {
  const mlaf_form_cost cost = mlaf_form_costs(&r->form, form);
  cJSON *e = mlaf_cli_event("layer_form");
  mlaf_cli_json(e, TEXT("form", mlaf_form_names[form]), TEXT("source", r->modelled ? "modelled" : "measured"),
                NUMBER("bytes", cost.bytes), NUMBER("flops", cost.flops),
                NUMBER("document_kilobytes", document[form].kilobytes), NUMBER("document_megaflops", document[form].megaflops));
  if (x->status) cJSON_AddStringToObject(e, "why", x->why);
  else cJSON_AddNumberToObject(e, "ns", x->timing.ns), cJSON_AddNumberToObject(e, "error", x->checked.worst);
  mlaf_cli_emit(e);
}

static void print_row(const layer_rig *r, cli_table *t, mlaf_form form, const result *x) {
  const mlaf_form_cost cost = mlaf_form_costs(&r->form, form);
  if (!t) {
    print_json(r, form, x);
    return;
  }
  mlaf_cli_table_cell(t, "%s\t%.3f\t%.3f\t%.3f\t%.2f", mlaf_form_names[form], cost.bytes / 1e3, document[form].kilobytes,
                      cost.flops / 1e6, document[form].megaflops);
  if (x->status) mlaf_cli_table_cell(t, "-"), mlaf_cli_table_cell(t, "-");
  else mlaf_cli_table_cell(t, "%.2f", x->timing.ns / 1000), mlaf_cli_table_cell(t, "%.1e", x->checked.worst);
  mlaf_cli_table_cell(t, "%s\t%s", document[form].about, x->status ? x->why : "");
}

int mlaf_cli_layer_forms(cli *c, layer_rig *r) {
  static const char *const columns[] = {"form", ">kB a token", ">document", ">MFLOP",   ">document",
                                        ">us",  ">off fp64",   "what",      "|not run", NULL};
  cli_table *t = c->json ? NULL : mlaf_cli_table_new(columns);
  int code = CLI_OK;
  for (int f = 0; f < MLAF_FORMS; f++) {
    result x;
    run_form(r, (mlaf_form)f, &x);
    if (x.status && x.status != MLAF_E_ARG) code = mlaf_cli_exit(x.status);
    print_row(r, t, (mlaf_form)f, &x);
  }
  if (t) {
    mlaf_cli_table_end(t);
    printf("%s, tp %d, %d requests of %d tokens; times are of a whole layer, %s. The document's figures are for 128 heads.\n",
           r->setup.model->name, r->setup.tp, r->setup.batch, r->desc.ctx_max, r->modelled ? "modelled" : "measured");
  }
  return code;
}
