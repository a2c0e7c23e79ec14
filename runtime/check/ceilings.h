/* Ceilings of a device: read bandwidth and matrix rate, measured in the same run as the kernels that are put beside it. */
#pragma once

#include "compile/compile.h"
#include "op/pool.h"
#include "gen/gen.h"

typedef struct mlaf_ceilings {
  double bytes_per_ns; /* reads of device memory */
  double flops_per_ns; /* dense bf16 matrix product */
  bool bytes_measured, flops_measured; /* else: the arch table's figures */
  char bytes_from[160], flops_from[160];
} mlaf_ceilings;

typedef struct mlaf_ceilings_env {
  mlaf_device *device;
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  const char *target;
  mlaf_pool *pool; /* grows to 4 GiB of bf16, or half of the device's memory */
} mlaf_ceilings_env;

/* Bandwidth by the template read_ceiling over gigabytes, compiled as every kernel is; the matrix rate by the back end's
 * library, 8192^3. `time`: idle_s, limit_s and cancel count. What cannot be measured here comes from the arch table, and
 * *_from says why; only an unknown target, memory that runs out or a stop is an error. */
mlaf_status mlaf_ceilings_measure(const mlaf_ceilings_env *env, const mlaf_time_opts *time, mlaf_ceilings *out, mlaf_err *err);

/* The least time for so much work: nanoseconds; *compute_bound says which ceiling it is. */
double mlaf_ceilings_ns(const mlaf_ceilings *c, double bytes, double flops, bool *compute_bound);
