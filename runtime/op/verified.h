/* Result of a verification. */
#pragma once

#include <stdint.h>

typedef struct mlaf_verify_result {
  double error;      /* relative Frobenius error of O against fp64, worst case; INFINITY: NaN or a number misplaced */
  double row_error;  /* the same of one (token, head) row, worst row */
  double lse_error;  /* |lse - reference|, worst row */
  double lse_ratio;  /* lse_error over its bound, worst row: above 1 is wrong */
  int32_t cases;     /* that ran */
  int64_t rows;      /* (token, head) rows compared */
  int64_t compared;  /* outputs of the last case whose reference is a number; of a joint case, of the part that has fewest */
  char detail[1024]; /* "" when correct; else case, request, token, head, column of the worst element, and the values */
  char command[640]; /* reproduces this run */
} mlaf_verify_result;
