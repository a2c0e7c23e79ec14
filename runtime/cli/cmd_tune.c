/* `mlaforge tune`: the tuner with progress, its table of candidates and its choice. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { SHOWN_VARIANT = 110 };

static void on_progress(void *user, const mlaf_tuner_progress *p) {
  cli *c = user;
  char best[64] = "", limit[32] = "", what[64];
  if (p->best_ns > 0) snprintf(best, sizeof best, ", best %.2f us", p->best_ns / 1e3);
  if (p->limit_s > 0) snprintf(limit, sizeof limit, " of %.0f", p->limit_s);
  snprintf(what, sizeof what, "%s", p->activity);
  mlaf_cli_progress(c, "%zu/%zu candidates, %zu failed, %zu/%zu kernels compiled%s, %.0f%s s: %s %.*s", p->done,
                    p->total, p->failed, p->kernels_done, p->kernels, best, p->elapsed_s, limit, what, SHOWN_VARIANT,
                    p->variant);
}

/* --- dry run --- */
static void space_row(const cli *c, cli_table *t, const mlaf_variant *v) {
  if (c->json) {
    cJSON *e = mlaf_cli_event("space");
    cJSON_AddStringToObject(e, "variant", v->name);
    cJSON_AddNumberToObject(e, "splits", v->splits);
    if (v->rejected) cJSON_AddStringToObject(e, "rejected", v->rejected);
    else cJSON_AddNumberToObject(e, "model_ns", v->model_ns);
    cJSON_AddNumberToObject(e, "lds_bytes", v->decode.lds_bytes);
    cJSON_AddNumberToObject(e, "vgpr_budget", v->decode.vgpr_budget);
    mlaf_cli_emit(e);
    return;
  }
  if (v->rejected) mlaf_cli_table_cell(t, "-");
  else mlaf_cli_table_cell(t, "%.2f", v->model_ns / 1e3);
  mlaf_cli_table_cell(t, "%u", v->decode.threads);
  mlaf_cli_table_cell(t, "%u", v->decode.vgpr_budget);
  mlaf_cli_table_cell(t, "%u", v->decode.lds_bytes);
  mlaf_cli_table_cell(t, "%s", v->name);
  mlaf_cli_table_cell(t, "%s", v->rejected ? v->rejected : "");
}

/* Needs the device for its target only: nothing is compiled, loaded or recorded. */
static int dry_run(cli *c, const mlaf_problem *p) {
  static const char *const columns[] = {">model us", ">threads", ">regs", ">lds", "variant", "rejected because", NULL};
  mlaf_gen *g = NULL;
  mlaf_variant *list = NULL;
  size_t n = 0, candidates = 0;
  mlaf_device *dev = NULL;
  mlaf_status status = mlaf_gen_open(c->given[O_GEN_ROOT], &g, &c->err);
  if (status == MLAF_OK) status = mlaf_device_open(c->given[O_DEVICE], &c->log, &dev, &c->err);
  if (status == MLAF_OK) status = mlaf_gen_space(g, p, mlaf_info(dev)->target, &list, &n, &c->err);
  cli_table *t = c->json || status != MLAF_OK ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; status == MLAF_OK && i < n; i++) {
    candidates += !list[i].rejected;
    space_row(c, t, &list[i]);
  }
  mlaf_cli_table_end(t);
  if (status == MLAF_OK && !c->json)
    printf("%zu candidates, %zu rejected; nothing was compiled\n", candidates, n - candidates);
  mlaf_variants_free(list, n);
  mlaf_device_close(dev);
  mlaf_gen_close(g);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}

/* --- results --- */
static void candidate_json(const mlaf_tuner_item *item) {
  cJSON *e = mlaf_cli_event("candidate");
  mlaf_cli_json_sample(e, &item->sample);
  cJSON_AddNumberToObject(e, "model_ns", item->model_ns);
  cJSON_AddBoolToObject(e, "resumed", item->resumed);
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
  mlaf_cli_table_cell(t, "%s", timed ? mlaf_source_name(s->source) : mlaf_outcome_name(s->outcome));
  mlaf_cli_table_cell(t, "%s", timed ? s->timing.bound : "");
  mlaf_cli_table_cell(t, "%u", s->vgpr);
  mlaf_cli_table_cell(t, "%u", s->agpr);
  mlaf_cli_table_cell(t, "%u", s->lds);
  mlaf_cli_table_cell(t, "%u", s->scratch);
  if (timed) mlaf_cli_table_cell(t, "%.2e", s->error);
  else mlaf_cli_table_cell(t, "-");
  mlaf_cli_table_cell(t, "%u", s->splits);
  mlaf_cli_table_cell(t, "%s", s->variant);
  mlaf_cli_table_cell(t, "%s", timed ? parts : s->detail);
}

static void summary_json(const cli *c, const char *problem, const mlaf_tuner_result *r) {
  cJSON *e = mlaf_cli_event("tune");
  cJSON_AddStringToObject(e, "problem", problem);
  cJSON_AddStringToObject(e, "device", mlaf_ctx_device_id(c->ctx));
  cJSON_AddNumberToObject(e, "space", (double)r->space);
  cJSON_AddNumberToObject(e, "rejected", (double)r->rejected);
  cJSON_AddNumberToObject(e, "candidates", (double)r->n);
  cJSON_AddNumberToObject(e, "failed", (double)r->failed);
  cJSON_AddNumberToObject(e, "resumed", (double)r->resumed);
  cJSON_AddNumberToObject(e, "compiles", (double)r->compiles);
  cJSON_AddNumberToObject(e, "cached", (double)r->cached);
  cJSON_AddStringToObject(e, "stopped", r->stopped);
  cJSON_AddNumberToObject(e, "seconds", r->seconds);
  cJSON *choice = r->has_choice ? cJSON_AddObjectToObject(e, "choice") : cJSON_AddNullToObject(e, "choice");
  if (r->has_choice) {
    cJSON_AddStringToObject(choice, "variant", r->choice.variant);
    cJSON_AddNumberToObject(choice, "splits", r->choice.splits);
    cJSON_AddStringToObject(choice, "source", mlaf_source_name(r->choice.source));
    cJSON_AddNumberToObject(choice, "ns", r->choice.ns);
    cJSON_AddNumberToObject(choice, "margin", r->choice.margin);
    cJSON_AddNumberToObject(choice, "error", r->choice.error);
    cJSON_AddBoolToObject(choice, "recorded", r->recorded);
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

static void print_result(const cli *c, const char *problem, const mlaf_tuner_result *r) {
  static const char *const columns[] = {">us",
                                        "source",
                                        "bound",
                                        ">vgpr",
                                        ">agpr",
                                        ">lds",
                                        ">scratch",
                                        ">error",
                                        ">splits",
                                        "variant",
                                        "where the time goes (us)",
                                        NULL};
  if (c->json) {
    for (size_t i = 0; i < r->n; i++) candidate_json(&r->items[i]);
    summary_json(c, problem, r);
    return;
  }
  printf(
      "problem   %s\ndevice    %s\nspace     %zu candidates, %zu points rejected by the budgets (--dry-run lists "
      "them)\n",
      problem, mlaf_ctx_device_id(c->ctx), r->space, r->rejected);
  cli_table *t = mlaf_cli_table_new(columns);
  for (size_t i = 0; i < r->n; i++) candidate_row(t, &r->items[i]);
  if (r->n) mlaf_cli_table_end(t);
  summary_text(c, r);
}

/* The command that goes on, with the options that choose where. */
static void how_to_resume(const cli *c, const char *problem, const mlaf_tuner_result *r) {
  static const struct {
    cli_opt option;
    const char *name;
  } kept[] = {{O_DEVICE, "device"},     {O_DB, "db"},     {O_CACHE, "cache"},
              {O_GEN_ROOT, "gen-root"}, {O_SEED, "seed"}, {O_MAX_CANDIDATES, "max-candidates"}};
  fprintf(stderr, "mlaforge: stopped (%s) with %zu candidates finished and recorded; to go on: mlaforge tune '%s'",
          r->stopped, r->n, problem);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (c->given[kept[i].option]) fprintf(stderr, " --%s '%s'", kept[i].name, c->given[kept[i].option]);
  fprintf(stderr, "\n");
}

static mlaf_status run(cli *c, const mlaf_problem *p, mlaf_tuner_result *r) {
  mlaf_gen *g = NULL;
  mlaf_status status = mlaf_ctx_gen(c->ctx, &g, &c->err);
  if (status != MLAF_OK) return status;
  mlaf_tuner_env env = {mlaf_ctx_device(c->ctx), c->ctx->db, g, c->ctx->compiler, &c->log, NULL};
  mlaf_tuner_opts opts = {.max_candidates = (size_t)mlaf_cli_int(c, O_MAX_CANDIDATES, 0),
                          .time_limit_s = mlaf_cli_real(c, O_TIME_LIMIT, 0),
                          .seed = mlaf_cli_seed(c),
                          .no_resume = mlaf_cli_has(c, O_NO_RESUME),
                          .progress = on_progress,
                          .progress_user = c,
                          .cancel = c->cancel};
  return mlaf_tuner_run(&env, p, &opts, r, &c->err);
}

int mlaf_cli_tune(cli *c) {
  mlaf_problem p;
  mlaf_tuner_result r = {.n = 0};
  char problem[MLAF_PROBLEM_TEXT_MAX];
  if (mlaf_cli_has(c, O_RESUME) && mlaf_cli_has(c, O_NO_RESUME))
    return mlaf_cli_usage(c, "--resume and --no-resume exclude each other");
  if (mlaf_cli_problem(c, &p) != MLAF_OK) return mlaf_cli_fail(c);
  if (mlaf_cli_has(c, O_DRY_RUN)) return dry_run(c, &p);
  /* A tuner that remembers nothing is a waste of minutes: an unusable database is an error here, unlike in planning. */
  mlaf_status status = mlaf_cli_open(c, true);
  if (status == MLAF_OK) status = run(c, &p, &r);
  mlaf_cli_progress_end(c);
  mlaf_problem_print(&p, problem, sizeof problem);
  if (c->ctx && (status == MLAF_OK || r.n)) print_result(c, problem, &r);
  if (r.stopped[0]) how_to_resume(c, problem, &r);
  mlaf_tuner_result_clear(&r);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
