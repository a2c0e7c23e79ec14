/* The pool of random numbers. */
#include "op/pool.h"

#include "op/numeric.h"
#include "op/pattern.h"

/* The pattern is drawn by parts, when they are asked for: a small cache needs few of its numbers. */
enum { PART = 1 << 13, PARTS = (MLAF_POOL_BLOCK + PART - 1) / PART };

struct mlaf_pool {
  mlaf_device *dev;
  uint64_t seed;
  mlaf_dtype dtype;
  void *data;
  size_t bytes;
  uint16_t *block; /* NULL: of no dtype yet */
  bool drawn[PARTS];
};

mlaf_status mlaf_pool_create(mlaf_device *dev, uint64_t seed, mlaf_pool **out, mlaf_err *err) {
  mlaf_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a pool");
  pool->dev = dev;
  pool->seed = seed;
  *out = pool;
  return MLAF_OK;
}

static void drop_data(mlaf_pool *pool) {
  if (pool->data) mlaf_ops(pool->dev)->mem_free(pool->dev, pool->data, NULL);
  pool->data = NULL;
  pool->bytes = 0;
}

void mlaf_pool_free(mlaf_pool *pool) {
  if (!pool) return;
  drop_data(pool);
  free(pool->block);
  free(pool);
}

const void *mlaf_pool_data(const mlaf_pool *pool) { return pool->data; }
const uint16_t *mlaf_pool_block(const mlaf_pool *pool) { return pool->block; }

static void draw_part(mlaf_pool *pool, size_t part) {
  const size_t first = part * PART, end = first + PART < MLAF_POOL_BLOCK ? first + PART : MLAF_POOL_BLOCK;
  mlaf_rng rng = {pool->seed};
  mlaf_rng_skip_normals(&rng, first);
  for (size_t i = first; i < end; i++) pool->block[i] = mlaf_encode16(pool->dtype, mlaf_rng_normal(&rng));
  pool->drawn[part] = true;
}

/* Elements `first` to `first` + `n` of the pattern, 1 at least; no further than its end. */
static void draw(mlaf_pool *pool, size_t first, size_t n) {
  for (size_t part = first / PART; part <= (first + n - 1) / PART; part++)
    if (!pool->drawn[part]) draw_part(pool, part);
}

mlaf_status mlaf_pool_fill(mlaf_pool *pool, void *dst, size_t bytes, size_t first, mlaf_err *err) {
  const size_t n = (bytes + 1) / 2, at = first % MLAF_POOL_BLOCK, left = MLAF_POOL_BLOCK - at;
  if (n) draw(pool, at, n < left ? n : left);
  if (n > left) draw(pool, 0, n - left < MLAF_POOL_BLOCK ? n - left : MLAF_POOL_BLOCK);
  return mlaf_pattern_lay(pool->dev, (mlaf_pattern){pool->block, 2 * MLAF_POOL_BLOCK}, 2 * at, dst, bytes, err);
}

static mlaf_status set_dtype(mlaf_pool *pool, mlaf_dtype dtype, mlaf_err *err) {
  if (pool->block && pool->dtype == dtype) return MLAF_OK;
  if (!pool->block) pool->block = malloc(MLAF_POOL_BLOCK * sizeof *pool->block);
  if (!pool->block) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for random data");
  memset(pool->drawn, 0, sizeof pool->drawn);
  pool->dtype = dtype;
  pool->bytes = 0; /* what lies on the device is of another dtype */
  return MLAF_OK;
}

mlaf_status mlaf_pool_need(mlaf_pool *pool, mlaf_dtype dtype, size_t bytes, void **data, mlaf_err *err) {
  mlaf_status st = set_dtype(pool, dtype, err);
  if (!st && pool->bytes < bytes) {
    drop_data(pool);
    st = mlaf_ops(pool->dev)->mem_alloc(pool->dev, bytes, &pool->data, err);
    if (!st) st = mlaf_pool_fill(pool, pool->data, bytes, 0, err);
    if (!st) pool->bytes = bytes;
  }
  if (!st) *data = pool->data;
  return st;
}
