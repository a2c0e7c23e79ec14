/* A second operation, all of it in this file: what runtime/op does for any record. */
#include "cmocka_all.h"
#include "op/numeric.h"
#include "op/calls.h"
#include "op/op.h"

enum { WIDTH, GROUPS, ORDERED, CACHE, TOKENS, BATCH };
static const char *const ordered[] = {"", "ordered"}, *const caches[] = {"bf16", "e4m3fn", "e4m3fnuz"};
static const mlaf_field fields[] = {
    {.name = "width", .label = "row width", .key = "w", .min = 8, .max = 4096, .required = true, .multiple = 8, .moot_by = -1},
    {.name = "groups", .label = "groups", .key = "g", .otherwise = 1, .min = 1, .max = 64, .multiple = 1, .moot_by = -1},
    {.name = "ordered", .label = "ordered", .words = ordered, .max = 1, .multiple = 1, .moot_by = GROUPS, .moot_at = 1},
    {.name = "cache", .label = "cache", .words = caches, .max = 2, .multiple = 1, .moot_by = -1},
    {.name = "tokens", .label = "tokens", .key = "t", .otherwise = 1, .min = 1, .max = 1 << 30, .multiple = 1, .role = MLAF_SIZE,
     .steps = 2, .first = 64, .moot_by = -1},
    {.name = "batch", .label = "batch", .key = "b", .otherwise = 1, .min = 1, .max = 65536, .multiple = 1, .role = MLAF_SIZE,
     .steps = 8, .first = 1, .also = (const int32_t[]){33, 66, 0}, .moot_by = -1},
};

/* A rule of two fields. */
static mlaf_status check(const mlaf_point *p, char *why, size_t size) {
  if (p->v[WIDTH] % p->v[GROUPS] == 0) return MLAF_OK;
  return mlaf_point_fault(why, size, "groups is %d, must divide the row width, %d", p->v[GROUPS], p->v[WIDTH]);
}

static const mlaf_op toy = {.name = "row_scale", .example = "row_scale:w512,g4,e4m3fn,t1,b16", .fields = fields,
                            .n_fields = sizeof fields / sizeof *fields, .check = check};

static mlaf_point at(const char *text) {
  mlaf_point p;
  char why[300] = "";
  if (mlaf_point_parse(&toy, text, &p, why, sizeof why)) fail_msg("%s: %s", text, why);
  return p;
}

TEST(round_trip) {
  mlaf_rng r = {7};
  for (int i = 0; i < 20000; i++) {
    mlaf_point p = {&toy, {0}}, q;
    char text[MLAF_POINT_TEXT_MAX], why[300] = "";
    for (int f = 0; f < toy.n_fields; f++) {
      const uint32_t steps = (uint32_t)((fields[f].max - fields[f].min) / fields[f].multiple) + 1;
      p.v[f] = fields[f].min + fields[f].multiple * (int32_t)mlaf_rng_below(&r, steps);
    }
    p.v[GROUPS] = 1 << mlaf_rng_below(&r, 4);
    if (mlaf_point_check(&p, why, sizeof why)) fail_msg("%s", why);
    if (p.v[GROUPS] == 1) assert_int_equal(p.v[ORDERED], 0); /* moot */
    assert_int_equal(mlaf_point_print(&p, text, sizeof text), MLAF_OK);
    if (mlaf_point_parse(&toy, text, &q, why, sizeof why)) fail_msg("%s: %s", text, why);
    assert_memory_equal(&p, &q, sizeof p);
  }
}

TEST(texts) {
  static const struct {
    const char *given, *whole, *family;
  } cases[] = {
      {"row_scale:w64", "row_scale:w64,g1,bf16,t1,b1", "row_scale:w64,g1,bf16"},
      {"row_scale:b3,ordered,e4m3fnuz,g8,w64", "row_scale:w64,g8,ordered,e4m3fnuz,t1,b3", "row_scale:w64,g8,ordered,e4m3fnuz"},
      {"row_scale:w64,ordered", "row_scale:w64,g1,bf16,t1,b1", "row_scale:w64,g1,bf16"},
      {"row_scale:w512,g4,e4m3fn,t1,b16", "row_scale:w512,g4,e4m3fn,t1,b16", "row_scale:w512,g4,e4m3fn"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mlaf_point p = at(cases[i].given);
    char text[MLAF_POINT_TEXT_MAX];
    assert_int_equal(mlaf_point_print(&p, text, sizeof text), MLAF_OK);
    assert_string_equal(text, cases[i].whole);
    assert_int_equal(mlaf_point_family(&p, text, sizeof text), MLAF_OK);
    assert_string_equal(text, cases[i].family);
    assert_int_equal(mlaf_point_print(&p, text, 12), MLAF_E_ARG); /* and still a string */
    assert_string_equal(text, "row_scale:w");
  }
}

TEST(faults) {
  static const struct {
    const char *text, *says;
  } bad[] = {
      {"row_scale:w12", "row width is 12, must be a multiple of 8 in 8..4096"},
      {"row_scale:w0", "row width is 0, must be 8..4096"},
      {"row_scale:w64,b65537", "batch is 65537, must be 1..65536"},
      {"row_scale:w64,g3", "groups is 3, must divide the row width, 64"},
      {"row_scale:g3", "row width is missing (\"w\" and a number), e.g. row_scale:w512"},
      {"row_scale:w64,fp8", "unknown or malformed field 'fp8' at character 15, e.g. row_scale:w512"},
      {"row_scale:w64,bf16,e4m3fn", "field 'e4m3fn' at character 20 is given twice"},
      {"row_scale", "does not begin with \"row_scale:\""},
      {"mla_decode:h16", "does not begin with \"row_scale:\""},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mlaf_point p;
    char why[300] = "";
    assert_int_equal(mlaf_point_parse(&toy, bad[i].text, &p, why, sizeof why), MLAF_E_PROBLEM);
    if (!strstr(why, bad[i].says)) fail_msg("'%s': '%s' does not say '%s'", bad[i].text, why, bad[i].says);
  }
  mlaf_point p = at("row_scale:w64");
  char why[300];
  p.v[CACHE] = 3;
  assert_int_equal(mlaf_point_check(&p, why, sizeof why), MLAF_E_PROBLEM);
  assert_string_equal(why, "cache is 3, must be 0 (bf16), 1 (e4m3fn) or 2 (e4m3fnuz)");
}

/* Without an operation in hand the text names it, among those that have a folder; this one has none. */
TEST(found_by_folder) {
  mlaf_point p;
  char why[300], text[MLAF_POINT_TEXT_MAX];
  assert_non_null(mlaf_ops_all[0]);
  for (int i = 0; mlaf_ops_all[i]; i++) {
    assert_int_equal(mlaf_point_parse(NULL, mlaf_ops_all[i]->example, &p, NULL, 0), MLAF_OK);
    assert_ptr_equal(p.op, mlaf_ops_all[i]);
    assert_int_equal(mlaf_point_print(&p, text, sizeof text), MLAF_OK);
    assert_string_equal(text, mlaf_ops_all[i]->example);
    assert_true(mlaf_ops_all[i]->n_fields <= MLAF_FIELDS_MAX);
  }
  assert_int_equal(mlaf_point_parse(NULL, toy.example, &p, why, sizeof why), MLAF_E_PROBLEM);
  assert_non_null(strstr(why, mlaf_ops_all[0]->name));
}

TEST(distance) {
  const mlaf_point p = at("row_scale:w64,t8,b8"), twice = at("row_scale:w64,t16,b8"), half = at("row_scale:w64,t8,b4");
  const mlaf_point both = at("row_scale:w64,t2,b32"), other = at("row_scale:w64,e4m3fn,t8,b8");
  assert_true(mlaf_point_same_shape(&p, &both) && !mlaf_point_same_shape(&p, &other));
  assert_true(mlaf_point_times_apart(&p, &p) == 1 && mlaf_point_times_apart(&p, &twice) == 2);
  assert_true(mlaf_point_times_apart(&half, &p) == 2 && mlaf_point_times_apart(&p, &both) == 16);
  /* twice and half are as far; half is the same in tokens, the first size */
  assert_true(mlaf_point_first_of_equals(&p, &half, &twice) < 0 && mlaf_point_first_of_equals(&p, &twice, &half) > 0);
  const mlaf_point less = at("row_scale:w64,t4,b8");
  assert_true(mlaf_point_first_of_equals(&p, &less, &twice) < 0); /* as near in tokens: fewer first */
  assert_int_equal(mlaf_point_first_of_equals(&p, &p, &p), 0);
  /* 0 between points that one plan serves: tokens 97 to 128 round to 128, requests 31, 32 and 33 to three values */
  const mlaf_point t128 = at("row_scale:w64,t128,b32"), t97 = at("row_scale:w64,t97,b32"), t96 = at("row_scale:w64,t96,b32");
  const mlaf_point b31 = at("row_scale:w64,t128,b31"), b33 = at("row_scale:w64,t128,b33");
  assert_true(mlaf_point_distance(&t128, &t97) == 0 && mlaf_point_distance(&t97, &t128) == 0);
  assert_true(mlaf_point_distance(&t128, &t96) == mlaf_point_doublings(&t128, &t96));
  assert_true(mlaf_point_distance(&t128, &b31) == 0 && mlaf_point_distance(&t128, &b33) > 0);
}

/* The nearest of several of one shape, as whoever looks through a list does it. */
TEST(nearest) {
  const mlaf_point list[] = {at("row_scale:w64,t1,b1"), at("row_scale:w64,t64,b1"), at("row_scale:w64,t32,b4"),
                             at("row_scale:w64,ordered,g2,t33,b3"), at("row_scale:w64,t8,b64")};
  const mlaf_point asked = at("row_scale:w64,t40,b3");
  int best = -1;
  for (int i = 0; i < 5; i++) {
    if (!mlaf_point_same_shape(&asked, &list[i])) continue;
    const double far = mlaf_point_times_apart(&asked, &list[i]), was = best < 0 ? 0 : mlaf_point_times_apart(&asked, &list[best]);
    if (best < 0 || far < was || (far == was && mlaf_point_first_of_equals(&asked, &list[i], &list[best]) < 0)) best = i;
  }
  assert_int_equal(best, 2);
}

TEST(order) {
  /* Numbers as numbers, words as the record lists them, the fields as they are printed. */
  const char *const sorted[] = {"row_scale:w64,t9,b9", "row_scale:w64,t10,b1", "row_scale:w64,t10,b2", "row_scale:w64,e4m3fn",
                                "row_scale:w64,g2,t1", "row_scale:w128"};
  for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++)
    for (size_t k = 0; k < sizeof sorted / sizeof *sorted; k++) {
      const mlaf_point a = at(sorted[i]), b = at(sorted[k]);
      const int c = mlaf_point_order(&a, &b);
      assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
    }
  mlaf_point decode;
  assert_int_equal(mlaf_point_parse(NULL, "mla_decode:h16", &decode, NULL, 0), MLAF_OK);
  const mlaf_point p = at("row_scale:w8");
  assert_true(mlaf_point_order(&decode, &p) < 0 && !mlaf_point_same_shape(&decode, &p));
}

/* Sizes that plans are made for. */
TEST(rounding) {
  static const int32_t tokens[][2] = {{1, 64}, {64, 64}, {65, 96}, {96, 96}, {97, 128}, {129, 192}, {16777216, 16777216}};
  static const int32_t batches[][2] = {{1, 1},   {15, 15}, {16, 16}, {17, 18}, {31, 32},      {33, 33},
                                       {34, 36}, {64, 64}, {65, 66}, {67, 72}, {65535, 65536}};
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
    assert_int_equal(mlaf_field_round(&fields[TOKENS], tokens[i][0]), tokens[i][1]);
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
    assert_int_equal(mlaf_field_round(&fields[BATCH], batches[i][0]), batches[i][1]);
}

/* Facts that no room asks about: every operation says them. */
TEST(every_operation_is_whole) {
  for (int i = 0; mlaf_ops_all[i]; i++) {
    const mlaf_op *op = mlaf_ops_all[i];
    const mlaf_calls *c = op->calls;
    mlaf_point p;
    bool sizes = false;
    assert_true(op->name && op->example && op->stages[0] && op->n_fields <= MLAF_FIELDS_MAX);
    assert_int_equal(mlaf_point_parse(op, op->example, &p, NULL, 0), MLAF_OK);
    for (int k = 0; k < op->n_fields; k++) { /* lists of choices are cut before the sizes */
      assert_false(sizes && op->fields[k].role == MLAF_SHAPE);
      sizes = op->fields[k].role == MLAF_SIZE;
    }
    assert_true(c->args_name && c->args_init && c->args_size <= MLAF_ARGS_MAX && c->args_first <= c->args_size);
    assert_true(c->parameter_bytes && c->check_stages && c->check_args && c->rows && c->rows_of && c->prepare);
    assert_true(c->work && c->bound && c->error_about && c->n_cases > 0 && c->make_case && c->free_case && c->case_buffers);
    assert_true(c->compare && c->same && c->data_open && c->data_close && c->data_args && c->data_check && c->data_error);
    assert_true(c->data_row && c->work(&p).bytes > 0);
    /* One that must be equal to the bit says that, too. */
    assert_true(c->bound(&p) > 0 || (c->bound(&p) == 0 && !strncmp(c->error_about, "0: ", 3)));
    assert_true(!c->workspace == !c->workspace_at && !c->workspace == !c->workspace_size_at);
  }
}

TEST(no_operation_runs_without_its_kernel) {
  for (int i = 0; mlaf_ops_all[i]; i++) {
    mlaf_bound b = {.knob = 1, .stage = {{.threads = 64, .rows_per_wg = 1}}};
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(mlaf_point_parse(mlaf_ops_all[i], mlaf_ops_all[i]->example, &b.point, NULL, 0), MLAF_OK);
    assert_int_equal(mlaf_ops_all[i]->calls->check_stages(&b, &err), MLAF_E_ARG);
    if (strncmp(err.text, "no ", 3) || !strstr(err.text, "kernel")) fail_msg("%s: %s", mlaf_ops_all[i]->name, err.text);
  }
}

TESTS(NULL, NULL)
