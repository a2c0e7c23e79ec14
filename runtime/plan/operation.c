/* The public functions of any operation, by problem strings. */
#include "mlaforge/operation.h"

#include "plan/plan.h"

const char *mlaf_operation_at(size_t i) {
  for (size_t n = 0; mlaf_ops_all[n]; n++)
    if (n == i) return mlaf_ops_all[n]->name;
  return NULL;
}

static const mlaf_op *find_op(const char *name) {
  for (size_t i = 0; name && mlaf_ops_all[i]; i++)
    if (!strcmp(mlaf_ops_all[i]->name, name)) return mlaf_ops_all[i];
  return NULL;
}

mlaf_status mlaf_operation_check(const char *problem, char *out, size_t out_size, char *why, size_t why_size) {
  mlaf_point p;
  if (!problem) return MLAF_E_ARG;
  mlaf_status st = mlaf_point_parse(NULL, problem, &p, why, why_size);
  return st ? st : out ? mlaf_point_print(&p, out, out_size) : MLAF_OK;
}

/* The point of a caller's string; a failure is reported. */
static mlaf_status take(mlaf_ctx *ctx, const char *function, const char *problem, const void *wanted, mlaf_point *out) {
  char why[256] = "";
  if (!problem || !wanted) return mlaf_plan_refuse(ctx, MLAF_E_ARG, "%s: a pointer is NULL", function);
  mlaf_status st = mlaf_point_parse(NULL, problem, out, why, sizeof why);
  return st ? mlaf_plan_refuse(ctx, st, "%s", why) : MLAF_OK;
}

mlaf_status mlaf_plan_for(mlaf_ctx *ctx, const char *problem, const mlaf_plan_opts *opts, mlaf_plan **out) {
  mlaf_point p;
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = take(ctx, "mlaf_plan_for", problem, out, &p);
  return st ? st : mlaf_registry_get(ctx, &p, opts, &(mlaf_registry_how){.quiet = false}, out);
}

mlaf_status mlaf_run(const mlaf_plan *plan, const char *operation, const void *args, void *stream) {
  if (!plan) return MLAF_E_ARG;
  const mlaf_op *op = mlaf_plan_op(plan);
  return mlaf_plan_run(plan, operation && !strcmp(operation, op->name) ? op : find_op(operation), args, stream);
}

size_t mlaf_run_workspace(const mlaf_plan *plan, const char *operation, const void *args) {
  return mlaf_plan_run_workspace(plan, find_op(operation), args);
}

mlaf_status mlaf_tune_for(mlaf_ctx *ctx, const char *problem, const mlaf_tune_opts *opts, mlaf_tune_result *out) {
  mlaf_point p;
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = take(ctx, "mlaf_tune_for", problem, problem, &p);
  return st ? st : mlaf_tune_at(ctx, &p, opts, out);
}

mlaf_status mlaf_warm_up_between(mlaf_ctx *ctx, const char *from, const char *to, const mlaf_plan_opts *opts,
                                 mlaf_warm_up_result *out) {
  mlaf_point p, q;
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = take(ctx, "mlaf_warm_up_between", from, to, &p);
  if (!st) st = take(ctx, "mlaf_warm_up_between", to, to, &q);
  return st ? st : mlaf_warm_between(ctx, &p, &q, opts, NULL, NULL, out);
}
