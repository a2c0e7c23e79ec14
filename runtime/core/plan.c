/* Plans: create, query, count references, execute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lengths.h"
#include "core/planner.h"
#include "core/problem.h"

struct mlaf_plan {
  atomic_int refs;
  mlaf_shared *shared; /* the device, and where messages go */
  mlaf_problem problem;
  mlaf_planned from;
  char text[MLAF_PROBLEM_TEXT_MAX];
};

/* The first version of the struct ended before `lengths`; a caller built against it passes that much. */
static mlaf_status read_opts(const mlaf_plan_opts *in, mlaf_plan_opts *out, mlaf_err *err) {
  const size_t first = offsetof(mlaf_plan_opts, lengths);
  mlaf_lengths lengths;
  *out = (mlaf_plan_opts)MLAF_PLAN_OPTS_INIT;
  if (!in) return MLAF_OK;
  if (in->struct_size < first || in->struct_size > 4096)
    return mlaf_fail(err, MLAF_E_ARG,
                     "mlaf_plan_opts: struct_size is %u, must be at least %zu: start from MLAF_PLAN_OPTS_INIT",
                     in->struct_size, first);
  for (const char *s = (const char *)(in + 1), *end = (const char *)in + in->struct_size; s < end; s++)
    if (*s) return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: a field this library does not know is set");
  if (in->flags & ~(uint32_t)MLAF_PLAN_NO_COMPILE)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: unknown flags 0x%x",
                     in->flags & ~(uint32_t)MLAF_PLAN_NO_COMPILE);
  if ((unsigned)in->effort > MLAF_EFFORT_MEASURE || in->reserved)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: effort is %d (0..%d), reserved is %d (0)", in->effort,
                     MLAF_EFFORT_MEASURE, in->reserved);
  if (!(in->time_limit_s >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: time_limit_s is %g, must be 0 or more", in->time_limit_s);
  if (in->effort == MLAF_EFFORT_MEASURE && in->flags & MLAF_PLAN_NO_COMPILE)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: MEASURE and NO_COMPILE exclude each other");
  memcpy(out, in, in->struct_size < sizeof *out ? in->struct_size : sizeof *out);
  return out->lengths ? mlaf_lengths_parse(out->lengths, &lengths, err) : MLAF_OK;
}

static mlaf_status plan_new(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts, mlaf_plan **out,
                            mlaf_err *err) {
  mlaf_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a plan");
  pthread_mutex_lock(&ctx->lock);
  mlaf_status st = mlaf_planner_run(ctx, problem, opts, &plan->from, err);
  pthread_mutex_unlock(&ctx->lock);
  if (st) {
    free(plan);
    return st;
  }
  atomic_init(&plan->refs, 1);
  plan->problem = *problem;
  plan->shared = ctx->shared;
  atomic_fetch_add_explicit(&ctx->shared->refs, 1, memory_order_relaxed);
  mlaf_problem_print(problem, plan->text, sizeof plan->text);
  *out = plan;
  return MLAF_OK;
}

mlaf_status mlaf_plan_create(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts, mlaf_plan **out) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_plan_opts o;
  mlaf_problem checked;
  char why[256] = "";
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st =
      problem && out ? read_opts(opts, &o, &err) : mlaf_fail(&err, MLAF_E_ARG, "mlaf_plan_create: a pointer is NULL");
  if (!st && (st = mlaf_problem_take(problem, &checked, why, sizeof why))) mlaf_fail(&err, st, "%s", why);
  if (!st) st = plan_new(ctx, &checked, &o, out, &err);
  err.status = st;
  return st ? mlaf_shared_report(ctx->shared, &err) : MLAF_OK;
}

mlaf_plan *mlaf_plan_retain(mlaf_plan *plan) {
  if (plan) atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
  return plan;
}

void mlaf_plan_release(mlaf_plan *plan) {
  if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) return;
  mlaf_loaded_close(plan->from.loaded);
  free(plan->from.notes);
  mlaf_shared_release(plan->shared);
  free(plan);
}

mlaf_status mlaf_plan_query(const mlaf_plan *plan, mlaf_plan_info *info) {
  if (!plan || !info || info->struct_size < offsetof(mlaf_plan_info, lengths)) return MLAF_E_ARG;
  const uint32_t size = info->struct_size;
  const mlaf_plan_info all = {
      .struct_size = size,
      .splits = (int32_t)mlaf_loaded_splits(plan->from.loaded),
      .problem = plan->text,
      .rung = mlaf_rung_name(plan->from.rung),
      .source = plan->from.source,
      .variant = plan->from.variant,
      .tuned_for = plan->from.tuned_for,
      .code = plan->from.compiles ? "compiled" : plan->from.bundled ? "bundle" : "cache",
      .stale = plan->from.stale,
      .notes = plan->from.notes ? plan->from.notes : "",
      .compiles = plan->from.compiles,
      .ns = plan->from.ns,
      .error = plan->from.error,
      .lengths = plan->from.lengths,
  };
  memcpy(info, &all, size < sizeof all ? size : sizeof all);
  return MLAF_OK;
}

size_t mlaf_plan_workspace_size(const mlaf_plan *plan, int64_t total_q) {
  return plan ? mlaf_loaded_workspace_size(plan->from.loaded, mlaf_loaded_splits(plan->from.loaded), total_q) : 0;
}

mlaf_status mlaf_execute(const mlaf_plan *plan, const mlaf_execute_args *args, void *stream) {
  mlaf_err err; /* 4 KB that only a failure writes to */
  if (!plan) return MLAF_E_ARG;
  mlaf_status st =
      args ? mlaf_loaded_launch(plan->from.loaded, mlaf_loaded_splits(plan->from.loaded), args, stream, &err)
           : mlaf_fail(&err, MLAF_E_ARG, "mlaf_execute: args is NULL");
  if (!st) return MLAF_OK;
  err.status = st;
  return mlaf_shared_report(plan->shared, &err);
}
