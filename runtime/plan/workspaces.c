/* Workspaces by stream: grown, never freed before the context. */
#include "plan/workspaces.h"

#include <stdlib.h>

#include "plan/ctx.h"

void mlaf_workspaces_init(mlaf_workspaces *w) {
  pthread_mutex_init(&w->lock, NULL);
  w->newest = NULL;
}

void mlaf_workspaces_clear(mlaf_workspaces *w, mlaf_device *dev) {
  for (mlaf_workspace_kept *k = w->newest, *older; k; k = older) {
    older = k->older;
    mlaf_ops(dev)->mem_free(dev, k->memory, NULL);
    free(k);
  }
  pthread_mutex_destroy(&w->lock);
}

/* The largest that belongs to a stream; NULL: none. */
static mlaf_workspace_kept *find(const mlaf_workspaces *w, const void *stream) {
  mlaf_workspace_kept *best = NULL;
  for (mlaf_workspace_kept *k = w->newest; k; k = k->older)
    if (k->stream == stream && (!best || k->size > best->size)) best = k;
  return best;
}

static mlaf_status may_allocate(mlaf_device *dev, void *stream, size_t bytes, size_t have, mlaf_err *err) {
  bool capturing = false;
  if (stream == MLAF_ANY_STREAM || !mlaf_ops(dev)->is_capturing) return MLAF_OK;
  mlaf_status st = mlaf_ops(dev)->is_capturing(dev, stream, &capturing, err);
  if (st || !capturing) return st;
  return mlaf_fail(err, MLAF_E_ARG, "this launch needs a workspace of %zu bytes, its stream has %zu and is being captured, when "
                   "nothing can be allocated: before the capture call mlaf_workspace_reserve (Context.reserve_workspace) for %zu "
                   "bytes, or hand over a workspace", bytes, have, bytes);
}

/* With the lock held. */
static mlaf_status grow(mlaf_ctx *ctx, void *stream, size_t bytes, size_t have, mlaf_workspace_kept **out, mlaf_err *err) {
  mlaf_device *dev = mlaf_ctx_device(ctx);
  mlaf_status st = may_allocate(dev, stream, bytes, have, err);
  if (st) return st;
  mlaf_workspace_kept *k = calloc(1, sizeof *k);
  if (!k) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a workspace");
  k->stream = stream;
  k->size = bytes > 2 * have ? bytes : 2 * have;
  st = mlaf_ops(dev)->mem_alloc(dev, k->size, &k->memory, err);
  if (st && k->size > bytes) {
    k->size = bytes; /* no room for twice as much */
    st = mlaf_ops(dev)->mem_alloc(dev, k->size, &k->memory, err);
  }
  if (st) {
    free(k);
    return mlaf_fail_prefix(err, st, "a workspace");
  }
  k->older = ctx->workspaces.newest;
  *out = ctx->workspaces.newest = k;
  return MLAF_OK;
}

/* The stream's own, else one that waits for whoever comes, else a new one. With the lock held. */
static mlaf_status take(mlaf_ctx *ctx, void *stream, size_t bytes, mlaf_workspace_kept **out, mlaf_err *err) {
  mlaf_workspace_kept *own = find(&ctx->workspaces, stream);
  *out = own;
  if (!bytes || (own && own->size >= bytes)) return MLAF_OK;
  if (stream != MLAF_ANY_STREAM)
    for (mlaf_workspace_kept *k = ctx->workspaces.newest; k; k = k->older)
      if (k->stream == MLAF_ANY_STREAM && k->size >= bytes) {
        k->stream = stream;
        *out = k;
        return MLAF_OK;
      }
  return grow(ctx, stream, bytes, own ? own->size : 0, out, err);
}

mlaf_status mlaf_workspace_get(mlaf_ctx *ctx, void *stream, size_t bytes, void **out, size_t *size) {
  mlaf_err err;
  mlaf_workspace_kept *k = NULL;
  if (!ctx) return MLAF_E_ARG;
  if (!out || stream == MLAF_ANY_STREAM) {
    mlaf_fail(&err, MLAF_E_ARG, "mlaf_workspace_get: out is NULL, or no stream is named");
    return mlaf_shared_report(ctx->shared, &err);
  }
  pthread_mutex_lock(&ctx->workspaces.lock);
  mlaf_status st = take(ctx, stream, bytes, &k, &err);
  pthread_mutex_unlock(&ctx->workspaces.lock);
  err.status = st;
  if (st) return mlaf_shared_report(ctx->shared, &err);
  *out = k ? k->memory : NULL;
  if (size) *size = k ? k->size : 0;
  return MLAF_OK;
}

mlaf_status mlaf_workspace_reserve(mlaf_ctx *ctx, void *stream, size_t bytes) {
  mlaf_err err;
  mlaf_workspace_kept *k;
  mlaf_status st = MLAF_OK;
  if (!ctx) return MLAF_E_ARG;
  pthread_mutex_lock(&ctx->workspaces.lock);
  if (bytes && stream == MLAF_ANY_STREAM) st = grow(ctx, stream, bytes, 0, &k, &err); /* one more, whoever waits */
  else if (bytes) st = take(ctx, stream, bytes, &k, &err);
  pthread_mutex_unlock(&ctx->workspaces.lock);
  err.status = st;
  return st ? mlaf_shared_report(ctx->shared, &err) : MLAF_OK;
}
