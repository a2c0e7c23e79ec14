/* Any operation by its problem string ("mla_append:r512,p64,bf16,t128"): plans, launches, tuning. An operation's own header
 * declares its arguments; mla_decode also has functions that take a typed struct of the problem. */
#ifndef MLAFORGE_OPERATION_H
#define MLAFORGE_OPERATION_H

#include <stddef.h>

#include "mlaforge/plan.h"
#include "mlaforge/tune.h"

/* Returns the name of the i-th operation of this library, e.g. "mla_decode"; NULL past the end. Static storage. Thread-safe. */
MLAF_API const char *mlaf_operation_at(size_t i);
/* Checks a problem string and writes its canonical form to `out` (MLAF_PROBLEM_TEXT_MAX bytes are enough). E_PROBLEM with a
 * detail in `why` (may be NULL). Thread-safe. */
MLAF_API mlaf_status mlaf_operation_check(const char *problem, char *out, size_t out_size, char *why, size_t why_size);

/* Returns a plan for any problem, from the context's registry: sizes are rounded up, the plan is made at the first call and
 * handed out again later, each time with one more reference (mlaf_plan_release gives it back). `opts` may be NULL. Thread-safe.
 * Errors: E_ARG, E_PROBLEM, E_NOT_TUNED, E_NOT_COMPILED, E_NO_COMPILER, E_COMPILE, E_KILLED, E_DEVICE, E_NOMEM, E_IO; the detail
 * is in mlaf_ctx_last_message. */
MLAF_API mlaf_status mlaf_plan_for(mlaf_ctx *ctx, const char *problem, const mlaf_plan_opts *opts, mlaf_plan **out);
/* Launches a plan of any operation: `args` points to its struct of arguments, which begins with uint32_t struct_size. `operation`
 * is its name; E_ARG where the plan is of another one, or an argument is not what the problem wants. With a workspace of the
 * caller's, or where none is wanted, it never allocates, compiles, locks, logs or synchronises on success; without one it locks
 * the stream's, which the context keeps, while it launches. Thread-safe: any number of threads, on one stream or on several, each
 * call with outputs of its own, and with a workspace of its own or none. */
MLAF_API mlaf_status mlaf_run(const mlaf_plan *plan, const char *operation, const void *args, void *stream);
/* Returns the bytes of workspace that mlaf_run needs for these arguments, of which it reads only the sizes. SIZE_MAX where
 * mlaf_run would refuse them. Thread-safe. */
MLAF_API size_t mlaf_run_workspace(const mlaf_plan *plan, const char *operation, const void *args);

/* Tunes any problem: compiles, verifies and times its candidates on the context's device and records them in its database; an
 * interrupted run goes on where it stopped. Blocks for seconds to minutes; other planning calls on the context wait. `opts` and
 * `out` may be NULL. Errors: E_CANCELLED, E_NOT_TUNED (no candidate passed), E_PROBLEM, E_NO_COMPILER, E_KILLED, E_DEVICE, E_DB,
 * E_IO, E_NOMEM. */
MLAF_API mlaf_status mlaf_tune_for(mlaf_ctx *ctx, const char *problem, const mlaf_tune_opts *opts, mlaf_tune_result *out);
/* Plans, compiles and loads all that mlaf_plan_for may want between two problems of one shape, with sizes from those of `from` to
 * those of `to`. Afterwards such a call neither plans nor compiles, and one outside of them logs a warning. Takes seconds to
 * minutes where nothing is cached. `opts` and `out` may be NULL. Thread-safe. Errors: those of mlaf_plan_for; E_ARG for empty
 * ranges. Plans made before a failure stay. */
MLAF_API mlaf_status mlaf_warm_up_between(mlaf_ctx *ctx, const char *from, const char *to, const mlaf_plan_opts *opts,
                                          mlaf_warm_up_result *out);

#endif
