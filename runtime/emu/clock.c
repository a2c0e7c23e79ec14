/* The waves' approximate clocks. Latencies are those of an idle machine (arch_gfx942.c), rounded: what they order must
 * lie many slots apart anyway to be called ordered. */
#include "emu/clock.h"

enum { SMEM = 50, LDS_GAP = 2, VMEM_GAP = 1, TRANS = 4 };

bool emu_clock_init(emu_wave *w) {
  w->clock = calloc(1, sizeof *w->clock);
  return w->clock != NULL;
}

void emu_clock_free(emu_wave *w) {
  free(w->clock);
  w->clock = NULL;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* In-order return: nothing completes before its predecessor. */
static void issued(uint64_t *ready, uint32_t *seen, uint32_t upto, uint64_t at, uint64_t gap) {
  for (; *seen < upto; ++*seen) ready[(*seen + 1) % EMU_CLOCK_OPS] = later(at, ready[*seen % EMU_CLOCK_OPS] + gap);
}

static void wait(emu_clock *c, const uint64_t *ready, uint32_t upto, uint32_t may_stay) {
  if (upto > may_stay && may_stay < EMU_CLOCK_OPS) c->now = later(c->now, ready[(upto - may_stay) % EMU_CLOCK_OPS]);
}

void emu_clock_step(emu_wave *w, const emu_inst *in) {
  emu_clock *c = w->clock;
  if (in->cls == EMU_C_MFMA) {
    c->now = later(c->now, c->mfma_free);
    c->mfma_free = c->now + in->passes;
  }
  c->now += in->cls == EMU_C_TRANS ? TRANS : in->cls == EMU_C_NOP ? (in->imm & 15) + 1 : 1;
  issued(c->vm_ready, &c->vm_seen, w->vm_issued, c->now + EMU_CLOCK_VMEM, VMEM_GAP);
  issued(c->lgkm_ready, &c->lgkm_seen, w->lgkm_issued, c->now + EMU_CLOCK_LDS, LDS_GAP);
  if (c->smem_seen != w->smem_issued) c->smem_seen = w->smem_issued, c->smem_ready = c->now + SMEM;
  if (in->cls != EMU_C_WAITCNT) return;
  if (in->vmcnt != 0xff) wait(c, c->vm_ready, w->vm_issued, in->vmcnt);
  if (in->lgkmcnt != 0xff) wait(c, c->lgkm_ready, w->lgkm_issued, in->lgkmcnt);
  if (in->lgkmcnt == 0) c->now = later(c->now, c->smem_ready);
}

void emu_clock_barrier(emu_group *g) {
  uint64_t now = 0;
  for (int i = 0; i < g->n_waves; i++)
    if (g->waves[i].clock && g->waves[i].state == EMU_AT_BARRIER) now = later(now, g->waves[i].clock->now);
  for (int i = 0; i < g->n_waves; i++)
    if (g->waves[i].clock && g->waves[i].state == EMU_AT_BARRIER) g->waves[i].clock->now = now;
}

static bool done(const emu_wave *w, const uint64_t *ready, uint32_t sequence, uint32_t last) {
  return last - sequence >= EMU_CLOCK_OPS || ready[sequence % EMU_CLOCK_OPS] <= w->clock->now;
}

bool emu_clock_vm_done(const emu_wave *w, uint32_t sequence) {
  return w->clock && done(w, w->clock->vm_ready, sequence, w->vm_issued);
}

bool emu_clock_lgkm_done(const emu_wave *w, uint32_t sequence) {
  return w->clock && done(w, w->clock->lgkm_ready, sequence, w->lgkm_issued);
}

bool emu_clock_smem_done(const emu_wave *w) { return w->clock && w->clock->smem_ready <= w->clock->now; }
