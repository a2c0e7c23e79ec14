/* Shared by kernels of the fake driver: the schedules' arithmetic, and one row by the definition. */
#pragma once

#include <math.h>
#include <string.h>

#include "op/numeric.h"
#include "cuda/fake_whole.h"

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;
#define MLAF_DEV static inline
#define SCHEDULE_FIXED 128
#include "../templates/mla_decode/lib/schedule.h"
#define FIT_CUT 500
#include "../templates/mla_decode/lib/fit.h"
#include "../templates/mla_decode/lib/meet.h"

enum { H = FW_HEADS, R = FW_RANK, P = FW_ROPE, SLOT_ROWS = FW_Q_LEN * FW_HEADS };

static inline double value(const void *base, int64_t at) {
  return (double)mlaf_decode16(MLAF_BF16, ((const uint16_t *)base)[at]);
}

/* Base-2 score of a query row and a cached token. */
static inline double score(const mlaf_decode_args *a, int64_t row, int64_t cached) {
  double s = 0;
  for (int c = 0; c < R; c++) s += value(a->q, row * (R + P) + c) * value(a->ckv, cached * a->ckv_row_stride + c);
  for (int c = 0; c < P; c++) s += value(a->q, row * (R + P) + R + c) * value(a->kpe, cached * a->kpe_row_stride + c);
  return s * (double)a->scale_log2e;
}

/* o normalised by its own sum; the base-2 LSE, -inf if no token is seen. */
static inline double attend(const mlaf_decode_args *a, const struct mlaf_piece *x, int64_t row, int seen, double o[R]) {
  double sum = 0;
  memset(o, 0, R * sizeof *o);
  for (int t = x->begin; t < x->end && t < seen; t++) {
    const int64_t cached = (int64_t)a->kv_indices[x->first_page + t / FW_PAGE] * FW_PAGE + t % FW_PAGE;
    const double p = exp2(score(a, row, cached));
    sum += p;
    for (int c = 0; c < R; c++) o[c] += p * value(a->ckv, cached * a->ckv_row_stride + c);
  }
  for (int c = 0; c < R && sum > 0; c++) o[c] /= sum;
  return sum > 0 ? log2(sum) : -INFINITY;
}

static inline void finish(const mlaf_decode_args *a, int64_t row, const double o[R], double lse2) {
  for (int c = 0; c < R; c++) ((uint16_t *)a->o)[row * R + c] = mlaf_encode16(MLAF_BF16, (float)o[c]);
  if (a->lse) a->lse[row] = (float)(lse2 * M_LN2);
}
