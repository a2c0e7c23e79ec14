/* Loops over the addresses of 64 lanes that compilers turn into vector code. */
#include "emu/lanes.h"

#include "base/clones.h"

MLAF_CLONES static void extent(const uint64_t *addr, uint64_t out[2]) {
  uint64_t lo = addr[0], hi = addr[0];
  for (int l = 1; l < EMU_LANES; l++) {
    lo = addr[l] < lo ? addr[l] : lo;
    hi = addr[l] > hi ? addr[l] : hi;
  }
  out[0] = lo, out[1] = hi;
}

void emu_lanes_extent(const uint64_t addr[EMU_LANES], uint64_t *least, uint64_t *most) {
  uint64_t ends[2];
  extent(addr, ends);
  *least = ends[0], *most = ends[1];
}
