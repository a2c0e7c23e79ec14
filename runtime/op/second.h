/* Further forms of an operation's arguments, and the launches that make the first form of them. */
#pragma once

#include "op/bound.h"
#include "op/kernel.h"

/* Launches around an operation's own: `ahead` of them, then behind them the rest of `n`. Their args point to the parameters: do
 * not copy it. */
enum { MLAF_SECOND_PARAMETERS = 448, MLAF_SECOND_LAUNCHES = 3, MLAF_SECOND_KERNELS_EACH = 2 };
typedef struct mlaf_second_prepared {
  _Alignas(16) unsigned char parameters[MLAF_SECOND_PARAMETERS];
  mlaf_launch launch[MLAF_SECOND_LAUNCHES];
  size_t ahead, n;
} mlaf_second_prepared;

/* A further form of the arguments (block tables and index lists of mla_decode, of one pool or two): more kernels, launched before
 * the others, make the first form of it in the workspace; one may come behind them. */
typedef enum mlaf_second_kind { MLAF_SECOND_TABLES, MLAF_SECOND_LISTS, MLAF_SECOND_POOLS, MLAF_SECOND_KINDS } mlaf_second_kind;
typedef struct mlaf_second_form {
  mlaf_second_kind kind;
  int n_kernels;                  /* at most MLAF_SECOND_KERNELS_EACH */
  const mlaf_kernel_ref *kernels; /* for whoever builds them. Every bundle of the operation has them */
  const char *what;               /* "the kernel that reads block tables" */
  bool (*wanted)(const void *args);
  /* Bytes of workspace, the other kernels' included; SIZE_MAX where there are too many, or no such arguments. */
  size_t (*workspace)(const mlaf_bound *b, uint32_t knob, const void *args);
  /* Check all and fill its launches. `fns` NULL: they are not loaded. *first, of args_size bytes: the arguments' first form,
   * launched next; its first word is 0 where there is nothing to do, and nothing to launch. */
  mlaf_status (*prepare)(const mlaf_bound *b, uint32_t knob, const mlaf_function *const *fns, const void *args, void *first,
                         mlaf_second_prepared *out, mlaf_err *err);
  /* The same for a caller that keeps what the kernel makes elsewhere, and for several launches: it is written to `at`, and only
   * what goes into it is checked. NULL: it is always in the workspace. */
  mlaf_status (*prepare_at)(const mlaf_bound *b, const mlaf_function *const *fns, const void *args, void *at, void *first,
                            mlaf_second_prepared *out, mlaf_err *err);
} mlaf_second_form;
