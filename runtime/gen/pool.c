/* Small blocks of a Lua state. Sanitizers are told which of them are dropped, so that reading one is found as after free(). */
#include <stdlib.h>
#include <string.h>

#include "gen/pool.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#endif

size_t mlaf_gen_pool_small = MLAF_GEN_POOL_SMALL;

static size_t steps_of(size_t size) { return (size + MLAF_GEN_POOL_STEP - 1) / MLAF_GEN_POOL_STEP; }

static void *cut(mlaf_gen_pool *pool, size_t bytes) {
  if ((size_t)(pool->end - pool->at) < bytes) {
    mlaf_gen_block *chunk = malloc(MLAF_GEN_POOL_CHUNK);
    if (!chunk) return NULL;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    pool->at = (char *)chunk + MLAF_GEN_POOL_STEP;
    pool->end = (char *)chunk + MLAF_GEN_POOL_CHUNK;
    ASAN_POISON_MEMORY_REGION(pool->at, MLAF_GEN_POOL_CHUNK - MLAF_GEN_POOL_STEP);
  }
  void *p = pool->at;
  pool->at += bytes;
  return p;
}

static void *take(mlaf_gen_pool *pool, size_t size) {
  if (size > pool->small) return malloc(size);
  const size_t steps = steps_of(size);
  mlaf_gen_block *p = pool->dropped[steps];
  if (p) {
    ASAN_UNPOISON_MEMORY_REGION(p, sizeof *p);
    pool->dropped[steps] = p->next;
  } else {
    p = cut(pool, steps * MLAF_GEN_POOL_STEP);
  }
  if (p) ASAN_UNPOISON_MEMORY_REGION(p, size);
  return p;
}

static void drop(mlaf_gen_pool *pool, void *p, size_t size) {
  if (!p || size > pool->small) {
    free(p);
    return;
  }
  const size_t steps = steps_of(size);
  ASAN_UNPOISON_MEMORY_REGION(p, sizeof(mlaf_gen_block));
  ((mlaf_gen_block *)p)->next = pool->dropped[steps];
  pool->dropped[steps] = p;
  ASAN_POISON_MEMORY_REGION(p, steps * MLAF_GEN_POOL_STEP);
}

void *mlaf_gen_pool_resize(mlaf_gen_pool *pool, void *p, size_t old, size_t size) {
  if (!size) {
    drop(pool, p, old);
    return NULL;
  }
  if (!p) return take(pool, size);
  if (old > pool->small && size > pool->small) return realloc(p, size);
  if (old <= pool->small && steps_of(old) == steps_of(size)) {
    ASAN_POISON_MEMORY_REGION(p, steps_of(old) * MLAF_GEN_POOL_STEP);
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
  }
  void *q = take(pool, size);
  if (!q) return NULL;
  memcpy(q, p, old < size ? old : size);
  drop(pool, p, old);
  return q;
}

void mlaf_gen_pool_clear(mlaf_gen_pool *pool) {
  for (mlaf_gen_block *chunk = pool->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    ASAN_UNPOISON_MEMORY_REGION(chunk, MLAF_GEN_POOL_CHUNK);
    free(chunk);
  }
  *pool = (mlaf_gen_pool){.small = pool->small};
}
