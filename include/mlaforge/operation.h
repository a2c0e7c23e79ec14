/* Any operation by its problem string ("mla_append:r512,p64,bf16,t128"): plans, launches, tuning. Operations that have a typed
 * struct of their problem have functions that take it, too (mlaforge/plan.h of mla_decode). An operation's own header declares
 * its
 * arguments. */
#ifndef MLAFORGE_OPERATION_H
#define MLAFORGE_OPERATION_H

#include <stddef.h>

#include "mlaforge/plan.h"
#include "mlaforge/tune.h"

/* The i-th operation of this library, "mla_decode"; NULL past the end. Static storage. Thread-safe. */
MLAF_API const char *mlaf_operation_at(size_t i);
/* The problem's canonical string, checked, in out (MLAF_PROBLEM_TEXT_MAX bytes are enough). E_PROBLEM with a detail in `why`
 * (may be
 * NULL). Thread-safe. */
MLAF_API mlaf_status mlaf_operation_check(const char *problem, char *out, size_t out_size, char *why, size_t why_size);

/* mlaf_plan_get of any problem: sizes are rounded up, a plan is made at the first call and handed out again, with one reference
 * more. Errors as mlaf_plan_create's. Thread-safe. */
MLAF_API mlaf_status mlaf_plan_for(mlaf_ctx *ctx, const char *problem, const mlaf_plan_opts *opts, mlaf_plan **out);
/* mlaf_execute of any operation: `args` points to its struct of arguments, which begins with uint32_t struct_size. `operation` is
 * its name: arguments of another one's plan are E_ARG. With a workspace of the caller's, or where none is wanted, it never
 * allocates, compiles, locks, logs or synchronises on success; without one it locks the stream's, which the context keeps, while
 * it launches. Thread-safe: any number of threads, on one stream or on several, each call with outputs of its own, and with a
 * workspace of its own or none. */
MLAF_API mlaf_status mlaf_run(const mlaf_plan *plan, const char *operation, const void *args, void *stream);
/* Bytes of workspace that mlaf_run needs for these arguments, of which only the sizes are looked at. SIZE_MAX when they are
 * none it
 * would take. Thread-safe. */
MLAF_API size_t mlaf_run_workspace(const mlaf_plan *plan, const char *operation, const void *args);

/* mlaf_tune of any problem. */
MLAF_API mlaf_status mlaf_tune_for(mlaf_ctx *ctx, const char *problem, const mlaf_tune_opts *opts, mlaf_tune_result *out);
/* mlaf_warm_up for every problem between two of one shape: sizes from those of `from` to those of `to`. `out` may be NULL. */
MLAF_API mlaf_status mlaf_warm_up_between(mlaf_ctx *ctx, const char *from, const char *to, const mlaf_plan_opts *opts,
                                          mlaf_warm_up_result *out);

#endif
