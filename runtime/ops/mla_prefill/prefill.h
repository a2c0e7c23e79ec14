/* mla_prefill inside: its shape, the checks of its arguments, its launch, its cases and its data. The functions are entries
 * of its table (op/calls.h). */
#ifndef MLAF_PREFILL_H
#define MLAF_PREFILL_H

#include "mlaforge/mla_prefill.h"
#include "op/calls.h"
#include "ops/mla_prefill/fields.h"
#include "ops/mla_prefill/launch.h"

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

extern const mlaf_calls mlaf_prefill_calls;

/* --- args.c --- */
mlaf_status prefill_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status prefill_check_stages(const mlaf_bound *b, mlaf_err *err);

/* --- prepare.c --- */
uint32_t prefill_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
/* Blocks of a launch; UINT64_MAX: more than any. */
uint64_t prefill_blocks(const prefill_shape *s, uint32_t rows_per_wg, int64_t total_q, int64_t batch);
/* The kernel's arguments, of checked ones. */
void prefill_fill(const prefill_shape *s, const mlaf_prefill_args *a, mlaf_prefill_kernel_args *out);
mlaf_status prefill_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
mlaf_work prefill_work(const mlaf_point *p);

#endif
