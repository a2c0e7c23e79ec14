/* Memory of one Lua state: small blocks from lists by size, cut from chunks that are freed together. Lua says the size of what it
 * gives back, so blocks have no headers; a ranking makes and drops some 100,000 of them. For one thread at a time. */
#pragma once

#include <stddef.h>

enum { MLAF_GEN_POOL_STEP = 16, MLAF_GEN_POOL_SMALL = 512, MLAF_GEN_POOL_CHUNK = 64 << 10 };

typedef struct mlaf_gen_block {
  struct mlaf_gen_block *next;
} mlaf_gen_block;

typedef struct mlaf_gen_pool {
  mlaf_gen_block *dropped[MLAF_GEN_POOL_SMALL / MLAF_GEN_POOL_STEP + 1]; /* by size in steps */
  mlaf_gen_block *chunks;
  char *at, *end; /* what is left of the newest chunk */
  size_t small;   /* blocks of more bytes are malloc()'s own; at the most MLAF_GEN_POOL_SMALL */
} mlaf_gen_pool;

/* `small` of states that open from now on. 0 in tests that refuse memory at each place where Lua asks for it. */
extern size_t mlaf_gen_pool_small;

/* Block `p` of `old` bytes (NULL: none) with `size` bytes and what it held, at any place; 0: given back. NULL where there is no
 * memory: then the old block is as it was. */
void *mlaf_gen_pool_resize(mlaf_gen_pool *pool, void *p, size_t old, size_t size);
/* Frees all small blocks; larger ones have been given back, as lua_close() does. */
void mlaf_gen_pool_clear(mlaf_gen_pool *pool);
