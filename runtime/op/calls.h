/* What an operation does, as functions of its record: run, check, tune, bundle and plan reach operations through this table
 * alone. `args` is the operation's public struct of a launch's arguments (mlaf_execute_args of mla_decode). */
#ifndef MLAF_CALLS_H
#define MLAF_CALLS_H

#include "op/bound.h"
#include "op/cases.h"
#include "op/data.h"
#include "op/verified.h"

enum { MLAF_ARGS_MAX = 512 }; /* bytes of any operation's struct of arguments */

typedef struct mlaf_calls {
  const char *name;
  size_t args_size; /* of the struct of arguments */
  size_t workspace_at, workspace_size_at; /* in it: `void *workspace` and `size_t workspace_size`. Both 0: it never wants one */
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
  mlaf_work (*work)(const mlaf_problem *p);

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
  /* What `error` of a mlaf_verify_result may be at most. */
  double (*bound)(const mlaf_problem *p);

  /* --- data to time and soak on (op/data.h) --- */
  /* The device and the pool are borrowed; what the pool hands out must not be asked for anew while the data is open. E_ARG when
   * it does not fit the device. */
  mlaf_status (*data_open)(mlaf_device *dev, const mlaf_problem *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                           mlaf_err *err);
  void (*data_close)(mlaf_data *d);
  /* Arguments of a launch over a set: all but the workspace, and outputs that the data owns. */
  void (*data_args)(const mlaf_data *d, int set, void *args);
  /* What a launch over a set wrote (on the device, by place in d->outputs) against fp64: as many rows as `most_work`
   * multiplications allow; 0: the fewest that tell something, the edges. E_INCORRECT with the worst element; `out` is filled
   * either way. */
  mlaf_status (*data_check)(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                            mlaf_err *err);
  /* How far one row of an output, `got`, is off: from `want`, such a row, or, where that is NULL, from fp64. Both on the host.
   * Relative where rows are vectors, else absolute; INFINITY: a NaN that should be none. */
  mlaf_status (*data_error)(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want, double *error,
                            mlaf_err *err);
  /* "request 3, token 0, head 5" */
  void (*data_row)(const mlaf_data *d, int output, size_t row, char *out, size_t size);
} mlaf_calls;

/* Of the operation that a problem is a point of. */
const mlaf_calls *mlaf_calls_of(const mlaf_problem *p);

#endif
