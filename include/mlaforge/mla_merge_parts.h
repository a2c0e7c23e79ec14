/* mla_merge_parts: the attentions of the same queries over N shards of their contexts become one, in one launch.
 *
 *   parts [N, T, H, V], parts_lse [N, T, H]   ->   o [T, H, V], lse [T, H]
 *
 * parts_lse is the log of the sum over scaled scores, as mla_decode writes it. A part whose lse is infinite, of either sign,
 * is empty: it has no say, whatever its o holds, NaN included. All empty: 0 and -inf. One part alone comes out bit for bit. A
 * plan of a problem such as "mla_merge_parts:n4,h16,v512,bf16,t64" (mlaf_plan_for) serves any number of tokens. Two parts that
 * lie apart, and merging in place: mla_merge.
 *
 * Made by tools/args.lua of gen/ops/mla_merge_parts/args.lua. */
#ifndef MLAFORGE_MLA_MERGE_PARTS_H
#define MLAFORGE_MLA_MERGE_PARTS_H

#include "mlaforge/operation.h"

enum {
  MLAF_MERGE_PARTS_IN_BASE_2 = 1u << 0, /* parts_lse are logs to the base 2; else natural ones */
  MLAF_MERGE_PARTS_OUT_BASE_2 = 1u << 1 /* so is lse */
};

/* Device pointers, parts and o 16-byte aligned. Strides in elements, those of parts and o a multiple of 8; 0: dense. The
 * result must not overlap a part. */
typedef struct mlaf_merge_parts_args {
  uint32_t struct_size; /* sizeof(mlaf_merge_parts_args), set by MLAF_MERGE_PARTS_ARGS_INIT */
  uint32_t flags; /* MLAF_MERGE_PARTS_* */
  int64_t tokens; /* T, 0 and up */
  const void *parts;
  int64_t parts_part_stride, parts_token_stride, parts_head_stride;
  const float *parts_lse;
  int64_t parts_lse_part_stride, parts_lse_token_stride, parts_lse_head_stride;
  void *o;
  int64_t o_token_stride, o_head_stride;
  float *lse; /* NULL: not wanted */
  int64_t lse_token_stride, lse_head_stride;
} mlaf_merge_parts_args;
#define MLAF_MERGE_PARTS_ARGS_INIT {.struct_size = sizeof(mlaf_merge_parts_args)}

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device
 * memory on the host. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_merge_parts_execute(const mlaf_plan *plan, const mlaf_merge_parts_args *args, void *stream) {
  return mlaf_run(plan, "mla_merge_parts", args, stream);
}

#endif
