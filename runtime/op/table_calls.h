/* The functions of an operation's record (op/calls.h) that follow from its table. */
#ifndef MLAF_TABLE_CALLS_H
#define MLAF_TABLE_CALLS_H

#include "op/args_launch.h"
#include "op/table.h"

/* --- table_case.c --- */
typedef struct mlaf_made_case {
  mlaf_case head; /* first */
  const mlaf_table_case *spec;
  mlaf_host h;    /* inputs, and what is there before the launch */
  mlaf_rows rows; /* for comparing, one thread at a time: what it takes is allocated with the case */
} mlaf_made_case;

mlaf_status mlaf_table_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                 mlaf_err *err);
void mlaf_table_free_case(mlaf_case *c);
int mlaf_table_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                            mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool mlaf_table_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool mlaf_table_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);
double mlaf_table_bound(const mlaf_point *p);

/* --- table_data.c --- */
mlaf_status mlaf_table_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,
                                 mlaf_data **out, mlaf_err *err);
void mlaf_table_data_close(mlaf_data *d);
void mlaf_table_data_args(const mlaf_data *d, int set, void *args);
mlaf_status mlaf_table_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                                  mlaf_err *err);
mlaf_status mlaf_table_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,
                                  double *error, mlaf_err *err);
void mlaf_table_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size);

#endif
