/* LDS instructions: ds_read*, ds_write*, swizzle and permute, atomics.
 *
 * DS instructions of one wave execute in order, so data moves at issue; the destination stays "in flight" until an
 * s_waitcnt lgkmcnt covers it. Every instruction here counts one in lgkmcnt, permutes included. */
#include "emu/lanes.h"
#include "emu/lds.h"
#include "emu/vmem.h"

typedef enum conv { RAW, U8, I8, U16, I16, U8_LO, U8_HI, I8_LO, I8_HI, U16_LO, U16_HI, W8, W16, W8_HI, W16_HI } conv;

typedef struct ds_op {
  uint8_t bytes;  /* per access */
  uint8_t conv;
  uint16_t pair;  /* bytes per unit of offset0/offset1 of the two-address forms, 0 for one address */
} ds_op;

/* --- in flight --- */

static bool begin(emu_wave *w, const emu_operand *dst, unsigned n) {
  emu_lgkm_issue(w);
  /* Two counters do not order each other: a vector-memory load still in flight to this register may land later. */
  for (unsigned r = dst->reg; dst->kind == EMU_O_VREG && r < dst->reg + n; r++)
    if (w->v_vm[r] > w->vm_done && !emu_vreg_bad(w, r, 0)) return false;
  return true;
}

static void in_flight(emu_wave *w, unsigned reg, unsigned n, uint64_t lanes) {
  for (unsigned r = reg; r < reg + n; r++) {
    w->v_init[r] |= lanes;
    w->v_lgkm[r] = w->lgkm_issued;
  }
}

static void addresses(const emu_wave *w, const emu_operand *a, uint32_t offset, uint32_t out[EMU_LANES]) {
  const uint32_t *v = w->v[a->reg];
  for (int l = 0; l < EMU_LANES; l++) out[l] = v[l] + offset;
}

static void charge(emu_wave *w, emu_lds_kind kind, const uint32_t *addr, unsigned bytes, uint64_t lanes) {
  w->counts.lds_clk += emu_lds_clocks(kind, addr, bytes, lanes);
}

/* --- data movement --- */

static EMU_INLINE void read_words(emu_wave *w, unsigned dst, const uint32_t *addr, uint64_t lanes, unsigned n) {
  const uint8_t *lds = w->group->lds;
  for (int l = 0; l < EMU_LANES && lanes == ~UINT64_C(0); l += 4) {
    const uint8_t *const at[4] = {lds + addr[l], lds + addr[l + 1], lds + addr[l + 2], lds + addr[l + 3]};
    emu_lanes_load(w->v + dst, l, at, n);
  }
  for (int l = 0; l < EMU_LANES && lanes != ~UINT64_C(0); l++) {
    if (!(lanes >> l & 1)) continue;
    uint32_t x[4];
    memcpy(x, lds + addr[l], 4 * n);
    for (unsigned k = 0; k < n; k++) w->v[dst + k][l] = x[k];
  }
}

static EMU_INLINE void write_words(emu_wave *w, unsigned src, const uint32_t *addr, uint64_t lanes, unsigned n) {
  uint8_t *lds = w->group->lds;
  for (int l = 0; l < EMU_LANES && lanes == ~UINT64_C(0); l += 4) {
    uint8_t *const at[4] = {lds + addr[l], lds + addr[l + 1], lds + addr[l + 2], lds + addr[l + 3]};
    emu_lanes_store(w->v + src, l, at, n);
  }
  for (int l = 0; l < EMU_LANES && lanes != ~UINT64_C(0); l++) {
    if (!(lanes >> l & 1)) continue;
    uint32_t x[4];
    for (unsigned k = 0; k < n; k++) x[k] = w->v[src + k][l];
    memcpy(lds + addr[l], x, 4 * n);
  }
}

static void read_lanes(emu_wave *w, unsigned dst, const uint32_t *addr, uint64_t lanes, unsigned words) {
  switch (words) {
    case 1: read_words(w, dst, addr, lanes, 1); break;
    case 2: read_words(w, dst, addr, lanes, 2); break;
    case 3: read_words(w, dst, addr, lanes, 3); break;
    default: read_words(w, dst, addr, lanes, 4); break;
  }
}

static void write_lanes(emu_wave *w, unsigned src, const uint32_t *addr, uint64_t lanes, unsigned words) {
  switch (words) {
    case 1: write_words(w, src, addr, lanes, 1); break;
    case 2: write_words(w, src, addr, lanes, 2); break;
    case 3: write_words(w, src, addr, lanes, 3); break;
    default: write_words(w, src, addr, lanes, 4); break;
  }
}

static uint32_t narrow_read(conv c, const uint8_t *p, uint32_t old) {
  uint16_t h = 0;
  if (c >= U16 && c <= I16) memcpy(&h, p, 2);
  if (c == U16_LO || c == U16_HI) memcpy(&h, p, 2);
  switch (c) {
    case U8: return *p;
    case I8: return (uint32_t)(int8_t)*p;
    case U16: return h;
    case I16: return (uint32_t)(int16_t)h;
    case U8_LO: return (old & 0xffff0000u) | *p;
    case U8_HI: return (old & 0xffff) | (uint32_t)*p << 16;
    case I8_LO: return (old & 0xffff0000u) | (uint16_t)(int8_t)*p;
    case I8_HI: return (old & 0xffff) | (uint32_t)(uint16_t)(int8_t)*p << 16;
    case U16_LO: return (old & 0xffff0000u) | h;
    default: return (old & 0xffff) | (uint32_t)h << 16; /* U16_HI */
  }
}

/* --- reads and writes --- */

static bool exec_read(emu_wave *w, const emu_inst *in) {
  const ds_op *d = in->aux;
  uint64_t lanes = emu_exec_mask(w);
  unsigned words = (d->bytes + 3u) / 4, dst = in->dst[0].reg;
  if (!emu_vreg_check(w, in->src[0].reg, 1, lanes) || !begin(w, &in->dst[0], words * (d->pair ? 2 : 1))) return false;
  uint32_t addr[EMU_LANES], second[EMU_LANES];
  addresses(w, &in->src[0], (uint32_t)in->offset * (d->pair ? d->pair : 1), addr);
  if (d->pair) addresses(w, &in->src[0], (uint32_t)in->offset2 * d->pair, second); /* before dst may overwrite it */
  if (!emu_lds_access(w, in, EMU_LDS_READ, addr, d->bytes, lanes)) return false;
  charge(w, EMU_LDS_READ, addr, d->bytes, lanes);
  if (d->pair) {
    if (!emu_lds_access(w, in, EMU_LDS_READ, second, d->bytes, lanes)) return false;
    charge(w, EMU_LDS_READ, second, d->bytes, lanes);
    read_lanes(w, dst + words, second, lanes, words);
  }
  if (d->conv == RAW) {
    read_lanes(w, dst, addr, lanes, words);
  } else {
    for (int l = 0; l < EMU_LANES; l++)
      if (lanes >> l & 1) w->v[dst][l] = narrow_read((conv)d->conv, w->group->lds + addr[l], w->v[dst][l]);
  }
  in_flight(w, dst, words * (d->pair ? 2 : 1), lanes);
  return true;
}

static bool exec_write(emu_wave *w, const emu_inst *in) {
  const ds_op *d = in->aux;
  uint64_t lanes = emu_exec_mask(w);
  unsigned words = (d->bytes + 3u) / 4;
  if (!emu_vreg_check(w, in->src[0].reg, 1, lanes) || !emu_vreg_check(w, in->src[1].reg, words, lanes)) return false;
  if (d->pair && !emu_vreg_check(w, in->src[2].reg, words, lanes)) return false;
  emu_lgkm_issue(w);
  uint32_t addr[EMU_LANES];
  addresses(w, &in->src[0], (uint32_t)in->offset * (d->pair ? d->pair : 1), addr);
  for (int part = 0; part < (d->pair ? 2 : 1); part++) {
    if (part) addresses(w, &in->src[0], (uint32_t)in->offset2 * d->pair, addr);
    unsigned src = in->src[1 + part].reg, shift = d->conv == W8_HI || d->conv == W16_HI ? 16 : 0;
    if (!emu_lds_write(w, in, addr, d->bytes, lanes, (const uint32_t(*)[EMU_LANES])w->v + src, shift)) return false;
    charge(w, EMU_LDS_WRITE, addr, d->bytes, lanes);
    if (d->conv == RAW) {
      write_lanes(w, src, addr, lanes, words);
      continue;
    }
    for (int l = 0; l < EMU_LANES; l++) {
      uint32_t x = w->v[src][l] >> shift;
      if (lanes >> l & 1) memcpy(w->group->lds + addr[l], &x, d->bytes);
    }
  }
  return true;
}

/* ds_read_b64_tr_b16 and its kin (gfx950): sixteen lanes read a matrix of 16 columns, n elements to a lane and 16 / n lanes to a
 * row, and each gets the column of its number, row after row. in->dtype: bits of an element. All lanes of a sixteen, or none. */
static bool exec_read_transposed(emu_wave *w, const emu_inst *in) {
  uint64_t lanes = emu_exec_mask(w);
  unsigned bits = in->dtype, words = in->dwords, n = 32 * words / bits, dst = in->dst[0].reg;
  if (!emu_vreg_check(w, in->src[0].reg, 1, lanes) || !begin(w, &in->dst[0], words)) return false;
  uint32_t addr[EMU_LANES];
  addresses(w, &in->src[0], (uint32_t)in->offset, addr);
  for (int g = 0; g < EMU_LANES; g += 16)
    if ((lanes >> g & 0xffff) != 0 && (lanes >> g & 0xffff) != 0xffff)
      return emu_fault(w, g, "transposing LDS read with some of lanes %d to %d off", g, g + 15);
  if (!emu_lds_access(w, in, EMU_LDS_READ, addr, 4 * words, lanes)) return false;
  charge(w, EMU_LDS_READ, addr, 4 * words, lanes);
  for (unsigned l = 0; l < EMU_LANES; l++) {
    uint32_t out[3] = {0, 0, 0};
    if (!(lanes >> l & 1)) continue;
    for (unsigned k = 0; k < n; k++) {
      unsigned from = (l & ~15u) + k * (16 / n) + l % 16 / n, bit = l % 16 % n * bits;
      uint8_t row[20] = {0};
      uint64_t x;
      memcpy(row, w->group->lds + addr[from], 4 * words);
      memcpy(&x, row + bit / 8, 8);
      x = x >> bit % 8 & ((UINT64_C(1) << bits) - 1);
      for (unsigned at = k * bits, part = 0; part < bits; part++)
        out[(at + part) / 32] |= (uint32_t)(x >> part & 1) << (at + part) % 32;
    }
    for (unsigned k = 0; k < words; k++) w->v[dst + k][l] = out[k];
  }
  in_flight(w, dst, words, lanes);
  return true;
}

/* ds_read_addtid_b32 / ds_write_addtid_b32: address = M0 + offset + 4 * lane, no address register. */
static bool exec_addtid(emu_wave *w, const emu_inst *in) {
  bool load = in->n_dst == 1;
  uint64_t lanes = emu_exec_mask(w);
  if (!emu_sreg_check(w, EMU_M0, 1)) return false;
  if (load ? !begin(w, &in->dst[0], 1) : !emu_vreg_check(w, in->src[0].reg, 1, lanes)) return false;
  if (!load) emu_lgkm_issue(w);
  uint32_t addr[EMU_LANES];
  for (uint32_t l = 0; l < EMU_LANES; l++) addr[l] = (w->s[EMU_M0] & 0xffff) + (uint32_t)in->offset + 4 * l;
  emu_lds_kind kind = load ? EMU_LDS_READ : EMU_LDS_WRITE;
  if (load ? !emu_lds_access(w, in, kind, addr, 4, lanes)
           : !emu_lds_write(w, in, addr, 4, lanes, (const uint32_t(*)[EMU_LANES])w->v + in->src[0].reg, 0)) return false;
  charge(w, kind, addr, 4, lanes);
  if (load) read_lanes(w, in->dst[0].reg, addr, lanes, 1), in_flight(w, in->dst[0].reg, 1, lanes);
  else write_lanes(w, in->src[0].reg, addr, lanes, 1);
  return true;
}

/* --- crossing lanes: no LDS storage, the LDS crossbar only --- */

static uint32_t reverse5(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 5; i++) r |= (x >> i & 1) << (4 - i);
  return r;
}

/* Source lane of ds_swizzle_b32 for lane i: quad permutation, rotation, FFT, or and/or/xor inside 32 lanes. */
static unsigned swizzle_lane(uint32_t pattern, unsigned i) {
  if (pattern >= 0xe000) { /* FFT decomposition */
    uint32_t mask = pattern & 31;
    return (reverse5(i & 31) >> __builtin_popcount(mask)) | (i & mask) | (i & 32);
  }
  if (pattern >= 0xc000) {
    uint32_t mask = pattern & 31, n = pattern >> 5 & 31, turn = pattern & 0x400 ? 0u - n : n;
    return (i & mask) | ((i + turn) & ~mask & 31) | (i & 32);
  }
  if (pattern & 0x8000) return (i & ~3u) | (pattern >> 2 * (i & 3) & 3);
  return ((((i & 31) & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)) | (i & 32);
}

static bool exec_swizzle(emu_wave *w, const emu_inst *in) {
  uint64_t lanes = emu_exec_mask(w);
  if (!emu_vreg_check(w, in->src[0].reg, 1, lanes) || !begin(w, &in->dst[0], 1)) return false;
  uint32_t pattern = in->imm ? in->imm & 0xffff : (uint32_t)in->offset & 0xffff, out[EMU_LANES];
  for (unsigned l = 0; l < EMU_LANES; l++) {
    unsigned from = swizzle_lane(pattern, l);
    out[l] = lanes >> from & 1 ? w->v[in->src[0].reg][from] : 0; /* an inactive source lane reads as 0 */
  }
  for (int l = 0; l < EMU_LANES; l++)
    if (lanes >> l & 1) w->v[in->dst[0].reg][l] = out[l];
  in_flight(w, in->dst[0].reg, 1, lanes);
  w->counts.lds_clk += 2;
  return true;
}

static bool exec_permute(emu_wave *w, const emu_inst *in) {
  bool push = in->dtype;
  uint64_t lanes = emu_exec_mask(w);
  if (!emu_vreg_check(w, in->src[0].reg, 1, lanes) || !emu_vreg_check(w, in->src[1].reg, 1, lanes) ||
      !begin(w, &in->dst[0], 1)) return false;
  const uint32_t *sel = w->v[in->src[0].reg], *data = w->v[in->src[1].reg];
  uint32_t out[EMU_LANES] = {0};
  for (unsigned l = 0; l < EMU_LANES; l++) {
    unsigned other = (sel[l] + (uint32_t)in->offset) / 4 % 64;
    if (push) {
      if (lanes >> l & 1) out[other] = data[l]; /* the highest lane wins */
    } else {
      out[l] = lanes >> other & 1 ? data[other] : 0;
    }
  }
  for (int l = 0; l < EMU_LANES; l++)
    if (lanes >> l & 1) w->v[in->dst[0].reg][l] = out[l];
  in_flight(w, in->dst[0].reg, 1, lanes);
  w->counts.lds_clk += 2;
  return true;
}

/* --- atomics --- */

static bool exec_atomic(emu_wave *w, const emu_inst *in) {
  uint64_t lanes = emu_exec_mask(w);
  unsigned words = in->dwords, n_data = emu_atomic_operands((emu_atomic)in->dtype);
  bool rtn = in->n_dst == 1;
  if (!emu_vreg_check(w, in->src[0].reg, 1, lanes)) return false;
  for (unsigned k = 0; k < n_data; k++)
    if (!emu_vreg_check(w, in->src[1 + k].reg, words, lanes)) return false;
  if (rtn ? !begin(w, &in->dst[0], words) : (emu_lgkm_issue(w), false)) return false;
  uint32_t addr[EMU_LANES];
  addresses(w, &in->src[0], (uint32_t)in->offset, addr);
  if (!emu_lds_access(w, in, EMU_LDS_ATOMIC, addr, 4 * words, lanes)) return false;
  charge(w, EMU_LDS_ATOMIC, addr, 4 * words, lanes);
  for (int l = 0; l < EMU_LANES; l++) {
    if (!(lanes >> l & 1)) continue;
    uint64_t mem = 0, x[2] = {0, 0};
    memcpy(&mem, w->group->lds + addr[l], 4 * words);
    for (unsigned k = 0; k < n_data; k++) {
      x[k] = w->v[in->src[1 + k].reg][l];
      if (words == 2) x[k] |= (uint64_t)w->v[in->src[1 + k].reg + 1][l] << 32;
    }
    /* ds_cmpst: data0 compares, data1 is stored */
    uint64_t next = n_data == 2 ? emu_atomic_apply((emu_atomic)in->dtype, words, mem, x[1], x[0])
                                : emu_atomic_apply((emu_atomic)in->dtype, words, mem, x[0], 0);
    memcpy(w->group->lds + addr[l], &next, 4 * words);
    if (!rtn) continue;
    w->v[in->dst[0].reg][l] = (uint32_t)mem;
    if (words == 2) w->v[in->dst[0].reg + 1][l] = (uint32_t)(mem >> 32);
  }
  if (rtn) in_flight(w, in->dst[0].reg, words, lanes);
  return true;
}

/* Exchange at two addresses: both old values come back. */
static bool exec_exchange2(emu_wave *w, const emu_inst *in) {
  const ds_op *d = in->aux;
  uint64_t lanes = emu_exec_mask(w);
  unsigned words = d->bytes / 4u, dst = in->dst[0].reg;
  uint32_t addr[EMU_LANES], old[2][2][EMU_LANES];
  for (int k = 0; k < 3; k++)
    if (!emu_vreg_check(w, in->src[k].reg, k ? words : 1, lanes)) return false;
  if (!begin(w, &in->dst[0], 2 * words)) return false;
  for (int part = 0; part < 2; part++) {
    addresses(w, &in->src[0], (uint32_t)(part ? in->offset2 : in->offset) * d->pair, addr);
    if (!emu_lds_access(w, in, EMU_LDS_ATOMIC, addr, d->bytes, lanes)) return false;
    charge(w, EMU_LDS_ATOMIC, addr, d->bytes, lanes);
    for (int l = 0; l < EMU_LANES; l++)
      for (unsigned k = 0; lanes >> l & 1 && k < words; k++) {
        memcpy(&old[part][k][l], w->group->lds + addr[l] + 4 * k, 4);
        memcpy(w->group->lds + addr[l] + 4 * k, &w->v[in->src[1 + part].reg + k][l], 4);
      }
  }
  for (unsigned k = 0; k < 2 * words; k++)
    for (int l = 0; l < EMU_LANES; l++)
      if (lanes >> l & 1) w->v[dst + k][l] = old[k / words][k % words][l];
  in_flight(w, dst, 2 * words, lanes);
  return true;
}

/* ds_append, ds_consume: the dword at M0 + offset counts active lanes up or down once for the wave; all get its old value. */
static bool exec_count(emu_wave *w, const emu_inst *in) {
  uint64_t lanes = emu_exec_mask(w);
  uint32_t n = (uint32_t)__builtin_popcountll(lanes), addr[EMU_LANES], old, next;
  if (!emu_sreg_check(w, EMU_M0, 1) || !begin(w, &in->dst[0], 1)) return false;
  if (!lanes) return true;
  for (int l = 0; l < EMU_LANES; l++) addr[l] = (w->s[EMU_M0] & 0xffff) + (uint32_t)in->offset;
  uint64_t first = lanes & -lanes;
  if (!emu_lds_access(w, in, EMU_LDS_ATOMIC, addr, 4, first)) return false;
  charge(w, EMU_LDS_ATOMIC, addr, 4, first);
  memcpy(&old, w->group->lds + addr[0], 4);
  next = in->dtype ? old + n : old - n;
  memcpy(w->group->lds + addr[0], &next, 4);
  for (int l = 0; l < EMU_LANES; l++)
    if (lanes >> l & 1) w->v[in->dst[0].reg][l] = old;
  in_flight(w, in->dst[0].reg, 1, lanes);
  return true;
}

static bool exec_nothing(emu_wave *w, const emu_inst *in) { return true; }

/* --- table --- */

#define R(name, bytes, conv, pair) {"ds_read" name, exec_read, EMU_C_DS_READ, 0, 0, &(const ds_op){bytes, conv, pair}}
#define W(name, bytes, conv, pair) {"ds_write" name, exec_write, EMU_C_DS_WRITE, 0, 0, &(const ds_op){bytes, conv, pair}}
#define X2(name, bytes, pair) {"ds_wrxchg" name, exec_exchange2, EMU_C_DS_OTHER, 0, 0, &(const ds_op){bytes, RAW, pair}}
#define A32(name, op) {"ds_" name, exec_atomic, EMU_C_DS_OTHER, op, 1, NULL}
#define A64(name, op) {"ds_" name, exec_atomic, EMU_C_DS_OTHER, op, 2, NULL}
#define BOTH32(name, suffix, op) A32(name "_" suffix, op), A32(name "_rtn_" suffix, op)
#define BOTH64(name, suffix, op) A64(name "_" suffix, op), A64(name "_rtn_" suffix, op)
const emu_op emu_ops_ds[] = {
    R("_b32", 4, RAW, 0), R("_b64", 8, RAW, 0), R("_b96", 12, RAW, 0), R("_b128", 16, RAW, 0),
    R("_u8", 1, U8, 0), R("_i8", 1, I8, 0), R("_u16", 2, U16, 0), R("_i16", 2, I16, 0),
    R("_u8_d16", 1, U8_LO, 0), R("_u8_d16_hi", 1, U8_HI, 0), R("_i8_d16", 1, I8_LO, 0), R("_i8_d16_hi", 1, I8_HI, 0),
    R("_u16_d16", 2, U16_LO, 0), R("_u16_d16_hi", 2, U16_HI, 0),
    R("2_b32", 4, RAW, 4), R("2st64_b32", 4, RAW, 256), R("2_b64", 8, RAW, 8), R("2st64_b64", 8, RAW, 512),
    W("_b8", 1, W8, 0), W("_b16", 2, W16, 0), W("_b8_d16_hi", 1, W8_HI, 0), W("_b16_d16_hi", 2, W16_HI, 0),
    W("_b32", 4, RAW, 0), W("_b64", 8, RAW, 0), W("_b96", 12, RAW, 0), W("_b128", 16, RAW, 0),
    W("2_b32", 4, RAW, 4), W("2st64_b32", 4, RAW, 256), W("2_b64", 8, RAW, 8), W("2st64_b64", 8, RAW, 512),
    {"ds_read_b64_tr_b16", exec_read_transposed, EMU_C_DS_READ, 16, 2, NULL},
    {"ds_read_b64_tr_b8", exec_read_transposed, EMU_C_DS_READ, 8, 2, NULL},
    {"ds_read_b64_tr_b4", exec_read_transposed, EMU_C_DS_READ, 4, 2, NULL},
    {"ds_read_b96_tr_b6", exec_read_transposed, EMU_C_DS_READ, 6, 3, NULL},
    {"ds_read_addtid_b32", exec_addtid, EMU_C_DS_READ, 0, 0, NULL},
    {"ds_write_addtid_b32", exec_addtid, EMU_C_DS_WRITE, 0, 0, NULL},
    {"ds_swizzle_b32", exec_swizzle, EMU_C_DS_OTHER, 0, 0, NULL},
    {"ds_permute_b32", exec_permute, EMU_C_DS_OTHER, 1, 0, NULL},
    {"ds_bpermute_b32", exec_permute, EMU_C_DS_OTHER, 0, 0, NULL},
    BOTH32("add", "u32", EMU_ADD), BOTH32("sub", "u32", EMU_SUB), BOTH32("rsub", "u32", EMU_RSUB), BOTH32("inc", "u32", EMU_INC),
    BOTH32("dec", "u32", EMU_DEC), BOTH32("min", "i32", EMU_SMIN), BOTH32("max", "i32", EMU_SMAX), BOTH32("min", "u32", EMU_UMIN),
    BOTH32("max", "u32", EMU_UMAX), BOTH32("and", "b32", EMU_AND), BOTH32("or", "b32", EMU_OR), BOTH32("xor", "b32", EMU_XOR),
    BOTH32("cmpst", "b32", EMU_CMPSWAP), BOTH32("cmpst", "f32", EMU_FCMPSWAP), BOTH32("min", "f32", EMU_FMIN),
    BOTH32("max", "f32", EMU_FMAX), BOTH32("add", "f32", EMU_FADD), BOTH32("pk_add", "f16", EMU_PK_ADD_F16),
    BOTH32("pk_add", "bf16", EMU_PK_ADD_BF16), A32("wrxchg_rtn_b32", EMU_SWAP),
    BOTH64("add", "u64", EMU_ADD), BOTH64("sub", "u64", EMU_SUB), BOTH64("rsub", "u64", EMU_RSUB), BOTH64("inc", "u64", EMU_INC),
    BOTH64("dec", "u64", EMU_DEC), BOTH64("min", "i64", EMU_SMIN), BOTH64("max", "i64", EMU_SMAX), BOTH64("min", "u64", EMU_UMIN),
    BOTH64("max", "u64", EMU_UMAX), BOTH64("and", "b64", EMU_AND), BOTH64("or", "b64", EMU_OR), BOTH64("xor", "b64", EMU_XOR),
    BOTH64("cmpst", "b64", EMU_CMPSWAP), BOTH64("min", "f64", EMU_FMIN), BOTH64("max", "f64", EMU_FMAX),
    BOTH64("add", "f64", EMU_FADD), A64("wrxchg_rtn_b64", EMU_SWAP), BOTH64("cmpst", "f64", EMU_FCMPSWAP),
    BOTH32("mskor", "b32", EMU_MSKOR), BOTH64("mskor", "b64", EMU_MSKOR), A32("wrap_rtn_b32", EMU_WRAP),
    A64("condxchg32_rtn_b64", EMU_CONDXCHG), X2("2_rtn_b32", 4, 4), X2("2st64_rtn_b32", 4, 256), X2("2_rtn_b64", 8, 8),
    X2("2st64_rtn_b64", 8, 512),
    {"ds_append", exec_count, EMU_C_DS_OTHER, 1, 0, NULL},
    {"ds_consume", exec_count, EMU_C_DS_OTHER, 0, 0, NULL},
    {"ds_nop", exec_nothing, EMU_C_NOP, 0, 0, NULL},
    {NULL, NULL, 0, 0, 0, NULL},
};
