/* The embedded loader over a fake CUDA driver: devices, choice of plans, what it launches, what it refuses. Numbers are compared
 * over the fake HIP runtime, which runs real kernels: embed_copy.sh. */
#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode.h"

#include <dlfcn.h>

#include "cmocka_all.h"
#include "op/numeric.h"
#include "cuda/fakecuda.h"
#include "embed/index.h"

static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F'}, alien[64] = {0x7f, 'E', 'L', 'F', 0, 0, 0, 0x77};

/* 0: clusters, overlap, maps. 1: its combine. 2: plain. 3: does not load. */
static const mlaf_embed_kernel kernels[] = {
    {elf, "fill", 384, 64, 0, 0, {.dynamic_shared = 90000, .cluster = {1, 2, 1}, .n_maps = 2,
                                  .maps = {{1, 64, 64, 128}, {2, 64, 64, 128}}, .flags = MLAF_EMBED_KERNEL_OVERLAPS}},
    {elf, "big", 128, 4, 0, 0, {.flags = MLAF_EMBED_KERNEL_OVERLAPS}},
    {elf, "fill", 128, 16, 0, 0, {.flags = 0}},
    {alien, "fill", 128, 16, 0, 0, {.flags = 0}},
};
static const mlaf_embed_row rows[] = {
    {0, {16, 512, 64, 1, 0, 0, 0, 0, 0, 0, 64, 1, 1024}, 0, 4, {1, 2}},
    {0, {16, 512, 64, 1, 0, 0, 0, 0, 0, 0, 64, 1, 1024}, 1, 1, {3}},
    {0, {16, 512, 64, 1, 0, 0, 0, 0, 0, 0, 64, 64, 1024}, 0, 1, {3}},
    {0, {16, 512, 64, 2, 1, 0, 0, 0, 0, 0, 64, 1, 1024}, 0, 1, {4}},
    {0, {16, 512, 64, 2, 1, 0, 0, 0, 0, 0, 64, 1, 1024}, 1, 1, {3}},
    {0, {8, 512, 64, 1, 0, 0, 0, 0, 0, 0, 64, 1, 1024}, 0, 1, {4}},
};
static const mlaf_embed_target sm_90a = {"sm_90a", kernels, rows, 4, 6}, sm_80 = {"sm_80", kernels, rows, 4, 6};
static const mlaf_embed_index both = {MLAF_EMBED_VERSION, 2, "", (const mlaf_embed_target[]){
  {"sm_80", kernels, rows, 4, 6}, {"sm_90a", kernels, rows, 4, 6}}, decode_op, 1};

static void *driver;
static fake_launch last(void) {
  fake_launch (*get)(void);
  void *f = dlsym(driver, "fakecuda_last");
  memcpy(&get, &f, sizeof f);
  return get();
}
static int leaks(void) {
  int (*get)(void);
  void *f = dlsym(driver, "fake_leaks");
  memcpy(&get, &f, sizeof f);
  return get();
}

static int setup(void **state) {
  char path[600];
  snprintf(path, sizeof path, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR") ? getenv("MLAF_BUILD_DIR") : ".");
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  setenv("MLAF_HIP_LIBRARY", "/nowhere/libamdhip64.so", 1);
  driver = dlopen(path, RTLD_NOW);
  return driver ? 0 : -1;
}

static mlaf_embed *open_it(const mlaf_embed_index *index) {
  mlaf_embed *e = NULL;
  char why[500] = "";
  if (mlaf_embed_open(index, 0, &e, why, sizeof why)) fail_msg("%s", why);
  return e;
}

static const mlaf_embed_plan *plan_of(mlaf_embed *e, int heads, int q_len, int batch, int ctx) {
  const mlaf_embed_decode_problem p = {heads, 512, 64, q_len, 1, MLAF_EMBED_DECODE_BF16, 64, batch, ctx, 0, 0, 0, 0};
  const mlaf_embed_plan *plan = NULL;
  char why[500] = "";
  if (mlaf_embed_decode_plan(e, &p, &plan, why, sizeof why)) fail_msg("%s", why);
  return plan;
}

TEST(takes_its_target) {
  mlaf_embed *e = open_it(&both);
  assert_string_equal(mlaf_embed_target_name(e), "sm_90a");
  mlaf_embed_close(e);
  mlaf_embed_close(NULL);
  char why[500];
  const mlaf_embed_index old = index_of(&sm_80), newer = {MLAF_EMBED_VERSION + 1, 1, "", &sm_90a, decode_op, 1};
  assert_int_equal(mlaf_embed_open(&old, 0, &e, why, sizeof why), MLAF_EMBED_NO_DEVICE);
  assert_non_null(strstr(why, "sm_80: device 0"));
  assert_int_equal(mlaf_embed_open(&both, 7, &e, why, sizeof why), MLAF_EMBED_NO_DEVICE);
  assert_non_null(strstr(why, "device 7 of 1"));
  assert_int_equal(mlaf_embed_open(&newer, 0, &e, why, sizeof why), MLAF_EMBED_ARG);
  const mlaf_embed_target gfx = {"gfx942", kernels, rows, 4, 6};
  const mlaf_embed_index amd = index_of(&gfx);
  assert_int_equal(mlaf_embed_open(&amd, 0, &e, why, sizeof why), MLAF_EMBED_NO_DEVICE);
  assert_non_null(strstr(why, "libamdhip64"));
  assert_int_equal(leaks(), 0);
}

TEST(nearest_plan) {
  mlaf_embed *e = open_it(&both);
  const mlaf_embed_plan *small = plan_of(e, 16, 1, 1, 1024), *large = plan_of(e, 16, 1, 64, 1024);
  assert_int_equal(mlaf_embed_plan_knob(small), 4);
  assert_int_equal(mlaf_embed_plan_knob(large), 1);
  assert_ptr_equal(plan_of(e, 16, 1, 7, 1000), small); /* 7 is nearer to 1 than to 64, in doublings */
  assert_ptr_equal(plan_of(e, 16, 1, 9, 1024), large);
  assert_ptr_equal(plan_of(e, 16, 1, 60000, 1), large);
  /* a choice that does not load gives way to the baseline, and where there is none it is said */
  assert_int_equal(mlaf_embed_plan_knob(plan_of(e, 16, 2, 1, 1024)), 1);
  const mlaf_embed_decode_problem broken = {8, 512, 64, 1, 0, 0, 64, 1, 1024, 0, 0, 0, 0};
  const mlaf_embed_decode_problem absent = {5, 512, 64, 1, 0, 1, 64, 1, 1024, 0, 0, 0, 0};
  const mlaf_embed_plan *plan = NULL;
  char why[500];
  assert_int_equal(mlaf_embed_decode_plan(e, &broken, &plan, why, sizeof why), MLAF_EMBED_DRIVER);
  assert_non_null(strstr(why, "driver error 209"));
  assert_int_equal(mlaf_embed_decode_plan(e, &absent, &plan, why, sizeof why), MLAF_EMBED_NO_KERNEL);
  assert_non_null(strstr(why, "h5,r512,p64,q1,f16,page64 on sm_90a"));
  assert_null(plan);
  mlaf_embed_close(e);
  assert_int_equal(leaks(), 0);
}

/* The fake's kernel reads the front of its parameter as { to, value, n }: q is `to`, ckv its two numbers. */
static mlaf_embed_decode_args arguments(const mlaf_embed_plan *plan, void *to, int batch) {
  static const int32_t table[4];
  static _Alignas(256) char workspace[1 << 20];
  return (mlaf_embed_decode_args){.batch = batch, .num_pages = 3, .total_q = batch, .q = to,
                           .ckv = (void *)(uintptr_t)(2ull << 32 | 0x70),
                           .qo_indptr = table, .kv_indptr = table, .kv_indices = table, .kv_last_page_lens = table, .o = to,
                           .workspace = workspace, .workspace_size = sizeof workspace, .scale = 0.1f};
}

TEST(launches_what_the_kernel_wants) {
  static _Alignas(16) uint32_t to[4];
  mlaf_embed *e = open_it(&both);
  const mlaf_embed_plan *plan = plan_of(e, 16, 1, 1, 1024);
  char why[500] = "";
  mlaf_embed_decode_args a = arguments(plan, to, 2);
  /* part_o and part_lse of 4 splits x 2 tokens x 16 heads */
  assert_int_equal(mlaf_embed_decode_workspace(plan, 2), 4 * 2 * 16 * 512 * 4 + 4 * 2 * 16 * 4);
  assert_int_equal(mlaf_embed_decode_workspace(plan, 0), 0);
  const uint64_t before = last().total;
  if (mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  fake_launch l = last(); /* the combine kernel */
  assert_int_equal(l.total - before, 2);
  assert_int_equal(l.grid[0], 2 * 16 / 4);
  assert_int_equal(l.overlaps, 1);
  assert_true(to[0] == 0x70 && to[1] == 0x70 && to[2] == 0); /* the decode kernel ran, with our q and ckv */
  plan = plan_of(e, 16, 1, 64, 1024);
  if (mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  l = last();
  assert_int_equal(l.total - before, 3);
  assert_true(l.grid[0] == 1 && l.grid[1] == 1 && l.grid[2] == 2 && l.block[0] == 128 && l.shared == 0);
  assert_int_equal(l.overlaps, 0);
  mlaf_embed_close(e);
  assert_int_equal(leaks(), 0);
}

/* The same kernel with one split: the launch of its clusters can then be looked at, as no combine comes behind. */
TEST(clusters_and_maps) {
  static const mlaf_embed_row one[] = {{0, {16, 512, 64, 1, 0, 0, 0, 0, 0, 0, 64, 1, 1024}, 0, 1, {1}}};
  static const mlaf_embed_target target = {"sm_90a", kernels, one, 4, 1};
  const mlaf_embed_index index = index_of(&target);
  static _Alignas(16) uint32_t to[4];
  char why[500] = "";
  mlaf_embed *e = open_it(&index);
  const mlaf_embed_plan *plan = plan_of(e, 16, 1, 1, 1024);
  mlaf_embed_decode_args a = arguments(plan, to, 3);
  if (mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  fake_launch l = last();
  assert_true(l.grid[0] == 1 && l.grid[1] == 2 && l.grid[2] == 3); /* a cluster of two blocks works on the one split */
  assert_true(l.cluster[0] == 1 && l.cluster[1] == 2 && l.cluster[2] == 1);
  assert_true(l.block[0] == 384 && l.shared == 90000 && l.overlaps == 1);
  mlaf_embed_close(e);
  assert_int_equal(leaks(), 0);
}

/* Blocks that take requests in turns: 132 units hold 66 requests of two groups of rows. */
TEST(turns) {
  static const mlaf_embed_kernel walker[] = {{elf, "fill", 128, 16, 64, 132, {.flags = MLAF_EMBED_KERNEL_TURNS}}};
  static const mlaf_embed_row one[] = {{0, {32, 512, 64, 1, 0, 0, 0, 0, 0, 0, 64, 1, 1024}, 0, 1, {1}}};
  static const mlaf_embed_target target = {"sm_90a", walker, one, 1, 1};
  const mlaf_embed_index index = index_of(&target);
  static const int32_t cases[][2] = {{66, 66}, {67, 34}, {128, 64}, {133, 45}};
  static _Alignas(16) uint32_t to[4];
  mlaf_embed *e = open_it(&index);
  const mlaf_embed_plan *plan = plan_of(e, 32, 1, 1, 1024);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_embed_decode_args a = arguments(plan, to, cases[i][0]);
    if (mlaf_embed_decode_execute(plan, &a, NULL, NULL, 0)) fail_msg("case %zu", i);
    assert_int_equal(last().grid[2], cases[i][1]);
  }
  mlaf_embed_close(e);
}

/* A problem that rotates what it reads has kernels of its own, and wants a table; others want none. */
TEST(rotation_wants_its_table) {
  static const mlaf_embed_row both_kinds[] = {{0, {16, 512, 64, 1, 0, 0, 0, 0, 0, 0, 64, 1, 1024}, 0, 1, {1}},
                                              {0, {16, 512, 64, 1, 0, 0, 2, 0, 0, 0, 64, 1, 1024}, 0, 1, {3}}};
  static const mlaf_embed_target target = {"sm_90a", kernels, both_kinds, 4, 2};
  const mlaf_embed_index index = index_of(&target);
  static _Alignas(16) uint32_t to[4];
  static _Alignas(16) const float table[8];
  char why[500] = "";
  mlaf_embed *e = open_it(&index);
  mlaf_embed_decode_problem p = {16, 512, 64, 1, 0, MLAF_EMBED_DECODE_BF16, 64, 1, 1024, 2, 0, 0, 0};
  const mlaf_embed_plan *plan = NULL, *plain = plan_of(e, 16, 1, 1, 1024);
  if (mlaf_embed_decode_plan(e, &p, &plan, why, sizeof why)) fail_msg("%s", why);
  assert_ptr_equal(plan->row, &both_kinds[1]);
  assert_ptr_equal(plain->row, &both_kinds[0]);
  mlaf_embed_decode_args a = arguments(plan, to, 1);
  assert_int_equal(mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "rope_table"));
  a.rope_table = table;
  assert_int_equal(mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why), MLAF_EMBED_ARG); /* of no row */
  a.rope_rows = 1;
  if (mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  assert_int_equal(last().block[0], 128);
  assert_int_equal(mlaf_embed_decode_execute(plain, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);
  p.rotate = 1;
  assert_int_equal(mlaf_embed_decode_plan(e, &p, &plan, why, sizeof why), MLAF_EMBED_NO_KERNEL);
  assert_non_null(strstr(why, "rope_pairs"));
  mlaf_embed_close(e);
}

TEST(caches_of_8_bits) {
  static const mlaf_embed_row formats[] = {{0, {16, 512, 64, 1, 0, 0, 0, 1, 0, 0, 64, 1, 1024}, 0, 1, {1}},
                                           {0, {16, 512, 64, 1, 0, 0, 0, 3, 0, 0, 64, 1, 1024}, 0, 1, {3}}};
  static const mlaf_embed_target target = {"sm_90a", kernels, formats, 4, 2};
  const mlaf_embed_index index = index_of(&target);
  static _Alignas(16) uint32_t to[4];
  static const float scale = 0.5f;
  char why[500] = "";
  mlaf_embed *e = open_it(&index);
  mlaf_embed_decode_problem p = {.heads = 16, .rank = 512, .rope = 64, .q_len = 1, .page_size = 64, .batch = 1, .ctx = 1024};
  const mlaf_embed_plan *plans[2] = {NULL, NULL};
  assert_int_equal(mlaf_embed_decode_plan(e, &p, &plans[0], why, sizeof why), MLAF_EMBED_NO_KERNEL); /* of 16 bits */
  for (int i = 0; i < 2; i++) {
    p.cache = i ? 3 : 1;
    if (mlaf_embed_decode_plan(e, &p, &plans[i], why, sizeof why)) fail_msg("%s", why);
    assert_ptr_equal(plans[i]->row, &formats[i]);
    mlaf_embed_decode_args a = arguments(plans[i], to, 1);
    if (mlaf_embed_decode_execute(plans[i], &a, NULL, why, sizeof why)) fail_msg("%s", why);
    a.ckv_row_stride = 576;
    a.kv_scale = i ? NULL : &scale;
    const mlaf_embed_status st = mlaf_embed_decode_execute(plans[i], &a, NULL, why, sizeof why);
    assert_int_equal(st, i ? MLAF_EMBED_ARG : MLAF_EMBED_OK);
    if (i) assert_non_null(strstr(why, "ckv_row_stride is 576, must be a multiple of 16 in 656"));
  }
  mlaf_embed_close(e);
}

TEST(refuses_bad_arguments) {
  static _Alignas(16) uint32_t to[4];
  mlaf_embed *e = open_it(&both);
  const mlaf_embed_plan *plan = plan_of(e, 16, 1, 1, 1024);
  const mlaf_embed_decode_args good = arguments(plan, to, 2);
  mlaf_embed_decode_args a;
  char why[500];
  const uint64_t before = last().total;
#define BAD(change, says)                                                                     \
  a = good;                                                                                   \
  change;                                                                                     \
  assert_int_equal(mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);      \
  if (!strstr(why, says)) fail_msg("%s: %s", #change, why)
  BAD(a.batch = -1, "batch");
  BAD(a.batch = 65537, "batch");
  BAD(a.total_q = 3, "total_q");
  BAD(a.num_pages = -1, "num_pages");
  BAD(a.num_pages = 1 << 26, "num_pages");
  BAD(a.scale = 1.0f / 0.0f, "scale");
  BAD(a.scale = 1e-40f, "scale is 9.99995e-41, must be at least");
  BAD(a.q = NULL, "NULL");
  BAD(a.kv_indices = NULL, "NULL");
  BAD(a.q = (char *)to + 4, "16-byte");
  BAD(a.lse = (float *)(void *)((char *)to + 2), "4-byte");
  BAD(a.ckv_row_stride = 568, "stride");
  BAD(a.ckv_row_stride = 580, "stride");
  BAD(a.kpe = to; a.kpe_row_stride = 32, "stride");
  BAD(a.workspace_size = 100, "workspace");
  BAD(a.workspace = (char *)a.workspace + 16, "workspace");
  assert_int_equal(mlaf_embed_decode_execute(NULL, &good, NULL, NULL, 0), MLAF_EMBED_ARG);
  a = (mlaf_embed_decode_args){.batch = 0, .scale = 1};
  assert_int_equal(mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why), MLAF_EMBED_OK); /* nothing to do */
  assert_int_equal(last().total, before);
  mlaf_embed_close(e);
}

TEST(driver_failures_come_back) {
  static const char *const calls[] = {"cuInit:1:100", "cuDeviceGetCount:1:3", "cuDevicePrimaryCtxRetain:1:2"};
  mlaf_embed *e = NULL;
  void (*reset)(void);
  void *f = dlsym(driver, "fake_reset");
  memcpy(&reset, &f, sizeof f);
  char why[500];
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    const mlaf_embed_index index = index_of(&sm_90a);
    reset();
    setenv("FAKECUDA_FAIL", calls[i], 1);
    assert_int_equal(mlaf_embed_open(&index, 0, &e, why, sizeof why), MLAF_EMBED_NO_DEVICE);
    assert_null(e);
  }
  unsetenv("FAKECUDA_FAIL");
  static _Alignas(16) uint32_t to[4];
  e = open_it(&both);
  const mlaf_embed_plan *plan = plan_of(e, 16, 1, 64, 1024);
  mlaf_embed_decode_args a = arguments(plan, to, 2);
  reset();
  setenv("FAKECUDA_FAIL", "cuLaunchKernel:1:700", 1);
  assert_int_equal(mlaf_embed_decode_execute(plan, &a, NULL, why, sizeof why), MLAF_EMBED_DRIVER);
  assert_non_null(strstr(why, "driver error 700"));
  unsetenv("FAKECUDA_FAIL");
  mlaf_embed_close(e);
  assert_int_equal(leaks(), 0);
}

TESTS(setup, NULL)
