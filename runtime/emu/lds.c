/* LDS shadow, race detection and bank conflicts. The rules are in lds.h. */
#include "base/clones.h"
#include "emu/clock.h"
#include "emu/lds.h"
#include "emu/strict.h"

#define INLINE inline __attribute__((always_inline))

enum { EPOCH_MAX = 65535, DMA_SEQ_BITS = 28 };

bool emu_lds_group_init(emu_group *g) {
  emu_lds *l = calloc(1, sizeof *l);
  if (!l) return false;
  size_t bytes = (g->lds_bytes + 15u) & ~15u;
  l->epoch = 1;
  g->lds_shadow = l;
  if (bytes == 0) return true;
  l->valid = calloc(1, bytes);
  l->written = calloc(1, bytes);
  l->read = calloc(1, bytes);
  if (l->valid && l->written && l->read && (!g->kernel || !g->kernel->lds_flags || emu_lds_order_init(l, bytes))) return true;
  emu_lds_group_free(g);
  return false;
}

void emu_lds_group_free(emu_group *g) {
  emu_lds *l = g->lds_shadow;
  if (!l) return;
  for (int i = 0; i < EMU_LDS_WAVES; i++) free(l->waves[i].ds.op), free(l->waves[i].dma.op);
  free(l->valid);
  free(l->written);
  free(l->read);
  free(l->atomic);
  free(l->dma);
  free(l->written1);
  free(l->read1);
  free(l->same);
  emu_lds_order_free(l);
  free(l);
  g->lds_shadow = NULL;
}

/* Shadows that most kernels never need. */
static bool need(uint32_t **shadow, size_t entries) {
  if (!*shadow) *shadow = calloc(entries, sizeof **shadow);
  return *shadow != NULL;
}

static bool prepare(emu_wave *w, emu_lds_kind kind, bool by_byte) {
  emu_lds *l = w->group->lds_shadow;
  size_t size = (w->group->lds_bytes + 15u) & ~15u;
  if (w->index >= EMU_LDS_WAVES) return emu_fault(w, -1, "a workgroup of more than %d waves cannot use LDS", EMU_LDS_WAVES);
  emu_lds_ring *r = kind == EMU_LDS_DMA ? &l->waves[w->index].dma : &l->waves[w->index].ds;
  bool ok = r->op || (r->op = calloc(EMU_LDS_RING, sizeof *r->op));
  if (kind == EMU_LDS_ATOMIC) ok = ok && need(&l->atomic, size / 4);
  if (kind == EMU_LDS_DMA) ok = ok && need(&l->dma, size / 4);
  if (by_byte) ok = ok && need(&l->written1, size) && need(&l->read1, size);
  return ok || emu_fault(w, -1, "no host memory for the LDS shadow");
}

/* --- tags --- */

/* A write tag of this epoch by another wave. */
static inline bool foreign_write(uint32_t tag, uint32_t mine) { return (tag ^ mine) - 1 < 255; }
/* A reader (or atomic) tag of this epoch with a wave other than mine. */
static inline bool foreign_read(uint32_t tag, uint32_t epoch, uint32_t bit) { return ((tag ^ epoch << 16) & ~bit) - 1 < 65535; }
static inline uint32_t add_reader(uint32_t tag, uint32_t epoch, uint32_t bit) {
  return (tag > epoch << 16 ? tag : epoch << 16) | bit;
}

/* --- messages: the exact cause, found again the slow way --- */

static const char *const kind_names[] = {"read", "write", "atomic", "direct-to-LDS load"};

/* Does time order the other wave's access before this one? The LDS serves accesses in the order of their issue, and so does
 * the L1 cache that direct-to-LDS loads come from; between the two lies the latency of such a load. */
static bool ordered_by_time(const emu_wave *w, emu_lds_kind kind, const emu_wave *other, const emu_lds_op *op) {
  if (!w->clock || !other->clock) return false;
  uint64_t arrives = w->clock->now + (kind == EMU_LDS_DMA ? EMU_CLOCK_VMEM : 0);
  return op->at + (op->kind == EMU_LDS_DMA ? EMU_CLOCK_VMEM : 0) + EMU_CLOCK_LDS_ORDER <= arrives;
}

/* Forgetting the other side's tags lets a forgiven access go on. */
static void forget_tags(emu_lds *l, uint32_t byte, int other) {
  uint32_t d = byte / 4, bit = 1u << other;
  if ((l->written[d] & 255) == (uint32_t)other) l->written[d] = 0;
  if (l->written1 && (l->written1[byte] & 255) == (uint32_t)other) l->written1[byte] = 0;
  l->read[d] &= ~bit;
  if (l->read1) l->read1[byte] &= ~bit;
  if (l->atomic) l->atomic[d] &= ~bit;
  if (l->same) l->same[byte] = 0;
}

/* A conflict that time decides may be forgiven (strict.h). */
static bool forget_op(emu_wave *w, uint32_t byte, int lane, emu_lds_kind kind, int other, const emu_lds_op *op) {
  emu_lds *l = w->group->lds_shadow;
  if (!op || !ordered_by_time(w, kind, &w->group->waves[other], op)) return false;
  const char *text = op->inst->text ? op->inst->text : "";
  if (!emu_broken(w, EMU_RULE_LDS_ORDER, lane, "LDS race: %s of byte 0x%x and %s by wave %d at pc 0x%x '%.120s': only time orders"
                  " them", kind_names[kind], byte, kind_names[op->kind], other, op->inst->pc, text)) return false;
  forget_tags(l, byte, other);
  return true;
}

bool emu_lds_unwritten(emu_wave *w, uint32_t byte, int lane, emu_lds_kind kind) {
  emu_lds *l = w->group->lds_shadow;
  if (!emu_broken(w, EMU_RULE_LDS_UNWRITTEN, lane, "%s of LDS byte 0x%x that nothing has written", kind_names[kind], byte))
    return false;
  w->group->lds[byte] = 0xff;
  l->valid[byte] = 0xff;
  return true;
}

/* The n-th latest of a ring, NULL past its end. */
emu_lds_op *emu_lds_recent(const emu_lds_ring *r, uint32_t n) {
  return n < r->n && n < EMU_LDS_RING ? &r->op[(r->n - 1 - n) % EMU_LDS_RING] : NULL;
}

static const emu_lds_op *find_in(const emu_lds_ring *r, uint32_t byte, unsigned kinds) {
  const emu_lds_op *op;
  for (uint32_t n = 0; (op = emu_lds_recent(r, n)) != NULL; n++) {
    if (!(kinds >> op->kind & 1) || byte < op->lo || byte - op->lo >= op->hi - op->lo + op->bytes) continue;
    for (int i = 0; i < EMU_LANES; i++)
      if (op->lanes >> i & 1 && byte - op->addr[i] < op->bytes) return op;
  }
  return NULL;
}

static const emu_lds_op *find_op(const emu_lds *l, int wave, uint32_t byte, unsigned kinds) {
  const emu_lds_op *op = find_in(&l->waves[wave].ds, byte, kinds);
  return op ? op : find_in(&l->waves[wave].dma, byte, kinds);
}

bool emu_lds_op_done(const emu_wave *w, const emu_lds_op *op) {
  return op->seq <= (op->kind == EMU_LDS_DMA ? w->vm_done : w->lgkm_done);
}

bool emu_lds_race(emu_wave *w, int lane, uint32_t byte, emu_lds_kind kind, int other, unsigned other_kinds) {
  emu_lds *l = w->group->lds_shadow;
  const emu_lds_op *op = find_op(l, other, byte, other_kinds);
  char where[200] = "", text[640];
  if (op) snprintf(where, sizeof where, " at pc 0x%x '%.120s'", op->inst->pc, op->inst->text ? op->inst->text : "");
  const char *what = op ? kind_names[op->kind] : "access";
  if (forget_op(w, byte, lane, kind, other, op)) return true;
  if (w->state == EMU_FAULTED) return false;
  bool unwaited = op && !emu_lds_op_done(&w->group->waves[other], op);
  if (op && op->kind == EMU_LDS_DMA && unwaited)
    snprintf(text, sizeof text, "LDS race: %s of byte 0x%x while the direct-to-LDS load of wave %d%s is in flight: that wave"
                                " must "
             "wait vmcnt, then all waves pass a barrier", kind_names[kind], byte, other, where);
  else
    snprintf(text, sizeof text, "LDS race: %s of byte 0x%x and %s by wave %d%s with no barrier%s between them%s",
             kind_names[kind],
             byte, what, other, where, l->order ? " or flag" : "",
             unwaited ? " that it completed before (s_waitcnt lgkmcnt(0) is missing)" : "");
  if (!(w->group->dev->forgiven >> EMU_RULE_LDS_RACE & 1)) return emu_fault(w, lane, "%s", text);
  forget_tags(l, byte, other);
  return emu_broken(w, EMU_RULE_LDS_RACE, lane, "%s", text);
}

/* This wave's own direct-to-LDS load is in flight: forgivable once it has had its time. */
static bool own_dma_done(emu_wave *w, int lane, uint32_t byte, emu_lds_kind kind) {
  emu_lds *l = w->group->lds_shadow;
  const emu_lds_op *op = find_op(l, w->index, byte, 1u << EMU_LDS_DMA);
  static const char what[] = "%s of LDS byte 0x%x while this wave's own direct-to-LDS load at pc 0x%x is in flight: "
                             "s_waitcnt vmcnt must cover it first";
  unsigned pc = op ? op->inst->pc : 0;
  bool early = w->clock && op && op->at + EMU_CLOCK_VMEM > w->clock->now;
  if (early) return emu_fault(w, lane, what, kind_names[kind], byte, pc);
  if (!emu_broken(w, EMU_RULE_WAITCNT, lane, what, kind_names[kind], byte, pc)) return false;
  l->dma[byte / 4] = 0;
  return true;
}

static int first_wave(uint32_t mask) { return __builtin_ctz(mask); }

bool emu_lds_dma_in_flight(const emu_wave *w, uint32_t byte) {
  const emu_lds *l = w->group->lds_shadow;
  uint32_t tag = l->dma ? l->dma[byte / 4] : 0;
  return l->dma && tag >> DMA_SEQ_BITS == (uint32_t)w->index && (tag & ((1u << DMA_SEQ_BITS) - 1)) > w->vm_done;
}

bool emu_lds_own_dma(emu_wave *w, int lane, uint32_t byte, emu_lds_kind kind) {
  return !emu_lds_dma_in_flight(w, byte) || own_dma_done(w, lane, byte, kind);
}

/* --- two waves that write the same --- */

static bool writes_what_is_there(const emu_wave *w, int lane, uint32_t byte) {
  const emu_lds *l = w->group->lds_shadow;
  uint32_t k = byte - l->data_addr[lane];
  return (uint8_t)(l->data[k / 4][lane] >> l->data_shift >> 8 * (k % 4)) == w->group->lds[byte];
}

bool emu_lds_same_value(emu_wave *w, emu_lds_kind kind, int lane, uint32_t byte, int other) {
  const emu_lds *l = w->group->lds_shadow;
  if (kind != EMU_LDS_WRITE || !l->data || w->group->dev->extra >> EMU_RULE_LDS_SAME_VALUE & 1) return false;
  return writes_what_is_there(w, lane, byte) && !emu_lds_dma_in_flight(&w->group->waves[other], byte);
}

/* Other waves that wrote this byte since the last barrier, the same as this one if this one did. */
static uint32_t same_writers(const emu_lds *l, uint32_t byte) {
  return l->same && l->same[byte] >> 16 == l->epoch ? l->same[byte] & 0xffff : 0;
}

/* `tag`: the other write's. All bytes of the access in its dword must agree, since dwords are tagged as one. False: it is a
 * race. */
static bool join_writers(emu_wave *w, int lane, uint32_t byte, uint32_t tag, bool dword) {
  emu_lds *l = w->group->lds_shadow;
  uint32_t bit = 1u << w->index, end = l->data_addr ? l->data_addr[lane] + l->data_bytes : 0;
  uint32_t last = dword && byte / 4 * 4 + 4 < end ? byte / 4 * 4 + 4 : dword ? end : byte + 1;
  for (uint32_t b = byte; b < last; b++)
    if (!emu_lds_same_value(w, EMU_LDS_WRITE, lane, b, (int)(tag & 255))) return false;
  if (!need(&l->same, (w->group->lds_bytes + 15u) & ~15u)) return false;
  for (uint32_t b = byte; b < last; b++) l->same[b] = l->epoch << 16 | same_writers(l, b) | 1u << (tag & 255) | bit;
  return true;
}

/* Bytes that several waves wrote: who did may read them, and write the same again. */
static bool check_same(emu_wave *w, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  emu_lds *l = w->group->lds_shadow;
  uint32_t bit = 1u << w->index;
  for (int i = 0; i < EMU_LANES; i++)
    for (uint32_t b = addr[i]; lanes >> i & 1 && b < addr[i] + bytes; b++) {
      uint32_t others = same_writers(l, b) & ~bit;
      if (!others || kind == EMU_LDS_READ) continue; /* a stranger's read meets the last writer's tag */
      if (emu_lds_same_value(w, kind, i, b, first_wave(others))) l->same[b] |= bit;
      else if (!emu_lds_race(w, i, b, kind, first_wave(others), 1u << EMU_LDS_WRITE)) return false;
      else l->same[b] = 0;
    }
  return true;
}

/* Does this write by another wave matter to this access? */
static bool harmless(emu_wave *w, emu_lds_kind kind, int lane, uint32_t byte, uint32_t tag, bool dword) {
  emu_lds *l = w->group->lds_shadow;
  if (kind == EMU_LDS_READ) return same_writers(l, byte) >> w->index & 1;
  if (kind != EMU_LDS_WRITE || !l->data || !join_writers(w, lane, byte, tag, dword)) return false;
  if (dword && l->data_bytes >= 4 && l->data_addr[lane] % 4 == 0) l->written[byte / 4] = l->epoch << 8 | (uint32_t)w->index;
  return true;
}

/* Look at one byte's tags; true when nothing is wrong. */
static bool explain_byte(emu_wave *w, emu_lds_kind kind, int lane, uint32_t byte) {
  const emu_lds *l = w->group->lds_shadow;
  uint32_t d = byte / 4, mine = l->epoch << 8 | (uint32_t)w->index, bit = 1u << w->index;
  unsigned writers = 1u << EMU_LDS_WRITE | 1u << EMU_LDS_DMA;
  if (!emu_lds_own_dma(w, lane, byte, kind)) return false;
  if (foreign_write(l->written[d], mine) && !harmless(w, kind, lane, byte, l->written[d], true))
    return emu_lds_race(w, lane, byte, kind, (int)(l->written[d] & 255), writers);
  if (l->written1 && foreign_write(l->written1[byte], mine) && !harmless(w, kind, lane, byte, l->written1[byte], false))
    return emu_lds_race(w, lane, byte, kind, (int)(l->written1[byte] & 255), writers);
  if (kind != EMU_LDS_ATOMIC && l->atomic && foreign_read(l->atomic[d], l->epoch, bit))
    return emu_lds_race(w, lane, byte, kind, first_wave(l->atomic[d] & 0xffff & ~bit), 1u << EMU_LDS_ATOMIC);
  if (kind == EMU_LDS_READ) return true;
  if (foreign_read(l->read[d], l->epoch, bit))
    return emu_lds_race(w, lane, byte, kind, first_wave(l->read[d] & 0xffff & ~bit), 1u << EMU_LDS_READ);
  if (l->read1 && foreign_read(l->read1[byte], l->epoch, bit))
    return emu_lds_race(w, lane, byte, kind, first_wave(l->read1[byte] & 0xffff & ~bit), 1u << EMU_LDS_READ);
  return true;
}

static bool explain(emu_wave *w, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  const emu_lds *l = w->group->lds_shadow;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    for (uint32_t b = addr[i]; b < addr[i] + bytes; b++) {
      if ((kind == EMU_LDS_READ || kind == EMU_LDS_ATOMIC) && !l->valid[b] && !emu_lds_unwritten(w, b, i, kind)) return false;
      bool again = b > addr[i] && b % 4 && !l->written1; /* tags are by dword unless there are bytes */
      if (!again && !explain_byte(w, kind, i, b)) return false;
    }
  }
  return true; /* everything was forgiven */
}

/* --- the checks, fast: nonzero when any dword of the access needs explaining --- */

typedef struct view {
  uint32_t *written, *read;
  uint8_t *valid;
  uint32_t mine, epoch, bit;
  const uint32_t *dma; /* NULL: none yet. In flight when dma - dma_lo < dma_n: this wave's, newer than its vmcnt */
  uint32_t dma_lo, dma_n;
} view;

typedef uint32_t v4u __attribute__((vector_size(16), aligned(4)));

/* Four dwords of a lane at once: most of what kernels read. */
static INLINE uint32_t read_quads(const view *v, const uint32_t *addr, uint64_t lanes) {
  const v4u first_reader = {v->epoch << 16, v->epoch << 16, v->epoch << 16, v->epoch << 16};
  v4u bad = {0, 0, 0, 0};
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    uint32_t d = addr[i] / 4;
    v4u *read = (v4u *)(v->read + d), old = *read, newer = (v4u)(old > first_reader);
    bad |= (v4u)((*(const v4u *)(v->written + d) ^ v->mine) - 1 < 255) | ~*(const v4u *)(v->valid + 4 * d);
    if (v->dma) bad |= (v4u)(*(const v4u *)(v->dma + d) - v->dma_lo < v->dma_n);
    *read = (old & newer) | (first_reader & ~newer) | v->bit;
  }
  return bad[0] | bad[1] | bad[2] | bad[3];
}

static INLINE uint32_t read_dwords(const view *v, const uint32_t *addr, uint64_t lanes, unsigned n) {
  uint32_t bad = 0;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    uint32_t d = addr[i] / 4;
    for (unsigned k = 0; k < n; k++) {
      uint32_t ok4;
      memcpy(&ok4, v->valid + 4 * (d + k), 4);
      bad |= (uint32_t)foreign_write(v->written[d + k], v->mine) | ~ok4;
      if (v->dma) bad |= v->dma[d + k] - v->dma_lo < v->dma_n;
      v->read[d + k] = add_reader(v->read[d + k], v->epoch, v->bit);
    }
  }
  return bad;
}

static INLINE uint32_t write_dwords(const view *v, const uint32_t *addr, uint64_t lanes, unsigned n) {
  uint32_t bad = 0;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    uint32_t d = addr[i] / 4;
    for (unsigned k = 0; k < n; k++) {
      bad |= (uint32_t)foreign_write(v->written[d + k], v->mine) | (uint32_t)foreign_read(v->read[d + k], v->epoch, v->bit);
      if (v->dma) bad |= v->dma[d + k] - v->dma_lo < v->dma_n;
      if (bad) return bad; /* tags must still show the other side */
      v->written[d + k] = v->mine;
      memset(v->valid + 4 * (d + k), 0xff, 4);
    }
  }
  return bad;
}

/* Width known to the compiler: the inner loop becomes one 16-byte operation. */
MLAF_CLONES static uint32_t check_read(const view *v, const uint32_t *addr, uint64_t lanes, unsigned dwords) {
  switch (dwords) {
    case 1: return read_dwords(v, addr, lanes, 1);
    case 2: return read_dwords(v, addr, lanes, 2);
    case 3: return read_dwords(v, addr, lanes, 3);
    default: return read_quads(v, addr, lanes);
  }
}

MLAF_CLONES static uint32_t check_write(const view *v, const uint32_t *addr, uint64_t lanes, unsigned dwords) {
  switch (dwords) {
    case 1: return write_dwords(v, addr, lanes, 1);
    case 2: return write_dwords(v, addr, lanes, 2);
    case 3: return write_dwords(v, addr, lanes, 3);
    default: return write_dwords(v, addr, lanes, 4);
  }
}

/* Shadows few kernels have: atomics and single bytes. Runs before the tags of this access are set. */
static bool check_rare(emu_wave *w, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  const emu_lds *l = w->group->lds_shadow;
  uint32_t mine = l->epoch << 8 | (uint32_t)w->index, bit = 1u << w->index;
  bool bad = false;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    for (uint32_t d = addr[i] / 4; l->atomic && d < (addr[i] + bytes) / 4; d++) bad |= foreign_read(l->atomic[d], l->epoch, bit);
    if (!l->written1) continue;
    for (uint32_t b = addr[i]; b < addr[i] + bytes; b++) {
      bad |= foreign_write(l->written1[b], mine);
      if (kind != EMU_LDS_READ) bad |= foreign_read(l->read1[b], l->epoch, bit);
    }
  }
  return !bad || explain(w, kind, addr, bytes, lanes);
}

static bool access_bytes(emu_wave *w, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  emu_lds *l = w->group->lds_shadow;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    for (uint32_t b = addr[i]; b < addr[i] + bytes; b++) {
      if (kind == EMU_LDS_READ && !l->valid[b] && !emu_lds_unwritten(w, b, i, kind)) return false;
      if (!explain_byte(w, kind, i, b)) return false;
      if (kind == EMU_LDS_READ) l->read1[b] = add_reader(l->read1[b], l->epoch, 1u << w->index);
      else l->written1[b] = l->epoch << 8 | (uint32_t)w->index, l->valid[b] = 0xff;
    }
  }
  return true;
}

static bool access_atomic(emu_wave *w, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  emu_lds *l = w->group->lds_shadow;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    for (uint32_t b = addr[i]; b < addr[i] + bytes; b += 4) {
      for (uint32_t k = b; k < b + 4; k++)
        if (!l->valid[k] && !emu_lds_unwritten(w, k, i, EMU_LDS_ATOMIC)) return false;
      if (!explain_byte(w, EMU_LDS_ATOMIC, i, b)) return false;
      l->atomic[b / 4] = add_reader(l->atomic[b / 4], l->epoch, 1u << w->index);
    }
  }
  return true;
}

/* Least, largest and the OR of all addresses of active lanes. */
MLAF_CLONES static void extent(const uint32_t *addr, uint64_t lanes, uint32_t out[3]) {
  uint32_t least = ~0u, most = 0, any = 0;
  for (int i = 0; i < EMU_LANES; i++) {
    uint32_t on = lanes >> i & 1 ? ~0u : 0, a = addr[i] & on, b = addr[i] | ~on;
    most = a > most ? a : most;
    least = b < least ? b : least;
    any |= a;
  }
  out[0] = least, out[1] = most, out[2] = any;
}

/* A DMA, `bytes` a lane from lane 0's address on, must not land on what a read of this wave, not yet waited for, may want. */
static bool dma_over_own_read(emu_wave *w, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  static const char over[] = "direct-to-LDS load over LDS byte 0x%x while this wave's %s at pc 0x%x is outstanding: "
                             "s_waitcnt lgkmcnt must cover it first";
  const emu_lds *l = w->group->lds_shadow;
  const emu_lds_op *op;
  for (uint32_t n = 0; (op = emu_lds_recent(&l->waves[w->index].ds, n)) != NULL && op->seq > w->lgkm_done; n++) {
    if (op->hi + op->bytes <= addr[0] || op->lo >= addr[EMU_LANES - 1] + bytes) continue;
    for (int i = 0; i < EMU_LANES; i++)
      for (uint32_t b = op->addr[i]; op->lanes >> i & 1 && b < op->addr[i] + op->bytes; b++) {
        uint32_t lane = (b - addr[0]) / bytes;
        if (lane >= EMU_LANES || !(lanes >> lane & 1)) continue;
        if (w->clock && !ordered_by_time(w, EMU_LDS_DMA, w, op))
          return emu_fault(w, (int)lane, over, b, kind_names[op->kind], op->inst->pc), true;
        if (!emu_broken(w, EMU_RULE_WAITCNT, (int)lane, over, b, kind_names[op->kind], op->inst->pc)) return true;
      }
  }
  return false;
}

static void remember(emu_wave *w, const emu_inst *in, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes,
                     const uint32_t range[3], bool by_byte) {
  emu_lds *l = w->group->lds_shadow;
  emu_lds_ring *r = kind == EMU_LDS_DMA ? &l->waves[w->index].dma : &l->waves[w->index].ds;
  emu_lds_op *op = &r->op[r->n++ % EMU_LDS_RING];
  op->seq = kind == EMU_LDS_DMA ? w->vm_issued : w->lgkm_issued;
  op->kind = (uint8_t)kind;
  op->bytes = (uint8_t)bytes;
  op->by_byte = by_byte;
  op->at = emu_clock_now(w);
  op->inst = in;
  op->lanes = lanes;
  op->lo = range[0], op->hi = range[1];
  memcpy(op->addr, addr, sizeof op->addr);
}

/* ROCm runs gfx942 with SH_MEM_CONFIG.alignment_mode = unaligned: reads and writes of any width may start at any byte (LLVM's
 * unaligned-access-mode counts on it). Atomics must be naturally aligned, loads to LDS write whole dwords. */
static bool check_place(emu_wave *w, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes,
                        const uint32_t range[3]) {
  uint32_t size = w->group->lds_bytes, align = kind == EMU_LDS_ATOMIC ? bytes : kind == EMU_LDS_DMA ? 4 : 1;
  if ((range[2] & (align - 1)) == 0 && size >= bytes && range[1] <= size - bytes) return true;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(lanes >> i & 1)) continue;
    if (addr[i] > size || size - addr[i] < bytes)
      return emu_fault(w, i, "LDS access of %u bytes at 0x%x is outside the workgroup's %u bytes", bytes, addr[i], size);
    if (addr[i] & (align - 1))
      return emu_fault(w, i, "LDS access of %u bytes at 0x%x is not aligned to %u bytes", bytes, addr[i], align);
  }
  return true; /* only inactive lanes were out of place */
}

static void tag_dma(const emu_wave *w, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  emu_lds *l = w->group->lds_shadow;
  for (int i = 0; i < EMU_LANES; i++)
    for (uint32_t d = addr[i] / 4; lanes >> i & 1 && d < (addr[i] + bytes) / 4; d++)
      l->dma[d] = (uint32_t)w->index << DMA_SEQ_BITS | (w->vm_issued & ((1u << DMA_SEQ_BITS) - 1));
}

bool emu_lds_access(emu_wave *w, const emu_inst *in, emu_lds_kind kind, const uint32_t addr[EMU_LANES], unsigned bytes,
                    uint64_t lanes) {
  if (!lanes) return true;
  uint32_t range[3];
  extent(addr, lanes, range);
  bool by_byte = bytes < 4 || range[2] & 3; /* the shadow of whole dwords does not fit */
  if (!check_place(w, kind, addr, bytes, lanes, range) || !prepare(w, kind, by_byte)) return false;
  emu_lds *l = w->group->lds_shadow;
  remember(w, in, kind, addr, bytes, lanes, range, by_byte);
  if (l->order) {
    if (kind == EMU_LDS_DMA && dma_over_own_read(w, addr, bytes, lanes)) return false;
    if (!emu_lds_ordered(w, in, kind, addr, bytes, lanes)) return false;
    if (kind == EMU_LDS_DMA) tag_dma(w, addr, bytes, lanes);
    return true;
  }
  if (l->same && !check_same(w, kind, addr, bytes, lanes)) return false;
  if (by_byte) return access_bytes(w, kind, addr, bytes, lanes);
  if (kind == EMU_LDS_ATOMIC) return access_atomic(w, addr, bytes, lanes);
  if ((l->atomic || l->written1) && !check_rare(w, kind, addr, bytes, lanes)) return false;
  view v = {l->written, l->read, l->valid, l->epoch << 8 | (uint32_t)w->index, l->epoch, 1u << w->index,
            l->dma, ((uint32_t)w->index << DMA_SEQ_BITS | w->vm_done) + 1, (1u << DMA_SEQ_BITS) - 1 - w->vm_done};
  if (kind == EMU_LDS_READ) return !check_read(&v, addr, lanes, bytes / 4) || explain(w, kind, addr, bytes, lanes);
  if (kind == EMU_LDS_DMA && dma_over_own_read(w, addr, bytes, lanes)) return false;
  while (check_write(&v, addr, lanes, bytes / 4)) /* what is forgiven is also forgotten, so that this ends */
    if (!explain(w, kind, addr, bytes, lanes)) return false;
  if (kind == EMU_LDS_DMA) tag_dma(w, addr, bytes, lanes);
  return true;
}

bool emu_lds_write(emu_wave *w, const emu_inst *in, const uint32_t addr[EMU_LANES], unsigned bytes, uint64_t lanes,
                   const uint32_t (*data)[EMU_LANES], unsigned shift) {
  emu_lds *l = w->group->lds_shadow;
  l->data = data, l->data_addr = addr;
  l->data_shift = (uint8_t)shift, l->data_bytes = (uint8_t)bytes;
  bool ok = emu_lds_access(w, in, EMU_LDS_WRITE, addr, bytes, lanes);
  l->data = NULL, l->data_addr = NULL;
  return ok;
}

/* --- barrier: what its wave did not wait for happens in the next epoch too --- */

static void carry(emu_lds *l, const emu_wave *w, const emu_lds_op *op) {
  uint32_t tag = l->epoch << 8 | (uint32_t)w->index, bit = 1u << w->index;
  for (int i = 0; i < EMU_LANES; i++) {
    if (!(op->lanes >> i & 1)) continue;
    for (uint32_t b = op->addr[i]; b < op->addr[i] + op->bytes; b++) {
      bool whole = !op->by_byte;
      if (op->kind == EMU_LDS_READ && whole) l->read[b / 4] = add_reader(l->read[b / 4], l->epoch, bit);
      else if (op->kind == EMU_LDS_READ) l->read1[b] = add_reader(l->read1[b], l->epoch, bit);
      else if (op->kind == EMU_LDS_ATOMIC) l->atomic[b / 4] = add_reader(l->atomic[b / 4], l->epoch, bit);
      else if (whole) l->written[b / 4] = tag;
      else l->written1[b] = tag;
    }
  }
}

/* Both kinds complete in the order they were issued. */
static void carry_ring(emu_lds *l, const emu_wave *w, const emu_lds_ring *r) {
  const emu_lds_op *op;
  for (uint32_t n = 0; (op = emu_lds_recent(r, n)) != NULL && !emu_lds_op_done(w, op); n++) carry(l, w, op);
}

void emu_lds_barrier(emu_group *g) {
  emu_lds *l = g->lds_shadow;
  if (!l || !l->written) return;
  size_t bytes = (g->lds_bytes + 15u) & ~15u;
  if (l->order) return emu_lds_order_barrier(g);
  if (l->epoch++ == EPOCH_MAX) {
    memset(l->written, 0, bytes);
    memset(l->read, 0, bytes);
    if (l->atomic) memset(l->atomic, 0, bytes);
    if (l->same) memset(l->same, 0, 4 * bytes);
    if (l->written1) memset(l->written1, 0, 4 * bytes), memset(l->read1, 0, 4 * bytes);
    l->epoch = 1;
  }
  for (int i = 0; i < g->n_waves && i < EMU_LDS_WAVES; i++) {
    carry_ring(l, &g->waves[i], &l->waves[i].ds);
    carry_ring(l, &g->waves[i], &l->waves[i].dma);
  }
}

/* --- bank conflicts --- */

/* Lanes served together. 128-bit reads go in the order AMD published; everything else in consecutive lanes that make up
 * 128 bytes (b32: 32 lanes, b64: 16). The b64 rule is undocumented for gfx942: consecutive lanes are assumed. */
static const uint8_t read128_order[EMU_LANES] = {
    0,  1,  2,  3,  20, 21, 22, 23, 4,  5,  6,  7,  16, 17, 18, 19, 8,  9,  10, 11, 28, 29, 30, 31,
    12, 13, 14, 15, 24, 25, 26, 27, 32, 33, 34, 35, 52, 53, 54, 55, 36, 37, 38, 39, 48, 49, 50, 51,
    40, 41, 42, 43, 60, 61, 62, 63, 44, 45, 46, 47, 56, 57, 58, 59};

static const uint8_t in_order[EMU_LANES] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
    24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
    48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Most distinct dwords any bank must deliver in one phase. */
static unsigned phase_clocks(const uint32_t *dword, unsigned n) {
  uint8_t count[32] = {0}, last[32], before[32]; /* the dwords of a bank, from the last one back */
  unsigned most = 0;
  for (unsigned i = 0; i < n; i++) {
    const unsigned bank = dword[i] & 31;
    bool again = false; /* one dword to several lanes is one access */
    for (unsigned k = count[bank], j = k ? last[bank] : 0; k && !again; k--, j = k ? before[j] : 0) again = dword[j] == dword[i];
    if (again) continue;
    if (count[bank]) before[i] = last[bank];
    last[bank] = (uint8_t)i;
    if (++count[bank] > most) most = count[bank];
  }
  return most;
}

/* Dwords of the lanes of one phase, in any order. */
static unsigned gather(uint32_t dword[32], const uint32_t *addr, const uint8_t *order, unsigned per, unsigned words,
    uint64_t lanes) {
  unsigned n = 0;
  for (unsigned i = 0; i < per; i++) {
    unsigned l = order[i];
    if (!(lanes >> l & 1)) continue;
    for (unsigned k = 0; k < words; k++) dword[n++] = addr[l] / 4 + k;
  }
  return n;
}

/* The common case of 128-bit accesses: aligned lanes, each in its own group of four banks. */
static bool conflict_free128(const uint32_t *addr, const uint8_t *order, uint64_t lanes) {
  unsigned seen = 0, low = 0;
  for (int i = 0; i < 8; i++) seen |= 1u << (addr[order[i]] >> 4 & 7), low |= addr[order[i]];
  return lanes == ~0ull && seen == 0xff && (low & 15) == 0;
}

unsigned emu_lds_clocks(emu_lds_kind kind, const uint32_t addr[EMU_LANES], unsigned bytes, uint64_t lanes) {
  const uint8_t *order = bytes >= 12 && kind == EMU_LDS_READ ? read128_order : in_order;
  unsigned clk = 0, phases = bytes >= 12 ? 8 : bytes == 8 ? 4 : 2, per = EMU_LANES / phases;
  for (unsigned p = 0; p < phases; p++, order += per) {
    uint32_t dword[32];
    unsigned c = 1;
    if (bytes != 16 || !conflict_free128(addr, order, lanes))
      c = phase_clocks(dword, gather(dword, addr, order, per, (bytes + 3) / 4, lanes));
    clk += c;
  }
  return clk;
}
