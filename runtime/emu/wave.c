/* One workgroup from its first instruction to its last: initial registers as the dispatcher sets them, waves run in
 * slices round robin (so that a wave that spins on another's flag lets it move), barriers. */
#include "emu/clock.h"
#include "emu/place.h"
#include "emu/strict.h"
#include "emu/turns.h"

enum {
  SLICE = 20000,   /* instructions: long enough to keep a wave's registers in the host's cache */
  TURN = 16 * SLICE /* of all waves of a workgroup, where workgroups take turns */
};

struct emu_arena {
  emu_group group;
  int started; /* waves to clean up */
  emu_wave *waves;
  uint32_t (*vregs)[EMU_LANES]; /* [n_waves][EMU_VREGS] rows, touched only as far as registers are used */
  uint8_t *lds;
};

static int32_t waves_of(const emu_dispatch *d) {
  uint64_t threads = (uint64_t)d->grid->block[0] * d->grid->block[1] * d->grid->block[2];
  return (int32_t)((threads + EMU_LANES - 1) / EMU_LANES);
}

enum { LDS_SLACK = 64 /* vectorised copies may read past the last dword */ };

emu_arena *emu_arena_new(const emu_dispatch *d) {
  emu_arena *a = calloc(1, sizeof *a);
  size_t n = (size_t)waves_of(d), bytes = n * EMU_VREGS * sizeof *a->vregs;
  if (!a) return NULL;
  void *p = NULL;
  if (posix_memalign(&p, 64, bytes) == 0) a->vregs = p;
  a->waves = calloc(n, sizeof *a->waves);
  a->lds = calloc(1, d->lds_bytes + LDS_SLACK);
  if (a->vregs && a->lds && a->waves) return a;
  emu_arena_free(a);
  return NULL;
}

void emu_arena_free(emu_arena *a) {
  if (!a) return;
  free(a->vregs);
  free(a->waves);
  free(a->lds);
  free(a);
}

emu_group *emu_arena_group(emu_arena *a) { return &a->group; }

size_t emu_arena_bytes(const emu_dispatch *d) {
  size_t registers = (size_t)(d->kernel->vgprs ? d->kernel->vgprs : EMU_VREGS) * sizeof *((emu_arena *)0)->vregs;
  size_t lds = 10 * (size_t)d->lds_bytes; /* with its shadow */
  return sizeof(emu_arena) + lds + (size_t)waves_of(d) * (sizeof(emu_wave) + registers + emu_private_bytes(d->kernel));
}

static bool set_sgpr(emu_wave *w, unsigned *at, uint64_t v, unsigned dwords) {
  for (unsigned i = 0; i < dwords; i++, (*at)++) {
    if (*at >= 102) return false;
    w->s[*at] = (uint32_t)(v >> (32 * i));
    w->s_init[*at] = true;
  }
  return true;
}

/* Sets the buffer descriptor of private memory: dwords of 64 lanes interleaved, the lane added. Its base is known to
 * locate_buffer. */
static bool set_private_buffer(emu_wave *w, unsigned *at) {
  uint32_t hi = (uint32_t)(EMU_PRIVATE_BUFFER >> 32) | UINT32_C(1) << 31; /* swizzled */
  return set_sgpr(w, at, (uint64_t)hi << 32 | (uint32_t)EMU_PRIVATE_BUFFER, 2) &&
         set_sgpr(w, at, UINT32_MAX | (uint64_t)(1u << 19 | 3u << 21 | 1u << 23) << 32, 2);
}

/* User and system SGPRs in the order of AMDGPUUsage, "Initial Kernel Execution State". */
static bool init_sgprs(emu_wave *w, const emu_dispatch *d) {
  const emu_group *g = w->group;
  const emu_kernel *k = g->kernel;
  unsigned at = 0;
  bool ok = true;
  bool architected = g->code->isa->flat_scratch; /* then nothing of the kind is set: a read faults */
  if (k->sgpr_private_buffer && architected) at += 4;
  else if (k->sgpr_private_buffer) ok &= set_private_buffer(w, &at);
  if (k->sgpr_dispatch_ptr) ok &= set_sgpr(w, &at, d->packet, 2);
  if (k->sgpr_queue_ptr) at += 2;
  if (k->sgpr_kernarg_ptr) ok &= set_sgpr(w, &at, (uint64_t)(uintptr_t)g->kernarg, 2);
  if (k->sgpr_dispatch_id) ok &= set_sgpr(w, &at, 0, 2);
  if (k->sgpr_flat_scratch && architected) at += 2;
  else if (k->sgpr_flat_scratch) ok &= set_sgpr(w, &at, EMU_PRIVATE_BUFFER, 2);
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
  if (k->sgpr_wave_offset && !architected) ok &= set_sgpr(w, &at, 0, 1); /* every wave's private memory is its own */
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

/* Run until the wave blocks, ends, faults or its slice is over; how many instructions that took. */
static uint32_t run_slice(emu_wave *w, uint32_t slice, uint64_t max_insts) {
  uint32_t n = 0;
  while (n < slice) {
    const emu_inst *in = w->next;
    w->inst = in;
    w->next = in + 1;
    n++;
    if (w->mode & (EMU_MODE_GPR_IDX | EMU_MODE_VSKIP) && !(in = emu_mode_changed(w, in))) break;
    if (!emu_hazard_before(w, in)) break;
    bool go = in->exec(w, in);
    if (w->state == EMU_FAULTED) break;
    w->counts.issued[in->cls]++;
    emu_hazard_after(w, in);
    if (w->timing && !emu_timing_step(w, w->inst)) break;
    if (w->clock) emu_clock_step(w, in);
    if (!go || (in->shared == EMU_POLL && emu_turns_polled(w))) break;
  }
  w->executed += n; /* however the slice ended: a loop with a barrier in it is one without an end, too */
  if (w->executed >= max_insts && w->state != EMU_FAULTED && w->state != EMU_ENDED)
    emu_fault(w, -1, "the wave does not terminate: %llu instructions and no s_endpgm (MLAF_EMU_MAX_INSTS sets the limit)",
              (unsigned long long)w->executed);
  return n;
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
static uint32_t run_in_time(emu_group *g, uint64_t max_insts) {
  emu_wave *next = NULL;
  for (int i = 0; i < g->n_waves; i++) {
    emu_wave *w = &g->waves[i];
    if (w->state == EMU_RUNNING && (!next || w->clock->now < next->clock->now)) next = w;
  }
  return next ? run_slice(next, 1, max_insts) : 0;
}

/* Is the launch over for this workgroup? */
static bool give_up(const emu_group *g, const emu_dispatch *d) {
  if (d->stop && atomic_load_explicit(d->stop, memory_order_relaxed) <= g->linear_id) return true;
  if (!d->cancel || !atomic_load_explicit(d->cancel, memory_order_relaxed)) return false;
  mlaf_fail(g->err, MLAF_E_CANCELLED, "kernel %s was stopped on request", g->kernel->symbol);
  return true;
}

static emu_turn run_waves(emu_group *g, const emu_dispatch *d) {
  const bool timed = emu_strict_timed(g->dev);
  uint64_t ran = 0;
  for (;;) {
    int ended = 0, waiting = 0;
    bool polled = false;
    if (timed) ran += run_in_time(g, d->max_insts);
    for (int i = 0; i < g->n_waves; i++) {
      emu_wave *w = &g->waves[i];
      if (w->state == EMU_RUNNING && !timed) ran += run_slice(w, SLICE, d->max_insts);
      if (w->state == EMU_FAULTED) return EMU_TURN_FAILED;
      ended += w->state == EMU_ENDED;
      waiting += w->state == EMU_AT_BARRIER;
      polled |= w->turn_polls >= EMU_TURN_POLLS;
    }
    if (ended == g->n_waves) return EMU_TURN_ENDED;
    if (ended + waiting == g->n_waves && !pass_barrier(g)) return EMU_TURN_FAILED;
    if (give_up(g, d)) return EMU_TURN_FAILED;
    if (d->turns && (polled || ran >= TURN)) return EMU_TURN_OVER;
  }
}

void emu_counts_add(emu_counts *sum, const emu_counts *part) {
  uint64_t *s = (uint64_t *)sum; /* a struct of nothing but uint64_t */
  const uint64_t *p = (const uint64_t *)part;
  _Static_assert(sizeof(emu_counts) % sizeof(uint64_t) == 0, "emu_counts is summed as an array");
  for (size_t i = 0; i < sizeof *sum / sizeof *s; i++) s[i] += p[i];
}

bool emu_group_begin(emu_arena *arena, const emu_dispatch *d, const uint32_t id[3], mlaf_err *err) {
  emu_group *g = &arena->group;
  *g = (emu_group){.dev = d->dev, .code = d->code, .kernel = d->kernel, .id = {id[0], id[1], id[2]}, .waves = arena->waves,
                   .n_waves = waves_of(d), .lds = arena->lds, .lds_bytes = d->lds_bytes, .kernarg = d->kernarg,
                   .timing = d->recorder, .warnings = d->warnings, .turns = d->turns, .err = err};
  g->linear_id = ((uint64_t)id[2] * d->grid->grid[1] + id[1]) * d->grid->grid[0] + id[0];
  arena->started = 0;
  bool ok = emu_lds_group_init(g);
  if (!ok) mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the LDS of a workgroup");
  while (ok && arena->started < g->n_waves) {
    int i = arena->started++;
    ok = init_wave(&g->waves[i], g, i, arena->vregs + (size_t)i * EMU_VREGS, d);
  }
  if (ok && !emu_private_init(g)) ok = false, mlaf_fail(err, MLAF_E_NOMEM, "no host memory for a workgroup's private memory");
  return ok;
}

emu_turn emu_group_turn(emu_arena *arena, const emu_dispatch *d) {
  for (int i = 0; i < arena->group.n_waves; i++) arena->waves[i].turn_polls = 0;
  return run_waves(&arena->group, d);
}

void emu_group_end(emu_arena *arena) {
  for (int i = 0; i < arena->started; i++) {
    emu_hazard_wave_free(&arena->waves[i]);
    emu_timing_wave_free(&arena->waves[i]);
    emu_clock_free(&arena->waves[i]);
    free(arena->waves[i].indexed);
    free(arena->waves[i].v_def);
  }
  emu_private_free(&arena->group);
  emu_lds_group_free(&arena->group);
}

void emu_group_counts(const emu_arena *arena, emu_counts *counts) {
  for (int i = 0; i < arena->started; i++) emu_counts_add(counts, &arena->waves[i].counts);
}

bool emu_group_run(emu_arena *arena, const emu_dispatch *d, const uint32_t id[3], emu_counts *counts, mlaf_err *err) {
  bool ok = emu_group_begin(arena, d, id, err) && emu_group_turn(arena, d) == EMU_TURN_ENDED;
  if (ok) emu_group_counts(arena, counts);
  emu_group_end(arena);
  return ok;
}
