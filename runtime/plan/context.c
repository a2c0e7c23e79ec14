/* Opening and closing a context, its messages, and device memory for simple callers. */
#include "base/env.h"
#include "plan/ctx.h"
#include "mlaforge/mlaforge.h"

#define VERSION_TEXT "0.1.0"

const char *mlaf_version(void) { return VERSION_TEXT; }
int mlaf_version_number(void) { return MLAF_VERSION_NUMBER; }

/* --- what plans share --- */

static mlaf_shared *shared_new(void) {
  mlaf_shared *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  atomic_init(&b->refs, 1);
  pthread_mutex_init(&b->message_lock, NULL);
  mlaf_workspaces_init(&b->workspaces);
  return b;
}

void mlaf_shared_release(mlaf_shared *b) {
  if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
  for (int i = 0; i < MLAF_SECOND_KERNELS; i++)
    if (b->second[i].module) mlaf_ops(b->dev)->module_unload(b->dev, b->second[i].module);
  mlaf_workspaces_clear(&b->workspaces, b->dev);
  mlaf_device_close(b->dev);
  pthread_mutex_destroy(&b->message_lock);
  free(b);
}

mlaf_status mlaf_shared_report(mlaf_shared *b, const mlaf_err *err) {
  pthread_mutex_lock(&b->message_lock);
  b->message = *err;
  pthread_mutex_unlock(&b->message_lock);
  return err->status;
}

mlaf_status mlaf_ctx_last_message(const mlaf_ctx *ctx, char *out, size_t out_size) {
  if (!ctx || (out_size && !out)) return MLAF_E_ARG;
  pthread_mutex_lock(&ctx->shared->message_lock);
  if (out_size) snprintf(out, out_size, "%s", ctx->shared->message.text);
  mlaf_status st = ctx->shared->message.status;
  pthread_mutex_unlock(&ctx->shared->message_lock);
  return st;
}

/* --- create and destroy --- */

/* Our own copy of the options: a caller built against another header may pass a shorter or a longer struct. */
static mlaf_status read_opts(const mlaf_ctx_opts *in, mlaf_ctx_opts *out, mlaf_err *err) {
  *out = (mlaf_ctx_opts)MLAF_CTX_OPTS_INIT;
  if (!in) return MLAF_OK;
  if (in->struct_size < sizeof *in || in->struct_size > 4096)
    return mlaf_fail(err, MLAF_E_ARG,
                     "mlaf_ctx_opts: struct_size is %u, must be at least %zu: start from MLAF_CTX_OPTS_INIT",
                     in->struct_size, sizeof *in);
  for (const char *s = (const char *)(in + 1), *end = (const char *)in + in->struct_size; s < end; s++)
    if (*s) return mlaf_fail(err, MLAF_E_ARG, "mlaf_ctx_opts: a field this library does not know is set");
  const uint32_t known = MLAF_CTX_NO_DB | MLAF_CTX_DB_READ_ONLY | MLAF_CTX_NO_CACHE;
  if (in->flags & ~known) return mlaf_fail(err, MLAF_E_ARG, "mlaf_ctx_opts: unknown flags 0x%x", in->flags & ~known);
  if ((unsigned)in->log_level > MLAF_LOG_DEBUG)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_ctx_opts: log_level is %d, must be 0..%d", (int)in->log_level,
                     MLAF_LOG_DEBUG);
  *out = *in;
  return MLAF_OK;
}

/* One that is named has to work: whoever ships kernels ahead wants to know when they are not used. */
static mlaf_status open_bundle(mlaf_ctx *ctx, const char *dir, mlaf_err *err) {
  const char *target = mlaf_info(mlaf_ctx_device(ctx))->target;
  if (!dir) dir = getenv("MLAF_BUNDLE");
  if (!dir || !*dir) return MLAF_OK;
  mlaf_status st = mlaf_bundle_open(dir, &ctx->bundle, err);
  if (st || mlaf_bundle_has_target(ctx->bundle, target)) return st;
  return mlaf_fail(err, MLAF_E_ARG, "the bundle '%s' has no kernels for this device's target %s: make one with "
                   "`mlaforge generate --targets %s --out DIR ...`", dir, target, target);
}

/* No database is a slower life, not an error. */
static void open_db(mlaf_ctx *ctx, const char *path) {
  if (ctx->bundle && !path && !getenv("MLAF_DB")) {
    mlaf_fail(&ctx->db_why, MLAF_E_DB, "the bundle '%s' serves this context; a database is used only when one is named "
              "(db_path, MLAF_DB)", ctx->bundle->dir);
    return;
  }
  if (ctx->flags & MLAF_CTX_NO_DB) {
    mlaf_fail(&ctx->db_why, MLAF_E_DB, "switched off by MLAF_CTX_NO_DB");
    return;
  }
  if (!mlaf_db_open_layered(path, ctx->flags & MLAF_CTX_DB_READ_ONLY, &ctx->log, &ctx->db, &ctx->db_why)) return;
  mlaf_log_line(&ctx->log, MLAF_LOG_WARN, "going on without a tuning database: %s", ctx->db_why.text);
  /* the site's and the shipped choices serve all the same */
  if (mlaf_db_open_outer("the user's database could not be opened", &ctx->log, &ctx->db, NULL)) ctx->db = NULL;
}

static mlaf_status open_parts(mlaf_ctx *ctx, const mlaf_ctx_opts *o, mlaf_err *err) {
  const mlaf_compiler_opts compiler = {
      .cache_dir = o->cache_dir,
      .worker_path = o->worker_path,
      .rocm_prefix = o->rocm_prefix,
      .jobs = o->jobs,
      .timeout_s = o->compile_timeout_s,
      .no_cache = o->flags & MLAF_CTX_NO_CACHE,
  };
  const char *ahead;
  mlaf_status st = mlaf_env_word("MLAF_LOAD_AHEAD", "0 1", "1", &ahead, err);
  if (st) return st;
  ctx->loads_ahead = *ahead == '1';
  ctx->gen_root = mlaf_strdup(o->gen_root);
  if (o->gen_root && !ctx->gen_root) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a context");
  st = mlaf_device_open(o->device, &ctx->log, &ctx->shared->dev, err);
  if (!st) st = mlaf_compiler_open(&compiler, &ctx->log, &ctx->compiler, err);
  if (!st) st = open_bundle(ctx, o->bundle, err);
  if (!st) open_db(ctx, o->db_path);
  return st;
}

/* Loads what every first plan needs, whatever its problem: kernels that were wanted lately, the hashes that are known, who the
 * compiler is, the texts of tuning. A context takes the driver a quarter of a second; a request that waits for its plan should
 * not wait for this, too. What is missing is missed, and said, by the plan. */
static void get_ready(mlaf_ctx *ctx) {
  if (ctx->bundle) return;
  mlaf_recent_load(ctx);
  mlaf_hashes_load(&ctx->hashes, mlaf_compiler_cache_dir(ctx->compiler), ctx->gen_root);
  mlaf_ctx_toolchain(ctx);
  for (int i = 0; ctx->db && i < MLAF_LAYER_COUNT; i++) {
    mlaf_db *layer = mlaf_db_layer(ctx->db, (mlaf_choice_layer)i);
    if (layer) mlaf_db_get_ready(layer, mlaf_info(mlaf_ctx_device(ctx)));
  }
}

mlaf_status mlaf_ctx_create(const mlaf_ctx_opts *opts, mlaf_ctx **out, char *why, size_t why_size) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_ctx_opts o;
  mlaf_ctx *ctx = NULL;
  mlaf_status st = out ? read_opts(opts, &o, &err) : mlaf_fail(&err, MLAF_E_ARG, "mlaf_ctx_create: out is NULL");
  if (!st && (!(ctx = calloc(1, sizeof *ctx)) || !(ctx->shared = shared_new())))
    st = mlaf_fail(&err, MLAF_E_NOMEM, "no memory for a context");
  if (!st) {
    pthread_mutex_init(&ctx->lock, NULL);
    mlaf_registry_init(&ctx->registry);
    ctx->log = (mlaf_log){o.log, o.log_user, o.log_level};
    ctx->flags = o.flags;
    st = open_parts(ctx, &o, &err);
  }
  if (!st) {
    get_ready(ctx);
    *out = ctx;
    return MLAF_OK;
  }
  if (why && why_size) snprintf(why, why_size, "%s", err.text);
  if (ctx && !ctx->shared) free(ctx);
  else mlaf_ctx_destroy(ctx);
  return st;
}

void mlaf_ctx_destroy(mlaf_ctx *ctx) {
  if (!ctx) return;
  mlaf_registry_clear(&ctx->registry);
  if (ctx->shared->dev) mlaf_recent_clear(&ctx->recent, ctx->shared->dev);
  mlaf_gen_close(ctx->gen);
  mlaf_db_close(ctx->db);
  mlaf_compiler_close(ctx->compiler);
  mlaf_bundle_close(ctx->bundle);
  mlaf_hashes_free(&ctx->hashes);
  mlaf_shared_release(ctx->shared);
  pthread_mutex_destroy(&ctx->lock);
  free(ctx->gen_root);
  free(ctx);
}

/* --- what it stands on --- */

const char *mlaf_ctx_device_id(const mlaf_ctx *ctx) { return ctx ? mlaf_info(mlaf_ctx_device(ctx))->id : ""; }
const char *mlaf_ctx_device_name(const mlaf_ctx *ctx) { return ctx ? mlaf_info(mlaf_ctx_device(ctx))->name : ""; }
const char *mlaf_ctx_target(const mlaf_ctx *ctx) { return ctx ? mlaf_info(mlaf_ctx_device(ctx))->target : ""; }

int mlaf_ctx_ordinal(const mlaf_ctx *ctx) { return ctx ? mlaf_info(mlaf_ctx_device(ctx))->ordinal : -1; }

mlaf_status mlaf_ctx_db_status(const mlaf_ctx *ctx, char *why, size_t why_size) {
  if (!ctx) return MLAF_E_ARG;
  if (why && why_size) snprintf(why, why_size, "%s", ctx->db_why.text);
  return ctx->db_why.status;
}

mlaf_status mlaf_ctx_gen(mlaf_ctx *ctx, mlaf_gen **out, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  if (!ctx->gen) st = mlaf_gen_open_memo(ctx->gen_root, mlaf_compiler_cache_dir(ctx->compiler), &ctx->gen, err);
  if (!st) *out = ctx->gen;
  return st;
}

const char *mlaf_ctx_toolchain(mlaf_ctx *ctx) {
  const char *id = NULL;
  return mlaf_compiler_identity_for(ctx->compiler, mlaf_ctx_target(ctx), &id, NULL) ? NULL : id;
}

/* --- device memory --- */

/* Remember a failure of a device call. */
static mlaf_status done(mlaf_ctx *ctx, mlaf_status st, mlaf_err *err) {
  if (st) err->status = st;
  return st ? mlaf_shared_report(ctx->shared, err) : MLAF_OK;
}

static mlaf_status null_argument(mlaf_ctx *ctx, const char *function) {
  mlaf_err err;
  if (!ctx) return MLAF_E_ARG;
  mlaf_fail(&err, MLAF_E_ARG, "%s: a pointer is NULL", function);
  return mlaf_shared_report(ctx->shared, &err);
}

mlaf_status mlaf_mem_alloc(mlaf_ctx *ctx, size_t bytes, void **out) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx || !out) return null_argument(ctx, "mlaf_mem_alloc");
  /* One byte for nothing: a pointer that can be passed around and freed like any other. */
  return done(ctx, mlaf_ops(mlaf_ctx_device(ctx))->mem_alloc(mlaf_ctx_device(ctx), bytes ? bytes : 1, out, &err), &err);
}

mlaf_status mlaf_mem_free(mlaf_ctx *ctx, void *ptr) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx) return MLAF_E_ARG;
  return ptr ? done(ctx, mlaf_ops(mlaf_ctx_device(ctx))->mem_free(mlaf_ctx_device(ctx), ptr, &err), &err) : MLAF_OK;
}

mlaf_status mlaf_mem_write(mlaf_ctx *ctx, void *dst, const void *src, size_t bytes) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx || (bytes && (!dst || !src))) return null_argument(ctx, "mlaf_mem_write");
  return bytes ? done(ctx, mlaf_ops(mlaf_ctx_device(ctx))->mem_write(mlaf_ctx_device(ctx), dst, src, bytes, &err), &err)
               : MLAF_OK;
}

mlaf_status mlaf_mem_read(mlaf_ctx *ctx, void *dst, const void *src, size_t bytes) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx || (bytes && (!dst || !src))) return null_argument(ctx, "mlaf_mem_read");
  return bytes ? done(ctx, mlaf_ops(mlaf_ctx_device(ctx))->mem_read(mlaf_ctx_device(ctx), dst, src, bytes, &err), &err)
               : MLAF_OK;
}

mlaf_status mlaf_mem_fill(mlaf_ctx *ctx, void *dst, int byte, size_t bytes) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx || (bytes && !dst)) return null_argument(ctx, "mlaf_mem_fill");
  return bytes ? done(ctx, mlaf_ops(mlaf_ctx_device(ctx))->mem_fill(mlaf_ctx_device(ctx), dst, byte, bytes, &err), &err)
               : MLAF_OK;
}

mlaf_status mlaf_mem_register(mlaf_ctx *ctx, void *host, size_t bytes, uint32_t flags) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx || !host) return null_argument(ctx, "mlaf_mem_register");
  mlaf_device *dev = mlaf_ctx_device(ctx);
  if (flags & ~(uint32_t)MLAF_MEM_READ_ONLY)
    return done(ctx, mlaf_fail(&err, MLAF_E_ARG, "mlaf_mem_register: flags are 0x%x, must be 0 or MLAF_MEM_READ_ONLY", flags),
                &err);
  if (!mlaf_ops(dev)->mem_register)
    return done(ctx, mlaf_fail(&err, MLAF_E_ARG, "mlaf_mem_register: kernels on %s reach device memory only: copy it there "
                               "(mlaf_mem_alloc, mlaf_mem_write)", mlaf_ops(dev)->name), &err);
  return done(ctx, mlaf_ops(dev)->mem_register(dev, host, bytes, flags & MLAF_MEM_READ_ONLY, &err), &err);
}

mlaf_status mlaf_mem_unregister(mlaf_ctx *ctx, void *host, size_t bytes) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx || !host) return null_argument(ctx, "mlaf_mem_unregister");
  mlaf_device *dev = mlaf_ctx_device(ctx);
  if (!mlaf_ops(dev)->mem_unregister)
    return done(ctx, mlaf_fail(&err, MLAF_E_ARG, "mlaf_mem_unregister: nothing can be registered on %s", mlaf_ops(dev)->name),
                &err);
  return done(ctx, mlaf_ops(dev)->mem_unregister(dev, host, bytes, &err), &err);
}

mlaf_status mlaf_sync(mlaf_ctx *ctx, void *stream) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx) return MLAF_E_ARG;
  return done(ctx, mlaf_ops(mlaf_ctx_device(ctx))->sync(mlaf_ctx_device(ctx), stream, &err), &err);
}
