/* mla_append inside: how its cache holds a token. */
#pragma once

#include "op/cache_format.h"
#include "ops/mla_append/launch.h"

/* Words of the style, by their numbers. */
enum { APPEND_PAIRS, APPEND_HALVES, APPEND_UNROTATED };

/* The cache's format; fields: the problem's. */
static inline const mlaf_cache_format *append_format(const int32_t *fields) {
  static const uint8_t formats[] = {MLA_APPEND_FORMATS};
  return mlaf_cache_format_at(formats[fields[MLA_APPEND_LAYOUT]]);
}
static inline int64_t append_bytes(const int32_t *fields, mlaf_extent extent) {
  return mlaf_extent_bytes(extent, fields[MLA_APPEND_RANK], fields[MLA_APPEND_ROPE]);
}
