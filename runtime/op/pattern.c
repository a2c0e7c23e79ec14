/* Bytes that repeat. */
#include "op/pattern.h"

/* The next piece of `left` bytes from byte *first on; *first goes behind it. */
static const char *next(mlaf_pattern pattern, size_t *first, size_t left, size_t *n) {
  const size_t at = *first % pattern.period;
  *n = left < pattern.period - at ? left : pattern.period - at;
  *first = at + *n;
  return (const char *)pattern.bytes + at;
}

mlaf_status mlaf_pattern_lay(mlaf_device *dev, mlaf_pattern pattern, size_t first, void *to, size_t bytes, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (size_t at = 0, n; !st && at < bytes; at += n) {
    const char *from = next(pattern, &first, bytes - at, &n);
    st = mlaf_ops(dev)->mem_write(dev, (char *)to + at, from, n, err);
  }
  return st;
}

void mlaf_pattern_read(mlaf_pattern pattern, size_t first, size_t n, void *out) {
  for (size_t at = 0, some; at < n; at += some) {
    const char *from = next(pattern, &first, n - at, &some);
    memcpy((char *)out + at, from, some);
  }
}
