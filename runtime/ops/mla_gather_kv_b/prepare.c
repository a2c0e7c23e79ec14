/* Filling a launch. */
#include <stddef.h>

#include "device/matmul.h"
#include "ops/mla_gather_kv_b/gather.h"

/* The parameter block of kernels with a tensor map; those without take `args` alone. */
typedef struct parameters {
  mlaf_gather_kv_b_kernel_args args;
  _Alignas(64) unsigned char w[MLAF_MAP_BYTES];
} parameters;
_Static_assert(offsetof(parameters, w) == 256, "where it is with and without the table of rotations");
_Static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 224, "templates/mla_gather_kv_b/lib/args.h has as many bytes");
_Static_assert(sizeof(parameters) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");

/* PART outputs: no share is smaller, since no kernel has larger tiles; gathering a tile's tokens takes as long as about as many.
 * gen/ops/mla_gather_kv_b/model.lua counts the same way. */
enum { PART = 128 };

/* Of a library's two products, in a launch's parameters, behind those of the kernel before. */
enum { LIBRARY_AT = 256 };
_Static_assert(LIBRARY_AT + 2 * sizeof(mlaf_matmul_args) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");

uint32_t gather_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  if (launch->flags & MLAF_KERNEL_LIBRARY) return sizeof(mlaf_matmul_args);
  if (launch->n_maps) return sizeof(parameters);
  return launch->flags & MLAF_KERNEL_SCALES ? sizeof(mlaf_gather_kv_b_kernel_args)
                                            : offsetof(mlaf_gather_kv_b_kernel_args, rope_table);
}

/* The longest length below this one that shares of as many parts as can be have; 0: there is none. */
static uint32_t shorter(uint32_t parts, uint32_t length) {
  if (length <= 1) return 0;
  const uint32_t shares = (parts + length - 2) / (length - 1);
  return (parts + shares - 1) / shares;
}

uint32_t gather_shares(const gather_shape *s, uint64_t tiles, uint32_t units) {
  const uint32_t parts = (uint32_t)((s->heads * s->out + PART - 1) / PART);
  uint64_t least = UINT64_MAX;
  uint32_t best = 1;
  if (!units) units = 1;
  /* The fewest shares of each length, from one share that has all parts down to shares of one. */
  for (uint32_t length = parts; length; length = shorter(parts, length)) {
    const uint32_t shares = (parts + length - 1) / length;
    const uint64_t takes = (tiles * shares + units - 1) / units * (length + 1);
    if (takes < least) least = takes, best = shares;
  }
  return best;
}

static void *behind(const void *p, int64_t bytes) { return (void *)((uintptr_t)p + (uintptr_t)bytes); }
static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

void gather_fill(const gather_shape *s, const mlaf_gather_kv_b_args *a, mlaf_gather_kv_b_kernel_args *out) {
  const int64_t unit = s->format->unit, heads = s->heads, k_row = a->v ? s->nope : s->out;
  *out = (mlaf_gather_kv_b_kernel_args){
      .cache = a->cache,
      .table = a->table,
      .table_indptr = a->table_indptr,
      .cu_seqlens = a->cu_seqlens,
      .seq_starts = a->seq_starts,
      .w = a->w,
      .k = a->k,
      .v = a->v ? a->v : behind(a->k, 2 * (int64_t)s->nope),
      .k_pe = a->k_pe,
      .cache_row = unit * gather_cache_row(s, a),
      .num_pages = a->num_pages,
      .table_stride = a->table_stride,
      .w_row = 2 * or_else(a->w_row_stride, s->rank),
      .k_head = 2 * or_else(a->k_head_stride, k_row),
      .k_pe_token = 2 * or_else(a->k_pe_token_stride, s->rope),
      .k_pe_head = 2 * a->k_pe_head_stride,
      .tokens = a->tokens,
      .batch = a->batch,
      .table_width = a->table_width ? a->table_width : (int32_t)(a->table_stride > INT32_MAX ? INT32_MAX : a->table_stride),
      .page_tokens = (uint32_t)a->page_tokens,
      .scale = a->scale,
      .rope_table = a->rope_table,
      .rope_rows = a->rope_rows,
  };
  if (s->format->split) out->kpe = a->cache_kpe, out->kpe_row = (uint32_t)(2 * or_else(a->cache_kpe_row_stride, s->rope));
  else out->scale_at = a->scale_at;
  out->cache_page = a->cache_page_stride ? unit * a->cache_page_stride : a->page_tokens * out->cache_row;
  out->w_head = a->w_head_stride ? 2 * a->w_head_stride : s->out * out->w_row;
  out->k_token = a->k_token_stride ? 2 * a->k_token_stride : heads * out->k_head;
  out->v_head = a->v ? 2 * or_else(a->v_head_stride, s->vdim) : out->k_head;
  out->v_token = !a->v ? out->k_token : a->v_token_stride ? 2 * a->v_token_stride : heads * out->v_head;
}

/* W as one tensor, all heads beside each other: wherever a head's rows begin, they begin at a column. */
static mlaf_status fill_map(const mlaf_bound *b, const gather_shape *s, parameters *out, mlaf_err *err) {
  const mlaf_map_want *want = &b->stage[0].launch.maps[0];
  const int64_t columns = (s->heads - 1) * (out->args.w_head / 2) + s->rank;
  if (columns > INT32_MAX) /* boxes are found by 32 bits */
    return mlaf_fail(err, MLAF_E_ARG, "w_head_stride is %lld: the last of %d heads begins more than 2^31 elements behind the "
                     "first", (long long)out->args.w_head / 2, s->heads);
  const mlaf_tensor w = {.data = out->args.w,
                         .cols = (uint64_t)columns,
                         .rows = (uint64_t)s->out,
                         .row_stride = (uint64_t)out->args.w_row,
                         .box_cols = want->cols,
                         .box_rows = want->rows,
                         .swizzle = want->swizzle};
  return mlaf_ops(b->dev)->tensor_map_encode(b->dev, &w, out->w, err);
}

/* Of a library's product: its own, which it said when it was loaded; behind it the rows. Kernels want none. */
static size_t rows_at(const mlaf_stage *k) {
  return (k->workspace + GATHER_WORKSPACE_ALIGN - 1) / GATHER_WORKSPACE_ALIGN * GATHER_WORKSPACE_ALIGN;
}
size_t gather_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows) {
  if (!rows || !gather_is_library(b)) return 0;
  return rows_at(&b->stage[0]) + 2 * (size_t)rows * (size_t)gather_shape_of(&b->point).rank;
}

/* The rows that a library's products are of, and k_pe. */
static void prepare_rows(const mlaf_bound *b, const gather_shape *s, void *rows, mlaf_gather_kv_b_kernel_args *to,
                         mlaf_prepared *out) {
  const mlaf_stage *k = &b->stage[1];
  to->k = rows;
  to->k_token = 2 * (int64_t)s->rank;
  to->shares = 1;
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)((to->tokens + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1},
      .block = {k->threads, 1, 1},
      .args = to,
      .args_size = gather_parameter_bytes(1, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
}

/* K of every head by one product, V by the same one: its heads share the rows. Strides in elements. */
static void prepare_library(const mlaf_bound *b, const gather_shape *s, const mlaf_gather_kv_b_args *a, mlaf_prepared *out) {
  mlaf_gather_kv_b_kernel_args *to = (void *)out->parameters;
  mlaf_matmul_args *of = (void *)(out->parameters + LIBRARY_AT);
  void *rows = behind(a->workspace, (int64_t)rows_at(&b->stage[0]));
  const struct { void *y; int64_t first, token, head; } half[] = {{to->k, 0, to->k_token, to->k_head},
                                                                  {to->v, s->nope, to->v_token, to->v_head}};
  prepare_rows(b, s, rows, to, out);
  for (int i = 0; i < 2; i++) {
    of[i] = (mlaf_matmul_args){.w = behind(to->w, half[i].first * to->w_row),
                               .x = rows,
                               .y = half[i].y,
                               .w_row = to->w_row / 2,
                               .w_head = to->w_head / 2,
                               .x_token = s->rank,
                               .y_token = half[i].token / 2,
                               .y_head = half[i].head / 2,
                               .tokens = a->tokens,
                               .workspace = a->workspace};
    out->launches[out->n++] = (mlaf_launch){.fn = b->stage[0].fn,
                                            .grid = {1, 1, 1},
                                            .block = {1, 1, 1},
                                            .args = &of[i],
                                            .args_size = sizeof of[i],
                                            .flags = MLAF_LAUNCH_LIBRARY};
  }
}

mlaf_status gather_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_gather_kv_b_args *a = args;
  const gather_shape s = gather_shape_of(&b->point);
  const mlaf_stage *k = &b->stage[0];
  parameters *to = (void *)out->parameters;
  out->n = 0;
  if (!a->tokens || !a->batch) return MLAF_OK;
  if (gather_is_library(b)) {
    gather_fill(&s, a, &to->args);
    prepare_library(b, &s, a, out);
    return MLAF_OK;
  }
  const uint32_t cluster = k->launch.cluster[0] > 1 ? k->launch.cluster[0] : 1;
  const uint64_t each = ((uint64_t)a->tokens + k->rows_per_wg - 1) / k->rows_per_wg;
  const uint64_t tiles = (each + cluster - 1) / cluster * cluster; /* of the last ones of a cluster some may be empty */
  gather_fill(&s, a, &to->args);
  to->args.shares = gather_shares(&s, tiles, (uint32_t)mlaf_info(b->dev)->compute_units);
  mlaf_status st = k->launch.n_maps ? fill_map(b, &s, to, err) : MLAF_OK;
  if (st) return st;
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)tiles * to->args.shares, 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {cluster, 1, 1},
      .args = to,
      .args_size = gather_parameter_bytes(0, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
