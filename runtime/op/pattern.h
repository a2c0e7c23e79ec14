/* Bytes that repeat with a period prime to rows: timing data of 8 bits, which no pool has. */
#pragma once

#include "device/device.h"

enum { MLAF_PATTERN = (1 << 20) + 1237 }; /* bytes of the period */

/* Writes `bytes` of a pattern from its byte `first` on to device memory. */
mlaf_status mlaf_pattern_lay(mlaf_device *dev, const uint8_t *pattern, size_t first, void *to, size_t bytes, mlaf_err *err);
/* Copies n bytes of it from byte `first` on. */
void mlaf_pattern_read(const uint8_t *pattern, size_t first, size_t n, uint8_t *out);
