/* The second form of page tables, made into the first by one launch. */
#include "ops/mla_decode/block_tables.h"

#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/fields.h"

enum { THREADS = 256, CHUNK = 1024, MOST_WAVES = 4096, MOST_CHUNKS = 64 };

/* templates/block_tables declares the same. */
typedef struct tables_args {
  const int32_t *table, *seq_lens, *indptr, *indices, *last_tokens;
  int32_t *qo_indptr, *kv_indptr, *kv_last_page_lens, *kv_indices;
  int64_t stride, room;
  int32_t batch, width, q_tokens, pages, page, sub, step, group, chunks;
} tables_args;

static const mlaf_kernel_ref kernel = {.template_name = "block_tables", .params = "chunk=1024", .symbol = "mlaf_block_tables",
                                       .threads = THREADS, .rows_per_wg = 1};

static bool wanted(const void *args) {
  const mlaf_execute_args *a = args;
  return a->block_table || a->seq_lens || a->page_tokens || a->page_rows;
}

/* --- sizes --- */

static int32_t page_tokens(const mlaf_problem *p, const mlaf_execute_args *a) {
  return a->page_tokens ? a->page_tokens : p->page_size;
}

/* Page ids that the kernels may come to read; -1: more than tables of 32 bits hold. */
static int64_t entries(const mlaf_problem *p, const mlaf_execute_args *a) {
  int64_t n = a->kv_indices_size;
  if (a->block_table && __builtin_mul_overflow((int64_t)a->block_table_width, (int64_t)a->batch, &n)) return -1;
  return n < 0 || __builtin_mul_overflow(n, (int64_t)(page_tokens(p, a) / p->page_size), &n) || n > INT32_MAX ? -1 : n;
}

size_t mlaf_block_tables_size(const mlaf_problem *p, const mlaf_execute_args *a) {
  if (a->batch < 0 || a->batch > MLA_DECODE_BATCH_MAX || a->block_table_width < 0 || a->page_tokens < 0) return SIZE_MAX;
  const int64_t ids = entries(p, a);
  return ids < 0 ? SIZE_MAX : sizeof(int32_t) * ((size_t)ids + 3 * (size_t)a->batch + 2);
}

/* --- checks --- */

static mlaf_status check_pages(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const int32_t tokens = page_tokens(p, a);
  const int64_t rows = a->page_rows ? a->page_rows : tokens;
  if (a->num_pages < 0) return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d, must not be negative", a->num_pages);
  if (tokens <= 0 || tokens % p->page_size)
    return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, must be a multiple of the plan's page_size, %d", tokens, p->page_size);
  if (mlaf_decode_format(p, false)->aside && (tokens != p->page_size || a->page_rows))
    return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d and page_rows %lld, must be the plan's page_size, %d, and 0: pages of "
                     "%s are not taken apart, and ckv_page_stride apart", tokens, (long long)a->page_rows, p->page_size,
                     mlaf_decode_format(p, false)->name);
  if (rows < tokens || rows % p->page_size || rows > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "page_rows is %lld, must be a multiple of the plan's page_size, %d, and at least "
                     "page_tokens, %d", (long long)rows, p->page_size, tokens);
  if (a->num_pages > 0 && ((int64_t)a->num_pages - 1) * (rows / p->page_size) + tokens / p->page_size > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d: at %lld rows a page that is more than 2^31 pages of %d", a->num_pages,
                     (long long)rows, p->page_size);
  return MLAF_OK;
}

static mlaf_status check_table(const mlaf_execute_args *a, mlaf_err *err) {
  const int32_t width = a->block_table_width;
  if (!a->seq_lens || (uintptr_t)a->seq_lens % sizeof(int32_t) || (uintptr_t)a->block_table % sizeof(int32_t))
    return mlaf_fail(err, MLAF_E_ARG, "block_table is %p, seq_lens %p: both are wanted, 4-byte aligned",
                     (const void *)a->block_table, (const void *)a->seq_lens);
  if (width < 1 || a->block_table_stride < width)
    return mlaf_fail(err, MLAF_E_ARG, "block_table_width is %d and block_table_stride %lld: a row has 1 entry or more, and rows "
                     "do not overlap", width, (long long)a->block_table_stride);
  if (!a->qo_indptr && a->total_q % a->batch)
    return mlaf_fail(err, MLAF_E_ARG, "total_q is %lld, no multiple of batch, %d: then qo_indptr is wanted",
                     (long long)a->total_q, a->batch);
  return MLAF_OK;
}

static mlaf_status check_lists(const mlaf_execute_args *a, mlaf_err *err) {
  const bool idle = !a->kv_indices && !a->kv_indices_size; /* no request has a token: nothing is read there */
  const void *const lists[] = {a->qo_indptr, a->kv_indptr, idle ? a->kv_indptr : a->kv_indices, a->kv_last_page_lens};
  static const char *const names[] = {"qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_lens"};
  if (a->seq_lens) return mlaf_fail(err, MLAF_E_ARG, "seq_lens is given and block_table is NULL");
  for (int i = 0; i < 4; i++)
    if (!lists[i] || (uintptr_t)lists[i] % sizeof(int32_t))
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be a 4-byte aligned table", names[i], lists[i]);
  if (a->kv_indices_size < 1 && !idle)
    return mlaf_fail(err, MLAF_E_ARG, "kv_indices_size is %lld: with page_tokens or page_rows the number of entries of "
                     "kv_indices is wanted", (long long)a->kv_indices_size);
  return MLAF_OK;
}

static mlaf_status check(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  mlaf_status st = check_pages(p, a, err);
  if (!st) st = a->block_table ? check_table(a, err) : check_lists(a, err);
  if (!st && entries(p, a) < 0)
    st = mlaf_fail(err, MLAF_E_ARG, "tables of %d requests with %lld entries name more than 2^31 pages: hand over fewer columns",
                   a->batch, (long long)(a->block_table ? a->block_table_width : a->kv_indices_size));
  return st;
}

/* --- the launch --- */

static uint32_t divide_up(int64_t n, int64_t by) { return (uint32_t)((n + by - 1) / by); }

/* The first form lies in `at`: kv_indptr, kv_last_page_lens, qo_indptr, kv_indices. */
static void fill(const mlaf_problem *p, const mlaf_execute_args *a, int32_t *at, tables_args *t, mlaf_execute_args *out) {
  const int32_t tokens = page_tokens(p, a), step = (int32_t)((a->page_rows ? a->page_rows : tokens) / p->page_size);
  const bool own_qo = !a->qo_indptr;
  *t = (tables_args){.table = a->block_table, .seq_lens = a->seq_lens, .indptr = a->kv_indptr, .indices = a->kv_indices,
                     .last_tokens = a->kv_last_page_lens, .kv_indptr = at, .kv_last_page_lens = at + a->batch + 1,
                     .qo_indptr = own_qo ? at + 2 * a->batch + 1 : NULL, .kv_indices = at + 3 * a->batch + 2,
                     .stride = a->block_table_stride, .room = entries(p, a), .batch = a->batch, .width = a->block_table_width,
                     .q_tokens = (int32_t)(a->total_q / a->batch), .pages = a->num_pages, .page = p->page_size,
                     .sub = tokens / p->page_size, .step = step};
  *out = *a;
  out->block_table = out->seq_lens = NULL;
  out->block_table_stride = out->page_rows = out->kv_indices_size = 0;
  out->block_table_width = out->page_tokens = 0;
  out->kv_indptr = t->kv_indptr;
  out->kv_last_page_lens = t->kv_last_page_lens;
  out->kv_indices = t->kv_indices;
  if (own_qo) out->qo_indptr = t->qo_indptr;
  out->num_pages = a->num_pages ? (a->num_pages - 1) * step + t->sub : 0;
}

_Static_assert(sizeof(tables_args) <= MLAF_SECOND_PARAMETERS, "arguments of the kernel do not fit");

mlaf_status mlaf_block_tables_prepare(mlaf_device *dev, const mlaf_function *const *fns, const mlaf_problem *p,
                                      const mlaf_execute_args *a, void *at, mlaf_execute_args *first, mlaf_second_prepared *out,
                                      mlaf_err *err) {
  tables_args *t = (tables_args *)(void *)out->parameters;
  mlaf_status st = check(p, a, err);
  if (!st && !fns)
    st = mlaf_fail(err, MLAF_E_ARG, "block_table, page_tokens or page_rows is given: make the plan with MLAF_PLAN_TABLES");
  if (st) return st;
  fill(p, a, at, t, first);
  const int waves = THREADS / mlaf_info(dev)->wave_size;
  const int64_t longest = a->block_table ? (int64_t)t->width * t->sub : t->room;
  const uint32_t chunks = divide_up(longest, CHUNK);
  t->group = (int32_t)divide_up(a->batch, MOST_WAVES);
  t->chunks = (int32_t)(chunks > MOST_CHUNKS ? MOST_CHUNKS : chunks ? chunks : 1);
  out->ahead = out->n = 1;
  out->launch[0] = (mlaf_launch){.fn = fns[0],
                                 .grid = {divide_up(divide_up(a->batch, t->group), waves), (uint32_t)t->chunks, 1},
                                 .block = {THREADS, 1, 1},
                                 .args = t,
                                 .args_size = sizeof *t,
                                 .flags = MLAF_LAUNCH_OVERLAPS}; /* it waits before it reads or writes anything */
  return MLAF_OK;
}

/* --- elsewhere --- */

static mlaf_status prepare_at(const mlaf_bound *b, const mlaf_function *const *fns, const void *args, void *at, void *first,
                              mlaf_second_prepared *out, mlaf_err *err) {
  const mlaf_problem p = mlaf_decode_problem(b);
  return mlaf_block_tables_prepare(b->dev, fns, &p, args, at, first, out, err);
}

/* --- in the workspace --- */

/* Offset of the tables made for a launch; SIZE_MAX: they do not fit. */
static size_t tables_at(const mlaf_bound *b, uint32_t splits, int64_t total_q) {
  const size_t partial = mlaf_decode_workspace(b, splits, total_q);
  return partial > SIZE_MAX - MLAF_WORKSPACE_ALIGN
             ? SIZE_MAX
             : (partial + MLAF_WORKSPACE_ALIGN - 1) / MLAF_WORKSPACE_ALIGN * MLAF_WORKSPACE_ALIGN;
}

static size_t workspace(const mlaf_bound *b, uint32_t splits, const void *args) {
  const mlaf_execute_args *a = args;
  const mlaf_problem p = mlaf_decode_problem(b);
  const size_t at = tables_at(b, splits, a->total_q), tables = mlaf_block_tables_size(&p, a);
  return at == SIZE_MAX || tables > SIZE_MAX - at ? SIZE_MAX : at + tables;
}

/* All is checked before anything is launched, with tables that are there in place of those to come. */
static mlaf_status prepare(const mlaf_bound *b, uint32_t splits, const mlaf_function *const *fns, const void *args,
                           void *first_form, mlaf_second_prepared *out, mlaf_err *err) {
  const mlaf_execute_args *a = args;
  const mlaf_problem p = mlaf_decode_problem(b);
  const size_t need = workspace(b, splits, a), at = tables_at(b, splits, a->total_q);
  mlaf_execute_args first = *a;
  if (a->batch < 0 || a->total_q < 0) return mlaf_decode_check_args(b, splits, a, err); /* says what is wrong */
  memset(first_form, 0, sizeof first);
  if (!a->total_q || !a->batch) return MLAF_OK;
  if (need == SIZE_MAX) return mlaf_fail(err, MLAF_E_ARG, "tables of %d requests do not fit 32 bits", a->batch);
  if (!a->workspace || (uintptr_t)a->workspace % MLAF_WORKSPACE_ALIGN || a->workspace_size < need)
    return mlaf_fail(err, MLAF_E_ARG, "workspace is %p of %zu bytes; with block_table, page_tokens or page_rows this launch "
                     "needs %zu, %d-byte aligned (mlaf_execute_workspace_size)", a->workspace, a->workspace_size, need,
                     MLAF_WORKSPACE_ALIGN);
  const int32_t *any = (const int32_t *)((const char *)a->workspace + at);
  if (!first.qo_indptr) first.qo_indptr = any;
  first.kv_indptr = first.kv_indices = first.kv_last_page_lens = any;
  mlaf_status st = mlaf_decode_check_args(b, splits, &first, err);
  if (!st) st = mlaf_block_tables_prepare(b->dev, fns, &p, a, (char *)a->workspace + at, &first, out, err);
  if (!st) memcpy(first_form, &first, sizeof first);
  return st;
}

const mlaf_second_form mlaf_block_tables = {.kind = MLAF_SECOND_TABLES,
                                            .n_kernels = 1,
                                            .kernels = &kernel,
                                            .what = "the kernel that reads block tables",
                                            .wanted = wanted,
                                            .workspace = workspace,
                                            .prepare = prepare,
                                            .prepare_at = prepare_at};
