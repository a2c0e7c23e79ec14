/* Output of a tuning run: its candidates, its choice, what it cost. */
#include "cli/cli.h"
#include "op/calls.h"

static void candidate_json(const char *problem, const mlaf_tuner_item *item) {
  cJSON *e = mlaf_cli_event("candidate");
  mlaf_cli_json_sample(e, problem, &item->sample);
  mlaf_cli_json(e, NUMBER("model_ns", item->model_ns), FLAG("resumed", item->resumed));
  mlaf_cli_emit(e);
}

/* Failures keep their place in the table: what was tried and why it was not taken is half of the result. */
static void candidate_row(cli_table *t, const mlaf_tuner_item *item) {
  const mlaf_sample *s = &item->sample;
  bool timed = s->outcome == MLAF_OUT_OK || s->outcome == MLAF_OUT_NOISY;
  char parts[256];
  mlaf_cli_parts(&s->timing, parts, sizeof parts);
  if (timed) mlaf_cli_table_cell(t, "%.2f", s->timing.ns / 1e3);
  else mlaf_cli_table_cell(t, "-");
  mlaf_cli_table_cell(t, "%s\t%s\t%u\t%u\t%u\t%u", timed ? mlaf_source_name(s->source) : mlaf_outcome_name(s->outcome),
                      timed ? s->timing.bound : "", s->vgpr, s->agpr, s->lds, s->scratch);
  if (timed) mlaf_cli_table_cell(t, "%.2e", s->error);
  else mlaf_cli_table_cell(t, "-");
  mlaf_cli_table_cell(t, "%u\t%s\t%s", s->knob, s->variant, timed ? parts : s->detail);
}

void mlaf_cli_tune_json(const cli *c, const char *problem, const mlaf_tuner_result *r) {
  cJSON *e = mlaf_cli_event("tune");
  mlaf_cli_json(e, TEXT("problem", problem), TEXT("device", mlaf_ctx_device_id(c->ctx)), NUMBER("space", r->space),
                NUMBER("rejected", r->rejected), NUMBER("candidates", r->n), NUMBER("failed", r->failed),
                NUMBER("resumed", r->resumed), NUMBER("passed_over", r->passed_over), NUMBER("compiles", r->compiles),
                NUMBER("cached", r->cached), NUMBER("libraries", r->libraries));
  if (*r->no_library) cJSON_AddStringToObject(e, "no_library", r->no_library);
  mlaf_cli_json(e, TEXT("stopped", r->stopped), NUMBER("seconds", r->seconds));
  cJSON *choice = r->has_choice ? cJSON_AddObjectToObject(e, "choice") : cJSON_AddNullToObject(e, "choice");
  if (r->has_choice) {
    mlaf_cli_json(choice, TEXT("variant", r->choice.variant), NUMBER("knob", r->choice.knob),
                  TEXT("source", mlaf_source_name(r->choice.source)), NUMBER("ns", r->choice.ns),
                  NUMBER("margin", r->choice.margin), NUMBER("error", r->choice.error), FLAG("recorded", r->recorded));
  }
  mlaf_guess g;
  if (mlaf_guess_of(r, &g)) {
    cJSON *guess = cJSON_AddObjectToObject(e, "guess");
    mlaf_cli_json(guess, NUMBER("pick_ns", g.pick_ns), NUMBER("best_ns", g.best_ns), NUMBER("rank", g.rank), NUMBER("of", g.of),
                  NUMBER("median_error", g.error));
  }
  /* the best of this run alone: the choice may stand on earlier ones */
  const mlaf_sample *best = r->n && r->items[0].sample.outcome == MLAF_OUT_OK ? &r->items[0].sample : NULL;
  cJSON *run = best ? cJSON_AddObjectToObject(e, "best") : cJSON_AddNullToObject(e, "best");
  if (best) {
    mlaf_cli_json(run, TEXT("variant", best->variant), NUMBER("ns", best->timing.ns));
  }
  mlaf_cli_emit(e);
}

/* The choice and where it is kept, then what it cost: "0 compiles" is how a second run shows that it remembered. */
static void summary_text(const cli *c, const mlaf_tuner_result *r) {
  if (r->has_choice)
    printf("choice    %s\n          %.2f us %s, %+.1f %% ahead of the second, error %.2e; %s%s\n", r->choice.variant,
           r->choice.ns / 1e3, mlaf_source_name(r->choice.source), 100 * r->choice.margin, r->choice.error,
           r->recorded ? "recorded in " : "not recorded (no writable database)",
           r->recorded ? mlaf_db_path(c->ctx->db) : "");
  printf(
      "work      %zu candidates tried (%zu failed), %zu of them known from the database; %zu compiles, %zu kernels "
      "from the cache; "
      "%.1f s\n",
      r->n, r->failed, r->resumed, r->compiles, r->cached, r->seconds);
}

void mlaf_cli_tune_print(const cli *c, const char *problem, const mlaf_tuner_result *r) {
  const mlaf_op *op = mlaf_op_of(problem);
  const char *const columns[] = {">us", "source", "bound", ">vgpr", ">agpr", ">lds", ">scratch", ">error",
                                 op && mlaf_has_splits(op) ? ">splits" : ">knob", "variant",
                                 "where the time goes (us)", NULL};
  if (c->json) {
    for (size_t i = 0; i < r->n; i++) candidate_json(problem, &r->items[i]);
    mlaf_cli_tune_json(c, problem, r);
    return;
  }
  printf(
      "problem   %s\ndevice    %s\nspace     %zu candidates, %zu points rejected by the budgets (--dry-run lists "
      "them)\n",
      problem, mlaf_ctx_device_id(c->ctx), r->space, r->rejected);
  if (r->libraries) printf("library   %zu of the candidates are a library's: as many ways as are asked for\n", r->libraries);
  if (*r->no_library) printf("library   none takes part: %s\n", r->no_library);
  cli_table *t = mlaf_cli_table_new(columns);
  for (size_t i = 0; i < r->n; i++) candidate_row(t, &r->items[i]);
  if (r->n) mlaf_cli_table_end(t);
  summary_text(c, r);
}
