/* A layer with a product of a vendor's library. Its workspace may be smaller for more tokens. hipBLASLt is a fake over the fake
 * HIP runtime. */
#include "db/db.h"
#include "fake/fake_test.h"
#include "gen/gen.h"
#include "layer/inside.h"
#include "layer/rig.h"
#include "parsed.h"
#include "plan/place.h"
#include "run/build.h"

enum { MOST = 18, KEPT = 17 }; /* plans of decode are for 16 and 18 requests, and none is for 17 */
#define BY_LIBRARY "mla_o_proj:d128,h4,v64,bf16,t32"

/* A choice of the fake library, whose last algorithm wants more than decode does. */
static void record_library(const place *at, const char *target, const mlaf_device_info *info) {
  const mlaf_point p = point(BY_LIBRARY);
  mlaf_gen *gen = NULL;
  mlaf_db *db = NULL;
  mlaf_compiler *compiler = NULL;
  mlaf_variant v = {.name = NULL};
  mlaf_build b = {.n = 0};
  mlaf_sample s = {.outcome = MLAF_OUT_OK, .source = MLAF_SRC_MEASURED, .error = 1e-3, .lengths = "equal"};
  mlaf_err err = {MLAF_OK, ""};
  int compiles = 0;
  mlaf_status st = mlaf_gen_open(NULL, &gen, &err);
  if (!st) st = mlaf_db_open(at->db, false, NULL, &db, &err);
  if (!st) st = mlaf_gen_variant(gen, BY_LIBRARY, target, "lib:way=3/s1", &v, &err);
  if (!st) st = mlaf_build_init(&v, &b, &err);
  if (!st) st = mlaf_compiler_open(NULL, NULL, &compiler, &err);
  if (!st) st = mlaf_build_now(&b, gen, compiler, target, true, &compiles, &err); /* its key says which version it is */
  if (st) fail_msg("%s", err.text);
  snprintf(s.variant, sizeof s.variant, "%s", b.name);
  s.knob = b.knob;
  memcpy(s.kernels, b.refs, sizeof s.kernels);
  s.timing = (mlaf_timing){.source = MLAF_TIME_MEASURED, .ns = 1000, .p10_ns = 1000, .p90_ns = 1000, .samples = 9};
  if (mlaf_db_add_sample(db, info, "compiler", &p, &s, &err)) fail_msg("%s", err.text);
  mlaf_build_clear(&b), mlaf_variant_clear(&v);
  mlaf_db_close(db), mlaf_compiler_close(compiler), mlaf_gen_close(gen);
}

static void open_rig(rig *r, const place *at) {
  char path[512], why[500] = "";
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  snprintf(path, sizeof path, "%s/fakelt/libfakehipblaslt.so", getenv("MLAF_BUILD_DIR"));
  setenv("MLAF_HIPBLASLT_LIBRARY", path, 1);
  setenv("FAKELT_ROOM", "2000000", 1);
  fake_use("MLAF_HIP_LIBRARY", "fakehip/libamdhip64_fakehip6.so", "FAKEHIP");
  mlaf_device *dev = open_device("hip");
  record_library(at, mlaf_info(dev)->target, mlaf_info(dev));
  mlaf_device_close(dev);
  *r = (rig){.seed = 7};
  o.device = "hip", o.db_path = at->db;
  if (mlaf_ctx_create(&o, &r->ctx, why, sizeof why)) fail_msg("no context: %s", why);
}

/* A copy that serves up to KEPT tokens, by a library: the workspace for any call has room for a call of so many. */
TEST(room_up_to_the_last_kept) {
  rig r;
  place at;
  model m;
  need_compiler("gfx942");
  built_cache();
  place_make(&at);
  open_rig(&r, &at);
  make_model(&r, &m, 128, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = MOST, m.desc.flags |= MLAF_LAYER_DEQUANT_NEVER;
  narrow_all(&r, &m);
  mlaf_layer *layer = NULL;
  must(&r, mlaf_layer_create(r.ctx, &m.desc, m.list, m.n, &layer), "mlaf_layer_create");
  const mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  layer_plans_clear(&layer->plans);
  layer->plans = (layer_plans){.prefill = NULL};
  layer->shape.choices.by_default[ALT_KEPT_O].from = 1, layer->shape.choices.by_default[ALT_KEPT_O].to = KEPT;
  layer_keep(r.ctx, &opts, layer);
  if (!(layer->shape.keeps >> ALT_KEPT_O & 1)) fail_msg("no copy: %s", said(r.ctx));
  layer->shape.d.plan = &opts;
  must(&r, layer_plans_make(r.ctx, &layer->shape, &layer->plans), "plans");
  layer->shape.d.plan = NULL;
  const size_t most = mlaf_layer_workspace_size(layer, NULL);
  size_t largest = 0;
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;
  a.q_len = 1, a.ctx = 64, a.block_table = (const int32_t *)sizeof(int32_t), a.block_table_width = WIDTH;
  for (a.batch = 1; a.batch <= MOST; a.batch++) {
    const size_t size = mlaf_layer_workspace_size(layer, &a);
    if (size > most) fail_msg("%d requests: %zu bytes, and %zu are enough for any call", (int)a.batch, size, most);
    if (size > largest) largest = size;
    if (a.batch == MOST) assert_true(size < largest); /* calls of KEPT requests take more: the library's */
  }
  mlaf_layer_destroy(layer);
  free_model(&m);
  rig_stop(&r);
  place_remove(&at);
}

TESTS(NULL, NULL)
