/* The cases of mla_prefill: requests, contents, and rows beside the reference. Everything else of them follows from
 * gen/ops/mla_prefill/args.lua. */
#include <math.h>

#include "ops/mla_prefill/args.h"
#include "ops/mla_prefill/reference.h"

enum { FEW_HEADS = 8, MOST_REQUESTS = 256, GAP = 32 };
enum { POISON_FNUZ = 0x80, CODE_STD = 8 }; /* of what bytes say: most of their values occur, subnormals among them */

static mlaf_prefill_args *args_of(const mlaf_host *h) { return (void *)(uintptr_t)h->args.bytes; }
static const prefill_options *options_of(const mlaf_host *h) { return h->options; }
static int32_t *ends(const mlaf_host *h, int tensor) { return (void *)h->t[tensor].data; }
static bool has_k_pe(const mlaf_host *h) { return !h->t[PREFILL_K_PE].absent; }

/* --- requests: of many heads shorter ones, as each is a row --- */

typedef struct requests {
  int n;
  int32_t q[MOST_REQUESTS], k[MOST_REQUESTS];
} requests;

static void add(requests *s, int32_t q, int32_t k) {
  s->q[s->n] = q;
  s->k[s->n++] = k;
}

static requests requests_of(const mlaf_point *p, const prefill_options *o) {
  static const int32_t lengths[][2] = {{33, 65}, {0, 3}, {5, 2}, {1, 16}, {3, 0},   {15, 15}, {64, 64},
                                       {0, 0},   {40, 9}, {1, 1}, {65, 129}, {1, 64}, {17, 17}};
  const bool few = p->v[MLA_PREFILL_HEADS] <= FEW_HEADS;
  requests s = {.n = 0};
  /* Edges of tiles, requests without new tokens or without keys, more new tokens than keys, context. */
  for (int i = 0; o->ragged != 0 && i < (few ? 13 : 4); i++) add(&s, lengths[i][0], lengths[i][1]);
  if (o->deep != 0) { /* much context, in rows that lie apart */
    add(&s, few ? 70 : 9, few ? 331 : 167);
    if (few) add(&s, 3, 203);
  }
  /* Scores so far apart that the running maximum keeps rising; longer than any tile. */
  if (o->sharp != 0) add(&s, few ? 280 : 40, few ? 290 : 43);
  /* So many requests that finding one's own takes several steps. */
  for (int i = 0; o->crowd != 0 && i < (few ? 150 : 20); i++) add(&s, i * 7 % 4, i * 7 % 4 + i % 3);
  return s;
}

static int64_t sum(const int32_t *of, int n) {
  int64_t all = 0;
  for (int i = 0; i < n; i++) all += of[i];
  return all;
}

static int64_t count(const mlaf_point *p, const mlaf_table_case *c) {
  const requests s = requests_of(p, c->options);
  return sum(s.q, s.n);
}

static void arguments(mlaf_host *h) {
  const requests s = requests_of(&h->point, options_of(h));
  args_of(h)->batch = s.n;
  args_of(h)->total_k = sum(s.k, s.n);
}

/* K and V in rows of N+V, as kv_b leaves them. */
static void arrange(mlaf_host *h) {
  const int64_t row = h->n[PREFILL_SIZE_N] + h->n[PREFILL_SIZE_V], heads = h->n[PREFILL_SIZE_H];
  for (int i = 0; options_of(h)->two != 0 && i < 2; i++) {
    mlaf_host_tensor *t = &h->t[i ? PREFILL_V : PREFILL_K];
    t->stride[1] = row;
    t->stride[0] = heads * row + (t->stride[0] > heads * t->stride[1] ? GAP : 0);
    t->count = h->n[PREFILL_SIZE_TK] * t->stride[0];
  }
}

/* --- the reference --- */

/* Inputs as the reference reads them. */
static prefill_view view_of(const mlaf_host *h) {
  static const int scales[] = {PREFILL_Q_SCALE, PREFILL_K_SCALE, PREFILL_V_SCALE};
  const mlaf_host_tensor *q = &h->t[PREFILL_Q], *k = &h->t[PREFILL_K], *v = &h->t[PREFILL_V], *pe = &h->t[PREFILL_K_PE];
  prefill_view x = {.s = prefill_shape_of(&h->point), .q = q->data, .k = k->data, .v = v->data,
                    .k_pe = has_k_pe(h) ? pe->data : k->data + h->n[PREFILL_SIZE_UNIT] * h->n[PREFILL_SIZE_N],
                    .q_token = q->stride[0], .q_head = q->stride[1], .k_token = k->stride[0], .k_head = k->stride[1],
                    .k_pe_token = has_k_pe(h) ? pe->stride[0] : k->stride[0], .k_pe_head = has_k_pe(h) ? 0 : k->stride[1],
                    .v_token = v->stride[0], .v_head = v->stride[1],
                    .cu_q = ends(h, PREFILL_CU_SEQLENS_Q), .cu_k = ends(h, PREFILL_CU_SEQLENS_K),
                    .batch = args_of(h)->batch, .total_q = h->n[PREFILL_SIZE_TQ], .total_k = h->n[PREFILL_SIZE_TK],
                    .scale = (double)args_of(h)->scale};
  for (int i = 0; x.s.inputs && i < 3; i++) memcpy(&x.tensor_scale[i], h->t[scales[i]].data, sizeof x.tensor_scale[i]);
  if (x.s.inputs) prefill_decode_codes(&x);
  return x;
}

static void reference(mlaf_rows *r) {
  const prefill_view x = view_of(r->h);
  const prefill_row row = prefill_row_of(&x, r->i);
  mlaf_want_row *o = mlaf_rows_want(r, PREFILL_O), *lse = mlaf_rows_want(r, PREFILL_LSE);
  double magnitude;
  prefill_reference(&x, &row, r->i, (int)r->j, (double *)(void *)r->h->more, o->value, lse->value, &magnitude);
  lse->slack[0] = prefill_lse_bound(&x.s, row.visible, magnitude, lse->value[0]);
  if (r->note)
    mlaf_snprintf(r->note, MLAF_NOTE, "request %lld, %lld keys, %lld visible", (long long)row.request, (long long)row.keys,
                  (long long)row.visible);
}

/* Rows whose reference is NaN must be NaN throughout, rows that see no key exactly 0, all others are measured. */
static double off(mlaf_rows *r, int k, const void *got, int *column, double *is) {
  const int dtype = r->h->dtype, n = (int)r->h->n[PREFILL_SIZE_V];
  const double *want = r->want[k].value, lse = mlaf_rows_want(r, PREFILL_LSE)->value[0];
  const uint16_t *o = got;
  if (r->h->outputs[k] != PREFILL_O) return -1;
  for (int i = 0; !isfinite(lse) && i < n; i++) {
    *column = i, *is = (double)mlaf_decode16(dtype, o[i]);
    if (isnan(want[i]) ? !isnan(*is) : *is != 0) return INFINITY;
  }
  if (!isfinite(lse)) return 0;
  const double error = prefill_row_error(dtype, want, o, n, &r->diff2, &r->ref2, column);
  *is = (double)mlaf_decode16(dtype, o[*column]);
  return error;
}

/* --- contents --- */

static void fill_row(const prefill_view *x, void *tensor, int64_t at, int64_t n, mlaf_rng *rng) {
  for (int64_t i = 0; i < n; i++) {
    const float value = mlaf_rng_normal(rng);
    if (x->s.inputs) ((uint8_t *)tensor)[at + i] = prefill_code(x, CODE_STD * value);
    else ((uint16_t *)tensor)[at + i] = mlaf_encode16(x->s.dtype, value);
  }
}

static void fill_tensor(const mlaf_host *h, const prefill_view *x, int tensor, mlaf_rng *rng) {
  const mlaf_host_tensor *t = &h->t[tensor];
  if (t->absent) return;
  if (x->s.inputs == PREFILL_E4M3FNUZ) memset(t->data, POISON_FNUZ, mlaf_host_bytes(h, tensor));
  for (int64_t i = 0; i < mlaf_host_rows(h, tensor, 0); i++)
    for (int64_t j = 0; j < mlaf_host_rows(h, tensor, 1); j++)
      fill_row(x, t->data, i * t->stride[0] + j * t->stride[1], mlaf_host_columns(h, tensor), rng);
}

/* Scales of no round numbers, the softmax's so that scores come out as the case wants them: q.k of two standard normal rows has
 * the standard deviation sqrt(N+P). */
static void draw_scales(mlaf_host *h, mlaf_rng *rng) {
  static const int scales[] = {PREFILL_Q_SCALE, PREFILL_K_SCALE, PREFILL_V_SCALE};
  double std = sqrt((double)h->n[PREFILL_SIZE_QK]);
  for (int i = 0; h->n[PREFILL_SIZE_INPUTS] && i < 3; i++) {
    const float scale = 0.02f + (float)mlaf_rng_below(rng, 1000) / 7777;
    const float stored = i == 1 && options_of(h)->zero_k != 0 ? 0 : scale;
    memcpy(h->t[scales[i]].data, &stored, sizeof stored);
    if (i < 2) std *= (double)(CODE_STD * scale);
  }
  args_of(h)->scale = (float)(options_of(h)->score / std);
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  static const int tensors[] = {PREFILL_Q, PREFILL_K, PREFILL_V, PREFILL_K_PE};
  const requests s = requests_of(&h->point, options_of(h));
  int32_t *q = ends(h, PREFILL_CU_SEQLENS_Q), *k = ends(h, PREFILL_CU_SEQLENS_K);
  q[0] = k[0] = 0;
  for (int i = 0; i < s.n; i++) {
    q[i + 1] = q[i] + s.q[i];
    k[i + 1] = k[i] + s.k[i];
  }
  draw_scales(h, rng);
  const prefill_view x = view_of(h);
  for (int i = 0; i < 4; i++) fill_tensor(h, &x, tensors[i], rng);
}

/* A NaN in one element of one row of Q; or the last request's keys, which end behind the last one. Both need a request all of
 * whose new tokens see a key. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  int32_t *q = ends(h, PREFILL_CU_SEQLENS_Q), *k = ends(h, PREFILL_CU_SEQLENS_K);
  const int32_t last = args_of(h)->batch - 1, n = q[last + 1] - q[last], total = (int32_t)h->n[PREFILL_SIZE_TK];
  if (n < 1 || k[last + 1] - k[last] < n) return mlaf_fail(err, MLAF_E_ARG, "its last request can carry no injection");
  const int64_t token = q[last] + mlaf_rng_below(rng, (uint32_t)n), head = mlaf_rng_below(rng, (uint32_t)h->n[PREFILL_SIZE_H]);
  const uint32_t column = mlaf_rng_below(rng, (uint32_t)h->n[PREFILL_SIZE_QK]);
  const int32_t outside[] = {total + 1, total + 4096, -1, INT32_MAX};
  unsigned char *row = mlaf_host_at(h, PREFILL_Q, token, head);
  if (inject == MLAF_INJECT_OOB_PAGE) k[last + 1] = outside[mlaf_rng_below(rng, 4)];
  else if (h->n[PREFILL_SIZE_INPUTS]) row[column] = h->n[PREFILL_SIZE_INPUTS] == PREFILL_E4M3FNUZ ? 0x80 : 0x7f;
  else ((uint16_t *)(void *)row)[column] = MLAF_NAN16;
  return MLAF_OK;
}

const mlaf_table_hooks prefill_hooks = {.reference = reference, .draw = draw, .inject = inject, .count = count,
                                        .arguments = arguments, .arrange = arrange, .off = off};
