/* Formats that an operation refuses by their names. */
#include "op/cache_format.h"

const char *mlaf_cache_format_refusal(const char *op, const char *word, size_t n) {
  static const struct {
    const char *op, *format, *why;
  } all[] = {MLAF_FORMAT_REFUSALS};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(all[i].op, op) && strlen(all[i].format) == n && !memcmp(all[i].format, word, n)) return all[i].why;
  return NULL;
}

const char *mlaf_cache_format_refused_row(const char *op, int64_t bytes, int rank, int rope) {
  for (int i = 0; i < MLAF_FORMATS; i++) {
    const mlaf_cache_format *f = mlaf_cache_format_at(i);
    if (f->scale == MLAF_SCALE_STORED && mlaf_extent_bytes(f->token, rank, rope) == bytes)
      return mlaf_cache_format_refusal(op, f->name, strlen(f->name));
  }
  return NULL;
}
