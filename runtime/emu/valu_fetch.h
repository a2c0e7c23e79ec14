/* Operands of the vector ALU: from registers, scalars and constants to arrays of 64 lanes, with every modifier. */
#pragma once

#include "emu/valu_lane.h"

enum { LANES2 = 2 * EMU_LANES };

static inline unsigned vt_dwords(unsigned t) {
  return t == VT_U64 || t == VT_I64 || t == VT_F64 || t == VT_B64 || t == VT_PK32 ? 2 : 1;
}
static inline bool vt_float(unsigned t) {
  return t == VT_F32 || t == VT_F16 || t == VT_F64 || t == VT_B32 || t == VT_H16 || t == VT_B64 || t == VT_PKF ||
         t == VT_PK32 || t == VT_MIX;
}
static inline bool vt_half(unsigned t) { return t == VT_U16 || t == VT_I16 || t == VT_F16 || t == VT_H16; }

static inline void fill(uint32_t *p, uint32_t v) {
  for (int i = 0; i < EMU_LANES; i++) p[i] = v;
}

/* A mask as 0 or ~0 in each lane. */
static inline void spread_mask(uint32_t *p, uint64_t mask) {
  uint32_t lo = (uint32_t)mask, hi = (uint32_t)(mask >> 32);
  for (int i = 0; i < 32; i++) p[i] = 0u - (lo >> i & 1);
  for (int i = 0; i < 32; i++) p[32 + i] = 0u - (hi >> i & 1);
}

/* A constant in the encoding the operand's type wants: inline floats are re-encoded for 16 and 64 bits, a literal is the
 * high dword of a double, signed 64-bit operands extend it. */
static inline uint64_t constant_bits(const emu_operand *o, unsigned type) {
  switch (type) {
    case VT_F16: case VT_H16: case VT_PKF: return o->is_float ? f32_to_f16((float)o->fvalue) : o->value & 0xffff;
    case VT_F64: case VT_B64: return o->is_float ? asq(o->fvalue) : o->is_literal ? o->value << 32 : o->value;
    case VT_I64: return o->is_float ? asq(o->fvalue) : o->is_literal ? (uint64_t)(int64_t)(int32_t)o->value : o->value;
    case VT_U64: return o->is_float ? asq(o->fvalue) : o->value;
    default: return (uint32_t)o->value;
  }
}

/* A lane mask whose bits are defined at least for these lanes. */
static inline bool mask_defined(const emu_wave *w, unsigned reg, uint64_t lanes) {
  uint32_t lo = w->s_init[reg] ? ~0u : w->s_def[reg], hi = w->s_init[reg + 1] ? ~0u : w->s_def[reg + 1];
  return !(lanes & ~((uint64_t)hi << 32 | lo)) && w->s_lgkm[reg] <= w->smem_done && w->s_lgkm[reg + 1] <= w->smem_done;
}

/* Spreads an operand that is in no vector register over `buf` [2][64]. */
static __attribute__((noinline)) const uint32_t *fetch_spread(emu_wave *w, const emu_operand *o, unsigned type, uint32_t *buf,
                                                              uint64_t lanes) {
  unsigned n = vt_dwords(type);
  if (type == VT_MASK) {
    uint64_t mask = 0;
    bool partly = o->kind == EMU_O_SREG && !(w->s_init[o->reg] && w->s_init[o->reg + 1]);
    if (partly && mask_defined(w, o->reg, lanes)) mask = (uint64_t)w->s[o->reg + 1] << 32 | w->s[o->reg];
    else if (!emu_sread64(w, o, &mask)) return NULL;
    spread_mask(buf, mask);
  } else if (o->kind == EMU_O_SREG) {
    if (!emu_sreg_check(w, o->reg, n)) return NULL;
    fill(buf, w->s[o->reg]);
    if (n == 2) fill(buf + EMU_LANES, w->s[o->reg + 1]);
  } else if (o->kind == EMU_O_CONST) {
    uint64_t v = constant_bits(o, type);
    if (type == VT_PK32) v |= v << 32; /* op_sel of a constant selects the same dword twice */
    fill(buf, (uint32_t)v);
    if (n == 2) fill(buf + EMU_LANES, (uint32_t)(v >> 32));
  } else {
    uint32_t v;
    if (!emu_sread32(w, o, &v)) return NULL;
    fill(buf, v);
    if (n == 2) fill(buf + EMU_LANES, 0);
  }
  return buf;
}

/* One source without modifiers. A vector register is used in place; anything else is spread over `buf`. */
static inline const uint32_t *fetch_plain(emu_wave *w, const emu_operand *o, unsigned type, uint32_t *buf, uint64_t lanes) {
  if (o->kind != EMU_O_VREG) return fetch_spread(w, o, type, buf, lanes);
  return emu_vreg_check(w, o->reg, vt_dwords(type), lanes) ? w->v[o->reg] : NULL;
}

/* --- DPP: lane permutation of source 0 (CDNA3 ISA, "DPP_CTRL") --- */
/* Source lane of `lane`, -1 when there is none. */
static inline int dpp_source(unsigned ctrl, int lane) {
  int row = lane & ~15, k = lane & 15, n = (int)(ctrl & 15), s;
  if (ctrl < 0x100) return (lane & ~3) | (int)(ctrl >> (2 * (lane & 3)) & 3);
  switch (ctrl & 0x1f0) {
    case 0x100: s = k + n; return s < 16 ? row + s : -1;
    case 0x110: s = k - n; return s >= 0 ? row + s : -1;
    case 0x120: return row + ((k - n) & 15);
    case 0x150: return row + n;
    default: break;
  }
  switch (ctrl) {
    case 0x130: return lane < 63 ? lane + 1 : -1;
    case 0x134: return (lane + 1) & 63;
    case 0x138: return lane - 1;
    case 0x13c: return (lane - 1) & 63;
    case 0x140: return row + 15 - k;
    case 0x141: return (lane & ~7) | (7 - (lane & 7));
    case 0x142: return lane >= 16 ? row - 1 : -1;        /* row_bcast:15: last lane of the row before */
    case 0x143: return lane >= 32 ? 31 : -1;             /* row_bcast:31: to the upper half */
    default: return -1;
  }
}

typedef struct dpp_map {
  int8_t from[EMU_LANES]; /* -1: reads as 0 */
  uint64_t read;          /* lanes whose registers are read */
  uint64_t write;         /* lanes whose result is written */
} dpp_map;

/* A source lane that does not exist or is off in EXEC reads as 0 with bound_ctrl; without it the lane is not written. */
static inline void dpp_prepare(const emu_inst *in, uint64_t exec, dpp_map *m) {
  m->read = m->write = 0;
  for (int lane = 0; lane < EMU_LANES; lane++) {
    int s = dpp_source(in->dpp_ctrl, lane);
    bool valid = s >= 0 && (exec >> s & 1), on = exec >> lane & 1;
    on = on && (in->row_mask >> (lane / 16) & 1) && (in->bank_mask >> (lane % 16 / 4) & 1);
    on = on && (valid || (in->flags & EMU_F_BOUND_CTRL));
    m->from[lane] = valid ? (int8_t)s : -1;
    if (!on) continue;
    m->write |= UINT64_C(1) << lane;
    if (valid) m->read |= UINT64_C(1) << s;
  }
}

static inline void dpp_permute(uint32_t *dst, const uint32_t *src, const dpp_map *m, unsigned n) {
  for (unsigned k = 0; k < n; k++)
    for (int i = 0; i < EMU_LANES; i++)
      dst[k * EMU_LANES + i] = m->from[i] < 0 ? 0 : src[k * EMU_LANES + m->from[i]];
}

/* --- modifiers on a private copy --- */
static inline void sdwa_select(uint32_t *p, unsigned sel, bool sext) {
  if (sel >= 6) return;
  unsigned bits = sel < 4 ? 8 : 16, shift = sel < 4 ? 8 * sel : 16 * (sel - 4), up = 32 - bits;
  for (int i = 0; i < EMU_LANES; i++) {
    uint32_t v = p[i] >> shift << up;
    p[i] = sext ? (uint32_t)((int32_t)v >> up) : v >> up;
  }
}

/* The sign bit of each type, and where it lies: the dword offset of the array. */
static inline void sign_modifiers(uint32_t *p, unsigned type, bool neg, bool abs) {
  uint32_t sign = vt_half(type) ? 0x8000 : 0x80000000;
  if (vt_dwords(type) == 2) p += EMU_LANES;
  for (int i = 0; i < EMU_LANES; i++) {
    uint32_t v = abs ? p[i] & ~sign : p[i];
    p[i] = neg ? v ^ sign : v;
  }
}

/* Subnormal numbers to signed zero, as MODE says for the type's width. */
static inline void flush_f32(uint32_t *p, int n) {
  for (int i = 0; i < n; i++) p[i] = (p[i] & 0x7f800000) ? p[i] : p[i] & 0x80000000;
}
static inline void flush_f16(uint32_t *p) {
  for (int i = 0; i < EMU_LANES; i++) {
    p[i] = (p[i] & 0x7c00) ? p[i] : p[i] & ~0x3ffu;
    p[i] = (p[i] & 0x7c000000) ? p[i] : p[i] & ~0x3ff0000u;
  }
}
static inline void flush_f64(uint32_t *p) {
  for (int i = 0; i < EMU_LANES; i++) {
    bool tiny = !(p[EMU_LANES + i] & 0x7ff00000);
    p[i] = tiny ? 0 : p[i];
    p[EMU_LANES + i] = tiny ? p[EMU_LANES + i] & 0x80000000 : p[EMU_LANES + i];
  }
}
/* `allow32`, `allow64`: this direction's denormal bits of MODE. */
static inline void flush_type(uint32_t *p, unsigned type, bool allow32, bool allow64) {
  if ((type == VT_F32 || type == VT_B32 || type == VT_MIX) && !allow32) flush_f32(p, EMU_LANES);
  if (type == VT_PK32 && !allow32) flush_f32(p, LANES2);
  if ((type == VT_F16 || type == VT_H16 || type == VT_PKF) && !allow64) flush_f16(p);
  if ((type == VT_F64 || type == VT_B64) && !allow64) flush_f64(p);
}

/* Without IEEE mode min and max treat a signalling NaN like a quiet one. */
static inline void quiet_nans(uint32_t *p, unsigned type) {
  if (type == VT_B32)
    for (int i = 0; i < EMU_LANES; i++) p[i] |= nan32(p[i]) ? 0x400000 : 0;
  if (type == VT_H16)
    for (int i = 0; i < EMU_LANES; i++) p[i] |= (nan16(p[i]) ? 0x200u : 0) | (nan16(p[i] >> 16) ? 0x2000000u : 0);
  if (type == VT_B64)
    for (int i = 0; i < EMU_LANES; i++) {
      uint32_t hi = p[EMU_LANES + i] & 0x7fffffff;
      p[EMU_LANES + i] |= hi > 0x7ff00000 || (hi == 0x7ff00000 && p[i]) ? 0x80000 : 0;
    }
}

/* VOP3P half selection: the low and the high operation each pick a half (or dword), each with its own sign. */
static inline void pack_select(uint32_t *p, unsigned type, const emu_inst *in, int k) {
  bool lo_hi = in->op_sel >> k & 1, hi_hi = in->op_sel_hi >> k & 1;
  uint32_t nlo = in->neg_lo >> k & 1, nhi = in->neg_hi >> k & 1;
  for (int i = 0; i < EMU_LANES; i++) {
    if (type == VT_PK32) {
      uint32_t a = p[i], b = p[EMU_LANES + i];
      p[i] = (lo_hi ? b : a) ^ nlo << 31;
      p[EMU_LANES + i] = (hi_hi ? b : a) ^ nhi << 31;
    } else {
      uint32_t lo = lo_hi ? p[i] >> 16 : p[i] & 0xffff, hi = hi_hi ? p[i] >> 16 : p[i] & 0xffff;
      p[i] = (lo ^ nlo << 15) | (hi ^ nhi << 15) << 16;
    }
  }
}

static inline void mix_select(uint32_t *p, const emu_inst *in, int k) {
  bool half = (in->flags & EMU_F_OP_SEL_HI) && (in->op_sel_hi >> k & 1);
  unsigned shift = in->op_sel >> k & 1 ? 16 : 0;
  for (int i = 0; half && i < EMU_LANES; i++) p[i] = f16_to_f32_bits(p[i] >> shift & 0xffff);
}

/* Source k with everything the instruction says about it, in buf. */
static inline const uint32_t *fetch_any(emu_wave *w, const emu_inst *in, const emu_operand *o, int k, const emu_valu_op *op,
                                        uint32_t *buf, uint64_t exec, const dpp_map *dpp) {
  unsigned type = op->src[k], n = vt_dwords(type);
  bool permuted = dpp && k == 0;
  uint32_t tmp[LANES2] __attribute__((aligned(64)));
  emu_operand as = *o;
  if (type == VT_MIX && o->is_float && (in->flags & EMU_F_OP_SEL_HI) && (in->op_sel_hi >> k & 1))
    as.value = constant_bits(o, VT_F16) * 0x10001u;
  if (permuted && o->kind != EMU_O_VREG) permuted = false;
  /* A packed fp32 operand whose halves both select one dword does not read the other. */
  bool same = type == VT_PK32 && o->kind != EMU_O_CONST && (in->op_sel >> k & 1) == (in->op_sel_hi >> k & 1);
  if (same) as.reg = (uint16_t)(o->reg + (in->op_sel >> k & 1));
  const uint32_t *p = fetch_plain(w, &as, same ? VT_U32 : type, tmp, permuted ? dpp->read : dpp ? dpp->write : exec);
  if (!p) return NULL;
  if (same) {
    if (p != tmp) memcpy(tmp, p, EMU_LANES * 4);
    memcpy(tmp + EMU_LANES, tmp, EMU_LANES * 4);
    p = tmp;
  }
  if (type == VT_MASK) {
    memcpy(buf, p, EMU_LANES * 4);
    return buf;
  }
  if (permuted) dpp_permute(buf, p, dpp, n);
  else memcpy(buf, p, n * EMU_LANES * 4);
  if (in->flags & EMU_F_SDWA && k < 2) sdwa_select(buf, k == 0 ? in->sdwa_src0 : in->sdwa_src1, o->sext);
  if ((op->flags & VF_PACKED) && (type == VT_PK || type == VT_PKF || type == VT_PK32)) pack_select(buf, type, in, k);
  else if (op->flags & VF_PACKED && type == VT_F32) sign_modifiers(buf, type, in->neg_lo >> k & 1, false);
  if (type == VT_MIX) mix_select(buf, in, k);
  if (vt_half(type) && in->op_sel >> k & 1)
    for (int i = 0; i < EMU_LANES; i++) buf[i] >>= 16;
  if (o->neg || o->abs) sign_modifiers(buf, type, o->neg, o->abs);
  if (!(op->flags & VF_RAW_SRC)) flush_type(buf, type, w->mode & 0x10, w->mode & 0x40);
  if ((op->flags & VF_MINMAX) && !(w->mode & EMU_MODE_IEEE)) quiet_nans(buf, type);
  return buf;
}
