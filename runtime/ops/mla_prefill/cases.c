/* The cases of mla_prefill, and what follows from its fields. */
#include "ops/mla_prefill/data.h"

enum { FEW_HEADS = 8 };

/* --- which cases: of many heads shorter ones, as each is a row --- */

static void add(prefill_spec *s, int32_t q, int32_t k) {
  s->q[s->n] = q;
  s->k[s->n++] = k;
}

/* Edges of tiles, requests without new tokens or without keys, more new tokens than keys, context. */
static void ragged(prefill_spec *s, bool few) {
  static const int32_t lengths[][2] = {{33, 65}, {0, 3}, {5, 2}, {1, 16}, {3, 0},   {15, 15}, {64, 64},
                                       {0, 0},   {40, 9}, {1, 1}, {65, 129}, {1, 64}, {17, 17}};
  for (int i = 0; i < (few ? 13 : 4); i++) add(s, lengths[i][0], lengths[i][1]);
}

/* Much context, in rows that lie apart. */
static void deep(prefill_spec *s, bool few) {
  add(s, few ? 70 : 9, few ? 331 : 167);
  if (few) add(s, 3, 203);
}

/* Scores so far apart that the running maximum keeps rising; longer than any tile. */
static void sharp(prefill_spec *s, bool few) { add(s, few ? 280 : 40, few ? 290 : 43); }

/* So many requests that finding one's own takes several steps. */
static void crowd(prefill_spec *s, bool few) {
  for (int i = 0; i < (few ? 150 : 20); i++) add(s, i * 7 % 4, i * 7 % 4 + i % 3);
}

static const struct {
  void (*fill)(prefill_spec *s, bool few);
  prefill_spec spec;
} cases[PREFILL_CASES] = {
    {ragged, {.name = "ragged", .layout = PREFILL_TWO_SOURCES, .score_std = 1.7}},
    {deep, {.name = "deep", .layout = PREFILL_PLAIN, .gaps = true, .lse_by_token = true, .score_std = 1.7}},
    {sharp, {.name = "sharp", .layout = PREFILL_TWO_SOURCES, .gaps = true, .spare = true, .score_std = 14}},
    {crowd, {.name = "crowd", .layout = PREFILL_PLAIN, .zero_k = true, .score_std = 1.7}},
};

mlaf_status prefill_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                              mlaf_err *err) {
  prefill_spec spec = cases[index].spec;
  prefill_case *c = NULL;
  cases[index].fill(&spec, p->v[MLA_PREFILL_HEADS] <= FEW_HEADS);
  mlaf_status st = prefill_case_make(p, &spec, seed + (uint64_t)index, inject, &c, err);
  if (!st) *out = &c->head;
  return st;
}

void prefill_free_case(mlaf_case *c) { prefill_case_free((prefill_case *)c); }

double prefill_bound(const mlaf_point *p) {
  const prefill_shape s = prefill_shape_of(p);
  return prefill_error_bound(&s);
}

int64_t prefill_rows_of(const mlaf_point *p) { return (int64_t)p->v[MLA_PREFILL_BATCH] * p->v[MLA_PREFILL_TOKENS]; }

prefill_shape prefill_shape_of(const mlaf_point *p) {
  const int32_t *v = p->v;
  return (prefill_shape){
      .heads = v[MLA_PREFILL_HEADS],
      .nope = v[MLA_PREFILL_NOPE],
      .rope = v[MLA_PREFILL_ROPE],
      .qk = v[MLA_PREFILL_NOPE] + v[MLA_PREFILL_ROPE],
      .vdim = v[MLA_PREFILL_VDIM],
      .dtype = v[MLA_PREFILL_DTYPE],
      .inputs = v[MLA_PREFILL_INPUTS],
      .bytes = v[MLA_PREFILL_INPUTS] ? 1 : 2,
      .causal = v[MLA_PREFILL_CAUSAL],
      .batch = v[MLA_PREFILL_BATCH],
      .tokens = v[MLA_PREFILL_TOKENS],
      .ctx = v[MLA_PREFILL_CTX],
  };
}

/* Q, K with k_pe once for all heads, V, O and LSE; two products of the scores that are seen. */
mlaf_work prefill_work(const mlaf_point *p) {
  const prefill_shape s = prefill_shape_of(p);
  const double q = (double)s.batch * (double)s.tokens * s.heads, k = (double)s.batch * (double)s.ctx;
  const double n = (double)(s.tokens < s.ctx ? s.tokens : s.ctx), ctx = (double)s.ctx;
  const double seen = s.causal ? s.heads * (double)s.batch * n * (ctx - (n - 1) / 2) : q * ctx;
  return (mlaf_work){.bytes = s.bytes * (q * s.qk + k * (s.heads * (double)(s.nope + s.vdim) + s.rope)) + q * (2 * s.vdim + 4),
                     .flops = 2 * seen * (s.qk + s.vdim)};
}
