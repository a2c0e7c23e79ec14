/* Memory of 64 lanes at once, for waves of which every lane is on. A lane's dwords lie side by side in memory; a register holds
 * one dword of every lane. */
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "emu/emu.h"

/* Least and largest of 64 addresses. */
void emu_lanes_extent(const uint64_t addr[EMU_LANES], uint64_t *least, uint64_t *most);

#define EMU_INLINE inline __attribute__((always_inline))

/* Lanes l to l + 3: n dwords at `at` of each to n registers, and back in the order of lanes. n is 1 to 4 and known to the
 * compiler; four by four are a transposition. */
static EMU_INLINE void emu_lanes_load(uint32_t (*v)[EMU_LANES], int l, const uint8_t *const at[4], unsigned n) {
#if defined(__SSE2__)
  if (n == 4) {
    __m128 r[4];
    for (int i = 0; i < 4; i++) r[i] = _mm_loadu_ps((const float *)(const void *)at[i]);
    _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
    for (int k = 0; k < 4; k++) _mm_storeu_ps((float *)(void *)&v[k][l], r[k]);
    return;
  }
#endif
  uint32_t x[4][4];
  for (int i = 0; i < 4; i++) memcpy(x[i], at[i], 4 * n);
  for (unsigned k = 0; k < n; k++)
    for (int i = 0; i < 4; i++) v[k][l + i] = x[i][k];
}

static EMU_INLINE void emu_lanes_store(uint32_t (*const v)[EMU_LANES], int l, uint8_t *const at[4], unsigned n) {
#if defined(__SSE2__)
  if (n == 4) {
    __m128 r[4];
    for (int k = 0; k < 4; k++) r[k] = _mm_loadu_ps((const float *)(const void *)&v[k][l]);
    _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
    for (int i = 0; i < 4; i++) _mm_storeu_ps((float *)(void *)at[i], r[i]);
    return;
  }
#endif
  uint32_t x[4][4];
  for (unsigned k = 0; k < n; k++)
    for (int i = 0; i < 4; i++) x[i][k] = v[k][l + i];
  for (int i = 0; i < 4; i++) memcpy(at[i], x[i], 4 * n);
}
