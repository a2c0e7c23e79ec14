/* mla_q_scale inside: its shape, the checks of its arguments, its launch and its work. The functions are entries of its table
 * (op/calls.h). */
#ifndef MLAF_Q_SCALE_H
#define MLAF_Q_SCALE_H

#include "mlaforge/mla_q_scale.h"
#include "op/calls.h"
#include "ops/mla_q_scale/fields.h"
#include "ops/mla_q_scale/launch.h"

/* A problem of it, spelled out. */
typedef struct q_scale_shape {
  int heads, qdim, dtype;
  int64_t tokens;
} q_scale_shape;
q_scale_shape q_scale_shape_of(const mlaf_point *p);

extern const mlaf_calls mlaf_q_scale_calls;

/* --- args.c --- */
mlaf_status q_scale_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status q_scale_check_stages(const mlaf_bound *b, mlaf_err *err);
/* Arguments with y and every stride spelled out. */
mlaf_q_scale_args q_scale_dense(const q_scale_shape *s, const mlaf_q_scale_args *a);

/* --- prepare.c --- */
uint32_t q_scale_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_status q_scale_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work q_scale_work(const mlaf_point *p);

#endif
