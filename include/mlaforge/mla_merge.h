/* mla_merge: two partial attentions of the same queries, over keys apart from each other, become one.
 *
 *   (o [T, H, V], lse [H, T]) of a prefix and of a suffix   ->   o [T, H, V], lse
 *
 * lse is the log of the sum over scaled scores, as mla_prefill and mla_decode write it. A part whose lse is infinite, of
 * either sign, is empty: it has no say, whatever its o holds, NaN included. Both empty: 0 and -inf. A plan of a problem such
 * as "mla_merge:h16,v128,bf16,t1024" (mlaf_plan_for) serves any number of tokens.
 *
 * Made by tools/args.lua of gen/ops/mla_merge/args.lua. */
#ifndef MLAFORGE_MLA_MERGE_H
#define MLAFORGE_MLA_MERGE_H

#include "mlaforge/operation.h"

enum {
  MLAF_MERGE_IN_PLACE = 1u << 0, /* over the prefix: o and lse are NULL */
  MLAF_MERGE_BASE_2 = 1u << 1 /* all lse are logs to the base 2; else natural ones */
};

/* A part, device pointers, o 16-byte aligned. Strides in elements, o's a multiple of 8, 0: dense. lse's both 0: [H, T]. */
typedef struct mlaf_merge_part {
  const void *o;
  int64_t o_token_stride, o_head_stride;
  const float *lse;
  int64_t lse_token_stride, lse_head_stride;
} mlaf_merge_part;

/* The result may lie over a part, o over its o and lse over its lse, with the same strides; else it must not overlap. */
typedef struct mlaf_merge_args {
  uint32_t struct_size; /* sizeof(mlaf_merge_args), set by MLAF_MERGE_ARGS_INIT */
  uint32_t flags; /* MLAF_MERGE_* */
  int64_t tokens; /* T, 0 and up */
  mlaf_merge_part prefix, suffix;
  void *o;
  int64_t o_token_stride, o_head_stride;
  float *lse; /* NULL: not wanted */
  int64_t lse_token_stride, lse_head_stride;
} mlaf_merge_args;
#define MLAF_MERGE_ARGS_INIT {.struct_size = sizeof(mlaf_merge_args)}

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device
 * memory on the host. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_merge_execute(const mlaf_plan *plan, const mlaf_merge_args *args, void *stream) {
  return mlaf_run(plan, "mla_merge", args, stream);
}

#endif
