/* The table of mla_prefill's functions, and its cases. */
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
} cases[] = {
    {ragged, {.name = "ragged", .layout = PREFILL_TWO_SOURCES, .score_std = 1.7}},
    {deep, {.name = "deep", .layout = PREFILL_PLAIN, .gaps = true, .lse_by_token = true, .score_std = 1.7}},
    {sharp, {.name = "sharp", .layout = PREFILL_TWO_SOURCES, .gaps = true, .spare = true, .score_std = 14}},
    {crowd, {.name = "crowd", .layout = PREFILL_PLAIN, .zero_k = true, .score_std = 1.7}},
};

static mlaf_status make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err) {
  prefill_spec spec = cases[index].spec;
  prefill_case *c = NULL;
  cases[index].fill(&spec, p->v[MLA_PREFILL_HEADS] <= FEW_HEADS);
  mlaf_status st = prefill_case_make(p, &spec, seed + (uint64_t)index, inject, &c, err);
  if (!st) *out = &c->head;
  return st;
}

static void free_case(mlaf_case *c) { prefill_case_free((prefill_case *)c); }

static double bound(const mlaf_point *p) {
  const prefill_shape s = prefill_shape_of(p);
  return prefill_error_bound(&s);
}

static int64_t rows(const void *args) { return ((const mlaf_prefill_args *)args)->total_q; }
static int64_t rows_of(const mlaf_point *p) { return (int64_t)p->v[MLA_PREFILL_BATCH] * p->v[MLA_PREFILL_TOKENS]; }

const mlaf_calls mlaf_prefill_calls = {
    .args_name = "mlaf_prefill_args",
    .args_init = "MLAF_PREFILL_ARGS_INIT",
    .args_size = sizeof(mlaf_prefill_args),
    .args_first = offsetof(mlaf_prefill_args, q_scale),
    .n_mapped = PREFILL_MAP_V,
    .rows = rows,
    .rows_of = rows_of,
    .parameter_bytes = prefill_parameter_bytes,
    .check_stages = prefill_check_stages,
    .check_args = prefill_check_args,
    .prepare = prefill_prepare,
    .work = prefill_work,
    .n_cases = sizeof cases / sizeof *cases,
    .make_case = make_case,
    .free_case = free_case,
    .case_buffers = prefill_case_buffers,
    .compare = prefill_compare,
    .same = prefill_same,
    .bound = bound,
    .error_about = "relative Frobenius error against fp64",
    .data_open = prefill_data_open,
    .data_close = prefill_data_close,
    .data_args = prefill_data_args,
    .data_check = prefill_data_check,
    .data_error = prefill_data_error,
    .data_row = prefill_data_row,
};
