/* Relations between mla_gather_kv_b's arguments that its table does not say, and its launches. Blocks of ours: `shares` of the
 * outputs one behind the other, each with all tiles of rows_per_wg tokens. */
#include "device/matmul.h"
#include "ops/mla_gather_kv_b/gather.h"

enum { ALIGN = MLAF_FORMAT_ALIGN, ELEMENTS = 8, WORKSPACE_ALIGN = 256 };
enum { ASIDE_TOKENS_MOST = 65536 }; /* of a page whose scales lie behind its rows: kernels keep a slot beside an address */
static const int64_t STRIDE_MOST = INT64_C(1) << 40, KPE_STRIDE_MOST = INT64_C(1) << 30; /* elements */
static const uint64_t BLOCKS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as CUDA and AMD's packets count them */
_Static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 224, "templates/mla_gather_kv_b/lib/args.h has as many bytes");

/* PART outputs: no share is smaller, since no kernel has larger tiles; gathering a tile's tokens takes as long as about as many.
 * gen/ops/mla_gather_kv_b/model.lua counts the same way. */
enum { PART = 128 };

/* Place of a library's two products in a launch's parameters, behind those of the kernel before. */
enum { LIBRARY_AT = 256 };
_Static_assert(LIBRARY_AT + 2 * sizeof(mlaf_matmul_args) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");

void gather_kv_b_sizes(const int32_t *f, const mlaf_gather_kv_b_args *a, int64_t *n) {
  const mlaf_cache_format *format = gather_format(f);
  n[GATHER_KV_B_SIZE_UNIT] = format->unit;
  n[GATHER_KV_B_SIZE_ROW] = gather_bytes(f, format->row) / format->unit;
  n[GATHER_KV_B_SIZE_KPEROW] = gather_bytes(f, format->second.row) / format->unit;
  n[GATHER_KV_B_SIZE_SPLIT] = n[GATHER_KV_B_SIZE_KPEROW] > 0;
  n[GATHER_KV_B_SIZE_SCALED] = format->scale == MLAF_SCALE_LAUNCH; /* a stored number times the launch's scale is a value */
  n[GATHER_KV_B_SIZE_KCOLUMNS] = n[a->v ? GATHER_KV_B_SIZE_N : GATHER_KV_B_SIZE_OUT];
  n[GATHER_KV_B_SIZE_NEEDKPE] = n[GATHER_KV_B_SIZE_SPLIT] && a->num_pages > 0;
}

/* --- checks --- */

mlaf_status gather_kv_b_numbers(const int32_t *f, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  if (a->batch >= 0) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "batch is %d, must not be negative", a->batch);
}

static mlaf_status check_numbers(const mlaf_gather_kv_b_args *a, const int64_t *n, mlaf_err *err) {
  if (a->page_tokens < 1) return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, must be positive", a->page_tokens);
  if (a->num_pages < 0 || a->num_pages > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %lld, must be 0..2^31-1", (long long)a->num_pages);
  if (n[GATHER_KV_B_SIZE_SCALED] && !a->scale_at && !(isfinite(a->scale) && a->scale > 0))
    return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be finite and positive, or scale_at be set", (double)a->scale);
  if (a->table_stride < 0 || a->table_stride > STRIDE_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "table_stride is %lld, must not be negative", (long long)a->table_stride);
  if (a->table_width < 0 || (!a->table_indptr && a->batch > 1 && a->table_width > a->table_stride))
    return mlaf_fail(err, MLAF_E_ARG, "table_width is %d, and a row of the table has %lld entries", a->table_width,
                     (long long)a->table_stride);
  if (!a->table_indptr && !a->table_width && !a->table_stride)
    return mlaf_fail(err, MLAF_E_ARG, "table_width and table_stride are 0: the table has no entries");
  return MLAF_OK;
}

static mlaf_status check_rope(const int32_t *f, const mlaf_gather_kv_b_args *a, const int64_t *n, mlaf_err *err) {
  const int64_t rope = n[GATHER_KV_B_SIZE_P], copies = a->k_pe_head_stride;
  if (a->cache_kpe && !n[GATHER_KV_B_SIZE_SPLIT])
    return mlaf_fail(err, MLAF_E_ARG, "cache_kpe is set, and the problem's cache is %s: NULL",
                     gather_format(f)->second.of ? "without rope columns" : "not split");
  if (!n[GATHER_KV_B_SIZE_ROTATE] && (a->rope_table || a->rope_rows))
    return mlaf_fail(err, MLAF_E_ARG, "rope_table is %p of %lld rows, and the problem's cache is rotated: plan with rope_pairs "
                     "or rope_halves, or leave the table out", (const void *)a->rope_table, (long long)a->rope_rows);
  if (n[GATHER_KV_B_SIZE_ROTATE] && a->rope_rows < 1)
    return mlaf_fail(err, MLAF_E_ARG, "rope_rows is %lld, must be 1 or more: a row for each position", (long long)a->rope_rows);
  if (a->k_pe && !rope) return mlaf_fail(err, MLAF_E_ARG, "k_pe is set, and the problem has no rope columns: NULL");
  if (copies && (copies < rope || copies > STRIDE_MOST || copies % ELEMENTS))
    return mlaf_fail(err, MLAF_E_ARG, "k_pe_head_stride is %lld, must be 0 or a multiple of %d from %lld on", (long long)copies,
                     ELEMENTS, (long long)rope);
  return MLAF_OK;
}

static mlaf_status check_pages(const int32_t *f, const mlaf_gather_kv_b_args *a, const int64_t *n, mlaf_err *err) {
  const int64_t row = a->cache_row_stride ? a->cache_row_stride : n[GATHER_KV_B_SIZE_ROW];
  if (!a->cache_page_stride && a->page_tokens > STRIDE_MOST / row)
    return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, and rows lie %lld apart: a page may be 2^40 long", a->page_tokens,
                     (long long)row);
  if (gather_format(f)->aside && a->page_tokens > ASIDE_TOKENS_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, and a page of %s has at most %d", a->page_tokens,
                     gather_format(f)->name, ASIDE_TOKENS_MOST);
  if (gather_format(f)->aside)
    return mlaf_format_check_pages(gather_format(f), f[MLA_GATHER_KV_B_RANK], f[MLA_GATHER_KV_B_ROPE], a->page_tokens,
                                   a->cache_row_stride, a->cache_page_stride, err);
  if (!gather_format(f)->second.of) return MLAF_OK;
  if (a->cache_kpe_row_stride > KPE_STRIDE_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "cache_kpe_row_stride is %lld, must be at most %lld", (long long)a->cache_kpe_row_stride,
                     (long long)KPE_STRIDE_MOST);
  if (n[GATHER_KV_B_SIZE_SCALED] && row > KPE_STRIDE_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "cache_row_stride is %lld, must be at most %lld", (long long)row,
                     (long long)KPE_STRIDE_MOST);
  if (a->cache_page_stride % row)
    return mlaf_fail(err, MLAF_E_ARG, "cache_page_stride is %lld, must be whole rows of %lld: cache_kpe has pages of as many",
                     (long long)a->cache_page_stride, (long long)row);
  return MLAF_OK;
}

static mlaf_status check_size(const mlaf_bound *b, const mlaf_gather_kv_b_args *a, const int64_t *n, mlaf_err *err) {
  const bool library = gather_is_library(b);
  const mlaf_stage *k = &b->stage[library];
  const uint64_t tiles = ((uint64_t)a->tokens + k->rows_per_wg - 1) / k->rows_per_wg;
  const int64_t outputs = n[GATHER_KV_B_SIZE_H] * n[GATHER_KV_B_SIZE_OUT];
  const uint64_t blocks = tiles * (library ? 1 : gather_kv_b_shares(outputs, tiles, UINT32_MAX));
  const uint64_t by_threads = THREADS_MOST / k->threads;
  if (blocks <= (by_threads < BLOCKS_MOST ? by_threads : BLOCKS_MOST)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld: more blocks than a launch has; gather fewer at once", (long long)a->tokens);
}

static mlaf_status check_workspace(size_t need, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  const bool aligned = (uintptr_t)a->workspace % WORKSPACE_ALIGN == 0;
  if (!need || (a->workspace && aligned && a->workspace_size >= need)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "workspace is %p of %zu bytes; the rows for the library whose products these are want %zu, "
                   "%d-byte aligned: mlaf_run_workspace tells, and without MLAF_PLAN_LIBRARY a plan wants none", a->workspace,
                   a->workspace_size, need, WORKSPACE_ALIGN);
}

mlaf_status gather_kv_b_related(const mlaf_bound *b, const mlaf_gather_kv_b_args *a, const int64_t *n, mlaf_err *err) {
  mlaf_status st = check_numbers(a, n, err);
  if (!st) st = check_rope(b->point.v, a, n, err);
  if (!st) st = check_pages(b->point.v, a, n, err);
  if (!st) st = check_size(b, a, n, err);
  return st ? st : check_workspace(gather_kv_b_workspace(b, 1, a->tokens), a, err);
}

mlaf_status gather_kv_b_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no gather kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_gather_kv_b has none: 1", b->knob);
  const bool library = gather_is_library(b), rotate = b->point.v[MLA_GATHER_KV_B_ROTATE];
  const int nope = b->point.v[MLA_GATHER_KV_B_NOPE], vdim = b->point.v[MLA_GATHER_KV_B_VDIM];
  if (library != !!b->stage[1].fn)
    return mlaf_fail(err, MLAF_E_ARG, library ? "a library's product, and no kernel that gathers its rows"
                                              : "a second kernel, and the first gathers for itself");
  if (!(b->stage[library].launch.flags & MLAF_KERNEL_SCALES) != !rotate)
    return mlaf_fail(err, MLAF_E_ARG, rotate ? "its kernel takes no table, and the problem rotates"
                                             : "its kernel takes a table of rotations, and the problem has none");
  if (library && nope != vdim)
    return mlaf_fail(err, MLAF_E_ARG, "a library's product makes as many columns of K as of V, here %d and %d", nope, vdim);
  if (!b->stage[library].rows_per_wg)
    return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many tokens a workgroup has");
  return MLAF_OK;
}

/* --- a launch --- */

uint32_t gather_kv_b_bytes_of(int stage, const mlaf_kernel_launch *launch) {
  return launch->flags & MLAF_KERNEL_LIBRARY ? (uint32_t)sizeof(mlaf_matmul_args) : gather_kv_b_parameter_bytes(stage, launch);
}

/* The longest length below this one that shares of as many parts as can be have; 0: there is none. */
static uint32_t shorter(uint32_t parts, uint32_t length) {
  if (length <= 1) return 0;
  const uint32_t shares = (parts + length - 2) / (length - 1);
  return (parts + shares - 1) / shares;
}

uint32_t gather_kv_b_shares(int64_t outputs, uint64_t tiles, uint32_t units) {
  const uint32_t parts = (uint32_t)((outputs + PART - 1) / PART);
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

static void fill_rest(const int32_t *f, const mlaf_gather_kv_b_args *a, const int64_t *n, mlaf_gather_kv_b_kernel_args *k) {
  const int64_t kpe_row = a->cache_kpe_row_stride ? a->cache_kpe_row_stride : n[GATHER_KV_B_SIZE_KPEROW];
  const mlaf_cache_format *format = gather_format(f);
  const int rank = f[MLA_GATHER_KV_B_RANK], rope = f[MLA_GATHER_KV_B_ROPE];
  if (format->aside && !a->cache_page_stride)
    k->cache_page = mlaf_format_page_rows(format, a->page_tokens, rank, rope) * k->cache_row;
  if (format->second.of) k->kpe_row = (uint32_t)(format->unit * kpe_row); /* row n has row n of these */
  if (format->second.of && !n[GATHER_KV_B_SIZE_SCALED]) k->scale_at = a->cache_kpe;
  else if (format->second.of) {
    k->cache_row |= k->num_pages << 32; /* both were checked to fit */
    k->num_pages = (int64_t)(intptr_t)a->cache_kpe;
  }
  if (!a->v) k->v = behind(a->k, 2 * n[GATHER_KV_B_SIZE_N]), k->v_token = k->k_token, k->v_head = k->k_head;
  k->k_pe_head = 2 * a->k_pe_head_stride;
  if (!a->table_width) k->table_width = (int32_t)(a->table_stride > INT32_MAX ? INT32_MAX : a->table_stride);
  k->shares = 1;
}

/* W as one tensor, all heads beside each other: wherever a head's rows begin, they begin at a column. */
static mlaf_status fill_map(const mlaf_bound *b, const int64_t *n, const mlaf_gather_kv_b_kernel_args *k, void *map,
                            mlaf_err *err) {
  const mlaf_map_want *want = &b->stage[0].launch.maps[0];
  const int64_t columns = (n[GATHER_KV_B_SIZE_H] - 1) * (k->w_head / 2) + n[GATHER_KV_B_SIZE_R];
  if (columns > INT32_MAX) /* boxes are found by 32 bits */
    return mlaf_fail(err, MLAF_E_ARG, "w_head_stride is %lld: the last of %d heads begins more than 2^31 elements behind the "
                     "first", (long long)k->w_head / 2, (int)n[GATHER_KV_B_SIZE_H]);
  const mlaf_tensor w = {.data = k->w,
                         .cols = (uint64_t)columns,
                         .rows = (uint64_t)n[GATHER_KV_B_SIZE_OUT],
                         .row_stride = (uint64_t)k->w_row,
                         .box_cols = want->cols,
                         .box_rows = want->rows,
                         .swizzle = want->swizzle};
  return mlaf_ops(b->dev)->tensor_map_encode(b->dev, &w, map, err);
}

mlaf_status gather_kv_b_complete(const mlaf_bound *b, const mlaf_gather_kv_b_args *a, const int64_t *n,
                                 mlaf_gather_kv_b_kernel_args *k, mlaf_launch *launch, mlaf_err *err) {
  const mlaf_stage *s = &b->stage[0];
  const uint32_t cluster = s->launch.cluster[0] > 1 ? s->launch.cluster[0] : 1;
  const uint64_t each = ((uint64_t)a->tokens + s->rows_per_wg - 1) / s->rows_per_wg;
  const uint64_t tiles = (each + cluster - 1) / cluster * cluster; /* of the last ones of a cluster some may be empty */
  const int64_t outputs = n[GATHER_KV_B_SIZE_H] * n[GATHER_KV_B_SIZE_OUT];
  fill_rest(b->point.v, a, n, k);
  k->shares = gather_kv_b_shares(outputs, tiles, (uint32_t)mlaf_info(b->dev)->compute_units);
  launch->grid[0] = (uint32_t)tiles * k->shares;
  launch->cluster[0] = cluster;
  if (!s->launch.n_maps) return MLAF_OK;
  return fill_map(b, n, k, (char *)k + mlaf_arguments_maps_at(&gather_kv_b_arguments, &s->launch), err);
}

/* --- a library's products --- */

/* Workspace layout for library GEMMs: the library's own workspace, then the gathered rows. Kernels want none. */
static size_t rows_at(const mlaf_stage *k) { return (k->workspace + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN; }
size_t gather_kv_b_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows) {
  if (!rows || !gather_is_library(b)) return 0;
  return rows_at(&b->stage[0]) + 2 * (size_t)rows * (size_t)b->point.v[MLA_GATHER_KV_B_RANK];
}

/* The rows that a library's products are of, and k_pe. */
static void prepare_rows(const mlaf_bound *b, int64_t rank, void *rows, mlaf_gather_kv_b_kernel_args *to, mlaf_prepared *out) {
  const mlaf_stage *k = &b->stage[1];
  to->k = rows;
  to->k_token = 2 * rank;
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)((to->tokens + k->rows_per_wg - 1) / k->rows_per_wg), 1, 1},
      .block = {k->threads, 1, 1},
      .args = to,
      .args_size = gather_kv_b_bytes_of(1, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
}

/* K of every head by one product, V by the same one: its heads share the rows. Strides in elements. */
static void prepare_library(const mlaf_bound *b, const mlaf_gather_kv_b_args *a, const int64_t *n, mlaf_prepared *out) {
  mlaf_gather_kv_b_kernel_args *to = (void *)out->parameters;
  mlaf_matmul_args *of = (void *)(out->parameters + LIBRARY_AT);
  void *rows = behind(a->workspace, (int64_t)rows_at(&b->stage[0]));
  const struct { void *y; int64_t first, token, head; } half[] = {{to->k, 0, to->k_token, to->k_head},
                                                                  {to->v, n[GATHER_KV_B_SIZE_N], to->v_token, to->v_head}};
  prepare_rows(b, n[GATHER_KV_B_SIZE_R], rows, to, out);
  for (int i = 0; i < 2; i++) {
    of[i] = (mlaf_matmul_args){.w = behind(to->w, half[i].first * to->w_row),
                               .x = rows,
                               .y = half[i].y,
                               .w_row = to->w_row / 2,
                               .w_head = to->w_head / 2,
                               .x_token = n[GATHER_KV_B_SIZE_R],
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

mlaf_status gather_kv_b_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  int64_t n[MLAF_ARG_SIZES];
  if (!gather_is_library(b)) return mlaf_arguments_prepare(b, knob, args, out, err);
  out->n = 0;
  if (!mlaf_arguments_fill(&gather_kv_b_arguments, b->point.v, args, n, out->parameters)) return MLAF_OK;
  fill_rest(b->point.v, args, n, (void *)out->parameters);
  prepare_library(b, args, n, out);
  return MLAF_OK;
}
