/* The kernel that reads block tables (ops/mla_decode/block_tables.h), loaded for a context and its plans. */
#ifndef MLAF_TABLES_KERNEL_H
#define MLAF_TABLES_KERNEL_H

#include "plan/ctx.h"

/* Loads it once; later calls do nothing. From the context's bundle; where that has none, compiled like every kernel, and cached
 * under the same rules. The context's lock must be held. *compiles counts compiler runs. */
mlaf_status mlaf_tables_kernel_open(mlaf_ctx *ctx, bool may_compile, int *compiles, mlaf_err *err);
/* NULL until it is loaded. */
static inline const mlaf_function *mlaf_tables_kernel(mlaf_shared *s) {
  return atomic_load_explicit(&s->tables, memory_order_acquire);
}

#endif
