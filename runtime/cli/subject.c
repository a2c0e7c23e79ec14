/* The variant that bench and profile run: --variant, or what a plan of the problem would take. */
#include "cli/cli.h"
#include "run/build.h"
#include "plan/planner.h"

/* --variant: whatever the database says, so that two variants can be compared by hand. */
static mlaf_status load_named(cli *c, const mlaf_point *p, mlaf_gen *g, cli_subject *s) {
  cli_variants v = {NULL, 0, 0};
  mlaf_build build = {.n = 0};
  const double start = mlaf_now();
  mlaf_status status = mlaf_cli_variants(c, g, p, mlaf_ctx_target(c->ctx), &v);
  if (status == MLAF_OK) status = mlaf_build_init(&v.list[0], &build, &c->err);
  if (status == MLAF_OK)
    status = mlaf_build_now(&build, g, c->ctx->compiler, mlaf_ctx_target(c->ctx), true, &s->compiles, &c->err);
  if (status == MLAF_OK) status = mlaf_build_load(&build, mlaf_ctx_device(c->ctx), p, &s->loaded, &c->err);
  snprintf(s->variant, sizeof s->variant, "%s", build.name);
  s->rung = "named";
  s->plan_s = mlaf_now() - start;
  s->source = "none";
  mlaf_build_clear(&build);
  mlaf_cli_variants_free(&v);
  return status;
}

/* The same ladder a program's mlaf_plan_create climbs, so the figure is what that program gets. */
static mlaf_status load_planned(cli *c, const mlaf_point *p, cli_subject *s) {
  mlaf_planned planned;
  mlaf_plan_opts opts = mlaf_cli_plan_opts(c);
  const double start = mlaf_now();
  mlaf_status status = mlaf_planner_run(c->ctx, p, &opts, NULL, &planned, &c->err);
  if (status != MLAF_OK) return status;
  s->plan_s = mlaf_now() - start;
  s->compiles = planned.compiles;
  s->loaded = planned.loaded;
  s->rung = mlaf_rung_name(planned.rung);
  s->source = planned.source;
  s->notes = planned.notes;
  memcpy(s->variant, planned.variant, sizeof s->variant);
  return MLAF_OK;
}

mlaf_status mlaf_cli_subject(cli *c, const mlaf_point *p, mlaf_gen *g, cli_subject *s) {
  return c->given[O_VARIANT] ? load_named(c, p, g, s) : load_planned(c, p, s);
}

void mlaf_cli_subject_clear(cli_subject *s) {
  mlaf_loaded_close(s->loaded);
  free(s->notes);
  *s = (cli_subject){.loaded = NULL};
}
