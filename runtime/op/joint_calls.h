/* Cases, data to time and work of joint kernels, beside op/joint.h. */
#ifndef MLAF_JOINT_CALLS_H
#define MLAF_JOINT_CALLS_H

#include "op/joint.h"

/* --- joint_work.c --- */
/* The sum of the list's, less `on_chip` bytes that chained parts neither write nor read. */
mlaf_work mlaf_joint_work(const mlaf_point *p, double on_chip);

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
  .make_case = mlaf_joint_make_case,                                                                                        \
  .free_case = mlaf_joint_free_case, .case_buffers = mlaf_joint_case_buffers, .compare = mlaf_joint_compare,                 \
  .same = mlaf_joint_same, .data_open = mlaf_joint_data_open, .data_close = mlaf_joint_data_close,                           \
  .data_args = mlaf_joint_data_args, .data_check = mlaf_joint_data_check, .data_error = mlaf_joint_data_error,               \
  .data_row = mlaf_joint_data_row

#endif
