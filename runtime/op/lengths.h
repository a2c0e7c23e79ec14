/* Lengths of the requests of a timed batch: all the same, or spread as a server's requests are. */
#pragma once

#include "base/base.h"

typedef enum mlaf_lengths_kind {
  MLAF_LENGTHS_EQUAL,
  MLAF_LENGTHS_UNIFORM,
  MLAF_LENGTHS_NORMAL,
  MLAF_LENGTHS_LOGNORMAL
} mlaf_lengths_kind;

/* equal: the problem's ctx. uniform: 1 .. 2 ctx - 1, ctx on average. normal: mean and standard deviation as multiples of
 * ctx, at least 1 token. lognormal: the mean as a multiple of ctx, and the standard deviation of the logarithm: many short
 * requests and a few long ones, as servers have them. All zero is "equal". */
typedef struct mlaf_lengths {
  mlaf_lengths_kind kind;
  double mean, std; /* lognormal's std is of the logarithm */
  uint64_t seed; /* 0: 1 */
} mlaf_lengths;

#define MLAF_LENGTHS_TEXT_MAX 64
/* "equal", "uniform[,SEED]", "normal:MEAN,STD[,SEED]", "lognormal:MEAN,SIGMA[,SEED]"; six digits of a number count. E_ARG says
 * what is accepted. */
mlaf_status mlaf_lengths_parse(const char *text, mlaf_lengths *out, mlaf_err *err);
/* Canonical: parse(print(l)) is l, and equal texts mean equal lengths. */
void mlaf_lengths_print(const mlaf_lengths *l, char out[MLAF_LENGTHS_TEXT_MAX]);
/* Tokens of each of n requests: the same for the same l, ctx and n. */
void mlaf_lengths_draw(const mlaf_lengths *l, int32_t ctx, int32_t n, int32_t *out);
