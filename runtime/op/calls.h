/* What an operation does, as functions of its record: run, check, tune, bundle and plan reach operations through this table
 * alone. `args` is the operation's public struct of a launch's arguments (mlaf_execute_args of mla_decode). */
#ifndef MLAF_CALLS_H
#define MLAF_CALLS_H

#include "op/bound.h"
#include "op/cases.h"
#include "op/verified.h"

/* Bytes the fastest possible kernel moves (of mla_decode Q, the cached tokens, O, LSE), those of the cached tokens alone, and the
 * flops it does, to put a time beside. */
typedef struct mlaf_work {
  double bytes, kv_bytes, flops;
} mlaf_work;

typedef struct mlaf_calls {
  const char *name;
  size_t args_size; /* of the struct of arguments */
  uint32_t n_mapped; /* tensors of which kernels may want maps: 1 to this */

  /* --- who may run --- */
  /* Bytes of the parameter block of a kernel at `stage` that says `launch` of itself. */
  uint32_t (*parameter_bytes)(int stage, const mlaf_kernel_launch *launch);
  /* The shape reaches a launch twice: compiled into the kernels (`params`), and from the problem, by which the launch is laid
   * out. E_ARG where the two differ. */
  mlaf_status (*check_shape)(const mlaf_problem *p, const char *symbol, const char *params, mlaf_err *err);
  /* Whether the stages fit each other, and the knob them. E_ARG says what is missing. */
  mlaf_status (*check_stages)(const mlaf_bound *b, mlaf_err *err);

  /* --- a launch --- */
  /* Host-visible checks; E_ARG names the argument, its value and what is wanted. */
  mlaf_status (*check_args)(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
  /* Bytes of workspace for so many rows of input (query tokens); SIZE_MAX: more than size_t holds. */
  size_t (*workspace)(const mlaf_bound *b, uint32_t knob, int64_t rows);
  /* Fails only where the device refuses a tensor map. */
  mlaf_status (*prepare)(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
  /* lengths: cached tokens of each request; NULL: what the problem says of all. */
  mlaf_work (*work)(const mlaf_problem *p, const int32_t *lengths);

  /* --- verification --- */
  int n_cases;
  /* Case 0, 1, ... n_cases - 1 with its reference, fixed by the seed; of an injection, which one case carries, the first. */
  mlaf_status (*make_case)(const mlaf_problem *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err);
  void (*free_case)(mlaf_case *c);
  /* Fill the arguments of a launch over it but for addresses, and the list of buffers; their number. */
  int (*case_buffers)(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                      mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
  /* Outputs on the host by place in that list (NULL: no output) against the reference; updates the worst figures, and when false
   * detail names the worst element. */
  bool (*compare)(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
  /* The same bits of two runs; an output that one of them left out does not count. */
  bool (*same)(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);
} mlaf_calls;

/* Of the operation that a problem is a point of. */
const mlaf_calls *mlaf_calls_of(const mlaf_problem *p);

#endif
