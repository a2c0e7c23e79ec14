/* `mlaforge verify --soak`: thousands of launches of a variant, of the planned one, or of every choice of a layer. */
#include "cli/cli.h"
#include "run/build.h"
#include "plan/planner.h"
#include "check/soak.h"

typedef struct soak_case {
  mlaf_point problem;
  mlaf_lengths lengths;
  char lengths_text[MLAF_LENGTHS_TEXT_MAX];
  mlaf_variant variant; /* name NULL: what a plan takes */
} soak_case;

typedef struct job {
  cli *c;
  mlaf_gen *gen;
  mlaf_pool *pool;
  cli_table *table;
  soak_case *list;
  size_t n, at, wrong;
  int64_t launches, total, pool_bytes;
} job;

/* A variant on the device, with its hashes: what a report is good for. */
typedef struct subject {
  mlaf_loaded *loaded;
  char variant[256];
  const char *rung;
  mlaf_kernel_ref refs[MLAF_STAGES_MAX];
} subject;

/* --- which cases --- */
static mlaf_status add_case(job *j, const mlaf_point *p, const char *lengths, soak_case **out) {
  if (!mlaf_room(&j->list, j->n, sizeof *j->list)) return mlaf_fail(&j->c->err, MLAF_E_NOMEM, "no memory for cases");
  soak_case *x = &j->list[j->n];
  *x = (soak_case){.problem = *p};
  mlaf_status status = mlaf_lengths_parse(lengths && *lengths ? lengths : "equal", &x->lengths, &j->c->err);
  if (status != MLAF_OK) return status;
  mlaf_lengths_print(&x->lengths, x->lengths_text);
  j->n++;
  *out = x;
  return MLAF_OK;
}

typedef struct collecting {
  job *j;
  size_t seen;
  cli_share share;
  mlaf_status status;
} collecting;

/* A choice that today's generator cannot make serves no plan either: said, and left out. */
static bool take_choice(void *user, const char *device_id, const mlaf_choice *choice) {
  collecting *x = user;
  cli *c = x->j->c;
  mlaf_point p;
  soak_case *added;
  char why[256] = "", arch[96];
  snprintf(arch, sizeof arch, "arch:%s", mlaf_ctx_target(c->ctx));
  if (strcmp(device_id, mlaf_ctx_device_id(c->ctx)) != 0 && strcmp(device_id, arch) != 0) return true;
  if (choice->at.op && !choice->at.op->calls) return true; /* a composition's knob: nothing that is launched */
  if ((long long)(x->seen++ % (size_t)x->share.n) != x->share.i) return true;
  x->status = mlaf_point_parse(NULL, choice->problem, &p, why, sizeof why);
  if (x->status != MLAF_OK) mlaf_fail(&c->err, x->status, "the choice of '%s': %s", choice->problem, why);
  else x->status = add_case(x->j, &p, choice->lengths, &added);
  if (x->status != MLAF_OK) return false;
  if (mlaf_gen_variant(x->j->gen, mlaf_point_text(&p).s, mlaf_ctx_target(c->ctx), choice->variant, &added->variant,
                       &c->err) != MLAF_OK) {
    mlaf_log_line(&c->log, MLAF_LOG_WARN, "left out, the generator does not make it today: %s of %s", choice->variant,
                  choice->problem);
    x->j->n--;
  }
  return true;
}

static mlaf_status choices_of_layer(job *j) {
  cli *c = j->c;
  const char *name = c->given[O_CHOICES];
  mlaf_choice_layer layer = MLAF_LAYER_USER;
  collecting x = {.j = j};
  while (layer < MLAF_LAYER_COUNT && strcmp(mlaf_layer_name(layer), name) != 0) layer++;
  if (layer == MLAF_LAYER_COUNT)
    return mlaf_fail(&c->err, MLAF_E_ARG, "--choices is '%s'; there are user, site and shipped", name);
  if (!c->ctx->db) return mlaf_fail(&c->err, MLAF_E_DB, "there is no tuning database: %s", c->ctx->db_why.text);
  mlaf_db *db = mlaf_db_layer(c->ctx->db, layer);
  mlaf_status status = mlaf_cli_share(c, &x.share);
  if (status == MLAF_OK && db) status = mlaf_db_each_choice(db, take_choice, &x, &c->err);
  if (status == MLAF_OK) status = x.status;
  if (status == MLAF_OK && !j->n)
    status = mlaf_fail(&c->err, MLAF_E_NOT_TUNED, "the layer '%s' has no choice for %s%s", name, mlaf_ctx_device_id(c->ctx),
                       x.seen ? " in this share" : "");
  return status;
}

/* --variant, --all, or the plan's. */
static mlaf_status cases_of_problem(job *j) {
  cli *c = j->c;
  mlaf_point p;
  soak_case *added;
  cli_variants v = {NULL, 0, 0};
  mlaf_status status = mlaf_cli_problem(c, &p);
  const bool named = c->given[O_VARIANT] || mlaf_cli_has(c, O_ALL);
  if (status == MLAF_OK && !named) return add_case(j, &p, c->given[O_LENGTHS], &added);
  if (status == MLAF_OK) status = mlaf_cli_variants(c, j->gen, &p, mlaf_ctx_target(c->ctx), &v);
  if (status == MLAF_OK && mlaf_cli_has(c, O_ALL)) mlaf_cli_distinct_kernels(&v);
  const size_t most = (size_t)mlaf_cli_int(c, O_MAX_CANDIDATES, (long long)v.n);
  for (size_t i = 0; status == MLAF_OK && i < v.n && i < most; i++) {
    status = add_case(j, &p, c->given[O_LENGTHS], &added);
    if (status != MLAF_OK) break;
    added->variant = v.list[i];
    v.list[i] = (mlaf_variant){.name = NULL};
  }
  mlaf_cli_variants_free(&v);
  return status;
}

/* All kernels at once: one after the other they would take longer than the soaks. */
static mlaf_status warm_cache(job *j) {
  cli_variants v = {calloc(j->n, sizeof *v.list), 0, 0};
  if (!v.list) return mlaf_fail(&j->c->err, MLAF_E_NOMEM, "no memory for %zu variants", j->n);
  for (size_t i = 0; i < j->n; i++)
    if (j->list[i].variant.name) v.list[v.n++] = j->list[i].variant; /* borrowed */
  mlaf_status status = v.n > 1 ? mlaf_cli_warm_cache(j->c, j->gen, &v) : MLAF_OK;
  free(v.list);
  return status;
}

/* --- one case --- */
static mlaf_status load_variant(job *j, const mlaf_point *p, const mlaf_variant *v, subject *s) {
  cli *c = j->c;
  mlaf_build build = {.n = 0};
  int compiles = 0;
  mlaf_status status = mlaf_build_init(v, &build, &c->err);
  if (status == MLAF_OK)
    status = mlaf_build_now(&build, j->gen, c->ctx->compiler, mlaf_ctx_target(c->ctx), true, &compiles, &c->err);
  if (status == MLAF_OK) status = mlaf_build_load(&build, mlaf_ctx_device(c->ctx), p, &s->loaded, &c->err);
  snprintf(s->variant, sizeof s->variant, "%s", v->name);
  memcpy(s->refs, build.refs, sizeof s->refs);
  s->rung = "named";
  mlaf_build_clear(&build);
  return status;
}

static mlaf_status load_named(job *j, const mlaf_point *p, const char *name, subject *s) {
  mlaf_variant v = {.name = NULL};
  mlaf_status status = mlaf_gen_variant(j->gen, mlaf_point_text(p).s, mlaf_ctx_target(j->c->ctx), name, &v, &j->c->err);
  if (status == MLAF_OK) status = load_variant(j, p, &v, s);
  mlaf_variant_clear(&v);
  return status;
}

/* Loads what a plan loads, launched as it was loaded; its hashes are those of the variant that it names. */
static mlaf_status load_planned(job *j, const mlaf_point *p, subject *s) {
  cli *c = j->c;
  mlaf_planned planned;
  mlaf_variant v = {.name = NULL};
  mlaf_build build = {.n = 0};
  int compiles = 0;
  mlaf_plan_opts opts = mlaf_cli_plan_opts(c);
  mlaf_status status = mlaf_planner_run(c->ctx, p, &opts, NULL, &planned, &c->err);
  if (status != MLAF_OK) return status;
  s->loaded = planned.loaded;
  s->rung = mlaf_rung_name(planned.rung);
  memcpy(s->variant, planned.variant, sizeof s->variant);
  free(planned.notes);
  status = mlaf_gen_variant(j->gen, mlaf_point_text(p).s, mlaf_ctx_target(c->ctx), s->variant, &v, &c->err);
  if (status == MLAF_OK) status = mlaf_build_init(&v, &build, &c->err);
  if (status == MLAF_OK)
    status = mlaf_build_now(&build, j->gen, c->ctx->compiler, mlaf_ctx_target(c->ctx), true, &compiles, &c->err);
  memcpy(s->refs, build.refs, sizeof s->refs);
  mlaf_build_clear(&build);
  mlaf_variant_clear(&v);
  return status;
}

static void on_progress(void *user, int64_t done, int64_t wrong) {
  job *j = user;
  mlaf_cli_progress(j->c, "soaking %zu of %zu: %lld of %lld launches, %lld wrong", j->at + 1, j->n, (long long)done,
                    (long long)j->launches, (long long)wrong);
}

/* JSON has no infinity: an error that is one stays away. */
static void add_finite(cJSON *to, const char *name, double x) {
  if (isfinite(x)) cJSON_AddNumberToObject(to, name, x);
}

static void json_first(cJSON *e, const mlaf_soak_row *f, double worst) {
  cJSON *o = cJSON_AddObjectToObject(e, "first");
  const struct {
    const char *name;
    double value;
  } fields[] = {{"launch", (double)f->launch}, {"stream", f->stream}, {"set", f->set}, {"row", (double)f->row},
                {"words", f->words}, {"of_words", f->of}, {"against_first", f->against_first}, {"error", f->error},
                {"error_of_first_launch", f->first_error}};
  cJSON_AddStringToObject(o, "where", f->where);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) add_finite(o, fields[i].name, fields[i].value);
  add_finite(e, "worst_against_first", worst);
}

static void report_json(const job *j, const soak_case *x, const subject *s, const mlaf_soak_result *r, mlaf_status status,
                        const char *why) {
  char problem[MLAF_POINT_TEXT_MAX];
  cJSON *e = mlaf_cli_event("soak");
  mlaf_point_print(&x->problem, problem, sizeof problem);
  mlaf_cli_json(e, TEXT("problem", problem), TEXT("device", mlaf_ctx_device_id(j->c->ctx)), TEXT("variant", s->variant));
  if (j->c->given[O_BESIDE]) cJSON_AddStringToObject(e, "beside_variant", j->c->given[O_BESIDE]);
  mlaf_cli_json(e, TEXT("rung", s->rung), NUMBER("knob", s->loaded ? mlaf_loaded_knob(s->loaded) : 0),
                TEXT("lengths", x->lengths_text), TEXT("seed", j->c->given[O_SEED] ? j->c->given[O_SEED] : "1"),
                FLAG("correct", status == MLAF_OK), TEXT("status", mlaf_status_name(status)), TEXT("detail", why));
  const struct {
    const char *name;
    double value;
  } counts[] = {{"launches", (double)r->launches}, {"asked", (double)j->launches}, {"compared", (double)r->launches},
                {"beside", (double)r->beside}, {"wrong", (double)r->wrong}, {"wrong_rows", (double)r->wrong_rows},
                {"rows", (double)r->rows}, {"page_tables", r->sets}, {"pool_bytes", (double)r->pool_bytes},
                {"l2_bytes", (double)mlaf_info(mlaf_ctx_device(j->c->ctx))->l2_bytes}, {"seconds", r->seconds}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) cJSON_AddNumberToObject(e, counts[i].name, counts[i].value);
  mlaf_cli_json(e, FLAG("traffic", r->traffic), FLAG("stopped", r->stopped), TEXT("checked", r->checked),
                NUMBER("checked_rows", r->checked_rows));
  add_finite(e, "error", r->error);
  add_finite(e, "row_error", r->row_error);
  add_finite(e, "lse_of_bound", r->lse_ratio);
  if (r->wrong) json_first(e, &r->first, r->worst);
  mlaf_cli_json_kernels(e, problem, s->refs);
  mlaf_cli_emit(e);
}

static void report(const job *j, const soak_case *x, const subject *s, const mlaf_soak_result *r, mlaf_status status,
                   const char *why) {
  char problem[MLAF_POINT_TEXT_MAX];
  if (j->c->json) {
    report_json(j, x, s, r, status, why);
    return;
  }
  mlaf_point_print(&x->problem, problem, sizeof problem);
  mlaf_cli_table_cell(j->table, "%s\t%lld%s\t%lld\t%.1f\t%d\t%.2f\t%.2e\t%.3f\t%s\t%s %s %s%s%s",
                      status == MLAF_OK ? "correct" : "WRONG",
                      (long long)r->launches, r->stopped && status == MLAF_OK ? " (stopped)" : "", (long long)r->wrong,
                      r->seconds, r->sets, (double)r->pool_bytes / 1e9, r->error, r->lse_ratio, r->checked,
                      problem, x->lengths_text, s->variant, status == MLAF_OK ? "" : ": ", status == MLAF_OK ? "" : why);
}

/* True for faults of one variant, which say nothing of the others; a lost device does. */
static bool is_finding(mlaf_status s) { return s == MLAF_E_INCORRECT || s == MLAF_E_FAULT || s == MLAF_E_TIMEOUT; }

/* Under the device's lock: a soak beside a tuning run would spoil its times. */
static mlaf_status soak_locked(job *j, const soak_case *x, const subject *s, const mlaf_loaded *beside, mlaf_soak_result *r,
                               mlaf_err *err) {
  cli *c = j->c;
  const mlaf_tool_env env = {mlaf_ctx_device(c->ctx), j->gen, c->ctx->compiler, mlaf_ctx_target(c->ctx)};
  const mlaf_soak_opts opts = {.launches = j->launches, .seed = mlaf_cli_seed(c), .lengths = x->lengths,
                               .pool_bytes = j->pool_bytes, .beside = beside, .pool = j->pool, .cancel = c->cancel,
                               .progress = on_progress, .user = j};
  int lock = -1;
  mlaf_status status = mlaf_tuner_lock(env.device, &c->log, c->cancel, 0, &lock, err);
  if (status != MLAF_OK) return status;
  status = mlaf_soak_run(&env, s->loaded, &opts, r, err);
  mlaf_tuner_unlock(lock);
  return status;
}

static mlaf_status run_case(job *j, const soak_case *x) {
  cli *c = j->c;
  subject s = {.loaded = NULL, .rung = "none"}, beside = {.loaded = NULL};
  mlaf_soak_result r = {.launches = 0};
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status status =
      x->variant.name ? load_variant(j, &x->problem, &x->variant, &s) : load_planned(j, &x->problem, &s);
  if (status == MLAF_OK && c->given[O_BESIDE]) status = load_named(j, &x->problem, c->given[O_BESIDE], &beside);
  if (status == MLAF_OK) {
    status = soak_locked(j, x, &s, beside.loaded, &r, &why);
    if (status == MLAF_OK || is_finding(status) || status == MLAF_E_DEVICE) report(j, x, &s, &r, status, why.text);
    if (status != MLAF_OK) c->err = why;
  }
  j->total += r.launches;
  if (is_finding(status)) {
    j->wrong++;
    status = MLAF_OK;
  }
  if (status == MLAF_OK && r.stopped && r.wrong == 0)
    status = mlaf_fail(&c->err, MLAF_E_CANCELLED, "after %lld of %lld launches of variant %zu of %zu", (long long)r.launches,
                       (long long)j->launches, j->at + 1, j->n);
  mlaf_loaded_close(beside.loaded);
  mlaf_loaded_close(s.loaded);
  return status;
}

static mlaf_status prepare(job *j) {
  cli *c = j->c;
  size_t bytes = 0;
  mlaf_status status = mlaf_cli_size(c, O_POOL, &bytes);
  j->pool_bytes = (int64_t)bytes;
  if (status == MLAF_OK) status = mlaf_cli_open(c, false);
  if (status == MLAF_OK) status = mlaf_ctx_gen(c->ctx, &j->gen, &c->err);
  if (status == MLAF_OK) status = c->given[O_CHOICES] ? choices_of_layer(j) : cases_of_problem(j);
  if (status == MLAF_OK) status = warm_cache(j);
  return status == MLAF_OK ? mlaf_pool_create(mlaf_ctx_device(c->ctx), mlaf_cli_seed(c), &j->pool, &c->err) : status;
}

int mlaf_cli_soak(cli *c) {
  static const char *const columns[] = {"verdict",   ">launches", ">wrong",  ">s", ">tables", ">pool GB", ">error",
                                        ">lse/bound", "checked against fp64", "what", NULL};
  job j = {.c = c, .launches = mlaf_cli_int(c, O_SOAK, 0)};
  const bool of_problem = mlaf_cli_names_problem(c) || c->given[O_VARIANT] || c->given[O_LENGTHS] || mlaf_cli_has(c, O_ALL) ||
                          c->given[O_BESIDE];
  if (c->given[O_INJECT]) return mlaf_cli_usage(c, "--soak runs right inputs alone: --inject is for verify without it");
  if (c->given[O_CHOICES] && of_problem)
    return mlaf_cli_usage(c, "--choices says which problems, variants and lengths: give none of them beside it");
  if (c->given[O_SHARD] && !c->given[O_CHOICES]) return mlaf_cli_usage(c, "--shard divides what --choices lists");
  mlaf_status status = prepare(&j);
  if (status == MLAF_OK && !c->json) {
    printf("device   %s\nsoak     %lld launches of each of %zu variants\n", mlaf_ctx_device_id(c->ctx),
           (long long)j.launches, j.n);
    j.table = mlaf_cli_table_new(columns);
  }
  for (j.at = 0; status == MLAF_OK && j.at < j.n; j.at++) {
    status = run_case(&j, &j.list[j.at]);
    if (status == MLAF_OK && j.at + 1 < j.n && atomic_load(c->cancel))
      status = mlaf_fail(&c->err, MLAF_E_CANCELLED, "after %zu of %zu variants", j.at + 1, j.n);
  }
  mlaf_cli_progress_end(c);
  if (j.table) mlaf_cli_table_end(j.table);
  mlaf_pool_free(j.pool);
  for (size_t i = 0; i < j.n; i++) mlaf_variant_clear(&j.list[i].variant);
  free(j.list);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  if (!c->json) printf("%zu of %zu variants correct, %lld launches\n", j.n - j.wrong, j.n, (long long)j.total);
  return j.wrong ? CLI_FINDINGS : CLI_OK;
}
