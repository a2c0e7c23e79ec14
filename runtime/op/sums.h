/* Sums of references in fp64. Eight of them run side by side, which compilers make vectors of; the order differs from that of one
 * sum, the last bits of a reference with it. Where all terms are exact, as products of 8-bit floats are, nothing differs. */
#pragma once

#include "base/base.h"

/* size: the sum of |terms|. */
typedef struct mlaf_sum {
  double sum, size;
} mlaf_sum;

double mlaf_dot(const double *a, const double *b, int64_t n);
mlaf_sum mlaf_dot_sizes(const double *a, const double *b, int64_t n);
/* b in bf16. */
double mlaf_dot_bf16(const double *a, const uint16_t *b, int64_t n);
/* to += by * x; each number of `to` is a sum of its own. */
void mlaf_add_scaled(double *to, double by, const double *x, int64_t n);

/* Stored numbers as doubles: of 16 bits, and codes of 8 bits times a scale. */
void mlaf_widen16(int32_t dtype, const uint16_t *from, int64_t n, double *to);
void mlaf_widen8(const double codes[256], const uint8_t *from, int64_t n, double scale, double *to);
