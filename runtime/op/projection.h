/* Shared by the projections of a layer: y[t,h,:] = W[h] x[t,h,:] with another dims, prologue and epilogue each. One
 * struct of arguments, one launch, one set of cases; gen/projection/products.lua says what the product of an operation of this
 * kind is, gen/projection/args.lua what a launch takes. */
#pragma once

#include "op/args_check.h"
#include "op/calls.h"
#include "op/projection_launch.h"

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

/* The product of a problem, by the table of its operation's arguments. */
mlaf_product mlaf_product_of(const mlaf_point *p);

/* Tensors that a kernel may want maps of (mlaf_map_want.of): weights and x, all heads of a row side by side. */
enum { MLAF_PROJECTION_MAP_W = 1, MLAF_PROJECTION_MAP_X, MLAF_PROJECTION_MAPS = 2 };

/* The kernel's argument block, mlaf_projection_kernel_args, is made of gen/projection/args.lua: the contract between templates
 * and the runtime. templates/lib/projection/args.h declares the same. Strides in bytes, device pointers. Grid x: the tiles of
 * outputs, rows_per_wg each, of the first head, then of the next one. Of a kernel with clusters the blocks of one, side by side,
 * work on a tile together. */

/* --- projection.c: entries of `calls` --- */
uint32_t mlaf_projection_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_status mlaf_projection_check_stages(const mlaf_bound *b, mlaf_err *err);
mlaf_status mlaf_projection_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
size_t mlaf_projection_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows);
int64_t mlaf_projection_rows(const void *args);
int64_t mlaf_projection_rows_of(const mlaf_point *p);
mlaf_status mlaf_projection_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work mlaf_projection_work(const mlaf_point *p);
