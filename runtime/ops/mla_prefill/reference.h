/* mla_prefill in fp64: rows of O over inputs on the host, and how far off a kernel's may be. */
#ifndef MLAF_PREFILL_REFERENCE_H
#define MLAF_PREFILL_REFERENCE_H

#include "op/e4m3.h"
#include "op/numeric.h"
#include "ops/mla_prefill/prefill.h"

/* A launch's inputs on the host; strides in elements. */
typedef struct prefill_view {
  prefill_shape s;
  const void *q, *k, *k_pe, *v; /* k_pe: of key 0 and head 0; NULL without rope columns */
  int64_t q_token, q_head, k_token, k_head, k_pe_token, k_pe_head, v_token, v_head;
  const int32_t *cu_q, *cu_k;
  int64_t batch, total_q, total_k;
  double scale;
  float tensor_scale[3]; /* of inputs of 8 bits: of Q, K and V */
  double codes[256];     /* what their bytes say */
} prefill_view;

void prefill_decode_codes(prefill_view *x);
/* The byte whose value is nearest. */
static inline uint8_t prefill_code(const prefill_view *x, float value) {
  return mlaf_e4m3_encode(x->s.inputs == PREFILL_E4M3FNUZ, (double)value);
}
/* A number of Q, K or V as it is stored. */
static inline double prefill_number(const prefill_view *x, const void *at, int64_t i) {
  if (x->s.inputs) return x->codes[((const uint8_t *)at)[i]];
  return (double)mlaf_decode16(x->s.dtype, ((const uint16_t *)at)[i]);
}

/* A row of O: whose, how many keys it sees (-1: its request's keys lie outside, and the row is NaN), the first of them. */
typedef struct prefill_row {
  int64_t request, token, keys, visible, first_key;
} prefill_row;
prefill_row prefill_row_of(const prefill_view *x, int64_t q_token);
/* The row of a head in fp64. scores: room for its visible keys. magnitude: of its scores the largest that their rounding errors
 * go by (prefill_lse_bound). */
void prefill_reference(const prefill_view *x, const prefill_row *row, int64_t q_token, int head, double *scores, double *o,
                       double *lse, double *magnitude);
double prefill_bound(const mlaf_point *p);
/* Error of one row relative to its reference. NaN is INFINITY. */
double prefill_row_error(int dtype, const double *want, const uint16_t *got, int n, double *diff2, double *ref2, int *column);
double prefill_lse_bound(const prefill_shape *s, int64_t visible, double magnitude, double lse);
/* The least work of a launch: rows of O, keys, and how many keys all rows see together. */
mlaf_work prefill_work_of(const prefill_shape *s, double rows, double keys, double seen);

/* data.c: data to time and soak on: `batch` requests of `tokens` new tokens and `ctx` keys, or of lengths spread about these in
 * the same proportion. */
MLAF_DATA_FUNCTIONS(prefill);

#endif
