/* `mlaforge bench`: the time of the planned variant, with a roofline beside it. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/bench.h"

typedef struct figures {
  mlaf_timing timing;
  mlaf_work work;
  double memory_ns, compute_ns;
} figures;

/* Under the device lock, like the tuner: a bench beside a tuning run would spoil both. */
static mlaf_status time_it(cli *c, const mlaf_problem *p, mlaf_gen *g, const cli_subject *s, figures *f) {
  mlaf_bench *bench = NULL;
  mlaf_bench_opts opts = {.seed = mlaf_cli_seed(c)};
  int lock = -1;
  f->work = mlaf_problem_work(p);
  mlaf_status status = mlaf_gen_roofline(g, mlaf_ctx_target(c->ctx), f->work.bytes, f->work.flops, &f->memory_ns,
                                         &f->compute_ns, &c->err);
  if (status == MLAF_OK) status = mlaf_bench_create(mlaf_ctx_device(c->ctx), p, &opts, &bench, &c->err);
  if (status == MLAF_OK)
    status = mlaf_tuner_lock(mlaf_info(mlaf_ctx_device(c->ctx)), &c->log, c->cancel, 0, &lock, &c->err);
  if (status == MLAF_OK) status = mlaf_bench_time(bench, s->loaded, NULL, &f->timing, &c->err);
  mlaf_tuner_unlock(lock);
  mlaf_bench_free(bench);
  return status;
}

static void print_json(const cli *c, const char *problem, const cli_subject *s, const figures *f) {
  double floor_ns = f->memory_ns > f->compute_ns ? f->memory_ns : f->compute_ns;
  cJSON *e = mlaf_cli_event("bench");
  cJSON_AddStringToObject(e, "problem", problem);
  cJSON_AddStringToObject(e, "device", mlaf_ctx_device_id(c->ctx));
  cJSON_AddStringToObject(e, "variant", s->variant);
  cJSON_AddStringToObject(e, "rung", s->rung);
  cJSON_AddNumberToObject(e, "compiles", s->compiles);
  cJSON_AddNumberToObject(e, "plan_ms", s->plan_s * 1e3);
  cJSON_AddNumberToObject(e, "splits", mlaf_loaded_splits(s->loaded));
  mlaf_cli_json_timing(e, &f->timing);
  cJSON_AddNumberToObject(e, "tflops", f->work.flops / f->timing.ns / 1e3);
  cJSON_AddNumberToObject(e, "gbytes_per_s", f->work.bytes / f->timing.ns);
  cJSON_AddNumberToObject(e, "roofline_memory_ns", f->memory_ns);
  cJSON_AddNumberToObject(e, "roofline_compute_ns", f->compute_ns);
  cJSON_AddNumberToObject(e, "roofline_ratio", floor_ns / f->timing.ns);
  mlaf_cli_emit(e);
}

static void print_text(const cli *c, const char *problem, const cli_subject *s, const figures *f) {
  const mlaf_timing *t = &f->timing;
  bool memory = f->memory_ns > f->compute_ns;
  const char *how = t->source == MLAF_TIME_MODELLED ? "modelled" : "measured";
  char parts[256];
  mlaf_cli_parts(t, parts, sizeof parts);
  printf("problem   %s\ndevice    %s\nvariant   %s\n", problem, mlaf_ctx_device_id(c->ctx), s->variant);
  printf("plan      %s, %d compiles, %.1f ms", s->rung, s->compiles, s->plan_s * 1e3);
  if (strcmp(s->source, "none")) printf("; the choice's time was %s", s->source);
  printf("%s\n", s->notes && s->notes[0] ? " (other rungs passed over, see --verbose)" : "");
  printf("time      %.2f us %s", t->ns / 1e3, how);
  if (t->source == MLAF_TIME_MEASURED)
    printf(" (p10 %.2f, p90 %.2f, %d samples)", t->p10_ns / 1e3, t->p90_ns / 1e3, t->samples);
  printf(" at %.0f MHz\n", t->clock_mhz);
  if (parts[0]) printf("parts     %s us%s%s\n", parts, t->bound[0] ? "; bound by " : "", t->bound);
  if (t->detail[0]) printf("detail    %s\n", t->detail);
  printf("rate      %.1f TFLOP/s, %.1f GB/s (%s)\n", f->work.flops / t->ns / 1e3, f->work.bytes / t->ns, how);
  printf("roofline  %.2f us by %s; this is %.1f %% of it\n", (memory ? f->memory_ns : f->compute_ns) / 1e3,
         memory ? "HBM" : "MFMA", 100 * (memory ? f->memory_ns : f->compute_ns) / t->ns);
}

int mlaf_cli_bench(cli *c) {
  mlaf_problem p;
  mlaf_gen *g = NULL;
  cli_subject s = {.loaded = NULL};
  figures f = {.memory_ns = 0};
  char problem[MLAF_PROBLEM_TEXT_MAX];
  mlaf_status status = mlaf_cli_problem(c, &p);
  if (status == MLAF_OK) status = mlaf_cli_open(c, false);
  if (status == MLAF_OK) status = mlaf_ctx_gen(c->ctx, &g, &c->err);
  if (status == MLAF_OK) status = mlaf_cli_subject(c, &p, g, &s);
  if (status == MLAF_OK) status = time_it(c, &p, g, &s, &f);
  if (status == MLAF_OK) {
    mlaf_problem_print(&p, problem, sizeof problem);
    if (s.notes && s.notes[0]) mlaf_log_line(&c->log, MLAF_LOG_INFO, "plan: %s", s.notes);
    (c->json ? print_json : print_text)(c, problem, &s, &f);
  }
  mlaf_cli_subject_clear(&s);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
