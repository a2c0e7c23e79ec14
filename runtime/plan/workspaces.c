/* Workspaces by stream: lent to one call at a time, grown, never freed before their context and its plans. */
#include "plan/workspaces.h"

#include "plan/ctx.h"

void mlaf_workspaces_init(mlaf_workspaces *w) {
  pthread_mutex_init(&w->lock, NULL);
  for (int i = 0; i < MLAF_LANE_BUCKETS; i++) atomic_init(&w->lanes[i], NULL);
  w->spare = NULL;
  w->newest = NULL;
}

static void free_lanes(mlaf_lane *l) {
  for (mlaf_lane *next; l; l = next) {
    next = l->next;
    pthread_mutex_destroy(&l->lock);
    free(l);
  }
}

void mlaf_workspaces_clear(mlaf_workspaces *w, mlaf_device *dev) {
  for (mlaf_workspace_kept *k = w->newest, *older; k; k = older) {
    older = k->older;
    mlaf_ops(dev)->mem_free(dev, k->memory, NULL);
    free(k);
  }
  for (int i = 0; i < MLAF_LANE_BUCKETS; i++)
    free_lanes(atomic_load(&w->lanes[i]));
  free_lanes(w->spare);
  pthread_mutex_destroy(&w->lock);
}

/* --- lanes --- */

/* A number that no other thread of the process has or had. */
static uint64_t this_thread(void) {
  static atomic_uint_fast64_t numbers;
  static _Thread_local uint64_t mine;
  if (!mine) mine = atomic_fetch_add(&numbers, 1) + 1;
  return mine;
}

static mlaf_lane *find_lane(_Atomic(mlaf_lane *) *bucket, const void *stream, uint64_t thread) {
  mlaf_lane *l = atomic_load_explicit(bucket, memory_order_acquire);
  while (l && (l->stream != stream || l->thread != thread)) l = l->next;
  return l;
}

static mlaf_lane *lane_new(void) {
  mlaf_lane *l = calloc(1, sizeof *l);
  if (!l) return NULL;
  atomic_init(&l->holder, 0);
  pthread_mutex_init(&l->lock, NULL);
  return l;
}

/* One that a reservation made, else a new one; NULL: no memory. The lock of all must be held. */
static mlaf_lane *add_lane(mlaf_workspaces *w, _Atomic(mlaf_lane *) *bucket, void *stream, uint64_t thread) {
  mlaf_lane *l = w->spare ? w->spare : lane_new();
  if (!l) return NULL;
  if (l == w->spare) w->spare = l->next;
  l->stream = stream;
  l->thread = thread;
  l->next = atomic_load(bucket);
  atomic_store_explicit(bucket, l, memory_order_release);
  return l;
}

/* NULL: no memory. */
static mlaf_lane *lane_of(mlaf_workspaces *w, void *stream) {
  const uint64_t thread = stream == MLAF_STREAM_PER_THREAD ? this_thread() : 0;
  const uint64_t hash = ((uint64_t)(uintptr_t)stream ^ thread << 32) * UINT64_C(0x9e3779b97f4a7c15);
  _Atomic(mlaf_lane *) *bucket = &w->lanes[hash / (UINT64_MAX / MLAF_LANE_BUCKETS + 1)];
  mlaf_lane *l = find_lane(bucket, stream, thread);
  if (l) return l;
  pthread_mutex_lock(&w->lock);
  l = find_lane(bucket, stream, thread); /* another thread may have been first */
  if (!l) l = add_lane(w, bucket, stream, thread);
  pthread_mutex_unlock(&w->lock);
  return l;
}

/* Only the holder itself reads its own number there, so no order is needed. */
static bool holds(mlaf_lane *l) { return atomic_load_explicit(&l->holder, memory_order_relaxed) == this_thread(); }

static void lane_unlock(mlaf_lane *l) {
  atomic_store_explicit(&l->holder, 0, memory_order_relaxed);
  pthread_mutex_unlock(&l->lock);
}

/* A thread that asks again for what it holds would wait for itself: it gets an error. */
static mlaf_status lane_lock(mlaf_workspaces *w, void *stream, mlaf_lane **out, mlaf_err *err) {
  mlaf_lane *l = lane_of(w, stream);
  if (!l) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a workspace");
  if (holds(l))
    return mlaf_fail(err, MLAF_E_ARG, "this thread holds the workspace of stream %p: hand it over with the call, or call "
                     "mlaf_workspace_unlock first", stream);
  pthread_mutex_lock(&l->lock);
  atomic_store_explicit(&l->holder, this_thread(), memory_order_relaxed);
  *out = l;
  return MLAF_OK;
}

/* --- memory --- */

static mlaf_status may_allocate(mlaf_device *dev, void *stream, size_t bytes, size_t have, mlaf_err *err) {
  bool capturing = false;
  if (stream == MLAF_ANY_STREAM || !mlaf_ops(dev)->is_capturing) return MLAF_OK;
  mlaf_status st = mlaf_ops(dev)->is_capturing(dev, stream, &capturing, err);
  if (st || !capturing) return st;
  return mlaf_fail(err, MLAF_E_ARG, "this launch needs a workspace of %zu bytes, its stream has %zu and is being captured, when "
                   "nothing can be allocated: before the capture call mlaf_workspace_reserve (Context.reserve_workspace) for %zu "
                   "bytes, or hand over a workspace", bytes, have, bytes);
}

/* Twice what there is, where there is room for that. The lock of all must be held. */
static mlaf_status allocate(mlaf_workspaces *w, mlaf_device *dev, size_t bytes, size_t have, mlaf_workspace_kept **out,
                            mlaf_err *err) {
  mlaf_workspace_kept *k = calloc(1, sizeof *k);
  if (!k) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a workspace");
  k->size = bytes > 2 * have ? bytes : 2 * have;
  mlaf_status st = mlaf_ops(dev)->mem_alloc(dev, k->size, &k->memory, err);
  if (st && k->size > bytes) {
    k->size = bytes;
    st = mlaf_ops(dev)->mem_alloc(dev, k->size, &k->memory, err);
  }
  if (st) {
    free(k);
    return mlaf_fail_prefix(err, st, "a workspace");
  }
  k->older = w->newest;
  *out = w->newest = k;
  return MLAF_OK;
}

/* One that waits for whoever comes, else a new one. The lane's lock must be held. */
static mlaf_status grow(mlaf_workspaces *w, mlaf_device *dev, mlaf_lane *l, size_t bytes, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  pthread_mutex_lock(&w->lock);
  mlaf_workspace_kept *k = w->newest;
  while (k && !(k->waiting && k->size >= bytes)) k = k->older;
  if (!k) st = may_allocate(dev, l->stream, bytes, l->size, err);
  if (!st && !k) st = allocate(w, dev, bytes, l->size, &k, err);
  if (!st) {
    k->waiting = false;
    l->memory = k->memory;
    l->size = k->size;
  }
  pthread_mutex_unlock(&w->lock);
  return st;
}

/* Comes with a lane, so that a thread that takes it needs no memory. */
static mlaf_status reserve_for_any(mlaf_workspaces *w, mlaf_device *dev, size_t bytes, mlaf_err *err) {
  mlaf_workspace_kept *k = NULL;
  mlaf_lane *lane = lane_new();
  if (!lane) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a workspace");
  pthread_mutex_lock(&w->lock);
  const mlaf_status st = allocate(w, dev, bytes, 0, &k, err);
  if (!st) k->waiting = true;
  lane->next = w->spare;
  w->spare = lane;
  pthread_mutex_unlock(&w->lock);
  return st;
}

/* --- lending --- */

mlaf_status mlaf_workspace_borrow(mlaf_shared *shared, void *stream, size_t bytes, mlaf_borrowed *out, mlaf_err *err) {
  mlaf_lane *l = NULL;
  mlaf_status st = lane_lock(&shared->workspaces, stream, &l, err);
  if (st) return st;
  if (l->size < bytes) st = grow(&shared->workspaces, shared->dev, l, bytes, err);
  if (st) {
    lane_unlock(l);
    return st;
  }
  *out = (mlaf_borrowed){l, l->memory, l->size};
  return MLAF_OK;
}

void mlaf_workspace_give_back(const mlaf_borrowed *b) { lane_unlock(b->lane); }

/* --- the public functions --- */

static mlaf_status report(mlaf_ctx *ctx, mlaf_status st, mlaf_err *err) {
  err->status = st;
  return st ? mlaf_shared_report(ctx->shared, err) : MLAF_OK;
}

static mlaf_status take(mlaf_ctx *ctx, const char *function, void *stream, size_t bytes, void **out, mlaf_borrowed *b) {
  mlaf_err err;
  if (!ctx) return MLAF_E_ARG;
  if (!out || stream == MLAF_ANY_STREAM)
    return report(ctx, mlaf_fail(&err, MLAF_E_ARG, "%s: out is NULL, or no stream is named", function), &err);
  return report(ctx, mlaf_workspace_borrow(ctx->shared, stream, bytes, b, &err), &err);
}

mlaf_status mlaf_workspace_lock(mlaf_ctx *ctx, void *stream, size_t bytes, void **out, size_t *size) {
  mlaf_borrowed b;
  mlaf_status st = take(ctx, "mlaf_workspace_lock", stream, bytes, out, &b);
  if (st) return st;
  *out = b.memory;
  if (size) *size = b.size;
  return MLAF_OK;
}

mlaf_status mlaf_workspace_unlock(mlaf_ctx *ctx, void *stream) {
  mlaf_err err;
  if (!ctx) return MLAF_E_ARG;
  mlaf_lane *l = lane_of(&ctx->shared->workspaces, stream);
  if (l && holds(l)) {
    lane_unlock(l);
    return MLAF_OK;
  }
  return report(ctx, mlaf_fail(&err, MLAF_E_ARG, "mlaf_workspace_unlock: this thread does not hold the workspace of stream %p",
                               stream), &err);
}

mlaf_status mlaf_workspace_get(mlaf_ctx *ctx, void *stream, size_t bytes, void **out, size_t *size) {
  mlaf_borrowed b;
  mlaf_status st = take(ctx, "mlaf_workspace_get", stream, bytes, out, &b);
  if (st) return st;
  mlaf_workspace_give_back(&b);
  *out = b.memory;
  if (size) *size = b.size;
  return MLAF_OK;
}

mlaf_status mlaf_workspace_reserve(mlaf_ctx *ctx, void *stream, size_t bytes) {
  mlaf_err err;
  mlaf_borrowed b;
  if (!ctx) return MLAF_E_ARG;
  if (!bytes) return MLAF_OK;
  const bool any = stream == MLAF_ANY_STREAM;
  const mlaf_status st = any ? reserve_for_any(&ctx->shared->workspaces, mlaf_ctx_device(ctx), bytes, &err)
                             : mlaf_workspace_borrow(ctx->shared, stream, bytes, &b, &err);
  if (!st && !any) mlaf_workspace_give_back(&b);
  return report(ctx, st, &err);
}
