/* Products by vendors' GEMM libraries: cuBLASLt's and hipBLASLt's calls against fakes of ours that do them on the CPU (on the fake
 * CUDA driver, and on the fake HIP runtime over the emulator), the tuner, the planner and bundles. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/make.h"
#include "check/verify.h"
#include "compile/vendor.h"
#include "fake/fake_test.h"
#include "fake/fakelt.h"
#include "op/projection.h"
#include "plan/ctx.h"
#include "plan/place.h"
#include "run/build.h"
#include "tune/tune.h"

typedef struct rig {
  place at;
  mlaf_device *dev;
  mlaf_gen *gen;
  mlaf_compiler *compiler;
} rig;

static void set_library(bool hip) {
  char path[512];
  static const char *const settings[] = {"FAKELT_WAYS", "FAKELT_VERSION", "FAKELT_NARROW", "FAKELT_FAIL"};
  for (int i = 0; i < 4; i++) unsetenv(settings[i]);
  snprintf(path, sizeof path, "%s/fakelt/lib%s.so", getenv("MLAF_BUILD_DIR"), hip ? "fakehipblaslt" : "fakecublaslt");
  setenv(hip ? "MLAF_HIPBLASLT_LIBRARY" : "MLAF_CUBLASLT_LIBRARY", path, 1);
  if (hip) fake_use("MLAF_HIP_LIBRARY", "fakehip/libamdhip64_fakehip6.so", "FAKEHIP");
  else fake_use("MLAF_CUDA_LIBRARY", "fakecuda/libfakecuda.so", "FAKECUDA");
}

static rig *begin(bool hip) {
  rig *r = calloc(1, sizeof *r);
  mlaf_err err = {MLAF_OK, ""};
  place_make(&r->at);
  set_library(hip);
  r->dev = open_device(hip ? "hip" : "cuda");
  if (mlaf_gen_open(NULL, &r->gen, &err)) fail_msg("%s", err.text);
  if (mlaf_compiler_open(&(mlaf_compiler_opts){.cache_dir = r->at.cache, .jobs = 1}, NULL, &r->compiler, &err))
    fail_msg("%s", err.text);
  return r;
}

static void end(rig *r) {
  mlaf_compiler_close(r->compiler);
  mlaf_gen_close(r->gen);
  mlaf_device_close(r->dev);
  place_remove(&r->at);
  free(r);
}

static fakelt_seen *seen(bool hip) {
  void *lib = dlopen(getenv(hip ? "MLAF_HIPBLASLT_LIBRARY" : "MLAF_CUBLASLT_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  fakelt_seen *(*get)(void);
  assert_non_null(lib);
  void *found = dlsym(lib, "fakelt");
  memcpy(&get, &found, sizeof get);
  dlclose(lib);
  return get();
}

static mlaf_point point(const char *text) {
  mlaf_point p;
  char why[200] = "";
  if (mlaf_point_parse(NULL, text, &p, why, sizeof why)) fail_msg("%s", why);
  return p;
}

/* Built and loaded, as a plan would. */
static mlaf_status load(rig *r, const char *problem, const char *variant, mlaf_build *b, mlaf_loaded **l, mlaf_err *err) {
  const mlaf_point p = point(problem);
  mlaf_variant v = {.name = NULL};
  int compiles = 0;
  mlaf_status st = mlaf_gen_variant(r->gen, problem, mlaf_info(r->dev)->target, variant, &v, err);
  if (!st) st = mlaf_build_init(&v, b, err);
  if (!st) st = mlaf_build_now(b, r->gen, r->compiler, mlaf_info(r->dev)->target, false, &compiles, err);
  if (!st) st = mlaf_build_load(b, r->dev, &p, l, err);
  assert_int_equal(compiles, 0);
  mlaf_variant_clear(&v);
  return st;
}

static mlaf_loaded *must_load(rig *r, const char *problem, const char *variant) {
  mlaf_build b = {.n = 0};
  mlaf_loaded *l = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (load(r, problem, variant, &b, &l, &err)) fail_msg("%s: %s", problem, err.text);
  mlaf_build_clear(&b);
  return l;
}

static void verify(rig *r, const mlaf_loaded *l) {
  mlaf_suite *suite = NULL;
  mlaf_verify_result result;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_suite_create(mlaf_loaded_problem(l), 1, MLAF_INJECT_NONE, &suite, &err)) fail_msg("%s", err.text);
  if (mlaf_suite_run(suite, l, &result, &err)) fail_msg("%s", err.text);
  assert_true(result.rows > 0);
  mlaf_suite_free(suite);
}

/* What each operation asks of the library: cases have padded rows and heads, a residual that is y, other numbers of tokens. */
static const struct {
  const char *problem;
  int64_t m, n, k, batch;
  bool transposed;
  float beta;
} products[] = {
    {"mla_qkv_a:d64,l32,r32,p32,f16,t3", 96, 3, 64, 1, true, 0},
    {"mla_q_b:l64,h3,n32,p32,bf16,t4", 192, 4, 64, 1, true, 0},
    {"mla_q_absorb:h3,n32,p0,r64,bf16,t5", 64, 5, 32, 3, false, 0},
    {"mla_v_out:h3,r64,v32,bf16,t1", 32, 1, 64, 3, true, 0},
    {"mla_o_proj:d64,h2,v32,residual,bf16,t8", 64, 8, 64, 1, true, 1},
};

static void each_product(bool hip) {
  rig *r = begin(hip);
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    mlaf_loaded *l = must_load(r, products[i].problem, "lib:way=3/s1");
    const fakelt_product *last = &seen(hip)->last; /* of loading: the problem itself, dense */
    assert_int_equal(last->m, products[i].m);
    assert_int_equal(last->n, products[i].n);
    assert_int_equal(last->k, products[i].k);
    assert_int_equal(last->batch, products[i].batch);
    assert_int_equal(last->transposed, products[i].transposed);
    assert_true(last->beta == products[i].beta);
    /* The third of five wants too much workspace: the fourth that is left is the library's fifth. */
    assert_int_equal(last->way, 4);
    assert_int_equal(last->asked_for, products[i].n);
    assert_int_equal(last->workspace, 5000);
    verify(r, l);
    assert_int_equal(mlaf_loaded_workspace_size(l, 1, 3), 5000);
    assert_int_equal(mlaf_loaded_workspace_size(l, 1, 0), 0);
    mlaf_loaded_close(l);
  }
  assert_int_equal(seen(hip)->workspace_allowed, 32 << 20);
  if (!hip) assert_int_equal(seen(hip)->alignment, 16);
  assert_int_equal(seen(hip)->live, 1); /* the handle */
  fakelt_seen *after = seen(hip);
  end(r);
  assert_int_equal(after->live, 0);
}
static void cublaslt_products(void **state) { each_product(false); }
static void hipblaslt_products(void **state) { each_product(true); }

/* --- launches --- */

static mlaf_status launch(rig *r, const mlaf_loaded *l, int64_t tokens, void *workspace, size_t size, mlaf_err *err) {
  static _Alignas(256) uint16_t x[64 * 3 * 64], w[3 * 64 * 64], y[64 * 3 * 64];
  mlaf_projection_args a = MLAF_PROJECTION_ARGS_INIT;
  a.tokens = tokens, a.x = x, a.w = w, a.y = y, a.workspace = workspace, a.workspace_size = size;
  return mlaf_loaded_launch(l, 1, &a, NULL, err);
}

static void more_and_fewer_tokens(void **state) {
  static _Alignas(256) char workspace[8192];
  rig *r = begin(false);
  mlaf_err err = {MLAF_OK, ""};
  setenv("FAKELT_NARROW", "5", 1); /* its ways are for 5 tokens and more, but the first */
  mlaf_loaded *l = must_load(r, "mla_v_out:h3,r64,v32,bf16,t8", "lib:way=1/s1");
  fakelt_seen *s = seen(false);
  const int before = s->products;
  assert_int_equal(launch(r, l, 21, workspace, sizeof workspace, &err), MLAF_OK);
  assert_int_equal(s->products - before, 3); /* 8, 8 and 5 */
  assert_int_equal(s->last.n, 5);
  assert_int_equal(s->last.way, 1);
  assert_int_equal(launch(r, l, 4, workspace, sizeof workspace, &err), MLAF_OK);
  assert_int_equal(s->last.way, 0);
  assert_int_equal(s->last.asked_for, 4);
  const int calls = s->attributes;
  assert_int_equal(launch(r, l, 4, workspace, sizeof workspace, &err), MLAF_OK);
  assert_int_equal(s->attributes, calls); /* nothing new to say */
  assert_int_equal(launch(r, l, 0, NULL, 0, &err), MLAF_OK);
  assert_int_equal(launch(r, l, 4, NULL, 0, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "mlaf_run_workspace"));
  assert_int_equal(launch(r, l, 4, workspace + 16, sizeof workspace - 16, &err), MLAF_E_ARG);
  assert_int_equal(launch(r, l, 4, workspace, 100, &err), MLAF_E_ARG);
  setenv("FAKELT_FAIL", "Matmul", 1);
  assert_int_equal(launch(r, l, 4, workspace, sizeof workspace, &err), MLAF_E_DEVICE);
  assert_non_null(strstr(err.text, "cublasLtMatmul: status 7"));
  unsetenv("FAKELT_FAIL");
  mlaf_loaded_close(l);
  end(r);
}

/* --- what is wrong with a library --- */

static void expect_refused(rig *r, mlaf_status want, const char *says) {
  mlaf_build b = {.n = 0};
  mlaf_loaded *l = NULL;
  mlaf_err err = {MLAF_OK, ""};
  const mlaf_status st = load(r, "mla_v_out:h3,r64,v32,bf16,t8", "lib:way=0/s1", &b, &l, &err);
  if (st != want || !strstr(err.text, says)) fail_msg("status %d (want %d), '%s' does not say '%s'", st, want, err.text, says);
  mlaf_build_clear(&b);
}

static void refused_libraries(void **state) {
  rig *r = begin(false);
  setenv("FAKELT_VERSION", "140000", 1); /* whose numbers nobody here knows */
  expect_refused(r, MLAF_E_NO_DEVICE, "version 140000 of cuBLASLt; known are 120000 to 139999");
  setenv("FAKELT_VERSION", "110000", 1);
  expect_refused(r, MLAF_E_NO_DEVICE, "version 110000");
  unsetenv("FAKELT_VERSION");
  setenv("FAKELT_FAIL", "Create", 1);
  expect_refused(r, MLAF_E_NO_DEVICE, "cublasLtCreate: status 7");
  unsetenv("FAKELT_FAIL");
  static const char *const failing[] = {"MatmulDescCreate", "MatrixLayoutCreate", "MatrixLayoutSetAttribute", "MatmulPreferenceCreate",
                                        "MatmulPreferenceSetAttribute", "MatmulAlgoGetHeuristic", "Matmul"};
  for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
    setenv("FAKELT_FAIL", failing[i], 1);
    expect_refused(r, MLAF_E_DEVICE, failing[i]);
  }
  unsetenv("FAKELT_FAIL");
  setenv("FAKELT_WAYS", "0", 1);
  expect_refused(r, MLAF_E_TEMPLATE, "cuBLASLt proposes 0 ways");
  assert_int_equal(seen(false)->live, 1);
  unsetenv("FAKELT_WAYS");
  setenv("MLAF_CUBLASLT_LIBRARY", getenv("MLAF_CUDA_LIBRARY"), 1); /* a library, but none of products */
  expect_refused(r, MLAF_E_NO_DEVICE, ""); /* the handle that is open serves; a new device looks again */
  end(r);
}
