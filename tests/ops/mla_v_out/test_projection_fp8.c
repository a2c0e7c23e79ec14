/* Projections of weights of 8 bits on the emulator: every family, layout and encoding verifies, what is wrong in a kernel is
 * found, and a place among the scales that no kernel could serve is refused by name. */
#include "verdict.h"

#include "op/e4m3.h"
#include "op/projection_calls.h"
#include "parsed.h"

#define MFMA_16 "mla_o_proj:d192,h3,v128,residual,bf16,e4m3fnuz,t17", "mfma_fp8:blocks=2,depth=1,parts=1,pass=32,waves=2/s1"
#define MFMA_8 "mla_v_out:h2,r160,v96,f16,e4m3fn,t5", "mfma_fp8:blocks=4,depth=1,parts=1,pass=16,waves=1/s1"
#define MFMA_NORM "mla_q_b:l320,h1,n128,p64,norm,bf16,e4m3fn,t9", "mfma_fp8:blocks=1,depth=2,parts=1,pass=16,waves=4/s1"
#define MFMA_NORM_F16 "mla_q_b:l320,h1,n128,p64,norm,f16,e4m3fn,t9", "mfma_fp8:blocks=1,depth=2,parts=1,pass=16,waves=4/s1"
#define MFMA_IN "mla_q_absorb:h2,n160,p32,r160,bf16,e4m3fn,pairs,t7", "mfma_fp8:blocks=8,depth=1,parts=1,pass=16,waves=2/s1"
#define DOT "mla_q_b:l192,h2,n64,p32,norm,bf16,e4m3fnuz,t2", "dot_fp8:cols=2,depth=2,pass=2,threads=256/s1"
#define DOT_IN "mla_q_absorb:h2,n96,p32,r160,f16,e4m3fnuz,halves,t3", "dot_fp8:cols=16,depth=8,pass=4,threads=256/s1"

static const char *const variants[][2] = {
    {MFMA_16}, {MFMA_8}, {MFMA_NORM}, {MFMA_IN}, {DOT}, {DOT_IN}, {MFMA_NORM_F16},
    {"mla_qkv_a:d320,l0,r64,p0,bf16,e4m3fn,t1", "dot_fp8:cols=1,depth=4,pass=1,threads=512/s1"}, /* by integers; ends of rows */
    {"mla_q_absorb:h1,n64,p0,r96,bf16,e4m3fnuz,t20", NULL},
    {"mla_v_out:h1,r512,v64,bf16,e4m3fn,t1", NULL},
};

TEST(every_kind_verifies) { all_verify(variants, sizeof variants / sizeof *variants); }

static const mistake mistakes[] = {
    /* scales: of the wrong row, column, head, or of none */
    {MFMA_16, "a.scale_first_row + head", "head"},
    {MFMA_16, "a.scale_first_column + column", "column"},
    {MFMA_16, "+ row >> 7", "+ row >> 6"},
    {MFMA_8, "head * a.scale_head", "head * (i64)OUTER"},
    {MFMA_8, "* a.scale_row;", "* (4 * (INNER / 128 + 1));"},
    {MFMA_16, "multiply_add(part[r], scale[n][b], s.of[b][g][r])", "multiply_add(part[r], 1.0f, s.of[b][g][r])"},
    {MFMA_16, "scale_at(a, o.scales[b], (step + n) * (4 * VALUES))", "scale_at(a, o.scales[b], step)"},
    {MFMA_8, "p.first + 16 * b < OUTER ? p.first + 16 * b", "p.first < OUTER ? p.first"},
    {MFMA_IN, "scales_of(a, o.head, 16 * (step + n))", "scales_of(a, o.head, 0)"},
    {MFMA_IN, "scales_of(a, o.head, 16", "scales_of(a, 0, 16"},
    {MFMA_IN, "), o.first);", "), 0);"},
    {DOT, "scale_at(a, scales[c], 16 * chunk)", "scale_at(a, scales[c], 8 * chunk)"},
    {DOT_IN, "unpack_hi(pair) * scale", "unpack_hi(pair)"},
    {DOT_IN, "k < INNER ? k : INNER - 1)", "0)"},
    /* bytes: the other encoding, NaN as a number, signs, the smallest, order */
    {MFMA_8, "+ 0x01000100u & 0x80008000u", "& 0u"},
    {MFMA_8, "w & 0x80008000u;", "0u;"},
    {MFMA_8, "f16x2{size, size}", "f16x2{size, 1}"},
    {DOT, "PAIR == 1", "false"},
    {MFMA_IN, "0x07030602u", "0x07060302u"},
    {MFMA_16, "o.x[g] + 2 * at + 16 * i", "o.x[g] + 2 * at"},
    {MFMA_NORM, "gain[n][i / 4][i % 4]", "gain[n][0][i % 4]"},
    {MFMA_NORM_F16, "shrunk(weight, o.shrink)", "weight"},
    {DOT, "x == x ? x : not_a_number()", "x == x ? x : 0.0f"},
};

TEST(mistakes_are_found) { all_are_found(mistakes, sizeof mistakes / sizeof *mistakes, MLAF_INJECT_OOB_PAGE); }

TEST(arguments_are_checked) {
  _Alignas(16) static char memory[64];
  mlaf_err err = {MLAF_OK, ""};
  mlaf_bound b = {.point = point("mla_v_out:h2,r256,v96,bf16,e4m3fn,t3"), .knob = 1};
  b.stage[0] = (mlaf_stage){.fn = (mlaf_function *)&b, .threads = 64, .rows_per_wg = 32};
  const mlaf_calls *calls = b.point.op->calls;
  mlaf_projection_args good = MLAF_PROJECTION_ARGS_INIT, a;
  good.tokens = 5;
  good.x = good.w = memory;
  good.y = memory;
  good.w_scale = (const float *)(const void *)memory;
  good.w_scale_row = 160, good.w_head_stride = 256 * 256; /* W_UV behind 160 rows of each head's 256 */
  assert_int_equal(calls->check_stages(&b, &err), MLAF_E_TEMPLATE); /* a kernel of weights of 16 bits */
  b.stage[0].launch.flags = MLAF_KERNEL_SCALES;
  assert_int_equal(calls->check_stages(&b, &err), MLAF_OK);
  assert_int_equal(calls->check_args(&b, 1, &good, &err), MLAF_OK);
  mlaf_prepared launch = {.n = 7};
  assert_int_equal(calls->prepare(&b, 1, &good, &launch, &err), MLAF_OK);
  const mlaf_projection_kernel_args *k = (const void *)launch.parameters;
  assert_int_equal(launch.launches[0].args_size, sizeof *k);
  assert_int_equal(k->w_row, 256);
  assert_int_equal(k->w_head, 256 * 256);
  assert_int_equal(k->scale_head, 256);
  assert_int_equal(k->scale_row, 2 * sizeof(float));
  assert_int_equal(k->scale_first_row, 160);
#define REFUSED(field, value, why) (a = good, a.field = value, refused(&b, &a, why))
  REFUSED(w_scale, NULL, "w_scale is NULL");
  REFUSED(w_scale_row, 16, "w_scale_row is 16, must be a multiple of 32");
  REFUSED(w_scale_row, -32, "w_scale_row is -32");
  REFUSED(w_scale_column, 32, "w_scale_column is 32, must be a multiple of 64");
  REFUSED(w_scale_row_stride, 1, "w_scale_row_stride is 1, must be 0 or 2");
  REFUSED(w_head_stride, 112 * 256, "a multiple of 32 rows of 256");
  REFUSED(w_row_stride, 264, "w_row_stride is 264, must be 0 or a multiple of 16");
  b.point = point("mla_q_absorb:h1,n64,p0,r256,bf16,e4m3fnuz,t3");
  a = good, a.w_head_stride = 0, a.w_scale_column = 64;
  refused(&b, &a, "w_scale_column is 64, must be a multiple of 128");
  b.point = point("mla_v_out:h2,r256,v96,bf16,t3");
  a = good, a.w_scale_row = 0;
  refused(&b, &a, "w_scale is");
  a.w_scale = NULL, a.w_scale_row = 160;
  refused(&b, &a, "the problem has no scales");
  assert_int_equal(calls->check_stages(&b, &err), MLAF_E_TEMPLATE);
  /* An older caller's struct ends before the scales. */
  mlaf_whole_args whole;
  a = good;
  a.struct_size = (uint32_t)offsetof(mlaf_projection_args, w_scale);
  const mlaf_projection_args *taken = mlaf_args_take(calls, &a, &whole, &err);
  assert_true(taken && !taken->w_scale && taken->tokens == 5);
}

TEST(work_counts_bytes) {
  const mlaf_point wide = point("mla_o_proj:d7168,h16,v128,bf16,t1"), narrow = point("mla_o_proj:d7168,h16,v128,bf16,e4m3fn,t1");
  const double w = 7168.0 * 2048;
  assert_true(mlaf_projection_work(&wide).main_bytes == 2 * w);
  assert_true(mlaf_projection_work(&narrow).main_bytes == w + 4 * 56 * 16);
  assert_true(mlaf_projection_work(&wide).flops == mlaf_projection_work(&narrow).flops);
}

TESTS(NULL, NULL)
