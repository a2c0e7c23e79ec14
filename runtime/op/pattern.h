/* Bytes that repeat: timing data. */
#pragma once

#include "device/device.h"

/* Some bytes over and over. */
typedef struct mlaf_pattern {
  const void *bytes;
  size_t period;
} mlaf_pattern;

enum { MLAF_PATTERN = (1 << 20) + 1237 }; /* period of timing data of 8 bits, which no pool has: prime to rows */

/* Writes `bytes` of a pattern from its byte `first` on to device memory. */
mlaf_status mlaf_pattern_lay(mlaf_device *dev, mlaf_pattern pattern, size_t first, void *to, size_t bytes, mlaf_err *err);
/* Copies n bytes of it from byte `first` on. */
void mlaf_pattern_read(mlaf_pattern pattern, size_t first, size_t n, void *out);
