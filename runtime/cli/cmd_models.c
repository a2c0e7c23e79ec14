/* `mlaforge models`: the shipped model list. */
#include "cli/cli.h"

static const char *const styles[] = {
    [MLAF_ROPE_PAIRS] = "pairs", [MLAF_ROPE_HALVES] = "halves", [MLAF_ROPE_UNROTATED] = "unrotated"};

/* Numbers of a model, in the table's order; those behind `shown` in JSON alone. */
enum { WHOLES = 11, WHOLES_SHOWN = 7, REALS = 10, REALS_SHOWN = 4 };
typedef struct model_numbers {
  struct {
    const char *name;
    int32_t value;
  } whole[WHOLES];
  struct {
    const char *name;
    double value;
    int digits; /* shown */
  } real[REALS];
} model_numbers;

static model_numbers numbers_of(const mlaf_model *m) {
  const mlaf_rope *r = &m->rotation;
  return (model_numbers){
      .whole = {{"heads", m->heads}, {"rank", m->rank}, {"rope", m->rope}, {"qk_nope", m->qk_nope}, {"v_head", m->v_head},
                {"hidden", m->hidden}, {"q_lora", m->q_lora_rank}, {"original", r->original},
                {"q_scale_original", m->q_scale_original}, {"index_heads", m->index_heads}, {"index_topk", m->index_topk}},
      .real = {{"eps", m->eps, 6}, {"base", r->base, 9}, {"factor", r->factor, 6},
               {"scale", mlaf_softmax_scale(m->qk_nope, r), 6},
               {"beta_fast", r->beta_fast}, {"beta_slow", r->beta_slow}, {"mscale", r->mscale},
               {"mscale_all_dim", r->mscale_all_dim}, {"m", mlaf_rope_mscale(r->factor, r->mscale_all_dim)},
               {"q_scale_beta", m->q_scale_beta}}};
}

static void model_json(const mlaf_model *m, const model_numbers *n) {
  cJSON *e = mlaf_cli_event("model");
  cJSON_AddStringToObject(e, "name", m->name);
  for (int i = 0; i < WHOLES; i++) cJSON_AddNumberToObject(e, n->whole[i].name, n->whole[i].value);
  for (int i = 0; i < REALS; i++) cJSON_AddNumberToObject(e, n->real[i].name, n->real[i].value);
  mlaf_cli_json(e, TEXT("style", styles[m->rotation.style]), TEXT("index_style", styles[m->index_style]),
                TEXT("unverified", m->unverified), TEXT("source", m->source));
  mlaf_cli_emit(e);
}

int mlaf_cli_models_list(cli *c) {
  static const char *const columns[] = {"model", ">heads", ">rank", ">rope", ">qk_nope", ">v_head", ">hidden", ">q_lora", ">eps",
                                        ">base", ">factor", ">scale", "style", "not confirmed", "|source", NULL};
  cli_table *t = c->json ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; mlaf_model_at(i); i++) {
    const mlaf_model *m = mlaf_model_at(i);
    const model_numbers n = numbers_of(m);
    if (c->json) {
      model_json(m, &n);
      continue;
    }
    mlaf_cli_table_cell(t, "%s", m->name);
    for (int k = 0; k < WHOLES_SHOWN; k++) mlaf_cli_table_cell(t, "%d", n.whole[k].value);
    for (int k = 0; k < REALS_SHOWN; k++) mlaf_cli_table_cell(t, "%.*g", n.real[k].digits, n.real[k].value);
    mlaf_cli_table_cell(t, "%s\t%s\t%s", styles[m->rotation.style], m->unverified[0] ? m->unverified : "-",
                        c->verbose ? m->source : "");
  }
  mlaf_cli_table_end(t);
  return CLI_OK;
}
