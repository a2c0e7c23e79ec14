/* The timing model's ears: what memory instructions report while a workgroup runs. */
#ifndef MLAF_EMU_TIMING_H
#define MLAF_EMU_TIMING_H

#include "emu/emu.h"

typedef enum emu_traffic { EMU_TRAFFIC_LOAD, EMU_TRAFFIC_STORE, EMU_TRAFFIC_ATOMIC, EMU_TRAFFIC_LDS } emu_traffic;

/* One vector-memory instruction: the lanes' addresses and bytes each. Adds to w->counts and, when the wave is being
 * timed, remembers the cache lines for the step that follows. */
void emu_timing_memory(emu_wave *w, const uint64_t addr[EMU_LANES], uint64_t lanes, unsigned bytes, emu_traffic kind);

#endif
