/* Data to time and soak mla_dequant on. Entries of its table (op/calls.h). */
#ifndef MLAF_DEQUANT_DATA_H
#define MLAF_DEQUANT_DATA_H

#include "ops/mla_dequant/case.h"

mlaf_status dequant_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                              mlaf_err *err);
void dequant_data_close(mlaf_data *d);
void dequant_data_args(const mlaf_data *d, int set, void *args);
mlaf_status dequant_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                               mlaf_err *err);
mlaf_status dequant_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,
                               double *error, mlaf_err *err);
void dequant_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size);

#endif
