/* All projections on the emulator: every family, layout, prologue and epilogue verifies, what is wrong in a kernel is found, and
 * arguments that no launch should get are refused by name. */

#include <assert.h>
#include "verdict.h"

#include "op/projection_calls.h"
#include "parsed.h"

/* The templates' header is C++ for the kernel compiler and plain enough for C under other names. */
typedef int64_t i64;
typedef uint32_t u32;
typedef struct template_args template_args;
#define mlaf_projection_kernel_args template_args
#define constexpr static const __attribute__((unused))
#include "../templates/lib/projection/args.h"
#include "run/resources.h"
#undef mlaf_projection_kernel_args
#undef constexpr

TEST(same_offsets) {
#define SAME(field)                                                                                      \
  assert_int_equal(offsetof(mlaf_projection_kernel_args, field), offsetof(template_args, field));        \
  assert_int_equal(sizeof(((mlaf_projection_kernel_args *)0)->field), sizeof(((template_args *)0)->field))
  SAME(x);
  SAME(y);
  SAME(gain);
  SAME(residual);
  SAME(positions);
  SAME(sin);
  SAME(x_token);
  SAME(w_row);
  SAME(w_head);
  SAME(y_token);
  SAME(residual_token);
  SAME(table_row);
  SAME(table_rows);
  SAME(tokens);
  SAME(eps);
  SAME(flags);
  /* Scales come behind: lib/projection/fp8.h has them. */
  assert_int_equal(offsetof(mlaf_projection_kernel_args, w_scale), sizeof(template_args));
  assert_int_equal(PROJECTION_TABLE_16, MLAF_PROJECTION_TABLE_16);
}

/* --- all there is --- */

#define MANY "mla_q_b:l256,h1,n128,p64,norm,bf16,t33", "mfma:blocks=2,depth=2,parts=1,pass=64,waves=2/s1"
#define SHARED "mla_qkv_a:d512,l96,r128,p64,f16,t50", "mfma:blocks=1,depth=4,parts=4,pass=16,waves=2/s1"

#define STAGED \
  "mla_q_b:l1024,h1,n32,p32,norm,bf16,append_paged,r96,append_norm,t100", "staged_append:blocks=1,depth=4,parts=2,pass=64/s1"
#define TWO_STAGES "mla_o_proj:d192,h4,v64,residual,f16,t150", "staged:blocks=6,depth=2,parts=1,pass=128/s1"

#define STAY "mla_q_absorb:h1,n96,p32,r256,f16,halves,t90", "stay:parts=2,waves=2/s1"

static const char *const variants[][2] = {
    /* layout=outputs: W[h] of heads, one of all; odd dims; every class of tokens */
    {"mla_v_out:h3,r512,v128,bf16,t1", "dot:cols=1,depth=2,pass=1,threads=512/s1"},
    {"mla_v_out:h2,r96,v32,f16,t3", "dot:cols=2,depth=4,pass=4,threads=256/s1"},
    {"mla_v_out:h2,r448,v128,bf16,t8", "mfma:blocks=1,depth=2,parts=1,pass=16,waves=2/s1"},
    {"mla_v_out:h1,r256,v64,f16,t40", "mfma:blocks=2,depth=2,parts=4,pass=16,waves=2/s1"},
    {"mla_v_out:h2,r160,v96,bf16,t17", NULL},
    {"mla_qkv_a:d512,l64,r96,p32,bf16,t2", "dot:cols=4,depth=2,pass=2,threads=256/s1"},
    {SHARED},
    {"mla_qkv_a:d320,l0,r64,p0,bf16,t20", "mfma:blocks=1,depth=2,parts=1,pass=32,waves=2/s1"},
    {"mla_q_b:l192,h2,n64,p32,norm,bf16,t2", "dot:cols=2,depth=2,pass=2,threads=256/s1"},
    {MANY},
    {"mla_q_b:l96,h2,n64,p32,norm,f16,t17", "mfma:blocks=1,depth=1,parts=1,pass=16,waves=2/s1"},
    {"mla_q_b:l192,h2,n64,p32,norm,f16,t2", "dot:cols=2,depth=2,pass=2,threads=256/s1"},
    /* with rows appended beside it: a case of mla_append each, 37, 21 and 8 tokens */
    {"mla_q_b:l256,h1,n128,p64,norm,f16,append_fp8_ds_mla,r512,append_halves,append_norm,t5",
     "mfma_append:blocks=4,depth=2,parts=1,pass=16,waves=2/s1"},
    {"mla_q_b:l256,h1,n128,p0,bf16,append_paged,r96,t1", NULL},
    {"mla_q_b:l64,h1,n32,p32,bf16,append_fp8_ds_mla,r128,append_norm,t1", "dot_append:cols=1,depth=4,pass=1,threads=512/s1"},
    /* as many blocks as there are compute units: few for the rows, several tokens a wave */
    {"mla_q_b:l96,h38,n96,p32,bf16,append_split,r64,append_norm,t5", "mfma_append:blocks=1,depth=1,parts=1,pass=16,waves=1/s1"},
    {"mla_o_proj:d192,h3,v64,residual,bf16,t4", "dot:cols=1,depth=4,pass=4,threads=512/s1"},
    {"mla_o_proj:d192,h3,v64,residual,f16,t31", "mfma:blocks=2,depth=1,parts=1,pass=32,waves=2/s1"},
    /* operands by way of LDS: two blocks a tile and two lines a round, passes that are not full, two stages and sums in turns,
     * columns that fill no tile */
    {STAGED},
    {TWO_STAGES},
    {"mla_o_proj:d192,h4,v128,bf16,t9", "mfma:blocks=1,depth=2,parts=1,pass=16,waves=4/s1"},
    /* layout=inputs: every style, no rope, outputs that fill no tile */
    {"mla_q_absorb:h3,n128,p64,r512,bf16,pairs,t1", "dot:cols=8,depth=4,pass=1,threads=128/s1"},
    {"mla_q_absorb:h2,n96,p32,r160,f16,halves,t4", "dot:cols=16,depth=8,pass=4,threads=256/s1"},
    {"mla_q_absorb:h2,n192,p64,r96,bf16,unrotated,t2", "dot:cols=4,depth=4,pass=2,threads=256/s1"},
    {"mla_q_absorb:h2,n128,p64,r512,bf16,pairs,t40", "mfma:blocks=8,depth=2,parts=4,pass=16,waves=4/s1"},
    {"mla_q_absorb:h1,n64,p32,r96,f16,halves,t33", "mfma:blocks=4,depth=1,parts=1,pass=32,waves=2/s1"},
    {"mla_q_absorb:h2,n64,p0,r32,bf16,t6", NULL},
    {STAY},
};

/* Queries at once into the latent space: rope columns of pairs, of halves, not rotated and none; more tokens than a pass; a share
 * of a sum and several. */
static const verified absorbing[] = {
    {"gfx942", "mla_q_b:l256,h8,n128,p64,norm,bf16,append_paged,r512,append_norm,absorb_pairs,t5",
     "mfma_absorb_append:columns=16,each=8,shares=1/s1", MLAF_INJECT_NONE},
    {"gfx942", "mla_q_b:l512,h8,n128,p32,norm,f16,append_paged,r256,append_halves,append_norm,absorb_halves,t40",
     "mfma_absorb_append:columns=4,each=16,shares=4/s1", MLAF_INJECT_NAN_Q},
    {"gfx942", "mla_q_b:l256,h8,n128,p64,norm,bf16,append_paged,r512,absorb_unrotated,t135",
     "mfma_absorb_append:columns=2,each=16,shares=8/s1", MLAF_INJECT_NONE},
    {"gfx950", "mla_q_b:l256,h8,n128,p0,norm,bf16,append_split,r512,absorb_unrotated,t27",
     "mfma_absorb_append:columns=2,each=8,shares=4/s1", MLAF_INJECT_NONE},
    {"gfx90a", "mla_q_b:l256,h3,n128,p64,norm,bf16,append_paged,r512,append_norm,absorb_halves,t9",
     "mfma_absorb_append:columns=8,each=8,shares=2/s1", MLAF_INJECT_NONE},
};

TEST(queries_go_on_into_the_latent_space) { each_verifies(absorbing, sizeof absorbing / sizeof *absorbing); }

/* hiprtc leaves a state too few between a loop's last matrix instruction and the loop behind it, where rows of x lie apart. */
static const verified between_loops[] = {
    {"gfx90a", "mla_q_b:l1536,h1,n128,p64,norm,bf16,t9", "mfma:blocks=1,depth=2,parts=1,pass=16,waves=8/s1", MLAF_INJECT_NONE},
    {"gfx90a", "mla_q_b:l1536,h1,n128,p64,norm,bf16,t33", "mfma:blocks=1,depth=2,parts=4,pass=16,waves=8/s1", MLAF_INJECT_NONE},
    {"gfx950", "mla_q_b:l1536,h1,n128,p64,norm,bf16,t100", "mfma:blocks=1,depth=2,parts=4,pass=32,waves=8/s1", MLAF_INJECT_NONE},
};

TEST(sums_outlast_the_loop_that_reads_them) { each_verifies(between_loops, sizeof between_loops / sizeof *between_loops); }

TEST(every_kind_verifies) { all_verify(variants, sizeof variants / sizeof *variants); }

/* --- mistakes --- */

#define DOT "mla_q_b:l192,h2,n64,p32,norm,bf16,t2", "dot:cols=2,depth=2,pass=2,threads=256/s1"
#define TURN "mla_q_absorb:h2,n96,p32,r160,f16,halves,t4", "dot:cols=16,depth=8,pass=4,threads=256/s1"
#define PAIRS "mla_q_absorb:h2,n64,p32,r96,bf16,pairs,t3", "mfma:blocks=4,depth=1,parts=1,pass=16,waves=2/s1"
#define MFMA "mla_q_b:l256,h1,n128,p64,norm,f16,t5", "mfma:blocks=4,depth=2,parts=1,pass=16,waves=2/s1"
#define BESIDE "mla_q_b:l256,h1,n128,p0,bf16,append_paged,r96,t1", "dot_append:cols=4,depth=2,pass=1,threads=256/s1"
#define TAKES_SEVERAL \
  "mla_q_b:l96,h38,n96,p32,bf16,append_split,r64,append_norm,t5", "mfma_append:blocks=1,depth=1,parts=1,pass=16,waves=1/s1"
#define ADD "mla_o_proj:d192,h3,v64,residual,f16,t31", "mfma:blocks=2,depth=1,parts=1,pass=32,waves=2/s1"
#define HEADS "mla_v_out:h2,r160,v96,bf16,t17", "mfma:blocks=4,depth=1,parts=1,pass=16,waves=1/s1"

static const mistake mistakes[] = {
    {HEADS, "a.w + p.head * a.w_head", "a.w + p.head * (2 * INNER * OUTER)"},
    {HEADS, "a.y + p.head * a.y_head", "a.y + p.head * (2 * OUTER)"},
    {HEADS, "a.x + p.head * a.x_head", "a.x"},
    {HEADS, "p.first + column >= OUTER", "p.first + column > OUTER"},
    {HEADS, "t0 + token >= a.tokens", "t0 + token > a.tokens"},
    {HEADS, "for (int way = 0; way < WAYS; way++) {", "for (int way = 1; way < WAYS; way++) {"},
    {HEADS, "to[16 * b + 4 * group + r]", "to[16 * b + 4 * group + (r ^ 1)]"},
    {HEADS, "u + 0x7fffu + (u >> 16 & 1u)", "u"}, /* rounded towards zero */
    {DOT, ", a.eps)", ", 0.0f)"},
    {DOT, "v[t][i] *= g[i];", ";"},
    {DOT, "d < LANES; d *= 2", "d < LANES / 4; d *= 2"},
    {MFMA, "v[k] *= factor", "v[k] *= 1.0f"},
    {MFMA, "multiply2(v[i], gain[n / 2][n % 2][i])", "multiply2(v[i], gain[0][n % 2][i])"},
    {MFMA, "= shrunk(gain[n / 2][n % 2], o.shrink)", "= gain[n / 2][n % 2]"},
    {MFMA, "larger2(g.z & SIZE, g.w & SIZE)", "larger2(g.z, g.w)"},
    {MFMA, "0x7f000000u - bits_of", "bits_of"},
    {MFMA, "(n ^ turn) * 128", "n * 128"},
    {MFMA, "if (group == row / 4) squares", "if (group == 0) squares"},
    {MANY, "multiply2(w[b][n / 2][n % 2][i], gain[n / 2][n % 2][i])", "w[b][n / 2][n % 2][i]"},
    {SHARED, "head + dealt + (at -", "head + (at -"}, /* the last tiles */
    {STAGED, "lines.of[i][k], lines.gain[k]", "lines.of[i][k], lines.gain[0]"},
    {STAGED, "left > 0 ? 128 * LINES * DEPTH : 0", "128 * LINES * DEPTH"},
    {STAGED, "s_waitcnt lgkmcnt(%0)\\ns_barrier", "s_barrier"},
    {TWO_STAGES, "STAGES == 3 ? READS : 0", "READS"},
    {BESIDE, "* warps + my_thread() / LANES", "* warps"},
    {TAKES_SEVERAL, "(u32)a.side_blocks * warps", "(u32)a.side_blocks * warps + 1"},
    {ADD, "v[k] += r[k]", "v[k] -= r[k]"},
    {ADD, "* a.residual_token", "* (2 * OUTER)"},
    {TURN, "p = multiply_add(p, c[k], -across)", "p = multiply_add(p, c[k], across)"},
    {TURN, "16 * item;\n    char* const to", "16 * ITEM_CHUNKS * item;\n    char* const to"},
    {TURN, "x[t * (ROWS * WAYS) + row]", "x[row]"},
    {TURN, "row = first + r * WAYS", "row = first + r"},
    {PAIRS, "(u64)position < (u64)a.table_rows", "position < a.table_rows"},
    {PAIRS, "a.sin + position * a.table_row", "a.cos + position * a.table_row"},
    {PAIRS, "i < a.tokens * ITEMS", "i < (a.tokens - 1) * ITEMS"},
    {PAIRS, "join_hi(w[n][0][i], w[n][1][i])", "join_lo(w[n][0][i], w[n][1][i])"},
    {PAIRS, "block * 64 + lane, blocks", "(block + 1) * 64 + lane, blocks"},
    {STAY, "block * THREADS + thread, blocks", "thread, blocks"},
};

TEST(mistakes_are_found) { all_are_found(mistakes, sizeof mistakes / sizeof *mistakes, MLAF_INJECT_NONE); }

/* --- arguments --- */

TEST(arguments_are_checked) {
  _Alignas(16) static char memory[64];
  mlaf_err err = {MLAF_OK, ""};
  mlaf_bound b = {.point = point("mla_q_absorb:h2,n64,p32,r96,bf16,pairs,t3"), .knob = 1};
  b.stage[0] = (mlaf_stage){.threads = 64, .rows_per_wg = 32};
  const mlaf_calls *calls = b.point.op->calls;
  mlaf_projection_args good = MLAF_PROJECTION_ARGS_INIT, a;
  assert_int_equal(calls->check_args(&b, 1, &good, &err), MLAF_OK); /* no tokens: nothing is looked at */
  mlaf_prepared launch = {.n = 7};
  assert_int_equal(calls->prepare(&b, 1, &good, &launch, &err), MLAF_OK);
  assert_int_equal(launch.n, 0);
  good.tokens = 5;
  good.x = good.w = good.cos = memory;
  good.y = memory;
  good.positions = (const int64_t *)(const void *)memory;
  good.table_rows = 3;
  assert_int_equal(calls->check_args(&b, 1, &good, &err), MLAF_OK);
  assert_int_equal(calls->prepare(&b, 1, &good, &launch, &err), MLAF_OK);
  assert_int_equal(launch.n, 1);
  assert_int_equal(launch.launches[0].grid[0], 2 * 3); /* heads, tiles of 32 of 96 */
  const mlaf_projection_kernel_args *k = (const void *)launch.parameters;
  assert_int_equal(k->x_token, 2 * 2 * 96);
  assert_int_equal(k->w_head, 2 * 64 * 96);
  assert_int_equal(k->y_head, 2 * 128);
  assert_ptr_equal(k->sin, memory + 4 * 16);
#define REFUSED(field, value, why) (a = good, a.field = value, refused(&b, &a, why))
  REFUSED(tokens, -1, "tokens is -1");
  REFUSED(x, NULL, "x is NULL");
  REFUSED(w, memory + 2, "must be 16-byte aligned");
  REFUSED(positions, NULL, "positions is NULL");
  REFUSED(cos, NULL, "cos is NULL");
  REFUSED(residual, memory, "residual is");
  REFUSED(norm_weight, memory, "the problem has none");
  REFUSED(x_token_stride, 196, "x_token_stride is 196");
  REFUSED(x_head_stride, 88, "from 96 on");
  REFUSED(w_row_stride, 64, "w_row_stride is 64");
  REFUSED(table_row_stride, 16, "from 32 on");
  REFUSED(table_rows, -1, "table_rows is -1");
  REFUSED(flags, 2, "flags is 0x2");
  REFUSED(reserved, 1, "reserved is 1");
  b.point = point("mla_q_b:l64,h1,n32,p32,norm,bf16");
  a = (mlaf_projection_args)MLAF_PROJECTION_ARGS_INIT;
  a.tokens = 1, a.x = a.w = memory, a.y = memory;
  refused(&b, &a, "norm_weight is NULL");
  a.norm_weight = memory, a.eps = -1;
  refused(&b, &a, "eps is -1");
  mlaf_q_b_args both = MLAF_Q_B_ARGS_INIT;
  b.point = point("mla_q_b:l64,h1,n32,p32,bf16,append_paged,r64");
  both.projection.x = both.projection.w = memory, both.projection.y = memory;
  both.append.tokens = 2;
  refused(&b, &both.projection, "append: tokens is 2, and the product's are 0");
  both.projection.tokens = 1;
  refused(&b, &both.projection, "append: ckv is NULL");
  b.point = point("mla_q_b:l64,h1,n32,p32,bf16");
  refused(&b, &both.projection, "the problem appends nothing");
  b.point = point("mla_q_b:l64,h1,n32,p32,norm,bf16");
  const char *params = "dtype=bf16,heads=1,nope=32,norm=1,pass=8,q_rank=64,rope=32";
  assert_int_equal(mlaf_shape_check(&b.point, "k", params, &err), MLAF_OK);
  assert_int_equal(mlaf_shape_check(&b.point, "k", "dtype=bf16,norm=0", &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "norm=0"));
}

/* Who soaks reads beside launches what the data says it has: weights of 8 bits, or all of the pool, without rows beside. */
TEST(data_say_what_they_read) {
  static const char *const texts[] = {"mla_q_b:l64,h1,n32,p32,bf16,e4m3fn,t4", "mla_q_b:l64,h1,n32,p32,bf16,append_split,r64,t4",
                                      "mla_q_b:l64,h1,n32,p32,bf16,t4"};
  mlaf_err err = {MLAF_OK, ""};
  mlaf_device *dev;
  int64_t bytes[3];
  assert_int_equal(mlaf_device_open("emu:gfx942", NULL, &dev, &err), MLAF_OK);
  for (int i = 0; i < 3; i++) {
    const mlaf_point p = point(texts[i]);
    const mlaf_data_opts opts = {.seed = 1};
    mlaf_pool *pool;
    mlaf_data *d;
    mlaf_q_b_args args;
    assert_int_equal(mlaf_pool_create(dev, 1, &pool, &err), MLAF_OK);
    assert_int_equal(p.op->calls->data_open(dev, &p, &opts, pool, &d, &err), MLAF_OK);
    bytes[i] = d->pool_bytes;
    assert_int_equal(d->n_outputs, i == 1 ? 3 : 1);
    p.op->calls->data_args(d, 0, &args);
    assert_int_equal(args.append.tokens, i == 1 ? 4 : 0);
    p.op->calls->data_close(d);
    mlaf_pool_free(pool);
  }
  assert_int_equal(bytes[1], bytes[2]);
  assert_int_equal(bytes[0], 64 * 64); /* weights of 8 bits lie apart */
  mlaf_device_close(dev);
}

TESTS(NULL, NULL)
