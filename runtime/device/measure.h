/* The measurement protocol of real devices (MLAF_DB_PROTOCOL), over whatever a back end calls one sample. */
#pragma once

#include "device/device.h"

/* Nanoseconds of `repeats` sequences in one go, between two events of one stream: sequences first, first + 1, ..., of which r is
 * set r % sets. repeats is a power of two; below the number of sets it divides `first`, which is else 0. */
typedef mlaf_status (*mlaf_sample_fn)(void *user, int first, int repeats, double *ns, mlaf_err *err);

/* Fill ns, p10, p90, MAD, samples and detail of `out` by opts' windows and limits; the caller has warmed up. E_CANCELLED between
 * two samples once *opts->cancel says so. */
mlaf_status mlaf_measure(mlaf_sample_fn sample, void *user, const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err);
