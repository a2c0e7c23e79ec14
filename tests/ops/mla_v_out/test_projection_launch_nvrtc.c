/* A projection on CUDA gets the shared memory that its kernel asks for, once: over a fake driver, which refuses a launch with
 * more than was granted, and runs nothing. */
#include "mlaforge/mlaforge.h"
#include "mlaforge/projection.h"
#include "run/built.h"
#include "said.h"

TEST(shared_memory_is_asked_for_once) {
  char path[600], why[4096] = "";
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  void *memory = NULL;
  need_compiler("sm_90a");
  built_cache();
  snprintf(path, sizeof path, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR"));
  setenv("MLAF_CUDA_LIBRARY", path, 1);
  setenv("FAKECUDA_ANY", "1", 1);
  o.device = "cuda";
  o.flags = MLAF_CTX_NO_DB;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  assert_int_equal(mlaf_plan_for(ctx, "mla_o_proj:d7168,h16,v128,bf16,t128", NULL, &plan), MLAF_OK);
  assert_int_equal(mlaf_mem_alloc(ctx, 4096, &memory), MLAF_OK);
  mlaf_projection_args a = MLAF_PROJECTION_ARGS_INIT;
  a.tokens = 128;
  a.x = a.w = a.y = memory; /* nothing is read */
  if (mlaf_o_proj_execute(plan, &a, NULL)) fail_msg("%s", said(ctx));
  mlaf_mem_free(ctx, memory);
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

TESTS(NULL, NULL)
