/* What the projections of a layer have in common: y[t,h,:] = W[h] x[t,h,:] with another dims, prologue and epilogue each. One
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
  /* Of weights of 8 bits: W[h][r][c] times the scale of row (scale_first_row + h scale_head + r) / 128 and column
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

/* --- projection_case.c --- */
enum { MLAF_PROJECTION_CASES = 3 };
double mlaf_projection_bound(const mlaf_point *p);
mlaf_status mlaf_projection_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                      mlaf_err *err);
void mlaf_projection_free_case(mlaf_case *c);
int mlaf_projection_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                                 mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool mlaf_projection_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool mlaf_projection_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);
/* Of a case whose x is another's outputs, all heads side by side, and never in memory. `before` outlives it. */
mlaf_status mlaf_projection_chain(mlaf_case *c, const mlaf_case *before, mlaf_err *err);
/* Relative, of so many tokens; a token's row may be off by twice as much. */
double mlaf_product_bound(const mlaf_product *p, int64_t tokens);

/* --- projection_data.c --- */
mlaf_status mlaf_projection_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,
                                      mlaf_data **out, mlaf_err *err);
void mlaf_projection_data_close(mlaf_data *d);
void mlaf_projection_data_args(const mlaf_data *d, int set, void *args);
mlaf_status mlaf_projection_data_check(const mlaf_data *d, int set, void *const outputs[], double most_work,
                                       mlaf_data_checked *out, mlaf_err *err);
mlaf_status mlaf_projection_data_error(const mlaf_data *d, int set, int output, size_t row, const void *got, const void *want,
                                       double *error, mlaf_err *err);
/* The same of data; sets are counted as those of `before` are from there on. */
void mlaf_projection_data_chain(mlaf_data *d, const mlaf_data *before);
void mlaf_projection_data_row(const mlaf_data *d, int output, size_t row, char *out, size_t size);

/* Plans are made for 1, 2, 4, 8, .. tokens, and kernels for as many: what is best for 2 tokens took 1.5 times as long with 16
 * as the model's pick (docs/lab/layer.md). So a choice serves what it was made for. */
#define MLAF_PROJECTION_REACH 0.5

/* An operation of this kind, of its product alone. */
#define MLAF_PROJECTION(product_of)                                                                                           \
  {                                                                                                                           \
    .calls = {.args_name = "mlaf_projection_args",                                                                            \
              .args_init = "MLAF_PROJECTION_ARGS_INIT",                                                                       \
              .args_size = sizeof(mlaf_projection_args),                                                                      \
              .args_first = offsetof(mlaf_projection_args, w_scale),                                                          \
              .workspace_at = offsetof(mlaf_projection_args, workspace),                                                      \
              .workspace_size_at = offsetof(mlaf_projection_args, workspace_size),                                            \
              .libraries = true,                                                                                              \
              .reach = MLAF_PROJECTION_REACH,                                                                                 \
              .n_mapped = MLAF_PROJECTION_MAPS,                                                                               \
              .parameter_bytes = mlaf_projection_parameter_bytes,                                                             \
              .check_stages = mlaf_projection_check_stages,                                                                   \
              .check_args = mlaf_projection_check_args,                                                                       \
              .workspace = mlaf_projection_workspace,                                                                         \
              .rows = mlaf_projection_rows,                                                                                   \
              .rows_of = mlaf_projection_rows_of,                                                                             \
              .prepare = mlaf_projection_prepare,                                                                             \
              .work = mlaf_projection_work,                                                                                   \
              .bound = mlaf_projection_bound,                                                                                 \
              .n_cases = MLAF_PROJECTION_CASES,                                                                               \
              .make_case = mlaf_projection_make_case,                                                                         \
              .free_case = mlaf_projection_free_case,                                                                         \
              .case_buffers = mlaf_projection_case_buffers,                                                                   \
              .compare = mlaf_projection_compare,                                                                             \
              .same = mlaf_projection_same,                                                                                   \
              .error_about = "relative Frobenius error against fp64",                                                         \
              .chain_case = mlaf_projection_chain,                                                                            \
              .chain_data = mlaf_projection_data_chain,                                                                       \
              .data_open = mlaf_projection_data_open,                                                                         \
              .data_close = mlaf_projection_data_close,                                                                       \
              .data_args = mlaf_projection_data_args,                                                                         \
              .data_check = mlaf_projection_data_check,                                                                       \
              .data_error = mlaf_projection_data_error,                                                                       \
              .data_row = mlaf_projection_data_row},                                                                          \
    .product = product_of                                                                                                     \
  }

#endif
