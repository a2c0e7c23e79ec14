/* struct mlaf_problem, the typed face of mla_decode's points (op/op.h): taken in from a caller, turned into a point and back. */
#pragma once

#include "mlaforge/problem.h"
#include "op/cache_format.h"
#include "op/op.h"

extern const mlaf_op mlaf_op_mla_decode;

/* Check and canonicalise a copy: the caller's struct stays as it is, may be longer than ours (with zeros behind), and `out`
 * has our size. `out` is untouched on failure. */
mlaf_status mlaf_problem_take(const mlaf_problem *in, mlaf_problem *out, char *why, size_t why_size);

void mlaf_problem_point(const mlaf_problem *p, mlaf_point *out);
/* The same, unchecked, of a caller's struct, which may be of an older header. */
void mlaf_problem_of_caller(const mlaf_problem *p, mlaf_point *out);
mlaf_problem mlaf_problem_of(const mlaf_point *p);

/* The cache's format. One of 16 bits lies in one tensor or, split, in two; a launch says which by its kpe. */
static inline const mlaf_cache_format *mlaf_decode_format(const mlaf_problem *p, bool split) {
  static const uint8_t formats[] = {MLA_DECODE_FORMATS};
  return mlaf_cache_format_at(formats[p->cache ? p->cache + 1 : split]);
}
/* Bytes of it at this problem. */
static inline int64_t mlaf_decode_bytes(const mlaf_problem *p, mlaf_extent extent) {
  return mlaf_extent_bytes(extent, p->rank, p->rope);
}
/* Bytes of a row of the cache's tensor, and of its second one; 0: there is none. */
static inline int64_t mlaf_decode_ckv_bytes(const mlaf_problem *p) {
  return mlaf_decode_bytes(p, mlaf_decode_format(p, false)->row);
}
static inline int64_t mlaf_decode_kpe_bytes(const mlaf_problem *p) {
  return mlaf_decode_bytes(p, mlaf_decode_format(p, false)->second.row);
}
/* Units that row strides count (elements of 16 bits; bytes where the cache is of 8) of a row of the cache's tensor. */
static inline int64_t mlaf_decode_row(const mlaf_problem *p, bool split) {
  return mlaf_format_row(mlaf_decode_format(p, split), p->rank, p->rope);
}
/* Units of a row of the second tensor, which a cache of 16 bits may have; 0: there is none. */
static inline int64_t mlaf_decode_kpe_row(const mlaf_problem *p) {
  return mlaf_format_second(mlaf_decode_format(p, true), p->rank, p->rope);
}
