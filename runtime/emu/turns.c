/* Workgroups in turns (turns.h): which kernels need it, how many are resident, and when all of them wait in vain. */
#include "emu/turns.h"

#include "emu/arch_gfx942.h"

enum {
  IDLE_INSTS = 1 << 22,      /* of a wave that does not look at memory itself, beside one of its workgroup that does */
  IDLE_BARRIERS = EMU_STUCK_POLLS
};

/* --- which instructions others may answer --- */

static const char *const shared_names[] = {"buffer_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_invl2", NULL};

/* Device scope is sc1 since gfx940 and glc (sc0) before; there, stores of device scope look like any other. A fence counts as a
 * look at memory: `while (!*flag) __threadfence()` loads as any code does. */
static emu_shared kind_of(const emu_isa *isa, const emu_inst *in) {
  uint32_t scope = isa->flat_scratch ? EMU_F_SC1 : EMU_F_SC0;
  if (in->cls == EMU_C_VMEM_ATOMIC) return EMU_POLL;
  if (in->cls == EMU_C_VMEM_LOAD) return in->flags & scope ? EMU_POLL : EMU_OWN;
  if (in->cls == EMU_C_VMEM_STORE) return isa->flat_scratch && in->flags & scope ? EMU_SHARED : EMU_OWN;
  if (in->cls == EMU_C_SMEM) return strstr(in->mnemonic, "atomic") ? EMU_POLL : EMU_OWN;
  for (int i = 0; shared_names[i]; i++)
    if (strcmp(in->mnemonic, shared_names[i]) == 0) return i > 0 || in->flags & EMU_F_SC1 ? EMU_POLL : EMU_OWN;
  return EMU_OWN;
}

static bool leaves_function(const emu_inst *in) {
  return strncmp(in->mnemonic, "s_swappc", 8) == 0 || strncmp(in->mnemonic, "s_setpc", 7) == 0 ||
         strncmp(in->mnemonic, "s_call", 6) == 0;
}

void emu_turns_bind(emu_code *code) {
  bool any = emu_polls_bind(code);
  for (size_t i = 0; i < code->n_insts; i++) {
    emu_inst *in = &code->insts[i];
    in->shared = in->mnemonic ? (uint8_t)kind_of(code->isa, in) : EMU_OWN;
    any |= in->shared != EMU_OWN;
  }
  for (size_t k = 0; k < code->n_kernels && any; k++) {
    emu_kernel *kernel = &code->kernels[k];
    bool calls = kernel->code_bytes == 0, own = false, flags = false;
    for (size_t i = 0; i < code->n_insts; i++) {
      const emu_inst *in = &code->insts[i];
      if (in->pc - kernel->entry >= kernel->code_bytes || !in->mnemonic) continue;
      own |= in->shared != EMU_OWN;
      flags |= in->lds_poll;
      calls |= leaves_function(in);
    }
    kernel->communicates = own || calls; /* what it calls may lie anywhere */
    kernel->lds_flags = flags || calls;
  }
}

/* --- residents --- */

uint64_t emu_turns_residents(const emu_dispatch *d, int waves, const char **limit) {
  return (uint64_t)emu_resident_groups(d->dev->isa, d->kernel, waves, d->lds_bytes, limit) *
         (uint64_t)d->dev->isa->info.compute_units;
}

/* --- the turns --- */

typedef struct turns {
  emu_dispatch *d;
  const emu_turns_how *how;
  mlaf_err *err;
  emu_arena **live, *spare; /* in dispatch order */
  size_t n_live, room;
  uint64_t next, residents;
  const char *limit;
} turns;

/* Did memory change since the last look? Else the wave goes on waiting. */
static bool stuck(const emu_wave *w, uint64_t changes, bool *polls) {
  bool polled = w->polls >= EMU_STUCK_POLLS && w->poll_seen == changes;
  *polls |= polled;
  return polled || w->state == EMU_AT_BARRIER || w->state == EMU_ENDED || w->executed - w->idle_from >= IDLE_INSTS ||
         w->counts.barriers - w->idle_barriers >= IDLE_BARRIERS;
}

static void note_changes(emu_group *g, uint64_t changes) {
  for (int i = 0; i < g->n_waves; i++) {
    emu_wave *w = &g->waves[i];
    if (w->idle_seen == changes) continue;
    w->idle_seen = changes;
    w->idle_from = w->executed;
    w->idle_barriers = w->counts.barriers;
  }
}

/* The first wave that polls, when every wave of every resident waits; else NULL. */
static emu_wave *deadlocked(const turns *t) {
  emu_wave *first = NULL;
  for (size_t k = 0; k < t->n_live; k++) {
    emu_group *g = emu_arena_group(t->live[k]);
    bool polls = false;
    for (int i = 0; i < g->n_waves; i++)
      if (!stuck(&g->waves[i], t->d->turns->changes, &polls)) return NULL;
    if (!polls) return NULL;
    for (int i = 0; i < g->n_waves && !first; i++)
      if (g->waves[i].polls >= EMU_STUCK_POLLS) first = &g->waves[i];
  }
  return first;
}

static bool report_deadlock(const turns *t, emu_wave *w) {
  uint64_t waiting = t->how->n_groups - t->next;
  if (!waiting)
    return emu_fault(w, -1, "deadlock: all %zu workgroups that have not ended wait for memory that none of them changes",
                     t->n_live);
  return emu_fault(w, -1, "deadlock: all %zu resident workgroups wait for memory that none of them changes, and %llu more"
                          " workgroups"
                   " cannot start before one ends: the device holds %llu of this kernel at once (limited by %s), so a barrier or"
                   " a wait among all workgroups needs a grid of at most that many", t->n_live, (unsigned long long)waiting,
                   (unsigned long long)t->residents, t->limit);
}

/* One turn of a workgroup; false ends the launch. *over: it ended. */
static bool turn(turns *t, emu_arena *a, bool *over) {
  emu_counts counts = {0};
  emu_turn how = emu_group_turn(a, t->d);
  *over = how == EMU_TURN_ENDED;
  if (how == EMU_TURN_FAILED) return false;
  note_changes(emu_arena_group(a), t->d->turns->changes);
  if (!*over) return true;
  t->d->turns->changes++; /* room for another one is progress, too */
  emu_group_counts(a, &counts);
  t->how->done(t->how->user, emu_arena_group(a)->id, &counts);
  return true;
}

static void retire(turns *t, emu_arena *a) {
  emu_group_end(a);
  if (t->spare) emu_arena_free(a);
  else t->spare = a;
}

static bool no_room(const turns *t) {
  mlaf_fail(t->err, MLAF_E_NOMEM, "kernel %s: %zu workgroups that wait for each other take more than %llu MiB of host memory"
            " (MLAF_EMU_MAX_MEMORY sets the limit)", t->d->kernel->symbol, t->n_live + 1,
            (unsigned long long)(t->how->max_bytes >> 20));
  return false;
}

static bool keep(turns *t, emu_arena *a) {
  if (t->n_live == t->room) {
    size_t room = t->room ? 2 * t->room : 64;
    emu_arena **live = realloc(t->live, room * sizeof *live);
    if (!live) return mlaf_fail(t->err, MLAF_E_NOMEM, "no host memory for %zu workgroups", room), false;
    t->live = live;
    t->room = room;
  }
  t->live[t->n_live++] = a;
  return true;
}

/* Start the next of the grid: those that end in their first turn take no place. */
static bool start_next(turns *t) {
  if ((t->n_live + 1) * emu_arena_bytes(t->d) > t->how->max_bytes) return no_room(t);
  emu_arena *a = t->spare ? t->spare : emu_arena_new(t->d);
  uint32_t id[3];
  bool over = false;
  if (!a) return no_room(t);
  t->spare = NULL;
  t->how->id(t->how->user, t->next++, id);
  bool ok = emu_group_begin(a, t->d, id, t->err) && turn(t, a, &over) && (over || keep(t, a));
  if (!ok || over) retire(t, a);
  return ok;
}

/* A turn for every resident, in dispatch order. */
static bool rotate(turns *t) {
  bool ok = true;
  size_t kept = 0;
  for (size_t i = 0; i < t->n_live; i++) {
    bool over = false;
    emu_arena *a = t->live[i];
    if (ok) ok = turn(t, a, &over);
    if (over) retire(t, a);
    else t->live[kept++] = a;
  }
  t->n_live = kept;
  while (ok && t->n_live < t->residents && t->next < t->how->n_groups) ok = start_next(t);
  return ok;
}

bool emu_turns_run(emu_dispatch *d, const emu_turns_how *how, mlaf_err *err) {
  emu_turns shared = {.changes = 1};
  turns t = {.d = d, .how = how, .err = err};
  const uint64_t threads = (uint64_t)d->grid->block[0] * d->grid->block[1] * d->grid->block[2];
  bool ok = true;
  d->turns = &shared;
  t.residents = emu_turns_residents(d, (int)((threads + EMU_LANES - 1) / EMU_LANES), &t.limit);
  while (ok && (t.next < how->n_groups || t.n_live)) {
    ok = rotate(&t);
    emu_wave *w = ok ? deadlocked(&t) : NULL;
    if (w) ok = report_deadlock(&t, w);
  }
  while (t.n_live) retire(&t, t.live[--t.n_live]);
  emu_arena_free(t.spare);
  free(t.live);
  d->turns = NULL;
  return ok;
}
