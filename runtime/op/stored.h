/* Numbers of a cached token on the host, exactly as its format stores them (op/cache_format.h). */
#pragma once

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

/* A byte of ue8m0, a power of two. */
static inline float mlaf_stored_power(unsigned char code) { return code == 255 ? NAN : ldexpf(1, code - 127); }

/* A page of `tokens` in host memory: its first rows in both tensors, and bytes from row to row. */
typedef struct mlaf_stored_page {
  void *rows, *second; /* second: of formats that have one */
  int64_t row, second_row, tokens;
} mlaf_stored_page;

/* The parts of a token of a page. second: its row in the second tensor, which has one of the others. */
typedef struct mlaf_stored_token {
  unsigned char *latent, *rope, *scales, *second;
} mlaf_stored_token;
static inline mlaf_stored_token mlaf_stored_token_of(const mlaf_cache_format *f, int rank, int rope, const mlaf_stored_page *page,
                                                     int64_t slot) {
  unsigned char *const rows = page->rows, *const row = rows + slot * page->row, *const behind = rows + page->tokens * page->row;
  mlaf_stored_token t = {row, row + mlaf_extent_bytes(f->rope_at, rank, rope),
                         f->aside ? behind + slot * f->aside : row + mlaf_extent_bytes(f->scales_at, rank, rope), NULL};
  if (f->rope_aside) t.rope = behind + page->tokens * f->aside + slot * f->rope_aside * rope;
  if (f->second.of && page->second) t.second = (unsigned char *)page->second + slot * page->second_row;
  if (f->second.of == MLAF_PART_ROPE) t.rope = t.second;
  if (f->second.of == MLAF_PART_SCALES) t.scales = t.second;
  return t;
}

/* The scale of a column of a token's latent; 1: it holds none. */
static inline float mlaf_stored_factor(const mlaf_cache_format *f, const unsigned char *scales, int column) {
  float scale = 1;
  if (f->scale != MLAF_SCALE_STORED) return 1;
  if (f->powers) return mlaf_stored_power(scales[column / f->group]);
  memcpy(&scale, scales + 4 * (column / f->group), sizeof scale);
  return scale;
}
