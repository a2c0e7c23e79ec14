/* Plans: create, query, count references, execute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/lengths.h"
#include "ops/mla_decode/block_tables.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/problem.h"
#include "plan/planner.h"
#include "plan/tables_kernel.h"

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
  const uint32_t known = MLAF_PLAN_NO_COMPILE | MLAF_PLAN_TABLES;
  if (in->flags & ~known) return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: unknown flags 0x%x", in->flags & ~known);
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
  mlaf_status st = MLAF_OK;
  int compiles = 0;
  if (opts->flags & MLAF_PLAN_TABLES) st = mlaf_tables_kernel_open(ctx, !(opts->flags & MLAF_PLAN_NO_COMPILE), &compiles, err);
  if (!st) st = mlaf_planner_run(ctx, problem, opts, &plan->from, err);
  plan->from.compiles += compiles;
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

mlaf_status mlaf_plan_want_tables(mlaf_ctx *ctx, const mlaf_plan_opts *opts) {
  mlaf_err err = {MLAF_OK, ""};
  int compiles = 0;
  pthread_mutex_lock(&ctx->lock);
  err.status = mlaf_tables_kernel_open(ctx, !(opts->flags & MLAF_PLAN_NO_COMPILE), &compiles, &err);
  pthread_mutex_unlock(&ctx->lock);
  if (!err.status) mlaf_log_line(&ctx->log, MLAF_LOG_INFO, "plan: the kernel that reads block tables, %d compiled", compiles);
  return err.status ? mlaf_shared_report(ctx->shared, &err) : MLAF_OK;
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
      .splits = (int32_t)mlaf_loaded_knob(plan->from.loaded),
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
  return plan ? mlaf_loaded_workspace_size(plan->from.loaded, mlaf_loaded_knob(plan->from.loaded), total_q) : 0;
}

/* Offset of the tables made for a launch, behind the workspace of its kernels; SIZE_MAX: they do not fit. */
static size_t tables_at(const mlaf_plan *plan, int64_t total_q) {
  const size_t partial = mlaf_plan_workspace_size(plan, total_q);
  return partial > SIZE_MAX - MLAF_WORKSPACE_ALIGN
             ? SIZE_MAX
             : (partial + MLAF_WORKSPACE_ALIGN - 1) / MLAF_WORKSPACE_ALIGN * MLAF_WORKSPACE_ALIGN;
}

static bool whole_args(const mlaf_execute_args *in, mlaf_execute_args *out, mlaf_err *err) {
  if (mlaf_args_check_struct(in, err)) return false;
  *out = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
  memcpy(out, in, in->struct_size < sizeof *out ? in->struct_size : sizeof *out);
  out->struct_size = sizeof *out;
  return true;
}

size_t mlaf_execute_workspace_size(const mlaf_plan *plan, const mlaf_execute_args *args) {
  mlaf_execute_args a;
  if (!plan || !args || !whole_args(args, &a, NULL)) return plan && args ? SIZE_MAX : 0;
  if (!a.total_q) return 0;
  if (!mlaf_block_tables_wanted(&a)) return mlaf_plan_workspace_size(plan, a.total_q);
  const size_t at = tables_at(plan, a.total_q), tables = mlaf_block_tables_size(&plan->problem, &a);
  return at == SIZE_MAX || tables > SIZE_MAX - at ? SIZE_MAX : at + tables;
}

static mlaf_status launch(const mlaf_plan *plan, const mlaf_execute_args *a, void *stream, mlaf_err *err) {
  return mlaf_loaded_launch(plan->from.loaded, mlaf_loaded_knob(plan->from.loaded), a, stream, err);
}

static mlaf_status launch_tables(const mlaf_plan *plan, const mlaf_execute_args *a, void *at, void *stream,
                                 mlaf_execute_args *first, mlaf_err *err) {
  return mlaf_block_tables_launch(plan->shared->dev, mlaf_tables_kernel(plan->shared), &plan->problem, a, at, stream, first, err);
}

/* The tables' second form: what the first is made of lies behind the kernels' own workspace. All is checked before anything is
 * launched, with tables that are there in place of those to come. */
static mlaf_status launch_with_tables(const mlaf_plan *plan, const mlaf_execute_args *a, void *stream, mlaf_err *err) {
  const size_t need = mlaf_execute_workspace_size(plan, a), at = tables_at(plan, a->total_q);
  mlaf_execute_args first = *a;
  if (a->batch < 0 || a->total_q < 0) return launch(plan, a, stream, err); /* says what is wrong */
  if (!a->total_q || !a->batch) return MLAF_OK;
  if (need == SIZE_MAX) return mlaf_fail(err, MLAF_E_ARG, "tables of %d requests do not fit 32 bits", a->batch);
  if (!a->workspace || (uintptr_t)a->workspace % MLAF_WORKSPACE_ALIGN || a->workspace_size < need)
    return mlaf_fail(err, MLAF_E_ARG, "workspace is %p of %zu bytes; with block_table, page_tokens or page_rows this launch "
                     "needs %zu, %d-byte aligned (mlaf_execute_workspace_size)", a->workspace, a->workspace_size, need,
                     MLAF_WORKSPACE_ALIGN);
  const int32_t *any = (const int32_t *)((const char *)a->workspace + at);
  if (!first.qo_indptr) first.qo_indptr = any;
  first.kv_indptr = first.kv_indices = first.kv_last_page_lens = any;
  mlaf_status st = mlaf_loaded_check(plan->from.loaded, mlaf_loaded_knob(plan->from.loaded), &first, err);
  if (!st) st = launch_tables(plan, a, (char *)a->workspace + at, stream, &first, err);
  return st ? st : launch(plan, &first, stream, err);
}

static mlaf_status execute(const mlaf_plan *plan, const mlaf_execute_args *args, void *stream, mlaf_err *err) {
  mlaf_execute_args a;
  if (args->struct_size == sizeof *args && !mlaf_block_tables_wanted(args)) return launch(plan, args, stream, err);
  if (!whole_args(args, &a, err)) return err->status;
  return mlaf_block_tables_wanted(&a) ? launch_with_tables(plan, &a, stream, err) : launch(plan, &a, stream, err);
}

mlaf_status mlaf_execute(const mlaf_plan *plan, const mlaf_execute_args *args, void *stream) {
  mlaf_err err; /* 4 KB that only a failure writes to */
  mlaf_visit visit;
  if (!plan) return MLAF_E_ARG;
  mlaf_device *dev = plan->shared->dev;
  const mlaf_device_ops *ops = mlaf_ops(dev);
  mlaf_status st = args ? MLAF_OK : mlaf_fail(&err, MLAF_E_ARG, "mlaf_execute: args is NULL");
  if (!st && ops->enter) st = ops->enter(dev, &visit, &err);
  if (!st) {
    st = execute(plan, args, stream, &err);
    if (ops->leave) ops->leave(dev, &visit);
  }
  if (!st) return MLAF_OK;
  err.status = st;
  return mlaf_shared_report(plan->shared, &err);
}
