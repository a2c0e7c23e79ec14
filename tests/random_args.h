/* Random arguments of launches, the same in every run. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

static uint64_t x = 88172645463325252u; /* xorshift64's state */
static inline uint64_t next(uint64_t below) {
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return (x >> 8) % below;
}

/* Mostly n; now and then a number that hardly any sum or product with it still holds. The library must refuse it, or not look at
 * it, before it computes: builds with -fsanitize=undefined see whether it does. */
static inline int64_t or_extreme(int64_t n) {
  static const int64_t all[] = {INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 62), INT32_MIN, -1, INT32_MAX, INT64_C(1) << 31,
                                UINT32_MAX, INT64_C(1) << 39, INT64_C(1) << 40, INT64_C(1) << 61, INT64_C(1) << 62,
                                INT64_MAX - 7, INT64_MAX};
  return next(60) ? n : all[next(sizeof all / sizeof *all)];
}
