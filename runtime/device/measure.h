/* The measurement protocol of real devices (MLAF_DB_PROTOCOL), over whatever a back end calls one sample. */
#ifndef MLAF_MEASURE_H
#define MLAF_MEASURE_H

#include "device/device.h"

/* Nanoseconds of `repeats` sequences in one go, between two events of one stream; sequence r is set r % sets. A power of two,
 * at least the number of sets. */
typedef mlaf_status (*mlaf_sample_fn)(void *user, int repeats, double *ns, mlaf_err *err);

/* Fill ns, p10, p90, MAD, samples and detail of `out` by opts' windows and limits; the caller has warmed up. */
mlaf_status mlaf_measure(mlaf_sample_fn sample, void *user, const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err);

#endif
