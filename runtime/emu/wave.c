/* One workgroup from its first instruction to its last: initial registers as the dispatcher sets them, waves run in
 * slices round robin (so that a wave that spins on another's flag lets it move), barriers. */
#include <stdlib.h>
#include <string.h>

#include "emu/clock.h"
#include "emu/place.h"
#include "emu/strict.h"

enum { SLICE = 20000 }; /* instructions: long enough to keep a wave's registers in the host's cache */

struct emu_arena {
  emu_wave waves[EMU_MAX_WAVES];
  uint32_t (*vregs)[EMU_LANES]; /* [EMU_MAX_WAVES][EMU_VREGS] rows, touched only as far as waves exist */
  uint8_t *lds;
};

emu_arena *emu_arena_new(void) {
  emu_arena *a = calloc(1, sizeof *a);
  size_t bytes = (size_t)EMU_MAX_WAVES * EMU_VREGS * sizeof *a->vregs;
  if (!a) return NULL;
  void *p = NULL;
  if (posix_memalign(&p, 64, bytes) == 0) a->vregs = p;
  a->lds = malloc(EMU_LDS_MAX + 64); /* slack: vectorised copies may read past the last dword */
  if (a->vregs && a->lds) {
    memset(a->lds, 0, EMU_LDS_MAX + 64);
    return a;
  }
  emu_arena_free(a);
  return NULL;
}

void emu_arena_free(emu_arena *a) {
  if (!a) return;
  free(a->vregs);
  free(a->lds);
  free(a);
}

static bool set_sgpr(emu_wave *w, unsigned *at, uint64_t v, unsigned dwords) {
  for (unsigned i = 0; i < dwords; i++, (*at)++) {
    if (*at >= 102) return false;
    w->s[*at] = (uint32_t)(v >> (32 * i));
    w->s_init[*at] = true;
  }
  return true;
}

/* User and system SGPRs in the order of AMDGPUUsage, "Initial Kernel Execution State". */
static bool init_sgprs(emu_wave *w, const emu_dispatch *d) {
  const emu_group *g = w->group;
  const emu_kernel *k = g->kernel;
  unsigned at = 0;
  bool ok = true;
  if (k->sgpr_private_buffer) at += 4; /* flat scratch is architected: left uninitialised, a read faults */
  if (k->sgpr_dispatch_ptr) ok &= set_sgpr(w, &at, d->packet, 2);
  if (k->sgpr_queue_ptr) at += 2;
  if (k->sgpr_kernarg_ptr) ok &= set_sgpr(w, &at, (uint64_t)(uintptr_t)g->kernarg, 2);
  if (k->sgpr_dispatch_id) ok &= set_sgpr(w, &at, 0, 2);
  if (k->sgpr_flat_scratch) at += 2;
  if (k->sgpr_private_size) ok &= set_sgpr(w, &at, k->scratch_bytes, 1);
  for (unsigned i = 0; i < k->kernarg_preload_len; i++) {
    uint32_t v = 0, off = (k->kernarg_preload_offset + i) * 4;
    if (off + 4 <= k->kernarg_bytes) memcpy(&v, g->kernarg + off, 4);
    ok &= set_sgpr(w, &at, v, 1);
  }
  if (at > k->user_sgprs) return false;
  at = k->user_sgprs;
  for (int i = 0; i < 3; i++)
    if (k->sgpr_wg[i]) ok &= set_sgpr(w, &at, g->id[i], 1);
  if (k->sgpr_wg_info) ok &= set_sgpr(w, &at, 0, 1);
  return ok;
}

/* Work-item ids are packed ten bits each into v0 on gfx90a and later. Lanes past the block's end are off in EXEC. */
static void init_vgprs(emu_wave *w, const emu_grid *grid) {
  const emu_kernel *k = w->group->kernel;
  uint32_t bx = grid->block[0], by = grid->block[1], threads = bx * by * grid->block[2];
  uint64_t exec = 0;
  for (uint32_t lane = 0; lane < EMU_LANES; lane++) {
    uint32_t t = (uint32_t)w->index * EMU_LANES + lane;
    uint32_t x = t % bx, y = t / bx % by, z = t / bx / by;
    if (t < threads) exec |= UINT64_C(1) << lane;
    w->v[0][lane] = x | (k->vgpr_workitem >= 1 ? y << 10 : 0) | (k->vgpr_workitem >= 2 ? z << 20 : 0);
  }
  w->v_init[0] = exec;
  w->s[EMU_EXEC] = (uint32_t)exec;
  w->s[EMU_EXEC + 1] = (uint32_t)(exec >> 32);
  w->s_init[EMU_EXEC] = w->s_init[EMU_EXEC + 1] = true;
}

static bool init_wave(emu_wave *w, emu_group *g, int index, uint32_t (*vregs)[EMU_LANES], const emu_dispatch *d) {
  const emu_kernel *k = g->kernel;
  memset(w, 0, sizeof *w);
  w->v = vregs;
  w->group = g;
  w->index = index;
  w->scc = 2;
  w->mode = (k->rsrc1 >> 12 & 0xff) | (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9 |
            (k->rsrc1 >> 26 & 1 ? EMU_MODE_FP16_OVFL : 0);
  uint32_t entry = k->entry + (k->kernarg_preload_len ? 256 : 0); /* behind the loads for firmware that cannot preload */
  w->next = w->inst = emu_code_at(g->code, entry);
  if (!w->next) return emu_fault(w, -1, "entry point 0x%x is not an instruction", entry);
  if (!init_sgprs(w, d)) return emu_fault(w, -1, "the kernel descriptor asks for more SGPRs than it declares");
  init_vgprs(w, d->grid);
  if (emu_strict_timed(w->group->dev) && !emu_clock_init(w)) return emu_fault(w, -1, "out of host memory");
  if (!emu_hazard_wave_init(w) || !emu_timing_wave_init(w)) return emu_fault(w, -1, "out of host memory");
  return true;
}

/* Run until the wave blocks, ends, faults or its slice is over. */
static void run_slice(emu_wave *w, int slice, uint64_t max_insts) {
  for (int n = 0; n < slice; n++) {
    const emu_inst *in = w->next;
    w->inst = in;
    w->next = in + 1;
    if (w->mode & (EMU_MODE_GPR_IDX | EMU_MODE_VSKIP) && !(in = emu_mode_changed(w, in))) return;
    if (!emu_hazard_before(w, in)) return;
    bool go = in->exec(w, in);
    if (w->state == EMU_FAULTED) return;
    w->counts.issued[in->cls]++;
    emu_hazard_after(w, in);
    emu_timing_step(w, w->inst);
    if (w->clock) emu_clock_step(w, in);
    if (!go) return;
  }
  w->executed += (uint64_t)slice;
  if (w->executed >= max_insts)
    emu_fault(w, -1, "the wave does not terminate: %llu instructions and no s_endpgm", (unsigned long long)w->executed);
}

/* Hardware counts arrivals, whatever the instruction: waves that run different copies of a loop may meet at different
 * s_barriers. Remember the first time they did, for a wave that later waits in vain. */
static void note_split(emu_group *g) {
  const emu_wave *first = NULL;
  for (int i = 0; i < g->n_waves && !g->split[0]; i++) {
    const emu_wave *w = &g->waves[i];
    if (w->state != EMU_AT_BARRIER) continue;
    if (!first) first = w;
    if (w->inst == first->inst) continue;
    g->split[0] = first->inst, g->split[1] = w->inst;
    g->split_wave[0] = first->index, g->split_wave[1] = w->index;
  }
}

/* An ended wave counts as arrived, as on silicon. But when barriers were met at different instructions before, a wave that
 * ended after fewer of them means that the waves disagree about how many there are: what they guarded was not guarded. */
static bool check_split(emu_group *g) {
  const emu_wave *ended = NULL, *waits = NULL;
  for (int i = 0; i < g->n_waves; i++) {
    if (g->waves[i].state == EMU_ENDED) ended = &g->waves[i];
    else waits = &g->waves[i];
  }
  if (!ended || !g->split[0]) return true;
  return emu_fault(&g->waves[waits->index], -1, "divergent barrier: wave %d waits at its %u. s_barrier while wave %d has"
                   " ended after %llu; before, wave %d at pc 0x%x and wave %d at pc 0x%x passed one barrier together",
                   waits->index, g->epoch + 1, ended->index, (unsigned long long)ended->counts.barriers, g->split_wave[0],
                   g->split[0]->pc, g->split_wave[1], g->split[1]->pc);
}

/* Every live wave stands at a barrier. */
static bool pass_barrier(emu_group *g) {
  note_split(g);
  if (!check_split(g)) return false;
  emu_timing_barrier(g);
  g->epoch++;
  emu_lds_barrier(g);
  emu_clock_barrier(g);
  for (int i = 0; i < g->n_waves; i++) {
    emu_wave *w = &g->waves[i];
    if (w->state == EMU_FAULTED) return false;
    if (w->state != EMU_AT_BARRIER) continue;
    w->state = EMU_RUNNING;
    w->counts.barriers++;
  }
  return true;
}

/* One instruction of the wave that is furthest behind. */
static void run_in_time(emu_group *g, uint64_t max_insts) {
  emu_wave *next = NULL;
  for (int i = 0; i < g->n_waves; i++) {
    emu_wave *w = &g->waves[i];
    if (w->state == EMU_RUNNING && (!next || w->clock->now < next->clock->now)) next = w;
  }
  if (next) run_slice(next, 1, max_insts);
}

static bool run_waves(emu_group *g, uint64_t max_insts, const atomic_bool *stop) {
  for (;;) {
    int ended = 0, waiting = 0;
    bool timed = emu_strict_timed(g->dev);
    if (timed) run_in_time(g, max_insts);
    for (int i = 0; i < g->n_waves; i++) {
      emu_wave *w = &g->waves[i];
      if (w->state == EMU_RUNNING && !timed) run_slice(w, SLICE, max_insts);
      if (w->state == EMU_FAULTED) return false;
      ended += w->state == EMU_ENDED;
      waiting += w->state == EMU_AT_BARRIER;
    }
    if (ended == g->n_waves) return true;
    if (ended + waiting == g->n_waves && !pass_barrier(g)) return false;
    if (stop && atomic_load_explicit(stop, memory_order_relaxed)) return false;
  }
}

void emu_counts_add(emu_counts *sum, const emu_counts *part) {
  uint64_t *s = (uint64_t *)sum; /* a struct of nothing but uint64_t */
  const uint64_t *p = (const uint64_t *)part;
  _Static_assert(sizeof(emu_counts) % sizeof(uint64_t) == 0, "emu_counts is summed as an array");
  for (size_t i = 0; i < sizeof *sum / sizeof *s; i++) s[i] += p[i];
}

bool emu_group_run(emu_arena *arena, const emu_dispatch *d, const uint32_t id[3], emu_counts *counts, mlaf_err *err) {
  uint64_t threads = (uint64_t)d->grid->block[0] * d->grid->block[1] * d->grid->block[2];
  emu_group g = {.dev = d->dev, .code = d->code, .kernel = d->kernel, .id = {id[0], id[1], id[2]}, .waves = arena->waves,
                 .n_waves = (int32_t)((threads + EMU_LANES - 1) / EMU_LANES), .lds = arena->lds,
                 .lds_bytes = d->kernel->lds_bytes, .kernarg = d->kernarg, .timing = d->recorder, .warnings = d->warnings,
                 .err = err};
  g.linear_id = ((uint64_t)id[2] * d->grid->grid[1] + id[1]) * d->grid->grid[0] + id[0];
  bool ok = emu_lds_group_init(&g);
  if (!ok) mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the LDS of a workgroup");
  int started = 0;
  while (ok && started < g.n_waves) {
    ok = init_wave(&g.waves[started], &g, started, arena->vregs + (size_t)started * EMU_VREGS, d);
    started++;
  }
  if (ok && !emu_private_init(&g)) ok = false, mlaf_fail(err, MLAF_E_NOMEM, "no host memory for a workgroup's private memory");
  ok = ok && run_waves(&g, d->max_insts, d->stop);
  for (int i = 0; i < started; i++) {
    if (ok) emu_counts_add(counts, &g.waves[i].counts);
    emu_hazard_wave_free(&g.waves[i]);
    emu_timing_wave_free(&g.waves[i]);
    emu_clock_free(&g.waves[i]);
    free(g.waves[i].indexed);
  }
  emu_private_free(&g);
  emu_lds_group_free(&g);
  return ok;
}
