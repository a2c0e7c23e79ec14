/* Bench, soak and verify of an operation that they cannot know (toy_operation.h), on the emulator. */
#include "check/bench.h"
#include "check/soak.h"
#include "check/toy_operation.h"
#include "check/verify.h"
#include "run/built.h"

/* Rows of 3 words, which a thread compares, and of more than a wave has lanes: of 73, word by word, of 272, by 16 bytes. */
static const char *const problems[] = {"toy:w6,t90", "toy:w146,t90", "toy:w544,t90"};
enum { PROBLEMS = 3, ROWS = 90 };

typedef struct rig {
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  mlaf_device *dev;
  mlaf_loaded *loaded;
  mlaf_point point;
  mlaf_compile_job job;
} rig;

static void rig_open(rig *r, const char *problem) {
  static const char *const options[] = {"-O3", NULL};
  static const mlaf_kernel_ref ref = {
      .template_name = "toy", .symbol = "toy", .threads = TOY_THREADS, .rows_per_wg = TOY_THREADS};
  mlaf_err err = {MLAF_OK, ""};
  *r = (rig){.job = {.source = toy_source, .options = options, .target = "gfx942", .name = "toy"}};
  built_cache();
  need_compiler("gfx942");
  toy_has = TOY_RIGHT;
  toy_launches = toy_wrong = 0;
  if (mlaf_point_parse(&toy_op, problem, &r->point, err.text, sizeof err.text)) fail_msg("%s", err.text);
  if (mlaf_gen_open(NULL, &r->gen, &err) || mlaf_compiler_open(NULL, NULL, &r->compiler, &err)) fail_msg("%s", err.text);
  if (mlaf_compile(r->compiler, &r->job, 1, NULL, NULL, &err) || r->job.status) fail_msg("%s\n%s", err.text, r->job.log);
  if (mlaf_device_open("emu:gfx942", NULL, &r->dev, &err)) fail_msg("%s", err.text);
  const mlaf_loaded_desc desc = {"toy", {{&ref, {r->job.code, r->job.code_size}}}, 1};
  if (mlaf_loaded_open(r->dev, &r->point, &desc, &r->loaded, &err)) fail_msg("%s", err.text);
}

static void rig_close(rig *r) {
  mlaf_loaded_close(r->loaded);
  mlaf_device_close(r->dev);
  mlaf_compile_job_clear(&r->job);
  mlaf_compiler_close(r->compiler);
  mlaf_gen_close(r->gen);
}

static void expect(const char *text, const char *says) {
  if (!strstr(text, says)) fail_msg("'%s' does not say '%s'", text, says);
}

TEST(bench) {
  for (int i = 0; i < PROBLEMS; i++) {
    rig r;
    mlaf_bench *b = NULL;
    mlaf_timing t;
    mlaf_err err = {MLAF_OK, ""};
    double error = -1;
    rig_open(&r, problems[i]);
    if (mlaf_bench_create(r.dev, &r.point, NULL, &b, &err)) fail_msg("%s", err.text);
    if (mlaf_bench_time(b, r.loaded, NULL, &t, &err)) fail_msg("%s", err.text);
    assert_true(t.ns > 0);
    assert_true(mlaf_work_main(&mlaf_bench_data(b)->work) == 4.0 * ROWS * r.point.v[TOY_WIDTH]);
    if (mlaf_bench_check(b, r.loaded, &error, &err)) fail_msg("%s", err.text);
    assert_true(error >= 0 && error < 1e-5); /* sums of few are exact */
    toy_has = TOY_UNWRITTEN;
    assert_int_equal(mlaf_bench_check(b, r.loaded, &error, &err), MLAF_E_INCORRECT);
    expect(err.text, "of y, row 89, was left unwritten");
    toy_has = TOY_SIGN;
    assert_int_equal(mlaf_bench_check(b, r.loaded, &error, &err), MLAF_E_INCORRECT);
    expect(err.text, "variant toy on the timed data: row 5 is wrong");
    toy_wrong = toy_launches + 2; /* the second of the two that a check makes */
    assert_int_equal(mlaf_bench_check(b, r.loaded, &error, &err), MLAF_E_INCORRECT);
    expect(err.text, "of y, row 5, is not the same in two launches");
    mlaf_bench_free(b);
    rig_close(&r);
  }
}

TEST(soak) {
  for (int i = 0; i < PROBLEMS; i++) {
    rig r;
    mlaf_soak_result out;
    mlaf_err err = {MLAF_OK, ""};
    const mlaf_soak_opts o = {.launches = 7, .seed = 3};
    rig_open(&r, problems[i]);
    const mlaf_tool_env env = {r.dev, r.gen, r.compiler, "gfx942"};
    if (mlaf_soak_run(&env, r.loaded, &o, &out, &err)) fail_msg("%s", err.text);
    assert_int_equal(out.launches, 7);
    assert_int_equal(out.sets, 3);
    assert_int_equal(out.rows, 2 * ROWS);
    assert_int_equal(out.checked_rows, ROWS);
    assert_string_equal(out.checked, "all rows");
    const struct {
      toy_bug bug;
      int64_t row, wrong_rows;
      const char *where;
    } bugs[] = {{TOY_SIGN, 5, 1, "y, row 5"}, {TOY_UNWRITTEN, ROWS - 1, 1, "y, row 89"}};
    for (int k = 0; k < 2; k++) {
      toy_has = bugs[k].bug;
      toy_wrong = toy_launches + 3 + 4; /* behind the first launches of three sets */
      assert_int_equal(mlaf_soak_run(&env, r.loaded, &o, &out, &err), MLAF_E_INCORRECT);
      assert_int_equal(out.wrong, 1);
      assert_int_equal(out.wrong_rows, bugs[k].wrong_rows);
      assert_int_equal(out.first.launch, 4);
      assert_int_equal(out.first.row, bugs[k].row);
      assert_int_equal(out.first.of, r.point.v[TOY_WIDTH] / 2);
      assert_string_equal(out.first.where, bugs[k].where);
      assert_true(out.first.error > 0 && out.first.first_error == 0 && out.worst > 0);
      assert_true(bugs[k].bug == TOY_SIGN ? out.first.words == 1 : out.first.words > 1);
    }
    toy_wrong = toy_launches + 1; /* the first launch that is compared with fp64 */
    toy_has = TOY_SIGN;
    assert_int_equal(mlaf_soak_run(&env, r.loaded, &o, &out, &err), MLAF_E_INCORRECT);
    expect(err.text, "variant toy, first launch: row 5 is wrong");
    rig_close(&r);
  }
}

/* Marks are read and written: what the kernel changes there is the operation's to judge. */
TEST(verify) {
  static const struct {
    toy_bug bug;
    const char *says;
  } bugs[] = {{TOY_SIGN, "case few: row 5 is wrong"}, {TOY_UNWRITTEN, "case few: row 6 is wrong"},
              {TOY_MARKS, "case few: mark 1 is 1"}};
  for (int i = 0; i < PROBLEMS; i++) {
    rig r;
    mlaf_suite *suite = NULL;
    mlaf_verify_result out;
    mlaf_err err = {MLAF_OK, ""};
    rig_open(&r, problems[i]);
    if (mlaf_suite_create(&r.point, 1, MLAF_INJECT_NONE, &suite, &err)) fail_msg("%s", err.text);
    if (mlaf_suite_run(suite, r.loaded, &out, &err)) fail_msg("%s", err.text);
    assert_int_equal(out.cases, 2);
    assert_int_equal(out.rows, 77);
    assert_true(out.error < toy_bound(&r.point));
    for (int k = 0; k < 3; k++) {
      toy_has = bugs[k].bug;
      assert_int_equal(mlaf_suite_run(suite, r.loaded, &out, &err), MLAF_E_INCORRECT);
      expect(out.detail, bugs[k].says);
      expect(err.text, "mlaforge verify 'toy:w");
    }
    mlaf_suite_free(suite);
    rig_close(&r);
  }
}

TEST(nothing_compared_is_no_pass) {
  rig r;
  mlaf_suite *suite = NULL;
  mlaf_verify_result out;
  mlaf_err err = {MLAF_OK, ""};
  rig_open(&r, problems[0]);
  toy_blank = true;
  if (mlaf_suite_create(&r.point, 1, MLAF_INJECT_NONE, &suite, &err)) fail_msg("%s", err.text);
  assert_int_equal(mlaf_suite_run(suite, r.loaded, &out, &err), MLAF_E_INCORRECT);
  assert_int_equal(out.cases, 1);
  expect(out.detail, "case many: nothing was compared");
  toy_blank = false;
  mlaf_suite_free(suite);
  rig_close(&r);
}

TESTS(NULL, NULL)
