/* mla_append inside: its shape, the checks of its arguments, its launch, its cases and its data. The functions are entries of its
 * table (op/calls.h). */
#ifndef MLAF_APPEND_H
#define MLAF_APPEND_H

#include "mlaforge/mla_append.h"
#include "op/calls.h"
#include "op/cache_format.h"
#include "ops/mla_append/fields.h"
#include "ops/mla_append/launch.h"

/* Words of the style, by their numbers. */
enum { APPEND_PAIRS, APPEND_HALVES, APPEND_UNROTATED };

/* A problem of it, spelled out. */
typedef struct append_shape {
  int heads, rank, rope, dtype, style;
  const mlaf_cache_format *format; /* of the cache */
  bool norm, turned; /* turned: positions and table count */
  int64_t tokens;
} append_shape;
append_shape append_shape_of(const mlaf_point *p);

/* Bytes of the format at this shape (op/cache_format.h). */
static inline int64_t append_bytes(const append_shape *s, mlaf_extent extent) {
  return mlaf_extent_bytes(extent, s->rank, s->rope);
}
static inline int64_t append_row_bytes(const append_shape *s) { return append_bytes(s, s->format->row); }
static inline int64_t append_rope_bytes(const append_shape *s) { return append_bytes(s, s->format->rope_bytes); }
/* A stored number is a value divided by the launch's scale. */
static inline bool append_has_scale(const append_shape *s) { return s->format->scale == MLAF_SCALE_LAUNCH; }

/* The stride of a tensor in its units; of one that is not there the caller's says nothing, whatever it is. */
static inline int64_t append_stride(const void *of, int64_t stride, int64_t dense) { return of && stride ? stride : dense; }
/* True if the cache's pages lie apart: then page_tokens counts. */
static inline bool append_is_paged(const mlaf_append_args *a) {
  return (a->cache && a->cache_page_stride) || (a->cache_kpe && a->cache_kpe_page_stride);
}

extern const mlaf_calls mlaf_append_calls;

/* --- args.c --- */
mlaf_status append_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status append_check_stages(const mlaf_bound *b, mlaf_err *err);

/* --- prepare.c --- */
uint32_t append_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
/* The kernel's arguments, of checked ones; blocks: of the grid. */
void append_fill(const append_shape *s, const mlaf_append_args *a, uint32_t threads, uint32_t wave, uint32_t group,
                 mlaf_append_kernel_args *out, uint64_t *blocks);
mlaf_status append_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work append_work(const mlaf_point *p);

#endif
