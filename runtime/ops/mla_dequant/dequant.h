/* mla_dequant inside: its shape, the checks of its arguments, its launch and its work. The functions are entries of its table
 * (op/calls.h). */
#ifndef MLAF_DEQUANT_H
#define MLAF_DEQUANT_H

#include "mlaforge/mla_dequant.h"
#include "op/calls.h"
#include "ops/mla_dequant/fields.h"
#include "ops/mla_dequant/launch.h"

enum { DEQUANT_BLOCK = 128 }; /* rows and columns that have a scale together */

/* A problem of it, spelled out. */
typedef struct dequant_shape {
  int columns, dtype;
  bool fnuz;
  int64_t rows;
} dequant_shape;
dequant_shape dequant_shape_of(const mlaf_point *p);
static inline int64_t dequant_blocks(int64_t n) { return (n + DEQUANT_BLOCK - 1) / DEQUANT_BLOCK; }

extern const mlaf_calls mlaf_dequant_calls;

/* --- args.c --- */
mlaf_status dequant_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status dequant_check_stages(const mlaf_bound *b, mlaf_err *err);
/* Arguments with every stride spelled out. */
mlaf_dequant_args dequant_dense(const dequant_shape *s, const mlaf_dequant_args *a);

/* --- prepare.c --- */
uint32_t dequant_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_status dequant_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work dequant_work(const mlaf_point *p);

#endif
