/* Device memory full of random numbers, for timing: filling gigabytes takes longer than timing a kernel on them, so several
 * sets of data (op/data.h) may share one pool. */
#pragma once

#include "device/device.h"
#include "mlaforge/problem.h"

typedef struct mlaf_pool mlaf_pool;

/* Elements of the repeating pattern: prime to row sizes, so that no two rows of a cache line up. */
enum { MLAF_POOL_BLOCK = 4 * 1000 * 1000 + 1237 };

/* The device is borrowed. Nothing is allocated on it yet. One thread at a time. */
mlaf_status mlaf_pool_create(mlaf_device *dev, uint64_t seed, mlaf_pool **out, mlaf_err *err);
void mlaf_pool_free(mlaf_pool *pool);

/* At least `bytes` of standard normal numbers of `dtype`, grown or filled anew when it must be: what was handed out before is
 * then gone. Element i is element i % MLAF_POOL_BLOCK of mlaf_pool_block. */
mlaf_status mlaf_pool_need(mlaf_pool *pool, mlaf_dtype dtype, size_t bytes, void **data, mlaf_err *err);
/* Returns the memory that was handed out last, for code that reads through it; NULL: none yet. */
const void *mlaf_pool_data(const mlaf_pool *pool);
/* Host copy of the pattern, of the dtype last asked for; NULL before that. It holds the elements that mlaf_pool_need and
 * mlaf_pool_fill have written since, and no others. */
const uint16_t *mlaf_pool_block(const mlaf_pool *pool);
/* Fill `bytes` of other device memory with the pattern from its element `first` on, after a mlaf_pool_need. */
mlaf_status mlaf_pool_fill(mlaf_pool *pool, void *dst, size_t bytes, size_t first, mlaf_err *err);
