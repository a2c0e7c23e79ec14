/* mla_gather_kv_b inside: how its cache holds a token, and what of its record is its own. */
#pragma once

#include "op/cache_format.h"
#include "op/calls.h"
#include "ops/mla_gather_kv_b/launch.h"

enum { GATHER_AS_IT_IS, GATHER_PAIRS, GATHER_HALVES }; /* words of the rotation */

/* The cache's format; fields: the problem's. */
static inline const mlaf_cache_format *gather_format(const int32_t *fields) {
  static const uint8_t formats[] = {MLA_GATHER_KV_B_FORMATS};
  return mlaf_cache_format_at(formats[fields[MLA_GATHER_KV_B_LAYOUT]]);
}
static inline int64_t gather_bytes(const int32_t *fields, mlaf_extent extent) {
  return mlaf_extent_bytes(extent, fields[MLA_GATHER_KV_B_RANK], fields[MLA_GATHER_KV_B_ROPE]);
}
/* Its products are a vendor's library's, of rows that the second kernel gathers into the workspace before. */
static inline bool gather_is_library(const mlaf_bound *b) { return b->stage[0].launch.flags & MLAF_KERNEL_LIBRARY; }

uint32_t gather_kv_b_bytes_of(int stage, const mlaf_kernel_launch *launch);
mlaf_status gather_kv_b_check_stages(const mlaf_bound *b, mlaf_err *err);
/* Shares of so many outputs of so many tiles of tokens, on a device of so many compute units. */
uint32_t gather_kv_b_shares(int64_t outputs, uint64_t tiles, uint32_t units);
mlaf_status gather_kv_b_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
size_t gather_kv_b_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows);
