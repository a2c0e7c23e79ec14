/* Loading the kernel that reads block tables. */
#include "plan/tables_kernel.h"

#include <stdlib.h>

#include "ops/mla_decode/block_tables.h"
#include "run/build.h"

/* *why: why not. */
static bool take_bundled(const mlaf_ctx *ctx, mlaf_build *b, mlaf_err *why) {
  const char *target = mlaf_info(mlaf_ctx_device(ctx))->target;
  const mlaf_bundle_kernel *k = ctx->bundle ? mlaf_bundle_kernel_of(ctx->bundle, target, b->refs[0].symbol) : NULL;
  void *code = NULL;
  if (k) return !mlaf_bundle_code(ctx->bundle, k, &code, why) && !mlaf_build_take(b, 0, code, k->size, why);
  if (ctx->bundle)
    mlaf_fail(why, MLAF_E_NOT_COMPILED, "the bundle '%s' has none for %s, since an earlier version made it: make it again with "
              "`mlaforge generate`", ctx->bundle->dir, target);
  return false;
}

static mlaf_status build(mlaf_ctx *ctx, mlaf_build *b, bool may_compile, int *compiles, mlaf_err *err) {
  const char *target = mlaf_info(mlaf_ctx_device(ctx))->target, *toolchain = mlaf_ctx_toolchain(ctx);
  mlaf_gen *gen;
  mlaf_hashes_load(&ctx->hashes, mlaf_compiler_cache_dir(ctx->compiler), ctx->gen_root);
  if (mlaf_build_take_known(b, ctx->compiler, &ctx->hashes, target, toolchain)) return MLAF_OK;
  mlaf_status st = mlaf_ctx_gen(ctx, &gen, err);
  if (!st) st = mlaf_build_now(b, gen, ctx->compiler, target, may_compile, compiles, err);
  if (!st) mlaf_build_remember(b, &ctx->hashes, target, toolchain);
  return st;
}

/* What is wrong with the bundle's is said when nothing else helps. */
static mlaf_status get_code(mlaf_ctx *ctx, mlaf_build *b, bool may_compile, int *compiles, mlaf_err *err) {
  mlaf_err why = {MLAF_OK, ""};
  if (take_bundled(ctx, b, &why)) return MLAF_OK;
  free(b->code[0]); /* read, but not what it should be */
  b->code[0] = NULL;
  mlaf_status st = build(ctx, b, may_compile, compiles, err);
  return st && why.status ? mlaf_fail_prefix(err, st, "%s; and it cannot be compiled here", why.text) : st;
}

mlaf_status mlaf_tables_kernel_open(mlaf_ctx *ctx, bool may_compile, int *compiles, mlaf_err *err) {
  mlaf_shared *s = ctx->shared;
  mlaf_device *dev = mlaf_ctx_device(ctx);
  mlaf_build b = {.name = "block_tables", .knob = 1, .n = 1, .refs = {*mlaf_block_tables_kernel()}};
  mlaf_module *module = NULL;
  mlaf_function *fn = NULL;
  if (atomic_load(&s->tables)) return MLAF_OK;
  mlaf_status st = get_code(ctx, &b, may_compile, compiles, err);
  if (!st) st = mlaf_build_load_one(&b, dev, &module, &fn, err);
  mlaf_build_clear(&b);
  if (!st) {
    s->tables_module = module;
    atomic_store(&s->tables, fn);
    return MLAF_OK;
  }
  return mlaf_fail_prefix(err, st, "the kernel that reads block tables");
}
