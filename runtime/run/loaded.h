/* A variant on a device: kernels loaded from code objects and launched. Plan, verify, bench and tune all go through
 * here, so that the kernels' argument blocks and grids are filled in exactly one place. */
#ifndef MLAF_LOADED_H
#define MLAF_LOADED_H

#include <stddef.h>

#include "ops/mla_decode/launch.h"
#include "db/db.h"
#include "device/device.h"
#include "mlaforge/plan.h"

typedef struct mlaf_loaded mlaf_loaded;

typedef struct mlaf_code {
  const void *bytes;
  size_t size;
} mlaf_code;

/* What mlaf_loaded_open needs of a variant; refs and code are only read during the call. */
typedef struct mlaf_loaded_desc {
  const char *name;                /* the variant, for messages */
  const mlaf_kernel_ref *decode;   /* symbol, threads and rows_per_wg count */
  mlaf_code decode_code;
  const mlaf_kernel_ref *combine;  /* NULL or template_name "": none, then splits must be 1, and decode end alone */
  mlaf_code combine_code;
  uint32_t splits;
} mlaf_loaded_desc;

/* The device is borrowed and must outlive the result. Immutable afterwards: any thread may launch. */
mlaf_status mlaf_loaded_open(mlaf_device *dev, const mlaf_problem *problem, const mlaf_loaded_desc *desc,
                             mlaf_loaded **out, mlaf_err *err);
void mlaf_loaded_close(mlaf_loaded *l);

mlaf_device *mlaf_loaded_device(const mlaf_loaded *l);
const mlaf_problem *mlaf_loaded_problem(const mlaf_loaded *l);
const char *mlaf_loaded_name(const mlaf_loaded *l);
uint32_t mlaf_loaded_splits(const mlaf_loaded *l);

/* Workspace for `splits` splits and total_q tokens: part_o [splits,T,H,R] fp32, then part_lse [splits,T,H] fp32 on the next
 * 256-byte boundary. 0 for one split; SIZE_MAX when it does not fit size_t. */
size_t mlaf_workspace_size(const mlaf_problem *p, uint32_t splits, int64_t total_q);
/* The same for a loaded variant, which may cut its batch (core/launch.h). */
size_t mlaf_loaded_workspace_size(const mlaf_loaded *l, uint32_t splits, int64_t total_q);

/* Everything a launch needs, filled from validated arguments: no allocation. `n` is 0 (no work), 1 or 2. */
typedef struct mlaf_prepared {
  _Alignas(64) mlaf_decode_args decode; /* with the maps behind it one parameter block */
  unsigned char maps[MLAF_MAPS_MAX][MLAF_MAP_BYTES];
  mlaf_combine_args combine;
  mlaf_launch launches[2]; /* args point into this struct: do not copy it */
  size_t n;
} mlaf_prepared;
_Static_assert(offsetof(mlaf_prepared, maps) == sizeof(mlaf_decode_args), "maps follow the arguments");

/* The struct_size rule of mlaf_execute. */
mlaf_status mlaf_args_check_struct(const mlaf_execute_args *args, mlaf_err *err);
/* Host-visible checks of mlaf_execute, for `splits` splits; E_ARG names the argument, its value and what is wanted. */
mlaf_status mlaf_args_check(const mlaf_problem *p, uint32_t splits, const mlaf_execute_args *args, mlaf_err *err);
/* The same with the workspace that the variant's schedule needs. */
mlaf_status mlaf_loaded_check(const mlaf_loaded *l, uint32_t splits, const mlaf_execute_args *args, mlaf_err *err);
/* `splits` is a launch-time choice: verification launches a variant with others than its own. Above 1 needs a
 * combine kernel. Fails only where the device refuses a tensor map. */
mlaf_status mlaf_loaded_prepare(const mlaf_loaded *l, uint32_t splits, const mlaf_execute_args *args, mlaf_prepared *out,
                                mlaf_err *err);
/* Check, prepare and launch asynchronously on `stream`. */
mlaf_status mlaf_loaded_launch(const mlaf_loaded *l, uint32_t splits, const mlaf_execute_args *args, void *stream,
                               mlaf_err *err);

#endif
