/* A block table served from a bundle by a process that can neither generate nor compile and has nothing in a cache: the real
 * kernels, on the emulator, with the same bytes as from page lists. */
#include "run/built.h"
#include "plan/ctx.h"
#include "mlaforge/mlaforge.h"
#include "said.h"

enum { B = 3, HEADS = 5, RANK = 64, WIDE = RANK + 32, PAGE = 16, PAGES = 9, WIDTH = 5, O = B * HEADS * RANK };
#define GRID "--heads 5 --rank 64 --rope 32 --page-size 16 --batch 1,8 --ctx 64,512"
#define INSIDE "mla_decode:h5,r64,p32,q1,bf16,page16,b2,s100"

static char dir[64];

static int setup(void **state) {
  need_compiler("gfx942");
  built_cache();
  snprintf(dir, sizeof dir, "/tmp/mlaf-bundled-XXXXXX");
  if (!mkdtemp(dir)) return -1;
  char *command = mlaf_format("'%s/mlaforge' generate " GRID " --targets gfx942 --out '%s/bundle' >'%s/log' 2>&1 || "
                              "{ cat '%s/log' >&2; false; }", getenv("MLAF_BUILD_DIR"), dir, dir, dir);
  const int failed = system(command);
  free(command);
  return failed;
}
static int teardown(void **state) {
  char *command = mlaf_format("rm -rf '%s'", dir);
  const int failed = system(command);
  free(command);
  return failed;
}

static void *put(mlaf_ctx *ctx, const void *data, size_t size) {
  void *p = NULL;
  assert_int_equal(mlaf_mem_alloc(ctx, size, &p), MLAF_OK);
  assert_int_equal(mlaf_mem_write(ctx, p, data, size), MLAF_OK);
  return p;
}

static mlaf_ctx *open_ctx(void) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_ctx *ctx = NULL;
  char why[1000] = "", *bundle = mlaf_format("%s/bundle", dir), *cache = mlaf_format("%s/nothing-cached", dir);
  o.device = "emu:gfx942", o.bundle = bundle, o.gen_root = "/nonexistent", o.cache_dir = cache;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  free(bundle);
  free(cache);
  return ctx;
}

static void run(mlaf_ctx *ctx, const mlaf_plan *plan, const mlaf_execute_args *a, uint16_t o[O]) {
  assert_int_equal(mlaf_mem_fill(ctx, a->o, 0xff, O * sizeof *o), MLAF_OK);
  assert_true(mlaf_execute_workspace_size(plan, a) <= a->workspace_size);
  if (mlaf_execute(plan, a, NULL)) fail_msg("%s", said(ctx));
  assert_int_equal(mlaf_mem_read(ctx, o, a->o, O * sizeof *o), MLAF_OK);
}

TEST(serves_block_tables) {
  static const int32_t lengths[B] = {70, 0, 33}, table[B * WIDTH] = {8, 1, 3, 0, 5, -1, -1, -1, -1, -1, 2, 7, 4, -1, -1};
  static const int32_t qo[B + 1] = {0, 1, 2, 3}, kv[B + 1] = {0, 5, 5, 8}, ids[] = {8, 1, 3, 0, 5, 2, 7, 4}, last[B] = {6, 0, 1};
  static uint16_t numbers[PAGES * PAGE * WIDE], by_table[O], by_lists[O];
  mlaf_ctx *ctx = open_ctx();
  mlaf_plan *plan = NULL;
  mlaf_problem p;
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  opts.flags = MLAF_PLAN_NO_COMPILE | MLAF_PLAN_TABLES;
  assert_int_equal(mlaf_problem_parse(INSIDE, &p, NULL, 0), MLAF_OK);
  if (mlaf_plan_create(ctx, &p, &opts, &plan)) fail_msg("%s", said(ctx));
  assert_null(ctx->gen);
  for (uint32_t i = 0; i < sizeof numbers / 2; i++) numbers[i] = (uint16_t)(0x3f00 + (i * 2654435761u >> 25)); /* 0.5..1 */
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.ckv = put(ctx, numbers, sizeof numbers), a.q = put(ctx, numbers, B * HEADS * WIDE * 2);
  a.o = put(ctx, by_table, sizeof by_table);
  a.num_pages = PAGES, a.batch = a.total_q = B, a.scale = 0.1f;
  a.workspace_size = mlaf_execute_workspace_size(plan, &a) + 4096;
  assert_int_equal(mlaf_mem_alloc(ctx, a.workspace_size, &a.workspace), MLAF_OK);
  assert_int_equal(mlaf_mem_fill(ctx, a.workspace, 0x3f, a.workspace_size), MLAF_OK); /* what lies there is nobody's */
  void *const tables[] = {put(ctx, table, sizeof table), put(ctx, lengths, sizeof lengths)};
  void *const lists[] = {put(ctx, qo, sizeof qo), put(ctx, kv, sizeof kv), put(ctx, ids, sizeof ids),
                         put(ctx, last, sizeof last)};
  mlaf_execute_args b = a;
  a.block_table = tables[0], a.seq_lens = tables[1], a.block_table_width = a.block_table_stride = WIDTH;
  b.qo_indptr = lists[0], b.kv_indptr = lists[1], b.kv_indices = lists[2], b.kv_last_page_lens = lists[3];
  run(ctx, plan, &a, by_table);
  run(ctx, plan, &b, by_lists);
  assert_memory_equal(by_table, by_lists, sizeof by_table);
  assert_true(by_table[0] > 0x3f00 && by_table[0] < 0x3f80); /* a mean of numbers between 0.5 and 1 */
  for (int i = HEADS * RANK; i < 2 * HEADS * RANK; i++) assert_int_equal(by_table[i], 0); /* the empty request */
  void *const all[] = {(void *)a.ckv, (void *)a.q, a.o,      a.workspace, tables[0],
                       tables[1],     lists[0],    lists[1], lists[2],    lists[3]};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mlaf_mem_free(ctx, all[i]);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

TESTS(setup, teardown)
