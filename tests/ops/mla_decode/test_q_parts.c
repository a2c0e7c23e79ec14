/* Q in two tensors: arguments, kernels on emulators, and mistakes in them. */
#include "verdict.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/testcase.h"

/* --- arguments --- */

static _Alignas(256) unsigned char memory[4096];

static mlaf_execute_args usual_args(void) {
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.batch = a.num_pages = 1;
  a.total_q = 1;
  a.scale = 1;
  a.q = a.ckv = a.o = memory;
  a.qo_indptr = a.kv_indptr = a.kv_indices = a.kv_last_page_lens = (const int32_t *)(const void *)memory;
  return a;
}

TEST(arguments_are_checked) {
  static const struct {
    const char *problem;
    int pe; /* q_pe's place in memory; < 0: NULL */
    int64_t total_q, token, head, pe_token, pe_head;
    const char *says;
  } cases[] = {
      {"mla_decode:h2,q_parts", 0, 1, 0, 0, 0, 0, NULL},
      {"mla_decode:h2,q_parts", 0, 2, 512, 1024, 64, 128, NULL}, /* heads are the outer dimension */
      {"mla_decode:h2,q_parts", 0, 1, 0, 520, 0, 192, NULL},
      {"mla_decode:h1,q_parts", 0, 1, 0, 0, 0, 0, NULL},
      {"mla_decode:h2,p0,q_parts", -1, 1, 0, 0, 0, 0, NULL}, /* no rope columns: one tensor */
      {"mla_decode:h2,p0,q_parts", 0, 1, 0, 0, 0, 0, "q_pe is"},
      {"mla_decode:h2", 0, 1, 0, 0, 0, 0, "must be NULL, and strides of Q 0: Q of the problem is one dense tensor; plan with"},
      {"mla_decode:h2", -1, 1, 0, 512, 0, 0, "strides of Q 0"},
      {"mla_decode:h2,q_parts", -1, 1, 0, 0, 0, 0, "must be a 16-byte aligned tensor of Q's rope columns"},
      {"mla_decode:h2,q_parts", 8, 1, 0, 0, 0, 0, "must be a 16-byte aligned tensor of Q's rope columns"},
      {"mla_decode:h2,q_parts", 0, 1, 0, 516, 0, 0, "q_head_stride is 516, must be a multiple of 8 in 512..34359738367"},
      {"mla_decode:h2,q_parts", 0, 1, 0, 504, 0, 0, "q_head_stride is 504"},
      {"mla_decode:h2,q_parts", 0, 2, 256, 512, 0, 0, "q_token_stride is 256"},
      {"mla_decode:h2,q_parts", 0, 1, 0, 0, 0, 32, "q_pe_head_stride is 32"},
      {"mla_decode:h2,q_parts", 0, 2, 0, 0, INT64_C(1) << 35, 64, "q_pe_token_stride is 34359738368"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_problem p;
    mlaf_err err = {MLAF_OK, ""};
    mlaf_execute_args a = usual_args();
    assert_int_equal(mlaf_problem_parse(cases[i].problem, &p, NULL, 0), MLAF_OK);
    a.total_q = a.batch = (int32_t)cases[i].total_q;
    a.q_pe = cases[i].pe < 0 ? NULL : memory + cases[i].pe;
    a.q_token_stride = cases[i].token, a.q_head_stride = cases[i].head;
    a.q_pe_token_stride = cases[i].pe_token, a.q_pe_head_stride = cases[i].pe_head;
    const mlaf_bound b = {.point = point_of(&p)};
    const mlaf_status st = mlaf_decode_check_args(&b, 1, &a, &err);
    if (st != (cases[i].says ? MLAF_E_ARG : MLAF_OK)) fail_msg("case %zu: %s", i, err.text);
    if (cases[i].says && !strstr(err.text, cases[i].says)) fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
  }
  mlaf_problem p;
  char why[200] = "";
  assert_int_equal(mlaf_problem_parse("mla_decode:h2,e4m3fn,fp8_q,q_parts", &p, why, sizeof why), MLAF_E_PROBLEM);
  if (!strstr(why, "queries of 8 bits are one tensor")) fail_msg("%s", why);
}

/* --- kernels --- */

#define REG   "mfma_reg:blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=always,schedule=splits,tile=16,waves=4/s1"
#define CACHE "mfma_reg_cache:blocks=1,qsrc=reg,rescale=always,schedule=splits,waves=2/s1"
#define AHEAD "mfma_lds:blocks=1,load=dma,order=ahead,rescale=lazy,schedule=splits,stages=3,waves=3/s4,rows=1,team=8"
#define COLUMNS "mfma_lds:blocks=1,load=vgpr,order=columns,rescale=lazy,schedule=fitted,stages=3,waves=4/s2,rows=4,team=1"
#define FITTED \
  "mfma_reg:blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=lazy,schedule=fitted,tile=32,waves=4/s16,rows=1,team=4"
#define TILES "mfma_lds_cache:blocks=1,load=vgpr,order=columns,rescale=lazy,schedule=splits,stages=3,waves=4/s1"

/* Each family on each target that has it; the cases have Q's tensors at strides of their own, heads outside tokens in one. */
TEST(kernels_verify) {
  static const verified list[] = {
      {"gfx942", "mla_decode:h3,r64,p64,q2,causal,bf16,q_parts,page16", REG, MLAF_INJECT_NAN_Q},
      {"gfx950", "mla_decode:h3,r96,p32,f16,q_parts,page1", REG, MLAF_INJECT_LONG_Q},
      {"gfx90a", "mla_decode:h3,r64,p32,q2,causal,bf16,q_parts,page3", REG, MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h20,r128,p64,bf16,q_parts,page64,b4", FITTED, MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h40,r256,p32,q2,causal,f16,q_parts,page1", AHEAD, MLAF_INJECT_NAN_Q},
      {"gfx90a", "mla_decode:h40,r256,p64,bf16,q_parts,page16", AHEAD, MLAF_INJECT_LONG_Q},
      {"gfx942", "mla_decode:h40,r512,p64,bf16,q_parts,page64,b2,s200", COLUMNS, MLAF_INJECT_NAN_Q},
      {"gfx942", "mla_decode:h3,r96,p32,q3,causal,bf16,e4m3fn,q_parts,page16", CACHE, MLAF_INJECT_NAN_Q},
      {"gfx950", "mla_decode:h3,r256,p64,bf16,fp8_planar_fnuz,q_parts,page1", CACHE, MLAF_INJECT_LONG_Q},
      {"gfx90a", "mla_decode:h3,r64,p32,f16,kpe16,q_parts,page3", CACHE, MLAF_INJECT_NONE},
      {"gfx942", "mla_decode:h40,r512,p64,bf16,e4m3fnuz,q_parts,page3", TILES, MLAF_INJECT_NAN_Q},
  };
  each_verifies(list, sizeof list / sizeof *list);
}

static const struct {
  const char *variant, *problem, *from, *to;
} mistakes[] = {
    {REG, "mla_decode:h3,r64,p64,bf16,q_parts,page16", "(i64)token * a.q_token", "(i64)token * 64"},   /* dense rows */
    {REG, "mla_decode:h3,r64,p64,bf16,q_parts,page16", "(i64)head * a.q_head)", "(i64)head * a.q_pe_head)"},
    {REG, "mla_decode:h3,r64,p64,q2,bf16,q_parts,page16", "(i64)token * a.q_pe_token", "(i64)token * a.q_token"},
    {REG, "mla_decode:h3,r64,p64,bf16,q_parts,page16", "(u32)row % H", "(u32)row % (H + 1)"},
    {REG, "mla_decode:h3,r64,p64,bf16,q_parts,page16", "64 * (i - NK_C)", "64 * i"},
    {CACHE, "mla_decode:h3,r96,p32,bf16,e4m3fn,q_parts,page16", "column < R ?", "column <= R ?"},
    {CACHE, "mla_decode:h3,r96,p32,bf16,e4m3fn,q_parts,page16", "2 * (column - R)", "2 * column"},
    {AHEAD, "mla_decode:h40,r256,p64,bf16,q_parts,page16", "16 * (lane & (ROPE / 8 - 1))", "16 * (lane & 3)"},
    {AHEAD, "mla_decode:h40,r256,p64,bf16,q_parts,page16", "q_rope_row(q_args, w.row + at)", "q_rope_row(q_args, w.row)"},
};

TEST(mistakes_are_found) {
  bench b;
  open_bench(&b, "gfx942");
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_status st = verdict_of(&b, mistakes[i].variant, mistakes[i].problem, mistakes[i].from, mistakes[i].to,
                                      MLAF_INJECT_NONE, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s' in %s: %s", mistakes[i].from, mistakes[i].to, mistakes[i].problem, mlaf_status_text(st));
  }
  close_bench(&b);
}

TESTS(NULL, NULL)
