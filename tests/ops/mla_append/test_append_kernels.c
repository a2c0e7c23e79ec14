/* mla_append on the emulator: every cache, style and type verifies, and what is wrong in a kernel is found. */
#include <assert.h>
#include <string.h>

#include "check/verify.h"
#include "ops/mla_append/case.h"
#include "ops/mla_append/fp8.h"
#include "run/built.h"
#include "run/loaded.h"

/* The templates' header is C++ for the kernel compiler and plain enough for C under other names. */
typedef int64_t i64;
typedef uint32_t u32;
typedef struct template_args template_args;
#define mlaf_append_kernel_args template_args
#define constexpr static const __attribute__((unused))
#include "../templates/mla_append/lib/args.h"
#undef mlaf_append_kernel_args
#undef constexpr

static const char *TARGET = "gfx942";

static void same_offsets(void **state) {
#define SAME(field)                                                                               \
  assert_int_equal(offsetof(mlaf_append_kernel_args, field), offsetof(template_args, field));     \
  assert_int_equal(sizeof(((mlaf_append_kernel_args *)0)->field), sizeof(((template_args *)0)->field))
  SAME(ckv);
  SAME(slots);
  SAME(scale_at);
  SAME(latent);
  SAME(kpe_out);
  SAME(q_pe_out);
  SAME(table_stride);
  SAME(rope_row);
  SAME(q_pe_out_head);
  SAME(tokens);
  SAME(table_rows);
  SAME(num_slots);
  SAME(page_tokens);
  SAME(token_blocks);
  SAME(flags);
  SAME(scale);
  assert_int_equal(sizeof(mlaf_append_kernel_args), sizeof(template_args));
  assert_int_equal(APPEND_ALL_Q, MLAF_APPEND_ALL_Q);
  assert_int_equal(APPEND_POWER_OF_TWO, MLAF_APPEND_POWER_OF_TWO);
  assert_int_equal(APPEND_TABLE_16, MLAF_APPEND_TABLE_16);
}

/* By the formats' definitions. */
static void fp8_numbers(void **state) {
  static const struct {
    bool fnuz;
    uint8_t code;
    double value;
  } known[] = {{false, 0x00, 0},     {false, 0x01, 0x1p-9},  {false, 0x08, 0x1p-6}, {false, 0x38, 1},    {false, 0x7e, 448},
               {false, 0xfe, -448},  {true, 0x01, 0x1p-10},  {true, 0x08, 0x1p-7},  {true, 0x40, 1},     {true, 0x7f, 240},
               {true, 0xff, -240},   {false, 0x39, 1.125},   {true, 0x07, 7 * 0x1p-10}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_true(append_fp8_decode(known[i].fnuz, known[i].code) == known[i].value);
  assert_true(isnan(append_fp8_decode(false, 0x7f)) && isnan(append_fp8_decode(false, 0xff)));
  assert_true(isnan(append_fp8_decode(true, 0x80)));
  assert_true(append_fp8_ulp(false, 1) == 0x1p-3 && append_fp8_ulp(false, 0.99) == 0x1p-4 && append_fp8_ulp(false, 0) == 0x1p-9);
  assert_true(append_fp8_ulp(true, 0x1p-9) == 0x1p-10);
}

/* --- a kernel's text to a verdict --- */

typedef struct bench {
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  mlaf_device *dev;
} bench;

static void open_bench(bench *b) {
  mlaf_err err = {MLAF_OK, ""};
  built_cache();
  need_compiler(TARGET);
  if (mlaf_gen_open(NULL, &b->gen, &err) || mlaf_compiler_open(NULL, NULL, &b->compiler, &err) ||
      mlaf_device_open("emu:gfx942", NULL, &b->dev, &err))
    fail_msg("%s", err.text);
}

static void close_bench(bench *b) {
  mlaf_device_close(b->dev);
  mlaf_compiler_close(b->compiler);
  mlaf_gen_close(b->gen);
}

/* `text` with the one place of `from` replaced. */
static char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  if (!at) fail_msg("the kernel has no '%s'", from);
  char *out = malloc(strlen(text) + strlen(to) + 1);
  memcpy(out, text, (size_t)(at - text));
  strcpy(out + (at - text), to);
  strcat(out, at + strlen(from));
  return out;
}

/* What verifying says of a variant whose text is changed (NULL: as it is). */
static mlaf_status verdict(bench *b, const char *problem, const char *name, const char *from, const char *to, mlaf_inject inject,
                           mlaf_verify_result *result) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_point p;
  mlaf_variant v = {.name = NULL};
  mlaf_status st = mlaf_point_parse(NULL, problem, &p, err.text, sizeof err.text);
  if (!st) st = name ? mlaf_gen_variant(b->gen, problem, TARGET, name, &v, &err) : mlaf_gen_baseline(b->gen, problem, TARGET,
                                                                                                     &v, &err);
  if (st) fail_msg("%s: %s", problem, err.text);
  char *source = NULL, hash[MLAF_HASH_HEX];
  const char *const *options = NULL;
  if (mlaf_gen_render(b->gen, &v.kernels[0], TARGET, &source, hash, &err) || mlaf_gen_options(b->gen, TARGET, &options, &err))
    fail_msg("%s", err.text);
  char *changed = from ? replaced(source, from, to) : NULL;
  mlaf_compile_job job = {.source = changed ? changed : source, .options = options, .target = TARGET,
                          .name = v.kernels[0].symbol};
  if (mlaf_compile(b->compiler, &job, 1, NULL, NULL, &err) || job.status) fail_msg("%s: %s", from ? from : problem,
                                                                                   job.log ? job.log : err.text);
  mlaf_kernel_ref ref = {.threads = v.kernels[0].threads, .rows_per_wg = v.kernels[0].rows_per_wg};
  snprintf(ref.template_name, sizeof ref.template_name, "%s", v.kernels[0].template_name);
  snprintf(ref.params, sizeof ref.params, "%s", v.kernels[0].params);
  snprintf(ref.symbol, sizeof ref.symbol, "%s", v.kernels[0].symbol);
  const mlaf_loaded_desc desc = {.name = v.name, .kernels = {{&ref, {job.code, job.code_size}}}, .knob = v.knob};
  mlaf_loaded *l = NULL;
  mlaf_suite *s = NULL;
  if (mlaf_loaded_open(b->dev, &p, &desc, &l, &err) || mlaf_suite_create(&p, 1, inject, &s, &err)) fail_msg("%s", err.text);
  st = mlaf_suite_run(s, l, result, &err);
  mlaf_suite_free(s);
  mlaf_loaded_close(l);
  mlaf_compile_job_clear(&job);
  mlaf_variant_clear(&v);
  free(changed);
  free(source);
  return st;
}

/* --- all there is --- */

static void every_shape_verifies(void **state) {
  static const char *const caches[] = {"paged", "split", "fp8_ds_mla", "e4m3fn", "e4m3fnuz"};
  static const char *const shapes[] = {"h5,r512,p64,bf16,%s,pairs,norm", "h3,r96,p32,f16,%s,halves", "h0,r256,p0,bf16,%s,norm",
                                       "h20,r160,p64,bf16,%s,unrotated,norm"};
  bench b;
  open_bench(&b);
  for (size_t c = 0; c < 5; c++)
    for (size_t i = 0; i < 4; i++)
      for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
        char problem[128] = "mla_append:";
        mlaf_verify_result r;
        snprintf(problem + strlen(problem), 100, shapes[i], caches[c]);
        if (verdict(&b, problem, NULL, NULL, NULL, (mlaf_inject)inject, &r)) fail_msg("%s: %s", problem, r.detail);
        assert_true(r.rows > 0 && r.error <= APPEND_ULPS);
      }
  close_bench(&b);
}

/* Points of the space beside the baseline: several heads a group, with and without a rest. */
static void groups_verify(void **state) {
  static const char *const list[][2] = {{"mla_append:h20,r512,p64,bf16,paged,pairs,norm,t64", "rows:group=16,threads=256/s1"},
                                        {"mla_append:h20,r512,p64,bf16,paged,halves,t64", "rows:group=8,threads=64/s1"},
                                        {"mla_append:h7,r256,p32,f16,split,pairs,t64", "rows:group=4,threads=128/s1"},
                                        {"mla_append:h1,r32,p0,bf16,e4m3fn,t1", "rows:group=1,threads=64/s1"},
                                        {"mla_append:h128,r512,p64,bf16,e4m3fnuz,pairs,norm,t8", "rows:group=16,threads=128/s1"}};
  bench b;
  open_bench(&b);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_verify_result r;
    if (verdict(&b, list[i][0], list[i][1], NULL, NULL, MLAF_INJECT_NONE, &r)) fail_msg("%s %s: %s", list[i][0], list[i][1],
                                                                                        r.detail);
  }
  close_bench(&b);
}

/* --- mistakes --- */

#define PAGED "mla_append:h5,r512,p64,bf16,paged,pairs,norm,t64"
#define PLAIN "mla_append:h5,r512,p64,bf16,paged,pairs,t64"
#define HALVES "mla_append:h5,r512,p64,f16,split,halves,norm,t64"
#define TILES "mla_append:h0,r512,p64,bf16,fp8_ds_mla,pairs,norm,t64"
#define FN "mla_append:h0,r512,p64,bf16,e4m3fn,pairs,norm,t64"
#define FNUZ "mla_append:h0,r512,p64,bf16,e4m3fnuz,pairs,norm,t64"

static const struct {
  const char *problem, *from, *to;
} mistakes[] = {
    /* slots, pages, strides */
    {PAGED, "if ((u64)slot >= (u64)a.num_slots) return;", "if (slot < 0) return;"},
    {PLAIN, "if ((u64)slot >= (u64)a.num_slots) return;", "if (slot == 0 || (u64)slot >= (u64)a.num_slots) return;"},
    {PAGED, "if (page_tokens == 0) return", "return"},
    {PAGED, "slot - in * page_tokens", "slot - in * page_tokens + 1"},
    {PAGED, "t * a.ckv_stride", "t * (2 * R)"},
    {PAGED, "t * a.kpe_stride", "t * (2 * ROPE)"},
    {HALVES, "a.rope + row_of((u32)slot, a.page_tokens, a.rope_page, a.rope_row)",
     "a.rope + row_of((u32)slot, a.page_tokens, a.latent_page, a.latent_row)"},
    /* norm */
    {PAGED, ", a.eps)", ", 0.0f)"},
    {PAGED, "0.001953125f", "0.0017361111f"}, /* 1/512 as 1/576: the rope columns are not normed */
    {PAGED, "v[i] * factor * g[i]", "v[i] * factor"},
    {HALVES, "d < LANES; d *= 2) x +=", "d < LANES / 2; d *= 2) x +="},
    /* rotation */
    {PAGED, "t.cos[i], -across)", "t.cos[i], across)"},
    {PAGED, "load_angles(t.sin, a.sin + row", "load_angles(t.sin, a.cos + row"},
    {HALVES, "16 * item + k * ROPE", "16 * (2 * item + k)"},
    {PAGED, "position * a.table_stride", "position * (2 * ROPE)"},
    {PAGED, "(u64)position < (u64)a.table_rows", "(u64)position + 1 < (u64)a.table_rows"},
    {PAGED, "a.positions + t", "a.positions"},
    {PAGED, "row + 2 * N * item", "row + 4 * N * item"}, /* a table of 16 bits */
    /* queries */
    {PAGED, "&& !(a.flags & APPEND_ALL_Q)) return;", ") return;"},
    {PAGED, "if ((u64)slot >= (u64)a.num_slots && !(a.flags & APPEND_ALL_Q)) return;", ""},
    {PAGED, "(first + head) * a.q_out_head", "(first + head) * (2 * R)"},
    {PAGED, "if (a.kpe_out)", "if (false)"},
    /* rounding and quantising */
    {PAGED, "u + 0x7fffu + (u >> 16 & 1u)", "u"},
    {FN, "(h + 0x7ffffu + (h >> 20 & 1u) >> 20)", "(h >> 20)"},
    {FN, "size < MOST ? size : MOST", "size"},
    {FN, "h < LEAST_NORMAL ? small : normal", "h < LEAST_NORMAL ? 0 : normal"},
    {FN, "multiply_add(multiply_add(-q, scale, v[i]), inverse_scale, q)", "v[i] * scale"},
    {FN, "a.scale_at ? load<float>(a.scale_at) : a.scale", "a.scale"},
    {FNUZ, "0x80u : code ? code | (u >> 24 & 0x80u) : 0u", "0x80u : code | (u >> 24 & 0x80u)"}, /* -0 is its NaN */
    {FNUZ, "- 952", "- 960"},                                                                  /* the other type's bias */
    {TILES, "d < 16; d *= 2) x = larger", "d < 8; d *= 2) x = larger"},
    {TILES, "if (!power_of_two) return larger", "return larger"},
    {TILES, "u + 0x7fffffu & 0xff800000u", "u & 0xff800000u"},
    {TILES, "store(latent + R + chunk / 4, there ? scale : 0.0f)", "store(latent + R + chunk / 4, inverse(scale))"},
};

static void mistakes_are_found(void **state) {
  bench b;
  open_bench(&b);
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_status st = verdict(&b, mistakes[i].problem, NULL, mistakes[i].from, mistakes[i].to, MLAF_INJECT_NONE, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s' in %s: %s", mistakes[i].from, mistakes[i].to, mistakes[i].problem, mlaf_status_text(st));
    assert_true(r.detail[0]);
  }
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_offsets), cmocka_unit_test(fp8_numbers),
                                     cmocka_unit_test(every_shape_verifies), cmocka_unit_test(groups_verify),
                                     cmocka_unit_test(mistakes_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
