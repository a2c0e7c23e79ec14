/* Who may run: the one rule that planner, bundle (made and loaded), tuner and `mlaforge compile` hold a code object to. Whatever
 * it refuses is MLAF_E_TEMPLATE, in the same words everywhere: the kernel is not what its template promised. */
#pragma once

#include "compile/compile.h"
#include "gen/gen.h"
#include "op/calls.h"

/* Budget that the generator planned a kernel with, on which its occupancy rests. Not known where only a stored reference is left
 * of it; then the device's limits count. */
typedef struct mlaf_budget {
  bool known;
  uint32_t lds_bytes, vgpr; /* vgpr 0: any */
} mlaf_budget;
mlaf_budget mlaf_budget_of(const mlaf_kernel_desc *k);

/* A kernel that asks to run. */
typedef struct mlaf_asking {
  const char *symbol;
  uint32_t threads;        /* of a block, as it is launched; 0: not known */
  const mlaf_calls *calls; /* whose stage it is; NULL: of none (then any arguments and no tensor maps) */
  int stage;
  mlaf_budget budget;
  const mlaf_device *dev;  /* NULL: none is at hand, as on a build machine */
} mlaf_asking;

/* No scratch, no spills, LDS as budgeted, registers within the budget, compiled for as many threads as are launched,
 * mlaf_declared_check, and the parameters that the runtime passes. The detail names the kernel and the figure. */
mlaf_status mlaf_resources_check(const mlaf_asking *k, const mlaf_kernel_meta *meta, mlaf_err *err);
/* Checks that the device has what the kernel needs of its launch: the device's clusters and tensor maps, the operation's
 * tensors. */
mlaf_status mlaf_declared_check(const mlaf_asking *k, const mlaf_kernel_launch *launch, mlaf_err *err);

typedef mlaf_status (*mlaf_meta_fn)(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err);
/* The metadata of one kernel of a code object, read by `read` (NULL: mlaf_code_meta). E_TEMPLATE: it has no such kernel. */
mlaf_status mlaf_resources_read(mlaf_meta_fn read, const char *symbol, const void *code, size_t size, mlaf_kernel_meta *out,
                                mlaf_err *err);
/* Registers split as the kernel descriptor has them: vgpr without the AGPRs. */
uint32_t mlaf_resources_vgpr(const mlaf_kernel_meta *meta);

/* The shape reaches a launch twice: compiled into the kernels (`params`), and from the problem, by which the launch is laid out.
 * E_ARG where a parameter that has a field's name has not its value. */
mlaf_status mlaf_shape_check(const mlaf_point *p, const char *symbol, const char *params, mlaf_err *err);
