/* The public API misused: every refusal has a status, a message that names the argument, and no side effect. */
#include "cmocka_all.h"
#include "run/fake_device.h"
#include "mlaforge/call.h"
#include "mlaforge/mlaforge.h"
#include "said.h"

/* A struct of a newer header: more fields behind the ones this library knows. */
#define NEWER(type) \
  struct {          \
    type known;     \
    int64_t later;  \
  }

static mlaf_ctx *emulator_ctx(void) {
  mlaf_ctx *ctx = NULL;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[300] = "";
  o.device = "emu:gfx942";
  o.flags = MLAF_CTX_NO_DB;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  return ctx;
}

static void expect_no_ctx(const mlaf_ctx_opts *o, mlaf_status want, const char *says) {
  mlaf_ctx *ctx = (mlaf_ctx *)&ctx, *untouched = ctx;
  char why[500] = "";
  mlaf_status st = mlaf_ctx_create(o, &ctx, why, sizeof why);
  if (st != want || !strstr(why, says)) fail_msg("%d '%s' does not say '%s'", st, why, says);
  assert_ptr_equal(ctx, untouched);
  assert_int_equal(mlaf_ctx_create(o, &ctx, NULL, 0), want);
}

TEST(contexts) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[300] = "";
  assert_int_equal(mlaf_ctx_create(&o, NULL, why, sizeof why), MLAF_E_ARG);
  o.struct_size = 4;
  expect_no_ctx(&o, MLAF_E_ARG, "struct_size is 4");
  o = (mlaf_ctx_opts)MLAF_CTX_OPTS_INIT;
  o.flags = 1u << 20;
  expect_no_ctx(&o, MLAF_E_ARG, "unknown flags 0x100000");
  o = (mlaf_ctx_opts)MLAF_CTX_OPTS_INIT;
  o.log_level = (mlaf_log_level)9;
  expect_no_ctx(&o, MLAF_E_ARG, "log_level is 9");
  o = (mlaf_ctx_opts)MLAF_CTX_OPTS_INIT;
  o.device = "tpu";
  expect_no_ctx(&o, MLAF_E_NO_DEVICE, "unknown device 'tpu'");
  o = (mlaf_ctx_opts)MLAF_CTX_OPTS_INIT;
  o.device = "emu:gfx942:7";
  expect_no_ctx(&o, MLAF_E_NO_DEVICE, "");
  o = (mlaf_ctx_opts)MLAF_CTX_OPTS_INIT;
  o.device = "emu:gfx942";
  o.jobs = -3;
  expect_no_ctx(&o, MLAF_E_ARG, "jobs is -3");
  o.jobs = 0;
  o.compile_timeout_s = NAN;
  expect_no_ctx(&o, MLAF_E_ARG, "timeout_s");
  NEWER(mlaf_ctx_opts) newer = {MLAF_CTX_OPTS_INIT, 0};
  newer.known.device = "emu:gfx942";
  newer.known.flags = MLAF_CTX_NO_DB;
  newer.known.struct_size = sizeof newer;
  mlaf_ctx *ctx = NULL;
  assert_int_equal(mlaf_ctx_create(&newer.known, &ctx, NULL, 0), MLAF_OK);
  assert_non_null(strstr(mlaf_ctx_device_id(ctx), "emu:gfx942"));
  assert_string_equal(mlaf_ctx_target(ctx), "gfx942");
  assert_true(mlaf_ctx_device_name(ctx)[0] != 0);
  mlaf_ctx_destroy(ctx);
  newer.later = 1;
  expect_no_ctx(&newer.known, MLAF_E_ARG, "does not know");
  mlaf_ctx_destroy(NULL);
  assert_int_equal(mlaf_version_number(), MLAF_VERSION_NUMBER);
  assert_string_equal(mlaf_version(), "0.1.0");
}

TEST(messages_and_memory) {
  mlaf_ctx *ctx = emulator_ctx();
  char text[500], tiny[5];
  void *p = NULL, *q = NULL;
  assert_int_equal(mlaf_ctx_last_message(ctx, text, sizeof text), MLAF_OK);
  assert_string_equal(text, "");
  assert_int_equal(mlaf_mem_alloc(ctx, 100, &p), MLAF_OK);
  assert_int_equal(mlaf_mem_alloc(ctx, 0, &q), MLAF_OK);
  assert_non_null(q);
  assert_int_equal(mlaf_mem_free(ctx, q), MLAF_OK);
  char in[100], out[100] = {0};
  for (int i = 0; i < 100; i++) in[i] = (char)i;
  assert_int_equal(mlaf_mem_write(ctx, p, in, 100), MLAF_OK);
  assert_int_equal(mlaf_mem_fill(ctx, p, 7, 50), MLAF_OK);
  assert_int_equal(mlaf_mem_read(ctx, out, p, 100), MLAF_OK);
  assert_true(out[49] == 7 && out[50] == 50);
  assert_int_equal(mlaf_mem_write(ctx, NULL, NULL, 0), MLAF_OK);
  assert_int_equal(mlaf_sync(ctx, NULL), MLAF_OK);
  /* Failures leave a message; successes leave it alone. */
  assert_int_equal(mlaf_mem_read(ctx, out, (char *)p + 60, 100), MLAF_E_ARG);
  assert_int_equal(mlaf_ctx_last_message(ctx, text, sizeof text), MLAF_E_ARG);
  assert_non_null(strstr(text, "out of bounds"));
  assert_int_equal(mlaf_mem_fill(ctx, p, 0, 100), MLAF_OK);
  assert_int_equal(mlaf_ctx_last_message(ctx, tiny, sizeof tiny), MLAF_E_ARG);
  assert_memory_equal(tiny, text, 4);
  assert_int_equal(mlaf_mem_free(ctx, in), MLAF_E_ARG);
  assert_int_equal(mlaf_mem_free(ctx, NULL), MLAF_OK);
  assert_int_equal(mlaf_mem_alloc(ctx, 8, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_mem_alloc(NULL, 8, &q), MLAF_E_ARG);
  assert_int_equal(mlaf_mem_write(ctx, NULL, in, 8), MLAF_E_ARG);
  assert_int_equal(mlaf_mem_read(ctx, NULL, p, 8), MLAF_E_ARG);
  assert_int_equal(mlaf_mem_fill(ctx, NULL, 0, 8), MLAF_E_ARG);
  assert_int_equal(mlaf_mem_free(NULL, p), MLAF_E_ARG);
  assert_int_equal(mlaf_sync(NULL, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_ctx_last_message(NULL, text, sizeof text), MLAF_E_ARG);
  assert_int_equal(mlaf_ctx_last_message(ctx, NULL, 5), MLAF_E_ARG);
  assert_int_equal(mlaf_mem_free(ctx, p), MLAF_OK);
  mlaf_ctx_destroy(ctx);
}

static void expect_no_plan(mlaf_ctx *ctx, const mlaf_problem *p, const mlaf_plan_opts *o, mlaf_status want,
                           const char *says) {
  mlaf_plan *plan = (mlaf_plan *)&plan, *untouched = plan;
  char why[500] = "";
  mlaf_status st = mlaf_plan_create(ctx, p, o, &plan);
  mlaf_ctx_last_message(ctx, why, sizeof why);
  if (st != want || !strstr(why, says)) fail_msg("%d '%s' does not say '%s'", st, why, says);
  assert_ptr_equal(plan, untouched);
}

TEST(plans) {
  mlaf_ctx *ctx = emulator_ctx();
  mlaf_plan *plan = NULL;
  mlaf_problem good = MLAF_PROBLEM_INIT, p = good;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.effort = MLAF_EFFORT_DB_ONLY;
  p.heads = 0;
  expect_no_plan(ctx, &p, &o, MLAF_E_PROBLEM, "heads is 0, must be 1..256");
  p = good;
  p.rank = 100;
  expect_no_plan(ctx, &p, &o, MLAF_E_PROBLEM, "kv_lora_rank is 100, must be a multiple of 32");
  p = good;
  p.struct_size = 0;
  expect_no_plan(ctx, &p, &o, MLAF_E_PROBLEM, "MLAF_PROBLEM_INIT");
  NEWER(mlaf_problem) longer = {MLAF_PROBLEM_INIT, 1};
  longer.known.struct_size = sizeof longer;
  expect_no_plan(ctx, &longer.known, &o, MLAF_E_PROBLEM, "older than its caller");
  longer.later = 0;
  expect_no_plan(ctx, &longer.known, &o, MLAF_E_NOT_TUNED, "no tuning database");
  expect_no_plan(ctx, NULL, &o, MLAF_E_ARG, "NULL");
  expect_no_plan(ctx, &good, &o, MLAF_E_NOT_TUNED, "no tuning database");
  o.effort = 3;
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "effort is 3");
  o.effort = -1;
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "effort is -1");
  o = (mlaf_plan_opts)MLAF_PLAN_OPTS_INIT;
  o.flags = 0x80;
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "unknown flags 0x80");
  o.flags = 1u << 30; /* the planner's own: a layer's plans have it */
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "unknown flags 0x40000000");
  o = (mlaf_plan_opts)MLAF_PLAN_OPTS_INIT;
  o.time_limit_s = -1;
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "time_limit_s is -1");
  o.time_limit_s = 0;
  o.reserved = 1;
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "reserved is 1");
  o = (mlaf_plan_opts)MLAF_PLAN_OPTS_INIT;
  o.effort = MLAF_EFFORT_MEASURE;
  o.flags = MLAF_PLAN_NO_COMPILE;
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "exclude each other");
  o = (mlaf_plan_opts)MLAF_PLAN_OPTS_INIT;
  o.struct_size = 3;
  expect_no_plan(ctx, &good, &o, MLAF_E_ARG, "struct_size is 3");
  NEWER(mlaf_plan_opts) newer = {MLAF_PLAN_OPTS_INIT, 1};
  newer.known.struct_size = sizeof newer;
  expect_no_plan(ctx, &good, &newer.known, MLAF_E_ARG, "does not know");
  union {
    mlaf_plan_opts known;
    unsigned char bytes[4104];
  } longest = {.known = MLAF_PLAN_OPTS_INIT}; /* its last byte is looked at up to 4096, and no struct is longer */
  longest.bytes[4095] = 1;
  longest.known.struct_size = 4096;
  expect_no_plan(ctx, &good, &longest.known, MLAF_E_ARG, "does not know");
  longest.known.struct_size = 4097;
  expect_no_plan(ctx, &good, &longest.known, MLAF_E_ARG, "to 4096");
  assert_int_equal(mlaf_plan_create(ctx, &good, NULL, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_plan_create(NULL, &good, NULL, &plan), MLAF_E_ARG);
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  assert_int_equal(mlaf_plan_query(NULL, &info), MLAF_E_ARG);
  assert_int_equal(mlaf_plan_workspace_size(NULL, 5), 0);
  assert_int_equal(mlaf_execute(NULL, NULL, NULL), MLAF_E_ARG);
  assert_null(mlaf_plan_retain(NULL));
  mlaf_plan_release(NULL);
  mlaf_ctx_destroy(ctx);
}

/* Arguments that pass, to be spoilt one at a time. */
static mlaf_execute_args good_args(void) {
  static _Alignas(256) char memory[1 << 16];
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.batch = 2;
  a.total_q = 3;
  a.num_pages = 4;
  a.scale = 0.1f;
  a.q = memory;
  a.ckv = memory + 256;
  a.o = memory + 512;
  a.lse = (float *)(memory + 768);
  a.qo_indptr = a.kv_indptr = a.kv_indices = a.kv_last_page_lens = (int32_t *)(memory + 1024);
  a.workspace = memory + 2048;
  a.workspace_size = 1 << 15;
  return a;
}

/* A variant of two kernels that nothing launches. */
static mlaf_bound bound_of(const mlaf_problem *p) {
  static const char combine;
  return (mlaf_bound){.point = point_of(p), .stage = {[MLAF_STAGE_COMBINE] = {.fn = (void *)(uintptr_t)&combine}}};
}

TEST(execute_arguments) {
  mlaf_problem p;
  assert_int_equal(mlaf_problem_parse("mla_decode:h4,r64,p32,q2,bf16,page16,b2,s64", &p, NULL, 0), MLAF_OK);
  fake_device dev = fake_make(&p, BUG_NONE);
  mlaf_loaded *l = fake_load(&dev, 3);
  const mlaf_bound b = bound_of(&p);
  mlaf_execute_args a = good_args();
  mlaf_err err;
  assert_int_equal(mlaf_decode_check_args(&b, 3, &a, &err), MLAF_OK);
#define BAD(change, says)                                                   \
  do {                                                                      \
    a = good_args();                                                        \
    change;                                                                 \
    err = (mlaf_err){MLAF_OK, ""};                                          \
    mlaf_status st_ = mlaf_loaded_launch(l, 3, &a, NULL, &err);             \
    if (st_ != MLAF_E_ARG || !strstr(err.text, says))                       \
      fail_msg(#change ": %d '%s' does not say '%s'", st_, err.text, says); \
  } while (0)
  BAD(a.struct_size = 0, "struct_size is 0");
  BAD(a.struct_size = 1u << 30, "struct_size");
  BAD(a.batch = -1, "batch is -1, must be 0..65536");
  BAD(a.batch = 65537, "batch is 65537");
  BAD(a.total_q = -1, "total_q is -1");
  BAD(a.total_q = 5, "total_q is 5, must be 0..4 (batch 2 x q_len 2)");
  BAD(a.num_pages = -1, "num_pages is -1");
  BAD(a.scale = NAN, "scale is nan");
  BAD(a.scale = INFINITY, "scale is inf");
  BAD(a.scale = -1e-40f, "scale is -9.99995e-41, must be");
  BAD(a.q = NULL, "q is NULL");
  BAD(a.q = (char *)a.q + 8, "q is");
  BAD(a.ckv = NULL, "ckv is NULL");
  BAD(a.ckv = (char *)a.ckv + 2, "16-byte aligned");
  BAD(a.kpe = (char *)a.ckv + 4, "kpe is");
  BAD(a.o = NULL, "o is NULL");
  BAD(a.o = (char *)a.o + 1, "o is");
  BAD(a.lse = (float *)((char *)a.lse + 2), "lse is");
  BAD(a.qo_indptr = NULL, "qo_indptr is NULL");
  BAD(a.kv_indptr = NULL, "kv_indptr is NULL");
  BAD(a.kv_indices = NULL, "kv_indices is NULL");
  BAD(a.kv_last_page_lens = NULL, "kv_last_page_lens is NULL");
  BAD(a.reserved = 1, "reserved is 1, must be 0");
  BAD(a.kv_indptr = (int32_t *)((char *)a.kv_indptr + 1), "kv_indptr is");
  BAD(a.ckv_row_stride = 88, "ckv_row_stride is 88, must be a multiple of 8 in 96");
  BAD(a.ckv_row_stride = 100, "ckv_row_stride is 100");
  BAD(a.ckv_row_stride = -96, "ckv_row_stride is -96");
  BAD(a.ckv_row_stride = (1 << 27) + 8, "134217736, must be a multiple of 8 in");
  BAD(a.num_pages = INT32_MAX, "2^32 or more");
  BAD((a.kpe = a.ckv, a.ckv_row_stride = 56), "ckv_row_stride is 56, must be a multiple of 8 in 64");
  BAD((a.kpe = a.ckv, a.kpe_row_stride = 24), "kpe_row_stride is 24, must be a multiple of 8 in 32");
  BAD(a.workspace = NULL, "workspace is");
  BAD(a.workspace = (char *)a.workspace + 16, "256-byte aligned");
  BAD(a.workspace_size = mlaf_decode_workspace(&b, 3, 3) - 1, "3 splits of 3 tokens need");
#undef BAD
  assert_int_equal(dev.launches, 0); /* nothing refused was launched */
  a = good_args();
  assert_int_equal(mlaf_loaded_launch(l, 0, &a, NULL, &err), MLAF_E_ARG);
  /* No tokens: nothing to do, and nothing else is looked at. */
  a = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
  a.batch = 2;
  assert_int_equal(mlaf_loaded_launch(l, 3, &a, NULL, &err), MLAF_OK);
  assert_int_equal(dev.launches, 0);
  /* An empty cache needs no cache. */
  a = good_args();
  a.num_pages = 0;
  a.ckv = NULL;
  a.kv_indices = NULL;
  assert_int_equal(mlaf_decode_check_args(&b, 3, &a, &err), MLAF_OK);
  NEWER(mlaf_execute_args) newer = {good_args(), 0};
  newer.known.struct_size = sizeof newer;
  assert_int_equal(mlaf_loaded_launch(l, 3, &newer.known, NULL, &err), MLAF_OK);
  newer.later = 1;
  assert_int_equal(mlaf_loaded_launch(l, 3, &newer.known, NULL, &err), MLAF_E_ARG);
  mlaf_loaded_close(l);
}

/* Launches as they reach the kernels: grids, strides, the two partial buffers. */
TEST(launches) {
  mlaf_problem p;
  assert_int_equal(mlaf_problem_parse("mla_decode:h5,r64,p32,q3,bf16,page16,b2,s64", &p, NULL, 0), MLAF_OK);
  fake_device dev = fake_make(&p, BUG_NONE);
  mlaf_loaded *l = fake_load(&dev, 7); /* decode: 16 rows a workgroup, combine: 4 */
  const mlaf_bound b = bound_of(&p);
  mlaf_execute_args a = good_args();
  mlaf_prepared r;
  const mlaf_decode_parameters *with = mlaf_decode_parameters_of(&r);
  a.total_q = 6;
  assert_int_equal(mlaf_loaded_prepare(l, 7, &a, &r, NULL), MLAF_OK);
  assert_int_equal(r.n, 2);
  assert_int_equal(r.launches[0].grid[0], 1); /* 15 rows */
  assert_int_equal(r.launches[0].grid[1], 7);
  assert_int_equal(r.launches[0].grid[2], 2);
  assert_int_equal(r.launches[0].block[0], 256);
  assert_int_equal(r.launches[0].args_size, 128);
  assert_int_equal(r.launches[1].grid[0], 8); /* 30 rows */
  assert_int_equal(r.launches[1].grid[1], 1);
  assert_int_equal(r.launches[1].args_size, 48);
  assert_ptr_equal(with->decode.kpe, (const uint16_t *)a.ckv + 64);
  assert_int_equal(with->decode.ckv_row_stride, 96);
  assert_int_equal(with->decode.kpe_row_stride, 96);
  assert_ptr_equal(with->decode.part_o, a.workspace);
  size_t part_o = 7 * 6 * 5 * 64 * 4, at = (size_t)((char *)with->decode.part_lse - (char *)a.workspace);
  assert_int_equal(at, (part_o + 255) / 256 * 256);
  assert_int_equal(mlaf_decode_workspace(&b, 7, 6), at + 7 * 6 * 5 * 4);
  assert_ptr_equal(with->combine.part_lse, with->decode.part_lse);
  assert_int_equal(with->combine.rows, 30);
  assert_true(fabs(with->decode.scale_log2e - 0.1 * 1.4426950408889634) < 1e-8);
  /* Apart: own strides, dense by default. One split: one launch, no workspace. */
  a.kpe = a.q;
  assert_int_equal(mlaf_loaded_prepare(l, 1, &a, &r, NULL), MLAF_OK);
  assert_int_equal(r.n, 1);
  assert_int_equal(with->decode.ckv_row_stride, 64);
  assert_int_equal(with->decode.kpe_row_stride, 32);
  assert_null(with->decode.part_o);
  a.kpe_row_stride = 40;
  assert_int_equal(mlaf_loaded_prepare(l, 1, &a, &r, NULL), MLAF_OK);
  assert_int_equal(with->decode.kpe_row_stride, 40);
  assert_ptr_equal(with->decode.kpe, a.q);
  assert_int_equal(mlaf_decode_workspace(&b, 1, 6), 0);
  assert_int_equal(mlaf_decode_workspace(&b, 7, 0), 0);
  assert_int_equal(mlaf_decode_workspace(&b, 7, INT64_MAX), SIZE_MAX);
  mlaf_loaded_close(l);
}

/* A caller built against an earlier header has less behind struct_size, and other memory behind that. */
TEST(versions_of_a_call) {
  mlaf_ctx *ctx = emulator_ctx();
  const struct {
    uint32_t size;
    int32_t rotate;
    const char *says;
  } list[] = {{sizeof(mlaf_call), 0, "flags is 0xffffffff, must be 0 or MLAF_CALL_SCALE; reserved is -1"},
              {offsetof(mlaf_call, cache_kpe), 0, "q is of another type"},
              {offsetof(mlaf_call, rope_table), 0, "q is of another type"},
              {offsetof(mlaf_call, rope_table), 1, "struct_size is"},
              {offsetof(mlaf_call, flags), 0, "struct_size is"},
              {sizeof(mlaf_call) + 8, 0, "struct_size is"},
              {0, 0, "start from MLAF_CALL_INIT"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_call c = {.struct_size = list[i].size, .rotate = list[i].rotate, .q = {.dtype = MLAF_VIEW_OTHER}};
    memset(&c.rope_table, 0xff, sizeof c - offsetof(mlaf_call, rope_table));
    if (list[i].size > offsetof(mlaf_call, rope_table)) c.rope_table = (mlaf_view){.dims = 0};
    assert_int_equal(mlaf_call_run(ctx, &c, NULL), MLAF_E_ARG);
    if (!strstr(said(ctx), list[i].says)) fail_msg("'%s' does not say '%s'", said(ctx), list[i].says);
  }
  mlaf_ctx_destroy(ctx);
}

TEST(tables) {
  mlaf_problem p;
  assert_int_equal(mlaf_problem_parse("mla_decode:h4,r64,p32,q2,bf16,page16,b2,s64", &p, NULL, 0), MLAF_OK);
  int32_t qo[4], kv[4], ids[5], last[3];
  mlaf_host_tables t;
  char why[300];
#define RESET                                                        \
  do {                                                               \
    memcpy(qo, (int32_t[]){0, 2, 2, 3}, sizeof qo);                  \
    memcpy(kv, (int32_t[]){0, 3, 3, 5}, sizeof kv);                  \
    memcpy(ids, (int32_t[]){4, 0, 2, 1, 3}, sizeof ids);             \
    memcpy(last, (int32_t[]){16, 77, 1}, sizeof last);               \
    t = (mlaf_host_tables){sizeof t, 3, 3, 5, 0, qo, kv, ids, last}; \
  } while (0)
  RESET;
  assert_int_equal(mlaf_check_tables(&p, &t, why, sizeof why),
                   MLAF_OK); /* the last length of a request without pages is free */
#define BAD(change, says)                                                                                         \
  do {                                                                                                            \
    RESET;                                                                                                        \
    change;                                                                                                       \
    why[0] = 0;                                                                                                   \
    mlaf_status st_ = mlaf_check_tables(&p, &t, why, sizeof why);                                                 \
    if (st_ != MLAF_E_ARG || !strstr(why, says)) fail_msg(#change ": %d '%s' does not say '%s'", st_, why, says); \
    assert_int_equal(mlaf_check_tables(&p, &t, NULL, 0), MLAF_E_ARG);                                             \
  } while (0)
  BAD(ids[3] = 5, "kv_indices[3] (page 0 of request 2) is 5, must be 0..4");
  BAD(ids[0] = -1, "kv_indices[0] (page 0 of request 0) is -1");
  BAD(last[0] = 0, "kv_last_page_lens[0] is 0, must be 1..16");
  BAD(last[2] = 17, "kv_last_page_lens[2] is 17");
  BAD(qo[0] = 1, "qo_indptr[0] is 1, must be 0");
  BAD(qo[1] = 3, "qo_indptr[0] is 0 and qo_indptr[1] is 3: the difference must be 0..2");
  BAD(qo[2] = 1, "qo_indptr[1] is 2 and qo_indptr[2] is 1");
  BAD(kv[2] = 2, "kv_indptr[1] is 3 and kv_indptr[2] is 2");
  BAD(kv[0] = 1, "kv_indptr[0] is 1, must be 0");
  BAD(t.total_q = 4, "qo_indptr[3] is 3, must be total_q, 4");
  BAD(t.num_pages = 4, "kv_indices[0] (page 0 of request 0) is 4, must be 0..3");
  BAD(t.num_pages = -1, "num_pages is -1");
  BAD(t.batch = -1, "batch is -1");
  BAD(t.reserved = 1, "reserved is 1");
  BAD(t.struct_size = 1, "struct_size is 1");
  BAD(t.qo_indptr = NULL, "is NULL");
  BAD(t.kv_indices = NULL, "kv_indices is NULL, 5 pages expected");
#undef BAD
#undef RESET
  assert_int_equal(mlaf_check_tables(NULL, &t, why, sizeof why), MLAF_E_ARG);
  assert_int_equal(mlaf_check_tables(&p, NULL, why, sizeof why), MLAF_E_ARG);
  p.heads = 0;
  assert_int_equal(mlaf_check_tables(&p, &t, why, sizeof why), MLAF_E_PROBLEM);
}

TESTS(NULL, NULL)
