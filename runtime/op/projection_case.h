/* A verification case of a projection: everything poisoned first, then what a launch may read, and the fp64 reference. */
#pragma once

#include "op/numeric.h"
#include "op/projection_calls.h"

/* Subject of a case. */
typedef struct mlaf_projection_spec {
  const char *name;
  int64_t tokens;
  bool apart;     /* rows, heads and tokens lie apart, as in slices of larger tensors */
  bool table_16;  /* cosines and sines of the problem's dtype */
  bool one_table; /* sines behind the cosines of a row */
  bool outside;   /* some positions are outside the table */
  bool huge;      /* scales of weights of 8 bits are as large as leaves outputs finite; else about 1, in slices some are 0 */
  bool sizes;     /* with a norm: rows of x are large, usual and small by turns, and the norm's weights large */
} mlaf_projection_spec;

typedef struct mlaf_projection_case {
  mlaf_case head; /* first */
  mlaf_projection_spec spec;
  mlaf_product p;
  mlaf_projection_args a; /* strides, sizes, eps and flags; no addresses */
  uint16_t *x, *gain, *residual;
  void *w;                /* of 16 bits, or bytes */
  float *scales;          /* of those */
  double codes[256];      /* what each is */
  int64_t *positions;
  void *cos, *sin;
  size_t x_bytes, w_bytes, y_bytes, gain_bytes, residual_bytes, table_bytes, scale_bytes;
  double *wide, *want; /* a row of x, as the product sees it; a head's outputs */
  int step;            /* every so many outputs of a token are compared, others for its neighbours: 1, all */
  /* The product whose outputs are this one's x; NULL: x is. Then `given` has a head's, and it is heads that are compared in
   * steps. */
  const struct mlaf_projection_case *before;
  double *given;
} mlaf_projection_case;

static inline bool mlaf_projection_head_compared(const mlaf_projection_case *c, int64_t t, int h) {
  return !c->before || (h + t) % c->step == 0;
}
/* The outputs of token t and head h: OUTER of the product, then the rope columns. NaN where it has to be; left alone: outputs
 * that are not compared. */
void mlaf_projection_reference(const mlaf_projection_case *c, int64_t t, int h, double *out);
/* Spells out every stride, of a product that may be a part of the problem's. */
void mlaf_projection_dense(const mlaf_product *p, mlaf_projection_args *a);
/* Bytes' values, where weights are bytes. */
void mlaf_projection_codes(mlaf_projection_case *c);
static inline bool mlaf_projection_compared(const mlaf_projection_case *c, int64_t t, int output) {
  return output >= c->p.outer || c->before || (output + t) % c->step == 0;
}
