/* A projection and a prefill by the embedded loader over a fake CUDA driver: grid, cluster, shared memory, what a kernel wants
 * said before, tensor maps. What they make of their arguments is compared with the library in test_ops.c; numbers are checked by
 * embed_copy.sh. */
#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_o_proj.h"
#include "mlaf_embed_mla_prefill.h"
#include "mlaf_embed_mla_qkv_a.h"

#include <dlfcn.h>

#include "cmocka_all.h"
#include "cuda/fakecuda.h"

static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F'};
static const mlaf_embed_kernel kernels[] = {
    /* maps of W and of x; a cluster that must be asked for; room in L1 */
    {.code = elf, .symbol = "any", .threads = 256, .rows_per_wg = 64,
     .launch = {.dynamic_shared = 90000, .cluster = {16, 1, 1}, .n_maps = 2, .maps = {{1, 64, 64, 128}, {2, 64, 16, 128}},
                .flags = MLAF_EMBED_KERNEL_OVERLAPS | MLAF_EMBED_KERNEL_WANTS_L1}},
    /* as many blocks as run at once, in pairs; maps of all four */
    {.code = elf, .symbol = "huge", .threads = 384, .rows_per_wg = 128,
     .launch = {.dynamic_shared = 200000, .cluster = {2, 1, 1}, .n_maps = 4,
                .maps = {{1, 64, 64, 128}, {2, 64, 64, 128}, {3, 64, 64, 128}, {4, 64, 64, 128}},
                .flags = MLAF_EMBED_KERNEL_TURNS}},
};
static const mlaf_embed_index_op ops[] = {{"mla_qkv_a", 7}, {"mla_prefill", 10}};
static const mlaf_embed_row rows[] = {{0, {7168, 1536, 512, 64, 0, 0, 8}, 0, 1, {1}},
                                      {1, {16, 128, 64, 128, 0, 0, 1, 4, 1024, 1024}, 0, 1, {2}}};
static const mlaf_embed_target target = {"sm_90a", kernels, rows, 2, 2};
static const mlaf_embed_index both = {MLAF_EMBED_VERSION, 1, "", &target, ops, 2};

static void *driver;
static mlaf_embed *device;
static const mlaf_embed_plan *product, *attention;
static void *const at = (void *)(uintptr_t)4096;

static fake_launch last(void) {
  fake_launch (*get)(void);
  void *f = dlsym(driver, "fakecuda_last");
  memcpy(&get, &f, sizeof f);
  return get();
}

static int setup(void **state) {
  static const mlaf_embed_qkv_a_problem p = {.hidden = 7168, .q_rank = 1536, .rank = 512, .rope = 64, .tokens = 3};
  static const mlaf_embed_prefill_problem r = {.heads = 16, .nope = 128, .rope = 64, .vdim = 128, .causal = 1, .batch = 9,
                                               .tokens = 77, .ctx = 4000};
  char path[600], why[300] = "";
  snprintf(path, sizeof path, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR") ? getenv("MLAF_BUILD_DIR") : ".");
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  driver = dlopen(path, RTLD_NOW);
  const int failed = !driver || mlaf_embed_open(&both, 0, &device, why, sizeof why) ||
                     mlaf_embed_qkv_a_plan(device, &p, &product, why, sizeof why) ||
                     mlaf_embed_prefill_plan(device, &r, &attention, why, sizeof why);
  if (failed) fprintf(stderr, "%s\n", why);
  return failed;
}
static int teardown(void **state) {
  mlaf_embed_close(device);
  return 0;
}

TEST(a_projection) {
  mlaf_embed_projection_args a = {.tokens = 5, .x = at, .w = at, .y = at};
  char why[300] = "";
  if (mlaf_embed_qkv_a_execute(product, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  const fake_launch l = last();
  assert_true(l.grid[0] == 33 * 16 && l.grid[1] == 1 && l.grid[2] == 1 && l.block[0] == 256); /* 2112 outputs, 64 a cluster */
  assert_true(l.cluster[0] == 16 && l.cluster[1] == 1 && l.cluster[2] == 1 && l.shared == 90000 && l.overlaps == 1);
  assert_int_equal(l.shared_percent, 25);
  a.tokens = 0, a.x = NULL;
  assert_int_equal(mlaf_embed_qkv_a_execute(product, &a, NULL, why, sizeof why), MLAF_EMBED_OK); /* nothing to do */
  assert_int_equal(last().total, l.total);
}

TEST(a_prefill) {
  mlaf_embed_prefill_args a = {.batch = 3, .total_q = 3000, .total_k = 9000, .scale = 0.1f, .q = at, .k = at, .k_pe = at,
                               .v = at, .o = at, .cu_seqlens_q = at, .cu_seqlens_k = at};
  char why[300] = "";
  if (mlaf_embed_prefill_execute(attention, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  fake_launch l = last();
  assert_true(l.grid[0] == 132 && l.cluster[0] == 2 && l.block[0] == 384 && l.shared == 200000); /* of 26 x 16 pairs 66 */
  assert_int_equal(l.overlaps, 0);
  assert_int_equal(l.shared_percent, 0);
  a.batch = 1, a.total_q = 1, a.total_k = 0, a.k = a.v = a.k_pe = NULL; /* maps of nothing are none */
  if (mlaf_embed_prefill_execute(attention, &a, NULL, why, sizeof why)) fail_msg("%s", why);
  assert_int_equal(last().grid[0], 2 * 16);
}

TEST(says_what_is_wrong) {
  mlaf_embed_projection_args a = {.tokens = 5, .x = at, .w = at, .y = at, .norm_weight = at};
  mlaf_embed_prefill_args b = {.batch = 3, .total_q = 30, .scale = 0.1f};
  const uint64_t before = last().total;
  char why[300];
  assert_int_equal(mlaf_embed_qkv_a_execute(product, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "norm_weight is 0x1000, and the problem has none"));
  assert_int_equal(mlaf_embed_o_proj_execute(product, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "a plan of another operation, mla_qkv_a"));
  assert_int_equal(mlaf_embed_qkv_a_execute(attention, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "a plan of another operation, mla_prefill"));
  assert_int_equal(mlaf_embed_prefill_execute(attention, &b, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "q is NULL"));
  assert_int_equal(mlaf_embed_prefill_execute(product, &b, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_int_equal(last().total, before);
}

TESTS(setup, teardown)
