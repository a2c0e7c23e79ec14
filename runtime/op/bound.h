/* A variant bound to a device: what its operation must know to check and fill a launch. Who loads it is above (run/loaded.h). */
#pragma once

#include "device/device.h"
#include "device/kernel_launch.h"
#include "op/op.h"

/* One of its kernels. */
typedef struct mlaf_stage {
  mlaf_module *module;
  mlaf_function *fn; /* NULL: the variant does without this stage */
  uint32_t threads, rows_per_wg;
  mlaf_kernel_launch launch;
  size_t workspace; /* of a library's product (MLAF_KERNEL_LIBRARY) */
} mlaf_stage;

enum { MLAF_FACTS = 4 };
typedef struct mlaf_bound {
  mlaf_device *dev;
  mlaf_point point;
  mlaf_stage stage[MLAF_STAGES_MAX]; /* each at the place that the operation gives it */
  uint32_t knob;                     /* the variant's own; a launch may take another */
  uint32_t facts[MLAF_FACTS];        /* what the operation makes of all this once and for all (calls->settle); else 0 */
} mlaf_bound;

/* Facts of the first kernel that fitting a split count needs. */
typedef struct mlaf_fit_kernel {
  uint32_t rows_per_wg;
  uint32_t step;  /* what a round of a workgroup covers; 0: not known, nothing is fitted */
  uint32_t slots; /* workgroups that the device runs at once; 0: not known */
} mlaf_fit_kernel;

/* Everything that launches need, filled from checked arguments: no allocation. */
enum { MLAF_PARAMETERS_MAX = 1536 };
typedef struct mlaf_prepared {
  _Alignas(64) unsigned char parameters[MLAF_PARAMETERS_MAX]; /* the operation's. The launches' args point here: do not copy it */
  mlaf_launch launches[MLAF_STAGES_MAX];
  size_t n; /* 0: no work */
} mlaf_prepared;
