/* mla_gather_kv_b inside: its shape, the checks of its arguments, its launch and its work. The functions are entries of its
 * table (op/calls.h). */
#ifndef MLAF_GATHER_H
#define MLAF_GATHER_H

#include "mlaforge/mla_gather_kv_b.h"
#include "op/calls.h"
#include "ops/mla_gather_kv_b/fields.h"
#include "ops/mla_gather_kv_b/launch.h"

enum { GATHER_PAGED, GATHER_DS_MLA, GATHER_E4M3FN, GATHER_E4M3FNUZ, GATHER_SPLIT }; /* words of the layout */
enum { GATHER_AS_IT_IS, GATHER_PAIRS, GATHER_HALVES };                          /* of the rotation */
enum { GATHER_WORKSPACE_ALIGN = 256 };
enum { GATHER_TILE = 128, GATHER_SCALES = 16 }; /* columns of a scale of fp8_ds_mla; bytes of a row's scales */

/* A problem of it, spelled out. */
typedef struct gather_shape {
  int heads, nope, rope, vdim, rank, dtype, layout, rotate;
  int out; /* nope + vdim */
  int64_t tokens;
} gather_shape;
gather_shape gather_shape_of(const mlaf_point *p);

/* Of the cache: whether all its columns have 16 bits, bytes of what strides count, of the latent with its scales, and of a row.
 * The rope columns are behind the latent, of a split cache in a tensor of their own. */
static inline bool gather_is_wide(const gather_shape *s) { return s->layout == GATHER_PAGED || s->layout == GATHER_SPLIT; }
static inline bool gather_is_split(const gather_shape *s) { return s->layout == GATHER_SPLIT; }
static inline int64_t gather_unit(const gather_shape *s) { return gather_is_wide(s) ? 2 : 1; }
static inline int64_t gather_latent_bytes(const gather_shape *s) {
  return gather_is_wide(s) ? 2 * s->rank : s->layout == GATHER_DS_MLA ? s->rank + GATHER_SCALES : s->rank;
}
static inline int64_t gather_rope_bytes(const gather_shape *s) {
  return (gather_is_wide(s) || s->layout == GATHER_DS_MLA ? 2 : 1) * s->rope;
}
static inline int64_t gather_row_bytes(const gather_shape *s) {
  return gather_latent_bytes(s) + (gather_is_split(s) ? 0 : gather_rope_bytes(s));
}

/* Units from a row of the cache to the next. */
static inline int64_t gather_cache_row(const gather_shape *s, const mlaf_gather_kv_b_args *a) {
  return a->cache_row_stride ? a->cache_row_stride : gather_row_bytes(s) / gather_unit(s);
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
