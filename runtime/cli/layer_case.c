/* `mlaforge layer --case`: prints the rows of a founding document's case. */
#include "cli/layer.h"

typedef struct case_run {
  cli *c;
  const founding_case *what;
  layer_weights weights;
  cli_table *table;
  int missed, left_out;
} case_run;

static void print_json(const case_run *k, const case_row *row, mlaf_form form, const case_outcome *x) {
  cJSON *e = mlaf_cli_event("layer_case");
  mlaf_cli_json(e, TEXT("case", k->what->name), TEXT("row", row->name), TEXT("form", mlaf_form_names[form]),
                FLAG("passed", x->status == MLAF_OK), TEXT("published", row->published[form] ? row->published[form] : ""));
  if (x->status) cJSON_AddStringToObject(e, "why", x->why);
  mlaf_cli_json(e, NUMBER("outputs", x->checked.tokens), NUMBER("worst", x->checked.worst), NUMBER("beyond", x->checked.beyond),
                TEXT("source", x->timing.source == MLAF_TIME_MODELLED ? "modelled" : "measured"), NUMBER("ns", x->timing.ns));
  mlaf_cli_emit(e);
}

static void print_row(case_run *k, const case_row *row, mlaf_form form, const case_outcome *x) {
  if (!k->table) {
    print_json(k, row, form, x);
    return;
  }
  mlaf_cli_table_cell(k->table, "%s\t%s", row->name, mlaf_form_names[form]);
  if (x->timing.ns > 0) mlaf_cli_table_cell(k->table, "%.1f", x->timing.ns / 1000);
  else mlaf_cli_table_cell(k->table, "-");
  mlaf_cli_table_cell(k->table, "%s\t%lld", row->published[form] ? row->published[form] : "-", (long long)x->checked.tokens);
  if (x->checked.tokens) mlaf_cli_table_cell(k->table, "%.2e", x->checked.worst);
  else mlaf_cli_table_cell(k->table, "-");
  if (k->what->bound.rtol > 0 && x->checked.tokens) mlaf_cli_table_cell(k->table, "%.3g %%", 100 * x->checked.beyond);
  else mlaf_cli_table_cell(k->table, "-");
  mlaf_cli_table_cell(k->table, "%s\t%s", x->status == MLAF_OK ? "pass" : x->status == MLAF_E_INCORRECT ? "MISS" : "NOT RUN",
                      x->status ? x->why : "");
}

static void begins(void *user, const case_row *row, mlaf_form form) {
  case_run *k = user;
  mlaf_cli_progress(k->c, "%s: %s, %s", k->what->name, row->name, mlaf_form_names[form]);
}

static void ended(void *user, const case_row *row, mlaf_form form, const case_outcome *x) {
  case_run *k = user;
  k->missed += x->status != MLAF_OK;
  print_row(k, row, form, x);
}

/* --- the command --- */

static void print_end(const case_run *k, const mlaf_device *dev) {
  const bool modelled = mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED;
  printf("%s: %s\n", k->what->name, k->what->title);
  printf("on %s; us are of a whole layer, %s. %s.\n%s\n", mlaf_info(dev)->name, modelled ? "modelled" : "measured",
         k->what->tolerance, k->what->left_out);
  if (k->left_out) printf("%d of the document's rows are left out on an emulator; --all runs them, too.\n", k->left_out);
  printf("%s: %d missed or not run\n", k->what->name, k->missed);
}

static void print_chain(const cli *c, const layer_setup *s, mlaf_form form) {
  char text[MLAF_PROBLEM_TEXT_MAX];
  for (int i = 0; layer_chain_problem(s, form, i, text); i++)
    if (text[0]) mlaf_cli_layer_put_problem(c, text);
}

static int unknown(cli *c, const char *name) {
  return mlaf_cli_usage(c, "--case is '%s'; there are seed-000, seed-002, seed-003 and seed-004", name);
}

int mlaf_cli_layer_case_problems(cli *c, const char *name) {
  const founding_case *f = layer_case_find(name);
  layer_request alike[CASE_REQUESTS];
  if (!f) return unknown(c, name);
  for (size_t i = 0; i < f->n; i++) {
    const layer_setup s = layer_case_setup(f, &f->rows[i], alike, NULL);
    if (mlaf_cli_layer_problems(c, &s)) return mlaf_cli_fail(c);
    for (int form = 0; form < MLAF_FORM_ACC_ME; form++)
      if (f->rows[i].forms & 1 << form && !f->rows[i].prefill) print_chain(c, &s, (mlaf_form)form);
  }
  return CLI_OK;
}

int mlaf_cli_layer_case(cli *c, const char *name) {
  static const char *const columns[] = {"case",      "form",    ">us",     "published", ">outputs",
                                        ">off fp64", ">beyond", "verdict", "|why",      NULL};
  rig_env env = mlaf_cli_rig_env(c);
  case_run k = {.c = c, .what = layer_case_find(name)};
  const mlaf_device *dev = mlaf_ctx_device(c->ctx);
  const int here = mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED ? CASE_EMU : CASE_GPU;
  if (!k.what) return unknown(c, name);
  const case_watcher watch = {.user = &k, .begins = begins, .ended = ended};
  mlaf_status st = MLAF_OK;
  k.table = c->json ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; !st && i < k.what->n; i++) {
    const case_row *row = &k.what->rows[i];
    if (row->where & here || mlaf_cli_has(c, O_ALL)) st = layer_case_run(&env, k.what, row, &k.weights, &watch);
    else k.left_out += (row->where & CASE_EMU) == 0;
  }
  if (k.table) {
    mlaf_cli_table_end(k.table);
    print_end(&k, dev);
  }
  layer_weights_free(&k.weights);
  if (st) return mlaf_cli_fail(c);
  return k.missed ? CLI_FINDINGS : CLI_OK;
}
