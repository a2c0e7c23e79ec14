/* Vector memory: global_, flat_, scratch_ and buffer_ loads, stores and atomics, and loads that go straight to LDS.
 *
 * Data moves at issue. A load's destination stays "in flight" under the wave's vmcnt sequence until an s_waitcnt vmcnt
 * covers it; stores and LDS loads take a place in that sequence too. flat_ instructions count in vmcnt and lgkmcnt; their
 * addresses inside the LDS or private aperture go to ops_apart.c, as scratch_ instructions do.
 *
 * Buffer descriptors: base 48 bits, stride 14, num_records, word 3. offset = index * stride + voffset + inst_offset; a dword
 * with offset + soffset + 4 > num_records reads as 0 and is not written. Swizzled descriptors interleave index_stride
 * records by element_size and bound the index instead; add-tid adds the lane to the index. Loads to LDS: dword per lane at
 * M0[15:0] + inst_offset + 4 * lane id (gfx950: 3 and 4 dwords too, at 12 and 16 * lane id), sub-dword data extended to the
 * dword; inactive lanes leave theirs alone. */
#include <inttypes.h>

#include "emu/lanes.h"
#include "emu/lds.h"
#include "emu/place.h"
#include "emu/timing.h"
#include "emu/vmem.h"

typedef emu_place place;
typedef emu_vm_op vm_op;

/* --- addresses --- */

static bool pair_base(emu_wave *w, const emu_operand *s, uint64_t *base) {
  *base = 0;
  if (s->kind != EMU_O_SREG) return true; /* off */
  if (!emu_sreg_check(w, s->reg, 2)) return false;
  *base = (uint64_t)w->s[s->reg + 1] << 32 | w->s[s->reg];
  return true;
}

/* Lanes whose address lies in an aperture: the low half is their offset there. */
static void split_apertures(place *p) {
  for (int l = 0; l < EMU_LANES; l++) {
    uint64_t bit = 1ull << l, top = p->addr[l] >> 32 << 32;
    if (!(p->lanes & bit) || (top != EMU_SHARED_BASE && top != EMU_PRIVATE_BASE)) continue;
    *(top == EMU_SHARED_BASE ? &p->lds : &p->priv) |= bit;
    p->lanes &= ~bit;
    p->addr[l] &= 0xffffffff;
  }
  p->whole = p->lanes;
}

/* Private memory: a lane offset, a scalar offset, both or neither. */
static bool locate_scratch(emu_wave *w, const emu_inst *in, const emu_operand *vaddr, const emu_operand *saddr, place *p) {
  uint32_t base = 0;
  if (vaddr->kind == EMU_O_VREG && !emu_vreg_check(w, vaddr->reg, 1, p->lanes)) return false;
  if (saddr->kind == EMU_O_SREG) {
    if (!emu_sreg_check(w, saddr->reg, 1)) return false;
    base = w->s[saddr->reg];
  }
  base += (uint32_t)in->offset;
  for (int l = 0; l < EMU_LANES; l++) p->addr[l] = (vaddr->kind == EMU_O_VREG ? w->v[vaddr->reg][l] : 0) + base;
  p->priv = p->lanes;
  p->lanes = p->whole = 0;
  return true;
}

static bool locate_flat(emu_wave *w, const emu_inst *in, const emu_operand *vaddr, const emu_operand *saddr, place *p) {
  bool wide = !saddr || saddr->kind != EMU_O_SREG;
  uint64_t base;
  if (!emu_vreg_check(w, vaddr->reg, wide ? 2 : 1, p->lanes)) return false;
  if (saddr ? !pair_base(w, saddr, &base) : (base = 0, false)) return false;
  base += (uint64_t)(int64_t)in->offset;
  const uint32_t *lo = w->v[vaddr->reg], *hi = w->v[vaddr->reg + 1];
  if (wide)
    for (int l = 0; l < EMU_LANES; l++) p->addr[l] = ((uint64_t)hi[l] << 32 | lo[l]) + base;
  else
    for (int l = 0; l < EMU_LANES; l++) p->addr[l] = lo[l] + base;
  p->whole = p->lanes;
  return true;
}

typedef struct descriptor {
  uint64_t base;
  uint32_t stride, records;
  uint32_t index_stride, element; /* swizzled: records interleaved and bytes kept together; 0: linear */
  bool add_tid;
} descriptor;

static bool read_descriptor(emu_wave *w, const emu_operand *s, descriptor *d) {
  if (s->kind != EMU_O_SREG) return emu_fault(w, -1, "a buffer instruction needs its descriptor in four SGPRs");
  if (!emu_sreg_check(w, s->reg, 4)) return false;
  const uint32_t *r = &w->s[s->reg];
  d->base = (uint64_t)(r[1] & 0xffff) << 32 | r[0];
  d->stride = r[1] >> 16 & 0x3fff;
  d->records = r[2];
  d->index_stride = r[1] >> 31 ? 8u << (r[3] >> 21 & 3) : 0;
  d->element = 2u << (r[3] >> 19 & 3);
  d->add_tid = r[3] >> 23 & 1;
  if (d->add_tid) d->stride |= (r[3] >> 15 & 15) << 14; /* the data format's bits extend the stride */
  if (r[3] >> 30) return emu_fault(w, -1, "word 3 of the buffer descriptor is 0x%08x: type bits 31:30 must be 0", r[3]);
  if ((r[3] >> 15 & 15) == 0 && !d->add_tid)
    return emu_fault(w, -1, "word 3 of the buffer descriptor is 0x%08x: data format 0 marks it unbound, use 0x00020000", r[3]);
  return true;
}

static bool scalar_value(emu_wave *w, const emu_operand *s, uint32_t *value) {
  if (s->kind == EMU_O_SREG) {
    if (!emu_sreg_check(w, s->reg, 1)) return false;
    *value = w->s[s->reg];
  } else {
    *value = s->kind == EMU_O_CONST ? (uint32_t)s->value : 0;
  }
  return true;
}

static uint64_t swizzled(const descriptor *d, uint64_t index, uint64_t offset) {
  uint64_t n = d->index_stride, e = d->element;
  return (index / n * d->stride + offset / e * e) * n + index % n * e + offset % e;
}

/* Private memory through its buffer descriptor: soffset counts in bytes of the wave, 64 to one of a lane. */
static bool locate_private_buffer(emu_wave *w, const emu_inst *in, const emu_operand *a, const descriptor *d, uint32_t soffset,
                                  place *p) {
  bool off = in->flags & EMU_F_OFFEN;
  uint32_t wave = soffset + (uint32_t)d->base;
  if (in->flags & EMU_F_IDXEN || wave % (4 * EMU_LANES))
    return emu_fault(w, -1, "private memory at byte %u of the wave, which is no dword's place, or by index", wave);
  if (off && !emu_vreg_check(w, a[0].reg, 1, p->lanes)) return false;
  for (int l = 0; l < EMU_LANES; l++) p->addr[l] = (off ? w->v[a[0].reg][l] : 0) + (uint32_t)in->offset + wave / EMU_LANES;
  p->priv = p->lanes;
  p->lanes = p->whole = 0;
  return true;
}

/* a[0] vaddr, a[1] descriptor, a[2] soffset. */
static bool locate_buffer(emu_wave *w, const emu_inst *in, const emu_operand *a, unsigned bytes, place *p) {
  descriptor d = {0};
  uint32_t soffset = 0;
  if (!read_descriptor(w, &a[1], &d) || !scalar_value(w, &a[2], &soffset)) return false;
  bool idx = in->flags & EMU_F_IDXEN, off = in->flags & EMU_F_OFFEN;
  if (d.base >> 32 == EMU_PRIVATE_BUFFER >> 32) return locate_private_buffer(w, in, a, &d, soffset, p);
  if ((idx || off) && !emu_vreg_check(w, a[0].reg, idx && off ? 2 : 1, p->lanes)) return false;
  p->whole = 0;
  for (int l = 0; l < EMU_LANES; l++) {
    if (!(p->lanes >> l & 1)) continue;
    uint64_t index = (idx ? w->v[a[0].reg][l] : 0) + (d.add_tid ? (uint64_t)l : 0);
    uint64_t within = (off ? w->v[a[0].reg + (idx ? 1 : 0)][l] : 0) + (uint64_t)(int64_t)in->offset;
    uint64_t end = (d.index_stride ? swizzled(&d, index, within) : index * d.stride + within) + soffset;
    p->addr[l] = d.base + end;
    uint64_t room = end < d.records ? d.records - end : 0;
    if (d.index_stride && d.stride) room = index < d.records ? bytes : 0; /* records counts records */
    if (room >= bytes) p->whole |= 1ull << l;
    else p->room[l] = (uint32_t)room / 4 * 4; /* range is checked dword by dword */
  }
  return true;
}

/* --- bounds: every byte inside one live allocation --- */

/* Addresses from lo to hi, `bytes` at each. Any address may come: nothing here may wrap. */
static bool in_span(const emu_span *s, uint64_t lo, uint64_t hi, unsigned bytes) {
  return lo >= s->lo && hi < s->hi && s->hi - hi >= bytes;
}

static bool check_lane(emu_wave *w, int lane, uint64_t addr, uint32_t n, const char *what) {
  if (n == 0 || emu_mem_find(w->group->dev, addr, n)) return true;
  char why[320];
  emu_mem_describe(w->group->dev, addr, n, why, sizeof why);
  return emu_fault(w, lane, "%s outside every allocation: %s", what, why);
}

/* Loads and atomics look at memory, stores and atomics write it. */
static bool looks(const char *what) { return what[0] != 's'; }
static bool writes(const char *what) { return what[0] != 'l'; }

static bool check_written(emu_wave *w, const place *p, unsigned bytes, const char *what) {
  for (int l = 0; l < EMU_LANES; l++) {
    uint32_t n = p->whole >> l & 1 ? bytes : p->lanes >> l & 1 ? p->room[l] : 0;
    if (n && looks(what) && !emu_global_written(w, l, p->addr[l], n, what)) return false;
    if (n && writes(what) && !emu_global_write(w, l, p->addr[l], n)) return false;
  }
  return true;
}

static EMU_INLINE bool all_written(const uint8_t *at, unsigned n) {
  uint32_t all = ~UINT32_C(0), x;
  for (unsigned k = 0; k + 4 <= n; k += 4) memcpy(&x, at + k, 4), all &= x;
  for (unsigned k = n & ~3u; k < n; k++) all &= ~UINT32_C(0xff) | at[k];
  return all == ~UINT32_C(0);
}

/* The shadow of bytes written, n a lane, in the order of lanes. False: a byte that was looked at is not written. */
static EMU_INLINE bool shadow_lanes(const emu_span *s, const place *p, unsigned n, bool look, bool write) {
  for (int l = 0; l < EMU_LANES; l++) {
    if (!(p->whole >> l & 1)) continue;
    uint8_t *at = s->written + (p->addr[l] - s->lo);
    if (look && !all_written(at, n)) return false;
    if (write) memset(at, 0xff, n);
  }
  return true;
}

static EMU_INLINE bool shadow_bytes(const emu_span *s, const place *p, unsigned bytes, bool look, bool write) {
  switch (bytes) {
    case 1: return shadow_lanes(s, p, 1, look, write);
    case 2: return shadow_lanes(s, p, 2, look, write);
    case 4: return shadow_lanes(s, p, 4, look, write);
    case 8: return shadow_lanes(s, p, 8, look, write);
    case 12: return shadow_lanes(s, p, 12, look, write);
    case 16: return shadow_lanes(s, p, 16, look, write);
    default: return false;
  }
}

/* check_written() for lanes that all lie in `s`, without a search for each of them. False: check_written() has to say what is
 * wrong, if anything. */
static bool shadow(const emu_span *s, const place *p, unsigned bytes, const char *what) {
  if (p->whole != p->lanes || (s->read_only && writes(what))) return false;
  if (!s->written) return true;
  if (!looks(what)) return shadow_bytes(s, p, bytes, false, true);
  return writes(what) ? shadow_bytes(s, p, bytes, true, true) : shadow_bytes(s, p, bytes, true, false);
}

static void addresses_extent(const place *p, uint64_t *least, uint64_t *most) {
  if (p->whole == ~UINT64_C(0)) {
    emu_lanes_extent(p->addr, least, most);
    return;
  }
  uint64_t lo = UINT64_MAX, hi = 0;
  for (int l = 0; l < EMU_LANES; l++) {
    if (!(p->whole >> l & 1)) continue;
    lo = p->addr[l] < lo ? p->addr[l] : lo;
    hi = p->addr[l] > hi ? p->addr[l] : hi;
  }
  *least = lo, *most = hi;
}

/* One test for the wave when all lanes hit an allocation it hit lately; else lane by lane. */
bool emu_place_check(emu_wave *w, const place *p, unsigned bytes, const char *what) {
  emu_lds *cache = w->group->lds_shadow;
  uint64_t lo, hi;
  addresses_extent(p, &lo, &hi);
  const emu_span *one = NULL; /* that holds them all */
  if (p->whole) {
    for (int i = 0; i < 4 && !one; i++) one = in_span(&cache->hit[i], lo, hi, bytes) ? &cache->hit[i] : NULL;
    const emu_span *s = one ? NULL : emu_mem_find(w->group->dev, lo, 1);
    if (s && in_span(s, lo, hi, bytes)) {
      cache->hit[cache->next_hit++ % 4] = *s;
      one = s;
    }
    for (int l = 0; l < EMU_LANES && !one; l++)
      if (p->whole >> l & 1 && !check_lane(w, l, p->addr[l], bytes, what)) return false;
  }
  for (int l = 0; l < EMU_LANES && p->whole != p->lanes; l++)
    if (p->lanes >> l & 1 && !(p->whole >> l & 1) && !check_lane(w, l, p->addr[l], p->room[l], what)) return false;
  if (!w->group->dev->tracking || (one && shadow(one, p, bytes, what))) return true;
  return check_written(w, p, bytes, what);
}

/* --- data --- */

static EMU_INLINE void load_words(emu_wave *w, unsigned dst, const place *p, unsigned n) {
  for (int l = 0; l < EMU_LANES && p->whole == ~UINT64_C(0); l += 4) {
    const uint8_t *const at[4] = {(const uint8_t *)(uintptr_t)p->addr[l], (const uint8_t *)(uintptr_t)p->addr[l + 1],
                                  (const uint8_t *)(uintptr_t)p->addr[l + 2], (const uint8_t *)(uintptr_t)p->addr[l + 3]};
    emu_lanes_load(w->v + dst, l, at, n);
  }
  for (int l = 0; l < EMU_LANES && p->whole != ~UINT64_C(0); l++) {
    if (!(p->whole >> l & 1)) continue;
    uint32_t x[4];
    memcpy(x, (const void *)(uintptr_t)p->addr[l], 4 * n);
    for (unsigned k = 0; k < n; k++) w->v[dst + k][l] = x[k];
  }
}

static EMU_INLINE void store_words(emu_wave *w, unsigned src, const place *p, unsigned n) {
  for (int l = 0; l < EMU_LANES && p->whole == ~UINT64_C(0); l += 4) {
    uint8_t *const at[4] = {(uint8_t *)(uintptr_t)p->addr[l], (uint8_t *)(uintptr_t)p->addr[l + 1],
                            (uint8_t *)(uintptr_t)p->addr[l + 2], (uint8_t *)(uintptr_t)p->addr[l + 3]};
    emu_lanes_store(w->v + src, l, at, n);
  }
  for (int l = 0; l < EMU_LANES && p->whole != ~UINT64_C(0); l++) {
    if (!(p->whole >> l & 1)) continue;
    uint32_t x[4];
    for (unsigned k = 0; k < n; k++) x[k] = w->v[src + k][l];
    memcpy((void *)(uintptr_t)p->addr[l], x, 4 * n);
  }
}

static void load_lanes(emu_wave *w, unsigned dst, const place *p, unsigned words) {
  switch (words) {
    case 1: load_words(w, dst, p, 1); break;
    case 2: load_words(w, dst, p, 2); break;
    case 3: load_words(w, dst, p, 3); break;
    default: load_words(w, dst, p, 4); break;
  }
  for (int l = 0; l < EMU_LANES && p->whole != p->lanes; l++) {
    if (!(p->lanes & ~p->whole & 1ull << l)) continue;
    for (unsigned k = 0; k < words; k++) {
      uint32_t x = 0;
      if (4 * k + 4 <= p->room[l]) memcpy(&x, (const void *)(uintptr_t)(p->addr[l] + 4 * k), 4);
      w->v[dst + k][l] = x;
    }
  }
}

static void store_lanes(emu_wave *w, unsigned src, const place *p, unsigned words) {
  switch (words) {
    case 1: store_words(w, src, p, 1); break;
    case 2: store_words(w, src, p, 2); break;
    case 3: store_words(w, src, p, 3); break;
    default: store_words(w, src, p, 4); break;
  }
  for (int l = 0; l < EMU_LANES && p->whole != p->lanes; l++) {
    if (!(p->lanes & ~p->whole & 1ull << l)) continue;
    for (unsigned k = 0; 4 * k + 4 <= p->room[l]; k++) memcpy((void *)(uintptr_t)(p->addr[l] + 4 * k), &w->v[src + k][l], 4);
  }
}

/* Dword k of a lane's data, or what is narrower; 0 where a buffer ends. */
static uint32_t lane_word(const place *p, int l, unsigned k, unsigned bytes) {
  uint32_t x = 0, room = p->whole >> l & 1 ? bytes : p->lanes >> l & 1 ? p->room[l] : 0;
  if (room >= 4 * k + (bytes < 4 ? bytes : 4)) memcpy(&x, (const void *)(uintptr_t)(p->addr[l] + 4 * k), bytes < 4 ? bytes : 4);
  return x;
}

uint32_t emu_narrow(emu_conv c, uint32_t x, uint32_t old) {
  switch (c) {
    case EMU_I8: return (uint32_t)(int8_t)x;
    case EMU_I16: return (uint32_t)(int16_t)x;
    case EMU_U8_LO: case EMU_U16_LO: return (old & 0xffff0000u) | x;
    case EMU_U8_HI: case EMU_U16_HI: return (old & 0xffff) | x << 16;
    case EMU_I8_LO: return (old & 0xffff0000u) | (uint16_t)(int8_t)x;
    case EMU_I8_HI: return (old & 0xffff) | (uint32_t)(uint16_t)(int8_t)x << 16;
    default: return x; /* EMU_RAW, EMU_U8, EMU_U16 */
  }
}

void emu_vm_in_flight(emu_wave *w, const vm_op *op, unsigned reg, unsigned n, uint64_t lanes) {
  for (unsigned r = reg; r < reg + n; r++) {
    w->v_init[r] |= lanes;
    w->v_vm[r] = w->vm_issued;
    if (op->space == EMU_FLAT) w->v_lgkm[r] = w->lgkm_issued;
  }
}

bool emu_vm_begin(emu_wave *w, const vm_op *op, const emu_operand *dst, unsigned n) {
  emu_vm_issue(w);
  if (op->space == EMU_FLAT) emu_lgkm_issue(w);
  /* An LDS load in flight to the same register is not ordered with this one. */
  for (unsigned r = dst ? dst->reg : 0; dst && r < dst->reg + n; r++)
    if (w->v_lgkm[r] > w->lgkm_done && !emu_vreg_bad(w, r, 0)) return false;
  return true;
}

bool emu_locate(emu_wave *w, const emu_inst *in, const vm_op *op, const emu_operand *vaddr, const emu_operand *rest,
                unsigned bytes, place *p) {
  p->lanes = emu_exec_mask(w);
  p->lds = p->priv = 0;
  switch ((emu_space)op->space) {
    case EMU_GLOBAL: return locate_flat(w, in, vaddr, rest, p);
    case EMU_SCRATCH: return locate_scratch(w, in, vaddr, rest, p);
    case EMU_BUFFER: return locate_buffer(w, in, vaddr, bytes, p);
    default: break;
  }
  if (!locate_flat(w, in, vaddr, NULL, p)) return false;
  split_apertures(p);
  return true;
}

/* --- instructions --- */

bool emu_to_lds(emu_wave *w, const emu_inst *in, const vm_op *op, uint64_t lanes, uint32_t (*data)[EMU_LANES],
                unsigned words) {
  if (!emu_sreg_check(w, EMU_M0, 1)) return false;
  uint32_t at[EMU_LANES], base = (w->s[EMU_M0] & w->group->code->isa->m0_lds) + (uint32_t)in->offset;
  for (uint32_t l = 0; l < EMU_LANES; l++) at[l] = base + 4 * words * l;
  if (!emu_vm_begin(w, op, NULL, 0) || !emu_lds_access(w, in, EMU_LDS_DMA, at, 4 * words, lanes)) return false;
  for (int l = 0; l < EMU_LANES; l++)
    for (unsigned k = 0; lanes >> l & 1 && k < words; k++) memcpy(w->group->lds + at[l] + 4 * k, &data[k][l], 4);
  w->counts.lds_clk += emu_lds_clocks(EMU_LDS_WRITE, at, 4 * words, lanes);
  return true;
}

static bool exec_load(emu_wave *w, const emu_inst *in) {
  const vm_op *op = in->aux;
  bool lds = op->lds || in->flags & EMU_F_LDS;
  unsigned words = (op->bytes + 3u) / 4;
  place p;
  if (!emu_locate(w, in, op, &in->src[0], &in->src[1], op->bytes, &p)) return false;
  if (p.lds | p.priv) return emu_apart_load(w, in, op, &p);
  if (!emu_place_check(w, &p, op->bytes, "load")) return false;
  emu_timing_memory(w, p.addr, p.whole, op->bytes);
  if (lds) {
    uint32_t data[4][EMU_LANES];
    for (int l = 0; l < EMU_LANES; l++)
      for (unsigned k = 0; k < words; k++) data[k][l] = emu_narrow((emu_conv)op->conv, lane_word(&p, l, k, op->bytes), 0);
    return emu_to_lds(w, in, op, p.lanes, data, words);
  }
  unsigned dst = in->dst[0].reg;
  if (!emu_vm_begin(w, op, &in->dst[0], words)) return false;
  if (op->conv == EMU_RAW) {
    load_lanes(w, dst, &p, words);
  } else {
    for (int l = 0; l < EMU_LANES; l++)
      if (p.lanes >> l & 1) w->v[dst][l] = emu_narrow((emu_conv)op->conv, lane_word(&p, l, 0, op->bytes), w->v[dst][l]);
  }
  emu_vm_in_flight(w, op, dst, words, p.lanes);
  return true;
}

static bool exec_store(emu_wave *w, const emu_inst *in) {
  const vm_op *op = in->aux;
  bool buffer = op->space == EMU_BUFFER;
  unsigned words = (op->bytes + 3u) / 4, src = in->src[buffer ? 0 : 1].reg;
  place p;
  if (!emu_locate(w, in, op, &in->src[buffer ? 1 : 0], &in->src[2], op->bytes, &p)) return false;
  if (p.lds | p.priv) return emu_apart_store(w, in, op, &p, src);
  if (!emu_vreg_check(w, src, words, p.lanes)) return false;
  if (!emu_place_check(w, &p, op->bytes, "store")) return false;
  emu_timing_memory(w, p.addr, p.whole, op->bytes);
  emu_changed(w);
  if (!emu_vm_begin(w, op, NULL, 0)) return false;
  if (op->conv == EMU_RAW) {
    store_lanes(w, src, &p, words);
    return true;
  }
  unsigned shift = op->conv == EMU_ST8_HI || op->conv == EMU_ST16_HI ? 16 : 0;
  for (int l = 0; l < EMU_LANES; l++) {
    uint32_t x = w->v[src][l] >> shift;
    if (p.whole >> l & 1) memcpy((void *)(uintptr_t)p.addr[l], &x, op->bytes);
  }
  return true;
}

static uint64_t lane_value(const emu_wave *w, unsigned reg, unsigned words, int l) {
  return words == 2 ? (uint64_t)w->v[reg + 1][l] << 32 | w->v[reg][l] : w->v[reg][l];
}

/* in->dtype is the emu_atomic, in->dwords its words, aux the addressing. cmpswap data: new value, then comparand. */
static bool exec_atomic(emu_wave *w, const emu_inst *in) {
  const vm_op *op = in->aux;
  bool buffer = op->space == EMU_BUFFER, rtn = in->n_dst == 1;
  unsigned words = in->dwords, bytes = 4 * words, n_data = emu_atomic_operands((emu_atomic)in->dtype);
  const emu_operand *s = in->src, *data = buffer ? (rtn ? &in->dst[0] : s) : &s[1];
  const emu_operand *vaddr = buffer && !rtn ? &s[1] : &s[0];
  place p;
  if (!emu_locate(w, in, op, vaddr, &s[2], bytes, &p)) return false;
  if (p.lds | p.priv) return emu_apart_atomic(w, in, op, &p, data, rtn);
  if (!emu_vreg_check(w, data->reg, words * n_data, p.lanes) || !emu_place_check(w, &p, bytes, "atomic")) return false;
  emu_timing_memory(w, p.addr, p.whole, bytes);
  if (!emu_vm_begin(w, op, rtn ? &in->dst[0] : NULL, words)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    if (!(p.lanes >> l & 1)) continue;
    uint64_t old = 0;
    if (p.whole >> l & 1) {
      if (p.addr[l] % bytes) return emu_fault(w, l, "atomic at 0x%" PRIx64 " is not aligned to %u bytes", p.addr[l], bytes);
      uint64_t cmp = n_data == 2 ? lane_value(w, data->reg + words, words, l) : 0;
      old = emu_atomic_memory((emu_atomic)in->dtype, words, p.addr[l], lane_value(w, data->reg, words, l), cmp);
      emu_atomic_changed(w, p.addr[l], words, old);
    }
    if (!rtn) continue;
    w->v[in->dst[0].reg][l] = (uint32_t)old;
    if (words == 2) w->v[in->dst[0].reg + 1][l] = (uint32_t)(old >> 32);
  }
  if (rtn) emu_vm_in_flight(w, op, in->dst[0].reg, words, p.lanes);
  return true;
}

/* --- table --- */

#define AUX(...) &(const vm_op){__VA_ARGS__}
#define LD(p, sp, name, c, bytes) {p "_load_" name, exec_load, EMU_C_VMEM_LOAD, 0, 0, AUX(sp, c, bytes, false)}
#define ST(p, sp, name, c, bytes) {p "_store_" name, exec_store, EMU_C_VMEM_STORE, 0, 0, AUX(sp, c, bytes, false)}
#define LOADS(p, sp) \
    LD(p, sp, "ubyte", EMU_U8, 1), LD(p, sp, "sbyte", EMU_I8, 1), LD(p, sp, "ushort", EMU_U16, 2), \
    LD(p, sp, "sshort", EMU_I16, 2), LD(p, sp, "dword", EMU_RAW, 4), LD(p, sp, "dwordx2", EMU_RAW, 8), \
    LD(p, sp, "dwordx3", EMU_RAW, 12), LD(p, sp, "dwordx4", EMU_RAW, 16), \
    LD(p, sp, "ubyte_d16", EMU_U8_LO, 1), LD(p, sp, "ubyte_d16_hi", EMU_U8_HI, 1), LD(p, sp, "sbyte_d16", EMU_I8_LO, 1), \
    LD(p, sp, "sbyte_d16_hi", EMU_I8_HI, 1), LD(p, sp, "short_d16", EMU_U16_LO, 2), LD(p, sp, "short_d16_hi", EMU_U16_HI, 2)
#define STORES(p, sp) ST(p, sp, "byte", EMU_ST8, 1), ST(p, sp, "short", EMU_ST16, 2), ST(p, sp, "byte_d16_hi", EMU_ST8_HI, 1), \
    ST(p, sp, "short_d16_hi", EMU_ST16_HI, 2), ST(p, sp, "dword", EMU_RAW, 4), ST(p, sp, "dwordx2", EMU_RAW, 8), \
    ST(p, sp, "dwordx3", EMU_RAW, 12), ST(p, sp, "dwordx4", EMU_RAW, 16)
#define AT(p, sp, name, op, words) \
    {p "_atomic_" name, exec_atomic, EMU_C_VMEM_ATOMIC, op, words, AUX(sp, EMU_RAW, 4 * (words), false)}
#define AT2(p, sp, name, op) AT(p, sp, name, op, 1), AT(p, sp, name "_x2", op, 2)
#define ATOMICS(p, sp) AT2(p, sp, "swap", EMU_SWAP), AT2(p, sp, "cmpswap", EMU_CMPSWAP), AT2(p, sp, "add", EMU_ADD), \
    AT2(p, sp, "sub", EMU_SUB), AT2(p, sp, "smin", EMU_SMIN), AT2(p, sp, "umin", EMU_UMIN), AT2(p, sp, "smax", EMU_SMAX), \
    AT2(p, sp, "umax", EMU_UMAX), AT2(p, sp, "and", EMU_AND), AT2(p, sp, "or", EMU_OR), AT2(p, sp, "xor", EMU_XOR), \
    AT2(p, sp, "inc", EMU_INC), AT2(p, sp, "dec", EMU_DEC), AT(p, sp, "add_f32", EMU_FADD, 1), \
    AT(p, sp, "pk_add_f16", EMU_PK_ADD_F16, 1), AT(p, sp, "pk_add_bf16", EMU_PK_ADD_BF16, 1), AT(p, sp, "add_f64", EMU_FADD, 2), \
    AT(p, sp, "min_f64", EMU_FMIN, 2), AT(p, sp, "max_f64", EMU_FMAX, 2)
#define LDS_LD(name, c, bytes)                                                                        \
    {"global_load_lds_" name, exec_load, EMU_C_VMEM_LOAD, 0, 0, AUX(EMU_GLOBAL, c, bytes, true)},     \
    {"scratch_load_lds_" name, exec_load, EMU_C_VMEM_LOAD, 0, 0, AUX(EMU_SCRATCH, c, bytes, true)}
const emu_op emu_ops_vmem[] = {
    LOADS("global", EMU_GLOBAL), LOADS("flat", EMU_FLAT), LOADS("buffer", EMU_BUFFER), LOADS("scratch", EMU_SCRATCH),
    STORES("global", EMU_GLOBAL), STORES("flat", EMU_FLAT), STORES("buffer", EMU_BUFFER), STORES("scratch", EMU_SCRATCH),
    ATOMICS("global", EMU_GLOBAL), ATOMICS("flat", EMU_FLAT), ATOMICS("buffer", EMU_BUFFER),
    LDS_LD("ubyte", EMU_U8, 1), LDS_LD("sbyte", EMU_I8, 1), LDS_LD("ushort", EMU_U16, 2), LDS_LD("sshort", EMU_I16, 2),
    LDS_LD("dword", EMU_RAW, 4), LDS_LD("dwordx3", EMU_RAW, 12), LDS_LD("dwordx4", EMU_RAW, 16),
    {NULL, NULL, 0, 0, 0, NULL},
};
