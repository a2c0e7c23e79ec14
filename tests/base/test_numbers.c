/* Numbers as text under a locale whose decimal point is a comma: what this library reads and writes has a point. */
#include "base/base.h"
#include "base/comma.h"
#include "cmocka_all.h"
#include "op/lengths.h"
#include "db/db.h"
#include "gen/gen.h"
#include "point.h"

static char dir[] = "/tmp/mlaf-comma-XXXXXX";

static int setup(void **state) {
  char path[128];
  if (!mkdtemp(dir) || !comma_write(dir)) return -1;
  const bool set = comma_set(dir);
  snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", dir);
  unlink(path);
  snprintf(path, sizeof path, "%s/comma", dir);
  rmdir(path);
  rmdir(dir);
  return set ? 0 : -1;
}

/* The C library prints a comma here, so that the rest proves something. */
TEST(the_locale_has_a_comma) {
  char text[16];
  snprintf(text, sizeof text, "%.2f", 0.25);
  assert_string_equal(text, "0,25");
  assert_true(strtod("0.25", NULL) == 0);
}

TEST(base_has_a_point) {
  char text[32], *end;
  mlaf_err err;
  assert_true(mlaf_strtod("0.25x", &end) == 0.25 && *end == 'x');
  assert_true(mlaf_strtod("0,25", &end) == 0 && *end == ',');
  assert_true(mlaf_strtod("0x1.8p1", NULL) == 3);
  assert_int_equal(mlaf_snprintf(text, sizeof text, "%.2f %g", 0.25, 1e-5), 10);
  assert_string_equal(text, "0.25 1e-05");
  mlaf_fail(&err, MLAF_E_ARG, "%.1f", 1.5);
  mlaf_fail_prefix(&err, MLAF_E_ARG, "%.1f", 2.5);
  assert_string_equal(err.text, "2.5: 1.5");
  mlaf_text t = MLAF_TEXT_INIT(100);
  mlaf_text_fmt(&t, "%.3f", 3.125);
  char *taken = mlaf_text_take(&t), *made = mlaf_format("%.1f", 4.5);
  assert_string_equal(taken, "3.125");
  assert_string_equal(made, "4.5");
  free(taken);
  free(made);
  const mlaf_locale outer = mlaf_locale_enter(), inner = mlaf_locale_enter();
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0.5");
  mlaf_locale_leave(inner);
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0.5");
  mlaf_locale_leave(outer);
  snprintf(text, sizeof text, "%.1f", 0.5); /* the caller's locale is as it was */
  assert_string_equal(text, "0,5");
}

TEST(lengths_round_trip) {
  static const struct {
    const char *text, *printed;
    mlaf_lengths l;
  } list[] = {
      {"equal", "equal", {MLAF_LENGTHS_EQUAL, 0, 0, 0}},
      {"uniform", "uniform", {MLAF_LENGTHS_UNIFORM, 0, 0, 1}},
      {"normal:1,0.5,7", "normal:1,0.5,7", {MLAF_LENGTHS_NORMAL, 1, 0.5, 7}},
      {"lognormal:1,0.8", "lognormal:1,0.8", {MLAF_LENGTHS_LOGNORMAL, 1, 0.8, 1}},
      {"lognormal:0.50,.25,9", "lognormal:0.5,0.25,9", {MLAF_LENGTHS_LOGNORMAL, 0.5, 0.25, 9}},
      {"normal:0.12345678,1", "normal:0.123457,1", {MLAF_LENGTHS_NORMAL, 0.123457, 1, 1}}, /* what is printed is what was read */
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_lengths l;
    char text[MLAF_LENGTHS_TEXT_MAX];
    mlaf_err err = {MLAF_OK, ""};
    if (mlaf_lengths_parse(list[i].text, &l, &err)) fail_msg("%s", err.text);
    const mlaf_lengths *w = &list[i].l;
    if (l.kind != w->kind || l.mean != w->mean || l.std != w->std || l.seed != w->seed) fail_msg("%s", list[i].text);
    mlaf_lengths_print(&l, text);
    assert_string_equal(text, list[i].printed);
  }
  static const char *const wrong[] = {"", "equal,1", "uniform,0", "uniform:1", "normal:1", "normal:0,1",
                                      "normal:nan,1", "normal:1,17", "lognormal", "lognormal:", "lognormal:1",
                                      "lognormal:1,", "lognormal:0,1", "lognormal:17,1", "lognormal:1,4.1",
                                      "lognormal:1,-1", "lognormal:1,inf", "lognormal:1,1,0", "lognormal:1,1,x",
                                      "lognormal:1,1,2 ", "log-normal:1,1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mlaf_lengths l;
    mlaf_err err = {MLAF_OK, ""};
    if (mlaf_lengths_parse(wrong[i], &l, &err) != MLAF_E_ARG) fail_msg("'%s' was taken", wrong[i]);
    assert_non_null(strstr(err.text, "lognormal:MEAN,SIGMA"));
  }
}

static int by_length(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

/* Median and quantiles of a drawn batch are the distribution's; the longest one stays a number of tokens. */
TEST(lengths_of_servers) {
  enum { N = 20000, CTX = 10000 };
  static int32_t x[N], again[N];
  const mlaf_lengths l = {MLAF_LENGTHS_LOGNORMAL, 1, 0.8, 3};
  mlaf_lengths_draw(&l, CTX, N, x);
  mlaf_lengths_draw(&l, CTX, N, again);
  assert_memory_equal(x, again, sizeof x);
  double sum = 0;
  for (int i = 0; i < N; i++) sum += x[i];
  qsort(x, N, sizeof *x, by_length);
  assert_true(fabs(sum / N / CTX - 1) < 0.03);
  assert_true(fabs(x[N / 2] / (CTX * exp(-0.32)) - 1) < 0.03);
  assert_true(fabs(x[N / 100 * 99] / (CTX * exp(0.8 * 2.326 - 0.32)) - 1) < 0.08);
  assert_true(x[0] >= 1 && x[N - 1] <= CTX * exp(0.8 * 4 - 0.32));
  const mlaf_lengths wide = {MLAF_LENGTHS_LOGNORMAL, 16, 4, 1};
  mlaf_lengths_draw(&wide, 1 << 24, N, x);
  for (int i = 0; i < N; i++) assert_in_range(x[i], 1, 80 << 24);
}

/* Tuning text as shipped: taken, and given back the same. */
TEST(tuning_text_round_trips) {
  char *path = mlaf_format("%s/tuning/gfx942.tsv", getenv("MLAF_SOURCE_DIR"));
  mlaf_db *db = NULL;
  mlaf_err err = {MLAF_OK, ""};
  void *text = NULL;
  size_t size = 0;
  if (mlaf_file_read(path, 64 << 20, &text, &size, &err)) fail_msg("%s", err.text);
  if (mlaf_db_open_text(path, text, NULL, &db, &err)) fail_msg("%s", err.text);
  mlaf_text out = MLAF_TEXT_INIT((size_t)64 << 20), again = MLAF_TEXT_INIT((size_t)64 << 20);
  assert_int_equal(mlaf_db_export(db, NULL, &out, &err), MLAF_OK);
  mlaf_db_close(db);
  if (mlaf_db_open_text("again", out.data, NULL, &db, &err)) fail_msg("%s", err.text);
  assert_int_equal(mlaf_db_export(db, NULL, &again, &err), MLAF_OK);
  mlaf_db_close(db);
  assert_string_equal(out.data, again.data);
  assert_non_null(strchr(out.data, '.'));
  mlaf_text_free(&out);
  mlaf_text_free(&again);
  free(text);
  free(path);
}

/* The generator: constants of kernel text, model times, the names of variants. */
TEST(the_generator_is_the_same) {
  mlaf_problem p = MLAF_PROBLEM_INIT;
  p.heads = 16;
  char *plain = NULL;
  for (int comma = 0; comma < 2; comma++) {
    const mlaf_locale before = mlaf_locale_enter();
    if (comma) mlaf_locale_leave(before);
    mlaf_gen *g = NULL;
    mlaf_variant *list = NULL;
    mlaf_err err = {MLAF_OK, ""};
    size_t n = 0;
    mlaf_text all = MLAF_TEXT_INIT((size_t)64 << 20);
    if (mlaf_gen_open(NULL, &g, &err) || mlaf_gen_space(g, mlaf_point_text(pt(&p)).s, "gfx942", &list, &n, &err))
      fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++)
      mlaf_text_fmt(&all, "%s %.6g %s\n", list[i].name, list[i].model_ns, list[i].rejected ? list[i].rejected : "");
    for (size_t i = 0; i < n; i += 40) {
      char *source = NULL, hash[MLAF_HASH_HEX];
      if (list[i].rejected) continue;
      if (mlaf_gen_render(g, &list[i].kernels[0], "gfx942", &source, hash, &err)) fail_msg("%s", err.text);
      mlaf_text_str(&all, source);
      free(source);
    }
    mlaf_variants_free(list, n);
    mlaf_gen_close(g);
    if (!comma) mlaf_locale_leave(before);
    char *text = mlaf_text_take(&all);
    assert_non_null(text);
    if (!comma) plain = text;
    else assert_string_equal(text, plain);
    if (comma) free(text);
  }
  free(plain);
}

TESTS(setup, NULL)
