/* Bytes that repeat. */
#include "op/pattern.h"

#include <string.h>

/* Bytes of `left` that lie in one piece from byte `first` on. */
static size_t piece(size_t first, size_t left) { return left < MLAF_PATTERN - first ? left : MLAF_PATTERN - first; }

mlaf_status mlaf_pattern_lay(mlaf_device *dev, const uint8_t *pattern, size_t first, void *to, size_t bytes, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  first %= MLAF_PATTERN;
  for (size_t at = 0, n; !st && at < bytes; at += n, first = 0) {
    n = piece(first, bytes - at);
    st = mlaf_ops(dev)->mem_write(dev, (char *)to + at, pattern + first, n, err);
  }
  return st;
}

void mlaf_pattern_read(const uint8_t *pattern, size_t first, size_t n, uint8_t *out) {
  first %= MLAF_PATTERN;
  for (size_t at = 0, some; at < n; at += some, first = 0) {
    some = piece(first, n - at);
    memcpy(out + at, pattern + first, some);
  }
}
