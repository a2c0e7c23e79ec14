/* Functions of an operation's record: run, check, tune, bundle and plan reach operations through this table
 * alone. `args` is the operation's public struct of a launch's arguments (mlaf_execute_args of mla_decode). */
#pragma once

#include "op/bound.h"
#include "op/cases.h"
#include "op/data.h"
#include "op/second.h"
#include "op/verified.h"

enum { MLAF_ARGS_MAX = 768 };

typedef struct mlaf_calls {
  /* --- the struct of arguments, whose first member is uint32_t struct_size --- */
  const char *args_name, *args_init; /* "mlaf_execute_args", "MLAF_EXECUTE_ARGS_INIT" */
  size_t args_size, args_first;      /* now, at most MLAF_ARGS_MAX; in its first version: what is behind is 0 when left out */
  size_t workspace_at, workspace_size_at; /* in it: void *workspace, size_t workspace_size; both 0: there never is one */
  bool libraries;    /* a kernel may be a vendor library's product (device/matmul.h) */
  uint32_t n_mapped; /* tensors of which kernels may want maps: 1 to this */
  /* Tables that the functions of op/args_launch.h and op/table_calls.h go by. NULL: the operation has its own. */
  const struct mlaf_args_table *arguments;
  const struct mlaf_table *table;

  /* --- who may run --- */
  /* Bytes of the parameter block of a kernel at `stage` that says `launch` of itself. */
  uint32_t (*parameter_bytes)(int stage, const mlaf_kernel_launch *launch);
  /* Checks that the stages fit each other, and the split count them. E_ARG says what is missing. */
  mlaf_status (*check_stages)(const mlaf_bound *b, mlaf_err *err);
  /* Precomputes per-plan facts once check_stages() has accepted the kernels, so that launches need not. Facts follow from the
   * rest. NULL: they stay 0. */
  void (*settle)(mlaf_bound *b);

  /* --- a launch --- */
  /* Host-visible checks; E_ARG names the argument, its value and what is wanted. */
  mlaf_status (*check_args)(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
  /* Bytes of workspace for so many rows of input (query tokens); SIZE_MAX: more than size_t holds. NULL: none. */
  size_t (*workspace)(const mlaf_bound *b, uint32_t knob, int64_t rows);
  int64_t (*rows)(const void *args);                /* of input, in a launch */
  int64_t (*rows_of)(const mlaf_point *p);          /* the same of one with the sizes of the problem */
  /* Fails only where the device refuses a tensor map. */
  mlaf_status (*prepare)(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
  mlaf_work (*work)(const mlaf_point *p);           /* the least there is, by the sizes of the problem */
  const mlaf_second_form *const *second; /* further forms of the arguments, NULL behind the last; NULL: there is one form */

  /* --- choosing; NULL: there is nothing to say --- */
  /* The largest knob that makes sense, of a kernel whose workgroups cover `step` in a round. NULL: 1. */
  uint32_t (*knob_most)(const mlaf_point *p, uint32_t step);
  uint32_t (*fit_knob)(const mlaf_point *p, const mlaf_fit_kernel *k, uint32_t knob);
  /* Doublings from which on what was tuned for another size is no choice (op/nearest.h); 0: as usual. */
  double reach;
  /* True where a choice tuned for the one serves the other only if nothing else does. */
  bool (*stands_back)(const mlaf_point *asked, const mlaf_point *tuned);
  /* Stored kernels with these launch flags are good for requests of any lengths; never run without the second stage behind. */
  bool (*any_lengths)(uint32_t flags);
  bool (*needs_second)(uint32_t flags);

  /* --- evidence by execution: one small launch of a first kernel in an emulator; NULL: nothing to do --- */
  void (*small)(mlaf_point *p); /* sizes of which the loop takes most */
  void (*keep_whole)(const mlaf_kernel_launch *kernel, mlaf_prepared *launch); /* where a launch may share its work out anew */

  /* --- verification --- */
  double (*bound)(const mlaf_point *p); /* of `error` (op/verified.h); 0: equal to the bit, or wrong; error_about says so */
  const char *error_about; /* what that counts: "relative Frobenius error against fp64" */
  bool long_q; /* a table on the device may say that a request has more query tokens than its plan: MLAF_INJECT_LONG_Q */
  int n_cases;
  /* Case 0, 1, ... n_cases - 1 with its reference, fixed by the seed; of an injection, which one case carries, the first. */
  mlaf_status (*make_case)(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err);
  void (*free_case)(mlaf_case *c);
  /* Fill the arguments of a launch over it but for addresses, and the list of buffers; their number. */
  int (*case_buffers)(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                      mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
  /* Outputs on the host by place in that list (NULL: no output) against the reference; updates the worst figures, and when false
   * detail names the worst element. */
  bool (*compare)(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
  /* The same bits of two runs; an output that one of them left out does not count. */
  bool (*same)(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

  /* --- joint kernels (op/joint.h): the first input is what `before`, of an operation of the same kind, puts out, and is never in
   * memory. `before` outlives it. NULL: it follows no problem --- */
  mlaf_status (*chain_case)(mlaf_case *c, const mlaf_case *before, mlaf_err *err);
  void (*chain_data)(mlaf_data *d, const mlaf_data *before); /* sets are counted as those of `before` are */

  /* --- data to time and soak on (op/data.h) --- */
  /* The device and the pool are borrowed; what the pool hands out must not be asked for anew while the data is open. E_ARG when
   * it does not fit the device. */
  mlaf_status (*data_open)(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                           mlaf_err *err);
  void (*data_close)(mlaf_data *d);
  /* Arguments of a launch over a set: all but the workspace, and outputs that the data owns. */
  void (*data_args)(const mlaf_data *d, int set, void *args);
  /* Compares what a launch over a set wrote (on the device, by place in d->outputs) with fp64: as many rows as `most_work`
   * multiplications allow; 0: the fewest that tell something, the edges. E_INCORRECT with the worst element; `out` is filled
   * either way. */
  mlaf_status (*data_check)(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                            mlaf_err *err);
  /* Error of one row of an output, `got`, relative to `want`, such a row, or, where that is NULL, to fp64. Both on the host.
   * Relative where rows are vectors, else absolute; INFINITY: a NaN that should be none. */
  mlaf_status (*data_error)(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want, double *error,
                            mlaf_err *err);
  /* "request 3, token 0, head 5" */
  void (*data_row)(const mlaf_data *d, int output, size_t row, char *out, size_t size);
} mlaf_calls;

/* Functions of these entries that begin alike: their declarations, and the entries. */
#define MLAF_CASE_FUNCTIONS(name)                                                                                             \
  mlaf_status name##_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,             \
                               mlaf_err *err);                                                                                \
  void name##_free_case(mlaf_case *c);                                                                                        \
  int name##_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,                                  \
                          mlaf_case_buffer out[MLAF_CASE_BUFFERS]);                                                           \
  bool name##_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);                                      \
  bool name##_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out)
#define MLAF_DATA_FUNCTIONS(name)                                                                                             \
  mlaf_status name##_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,             \
                               mlaf_data **out, mlaf_err *err);                                                               \
  void name##_data_close(mlaf_data *d);                                                                                       \
  void name##_data_args(const mlaf_data *d, int set, void *args);                                                             \
  mlaf_status name##_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work,                          \
                                mlaf_data_checked *out, mlaf_err *err);                                                       \
  mlaf_status name##_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,        \
                                double *error, mlaf_err *err);                                                                \
  void name##_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size)
#define MLAF_CASE_CALLS(name)                                                                                                 \
  .make_case = name##_make_case, .free_case = name##_free_case, .case_buffers = name##_case_buffers,                           \
  .compare = name##_compare, .same = name##_same
#define MLAF_DATA_CALLS(name)                                                                                                 \
  .data_open = name##_data_open, .data_close = name##_data_close, .data_args = name##_data_args,                               \
  .data_check = name##_data_check, .data_error = name##_data_error, .data_row = name##_data_row

typedef struct mlaf_whole_args {
  _Alignas(16) unsigned char bytes[MLAF_ARGS_MAX];
} mlaf_whole_args;
/* A caller's struct of arguments as this library has it: mostly it is that already, else a copy in *whole. One of an older
 * header is shorter, one of a newer one may be longer if it asks for nothing unknown. NULL: E_ARG. */
const void *mlaf_args_take(const mlaf_calls *calls, const void *args, mlaf_whole_args *whole, mlaf_err *err);

/* True if the knob of the operation's variants is a split count. */
static inline bool mlaf_has_splits(const mlaf_op *op) { return op->calls && op->calls->knob_most; }

/* The further form that arguments are in; NULL: they are in the first. */
static inline const mlaf_second_form *mlaf_second_of(const mlaf_calls *calls, const void *args) {
  for (int i = 0; calls->second && calls->second[i]; i++)
    if (calls->second[i]->wanted(args)) return calls->second[i];
  return NULL;
}
