/* Checks and launches of projections. */
#include "op/projection.h"

#include "device/matmul.h"
#include "op/maps.h"

enum { SCALE_ROWS = 32 };
enum { WORKSPACE_ALIGN = 256, BEHIND_AT = 256 /* in a launch's parameters, behind those of the kernel before */ };
static const uint64_t THREADS_MOST = UINT32_MAX;     /* of a launch, as AMD's packets count them */

/* The parameter block of kernels with tensor maps; those without take `args` alone. */
typedef struct parameters {
  mlaf_projection_kernel_args args;
  _Alignas(64) unsigned char maps[MLAF_PROJECTION_MAPS][MLAF_MAP_BYTES];
} parameters;
_Static_assert(offsetof(mlaf_projection_kernel_args, w_scale) == 152, "templates/lib/projection/args.h has as many bytes");
_Static_assert(sizeof(mlaf_projection_kernel_args) == 192, "templates/lib/projection/fp8.h has as many bytes");
_Static_assert(BEHIND_AT + sizeof(parameters) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");
_Static_assert(sizeof(mlaf_projection_kernel_args) <= BEHIND_AT, "the product's are behind them");

static const mlaf_args_table *table_of(const mlaf_point *p) { return p->op->calls->arguments; }

/* The product that has these sizes. */
static mlaf_product product_of(const mlaf_point *p, const int64_t *n) {
  return (mlaf_product){
      .heads = (int32_t)n[PROJECTION_SIZE_H],
      .inner = (int32_t)n[PROJECTION_SIZE_INNER],
      .outer = (int32_t)n[PROJECTION_SIZE_OUTER],
      .dtype = (int32_t)n[PROJECTION_SIZE_DTYPE],
      .weights = (int32_t)n[PROJECTION_SIZE_WEIGHTS],
      .by_inputs = n[PROJECTION_SIZE_BY_INPUTS],
      .norm = n[PROJECTION_SIZE_NORM],
      .residual = n[PROJECTION_SIZE_RESIDUAL],
      .rope = (int32_t)n[PROJECTION_SIZE_P],
      .style = (int32_t)n[PROJECTION_SIZE_STYLE],
      .tokens = mlaf_projection_rows_of(p),
  };
}

mlaf_product mlaf_product_of(const mlaf_point *p) {
  static const mlaf_projection_args none;
  int64_t n[MLAF_ARG_SIZES];
  table_of(p)->sizes(p->v, &none, n);
  return product_of(p, n);
}

/* --- arguments --- */

/* Checks what counts even where there is nothing to launch, and that no scales are told of to a problem without. */
static mlaf_status check_numbers(const mlaf_product *p, const mlaf_projection_args *a, mlaf_err *err) {
  if (a->reserved) return mlaf_fail(err, MLAF_E_ARG, "reserved is %d, must be 0", a->reserved);
  if (a->table_rows < 0)
    return mlaf_fail(err, MLAF_E_ARG, "table_rows is %lld, must not be negative", (long long)a->table_rows);
  if (p->norm && !(isfinite(a->eps) && a->eps >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "eps is %g, must be finite and not negative", (double)a->eps);
  if (p->weights || a->tokens <= 0 || !(a->w_scale_row_stride || a->w_scale_row || a->w_scale_column)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "w_scale_row_stride is %lld, w_scale_row %lld, w_scale_column %lld, and the problem has no "
                   "scales: all must be 0", (long long)a->w_scale_row_stride, (long long)a->w_scale_row,
                   (long long)a->w_scale_column);
}

mlaf_status mlaf_projection_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_product p = mlaf_product_of(&b->point);
  const mlaf_status st = check_numbers(&p, args, err);
  return st ? st : mlaf_arguments_check(table_of(&b->point), b, args, err);
}

/* Blocks that share a tile: a cluster. */
static uint32_t team_of(const mlaf_stage *k) { return k->launch.cluster[0] > 1 ? k->launch.cluster[0] : 1; }

static uint64_t blocks_of(const mlaf_product *p, const mlaf_stage *k) {
  return (uint64_t)p->heads * (((uint32_t)p->outer + k->rows_per_wg - 1) / k->rows_per_wg) * team_of(k);
}

/* Workspace layout for library GEMMs: the library's own, which it said when it was loaded, then x through the norm. Kernels want
 * none, or room for the factor of each token's norm. */
static size_t normed_at(const mlaf_stage *k) { return (k->workspace + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN; }

static size_t workspace_of(const mlaf_product *p, const mlaf_bound *b, int64_t rows) {
  if (b->stage[0].launch.flags & MLAF_KERNEL_NORMED) return sizeof(float) * (size_t)rows;
  return b->stage[1].fn && p->norm ? normed_at(&b->stage[0]) + 2 * (size_t)rows * (size_t)p->inner : b->stage[0].workspace;
}

size_t mlaf_projection_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows) {
  const mlaf_product p = mlaf_product_of(&b->point);
  return rows ? workspace_of(&p, b, rows) : 0;
}

/* Blocks of the kernel beside a library's product, whose workgroups share out tokens; others go through them in passes. */
static uint64_t blocks_aside(const mlaf_product *p, const mlaf_stage *k, int64_t tokens) {
  return (uint64_t)p->heads * (((uint64_t)tokens + k->rows_per_wg - 1) / k->rows_per_wg);
}

static mlaf_status check_aside(const mlaf_product *p, const mlaf_stage *k, int64_t tokens, mlaf_err *err) {
  const uint64_t most = k->fn ? THREADS_MOST / k->threads : 0;
  if (!k->fn || ((uint64_t)tokens <= THREADS_MOST && blocks_aside(p, k, tokens) <= (most < INT32_MAX ? most : INT32_MAX)))
    return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld: more blocks than a launch has; project fewer at once", (long long)tokens);
}

static mlaf_status check_workspace(const mlaf_stage *k, size_t need, const mlaf_projection_args *a, mlaf_err *err) {
  if (!need || (a->workspace && (uintptr_t)a->workspace % WORKSPACE_ALIGN == 0 && a->workspace_size >= need)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "workspace is %p of %zu bytes; the %s wants %zu, %d-byte "
                   "aligned: mlaf_run_workspace tells, and without MLAF_PLAN_LIBRARY a plan wants none", a->workspace,
                   a->workspace_size, k->launch.flags & MLAF_KERNEL_LIBRARY ? "library whose product this is" : "kernel", need,
                   WORKSPACE_ALIGN);
}

mlaf_status mlaf_projection_related(const mlaf_bound *b, const mlaf_projection_args *a, const int64_t *n, mlaf_err *err) {
  const mlaf_product p = product_of(&b->point, n);
  mlaf_arg_place x[MLAF_ARG_TENSORS];
  table_of(&b->point)->places(a, n, x);
  const int64_t row = x[PROJECTION_W].stride[1], head = x[PROJECTION_W].stride[0];
  if (p.weights && p.heads > 1 && (head % row || head / row % SCALE_ROWS))
    return mlaf_fail(err, MLAF_E_ARG, "w_head_stride is %lld, must be a multiple of %d rows of %lld: a head's scales are counted "
                     "in rows", (long long)head, SCALE_ROWS, (long long)row);
  const mlaf_status st = check_aside(&p, &b->stage[1], a->tokens, err);
  return st ? st : check_workspace(&b->stage[0], workspace_of(&p, b, a->tokens), a, err);
}

/* --- who may run --- */

mlaf_status mlaf_projection_check_stages(const mlaf_bound *b, mlaf_err *err) {
  const mlaf_product p = mlaf_product_of(&b->point);
  const mlaf_stage *k = &b->stage[0];
  if (!k->fn) return mlaf_fail(err, MLAF_E_ARG, "no kernel that projects");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and a projection has none: 1", b->knob);
  if (!k->rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel has no outputs a workgroup");
  const bool library = k->launch.flags & MLAF_KERNEL_LIBRARY, normed = k->launch.flags & MLAF_KERNEL_NORMED;
  const bool undone = normed || (library && (p.norm || p.rope));
  if (normed && !p.norm) return mlaf_fail(err, MLAF_E_ARG, "its kernel takes the factors of a norm, and the problem has none");
  if (undone && !b->stage[1].fn)
    return mlaf_fail(err, MLAF_E_ARG, "a %s, and no kernel for the %s",
                     library ? "library's product" : "product that squares nothing", p.norm ? "norm" : "rope columns");
  if (!undone && b->stage[1].fn) return mlaf_fail(err, MLAF_E_ARG, "a second kernel, and nothing that the first leaves undone");
  if (k->launch.n_maps > MLAF_PROJECTION_MAPS)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "%u tensor maps, and a projection has %d", k->launch.n_maps, MLAF_PROJECTION_MAPS);
  if (!(k->launch.flags & MLAF_KERNEL_SCALES) != !p.weights)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "its kernel takes %s scales, and the problem's weights have %d bits",
                     p.weights ? "no" : "", p.weights ? 8 : 16);
  if (blocks_of(&p, k) * k->threads <= THREADS_MOST) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%llu workgroups of %u threads are more than a launch takes",
                   (unsigned long long)blocks_of(&p, k), k->threads);
}

/* --- a launch --- */

uint32_t mlaf_projection_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  if (launch->flags & MLAF_KERNEL_LIBRARY) return sizeof(mlaf_matmul_args);
  if (!launch->n_maps)
    return launch->flags & MLAF_KERNEL_SCALES ? sizeof(mlaf_projection_kernel_args)
                                              : offsetof(mlaf_projection_kernel_args, w_scale);
  return (uint32_t)(offsetof(parameters, maps) + launch->n_maps * MLAF_MAP_BYTES);
}

int64_t mlaf_projection_rows(const void *args) { return ((const mlaf_projection_args *)args)->tokens; }
int64_t mlaf_projection_rows_of(const mlaf_point *p) { return p->v[table_of(p)->count_field]; }

/* A launch's arguments as its kernels take them: sizes, tensors' places, the block. */
typedef struct filled {
  int64_t n[MLAF_ARG_SIZES];
  mlaf_arg_place x[MLAF_ARG_TENSORS];
} filled;

static void fill(const mlaf_point *p, const mlaf_projection_args *a, filled *f, mlaf_projection_kernel_args *out) {
  const mlaf_args_table *t = table_of(p);
  t->sizes(p->v, a, f->n);
  t->places(a, f->n, f->x);
  t->fill(a, f->n, f->x, out);
  const int64_t pairs = f->n[PROJECTION_SIZE_P] / 2;
  out->sin = a->sin ? a->sin : a->cos ? (const char *)a->cos + f->n[PROJECTION_SIZE_NUMBER] * pairs : NULL;
  out->scale_head = f->x[PROJECTION_W].stride[0] / f->x[PROJECTION_W].stride[1];
}

typedef struct mapped {
  const mlaf_product *p;
  const mlaf_projection_kernel_args *args;
  bool x_rows; /* MLAF_KERNEL_X_ROWS */
} mapped;

/* The tensor a map wants, all heads side by side: a row of W reaches into the next rows then, which no box looks at. */
static mlaf_tensor tensor_of(const void *launch, const mlaf_map_want *want) {
  const mlaf_product *p = ((const mapped *)launch)->p;
  const mlaf_projection_kernel_args *a = ((const mapped *)launch)->args;
  const bool weights = want->of == MLAF_PROJECTION_MAP_W;
  const int64_t head = weights ? a->w_head : a->x_head;
  const bool few = !weights && ((const mapped *)launch)->x_rows && a->tokens < (int64_t)want->rows;
  const int64_t columns = weights ? mlaf_product_w_columns(p) * mlaf_product_w_bytes(p) / 2 : p->inner; /* of 16 bits */
  return (mlaf_tensor){.data = weights ? a->w : a->x,
                       .cols = (uint64_t)((p->heads - 1) * head / 2 + columns),
                       .rows = (uint64_t)(!weights ? a->tokens : p->by_inputs ? p->inner : p->outer),
                       .row_stride = (uint64_t)(weights ? a->w_row : a->x_token),
                       .box_cols = want->cols,
                       .box_rows = few ? (uint32_t)a->tokens : want->rows,
                       .swizzle = want->swizzle};
}

/* Prepares the kernel that does what the product leaves undone: workgroups take rows_per_wg tokens of a head. With a norm a
 * library's x becomes what it writes. */
static void prepare_aside(const mlaf_bound *b, const mlaf_product *p, const mlaf_projection_args *a, filled *f,
                          mlaf_prepared *out) {
  const mlaf_stage *k = &b->stage[1];
  mlaf_projection_kernel_args *to = (void *)out->parameters;
  if (p->norm) {
    f->x[PROJECTION_X].at = to->y = (char *)a->workspace + normed_at(&b->stage[0]);
    to->y_token = 2 * (int64_t)p->inner;
    f->x[PROJECTION_X].stride[0] = p->inner;
  }
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)blocks_aside(p, k, a->tokens), 1, 1},
      .block = {k->threads, 1, 1},
      .args = to,
      .args_size = mlaf_projection_parameter_bytes(1, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
}

/* A library's product; strides stay in elements. */
static void prepare_library(const mlaf_stage *k, const mlaf_product *p, const mlaf_projection_args *a, const filled *f,
                            mlaf_prepared *out) {
  mlaf_matmul_args *to = (void *)(out->parameters + BEHIND_AT);
  const mlaf_arg_place *x = &f->x[PROJECTION_X], *w = &f->x[PROJECTION_W], *y = &f->x[PROJECTION_Y];
  *to = (mlaf_matmul_args){.w = w->at,
                           .x = x->at,
                           .c = p->residual ? a->residual : NULL,
                           .y = a->y,
                           .w_row = w->stride[1],
                           .w_head = w->stride[0],
                           .x_token = x->stride[0],
                           .x_head = x->stride[1],
                           .c_token = f->x[PROJECTION_RESIDUAL].stride[0],
                           .y_token = y->stride[0],
                           .y_head = y->stride[1],
                           .tokens = a->tokens,
                           .workspace = a->workspace};
  out->launches[out->n++] = (mlaf_launch){.fn = k->fn,
                                          .grid = {1, 1, 1},
                                          .block = {1, 1, 1},
                                          .args = to,
                                          .args_size = sizeof *to,
                                          .flags = MLAF_LAUNCH_LIBRARY};
}

mlaf_status mlaf_projection_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_stage *k = &b->stage[0];
  const mlaf_projection_args *a = args;
  parameters *to = (void *)out->parameters;
  filled f;
  out->n = 0;
  if (!a->tokens) return MLAF_OK;
  fill(&b->point, a, &f, &to->args);
  const mlaf_product p = product_of(&b->point, f.n);
  const mlaf_projection_kernel_args product = to->args;
  if (b->stage[1].fn) prepare_aside(b, &p, a, &f, out);
  if (k->launch.flags & MLAF_KERNEL_LIBRARY) {
    prepare_library(k, &p, a, &f, out);
    return MLAF_OK;
  }
  if (b->stage[1].fn) { /* with the factors that that kernel writes */
    parameters *const behind = (void *)(out->parameters + BEHIND_AT);
    behind->args = product;
    behind->args.cos = to->args.y;
    to = behind;
  }
  const mapped of = {&p, &to->args, k->launch.flags & MLAF_KERNEL_X_ROWS};
  const mlaf_status st = mlaf_fill_maps(b->dev, &k->launch, tensor_of, &of, to->maps, err);
  if (st) return st;
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)blocks_of(&p, k), 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {team_of(k), 1, 1},
      .args = to,
      .args_size = mlaf_projection_parameter_bytes(0, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}

/* Weights, inputs and outputs once. */
mlaf_work mlaf_projection_work(const mlaf_point *point) {
  const mlaf_product p = mlaf_product_of(point);
  const double heads = p.heads, weights = heads * p.inner * p.outer, tokens = (double)p.tokens;
  const double row = heads * (p.inner + p.outer + 2 * p.rope) + (p.residual ? p.outer : 0);
  const double table = mlaf_product_turns(&p) ? 8 + 4.0 * p.rope : 0;
  const double held = p.weights ? weights + 4 * weights / (MLAF_SCALE_BLOCK * MLAF_SCALE_BLOCK) : 2 * weights;
  return (mlaf_work){.bytes = held + tokens * (2 * row + table) + (p.norm ? 2.0 * p.inner : 0),
                     .main_bytes = held,
                     .main = "the weights",
                     .flops = tokens * (2 * weights + 3 * heads * p.rope)};
}
