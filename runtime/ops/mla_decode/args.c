/* The host-visible checks of execute. */
#include <float.h>

#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/fields.h"

enum { POINTER_ALIGN = 16, STRIDE_MULTIPLE = 8, W_V_ROWS_MAX = 1 << 16 };
#define Q_STRIDE_MAX (INT64_C(1) << 35) /* elements; 16 bytes of them are counted in 32 bits */
_Static_assert((int)POINTER_ALIGN == (int)MLAF_FORMAT_ALIGN, "a cache's rows begin where 16-byte loads do");

const mlaf_given mlaf_decode_given[] = {MLA_DECODE_GIVEN_ROWS};

static mlaf_status check_pointers(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const struct {
    const char *name;
    const void *ptr;
    uintptr_t align;
  } needed[] = {
      {"q", a->q, POINTER_ALIGN},
      {"ckv", a->num_pages ? a->ckv : (const void *)POINTER_ALIGN, POINTER_ALIGN},
      {"o", a->values ? a->values : a->o, POINTER_ALIGN},
      {"qo_indptr", a->qo_indptr, sizeof(int32_t)},
      {"kv_indptr", a->kv_indptr, sizeof(int32_t)},
      {"kv_indices", a->num_pages ? a->kv_indices : (const void *)POINTER_ALIGN, sizeof(int32_t)},
      {"kv_last_page_lens", a->kv_last_page_lens, sizeof(int32_t)},
  };
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (!needed[i].ptr) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", needed[i].name);
    if ((uintptr_t)needed[i].ptr % needed[i].align)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", needed[i].name, needed[i].ptr,
                       (int)needed[i].align);
  }
  if (a->kpe && mlaf_decode_kpe_row(p) && (uintptr_t)a->kpe % POINTER_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "kpe is %p, must be %d-byte aligned", a->kpe, POINTER_ALIGN);
  if ((uintptr_t)a->lse % sizeof(float))
    return mlaf_fail(err, MLAF_E_ARG, "lse is %p, must be 4-byte aligned", (void *)a->lse);
  return MLAF_OK;
}

int64_t mlaf_ckv_stride(const mlaf_problem *p, const mlaf_execute_args *a) {
  return a->ckv_row_stride ? a->ckv_row_stride : mlaf_decode_row(p, a->kpe);
}
int64_t mlaf_kpe_stride(const mlaf_problem *p, const mlaf_execute_args *a) {
  if (!a->kpe) return mlaf_ckv_stride(p, a);
  return a->kpe_row_stride ? a->kpe_row_stride : mlaf_decode_kpe_row(p);
}

/* Checks a pool whose pages hold scales behind their rows. `extra`: "extra_" of the second one. */
static mlaf_status check_pool(const mlaf_problem *p, const char *extra, const char *stride, int64_t given, int64_t pages,
                              int64_t tokens, mlaf_err *err) {
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  const int64_t row = mlaf_decode_bytes(p, f->row), least = mlaf_page_stride(p, 0, tokens);
  const int64_t apart = mlaf_page_stride(p, given, tokens);
  if (apart < least || apart % row)
    return mlaf_fail(err, MLAF_E_ARG, "%s%s is %lld, must be a multiple of %lld from %lld on: pages of %lld tokens of %s", extra,
                     stride, (long long)given, (long long)row, (long long)least, (long long)tokens, f->name);
  if (pages * tokens > INT32_MAX || (pages && apart / row > INT32_MAX / pages))
    return mlaf_fail(err, MLAF_E_ARG, "%snum_pages is %lld: with pages of %lld tokens, %lld bytes apart, a pool has 2^31 rows "
                     "or more", extra, (long long)pages, (long long)tokens, (long long)apart);
  return MLAF_OK;
}

/* Checks the geometry of such a cache, and that no other has one. A list's pages were counted as tokens. */
static mlaf_status check_pages(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  const int64_t row = mlaf_decode_bytes(p, f->row), tokens = mlaf_page_tokens(p, a);
  if (!f->aside && (a->ckv_page_stride || a->extra_page_stride))
    return mlaf_fail(err, MLAF_E_ARG, "ckv_page_stride is %lld and extra_page_stride %lld, must be 0: rows of the problem's "
                     "cache are all tokens", (long long)a->ckv_page_stride, (long long)a->extra_page_stride);
  if (!f->aside) return MLAF_OK;
  if (a->ckv_row_stride && a->ckv_row_stride != row)
    return mlaf_fail(err, MLAF_E_ARG, "ckv_row_stride is %lld, must be 0 or %lld: scales lie behind a page's rows of %s",
                     (long long)a->ckv_row_stride, (long long)row, f->name);
  const int64_t pages = p->page_size == 1 ? a->num_pages / tokens : a->num_pages;
  mlaf_status st = check_pool(p, "", "ckv_page_stride", a->ckv_page_stride, pages, tokens, err);
  if (st || !a->extra_num_pages) return st;
  return check_pool(p, "extra_", "page_stride", a->extra_page_stride, a->extra_num_pages,
                    a->extra_page_tokens ? a->extra_page_tokens : 1, err);
}

static mlaf_status check_strides(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const int64_t rows = (int64_t)a->num_pages * p->page_size;
  if (rows >= MLAF_CACHE_ROWS_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d: with %d tokens a page that is %lld rows, 2^32 or more", a->num_pages,
                     p->page_size, (long long)rows);
  const int unit = mlaf_decode_format(p, false)->unit; /* bytes of what strides count */
  const int64_t multiple = MLAF_FORMAT_ALIGN / unit, most = 2 * MLAF_ROW_STRIDE_MAX / unit;
  const struct {
    const char *name;
    int64_t value, min;
  } strides[] = {
      {"ckv_row_stride", mlaf_ckv_stride(p, a), mlaf_decode_row(p, a->kpe)},
      {"kpe_row_stride", a->kpe ? mlaf_kpe_stride(p, a) : mlaf_decode_kpe_row(p), mlaf_decode_kpe_row(p)},
  };
  for (size_t i = 0; i < 2; i++)
    if (strides[i].value < strides[i].min || strides[i].value % multiple || strides[i].value > most)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be a multiple of %lld in %lld..%lld%s", strides[i].name,
                       (long long)strides[i].value, (long long)multiple, (long long)strides[i].min, (long long)most,
                       unit == 1 ? " bytes" : "");
  return MLAF_OK;
}

/* Checks arguments that some problems have, and others lack. */
static mlaf_status check_optional(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  if (mlaf_decode_kpe_bytes(p) && a->num_pages && !a->kpe)
    return mlaf_fail(err, MLAF_E_ARG, "kpe is NULL, and the %s of a cache of %s are rows of a tensor of their own",
                     mlaf_part_words(f->second.of), f->name);
  if (p->cache && a->kpe && !f->second.of)
    return mlaf_fail(err, MLAF_E_ARG, "kpe is %p, must be NULL: rows of a cache of %s have the rope columns, too", a->kpe,
                     f->name);
  for (const mlaf_given *g = mlaf_decode_given; g < mlaf_decode_given + MLAF_GIVEN; g++) {
    const void *const at = *(const void *const *)(const void *)((const char *)a + g->at);
    if (!at || !g->without) continue;
    if (!mlaf_given_wanted(g, p))
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be NULL: %s", g->name, at,
                       mlaf_given_number(p, g->has_at) ? g->otherwise : g->without);
    if ((uintptr_t)at % sizeof(float)) return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be 4-byte aligned", g->name, at);
  }
  return MLAF_OK;
}

/* Checks Q in two tensors, and that no other problem has one. */
static mlaf_status check_parts(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  static const char *const names[] = {"q_head_stride", "q_token_stride", "q_pe_head_stride", "q_pe_token_stride"};
  if (!p->q_parts && (a->q_pe || a->q_token_stride || a->q_head_stride || a->q_pe_token_stride || a->q_pe_head_stride))
    return mlaf_fail(err, MLAF_E_ARG, "q_pe is %p, must be NULL, and strides of Q 0: Q of the problem is one dense tensor; plan "
                     "with q_parts", a->q_pe);
  if (!p->q_parts) return MLAF_OK;
  if (!a->q_pe || (uintptr_t)a->q_pe % POINTER_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "q_pe is %p, must be a %d-byte aligned tensor of Q's rope columns: the problem has q_parts",
                     a->q_pe, POINTER_ALIGN);
  for (int i = 0; i < 4; i++) {
    const mlaf_q_part q = mlaf_q_part_of(p, a, i / 2);
    const int64_t value = i % 2 ? q.token : q.head, least = (i % 2 ? a->total_q : p->heads) > 1 ? q.columns : 0;
    if (value < least || value % STRIDE_MULTIPLE || value >= Q_STRIDE_MAX)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be a multiple of %d in %lld..%lld", names[i], (long long)value,
                       STRIDE_MULTIPLE, (long long)least, (long long)Q_STRIDE_MAX - 1);
  }
  return MLAF_OK;
}

static mlaf_status check_table(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  if (!p->rotate && (a->rope_table || a->rope_rows))
    return mlaf_fail(err, MLAF_E_ARG, "rope_table is %p of %d rows, and the problem has a rotated cache: plan with rope_pairs or "
                     "rope_halves, or leave the table out", (const void *)a->rope_table, a->rope_rows);
  if (!p->rotate) return MLAF_OK;
  if (!a->rope_table || (uintptr_t)a->rope_table % MLAF_ROPE_TABLE_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "rope_table is %p, must be a %d-byte aligned table of cosines and sines: the problem "
                     "rotates the keys it reads", (const void *)a->rope_table, MLAF_ROPE_TABLE_ALIGN);
  if (a->rope_rows < 1)
    return mlaf_fail(err, MLAF_E_ARG, "rope_rows is %d, must be 1 or more: a row for each position", a->rope_rows);
  return MLAF_OK;
}

/* Checks arguments of a combine kernel that is fused with the value projection, which no other has. */
static mlaf_status check_values(const mlaf_problem *p, int values, const mlaf_execute_args *a, mlaf_err *err) {
  if (!values && (a->w_v || a->values))
    return mlaf_fail(err, MLAF_E_ARG, "w_v is %p and values %p, and the plan ends with o: they must be NULL", a->w_v, a->values);
  if (!values) return MLAF_OK;
  if (a->o || a->lse)
    return mlaf_fail(err, MLAF_E_ARG, "o is %p and lse %p, must be NULL: the plan goes on into values", a->o, (void *)a->lse);
  if (!a->w_v || !a->values || (uintptr_t)a->w_v % POINTER_ALIGN || (uintptr_t)a->values % POINTER_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "w_v is %p and values %p, must be %d-byte aligned: the plan goes on into values", a->w_v,
                     a->values, POINTER_ALIGN);
  if (a->w_v_row_stride < p->rank || a->w_v_row_stride % STRIDE_MULTIPLE || a->w_v_row_stride > MLAF_ROW_STRIDE_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "w_v_row_stride is %lld, must be a multiple of %d in %d..%lld",
                     (long long)a->w_v_row_stride, STRIDE_MULTIPLE, p->rank, (long long)MLAF_ROW_STRIDE_MAX);
  if (a->w_v_head_stride < values * a->w_v_row_stride || a->w_v_head_stride % a->w_v_row_stride ||
      a->w_v_head_stride / a->w_v_row_stride > W_V_ROWS_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "w_v_head_stride is %lld, must be so many rows of %lld: %d..%d",
                     (long long)a->w_v_head_stride, (long long)a->w_v_row_stride, values, W_V_ROWS_MAX);
  return MLAF_OK;
}

static mlaf_status check_workspace(size_t need, uint32_t splits, const mlaf_execute_args *a, mlaf_err *err) {
  if (!need) return MLAF_OK;
  if (!a->workspace || (uintptr_t)a->workspace % MLAF_WORKSPACE_ALIGN)
    return mlaf_fail(err, MLAF_E_ARG, "workspace is %p, must be a %d-byte aligned buffer of %zu bytes", a->workspace,
                     MLAF_WORKSPACE_ALIGN, need);
  if (a->workspace_size < need)
    return mlaf_fail(err, MLAF_E_ARG, "workspace_size is %zu, %u splits of %lld tokens need %zu", a->workspace_size,
                     splits, (long long)a->total_q, need);
  return MLAF_OK;
}

static mlaf_status check(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_err *err) {
  if (a->batch < 0 || a->batch > MLA_DECODE_BATCH_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "batch is %d, must be 0..%d", a->batch, MLA_DECODE_BATCH_MAX);
  if (a->total_q < 0 || a->total_q > (int64_t)a->batch * p->q_len)
    return mlaf_fail(err, MLAF_E_ARG, "total_q is %lld, must be 0..%lld (batch %d x q_len %d)", (long long)a->total_q,
                     (long long)a->batch * p->q_len, a->batch, p->q_len);
  if (a->num_pages < 0) return mlaf_fail(err, MLAF_E_ARG, "num_pages is %d, must not be negative", a->num_pages);
  if (a->reserved) return mlaf_fail(err, MLAF_E_ARG, "reserved is %d, must be 0", a->reserved);
  if (!isfinite(a->scale)) return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be finite", (double)a->scale);
  if (fpclassify(a->scale) == FP_SUBNORMAL)
    return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be at least %g in size, or 0", (double)a->scale, (double)FLT_MIN);
  if (!a->total_q) return MLAF_OK;
  mlaf_status st = check_pointers(p, a, err);
  if (!st) st = check_optional(p, a, err);
  if (!st) st = check_parts(p, a, err);
  if (!st) st = check_pages(p, a, err);
  if (!st) st = check_strides(p, a, err);
  return st ? st : check_table(p, a, err);
}

mlaf_status mlaf_decode_check_args(const mlaf_bound *b, uint32_t splits, const void *args, mlaf_err *err) {
  const mlaf_execute_args *a = args;
  const mlaf_problem p = mlaf_decode_problem(b);
  if (!splits || (splits > 1 && !mlaf_decode_combined(b)))
    return mlaf_fail(err, MLAF_E_ARG, "%u splits without a combine kernel", splits);
  mlaf_status st = check(&p, a, err);
  if (st || !a->total_q) return st;
  st = check_workspace(mlaf_decode_workspace(b, splits, a->total_q), splits, a, err);
  return st ? st : check_values(&p, mlaf_decode_goes_on(b), a, err);
}

/* Checks that what is left cut is merged, and that a combine kernel reads what its decode kernel writes. */
mlaf_status mlaf_decode_check_stages(const mlaf_bound *b, mlaf_err *err) {
  const mlaf_stage *decode = &b->stage[MLAF_STAGE_DECODE], *combine = &b->stage[MLAF_STAGE_COMBINE];
  if (!decode->fn) return mlaf_fail(err, MLAF_E_ARG, "no decode kernel");
  if (!b->knob) return mlaf_fail(err, MLAF_E_ARG, "0 splits");
  if (b->knob > 1 && !combine->fn) return mlaf_fail(err, MLAF_E_ARG, "%u splits without a combine kernel", b->knob);
  if (!combine->fn && mlaf_launch_needs_combine(decode->launch.flags))
    return mlaf_fail(err, MLAF_E_ARG, "no combine kernel, and its decode kernel may cut its batch by itself and leaves the "
                     "pieces to one, also with one split");
  if (!combine->fn) return MLAF_OK;
  if ((combine->launch.flags & MLAF_KERNEL_FITS) != (decode->launch.flags & MLAF_KERNEL_FITS))
    return mlaf_fail(err, MLAF_E_ARG, "decode and combine kernel are of different schedules");
  if (combine->launch.n_maps && !combine->launch.values)
    return mlaf_fail(err, MLAF_E_ARG, "a combine kernel gets no tensor maps");
  return MLAF_OK;
}
