/* The cases and timing data of mla_prefill: requests and contents. Everything else of them follows from
 * gen/ops/mla_prefill/args.lua. */
#include "op/e4m3.h"
#include "ops/mla_prefill/reference.h"

enum { FEW_HEADS = 8, MOST_REQUESTS = 256, GAP = 32 };
enum { POISON_FNUZ = 0x80, CODE_STD = 8 }; /* of what bytes say: most of their values occur, subnormals among them */

static const prefill_options *options_of(const mlaf_host *h) { return h->options; }

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

static int64_t sum(const int32_t *of, int64_t n) {
  int64_t all = 0;
  for (int64_t i = 0; i < n; i++) all += of[i];
  return all;
}

static int64_t count(const mlaf_point *p, const mlaf_table_case *c) {
  const requests s = requests_of(p, c->options);
  int64_t n = sum(s.q, s.n);
  for (int64_t i = 0; i < c->n_lengths; i++) n += prefill_new_tokens(p, c->lengths[i]);
  return n;
}

static void arguments(mlaf_host *h) {
  const requests s = requests_of(&h->point, options_of(h));
  prefill_args_of(h)->batch = h->lengths ? (int32_t)h->n_lengths : s.n;
  prefill_args_of(h)->total_k = h->lengths ? sum(h->lengths, h->n_lengths) : sum(s.k, s.n);
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
  if (options_of(h)->shared == 0) return;
  h->t[PREFILL_V].lies_in = PREFILL_K;
  h->t[PREFILL_V].first = (size_t)(h->n[PREFILL_SIZE_UNIT] * h->n[PREFILL_SIZE_N]);
}

/* --- contents --- */

static uint8_t code(const mlaf_host *h, mlaf_rng *rng) {
  return mlaf_e4m3_encode(h->n[PREFILL_SIZE_INPUTS] == PREFILL_E4M3FNUZ, (double)(CODE_STD * mlaf_rng_normal(rng)));
}

static void fill_row(const mlaf_host *h, void *tensor, int64_t at, int64_t n, mlaf_rng *rng) {
  for (int64_t i = 0; i < n; i++) {
    if (h->n[PREFILL_SIZE_INPUTS]) ((uint8_t *)tensor)[at + i] = code(h, rng);
    else ((uint16_t *)tensor)[at + i] = mlaf_encode16(h->dtype, mlaf_rng_normal(rng));
  }
}

static void fill_tensor(const mlaf_host *h, int tensor, mlaf_rng *rng) {
  const mlaf_host_tensor *t = &h->t[tensor];
  if (t->absent) return;
  if (h->n[PREFILL_SIZE_INPUTS] == PREFILL_E4M3FNUZ) memset(t->data, POISON_FNUZ, mlaf_host_bytes(h, tensor));
  for (int64_t i = 0; i < mlaf_host_rows(h, tensor, 0); i++)
    for (int64_t j = 0; j < mlaf_host_rows(h, tensor, 1); j++)
      fill_row(h, t->data, i * t->stride[0] + j * t->stride[1], mlaf_host_columns(h, tensor), rng);
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
  prefill_args_of(h)->scale = (float)(options_of(h)->score / std);
}

static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  const requests s = requests_of(&h->point, options_of(h));
  int32_t *q = prefill_ends(h, PREFILL_CU_SEQLENS_Q), *k = prefill_ends(h, PREFILL_CU_SEQLENS_K);
  q[0] = k[0] = 0;
  for (int i = 0; i < prefill_args_of(h)->batch; i++) {
    q[i + 1] = q[i] + (h->lengths ? (int32_t)prefill_new_tokens(&h->point, h->lengths[i]) : s.q[i]);
    k[i + 1] = k[i] + (h->lengths ? h->lengths[i] : s.k[i]);
  }
  draw_scales(h, rng);
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  static const int tensors[] = {PREFILL_Q, PREFILL_K, PREFILL_V, PREFILL_K_PE};
  draw_timing(h, rng);
  for (int i = 0; i < 4; i++) fill_tensor(h, tensors[i], rng);
}

/* A NaN in one element of one row of Q; or the last request's keys, which end behind the last one. Both need a request all of
 * whose new tokens see a key. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  int32_t *q = prefill_ends(h, PREFILL_CU_SEQLENS_Q), *k = prefill_ends(h, PREFILL_CU_SEQLENS_K);
  const int32_t last = prefill_args_of(h)->batch - 1, n = q[last + 1] - q[last], total = (int32_t)h->n[PREFILL_SIZE_TK];
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

const mlaf_table_hooks prefill_hooks = {.reference = prefill_refer, .draw = draw, .inject = inject, .draw_timing = draw_timing,
                                        .code = code, .work = prefill_work_over, .count = count, .arguments = arguments,
                                        .arrange = arrange, .off = prefill_off};
