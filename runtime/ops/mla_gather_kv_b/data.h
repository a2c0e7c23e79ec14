/* Data to time and soak mla_gather_kv_b on: one chunk of requests of up to 1024 tokens, in pages of 64 in random order. Entries
 * of its table (op/calls.h). */
#ifndef MLAF_GATHER_DATA_H
#define MLAF_GATHER_DATA_H

#include "ops/mla_gather_kv_b/case.h"

mlaf_status gather_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                             mlaf_err *err);
void gather_data_close(mlaf_data *d);
void gather_data_args(const mlaf_data *d, int set, void *args);
mlaf_status gather_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                              mlaf_err *err);
mlaf_status gather_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,
                              double *error, mlaf_err *err);
void gather_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size);

#endif
