/* The forms of a layer in double precision: all equal to 1e-12, over dims, windows of several tokens and ways to turn; what they
 * cost; and one row by hand. */
#include "layer/forms.h"

#include "cmocka_all.h"
#include "op/numeric.h"

enum { POSITIONS = 64, TENSORS = 7 };
typedef struct toy {
  mlaf_form_layer l;
  uint16_t *tensors[TENSORS], *x; /* x [POSITIONS, d] */
  float table[POSITIONS * 64];
} toy;

static uint16_t *numbers(mlaf_rng *r, int64_t n, double by) {
  uint16_t *w = malloc((size_t)n * sizeof *w);
  for (int64_t i = 0; i < n; i++) w[i] = mlaf_bf16_encode((float)(by * mlaf_rng_normal(r)));
  return w;
}

static void toy_open(toy *t, mlaf_form_layer l) {
  mlaf_rng r = {7};
  const int64_t from = l.q_rank ? l.q_rank : l.hidden, keys = l.nope + l.rope;
  const int64_t rows[TENSORS] = {l.q_rank, 1, l.heads * keys, l.rank + l.rope, 1, l.heads * (l.nope + l.v), l.hidden};
  const int64_t cols[TENSORS] = {l.hidden, l.q_rank, from, l.hidden, l.rank, l.rank, l.heads * l.v};
  for (int i = 0; i < TENSORS; i++) t->tensors[i] = numbers(&r, rows[i] * cols[i], rows[i] == 1 ? 1 : 2 / sqrt((double)cols[i]));
  t->x = numbers(&r, POSITIONS * l.hidden, 1);
  l.q_a = t->tensors[0], l.q_norm = t->tensors[1], l.q_b = t->tensors[2], l.kv_a = t->tensors[3], l.kv_norm = t->tensors[4];
  l.kv_b = t->tensors[5], l.o = t->tensors[6];
  mlaf_rope rope = MLAF_ROPE_INIT;
  rope.columns = l.rope, rope.style = l.rope_style, rope.factor = 4, rope.original = 32, rope.mscale = rope.mscale_all_dim = 1;
  l.scale = mlaf_softmax_scale(l.nope, &rope);
  assert_int_equal(mlaf_rope_table(&rope, POSITIONS, t->table, sizeof t->table, NULL, 0), MLAF_OK);
  l.table = t->table, l.table_rows = POSITIONS, l.eps = 1e-6;
  t->l = l;
}

static void toy_close(toy *t) {
  for (int i = 0; i < TENSORS; i++) free(t->tensors[i]);
  free(t->x);
}

/* Outputs y [sum of steps, d] of a request whose new tokens come in `steps`, the first `filled` rows given. */
static double *run(const toy *t, mlaf_form form, int64_t filled, const int *steps) {
  mlaf_form_cache cache;
  mlaf_err err = {0};
  int64_t done = filled;
  double *y = calloc(POSITIONS * (size_t)t->l.hidden, sizeof *y);
  mlaf_rng r = {11};
  uint16_t *rows = numbers(&r, (filled + 1) * (t->l.rank + t->l.rope), 1);
  assert_int_equal(mlaf_form_cache_open(&t->l, form, POSITIONS, &cache, &err), MLAF_OK);
  assert_int_equal(mlaf_form_fill(&t->l, &cache, rows, filled, &err), MLAF_OK);
  for (; *steps; done += *steps++)
    if (mlaf_form_step(&t->l, &cache, t->x + done * t->l.hidden, *steps, false, y + done * t->l.hidden, &err))
      fail_msg("%s", err.text);
  free(rows);
  mlaf_form_cache_free(&cache);
  return y;
}

static double apart(const double *a, const double *b, int64_t n) {
  double off = 0, size = 0;
  for (int64_t i = 0; i < n; i++) off += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  assert_true(size > 0);
  return sqrt(off / size);
}

static const mlaf_form_layer toys[] = {
    /* V3, small; GLM: N < V; no q_lora */
    {.hidden = 64, .heads = 4, .q_rank = 48, .rank = 32, .rope = 16, .nope = 16, .v = 16},
    {.hidden = 40, .heads = 3, .q_rank = 24, .rank = 32, .rope = 8, .nope = 24, .v = 32},
    {.hidden = 64, .heads = 2, .q_rank = 0, .rank = 32, .rope = 16, .nope = 16, .v = 16},
    /* MiniCPM3; Kimi-K3; no rope columns */
    {.hidden = 48, .heads = 5, .q_rank = 24, .rank = 64, .rope = 32, .nope = 8, .v = 8, .rope_style = MLAF_ROPE_HALVES},
    {.hidden = 48, .heads = 2, .q_rank = 24, .rank = 16, .rope = 8, .nope = 8, .v = 8, .rope_style = MLAF_ROPE_UNROTATED},
    {.hidden = 48, .heads = 2, .q_rank = 24, .rank = 16, .rope = 0, .nope = 8, .v = 8, .rope_style = MLAF_ROPE_UNROTATED},
    /* the challenge's */
    {.hidden = 64, .heads = 4, .q_rank = 48, .rank = 32, .rope = 16, .nope = 16, .v = 16, .rope_style = MLAF_ROPE_HALVES,
     .flags = MLAF_FORM_NO_NORMS | MLAF_FORM_ROPE_ON_READ},
};

TEST(forms_are_equal) {
  static const int steps[] = {1, 3, 1, 4, 2, 0};
  for (size_t i = 0; i < sizeof toys / sizeof *toys; i++)
    for (int filled = 0; filled <= 9; filled += 9) {
      toy t;
      toy_open(&t, toys[i]);
      double *y[MLAF_FORMS];
      for (int f = 0; f < MLAF_FORMS; f++) y[f] = run(&t, f, filled, steps);
      for (int f = 1; f < MLAF_FORMS; f++) {
        const double off = apart(y[f] + filled * t.l.hidden, y[0] + filled * t.l.hidden, 11 * t.l.hidden);
        if (!(off < 1e-12)) fail_msg("toy %zu, %d cached: %s is %g off cd", i, filled, mlaf_form_names[f], off);
      }
      for (int f = 0; f < MLAF_FORMS; f++) free(y[f]);
      toy_close(&t);
    }
}

/* A window of q tokens is q steps of one: causal, each at its own position. */
TEST(windows_are_single_steps) {
  static const int at_once[] = {7, 0}, single[] = {1, 1, 1, 1, 1, 1, 1, 0};
  toy t;
  toy_open(&t, toys[0]);
  double *a = run(&t, MLAF_FORM_ACC_ME, 5, at_once), *b = run(&t, MLAF_FORM_CC, 5, single);
  assert_true(apart(a + 5 * t.l.hidden, b + 5 * t.l.hidden, 7 * t.l.hidden) < 1e-12);
  assert_true(apart(a + 5 * t.l.hidden, b + 6 * t.l.hidden, 6 * t.l.hidden) > 0.1); /* the comparison can fail */
  free(a);
  free(b);
  toy_close(&t);
}

/* Keys turned when they are appended, and when they are read. */
TEST(turning_on_read_is_turning_before) {
  static const int steps[] = {6, 1, 0};
  toy t;
  toy_open(&t, toys[0]);
  double *before = run(&t, MLAF_FORM_ACC_ME, 0, steps);
  t.l.flags |= MLAF_FORM_ROPE_ON_READ;
  double *on_read = run(&t, MLAF_FORM_CD, 0, steps);
  assert_true(apart(on_read, before, 7 * t.l.hidden) < 1e-12);
  t.l.flags |= MLAF_FORM_BF16_TURN; /* rounding of the rotation shows, and stays small */
  double *rounded = run(&t, MLAF_FORM_CD, 0, steps);
  const double off = apart(rounded, before, 7 * t.l.hidden);
  assert_true(off > 1e-5 && off < 2e-2);
  t.l.rope_style = MLAF_ROPE_UNROTATED;
  double *none = run(&t, MLAF_FORM_CD, 0, steps);
  assert_true(apart(none, before, 7 * t.l.hidden) > 1e-2);
  free(before), free(on_read), free(rounded), free(none);
  toy_close(&t);
}

/* Queries that are scaled by their position: a layer of the scale of that position, and the four forms are one still. */
TEST(scaled_queries_are_another_scale) {
  static const int steps[] = {1, 3, 1, 2, 0};
  enum { FILLED = 9, NEW = 7, ORIGINAL = 4 };
  toy t;
  toy_open(&t, toys[0]);
  t.l.q_beta = 0.25, t.l.q_original = ORIGINAL;
  double *y[MLAF_FORMS], q[4 * 32 + 1] = {[4 * 32] = 3};
  mlaf_err err;
  assert_int_equal(t.l.heads * (t.l.nope + t.l.rope), 4 * 32);
  assert_int_equal(mlaf_form_queries(&t.l, t.x, 12, q, &err), MLAF_OK);
  assert_true(q[4 * 32] == 3); /* what lies behind them is not scaled */
  for (int f = 0; f < MLAF_FORMS; f++) y[f] = run(&t, f, FILLED, steps);
  for (int f = 1; f < MLAF_FORMS; f++)
    assert_true(apart(y[f] + FILLED * t.l.hidden, y[0] + FILLED * t.l.hidden, NEW * t.l.hidden) < 1e-12);
  mlaf_form_layer scaled = t.l;
  for (int i = FILLED; i < FILLED + NEW; i++) { /* steps at 12 and 16 */
    const double by = 1 + 0.25 * log(1 + floor(i / 4.0));
    t.l.q_beta = 0, t.l.scale = scaled.scale * by;
    double *at = run(&t, MLAF_FORM_ACC_ME, FILLED, steps);
    assert_true(apart(y[MLAF_FORM_ACC_ME] + i * t.l.hidden, at + i * t.l.hidden, t.l.hidden) < 1e-12);
    t.l.scale = scaled.scale;
    free(at);
    at = run(&t, MLAF_FORM_ACC_ME, FILLED, steps);
    assert_true(apart(y[MLAF_FORM_ACC_ME] + i * t.l.hidden, at + i * t.l.hidden, t.l.hidden) > 1e-2);
    free(at);
  }
  for (int f = 0; f < MLAF_FORMS; f++) free(y[f]);
  toy_close(&t);
}

/* Pairs and halves differ by an order of rows alone. */
TEST(styles_differ_by_an_order_of_rows) {
  static const int steps[] = {5, 0};
  toy t;
  toy_open(&t, toys[0]);
  double *pairs = run(&t, MLAF_FORM_ACC_ME, 0, steps);
  const mlaf_form_layer *l = &t.l;
  const int64_t blocks = l->heads + 1, keys = l->nope + l->rope;
  for (int64_t b = 0; b < blocks; b++) { /* each head's rope rows of q_b, then those of kv_a */
    const int64_t n = b < l->heads ? l->q_rank : l->hidden;
    uint16_t *rows = b < l->heads ? t.tensors[2] + (b * keys + l->nope) * n : t.tensors[3] + l->rank * n;
    uint16_t *was = malloc((size_t)(l->rope * n) * sizeof *was);
    memcpy(was, rows, (size_t)(l->rope * n) * sizeof *was);
    for (int i = 0; i < l->rope; i++) memcpy(rows + (i % 2 * l->rope / 2 + i / 2) * n, was + i * n, (size_t)n * sizeof *was);
    free(was);
  }
  t.l.rope_style = MLAF_ROPE_HALVES;
  double *halves = run(&t, MLAF_FORM_ACC_ME, 0, steps);
  assert_true(apart(halves, pairs, 5 * l->hidden) < 1e-12);
  free(pairs), free(halves);
  toy_close(&t);
}

/* Outputs of two ranks add up to the whole layer's. */
TEST(ranks_add_up) {
  static const int steps[] = {4, 0};
  toy t;
  toy_open(&t, toys[0]);
  double *whole = run(&t, MLAF_FORM_ACC_ME, 3, steps);
  const mlaf_form_layer all = t.l;
  uint16_t *part = malloc((size_t)(all.hidden * all.heads / 2 * all.v) * sizeof *part);
  double *sum = calloc((size_t)(7 * all.hidden), sizeof *sum);
  for (int rank = 0; rank < 2; rank++) {
    t.l.heads = all.heads / 2;
    t.l.q_b = all.q_b + rank * t.l.heads * (all.nope + all.rope) * all.q_rank;
    t.l.kv_b = all.kv_b + rank * t.l.heads * (all.nope + all.v) * all.rank;
    const int64_t n = t.l.heads * all.v;
    for (int64_t i = 0; i < all.hidden; i++) memcpy(part + i * n, all.o + i * 2 * n + rank * n, (size_t)n * sizeof *part);
    t.l.o = part;
    double *y = run(&t, MLAF_FORM_ACC_ME, 3, steps);
    for (int64_t i = 3 * all.hidden; i < 7 * all.hidden; i++) sum[i] += y[i];
    free(y);
  }
  assert_true(apart(sum + 3 * all.hidden, whole + 3 * all.hidden, 4 * all.hidden) < 1e-12);
  free(part), free(sum), free(whole);
  toy_close(&t);
}

static uint16_t b(double x) { return mlaf_bf16_encode((float)x); }

/* d 2, one head, R 2, P 2, N 1, V 1: two tokens, by hand. */
TEST(one_row_by_hand) {
  uint16_t q_b[] = {b(1), b(0), b(0), b(1), b(1), b(1)}, kv_a[] = {b(1), b(0), b(0), b(1), b(1), b(0), b(0), b(1)};
  uint16_t g[] = {b(1), b(2)}, kv_b[] = {b(1), b(0), b(0), b(1)}, o[] = {b(1), b(-1)}, x[] = {b(3), b(4), b(1), b(0)};
  const double angle = 0.5;
  const float table[] = {1, 0, (float)cos(angle), (float)sin(angle)};
  const mlaf_form_layer l = {.hidden = 2, .heads = 1, .rank = 2, .rope = 2, .nope = 1, .v = 1, .eps = 0, .scale = 0.5, .q_b = q_b,
                             .kv_a = kv_a, .kv_norm = g, .kv_b = kv_b, .o = o, .table = table, .table_rows = 2};
  double row[4], y[4];
  mlaf_err err = {0};
  mlaf_form_cache cache;
  assert_int_equal(mlaf_form_row(&l, x, 1, row, &err), MLAF_OK);
  assert_float_equal(row[0], 3 / sqrt(12.5), 1e-12); /* root of the mean square of 3 and 4; the weights are 1 and 2 */
  assert_float_equal(row[1], 8 / sqrt(12.5), 1e-12);
  assert_float_equal(row[2], 3 * cos(angle) - 4 * sin(angle), 1e-6); /* rope columns: not normed, turned */
  assert_float_equal(row[3], 4 * cos(angle) + 3 * sin(angle), 1e-6);
  assert_int_equal(mlaf_form_cache_open(&l, MLAF_FORM_ACC_ME, 2, &cache, &err), MLAF_OK);
  assert_int_equal(mlaf_form_step(&l, &cache, x, 2, false, y, &err), MLAF_OK);
  /* Token 0 sees itself: y = (v, -v), v = 8 / sqrt(12.5). Token 1 is (1, 0): latent (sqrt 2, 0), v 0, key (sqrt 2; turned
   * (1, 0)), query (1; turned (0, 1)). */
  const double v0 = 8 / sqrt(12.5), qr[] = {-sin(angle), cos(angle)};
  const double s0 = 0.5 * (3 / sqrt(12.5) + qr[0] * 3 + qr[1] * 4);
  const double s1 = 0.5 * (sqrt(2) + qr[0] * cos(angle) + qr[1] * sin(angle));
  const double p0 = 1 / (1 + exp(s1 - s0));
  assert_float_equal(y[0], v0, 1e-6);
  assert_float_equal(y[1], -v0, 1e-6);
  assert_float_equal(y[2], p0 * v0, 1e-6);
  assert_float_equal(y[3], -p0 * v0, 1e-6);
  assert_int_equal(mlaf_form_step(&l, &cache, x, 1, false, y, &err), MLAF_E_ARG);
  mlaf_form_cache_free(&cache);
}

/* The founding document's table: 81.92 kB and 0.08 MFLOP; 1.152 kB and 33.64; 1.152 kB and 0.28. */
TEST(costs_of_deepseek) {
  const mlaf_form_layer l = {.heads = 128, .rank = 512, .rope = 64, .nope = 128, .v = 128};
  static const mlaf_form_cost known[] = {{81920, 0.08192e6}, {1152, 33.63635e6}, {1152, 0.278528e6}, {1152, 0.278528e6}};
  for (int f = 0; f < MLAF_FORMS; f++) {
    assert_true(mlaf_form_costs(&l, f).bytes == known[f].bytes);
    assert_float_equal(mlaf_form_costs(&l, f).flops, known[f].flops, 50);
  }
}

TESTS(NULL, NULL)
