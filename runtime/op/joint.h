/* Joint kernels: a variant that serves a list of problems at once, its operation's own and others that follow. The operation
 * lists those that may (a table of mlaf_joint_part). All else about such a variant is done here, once, by the records of the
 * operations in the list: its parameter block is theirs, one behind the other; its verification case is their cases, its data
 * their data; its work is the sum of theirs less what stays on chip.
 *
 * A part runs beside the first problem, in blocks of the same launch behind the first's, or is chained to it: the first's output
 * is its input, and never in memory. */
#ifndef MLAF_JOINT_H
#define MLAF_JOINT_H

#include "op/calls.h"

enum { MLAF_JOINT_PARTS = 2, MLAF_JOINT_CASES = 4 };

/* A field of a part: the joint's value less `less`. */
typedef struct mlaf_joint_field {
  const char *field;
  int of;
  int32_t less;
} mlaf_joint_field;

/* A problem that may follow the first one. Kernels that serve part i say flag MLAF_KERNEL_SECOND << i. */
typedef struct mlaf_joint_part {
  const char *op, *name;          /* "mla_append:", and what messages call it */
  int present;                    /* the joint's field that is not 0 where the list has this problem */
  const mlaf_joint_field *fields; /* ended by a NULL name */
  size_t args_at;                 /* its arguments in the joint's struct */
  int buffers;                    /* most buffers of a case */
  int cases[MLAF_JOINT_CASES];    /* its case for each of the first's */
  uint32_t maps;                  /* tensor maps of its block, of as many tensors */
  /* Blocks for it behind `first` ones of the first problem, a number that stands behind its arguments. NULL: it is chained. */
  uint32_t (*blocks)(const mlaf_bound *b, uint32_t first, const void *args);
  mlaf_status (*check)(const mlaf_bound *b, const void *args, mlaf_err *err); /* beyond its operation's checks; NULL: nothing */
} mlaf_joint_part;

typedef struct mlaf_joint {
  const mlaf_calls *first; /* of the operation's problem alone; its arguments begin the joint's struct */
  const void *args_init;   /* that struct as its INIT macro has it */
  int first_buffers;       /* most buffers of the first problem's cases */
  const mlaf_joint_part *parts;
  int n_parts;
  /* What the arguments of the list's problems must be to each other. */
  mlaf_status (*check)(const mlaf_point *p, const void *args, mlaf_err *err);
  /* Chained parts. check_chained: what is never in memory has no arguments; lend: fills these in, in a copy, so that the checks
   * of each operation hold; part: takes them out. */
  mlaf_status (*check_chained)(const void *args, mlaf_err *err);
  void (*lend)(void *args);
  void (*part)(void *args);
  size_t out_at, in_at;                         /* addresses of that output and that input in the struct */
  double (*on_chip)(const mlaf_point *p);       /* its bytes */
  double (*chained_bound)(const mlaf_point *p); /* calls->bound of a list with such a part */
} mlaf_joint;

bool mlaf_joint_has(const mlaf_point *p, int part);
/* The problem of a part of p's list; and as a variant of its own operation. */
mlaf_point mlaf_joint_point(const mlaf_point *p, int part);
mlaf_bound mlaf_joint_bound(const mlaf_bound *b, int part);

/* --- joint.c: entries of `calls` --- */
uint32_t mlaf_joint_parameter_bytes(const mlaf_joint *j, int stage, const mlaf_kernel_launch *launch);
mlaf_status mlaf_joint_check_stages(const mlaf_bound *b, mlaf_err *err);
mlaf_status mlaf_joint_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status mlaf_joint_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work mlaf_joint_work(const mlaf_point *p);
double mlaf_joint_error_bound(const mlaf_point *p);

/* --- joint_case.c --- */
mlaf_status mlaf_joint_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                 mlaf_err *err);
void mlaf_joint_free_case(mlaf_case *c);
int mlaf_joint_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                            mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool mlaf_joint_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool mlaf_joint_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

/* --- joint_data.c --- */
mlaf_status mlaf_joint_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,
                                 mlaf_data **out, mlaf_err *err);
void mlaf_joint_data_close(mlaf_data *d);
void mlaf_joint_data_args(const mlaf_data *d, int set, void *args);
mlaf_status mlaf_joint_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                                  mlaf_err *err);
mlaf_status mlaf_joint_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,
                                  double *error, mlaf_err *err);
void mlaf_joint_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size);

/* Those entries of an operation's `calls`. */
#define MLAF_JOINT_CALLS                                                                                                     \
  .check_stages = mlaf_joint_check_stages, .check_args = mlaf_joint_check_args, .prepare = mlaf_joint_prepare,                \
  .work = mlaf_joint_work, .bound = mlaf_joint_error_bound, .make_case = mlaf_joint_make_case,                               \
  .free_case = mlaf_joint_free_case, .case_buffers = mlaf_joint_case_buffers, .compare = mlaf_joint_compare,                 \
  .same = mlaf_joint_same, .data_open = mlaf_joint_data_open, .data_close = mlaf_joint_data_close,                           \
  .data_args = mlaf_joint_data_args, .data_check = mlaf_joint_data_check, .data_error = mlaf_joint_data_error,               \
  .data_row = mlaf_joint_data_row

#endif
