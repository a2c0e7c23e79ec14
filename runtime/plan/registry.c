/* Plans by problem: a hit is a hash, a probe and one more reference. */
#include "plan/registry.h"

#include <time.h>

#include "plan/plan.h"
#include "plan/second_kernel.h"

enum { FIRST_SIZE = 64 };

void mlaf_registry_init(mlaf_registry *r) {
  atomic_init(&r->table, NULL);
  pthread_mutex_init(&r->lock, NULL);
  r->entries = NULL;
  r->retired = NULL;
}

void mlaf_registry_clear(mlaf_registry *r) {
  mlaf_registry_table *current = atomic_load(&r->table);
  for (mlaf_registry_entry *e = r->entries, *older; e; e = older) {
    older = e->older;
    mlaf_plan_release(e->plan);
    free(e);
  }
  for (mlaf_registry_table *t = r->retired, *older; t; t = older) {
    older = t->older;
    free(t);
  }
  free(current);
  pthread_mutex_destroy(&r->lock);
}

/* 0: none. Two texts of one hash would share a plan: a matter of speed, not of results. */
static uint64_t hash_lengths(const mlaf_plan_opts *o) {
  const char *s = o->struct_size >= sizeof *o ? o->lengths : NULL;
  uint64_t h = s ? 1469598103934665603u : 0;
  for (; s && *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211u;
  return h;
}

/* 0: nothing is known. */
static uint64_t hash_inside(const mlaf_plan_inside *in) {
  if (!in || (!in->ahead && !in->next.op)) return 0;
  uint64_t h = 1469598103934665603u ^ in->ahead;
  for (const char *s = in->next.op ? in->next.op->name : ""; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211u;
  for (int i = 0; in->next.op && i < in->next.op->n_fields; i++) h = (h ^ (uint32_t)in->next.v[i]) * 1099511628211u;
  return h;
}

static mlaf_registry_key make_key(const mlaf_point *p, const mlaf_plan_opts *o, const mlaf_plan_inside *inside) {
  const uint32_t idle = MLAF_PLAN_FORMS | (p->op->calls->libraries ? 0 : (uint32_t)MLAF_PLAN_LIBRARY);
  return (mlaf_registry_key){*p, (int32_t)(o->flags & ~idle), o->effort, hash_lengths(o), hash_inside(inside)};
}

/* FNV-1a over words, then mixed. Of the lengths their hash is enough: few contexts see two. */
static uint32_t hash(const mlaf_registry_key *key) {
  uint64_t h = 1469598103934665603u ^ key->lengths ^ key->inside;
  for (int i = 0; i < key->at.op->n_fields; i++) h = (h ^ (uint32_t)key->at.v[i]) * 1099511628211u;
  h = (h ^ (uint32_t)key->flags) * 1099511628211u;
  h = (h ^ (uint32_t)key->effort) * 1099511628211u;
  return (uint32_t)(h ^ h >> 29);
}

/* Every byte of a key is one of its members'. */
_Static_assert(sizeof(mlaf_registry_key) == sizeof(mlaf_point) + 2 * sizeof(int32_t) + 2 * sizeof(uint64_t), "a key has no gaps");
_Static_assert(sizeof(mlaf_point) == sizeof(mlaf_op *) + MLAF_FIELDS_MAX * sizeof(int32_t), "a point has no gaps");
static bool same_key(const mlaf_registry_key *a, const mlaf_registry_key *b) { return !memcmp(a, b, sizeof *a); }

static mlaf_plan *find(const mlaf_registry *r, const mlaf_registry_key *key) {
  mlaf_registry_table *t = atomic_load_explicit(&((mlaf_registry *)r)->table, memory_order_acquire);
  if (!t) return NULL;
  for (uint32_t i = hash(key) & t->mask;; i = (i + 1) & t->mask) {
    mlaf_registry_entry *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
    if (!e) return NULL;
    if (same_key(&e->key, key)) return mlaf_plan_retain(e->plan);
  }
}

static void put(mlaf_registry_table *t, mlaf_registry_entry *e) {
  uint32_t i = hash(&e->key) & t->mask;
  while (atomic_load_explicit(&t->slots[i], memory_order_relaxed)) i = (i + 1) & t->mask;
  atomic_store_explicit(&t->slots[i], e, memory_order_release);
  t->used++;
}

/* Room for one more: a table is at most half full. With the lock held. */
static mlaf_registry_table *room(mlaf_registry *r) {
  mlaf_registry_table *t = atomic_load_explicit(&r->table, memory_order_relaxed);
  if (t && t->used * 2 <= t->mask) return t;
  const uint32_t size = t ? 2 * (t->mask + 1) : FIRST_SIZE;
  mlaf_registry_table *grown = calloc(1, sizeof *grown + size * sizeof *grown->slots);
  if (!grown) return NULL;
  grown->mask = size - 1;
  for (uint32_t i = 0; t && i <= t->mask; i++) {
    mlaf_registry_entry *e = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
    if (e) put(grown, e);
  }
  if (t) {
    t->older = r->retired;
    r->retired = t;
  }
  atomic_store_explicit(&r->table, grown, memory_order_release);
  return grown;
}

/* Keep a plan unless another thread was first; the caller's reference stays the caller's either way. Memory that is short only
 * costs the next call its hit. */
static void add(mlaf_registry *r, const mlaf_registry_key *key, mlaf_plan *plan) {
  pthread_mutex_lock(&r->lock);
  mlaf_plan *there = find(r, key);
  mlaf_registry_table *t = there ? NULL : room(r);
  mlaf_registry_entry *e = t ? calloc(1, sizeof *e) : NULL;
  if (e) {
    e->key = *key;
    e->plan = mlaf_plan_retain(plan);
    e->older = r->entries;
    r->entries = e;
    put(t, e);
  }
  pthread_mutex_unlock(&r->lock);
  mlaf_plan_release(there);
}

void mlaf_plan_forget(mlaf_ctx *ctx) {
  if (!ctx) return;
  mlaf_registry *r = &ctx->registry;
  pthread_mutex_lock(&r->lock);
  mlaf_registry_table *t = atomic_exchange(&r->table, NULL);
  if (t) {
    t->older = r->retired;
    r->retired = t;
  }
  pthread_mutex_unlock(&r->lock);
}

/* --- a plan made on the way of a request --- */

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nothing may be compiled, loaded or allocated while the stream captures. */
static mlaf_status may_plan(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_registry_how *how) {
  mlaf_device *dev = mlaf_ctx_device(ctx);
  mlaf_err err;
  char text[MLAF_POINT_TEXT_MAX];
  bool capturing = false;
  if (!how->on_stream || !mlaf_ops(dev)->is_capturing) return MLAF_OK;
  mlaf_status st = mlaf_ops(dev)->is_capturing(dev, how->stream, &capturing, &err);
  if (!st && !capturing) return MLAF_OK;
  mlaf_point_print(p, text, sizeof text);
  if (!st)
    mlaf_fail(&err, st = MLAF_E_ARG, "there is no plan for %s yet and the stream is being captured, when none can be made: call "
              "mlaf_warm_up (Context.warm_up) for what may come, or run once before the capture", text);
  err.status = st;
  return mlaf_shared_report(ctx->shared, &err);
}

/* One line for each: whoever serves requests wants to know what made one wait. */
static void log_made(mlaf_ctx *ctx, const mlaf_plan_info *info, double took_s) {
  const mlaf_log_level level = atomic_load(&ctx->warm) || info->compiles ? MLAF_LOG_WARN : MLAF_LOG_INFO;
  mlaf_log_line(&ctx->log, level, "plan made on a request's way: %s in %.1f ms, %d compiled (rung %s, %s)%s", info->problem,
                1e3 * took_s, info->compiles, info->rung, info->variant,
                atomic_load(&ctx->warm) ? "; outside of what mlaf_warm_up was told" : "");
}

static mlaf_status make(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_registry_key *key,
                        const mlaf_registry_how *how, mlaf_plan **out) {
  const double begun = now_s();
  mlaf_status st = may_plan(ctx, p, how);
  if (!st) st = mlaf_plan_create_inside(ctx, p, opts, how->inside, out);
  if (st) return st;
  add(&ctx->registry, key, *out);
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_query(*out, &info);
  if (how->compiles) *how->compiles += info.compiles;
  if (!how->quiet) log_made(ctx, &info, now_s() - begun);
  return MLAF_OK;
}

static const mlaf_plan_opts none = MLAF_PLAN_OPTS_INIT;

bool mlaf_registry_has(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside) {
  const mlaf_plan_opts *o = opts ? opts : &none;
  mlaf_point at = *p;
  if (o->struct_size < offsetof(mlaf_plan_opts, lengths)) return false;
  mlaf_point_round(&at);
  const mlaf_registry_key key = make_key(&at, o, inside);
  mlaf_plan *plan = find(&ctx->registry, &key);
  mlaf_plan_release(plan);
  return plan != NULL;
}

mlaf_status mlaf_registry_get(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_registry_how *how,
                              mlaf_plan **out) {
  const mlaf_plan_opts *o = opts ? opts : &none;
  mlaf_point at = *p;
  if (o->struct_size < offsetof(mlaf_plan_opts, lengths)) return mlaf_plan_create_at(ctx, p, opts, out); /* says what is wrong */
  mlaf_point_round(&at);
  const mlaf_registry_key key = make_key(&at, o, how->inside);
  mlaf_plan *plan = find(&ctx->registry, &key);
  if (plan && mlaf_plan_lacks_second(plan, o->flags)) {
    /* made for the first form of the arguments: the kernels of a further one are wanted, too */
    mlaf_status st = may_plan(ctx, &at, how);
    if (!st) st = mlaf_plan_want_second(ctx, plan, o);
    if (st) mlaf_plan_release(plan);
    if (st) return st;
  }
  mlaf_status st = plan ? MLAF_OK : make(ctx, &at, opts, &key, how, &plan);
  if (!st) *out = plan;
  return st;
}
