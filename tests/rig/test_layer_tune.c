/* Tuning which stages of a layer share a kernel: what is tried, checked and stored, and which layers take it. One small layer on
 * the emulator: one head of MiniCPM3. */
#include "cmocka_all.h"
#include "db/db.h"
#include "need.h"
#include "rig/tune.h"
#include "run/built.h"

enum { BATCH = 4, CTX = 64 };

static char dir[64], db_path[96], logged[8192];
static mlaf_err failure;
static rig_env env = {.seed = 1, .err = &failure};
static layer_weights weights;
static layer_request requests[BATCH];

static void keep_log(void *user, mlaf_log_level level, const char *line) {
  const size_t n = strlen(logged);
  snprintf(logged + n, sizeof logged - n, "%s\n", line);
}

static void open_context(void) {
  char why[4096] = "";
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  o.device = "emu:gfx942", o.db_path = db_path, o.log = keep_log, o.log_level = MLAF_LOG_INFO;
  logged[0] = 0;
  if (mlaf_ctx_create(&o, &env.ctx, why, sizeof why)) fail_msg("%s", why);
}

static int begin(void **state) {
  need_compiler("gfx942");
  built_cache();
  snprintf(dir, sizeof dir, "/tmp/mlaf-layer-tune-XXXXXX");
  assert_non_null(mkdtemp(dir));
  snprintf(db_path, sizeof db_path, "%s/tuning.db", dir);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1);
  setenv("MLAF_SITE_DB", "", 1);
  for (int i = 0; i < BATCH; i++) requests[i] = (layer_request){CTX - 1, 1};
  failure = (mlaf_err){.status = MLAF_OK};
  open_context();
  return 0;
}

static int end(void **state) {
  char command[128];
  mlaf_ctx_destroy(env.ctx);
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

static int free_weights(void **state) {
  layer_weights_free(&weights);
  return 0;
}

static layer_setup setup(void) {
  return (layer_setup){.model = mlaf_model_find("minicpm3-4b"), .tp = 40, .page_size = 16, .window = 1, .requests = requests,
                       .batch = BATCH, .weights = &weights, .checked = 2};
}

static layer_tuned tune(const layer_tune_opts *opts) {
  const layer_setup s = setup();
  layer_tuned t;
  if (layer_tune(&env, &s, opts, &t)) fail_msg("%s", failure.text);
  return t;
}

static const layer_trial *trial(const layer_tuned *t, const char *name) {
  for (size_t i = 0; i < t->n; i++)
    if (!strcmp(t->list[i].name, name)) return &t->list[i];
  fail_msg("no choice '%s'", name);
  return NULL;
}

/* The choice that a layer made now takes. */
static layer_choice taken(void) {
  const layer_setup s = setup();
  layer_rig r;
  if (layer_rig_open(&env, &s, 1, &r)) fail_msg("%s", failure.text);
  const layer_choice c = layer_choice_of_call(r.layer[0], &r.call[0].args);
  layer_rig_close(&r);
  return c;
}

/* A sample of the database, as if it had been tuned: of the layer with so many tokens and cached ones. */
static void put_sample(const char *type, int tokens, int ctx, const char *variant, mlaf_outcome outcome) {
  char text[MLAF_POINT_TEXT_MAX];
  mlaf_point p;
  mlaf_err err;
  mlaf_sample s = {.knob = 1, .outcome = outcome, .source = MLAF_SRC_MODELLED, .timing = {.ns = 100}};
  snprintf(text, sizeof text, "mla_layer:d2560,h1,l768,r256,p32,n64,v64,%s,t%d,s%d", type, tokens, ctx);
  assert_int_equal(mlaf_point_stored(text, &p, NULL, 0), MLAF_OK);
  snprintf(s.variant, sizeof s.variant, "%s", variant);
  snprintf(s.kernels[0].template_name, sizeof s.kernels[0].template_name, "some/kernel");
  memset(s.kernels[0].template_hash, 'a', sizeof s.kernels[0].template_hash - 1);
  memset(s.kernels[0].src_hash, 'b', sizeof s.kernels[0].src_hash - 1);
  memset(s.kernels[0].code_key, 'c', sizeof s.kernels[0].code_key - 1);
  s.kernels[0].threads = 256, s.kernels[0].rows_per_wg = 16;
  snprintf(s.kernels[0].symbol, sizeof s.kernels[0].symbol, "kernel");
  pthread_mutex_lock(&env.ctx->lock);
  const mlaf_status st = mlaf_db_add_sample(env.ctx->db, mlaf_info(mlaf_ctx_device(env.ctx)), "a compiler", &p, &s, &err);
  pthread_mutex_unlock(&env.ctx->lock);
  if (st) fail_msg("%s", err.text);
}

static void put_choice(int tokens, int ctx, const char *variant) {
  put_sample("bf16", tokens, ctx, variant, MLAF_OUT_OK);
}

/* --- tests --- */

TEST(tried_checked_and_stored) {
  const layer_tuned dry = tune(&(layer_tune_opts){.dry = true});
  assert_true(dry.n == 3 && !dry.known && !dry.stored[0]);
  const layer_tuned t = tune(&(layer_tune_opts){.dry = false});
  assert_string_equal(mlaf_point_text(&t.problem).s, "mla_layer:d2560,h1,l768,r256,p32,n64,v64,bf16,t4,s64");
  assert_true(t.n == 3 && !t.known);
  assert_true(trial(&t, "q_b+append")->now && !trial(&t, "separate")->now);
  assert_true(trial(&t, "separate")->error > 1e-4 && trial(&t, "separate")->timing.source == MLAF_TIME_MODELLED);
  assert_int_equal(trial(&t, "q_b+append+q_absorb")->outcome, MLAF_OUT_CONSTRAINT); /* Hopper alone has such kernels */
  assert_non_null(strstr(trial(&t, "q_b+append+q_absorb")->why, "there is no kernel of 'q_b+append+q_absorb' for it on gfx942"));
  assert_string_equal(layer_tuned_best(&t)->name, t.stored);
  const layer_tuned again = tune(&(layer_tune_opts){.dry = false});
  assert_true(again.known && again.n == 3);
  assert_string_equal(again.stored, t.stored);
  assert_true(trial(&again, "separate")->timing.ns == trial(&t, "separate")->timing.ns);
  assert_false(tune(&(layer_tune_opts){.no_resume = true}).known);
}

/* --- a choice whose outputs are wrong --- */

static void spoil(void *user, const char *what, const char *choice) {
  uint16_t *o = weights.tensors[LAYER_TENSORS - 1]; /* the reference reads it, and not the device */
  const bool wanted = !strcmp(what, "checking") && !strcmp(choice, user);
  static bool spoiled;
  if (o && wanted != spoiled) o[0] ^= 0x4000, spoiled = wanted; /* an exponent's highest bit */
}

TEST(wrong_ones_are_not_stored) {
  const layer_tuned t = tune(&(layer_tune_opts){.progress = spoil, .user = "q_b+append"});
  assert_int_equal(trial(&t, "q_b+append")->outcome, MLAF_OUT_INCORRECT);
  assert_non_null(strstr(trial(&t, "q_b+append")->why, "off the reference"));
  assert_string_equal(t.stored, "separate");
  assert_int_equal(taken(), 0); /* a layer that is made now */
}

TEST(stopped_stores_nothing) {
  const layer_setup s = setup();
  const atomic_bool stop = true;
  layer_tuned t;
  env.cancel = &stop;
  assert_int_equal(layer_tune(&env, &s, &(layer_tune_opts){.dry = false}, &t), MLAF_E_CANCELLED);
  env.cancel = NULL;
  failure = (mlaf_err){.status = MLAF_OK};
  const layer_tuned after = tune(&(layer_tune_opts){.dry = true});
  assert_false(after.known);
  assert_string_equal(after.stored, "");
}

/* A failure that says nothing of the choice is no reason not to try it again. */
TEST(failures_of_the_machine) {
  put_sample("bf16", BATCH, CTX, "q_b+append", MLAF_OUT_OK);
  put_sample("bf16", BATCH, CTX, "q_b+append+q_absorb", MLAF_OUT_CONSTRAINT);
  put_sample("bf16", BATCH, CTX, "separate", MLAF_OUT_LAUNCH);
  assert_false(tune(&(layer_tune_opts){.dry = true}).known);
  put_sample("bf16", BATCH, CTX, "separate", MLAF_OUT_INCORRECT);
  assert_true(tune(&(layer_tune_opts){.dry = true}).known);
}

/* --- layers that find choices --- */

enum { APPEND = 1 << ALT_Q_B_APPEND };

/* Each class of tokens has its own choice, of the nearest context; others take the default. */
TEST(classes_of_tokens) {
  assert_int_equal(taken(), APPEND);
  put_choice(8, CTX, "separate");
  assert_int_equal(taken(), APPEND);
  put_choice(4, 100 * CTX, "separate");
  assert_int_equal(taken(), 0);
  put_choice(4, 2 * CTX, "q_b+append");
  assert_int_equal(taken(), APPEND);
  put_choice(4, CTX, "separate");
  assert_int_equal(taken(), 0);
}

TEST(skipped_with_a_reason) {
  put_choice(4, CTX, "q_b+append,warp");
  assert_int_equal(taken(), APPEND);
  assert_non_null(strstr(logged, "the choice 'q_b+append,warp' of mla_layer:d2560,h1,l768,r256,p32,n64,v64,bf16,t4,s64 is "
                         "skipped: 'warp' is no alternative of this version"));
  put_choice(4, 2 * CTX, "separate"); /* farther, and sound */
  assert_int_equal(taken(), 0);
}

/* Choices that ship as a tuning text: here they count as imported, and a database has none of its own. */
TEST(shipped_choices) {
  char path[128];
  mlaf_err err;
  mlaf_text text = MLAF_TEXT_INIT(1 << 20);
  put_choice(4, CTX, "separate");
  put_sample("bf16,e4m3fn", 4, CTX, "dequant", MLAF_OUT_OK); /* its text begins as the other's */
  pthread_mutex_lock(&env.ctx->lock);
  assert_int_equal(mlaf_db_export(env.ctx->db, NULL, &text, &err), MLAF_OK);
  pthread_mutex_unlock(&env.ctx->lock);
  snprintf(path, sizeof path, "%s/shipped-layers.tsv", dir);
  assert_int_equal(mlaf_file_write(path, text.data, text.len, &err), MLAF_OK);
  mlaf_text_free(&text);
  mlaf_ctx_destroy(env.ctx);
  setenv("MLAF_TUNING_DIR", dir, 1);
  assert_int_equal(unlink(db_path), 0);
  open_context();
  assert_int_equal(taken(), 0);
  assert_null(strstr(logged, "choice")); /* all else is for information: a kernel that this device has not */
}

/* A choice whose kernels the device lacks is planned as far as there are kernels. */
TEST(no_such_kernels) {
  put_choice(4, CTX, "q_b+append+q_absorb");
  assert_int_equal(taken(), APPEND);
}

/* Kernels that may not be compiled: defaults that are in the cache serve. */
TEST(what_cannot_be_planned) {
  char cache[96];
  snprintf(cache, sizeof cache, "%s/cache", dir);
  mlaf_ctx_destroy(env.ctx);
  setenv("MLAF_CACHE_DIR", cache, 1);
  open_context();
  assert_int_equal(taken(), APPEND); /* compiles what the default wants */
  mlaf_ctx_destroy(env.ctx);
  open_context();
  put_choice(4, CTX, "separate");
  env.plan_flags = MLAF_PLAN_NO_COMPILE;
  assert_int_equal(taken(), APPEND);
  assert_non_null(strstr(logged, "stored choices of a layer are skipped: "));
  env.plan_flags = 0;
  assert_int_equal(taken(), 0);
}

int main(void) {
  for (size_t i = 0; i < n_tests_here; i++) tests_here[i].setup_func = begin, tests_here[i].teardown_func = end;
  return tests_run(NULL, free_weights);
}
