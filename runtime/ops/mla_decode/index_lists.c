/* Index lists of query tokens, of one pool or of two: read by the decode kernel itself, or made into page lists of requests by
 * one launch, or by two; and sinks, by one behind, or by a launch that reads lists. */
#include "ops/mla_decode/index_lists.h"

#include "ops/mla_decode/block_tables.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/fields.h"
#include "mlaf_thresholds.h"

enum { THREADS = 512, COUNT = 1, PLACE = 2, TOPK_MOST = 1 << 20, SINK_THREADS = 256 };
/* Entries of all lists before a token that its block counts by itself: what its threads count in one round of loads. Beyond, a
 * separate kernel counts each list once. */
enum { COUNTED_BY_EACH = 2048 };

/* templates/index_lists declares the same. */
typedef struct lists_args {
  const int32_t *indices, *lengths;
  int32_t *counts, *qo_indptr, *kv_indptr, *kv_last_page_lens, *kv_indices;
  int64_t stride, page_rows;
  int32_t tokens, topk, share, rows, page_tokens, phases;
  /* of the second pool, and of templates/index_pools alone */
  const int32_t *extra_indices, *extra_lengths;
  int64_t extra_stride;
  int32_t extra_topk, extra_rows;
} lists_args;
enum { ONE_POOL = offsetof(lists_args, extra_indices) }; /* bytes */

/* templates/attn_sink declares the same. */
typedef struct sink_args {
  void *o;
  const float *lse, *sink;
  int64_t rows;
  int32_t heads, rank, f16, reserved;
} sink_args;

/* Arguments that a prepared launch keeps. */
typedef struct parameters {
  lists_args count, place;
  sink_args sink;
} parameters;
_Static_assert(sizeof(parameters) <= MLAF_SECOND_PARAMETERS, "arguments of the kernels do not fit");

enum { LISTS, SINK };
static const mlaf_kernel_ref kernels[] = {
    [LISTS] = {.template_name = "index_lists", .params = "threads=512", .symbol = "mlaf_index_lists", .threads = THREADS,
               .rows_per_wg = 1},
    /* rows_per_wg is a wave's row: the grid is made here, by the device's waves */
    [SINK] = {.template_name = "attn_sink", .params = "threads=256", .symbol = "mlaf_attn_sink", .threads = SINK_THREADS,
              .rows_per_wg = 1},
};

static const mlaf_kernel_ref pool_kernels[] = {
    [LISTS] = {.template_name = "index_pools", .params = "threads=512", .symbol = "mlaf_index_pools", .threads = THREADS,
               .rows_per_wg = 1},
    [SINK] = {.template_name = "attn_sink", .params = "threads=256", .symbol = "mlaf_attn_sink", .threads = SINK_THREADS,
              .rows_per_wg = 1},
};

static bool has_extra(const mlaf_execute_args *a) {
  return a->extra_ckv || a->extra_indices || a->extra_topk_length || a->extra_indices_stride || a->extra_page_stride ||
         a->extra_num_pages || a->extra_page_tokens || a->extra_topk || a->reserved_extra;
}
static bool wanted_pools(const void *args) { return has_extra(args); }
static bool wanted(const void *args) {
  const mlaf_execute_args *a = args;
  return a->indices || a->topk_length || a->attn_sink || a->topk || a->indices_stride || a->topk_share;
}

/* --- sizes --- */

static int64_t page_rows(const mlaf_execute_args *a) { return a->page_rows ? a->page_rows : a->page_tokens ? a->page_tokens : 1; }
static int32_t page_tokens(const mlaf_execute_args *a) { return a->page_tokens ? a->page_tokens : 1; }
static int32_t extra_page_tokens(const mlaf_execute_args *a) { return a->extra_page_tokens ? a->extra_page_tokens : 1; }
static int32_t share_of(const mlaf_execute_args *a) { return a->topk_share ? a->topk_share : 1; }
static int64_t stride_of(const mlaf_execute_args *a) { return a->indices_stride ? a->indices_stride : a->topk; }
static int64_t extra_stride_of(const mlaf_execute_args *a) {
  return a->extra_indices_stride ? a->extra_indices_stride : a->extra_topk;
}
/* Entries of a token. */
static int64_t all_topk(const mlaf_execute_args *a) { return (int64_t)a->topk + a->extra_topk; }

/* Places in the workspace, in bytes from its begin. */
typedef struct places {
  size_t counts, qo_indptr, kv_indptr, last, indices, lse, size;
} places;

static size_t align(size_t at) { return (at + MLAF_WORKSPACE_ALIGN - 1) / MLAF_WORKSPACE_ALIGN * MLAF_WORKSPACE_ALIGN; }

/* False: no arguments that a launch would take, or more than there can be. */
static bool find_places(const mlaf_bound *b, uint32_t splits, const mlaf_execute_args *a, places *out) {
  const size_t own = mlaf_decode_workspace(b, splits, a->total_q), t = (size_t)a->total_q;
  if (own > SIZE_MAX / 2 || a->total_q < 0 || a->total_q > MLA_DECODE_BATCH_MAX) return false;
  if (a->topk < 1 || a->topk > TOPK_MOST || a->extra_topk < 0 || a->extra_topk > TOPK_MOST) return false;
  if (a->total_q * all_topk(a) > INT32_MAX) return false;
  out->counts = align(own);
  out->qo_indptr = out->counts + t * sizeof(int32_t);
  out->kv_indptr = out->qo_indptr + (t + 1) * sizeof(int32_t);
  out->last = out->kv_indptr + (t + 1) * sizeof(int32_t);
  out->indices = out->last + t * sizeof(int32_t);
  out->lse = align(out->indices + t * (size_t)all_topk(a) * sizeof(int32_t));
  out->size = out->lse;
  if (a->attn_sink && !a->lse) out->size += t * (size_t)mlaf_decode_problem(b).heads * sizeof(float);
  return true;
}

static size_t workspace(const mlaf_bound *b, uint32_t splits, const void *args) {
  places at = {0};
  return find_places(b, splits, args, &at) ? at.size : SIZE_MAX;
}

/* --- checks --- */

static mlaf_status check_problem(const mlaf_bound *b, const mlaf_execute_args *a, mlaf_err *err) {
  const mlaf_problem p = mlaf_decode_problem(b);
  if (p.page_size != 1)
    return mlaf_fail(err, MLAF_E_ARG, "indices is given, and the plan's page_size is %d, must be 1: lists name rows of the cache",
                     p.page_size);
  if (p.rotate)
    return mlaf_fail(err, MLAF_E_ARG, "indices is given, and the plan rotates the keys it reads: entries of a list say nothing "
                     "of positions. Rotate keys before they are written");
  if (a->batch != a->total_q)
    return mlaf_fail(err, MLAF_E_ARG, "batch is %d and total_q %lld, must be equal: with indices each query token is a request",
                     a->batch, (long long)a->total_q);
  if (a->attn_sink && mlaf_decode_goes_on(b))
    return mlaf_fail(err, MLAF_E_ARG, "attn_sink is given, and the plan goes on into values: sinks are applied to o");
  return MLAF_OK;
}

static mlaf_status check_pages(const mlaf_execute_args *a, bool aside, mlaf_err *err) {
  const int64_t tokens = page_tokens(a), rows = page_rows(a);
  if (a->num_pages < 0) return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d, must not be negative", a->num_pages);
  if (tokens < 1) return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, must be 1 or more; 0: 1", a->page_tokens);
  if (rows < tokens || rows > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "page_rows is %lld, must be %lld (page_tokens) to 2^31-1", (long long)a->page_rows,
                     (long long)tokens);
  if (aside && a->page_rows)
    return mlaf_fail(err, MLAF_E_ARG, "page_rows is %lld, must be 0: pages of the problem's cache are ckv_page_stride apart",
                     (long long)a->page_rows);
  if (a->num_pages && ((int64_t)a->num_pages - 1) * rows + tokens > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d: at %lld rows a page that is 2^31 rows or more, and entries of a list are "
                     "int32", a->num_pages, (long long)rows);
  return MLAF_OK;
}

static mlaf_status check_lists(const mlaf_execute_args *a, mlaf_err *err) {
  const struct {
    const char *name;
    const void *at;
  } others[] = {{"qo_indptr", a->qo_indptr}, {"kv_indptr", a->kv_indptr}, {"kv_indices", a->kv_indices},
                {"kv_last_page_lens", a->kv_last_page_lens}, {"block_table", a->block_table}, {"seq_lens", a->seq_lens}},
    aligned[] = {{"topk_length", a->topk_length}, {"attn_sink", a->attn_sink}};
  if (!a->indices || (uintptr_t)a->indices % sizeof(int32_t))
    return mlaf_fail(err, MLAF_E_ARG, "indices is %p, must be 4-byte aligned lists of rows: topk, topk_length and attn_sink come "
                     "with them", (const void *)a->indices);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].at)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be NULL: indices says what each query token reads", others[i].name,
                       others[i].at);
  for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++)
    if ((uintptr_t)aligned[i].at % sizeof(int32_t))
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be 4-byte aligned", aligned[i].name, aligned[i].at);
  if (a->topk < 1 || a->topk > TOPK_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "topk is %d, must be 1..%d", a->topk, TOPK_MOST);
  if (a->total_q * all_topk(a) > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "total_q is %lld and topk %lld: that is 2^31 entries or more, launch fewer tokens at once",
                     (long long)a->total_q, (long long)all_topk(a));
  if (a->indices_stride && (a->indices_stride < a->topk || a->indices_stride > INT64_MAX / 4 / MLA_DECODE_BATCH_MAX))
    return mlaf_fail(err, MLAF_E_ARG, "indices_stride is %lld, must be topk, %d, or more: lists do not overlap",
                     (long long)a->indices_stride, a->topk);
  if (a->topk_share < 0) return mlaf_fail(err, MLAF_E_ARG, "topk_share is %d, must not be negative", a->topk_share);
  return MLAF_OK;
}

/* Checks what a second pool has; its pages' strides are checked with the first form. */
static mlaf_status check_extra(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  if (!has_extra(a)) return MLAF_OK;
  if (!f->pools)
    return mlaf_fail(err, MLAF_E_ARG, "extra_indices is given: a second pool is read beside a cache of fp8_v4, and the problem's "
                     "is %s", f->name);
  if (!a->extra_indices || (uintptr_t)a->extra_indices % sizeof(int32_t) || (uintptr_t)a->extra_topk_length % sizeof(int32_t))
    return mlaf_fail(err, MLAF_E_ARG, "extra_indices is %p and extra_topk_length %p: a second pool comes with lists, 4-byte "
                     "aligned", (const void *)a->extra_indices, (const void *)a->extra_topk_length);
  if (a->extra_topk < 1 || a->extra_topk > TOPK_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "extra_topk is %d, must be 1..%d", a->extra_topk, TOPK_MOST);
  if (a->extra_indices_stride &&
      (a->extra_indices_stride < a->extra_topk || a->extra_indices_stride > INT64_MAX / 4 / MLA_DECODE_BATCH_MAX))
    return mlaf_fail(err, MLAF_E_ARG, "extra_indices_stride is %lld, must be extra_topk, %d, or more: lists do not overlap",
                     (long long)a->extra_indices_stride, a->extra_topk);
  if (a->extra_num_pages < 0 || a->extra_page_tokens < 0 || a->reserved_extra)
    return mlaf_fail(err, MLAF_E_ARG, "extra_num_pages is %d, extra_page_tokens %d, reserved_extra %d: the first two must not be "
                     "negative, the last be 0", a->extra_num_pages, a->extra_page_tokens, a->reserved_extra);
  if ((a->extra_num_pages && !a->extra_ckv) || (uintptr_t)a->extra_ckv % MLAF_FORMAT_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "extra_ckv is %p, must be %d-byte aligned", a->extra_ckv, MLAF_FORMAT_ALIGN);
  return MLAF_OK;
}

static mlaf_status check_workspace(const mlaf_execute_args *a, size_t need, mlaf_err *err) {
  if (a->workspace && (uintptr_t)a->workspace % MLAF_WORKSPACE_ALIGN == 0 && a->workspace_size >= need) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "workspace is %p of %zu bytes; with indices this launch needs %zu, %d-byte aligned "
                   "(mlaf_execute_workspace_size)", a->workspace, a->workspace_size, need, MLAF_WORKSPACE_ALIGN);
}

/* --- the launches --- */

static int32_t *words(const mlaf_execute_args *a, size_t at) { return (int32_t *)((char *)a->workspace + at); }

static void fill_lists(const mlaf_execute_args *a, const places *at, lists_args *t) {
  const int64_t rows = (int64_t)a->num_pages * page_tokens(a);
  *t = (lists_args){.indices = a->indices, .lengths = a->topk_length, .counts = words(a, at->counts),
                    .qo_indptr = words(a, at->qo_indptr), .kv_indptr = words(a, at->kv_indptr),
                    .kv_last_page_lens = words(a, at->last), .kv_indices = words(a, at->indices),
                    .stride = stride_of(a), .page_rows = page_rows(a),
                    .tokens = (int32_t)a->total_q, .topk = a->topk, .share = share_of(a),
                    .rows = (int32_t)rows, .page_tokens = page_tokens(a), .phases = COUNT | PLACE,
                    .extra_indices = a->extra_indices, .extra_lengths = a->extra_topk_length,
                    .extra_stride = extra_stride_of(a),
                    .extra_topk = a->extra_topk, .extra_rows = a->extra_num_pages * extra_page_tokens(a)};
}

/* True where the decode kernel reads the lists itself. Such a launch does not cut its batch: list kernels, and a kernel that
 * merges what is cut, cost less only where whole requests leave much of the device idle, and for long. */
static bool reads_lists(const mlaf_bound *b, uint32_t splits, const mlaf_execute_args *a) {
  uint64_t word;
  uint32_t extra;
  if (!(b->stage[MLAF_STAGE_DECODE].launch.flags & MLAF_KERNEL_LISTS) || page_rows(a) != page_tokens(a) ||
      !mlaf_list_word(a->topk, share_of(a), stride_of(a), &word) ||
      (has_extra(a) && !mlaf_extra_word(a->extra_topk, extra_stride_of(a), &extra)))
    return false;
  const mlaf_whole_requests x = mlaf_decode_whole(b, splits, a->total_q, all_topk(a));
  return x.busy >= MLAF_LISTS_BUSY || x.idle <= MLAF_LISTS_IDLE;
}

/* True where a launch that reads lists applies their sinks: the decode kernel makes whole rows, or the merge kernel does it. */
static bool applies_sinks(const mlaf_bound *b, uint32_t splits) {
  return splits == 1 || b->stage[MLAF_STAGE_COMBINE].launch.flags & MLAF_KERNEL_LISTS;
}

/* Entries are rows of the cache. Where scales lie behind a page's rows they are its tokens, and the kernels know pages. direct:
 * the decode kernel reads the lists, and nobody reads tables; sinks: the launch applies them. */
static void fill_first(const mlaf_execute_args *a, const places *at, bool aside, bool direct, bool sinks,
                       mlaf_execute_args *out) {
  *out = *a;
  out->extra_indices = direct ? a->extra_indices : NULL;
  out->extra_topk_length = direct ? a->extra_topk_length : NULL;
  out->extra_indices_stride = direct && a->extra_indices ? extra_stride_of(a) : 0;
  out->extra_topk = direct ? a->extra_topk : 0;
  out->attn_sink = direct && sinks ? a->attn_sink : NULL;
  out->indices = direct ? a->indices : NULL;
  out->topk_length = direct ? a->topk_length : NULL;
  out->indices_stride = direct ? stride_of(a) : 0;
  out->topk = direct ? a->topk : 0;
  out->topk_share = direct ? share_of(a) : 0;
  out->page_rows = 0;
  out->page_tokens = aside ? page_tokens(a) : 0;
  out->qo_indptr = words(a, at->qo_indptr);
  out->kv_indptr = words(a, at->kv_indptr);
  out->kv_last_page_lens = words(a, at->last);
  out->kv_indices = words(a, at->indices);
  out->num_pages = a->num_pages ? (int32_t)((a->num_pages - 1) * page_rows(a) + page_tokens(a)) : 0;
  if (a->attn_sink && !out->attn_sink && !a->lse) out->lse = (float *)words(a, at->lse);
}

static mlaf_launch launch_of(const mlaf_function *fn, const void *args, uint32_t size, uint32_t blocks) {
  return (mlaf_launch){.fn = fn, .grid = {blocks, 1, 1}, .block = {THREADS, 1, 1}, .args = args, .args_size = size,
                       .flags = MLAF_LAUNCH_OVERLAPS}; /* they wait before they read or write anything */
}

static void fill_launches(const mlaf_bound *b, const mlaf_function *const *fns, const mlaf_execute_args *a, const places *at,
                          const mlaf_execute_args *first, mlaf_second_prepared *out) {
  parameters *p = (parameters *)(void *)out->parameters;
  const uint32_t tokens = (uint32_t)a->total_q, waves = SINK_THREADS / (uint32_t)mlaf_info(b->dev)->wave_size;
  const mlaf_problem problem = mlaf_decode_problem(b);
  const uint32_t bytes = has_extra(a) ? sizeof(lists_args) : ONE_POOL;
  out->n = 0;
  fill_lists(a, at, &p->place);
  if (!first->indices && (a->total_q - 1) * all_topk(a) > COUNTED_BY_EACH) {
    p->count = p->place;
    p->count.phases = COUNT;
    p->place.phases = PLACE;
    out->launch[out->n++] = launch_of(fns[LISTS], &p->count, bytes, tokens);
  }
  if (!first->indices) out->launch[out->n++] = launch_of(fns[LISTS], &p->place, bytes, tokens);
  out->ahead = out->n;
  if (!a->attn_sink || first->attn_sink) return;
  const int64_t rows = a->total_q * problem.heads;
  p->sink = (sink_args){.o = a->o, .lse = first->lse, .sink = a->attn_sink, .rows = rows, .heads = problem.heads,
                        .rank = problem.rank, .f16 = problem.dtype == MLAF_F16};
  out->launch[out->n] = launch_of(fns[SINK], &p->sink, sizeof p->sink, (uint32_t)((rows + waves - 1) / waves));
  out->launch[out->n++].block[0] = SINK_THREADS;
}

/* All is checked before anything is launched. */
static mlaf_status prepare(const mlaf_bound *b, uint32_t splits, const mlaf_function *const *fns, const void *args,
                           void *first_form, mlaf_second_prepared *out, mlaf_err *err) {
  const mlaf_execute_args *a = args;
  const mlaf_problem problem = mlaf_decode_problem(b);
  const bool aside = mlaf_decode_format(&problem, false)->aside;
  mlaf_execute_args first;
  places at = {0};
  memset(first_form, 0, sizeof first);
  if (a->batch < 0 || a->total_q < 0) return mlaf_decode_check_args(b, splits, a, err); /* says what is wrong */
  mlaf_status st = check_problem(b, a, err);
  if (!st && !a->total_q) return MLAF_OK;
  if (!st) st = check_lists(a, err);
  if (!st) st = check_extra(&problem, a, err);
  if (!st) st = check_pages(a, aside, err);
  if (!st && !find_places(b, splits, a, &at))
    st = mlaf_fail(err, MLAF_E_ARG, "total_q is %lld, must be 0..%d", (long long)a->total_q, MLA_DECODE_BATCH_MAX);
  if (!st) st = check_workspace(a, at.size, err);
  if (!st && !fns) st = mlaf_fail(err, MLAF_E_ARG, "indices is given%s: make the plan with MLAF_PLAN_%s",
                                 has_extra(a) ? " for two pools" : "", has_extra(a) ? "POOLS" : "LISTS");
  if (st) return st;
  fill_first(a, &at, aside, reads_lists(b, splits, a), applies_sinks(b, splits), &first);
  st = mlaf_decode_check_args(b, splits, &first, err);
  if (st) return st;
  fill_launches(b, fns, a, &at, &first, out);
  memcpy(first_form, &first, sizeof first);
  return MLAF_OK;
}

const mlaf_second_form mlaf_index_lists = {.kind = MLAF_SECOND_LISTS,
                                           .n_kernels = sizeof kernels / sizeof *kernels,
                                           .kernels = kernels,
                                           .what = "the kernels that read index lists",
                                           .wanted = wanted,
                                           .workspace = workspace,
                                           .prepare = prepare};

const mlaf_second_form mlaf_index_pools = {.kind = MLAF_SECOND_POOLS,
                                           .n_kernels = sizeof pool_kernels / sizeof *pool_kernels,
                                           .kernels = pool_kernels,
                                           .what = "the kernels that read index lists of two pools",
                                           .wanted = wanted_pools,
                                           .workspace = workspace,
                                           .prepare = prepare};

const mlaf_second_form *const mlaf_decode_forms[] = {&mlaf_index_pools, &mlaf_index_lists, &mlaf_block_tables, NULL};
