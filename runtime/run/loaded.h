/* A variant on a device: kernels loaded from code objects and launched. Plan, verify, bench and tune all go through here, so that
 * the kernels' parameters and grids are filled in exactly one place: by its operation (op/calls.h). */
#pragma once

#include "db/db.h"
#include "device/series.h"
#include "op/calls.h"

typedef struct mlaf_loaded mlaf_loaded;

typedef struct mlaf_code {
  const void *bytes;
  size_t size;
} mlaf_code;

/* A variant as mlaf_loaded_open needs it; refs and code are only read during the call. */
typedef struct mlaf_loaded_desc {
  const char *name; /* the variant, for messages */
  struct {
    const mlaf_kernel_ref *ref; /* symbol, threads and rows_per_wg count; NULL or template_name "": no such kernel */
    mlaf_code code;
  } kernels[MLAF_STAGES_MAX];   /* by stage */
  uint32_t knob;
} mlaf_loaded_desc;

/* The device is borrowed and must outlive the result. Immutable afterwards: any thread may launch. */
mlaf_status mlaf_loaded_open(mlaf_device *dev, const mlaf_point *problem, const mlaf_loaded_desc *desc,
                             mlaf_loaded **out, mlaf_err *err);
void mlaf_loaded_close(mlaf_loaded *l);
/* Makes repeated launches of its kernels, alone and between others, cheaper for the host, where the device can chain launches;
 * elsewhere they are launched one by one. To be called before other threads see it. */
void mlaf_loaded_chain(mlaf_loaded *l);

mlaf_device *mlaf_loaded_device(const mlaf_loaded *l);
const mlaf_point *mlaf_loaded_problem(const mlaf_loaded *l);
const char *mlaf_loaded_name(const mlaf_loaded *l);
uint32_t mlaf_loaded_knob(const mlaf_loaded *l);
const mlaf_bound *mlaf_loaded_bound(const mlaf_loaded *l);
const mlaf_calls *mlaf_loaded_calls(const mlaf_loaded *l);

/* `knob` is a launch-time choice: verification launches a variant with others than its own. What these do is the operation's;
 * `args` is its struct of arguments. */
size_t mlaf_loaded_workspace_size(const mlaf_loaded *l, uint32_t knob, int64_t rows);
mlaf_status mlaf_loaded_check(const mlaf_loaded *l, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status mlaf_loaded_prepare(const mlaf_loaded *l, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
/* Check, prepare and launch asynchronously on `stream`. */
mlaf_status mlaf_loaded_launch(const mlaf_loaded *l, uint32_t knob, const void *args, void *stream, mlaf_err *err);
/* Checks, prepares and launches between the kernels of `around` (NULL: none); into `to`, where it is not NULL, which is of that
 * stream. Nothing is launched where anything is wrong. */
mlaf_status mlaf_loaded_launch_within(const mlaf_loaded *l, uint32_t knob, const void *args, const mlaf_second_prepared *around,
                                      mlaf_series *to, void *stream, mlaf_err *err);
