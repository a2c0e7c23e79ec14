/* The ladder, end to end on the emulator: database, cache, generator, compiler, execution. */
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "run/built.h"
#include "plan/ctx.h"
#include "op/numeric.h"
#include "plan/place.h"
#include "plan/plan.h"
#include "ops/mla_decode/testcase.h"
#include "mlaforge/mlaforge.h"
#include "point.h"
#include "said.h"

#define BASE "blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=always,schedule=splits,tile=16,waves=4"
#define PROBLEM "mla_decode:h5,r64,p32,q2,causal,bf16,page16,b2,s100"

typedef struct fixture {
  built b;
  place at;
  char log[8192];
  bool measured; /* what record() says of its time */
} fixture;

static void keep_line(void *user, mlaf_log_level level, const char *line) {
  fixture *f = user;
  size_t n = strlen(f->log);
  snprintf(f->log + n, sizeof f->log - n, "%s\n", line);
}

static void fill(fixture *f) {
  memset(f, 0, sizeof *f);
  built_open(&f->b, PROBLEM, NULL);
  place_make(&f->at);
}

static void clear(fixture *f) {
  built_close(&f->b);
  place_remove(&f->at);
}

/* Each test's is its own. */
static int begin(void **state) {
  fill(*state = malloc(sizeof(fixture)));
  return 0;
}

static int end(void **state) {
  clear(*state);
  free(*state);
  return 0;
}

static void begin_anew(fixture *f) {
  clear(f);
  fill(f);
}

static mlaf_ctx *open_ctx(fixture *f) { return place_open(&f->at, keep_line, f); }

static mlaf_plan *plan_with(mlaf_ctx *ctx, const mlaf_problem *p, mlaf_effort effort, uint32_t flags,
                            mlaf_plan_info *info) {
  mlaf_plan *plan = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.effort = effort;
  o.flags = flags;
  if (mlaf_plan_create(ctx, p, &o, &plan)) fail_msg("%s", said(ctx));
  *info = (mlaf_plan_info)MLAF_PLAN_INFO_INIT;
  assert_int_equal(mlaf_plan_query(plan, info), MLAF_OK);
  return plan;
}

static void expect_failure(mlaf_ctx *ctx, const mlaf_problem *p, mlaf_effort effort, uint32_t flags, mlaf_status want,
                           const char *says) {
  mlaf_plan *plan = (mlaf_plan *)&plan, *untouched = plan;
  char why[4000] = "";
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.effort = effort;
  o.flags = flags;
  mlaf_status st = mlaf_plan_create(ctx, p, &o, &plan);
  assert_int_equal(mlaf_ctx_last_message(ctx, why, sizeof why), want);
  if (st != want || !strstr(why, says)) fail_msg("status %d (want %d), '%s' does not say '%s'", st, want, why, says);
  assert_ptr_equal(plan, untouched);
}

/* Record the fixture's variant as tuned for `problem`, with any field of the sample changed first. */
static void record(fixture *f, const char *problem, const char *template_hash, const char *src_hash) {
  mlaf_db *db = NULL;
  mlaf_problem p;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_device *dev = NULL;
  const char *toolchain = NULL;
  assert_int_equal(mlaf_problem_parse(problem, &p, NULL, 0), MLAF_OK);
  mlaf_sample s = {.knob = f->b.build.knob,
                   .kernels = {f->b.build.refs[0], f->b.build.refs[1]},
                   .outcome = MLAF_OUT_OK,
                   .source = f->measured ? MLAF_SRC_MEASURED : MLAF_SRC_MODELLED,
                   .timing = {.source = f->measured ? MLAF_TIME_MEASURED : MLAF_TIME_MODELLED, .ns = 1234, .samples = 7},
                   .error = 0.001};
  snprintf(s.variant, sizeof s.variant, "%s", f->b.build.name);
  if (template_hash) snprintf(s.kernels[0].template_hash, sizeof s.kernels[0].template_hash, "%s", template_hash);
  if (src_hash) {
    snprintf(s.kernels[0].src_hash, sizeof s.kernels[0].src_hash, "%s", src_hash);
    memset(s.kernels[0].code_key, 'a', MLAF_HASH_HEX - 1); /* and its code object is nowhere */
  }
  if (mlaf_device_open("emu:gfx942", NULL, &dev, &err) || mlaf_db_open(f->at.db, false, NULL, &db, &err) ||
      mlaf_compiler_identity(f->b.compiler, &toolchain, &err) ||
      mlaf_db_add_sample(db, mlaf_info(dev), toolchain, pt(&p), &s, &err))
    fail_msg("%s", err.text);
  mlaf_db_close(db);
  mlaf_device_close(dev);
}

/* No pointer of a caller ends the process: addresses at both ends of all there are, and where nothing lies. */
static void wild_pointers_are_faults(const mlaf_plan *plan, const mlaf_execute_args *good, void *stream) {
  static const size_t fields[] = {offsetof(mlaf_execute_args, q), offsetof(mlaf_execute_args, ckv),
      offsetof(mlaf_execute_args, o),
                                  offsetof(mlaf_execute_args, lse), offsetof(mlaf_execute_args, qo_indptr),
                                  offsetof(mlaf_execute_args, kv_indptr), offsetof(mlaf_execute_args, kv_indices),
                                  offsetof(mlaf_execute_args, kv_last_page_lens)};
  static const uintptr_t wild[] = {16, (uintptr_t)-16, (uintptr_t)-256, (uintptr_t)1 << 47, (uintptr_t)1 << 48};
  for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
      mlaf_execute_args a = *good;
      void *p = (void *)wild[i];
      memcpy((char *)&a + fields[f], &p, sizeof p);
      mlaf_status st = mlaf_execute(plan, &a, stream);
      if (st != MLAF_E_FAULT) fail_msg("field at %zu, %p: %s", fields[f], p, mlaf_status_name(st));
    }
}

/* Execute a plan on random data through the public API alone and compare with the reference. */
static void execute_and_compare(mlaf_ctx *ctx, const mlaf_plan *plan, const mlaf_problem *p, void *stream) {
  mlaf_case_spec spec = {.name = "api",
                         .problem = *p,
                         .seed = 9,
                         .n = 3,
                         .q_lens = {p->q_len, 0, 1},
                         .kv_lens = {70, 20, 33},
                         .unused_pages = 1,
                         .score_std = 1.5};
  mlaf_testcase *t = NULL;
  assert_int_equal(mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &t, NULL), MLAF_OK);
  const mlaf_batch *x = &t->batch;
  size_t rows = (size_t)(x->total_q * p->heads), elements = rows * (size_t)p->rank;
  struct {
    const void *host;
    size_t size;
    void *device;
  } in[] = {{t->q, t->q_count * 2, NULL},
            {t->ckv, t->ckv_count * 2, NULL},
            {x->qo_indptr, 16, NULL},
            {x->kv_indptr, 16, NULL},
            {x->kv_indices, (size_t)t->total_pages * 4, NULL},
            {x->kv_last_page_lens, 12, NULL},
            {NULL, elements * 2, NULL},
            {NULL, rows * 4, NULL},
            {NULL, mlaf_plan_workspace_size(plan, x->total_q), NULL}};
  for (size_t i = 0; i < 9; i++) {
    assert_int_equal(mlaf_mem_alloc(ctx, in[i].size, &in[i].device), MLAF_OK);
    if (in[i].host) assert_int_equal(mlaf_mem_write(ctx, in[i].device, in[i].host, in[i].size), MLAF_OK);
    else assert_int_equal(mlaf_mem_fill(ctx, in[i].device, 0xff, in[i].size), MLAF_OK);
  }
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.batch = x->batch;
  a.total_q = x->total_q;
  a.num_pages = x->num_pages;
  a.scale = (float)x->scale;
  a.q = in[0].device;
  a.ckv = in[1].device;
  a.qo_indptr = in[2].device;
  a.kv_indptr = in[3].device;
  a.kv_indices = in[4].device;
  a.kv_last_page_lens = in[5].device;
  a.o = in[6].device;
  a.lse = in[7].device;
  a.workspace = in[8].device;
  a.workspace_size = in[8].size;
  if (mlaf_execute(plan, &a, stream)) {
    char why[2000];
    mlaf_ctx_last_message(ctx, why, sizeof why);
    print_message("%s\n", why);
    fail_msg("execute failed");
  }
  assert_int_equal(mlaf_sync(ctx, stream), MLAF_OK);
  uint16_t *o = malloc(elements * 2);
  double *want = malloc(elements * sizeof *want), *lse = malloc(rows * sizeof *lse), diff = 0, norm = 0;
  assert_int_equal(mlaf_mem_read(ctx, o, a.o, elements * 2), MLAF_OK);
  assert_int_equal(mlaf_reference(x, want, lse, NULL, NULL), MLAF_OK);
  for (size_t i = 0; i < elements; i++) {
    double e = mlaf_decode16(p->dtype, o[i]) - want[i];
    diff += e * e;
    norm += want[i] * want[i];
  }
  assert_true(sqrt(diff / norm) < 2.5e-3);
  wild_pointers_are_faults(plan, &a, stream);
  for (size_t i = 0; i < 9; i++) assert_int_equal(mlaf_mem_free(ctx, in[i].device), MLAF_OK);
  free(o);
  free(want);
  free(lse);
  mlaf_testcase_free(t);
}

TEST_OF(the_ladder, fixture *f) {
  mlaf_plan_info info;
  mlaf_problem p = f->b.problem, other = p;
  mlaf_ctx *ctx = open_ctx(f);
  /* Nothing is known yet. */
  expect_failure(ctx, &p, MLAF_EFFORT_DB_ONLY, 0, MLAF_E_NOT_TUNED, "no tuned choice for " PROBLEM);
  expect_failure(ctx, &p, MLAF_EFFORT_ESTIMATE, MLAF_PLAN_NO_COMPILE, MLAF_E_NOT_COMPILED, "");
  /* Model: compiled once, then from the cache. */
  mlaf_plan *plan = plan_with(ctx, &p, MLAF_EFFORT_ESTIMATE, 0, &info);
  assert_string_equal(info.rung, "model");
  assert_string_equal(info.source, "none");
  assert_string_equal(info.problem, PROBLEM);
  assert_string_equal(info.tuned_for, PROBLEM);
  assert_string_equal(info.code, "compiled");
  assert_true(info.compiles >= 1);
  execute_and_compare(ctx, plan, &p, NULL);
  mlaf_plan_release(plan);
  plan = plan_with(ctx, &p, MLAF_EFFORT_ESTIMATE, MLAF_PLAN_NO_COMPILE, &info);
  assert_string_equal(info.rung, "model");
  assert_string_equal(info.code, "cache");
  assert_int_equal(info.compiles, 0);
  mlaf_plan_release(plan);
  /* A choice whose code object is in no cache: refused without a compiler, made with one, and made only once. */
  record(f, PROBLEM, NULL, NULL);
  expect_failure(ctx, &p, MLAF_EFFORT_DB_ONLY, MLAF_PLAN_NO_COMPILE, MLAF_E_NOT_COMPILED, "");
  plan = plan_with(ctx, &p, MLAF_EFFORT_DB_ONLY, 0, &info);
  assert_string_equal(info.rung, "exact");
  assert_string_equal(info.source, "modelled");
  assert_string_equal(info.variant, f->b.build.name);
  assert_string_equal(info.stale, "");
  assert_string_equal(info.notes, "");
  assert_true(info.ns == 1234 && info.error == 0.001);
  assert_int_equal(info.knob, f->b.build.knob);
  execute_and_compare(ctx, plan, &p, NULL);
  mlaf_plan_release(plan);
  /* Nearest: same device and dims, another batch and context. */
  other.batch = 8;
  other.ctx = 3000;
  plan = plan_with(ctx, &other, MLAF_EFFORT_DB_ONLY, MLAF_PLAN_NO_COMPILE, &info);
  assert_string_equal(info.rung, "nearest");
  assert_string_equal(info.tuned_for, PROBLEM);
  assert_int_equal(info.compiles, 0);
  mlaf_plan_release(plan);
  /* Q in two tensors is like one: the same choice, by kernels of its own. */
  other = p;
  other.q_parts = 1;
  plan = plan_with(ctx, &other, MLAF_EFFORT_DB_ONLY, 0, &info);
  assert_string_equal(info.rung, "exact");
  assert_string_equal(info.tuned_for, PROBLEM);
  assert_string_equal(info.variant, f->b.build.name);
  assert_non_null(strstr(info.problem, "bf16,q_parts,page16"));
  assert_non_null(strstr(mlaf_plan_kernel(plan)->params, "q_parts=1"));
  mlaf_plan_release(plan);
  plan = plan_with(ctx, &other, MLAF_EFFORT_DB_ONLY, MLAF_PLAN_NO_COMPILE, &info);
  assert_string_equal(info.code, "cache");
  mlaf_plan_release(plan);
  other = p;
  /* Other dims are another kernel: nothing is near. */
  other.heads = 6;
  expect_failure(ctx, &other, MLAF_EFFORT_DB_ONLY, 0, MLAF_E_NOT_TUNED, "mlaforge tune");
  mlaf_ctx_destroy(ctx);
}

/* A choice of one split, tuned for a crowd, serves a single long request with splits; far away the model is asked instead. */
TEST_OF(a_neighbour_is_fitted, fixture *f) {
  mlaf_plan_info info;
  mlaf_problem p = f->b.problem;
  built one;
  built_open(&one, "mla_decode:h5,r64,p32,q2,causal,bf16,page16,b512,s1024", "mfma_reg:" BASE "/s1");
  mlaf_build was = f->b.build;
  f->b.build = one.build;
  record(f, "mla_decode:h5,r64,p32,q2,causal,bf16,page16,b512,s1024", NULL, NULL);
  f->b.build = was;
  mlaf_ctx *ctx = open_ctx(f);
  p.batch = 32;
  p.ctx = 1024;
  mlaf_plan *plan = plan_with(ctx, &p, MLAF_EFFORT_ESTIMATE, 0, &info); /* the model has a much better one than this kernel */
  assert_string_equal(info.rung, "model");
  assert_non_null(strstr(info.notes, "(measured nowhere near)"));
  mlaf_plan_release(plan);
  plan = plan_with(ctx, &p, MLAF_EFFORT_DB_ONLY, 0, &info);
  assert_string_equal(info.rung, "nearest");
  assert_string_equal(info.tuned_for, "mla_decode:h5,r64,p32,q2,causal,bf16,page16,b512,s1024");
  assert_true(info.knob > 1);
  assert_non_null(strstr(info.variant, "mfma_reg:" BASE "/s"));
  execute_and_compare(ctx, plan, &p, NULL);
  mlaf_plan_release(plan);
  /* One request more than 16 times fewer: out of reach, unless there is nothing else to ask. */
  p.batch = 1;
  plan = plan_with(ctx, &p, MLAF_EFFORT_ESTIMATE, 0, &info);
  assert_string_equal(info.rung, "model");
  assert_non_null(strstr(info.notes, "9.0 doublings of batch and ctx away"));
  assert_string_equal(f->log, ""); /* nothing is wrong: no warning */
  mlaf_plan_release(plan);
  plan = plan_with(ctx, &p, MLAF_EFFORT_DB_ONLY, 0, &info);
  assert_string_equal(info.rung, "nearest");
  assert_true(info.knob > 1);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
  /* Without a compiler the fitted combine kernel is in no cache: then as it was tuned. */
  char clean[128];
  snprintf(clean, sizeof clean, "rm -rf '%s'", f->at.cache);
  assert_int_equal(system(clean), 0);
  ctx = open_ctx(f);
  p.batch = 512;
  p.ctx = 1024;
  mlaf_plan_release(plan_with(ctx, &p, MLAF_EFFORT_DB_ONLY, 0, &info)); /* the decode kernel is now */
  p.batch = 32;
  plan = plan_with(ctx, &p, MLAF_EFFORT_DB_ONLY, MLAF_PLAN_NO_COMPILE, &info);
  assert_string_equal(info.rung, "nearest");
  assert_int_equal(info.knob, 1);
  assert_int_equal(info.compiles, 0);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
  built_close(&one);
}

static double cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A fresh process with a warm database and cache: no compile, no Lua, under 5 ms of CPU time (test_latency has the parts). */
TEST_OF(warm_plans_are_cheap, fixture *f) {
  mlaf_plan_info info;
  f->measured = true;
  record(f, PROBLEM, NULL, NULL);
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, &info));
  mlaf_ctx_destroy(ctx);
  double best = 1e9;
  for (int i = 0; i < 10; i++) { /* the best of ten: the machine has other work too */
    ctx = open_ctx(f);
    double begun = cpu_s();
    mlaf_plan *plan = plan_with(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, MLAF_PLAN_NO_COMPILE, &info);
    double took = cpu_s() - begun;
    if (took < best) best = took;
    assert_int_equal(info.compiles, 0);
    assert_string_equal(info.rung, "exact");
    assert_null(ctx->gen); /* Lua was not opened */
    mlaf_plan_release(plan);
    mlaf_ctx_destroy(ctx);
  }
  print_message("warm plan: %.2f ms\n", best * 1e3);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  assert_true(best < 5e-3);
#endif
  /* A damaged file of remembered hashes costs a Lua state, nothing else. */
  char cmd[256];
  snprintf(cmd, sizeof cmd,
           "for f in %s/generator/*.tsv; do printf 'gfx942\\tmla_decode/mfma_reg\\tzzz\\n\\tgarbage' > $f; done", f->at.cache);
  assert_int_equal(system(cmd), 0);
  ctx = open_ctx(f);
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, MLAF_PLAN_NO_COMPILE, &info));
  assert_string_equal(info.rung, "exact");
  assert_non_null(ctx->gen);
  mlaf_ctx_destroy(ctx);
}

/* The place of a kernel's code is remembered; a wrong memory is found out and looked up again. */
TEST_OF(code_is_remembered, fixture *f) {
  static const char *const spoil[] = {
      "{ print }",
      "{ row[NR] = $1 \"\\t\" $2; key[NR] = $3 } " /* then another kernel's */
      "END { if (NR < 2) exit 1; for (i = 1; i <= NR; i++) print row[i] \"\\t\" key[i % NR + 1] }",
      "{ print $1 \"\\t\" $2 \"\\t\" sprintf(\"%064d\", 7) }", /* then none that there is */
      "{ print }"};
  const char *const problems[] = {PROBLEM, "mla_decode:h5,r64,p32,q1,bf16,page16,b2,s100"};
  for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
    for (int k = 0; k < 2; k++) {
      mlaf_problem p;
      mlaf_plan_info info;
      assert_int_equal(mlaf_problem_parse(problems[k], &p, NULL, 0), MLAF_OK);
      mlaf_ctx *ctx = open_ctx(f);
      mlaf_plan *plan = plan_with(ctx, &p, MLAF_EFFORT_ESTIMATE, 0, &info);
      assert_string_equal(info.rung, "model");
      assert_string_equal(info.code, i ? "cache" : "compiled");
      assert_string_equal(info.notes, "");
      if (i == 1) assert_false(mlaf_gen_is_loaded(ctx->gen)); /* its answer is remembered, too */
      execute_and_compare(ctx, plan, &p, NULL);
      mlaf_plan_release(plan);
      mlaf_ctx_destroy(ctx);
    }
    char cmd[600];
    snprintf(cmd, sizeof cmd, "for f in %s/generator/*.tsv; do awk '%s' $f >$f.new && mv $f.new $f || exit 1; done", f->at.cache,
             spoil[i]);
    assert_int_equal(system(cmd), 0);
  }
}

/* Answers of the generator are kept; a damaged one is asked again. */
TEST_OF(answers_are_remembered, fixture *f) {
  static const char *const spoil[] = {
      "cp $f $f.x; mv $f.x $f", "sed -i 's/reg:/lds:/' $f", "sed -i '2,$d' $f", "truncate -s 70 $f", ": >$f",
      "head -c 65 /dev/zero >$f", "sed -i '1s/^./x/' $f", "printf garbage >>$f"};
  char first[256] = "", cmd[600];
  for (size_t i = 0; i <= sizeof spoil / sizeof *spoil; i++) {
    mlaf_plan_info info;
    mlaf_ctx *ctx = open_ctx(f);
    mlaf_plan *plan = plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info);
    if (!i) snprintf(first, sizeof first, "%s", info.variant);
    assert_string_equal(info.rung, "model");
    assert_string_equal(info.variant, first);
    if (mlaf_gen_is_loaded(ctx->gen) != (i != 1))
      fail_msg("after '%s' the generator was %sasked", i ? spoil[i - 1] : "", i == 1 ? "" : "not ");
    mlaf_plan_release(plan);
    mlaf_ctx_destroy(ctx);
    if (i == sizeof spoil / sizeof *spoil) break;
    snprintf(cmd, sizeof cmd, "for f in %s/generator/*/*; do %s || exit 1; done", f->at.cache, spoil[i]);
    assert_int_equal(system(cmd), 0);
  }
}

TEST_OF(unusable_choices_are_passed_over, fixture *f) {
  mlaf_plan_info info;
  char other_hash[MLAF_HASH_HEX];
  memset(other_hash, '7', sizeof other_hash);
  other_hash[MLAF_HASH_HEX - 1] = 0;
  /* The template was edited since. */
  record(f, PROBLEM, other_hash, NULL);
  mlaf_ctx *ctx = open_ctx(f);
  expect_failure(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, MLAF_E_NOT_TUNED, "changed since it was tuned");
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info));
  assert_non_null(strstr(f->log, "passing over choice"));
  mlaf_plan *plan = plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info);
  assert_string_equal(info.rung, "model");
  assert_non_null(strstr(info.notes, "changed since it was tuned"));
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
  /* The same template hash, but another text than the one that was verified. */
  begin_anew(f);
  record(f, PROBLEM, NULL, other_hash);
  ctx = open_ctx(f);
  expect_failure(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, MLAF_E_TEMPLATE, "another source today");
  mlaf_ctx_destroy(ctx);
  /* A choice of an earlier version, with a schedule that is gone and more splits than there are now. */
  begin_anew(f);
  const mlaf_build today = f->b.build;
  snprintf(f->b.build.name, sizeof f->b.build.name, "reg:blocks=1,schedule=balanced/s528,rows=4,team=1");
  f->b.build.knob = 528;
  record(f, PROBLEM, NULL, NULL);
  f->b.build = today;
  ctx = open_ctx(f);
  expect_failure(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, MLAF_E_NOT_TUNED, "schedule=balanced");
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info));
  assert_string_equal(info.rung, "model");
  mlaf_ctx_destroy(ctx);
}

/* A range of problems is compiled in one batch, before any of its plans is made. */
TEST_OF(a_warm_up_compiles_at_once, fixture *f) {
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_warm_up_opts range = MLAF_WARM_UP_INIT;
  mlaf_warm_up_result made = MLAF_WARM_UP_RESULT_INIT;
  range.batch_min = 1, range.batch_max = 8, range.ctx_min = 512, range.ctx_max = 1024;
  assert_int_equal(mlaf_warm_up(ctx, &f->b.problem, &range, &made), MLAF_OK);
  assert_in_range(made.compiles, 2, 99);
  mlaf_problem p = f->b.problem;
  for (p.batch = 1; p.batch <= 8; p.batch++)
    for (p.ctx = 512; p.ctx <= 1024; p.ctx *= 2) {
      mlaf_plan *plan = NULL;
      mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
      assert_int_equal(mlaf_plan_get(ctx, &p, NULL, &plan), MLAF_OK);
      assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
      assert_int_equal(info.compiles, 0);
      mlaf_plan_release(plan);
    }
  assert_string_equal(f->log, "");
  mlaf_ctx_destroy(ctx);
}

/* A corrupt code object in the cache is rebuilt, not loaded. */
TEST_OF(a_torn_cache_file_heals, fixture *f) {
  mlaf_plan_info info;
  char cmd[256];
  record(f, PROBLEM, NULL, NULL);
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, &info));
  snprintf(cmd, sizeof cmd, "find %s -name '*.co' | while read f; do truncate -s -100 $f; done", f->at.cache);
  assert_int_equal(system(cmd), 0);
  mlaf_plan *plan = plan_with(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, &info);
  assert_string_equal(info.code, "compiled");
  execute_and_compare(ctx, plan, &f->b.problem, NULL);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

/* Whatever is the matter with the database, planning goes on. */
TEST_OF(broken_databases, fixture *f) {
  static const char *const makers[] = {
      "echo 'this is no database, but it is longer than the sixteen bytes of a header' > %s",
      "python3 -c \"import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('create table notes(x)'); "
      "c.commit()\" %s",
      "mkdir %s",
      "head -c 4096 /dev/urandom > %s",
  };
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
    mlaf_plan_info info;
    char cmd[512], make[400], why[400];
    if (i == 1 && system("python3 -c 'import sqlite3' 2>/dev/null")) continue;
    snprintf(make, sizeof make, makers[i], f->at.db);
    snprintf(cmd, sizeof cmd, "rm -rf %s*; %s", f->at.db, make);
    assert_int_equal(system(cmd), 0);
    f->log[0] = 0;
    mlaf_ctx *ctx = open_ctx(f);
    assert_true(mlaf_ctx_db_status(ctx, why, sizeof why) != MLAF_OK);
    assert_true(why[0] != 0);
    assert_non_null(strstr(f->log, "going on without a tuning database"));
    expect_failure(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, MLAF_E_NOT_TUNED, "no tuning database");
    mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info));
    mlaf_ctx_destroy(ctx);
    /* A foreign file is still as it was: it is not ours to change. */
    assert_int_equal(access(f->at.db, F_OK), 0);
  }
}

/* Another process holds the database's write lock: a choice is still read, and a miss does not wait for it. */
TEST_OF(a_locked_database, fixture *f) {
  mlaf_plan_info info;
  sqlite3 *other = NULL;
  record(f, PROBLEM, NULL, NULL);
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_problem near = f->b.problem;
  near.batch = 7;
  mlaf_plan_release(plan_with(ctx, &near, MLAF_EFFORT_DB_ONLY, 0, &info)); /* compiled: only waiting takes time from here on */
  mlaf_ctx_destroy(ctx);
  assert_int_equal(sqlite3_open(f->at.db, &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  ctx = open_ctx(f);
  double best = 1e9;
  for (int i = 0; i < 4 && best >= 5; i++) { /* who waits for the lock does so each time, a busy machine not */
    const double begun = mlaf_now();
    mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, &info));
    assert_string_equal(info.rung, "exact");
    mlaf_plan_release(plan_with(ctx, &near, MLAF_EFFORT_DB_ONLY, 0, &info));
    assert_string_equal(info.rung, "nearest");
    best = mlaf_now() - begun < best ? mlaf_now() - begun : best;
  }
  assert_true(best < 5);
  sqlite3_close(other);
  mlaf_ctx_destroy(ctx);
}

TEST_OF(no_database_wanted, fixture *f) {
  mlaf_plan_info info;
  char why[200];
  mlaf_ctx *ctx = NULL;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  o.device = "emu:gfx942";
  o.db_path = f->at.db;
  o.cache_dir = f->at.cache;
  o.flags = MLAF_CTX_NO_DB;
  assert_int_equal(mlaf_ctx_create(&o, &ctx, NULL, 0), MLAF_OK);
  assert_int_equal(mlaf_ctx_db_status(ctx, why, sizeof why), MLAF_E_DB);
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info));
  assert_int_equal(access(f->at.db, F_OK), -1);
  mlaf_ctx_destroy(ctx);
}

/* A lack of this machine is named, and not held against a kernel: as soon as it is there, the same context plans. */
TEST_OF(no_scratch_folder, fixture *f) {
  mlaf_plan_info info;
  char *tmp = mlaf_strdup(getenv("TMPDIR"));
  mlaf_ctx *ctx = open_ctx(f);
  setenv("TMPDIR", "/proc/nowhere", 1);
  expect_failure(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, MLAF_E_IO, "name another folder with TMPDIR");
  if (tmp) setenv("TMPDIR", tmp, 1);
  else unsetenv("TMPDIR");
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info));
  assert_string_equal(info.rung, "model");
  /* what is compiled already needs no scratch folder */
  setenv("TMPDIR", "/proc/nowhere", 1);
  mlaf_ctx_destroy(ctx);
  ctx = open_ctx(f);
  mlaf_plan_release(plan_with(ctx, &f->b.problem, MLAF_EFFORT_ESTIMATE, 0, &info));
  if (tmp) setenv("TMPDIR", tmp, 1);
  else unsetenv("TMPDIR");
  free(tmp);
  mlaf_ctx_destroy(ctx);
}

/* A host with a file-size limit lives on, with the default action of SIGXFSZ in force: neither database nor cache can be written,
 * and a compile says why it cannot be done. */
TEST_OF(a_file_size_limit_ends_nobody, fixture *f) {
  for (rlim_t kib = 0; kib <= 8; kib += 8) {
    begin_anew(f);
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
      setrlimit(RLIMIT_FSIZE, &(struct rlimit){kib << 10, kib << 10});
      signal(SIGXFSZ, SIG_DFL);
      unsetenv("MLAF_WORKER"); /* one that remembers writes nothing */
      mlaf_ctx *ctx = open_ctx(f);
      mlaf_plan *plan = NULL;
      char why[4000] = "";
      const mlaf_status st = mlaf_plan_create(ctx, &f->b.problem, NULL, &plan);
      mlaf_ctx_last_message(ctx, why, sizeof why);
      mlaf_ctx_destroy(ctx);
      _exit(st == MLAF_E_IO && strstr(why, "ulimit -f") ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (status) fail_msg("limit of %d KiB: status %x", (int)kib, (unsigned)status);
  }
}

#ifdef MLAF_HAVE_TUNE
/* MEASURE tunes within its limit, stands on what it chose, and the next plan costs nothing. */
TEST_OF(measure, fixture *f) {
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_plan *plan = NULL;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.effort = MLAF_EFFORT_MEASURE;
  /* Too short for anything: a lower rung, and the plan says why. */
  o.time_limit_s = 1e-6;
  assert_int_equal(mlaf_plan_create(ctx, &f->b.problem, &o, &plan), MLAF_OK);
  assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
  assert_string_equal(info.rung, "model");
  assert_non_null(strstr(info.notes, "tuning: no candidate was finished: time limit"));
  mlaf_plan_release(plan);
  /* Long enough for some candidates; how long that is depends on what else the machine does. */
  for (o.time_limit_s = 3; o.time_limit_s < 200 && strcmp(info.rung, "exact"); o.time_limit_s *= 3) {
    if (mlaf_plan_create(ctx, &f->b.problem, &o, &plan)) fail_msg("%s", said(ctx));
    assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
    if (strcmp(info.rung, "exact")) mlaf_plan_release(plan);
  }
  assert_string_equal(info.rung, "exact");
  assert_string_equal(info.source, "modelled");
  assert_true(info.ns > 0 && info.error > 0 && info.error < 2.5e-3);
  execute_and_compare(ctx, plan, &f->b.problem, NULL);
  mlaf_plan_info again;
  mlaf_plan *second = plan_with(ctx, &f->b.problem, MLAF_EFFORT_MEASURE, 0, &again);
  assert_int_equal(again.compiles, 0);
  assert_string_equal(again.variant, info.variant);
  mlaf_plan_release(second);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}
#endif

/* Plans outlive their context, and count references right under threads. */
typedef struct sharing {
  mlaf_plan *plan;
  atomic_int queries;
} sharing;

static void *retain_and_release(void *user) {
  sharing *s = user;
  for (int i = 0; i < 20000; i++) {
    mlaf_plan *mine = mlaf_plan_retain(s->plan);
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    if (i % 100 == 0 && !mlaf_plan_query(mine, &info) && info.variant[0]) atomic_fetch_add(&s->queries, 1);
    mlaf_plan_release(mine);
  }
  mlaf_plan_release(s->plan); /* the reference this thread was given */
  return NULL;
}

typedef struct planning {
  mlaf_ctx *ctx;
  const mlaf_problem *problem;
  mlaf_plan *plan;
} planning;

static void *plan_and_execute(void *user) {
  planning *w = user;
  mlaf_plan_info info;
  w->plan = plan_with(w->ctx, w->problem, MLAF_EFFORT_DB_ONLY, 0, &info);
  execute_and_compare(w->ctx, w->plan, w->problem, NULL);
  return NULL;
}

TEST_OF(threads, fixture *f) {
  mlaf_plan_info info;
  pthread_t id[8];
  record(f, PROBLEM, NULL, NULL);
  mlaf_ctx *ctx = open_ctx(f);
  sharing s = {.plan = plan_with(ctx, &f->b.problem, MLAF_EFFORT_DB_ONLY, 0, &info)};
  for (int i = 0; i < 8; i++) mlaf_plan_retain(s.plan);
  for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&id[i], NULL, retain_and_release, &s), 0);
  for (int i = 0; i < 8; i++) pthread_join(id[i], NULL);
  assert_int_equal(atomic_load(&s.queries), 8 * 200);
  execute_and_compare(ctx, s.plan, &f->b.problem, NULL); /* ours is still there */
  mlaf_plan_release(s.plan);
  /* Planning and executing from several threads on one context. */
  planning w[4];
  for (int i = 0; i < 4; i++) {
    w[i] = (planning){ctx, &f->b.problem, NULL};
    assert_int_equal(pthread_create(&id[i], NULL, plan_and_execute, &w[i]), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
  for (int i = 0; i < 3; i++) mlaf_plan_release(w[i].plan);
  mlaf_ctx_destroy(ctx);
  /* The last plan keeps the device: it can be asked and executed (with nothing to do), and goes in peace. */
  mlaf_execute_args nothing = MLAF_EXECUTE_ARGS_INIT;
  nothing.scale = 1;
  assert_int_equal(mlaf_execute(w[3].plan, &nothing, NULL), MLAF_OK);
  nothing.batch = -1;
  assert_int_equal(mlaf_execute(w[3].plan, &nothing, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_plan_query(w[3].plan, &info), MLAF_OK);
  mlaf_plan_release(w[3].plan);
}

/* A layer asks for kernels that a target may not have: the answer says why, and nobody is warned. */
TEST_OF(no_kernel_on_this_target_is_no_warning, fixture *f) {
  mlaf_ctx *ctx = open_ctx(f);
  mlaf_plan *plan = NULL;
  const char *joint = "mla_q_b:l64,h16,n32,p32,norm,bf16,t1+mla_append:r64,paged,pairs,norm+mla_q_absorb:pairs";
  assert_int_not_equal(mlaf_plan_for(ctx, joint, NULL, &plan), MLAF_OK);
  assert_non_null(strstr(said(ctx), "32 columns without positions are not 128"));
  assert_string_equal(f->log, "");
  mlaf_ctx_destroy(ctx);
}

TESTS_EACH(begin, end)
