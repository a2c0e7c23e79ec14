/* Any operation by its problem string ("mla_append:r512,p64,bf16,t128"): plans, launches, tuning. An operation's own header
 * declares its arguments. mla_decode has a typed struct of its problem, and functions that take it (mlaforge/mla_decode.h). */
#ifndef MLAFORGE_OPERATION_H
#define MLAFORGE_OPERATION_H

#include <stddef.h>

#include "mlaforge/plan.h"
#include "mlaforge/tune.h"

/* The i-th operation of this library, "mla_decode"; NULL past the end. Static storage. Thread-safe. */
MLAF_API const char *mlaf_operation_at(size_t i);
/* Writes the problem's canonical string, checked, to `out` (MLAF_PROBLEM_TEXT_MAX bytes are enough). E_PROBLEM with a detail in
 * `why` (may be NULL). Thread-safe. */
MLAF_API mlaf_status mlaf_operation_check(const char *problem, char *out, size_t out_size, char *why, size_t why_size);

/* Gives a plan of a problem from the context's registry: sizes are rounded up, a plan is made at the first call and handed out
 * again, with one reference more, at the others. `opts` NULL: MLAF_PLAN_OPTS_INIT.
 * Errors: E_ARG, E_PROBLEM, E_NOT_TUNED, E_NOT_COMPILED, E_NO_COMPILER, E_COMPILE, E_KILLED, E_DEVICE, E_NOMEM, E_IO (no room for
 * the compiler's temporary files: $TMPDIR); MEASURE also what the tuner returns. The detail is in mlaf_ctx_last_message.
 * Thread-safe. */
MLAF_API mlaf_status mlaf_plan_for(mlaf_ctx *ctx, const char *problem, const mlaf_plan_opts *opts, mlaf_plan **out);
/* Launches on `stream` (the device's; NULL: its default one) and returns without waiting. `args` points to the operation's struct
 * of arguments, which begins with uint32_t struct_size. `operation` is its name: arguments of another one's plan are E_ARG. With
 * a workspace of the caller's, or where none is wanted, it never allocates, compiles, locks, logs or synchronises on success;
 * without one it locks the stream's, which the context keeps, while it launches. Errors: E_ARG, E_DEVICE, E_FAULT (emulator).
 * Thread-safe: any number of threads, on one stream or on several, each call with outputs of its own, and with a workspace of its
 * own or none. */
MLAF_API mlaf_status mlaf_run(const mlaf_plan *plan, const char *operation, const void *args, void *stream);
/* Bytes of workspace that mlaf_run needs for these arguments, of which only the sizes are looked at. SIZE_MAX when they are none
 * it would take. Thread-safe. */
MLAF_API size_t mlaf_run_workspace(const mlaf_plan *plan, const char *operation, const void *args);

/* Compiles, verifies and times the candidates of a problem on the context's device and records them in its database. Blocks for
 * seconds to minutes. `opts` and `out` may be NULL. Errors: mlaf_mla_decode_tune's. Thread-safe. */
MLAF_API mlaf_status mlaf_tune_for(mlaf_ctx *ctx, const char *problem, const mlaf_tune_opts *opts, mlaf_tune_result *out);
/* Plans, compiles and loads what mlaf_plan_for may want for every problem between two of one shape: sizes from those of `from` to
 * those of `to`. `opts` and `out` may be NULL. Errors: mlaf_plan_for's. Thread-safe. */
MLAF_API mlaf_status mlaf_warm_up_between(mlaf_ctx *ctx, const char *from, const char *to, const mlaf_plan_opts *opts,
                                          mlaf_warm_up_result *out);

#endif
