/* Lane loops with a short cut for what kernels do nearly always: v_perm_b32 with one selector for all lanes, min and max
 * without NaNs. The general expressions stand in valu_lane.h; each short cut gives the same bits. */
#pragma once

#include "emu/valu_lane.h"

static inline bool all_equal(const uint32_t *p) {
  uint32_t diff = 0;
  for (int i = 1; i < EMU_LANES; i++) diff |= p[i] ^ p[0];
  return diff == 0;
}

static void perm_lanes(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b, const uint32_t *restrict c) {
  uint32_t sel = c[0];
  if (sel & 0xf8f8f8f8 || !all_equal(c)) { /* selectors 0..7 take a byte; the others make signs and constants */
    for (int i = 0; i < EMU_LANES; i++) d[i] = perm(a[i], b[i], c[i]);
    return;
  }
  const uint32_t *src[4];
  uint32_t shift[4];
  for (int k = 0; k < 4; k++) {
    uint32_t s = sel >> (8 * k) & 7;
    src[k] = s & 4 ? a : b;
    shift[k] = 8 * (s & 3);
  }
  bool halves = shift[1] == shift[0] + 8 && shift[3] == shift[2] + 8 && src[0] == src[1] && src[2] == src[3];
  const uint32_t *p0 = src[0], *p1 = src[1], *p2 = src[2], *p3 = src[3];
  uint32_t s0 = shift[0], s1 = shift[1], s2 = shift[2], s3 = shift[3];
  if (halves)
    for (int i = 0; i < EMU_LANES; i++) d[i] = (p0[i] >> s0 & 0xffff) | p2[i] >> s2 << 16;
  else
    for (int i = 0; i < EMU_LANES; i++)
      d[i] = (p0[i] >> s0 & 0xff) | (p1[i] >> s1 & 0xff) << 8 | (p2[i] >> s2 & 0xff) << 16 | p3[i] >> s3 << 24;
}

static inline bool has_nan32(const uint32_t *p) {
  int32_t bad = 0;
  for (int i = 0; i < EMU_LANES; i++) bad |= (int32_t)(p[i] & 0x7fffffff) > 0x7f800000;
  return bad != 0;
}

/* Equal numbers are the same bits, or zeros of different sign: then or-ing keeps -0, and-ing +0. */
static inline uint32_t min_ordered(uint32_t x, uint32_t y) {
  return asf(x) < asf(y) ? x : asf(x) > asf(y) ? y : x | y;
}
static inline uint32_t max_ordered(uint32_t x, uint32_t y) {
  return asf(x) > asf(y) ? x : asf(x) < asf(y) ? y : x & y;
}

static void min_lanes(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b, const uint32_t *restrict c) {
  if (has_nan32(a) || has_nan32(b))
    for (int i = 0; i < EMU_LANES; i++) d[i] = minmax32(a[i], b[i], false);
  else
    for (int i = 0; i < EMU_LANES; i++) d[i] = min_ordered(a[i], b[i]);
}

static void max_lanes(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b, const uint32_t *restrict c) {
  if (has_nan32(a) || has_nan32(b))
    for (int i = 0; i < EMU_LANES; i++) d[i] = minmax32(a[i], b[i], true);
  else
    for (int i = 0; i < EMU_LANES; i++) d[i] = max_ordered(a[i], b[i]);
}

static void max3_lanes(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b, const uint32_t *restrict c) {
  if (has_nan32(a) || has_nan32(b) || has_nan32(c))
    for (int i = 0; i < EMU_LANES; i++) d[i] = minmax32(minmax32(a[i], b[i], true), c[i], true);
  else
    for (int i = 0; i < EMU_LANES; i++) d[i] = max_ordered(max_ordered(a[i], b[i]), c[i]);
}
