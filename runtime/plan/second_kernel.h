/* The kernels that make the first form of arguments of a further one (op/second.h), loaded for a context and its plans. */
#pragma once

#include "op/calls.h"
#include "plan/ctx.h"

/* Flags of mlaf_plan_opts that stand for forms. */
enum { MLAF_PLAN_FORMS = MLAF_PLAN_TABLES | MLAF_PLAN_LISTS | MLAF_PLAN_POOLS };
uint32_t mlaf_second_flag(mlaf_second_kind kind);
/* True while kernels of a form that these flags stand for are not loaded, or the operation has no such form. Takes no lock. */
bool mlaf_second_kernels_miss(mlaf_shared *s, const mlaf_op *op, uint32_t flags);

/* Loads the kernels of the forms that these flags stand for, once; later calls do nothing. From the context's bundle; where that
 * has none, compiled like every kernel, and cached under the same rules. The context's lock must be held. *compiles counts
 * compiler runs. E_ARG: the operation has no such form. */
mlaf_status mlaf_second_kernels_want(mlaf_ctx *ctx, const mlaf_op *op, uint32_t flags, bool may_compile, int *compiles,
                                     mlaf_err *err);
/* Loads the kernels of one form, as mlaf_second_kernels_want() does. */
mlaf_status mlaf_second_kernels_open(mlaf_ctx *ctx, const mlaf_second_form *form, bool may_compile, int *compiles, mlaf_err *err);
/* `fns` with the form's kernels; NULL until all are loaded. Takes no lock. */
const mlaf_function *const *mlaf_second_kernels(mlaf_shared *s, const mlaf_second_form *form,
                                                const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH]);
