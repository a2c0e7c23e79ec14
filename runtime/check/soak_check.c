/* The first launches of a soak, and single rows, against the fp64 reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/mla_decode/compare.h"
#include "op/numeric.h"
#include "check/soak_internal.h"

#define CHECK_WORK 4e9 /* multiplications: a second or two of one core */
enum { HEADS_MOST = 3, REQUESTS_LEAST = 3 };

/* Outputs of one query token: all of its heads, or the picked ones. */
typedef struct token_at {
  int set, request, token, n_heads;
  const int *heads;
} token_at;

static mlaf_status read_rows(soak *s, const soak_side *side, const token_at *at, uint16_t *o, float *lse, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  const mlaf_problem *p = &s->bench->problem;
  const size_t row_bytes = s->words * sizeof(uint32_t),
               first = ((size_t)at->request * (size_t)p->q_len + (size_t)at->token) * (size_t)p->heads;
  const char *all_o = side->o + (size_t)at->set * s->o_bytes, *all_lse = side->lse + (size_t)at->set * s->lse_bytes;
  mlaf_status st = MLAF_OK;
  for (int h = 0; !st && h < at->n_heads; h++) {
    const size_t row = first + (size_t)at->heads[h];
    st = ops->mem_read(s->dev, (char *)o + (size_t)h * row_bytes, all_o + row * row_bytes, row_bytes, err);
    if (!st) st = ops->mem_read(s->dev, &lse[h], all_lse + row * 4, 4, err);
  }
  return st;
}

/* The reference of one token in the form that mlaf_compare takes; `data` and the tables are the caller's. */
typedef struct wanted {
  mlaf_expected want;
  mlaf_testcase data;
  int32_t qo[2], kv[2], last;
} wanted;

static void free_wanted(wanted *w) {
  free(w->want.o);
  free(w->want.lse);
  free(w->want.magnitude);
}

static mlaf_status make_wanted(soak *s, const token_at *at, wanted *w, mlaf_err *err) {
  const mlaf_problem *p = &s->bench->problem;
  const int visible = mlaf_bench_visible(s->bench, at->request, at->token);
  const size_t n = (size_t)at->n_heads;
  *w = (wanted){.qo = {0, 1}, .kv = {0, visible > 0}, .last = visible};
  w->want = (mlaf_expected){&w->data, malloc(n * (size_t)p->rank * sizeof(double)), malloc(n * sizeof(double)),
                            malloc(n * sizeof(double))};
  snprintf(w->data.name, sizeof w->data.name, "page table %d, request %d, token %d", at->set, at->request, at->token);
  w->data.batch = (mlaf_batch){.problem = *p, .batch = 1, .total_q = 1, .qo_indptr = w->qo, .kv_indptr = w->kv,
                               .kv_last_page_lens = &w->last};
  w->data.batch.problem.heads = at->n_heads;
  w->data.batch.problem.q_len = 1;
  w->data.batch.problem.causal = 0;
  w->data.batch.problem.page_size = visible > 0 ? visible : 1;
  if (!w->want.o || !w->want.lse || !w->want.magnitude) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a reference");
  return mlaf_bench_reference(s->bench, at->set, at->request, at->token, visible, at->heads, at->n_heads, w->want.o, w->want.lse,
                              w->want.magnitude, err);
}

static mlaf_status check_token(soak *s, const soak_side *side, const token_at *at, mlaf_verify_result *r, mlaf_err *err) {
  wanted w = {.last = 0};
  uint16_t *o = malloc((size_t)at->n_heads * s->words * sizeof(uint32_t));
  float *lse = malloc((size_t)at->n_heads * sizeof *lse);
  mlaf_status st = o && lse ? make_wanted(s, at, &w, err) : mlaf_fail(err, MLAF_E_NOMEM, "no memory to check rows");
  if (!st) st = read_rows(s, side, at, o, lse, err);
  if (!st && !mlaf_compare(&w.want, o, lse, r)) {
    snprintf(s->out->detail, sizeof s->out->detail, "variant %s, first launch: %.700s", mlaf_loaded_name(side->l), r->detail);
    st = mlaf_fail(err, MLAF_E_INCORRECT, "%s", s->out->detail);
  }
  free_wanted(&w);
  free(o);
  free(lse);
  return st;
}

static double work_of(const soak *s, int request, int heads) {
  const mlaf_problem *p = &s->bench->problem;
  return (double)s->bench->lengths[request] * p->q_len * heads * (2 * p->rank + p->rope);
}

static int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

/* Requests in the order they are looked at: the shortest, the longest, then evenly spread. */
static void order_requests(const mlaf_bench *b, int *out) {
  const int n = b->problem.batch;
  int least = 0, most = 0, count = 0;
  for (int i = 1; i < n; i++) {
    if (b->lengths[i] < b->lengths[least]) least = i;
    if (b->lengths[i] > b->lengths[most]) most = i;
  }
  out[count++] = least;
  if (most != least) out[count++] = most;
  int step = n / 2;
  while (step > 1 && common_divisor(step, n) > 1) step--; /* so that every request comes once */
  if (step < 1) step = 1;
  for (int i = 0, at = 0; i < n; i++, at = (at + step) % n)
    if (at != least && at != most) out[count++] = at;
}

/* How many requests of `order`, and how many heads of each, there is time for. */
static int choose(const soak *s, const int *order, int *heads) {
  const mlaf_problem *p = &s->bench->problem;
  double work = 0;
  int n = 0;
  *heads = p->heads;
  while (n < p->batch && (work += work_of(s, order[n], p->heads)) <= CHECK_WORK) n++;
  if (n >= REQUESTS_LEAST || n == p->batch) return n;
  *heads = p->heads < HEADS_MOST ? p->heads : HEADS_MOST;
  return p->batch < REQUESTS_LEAST ? p->batch : REQUESTS_LEAST;
}

static void say_which(soak *s, int n, const int *heads, int n_heads) {
  const mlaf_problem *p = &s->bench->problem;
  char *to = s->out->checked;
  const size_t size = sizeof s->out->checked;
  if (n == p->batch && n_heads == p->heads) snprintf(to, size, "the whole output of page table 0");
  else if (n_heads == p->heads)
    snprintf(to, size, "%d of %d requests, shortest and longest among them, all rows, page tables in turn", n, p->batch);
  else
    snprintf(to, size, "heads %d, %d and %d of %d of %d requests, page tables in turn", heads[0], heads[n_heads > 2 ? 2 : 0],
             heads[n_heads > 1 ? 1 : 0], n, p->batch);
}

mlaf_status soak_check_first(soak *s, const soak_side *side, mlaf_err *err) {
  const mlaf_problem *p = &s->bench->problem;
  int *order = malloc((size_t)p->batch * sizeof *order), *heads = malloc((size_t)p->heads * sizeof *heads), n_heads = 0, n = 0;
  mlaf_verify_result r = {.error = 0};
  mlaf_status st = order && heads ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory to choose requests");
  if (!st) {
    order_requests(s->bench, order);
    n = choose(s, order, &n_heads);
    if (n_heads < p->heads) n_heads = mlaf_bench_pick(p->heads, n_heads, heads);
    else
      for (int h = 0; h < p->heads; h++) heads[h] = h;
    say_which(s, n, heads, n_heads);
  }
  const bool whole = n == p->batch && n_heads == p->heads;
  for (int i = 0; !st && i < n; i++)
    for (int t = 0; !st && t < p->q_len; t++) {
      if (s->opts->cancel && atomic_load(s->opts->cancel)) break;
      const token_at at = {whole ? 0 : i % s->bench->sets, order[i], t, n_heads, heads};
      st = check_token(s, side, &at, &r, err);
    }
  if (r.error > s->out->error) s->out->error = r.error;
  if (r.row_error > s->out->row_error) s->out->row_error = r.row_error;
  if (r.lse_ratio > s->out->lse_ratio) s->out->lse_ratio = r.lse_ratio;
  s->out->checked_rows += r.rows;
  free(order);
  free(heads);
  return st;
}

/* --- one row --- */
static double relative(const soak *s, const uint16_t *got, const double *want) {
  double off = 0, all = 0;
  for (int c = 0; c < s->bench->problem.rank; c++) {
    const double e = mlaf_decode16(s->bench->problem.dtype, got[c]) - want[c];
    off += e * e;
    all += want[c] * want[c];
  }
  const double e = off == 0 ? 0 : sqrt(off / all);
  return isnan(e) ? INFINITY : e;
}

mlaf_status soak_check_row(soak *s, const soak_side *side, size_t index, const uint16_t *o, float lse, mlaf_soak_row *row,
                           mlaf_err *err) {
  const mlaf_problem *p = &s->bench->problem;
  const size_t token = index / (size_t)p->heads;
  const int head = (int)(index % (size_t)p->heads);
  uint16_t first[512];
  float first_lse;
  wanted w;
  row->request = (int32_t)(token / (size_t)p->q_len);
  row->token = (int32_t)(token % (size_t)p->q_len);
  row->head = head;
  const token_at at = {row->set, row->request, row->token, 1, &head};
  mlaf_status st = make_wanted(s, &at, &w, err);
  if (!st) st = read_rows(s, side, &at, first, &first_lse, err);
  if (!st) {
    row->error = relative(s, o, w.want.o);
    row->first_error = relative(s, first, w.want.o);
    row->lse_error = (double)lse == w.want.lse[0] ? 0 : fabs((double)lse - w.want.lse[0]);
    if (isnan(row->lse_error)) row->lse_error = INFINITY;
  }
  free_wanted(&w);
  return st;
}
