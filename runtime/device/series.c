/* Launches that are made together (series.h). */
#include "device/series.h"

#include <stdatomic.h>

enum { PARAMETERS_ALIGN = 64 /* tensor maps in them want it */, CHAINS_MOST = 256 };

typedef struct node {
  uint64_t kernels; /* their hash */
  mlaf_chain *chain; /* NULL: there can be none */
  struct node *next;
} node;

struct mlaf_series_chains {
  mlaf_device *dev;
  _Atomic(node *) first; /* newest first; nodes stay until the end */
  atomic_int n;
};

/* --- keeping --- */

void mlaf_series_begin(mlaf_series *g, mlaf_device *dev, void *stream) {
  g->dev = dev;
  g->stream = stream;
  g->n = g->used = 0;
  g->direct = false;
}

static size_t room_of(const mlaf_launch *l) {
  return (l->args_size + PARAMETERS_ALIGN - 1) / PARAMETERS_ALIGN * PARAMETERS_ALIGN;
}

static bool fit(const mlaf_series *g, const mlaf_launch *launches, size_t n) {
  size_t bytes = g->used;
  bool good = n <= MLAF_CHAIN_MOST - g->n;
  for (size_t i = 0; good && i < n; i++) {
    good = !(launches[i].flags & MLAF_LAUNCH_LIBRARY) && launches[i].args_size <= MLAF_SERIES_BYTES;
    bytes += good ? room_of(&launches[i]) : 0;
  }
  return good && bytes <= MLAF_SERIES_BYTES;
}

static void keep(mlaf_series *g, const mlaf_launch *l) {
  unsigned char *const args = g->args + g->used;
  if (l->args_size) memcpy(args, l->args, l->args_size);
  g->list[g->n] = *l;
  g->list[g->n++].args = args;
  g->used += room_of(l);
}

static mlaf_status launch_each(const mlaf_series *g, const mlaf_launch *launches, size_t n, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n; i++) st = mlaf_ops(g->dev)->launch(g->dev, g->stream, &launches[i], err);
  return st;
}

mlaf_status mlaf_series_stop(mlaf_series *g, mlaf_err *err) {
  const size_t n = g->n;
  g->direct = true;
  g->n = 0;
  return launch_each(g, g->list, n, err);
}

mlaf_status mlaf_series_launch(mlaf_series *g, const mlaf_launch *launches, size_t n, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  if (!g->direct && !fit(g, launches, n)) st = mlaf_series_stop(g, err);
  if (st) return st;
  if (g->direct) return launch_each(g, launches, n, err);
  for (size_t i = 0; i < n; i++) keep(g, &launches[i]);
  return MLAF_OK;
}

/* --- chains --- */

mlaf_series_chains *mlaf_series_chains_new(mlaf_device *dev) {
  mlaf_series_chains *g = mlaf_ops(dev)->chain_open ? calloc(1, sizeof *g) : NULL;
  if (g) g->dev = dev;
  return g;
}

void mlaf_series_chains_free(mlaf_series_chains *g) {
  node *x = g ? atomic_load_explicit(&g->first, memory_order_acquire) : NULL;
  while (x) {
    node *const next = x->next;
    if (x->chain) mlaf_ops(g->dev)->chain_close(g->dev, x->chain);
    free(x);
    x = next;
  }
  free(g);
}

/* FNV-1a over what a chain's launches must have in common. */
static uint64_t hash(const mlaf_launch *launches, size_t n) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) {
    const mlaf_launch *l = &launches[i];
    const uint64_t of[] = {(uintptr_t)l->fn, l->flags, l->lds, l->args_size, l->block[0], l->block[1], l->block[2],
                           l->cluster[0], l->cluster[1], l->cluster[2]};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) h = (h ^ of[k]) * 0x100000001b3u;
  }
  return h;
}

/* Two threads may add the same kernels: both nodes serve. */
static const node *add(mlaf_series_chains *chains, void *stream, const mlaf_launch *launches, size_t n, uint64_t kernels) {
  bool capturing = false;
  mlaf_err ignored;
  const mlaf_device_ops *ops = mlaf_ops(chains->dev);
  if (atomic_load_explicit(&chains->n, memory_order_relaxed) >= CHAINS_MOST) return NULL;
  if (ops->is_capturing && (ops->is_capturing(chains->dev, stream, &capturing, &ignored) || capturing)) return NULL;
  node *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  x->kernels = kernels;
  if (ops->chain_open(chains->dev, launches, n, &x->chain, &ignored)) x->chain = NULL;
  x->next = atomic_load_explicit(&chains->first, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&chains->first, &x->next, x, memory_order_release, memory_order_relaxed))
    continue;
  atomic_fetch_add_explicit(&chains->n, 1, memory_order_relaxed);
  return x;
}

mlaf_status mlaf_series_chains_launch(mlaf_series_chains *g, void *stream, const mlaf_launch *launches, size_t n, mlaf_err *err) {
  const uint64_t kernels = hash(launches, n);
  const node *x = atomic_load_explicit(&g->first, memory_order_acquire);
  while (x && x->kernels != kernels) x = x->next;
  if (!x) x = add(g, stream, launches, n, kernels);
  return mlaf_ops(g->dev)->chain_launch(g->dev, stream, x ? x->chain : NULL, launches, n, err);
}

mlaf_status mlaf_series_end(mlaf_series *g, mlaf_series_chains *chains, mlaf_err *err) {
  return g->n ? mlaf_series_chains_launch(chains, g->stream, g->list, g->n, err) : MLAF_OK;
}
