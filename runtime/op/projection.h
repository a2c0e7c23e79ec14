/* Shared by the projections of a layer: y[t,h,:] = W[h] x[t,h,:] with another dims, prologue and epilogue each. One
 * struct of arguments, one launch, one set of cases; an operation of this kind says what its product is
 * (runtime/ops/mla_v_out). */
#ifndef MLAF_PROJECTION_H
#define MLAF_PROJECTION_H

#include <stddef.h>

#include "mlaforge/projection.h"
#include "op/calls.h"

enum { MLAF_PAIRS, MLAF_HALVES, MLAF_UNROTATED };               /* words of the rope style */
enum { MLAF_WEIGHTS_16, MLAF_WEIGHTS_E4M3FN, MLAF_WEIGHTS_E4M3FNUZ }; /* words of the weights */
enum { MLAF_SCALE_BLOCK = 128 };                               /* rows and columns of W that have a scale together */

/* A problem, as a product. */
typedef struct mlaf_product {
  int32_t heads, inner, outer; /* tensors W[h]; values of a sum; outputs of a head */
  int32_t dtype, weights;      /* words of both */
  bool by_inputs;              /* W[h] is [inner][outer]; else [outer][inner] */
  bool norm, residual;
  int32_t rope, style;         /* columns of x behind the inner ones that go behind y's; 0: none */
  int64_t tokens;
  /* x is what another product left in registers: numbers of a token that it took, through a norm. 0: x is in memory. */
  int32_t behind;
} mlaf_product;
/* Rows and columns of W[h], bytes of an element. */
static inline int32_t mlaf_product_w_rows(const mlaf_product *p) { return p->by_inputs ? p->inner : p->outer; }
static inline int32_t mlaf_product_w_columns(const mlaf_product *p) { return p->by_inputs ? p->outer : p->inner; }
static inline int32_t mlaf_product_w_bytes(const mlaf_product *p) { return p->weights ? 1 : 2; }
static inline bool mlaf_product_turns(const mlaf_product *p) { return p->rope && p->style != MLAF_UNROTATED; }

/* An operation of this kind: its record's `calls` points to the first member. */
typedef struct mlaf_projection {
  mlaf_calls calls;
  mlaf_product (*product)(const mlaf_point *p);
} mlaf_projection;
static inline mlaf_product mlaf_product_of(const mlaf_point *p) {
  return ((const mlaf_projection *)p->op->calls)->product(p);
}

/* Tensors that a kernel may want maps of (mlaf_map_want.of): weights and x, all heads of a row side by side. */
enum { MLAF_PROJECTION_MAP_W = 1, MLAF_PROJECTION_MAP_X, MLAF_PROJECTION_MAPS = 2 };

/* The kernel argument block: the contract between templates and the runtime. templates/lib/projection/args.h declares the same.
 * Strides in bytes, device pointers. Grid x: the tiles of outputs, rows_per_wg each, of the first head, then of the next one. Of
 * a kernel with clusters the blocks of one, side by side, work on a tile together. */
typedef struct mlaf_projection_kernel_args {
  const void *x, *w;
  void *y;
  const void *gain, *residual;
  const int64_t *positions;
  const void *cos, *sin;
  int64_t x_token, x_head, w_row, w_head, y_token, y_head, residual_token;
  int64_t table_row, table_rows;
  int64_t tokens;
  float eps;
  uint32_t flags; /* MLAF_PROJECTION_* */
  /* Scales of 8-bit weights: W[h][r][c] times the scale of row (scale_first_row + h scale_head + r) / 128 and column
   * (scale_first_column + c) / 128 of w_scale, whose rows lie scale_row bytes apart. */
  const float *w_scale;
  int64_t scale_row, scale_first_row, scale_head, scale_first_column;
} mlaf_projection_kernel_args;

/* --- projection.c: entries of `calls` --- */
uint32_t mlaf_projection_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_status mlaf_projection_check_stages(const mlaf_bound *b, mlaf_err *err);
mlaf_status mlaf_projection_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
size_t mlaf_projection_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows);
int64_t mlaf_projection_rows(const void *args);
int64_t mlaf_projection_rows_of(const mlaf_point *p);
mlaf_status mlaf_projection_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work mlaf_projection_work(const mlaf_point *p);
/* Arguments with every stride spelled out, in elements. */
void mlaf_projection_dense(const mlaf_product *p, mlaf_projection_args *a);

#endif
