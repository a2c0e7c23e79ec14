/* Loading the kernel of a second form. */
#include "plan/second_kernel.h"

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

/* Gets the code from bundle, cache or compiler. The bundle's fault is reported when nothing else helps. */
static mlaf_status get_code(mlaf_ctx *ctx, mlaf_build *b, bool may_compile, int *compiles, mlaf_err *err) {
  mlaf_err why = {MLAF_OK, ""};
  if (take_bundled(ctx, b, &why)) return MLAF_OK;
  free(b->code[0]); /* read, but not what it should be */
  b->code[0] = NULL;
  mlaf_status st = build(ctx, b, may_compile, compiles, err);
  return st && why.status ? mlaf_fail_prefix(err, st, "%s; and it cannot be compiled here", why.text) : st;
}

static const mlaf_function *find(mlaf_shared *s, const mlaf_kernel_ref *kernel) {
  for (int i = 0; i < MLAF_SECOND_KERNELS; i++) {
    const mlaf_function *fn = atomic_load_explicit(&s->second[i].fn, memory_order_acquire);
    if (!fn) return NULL; /* they are filled in order */
    if (s->second[i].kernel == kernel) return fn;
  }
  return NULL;
}

const mlaf_function *const *mlaf_second_kernels(mlaf_shared *s, const mlaf_second_form *form,
                                                const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH]) {
  for (int i = 0; i < form->n_kernels; i++)
    if (!(fns[i] = find(s, &form->kernels[i]))) return NULL;
  return fns;
}

static mlaf_status load(mlaf_ctx *ctx, const mlaf_kernel_ref *kernel, bool may_compile, int *compiles, mlaf_second_loaded *out,
                        mlaf_err *err) {
  mlaf_build b = {.knob = 1, .n = 1, .refs = {*kernel}};
  mlaf_function *fn = NULL;
  snprintf(b.name, sizeof b.name, "%s", kernel->template_name);
  mlaf_status st = get_code(ctx, &b, may_compile, compiles, err);
  if (!st) st = mlaf_build_load_one(&b, mlaf_ctx_device(ctx), &out->module, &fn, err);
  mlaf_build_clear(&b);
  if (st) return st;
  out->kernel = kernel;
  atomic_store_explicit(&out->fn, fn, memory_order_release);
  return MLAF_OK;
}

mlaf_status mlaf_second_kernels_open(mlaf_ctx *ctx, const mlaf_second_form *form, bool may_compile, int *compiles,
                                     mlaf_err *err) {
  mlaf_shared *s = ctx->shared;
  for (int k = 0; k < form->n_kernels; k++) {
    int slot = 0;
    if (find(s, &form->kernels[k])) continue;
    while (slot < MLAF_SECOND_KERNELS && s->second[slot].module) slot++;
    if (slot == MLAF_SECOND_KERNELS)
      return mlaf_fail(err, MLAF_E_INTERNAL, "%s: the context has %d such kernels already", form->what, MLAF_SECOND_KERNELS);
    mlaf_status st = load(ctx, &form->kernels[k], may_compile, compiles, &s->second[slot], err);
    if (st) return mlaf_fail_prefix(err, st, "%s", form->what);
  }
  return MLAF_OK;
}

/* --- by flags --- */

static const struct {
  uint32_t flag;
  const char *name;
} flag_of[MLAF_SECOND_KINDS] = {[MLAF_SECOND_TABLES] = {MLAF_PLAN_TABLES, "MLAF_PLAN_TABLES"},
                                [MLAF_SECOND_LISTS] = {MLAF_PLAN_LISTS, "MLAF_PLAN_LISTS"},
                                [MLAF_SECOND_POOLS] = {MLAF_PLAN_POOLS, "MLAF_PLAN_POOLS"}};

static const mlaf_second_form *form_of(const mlaf_op *op, mlaf_second_kind kind) {
  for (int i = 0; op->calls->second && op->calls->second[i]; i++)
    if (op->calls->second[i]->kind == kind) return op->calls->second[i];
  return NULL;
}

uint32_t mlaf_second_flag(mlaf_second_kind kind) { return flag_of[kind].flag; }

bool mlaf_second_kernels_miss(mlaf_shared *s, const mlaf_op *op, uint32_t flags) {
  const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH];
  bool misses = false;
  for (int kind = 0; kind < MLAF_SECOND_KINDS; kind++) {
    const mlaf_second_form *form = form_of(op, (mlaf_second_kind)kind);
    misses = misses || (flags & flag_of[kind].flag && (!form || !mlaf_second_kernels(s, form, fns)));
  }
  return misses;
}

mlaf_status mlaf_second_kernels_want(mlaf_ctx *ctx, const mlaf_op *op, uint32_t flags, bool may_compile, int *compiles,
                                     mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int kind = 0; !st && kind < MLAF_SECOND_KINDS; kind++) {
    const mlaf_second_form *form = form_of(op, (mlaf_second_kind)kind);
    if (!(flags & flag_of[kind].flag)) continue;
    if (!form)
      return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: %s, and arguments of %s have no second form", flag_of[kind].name,
                       op->name);
    st = mlaf_second_kernels_open(ctx, form, may_compile, compiles, err);
  }
  return st;
}
