/* Lists of problems as one string: print, parse, strings of before there were lists, and what may not follow; read alike by the
 * generator. */
#include "cmocka_all.h"
#include "gen/gen.h"
#include "op/numeric.h"
#include "ops/mla_q_b/q_b.h"

static const struct {
  const char *before, *now;
} same[] = {
    {"mla_q_b:l96,h2,n32,p32,bf16,append_split,r64,append_norm,t5",
     "mla_q_b:l96,h2,n32,p32,bf16,t5+mla_append:r64,split,pairs,norm"},
    {"mla_q_b:l256,h1,n128,p64,norm,f16,append_fp8_ds_mla,r512,append_halves,append_norm,t5",
     "mla_q_b:l256,h1,n128,p64,norm,f16,t5+mla_append:r512,fp8_ds_mla,halves,norm"},
    {"mla_q_b:l64,h1,n32,p0,bf16,e4m3fn,append_e4m3fnuz,r96,append_unrotated,t1",
     "mla_q_b:l64,h1,n32,p0,bf16,e4m3fn,t1+mla_append:r96,e4m3fnuz,unrotated"},
    {"mla_q_b:l1536,h128,n128,p64,norm,bf16,append_paged,r512,append_norm,absorb_pairs,t64",
     "mla_q_b:l1536,h128,n128,p64,norm,bf16,t64+mla_append:r512,paged,pairs,norm+mla_q_absorb:pairs"},
    {"mla_q_b:l128,h3,n32,p32,norm,bf16,append_paged,r64,append_neox,absorb_gptj,t5",
     "mla_q_b:t5,bf16,l128,h3,p32,n32,norm+mla_append:paged,neox,r64,p32,bf16,t5+mla_q_absorb:gptj,h3,n32,r64"},
    {"mla_q_b:l64,h1,n32,p32,bf16,t4", "mla_q_b:l64,h1,n32,p32,bf16,t4"},
};

static mlaf_point parsed(const char *text) {
  mlaf_point p;
  char why[300] = "";
  if (mlaf_point_parse(NULL, text, &p, why, sizeof why)) fail_msg("%s: %s", text, why);
  return p;
}

TEST(strings_of_before_mean_lists) {
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    const mlaf_point p = parsed(same[i].before), q = parsed(same[i].now);
    assert_int_equal(mlaf_point_order(&p, &q), 0);
    assert_string_equal(mlaf_point_text(&p).s, mlaf_point_text(&q).s);
    if (!strstr(same[i].before, "neox")) assert_string_equal(mlaf_point_text(&p).s, same[i].now);
  }
  char family[MLAF_POINT_TEXT_MAX];
  const mlaf_point p = parsed(same[0].before);
  assert_int_equal(mlaf_point_family(&p, family, sizeof family), MLAF_OK);
  assert_string_equal(family, "mla_q_b:l96,h2,n32,p32,bf16+mla_append:r64,split,pairs,norm");
}

/* The generator reads both, as the same problem. */
TEST(the_generator_reads_them_alike) {
  mlaf_gen *gen;
  mlaf_err err;
  assert_int_equal(mlaf_gen_open(NULL, &gen, &err), MLAF_OK);
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    mlaf_variant v[2] = {{.name = NULL}, {.name = NULL}};
    const mlaf_point p = parsed(same[i].now);
    const mlaf_point_string now = mlaf_point_text(&p);
    const bool vendors = strstr(same[i].before, "neox") != NULL; /* words that only C reads */
    for (int k = 0; k < 2; k++)
      if (mlaf_gen_baseline(gen, k || vendors ? now.s : same[i].before, "sm_90a", &v[k], &err)) fail_msg("%s", err.text);
    assert_string_equal(v[0].name, v[1].name);
    assert_string_equal(v[0].kernels[0].symbol, v[1].kernels[0].symbol);
    for (int k = 0; k < 2; k++) mlaf_variant_clear(&v[k]);
  }
  mlaf_gen_close(gen);
}

TEST(whatever_is_printed_is_parsed) {
  mlaf_rng rng = {11};
  const mlaf_op *op = mlaf_op_of("mla_q_b:");
  int lists = 0;
  for (int round = 0; round < 20000; round++) {
    mlaf_point p, q;
    mlaf_point_init(op, &p);
    for (int i = 0; i < op->n_fields; i++) {
      const mlaf_field *f = &op->fields[i];
      const int32_t steps = f->words ? f->max : (f->max - f->min) / f->multiple;
      p.v[i] = (f->words ? 0 : f->min) + (int32_t)mlaf_rng_below(&rng, (uint32_t)steps + 1) * f->multiple;
    }
    assert_int_equal(mlaf_point_check(&p, NULL, 0), MLAF_OK);
    const mlaf_point_string text = mlaf_point_text(&p);
    q = parsed(text.s);
    if (mlaf_point_order(&p, &q)) fail_msg("%s is read as %s", text.s, mlaf_point_text(&q).s);
    lists += strchr(text.s, '+') != NULL;
  }
  assert_in_range(lists, 10000, 19999);
}

TEST(what_may_not_follow_is_refused) {
#define FIRST "mla_q_b:l64,h1,n32,p32,bf16,t16"
  static const struct {
    const char *text, *says;
  } list[] = {
      {FIRST "+mla_decode:h3", "'+mla_decode:h3' at character 32: \"mla_append:\" or \"mla_q_absorb:\" may follow mla_q_b"},
      {FIRST "+", "may follow mla_q_b"},
      {FIRST "+mla_append:", "unknown or malformed field ''"},
      {FIRST "+mla_append:paged,what", "unknown or malformed field 'what'"},
      {FIRST "+mla_append:paged,split", "'split' at character 50 is given twice"},
      {FIRST "+mla_append:paged+mla_append:split", "'mla_append:' at character 50 is given twice"},
      {"mla_q_b:l64,h1,n32,p32,bf16,append_paged,t16+mla_append:split", "is given twice"},
      {FIRST "+mla_append:paged,p64", "rope dim of mla_append is 64, and behind this mla_q_b it must be 32"},
      {FIRST "+mla_append:paged,t17", "tokens of mla_append is 17"},
      {FIRST "+mla_append:paged,h4", "heads of mla_append is 4, and behind this mla_q_b it must be 0"},
      {FIRST "+mla_append:paged+mla_q_absorb:pairs,e4m3fn", "weights of mla_q_absorb is 1"},
      {FIRST "+mla_append:paged,r48", "kv_lora_rank is 48"},
      {FIRST "+mla_q_absorb:pairs", "mla_q_absorb: may follow mla_q_b only behind mla_append:"},
      {"mla_append:paged,t1+mla_append:split", "nothing may follow mla_append"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_point p;
    char why[400] = "";
    assert_int_equal(mlaf_point_parse(NULL, list[i].text, &p, why, sizeof why), MLAF_E_PROBLEM);
    if (!strstr(why, list[i].says)) fail_msg("%s: '%s' does not say '%s'", list[i].text, why, list[i].says);
  }
}

TESTS(NULL, NULL)
