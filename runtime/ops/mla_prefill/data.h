/* Data to time and soak mla_prefill on: `batch` requests of `tokens` new tokens and `ctx` keys, or of lengths spread about
 * these in the same proportion. Entries of its table (op/calls.h). */
#ifndef MLAF_PREFILL_DATA_H
#define MLAF_PREFILL_DATA_H

#include "ops/mla_prefill/reference.h"

mlaf_status prefill_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                              mlaf_err *err);
void prefill_data_close(mlaf_data *d);
void prefill_data_args(const mlaf_data *d, int set, void *args);
mlaf_status prefill_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                               mlaf_err *err);
mlaf_status prefill_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,
                               double *error, mlaf_err *err);
void prefill_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size);

#endif
