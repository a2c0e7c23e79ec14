/* The kernels that make the first form of arguments of a second one (op/calls.h), loaded for a context and its plans. */
#ifndef MLAF_SECOND_KERNEL_H
#define MLAF_SECOND_KERNEL_H

#include "op/calls.h"
#include "plan/ctx.h"

/* Loads it once; later calls do nothing. From the context's bundle; where that has none, compiled like every kernel, and cached
 * under the same rules. The context's lock must be held. *compiles counts compiler runs. E_ARG: the operation has no such
 * form. */
mlaf_status mlaf_second_kernel_open(mlaf_ctx *ctx, const mlaf_op *op, bool may_compile, int *compiles, mlaf_err *err);
/* NULL until it is loaded. Takes no lock. */
const mlaf_function *mlaf_second_kernel(mlaf_shared *s, const mlaf_second_form *form);

#endif
