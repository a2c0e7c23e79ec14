/* Stored choices of layers with an indexer: their own, and those of dense layers that they may take. */
#include "cmocka_all.h"
#include "db/db.h"
#include "layer/inside.h"
#include "plan/ctx.h"

static char dir[64];
static mlaf_ctx *ctx;

static int begin(void **state) {
  char why[4096] = "", path[96];
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  snprintf(dir, sizeof dir, "/tmp/mlaf-layer-stored-XXXXXX");
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/tuning.db", dir);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1);
  setenv("MLAF_SITE_DB", "", 1);
  o.device = "emu:gfx942", o.db_path = path;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  return 0;
}

static int end(void **state) {
  char command[128];
  mlaf_ctx_destroy(ctx);
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

/* A choice of the database, as if it had been tuned. */
static void put(const char *sizes, const char *variant) {
  char text[MLAF_POINT_TEXT_MAX];
  mlaf_point p;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_sample s = {.knob = 1, .outcome = MLAF_OUT_OK, .source = MLAF_SRC_MODELLED, .timing = {.ns = 100}};
  snprintf(text, sizeof text, "mla_layer:d2560,h1,l768,r256,p64,n64,v64,bf16,%s,s4096", sizes);
  assert_int_equal(mlaf_point_stored(text, &p, NULL, 0), MLAF_OK);
  snprintf(s.variant, sizeof s.variant, "%s", variant);
  snprintf(s.kernels[0].template_name, sizeof s.kernels[0].template_name, "some/kernel");
  memset(s.kernels[0].template_hash, 'a', sizeof s.kernels[0].template_hash - 1);
  s.kernels[0].threads = 256, s.kernels[0].rows_per_wg = 16;
  snprintf(s.kernels[0].symbol, sizeof s.kernels[0].symbol, "kernel");
  pthread_mutex_lock(&ctx->lock);
  const mlaf_status st = mlaf_db_add_sample(ctx->db, mlaf_info(mlaf_ctx_device(ctx)), "a compiler", &p, &s, &err);
  pthread_mutex_unlock(&ctx->lock);
  if (st) fail_msg("%s", err.text);
}

static mlaf_layer_desc described(bool indexed) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  d.hidden = 2560, d.heads = 1, d.q_rank = 768, d.rank = 256, d.nope = 64, d.v = 64, d.page_size = 16, d.batch_max = 8;
  d.ctx_max = 4096;
  if (indexed) d.index_heads = 64, d.index_topk = 2048, d.flags = MLAF_LAYER_INDEX_16;
  return d;
}

/* Choices stored for calls of 2, 4 and 8 tokens. */
static void expect(bool indexed, layer_choice two, layer_choice four, layer_choice eight) {
  const mlaf_layer_desc d = described(indexed);
  layer_shape s;
  mlaf_err err;
  assert_int_equal(layer_shape_take(&d, indexed ? JOIN_A_INDEX : JOIN_A, &s, &err), MLAF_OK);
  layer_choices_read(ctx, &s);
  assert_int_equal(s.choices.stored[1], two);
  assert_int_equal(s.choices.stored[2], four);
  assert_int_equal(s.choices.stored[3], eight);
}

enum { APPEND = 1 << ALT_Q_B_APPEND, NOTHING = 0 };

TEST(problem_names_the_indexer) {
  const mlaf_layer_desc dense = described(false), indexed = described(true);
  mlaf_point p;
  mlaf_err err;
  assert_int_equal(layer_choice_point_of(&dense, 3, &p, &err), MLAF_OK);
  assert_string_equal(mlaf_point_text(&p).s, "mla_layer:d2560,h1,l768,r256,p64,n64,v64,bf16,t4,s4096");
  assert_int_equal(layer_choice_point_of(&indexed, 3, &p, &err), MLAF_OK);
  assert_string_equal(mlaf_point_text(&p).s, "mla_layer:d2560,h1,l768,r256,p64,n64,v64,bf16,indexer,t4,s4096");
}

TEST(its_own_first_then_the_dense_layers) {
  expect(true, NOTHING, NOTHING, NOTHING);
  put("t4", "separate");
  put("t8", "separate");
  put("indexer,t8", "q_b+append");
  expect(true, NOTHING, LAYER_CHOSEN, LAYER_CHOSEN | APPEND);
  expect(false, NOTHING, LAYER_CHOSEN, LAYER_CHOSEN); /* an indexer's are not for it */
}

TESTS_EACH(begin, end)
