/* `mlaforge compile`: code objects of a problem's kernels and what they say of themselves. */
#include "cli/cli.h"
#include "rig/evidence.h"
#include "run/resources.h"

typedef struct work {
  cli *c;
  mlaf_compiler *compiler;
  const char *target;
  const mlaf_point *problem;
  cli_kernel *kernels;
  mlaf_compile_job *jobs;
  size_t n, findings;
  const char *culprit; /* variant of the first finding */
  cli_table *table;
  count_rig *rig; /* NULL: evidence is static */
} work;

/* Also where a stop is noticed: the pool asks after every kernel. */
static bool on_job(void *user, size_t done, size_t total, const mlaf_compile_job *job) {
  work *w = user;
  mlaf_cli_progress(w->c, "compiled %zu of %zu kernels", done, total);
  return !atomic_load(w->c->cancel);
}

/* One batch over the worker pool; kernels already in the cache cost no compiler run. */
static mlaf_status compile_all(work *w, mlaf_gen *g) {
  const char *const *options = NULL;
  mlaf_status status = mlaf_gen_options(g, w->target, &options, &w->c->err);
  if (status != MLAF_OK) return status;
  w->jobs = calloc(w->n + 1, sizeof *w->jobs);
  if (!w->jobs) return mlaf_fail(&w->c->err, MLAF_E_NOMEM, "no memory for %zu compile jobs", w->n);
  for (size_t i = 0; i < w->n; i++)
    w->jobs[i] = (mlaf_compile_job){
        .source = w->kernels[i].source, .options = options, .target = w->target, .name = w->kernels[i].desc->symbol};
  status = mlaf_compile(w->compiler, w->jobs, w->n, on_job, w, &w->c->err);
  mlaf_cli_progress_end(w->c);
  return status;
}

static mlaf_status write_code(work *w, const cli_kernel *k, const mlaf_compile_job *job) {
  const char *dir = w->c->given[O_OUT];
  if (!dir) return MLAF_OK;
  char *path = mlaf_format("%s/%s.co", dir, k->desc->symbol);
  if (!path) return mlaf_fail(&w->c->err, MLAF_E_NOMEM, "no memory for a path");
  mlaf_status status = mlaf_file_write(path, job->code, job->code_size, &w->c->err);
  free(path);
  return status;
}

static void json_evidence(cJSON *to, const rig_evidence *e) {
  const struct {
    const char *name;
    unsigned value;
  } fields[] = {{"loops", e->loops},
                {"start", e->start},
                {"loop_instructions", e->loop_instructions},
                {"instructions", e->instructions},
                {"mfma", e->mfma},
                {"valu", e->valu},
                {"ds", e->ds},
                {"vmem", e->vmem},
                {"smem", e->smem},
                {"salu", e->salu},
                {"nop", e->nop},
                {"waitcnt", e->waitcnt},
                {"barrier", e->barrier},
                {"branch", e->branch},
                {"load_bytes_per_wave", e->load_bytes}};
  cJSON *o = cJSON_AddObjectToObject(to, "hot_loop");
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    cJSON_AddNumberToObject(o, fields[i].name, fields[i].value);
  mlaf_cli_json(o, NUMBER("other_per_mfma", e->other_per_mfma), TEXT("source", e->executed ? "executed" : "static"));
}

/* The columns behind the resources. "other/mfma" is what the guide's tables call non-MFMA instructions per MFMA. */
static void table_evidence(work *w, const rig_evidence *e) {
  const unsigned fields[] = {e->mfma, e->valu, e->ds, e->vmem, e->waitcnt, e->nop, e->barrier};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) mlaf_cli_table_cell(w->table, "%u", fields[i]);
  if (e->mfma) mlaf_cli_table_cell(w->table, "%.2f", e->other_per_mfma);
  else mlaf_cli_table_cell(w->table, "-");
  mlaf_cli_table_cell(w->table, "%.1f\t%s", e->load_bytes / 1e3, e->executed ? "executed" : "static");
}

/* One row or one JSON line. A kernel that did not compile has zeros and its finding. */
static void report(work *w, const cli_kernel *k, const mlaf_compile_job *job, const mlaf_kernel_meta *m,
                   const char *finding, const rig_evidence *evidence) {
  if (w->c->json) {
    cJSON *e = mlaf_cli_event("kernel");
    mlaf_cli_json(e, TEXT("symbol", k->desc->symbol), TEXT("template", k->desc->template_name), TEXT("params", k->desc->params),
                  TEXT("variant", k->variant), TEXT("status", mlaf_status_name(job->status)), TEXT("finding", finding),
                  TEXT("code_key", job->key), NUMBER("code_bytes", job->code_size), FLAG("cached", job->cached),
                  NUMBER("seconds", job->seconds), NUMBER("vgpr", mlaf_resources_vgpr(m)), NUMBER("agpr", m->agpr_count),
                  NUMBER("sgpr", m->sgpr_count), NUMBER("spills", m->vgpr_spills + m->sgpr_spills),
                  NUMBER("lds_bytes", m->lds_bytes), NUMBER("scratch_bytes", m->scratch_bytes));
    if (mlaf_cli_has(w->c, O_EVIDENCE)) json_evidence(e, evidence);
    mlaf_cli_emit(e);
    return;
  }
  mlaf_cli_table_cell(w->table, "%s", k->desc->symbol);
  const unsigned resources[] = {mlaf_resources_vgpr(m), m->agpr_count, m->sgpr_count, m->lds_bytes, m->scratch_bytes};
  for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) mlaf_cli_table_cell(w->table, "%u", resources[i]);
  mlaf_cli_table_cell(w->table, "%zu", job->code_size);
  mlaf_cli_table_cell(w->table, job->cached ? "cached" : "%.2f", job->seconds);
  if (mlaf_cli_has(w->c, O_EVIDENCE)) table_evidence(w, evidence);
  mlaf_cli_table_cell(w->table, "%s%s%s %s", finding[0] ? "FINDING: " : "", finding, finding[0] ? ";" : "",
                      k->desc->params);
}

/* By execution where an emulator can run the kernel, else from the text. */
static mlaf_status find_evidence(work *w, const cli_kernel *k, const mlaf_compile_job *job, rig_evidence *out) {
  char *text = NULL;
  mlaf_err why = {MLAF_OK, ""};
  if (w->rig && k->stage == 0 && mlaf_count_rig_count(w->rig, k->desc, job->code, job->code_size, out, &why) == MLAF_OK)
    return MLAF_OK;
  if (mlaf_cli_go_on(w->c) != MLAF_OK) return w->c->err.status;
  if (why.status != MLAF_OK)
    mlaf_log_line(&w->c->log, MLAF_LOG_WARN, "%s is counted statically: %s", k->desc->symbol, why.text);
  mlaf_status status = mlaf_disassemble(w->compiler, w->target, job->code, job->code_size, &text, &w->c->err);
  if (status != MLAF_OK) return status;
  bool counted = mlaf_evidence(text, out);
  free(text);
  return counted ? MLAF_OK : mlaf_fail(&w->c->err, MLAF_E_NOMEM, "no memory for a disassembly");
}

static void open_rig(work *w, const mlaf_point *p) {
  mlaf_err why = {MLAF_OK, ""};
  if (!mlaf_cli_has(w->c, O_EVIDENCE)) return;
  if (mlaf_count_rig_open(&w->c->log, w->c->cancel, p, w->target, 1, &w->rig, &why) != MLAF_OK)
    mlaf_log_line(&w->c->log, MLAF_LOG_WARN, "evidence is static: %s", why.text);
}

/* Looks at one kernel, whose faults go to its row; not OK: the command itself cannot go on. */
static mlaf_status look_at(work *w, const cli_kernel *k, const mlaf_compile_job *job) {
  mlaf_kernel_meta meta = {.vgpr_count = 0};
  rig_evidence evidence = {0};
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status status = job->status;
  if (status == MLAF_OK) {
    const mlaf_asking asking = {.symbol = k->desc->symbol, .threads = k->desc->threads, .calls = w->problem->op->calls,
                                .stage = k->stage, .budget = mlaf_budget_of(k->desc)};
    status = mlaf_resources_read(NULL, k->desc->symbol, job->code, job->code_size, &meta, &why);
    if (status == MLAF_OK) status = mlaf_resources_check(&asking, &meta, &why);
  } else {
    const char *log = job->log ? job->log : "";
    mlaf_fail(&why, status, "%s: %.*s", mlaf_status_text(status), (int)strcspn(log, "\n"), log);
  }
  if (status != MLAF_OK && !w->findings++) w->culprit = k->variant;
  if (job->status == MLAF_OK && mlaf_cli_has(w->c, O_EVIDENCE)) {
    mlaf_status read = find_evidence(w, k, job, &evidence);
    if (read != MLAF_OK) return read;
  }
  report(w, k, job, &meta, why.text, &evidence);
  return job->status == MLAF_OK ? write_code(w, k, job) : MLAF_OK;
}

static mlaf_status run(work *w, mlaf_gen *g) {
  static const char *const plain[] = {"symbol",   ">vgpr",  ">agpr", ">sgpr",  ">lds",
                                      ">scratch", ">bytes", ">s",    "params", NULL};
  static const char *const full[] = {"symbol",   ">vgpr",       ">agpr",    ">sgpr",  ">lds",  ">scratch", ">bytes",
                                     ">s",       ">mfma",       ">valu",    ">ds",    ">vmem", ">wait",    ">nop",
                                     ">barrier", ">other/mfma", ">load KB", "counted",
                                     "params", NULL};
  if (!w->c->json) w->table = mlaf_cli_table_new(mlaf_cli_has(w->c, O_EVIDENCE) ? full : plain);
  mlaf_status status = compile_all(w, g);
  if (status == MLAF_OK && w->c->given[O_OUT]) status = mlaf_dir_make_open(w->c->given[O_OUT], &w->c->err);
  for (size_t i = 0; status == MLAF_OK && i < w->n; i++) {
    status = look_at(w, &w->kernels[i], &w->jobs[i]);
    if (status == MLAF_OK && i + 1 < w->n) status = mlaf_cli_go_on(w->c);
  }
  mlaf_cli_table_end(w->table);
  for (size_t i = 0; w->jobs && i < w->n; i++) mlaf_compile_job_clear(&w->jobs[i]);
  free(w->jobs);
  return status;
}

int mlaf_cli_compile(cli *c) {
  mlaf_point p;
  mlaf_gen *g = NULL;
  cli_variants v = {NULL, 0, 0};
  work w = {.c = c, .target = mlaf_cli_target(c), .problem = &p};
  mlaf_compiler_opts opts = {.cache_dir = c->given[O_CACHE], .jobs = (int)mlaf_cli_int(c, O_JOBS, 0)};
  mlaf_status status = mlaf_cli_problem(c, &p);
  if (status == MLAF_OK) status = mlaf_compiler_open(&opts, &c->log, &w.compiler, &c->err);
  if (status == MLAF_OK) status = mlaf_gen_open(c->given[O_GEN_ROOT], &g, &c->err);
  if (status == MLAF_OK) status = mlaf_cli_variants(c, g, &p, w.target, &v);
  if (status == MLAF_OK) status = mlaf_cli_kernels(c, g, w.target, &v, &w.kernels, &w.n);
  if (status == MLAF_OK) open_rig(&w, &p);
  if (status == MLAF_OK) status = run(&w, g);
  mlaf_count_rig_close(w.rig);
  if (status == MLAF_OK && w.findings) {
    char problem[MLAF_POINT_TEXT_MAX];
    mlaf_point_print(&p, problem, sizeof problem);
    fprintf(stderr,
            "mlaforge: %zu of %zu kernels have findings; the first again: mlaforge compile '%s' --target %s --variant "
            "'%s'\n",
            w.findings, w.n, problem, w.target, w.culprit);
  }
  mlaf_cli_kernels_free(w.kernels, w.n);
  mlaf_cli_variants_free(&v);
  mlaf_gen_close(g);
  mlaf_compiler_close(w.compiler);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  return w.findings ? CLI_FINDINGS : CLI_OK;
}
