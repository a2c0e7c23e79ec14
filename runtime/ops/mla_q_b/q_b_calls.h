/* Cases and data to time of mla_q_b, and how far its outputs may be off. */
#ifndef MLAF_Q_B_CALLS_H
#define MLAF_Q_B_CALLS_H

#include "op/projection_calls.h"
#include "ops/mla_q_b/q_b.h"

/* --- calls.c --- */
mlaf_work q_b_work(const mlaf_point *p);

/* --- case.c --- */
double q_b_bound(const mlaf_point *p);
mlaf_status q_b_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err);
void q_b_free_case(mlaf_case *c);
int q_b_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args, mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool q_b_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool q_b_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

/* --- data.c --- */
mlaf_status q_b_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                          mlaf_err *err);
void q_b_data_close(mlaf_data *d);
void q_b_data_args(const mlaf_data *d, int set, void *args);
mlaf_status q_b_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                           mlaf_err *err);
mlaf_status q_b_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,
                           double *error, mlaf_err *err);
void q_b_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size);

#endif
