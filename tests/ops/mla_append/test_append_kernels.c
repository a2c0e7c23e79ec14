/* mla_append on the emulator: every cache, style and type verifies, and what is wrong in a kernel is found. */
#include <assert.h>
#include <string.h>

#include "verdict.h"

#include "ops/mla_append/case.h"
#include "ops/mla_append/fp8.h"

/* The templates' header is C++ for the kernel compiler and plain enough for C under other names. */
typedef int64_t i64;
typedef uint64_t u64;
typedef uint32_t u32;
typedef struct template_args template_args;
#define mlaf_append_kernel_args template_args
#define constexpr static const __attribute__((unused))
#include "../templates/mla_append/lib/args.h"
#undef mlaf_append_kernel_args
#undef constexpr

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
  SAME(page_inverse);
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

/* --- all there is --- */

static void every_shape_verifies(void **state) {
  static const char *const caches[] = {"paged", "split", "fp8_ds_mla", "e4m3fn", "e4m3fnuz"};
  static const char *const shapes[] = {"h5,r512,p64,bf16,%s,pairs,norm", "h3,r96,p32,f16,%s,halves", "h0,r256,p0,bf16,%s,norm",
                                       "h20,r160,p64,bf16,%s,unrotated,norm"};
  verdict_bench b;
  open_verdicts(&b);
  for (size_t c = 0; c < 5; c++)
    for (size_t i = 0; i < 4; i++)
      for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
        char problem[128] = "mla_append:";
        mlaf_verify_result r;
        snprintf(problem + strlen(problem), 100, shapes[i], caches[c]);
        if (verdict_of(&b, problem, NULL, NULL, NULL, (mlaf_inject)inject, &r)) fail_msg("%s: %s", problem, r.detail);
        assert_true(r.rows > 0 && r.error <= APPEND_ULPS);
      }
  close_verdicts(&b);
}

/* Points of the space beside the baseline: several heads a group, with and without a rest. */
static void groups_verify(void **state) {
  static const char *const list[][2] = {{"mla_append:h20,r512,p64,bf16,paged,pairs,norm,t64", "group=16,threads=256"},
                                        {"mla_append:h20,r512,p64,bf16,paged,halves,t64", "group=8,threads=64"},
                                        {"mla_append:h7,r256,p32,f16,split,pairs,t64", "group=4,threads=128"},
                                        {"mla_append:h1,r32,p0,bf16,e4m3fn,t1", "group=1,threads=64"},
                                        {"mla_append:h128,r512,p64,bf16,e4m3fnuz,pairs,norm,t8", "group=16,threads=128"}};
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_verify_result r;
    char name[64];
    snprintf(name, sizeof name, "rows:ahead=0,%s/s1", list[i][1]);
    if (verdict_of(&b, list[i][0], name, NULL, NULL, MLAF_INJECT_NONE, &r)) fail_msg("%s %s: %s", list[i][0], name, r.detail);
  }
  close_verdicts(&b);
}

/* --- mistakes --- */

#define PAGED "mla_append:h5,r512,p64,bf16,paged,pairs,norm,t64"
#define PLAIN "mla_append:h5,r512,p64,bf16,paged,pairs,t64"
#define HALVES "mla_append:h5,r512,p64,f16,split,halves,norm,t64"
#define TILES "mla_append:h0,r512,p64,bf16,fp8_ds_mla,pairs,norm,t64"
#define TILES_AS_THEY_ARE "mla_append:h0,r512,p64,bf16,fp8_ds_mla,pairs,t64"
#define FN "mla_append:h0,r512,p64,bf16,e4m3fn,pairs,norm,t64"
#define FNUZ "mla_append:h0,r512,p64,bf16,e4m3fnuz,pairs,norm,t64"

static const struct {
  const char *problem, *from, *to;
} mistakes[] = {
    /* slots, pages, strides */
    {PAGED, "p.inside = (u64)slot < (u64)a.num_slots", "p.inside = slot >= 0"},
    {PLAIN, "p.inside = (u64)slot < (u64)a.num_slots", "p.inside = slot && (u64)slot < (u64)a.num_slots"},
    {PAGED, "quotient((u32)slot, a.page_inverse)", "0"},
    {PAGED, "n * (inverse >> 32)", "n * (inverse >> 33)"},
    {PAGED, "(u32)slot - page * a.page_tokens", "(u32)slot - page * a.page_tokens + 1"},
    {PAGED, "t * a.ckv_stride", "t * (2 * R)"},
    {PAGED, "t * a.kpe_stride", "t * (2 * ROPE)"},
    {HALVES, "page * a.rope_page + row * a.rope_row", "page * a.latent_page + row * a.latent_row"},
    /* norm */
    {PAGED, ", a.eps)", ", 0.0f)"},
    {PAGED, "0.001953125f", "0.0017361111f"}, /* 1/512 as 1/576: the rope columns are not normed */
    {PAGED, "v[i] * g[i] * factor", "v[i] * factor"},
    {PAGED, "sum += exchange(sum, lane, 1);", ""},
    {HALVES, "d < LANES; d *= 2) sum +=", "d < LANES / 2; d *= 2) sum +="},
    /* rotation */
    {PAGED, "x, c, -across)", "x, c, across)"},
    {PAGED, "load_angles(a.sin + at", "load_angles(a.cos + at"},
    {HALVES, "16 * item + k * ROPE", "16 * (2 * item + k)"},
    {PAGED, "position * a.table_stride", "position * (2 * ROPE)"},
    {PAGED, "(u64)position < (u64)a.table_rows", "(u64)position + 1 < (u64)a.table_rows"},
    {PAGED, "a.positions + t", "a.positions"},
    {PAGED, "narrow ? 8 : 16", "16"}, /* a table of 16 bits */
    /* queries */
    {PAGED, "&& !(a.flags & APPEND_ALL_Q)) return;", ") return;"},
    {PAGED, "if ((u64)slot >= (u64)a.num_slots && !(a.flags & APPEND_ALL_Q)) return;", ""},
    {PAGED, "first * a.q_out_head", "first * (2 * R)"},
    {PAGED, "mine && a.kpe_out", "false"},
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
    {TILES_AS_THEY_ARE, "if (most == infinity()) return most;", ""},
    {FN, "multiply_add(v[i], 0.0f, v[i] * inverse_scale)", "v[i] * inverse_scale"},
    {TILES, "u + 0x7fffffu & 0xff800000u", "u & 0xff800000u"},
    {TILES, "store(to.latent + R + chunk / 4, there ? scale : 0.0f)", "store(to.latent + R + chunk / 4, inverse(scale))"},
};

static void mistakes_are_found(void **state) {
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_status st = verdict_of(&b, mistakes[i].problem, NULL, mistakes[i].from, mistakes[i].to, MLAF_INJECT_NONE, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s' in %s: %s", mistakes[i].from, mistakes[i].to, mistakes[i].problem, mlaf_status_text(st));
    assert_true(r.detail[0]);
  }
  close_verdicts(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_offsets), cmocka_unit_test(fp8_numbers),
                                     cmocka_unit_test(every_shape_verifies), cmocka_unit_test(groups_verify),
                                     cmocka_unit_test(mistakes_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
