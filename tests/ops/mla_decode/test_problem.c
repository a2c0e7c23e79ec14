/* Problem grammar: round trips, and every bad field with its message. */
#include "cmocka_all.h"
#include "op/numeric.h"
#include "half.h"
#include "ops/mla_decode/fields.h"
#include "mlaforge/mlaforge.h"
#include "point.h"

static mlaf_problem random_problem(mlaf_rng *r) {
  mlaf_problem p = MLAF_PROBLEM_INIT;
  p.heads = 1 + (int32_t)mlaf_rng_below(r, MLA_DECODE_HEADS_MAX);
  p.rank = 32 * (1 + (int32_t)mlaf_rng_below(r, 16));
  p.rope = 32 * (int32_t)mlaf_rng_below(r, 3);
  p.q_len = 1 + (int32_t)mlaf_rng_below(r, 8);
  p.causal = (int32_t)mlaf_rng_below(r, 2);
  p.dtype = (int32_t)mlaf_rng_below(r, MLAF_DTYPE_COUNT);
  p.rotate = (int32_t)mlaf_rng_below(r, 3);
  p.cache = p.rotate ? 0 : (int32_t)mlaf_rng_below(r, 5);
  p.page_size = 1 + (int32_t)mlaf_rng_below(r, 65536);
  p.batch = 1 + (int32_t)mlaf_rng_below(r, 65536);
  p.ctx = 1 + (int32_t)mlaf_rng_below(r, 16777216);
  return p;
}

TEST(round_trip) {
  mlaf_rng r = {42};
  for (int i = 0; i < 100000; i++) {
    mlaf_problem p = random_problem(&r), q;
    char text[MLAF_PROBLEM_TEXT_MAX], again[MLAF_PROBLEM_TEXT_MAX], why[200] = "";
    assert_int_equal(mlaf_problem_check(&p, why, sizeof why), MLAF_OK);
    assert_int_equal(mlaf_problem_print(&p, text, sizeof text), MLAF_OK);
    if (mlaf_problem_parse(text, &q, why, sizeof why)) fail_msg("%s: %s", text, why);
    assert_memory_equal(&p, &q, sizeof p);
    mlaf_problem_print(&q, again, sizeof again);
    assert_string_equal(text, again);
  }
}

/* Fields in any order mean the same. */
TEST(order_does_not_matter) {
  mlaf_rng r = {43};
  for (int i = 0; i < 2000; i++) {
    mlaf_problem p = random_problem(&r), q;
    char words[11][24], text[400] = "mla_decode:";
    mlaf_problem_check(&p, NULL, 0);
    int n = 0;
    snprintf(words[n++], 24, "h%d", p.heads);
    snprintf(words[n++], 24, "r%d", p.rank);
    snprintf(words[n++], 24, "p%d", p.rope);
    snprintf(words[n++], 24, "q%d", p.q_len);
    if (p.causal) snprintf(words[n++], 24, "causal");
    snprintf(words[n++], 24, "%s", p.dtype ? "f16" : "bf16");
    if (p.rotate) snprintf(words[n++], 24, "%s", p.rotate == MLAF_ROTATE_PAIRS ? "rope_pairs" : "rope_halves");
    static const char *const caches[] = {"", "e4m3fn", "e4m3fnuz", "fp8_ds_mla", "fp8_v4", "kpe16", "fp8_scales", "fp8_planar",
                                         "fp8_planar_fnuz"};
    if (p.cache) snprintf(words[n++], 24, "%s", caches[p.cache]);
    snprintf(words[n++], 24, "page%d", p.page_size);
    snprintf(words[n++], 24, "b%d", p.batch);
    snprintf(words[n++], 24, "s%d", p.ctx);
    while (n) {
      int pick = (int)mlaf_rng_below(&r, (uint32_t)n);
      if (text[11]) strcat(text, ",");
      strcat(text, words[pick]);
      memmove(words[pick], words[--n], 24);
    }
    assert_int_equal(mlaf_problem_parse(text, &q, NULL, 0), MLAF_OK);
    assert_memory_equal(&p, &q, sizeof p);
  }
}

TEST(canonical_form) {
  mlaf_problem p;
  char text[MLAF_PROBLEM_TEXT_MAX];
  assert_int_equal(mlaf_problem_parse("mla_decode:h16", &p, NULL, 0), MLAF_OK);
  mlaf_problem_print(&p, text, sizeof text);
  assert_string_equal(text, "mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024");
  /* One query token sees everything either way. */
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,causal", &p, NULL, 0), MLAF_OK);
  assert_int_equal(p.causal, 0);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,causal,q2,f16", &p, NULL, 0), MLAF_OK);
  mlaf_problem_print(&p, text, sizeof text);
  assert_string_equal(text, "mla_decode:h16,r512,p64,q2,causal,f16,page64,b1,s1024");
  /* Too small a buffer is an error and still a string. */
  char small[8] = "xxxxxxx";
  assert_int_equal(mlaf_problem_print(&p, small, sizeof small), MLAF_E_ARG);
  assert_string_equal(small, "mla_dec");
  assert_int_equal(mlaf_problem_print(&p, NULL, 0), MLAF_E_ARG);
}

TEST(bad_strings) {
  static const struct {
    const char *text, *says;
  } bad[] = {
      {"", "does not begin with"},
      {"mla_decode", "does not begin with"},
      {"mla_prefill:h16", "does not begin with"},
      {"mla_decode:", "malformed field ''"},
      {"mla_decode:r512", "heads is missing"},
      {"mla_decode:h0", "heads is 0, must be " MLA_DECODE_HEADS_RANGE},
      {"mla_decode:h16,r100", "kv_lora_rank is 100, must be a multiple of 32"},
      {"mla_decode:h16,r0", "kv_lora_rank is 0"},
      {"mla_decode:h16,r544", "kv_lora_rank is 544, must be 32..512"},
      {"mla_decode:h16,p16", "rope dim is 16, must be a multiple of 32"},
      {"mla_decode:h16,p96", "rope dim is 96, must be 0..64"},
      {"mla_decode:h16,q0", "q_len is 0, must be 1..16"},
      {"mla_decode:h16,q17", "q_len is 17, must be 1..16"},
      {"mla_decode:h16,page0", "page_size is 0, must be 1..65536"},
      {"mla_decode:h16,page65537", "page_size is 65537"},
      {"mla_decode:h16,rope_pairs,e4m3fn", "cache is e4m3fn and rope on read is rope_pairs: keys of an 8-bit cache are rotated"},
      {"mla_decode:h16,fp8_ds_mla,rope_halves", "cache is fp8_ds_mla and rope on read is rope_halves: keys of an 8-bit cache"},
      {"mla_decode:h16,fp8_q", "Q is fp8_q and cache is none: queries of 8 bits have the cache's encoding"},
      {"mla_decode:h16,fp8_ds_mla,fp8_q", "Q is fp8_q and cache is fp8_ds_mla: queries of 8 bits have the cache's encoding"},
      {"mla_decode:h16,b0", "batch is 0, must be 1..65536"},
      {"mla_decode:h16,s0", "ctx is 0, must be 1..16777216"},
      {"mla_decode:h16,s16777217", "ctx is 16777217"},
      {"mla_decode:h16,fp8_v", "unknown or malformed field 'fp8_v' at character 16"},
      {"mla_decode:h16,fp8", "unknown or malformed field 'fp8' at character 16"},
      {"mla_decode:h16,x5", "unknown or malformed field 'x5'"},
      {"mla_decode:h-1", "unknown or malformed field 'h-1'"},
      {"mla_decode:h+1", "malformed field 'h+1'"},
      {"mla_decode:h 1", "malformed field 'h 1'"},
      {"mla_decode:h016", "malformed field 'h016'"},
      {"mla_decode:h", "malformed field 'h'"},
      {"mla_decode:h99999999999", "malformed field"},
      {"mla_decode:h4294967312", "malformed field"},
      {"mla_decode:h16,", "malformed field '' at character 16"},
      {"mla_decode:h16,,b1", "malformed field '' at character 16"},
      {"mla_decode:h16,h16", "field 'h16' at character 16 is given twice"},
      {"mla_decode:h16,bf16,f16", "field 'f16' at character 21 is given twice"},
      {"mla_decode:h16,causal,causal", "given twice"},
      {"mla_decode:h16 ", "malformed field 'h16 '"},
      {" mla_decode:h16", "does not begin with"},
      {"mla_decode:H16", "malformed field 'H16'"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mlaf_problem p, untouched;
    char why[300] = "";
    memset(&p, 0x77, sizeof p);
    untouched = p;
    mlaf_status st = mlaf_problem_parse(bad[i].text, &p, why, sizeof why);
    if (st != MLAF_E_PROBLEM || !strstr(why, bad[i].says))
      fail_msg("'%s': %d '%s' does not say '%s'", bad[i].text, st, why, bad[i].says);
    assert_memory_equal(&p, &untouched, sizeof p);
    assert_int_equal(mlaf_problem_parse(bad[i].text, &p, NULL, 0), MLAF_E_PROBLEM);
    char tiny[4];
    assert_int_equal(mlaf_problem_parse(bad[i].text, &p, tiny, sizeof tiny), MLAF_E_PROBLEM);
    assert_true(strlen(tiny) < sizeof tiny);
  }
  assert_int_equal(mlaf_problem_parse(NULL, NULL, NULL, 0), MLAF_E_ARG);
  assert_int_equal(mlaf_problem_check(NULL, NULL, 0), MLAF_E_ARG);
}

/* The edges of gen/ops/mla_decode/fields.lua are taken, one step beyond them is not. */
TEST(limits) {
  for (int i = 0; i < mlaf_op_mla_decode.n_fields; i++) {
    const mlaf_field *f = &mlaf_op_mla_decode.fields[i];
    const int64_t least = f->min, most = f->max, step = f->multiple;
    const int64_t values[] = {least, most, most + step, least - step};
    for (int k = 0; f->key && k < 4 && values[k] >= 0; k++) {
      char text[100], why[300] = "", says[100];
      mlaf_problem p;
      const char *given = i ? "h16," : "";
      snprintf(text, sizeof text, "mla_decode:%s%s%lld", given, f->key, (long long)values[k]);
      snprintf(says, sizeof says, "%s is %lld, must be", f->label, (long long)values[k]);
      mlaf_status st = mlaf_problem_parse(text, &p, why, sizeof why);
      if (st != (k < 2 ? MLAF_OK : MLAF_E_PROBLEM) || (k > 1 && !strstr(why, says))) fail_msg("%s: %d '%s'", text, st, why);
    }
  }
}

/* Defaults of the struct are those of the grammar; and each member is its field. */
TEST(typed_face) {
  mlaf_problem p, usual = MLAF_PROBLEM_INIT;
  mlaf_point at;
  assert_int_equal(mlaf_problem_parse("mla_decode:h16", &p, NULL, 0), MLAF_OK);
  assert_memory_equal(&p, &usual, sizeof p);
  p = (mlaf_problem){sizeof p, .heads = 1, .rank = 2, .rope = 3, .q_len = 4, .causal = 5, .dtype = 6, .rotate = 7, .cache = 8,
                     .fp8_q = 9, .q_parts = 10, .page_size = 11, .batch = 12, .ctx = 13};
  mlaf_problem_point(&p, &at);
  for (int i = 0; i < MLA_DECODE_FIELDS; i++) assert_int_equal(at.v[i], i + 1);
  assert_string_equal(at.op->fields[MLA_DECODE_PAGE_SIZE].name, "page_size");
  assert_int_equal(at.v[MLA_DECODE_PAGE_SIZE], p.page_size);
  usual = mlaf_problem_of(&at);
  assert_memory_equal(&p, &usual, sizeof p);
}

/* A caller of an earlier header, whose struct ended before `rotate`: what lies behind it is neither read nor written. */
TEST(older_callers) {
  struct {
    mlaf_problem p;
  } old = {MLAF_PROBLEM_INIT};
  char text[MLAF_PROBLEM_TEXT_MAX], why[200] = "";
  mlaf_problem whole;
  old.p.struct_size = offsetof(mlaf_problem, rotate);
  old.p.rotate = 77;
  assert_int_equal(mlaf_problem_check(&old.p, why, sizeof why), MLAF_OK);
  assert_int_equal(old.p.rotate, 77);
  assert_int_equal(mlaf_problem_print(&old.p, text, sizeof text), MLAF_OK);
  assert_string_equal(text, "mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024");
  assert_int_equal(mlaf_problem_take(&old.p, &whole, why, sizeof why), MLAF_OK);
  assert_int_equal(whole.rotate, MLAF_ROTATE_NONE);
  assert_int_equal(whole.cache, MLAF_KV_16);
  old.p.struct_size = offsetof(mlaf_problem, cache);
  old.p.rotate = MLAF_ROTATE_PAIRS;
  old.p.cache = 77;
  assert_int_equal(mlaf_problem_take(&old.p, &whole, why, sizeof why), MLAF_OK);
  assert_int_equal(whole.rotate, MLAF_ROTATE_PAIRS);
  assert_int_equal(whole.cache, MLAF_KV_16);
  old.p.struct_size = offsetof(mlaf_problem, fp8_q);
  old.p = (mlaf_problem){old.p.struct_size, 16, 512, 64, 1, 0, MLAF_BF16, 64, 1, 1024, 0, MLAF_KV_E4M3FN, 77, 0};
  assert_int_equal(mlaf_problem_take(&old.p, &whole, why, sizeof why), MLAF_OK);
  assert_true(whole.cache == MLAF_KV_E4M3FN && whole.fp8_q == 0);
  old.p.struct_size = offsetof(mlaf_problem, rotate) - 1;
  assert_int_equal(mlaf_problem_check(&old.p, why, sizeof why), MLAF_E_PROBLEM);
}

/* Which columns turn together is one word; where there are none it says nothing. */
TEST(rotation_on_read) {
  mlaf_problem p;
  char text[MLAF_PROBLEM_TEXT_MAX], why[200] = "";
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,rope_halves,f16", &p, NULL, 0), MLAF_OK);
  assert_int_equal(p.rotate, MLAF_ROTATE_HALVES);
  mlaf_problem_print(&p, text, sizeof text);
  assert_string_equal(text, "mla_decode:h16,r512,p64,q1,f16,rope_halves,page64,b1,s1024");
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,rope_neox,f16", &p, NULL, 0), MLAF_OK); /* vLLM's words */
  assert_int_equal(p.rotate, MLAF_ROTATE_HALVES);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,rope_gptj", &p, NULL, 0), MLAF_OK);
  assert_int_equal(p.rotate, MLAF_ROTATE_PAIRS);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,rope_halves,rope_neox", &p, why, sizeof why), MLAF_E_PROBLEM);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,xrope_neox", &p, why, sizeof why), MLAF_E_PROBLEM);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,neox", &p, why, sizeof why), MLAF_E_PROBLEM);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,p0,rope_pairs", &p, NULL, 0), MLAF_OK);
  assert_int_equal(p.rotate, MLAF_ROTATE_NONE);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,rope_pairs,rope_halves", &p, why, sizeof why), MLAF_E_PROBLEM);
}

/* Words of 8-bit caches, and what is no cache that is read. */
TEST(caches) {
  static const struct {
    const char *word;
    mlaf_kv_format number;
  } words[] = {{"e4m3fn", MLAF_KV_E4M3FN},
               {"e4m3fnuz", MLAF_KV_E4M3FNUZ},
               {"fp8_v4", MLAF_KV_FP8_V4},
               {"kpe16", MLAF_KV_KPE16},
               {"fp8_scales", MLAF_KV_FP8_SCALES},
               {"fp8_planar", MLAF_KV_FP8_PLANAR},
               {"fp8_planar_fnuz", MLAF_KV_FP8_PLANAR_FNUZ},
               {"fp8_ds_mla", MLAF_KV_FP8_DS_MLA}};
  mlaf_problem p;
  char text[MLAF_PROBLEM_TEXT_MAX], given[80], why[200] = "";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    snprintf(given, sizeof given, "mla_decode:%s,h16,f16", words[i].word);
    assert_int_equal(mlaf_problem_parse(given, &p, NULL, 0), MLAF_OK);
    assert_int_equal(p.cache, words[i].number);
    mlaf_problem_print(&p, text, sizeof text);
    snprintf(given, sizeof given, "mla_decode:h16,r512,p64,q1,f16,%s,page64,b1,s1024", words[i].word);
    assert_string_equal(text, given);
    assert_string_equal(mlaf_decode_format(&p, false)->name, words[i].word);
  }
  assert_int_equal(mlaf_decode_row(&p, false), 656);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,e4m3fn", &p, NULL, 0), MLAF_OK);
  assert_int_equal(mlaf_decode_row(&p, false), 576);
  assert_int_equal(mlaf_problem_parse("mla_decode:h16", &p, NULL, 0), MLAF_OK);
  assert_int_equal(mlaf_decode_row(&p, false), 576); /* elements */
  assert_int_equal(mlaf_problem_parse("mla_decode:h16,r512,p0,fp8_v4", &p, NULL, 0), MLAF_OK);
  assert_int_equal(mlaf_decode_row(&p, false), 576); /* scales lie behind a page's rows */
  assert_int_equal(mlaf_problem_parse("mla_append:fp8_v4", &p, why, sizeof why), MLAF_E_PROBLEM);
}

TEST(families) {
  static const char *const texts[][2] = {
      {"mla_decode:h16", "mla_decode:h16,r512,p64,q1,bf16,page64"},
      {"mla_decode:h7,r96,p0,q3,causal,f16,page1,b9,s4096", "mla_decode:h7,r96,p0,q3,causal,f16,page1"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    mlaf_problem p;
    char family[MLAF_PROBLEM_TEXT_MAX];
    assert_int_equal(mlaf_problem_parse(texts[i][0], &p, NULL, 0), MLAF_OK);
    assert_int_equal(mlaf_point_family(pt(&p), family, sizeof family), MLAF_OK);
    assert_string_equal(family, texts[i][1]);
    assert_int_equal(mlaf_point_family(pt(&p), family, 10), MLAF_E_ARG);
  }
}

TEST(bad_structs) {
  mlaf_problem p = MLAF_PROBLEM_INIT;
  char why[300];
  p.causal = 2;
  assert_int_equal(mlaf_problem_check(&p, why, sizeof why), MLAF_E_PROBLEM);
  assert_string_equal(why, "causal is 2, must be 0 or 1");
  p = (mlaf_problem)MLAF_PROBLEM_INIT;
  p.dtype = 7;
  assert_int_equal(mlaf_problem_check(&p, why, sizeof why), MLAF_E_PROBLEM);
  assert_string_equal(why, "dtype is 7, must be 0 (bf16) or 1 (f16)");
  p = (mlaf_problem)MLAF_PROBLEM_INIT;
  p.struct_size = 8;
  assert_int_equal(mlaf_problem_check(&p, why, sizeof why), MLAF_E_PROBLEM);
  p.struct_size = 0;
  assert_int_equal(mlaf_problem_check(&p, why, sizeof why), MLAF_E_PROBLEM);
  /* A newer caller's longer struct is fine while what we do not know is zero. */
  struct {
    mlaf_problem p;
    int32_t later; /* no padding before it */
  } newer = {MLAF_PROBLEM_INIT, 0};
  newer.p.struct_size = sizeof newer;
  assert_int_equal(mlaf_problem_check(&newer.p, why, sizeof why), MLAF_OK);
  newer.later = 1;
  assert_int_equal(mlaf_problem_check(&newer.p, why, sizeof why), MLAF_E_PROBLEM);
  assert_non_null(strstr(why, "older than its caller"));
}

TEST(models) {
  size_t n = 0;
  for (const mlaf_model *m; (m = mlaf_model_at(n)); n++) {
    assert_ptr_equal(mlaf_model_find(m->name), m);
    assert_true(m->source[0] != 0);
    assert_non_null(m->unverified);
    assert_true(m->qk_nope > 0 && m->v_head > 0);
    /* Every model is a problem at every tensor-parallel size that divides its heads. */
    for (int tp = 1; tp <= 8; tp *= 2) {
      mlaf_problem p = MLAF_PROBLEM_INIT;
      char why[200] = "";
      if (m->heads % tp) continue;
      p.heads = m->heads / tp;
      p.rank = m->rank;
      p.rope = m->rope;
      if (mlaf_problem_check(&p, why, sizeof why)) fail_msg("%s at tp %d: %s", m->name, tp, why);
    }
  }
  assert_int_equal(n, 21);
  assert_null(mlaf_model_at(n + 1));
  assert_null(mlaf_model_find("gpt-2"));
  assert_null(mlaf_model_find(NULL));
  const mlaf_model *m = mlaf_model_find("minicpm3-4b");
  assert_true(m && m->heads == 40 && m->rank == 256 && m->rope == 32);
  assert_string_equal(m->unverified, "rope_base");
  m = mlaf_model_find("mistral-large-3");
  assert_true(m && m->heads == 128);
  assert_string_equal(m->unverified, "rope_style"); /* its params.json does not say */
  m = mlaf_model_find("glm-5.3-flash");
  assert_true(m && m->heads == 64);
  assert_non_null(strstr(m->unverified, "heads"));
}

/* The 16-bit conversions against the definition, for all values and all roundings. */
TEST(sixteen_bit_floats) {
  for (uint32_t h = 0; h < 65536; h++) {
    float b = mlaf_bf16_decode((uint16_t)h), f = mlaf_f16_decode((uint16_t)h);
    if (f == f) {
      assert_true(test_half_value((uint16_t)h) == (double)f);
      assert_int_equal(mlaf_f16_encode(f), h);
    } else {
      assert_true((mlaf_f16_encode(f) & 0x7fff) > 0x7c00);
    }
    if (b == b) assert_int_equal(mlaf_bf16_encode(b), h);
    else assert_true((mlaf_bf16_encode(b) & 0x7fff) > 0x7f80);
  }
  mlaf_rng r = {3};
  for (int i = 0; i < 1000000; i++) {
    float x = mlaf_bits_float((uint32_t)mlaf_rng_next(&r));
    if (x != x) continue;
    assert_int_equal(mlaf_f16_encode(x), test_half_of(x));
    /* bf16: no value of the type is nearer, and of two equally near ones the even one is taken */
    uint16_t e = mlaf_bf16_encode(x);
    double err = (double)mlaf_bf16_decode(e) - (double)x;
    for (int step = -1; step <= 1; step += 2) {
      double other = (double)mlaf_bf16_decode((uint16_t)(e + step)) - (double)x;
      double a = err < 0 ? -err : err, o = other < 0 ? -other : other;
      if (a != a || o != o || a > 1e39 || o > 1e39) continue;
      assert_true(a < o || (a == o && !(e & 1)));
    }
  }
}

TESTS(NULL, NULL)
