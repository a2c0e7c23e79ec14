/* A whole layer from a bundle, by a process that can neither generate nor compile and has nothing in a cache: what
 * mlaf_layer_problem_at lists is all it wants. */
#include "layer/rig.h"

static char dir[64];

/* The problems that a description lists, one a line. */
static void write_problems(const mlaf_layer_desc *d, const char *path) {
  char text[MLAF_PROBLEM_TEXT_MAX], why[256] = "";
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (size_t i = 0;; i++) {
    if (mlaf_layer_problem_at(d, 1, i, text, sizeof text, why, sizeof why)) fail_msg("%s", why);
    if (!*text) break;
    fprintf(f, "%s\n", text);
  }
  assert_int_equal(fclose(f), 0);
}

static void make_bundle(const mlaf_layer_desc *d) {
  char path[128], command[1024];
  snprintf(path, sizeof path, "%s/problems", dir);
  write_problems(d, path);
  snprintf(command, sizeof command, "'%s/mlaforge' generate '@%s' --targets gfx942 --out '%s/bundle' >'%s/log' 2>&1 || "
           "{ cat '%s/log' >&2; false; }", getenv("MLAF_BUILD_DIR"), path, dir, dir, dir);
  assert_int_equal(system(command), 0);
}

TEST(a_layer_from_a_bundle) {
  static rig first, r;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_opts plan = MLAF_PLAN_OPTS_INIT;
  mlaf_layer *layer = NULL;
  model m;
  call c;
  double y[COLS];
  char bundle[128], cache[128];
  rig_start(&first, &o);
  make_model(&first, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = 1;
  scale_queries(&m, 0.25, 8);
  make_bundle(&m.desc);
  free_model(&m);
  rig_stop(&first);
  snprintf(bundle, sizeof bundle, "%s/bundle", dir);
  snprintf(cache, sizeof cache, "%s/nothing-cached", dir);
  o.bundle = bundle, o.cache_dir = cache, o.gen_root = "/nonexistent";
  plan.flags = MLAF_PLAN_NO_COMPILE;
  rig_start(&r, &o);
  make_model(&r, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = 1;
  scale_queries(&m, 0.25, 8);
  m.desc.plan = &plan;
  layer = make_layer(&r, &m);
  begin(&r, &m, layer, &(step){.batch = 1, .q = 1, .past = {60}}, &c);
  execute(&r, &m, layer, &c);
  double *past = past_of(&m, &c, 0);
  reference(&m, &c, 0, 0, past, y);
  assert_true(ref_error(c.y[0], y, (size_t)m.d.hidden) < bound_of(&m));
  free(past);
  for (size_t i = 0; i < mlaf_layer_stages(layer); i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    must(&r, mlaf_layer_stage_at(layer, i, &c.a, &s), "mlaf_layer_stage_at");
    assert_int_equal(mlaf_plan_query(s.plan, &info), MLAF_OK);
    assert_string_equal(info.code, "bundle");
  }
  mlaf_layer_destroy(layer);
  /* A layer that the bundle was not made for is refused, and its problem named. */
  m.desc.page_size = 32;
  assert_int_equal(mlaf_layer_create(r.ctx, &m.desc, m.list, m.n, &layer), MLAF_E_NOT_COMPILED);
  assert_non_null(strstr(said(r.ctx), "page32"));
  end(&c);
  free_model(&m);
  rig_stop(&r);
}

/* The same of matrices of 8 bits, with a prefill: its one new token is a step's. */
TEST(a_prefill_from_a_bundle) {
  static rig first, r;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_opts plan = MLAF_PLAN_OPTS_INIT;
  const int32_t fresh = 1, before = 60;
  int32_t schedule[256];
  model m;
  call c;
  double y[COLS];
  char bundle[128], cache[128];
  rig_start(&first, &o);
  make_model(&first, &m, 128, MLAF_LAYER_PAIRS, 0);
  narrow_all(&first, &m);
  m.desc.batch_max = 1, m.desc.prefill_tokens = 2, m.desc.prefill_chunk = 32;
  make_bundle(&m.desc);
  free_model(&m);
  rig_stop(&first);
  snprintf(bundle, sizeof bundle, "%s/bundle", dir);
  snprintf(cache, sizeof cache, "%s/nothing-cached", dir);
  o.bundle = bundle, o.cache_dir = cache, o.gen_root = "/nonexistent";
  plan.flags = MLAF_PLAN_NO_COMPILE;
  rig_start(&r, &o);
  make_model(&r, &m, 128, MLAF_LAYER_PAIRS, 0);
  narrow_all(&r, &m);
  m.desc.batch_max = 1, m.desc.prefill_tokens = 2, m.desc.prefill_chunk = 32;
  m.desc.plan = &plan;
  mlaf_layer *layer = make_layer(&r, &m);
  begin(&r, &m, layer, &(step){.batch = 1, .q = 1, .past = {60}}, &c);
  const size_t words = mlaf_layer_prefill_words(layer, 1, &fresh, &before);
  assert_in_range(words, 1, sizeof schedule / sizeof *schedule);
  must(&r, mlaf_layer_prefill_schedule(layer, 1, &fresh, &before, schedule, words), "mlaf_layer_prefill_schedule");
  c.a.schedule = schedule, c.a.schedule_device = put(&r, schedule, words * sizeof *schedule);
  c.a.seq_lens = NULL;
  c.a.workspace_size = mlaf_layer_workspace_size(layer, &c.a);
  c.a.workspace = put(&r, NULL, c.a.workspace_size);
  bool seen = false;
  for (size_t i = 0; i < 7; i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    must(&r, mlaf_layer_stage_at(layer, i, &c.a, &s), "mlaf_layer_stage_at");
    assert_int_equal(mlaf_plan_query(s.plan, &info), MLAF_OK);
    assert_string_equal(info.code, "bundle");
    seen |= !strcmp(s.operation, "mla_dequant");
  }
  assert_true(seen);
  must(&r, mlaf_layer_execute(layer, &c.a, NULL), "mlaf_layer_execute");
  get(&r, c.y[0], c.a.out, sizeof(uint16_t) * (size_t)m.d.hidden);
  double *past = past_of(&m, &c, 0);
  reference(&m, &c, 0, 0, past, y);
  assert_true(ref_error(c.y[0], y, (size_t)m.d.hidden) < bound_of(&m));
  free(past);
  end_all(&c, layer, &m);
  rig_stop(&r);
}

static int setup(void **state) {
  need_compiler("gfx942");
  built_cache();
  snprintf(dir, sizeof dir, "/tmp/mlaf-layer-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}
static int teardown(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

TESTS(setup, teardown)
