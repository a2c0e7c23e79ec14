/* The plans a context has made, by problem: what mlaf_plan_get looks into. Readers take no lock. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "mlaforge/plan.h"
#include "op/op.h"

/* Facts of its launches that the caller of a plan knows, e.g. a layer, and kernels may rely on. Without such kernels nothing
 * changes. */
typedef struct mlaf_plan_inside {
  /* Tables, and all rows of the cache but those of a request's last query tokens, are older than the launch before: they may be
   * read before that launch is over. */
  bool ahead;
  /* The problem that is executed next, over this one's outputs and nothing else's: a joint kernel may serve it, too.
   * mlaf_plan_serves_next tells. next.op NULL: none. */
  mlaf_point next;
} mlaf_plan_inside;

typedef struct mlaf_registry_key {
  mlaf_point at; /* sizes rounded up (mlaf_field_round) */
  int32_t flags, effort;
  uint64_t lengths; /* a hash of them */
  uint64_t inside;  /* a hash of mlaf_plan_inside; 0: nothing is known */
} mlaf_registry_key;

typedef struct mlaf_registry_entry {
  mlaf_registry_key key;
  mlaf_plan *plan; /* one reference */
  struct mlaf_registry_entry *older; /* of those retired */
} mlaf_registry_entry;

/* Open addressing; entries and tables are never freed before the context, so that a reader may be slow. */
typedef struct mlaf_registry_table {
  uint32_t mask, used;
  struct mlaf_registry_table *older;
  _Atomic(mlaf_registry_entry *) slots[];
} mlaf_registry_table;

typedef struct mlaf_registry {
  _Atomic(mlaf_registry_table *) table; /* NULL: empty */
  pthread_mutex_t lock;                 /* of those who add */
  mlaf_registry_entry *entries;         /* all there ever were */
  mlaf_registry_table *retired;
} mlaf_registry;

/* Options of asking for a plan. */
typedef struct mlaf_registry_how {
  bool on_stream; /* for a launch on `stream`: no plan is made while that captures */
  bool quiet;     /* not on a request's way: nothing is logged */
  void *stream;
  int32_t *compiles; /* what making it compiled is added here; may be NULL */
  const mlaf_plan_inside *inside; /* may be NULL */
} mlaf_registry_how;
/* mlaf_plan_get's whole, of a checked point; how->quiet false: a plan that is made leaves a line in the log. */
mlaf_status mlaf_registry_get(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_registry_how *how,
                              mlaf_plan **out);
/* True if such a plan is there. */
bool mlaf_registry_has(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside);
void mlaf_registry_init(mlaf_registry *r);
/* Releases every plan. */
void mlaf_registry_clear(mlaf_registry *r);
