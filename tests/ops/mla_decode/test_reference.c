/* The reference against an independent, slow and obvious implementation, and against properties it must have. */
#include "cmocka_all.h"
#include "op/numeric.h"
#include "ops/mla_decode/testcase.h"
#include "decode_problem.h"

typedef struct result {
  double *o, *lse, *magnitude;
  size_t rows, rank;
} result;

static result reference(const mlaf_batch *x) {
  result r = {.rows = (size_t)(x->total_q * x->problem.heads), .rank = (size_t)x->problem.rank};
  r.o = calloc(r.rows * r.rank, sizeof(double));
  r.lse = calloc(r.rows, sizeof(double));
  r.magnitude = calloc(r.rows, sizeof(double));
  assert_int_equal(mlaf_reference(x, r.o, r.lse, r.magnitude, NULL), MLAF_OK);
  return r;
}

static void result_free(result *r) {
  free(r->o);
  free(r->lse);
  free(r->magnitude);
}

/* One column of K of one token, by the layout's definition. */
static double k_at(const mlaf_batch *x, int b, int t, int c) {
  int page = x->problem.page_size, rank = x->problem.rank;
  long row = (long)x->kv_indices[x->kv_indptr[b] + t / page] * page + t % page;
  return mlaf_decode16(x->problem.dtype,
                       c < rank ? x->ckv[row * x->ckv_row_stride + c] : x->kpe[row * x->kpe_row_stride + c - rank]);
}

/* Three loops in long double, no shared code, no blocking. */
static void obvious(const mlaf_batch *x, int b, int i, int head, long double *o, long double *lse) {
  int n = x->qo_indptr[b + 1] - x->qo_indptr[b], pages = x->kv_indptr[b + 1] - x->kv_indptr[b];
  int kv = pages ? (pages - 1) * x->problem.page_size + x->kv_last_page_lens[b] : 0,
      d = x->problem.rank + x->problem.rope;
  if (x->problem.causal) kv -= n - 1 - i;
  long double max = -INFINITY, sum = 0;
  long double *s = calloc((size_t)(kv > 0 ? kv : 1), sizeof *s);
  for (int t = 0; t < kv; t++) {
    for (int c = 0; c < d; c++)
      s[t] +=
          (long double)mlaf_decode16(
              x->problem.dtype,
              x->q[((size_t)(x->qo_indptr[b] + i) * (size_t)x->problem.heads + (size_t)head) * (size_t)d + (size_t)c]) *
          k_at(x, b, t, c);
    s[t] *= x->scale;
    if (s[t] > max) max = s[t];
  }
  for (int t = 0; t < kv; t++) sum += expl(s[t] - max);
  for (int c = 0; c < x->problem.rank; c++) {
    o[c] = 0;
    for (int t = 0; t < kv; t++) o[c] += expl(s[t] - max) / sum * k_at(x, b, t, c);
  }
  *lse = kv > 0 ? max + logl(sum) : -INFINITY;
  free(s);
}

TEST(agrees_with_the_obvious) {
  static const struct {
    const char *problem;
    mlaf_cache_layout layout;
  } cases[] = {
      {"mla_decode:h3,r64,p32,q3,causal,bf16,page16,b1,s1", MLAF_CACHE_COMBINED},
      {"mla_decode:h3,r64,p32,q3,bf16,page16,b1,s1", MLAF_CACHE_SPLIT},
      {"mla_decode:h1,r32,p0,q1,f16,page1,b1,s1", MLAF_CACHE_SPLIT},
      {"mla_decode:h2,r512,p64,q2,causal,f16,page7,b1,s1", MLAF_CACHE_COMBINED},
  };
  for (size_t i = 0; i < 4; i++) {
    mlaf_problem p = parsed(cases[i].problem);
    mlaf_case_spec spec = {.name = "r",
                           .problem = p,
                           .seed = i,
                           .n = 4,
                           .q_lens = {p.q_len, 1, 0, p.q_len},
                           .kv_lens = {35, 0, 9, 2},
                           .layout = cases[i].layout,
                           .unused_pages = 2,
                           .score_std = 2};
    mlaf_testcase *t = NULL;
    assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &t, NULL), MLAF_OK);
    result r = reference(&t->batch);
    for (int b = 0; b < 4; b++)
      for (int k = 0; k < spec.q_lens[b]; k++)
        for (int h = 0; h < p.heads; h++) {
          long double o[512], lse;
          size_t row = (size_t)(t->batch.qo_indptr[b] + k) * (size_t)p.heads + (size_t)h;
          obvious(&t->batch, b, k, h, o, &lse);
          if (isinf(lse)) assert_true(r.lse[row] == -INFINITY);
          else assert_true(fabsl(lse - r.lse[row]) < 1e-12L);
          for (int c = 0; c < p.rank; c++) assert_true(fabsl(o[c] - r.o[row * r.rank + (size_t)c]) < 1e-13L);
        }
    result_free(&r);
    mlaf_testcase_free(t);
  }
}

/* A plain batch of one request in a contiguous cache, pages in order, for the properties. */
typedef struct simple {
  mlaf_batch x;
  uint16_t *q, *kv;
  int32_t tables[4 + 64];
} simple;

static void simple_make(simple *s, const char *problem, int32_t q_len, int32_t tokens, uint64_t seed) {
  mlaf_rng r = {seed};
  mlaf_problem p = parsed(problem);
  int32_t d = p.rank + p.rope, pages = (tokens + p.page_size - 1) / p.page_size;
  *s = (simple){.q = calloc((size_t)(q_len * p.heads * d), 2), .kv = calloc((size_t)(pages * p.page_size * d), 2)};
  for (int i = 0; i < q_len * p.heads * d; i++) s->q[i] = mlaf_encode16(p.dtype, mlaf_rng_normal(&r));
  for (int i = 0; i < tokens * d; i++) s->kv[i] = mlaf_encode16(p.dtype, mlaf_rng_normal(&r));
  s->tables[1] = q_len;
  s->tables[3] = pages;
  for (int i = 0; i < pages; i++) s->tables[4 + i] = i;
  s->tables[4 + pages] = (tokens - 1) % p.page_size + 1;
  s->x = (mlaf_batch){.problem = p,
                      .batch = 1,
                      .num_pages = pages,
                      .total_q = q_len,
                      .q = s->q,
                      .ckv = s->kv,
                      .kpe = s->kv + p.rank,
                      .ckv_row_stride = d,
                      .kpe_row_stride = d,
                      .qo_indptr = s->tables,
                      .kv_indptr = s->tables + 2,
                      .kv_indices = s->tables + 4,
                      .kv_last_page_lens = s->tables + 4 + pages,
                      .scale = 0.2};
}

static void simple_free(simple *s) {
  free(s->q);
  free(s->kv);
}

/* Adding one vector to every rope part shifts all scores of a row alike: O stays, LSE moves by that shift. */
TEST(score_shift) {
  simple s;
  simple_make(&s, "mla_decode:h4,r64,p32,q2,bf16,page8,b1,s1", 2, 29, 1);
  for (int i = 0; i < 29 * 96; i++)
    s.kv[i] = mlaf_bf16_encode((float)((i * 37) % 17 - 8)); /* small integers: sums are exact */
  result before = reference(&s.x);
  for (int t = 0; t < 29; t++)
    for (int c = 64; c < 96; c++)
      s.kv[t * 96 + c] = mlaf_bf16_encode(mlaf_bf16_decode(s.kv[t * 96 + c]) + (float)(c % 5));
  result after = reference(&s.x);
  for (size_t row = 0; row < before.rows; row++) {
    double shift = 0;
    for (int c = 64; c < 96; c++) shift += 0.2 * mlaf_bf16_decode(s.q[row * 96 + (size_t)c]) * (c % 5);
    assert_true(fabs(after.lse[row] - before.lse[row] - shift) < 1e-11);
    for (size_t c = 0; c < 64; c++) assert_true(fabs(after.o[row * 64 + c] - before.o[row * 64 + c]) < 1e-11);
  }
  result_free(&before);
  result_free(&after);
  simple_free(&s);
}

/* Renaming pages changes nothing, not even a bit. */
TEST(page_permutation) {
  simple s;
  simple_make(&s, "mla_decode:h2,r64,p32,q1,f16,page8,b1,s1", 1, 40, 2);
  result before = reference(&s.x);
  uint16_t *moved = malloc(40 * 96 * 2);
  for (int page = 0; page < 5; page++) {
    int to = (page * 3 + 1) % 5;
    memcpy(moved + to * 8 * 96, s.kv + page * 8 * 96, 8 * 96 * 2);
    s.tables[4 + page] = to;
  }
  s.x.ckv = moved;
  s.x.kpe = moved + 64;
  result after = reference(&s.x);
  assert_memory_equal(before.o, after.o, before.rows * 64 * sizeof(double));
  assert_memory_equal(before.lse, after.lse, before.rows * sizeof(double));
  result_free(&before);
  result_free(&after);
  free(moved);
  simple_free(&s);
}

/* Token i of n under the causal mask is the only token of a request that ends where it sees to. */
TEST(causal_is_a_prefix) {
  simple s, one;
  simple_make(&s, "mla_decode:h2,r64,p32,q5,causal,bf16,page8,b1,s1", 5, 31, 3);
  result all = reference(&s.x);
  for (int i = 0; i < 5; i++) {
    simple_make(&one, "mla_decode:h2,r64,p32,q1,bf16,page8,b1,s1", 1, 31 - (4 - i), 3);
    memcpy(one.q, s.q + i * 2 * 96, 2 * 96 * 2);
    memcpy(one.kv, s.kv, (size_t)(31 - (4 - i)) * 96 * 2);
    result r = reference(&one.x);
    assert_memory_equal(r.o, all.o + i * 2 * 64, 2 * 64 * sizeof(double));
    assert_memory_equal(r.lse, all.lse + i * 2, 2 * sizeof(double));
    result_free(&r);
    simple_free(&one);
  }
  result_free(&all);
  simple_free(&s);
}

/* Q = 0: the mean of V and log n. One token: V itself and its score. A scale of 0 is the mean too. */
TEST(closed_forms) {
  simple s;
  simple_make(&s, "mla_decode:h1,r64,p32,q1,bf16,page8,b1,s1", 1, 24, 4);
  memset(s.q, 0, 96 * 2);
  result r = reference(&s.x);
  assert_true(fabs(r.lse[0] - log(24)) < 1e-14);
  for (int c = 0; c < 64; c++) {
    double mean = 0;
    for (int t = 0; t < 24; t++) mean += mlaf_bf16_decode(s.kv[t * 96 + c]);
    assert_true(fabs(r.o[c] - mean / 24) < 1e-15); /* the sum is exact in double */
  }
  assert_true(r.magnitude[0] == 0);
  result_free(&r);
  simple_free(&s);
  simple_make(&s, "mla_decode:h1,r64,p32,q1,bf16,page8,b1,s1", 1, 1, 5);
  r = reference(&s.x);
  for (int c = 0; c < 64; c++) assert_true(r.o[c] == (double)mlaf_bf16_decode(s.kv[c]));
  assert_true(fabs(r.lse[0]) <= r.magnitude[0] + 1e-15);
  result_free(&r);
  simple_free(&s);
}

/* Scores of 1e4 and more neither overflow nor lose the sum. */
TEST(large_scores) {
  simple s;
  simple_make(&s, "mla_decode:h2,r64,p32,q1,bf16,page8,b1,s1", 1, 20, 6);
  s.x.scale = 1000;
  result r = reference(&s.x);
  for (size_t row = 0; row < r.rows; row++) assert_true(isfinite(r.lse[row]) && fabs(r.lse[row]) > 1000);
  for (size_t i = 0; i < r.rows * 64; i++) assert_true(isfinite(r.o[i]));
  result_free(&r);
  simple_free(&s);
}

/* Requests have 2 tokens at most: one of 3 to 5 is NaN, and so is the last one, which reaches behind all rows. */
TEST(long_requests) {
  mlaf_problem p = parsed("mla_decode:h2,r64,p32,q2,causal,bf16,page4,b1,s1");
  for (uint64_t seed = 0; seed < 20; seed++) {
    mlaf_case_spec spec = {
        .name = "n", .problem = p, .seed = seed, .n = 4, .q_lens = {1, 1, 1, 2}, .kv_lens = {9, 9, 5, 5}, .score_std = 1};
    mlaf_testcase *t = NULL;
    assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_LONG_Q, &t, NULL), MLAF_OK);
    const mlaf_batch *x = &t->batch;
    result r = reference(x);
    int refused = 0;
    assert_true(x->total_q <= x->batch * 2 && x->qo_indptr[x->batch] == x->total_q + 1);
    for (int32_t b = 0; b < x->batch; b++) {
      const int32_t first = x->qo_indptr[b], n = x->qo_indptr[b + 1] - first;
      refused += n > 2;
      for (int32_t row = 2 * first; row < 2 * (first + n) && row < 2 * x->total_q; row++)
        assert_int_equal(isnan(r.lse[row]) && isnan(r.o[row * 64]), n > 2 || first + n > x->total_q);
    }
    assert_true(refused >= 1);
    result_free(&r);
    mlaf_testcase_free(t);
  }
}

TEST(nan_and_bad_pages) {
  mlaf_problem p = parsed("mla_decode:h2,r64,p32,q2,causal,bf16,page4,b1,s1");
  for (int inject = MLAF_INJECT_NAN_Q; inject <= MLAF_INJECT_OOB_PAGE; inject++)
    for (uint64_t seed = 0; seed < 20; seed++) {
      mlaf_case_spec spec = {
          .name = "n", .problem = p, .seed = seed, .n = 3, .q_lens = {2, 2, 2}, .kv_lens = {1, 9, 5}, .score_std = 1};
      mlaf_testcase *t = NULL;
      assert_int_equal(mlaf_testcase_make(&spec, (mlaf_inject)inject, &t, NULL), MLAF_OK);
      result r = reference(&t->batch);
      int nan_rows = 0;
      for (size_t row = 0; row < r.rows; row++) {
        nan_rows += isnan(r.lse[row]);
        for (size_t c = 0; c < 64; c++) assert_int_equal(isnan(r.o[row * 64 + c]), isnan(r.lse[row]));
      }
      /* NaN in Q: its row. A bad page: all four rows of the second request (the first has a row that sees nothing). */
      assert_int_equal(nan_rows, inject == MLAF_INJECT_NAN_Q ? 1 : 4);
      if (inject == MLAF_INJECT_OOB_PAGE) assert_true(isnan(r.lse[4]) && isnan(r.lse[7]));
      result_free(&r);
      mlaf_testcase_free(t);
    }
}

TESTS(NULL, NULL)
