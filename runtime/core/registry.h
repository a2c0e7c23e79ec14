/* The plans a context has made, by problem: what mlaf_plan_get looks into. Readers take no lock. */
#ifndef MLAF_REGISTRY_H
#define MLAF_REGISTRY_H

#include <pthread.h>
#include <stdatomic.h>

#include "mlaforge/plan.h"

enum { MLAF_REGISTRY_KEY = 13 };

typedef struct mlaf_registry_entry {
  int32_t key[MLAF_REGISTRY_KEY]; /* the problem's fields, batch and ctx rounded; flags; effort; a hash of lengths */
  mlaf_plan *plan;                /* one reference */
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

void mlaf_registry_init(mlaf_registry *r);
/* Releases every plan. */
void mlaf_registry_clear(mlaf_registry *r);

#endif
