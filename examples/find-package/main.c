/* One decode step through the library: device memory from the context, plan from its registry. With V all ones O is all ones.
 * With --no-compile kernels come from a cache or a bundle ($MLAF_BUNDLE), or the plan fails and says what would help. */
#include <mlaforge/mlaforge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 16, RANK = 512, COLS = 576, PAGE = 64, BATCH = 3, PAGES = 4 };

static int failed(mlaf_ctx *ctx, const char *what) {
  char why[4096];
  mlaf_ctx_last_message(ctx, why, sizeof why);
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

static void *to_device(mlaf_ctx *ctx, const void *data, size_t size) {
  void *p = NULL;
  if (mlaf_mem_alloc(ctx, size, &p) || (data && mlaf_mem_write(ctx, p, data, size))) exit(failed(ctx, "memory"));
  return p;
}

int main(int argc, char **argv) {
  static uint16_t q[BATCH * HEADS * COLS], cache[PAGES * PAGE * COLS], o[BATCH * HEADS * RANK];
  const int32_t qo[] = {0, 1, 2, 3}, kv[] = {0, 1, 3, 4}, indices[] = {2, 0, 3, 1}, last[] = {64, 10, 1};
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  mlaf_ctx_opts opts = MLAF_CTX_OPTS_INIT;
  char why[4096] = "";
  mlaf_plan_opts plan_opts = MLAF_PLAN_OPTS_INIT;
  opts.device = getenv("MLAF_DEVICE"); /* NULL: the first GPU; emu:gfx942 runs on the CPU */
  opts.bundle = getenv("MLAF_BUNDLE");
  if (argc > 1 && !strcmp(argv[1], "--no-compile")) plan_opts.flags = MLAF_PLAN_NO_COMPILE;
  if (mlaf_ctx_create(&opts, &ctx, why, sizeof why)) {
    fprintf(stderr, "no context: %s\n", why);
    return 1;
  }
  mlaf_mla_decode_problem problem = MLAF_MLA_DECODE_PROBLEM_INIT; /* 16 heads, rank 512, rope 64, bf16, pages of 64 */
  problem.batch = BATCH;
  problem.ctx = 128;
  if (mlaf_mla_decode_plan_get(ctx, &problem, &plan_opts, &plan)) return failed(ctx, "plan");
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) q[i] = (uint16_t)(0x3c00 + i % 97);     /* around 0.01 */
  for (size_t i = 0; i < sizeof cache / sizeof *cache; i++) cache[i] = 0x3f80;              /* 1.0 */
  mlaf_mla_decode_args a = MLAF_MLA_DECODE_ARGS_INIT;
  a.batch = BATCH;
  a.total_q = BATCH;
  a.num_pages = PAGES;
  a.scale = 0.07f;
  a.q = to_device(ctx, q, sizeof q);
  a.ckv = to_device(ctx, cache, sizeof cache);
  a.qo_indptr = to_device(ctx, qo, sizeof qo);
  a.kv_indptr = to_device(ctx, kv, sizeof kv);
  a.kv_indices = to_device(ctx, indices, sizeof indices);
  a.kv_last_page_lens = to_device(ctx, last, sizeof last);
  a.o = to_device(ctx, NULL, sizeof o);
  a.workspace_size = mlaf_plan_workspace_size(plan, a.total_q);
  a.workspace = to_device(ctx, NULL, a.workspace_size);
  if (mlaf_mla_decode_execute(plan, &a, NULL) || mlaf_sync(ctx, NULL) || mlaf_mem_read(ctx, o, a.o, sizeof o))
    return failed(ctx, "execute");

  size_t wrong = 0;
  for (size_t i = 0; i < sizeof o / sizeof *o; i++) wrong += o[i] != 0x3f80;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_query(plan, &info);
  printf("mlaforge %s on %s: %s (%s), %zu of %zu outputs wrong\n", mlaf_version(), mlaf_ctx_device_name(ctx), info.variant,
         info.code, wrong, sizeof o / sizeof *o);
  const void *all[] = {a.q, a.ckv, a.qo_indptr, a.kv_indptr, a.kv_indices, a.kv_last_page_lens, a.o, a.workspace};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mlaf_mem_free(ctx, (void *)all[i]);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
  return wrong != 0;
}
