/* A verification case of mla_prefill: inputs of a launch on the host, and its fp64 reference. */
#ifndef MLAF_PREFILL_CASE_H
#define MLAF_PREFILL_CASE_H

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

/* Decode bytes to values, and find the byte whose value is nearest. */
void prefill_decode_codes(prefill_view *x);
uint8_t prefill_code(const prefill_view *x, float value);
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

typedef enum prefill_layout {
  PREFILL_TWO_SOURCES, /* k [Tk, H, N] within rows of N+V, k_pe [Tk, P] of all heads */
  PREFILL_PLAIN        /* k [Tk, H, N+P] */
} prefill_layout;

enum { PREFILL_MOST_REQUESTS = 256 };
typedef struct prefill_spec {
  const char *name;
  int n;
  int32_t q[PREFILL_MOST_REQUESTS], k[PREFILL_MOST_REQUESTS];
  prefill_layout layout;
  bool gaps;       /* between rows of all tensors */
  bool lse_by_token; /* [Tq, H] */
  bool spare;
  bool zero_k; /* of inputs of 8 bits: K's scale is 0, as quantising a tensor of zeros gives it */
  double score_std;
} prefill_spec;

typedef struct prefill_case {
  mlaf_case head; /* first */
  prefill_view x;
  prefill_layout layout;
  bool lse_by_token;
  int64_t o_token, o_head;
  void *q, *k, *k_pe, *v;
  int32_t *cu; /* [2][batch + 1] */
  size_t q_count, k_count, k_pe_count, v_count, o_count;
  double *o, *lse, *magnitude; /* [Tq, H, V], [Tq, H] */
} prefill_case;

/* --- cases.c --- */
enum { PREFILL_CASES = 4 };
mlaf_status prefill_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err);
void prefill_free_case(mlaf_case *c);
double prefill_bound(const mlaf_point *p);

/* --- case.c --- */
mlaf_status prefill_case_make(const mlaf_point *p, const prefill_spec *spec, uint64_t seed, mlaf_inject inject,
                              prefill_case **out, mlaf_err *err);
void prefill_case_free(prefill_case *c);
static inline int64_t prefill_case_lse_at(const prefill_case *c, int64_t token, int head) {
  return c->lse_by_token ? token * c->x.s.heads + head : head * c->x.total_q + token;
}

/* --- compare.c --- */
double prefill_error_bound(const prefill_shape *s);
/* Error of one row relative to its reference. NaN is INFINITY. */
double prefill_row_error(int dtype, const double *want, const uint16_t *got, int n, double *diff2, double *ref2, int *column);
double prefill_lse_bound(const prefill_shape *s, int64_t visible, double magnitude, double lse);
int prefill_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                         mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool prefill_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool prefill_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

#endif
