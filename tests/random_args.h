/* Random arguments of launches, the same in every run. */
#ifndef MLAF_TEST_RANDOM_ARGS_H
#define MLAF_TEST_RANDOM_ARGS_H

#include <stdint.h>
#include <stdlib.h>

static uint64_t x = 88172645463325252u; /* xorshift64's state */
static inline uint64_t next(uint64_t below) {
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return (x >> 8) % below;
}

/* A device address, aligned to 16 bytes; one of `wrong` is NULL or odd. */
static inline void *address_but_one_of(uint64_t wrong) {
  if (next(wrong)) return (void *)(uintptr_t)(4096 + 16 * next(1 << 20));
  return next(3) ? NULL : (void *)(uintptr_t)(4096 + next(64));
}

#endif
