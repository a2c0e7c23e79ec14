/* Numbers that hardly any sum or product holds, in all that public functions take and the operations' own tests do not try (those
 * are tests/ops, test_*_embed.c). Nothing is compiled or launched: what counts is that each call returns, and that builds with
 * -fsanitize=undefined,address have nothing to say. */
#include "cmocka_all.h"
#include "mlaforge/mlaforge.h"
#include "op/calls.h"
#include "ops/mla_decode/problem.h"
#include "plan/ctx.h"
#include "plan/place.h"
#include "random_args.h"

enum { ROUNDS = 3000 };

static int32_t any_32(void) { /* one in two fits somewhere */
  static const int32_t all[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, 2, 63, 64, 1 << 16, 1 << 30, INT32_MAX - 1, INT32_MAX};
  return all[next(sizeof all / sizeof *all)];
}
static int64_t any_64(void) {
  static const int64_t all[] = {INT64_MIN, -(INT64_C(1) << 62), -1, 0, 1, 64, 576, INT32_MAX, INT64_C(1) << 39, INT64_C(1) << 40,
                                INT64_C(1) << 61, INT64_C(1) << 62, INT64_MAX - 7, INT64_MAX};
  return all[next(sizeof all / sizeof *all)];
}
static void *somewhere(void) { return (void *)(uintptr_t)(65536 + 256 * next(64)); }

/* --- pure functions --- */

TEST(rope_and_crossover) {
  char why[200];
  mlaf_rope r = MLAF_ROPE_INIT;
  float table[64];
  r.columns = INT32_MAX - 1;
  assert_true(fabs(mlaf_softmax_scale(INT32_MAX, &r) * sqrt(4294967293.0) - 1) < 1e-12); /* the sum of both, which 32 bits wrap */
  for (int i = 0; i < ROUNDS; i++) {
    r = (mlaf_rope)MLAF_ROPE_INIT;
    r.columns = any_32(), r.original = any_32(), r.factor = next(2) ? 0 : 40;
    (void)mlaf_softmax_scale(any_32(), &r);
    mlaf_status st = mlaf_rope_table(&r, any_64(), table, next(2) ? 0 : sizeof table, why, sizeof why);
    assert_true(st == MLAF_OK || st == MLAF_E_ARG);
    r.factor = 0;
    st = mlaf_rope_table_bf16(&r, any_64(), table, next(2) ? 0 : sizeof table, why, sizeof why);
    assert_true(st == MLAF_OK || st == MLAF_E_ARG);
    assert_true(mlaf_prefill_crossover(any_32(), any_32(), any_32(), any_64()) >= 0);
  }
  r = (mlaf_rope)MLAF_ROPE_INIT;
  r.columns = 0; /* rows of nothing: as many as one likes, at once */
  assert_int_equal(mlaf_rope_table(&r, INT64_MAX, NULL, 0, why, sizeof why), MLAF_OK);
}

static mlaf_layer_desc random_desc(void) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  int32_t *const words[] = {&d.hidden, &d.heads, &d.q_rank, &d.rank, &d.rope, &d.nope, &d.v, &d.dtype, &d.rope_style, &d.tp_rank,
                            &d.tp_size, &d.page_size, &d.batch_max, &d.ctx_min, &d.ctx_max, &d.table_width, &d.prefill_tokens,
                            &d.prefill_chunk, &d.weights, &d.prefill_crossover, &d.q_scale_original};
  d.cos = somewhere();
  d.table_rows = next(4) ? 4096 : any_64(), d.table_row_stride = next(4) ? 0 : any_64();
  d.prefill_tokens = next(2) ? 0 : 4096;
  for (int n = (int)next(4); n >= 0; n--) *words[next(sizeof words / sizeof *words)] = any_32();
  if (!next(8)) d.q_lens = (uint32_t)any_32();
  if (!next(8)) d.flags = (uint32_t)any_32();
  return d;
}

TEST(layer_problems) {
  char out[MLAF_PROBLEM_TEXT_MAX], why[300];
  int good = 0;
  for (int i = 0; i < ROUNDS; i++) {
    const mlaf_layer_desc d = random_desc();
    const size_t at = next(3) ? next(40) : SIZE_MAX;
    const mlaf_status st = mlaf_layer_problem_at(&d, (int)next(2), at, out, sizeof out, why, sizeof why);
    assert_true(st == MLAF_OK || st == MLAF_E_ARG || st == MLAF_E_PROBLEM);
    good += !st;
  }
  assert_in_range(good, ROUNDS / 50, ROUNDS - ROUNDS / 50);
}

/* --- with a context, whose plans are in no cache --- */

static const mlaf_plan_opts cached_only = {.struct_size = sizeof(mlaf_plan_opts), .flags = MLAF_PLAN_NO_COMPILE,
                                           .effort = MLAF_EFFORT_DB_ONLY};

static bool is_refusal(mlaf_status st) {
  return st == MLAF_E_ARG || st == MLAF_E_PROBLEM || st == MLAF_E_NOT_TUNED || st == MLAF_E_NOT_COMPILED;
}

TEST_OF(layers, mlaf_ctx *ctx) {
  for (int i = 0; i < ROUNDS / 40; i++) {
    mlaf_layer_desc d = next(2) ? random_desc() : (mlaf_layer_desc)MLAF_LAYER_DESC_INIT;
    const int64_t rows[] = {1536, 128 * 192, 576, 128 * 256, 7168}, cols[] = {7168, 1536, 7168, 512, 128 * 128};
    static const char *const names[] = {"q_a_proj.weight", "q_b_proj.weight", "kv_a_proj_with_mqa.weight", "kv_b_proj.weight",
                                        "o_proj.weight", "q_a_layernorm.weight", "kv_a_layernorm.weight"};
    mlaf_layer_weight w[7];
    mlaf_layer *layer = NULL;
    for (int k = 0; k < 7; k++)
      w[k] = (mlaf_layer_weight){names[k], somewhere(), k < 5 ? rows[k] : 1, k < 5 ? cols[k] : k == 5 ? 1536 : 512, 0};
    const int k = (int)next(7);
    int64_t *const numbers[] = {&w[k].rows, &w[k].cols, &w[k].row_stride};
    *numbers[next(3)] = any_64();
    d.plan = &cached_only;
    assert_true(is_refusal(mlaf_layer_create(ctx, &d, w, 7, &layer)) && !layer);
  }
}

TEST_OF(plans_of_plans, mlaf_ctx *ctx) {
  for (int i = 0; i < ROUNDS / 40; i++) {
    mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
    int32_t *const words[] = {&d.heads, &d.nope, &d.rope, &d.vdim, &d.rank, &d.dtype, &d.page_tokens, &d.chunk_tokens, &d.batch,
                              &d.tokens, &d.crossover, &d.rotate};
    mlaf_chunked_prefill *c = NULL;
    for (int n = (int)next(3); n >= 0; n--) *words[next(sizeof words / sizeof *words)] = any_32();
    d.plan = &cached_only;
    assert_true(is_refusal(mlaf_chunked_prefill_create(ctx, &d, &c)) && !c);
    mlaf_problem p = MLAF_PROBLEM_INIT;
    int32_t *const fields[] = {&p.heads, &p.rank, &p.rope, &p.q_len, &p.page_size, &p.batch, &p.ctx};
    mlaf_plan *plan = NULL;
    for (int n = (int)next(3); n >= 0; n--) *fields[next(sizeof fields / sizeof *fields)] = any_32();
    assert_true(is_refusal(mlaf_plan_get(ctx, &p, &cached_only, &plan)) && !plan);
    mlaf_warm_up_opts o = MLAF_WARM_UP_INIT;
    o.batch_min = any_32(), o.batch_max = o.batch_min, o.ctx_min = any_32(), o.ctx_max = next(2) ? o.ctx_min : any_32();
    o.plan = &cached_only;
    assert_true(is_refusal(mlaf_warm_up(ctx, &p, &o, NULL)));
  }
}

static mlaf_view view(int32_t dtype, int dims, int64_t a, int64_t b, int64_t c, int64_t d) {
  mlaf_view v = {.data = somewhere(), .dtype = dtype, .dims = dims, .where = 0, .shape = {a, b, c, d}};
  for (int64_t i = dims - 1, step = 1; i >= 0; i--) v.stride[i] = step, step *= v.shape[i];
  return v;
}

/* Checks tensors' shapes and strides, and then the launch, for which there is no plan. */
TEST_OF(calls, mlaf_ctx *ctx) {
  for (int i = 0; i < 10 * ROUNDS; i++) {
    mlaf_call c = MLAF_CALL_INIT;
    const bool table = next(2);
    c.q = table ? view(MLAF_VIEW_BF16, 4, 2, 1, 16, 576) : view(MLAF_VIEW_BF16, 3, 2, 16, 576, 0);
    c.o = table ? view(MLAF_VIEW_BF16, 4, 2, 1, 16, 512) : view(MLAF_VIEW_BF16, 3, 2, 16, 512, 0);
    c.cache = view(MLAF_VIEW_BF16, 4, 8, 64, 1, 576);
    if (next(2)) c.lse = table ? view(MLAF_VIEW_F32, 3, 2, 1, 16, 0) : view(MLAF_VIEW_F32, 2, 2, 16, 0, 0);
    if (table) c.block_table = view(MLAF_VIEW_INT32, 2, 2, 4, 0, 0), c.seq_lens = view(MLAF_VIEW_INT32, 1, 2, 0, 0, 0);
    else {
      c.qo_indptr = c.kv_indptr = view(MLAF_VIEW_INT32, 1, 3, 0, 0, 0);
      c.kv_indices = view(MLAF_VIEW_INT32, 1, 8, 0, 0, 0), c.kv_last_page_lens = view(MLAF_VIEW_INT32, 1, 2, 0, 0, 0);
    }
    c.workspace = next(2) ? view(MLAF_VIEW_U8, 1, 1 << 20, 0, 0, 0) : (mlaf_view){.dims = 0};
    c.q_len = next(2) ? 1 : any_32(), c.mean_kv_len = next(2) ? 0 : any_32(), c.plan = &cached_only;
    mlaf_view *const views[] = {&c.q, &c.cache, &c.o, &c.lse, &c.qo_indptr, &c.kv_indptr, &c.kv_indices, &c.kv_last_page_lens,
                                &c.block_table, &c.seq_lens, &c.workspace, &c.rope_table};
    for (int n = (int)next(3); n >= 0; n--) {
      mlaf_view *v = views[next(sizeof views / sizeof *views)];
      int64_t *const numbers[] = {&v->shape[next(4)], &v->stride[next(4)]};
      if (next(8)) *numbers[next(2)] = any_64();
      else v->dims = any_32();
    }
    const mlaf_status st = mlaf_call_run(ctx, &c, NULL);
    assert_true(!st || is_refusal(st)); /* OK: nothing to do */
  }
}

/* mla_decode's arguments in both forms, as far as a launch is filled. */
TEST_OF(decode_arguments, mlaf_ctx *ctx) {
  const mlaf_calls *calls = mlaf_op_of("mla_decode:")->calls;
  const mlaf_function *const fns[MLAF_SECOND_KERNELS_EACH] = {somewhere(), somewhere()};
  int good = 0;
  for (int i = 0; i < 10 * ROUNDS; i++) {
    mlaf_bound b = {.dev = mlaf_ctx_device(ctx), .knob = 1 + (uint32_t)next(4)};
    mlaf_point_parse(NULL, next(2) ? "mla_decode:h16,b2" : "mla_decode:h128,q2,causal,page16,b2", &b.point, NULL, 0);
    const uint32_t flags = next(2) ? MLAF_KERNEL_FITS | MLAF_KERNEL_TURNS : 0;
    for (int k = 0; k < 2; k++)
      b.stage[k] = (mlaf_stage){.fn = somewhere(), .threads = 256, .rows_per_wg = 64, .launch = {.flags = flags}};
    mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT, first;
    a.batch = 2, a.total_q = 2, a.num_pages = 8, a.scale = 0.1f;
    a.q = somewhere(), a.ckv = somewhere(), a.o = somewhere(), a.kpe = next(2) ? NULL : somewhere();
    a.workspace = somewhere(), a.workspace_size = SIZE_MAX / 2;
    if (next(2)) a.block_table = somewhere(), a.seq_lens = somewhere(), a.block_table_width = 4, a.block_table_stride = 4;
    else a.qo_indptr = a.kv_indptr = a.kv_indices = a.kv_last_page_lens = somewhere();
    int64_t *const long_ones[] = {&a.total_q, &a.ckv_row_stride, &a.kpe_row_stride, &a.block_table_stride, &a.page_rows,
                                  &a.kv_indices_size, &a.w_v_row_stride, &a.w_v_head_stride};
    int32_t *const words[] = {&a.batch, &a.num_pages, &a.block_table_width, &a.page_tokens, &a.rope_rows};
    for (int n = (int)next(3); n >= 0; n--)
      if (next(3)) *long_ones[next(sizeof long_ones / sizeof *long_ones)] = any_64();
      else *words[next(sizeof words / sizeof *words)] = any_32();
    mlaf_err err;
    mlaf_prepared out;
    mlaf_second_prepared second;
    const mlaf_execute_args *use = &a;
    mlaf_status st = MLAF_OK;
    (void)calls->workspace(&b, b.knob, a.total_q);
    const mlaf_second_form *form = mlaf_second_of(calls, &a);
    if (form) {
      (void)form->workspace(&b, b.knob, &a);
      st = form->prepare(&b, b.knob, fns, &a, &first, &second, &err);
      use = &first;
      if (!st && !first.struct_size) continue;
      mlaf_err ignored;
      mlaf_execute_args elsewhere;
      if (form->prepare_at && a.batch > 0 && a.batch <= 65536 && a.total_q >= 0)
        (void)form->prepare_at(&b, fns, &a, somewhere(), &elsewhere, &second, &ignored);
    }
    if (!st) st = calls->check_args(&b, b.knob, use, &err);
    if (!st) st = calls->prepare(&b, b.knob, use, &out, &err);
    assert_true(!st || st == MLAF_E_ARG);
    good += !st;
  }
  assert_in_range(good, ROUNDS, 9 * ROUNDS);
}

static place at;
static int setup(void **state) {
  place_make(&at);
  *state = place_open(&at, NULL, NULL);
  return 0;
}
static int teardown(void **state) {
  mlaf_ctx_destroy(*state);
  place_remove(&at);
  return 0;
}

TESTS(setup, teardown)
