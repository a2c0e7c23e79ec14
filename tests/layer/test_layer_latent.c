/* The graph of a layer: which launches a call has by what is chosen, which plans are made, and names of choices. */
#include "cmocka_all.h"
#include "layer/inside.h"

enum { BESIDE_MOST = 128, ABSORB_LEAST = 17, VALUES_LEAST = 9, VALUES_MOST = 40 }; /* of tuning/layer-stages.tsv, on Hopper */

static layer_shape shape(int batch, uint32_t flags) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  layer_shape s;
  mlaf_err err = {MLAF_OK, ""};
  d.batch_max = batch, d.ctx_max = 1024, d.flags |= flags;
  if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
  layer_choices_by_default(&s, "sm_90a");
  return s;
}

static void parts(layer_kind kind, int64_t tokens, int n, const layer_kind *want) {
  layer_kind got[LAYER_PARTS];
  const layer_shape s = shape(64, 0);
  assert_int_equal(layer_parts_of(&s, kind, tokens, got), n);
  assert_memory_equal(got, want, (size_t)n * sizeof *want);
}

TEST(launches_of_a_stage) {
  const layer_kind few[] = {STAGE_Q_B_APPEND, STAGE_Q_ABSORB}, one[] = {STAGE_Q_B_APPEND_ABSORB};
  const layer_kind many[] = {STAGE_Q_B, STAGE_APPEND, STAGE_Q_ABSORB}, rope[] = {STAGE_APPEND_ROPE_Q};
  parts(STAGE_Q_B_APPEND_ABSORB, 1, 2, few);
  parts(STAGE_Q_B_APPEND_ABSORB, ABSORB_LEAST - 1, 2, few);
  parts(STAGE_Q_B_APPEND_ABSORB, ABSORB_LEAST, 1, one);
  parts(STAGE_Q_B_APPEND_ABSORB, BESIDE_MOST, 1, one);
  parts(STAGE_Q_B_APPEND_ABSORB, BESIDE_MOST + 1, 3, many);
  parts(STAGE_Q_B_APPEND, BESIDE_MOST, 1, few);
  parts(STAGE_Q_B_APPEND, BESIDE_MOST + 1, 2, many);
  parts(STAGE_APPEND_ROPE_Q, 1000, 1, rope);
}

/* Each launch of each size has a plan's class, and no size has one twice. */
static void ranges(const layer_shape *s, int64_t most) {
  for (int64_t t = 1; t <= most; t++) {
    int seen = 0;
    for (int k = 0; k < LAYER_STAGES; k++) {
      if (!layer_launches(s, k, t)) continue;
      assert_true(t >= layer_rows_least(s, k) && t <= layer_rows_most(s, k));
      seen += k == STAGE_Q_B || k == STAGE_Q_B_APPEND || k == STAGE_Q_B_APPEND_ABSORB;
    }
    assert_int_equal(seen, 1);
    assert_int_equal(layer_launches(s, STAGE_Q_ABSORB, t), !layer_launches(s, STAGE_Q_B_APPEND_ABSORB, t));
  }
}

TEST(plans_that_are_made) {
  static const int batches[] = {1, ABSORB_LEAST - 1, ABSORB_LEAST, 100, 128, 129, 300};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
    layer_shape s = shape(batches[i], 0);
    ranges(&s, batches[i]);
    layer_shape_set_absorb(&s, true);
    ranges(&s, batches[i]);
    assert_int_equal(!layer_rows_most(&s, STAGE_Q_B_APPEND_ABSORB), batches[i] < ABSORB_LEAST);
    assert_int_equal(s.kinds[FORM_ABSORBED][1], STAGE_Q_B_APPEND_ABSORB);
    assert_int_equal(s.kinds[FORM_ABSORBED][2], STAGE_DECODE);
    layer_shape_set_absorb(&s, false);
    assert_int_equal(layer_rows_most(&s, STAGE_Q_B_APPEND_ABSORB), 0);
  }
}

TEST(its_problem) {
  const layer_shape s = shape(64, MLAF_LAYER_SPLIT_CACHE);
  mlaf_point p;
  mlaf_err err;
  char text[MLAF_POINT_TEXT_MAX];
  assert_int_equal(layer_point(&s, STAGE_Q_B_APPEND_ABSORB, 1, &p, &err), MLAF_OK);
  layer_point_rows(&p, 64);
  mlaf_point_print(&p, text, sizeof text);
  assert_string_equal(text, "mla_q_b:l1536,h128,n128,p64,norm,bf16,t64+mla_append:r512,split,pairs,norm+mla_q_absorb:pairs");
}

/* Hopper has a block for each head, CDNA 3 several; queries that are scaled must be in memory. */
TEST(where_it_may_be) {
  layer_shape s = shape(64, 0);
  assert_true(layer_shape_may_absorb(&s));
  layer_choices_by_default(&s, "gfx942");
  assert_true(layer_shape_may_absorb(&s));
  layer_choices_by_default(&s, "gfx90a");
  assert_false(layer_shape_may_absorb(&s));
  s.d.q_scale_beta = 0.1f, s.d.q_scale_original = 8192;
  layer_choices_by_default(&s, "sm_90a");
  assert_false(layer_shape_may_absorb(&s));
  assert_false(layer_alternative_exists(&s, ALT_Q_B_APPEND_ABSORB));
}

/* Queries are scaled behind q_b, before anything reads them, in every form. */
TEST(scaled_on_their_way) {
  static const uint32_t flags[] = {0, MLAF_LAYER_ROPE_ON_READ};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
    layer_shape s;
    mlaf_err err = {MLAF_OK, ""};
    d.flags = flags[i], d.batch_max = 300, d.prefill_tokens = 4096, d.q_scale_beta = 0.1f, d.q_scale_original = 8192;
    if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
    for (int form = 0; form < LAYER_FORMS; form++) {
      assert_true(s.kinds[form][1] == STAGE_Q_B || s.kinds[form][1] == STAGE_Q_B_APPEND);
      assert_int_equal(s.kinds[form][2], STAGE_Q_SCALE);
    }
    mlaf_point p;
    char text[MLAF_POINT_TEXT_MAX];
    assert_int_equal(layer_point(&s, STAGE_Q_SCALE, 1, &p, &err), MLAF_OK);
    layer_point_rows(&p, 64);
    mlaf_point_print(&p, text, sizeof text);
    assert_string_equal(text, "mla_q_scale:h128,n192,bf16,t64");
    assert_int_equal(layer_rows_least(&s, STAGE_Q_SCALE), 1);
    assert_int_equal(layer_rows_most(&s, STAGE_Q_SCALE), 4096);
  }
}

/* Dequantised weights: each matrix but kv_b becomes 16 bits right before its product, with many tokens alone. */
TEST(dequantised_for_many) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  layer_shape of, s;
  mlaf_err err = {MLAF_OK, ""};
  d.weights = MLAF_LAYER_E4M3FN, d.tp_size = 8, d.batch_max = 300, d.prefill_tokens = 4096;
  if (layer_shape_take(&d, true, &of, &err)) fail_msg("%s", err.text);
  assert_true(layer_has_alternative(&of));
  if (layer_alternative_shape(&of, &s, &err)) fail_msg("%s", err.text);
  const struct {
    layer_kind kind;
    int n, matrix;
    const char *made, *product;
  } list[] = {{STAGE_QKV_A, 2, 0, "mla_dequant:c7168,bf16,e4m3fn,t2112", "mla_qkv_a:d7168,l1536,r512,p64,bf16,t1"},
              {STAGE_Q_B_APPEND, 3, 3, "mla_dequant:c1536,bf16,e4m3fn,t3072", "mla_q_b:l1536,h16,n128,p64,norm,bf16,t1"},
              {STAGE_O_PROJ, 2, 4, "mla_dequant:c2048,bf16,e4m3fn,t7168", "mla_o_proj:d7168,h16,v128,bf16,t1"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    layer_kind got[LAYER_PARTS];
    char text[MLAF_POINT_TEXT_MAX];
    mlaf_point p;
    assert_int_equal(layer_parts_of(&s, list[i].kind, BESIDE_MOST, got), 1);
    assert_int_equal(got[0], list[i].kind);
    assert_int_equal(layer_parts_of(&s, list[i].kind, BESIDE_MOST + 1, got), list[i].n);
    assert_int_equal(got[0], STAGE_DEQUANT_WEIGHTS + list[i].matrix);
    assert_int_equal(got[1], STAGE_PRODUCT_16 + list[i].matrix);
    if (layer_point(&s, got[0], 1, &p, &err)) fail_msg("%s", err.text);
    mlaf_point_print(&p, text, sizeof text);
    assert_string_equal(text, list[i].made);
    if (layer_point(&s, got[1], 1, &p, &err)) fail_msg("%s", err.text);
    mlaf_point_print(&p, text, sizeof text);
    assert_string_equal(text, list[i].product);
    assert_int_equal(layer_rows_most(&s, got[0]), 1);
    assert_int_equal(layer_rows_least(&s, got[1]), BESIDE_MOST + 1);
    assert_int_equal(layer_rows_most(&s, got[1]), 4096);
  }
  assert_int_equal(layer_rows_most(&s, STAGE_QKV_A), BESIDE_MOST); /* of 8 bits */
  layer_sizes z = {.form = FORM_PREFILL, .tokens = BESIDE_MOST, .batch = 1};
  layer_places p = layer_places_of(&s, &z);
  assert_int_equal(p.scratch - p.w, 0);
  z.tokens++;
  p = layer_places_of(&s, &z);
  assert_int_equal(p.scratch - p.w, (size_t)2112 * 7168 * 2); /* the largest */
}

/* A kv_b of 8 bits becomes one of 16 ahead of all that read it, once a prefill; decode and other layers do without. */
TEST(dequantised_first) {
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
    for (int k = 0; k < s.n[FORM_PREFILL]; k++) assert_int_equal(s.kinds[FORM_PREFILL][k] == STAGE_DEQUANT_KV_B, does && !k);
    for (int k = 0; k < s.n[FORM_ABSORBED]; k++) assert_int_not_equal(s.kinds[FORM_ABSORBED][k], STAGE_DEQUANT_KV_B);
    assert_int_equal(layer_rows_most(&s, STAGE_DEQUANT_KV_B), does);
    char text[MLAF_PROBLEM_TEXT_MAX], why[256] = "";
    int listed = 0;
    for (size_t at = 0; !mlaf_layer_problem_at(&d, true, at, text, sizeof text, why, sizeof why) && *text; at++)
      if (!strncmp(text, "mla_dequant:", 12)) listed++, assert_string_equal(text, "mla_dequant:c512,bf16,e4m3fn,t4096");
    assert_int_equal(listed, does);
    const layer_sizes few = {.form = FORM_ABSORBED, .tokens = 4, .batch = 4};
    const layer_sizes many = {.form = FORM_PREFILL, .tokens = 4, .batch = 4};
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
TEST(has_an_alternative) {
  const struct {
    uint32_t flags;
    int32_t weights, batch;
    bool has;
    int dequant, wide; /* problems: mla_dequant's, and o_proj's of 16 bits */
  } list[] = {{0, MLAF_LAYER_E4M3FN, 300, true, 3, 2},
              {0, MLAF_LAYER_E4M3FN, 128, false, 0, 0},
              {MLAF_LAYER_DEQUANT_MANY, MLAF_LAYER_E4M3FN, 300, true, 3, 2}, /* says nothing any more */
              {MLAF_LAYER_DEQUANT_NEVER, MLAF_LAYER_E4M3FN, 300, false, 0, 0},
              {MLAF_LAYER_KEEP_16, MLAF_LAYER_E4M3FN, 64, true, 4, 7},
              {MLAF_LAYER_KEEP_16 | MLAF_LAYER_KV_B_16, MLAF_LAYER_E4M3FN, 64, true, 3, 7},
              {MLAF_LAYER_KEEP_16, MLAF_LAYER_WEIGHTS_16, 64, false, 0, 7}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
    layer_shape s;
    mlaf_err err = {MLAF_OK, ""};
    d.flags = list[i].flags, d.weights = list[i].weights, d.tp_size = 8, d.batch_max = list[i].batch;
    if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
    assert_int_equal(layer_has_alternative(&s), list[i].has);
    assert_int_equal(count_problems(&d, "mla_dequant:"), list[i].dequant);
    assert_int_equal(count_problems(&d, "mla_o_proj:d7168,h16,v128,bf16,t"), list[i].wide);
  }
}

/* Attention's plans are fused with the value projection where they may be. */
TEST(goes_on) {
  const struct {
    uint32_t flags;
    int tp;
    int64_t tokens;
    bool may;
  } list[] = {
      {0, 1, VALUES_LEAST, true},       {0, 1, VALUES_MOST, true},
      {0, 1, VALUES_LEAST - 1, false},  {0, 1, VALUES_MOST + 1, false},
      {0, 2, 16, false},
      {MLAF_LAYER_ROPE_ON_READ, 1, 16, false},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    layer_shape s = shape(64, list[i].flags);
    s.heads /= list[i].tp;
    layer_choices_by_default(&s, "sm_90a");
    assert_int_equal(layer_may_fuse_v_out(&s, list[i].tokens), list[i].may);
  }
  layer_shape bytes = shape(64, 0);
  bytes.d.weights = MLAF_LAYER_E4M3FN;
  layer_choices_by_default(&bytes, "sm_90a");
  assert_false(layer_may_fuse_v_out(&bytes, 16));
  bytes.d.flags |= MLAF_LAYER_KV_B_16;
  layer_choices_by_default(&bytes, "sm_90a");
  assert_true(layer_may_fuse_v_out(&bytes, 16));
}

/* Flags that only tuned are taken, and change nothing. */
TEST(deprecated_flags) {
  const uint32_t flags = MLAF_LAYER_APPEND_APART | MLAF_LAYER_ABSORB_APART | MLAF_LAYER_V_OUT_APART | MLAF_LAYER_DEQUANT_MANY;
  layer_shape plain = shape(300, 0), s = shape(300, flags);
  assert_memory_equal(&plain.choices, &s.choices, sizeof s.choices);
  assert_memory_equal(plain.kinds, s.kinds, sizeof s.kinds);
}

/* --- choices --- */

/* Every choice of every layer is a graph in which each kernel finds what it reads. */
TEST(choices_are_graphs) {
  static const uint32_t flags[] = {0, MLAF_LAYER_ROPE_ON_READ, MLAF_LAYER_NO_NORMS, MLAF_LAYER_KV_B_16};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    for (int form = 0; form < 8; form++) {
      mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
      layer_shape s;
      mlaf_err err = {MLAF_OK, ""};
      layer_choice c;
      size_t n = 0;
      d.flags = flags[i], d.batch_max = 300, d.prefill_tokens = 4096, d.weights = form & 1;
      if (form & 2) d.q_scale_beta = 0.1f, d.q_scale_original = 8192;
      if (form & 4) d.q_rank = 0;
      if (layer_shape_take(&d, !(form & 4), &s, &err)) fail_msg("%s", err.text);
      for (; layer_choice_at(&s, 64, n, &c); n++) {
        layer_shape of = s;
        layer_choices_force(&of, c);
        layer_shape_set_absorb(&of, c & 1 << ALT_Q_B_APPEND_ABSORB);
        of.dequantises = c & 1 << ALT_DEQUANT_WEIGHTS;
        for (int k = 0; k < LAYER_FORMS; k++) assert_true(layer_stages_are_bound(&of, (layer_form)k, 64));
        assert_int_equal(layer_choice_for(&of, 64), c);
      }
      assert_true(n >= 2);
    }
}

/* A graph that leaves out what another stage reads is none. */
TEST(unbound_graphs) {
  layer_shape s = shape(64, 0);
  s.kinds[FORM_ABSORBED][1] = STAGE_DECODE;
  assert_false(layer_stages_are_bound(&s, FORM_ABSORBED, 1));
  s = shape(64, 0);
  s.n[FORM_ABSORBED]--; /* no output */
  assert_false(layer_stages_are_bound(&s, FORM_ABSORBED, 1));
}

TEST(names_of_choices) {
  static const struct {
    const char *text;
    layer_choice choice;
  } list[] = {{"separate", 0},
              {"q_b+append", 1 << ALT_Q_B_APPEND},
              {"q_b+append+q_absorb", 1 << ALT_Q_B_APPEND | 1 << ALT_Q_B_APPEND_ABSORB},
              {"q_b+append,decode+v_out", 1 << ALT_Q_B_APPEND | 1 << ALT_DECODE_V_OUT}};
  const layer_shape s = shape(64, 0);
  char text[LAYER_CHOICE_TEXT_MAX], why[128];
  layer_choice c;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    layer_choice_print(list[i].choice, text);
    assert_string_equal(text, list[i].text);
    assert_true(layer_choice_parse(&s, text, &c, why, sizeof why));
    assert_int_equal(c, list[i].choice);
  }
  assert_false(layer_choice_parse(&s, "q_b+append,warp", &c, why, sizeof why));
  assert_string_equal(why, "'warp' is no alternative of this version");
  assert_false(layer_choice_parse(&s, "dequant", &c, why, sizeof why)); /* of 16 bits */
  assert_string_equal(why, "this layer cannot do 'dequant'");
  static const char *const torn[] = {"", "q_b+append,", ",q_b+append", "q_b+append,,decode+v_out"};
  for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
    assert_false(layer_choice_parse(&s, torn[i], &c, why, sizeof why));
    assert_string_equal(why, "'' is no alternative of this version");
  }
  layer_shape bytes = shape(64, 0);
  bytes.d.weights = 1;
  assert_true(layer_choice_parse(&bytes, "dequant", &c, why, sizeof why));
  assert_false(layer_choice_parse(&bytes, "q_b+append,dequant", &c, why, sizeof why));
  assert_string_equal(why, "the alternatives of 'q_b+append,dequant' exclude each other");
}

TEST(problem_of_a_choice) {
  layer_shape s = shape(64, 0);
  mlaf_point p;
  mlaf_err err;
  if (layer_choice_point(&s, 17, 4096, &p, &err)) fail_msg("%s", err.text);
  assert_string_equal(mlaf_point_text(&p).s, "mla_layer:d7168,h128,l1536,r512,p64,n128,v128,bf16,t32,s4096");
}

TESTS(NULL, NULL)
