/* LDS races in kernels whose waves wait for each other by flags in LDS (polls.c finds them). Barriers do not tell all of what is
 * ordered there, so each wave has a clock of its own, counted by its writes, and knows of every other wave how far it has seen
 * that one's: all of it at a barrier, up to the write of the flag when a poll reads what was written. Two accesses of different
 * waves, one of them a write, are a race unless the second wave has seen the first. Only complete operations are seen: a load to
 * LDS still in flight (vmcnt), and at a barrier whatever was not waited for, is not.
 *
 * An atomic that returns orders as a poll does, and what several waves add to one counter is seen by all who read it. */
#include "emu/lds.h"

typedef uint32_t clocks[EMU_LDS_WAVES];

/* A wave's knowledge from `from` on its own clock. */
typedef struct known {
  uint32_t from;
  clocks seen;
} known;

typedef struct last_write {
  uint32_t at; /* on the writer's clock; 0: none */
  uint8_t wave;
  bool dma;
} last_write;

struct emu_lds_order {
  clocks seen[EMU_LDS_WAVES];
  known *past[EMU_LDS_WAVES];
  size_t n_past[EMU_LDS_WAVES], cap[EMU_LDS_WAVES];
  last_write *write; /* [bytes] */
  clocks *read;      /* [bytes] when each wave read it last */
  clocks *atomic;    /* [bytes] the same of atomics */
};

bool emu_lds_order_init(emu_lds *l, size_t bytes) {
  emu_lds_order *o = l->order = calloc(1, sizeof *o);
  if (!o) return false;
  o->write = calloc(bytes, sizeof *o->write);
  o->read = calloc(bytes, sizeof *o->read);
  o->atomic = calloc(bytes, sizeof *o->atomic);
  for (int w = 0; w < EMU_LDS_WAVES; w++) o->seen[w][w] = 1;
  return o->write && o->read && o->atomic;
}

void emu_lds_order_free(emu_lds *l) {
  emu_lds_order *o = l->order;
  if (!o) return;
  for (int w = 0; w < EMU_LDS_WAVES; w++) free(o->past[w]);
  free(o->write);
  free(o->read);
  free(o->atomic);
  free(o);
  l->order = NULL;
}

/* --- knowledge --- */

/* Returns what wave x knew when its clock stood at `at`; NULL: what all waves know since the last barrier. */
static const known *known_at(const emu_lds_order *o, int x, uint32_t at) {
  for (size_t i = o->n_past[x]; i-- > 0;)
    if (o->past[x][i].from <= at) return &o->past[x][i];
  return NULL;
}

/* Wave `me` sees wave x's doings up to `at`, and what x had seen by then. */
static bool see(emu_lds_order *o, int me, int x, uint32_t at) {
  if (x == me || at == 0 || at <= o->seen[me][x]) return true;
  const known *k = known_at(o, x, at);
  for (int i = 0; k && i < EMU_LDS_WAVES; i++)
    if (i != me && k->seen[i] > o->seen[me][i]) o->seen[me][i] = k->seen[i];
  o->seen[me][x] = at;
  if (o->n_past[me] == o->cap[me]) {
    size_t cap = o->cap[me] ? 2 * o->cap[me] : 16;
    known *p = realloc(o->past[me], cap * sizeof *p);
    if (!p) return false;
    o->past[me] = p;
    o->cap[me] = cap;
  }
  known *mine = &o->past[me][o->n_past[me]++];
  mine->from = o->seen[me][me] + 1; /* its next write shows it */
  memcpy(mine->seen, o->seen[me], sizeof mine->seen);
  return true;
}

static bool acquire(emu_wave *w, uint32_t byte) {
  emu_lds_order *o = w->group->lds_shadow->order;
  bool ok = see(o, w->index, o->write[byte].wave, o->write[byte].at);
  for (int x = 0; ok && x < w->group->n_waves && x < EMU_LDS_WAVES; x++) ok = see(o, w->index, x, o->atomic[byte][x]);
  return ok || emu_fault(w, -1, "no host memory for the LDS shadow");
}

/* --- accesses --- */

static bool unseen(const emu_lds_order *o, int me, int x, uint32_t at) { return x != me && at > o->seen[me][x]; }

static bool check_byte(emu_wave *w, emu_lds_kind kind, int lane, uint32_t byte, bool acquires) {
  const emu_lds *l = w->group->lds_shadow;
  const emu_lds_order *o = l->order;
  const last_write *last = &o->write[byte];
  int me = w->index;
  bool in_flight = last->dma && last->at && last->wave != me && emu_lds_dma_in_flight(&w->group->waves[last->wave], byte);
  if ((in_flight || unseen(o, me, last->wave, last->at)) && !emu_lds_same_value(w, kind, lane, byte, last->wave) &&
      !emu_lds_race(w, lane, byte, kind, last->wave, 1u << EMU_LDS_WRITE | 1u << EMU_LDS_DMA)) return false;
  for (int x = 0; x < w->group->n_waves && x < EMU_LDS_WAVES; x++) {
    if (kind != EMU_LDS_ATOMIC && unseen(o, me, x, o->atomic[byte][x]) &&
        !emu_lds_race(w, lane, byte, kind, x, 1u << EMU_LDS_ATOMIC)) return false;
    if (kind != EMU_LDS_READ && !acquires && unseen(o, me, x, o->read[byte][x]) &&
        !emu_lds_race(w, lane, byte, kind, x, 1u << EMU_LDS_READ)) return false;
  }
  return true;
}

static void record(emu_lds_order *o, int me, emu_lds_kind kind, uint32_t byte) {
  uint32_t now = o->seen[me][me];
  if (kind == EMU_LDS_READ) o->read[byte][me] = now;
  else if (kind == EMU_LDS_ATOMIC) o->atomic[byte][me] = now;
  else o->write[byte] = (last_write){now, (uint8_t)me, kind == EMU_LDS_DMA};
}

bool emu_lds_ordered(emu_wave *w, const emu_inst *in, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  emu_lds *l = w->group->lds_shadow;
  emu_lds_order *o = l->order;
  const bool acquires = in->lds_poll || (kind == EMU_LDS_ATOMIC && in->n_dst == 1), poll = in->lds_poll && kind == EMU_LDS_READ;
  for (int i = 0; i < EMU_LANES && (acquires || kind <= EMU_LDS_ATOMIC); i++) {
    if (!(lanes >> i & 1)) continue;
    for (uint32_t b = addr[i]; b < addr[i] + bytes; b++) {
      if ((kind == EMU_LDS_READ || kind == EMU_LDS_ATOMIC) && !l->valid[b] && !emu_lds_unwritten(w, b, i, kind)) return false;
      if (acquires && !acquire(w, b)) return false;
    }
  }
  if (kind != EMU_LDS_READ) o->seen[w->index][w->index]++;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    for (uint32_t b = addr[i]; b < addr[i] + bytes; b++) {
      if (!emu_lds_own_dma(w, i, b, kind)) return false;
      if (poll) continue; /* that is how flags are read: nobody's race */
      if (!check_byte(w, kind, i, b, acquires)) return false;
      record(o, w->index, kind, b);
      l->valid[b] = 0xff;
    }
  }
  return true;
}

/* --- barriers: everybody sees everything that is complete --- */

static void carry(emu_lds_order *o, const emu_wave *w, const emu_lds_ring *r) {
  const emu_lds_op *op;
  for (uint32_t n = 0; (op = emu_lds_recent(r, n)) != NULL && !emu_lds_op_done(w, op); n++)
    for (int i = 0; i < EMU_LANES; i++)
      for (uint32_t b = op->addr[i]; op->lanes >> i & 1 && b < op->addr[i] + op->bytes; b++) record(o, w->index, op->kind, b);
}

void emu_lds_order_barrier(emu_group *g) {
  emu_lds *l = g->lds_shadow;
  emu_lds_order *o = l->order;
  clocks all = {0};
  for (int w = 0; w < EMU_LDS_WAVES; w++) all[w] = o->seen[w][w];
  for (int w = 0; w < EMU_LDS_WAVES; w++) {
    memcpy(o->seen[w], all, sizeof all);
    o->seen[w][w]++;
    o->n_past[w] = 0;
  }
  for (int i = 0; i < g->n_waves && i < EMU_LDS_WAVES; i++) {
    carry(o, &g->waves[i], &l->waves[i].ds);
    carry(o, &g->waves[i], &l->waves[i].dma);
  }
}
