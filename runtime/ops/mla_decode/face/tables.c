/* Checks tables on host copies, which mlaf_execute cannot see. */
#include "base/base.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/fields.h"
#include "mlaforge/plan.h"

/* The text that a failed check writes to. */
typedef struct report {
  char *why;
  size_t size;
} report;

static mlaf_status MLAF_PRINTF(2, 3) bad(const report *r, const char *fmt, ...) {
  if (r->why && r->size) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->why, r->size, fmt, ap);
    va_end(ap);
  }
  return MLAF_E_ARG;
}

/* ptr[0] == 0 and each step in 0..max_step. */
static mlaf_status check_indptr(const char *name, const int32_t *ptr, int32_t n, int64_t max_step, const report *r) {
  if (ptr[0]) return bad(r, "%s[0] is %d, must be 0", name, ptr[0]);
  for (int32_t i = 0; i < n; i++) {
    int64_t step = (int64_t)ptr[i + 1] - ptr[i];
    if (step < 0 || step > max_step)
      return bad(r, "%s[%d] is %d and %s[%d] is %d: the difference must be 0..%lld", name, i, ptr[i], name, i + 1,
                 ptr[i + 1], (long long)max_step);
  }
  return MLAF_OK;
}

static mlaf_status check_pages(const mlaf_problem *p, const mlaf_host_tables *t, const report *r) {
  for (int32_t b = 0; b < t->batch; b++) {
    for (int32_t i = t->kv_indptr[b]; i < t->kv_indptr[b + 1]; i++)
      if (t->kv_indices[i] < 0 || t->kv_indices[i] >= t->num_pages)
        return bad(r, "kv_indices[%d] (page %d of request %d) is %d, must be 0..%d", i, i - t->kv_indptr[b], b,
                   t->kv_indices[i], t->num_pages - 1);
    if (t->kv_indptr[b + 1] == t->kv_indptr[b]) continue; /* without pages the last length means nothing */
    if (t->kv_last_page_lens[b] < 1 || t->kv_last_page_lens[b] > p->page_size)
      return bad(r, "kv_last_page_lens[%d] is %d, must be 1..%d (the page size)", b, t->kv_last_page_lens[b],
                 p->page_size);
  }
  return MLAF_OK;
}

static mlaf_status check_struct(const mlaf_host_tables *t, const report *r) {
  if (t->struct_size < sizeof *t || t->struct_size > 4096)
    return bad(r, "mlaf_host_tables: struct_size is %u, must be at least %zu: start from MLAF_HOST_TABLES_INIT",
               t->struct_size, sizeof *t);
  for (const char *s = (const char *)(t + 1), *end = (const char *)t + t->struct_size; s < end; s++)
    if (*s) return bad(r, "mlaf_host_tables: a field this library does not know is set");
  if (t->reserved) return bad(r, "mlaf_host_tables: reserved is %d, must be 0", t->reserved);
  if (t->batch < 0 || t->batch > MLA_DECODE_BATCH_MAX)
    return bad(r, "batch is %d, must be 0..%d", t->batch, MLA_DECODE_BATCH_MAX);
  if (t->num_pages < 0) return bad(r, "num_pages is %d, must not be negative", t->num_pages);
  return MLAF_OK;
}

mlaf_status mlaf_check_tables(const mlaf_problem *problem, const mlaf_host_tables *t, char *why, size_t why_size) {
  const report r = {why, why_size};
  if (!problem || !t) return bad(&r, "mlaf_check_tables: a pointer is NULL");
  mlaf_problem p;
  mlaf_status st = mlaf_problem_take(problem, &p, why, why_size);
  if (!st) st = check_struct(t, &r);
  if (st) return st;
  if (!t->qo_indptr || !t->kv_indptr || !t->kv_last_page_lens)
    return bad(&r, "qo_indptr, kv_indptr or kv_last_page_lens is NULL");
  st = check_indptr("qo_indptr", t->qo_indptr, t->batch, p.q_len, &r);
  if (!st) st = check_indptr("kv_indptr", t->kv_indptr, t->batch, INT32_MAX, &r);
  if (st) return st;
  if (t->qo_indptr[t->batch] != t->total_q)
    return bad(&r, "qo_indptr[%d] is %d, must be total_q, %lld", t->batch, t->qo_indptr[t->batch],
               (long long)t->total_q);
  if (t->kv_indptr[t->batch] && !t->kv_indices)
    return bad(&r, "kv_indices is NULL, %d pages expected", t->kv_indptr[t->batch]);
  return check_pages(&p, t, &r);
}
