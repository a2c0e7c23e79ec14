/* Questions that a test may ask the fake CUDA driver. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The kernel "fill" that the fake really runs: one struct by value, as the decode kernels take. */
typedef struct fake_fill {
  uint32_t *to;
  uint32_t value, n;
} fake_fill;

enum { FAKE_SHARED = 100000, FAKE_STATIC = 1024, FAKE_BIG_ARGS = 8, FAKE_KERNEL_NS = 2000 };

/* The last kernel that ran, directly or from a graph. */
typedef struct fake_launch {
  uint32_t grid[3], block[3], shared;
  size_t args_size;
  uint64_t total; /* kernels run since the reset */
  uint32_t cluster[3], overlaps; /* launch attributes, 0 without them */
  uint32_t shared_percent;       /* what cuFuncSetAttribute said of its carveout */
} fake_launch;
