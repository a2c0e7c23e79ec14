/* Plans of any operation, by points: what the public functions are made of, generic (mlaforge/operation.h) and typed ones
 * (runtime/ops/<operation>/face). */
#pragma once

#include "mlaforge/plan.h"
#include "mlaforge/tune.h"
#include "device/series.h"
#include "op/calls.h"
#include "plan/ctx.h"

/* A caller's options (NULL: MLAF_PLAN_OPTS_INIT), whatever version of them it was built with, as this one has them. Who changes
 * or keeps them begins with this. E_ARG; nothing is reported. */
mlaf_status mlaf_plan_read_opts(const mlaf_plan_opts *in, mlaf_plan_opts *out, mlaf_err *err);
/* mlaf_plan_create of a checked point. Failures are reported. */
mlaf_status mlaf_plan_create_at(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, mlaf_plan **out);
/* The same, given what its caller knows; `inside` may be NULL. */
mlaf_status mlaf_plan_create_inside(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts,
                                    const mlaf_plan_inside *inside, mlaf_plan **out);
/* True where its kernels serve the problem that is executed next, too. */
bool mlaf_plan_serves_next(const mlaf_plan *plan);
/* A failure with a text, reported: what a typed function has found wrong. */
mlaf_status mlaf_plan_refuse(mlaf_ctx *ctx, mlaf_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A plan to come. */
typedef struct mlaf_plan_request {
  mlaf_point at;
  const mlaf_plan_opts *opts;
  mlaf_plan_inside inside;
} mlaf_plan_request;
/* Has what these plans would compile one after the other compiled by all workers at once; the plans then find it in the cache.
 * Returns how many kernels were. Nothing but time depends on it: what does not compile is said when its plan is made. Plans that
 * the context has cost nothing. Takes the lock. */
size_t mlaf_plan_compile_together(mlaf_ctx *ctx, const mlaf_plan_request *requests, size_t n);
const mlaf_op *mlaf_plan_op(const mlaf_plan *plan);
/* Its kernels on their device. */
const mlaf_bound *mlaf_plan_bound(const mlaf_plan *plan);
/* Its first kernel as it is stored; no template_name: it came out of a bundle. */
const mlaf_kernel_ref *mlaf_plan_kernel(const mlaf_plan *plan);

/* mlaf_run of a plan whose operation is `op`; E_ARG (a failure is reported) where it is another's. */
mlaf_status mlaf_plan_run(const mlaf_plan *plan, const mlaf_op *op, const void *args, void *stream);
/* A run of a plan whose operation has no workspace: its first kernel begins when all that was launched before it is over and
 * seen, also where the kernel's constants are what that wrote. */
mlaf_status mlaf_plan_run_behind(const mlaf_plan *plan, const void *args, void *stream);
/* Launches go into `to`, which is of that stream; NULL: they are made at once. */
mlaf_status mlaf_plan_run_into(const mlaf_plan *plan, const mlaf_op *op, const void *args, mlaf_series *to, void *stream);
/* Makes the first form of arguments in their second one (op/calls.h), where the caller keeps the result: the launch that writes
 * it to `at`, by which *args are in the first form. `again`: it lies there already, nothing is launched. `to` as above. A failure
 * is reported. */
mlaf_status mlaf_plan_make(const mlaf_plan *plan, void *args, void *at, bool again, mlaf_series *to, void *stream);
/* Bytes of workspace that mlaf_plan_run needs for these arguments; SIZE_MAX: they are none that it would take. */
size_t mlaf_plan_run_workspace(const mlaf_plan *plan, const mlaf_op *op, const void *args);

/* mlaf_tune of a checked point. */
mlaf_status mlaf_tune_at(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_tune_opts *opts, mlaf_tune_result *out);

/* Plan, compile and load what mlaf_registry_get may want between two points of one shape. `workspace` (may be NULL) tells what a
 * plan needs of workspace in addition to what a launch of the point's sizes does. */
typedef size_t (*mlaf_warm_size_fn)(void *user, const mlaf_plan *plan, const mlaf_point *p);
mlaf_status mlaf_warm_between(mlaf_ctx *ctx, const mlaf_point *from, const mlaf_point *to, const mlaf_plan_opts *opts,
                              mlaf_warm_size_fn workspace, void *user, mlaf_warm_up_result *out);
