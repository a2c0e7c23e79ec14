/* Approximate time of a wave, in issue slots of 4 clk: kept only when MLAF_EMU_STRICT forgives what time makes good (data
 * that was not waited for, LDS accesses that no barrier separates). Then waves also run in the order of their clocks. */
#pragma once

#include "emu/emu.h"

enum {
  EMU_CLOCK_OPS = 64,
  EMU_CLOCK_LDS = 16,      /* slots an LDS access takes, 64 clk */
  EMU_CLOCK_LDS_ORDER = 4, /* the LDS serves accesses issued this far apart in the order of their issue */
  EMU_CLOCK_VMEM = 150
};

typedef struct emu_clock {
  uint64_t now;
  uint64_t mfma_free;
  uint64_t vm_ready[EMU_CLOCK_OPS], lgkm_ready[EMU_CLOCK_OPS]; /* [sequence % 64] when the operation is complete */
  uint64_t smem_ready;
  uint32_t vm_seen, lgkm_seen, smem_seen;
} emu_clock;

bool emu_clock_init(emu_wave *w); /* false: out of memory */
void emu_clock_free(emu_wave *w);
void emu_clock_step(emu_wave *w, const emu_inst *in); /* after the instruction */
void emu_clock_barrier(emu_group *g);
/* Complete by now? False when no clock is kept. */
bool emu_clock_vm_done(const emu_wave *w, uint32_t sequence);
bool emu_clock_lgkm_done(const emu_wave *w, uint32_t sequence);
bool emu_clock_smem_done(const emu_wave *w);
static inline uint64_t emu_clock_now(const emu_wave *w) { return w->clock ? w->clock->now : 0; }
