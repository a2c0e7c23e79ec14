/* mla_merge inside: its shape, the checks of its arguments, its launch and its work. The functions are entries of its table
 * (op/calls.h). */
#ifndef MLAF_MERGE_H
#define MLAF_MERGE_H

#include "mlaforge/mla_merge.h"
#include "op/calls.h"
#include "ops/mla_merge/fields.h"
#include "ops/mla_merge/launch.h"

/* A problem of it, spelled out. */
typedef struct merge_shape {
  int heads, vdim, dtype;
  int64_t tokens;
} merge_shape;
merge_shape merge_shape_of(const mlaf_point *p);

extern const mlaf_calls mlaf_merge_calls;

/* --- args.c --- */
mlaf_status merge_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status merge_check_stages(const mlaf_bound *b, mlaf_err *err);
/* Arguments with the result's place and every stride spelled out. */
mlaf_merge_args merge_dense(const merge_shape *s, const mlaf_merge_args *a);

/* --- prepare.c --- */
uint32_t merge_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_status merge_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work merge_work(const mlaf_point *p);

#endif
