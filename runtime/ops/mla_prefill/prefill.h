/* mla_prefill inside: its shape, and what of its record is its own. */
#ifndef MLAF_PREFILL_H
#define MLAF_PREFILL_H

#include "op/calls.h"
#include "ops/mla_prefill/launch.h"

/* Tensors of which kernels may want maps. */
enum { PREFILL_MAP_Q = 1, PREFILL_MAP_K, PREFILL_MAP_K_PE, PREFILL_MAP_V };

/* Its field `inputs`. */
enum { PREFILL_16_BITS, PREFILL_E4M3FN, PREFILL_E4M3FNUZ };

/* A problem of it, spelled out. */
typedef struct prefill_shape {
  int heads, nope, rope, qk, vdim, dtype; /* qk: nope + rope */
  int inputs, bytes; /* PREFILL_E4M3FN, ...; of an element of Q, K and V */
  bool causal;
  int64_t batch, tokens, ctx;
} prefill_shape;
prefill_shape prefill_shape_of(const mlaf_point *p);

/* Keys that new token t of n sees, of a request with so many. */
static inline int64_t prefill_visible(const prefill_shape *s, int64_t keys, int64_t t, int64_t n) {
  const int64_t seen = s->causal ? keys - (n - 1 - t) : keys;
  return seen > 0 ? seen : 0;
}

mlaf_status prefill_check_stages(const mlaf_bound *b, mlaf_err *err); /* relations.c */

#endif
