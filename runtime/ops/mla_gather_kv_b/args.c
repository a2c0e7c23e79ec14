/* The host-visible checks of a launch, and who may run. */
#include <math.h>

#include "ops/mla_gather_kv_b/gather.h"

enum { ALIGN = MLAF_FORMAT_ALIGN, ELEMENTS = 8 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40, KPE_STRIDE_MOST = INT64_C(1) << 30; /* elements */
static const uint64_t BLOCKS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as CUDA and AMD's packets count them */

static mlaf_status check_numbers(const gather_shape *s, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  if (a->flags) return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, must be 0", a->flags);
  if (a->batch < 0) return mlaf_fail(err, MLAF_E_ARG, "batch is %d, must not be negative", a->batch);
  if (a->tokens < 0 || a->tokens > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, must be 0..2^31-1", (long long)a->tokens);
  if (!a->tokens || !a->batch) return MLAF_OK;
  if (a->page_tokens < 1) return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, must be positive", a->page_tokens);
  if (a->num_pages < 0 || a->num_pages > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %lld, must be 0..2^31-1", (long long)a->num_pages);
  if (gather_has_scale(s) && !a->scale_at && !(isfinite(a->scale) && a->scale > 0))
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

static mlaf_status check_pointers(const gather_shape *s, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  const struct {
    const char *name;
    const void *at;
    uintptr_t align;
    bool needed;
  } list[] = {
      {"cache", a->cache, ALIGN, a->num_pages > 0},
      {"cache_kpe", a->cache_kpe, ALIGN, s->format->split && s->rope && a->num_pages > 0},
      {"scale_at", a->scale_at, sizeof(float), false},
      {"table", a->table, sizeof(int32_t), true},
      {"table_indptr", a->table_indptr, sizeof(int32_t), false},
      {"cu_seqlens", a->cu_seqlens, sizeof(int32_t), true},
      {"seq_starts", a->seq_starts, sizeof(int32_t), false},
      {"w", a->w, ALIGN, true},
      {"k", a->k, ALIGN, true},
      {"v", a->v, ALIGN, false},
      {"k_pe", a->k_pe, ALIGN, false},
      {"rope_table", a->rope_table, ALIGN, s->rotate},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", list[i].name);
    if ((uintptr_t)list[i].at % list[i].align)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  if (a->cache_kpe && !(s->format->split && s->rope))
    return mlaf_fail(err, MLAF_E_ARG, "cache_kpe is set, and the problem's cache is %s: NULL",
                     s->format->split ? "without rope columns" : "not split");
  if (!s->rotate && (a->rope_table || a->rope_rows))
    return mlaf_fail(err, MLAF_E_ARG, "rope_table is %p of %lld rows, and the problem's cache is rotated: plan with rope_pairs "
                     "or rope_halves, or leave the table out", (const void *)a->rope_table, (long long)a->rope_rows);
  if (s->rotate && a->rope_rows < 1)
    return mlaf_fail(err, MLAF_E_ARG, "rope_rows is %lld, must be 1 or more: a row for each position", (long long)a->rope_rows);
  if (a->k_pe && !s->rope) return mlaf_fail(err, MLAF_E_ARG, "k_pe is set, and the problem has no rope columns: NULL");
  return MLAF_OK;
}

static mlaf_status check_strides(const gather_shape *s, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  const int64_t row = gather_row_bytes(s) / s->format->unit, k_row = a->v ? s->nope : s->out, cache = ALIGN / s->format->unit;
  const struct {
    const char *name;
    int64_t value, least, multiple;
  } list[] = {
      {"cache_row_stride", a->cache_row_stride, row, cache},
      {"cache_page_stride", a->cache_page_stride, row, cache},
      {"w_row_stride", a->w_row_stride, s->rank, ELEMENTS},
      {"w_head_stride", a->w_head_stride, s->rank, ELEMENTS},
      {"k_token_stride", a->k_token_stride, k_row, ELEMENTS},
      {"k_head_stride", a->k_head_stride, k_row, ELEMENTS},
      {"v_token_stride", a->v_token_stride, s->vdim, ELEMENTS},
      {"v_head_stride", a->v_head_stride, s->vdim, ELEMENTS},
      {"k_pe_token_stride", a->k_pe_token_stride, s->rope, ELEMENTS},
      {"k_pe_head_stride", a->k_pe_head_stride, s->rope, ELEMENTS},
      {"cache_kpe_row_stride", a->cache_kpe_row_stride, s->rope, ELEMENTS},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].value && (list[i].value < list[i].least || list[i].value > STRIDE_MOST || list[i].value % list[i].multiple))
      return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be 0 or a multiple of %lld from %lld on", list[i].name,
                       (long long)list[i].value, (long long)list[i].multiple, (long long)list[i].least);
  const int64_t cache_row = gather_cache_row(s, a);
  if (!a->cache_page_stride && a->page_tokens > STRIDE_MOST / cache_row)
    return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, and rows lie %lld apart: a page may be 2^40 long", a->page_tokens,
                     (long long)cache_row);
  if (!s->format->split) return MLAF_OK;
  if (a->cache_kpe_row_stride > KPE_STRIDE_MOST)
    return mlaf_fail(err, MLAF_E_ARG, "cache_kpe_row_stride is %lld, must be at most %lld", (long long)a->cache_kpe_row_stride,
                     (long long)KPE_STRIDE_MOST);
  if (a->cache_page_stride % cache_row)
    return mlaf_fail(err, MLAF_E_ARG, "cache_page_stride is %lld, must be whole rows of %lld: cache_kpe has pages of as many",
                     (long long)a->cache_page_stride, (long long)cache_row);
  return MLAF_OK;
}

static mlaf_status check_size(const mlaf_bound *b, const gather_shape *s, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  const mlaf_stage *k = &b->stage[gather_is_library(b)];
  const uint64_t tiles = ((uint64_t)a->tokens + k->rows_per_wg - 1) / k->rows_per_wg;
  const uint64_t shares = gather_is_library(b) ? 1 : gather_shares(s, tiles, UINT32_MAX);
  const uint64_t blocks = tiles * shares, by_threads = THREADS_MOST / k->threads;
  if (blocks <= (by_threads < BLOCKS_MOST ? by_threads : BLOCKS_MOST)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld: more blocks than a launch has; gather fewer at once", (long long)a->tokens);
}

static mlaf_status check_workspace(size_t need, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  const bool aligned = (uintptr_t)a->workspace % GATHER_WORKSPACE_ALIGN == 0;
  if (!need || (a->workspace && aligned && a->workspace_size >= need)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "workspace is %p of %zu bytes; the rows for the library whose products these are want %zu, "
                   "%d-byte aligned: mlaf_run_workspace tells, and without MLAF_PLAN_LIBRARY a plan wants none", a->workspace,
                   a->workspace_size, need, GATHER_WORKSPACE_ALIGN);
}

mlaf_status gather_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_gather_kv_b_args *a = args;
  const gather_shape s = gather_shape_of(&b->point);
  mlaf_status st = check_numbers(&s, a, err);
  if (st || !a->tokens || !a->batch) return st;
  st = check_pointers(&s, a, err);
  if (!st) st = check_strides(&s, a, err);
  if (!st) st = check_size(b, &s, a, err);
  return st ? st : check_workspace(gather_workspace(b, knob, a->tokens), a, err);
}

mlaf_status gather_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no gather kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_gather_kv_b has none: 1", b->knob);
  const gather_shape s = gather_shape_of(&b->point);
  const bool library = gather_is_library(b);
  if (library != !!b->stage[1].fn)
    return mlaf_fail(err, MLAF_E_ARG, library ? "a library's product, and no kernel that gathers its rows"
                                              : "a second kernel, and the first gathers for itself");
  if (!(b->stage[library].launch.flags & MLAF_KERNEL_SCALES) != !s.rotate)
    return mlaf_fail(err, MLAF_E_ARG, s.rotate ? "its kernel takes no table, and the problem rotates"
                                               : "its kernel takes a table of rotations, and the problem has none");
  if (library && s.nope != s.vdim)
    return mlaf_fail(err, MLAF_E_ARG, "a library's product makes as many columns of K as of V, here %d and %d", s.nope, s.vdim);
  if (!b->stage[library].rows_per_wg)
    return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many tokens a workgroup has");
  return MLAF_OK;
}
