/* Cases of projections, data to time them on, and their fp64 reference, by the table of their arguments (op/table.h). */
#pragma once

#include "op/projection.h"
#include "op/table_calls.h"

enum { MLAF_PROJECTION_CASES = 3 };
extern const mlaf_table_hooks mlaf_projection_hooks;
extern const mlaf_table_case mlaf_projection_cases[MLAF_PROJECTION_CASES], mlaf_projection_timing;

double mlaf_projection_bound(const mlaf_point *p);
/* Bound of a product's relative error, for so many tokens; a single token's row may have twice as much. */
double mlaf_product_bound(const mlaf_product *p, int64_t tokens);

/* The table of an operation of this kind; dtype: its field. */
#define MLAF_PROJECTION_TABLE(arguments, dtype)                                                                            \
  &(const mlaf_table) {                                                                                                    \
    .args = (arguments), .args_size = sizeof(mlaf_projection_args), .hooks = &mlaf_projection_hooks,                       \
    .cases = mlaf_projection_cases, .dtype_field = (dtype), .walk = {PROJECTION_SIZE_T, PROJECTION_SIZE_H},                \
    .timing = &mlaf_projection_timing, .cold = true, .relative = true                                                      \
  }
