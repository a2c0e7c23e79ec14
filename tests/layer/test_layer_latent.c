/* A layer whose queries go on into the latent space in q_b's launch: which launches a call has, and which plans are made. */
#include <string.h>

#include "cmocka_all.h"
#include "layer/inside.h"

static layer_shape shape(int batch, uint32_t flags) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  layer_shape s;
  mlaf_err err = {MLAF_OK, ""};
  d.batch_max = batch, d.ctx_max = 1024, d.flags |= flags;
  if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
  return s;
}

static void parts(layer_kind kind, int64_t tokens, int n, const layer_kind *want) {
  layer_kind got[LAYER_PARTS];
  static const layer_shape s;
  assert_int_equal(layer_parts_of(&s, kind, tokens, got), n);
  assert_memory_equal(got, want, (size_t)n * sizeof *want);
}

static void launches_of_a_stage(void **state) {
  const layer_kind few[] = {LAYER_BESIDE, LAYER_ABSORB}, one[] = {LAYER_LATENT}, many[] = {LAYER_Q_B, LAYER_APPEND, LAYER_ABSORB};
  const layer_kind turn[] = {LAYER_TURN};
  parts(LAYER_LATENT, 1, 2, few);
  parts(LAYER_LATENT, LAYER_LATENT_LEAST - 1, 2, few);
  parts(LAYER_LATENT, LAYER_LATENT_LEAST, 1, one);
  parts(LAYER_LATENT, LAYER_BESIDE_MOST, 1, one);
  parts(LAYER_LATENT, LAYER_BESIDE_MOST + 1, 3, many);
  parts(LAYER_BESIDE, LAYER_BESIDE_MOST, 1, few);
  parts(LAYER_BESIDE, LAYER_BESIDE_MOST + 1, 2, many);
  parts(LAYER_TURN, 1000, 1, turn);
}

/* Each launch of each size has a plan's class, and no size has one twice. */
static void ranges(const layer_shape *s, int64_t most) {
  for (int64_t t = 1; t <= most; t++) {
    int seen = 0;
    for (int k = 0; k < LAYER_KINDS; k++) {
      if (!layer_launches(s, k, t)) continue;
      assert_true(t >= layer_rows_least(s, k) && t <= layer_rows_most(s, k));
      seen += k == LAYER_Q_B || k == LAYER_BESIDE || k == LAYER_LATENT;
    }
    assert_int_equal(seen, 1);
    assert_int_equal(layer_launches(s, LAYER_ABSORB, t), !layer_launches(s, LAYER_LATENT, t));
  }
}

static void plans_that_are_made(void **state) {
  static const int batches[] = {1, LAYER_LATENT_LEAST - 1, LAYER_LATENT_LEAST, 100, 128, 129, 300};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
    layer_shape s = shape(batches[i], 0);
    ranges(&s, batches[i]);
    layer_shape_set_latent(&s, true);
    ranges(&s, batches[i]);
    assert_int_equal(!layer_rows_most(&s, LAYER_LATENT), batches[i] < LAYER_LATENT_LEAST);
    assert_int_equal(s.kinds[LAYER_FEW][1], LAYER_LATENT);
    assert_int_equal(s.kinds[LAYER_FEW][2], LAYER_DECODE);
    layer_shape_set_latent(&s, false);
    assert_int_equal(layer_rows_most(&s, LAYER_LATENT), 0);
  }
}

static void its_problem(void **state) {
  const layer_shape s = shape(64, MLAF_LAYER_SPLIT_CACHE);
  mlaf_point p;
  mlaf_err err;
  char text[MLAF_POINT_TEXT_MAX];
  assert_int_equal(layer_point(&s, LAYER_LATENT, 1, &p, &err), MLAF_OK);
  layer_point_rows(&p, 64);
  mlaf_point_print(&p, text, sizeof text);
  assert_string_equal(text, "mla_q_b:l1536,h128,n128,p64,norm,bf16,append_split,r512,append_norm,absorb_pairs,t64");
}

/* On Hopper with a block for each head; queries that are scaled must lie somewhere. */
static void where_it_may_be(void **state) {
  layer_shape s = shape(64, 0);
  assert_true(layer_shape_may_join(&s, "sm_90a"));
  assert_false(layer_shape_may_join(&s, "gfx942"));
  s.d.q_scale_beta = 0.1f, s.d.q_scale_original = 8192;
  assert_false(layer_shape_may_join(&s, "sm_90a"));
}

/* Queries are scaled behind q_b, before anything reads them, in every form. */
static void scaled_on_their_way(void **state) {
  static const uint32_t flags[] = {0, MLAF_LAYER_APPEND_APART, MLAF_LAYER_ROPE_ON_READ};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
    layer_shape s;
    mlaf_err err = {MLAF_OK, ""};
    d.flags = flags[i], d.batch_max = 300, d.prefill_tokens = 4096, d.q_scale_beta = 0.1f, d.q_scale_original = 8192;
    if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
    for (int form = 0; form < LAYER_FORMS; form++) {
      assert_true(s.kinds[form][1] == LAYER_Q_B || s.kinds[form][1] == LAYER_BESIDE);
      assert_int_equal(s.kinds[form][2], LAYER_SCALE);
    }
    mlaf_point p;
    char text[MLAF_POINT_TEXT_MAX];
    assert_int_equal(layer_point(&s, LAYER_SCALE, 1, &p, &err), MLAF_OK);
    layer_point_rows(&p, 64);
    mlaf_point_print(&p, text, sizeof text);
    assert_string_equal(text, "mla_q_scale:h128,n192,bf16,t64");
    assert_int_equal(layer_rows_least(&s, LAYER_SCALE), 1);
    assert_int_equal(layer_rows_most(&s, LAYER_SCALE), 4096);
  }
}

/* With MLAF_LAYER_DEQUANT_MANY each matrix but kv_b becomes one of 16 bits right before its product, of many tokens alone. */
static void dequantised_for_many(void **state) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  layer_shape s;
  mlaf_err err = {MLAF_OK, ""};
  d.flags = MLAF_LAYER_DEQUANT_MANY, d.weights = MLAF_LAYER_E4M3FN, d.tp_size = 8, d.batch_max = 300, d.prefill_tokens = 4096;
  if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
  const struct {
    layer_kind kind;
    int n, matrix;
    const char *made, *product;
  } list[] = {{LAYER_QKV_A, 2, 0, "mla_dequant:c7168,bf16,e4m3fn,t2112", "mla_qkv_a:d7168,l1536,r512,p64,bf16,t1"},
              {LAYER_BESIDE, 3, 3, "mla_dequant:c1536,bf16,e4m3fn,t3072", "mla_q_b:l1536,h16,n128,p64,norm,bf16,t1"},
              {LAYER_O_PROJ, 2, 4, "mla_dequant:c2048,bf16,e4m3fn,t7168", "mla_o_proj:d7168,h16,v128,bf16,t1"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    layer_kind got[LAYER_PARTS];
    char text[MLAF_POINT_TEXT_MAX];
    mlaf_point p;
    assert_int_equal(layer_parts_of(&s, list[i].kind, LAYER_BESIDE_MOST, got), 1);
    assert_int_equal(got[0], list[i].kind);
    assert_int_equal(layer_parts_of(&s, list[i].kind, LAYER_BESIDE_MOST + 1, got), list[i].n);
    assert_int_equal(got[0], LAYER_TO_16 + list[i].matrix);
    assert_int_equal(got[1], LAYER_BY_16 + list[i].matrix);
    if (layer_point(&s, got[0], 1, &p, &err)) fail_msg("%s", err.text);
    mlaf_point_print(&p, text, sizeof text);
    assert_string_equal(text, list[i].made);
    if (layer_point(&s, got[1], 1, &p, &err)) fail_msg("%s", err.text);
    mlaf_point_print(&p, text, sizeof text);
    assert_string_equal(text, list[i].product);
    assert_int_equal(layer_rows_most(&s, got[0]), 1);
    assert_int_equal(layer_rows_least(&s, got[1]), LAYER_BESIDE_MOST + 1);
    assert_int_equal(layer_rows_most(&s, got[1]), 4096);
  }
  assert_int_equal(layer_rows_most(&s, LAYER_QKV_A), LAYER_BESIDE_MOST); /* of 8 bits */
  layer_sizes z = {.form = LAYER_MANY, .tokens = LAYER_BESIDE_MOST, .batch = 1};
  layer_places p = layer_places_of(&s, &z);
  assert_int_equal(p.scratch - p.w, 0);
  z.tokens++;
  p = layer_places_of(&s, &z);
  assert_int_equal(p.scratch - p.w, (size_t)2112 * 7168 * 2); /* the largest */
}

/* A kv_b of 8 bits becomes one of 16 ahead of all that read it, once a prefill; decode and other layers do without. */
static void dequantised_first(void **state) {
  static const uint32_t flags[] = {0, MLAF_LAYER_ROPE_ON_READ, MLAF_LAYER_KV_B_16};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
    layer_shape s;
    mlaf_err err = {MLAF_OK, ""};
    const bool does = !(flags[i] & MLAF_LAYER_KV_B_16);
    d.flags = flags[i] | MLAF_LAYER_DEQUANT_NEVER, d.weights = MLAF_LAYER_E4M3FN, d.tp_size = 8, d.batch_max = 300;
    d.prefill_tokens = 4096;
    d.q_scale_beta = 0.1f, d.q_scale_original = 8192;
    if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
    for (int k = 0; k < s.n[LAYER_MANY]; k++) assert_int_equal(s.kinds[LAYER_MANY][k] == LAYER_DEQUANT, does && !k);
    for (int k = 0; k < s.n[LAYER_FEW]; k++) assert_int_not_equal(s.kinds[LAYER_FEW][k], LAYER_DEQUANT);
    assert_int_equal(layer_rows_most(&s, LAYER_DEQUANT), does);
    char text[MLAF_PROBLEM_TEXT_MAX], why[256] = "";
    int listed = 0;
    for (size_t at = 0; !mlaf_layer_problem_at(&d, true, at, text, sizeof text, why, sizeof why) && *text; at++)
      if (!strncmp(text, "mla_dequant:", 12)) listed++, assert_string_equal(text, "mla_dequant:c512,bf16,e4m3fn,t4096");
    assert_int_equal(listed, does);
    const layer_sizes few = {.form = LAYER_FEW, .tokens = 4, .batch = 4}, many = {.form = LAYER_MANY, .tokens = 4, .batch = 4};
    const layer_places a = layer_places_of(&s, &few), b = layer_places_of(&s, &many);
    assert_int_equal(a.kv - a.kv_b, 0);
    assert_int_equal(b.kv - b.kv_b, does ? (size_t)4096 * 512 * 2 : 0);
  }
}

static int count_problems(const mlaf_layer_desc *d, const char *begin) {
  char text[MLAF_PROBLEM_TEXT_MAX];
  int n = 0;
  for (size_t at = 0; !mlaf_layer_problem_at(d, true, at, text, sizeof text, NULL, 0) && *text; at++)
    n += !strncmp(text, begin, strlen(begin));
  return n;
}

/* A layer of 8 bits whose calls may have many tokens has an alternative by 16 bits, unless it is told which one to take. A bundle
 * for it holds both. */
static void has_an_alternative(void **state) {
  const struct {
    uint32_t flags;
    int32_t weights, batch;
    bool has;
    int dequant, wide; /* problems: mla_dequant's, and o_proj's of 16 bits */
  } list[] = {{0, MLAF_LAYER_E4M3FN, 300, true, 3, 2},
              {0, MLAF_LAYER_E4M3FN, 128, false, 0, 0},
              {MLAF_LAYER_DEQUANT_MANY, MLAF_LAYER_E4M3FN, 300, false, 3, 2},
              {MLAF_LAYER_DEQUANT_NEVER, MLAF_LAYER_E4M3FN, 300, false, 0, 0},
              {MLAF_LAYER_KEEP_16, MLAF_LAYER_E4M3FN, 64, true, 4, 7},
              {MLAF_LAYER_KEEP_16 | MLAF_LAYER_KV_B_16, MLAF_LAYER_E4M3FN, 64, true, 3, 7},
              {MLAF_LAYER_KEEP_16, MLAF_LAYER_WEIGHTS_16, 64, false, 0, 7}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_layer_desc d = MLAF_LAYER_DESC_INIT, other;
    layer_shape s;
    mlaf_err err = {MLAF_OK, ""};
    d.flags = list[i].flags, d.weights = list[i].weights, d.tp_size = 8, d.batch_max = list[i].batch;
    if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
    assert_int_equal(layer_alternative_desc(&s, &other), list[i].has);
    assert_int_equal(count_problems(&d, "mla_dequant:"), list[i].dequant);
    assert_int_equal(count_problems(&d, "mla_o_proj:d7168,h16,v128,bf16,t"), list[i].wide);
  }
}

/* Where attention's plans may go on into values. */
static void goes_on(void **state) {
  const struct {
    uint32_t flags;
    int tp;
    int64_t tokens;
    bool may;
  } list[] = {
      {0, 1, LAYER_VALUES_LEAST, true},       {0, 1, LAYER_VALUES_MOST, true},
      {0, 1, LAYER_VALUES_LEAST - 1, false},  {0, 1, LAYER_VALUES_MOST + 1, false},
      {MLAF_LAYER_V_OUT_APART, 1, 16, false}, {0, 2, 16, false},
      {MLAF_LAYER_ROPE_ON_READ, 1, 16, false},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    layer_shape s = shape(64, list[i].flags);
    s.heads /= list[i].tp;
    assert_int_equal(layer_may_go_on(&s, list[i].tokens), list[i].may);
  }
  layer_shape bytes = shape(64, 0);
  bytes.d.weights = MLAF_LAYER_E4M3FN;
  assert_false(layer_may_go_on(&bytes, 16));
  bytes.d.flags |= MLAF_LAYER_KV_B_16;
  assert_true(layer_may_go_on(&bytes, 16));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_of_a_stage),
      cmocka_unit_test(plans_that_are_made),
      cmocka_unit_test(its_problem),
      cmocka_unit_test(where_it_may_be),
      cmocka_unit_test(scaled_on_their_way),
      cmocka_unit_test(dequantised_first), cmocka_unit_test(has_an_alternative),
      cmocka_unit_test(dequantised_for_many),
      cmocka_unit_test(goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
