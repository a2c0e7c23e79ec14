/* Rotation of keys as they are read: the reference by its definition, arguments, kernels on emulators, and mistakes in one. */
#include "verdict.h"
#include "op/numeric.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/testcase.h"

/* --- the reference --- */

/* A cache of TOKENS tokens in one page, of 32 + rope columns. Column 0 of all but one is so far off that only that one counts. A
 * query of one column more reads one column of its key: the LSE is its value. */
enum { TOKENS = 7, RANK = 32, COLUMNS = RANK + 64 };
typedef struct small {
  uint16_t q[COLUMNS], kv[TOKENS * COLUMNS];
  float table[TOKENS * 64];
  int32_t qo[2], pages[2], index, last;
  mlaf_batch x;
} small;

static void make_small(small *s, const char *problem, int rows) {
  *s = (small){.qo = {0, 1}, .pages = {0, 1}, .last = TOKENS};
  s->x = (mlaf_batch){.batch = 1, .num_pages = 1, .total_q = 1, .q = s->q, .ckv = s->kv, .kpe = s->kv + RANK, .scale = 1,
                      .qo_indptr = s->qo, .kv_indptr = s->pages, .kv_indices = &s->index, .kv_last_page_lens = &s->last,
                      .rope_table = s->table, .rope_rows = rows};
  assert_int_equal(mlaf_problem_parse(problem, &s->x.problem, NULL, 0), MLAF_OK);
  s->x.ckv_row_stride = s->x.kpe_row_stride = RANK + s->x.problem.rope;
  mlaf_rng rng = {5};
  for (int t = 0; t < TOKENS; t++)
    for (int c = 0; c < s->x.problem.rope; c++) {
      s->kv[t * s->x.ckv_row_stride + RANK + c] = mlaf_encode16(s->x.problem.dtype, mlaf_rng_normal(&rng));
      s->table[t * s->x.problem.rope + c] = mlaf_rng_normal(&rng);
    }
  s->q[0] = mlaf_encode16(s->x.problem.dtype, 1);
}

/* Column c of the key of token t as the reference has it. */
static double key_of(small *s, int t, int c) {
  double o[RANK], lse;
  for (int i = 0; i < TOKENS; i++) s->kv[i * s->x.ckv_row_stride] = mlaf_encode16(s->x.problem.dtype, i == t ? 0 : -30000.0f);
  s->q[RANK + c] = mlaf_encode16(s->x.problem.dtype, 1);
  assert_int_equal(mlaf_reference(&s->x, o, &lse, NULL, NULL), MLAF_OK);
  s->q[RANK + c] = 0;
  return lse;
}

/* Exact, and how far a value may be off: half a unit of the 16-bit type, and the rounding of fp32. */
static double exact_key(const small *s, int t, int c, double *most) {
  const int rope = s->x.problem.rope, half = rope / 2, pairs = s->x.problem.rotate == MLAF_ROTATE_PAIRS;
  const int i = pairs ? c / 2 : c % half, second = pairs ? c % 2 : c / half;
  const uint16_t *k = s->kv + t * s->x.ckv_row_stride + RANK;
  const double x = mlaf_decode16(s->x.problem.dtype, k[pairs ? 2 * i : i]);
  const double y = mlaf_decode16(s->x.problem.dtype, k[pairs ? 2 * i + 1 : half + i]);
  const double cosine = s->table[t * rope + i], sine = s->table[t * rope + half + i];
  const double a = second ? y * cosine : x * cosine, b = second ? x * sine : -(y * sine);
  *most = fabs(a + b) * (s->x.problem.dtype == MLAF_BF16 ? 0x1p-8 : 0x1p-11) + (fabs(a) + fabs(b)) * 0x1p-23;
  return a + b;
}

TEST(the_reference_rotates) {
  static const char *const problems[] = {
      "mla_decode:h1,r32,p64,bf16,rope_pairs,page7", "mla_decode:h1,r32,p64,f16,rope_halves,page7",
      "mla_decode:h1,r32,p32,bf16,rope_halves,page7", "mla_decode:h1,r32,p32,f16,rope_pairs,page7"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    small s;
    make_small(&s, problems[i], TOKENS - 1);
    assert_true(isnan(key_of(&s, 0, 0))); /* the last key is behind the table, and the row sees it */
    make_small(&s, problems[i], TOKENS);
    for (int t = 0; t < TOKENS; t++)
      for (int c = 0; c < s.x.problem.rope; c++) {
        double most, got = key_of(&s, t, c), want = exact_key(&s, t, c, &most);
        if (!(fabs(got - want) <= most)) fail_msg("%s: token %d, column %d: %g, want %g", problems[i], t, c, got, want);
      }
  }
}

/* --- the AMD challenge of 2025 --- */

/* Its chain rounds frequency, angle, cosine, sine, products and sums to bf16. The table holds the first four, the kernel rounds
 * only the sum: what attention then gives is within the challenge's tolerance, which exact angles miss. */
static float bf16(double x) { return mlaf_decode16(MLAF_BF16, mlaf_encode16(MLAF_BF16, (float)x)); }

static void fill_angles(float *table, int rows, int rope, bool exact) {
  const int half = rope / 2;
  for (int t = 0; t < rows; t++)
    for (int i = 0; i < half; i++) {
      const double theta = exact ? pow(10000, -(double)i / half) : bf16(pow(10000, -bf16((double)i / half)));
      const double angle = exact ? t * theta : bf16(bf16(t) * theta);
      table[t * rope + i] = exact ? (float)cos(angle) : bf16(cos(angle));
      table[t * rope + half + i] = exact ? (float)sin(angle) : bf16(sin(angle));
    }
}

/* The cache with every key rotated as the challenge's reference does it. */
static void rotate_cache(mlaf_testcase *t, const float *table) {
  const mlaf_batch *x = &t->batch;
  const int half = x->problem.rope / 2;
  for (int64_t k = 0, n = mlaf_batch_kv_len(x, 0); k < n; k++) {
    uint16_t *row = t->ckv + (x->kv_indices[k / x->problem.page_size] * x->problem.page_size + k % x->problem.page_size) *
                                 x->ckv_row_stride + x->problem.rank;
    for (int i = 0; i < half; i++) {
      const float a = mlaf_decode16(MLAF_BF16, row[i]), b = mlaf_decode16(MLAF_BF16, row[half + i]);
      const float c = table[2 * k * half + i], s = table[2 * k * half + half + i];
      row[i] = mlaf_encode16(MLAF_BF16, bf16(a * c) - bf16(b * s));
      row[half + i] = mlaf_encode16(MLAF_BF16, bf16(b * c) + bf16(a * s));
    }
  }
}

TEST(the_challenge_is_met) {
  static const int prefills[] = {128, 512, 1024, 2048};
  enum { HEADS = 2, COLUMNS_OF_O = 512 };
  static double want[HEADS * COLUMNS_OF_O], got[2][HEADS * COLUMNS_OF_O], lse[HEADS];
  for (size_t i = 0; i < sizeof prefills / sizeof *prefills; i++) {
    mlaf_case_spec spec = {.name = "challenge", .seed = i, .n = 1, .q_lens = {1}, .kv_lens = {prefills[i] + 1},
                           .score_std = sqrt(3)};
    mlaf_testcase *t = NULL;
    int missed[2] = {0, 0};
    assert_int_equal(mlaf_problem_parse("mla_decode:h2,r512,p64,bf16,rope_halves,page64", &spec.problem, NULL, 0), MLAF_OK);
    assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &t, NULL), MLAF_OK);
    for (int exact = 1; exact >= 0; exact--) {
      fill_angles(t->rope_table, t->batch.rope_rows, 64, exact);
      assert_int_equal(mlaf_reference(&t->batch, got[exact], lse, NULL, NULL), MLAF_OK);
    }
    rotate_cache(t, t->rope_table);
    t->batch.problem.rotate = MLAF_ROTATE_NONE;
    assert_int_equal(mlaf_reference(&t->batch, want, lse, NULL, NULL), MLAF_OK);
    for (int c = 0; c < HEADS * COLUMNS_OF_O; c++)
      for (int exact = 0; exact < 2; exact++) missed[exact] += !(fabs(got[exact][c] - want[c]) <= 8e-3 + 2e-2 * fabs(want[c]));
    if (missed[0]) fail_msg("prefill %d: %d of %d are out of tolerance", prefills[i], missed[0], HEADS * COLUMNS_OF_O);
    if (prefills[i] >= 512) assert_true(missed[1] > HEADS * COLUMNS_OF_O / 100); /* else the chain was none */
    mlaf_testcase_free(t);
  }
}

/* --- arguments --- */

TEST(the_table_is_checked) {
  static float table[64] __attribute__((aligned(64)));
  static const struct {
    const char *problem;
    int shift, rows; /* of the table's address, in bytes; < 0: NULL */
    const char *says;
  } cases[] = {
      {"mla_decode:h1,rope_pairs", 0, 1, NULL},
      {"mla_decode:h1", -1, 0, NULL},
      {"mla_decode:h1,p0,rope_pairs", -1, 0, NULL}, /* nothing to rotate */
      {"mla_decode:h1,rope_halves", -1, 9, "must be a 16-byte aligned table"},
      {"mla_decode:h1,rope_halves", 4, 9, "must be a 16-byte aligned table"},
      {"mla_decode:h1,rope_halves", 0, 0, "rope_rows is 0, must be 1 or more"},
      {"mla_decode:h1", 0, 1, "the problem has a rotated cache"},
      {"mla_decode:h1", -1, 1, "the problem has a rotated cache"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_problem p;
    mlaf_err err = {MLAF_OK, ""};
    mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
    assert_int_equal(mlaf_problem_parse(cases[i].problem, &p, NULL, 0), MLAF_OK);
    a.batch = 1, a.total_q = 1, a.num_pages = 1, a.scale = 1;
    a.q = a.ckv = a.o = table;
    a.qo_indptr = a.kv_indptr = a.kv_indices = a.kv_last_page_lens = (const int32_t *)table;
    a.rope_table = cases[i].shift < 0 ? NULL : (const float *)((const char *)table + cases[i].shift);
    a.rope_rows = cases[i].rows;
    const mlaf_bound b = {.point = point_of(&p)};
    const mlaf_status st = mlaf_decode_check_args(&b, 1, &a, &err);
    assert_int_equal(st, cases[i].says ? MLAF_E_ARG : MLAF_OK);
    if (cases[i].says && !strstr(err.text, cases[i].says)) fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
  }
}

/* --- kernels --- */

static mlaf_status verdict(bench *b, const char *problem, const char *from, const char *to, mlaf_inject inject,
                           mlaf_verify_result *result) {
  static const char *const name =
      "mfma_reg_rotate:blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=always,schedule=splits,tile=16,waves=2/s1";
  return verdict_of(b, name, problem, from, to, inject, result);
}

/* Every way of pairing in each number of columns, each page form, on all AMD targets. */
TEST(kernels_verify) {
  static const char *const list[][2] = {
      {"gfx942", "mla_decode:h3,r64,p64,q2,causal,bf16,rope_halves,page16"},
      {"gfx942", "mla_decode:h3,r64,p64,f16,rope_pairs,page1"},
      {"gfx942", "mla_decode:h3,r64,p32,bf16,rope_halves,page3"},
      {"gfx942", "mla_decode:h3,r64,p32,bf16,rope_pairs,page64"},
      {"gfx950", "mla_decode:h3,r64,p64,bf16,rope_halves,page64"},
      {"gfx90a", "mla_decode:h3,r64,p32,bf16,rope_halves,page1"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    bench b;
    mlaf_verify_result r;
    open_bench(&b, list[i][0]);
    if (verdict(&b, list[i][1], NULL, NULL, i % 2 ? MLAF_INJECT_NAN_Q : MLAF_INJECT_NONE, &r)) fail_msg("%s: %s", list[i][1],
                                                                                                     r.detail);
    assert_true(r.rows > 0);
    close_bench(&b);
  }
}

#define HALVES "mla_decode:h3,r64,p64,bf16,rope_halves,page16"
#define PAIRS "mla_decode:h3,r64,p32,bf16,rope_pairs,page16"
#define ACROSS "mla_decode:h3,r64,p32,bf16,rope_halves,page16"

static const struct {
  const char *problem, *from, *to;
} mistakes[] = {
    {HALVES, "(x, cos, -across)", "(x, cos, across)"},
    {HALVES, "(u32)position < (u32)rows", "(u32)position <= (u32)rows"}, /* a row behind the table */
    {HALVES, "part_of(t, u) + (lane & 15), lane)", "part_of(t, u), lane)"},
    {HALVES, "            angles[u] = angles_of(u);", ""}, /* those of the first tile for all */
    {HALVES, "4 * ROTATE_HALF);", "0);"},                  /* the sine is the cosine */
    {HALVES, "{2 * group, 2 * group + 1}", "{group, group + 4}"},
    {HALVES, "if (i == NK_C) {", "if (i == NK_C + 1) {"}, /* half of the columns as they were */
    {PAIRS, "x[0][k] = pack2(p, q)", "x[0][k] = pack2(q, p)"},
    {ACROSS, "(lane ^ 32) << 2", "(lane ^ 16) << 2"},
    {ACROSS, "lane < 32 ? -t.sin[2 * k] :", "lane < 32 ? t.sin[2 * k] :"},
};

TEST(mistakes_are_found) {
  bench b;
  open_bench(&b, "gfx942");
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_status st = verdict(&b, mistakes[i].problem, mistakes[i].from, mistakes[i].to, MLAF_INJECT_NONE, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s' in %s: %s", mistakes[i].from, mistakes[i].to, mistakes[i].problem, mlaf_status_text(st));
  }
  close_bench(&b);
}

TESTS(NULL, NULL)
