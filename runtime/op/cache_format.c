/* Formats that an operation refuses by their names, and pages that a format cannot have. */
#include "op/cache_format.h"

#include <string.h>

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

mlaf_status mlaf_format_check_pages(const mlaf_cache_format *f, int32_t page_tokens, int64_t row_stride, int64_t page_stride,
                                    mlaf_err *err) {
  const int64_t row = mlaf_extent_bytes(f->row, 0, 0), page = mlaf_format_page_rows(f, page_tokens, 0, 0) * row;
  if (row_stride && row_stride != row)
    return mlaf_fail(err, MLAF_E_ARG, "cache_row_stride is %lld, must be 0 or %lld: the rows of a page of %s follow each other",
                     (long long)row_stride, (long long)row, f->name);
  if (!page_stride || (page_stride >= page && page_stride % row == 0)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG,
                   "cache_page_stride is %lld, must be 0 or a multiple of %lld from %lld on: a page of %s is %d rows and, behind "
                   "them, %d bytes of scales for each",
                   (long long)page_stride, (long long)row, (long long)page, f->name, page_tokens, f->aside);
}
