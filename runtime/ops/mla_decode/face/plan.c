/* The public functions that take a mlaf_problem: its point, and what serves points. */
#include "mlaforge/plan.h"

#include "ops/mla_decode/face/face.h"
#include "ops/mla_decode/problem.h"

mlaf_status mlaf_decode_take(mlaf_ctx *ctx, const char *function, const mlaf_problem *problem, mlaf_point *out) {
  mlaf_problem checked;
  char why[256] = "";
  if (!problem) return mlaf_plan_refuse(ctx, MLAF_E_ARG, "%s: a pointer is NULL", function);
  mlaf_status st = mlaf_problem_take(problem, &checked, why, sizeof why);
  if (st) return mlaf_plan_refuse(ctx, st, "%s", why);
  mlaf_problem_point(&checked, out);
  return MLAF_OK;
}

mlaf_status mlaf_plan_create(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts, mlaf_plan **out) {
  mlaf_point p;
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = mlaf_decode_take(ctx, "mlaf_plan_create", out ? problem : NULL, &p);
  return st ? st : mlaf_plan_create_at(ctx, &p, opts, out);
}

mlaf_status mlaf_plan_get(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts, mlaf_plan **out) {
  mlaf_point p;
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = mlaf_decode_take(ctx, "mlaf_plan_get", out ? problem : NULL, &p);
  return st ? st : mlaf_registry_get(ctx, &p, opts, &(mlaf_registry_how){.quiet = false}, out);
}

mlaf_status mlaf_execute(const mlaf_plan *plan, const mlaf_execute_args *args, void *stream) {
  return plan ? mlaf_plan_run(plan, &mlaf_op_mla_decode, args, stream) : MLAF_E_ARG;
}

size_t mlaf_execute_workspace_size(const mlaf_plan *plan, const mlaf_execute_args *args) {
  return mlaf_plan_run_workspace(plan, &mlaf_op_mla_decode, args);
}

mlaf_status mlaf_tune(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_tune_opts *opts, mlaf_tune_result *out) {
  mlaf_point p;
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = mlaf_decode_take(ctx, "mlaf_tune", problem, &p);
  return st ? st : mlaf_tune_at(ctx, &p, opts, out);
}
