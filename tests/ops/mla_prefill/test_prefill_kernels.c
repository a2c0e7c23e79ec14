/* mla_prefill on the emulator: every shape and parameter verifies, what is wrong in a kernel is found; checks of arguments. */
#include <assert.h>
#include <string.h>

#include "verdict.h"

#include "ops/mla_prefill/case.h"

/* The templates' header is C++ for the kernel compiler and plain enough for C under other names. */
typedef int64_t i64;
typedef struct template_args template_args;
#define mlaf_prefill_kernel_args template_args
typedef struct template_scaled_args template_scaled_args;
#include "../templates/mla_prefill/lib/args.h"
#undef mlaf_prefill_kernel_args
#define mlaf_prefill_kernel_args template_args
#define mlaf_prefill_scaled_args template_scaled_args
#include "../templates/mla_prefill/lib/args_fp8.h"
#undef mlaf_prefill_kernel_args
#undef mlaf_prefill_scaled_args

static void same_offsets(void **state) {
#define SAME(field)                                                                                \
  assert_int_equal(offsetof(mlaf_prefill_kernel_args, field), offsetof(template_args, field));     \
  assert_int_equal(sizeof(((mlaf_prefill_kernel_args *)0)->field), sizeof(((template_args *)0)->field))
  SAME(q);
  SAME(k_pe);
  SAME(v);
  SAME(cu_seqlens_k);
  SAME(lse);
  SAME(q_token);
  SAME(k_pe_head);
  SAME(o_head);
  SAME(lse_head);
  SAME(total_k);
  SAME(batch);
  SAME(scale_log2e);
  assert_int_equal(offsetof(mlaf_prefill_kernel_args, q_scale), sizeof(template_args));
  assert_int_equal(offsetof(mlaf_prefill_kernel_args, q_scale), offsetof(template_scaled_args, q_scale));
  assert_int_equal(offsetof(mlaf_prefill_kernel_args, v_scale), offsetof(template_scaled_args, v_scale));
  assert_int_equal(sizeof(mlaf_prefill_kernel_args), sizeof(template_scaled_args));
}

#define V3 "mla_prefill:h3,n128,p64,v128,bf16,causal,b4,t64,s64"
#define GLM "mla_prefill:h1,n192,p64,v256,bf16,causal,b4,t64,s64"
#define MINI "mla_prefill:h2,n64,p32,v64,f16,b4,t64,s64"
#define RING4 "mfma:keys=32,stages=2,waves=4/s1"
#define ONE4 "mfma:keys=32,stages=1,waves=4/s1"
#define ASM2 "mfma_asm:blocks=2/s1"
#define ASM1 "mfma_asm:blocks=1/s1"

static void shapes_verify(void **state) {
  static const char *const list[][2] = {
      {V3, RING4},
      {GLM, ONE4},
      {MINI, "mfma:keys=64,stages=2,waves=4/s1"},
      {"mla_prefill:h9,n128,p0,v128,bf16,causal,b4,t64,s64", "mfma:keys=64,stages=1,waves=8/s1"},
      {"mla_prefill:h2,n64,p64,v80,f16,causal,b4,t64,s64", "mfma:keys=32,stages=1,waves=2/s1"}, /* columns of O not stored */
      {"mla_prefill:h1,n48,p16,v176,bf16,b4,t64,s64", "mfma:keys=32,stages=2,waves=8/s1"},
      {V3, ASM2},
      {"mla_prefill:h2,n64,p64,v128,f16,b4,t64,s64", ASM1},
      {"mla_prefill:h3,n128,p64,v128,bf16,e4m3fnuz,causal,b4,t64,s64", "mfma_fp8:keys=32,stages=2,waves=4/s1"},
      {"mla_prefill:h1,n48,p0,v208,f16,e4m3fnuz,b4,t64,s64", "mfma_fp8:keys=64,stages=1,waves=4/s1"}, /* zeros behind Q and K */
  };
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
      mlaf_verify_result r;
      if (verdict_of(&b, list[i][0], list[i][1], NULL, NULL, (mlaf_inject)inject, &r))
        fail_msg("%s %s: %s", list[i][0], list[i][1], r.detail);
      assert_true(r.rows > 0 && r.error > 0 && r.lse_ratio > 0);
    }
  close_verdicts(&b);
}

static const struct {
  const char *problem, *name, *from, *to;
} mistakes[] = {
    {V3, RING4, "t.keys - (q1 - q0) + m * ROWS + 1", "t.keys - (q1 - q0) + m * ROWS"},        /* the diagonal */
    {V3, RING4, "t.keys - (q1 - q0) + m * ROWS + 1", "m * ROWS + 1"},                       /* aligned to the first key */
    {V3, RING4, "smaller(first + row, s.last)", "smaller(first + row, s.last + 1)"},      /* the next request's first key */
    {V3, RING4, "key * s.k_pe_token", "key * s.k_token"},
    {V3, RING4, "cu / ROWS + request", "cu / ROWS"},                                      /* requests own the same blocks */
    {V3, RING4, "low += last * step;", ""},                                               /* the search ends too early */
    {V3, RING4, "t.bad = k0 < 0 || k1 < k0 || k1 > a.total_k", "t.bad = k1 < k0"},
    {V3, RING4, "KEYS * PITCH_K + row * PITCH_V", "KEYS * PITCH_K + row * PITCH_V + 2"},
    {V3, ASM1, "thread / 32 * 4 + r, t.keys - 1)", "thread / 32 * 4 + r, t.keys)"},
};

static void mistakes_are_found(void **state) {
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_inject inject = strstr(mistakes[i].from, "t.bad") ? MLAF_INJECT_OOB_PAGE : MLAF_INJECT_NONE;
    const mlaf_status st = verdict_of(&b, mistakes[i].problem, mistakes[i].name, mistakes[i].from, mistakes[i].to, inject, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s': %s", mistakes[i].from, mistakes[i].to, mlaf_status_text(st));
  }
  close_verdicts(&b);
}

/* --- arguments --- */

static const mlaf_prefill_args *good(void) {
  static int32_t cu[2] = {0, 4};
  static _Alignas(16) uint16_t tensor[8];
  static mlaf_prefill_args a;
  a = (mlaf_prefill_args){.struct_size = sizeof a, .batch = 1, .scale = 1, .total_q = 4, .total_k = 4, .q = tensor, .k = tensor,
                          .v = tensor, .o = tensor, .cu_seqlens_q = cu, .cu_seqlens_k = cu};
  return &a;
}

static mlaf_status checked(const mlaf_prefill_args *a, mlaf_err *err) {
  mlaf_bound b = {.stage = {{.threads = 256, .rows_per_wg = 128}}};
  assert_int_equal(mlaf_point_parse(NULL, V3, &b.point, NULL, 0), MLAF_OK);
  *err = (mlaf_err){MLAF_OK, ""};
  return mlaf_prefill_calls.check_args(&b, 1, a, err);
}

static void arguments_are_checked(void **state) {
  mlaf_err err;
  assert_int_equal(checked(good(), &err), MLAF_OK);
#define WRONG(change, word)                                                                      \
  do {                                                                                           \
    mlaf_prefill_args a = *good();                                                               \
    change;                                                                                      \
    assert_int_equal(checked(&a, &err), MLAF_E_ARG);                                             \
    if (!strstr(err.text, word)) fail_msg("'%s' does not name %s", err.text, word);              \
  } while (0)
  WRONG(a.q = NULL, "q is NULL");
  WRONG(a.k = (const char *)a.k + 2, "k is");
  WRONG(a.cu_seqlens_k = NULL, "cu_seqlens_k");
  WRONG(a.scale = 0, "scale");
  WRONG(a.scale = 1e-40f, "scale is 9.99995e-41");
  WRONG(a.flags = 1, "flags");
  WRONG(a.batch = -1, "batch");
  WRONG(a.total_q = -1, "total_q");
  WRONG(a.total_k = INT64_C(1) << 31, "total_k");
  WRONG(a.k_token_stride = 12, "k_token_stride");
  WRONG(a.v_head_stride = 64, "v_head_stride");
  WRONG(a.lse = (float *)a.o; a.lse_head_stride = 4, "lse_token_stride");
  WRONG(a.batch = INT32_MAX, "batch");
  WRONG(a.k_scale = (const float *)a.o, "k_scale");
  mlaf_prefill_args nothing = {.struct_size = sizeof nothing, .scale = 1};
  assert_int_equal(checked(&nothing, &err), MLAF_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_offsets), cmocka_unit_test(arguments_are_checked),
                                     cmocka_unit_test(shapes_verify), cmocka_unit_test(mistakes_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
