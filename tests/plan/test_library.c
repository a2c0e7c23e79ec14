/* Products by vendors' GEMM libraries: cuBLASLt's and hipBLASLt's calls against fakes of ours that do them on the CPU (on the
 * fake CUDA driver, and on the fake HIP runtime over the emulator), the tuner, the planner and bundles. */
#include <dlfcn.h>

#include "bundle/make.h"
#include "check/verify.h"
#include "compile/vendor.h"
#include "device/matmul.h"
#include "fake/fake_test.h"
#include "fake/fakelt.h"
#include "mlaforge/chunked_prefill.h"
#include "op/numeric.h"
#include "op/projection_calls.h"
#include "ops/mla_gather_kv_b/gather.h"
#include "parsed.h"
#include "plan/ctx.h"
#include "plan/place.h"
#include "run/build.h"
#include "tune/tune.h"
#include "said.h"

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

/* Built and loaded, as a plan would. */
static mlaf_status load(rig *r, const char *problem, const char *variant, mlaf_build *b, mlaf_loaded **l, mlaf_err *err) {
  const mlaf_point p = point(problem);
  mlaf_variant v = {.name = NULL};
  int compiles = 0;
  mlaf_status st = mlaf_gen_variant(r->gen, problem, mlaf_info(r->dev)->target, variant, &v, err);
  if (!st) st = mlaf_build_init(&v, b, err);
  const bool aside = strchr(variant, ',') != NULL;
  if (!st) st = mlaf_build_now(b, r->gen, r->compiler, mlaf_info(r->dev)->target, aside, &compiles, err);
  if (!st) st = mlaf_build_load(b, r->dev, &p, l, err);
  assert_int_equal(compiles, aside);
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

/* Questions of each operation to the library: cases have padded rows and heads, a residual that is y, other numbers of tokens. */
static const struct {
  const char *problem;
  int64_t m, n, k, batch;
  bool transposed;
  float beta;
  bool aside; /* a kernel of ours goes before it: on the emulator alone */
} products[] = {
    {"mla_qkv_a:d64,l32,r32,p32,f16,t3", 96, 3, 64, 1, true, 0, false},
    {"mla_q_b:l64,h3,n32,p32,bf16,t4", 192, 4, 64, 1, true, 0, false},
    {"mla_q_b:l64,h3,n32,p32,norm,bf16,t4", 192, 4, 64, 1, true, 0, true},
    {"mla_q_absorb:h3,n32,p0,r64,bf16,t5", 64, 5, 32, 3, false, 0, false},
    {"mla_q_absorb:h3,n32,p64,r64,bf16,halves,t5", 64, 5, 32, 3, false, 0, true},
    {"mla_v_out:h3,r64,v32,bf16,t1", 32, 1, 64, 3, true, 0, false},
    {"mla_o_proj:d64,h2,v32,residual,bf16,t8", 64, 8, 64, 1, true, 1, false},
};

/* Rows gathered by a kernel of ours, K and V one product each, whose heads share the rows: every case, every layout. */
TEST(gathered) {
  static const char *const problems[] = {"mla_gather_kv_b:h3,n32,p32,v32,r64,bf16,paged,t40",
                                         "mla_gather_kv_b:h2,n16,p64,v16,r160,f16,fp8_ds_mla,t40",
                                         "mla_gather_kv_b:h2,n16,p32,v16,r64,bf16,split,t40"};
  rig *r = begin(true);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    mlaf_loaded *l = must_load(r, problems[i], i ? "lib:way=3/s1,rows=8" : "lib:way=3/s1,rows=32");
    const mlaf_point p = point(problems[i]);
    const fakelt_product *last = &seen(true)->last;
    assert_true(last->m == p.v[MLA_GATHER_KV_B_NOPE] && last->n == 40 && last->k == p.v[MLA_GATHER_KV_B_RANK]);
    assert_true(last->batch == p.v[MLA_GATHER_KV_B_HEADS] && last->transposed && last->beta == 0);
    const int before = seen(true)->products;
    verify(r, l);
    assert_int_equal((seen(true)->products - before) % 2, 0);
    assert_int_equal(mlaf_loaded_workspace_size(l, 1, 7), 5120 + 7 * 2 * p.v[MLA_GATHER_KV_B_RANK]);
    assert_int_equal(mlaf_loaded_workspace_size(l, 1, 0), 0);
    mlaf_gather_kv_b_args a = MLAF_GATHER_KV_B_ARGS_INIT;
    static _Alignas(16) uint16_t x[8];
    a.batch = a.page_tokens = 1, a.tokens = 7, a.table_stride = 1, a.cache = a.w = a.k = x, a.table = a.cu_seqlens = (void *)x;
    a.cache_kpe = i == 2 ? x : NULL;
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(mlaf_loaded_launch(l, 1, &a, NULL, &err), MLAF_E_ARG);
    assert_non_null(strstr(err.text, "mlaf_run_workspace"));
    mlaf_loaded_close(l);
  }
  end(r);
}

/* Problems that a library cannot do as our kernels do have their reason. */
TEST(gathered_by_kernels_alone) {
  static const char *const list[][2] = {{"mla_gather_kv_b:h3,n32,p32,v64,r64,bf16,paged,t40", "32 and 64 differ"},
                                        {"mla_gather_kv_b:h3,n32,p32,v32,r64,bf16,e4m3fn,t40", "rows of e4m3fn have one scale"}};
  rig *r = begin(true);
  for (size_t i = 0; i < 2; i++) {
    mlaf_variant v = {.name = NULL};
    mlaf_err err = {MLAF_OK, ""};
    assert_int_not_equal(mlaf_gen_variant(r->gen, list[i][0], "gfx942", "lib:way=0/s1,rows=8", &v, &err), MLAF_OK);
    if (!strstr(err.text, list[i][1])) fail_msg("%s", err.text);
  }
  end(r);
}

static void each_product(bool hip) {
  rig *r = begin(hip);
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    if (products[i].aside && !hip) continue;
    mlaf_loaded *l = must_load(r, products[i].problem, products[i].aside ? "lib:way=3/s1,threads=128" : "lib:way=3/s1");
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
    const bool normed = strstr(products[i].problem, "norm") != NULL; /* three rows of 64, behind */
    assert_int_equal(mlaf_loaded_workspace_size(l, 1, 3), normed ? 5120 + 3 * 128 : 5000);
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
TEST(cublaslt_products) { each_product(false); }
TEST(hipblaslt_products) { each_product(true); }

/* --- launches --- */

static mlaf_status launch(rig *r, const mlaf_loaded *l, int64_t tokens, void *workspace, size_t size, mlaf_err *err) {
  static _Alignas(256) uint16_t x[256 * 3 * 64], w[3 * 64 * 64], y[256 * 3 * 64];
  mlaf_projection_args a = MLAF_PROJECTION_ARGS_INIT;
  a.tokens = tokens, a.x = x, a.w = w, a.y = y, a.workspace = workspace, a.workspace_size = size;
  return mlaf_loaded_launch(l, 1, &a, NULL, err);
}

TEST(more_and_fewer_tokens) {
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

/* hipBLASLt has no check: a way that does not go for few tokens shows when it is run, and that is not in a service. */
TEST(fewer_tokens_without_a_check) {
  rig *r = begin(true);
  setenv("FAKELT_NARROW", "5", 1);
  mlaf_loaded *l = must_load(r, "mla_v_out:h3,r64,v32,bf16,t8", "lib:way=1/s1");
  const fakelt_seen *s = seen(true);
  verify(r, l); /* of cases with 1 to 21 tokens */
  assert_int_equal(mlaf_loaded_workspace_size(l, 1, 3), 2000);
  assert_int_equal(s->last.workspace, 2000);
  mlaf_loaded_close(l);
  assert_int_equal(s->live, 1);
  setenv("FAKELT_NARROW", "99", 1); /* not even for those that it was chosen for */
  mlaf_build b = {.n = 0};
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(load(r, "mla_v_out:h3,r64,v32,bf16,t8", "lib:way=1/s1", &b, &l, &err), MLAF_E_DEVICE);
  mlaf_build_clear(&b);
  end(r);
}

/* The kernel that goes before a product has a block for each token. */
TEST(too_many_tokens) {
  static _Alignas(256) uint16_t x[64], w[64], y[64], gain[64];
  rig *r = begin(true);
  mlaf_loaded *l = must_load(r, "mla_q_b:l64,h3,n32,p32,norm,bf16,t4", "lib:way=3/s1,threads=128");
  mlaf_projection_args a = MLAF_PROJECTION_ARGS_INIT;
  a.x = x, a.w = w, a.y = y, a.norm_weight = gain, a.eps = 1e-6f;
  static const int64_t tokens[] = {1 << 25, INT64_C(1) << 32, INT64_MAX};
  for (int i = 0; i < 3; i++) { /* AMD counts threads, 32 bits of them */
    mlaf_err err = {MLAF_OK, ""};
    a.tokens = tokens[i];
    assert_int_equal(mlaf_loaded_launch(l, 1, &a, NULL, &err), MLAF_E_ARG);
    assert_non_null(strstr(err.text, "more blocks than a launch has"));
  }
  mlaf_loaded_close(l);
  end(r);
}

/* A way for 256 tokens does badly with 129: in the last doubling each eighth has a way of its own. */
TEST(between_doublings) {
  static _Alignas(256) char workspace[8192];
  static const struct {
    int64_t tokens, asked_for;
    int way;
  } cases[] = {{128, 128, 0}, {129, 144, 0}, {144, 144, 0}, {145, 160, 0}, {240, 240, 0}, {241, 256, 1}, {256, 256, 1},
               {3, 4, 0}};
  rig *r = begin(false);
  mlaf_err err = {MLAF_OK, ""};
  mlaf_loaded *l = must_load(r, "mla_v_out:h3,r64,v32,bf16,t256", "lib:way=1/s1");
  const fakelt_seen *s = seen(false);
  for (int i = 0; i < 16; i++) /* all were run */
    assert_int_equal(s->n[(s->products - 16 + i) % 16], i < 8 ? 1 << i : 128 + 16 * (i - 7));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(launch(r, l, cases[i].tokens, workspace, sizeof workspace, &err), MLAF_OK);
    assert_int_equal(s->last.n, cases[i].tokens);
    assert_int_equal(s->last.asked_for, cases[i].asked_for);
    assert_int_equal(s->last.way, cases[i].way);
  }
  mlaf_loaded_close(l);
  end(r);
}

/* A class of tokens may have a kernel of its own, which the driver loads at its first launch: none is left for a capture. */
TEST(warmed) {
  static const int64_t classes[] = {1, 2, 4, 8, 13};
  rig *r = begin(false);
  mlaf_loaded *l = must_load(r, "mla_v_out:h3,r64,v32,bf16,t13", "lib:way=1/s1");
  const fakelt_seen *s = seen(false);
  for (int i = 0; i < 5; i++) assert_int_equal(s->n[(s->products - 5 + i) % 16], classes[i]);
  const int run = s->products;
  mlaf_loaded *other = must_load(r, "mla_v_out:h3,r64,v32,bf16,t1", "lib:way=1/s1");
  assert_int_equal(s->products, run + 1);
  mlaf_loaded_close(other);
  mlaf_loaded_close(l);
  end(r);
}

/* Plans of one problem share a product. */
static void share_one(bool hip) {
  rig *r = begin(hip);
  mlaf_loaded *a = must_load(r, "mla_v_out:h3,r64,v32,bf16,t8", "lib:way=1/s1");
  const fakelt_seen *s = seen(hip);
  const int live = s->live, run = s->products;
  mlaf_loaded *b = must_load(r, "mla_v_out:h3,r64,v32,bf16,t8", "lib:way=1/s1");
  assert_int_equal(s->live, live);
  assert_int_equal(s->products, run);
  mlaf_loaded_close(a);
  assert_int_equal(s->live, live);
  verify(r, b);
  mlaf_loaded_close(b);
  assert_int_equal(s->live, 1);
  end(r);
}

TEST(cublaslt_shared) { share_one(false); }
TEST(hipblaslt_shared) { share_one(true); }

/* --- the matrix rate, which bench measures with the same library --- */

enum { RATE_N = 32 };
static uint16_t rate_a[RATE_N * RATE_N], rate_b[RATE_N * RATE_N], rate_c[RATE_N * RATE_N];

static mlaf_status rate(rig *r, mlaf_timing *out, mlaf_err *err) {
  static const mlaf_time_opts once = {.warmup = 1, .min_samples = 1, .max_samples = 1, .min_window_ns = 1, .limit_s = 0.001};
  return mlaf_ops(r->dev)->time_matmul(r->dev, RATE_N, rate_a, rate_b, rate_c, &once, out, err);
}

TEST(matrix_rate) {
  static const char *const failing[] = {"MatmulDescCreate", "MatmulDescSetAttribute", "MatrixLayoutCreate",
                                        "MatmulPreferenceCreate", "MatmulPreferenceSetAttribute", "MatmulAlgoGetHeuristic",
                                        "Matmul"};
  rig *r = begin(false);
  mlaf_timing t = {.ns = 0};
  mlaf_err err = {MLAF_OK, ""};
  for (int i = 0; i < RATE_N; i++) rate_a[i * RATE_N + i] = 0x4000; /* 2 */
  for (int i = 0; i < RATE_N * RATE_N; i++) rate_b[i] = (uint16_t)(0x3f80 + i % 128), rate_c[i] = 0x7fc0;
  if (rate(r, &t, &err)) fail_msg("%s", err.text);
  assert_string_equal(t.detail, "libfakecublaslt.so"); /* no folder: reports hold it */
  assert_true(t.ns > 0 && t.source == MLAF_TIME_MEASURED);
  for (int i = 0; i < RATE_N * RATE_N; i++) assert_int_equal(rate_c[i], rate_b[i] + 0x80);
  assert_int_equal(seen(false)->last.workspace, 32 << 20);
  assert_int_equal(seen(false)->alignment, 256); /* the library's own: nothing less is said of memory that is the driver's */
  assert_int_equal(seen(false)->live, 1);
  for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
    setenv("FAKELT_FAIL", failing[i], 1);
    assert_int_equal(rate(r, &t, &err), MLAF_E_DEVICE);
    if (!strstr(err.text, failing[i])) fail_msg("'%s' does not say '%s'", err.text, failing[i]);
    assert_int_equal(seen(false)->live, 1);
  }
  unsetenv("FAKELT_FAIL");
  setenv("FAKELT_WAYS", "0", 1);
  assert_int_equal(rate(r, &t, &err), MLAF_E_DEVICE);
  assert_non_null(strstr(err.text, "knows no way to multiply 32 x 32"));
  end(r);
  r = begin(false);
  setenv("FAKELT_VERSION", "110000", 1);
  assert_int_equal(rate(r, &t, &err), MLAF_E_NO_DEVICE);
  assert_non_null(strstr(err.text, "version 110000"));
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

TEST(refused_libraries) {
  rig *r = begin(false);
  setenv("FAKELT_VERSION", "140000", 1); /* whose numbers nobody here knows */
  expect_refused(r, MLAF_E_NO_DEVICE, "version 140000 of cuBLASLt; known are 120000 to 139999");
  setenv("FAKELT_VERSION", "110000", 1);
  expect_refused(r, MLAF_E_NO_DEVICE, "version 110000");
  unsetenv("FAKELT_VERSION");
  setenv("FAKELT_FAIL", "Create", 1);
  expect_refused(r, MLAF_E_NO_DEVICE, "cublasLtCreate: status 7");
  unsetenv("FAKELT_FAIL");
  static const char *const failing[] = {"MatmulDescCreate", "MatrixLayoutCreate", "MatrixLayoutSetAttribute",
                                        "MatmulPreferenceCreate",
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
  expect_refused(r, MLAF_E_NO_DEVICE, "is in use on this device already");
  end(r);
  r = begin(false);
  setenv("MLAF_CUBLASLT_LIBRARY", getenv("MLAF_CUDA_LIBRARY"), 1);
  expect_refused(r, MLAF_E_NO_DEVICE, "has no function cublasLt");
  setenv("MLAF_CUBLASLT_LIBRARY", "/tmp/nowhere/libcublasLt.so.13", 1);
  expect_refused(r, MLAF_E_NO_DEVICE, "MLAF_CUBLASLT_LIBRARY is '/tmp/nowhere");
  end(r);
  r = begin(true);
  setenv("FAKELT_VERSION", "500", 1); /* hipBLAS' numbers for types */
  expect_refused(r, MLAF_E_NO_DEVICE, "version 500 of hipBLASLt");
  end(r);
}

TEST(refused_texts) {
  const char *good = "x\n" MLAF_MATMUL_MAGIC "library cublaslt\nsymbol s\nheads 1\ninner 64\nouter 32\nlayout outputs\n"
                     "dtype bf16\nresidual 0\ntokens 4\nway 0\n";
  static const char *const bad[][2] = {{"heads 1", "heads 0"},     {"inner 64", "inner -64"},     {"outer 32", "outer 2x"},
                                       {"outputs", "elsewhere"},   {"bf16", "fp8"},               {"residual 0", "residual 2"},
                                       {"tokens 4", "tokens 0"},   {"tokens 4", "tokens 99999"},  {"way 0", "way 32"},
                                       {"symbol s", "symbol "},    {"product 1", "product 2"},    {"way 0\n", ""}};
  mlaf_matmul_want want;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_matmul_read(good, strlen(good), &want, &err), MLAF_OK);
  assert_int_equal(mlaf_vendor_of_source(good), MLAF_CUBLASLT);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[400];
    const char *at = strstr(good, bad[i][0]);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, bad[i][1], at + strlen(bad[i][0]));
    assert_int_equal(mlaf_matmul_read(text, strlen(text), &want, &err), MLAF_E_ARG);
  }
  assert_int_equal(mlaf_vendor_of_source("no such line"), MLAF_VENDORS);
}

/* Kernels of ours cannot claim to be a library's, other operations have no use for one, an emulator runs none. */
TEST(who_may_be_one) {
  rig *r = begin(false);
  mlaf_build b = {.n = 0};
  mlaf_loaded *l = must_load(r, "mla_v_out:h3,r64,v32,bf16,t8", "lib:way=0/s1");
  const mlaf_stage *s = &mlaf_loaded_bound(l)->stage[0];
  const mlaf_op *decode = mlaf_op_of("mla_decode:");
  mlaf_device *emu = open_device("emu:gfx942");
  mlaf_err err = {MLAF_OK, ""};
  mlaf_asking k = {.symbol = "s", .calls = decode->calls, .dev = r->dev};
  assert_int_equal(s->launch.flags, MLAF_KERNEL_LIBRARY);
  assert_int_equal(mlaf_declared_check(&k, &s->launch, &err), MLAF_E_TEMPLATE);
  assert_non_null(strstr(err.text, "no use for"));
  k = (mlaf_asking){.symbol = "s", .calls = mlaf_loaded_calls(l), .dev = emu};
  assert_int_equal(mlaf_declared_check(&k, &s->launch, &err), MLAF_E_TEMPLATE);
  assert_non_null(strstr(err.text, "emu:gfx942 runs no libraries"));
  mlaf_device_close(emu);
  mlaf_loaded_close(l);
  mlaf_build_clear(&b);
  end(r);
}

/* --- the tuner --- */

static mlaf_status no_space(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n, mlaf_err *err) {
  *list = NULL;
  *n = 0;
  return MLAF_OK;
}

static mlaf_status tune(rig *r, mlaf_device *dev, const char *problem, mlaf_db *db, const mlaf_tuner_opts *opts,
                        mlaf_tuner_result *out, mlaf_err *err) {
  mlaf_tuner_steps steps = mlaf_tuner_real_steps;
  const mlaf_point p = point(problem);
  steps.space = no_space; /* of ours: nothing is compiled */
  const mlaf_tuner_env env = {.device = dev, .db = db, .gen = r->gen, .compiler = r->compiler, .steps = &steps};
  return mlaf_tuner_run(&env, &p, opts, out, err);
}

TEST(tuned) {
  const char *problem = "mla_v_out:h3,r64,v32,bf16,t8";
  rig *r = begin(false);
  mlaf_db *db = NULL;
  mlaf_tuner_result a, b, c;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_db_open(r->at.db, false, NULL, &db, &err), MLAF_OK);
  if (tune(r, r->dev, problem, db, NULL, &a, &err)) fail_msg("%s", err.text);
  assert_true(mlaf_is_library(a.choice.variant));
  assert_int_equal(a.libraries, 4); /* of five proposals one wants too much; what there is not is no candidate */
  assert_int_equal(a.n, 4);
  assert_int_equal(a.failed, 0);
  assert_int_equal(a.compiles, 0);
  if (tune(r, r->dev, problem, db, NULL, &b, &err)) fail_msg("%s", err.text);
  assert_int_equal(b.resumed, 4);
  assert_int_equal(b.libraries, 4);
  /* Another build of the library: what was timed says nothing of it. */
  char path[300], copy[800];
  snprintf(path, sizeof path, "%s/other.so", r->at.dir);
  snprintf(copy, sizeof copy, "cp '%s' '%s' && printf x >>'%s'", getenv("MLAF_CUBLASLT_LIBRARY"), path, path);
  assert_int_equal(system(copy), 0);
  setenv("MLAF_CUBLASLT_LIBRARY", path, 1);
  mlaf_device *other = open_device("cuda");
  if (tune(r, other, problem, db, NULL, &c, &err)) fail_msg("%s", err.text);
  assert_int_equal(c.resumed, 0);
  assert_string_not_equal(c.choice.kernels[0].code_key, a.choice.kernels[0].code_key);
  mlaf_device_close(other);
  mlaf_tuner_result_clear(&a);
  mlaf_tuner_result_clear(&b);
  mlaf_tuner_result_clear(&c);
  mlaf_db_close(db);
  end(r);
}

/* The reason is stated, and the search goes on with what is there. */
TEST(tuned_without) {
  static const mlaf_tuner_opts none = {.no_libraries = true};
  rig *r = begin(false);
  mlaf_tuner_result out;
  mlaf_err err = {MLAF_OK, ""};
  const struct {
    const char *device, *library, *problem, *says;
    const mlaf_tuner_opts *opts;
  } cases[] = {
      {"cuda", "/tmp/nowhere/libcublasLt.so.13", "mla_v_out:h3,r64,v32,bf16,t8", "'/tmp/nowhere/libcublasLt.so.13', which", NULL},
      {"emu:gfx942", NULL, "mla_v_out:h3,r64,v32,bf16,t8", "emu:gfx942 runs no libraries", NULL},
      {"cuda", NULL, "mla_v_out:h3,r64,v32,bf16,t8", "not asked for", &none},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    set_library(false);
    if (cases[i].library) setenv("MLAF_CUBLASLT_LIBRARY", cases[i].library, 1);
    mlaf_device *dev = open_device(cases[i].device);
    assert_int_equal(tune(r, dev, cases[i].problem, NULL, cases[i].opts, &out, &err), MLAF_E_NOT_TUNED);
    if (!strstr(out.no_library, cases[i].says)) fail_msg("'%s' does not say '%s'", out.no_library, cases[i].says);
    assert_int_equal(out.libraries, 0);
    mlaf_tuner_result_clear(&out);
    mlaf_device_close(dev);
  }
  end(r);
}

/* --- plans and bundles: a library's product and a kernel of ours, both timed --- */

#define PLANNED "mla_v_out:h2,r32,v32,bf16,t2"
#define OWN "mfma:blocks=1,depth=1,parts=1,pass=16,waves=1/s1"
#define LIBRARY "lib:way=1/s1"

/* A choice; built: with its code in the cache. */
static void record_built(rig *r, mlaf_db *db, const char *problem, const char *variant, double ns, bool built) {
  const mlaf_point p = point(problem);
  mlaf_variant v = {.name = NULL};
  mlaf_build b = {.n = 0};
  mlaf_sample s = {.outcome = MLAF_OUT_OK, .source = MLAF_SRC_MEASURED, .error = 1e-3, .lengths = "equal"};
  mlaf_err err = {MLAF_OK, ""};
  int compiles = 0;
  mlaf_status st = mlaf_gen_variant(r->gen, problem, mlaf_info(r->dev)->target, variant, &v, &err);
  if (!st) st = mlaf_build_init(&v, &b, &err);
  if (!st && built) st = mlaf_build_now(&b, r->gen, r->compiler, mlaf_info(r->dev)->target, true, &compiles, &err);
  if (st) fail_msg("%s", err.text);
  snprintf(s.variant, sizeof s.variant, "%s", b.name);
  s.knob = b.knob;
  memcpy(s.kernels, b.refs, sizeof s.kernels);
  s.timing = (mlaf_timing){.source = MLAF_TIME_MEASURED, .ns = ns, .p10_ns = ns, .p90_ns = ns, .samples = 9};
  if (mlaf_db_add_sample(db, mlaf_info(r->dev), "compiler", &p, &s, &err)) fail_msg("%s", err.text);
  mlaf_build_clear(&b);
  mlaf_variant_clear(&v);
}

static void record_of(rig *r, mlaf_db *db, const char *problem, const char *variant, double ns) {
  record_built(r, db, problem, variant, ns, true);
}
static void record(rig *r, mlaf_db *db, const char *variant, double ns) { record_of(r, db, PLANNED, variant, ns); }

/* A library that is another version, or not here, is nothing to warn of. */
static void no_warning(void *user, mlaf_log_level level, const char *line) { fail_msg("warned: %s", line); }

static void expect_plan(rig *r, const char *device, const char *problem, mlaf_effort effort, uint32_t flags, const char *variant,
                        const char *rung, const char *notes) {
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_opts how = MLAF_PLAN_OPTS_INIT;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  char why[500] = "";
  o.device = device, o.db_path = r->at.db, o.cache_dir = r->at.cache, o.log = no_warning;
  how.flags = flags;
  how.effort = effort;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  if (mlaf_plan_for(ctx, problem, &how, &plan)) fail_msg("%s", said(ctx));
  assert_int_equal(mlaf_plan_query(plan, &info), MLAF_OK);
  if (strcmp(info.variant, variant) || strcmp(info.rung, rung) || !strstr(info.notes, notes))
    fail_msg("%s (%s): '%s', wanted %s (%s): '%s'", info.variant, info.rung, info.notes, variant, rung, notes);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

static void expect_stored(rig *r, const char *problem, uint32_t flags, const char *variant, const char *rung, const char *notes) {
  expect_plan(r, "hip", problem, MLAF_EFFORT_DB_ONLY, flags, variant, rung, notes);
}

static void in_a_bundle(rig *r, mlaf_db *db) {
  char dir[80];
  mlaf_point p = point(PLANNED);
  const mlaf_bundle_request request = {.target = "gfx942", .problems = &p, .n = 1};
  const mlaf_bundle_make_opts opts = {.compiler = r->compiler, .db = db, .requests = &request, .n_requests = 1, .jobs = 1};
  mlaf_bundle_made made;
  mlaf_err err = {MLAF_OK, ""};
  snprintf(dir, sizeof dir, "%s/bundle", r->at.dir);
  if (mlaf_bundle_make(&opts, dir, &made, &err)) fail_msg("%s", err.text);
  char command[300];
  snprintf(command, sizeof command, "grep -sq '%s' '%s'/* && ! grep -rq 'lib:way' '%s'", OWN, dir, dir);
  assert_int_equal(system(command), 0);
}

TEST(planned) {
  rig *r = begin(true);
  mlaf_db *db = NULL;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_db_open(r->at.db, false, NULL, &db, &err), MLAF_OK);
  record(r, db, LIBRARY, 1000);
  record(r, db, OWN, 2000);
  expect_stored(r, PLANNED, MLAF_PLAN_LIBRARY, LIBRARY, "exact", "");
  expect_stored(r, PLANNED, MLAF_PLAN_LIBRARY | MLAF_PLAN_NO_COMPILE, LIBRARY, "exact", "");
  expect_stored(r, PLANNED, 0, OWN, "exact", "does not ask for (MLAF_PLAN_LIBRARY)");
  expect_stored(r, "mla_v_out:h2,r32,v32,bf16,t1", MLAF_PLAN_LIBRARY, OWN, "nearest", "");
  /* The code is gone, as after an import: it is made anew, without a compiler. */
  char command[200];
  snprintf(command, sizeof command, "grep -rlZ 'mlaforge library code' '%s' | xargs -0 rm", r->at.cache);
  assert_int_equal(system(command), 0);
  expect_stored(r, PLANNED, MLAF_PLAN_LIBRARY | MLAF_PLAN_NO_COMPILE, LIBRARY, "exact", "");
  in_a_bundle(r, db);
  /* Another build of the library, with the code of the old one in the cache, and without. */
  char path[300], copy[800];
  snprintf(path, sizeof path, "%s/other.so", r->at.dir);
  snprintf(copy, sizeof copy, "cp '%s' '%s' && printf x >>'%s'", getenv("MLAF_HIPBLASLT_LIBRARY"), path, path);
  assert_int_equal(system(copy), 0);
  setenv("MLAF_HIPBLASLT_LIBRARY", path, 1);
  expect_stored(r, PLANNED, MLAF_PLAN_LIBRARY, OWN, "exact", "tuned with hipblaslt");
  assert_int_equal(system(command), 0);
  expect_stored(r, PLANNED, MLAF_PLAN_LIBRARY, OWN, "exact", "was timed with another version of the library");
  setenv("MLAF_HIPBLASLT_LIBRARY", "/tmp/nowhere/libhipblaslt.so.0", 1);
  expect_stored(r, PLANNED, MLAF_PLAN_LIBRARY, OWN, "exact", "/tmp/nowhere");
  mlaf_db_close(db);
  end(r);
}

/* A chunked prefill takes what was tuned: its workspace has room for the rows, and what comes out is what kernels alone give. */
enum { NEW = 4, CACHED = 50, PAGE_ROWS = 16, KEYS = 32, P = 32, V = 64, R = 64 };
#define CHUNKS "mla_gather_kv_b:h1,n64,p32,v64,r64,bf16,paged,t32"

static size_t prefilled(rig *r, bool stored, uint16_t out[NEW * V]) {
  static _Alignas(16) uint16_t q[NEW * (V + P)], kv[NEW * 2 * V], k_pe[NEW * P], w[2 * V * R], cache[4 * PAGE_ROWS * (R + P)];
  static const int32_t fresh[] = {NEW}, cached[] = {CACHED}, pages[] = {2, 0, 3, 1};
  int32_t words[64];
  uint16_t *const all[] = {q, kv, k_pe, w, cache};
  const size_t sizes[] = {sizeof q, sizeof kv, sizeof k_pe, sizeof w, sizeof cache};
  mlaf_ctx *ctx = NULL;
  mlaf_chunked_prefill *c = NULL;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
  mlaf_chunked_prefill_args a = MLAF_CHUNKED_PREFILL_ARGS_INIT;
  char why[500] = "";
  for (size_t i = 0; i < 5; i++)
    for (uint32_t k = 0, x = 7 + (uint32_t)i; k < sizes[i] / 2; k++) { /* +-0.125 to 0.5 */
      x = x * 1664525u + 1013904223u;
      all[i][k] = (uint16_t)(0x3e00 + (x >> 24) + (x >> 8 & 0x8000));
    }
  o.device = "hip", o.cache_dir = r->at.cache, o.db_path = stored ? r->at.db : NULL, o.flags = stored ? 0 : MLAF_CTX_NO_DB;
  d.heads = 1, d.nope = d.vdim = V, d.rope = P, d.rank = R, d.page_tokens = PAGE_ROWS, d.chunk_tokens = KEYS;
  d.batch = 1, d.tokens = NEW;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  mlaf_status st = mlaf_chunked_prefill_create(ctx, &d, &c);
  if (!st) st = mlaf_chunked_prefill_schedule(c, 1, fresh, cached, words, 64);
  const size_t size = st ? 0 : mlaf_chunked_prefill_workspace(c, words);
  void *at[7] = {NULL};
  const void *const from[] = {q, kv, k_pe, w, cache, pages, words};
  for (int i = 0; !st && i < 7; i++) {
    const size_t bytes = i < 5 ? sizes[i] : i == 5 ? sizeof pages : sizeof words;
    st = mlaf_mem_alloc(ctx, bytes, &at[i]);
    if (!st) st = mlaf_mem_write(ctx, at[i], from[i], bytes);
  }
  void *memory = NULL, *o_at = NULL;
  if (!st) st = mlaf_mem_alloc(ctx, size, &memory);
  if (!st) st = mlaf_mem_alloc(ctx, sizeof *out * NEW * V, &o_at);
  a.schedule = words, a.schedule_device = at[6], a.workspace = memory, a.workspace_size = size;
  a.fresh.scale = 0.1f, a.fresh.q = at[0], a.fresh.k = at[1], a.fresh.k_pe = at[2], a.fresh.v = (uint16_t *)at[1] + V;
  a.fresh.k_token_stride = a.fresh.v_token_stride = a.fresh.k_head_stride = a.fresh.v_head_stride = 2 * V, a.fresh.o = o_at;
  a.cached.cache = at[4], a.cached.num_pages = 4, a.cached.table = at[5], a.cached.table_stride = 4, a.cached.w = at[3];
  if (!st) st = mlaf_chunked_prefill_execute(c, &a, NULL);
  if (!st) st = mlaf_sync(ctx, NULL);
  if (!st) st = mlaf_mem_read(ctx, out, o_at, sizeof *out * NEW * V);
  mlaf_ctx_last_message(ctx, why, sizeof why);
  if (st) fail_msg("%s", why);
  for (int i = 0; i < 7; i++) mlaf_mem_free(ctx, at[i]);
  mlaf_mem_free(ctx, memory), mlaf_mem_free(ctx, o_at);
  mlaf_chunked_prefill_destroy(c);
  mlaf_ctx_destroy(ctx);
  return size;
}

TEST(gathered_in_chunks) {
  rig *r = begin(true);
  mlaf_db *db = NULL;
  mlaf_err err = {MLAF_OK, ""};
  uint16_t by_library[NEW * V], by_kernels[NEW * V];
  assert_int_equal(mlaf_db_open(r->at.db, false, NULL, &db, &err), MLAF_OK);
  record_of(r, db, CHUNKS, "lib:way=0/s1,rows=8", 1000);
  const int before = seen(true)->products;
  const size_t more = prefilled(r, true, by_library), size = prefilled(r, false, by_kernels);
  assert_true(seen(true)->products - before >= 2 * 2); /* two chunks, of K and of V */
  assert_true(more - size >= 2 * KEYS * R && more - size < 2 * KEYS * R + 8192);
  for (int i = 0; i < NEW * V; i++) {
    const double x = (double)mlaf_decode16(MLAF_BF16, by_library[i]), y = (double)mlaf_decode16(MLAF_BF16, by_kernels[i]);
    if (!(fabs(x - y) <= fabs(y) / 64 + 1e-3)) fail_msg("value %d: %g and %g", i, x, y);
  }
  mlaf_db_close(db);
  end(r);
}

/* Nobody tuned, and a library is known to be better: for many tokens, where the caller allows it and it is there. */
TEST(known_better) {
  rig *r = begin(false);
  mlaf_variant *list = NULL;
  size_t n = 0;
  mlaf_err err = {MLAF_OK, ""};
  static const char *const not_known[] = {"mla_qkv_a:d64,l32,r32,p32,bf16,t128", "mla_v_out:h3,r64,v32,bf16,t4096"};
  setenv("FAKECUDA_ANY", "1", 1);
  expect_plan(r, "cuda", "mla_qkv_a:d64,l32,r32,p32,bf16,t256", MLAF_EFFORT_ESTIMATE, MLAF_PLAN_LIBRARY,
              "lib:way=0/s1", "model", "");
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(mlaf_gen_known_library(r->gen, not_known[i], "sm_90a", &list, &n, &err), MLAF_OK);
    assert_int_equal(n, 0);
    mlaf_variants_free(list, n);
  }
  assert_int_equal(mlaf_gen_known_library(r->gen, "mla_qkv_a:d64,l32,r32,p32,bf16,t256", "gfx942", &list, &n, &err), MLAF_OK);
  assert_int_equal(n, 0);
  mlaf_variants_free(list, n);
  unsetenv("FAKECUDA_ANY");
  end(r);
}

static void hear(void *user, mlaf_log_level level, const char *line) {
  (void)level;
  snprintf(user, 600, "%s", line);
}

/* A stored choice is a kernel of ours that wants workspace: it is looked at where the caller allows a library's, too. */
TEST(wants_workspace) {
  static const char problem[] = "mla_q_b:l1536,h16,n128,p64,norm,bf16,e4m3fn,t256";
  rig *r = begin(false);
  mlaf_db *db = NULL;
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_opts how = MLAF_PLAN_OPTS_INIT;
  char why[500] = "", heard[600] = "";
  assert_int_equal(mlaf_db_open(r->at.db, false, NULL, &db, &err), MLAF_OK);
  record_built(r, db, problem, "normed_fp8:parts=1,split=1/s1,threads=128", 1000, false);
  mlaf_db_close(db);
  o.device = "cuda", o.db_path = r->at.db, o.cache_dir = r->at.cache, o.log = hear, o.log_user = heard;
  how.effort = MLAF_EFFORT_DB_ONLY, how.flags = MLAF_PLAN_NO_COMPILE;
  assert_int_equal(mlaf_ctx_create(&o, &ctx, why, sizeof why), MLAF_OK);
  assert_int_equal(mlaf_plan_for(ctx, problem, &how, &plan), MLAF_E_NOT_TUNED);
  if (strstr(heard, "no cache entry")) fail_msg("%s", heard);
  how.flags |= MLAF_PLAN_LIBRARY;
  assert_int_not_equal(mlaf_plan_for(ctx, problem, &how, &plan), MLAF_OK);
  if (!strstr(heard, "choice normed_fp8") || !strstr(heard, "no cache entry")) fail_msg("'%s'", heard);
  mlaf_ctx_destroy(ctx);
  end(r);
}

TESTS(NULL, NULL)
