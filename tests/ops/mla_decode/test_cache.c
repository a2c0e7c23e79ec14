/* 8-bit caches: the reference by its definition, data of cases, arguments, kernels on emulators, and mistakes in one. */
#include "verdict.h"
#include "op/numeric.h"
#include "ops/mla_decode/data.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/testcase.h"

/* --- the reference --- */

/* The definition of e4m3 in words: a sign, four bits of exponent, three of mantissa; e4m3fn with bias 7 and NaN where all but the
 * sign is 1, e4m3fnuz with bias 8 and NaN where -0 would be. */
static double value_of(int code, bool fnuz) {
  const int exponent = code / 8 % 16, mantissa = code % 8, bias = fnuz ? 8 : 7;
  const double size = exponent ? (1 + mantissa / 8.0) * pow(2, exponent - bias) : mantissa / 8.0 * pow(2, 1 - bias);
  if (fnuz ? code == 128 : code % 128 == 127) return NAN;
  return code < 128 ? size : -size;
}

/* A cache of one token in one page; a query of one column reads it: the LSE is its value, and so is O's column. */
enum { RANK = 256, ROPE = 32 };
typedef struct one_token {
  unsigned char row[RANK + 16 + 2 * ROPE];
  uint16_t q[RANK + ROPE];
  int32_t qo[2], pages[2], index, last;
  float kv_scale;
  mlaf_batch x;
} one_token;

static void make_token(one_token *s, const char *problem) {
  *s = (one_token){.qo = {0, 1}, .pages = {0, 1}, .last = 1};
  s->x = (mlaf_batch){.batch = 1, .num_pages = 1, .total_q = 1, .q = s->q, .ckv = (void *)s->row, .scale = 1, .qo_indptr = s->qo,
                      .kv_indptr = s->pages, .kv_indices = &s->index, .kv_last_page_lens = &s->last};
  assert_int_equal(mlaf_problem_parse(problem, &s->x.problem, NULL, 0), MLAF_OK);
  const mlaf_problem *p = &s->x.problem;
  s->x.kpe = (void *)(s->row + mlaf_decode_bytes(p, mlaf_decode_format(p, false)->rope_at));
  s->x.ckv_row_stride = s->x.kpe_row_stride = mlaf_decode_row(p, false);
}

/* Column c of the key, and of O where it has one. */
static double key_of(one_token *s, int c) {
  double o[RANK], lse;
  memset(s->q, 0, sizeof s->q);
  s->q[c] = mlaf_encode16(s->x.problem.dtype, 1);
  assert_int_equal(mlaf_reference(&s->x, o, &lse, NULL, NULL), MLAF_OK);
  if (c < RANK) assert_true(o[c] == lse || (isnan(o[c]) && isnan(lse)));
  return lse;
}

static void expect(double got, double want, const char *what, int code) {
  if (!(got == want || (isnan(got) && isnan(want)))) fail_msg("%s: code %#x is %g, want %g", what, code, got, want);
}

TEST(every_code_is_its_value) {
  static const char *const flat[] = {"mla_decode:h1,r256,p32,bf16,e4m3fn,page1", "mla_decode:h1,r256,p32,f16,e4m3fnuz,page1"};
  one_token s;
  for (int i = 0; i < 2; i++)
    for (int code = 0; code < 256; code++) {
      make_token(&s, flat[i]);
      s.row[3] = s.row[RANK + 5] = (unsigned char)code;
      expect(key_of(&s, 3), value_of(code, i), "without a scale", code);
      s.kv_scale = 0.0371f;
      s.x.kv_scale = &s.kv_scale;
      expect(key_of(&s, 3), value_of(code, i) * (double)0.0371f, "latent", code);
      expect(key_of(&s, RANK + 5), value_of(code, i) * (double)0.0371f, "rope", code);
    }
}

TEST(tokens_have_their_own_scales) {
  static const float scales[] = {0.75f, 1e-4f, 0, 0};
  const uint16_t rope = mlaf_bf16_encode(-1.625f);
  one_token s;
  for (int code = 0; code < 256; code++) {
    make_token(&s, "mla_decode:h1,r256,p32,bf16,fp8_ds_mla,page1");
    s.row[127] = s.row[128] = (unsigned char)code;
    memcpy(s.row + RANK, scales, sizeof scales);
    memcpy(s.row + RANK + 16 + 2 * 7, &rope, sizeof rope);
    expect(key_of(&s, 127), value_of(code, false) * (double)0.75f, "first group", code);
    expect(key_of(&s, 128), value_of(code, false) * (double)1e-4f, "second group", code);
    if (isnan(value_of(code, false))) continue;
    assert_true(key_of(&s, RANK + 7) == -1.625);
  }
  const float none = NAN;
  memcpy(s.row, (unsigned char[RANK]){0}, RANK);
  memcpy(s.row + RANK + 4, &none, sizeof none);
  assert_true(isnan(key_of(&s, 128)) && isnan(key_of(&s, 0))); /* the whole row: it sees the token */
}

/* One scale, which is not that of rope columns: these are 16 bits, in another tensor. */
TEST(rope_columns_lie_apart) {
  uint16_t kpe[ROPE] = {0};
  one_token s;
  for (int code = 0; code < 256; code++) {
    make_token(&s, "mla_decode:h1,r256,p32,bf16,kpe16,page1");
    s.row[3] = (unsigned char)code;
    kpe[5] = mlaf_bf16_encode(-1.625f);
    s.kv_scale = 0.0371f;
    s.x.kv_scale = &s.kv_scale;
    s.x.kpe = kpe;
    s.x.kpe_row_stride = sizeof kpe;
    expect(key_of(&s, 3), value_of(code, false) * (double)0.0371f, "latent", code);
    if (!isnan(value_of(code, false))) expect(key_of(&s, RANK + 5), -1.625, "rope", code);
  }
}

/* Scales of 128 columns each, in another tensor. */
TEST(scales_lie_apart) {
  float scales[4] = {0.75f, 1e-4f, NAN, NAN};
  one_token s;
  for (int code = 0; code < 256; code++) {
    make_token(&s, "mla_decode:h1,r256,p0,bf16,fp8_scales,page1");
    s.row[127] = s.row[128] = (unsigned char)code;
    s.x.kpe = (const void *)scales;
    s.x.kpe_row_stride = sizeof scales;
    expect(key_of(&s, 127), value_of(code, false) * (double)0.75f, "first group", code);
    expect(key_of(&s, 128), value_of(code, false) * (double)1e-4f, "second group", code);
  }
}

/* Q of 8 bits: the key's column is 1, so the LSE is the query's value. */
TEST(queries_have_a_scale) {
  static const char *const words[] = {"e4m3fn", "e4m3fnuz"};
  const float q_scale = 0.0371f;
  double o[RANK], lse;
  one_token s;
  for (int i = 0; i < 2; i++)
    for (int code = 0; code < 256; code++) {
      char text[80];
      snprintf(text, sizeof text, "mla_decode:h1,r256,p32,bf16,%s,fp8_q,page1", words[i]);
      make_token(&s, text);
      ((unsigned char *)s.q)[RANK + 5] = (unsigned char)code;
      s.row[RANK + 5] = i ? 0x40 : 0x38; /* 1 */
      for (int scaled = 0; scaled < 2; scaled++) {
        s.x.q_scale = scaled ? &q_scale : NULL;
        assert_int_equal(mlaf_reference(&s.x, o, &lse, NULL, NULL), MLAF_OK);
        expect(lse, value_of(code, i) * (scaled ? (double)q_scale : 1), "query", code);
      }
    }
}

/* DeepSeek-V4's tokens: powers of two behind the page's rows, of which a page has three here; columns of bf16 that are V, too. */
TEST(powers_lie_behind_their_page) {
  enum { ROW = 576, TOKENS = 3, COLUMNS = 512 };
  static unsigned char page[4 * ROW];
  static uint16_t q[COLUMNS];
  const int32_t from[] = {0, 1}, last = TOKENS, index = 0;
  const uint16_t wide = mlaf_bf16_encode(-1.625f);
  double o[COLUMNS], lse;
  mlaf_batch x = {.batch = 1, .num_pages = 1, .total_q = 1, .q = q, .ckv = (void *)page, .ckv_row_stride = ROW, .page_rows = 4,
                  .kpe_row_stride = ROW, .scale = 1, .qo_indptr = from, .kv_indptr = from, .kv_indices = &index,
                  .kv_last_page_lens = &last};
  assert_int_equal(mlaf_problem_parse("mla_decode:h1,r512,p0,fp8_v4,page3", &x.problem, NULL, 0), MLAF_OK);
  for (int code = 0; code < 256; code++)
    for (int token = 0; token < TOKENS; token++) {
      memset(page, 0, sizeof page);
      page[token * ROW + 64] = 0x38;                                  /* 1, of the second group */
      memcpy(page + token * ROW + 448 + 2 * 63, &wide, sizeof wide);  /* the last column */
      page[TOKENS * ROW + 8 * token + 1] = (unsigned char)code;
      page[TOKENS * ROW + 8 * token + 7] = 0xff;                      /* means nothing */
      assert_int_equal(mlaf_reference(&x, o, &lse, NULL, NULL), MLAF_OK);
      if (code == 255) assert_true(isnan(o[64]) && isnan(o[0]));
      else
        expect(3 * o[64], ldexp(1, code - 127), "power", code);
      if (code < 255) expect(3 * o[511], -1.625, "column of bf16", code);
    }
}

/* --- data --- */

/* Bytes of the cache that no token owns are NaN in its own numbers: pages of nobody, tokens behind the last, padding. */
TEST(all_else_is_nan) {
  static const char *const words[] = {"e4m3fn", "e4m3fnuz", "fp8_ds_mla", "kpe16"};
  for (int i = 0; i < 4; i++) {
    char text[80];
    mlaf_testcase *t = NULL;
    mlaf_case_spec spec = {.name = "poison", .seed = 3, .n = 2, .q_lens = {1, 1}, .kv_lens = {37, 5}, .unused_pages = 2,
                           .layout = MLAF_CACHE_SPLIT, .kv_scale = 0.5f, .any_scales = true, .score_std = 1};
    snprintf(text, sizeof text, "mla_decode:h1,r64,p32,%s,page16", words[i]);
    assert_int_equal(mlaf_problem_parse(text, &spec.problem, NULL, 0), MLAF_OK);
    assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &t, NULL), MLAF_OK);
    const int64_t row = mlaf_decode_row(&spec.problem, false), stride = t->batch.ckv_row_stride;
    const unsigned char *bytes = (const void *)t->ckv, nan = i == 1 ? 0x80 : 0xff;
    int64_t owned = 0, rows = (int64_t)t->batch.num_pages * 16;
    assert_int_equal(stride, row + 16);
    for (int64_t r = 0; r < rows; r++) {
      int64_t same = 0;
      for (int64_t c = 0; c < row; c++) same += bytes[r * stride + c] == nan;
      for (int64_t c = row; c < stride; c++) assert_int_equal(bytes[r * stride + c], nan);
      assert_true(same == row || same < row / 4);
      owned += same != row;
    }
    assert_int_equal(owned, 37 + 5);
    const unsigned char *kpe = (const void *)t->kpe;
    assert_true((kpe != NULL) == (i == 3));
    for (int64_t r = 0; kpe && r < rows; r++) {
      const bool nobodys = bytes[r * stride] == nan && bytes[r * stride + 1] == nan && bytes[r * stride + 2] == nan;
      for (int c = 0; c < 64 + 16; c++)
        if (nobodys || c >= 64) assert_int_equal(kpe[r * (64 + 16) + c], 0xff);
    }
    mlaf_testcase_free(t);
  }
}

/* --- arguments --- */

/* One request of one query token, all of whose tensors lie in `memory`. */
static mlaf_execute_args usual_args(float *memory) {
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.batch = 1, a.total_q = 1, a.num_pages = 1, a.scale = 1;
  a.q = a.ckv = a.o = memory;
  a.qo_indptr = a.kv_indptr = a.kv_indices = a.kv_last_page_lens = (const int32_t *)memory;
  return a;
}

TEST(arguments_are_checked) {
  static float memory[64] __attribute__((aligned(64)));
  static const struct {
    const char *problem;
    int64_t stride;
    int kpe, kv_scale, q_scale; /* kpe < 0: of rows so far apart; of the scale's address, in bytes; 0: NULL */
    const char *says;
  } cases[] = {
      {"mla_decode:h1,e4m3fn", 0, 0, 4, 0, NULL},
      {"mla_decode:h1,e4m3fnuz", 576, 0, 0, 0, NULL},
      {"mla_decode:h1,fp8_ds_mla", 656, 0, 0, 0, NULL},
      {"mla_decode:h1,fp8_ds_mla", 672, 0, 0, 0, NULL},
      {"mla_decode:h1,e4m3fn", 1 << 28, 0, 0, 0, NULL},
      {"mla_decode:h1,e4m3fn", 560, 0, 0, 0, "ckv_row_stride is 560, must be a multiple of 16 in 576..268435456 bytes"},
      {"mla_decode:h1,e4m3fn", 584, 0, 0, 0, "ckv_row_stride is 584, must be a multiple of 16"},
      {"mla_decode:h1,e4m3fn", (1 << 28) + 16, 0, 0, 0, "must be a multiple of 16 in 576..268435456 bytes"},
      {"mla_decode:h1,fp8_ds_mla", 576, 0, 0, 0, "must be a multiple of 16 in 656..268435456 bytes"}, /* planar rows */
      {"mla_decode:h1", 656, 0, 0, 0, NULL}, /* elements of 16 bits */
      {"mla_decode:h1,e4m3fn", 0, 1, 0, 0, "must be NULL: rows of a cache of e4m3fn have the rope columns, too"},
      {"mla_decode:h1,e4m3fn", 0, 0, 2, 0, "must be 4-byte aligned"},
      {"mla_decode:h1,fp8_ds_mla", 0, 0, 4, 0, "tokens of the problem's cache hold their scales"},
      {"mla_decode:h1", 0, 0, 4, 0, "the problem has a cache of 16 bits"},
      {"mla_decode:h1,e4m3fnuz,fp8_q", 576, 0, 0, 0, NULL},
      {"mla_decode:h1,e4m3fn,fp8_q", 0, 0, 0, 4, NULL},
      {"mla_decode:h1,e4m3fn,fp8_q", 0, 0, 0, 2, "q_scale is"},
      {"mla_decode:h1,e4m3fn", 0, 0, 0, 4, "must be NULL: the problem has queries of 16 bits; plan with fp8_q"},
      {"mla_decode:h1", 0, 0, 0, 4, "must be NULL: the problem has queries of 16 bits; plan with fp8_q"},
      {"mla_decode:h1,kpe16", 0, 1, 4, 0, NULL},
      {"mla_decode:h1,kpe16", 640, 1, 0, 0, NULL}, /* with the rope columns between */
      {"mla_decode:h1,p0,kpe16", 0, 0, 4, 0, NULL},
      {"mla_decode:h1,kpe16", 0, 0, 4, 0,
       "kpe is NULL, and the rope columns of a cache of kpe16 are rows of a tensor of their own"},
      {"mla_decode:h1,p0,fp8_scales", 0, 1, 0, 0, NULL},
      {"mla_decode:h1,p0,fp8_scales", 528, 1, 0, 0, NULL}, /* with the scales between */
      {"mla_decode:h1,p0,fp8_scales", 0, 0, 0, 0,
       "kpe is NULL, and the scales of a cache of fp8_scales are rows of a tensor of their own"},
      {"mla_decode:h1,p0,fp8_scales", 0, 1, 4, 0, "tokens of the problem's cache hold their scales"},
      {"mla_decode:h1,p0,fp8_scales", 0, -8, 0, 0, "kpe_row_stride is 8, must be a multiple of 16 in 16..268435456 bytes"},
      {"mla_decode:h1,fp8_planar", 512, 0, 0, 0, NULL},
      {"mla_decode:h1,fp8_planar", 656, 0, 0, 0, "ckv_row_stride is 656, must be 0 or 512: scales lie behind a page's rows of"},
      {"mla_decode:h1,fp8_planar_fnuz", 512, 0, 0, 0, NULL},
      {"mla_decode:h1,fp8_planar_fnuz", 656, 0, 0, 0, "ckv_row_stride is 656, must be 0 or 512: scales lie behind a page's rows"},
      {"mla_decode:h1,fp8_planar", 0, 0, 4, 0, "tokens of the problem's cache hold their scales"},
      {"mla_decode:h1,kpe16", 496, 1, 4, 0, "ckv_row_stride is 496, must be a multiple of 16 in 512..268435456 bytes"},
      {"mla_decode:h1,kpe16", 0, -64, 4, 0, "kpe_row_stride is 64, must be a multiple of 16 in 128..268435456 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_problem p;
    mlaf_err err = {MLAF_OK, ""};
    mlaf_execute_args a = usual_args(memory);
    assert_int_equal(mlaf_problem_parse(cases[i].problem, &p, NULL, 0), MLAF_OK);
    a.ckv_row_stride = cases[i].stride;
    a.kpe = cases[i].kpe ? memory : NULL;
    a.kpe_row_stride = cases[i].kpe < 0 ? -cases[i].kpe : 0;
    a.kv_scale = cases[i].kv_scale ? (const float *)((const char *)memory + cases[i].kv_scale) : NULL;
    a.q_scale = cases[i].q_scale ? (const float *)((const char *)memory + cases[i].q_scale) : NULL;
    const mlaf_bound b = {.point = point_of(&p)};
    const mlaf_status st = mlaf_decode_check_args(&b, 1, &a, &err);
    if (st != (cases[i].says ? MLAF_E_ARG : MLAF_OK)) fail_msg("case %zu: %s", i, err.text);
    if (cases[i].says && !strstr(err.text, cases[i].says)) fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
  }
}

/* --- kernels --- */

#define ONE_WAVE "mfma_reg_cache:blocks=1,qsrc=reg,rescale=always,schedule=splits,waves=2/s1"

/* Each format in each type, page form and kind of bad input, on all AMD targets. */
TEST(kernels_verify) {
  static const struct {
    const char *target, *problem;
    mlaf_inject inject;
  } list[] = {
      {"gfx942", "mla_decode:h3,r64,p64,q2,causal,bf16,e4m3fn,page16", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r64,p32,f16,e4m3fn,page1", MLAF_INJECT_LONG_Q},
      {"gfx942", "mla_decode:h3,r64,p64,bf16,e4m3fnuz,page3", MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h3,r96,p0,f16,e4m3fnuz,page64", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r256,p32,bf16,fp8_ds_mla,page16", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r256,p64,q2,causal,f16,fp8_ds_mla,page1", MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h3,r160,p32,bf16,fp8_ds_mla,page61", MLAF_INJECT_LONG_Q},
      {"gfx950", "mla_decode:h3,r64,p64,bf16,e4m3fn,page16", MLAF_INJECT_NONE},
      {"gfx950", "mla_decode:h3,r256,p32,f16,fp8_ds_mla,page1", MLAF_INJECT_NONE},
      {"gfx90a", "mla_decode:h3,r64,p32,bf16,e4m3fnuz,page64", MLAF_INJECT_NONE},
      {"gfx90a", "mla_decode:h3,r256,p32,bf16,fp8_ds_mla,page3", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r64,p64,q2,causal,bf16,e4m3fn,fp8_q,page16", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r96,p0,f16,e4m3fn,fp8_q,page1", MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h3,r64,p32,bf16,e4m3fnuz,fp8_q,page3", MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h3,r256,p64,f16,e4m3fnuz,fp8_q,page64", MLAF_INJECT_NAN_Q},
      {"gfx950", "mla_decode:h3,r64,p64,bf16,e4m3fn,fp8_q,page16", MLAF_INJECT_NAN_Q},
      {"gfx950", "mla_decode:h3,r64,p32,f16,e4m3fnuz,fp8_q,page1", MLAF_INJECT_LONG_Q},
      {"gfx90a", "mla_decode:h3,r64,p32,bf16,e4m3fn,fp8_q,page16", MLAF_INJECT_NAN_Q},
      {"gfx90a", "mla_decode:h3,r96,p64,f16,e4m3fnuz,fp8_q,page64", MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h3,r512,p0,bf16,fp8_v4,page1", MLAF_INJECT_LONG_Q},
      {"gfx942", "mla_decode:h3,r512,p0,q2,causal,bf16,fp8_v4,page61", MLAF_INJECT_OOB_PAGE},
      {"gfx950", "mla_decode:h3,r512,p0,bf16,fp8_v4,page1", MLAF_INJECT_NONE},
      {"gfx90a", "mla_decode:h3,r512,p0,bf16,fp8_v4,page2", MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h3,r512,p64,bf16,kpe16,page16", MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h3,r96,p32,q2,causal,f16,kpe16,page3", MLAF_INJECT_LONG_Q},
      {"gfx950", "mla_decode:h3,r256,p64,bf16,kpe16,page1", MLAF_INJECT_NAN_Q},
      {"gfx90a", "mla_decode:h3,r64,p64,f16,kpe16,page16", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r512,p0,bf16,fp8_scales,page16", MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h3,r160,p0,q2,causal,f16,fp8_scales,page3", MLAF_INJECT_LONG_Q},
      {"gfx950", "mla_decode:h3,r256,p0,bf16,fp8_scales,page1", MLAF_INJECT_NAN_Q},
      {"gfx90a", "mla_decode:h3,r256,p0,f16,fp8_scales,page16", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r512,p64,bf16,fp8_planar,page16", MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h3,r160,p32,q2,causal,f16,fp8_planar,page3", MLAF_INJECT_LONG_Q},
      {"gfx950", "mla_decode:h3,r256,p64,bf16,fp8_planar,page1", MLAF_INJECT_NAN_Q},
      {"gfx90a", "mla_decode:h3,r64,p0,f16,fp8_planar,page16", MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h3,r512,p64,bf16,fp8_planar_fnuz,page16", MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h3,r160,p32,q2,causal,f16,fp8_planar_fnuz,page3", MLAF_INJECT_LONG_Q},
      {"gfx950", "mla_decode:h3,r256,p64,bf16,fp8_planar_fnuz,page1", MLAF_INJECT_NAN_Q},
      {"gfx90a", "mla_decode:h3,r64,p0,f16,fp8_planar_fnuz,page16", MLAF_INJECT_NONE},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    bench b;
    mlaf_verify_result r;
    open_bench(&b, list[i].target);
    if (verdict_of(&b, ONE_WAVE, list[i].problem, NULL, NULL, list[i].inject, &r)) fail_msg("%s: %s", list[i].problem, r.detail);
    assert_true(r.rows > 0);
    close_bench(&b);
  }
}

#define TILES "mfma_lds_cache:blocks=1,load=vgpr,order=ahead,rescale=lazy,schedule=splits,stages=3,waves=4/s1"
#define COLUMNS "mfma_lds_cache:blocks=1,load=vgpr,order=columns,rescale=lazy,schedule=splits,stages=3,waves=4/s1"
#define TILES_1 "mfma_lds_cache:blocks=1,load=vgpr,order=plain,rescale=always,schedule=splits,stages=2,waves=2/s1"
#define TILES_2 "mfma_lds_cache:blocks=2,load=vgpr,order=plain,rescale=always,schedule=splits,stages=2,waves=2/s1"

/* Tiles in LDS that all rows share. */
TEST(shared_tiles_verify) {
  static const verified list[] = {
      {"gfx942", "mla_decode:h20,r256,p64,q2,causal,bf16,e4m3fn,page16", TILES, MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h20,r256,p64,bf16,e4m3fnuz,page1", TILES, MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h40,r256,p64,f16,e4m3fn,page3", TILES_2, MLAF_INJECT_LONG_Q},
      {"gfx942", "mla_decode:h40,r128,p64,q2,causal,bf16,e4m3fnuz,page64", TILES_2, MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h20,r256,p64,q2,causal,bf16,fp8_ds_mla,page1", TILES, MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h20,r128,p64,bf16,fp8_ds_mla,page64", TILES_1, MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h40,r512,p64,bf16,fp8_ds_mla,page1", COLUMNS, MLAF_INJECT_OOB_PAGE},
      {"gfx942", "mla_decode:h20,r512,p64,q2,causal,bf16,e4m3fnuz,page64", COLUMNS, MLAF_INJECT_NAN_Q},
      {"gfx950", "mla_decode:h40,r512,p64,f16,e4m3fn,page3", COLUMNS, MLAF_INJECT_LONG_Q},
      {"gfx950", "mla_decode:h20,r256,p64,bf16,fp8_ds_mla,page3", TILES, MLAF_INJECT_OOB_PAGE},
      {"gfx950", "mla_decode:h20,r256,p64,bf16,e4m3fn,page1", TILES, MLAF_INJECT_NONE},
      {"gfx950", "mla_decode:h40,r128,p64,f16,e4m3fnuz,page16", TILES_2, MLAF_INJECT_NAN_Q},
  };
  each_verifies(list, sizeof list / sizeof *list);
}

#define FLAT "mla_decode:h3,r64,p32,bf16,e4m3fn,page16"
#define CODES "mla_decode:h3,r64,p32,bf16,e4m3fn,fp8_q,page16"
#define OWN "mla_decode:h3,r256,p32,bf16,fp8_ds_mla,page16"
#define SCATTERED "mla_decode:h3,r256,p32,bf16,fp8_ds_mla,page1"
#define APART     "mla_decode:h3,r256,p32,bf16,kpe16,page16"
#define APART_ODD "mla_decode:h3,r256,p32,bf16,kpe16,page3"
#define BESIDE     "mla_decode:h3,r256,p0,bf16,fp8_scales,page16"
#define BESIDE_ODD "mla_decode:h3,r256,p0,bf16,fp8_scales,page3"
#define PARTS      "mla_decode:h3,r256,p32,bf16,fp8_planar,page32"
#define PARTS_ODD  "mla_decode:h3,r256,p32,bf16,fp8_planar,page3"
#define V4        "mla_decode:h3,r512,p0,bf16,fp8_v4,page16"
#define V4_ODD    "mla_decode:h3,r512,p0,bf16,fp8_v4,page3"
#define SHARED    "mla_decode:h20,r256,p64,bf16,e4m3fn,page1"
#define LISTED    "mla_decode:h20,r256,p64,bf16,fp8_ds_mla,page1"

static const struct {
  const char *problem, *from, *to;
} mistakes[] = {
    {SHARED, "a.kv_scale ? *", "false ? *"},
    {SHARED, "BYTE_UNIT = 256.0f", "BYTE_UNIT = 128.0f"},         /* e4m3fn read as e4m3fnuz */
    {SHARED, "bytelow = 0x7f7f7f7f", "bytelow = 0x7e7e7e7e"},     /* NaN codes are numbers */
    {SHARED, "bytekeep = 0xbf80bf80", "bytekeep = 0xff80ff80"},   /* a sign in the exponent, too */
    {SHARED, "bytehi = 0x030c020c", "bytehi = 0x020c030c"},       /* neighbours' columns */
    {SHARED, "unit / (lane & 8 ? high : low)", "unit / (lane & 8 ? low : high)"}, /* another row's factor */
    {SHARED, "R + rope_column(wave, lane) / 2", "rope_column(wave, lane) / 2"},
    {LISTED, "scales + 192 * (lane & 15)", "scales + 192"},       /* two groups' scales for all */
    {LISTED, "scales + 16 * q", "scales"},                        /* S with other tokens' scales */
    {LISTED, "vsa = scales + 384 + 8 * q", "vsa = scales + 384"}, /* and V */
    {LISTED, "s_sub_i32 s69, 127, s68", "s_sub_i32 s69, 126, s68"},      /* P times another unit */
    {LISTED, "s_sub_i32 s68, 254, s68", "s_sub_i32 s68, 253, s68"},      /* and scales over another one */
    {LISTED, ", 0x7fc0, v", ", 0, v"},                            /* a NaN that is found and not told */
    {FLAT, "a.kv_scale ? *", "false ? *"},
    {PARTS, "kv.page_tokens * (R + 16)", "kv.page_tokens * R"},              /* rope columns where scales are */
    {PARTS, "row_in(p, 4 * (lane >> 4) + r) * 16", "row_in(p, 4 * (lane >> 4)) * 16"}, /* the first token's scales for four */
    {PARTS, "+ slot * ROPE_BYTES", "+ 0 * ROPE_BYTES"},                      /* rope columns of another tile of the page */
    {PARTS, "u64)a.page_rows * R", "u64)PAGE * R"},                          /* pages without what lies behind their rows */
    {PARTS_ODD, "k.page + rope_of_page(kv) + k.slot", "k.page + rope_of_page(kv) + v.slot"},
    {PARTS_ODD, "of_row<1>(p.scales)", "of_row<0>(p.scales)"},
    {FLAT, "(x & m.seven) + m.one", "(x & m.seven)"},         /* NaN codes are numbers */
    {FLAT, ">> (short)1) & m.half", ">> (short)2) & m.half"}, /* half the exponent */
    {FLAT, "K_UNIT = 256.0f, V_UNIT = 256.0f", "K_UNIT = 128.0f, V_UNIT = 128.0f"}, /* e4m3fn read as e4m3fnuz */
    {FLAT, "K_UNIT / factor", "K_UNIT"},                      /* Q multiplied by a power of two, its scores not divided */
    {FLAT, "return paired(q)", "return q"},
    {FLAT, "(u32)(4 + i) << 24", "(u32)(4 + (i ^ 1)) << 24"}, /* every second token of V from a neighbour's column */
    {FLAT, "8 * (lane >> 4), 64 * N64", "16 * (lane >> 4), 64 * N64"},
    {FLAT, "? 0x7e007e00u : x[3]", "? x[3] : x[3]"},          /* a NaN that is found and not told */
    {CODES, "factors.q_scale ? *", "false ? *"},
    {CODES, "1.0f / K_UNIT", "1.0f"},                         /* Q's unit */
    {CODES, "to.row + row) * (R + ROPE)", "to.row + row) * 2 * (R + ROPE)"},
    {CODES, "operands_of_k(q.x, q.y, m)", "operands_of_k(q.y, q.x, m)"},
    {OWN, "f32x4{scales[0][j], scales[1][j],", "f32x4{scales[0][0], scales[1][0],"}, /* the first group's for all */
    {OWN, "f32x4{scales[0][j], scales[1][j],", "f32x4{scales[0][j], scales[0][j],"}, /* a neighbour's */
    {OWN, "part[b][i][r], now[r][i], x", "part[b][i][r], now[r][0], x"}, /* S with the first group's scale */
    {OWN, "x & (some | m.seven)", "x"},                       /* -0 of V is the NaN of another encoding */
    {OWN, "(scales, kv, at, 0, R, lane)", "(scales, kv, at, 4, R, lane)"},
    {OWN, "R + 16 + 64 * i", "R + 64 * i"},                   /* rope where the scales are */
    {OWN, "s[b][r] * rope_unit[b]", "s[b][r]"},
    {OWN, "out[j][1] = u32x2{exact_bf16(rest[0], rest[1])", "out[j][1] = u32x2{exact_bf16(rest[1], rest[0])"},
    {OWN, "kv.tokens - 1 - t) * kv.row_bytes", "kv.tokens - t) * kv.row_bytes"}, /* a row behind the last */
    {SCATTERED, "v * kv.row_bytes}", "v * (kv.row_bytes - 16)}"},
    {APART, "part[b][i][r], latent_scale, x", "part[b][i][r], 1.0f, x"},
    {APART, "s[b][r] * rope_unit[b]", "s[b][r]"},
    {APART, "s[b][r] * rope_unit[b]", "s[b][r] * rope_unit[b] * latent_scale"},   /* the latent's scale for rope columns, too */
    {APART, "kv.kpe + (u64)row * kv.kpe_row_bytes", "kv.kpe + (u64)row * kv.row_bytes"},
    {APART, "const float times = V_UNIT * cache_scale(last)", "const float times = V_UNIT"},
    {APART, "16 * (lane >> 4), 64 * i, lane", "8 * (lane >> 4), 64 * i, lane"},
    {APART_ODD, "kv.kpe + k * kv.kpe_row_bytes", "kv.kpe + k * 64"},              /* rows that lie apart */
    {BESIDE, "part[b][i][r], now[r][i], x", "part[b][i][r], now[r][0], x"},
    {BESIDE, "(4 * (lane >> 4) + r) * kv.kpe_row_bytes", "(4 * (lane >> 4)) * kv.kpe_row_bytes"}, /* one token's for four */
    {BESIDE, "kv.kpe + (u64)row * kv.kpe_row_bytes", "kv.kpe + (u64)row * kv.row_bytes"},
    {BESIDE_ODD, "v * kv.kpe_row_bytes}", "v * 16}"},                             /* rows that lie apart */
    {BESIDE_ODD, "scales_of_row<1>(kv, p)", "scales_of_row<0>(kv, p)"},
    {V4, "k_scales[i / 4] >> 8 * (i % 4)", "k_scales[i / 4] >> 8 * (i % 2)"},     /* another group's power for K */
    {V4, ">> (16 * (j % 2) + (lane & 8))", ">> (16 * (j % 2))"},                  /* and for V */
    {V4, "float_of(bits > 1u << 22 ? bits : 1u << 22)", "float_of(bits + (1u << 23))"},
    {V4, "slot * (TOKEN_ROW - TOKEN_SCALES)", "slot * TOKEN_ROW"},               /* the first token's scales for all */
    {V4, "page * (extra ? a.extra_page_rows : a.page_rows)", "page * PAGE"},     /* no room for scales */
    {V4, "q[k] = exact_bf16(x.x, x.y)", "q[k] = exact_bf16(x.x / 2, x.y / 2)"},  /* K read as half, and Q not doubled */
    {V4, "d >= 64 ? 1.0f : times", "d >= 64 ? times : times"},
    {V4, "column[c] = last_are_wide(lane) ? wide[c] : column[c]", "column[c] = column[c]"},
    {V4, "448 + 16 * (lane & 7)", "448 + 8 * (lane & 7)"},
    {V4, "16 * (lane >> 4), NB + 64 * i", "16 * (lane >> 4), NB + 32 * i"},
    {V4_ODD, "(x & m.seven) + m.one;", "0;"},                                    /* NaN codes are numbers */
    {V4, "k_scales.y & 0xffffffu", "k_scales.y"},                                /* the byte that means nothing */
    {V4, "found)) at = found;", "found)) at = found, at.row ^= 1;"},
};

TEST(mistakes_are_found) {
  bench b;
  open_bench(&b, "gfx942");
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const bool tiles = !strcmp(mistakes[i].problem, SHARED) || !strcmp(mistakes[i].problem, LISTED);
    const char *variant = tiles ? TILES : ONE_WAVE;
    const mlaf_status st = verdict_of(&b, variant, mistakes[i].problem, mistakes[i].from, mistakes[i].to, MLAF_INJECT_NONE, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s' in %s: %s", mistakes[i].from, mistakes[i].to, mistakes[i].problem, mlaf_status_text(st));
  }
  close_bench(&b);
}

TESTS(NULL, NULL)
