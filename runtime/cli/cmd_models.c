/* `mlaforge models`: the shipped model list. */
#include "cli/cli.h"

int mlaf_cli_models_list(cli *c) {
  static const char *const columns[] = {"model",    ">heads",        ">rank",   ">rope", ">qk_nope",
                                        ">v_head", "not confirmed", "|source", NULL};
  cli_table *t = c->json ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; mlaf_model_at(i); i++) {
    const mlaf_model *m = mlaf_model_at(i);
    const struct {
      const char *name;
      int32_t value;
    } dims[] = {{"heads", m->heads}, {"rank", m->rank}, {"rope", m->rope}, {"qk_nope", m->qk_nope}, {"v_head", m->v_head}};
    cJSON *e = c->json ? mlaf_cli_event("model") : NULL;
    if (e) cJSON_AddStringToObject(e, "name", m->name);
    else mlaf_cli_table_cell(t, "%s", m->name);
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
      if (e) cJSON_AddNumberToObject(e, dims[k].name, dims[k].value);
      else mlaf_cli_table_cell(t, "%d", dims[k].value);
    }
    if (e) {
      cJSON_AddStringToObject(e, "unverified", m->unverified);
      cJSON_AddStringToObject(e, "source", m->source);
      mlaf_cli_emit(e);
    } else {
      mlaf_cli_table_cell(t, "%s", m->unverified[0] ? m->unverified : "-");
      mlaf_cli_table_cell(t, "%s", c->verbose ? m->source : "");
    }
  }
  mlaf_cli_table_end(t);
  return CLI_OK;
}
