/* Numbers of a cached token on the host, exactly as its format stores them (op/cache_format.h). */
#ifndef MLAF_STORED_H
#define MLAF_STORED_H

#include "op/cache_format.h"
#include "op/e4m3.h"
#include "op/numeric.h"

/* Number i of those from `at` on. dtype: the problem's 16-bit type. */
static inline double mlaf_stored_number(mlaf_stored type, int32_t dtype, const unsigned char *at, int64_t i) {
  uint16_t half;
  if (!mlaf_stored_in_16(type)) return mlaf_e4m3_decode(mlaf_stored_fnuz(type), at[i]);
  memcpy(&half, at + 2 * i, sizeof half);
  return (double)mlaf_decode16(dtype, half);
}

/* The token's own scale of a column of its latent; 1: its row holds none. */
static inline float mlaf_stored_scale(const mlaf_cache_format *f, int rank, int rope, const unsigned char *row, int column) {
  float scale = 1;
  if (f->scale == MLAF_SCALE_STORED)
    memcpy(&scale, row + mlaf_extent_bytes(f->scales_at, rank, rope) + 4 * (column / f->group), sizeof scale);
  return scale;
}

#endif
