/* `mlaforge verify`: variants against the fp64 reference. */
#include "cli/cli.h"
#include "run/build.h"
#include "plan/planner.h"

enum { SUITES = 4 };

static const struct {
  mlaf_inject inject;
  const char *name;
} kinds[SUITES] = {{MLAF_INJECT_NONE, "random"}, {MLAF_INJECT_NAN_Q, "nan-q"}, {MLAF_INJECT_OOB_PAGE, "oob-page"},
                   {MLAF_INJECT_LONG_Q, "long-q"}};

typedef struct job {
  cli *c;
  mlaf_point problem;
  mlaf_gen *gen;
  mlaf_suite *suites[SUITES]; /* NULL: not asked for */
  cli_table *table;
  size_t total, done, wrong;
} job;

/* "nan-q,oob-page" */
static mlaf_status parse_inject(cli *c, bool wanted[SUITES]) {
  wanted[0] = true;
  for (const char *at = c->given[O_INJECT]; at && *at;) {
    size_t n = strcspn(at, ",");
    bool found = false;
    for (int i = 1; i < SUITES; i++) {
      bool same = strlen(kinds[i].name) == n && strncmp(at, kinds[i].name, n) == 0;
      wanted[i] = wanted[i] || same;
      found = found || same;
    }
    if (!found)
      return mlaf_fail(&c->err, MLAF_E_ARG, "--inject '%.*s': known are nan-q, oob-page and, of mla_decode, long-q", (int)n, at);
    at += n + (at[n] == ',');
  }
  return MLAF_OK;
}

/* References are computed once and serve every variant. */
static mlaf_status make_suites(job *j) {
  bool wanted[SUITES] = {false};
  mlaf_status status = parse_inject(j->c, wanted);
  for (int i = 0; status == MLAF_OK && i < SUITES; i++)
    if (wanted[i])
      status = mlaf_suite_create(&j->problem, mlaf_cli_seed(j->c), kinds[i].inject, &j->suites[i], &j->c->err);
  return status;
}

static void report(job *j, const char *variant, const char *suite, const mlaf_verify_result *r, mlaf_status status,
                   const char *why) {
  if (j->c->json) {
    cJSON *e = mlaf_cli_event("verify");
    mlaf_cli_json(e, TEXT("variant", variant), TEXT("cases", suite), FLAG("correct", status == MLAF_OK),
                  TEXT("status", mlaf_status_name(status)), TEXT("detail", why), NUMBER("runs", r->cases),
                  NUMBER("rows", r->rows));
    /* JSON has no infinity: an error that is one stays away, `correct` says it all */
    if (isfinite(r->error)) cJSON_AddNumberToObject(e, "error", r->error);
    if (isfinite(r->row_error)) cJSON_AddNumberToObject(e, "row_error", r->row_error);
    if (isfinite(r->lse_ratio)) cJSON_AddNumberToObject(e, "lse_of_bound", r->lse_ratio);
    cJSON_AddStringToObject(e, "command", r->command);
    mlaf_cli_emit(e);
    return;
  }
  mlaf_cli_table_cell(j->table, "%s\t%s\t%lld\t%.2e\t%.2e\t%.3f\t%s%s%s", status == MLAF_OK ? "correct" : "WRONG", suite,
                      (long long)r->rows, r->error, r->row_error, r->lse_ratio,
                      variant, status == MLAF_OK ? "" : ": ", status == MLAF_OK ? "" : why);
}

/* A wrong result or a refused launch is a finding; anything else ends the command. */
static bool is_finding(mlaf_status s) {
  return s == MLAF_E_INCORRECT || s == MLAF_E_FAULT || s == MLAF_E_DEVICE || s == MLAF_E_TIMEOUT;
}

/* Every suite runs even when an earlier one failed: which cases fail tells what is wrong. */
static mlaf_status run_suites(job *j, const mlaf_loaded *l) {
  bool wrong = false;
  mlaf_status status = MLAF_OK;
  for (int i = 0; status == MLAF_OK && i < SUITES; i++) {
    if (!j->suites[i]) continue;
    mlaf_verify_result r;
    mlaf_err why = {MLAF_OK, ""};
    mlaf_status ran = mlaf_suite_run(j->suites[i], l, &r, &why);
    if (ran != MLAF_OK && !is_finding(ran)) {
      j->c->err = why;
      return ran;
    }
    report(j, mlaf_loaded_name(l), kinds[i].name, &r, ran, why.text);
    wrong = wrong || ran != MLAF_OK;
    if (ran == MLAF_E_DEVICE) { /* a lost device fails everything behind it */
      j->c->err = why;
      status = ran;
    }
  }
  j->wrong += wrong;
  j->done++;
  return status;
}

/* Verifies what a program would run: the database's choice, else the model's, else the baseline. */
static mlaf_status verify_planned(job *j) {
  mlaf_planned planned;
  mlaf_plan_opts opts = mlaf_cli_plan_opts(j->c);
  mlaf_status status = mlaf_planner_run(j->c->ctx, &j->problem, &opts, NULL, &planned, &j->c->err);
  if (status != MLAF_OK) return status;
  j->total = 1;
  status = run_suites(j, planned.loaded);
  mlaf_loaded_close(planned.loaded);
  free(planned.notes);
  return status;
}

/* True for faults of one variant's kernels (a compile error, scratch, registers spilled, a symbol not found), which say nothing
 * of the others: a finding, and on to the next. */
static bool is_build_finding(mlaf_status s) {
  return s == MLAF_E_COMPILE || s == MLAF_E_TEMPLATE || s == MLAF_E_CRASH || s == MLAF_E_TIMEOUT || s == MLAF_E_ARG;
}

static mlaf_status verify_one(job *j, const mlaf_variant *v) {
  mlaf_build build = {.n = 0};
  mlaf_loaded *loaded = NULL;
  int compiles = 0;
  const char *target = mlaf_ctx_target(j->c->ctx);
  mlaf_cli_progress(j->c, "verifying %zu of %zu: %s", j->done + 1, j->total, v->name);
  mlaf_status status = mlaf_build_init(v, &build, &j->c->err);
  if (status == MLAF_OK)
    status = mlaf_build_now(&build, j->gen, j->c->ctx->compiler, target, true, &compiles, &j->c->err);
  if (status == MLAF_OK) status = mlaf_build_load(&build, mlaf_ctx_device(j->c->ctx), &j->problem, &loaded, &j->c->err);
  if (status == MLAF_OK) {
    status = run_suites(j, loaded);
  } else if (is_build_finding(status)) {
    report(j, v->name, "build", &(mlaf_verify_result){0}, status, j->c->err.text);
    j->wrong++;
    j->done++;
    status = MLAF_OK;
  }
  mlaf_loaded_close(loaded);
  mlaf_build_clear(&build);
  return status;
}

static mlaf_status verify_many(job *j) {
  cli_variants v = {NULL, 0, 0};
  mlaf_status status = mlaf_cli_variants(j->c, j->gen, &j->problem, mlaf_ctx_target(j->c->ctx), &v);
  if (status == MLAF_OK) mlaf_cli_distinct_kernels(&v);
  size_t limit = (size_t)mlaf_cli_int(j->c, O_MAX_CANDIDATES, (long long)v.n);
  while (v.n > limit) mlaf_variant_clear(&v.list[--v.n]);
  j->total = v.n;
  if (status == MLAF_OK && v.n > 1) status = mlaf_cli_warm_cache(j->c, j->gen, &v);
  for (size_t i = 0; status == MLAF_OK && i < v.n; i++) {
    status = verify_one(j, &v.list[i]);
    if (status == MLAF_OK && i + 1 < v.n && atomic_load(j->c->cancel))
      status = mlaf_fail(&j->c->err, MLAF_E_CANCELLED, "after %zu of %zu variants", j->done,
                         j->total);
  }
  mlaf_cli_progress_end(j->c);
  mlaf_cli_variants_free(&v);
  return status;
}

int mlaf_cli_verify(cli *c) {
  static const char *const columns[] = {"verdict",    "cases",      ">rows",   ">error",
                                        ">worst row", ">lse/bound", "variant", NULL};
  job j = {.c = c};
  char problem[MLAF_POINT_TEXT_MAX];
  if (c->given[O_VARIANT] && mlaf_cli_has(c, O_ALL)) return mlaf_cli_usage(c, "--variant and --all exclude each other");
  if (mlaf_cli_has(c, O_SOAK)) return mlaf_cli_soak(c);
  static const cli_opt of_soak[] = {O_CHOICES, O_BESIDE, O_POOL, O_SHARD, O_COUNT};
  const int excess = mlaf_cli_excess(c, of_soak, "is for --soak N alone: give the number of launches, too");
  if (excess) return excess;
  mlaf_status status = mlaf_cli_problem(c, &j.problem);
  if (status == MLAF_OK) status = mlaf_cli_open(c, false);
  if (status == MLAF_OK) status = mlaf_ctx_gen(c->ctx, &j.gen, &c->err);
  if (status == MLAF_OK) status = make_suites(&j);
  if (status == MLAF_OK) {
    mlaf_point_print(&j.problem, problem, sizeof problem);
    if (!c->json)
      printf("problem  %s\ndevice   %s\nbound    %.2e %s\n", problem,
             mlaf_ctx_device_id(c->ctx), j.problem.op->calls->bound(&j.problem), j.problem.op->calls->error_about);
    if (!c->json) j.table = mlaf_cli_table_new(columns);
    status = c->given[O_VARIANT] || mlaf_cli_has(c, O_ALL) ? verify_many(&j) : verify_planned(&j);
    mlaf_cli_table_end(j.table);
  }
  for (int i = 0; i < SUITES; i++) mlaf_suite_free(j.suites[i]);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  if (!c->json) printf("%zu of %zu variants correct\n", j.done - j.wrong, j.done);
  return j.wrong ? CLI_FINDINGS : CLI_OK;
}
