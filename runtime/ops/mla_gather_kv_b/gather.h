/* mla_gather_kv_b inside: its shape, the checks of its arguments, its launch and its work. The functions are entries of its
 * table (op/calls.h). */
#ifndef MLAF_GATHER_H
#define MLAF_GATHER_H

#include "mlaforge/mla_gather_kv_b.h"
#include "op/calls.h"
#include "op/cache_format.h"
#include "ops/mla_gather_kv_b/fields.h"
#include "ops/mla_gather_kv_b/launch.h"

enum { GATHER_AS_IT_IS, GATHER_PAIRS, GATHER_HALVES }; /* words of the rotation */
enum { GATHER_WORKSPACE_ALIGN = 256 };

/* A problem of it, spelled out. */
typedef struct gather_shape {
  int heads, nope, rope, vdim, rank, dtype, rotate;
  const mlaf_cache_format *format; /* of the cache */
  int out; /* nope + vdim */
  int64_t tokens;
} gather_shape;
gather_shape gather_shape_of(const mlaf_point *p);

/* Bytes of the format at this shape (op/cache_format.h). */
static inline int64_t gather_bytes(const gather_shape *s, mlaf_extent extent) {
  return mlaf_extent_bytes(extent, s->rank, s->rope);
}
static inline int64_t gather_row_bytes(const gather_shape *s) { return gather_bytes(s, s->format->row); }
static inline int64_t gather_rope_bytes(const gather_shape *s) { return gather_bytes(s, s->format->rope_bytes); }
/* A stored number times the launch's scale is a value. */
static inline bool gather_has_scale(const gather_shape *s) { return s->format->scale == MLAF_SCALE_LAUNCH; }

/* Units from a row of the cache to the next. */
static inline int64_t gather_cache_row(const gather_shape *s, const mlaf_gather_kv_b_args *a) {
  return a->cache_row_stride ? a->cache_row_stride : gather_row_bytes(s) / s->format->unit;
}

extern const mlaf_calls mlaf_gather_calls;

/* --- args.c --- */
mlaf_status gather_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status gather_check_stages(const mlaf_bound *b, mlaf_err *err);

/* --- prepare.c --- */
/* Its products are a vendor's library's, of rows that the second kernel gathers into the workspace before. */
static inline bool gather_is_library(const mlaf_bound *b) { return b->stage[0].launch.flags & MLAF_KERNEL_LIBRARY; }
size_t gather_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows);
uint32_t gather_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
/* In how many shares the outputs of so many tiles of tokens go, on a device of so many compute units. */
uint32_t gather_shares(const gather_shape *s, uint64_t tiles, uint32_t units);
/* The kernel's arguments, of checked ones; without `shares`. */
void gather_fill(const gather_shape *s, const mlaf_gather_kv_b_args *a, mlaf_gather_kv_b_kernel_args *out);
mlaf_status gather_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work gather_work(const mlaf_point *p);

#endif
