/* Hopper's projections, as NVRTC compiles them: what the space offers has no spills and takes what its budget says, launches have
 * a cluster's blocks and the maps that kernels ask for, and what no kernel may ask for is refused. No GPU is needed. */
#include "cmocka_all.h"
#include "compile/compile.h"
#include "gen/gen.h"
#include "need.h"
#include "op/projection_calls.h"
#include "parsed.h"
#include "run/resources.h"

static const char *const TARGET = "sm_90a";

typedef struct one {
  mlaf_point point;
  mlaf_variant variant; /* its kernel's texts are the space's */
  mlaf_compile_job job;
} one;

/* Looks at the i-th of n candidates of a family: the model's first, and the last. */
static bool wanted(const mlaf_variant *list, size_t n, size_t i, const char *family) {
  const size_t len = strlen(family);
  bool first = true, last = true;
  if (strncmp(list[i].name, family, len)) return false;
  for (size_t k = 0; k < i; k++) first = first && strncmp(list[k].name, family, len);
  for (size_t k = i + 1; k < n && !list[k].rejected; k++) last = last && strncmp(list[k].name, family, len);
  return first || last;
}

/* A device that keeps the last tensor of which a map was asked for: x, whose map is the last one. */
static mlaf_tensor encoded;
static mlaf_status keep_tensor(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  (void)dev, (void)map, (void)err;
  encoded = *t;
  return MLAF_OK;
}
static const mlaf_device_ops keeping = {.name = "keeping", .tensor_map_encode = keep_tensor};

/* Boxes of x have no more rows than there are tokens where the kernel says so; its other copies count whole boxes. */
static void maps_x(mlaf_bound b, bool x_rows) {
  _Alignas(16) static char memory[16];
  mlaf_device_base device = {.ops = &keeping};
  const uint32_t rows = b.stage[0].launch.maps[1].rows;
  mlaf_projection_args a = MLAF_PROJECTION_ARGS_INIT;
  a.x = a.w = a.y = memory, a.w_scale = (const float *)(const void *)memory;
  b.dev = (mlaf_device *)(void *)&device;
  for (int64_t tokens = 1; tokens <= 2 * (int64_t)rows; tokens += rows > 1 ? rows / 2 + 1 : 1) {
    mlaf_prepared launch;
    mlaf_err err = {MLAF_OK, ""};
    a.tokens = tokens;
    if (mlaf_projection_prepare(&b, 1, &a, &launch, &err)) fail_msg("%s", err.text);
    assert_int_equal(encoded.rows, tokens);
    assert_int_equal(encoded.box_rows, x_rows && tokens < rows ? tokens : rows);
  }
}

/* A launch of it: the grid has whole clusters, with a block for each tile and share. */
static void launches(const one *x, const mlaf_kernel_meta *m) {
  const mlaf_product p = mlaf_product_of(&x->point);
  const mlaf_kernel_desc *k = &x->variant.kernels[0];
  mlaf_bound b = {.point = x->point, .knob = 1};
  mlaf_err err = {MLAF_OK, ""};
  b.stage[0] = (mlaf_stage){.fn = (mlaf_function *)&b, .threads = k->threads, .rows_per_wg = k->rows_per_wg, .launch = m->launch};
  assert_int_equal(mlaf_projection_check_stages(&b, &err), MLAF_OK);
  const uint32_t team = m->launch.cluster[0] ? m->launch.cluster[0] : 1;
  assert_true(m->launch.cluster[1] <= 1 && m->launch.cluster[2] <= 1 && team <= 8);
  const bool by_registers = strstr(k->params, "land=registers") || strstr(x->variant.name, "stream_fp8");
  const bool wide = strstr(k->template_name, "/wide_fp8") || strstr(k->template_name, "/parts_fp8");
  const bool x_rows = m->launch.n_maps && !wide; /* boxes of wide ones have 32 rows */
  assert_int_equal(m->launch.flags, MLAF_KERNEL_OVERLAPS | (p.weights ? MLAF_KERNEL_SCALES : 0) |
                                        (by_registers ? MLAF_KERNEL_WANTS_L1 : 0) | (x_rows ? MLAF_KERNEL_X_ROWS : 0));
  assert_int_equal(m->kernarg_bytes, mlaf_projection_parameter_bytes(0, &m->launch));
  const char *split = strstr(k->params, "split="); /* of families that share sums */
  assert_int_equal(team, split ? atoi(split + 6) : 1);
  if (!m->launch.n_maps) { /* those with maps need a device that encodes them */
    _Alignas(16) static char memory[16];
    mlaf_prepared launch;
    mlaf_projection_args a = MLAF_PROJECTION_ARGS_INIT;
    a.tokens = 3, a.x = a.w = memory, a.y = memory;
    a.w_scale = p.weights ? (const float *)(const void *)memory : NULL;
    assert_int_equal(mlaf_projection_prepare(&b, 1, &a, &launch, &err), MLAF_OK);
    const int tile = (int)k->rows_per_wg, tiles = p.heads * ((p.outer + tile - 1) / tile);
    assert_int_equal(launch.launches[0].grid[0], tiles * (int)team);
    assert_int_equal(launch.launches[0].cluster[0], team);
  } else {
    assert_int_equal(m->launch.n_maps, MLAF_PROJECTION_MAPS);
    assert_int_equal(m->launch.maps[0].of, MLAF_PROJECTION_MAP_W);
    assert_int_equal(m->launch.maps[1].of, MLAF_PROJECTION_MAP_X);
    maps_x(b, x_rows);
    b.stage[0].launch.n_maps = MLAF_PROJECTION_MAPS + 1;
    assert_int_equal(mlaf_projection_check_stages(&b, &err), MLAF_E_TEMPLATE);
    assert_non_null(strstr(err.text, "3 tensor maps"));
  }
}

static void check(const one *x) {
  const mlaf_kernel_desc *k = &x->variant.kernels[0];
  mlaf_kernel_meta m = {0};
  mlaf_err err = {MLAF_OK, ""};
  if (x->job.status) fail_msg("%s: %s", x->variant.name, x->job.log);
  if (mlaf_resources_read(NULL, k->symbol, x->job.code, x->job.code_size, &m, &err)) fail_msg("%s", err.text);
  mlaf_asking asking = {.symbol = k->symbol, .threads = k->threads, .calls = x->point.op->calls, .budget = mlaf_budget_of(k)};
  if (mlaf_resources_check(&asking, &m, &err)) fail_msg("%s: %s", x->variant.name, err.text);
  launches(x, &m);
  /* Kernels that must not run. */
  mlaf_kernel_meta bad = m;
  bad.vgpr_spills = 1;
  assert_int_equal(mlaf_resources_check(&asking, &bad, &err), MLAF_E_TEMPLATE);
  bad = m, bad.lds_bytes++;
  assert_int_equal(mlaf_resources_check(&asking, &bad, &err), MLAF_E_TEMPLATE);
  bad = m, bad.vgpr_count = asking.budget.vgpr + 1;
  assert_int_equal(mlaf_resources_check(&asking, &bad, &err), MLAF_E_TEMPLATE);
  bad = m, bad.launch.n_maps = 1, bad.launch.maps[0].of = MLAF_PROJECTION_MAPS + 1;
  assert_int_equal(mlaf_resources_check(&asking, &bad, &err), MLAF_E_TEMPLATE);
}

TEST(hopper_kernels_are_as_stated) {
  static const struct {
    const char *problem, *family;
  } all[] = {
      {"mla_qkv_a:d7168,l1536,r512,p64,bf16,t1", "stream"},        {"mla_q_b:l1536,h16,n128,p64,norm,f16,t32", "stream"},
      {"mla_q_absorb:h16,n128,p64,r512,bf16,pairs,t8", "stream"},  {"mla_v_out:h16,r512,v128,bf16,t16", "stream"},
      {"mla_q_b:l1536,h16,n128,p64,norm,bf16,t128", "ring"},       {"mla_q_absorb:h128,n128,p64,r512,f16,halves,t64", "ring"},
      {"mla_o_proj:d7168,h16,v128,residual,bf16,t64", "ring"},     {"mla_v_out:h16,r512,v128,bf16,t128", "ring"},
      {"mla_q_absorb:h128,n128,p64,r512,bf16,pairs,t64", "walk"},
      {"mla_o_proj:d7168,h16,v128,bf16,e4m3fn,t16", "stream_fp8"},
      {"mla_q_b:l1536,h16,n128,p64,norm,bf16,e4m3fn,t64", "ring_fp8"},
      {"mla_q_absorb:h16,n128,p64,r512,bf16,e4m3fnuz,pairs,t8", "stream_fp8"},
      {"mla_q_absorb:h16,n128,p64,r512,bf16,e4m3fn,pairs,t64", "stationary_fp8"},
      {"mla_q_absorb:h128,n128,p64,r512,bf16,e4m3fn,pairs,t256", "direct_fp8"},
  };
  need_compiler(TARGET);
  mlaf_err err = {MLAF_OK, ""};
  mlaf_gen *gen = NULL;
  mlaf_compiler *compiler = NULL;
  const char *build = getenv("MLAF_BUILD_DIR");
  char *cache = mlaf_format("%s/test-cache", build ? build : "/tmp");
  mlaf_compiler_opts opts = {.cache_dir = cache};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &compiler, &err), MLAF_OK);
  assert_int_equal(mlaf_gen_open(NULL, &gen, &err), MLAF_OK);
  const char *const *options = NULL;
  assert_int_equal(mlaf_gen_options(gen, TARGET, &options, &err), MLAF_OK);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    mlaf_variant *list = NULL;
    size_t n = 0, found = 0;
    if (mlaf_gen_space(gen, all[i].problem, TARGET, &list, &n, &err)) fail_msg("%s: %s", all[i].problem, err.text);
    for (size_t k = 0; k < n && !list[k].rejected; k++) {
      if (!wanted(list, n, k, all[i].family)) continue;
      char hash[MLAF_HASH_HEX], *source = NULL;
      if (mlaf_gen_render(gen, &list[k].kernels[0], TARGET, &source, hash, &err)) fail_msg("%s", err.text);
      one x = {.point = point(all[i].problem), .variant = list[k]};
      x.job = (mlaf_compile_job){.source = source, .options = options, .target = TARGET, .name = list[k].kernels[0].symbol};
      if (mlaf_compile(compiler, &x.job, 1, NULL, NULL, &err)) fail_msg("%s", err.text);
      check(&x);
      found++;
      free(source);
      mlaf_compile_job_clear(&x.job);
    }
    if (!found) fail_msg("%s has no %s", all[i].problem, all[i].family);
    mlaf_variants_free(list, n);
  }
  mlaf_gen_close(gen);
  mlaf_compiler_close(compiler);
  free(cache);
}

static mlaf_kernel_meta compiled(mlaf_gen *gen, mlaf_compiler *compiler, const mlaf_kernel_desc *k) {
  char hash[MLAF_HASH_HEX], *source = NULL;
  const char *const *options = NULL;
  mlaf_kernel_meta m = {0};
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_gen_options(gen, TARGET, &options, &err), MLAF_OK);
  if (mlaf_gen_render(gen, k, TARGET, &source, hash, &err)) fail_msg("%s", err.text);
  mlaf_compile_job job = {.source = source, .options = options, .target = TARGET, .name = k->symbol};
  if (mlaf_compile(compiler, &job, 1, NULL, NULL, &err) || job.status) fail_msg("%s %s", err.text, job.log);
  if (mlaf_resources_read(NULL, k->symbol, job.code, job.code_size, &m, &err)) fail_msg("%s", err.text);
  free(source);
  mlaf_compile_job_clear(&job);
  return m;
}

/* A product whose input another kernel squares comes with that one and with workspace, and only where that is known to be
 * better. */
TEST(factors_of_a_norm) {
  static const char *const others[] = {
      "mla_q_b:l1536,h128,n128,p64,norm,bf16,e4m3fn,t128", "mla_q_b:l1536,h16,n128,p64,norm,bf16,e4m3fn,t512",
      "mla_q_b:l1536,h128,n128,p64,bf16,e4m3fn,t256", "mla_q_b:l1536,h128,n128,p64,norm,f16,e4m3fn,t256"};
  const char *const problem = "mla_q_b:l1536,h128,n128,p64,norm,bf16,e4m3fn,t256";
  mlaf_err err = {MLAF_OK, ""};
  mlaf_gen *gen = NULL;
  mlaf_compiler *compiler = NULL;
  mlaf_variant *list = NULL;
  size_t n = 0;
  need_compiler(TARGET);
  const char *build = getenv("MLAF_BUILD_DIR");
  char *cache = mlaf_format("%s/test-cache", build ? build : "/tmp");
  assert_int_equal(mlaf_compiler_open(&(mlaf_compiler_opts){.cache_dir = cache}, NULL, &compiler, &err), MLAF_OK);
  assert_int_equal(mlaf_gen_open(NULL, &gen, &err), MLAF_OK);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (mlaf_gen_known_library(gen, others[i], TARGET, &list, &n, &err)) fail_msg("%s: %s", others[i], err.text);
    assert_int_equal(n, 0);
    mlaf_variants_free(list, n);
  }
  if (mlaf_gen_known_library(gen, problem, TARGET, &list, &n, &err)) fail_msg("%s", err.text);
  assert_int_equal(n, 1);
  assert_true(list[0].kernels[1].template_name && !mlaf_is_library(list[0].name));
  mlaf_bound b = {.point = point(problem), .knob = 1};
  for (int i = 0; i < 2; i++) {
    const mlaf_kernel_desc *k = &list[0].kernels[i];
    const mlaf_kernel_meta m = compiled(gen, compiler, k);
    b.stage[i] = (mlaf_stage){.fn = (mlaf_function *)&b, .threads = k->threads, .rows_per_wg = k->rows_per_wg,
                              .launch = m.launch};
  }
  assert_int_equal(b.stage[0].launch.flags, MLAF_KERNEL_OVERLAPS | MLAF_KERNEL_SCALES | MLAF_KERNEL_NORMED);
  assert_int_equal(mlaf_projection_check_stages(&b, &err), MLAF_OK);
  assert_int_equal(mlaf_projection_workspace(&b, 1, 300), 300 * 4);
  mlaf_bound bad = b;
  bad.stage[1].fn = NULL;
  assert_int_equal(mlaf_projection_check_stages(&bad, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "no kernel for the norm"));
  bad = b, bad.point = point(others[2]);
  assert_int_equal(mlaf_projection_check_stages(&bad, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "the problem has none"));
  mlaf_variants_free(list, n);
  mlaf_gen_close(gen);
  mlaf_compiler_close(compiler);
  free(cache);
}

TESTS(NULL, NULL)
