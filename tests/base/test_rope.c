/* Rotary positions: the table of models, YaRN's frequencies, tables of cosines and sines, the softmax scale. */
#include "cmocka_all.h"
#include "mlaforge/mlaforge.h"

/* m and softmax scale as Transformers and vLLM have them. Forgetting m^2 is the mistake most often made. */
TEST(scales_of_models) {
  static const struct {
    const char *model;
    double m, scale;
  } known[] = {{"deepseek-v3", 1.36889, 0.135234},   {"deepseek-r1", 1.36889, 0.135234},     {"deepseek-v2", 1.26080, 0.114721},
               {"deepseek-v2-lite", 1.26080, 0.114721}, {"kimi-k2", 1.34657, 0.130861},      {"glm-5", 1, 0.0625},
               {"minicpm3-4b", 1, 0.102062},         {"mistral-small-4", 1.48520, 0.194968}, {"mistral-large-3", 1, 0.0721688}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const mlaf_model *m = mlaf_model_find(known[i].model);
    assert_non_null(m);
    assert_float_equal(mlaf_rope_mscale(m->rotation.factor, m->rotation.mscale_all_dim), known[i].m, 6e-6);
    assert_float_equal(mlaf_softmax_scale(m->qk_nope, &m->rotation), known[i].scale, 2e-6); /* theirs are of rounded m */
  }
  assert_float_equal(mlaf_rope_mscale(64, 1), 1.41589, 6e-6);
  assert_float_equal(mlaf_softmax_scale(128, NULL), 1 / sqrt(128), 1e-12);
}

/* Every shipped model's numbers make a table, and say a layer or that it has none. */
TEST(models_have_rotations) {
  float table[3 * 64];
  for (size_t i = 0; mlaf_model_at(i); i++) {
    const mlaf_model *m = mlaf_model_at(i);
    assert_int_equal(m->rotation.columns, m->rope);
    if (mlaf_rope_table(&m->rotation, 3, table, sizeof table, NULL, 0)) fail_msg("%s has no table", m->name);
    const int scaled = !strncmp(m->name, "mistral-", 8);
    assert_true(scaled ? m->q_scale_beta == 0.1 && m->q_scale_original == 8192 : m->q_scale_beta == 0);
    assert_true(m->hidden ? m->eps > 0 && m->eps < 1e-4 && m->hidden % 128 == 0 : m->q_lora_rank == 0);
    for (int k = 0; m->rope && k < m->rope / 2; k++) {
      assert_true(table[k] == 1 && table[m->rope / 2 + k] == 0);
      assert_true((table[2 * m->rope + k] == 1) == (m->rotation.style == MLAF_ROPE_UNROTATED) || k > 8);
    }
  }
  const mlaf_model *lite = mlaf_model_find("deepseek-v2-lite"), *v3 = mlaf_model_find("deepseek-v3");
  assert_true(lite->hidden == 2048 && lite->q_lora_rank == 0 && lite->heads == 16);
  assert_true(v3->hidden == 7168 && v3->q_lora_rank == 1536 && v3->eps == 1e-6 && v3->rotation.style == MLAF_ROPE_PAIRS);
}

TEST(frequencies) {
  double theta[32], plain[32];
  mlaf_rope r = mlaf_model_find("deepseek-v3")->rotation;
  assert_int_equal(mlaf_rope_frequencies(&r, theta, NULL, 0), MLAF_OK);
  r.factor = 0;
  assert_int_equal(mlaf_rope_frequencies(&r, plain, NULL, 0), MLAF_OK);
  /* 10.5 and 22.5 are the pairs that turn 32 times and once in 4096 positions: kept up to 10, divided from 23 on. */
  for (int i = 0; i < 32; i++) {
    assert_float_equal(plain[i], pow(10000, -i / 32.0), 1e-15);
    const double ramp = i <= 10 ? 0 : i >= 23 ? 1 : (i - 10) / 13.0;
    assert_float_equal(theta[i] / plain[i], 1 - ramp + ramp / 40, 1e-12);
  }
  assert_float_equal(theta[16], 0.0055, 1e-12);
  r = mlaf_model_find("kimi-k2")->rotation; /* one step between pairs 19 and 20 */
  assert_int_equal(mlaf_rope_frequencies(&r, theta, NULL, 0), MLAF_OK);
  assert_float_equal(theta[19], pow(50000, -19 / 32.0), 1e-15);
  assert_float_equal(theta[20], pow(50000, -20 / 32.0) / 32, 1e-15);
  r.base = 1e9, r.beta_fast = r.beta_slow = 32; /* both bounds are one pair: no 0/0 */
  assert_int_equal(mlaf_rope_frequencies(&r, theta, NULL, 0), MLAF_OK);
  for (int i = 0; i < 32; i++) assert_true(theta[i] > 0 && theta[i] <= 1);
}

TEST(tables) {
  enum { POSITIONS = 65536 };
  const mlaf_rope *v3 = &mlaf_model_find("deepseek-v3")->rotation;
  float *table = malloc(POSITIONS * 64 * sizeof *table);
  double theta[32];
  assert_int_equal(mlaf_rope_frequencies(v3, theta, NULL, 0), MLAF_OK);
  assert_int_equal(mlaf_rope_table(v3, POSITIONS, table, POSITIONS * 64 * sizeof *table, NULL, 0), MLAF_OK);
  static const int at[] = {0, 1, 4095, POSITIONS - 1};
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 32; i++) {
      assert_float_equal(table[at[k] * 64 + i], cos(at[k] * theta[i]), 6e-8);
      assert_float_equal(table[at[k] * 64 + 32 + i], sin(at[k] * theta[i]), 6e-8);
    }
  assert_float_equal(table[65535 * 64 + 32], sin(65535), 6e-8); /* an angle in fp32 would be off by 4e-3 */
  mlaf_rope other = *v3; /* mscale differs from mscale_all_dim: cosines and sines are scaled */
  other.mscale_all_dim = 0.5;
  assert_int_equal(mlaf_rope_table(&other, 2, table, 2 * 64 * sizeof *table, NULL, 0), MLAF_OK);
  assert_float_equal(table[0], mlaf_rope_mscale(40, 1) / mlaf_rope_mscale(40, 0.5), 1e-6);
  assert_float_equal(hypot(table[64], table[64 + 32]), table[0], 1e-6);
  free(table);
}

/* The chain in bf16: numbers from an implementation in another language, and that positions fall together. */
TEST(table_in_bf16) {
  static const struct {
    int at, pair;
    float cosine, sine;
  } known[] = {{1, 1, 0.73046875f, 0.6796875f}, {300, 1, 0.3671875f, -0.9296875f}, {513, 0, -0.99609375f, 0.07958984375f},
               {2048, 5, -0.5859375f, 0.8125f}, {4095, 31, 0.85546875f, 0.51953125f}, {6143, 9, -0.984375f, -0.1845703125f}};
  enum { POSITIONS = 6145 };
  mlaf_rope r = MLAF_ROPE_INIT;
  r.style = MLAF_ROPE_HALVES;
  float *table = malloc(POSITIONS * 64 * sizeof *table);
  assert_int_equal(mlaf_rope_table_bf16(&r, POSITIONS, table, POSITIONS * 64 * sizeof *table, NULL, 0), MLAF_OK);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    assert_true(table[known[i].at * 64 + known[i].pair] == known[i].cosine);
    assert_true(table[known[i].at * 64 + 32 + known[i].pair] == known[i].sine);
  }
  assert_memory_equal(table + 257 * 64, table + 256 * 64, 64 * sizeof *table); /* 257 is halfway: to the even one */
  assert_memory_equal(table + 6143 * 64, table + 6144 * 64, 64 * sizeof *table);
  assert_memory_not_equal(table + 255 * 64, table + 254 * 64, 64 * sizeof *table);
  for (size_t i = 0; i < POSITIONS * 64; i++) {
    uint32_t bits;
    memcpy(&bits, table + i, sizeof bits);
    assert_int_equal(bits & 0xffff, 0);
  }
  free(table);
}

TEST(bad_numbers_are_named) {
  const mlaf_rope well = {.struct_size = sizeof(mlaf_rope), .columns = 64, .base = 1e4, .factor = 40, .beta_fast = 32,
                          .beta_slow = 1, .original = 4096, .mscale = 1, .mscale_all_dim = 1};
  static const char *const says[] = {"struct_size", "columns", "style", "base", "factor", "original", "beta_fast", "mscale",
                                     "beta_slow"};
  enum { BAD = sizeof says / sizeof *says };
  mlaf_rope bad[BAD];
  for (int i = 0; i < BAD; i++) bad[i] = well;
  bad[0].struct_size = 0, bad[1].columns = 63, bad[2].style = 3, bad[3].base = 1, bad[4].factor = NAN, bad[5].original = 0;
  bad[6].beta_fast = 0.5, bad[7].mscale = -1, bad[8].beta_slow = 0;
  double theta[32];
  float table[64];
  char why[120];
  for (int i = 0; i < BAD; i++) {
    assert_int_equal(mlaf_rope_frequencies(&bad[i], theta, why, sizeof why), MLAF_E_ARG);
    if (!strstr(why, says[i])) fail_msg("'%s' does not name %s", why, says[i]);
    assert_int_equal(mlaf_rope_table(&bad[i], 1, table, sizeof table, NULL, 0), MLAF_E_ARG);
    assert_true(isnan(mlaf_softmax_scale(128, &bad[i])));
  }
  assert_int_equal(mlaf_rope_table(&well, 2, table, sizeof table, why, sizeof why), MLAF_E_ARG);
  assert_non_null(strstr(why, "positions * columns * 4"));
  mlaf_rope plain = well;
  plain.factor = 0;
  assert_int_equal(mlaf_rope_table_bf16(&plain, 2, table, sizeof table, why, sizeof why), MLAF_E_ARG);
  assert_non_null(strstr(why, "positions * columns * 4"));
  assert_int_equal(mlaf_rope_table_bf16(&well, 1, table, sizeof table, why, sizeof why), MLAF_E_ARG);
  assert_non_null(strstr(why, "YaRN"));
  assert_true(isnan(mlaf_softmax_scale(0, NULL)));
}

TESTS(NULL, NULL)
