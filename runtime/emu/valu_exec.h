/* Executors of the vector ALU: fetch, call the lane loop, write under EXEC. exec_fast takes what compilers emit nearly
 * always (plain operands, denormals on); exec_any takes every modifier. */
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <fenv.h>

#include "emu/valu_fetch.h"

/* Result of a lane loop: up to two dwords a lane, then the lane mask of VF_MASK2 or VF_VCC_SRC. */
enum { OUT_DWORDS = 3 * EMU_LANES };

/* Lanes whose dword is not 0; the lane loops store 0 or ~0. */
static inline uint64_t gather_mask(const uint32_t *p) {
  uint64_t m = 0;
#if defined(__AVX512DQ__)
  for (int i = 0; i < 4; i++) m |= (uint64_t)_mm512_movepi32_mask(_mm512_loadu_si512(p + 16 * i)) << (16 * i);
#elif defined(__AVX__)
  for (int i = 0; i < 8; i++) m |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)p + 8 * i)) << (8 * i);
#elif defined(__SSE2__)
  for (int i = 0; i < 16; i++) m |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_loadu_ps((const float *)p + 4 * i)) << (4 * i);
#else
  for (int i = 0; i < EMU_LANES; i++) m |= (uint64_t)(p[i] >> 31) << i;
#endif
  return m;
}

static inline void store_lanes(uint32_t *dst, const uint32_t *src, uint64_t lanes) {
  if (lanes == ~UINT64_C(0)) {
    memcpy(dst, src, EMU_LANES * 4);
    return;
  }
#if defined(__AVX512F__)
  for (int i = 0; i < 4; i++)
    _mm512_mask_storeu_epi32(dst + 16 * i, (__mmask16)(lanes >> (16 * i)), _mm512_loadu_si512(src + 16 * i));
#else
  uint32_t on[EMU_LANES];
  spread_mask(on, lanes);
  for (int i = 0; i < EMU_LANES; i++) dst[i] = (src[i] & on[i]) | (dst[i] & ~on[i]);
#endif
}

/* --- NaN results: the first NaN operand, quieted, else the default quiet NaN (positive; x86's is negative) --- */
/* Is any of n dwords, masked, above `bound`? */
static inline bool any_above(const uint32_t *p, int n, uint32_t mask, uint32_t bound) {
#if defined(__AVX512F__)
  const __m512i m = _mm512_set1_epi32((int)mask), b = _mm512_set1_epi32((int)bound);
  __mmask16 bad = 0;
  for (int i = 0; i < n; i += 16) bad |= _mm512_cmpgt_epu32_mask(_mm512_and_si512(_mm512_loadu_si512(p + i), m), b);
  return bad != 0;
#else
  int32_t bad = 0; /* masked values are below 2^31: a signed comparison will do */
  for (int i = 0; i < n; i++) bad |= (int32_t)(p[i] & mask) > (int32_t)bound;
  return bad != 0;
#endif
}

static inline bool any_nan(const uint32_t *out, unsigned type) {
  switch (type) {
    case VT_F32: return any_above(out, EMU_LANES, 0x7fffffff, 0x7f800000);
    case VT_PK32: return any_above(out, LANES2, 0x7fffffff, 0x7f800000);
    case VT_F16: return any_above(out, EMU_LANES, 0x7fff, 0x7c00);
    case VT_PKF: return any_above(out, EMU_LANES, 0x7fff, 0x7c00) || any_above(out, EMU_LANES, 0x7fff0000, 0x7c00ffff);
    case VT_F64: return any_above(out + EMU_LANES, EMU_LANES, 0x7fffffff, 0x7fefffff); /* infinities too: repair looks closer */
    default: return false;
  }
}

static void repair32(uint32_t *out, int lane, const emu_valu_op *op, unsigned type, const uint32_t *const p[3]) {
  uint32_t r = 0x7fc00000;
  if (!nan32(out[lane])) return;
  for (int k = 2; k >= 0; k--)
    if (p[k] && (op->src[k] == type || op->src[k] == VT_MIX) && nan32(p[k][lane])) r = p[k][lane] | 0x400000;
  out[lane] = r;
}

static void repair16(uint32_t *out, int lane, unsigned shift, const emu_valu_op *op, unsigned type, const uint32_t *const p[3]) {
  uint32_t r = 0x7e00;
  if (!nan16(out[lane] >> shift & 0xffff)) return;
  for (int k = 2; k >= 0; k--)
    if (p[k] && op->src[k] == type && nan16(p[k][lane] >> shift & 0xffff)) r = (p[k][lane] >> shift & 0xffff) | 0x200;
  out[lane] = (out[lane] & ~(0xffffu << shift)) | r << shift;
}

static inline uint64_t pair_at(const uint32_t *p, int lane) { return (uint64_t)p[EMU_LANES + lane] << 32 | p[lane]; }

static void repair64(uint32_t *out, int lane, const emu_valu_op *op, const uint32_t *const p[3]) {
  const uint64_t inf = UINT64_C(0x7ff) << 52, quiet = UINT64_C(1) << 51;
  uint64_t r = inf | quiet;
  if ((pair_at(out, lane) & INT64_MAX) <= inf) return;
  for (int k = 2; k >= 0; k--)
    if (p[k] && op->src[k] == VT_F64 && (pair_at(p[k], lane) & INT64_MAX) > inf) r = pair_at(p[k], lane) | quiet;
  out[lane] = (uint32_t)r;
  out[EMU_LANES + lane] = (uint32_t)(r >> 32);
}

/* Conversions carry their NaN themselves: the rule needs a source of the result's type. */
static void __attribute__((noinline)) repair_nans(uint32_t *out, const emu_valu_op *op, const uint32_t *const p[3]) {
  unsigned t = op->dst;
  if (op->src[0] != t && op->src[0] != VT_MIX && !(op->flags & VF_PACKED)) return;
  if (op->src[0] == VT_MIX && t == VT_F16) return;
  for (int lane = 0; lane < EMU_LANES; lane++) {
    if (t == VT_F32 || t == VT_PK32) repair32(out, lane, op, t, p);
    if (t == VT_F16 || t == VT_PKF) repair16(out, lane, 0, op, t, p);
    if (t == VT_PKF) repair16(out, lane, 16, op, t, p);
    if (t == VT_F64) repair64(out, lane, op, p);
  }
  if (t != VT_PK32) return;
  const uint32_t *hi[3];
  for (int k = 0; k < 3; k++) hi[k] = p[k] ? p[k] + EMU_LANES : NULL;
  for (int lane = 0; lane < EMU_LANES; lane++) repair32(out + EMU_LANES, lane, op, t, hi);
}

/* --- results --- */
static bool write_mask(emu_wave *w, const emu_inst *in, const emu_valu_op *op, uint64_t mask) {
  const emu_operand *o = &in->dst[op->dst == VT_MASK ? 0 : 1];
  if (o->kind != EMU_O_SREG || o->reg + 1 >= EMU_SREGS) return emu_fault(w, -1, "lane-mask destination that is no SGPR pair");
  if (!emu_sreg_write(w, o->reg, (uint32_t)mask) || !emu_sreg_write(w, o->reg + 1u, (uint32_t)(mask >> 32))) return false;
  if (op->flags & VF_CMPX) {
    w->s[EMU_EXEC] = (uint32_t)mask;
    w->s[EMU_EXEC + 1] = (uint32_t)(mask >> 32);
  }
  return true;
}

/* EXEC is 0: nothing is read and no vector register written, but a lane mask still becomes 0. */
static bool no_lanes(emu_wave *w, const emu_inst *in, const emu_valu_op *op) {
  return op->dst == VT_MASK || (op->flags & VF_MASK2) ? write_mask(w, in, op, 0) : true;
}

static inline bool finish(emu_wave *w, const emu_inst *in, const emu_valu_op *op, const uint32_t *out, uint64_t lanes) {
  if (op->dst == VT_MASK) return write_mask(w, in, op, gather_mask(out) & lanes);
  unsigned n = vt_dwords(op->dst), reg = in->dst[0].reg;
  if (!emu_vreg_written(w, reg, n, lanes)) return false;
  store_lanes(w->v[reg], out, lanes);
  if (n == 2) store_lanes(w->v[reg + 1], out + EMU_LANES, lanes);
  return op->flags & VF_MASK2 ? write_mask(w, in, op, gather_mask(out + n * EMU_LANES) & lanes) : true;
}

static inline bool nan_rule(const emu_valu_op *op) { return !(op->flags & (VF_RAW_SRC | VF_MINMAX)); }

static bool exec_any(emu_wave *w, const emu_inst *in);

static bool exec_fast(emu_wave *w, const emu_inst *in) {
  const emu_valu_op *op = in->aux;
  uint64_t exec = emu_exec_mask(w);
  uint32_t buf[3][LANES2] __attribute__((aligned(64))), out[OUT_DWORDS] __attribute__((aligned(64)));
  const uint32_t *p[3] = {NULL, NULL, NULL};
  if ((w->mode & (EMU_MODE_DENORM32 | EMU_MODE_DENORM16_64 | EMU_MODE_IEEE | EMU_MODE_ROUND | EMU_MODE_FP16_OVFL)) !=
      (EMU_MODE_DENORM32 | EMU_MODE_DENORM16_64 | EMU_MODE_IEEE))
    return exec_any(w, in);
  if (exec == 0) return no_lanes(w, in, op);
  for (int k = 0; k < op->n_src; k++)
    if (!(p[k] = fetch_plain(w, &in->src[k], op->src[k], buf[k], exec))) return false;
  if (op->flags & VF_READS_DST && !(p[2] = fetch_plain(w, &in->dst[0], op->src[2], buf[2], exec))) return false;
  op->fn(out, p[0], p[1], p[2]);
  if (nan_rule(op) && any_nan(out, op->dst)) repair_nans(out, op, p);
  return finish(w, in, op, out, exec);
}

/* A dword operand without faulting: its bits, and per lane which of them are defined. */
typedef struct moved {
  uint32_t v[EMU_LANES], def[EMU_LANES];
  uint64_t undefined; /* lanes with a bit that is not */
} moved;

static bool take(emu_wave *w, const emu_operand *o, unsigned dword, uint64_t lanes, moved *m) {
  unsigned reg = o->reg + dword;
  m->undefined = 0;
  if (o->kind == EMU_O_VREG) {
    if (!emu_vreg_check(w, reg, 1, 0)) return false;
    memcpy(m->v, w->v[reg], sizeof m->v);
    m->undefined = lanes & ~w->v_init[reg];
    for (unsigned l = 0; l < EMU_LANES && m->undefined; l++) m->def[l] = emu_vreg_def(w, reg, l);
  } else {
    fill(m->v, w->s[reg]);
    fill(m->def, emu_sreg_def(w, reg));
    m->undefined = w->s_init[reg] ? 0 : lanes;
  }
  return true;
}

static bool give(emu_wave *w, unsigned reg, uint64_t lanes, const moved *m) {
  if (!emu_vreg_written(w, reg, 1, lanes)) return false;
  store_lanes(w->v[reg], m->v, lanes);
  return emu_vreg_undefine(w, reg, m->undefined & lanes, m->def);
}

static bool unwritten_scalar(const emu_wave *w, const emu_operand *o, unsigned n) {
  return o->kind == EMU_O_SREG && (!w->s_init[o->reg] || (n == 2 && !w->s_init[o->reg + 1]));
}

/* Moves between registers carry undefined bits along: what looks at them faults. */
static bool exec_move(emu_wave *w, const emu_inst *in) {
  const emu_valu_op *op = in->aux;
  const emu_operand *s = &in->src[0];
  unsigned n = vt_dwords(op->dst), dst = in->dst[0].reg;
  uint64_t exec = emu_exec_mask(w);
  moved m[2]; /* both read first: the pairs may overlap */
  if (s->kind != EMU_O_VREG && !unwritten_scalar(w, s, n)) return exec_fast(w, in);
  if (!emu_vreg_written(w, dst, n, 0)) return false;
  for (unsigned k = 0; k < n; k++)
    if (!take(w, s, k, exec, &m[k])) return false;
  for (unsigned k = 0; k < n; k++)
    if (!give(w, dst + k, exec, &m[k])) return false;
  return true;
}

/* A selection looks at one operand a lane; what it picks may be undefined, as with a move. */
static bool exec_select(emu_wave *w, const emu_inst *in) {
  const emu_valu_op *op = in->aux;
  uint64_t exec = emu_exec_mask(w), undefined = 0;
  uint32_t buf[3][LANES2] __attribute__((aligned(64))), out[EMU_LANES] __attribute__((aligned(64))), def[EMU_LANES];
  const uint32_t *p[3];
  unsigned dst = in->dst[0].reg;
  if (exec == 0) return true;
  if (!(p[2] = fetch_plain(w, &in->src[2], VT_MASK, buf[2], exec))) return false;
  uint64_t second = gather_mask(p[2]);
  for (int k = 0; k < 2; k++) {
    const emu_operand *o = &in->src[k];
    uint64_t picked = exec & (k ? second : ~second), missing = 0;
    moved m;
    if (o->kind == EMU_O_VREG || unwritten_scalar(w, o, 1)) {
      if (!take(w, o, 0, picked, &m)) return false;
      missing = m.undefined;
      memcpy(buf[k], m.v, sizeof m.v);
      p[k] = buf[k];
    } else if (!(p[k] = fetch_plain(w, o, VT_U32, buf[k], exec))) {
      return false;
    }
    for (int l = 0; l < EMU_LANES && missing; l++)
      if (missing >> l & 1) def[l] = m.def[l];
    undefined |= missing;
  }
  op->fn(out, p[0], p[1], p[2]);
  if (!emu_vreg_written(w, dst, 1, exec)) return false;
  store_lanes(w->v[dst], out, exec);
  return emu_vreg_undefine(w, dst, undefined, def);
}

/* 32x32+64 multiply-add as compilers use it within a 64x64 product: the addend's high dword may never have been written,
 * because they look at the low dword of the result only. Such lanes' high result dword stays unwritten. (They do not look at
 * the carry either; a scalar cannot be half unwritten.) */
static bool exec_addend_hi(emu_wave *w, const emu_inst *in) {
  const emu_operand *z = &in->src[2];
  if (z->kind != EMU_O_VREG) return exec_fast(w, in);
  unsigned hi = z->reg + 1u, result_hi = in->dst[0].reg + 1u;
  uint64_t unwritten = emu_exec_mask(w) & ~w->v_init[hi];
  w->v_init[hi] |= unwritten;
  bool ok = exec_fast(w, in);
  w->v_init[hi] &= ~unwritten;
  return ok && emu_vreg_undefine(w, result_hi, unwritten, NULL);
}

/* Two dwords at once, where compilers look at one: the operands of the other may never have been written. In such lanes that half
 * of the result stays unwritten. Lanes of which both halves would be are a mistake. */
static bool exec_halves(emu_wave *w, const emu_inst *in) {
  const emu_valu_op *op = in->aux;
  const unsigned dst = in->dst[0].reg;
  uint64_t unwritten[2] = {0, 0}, held[3][2];
  for (int k = 0; k < op->n_src; k++)
    for (unsigned half = 0; half < 2 && in->src[k].kind == EMU_O_VREG; half++)
      unwritten[half] |= ~w->v_init[in->src[k].reg + half];
  const uint64_t lanes = emu_exec_mask(w) & (unwritten[0] ^ unwritten[1]);
  if (!lanes) return exec_fast(w, in);
  for (int k = 0; k < op->n_src; k++)
    for (unsigned half = 0; half < 2 && in->src[k].kind == EMU_O_VREG; half++) {
      uint64_t *written = &w->v_init[in->src[k].reg + half];
      held[k][half] = *written;
      *written |= lanes & unwritten[half];
    }
  const bool ok = exec_fast(w, in);
  for (int k = op->n_src - 1; k >= 0; k--) /* two operands may be one register */
    for (unsigned half = 0; half < 2 && in->src[k].kind == EMU_O_VREG; half++) {
      const unsigned reg = in->src[k].reg + half;
      if (reg != dst && reg != dst + 1) w->v_init[reg] = held[k][half];
    }
  return ok && emu_vreg_undefine(w, dst, lanes & unwritten[0], NULL) &&
         emu_vreg_undefine(w, dst + 1, lanes & unwritten[1], NULL);
}

/* A pair that is shifted may be undefined in part: its undefined bits move along or fall out, as where an unoptimised program
 * takes the upper half of a product whose lower half it never made. */
static bool exec_shift64(emu_wave *w, const emu_inst *in) {
  const emu_operand *s = &in->src[1];
  uint64_t exec = emu_exec_mask(w);
  uint32_t buf[LANES2] __attribute__((aligned(64)));
  bool left = strncmp(in->mnemonic, "v_lshl", 6) == 0, arithmetic = in->mnemonic[2] == 'a';
  moved m[2];
  if (s->kind != EMU_O_VREG || !(exec & ~(w->v_init[s->reg] & w->v_init[s->reg + 1]))) return exec_fast(w, in);
  const uint32_t *count = fetch_plain(w, &in->src[0], VT_U32, buf, exec);
  if (!count || !take(w, s, 0, exec, &m[0]) || !take(w, s, 1, exec, &m[1])) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    if (!(exec >> l & 1)) continue;
    uint32_t lo = m[0].undefined >> l & 1 ? m[0].def[l] : ~0u, hi = m[1].undefined >> l & 1 ? m[1].def[l] : ~0u,
             n = count[l] & 63;
    uint64_t v = (uint64_t)m[1].v[l] << 32 | m[0].v[l], def = (uint64_t)hi << 32 | lo, all = ~UINT64_C(0);
    uint64_t r = left ? v << n : arithmetic ? (uint64_t)((int64_t)v >> n) : v >> n;
    uint64_t d = left ? def << n | ~(all << n) : arithmetic ? (uint64_t)((int64_t)def >> n) : def >> n | ~(all >> n);
    for (int k = 0; k < 2; k++) {
      m[k].v[l] = (uint32_t)(r >> 32 * k);
      m[k].def[l] = (uint32_t)(d >> 32 * k);
      m[k].undefined = (m[k].undefined & ~(UINT64_C(1) << l)) | (uint64_t)(m[k].def[l] != ~0u) << l;
    }
  }
  return give(w, in->dst[0].reg, exec, &m[0]) && give(w, in->dst[0].reg + 1u, exec, &m[1]);
}

/* Plain operands of the functions that flush f32 denormals themselves (exp, log, rcp, rsq, sqrt). */
static bool exec_flush(emu_wave *w, const emu_inst *in) {
  const emu_valu_op *op = in->aux;
  uint64_t exec = emu_exec_mask(w);
  uint32_t buf[LANES2] __attribute__((aligned(64))), out[OUT_DWORDS] __attribute__((aligned(64)));
  const uint32_t *p[3] = {NULL, NULL, NULL};
  if (exec == 0) return no_lanes(w, in, op);
  if (!(p[0] = fetch_plain(w, &in->src[0], op->src[0], buf, exec))) return false;
  if (p[0] != buf) memcpy(buf, p[0], EMU_LANES * 4);
  p[0] = buf;
  flush_f32(buf, EMU_LANES);
  op->fn(out, buf, NULL, NULL);
  if (any_nan(out, op->dst)) repair_nans(out, op, p);
  flush_f32(out, EMU_LANES);
  return finish(w, in, op, out, exec);
}

/* --- output modifiers --- */
static float clamp01(float x, bool dx10) { return x != x ? (dx10 ? 0.0f : x) : x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
static double clamp01_d(double x, bool dx10) { return x != x ? (dx10 ? 0.0 : x) : x > 0.0 ? x < 1.0 ? x : 1.0 : 0.0; }

static void clamp_lanes(uint32_t *out, unsigned type, bool dx10) {
  for (int i = 0; i < EMU_LANES; i++) {
    if (type == VT_F32 || type == VT_PK32) out[i] = asu(clamp01(asf(out[i]), dx10));
    if (type == VT_PK32) out[EMU_LANES + i] = asu(clamp01(asf(out[EMU_LANES + i]), dx10));
    if (type == VT_F16 || type == VT_H16) out[i] = f32_to_f16(clamp01(f16_to_f32(out[i] & 0xffff), dx10));
    if (type == VT_PKF)
      out[i] = f32_to_f16(clamp01(f16_to_f32(out[i] & 0xffff), dx10)) | f32_to_f16(clamp01(f16_to_f32(out[i] >> 16), dx10)) << 16;
    if (type == VT_F64) {
      uint64_t r = asq(clamp01_d(asd(pair_at(out, i)), dx10));
      out[i] = (uint32_t)r;
      out[EMU_LANES + i] = (uint32_t)(r >> 32);
    }
  }
}

/* The hardware ignores omod where denormal results are on. A kernel that carries one then does not do what it says. */
static bool scale_lanes(emu_wave *w, const emu_inst *in, uint32_t *out, unsigned type) {
  static const float factor[] = {1.0f, 2.0f, 4.0f, 0.5f};
  if (type != VT_F32 && type != VT_F16) return emu_fault(w, -1, "output modifier on a type that is not emulated");
  if (w->mode & (type == VT_F32 ? 0x20 : 0x80) || w->mode & EMU_MODE_IEEE)
    return emu_fault(w, -1, "output modifier with denormal results or IEEE mode on: the hardware ignores it");
  for (int i = 0; i < EMU_LANES; i++)
    out[i] = type == VT_F32 ? asu(asf(out[i]) * factor[in->omod]) : f32_to_f16(f16_to_f32(out[i] & 0xffff) * factor[in->omod]);
  return true;
}

/* Places a result that is narrower than its register: op_sel's half, SDWA's byte or word, and what the rest becomes. */
static void place_result(uint32_t *out, const emu_inst *in, const emu_valu_op *op, const uint32_t *old) {
  bool high = (op->flags & VF_HIGH_HALF) || (vt_half(op->dst) && in->op_sel & 8);
  bool keep = (op->flags & VF_KEEP_HI) || high;
  if (in->flags & EMU_F_SDWA && in->sdwa_dst < 6) {
    unsigned bits = in->sdwa_dst < 4 ? 8 : 16, shift = in->sdwa_dst < 4 ? 8u * in->sdwa_dst : 16u * (in->sdwa_dst - 4u);
    uint32_t mask = low_mask(bits) << shift;
    for (int i = 0; i < EMU_LANES; i++) {
      uint32_t v = out[i] << shift & mask;
      if (in->sdwa_unused == 1) v = (uint32_t)((int32_t)(out[i] << (32 - bits)) >> (32 - bits)) << shift;
      if (in->sdwa_unused == 2) v |= old[i] & ~mask;
      out[i] = v;
    }
    return;
  }
  if (!vt_half(op->dst) || !keep) return;
  for (int i = 0; i < EMU_LANES; i++)
    out[i] = high ? (out[i] & 0xffff) << 16 | (old[i] & 0xffff) : (out[i] & 0xffff) | (old[i] & 0xffff0000);
}

/* Does the result depend on what the destination held? Then those lanes must have been written. Instructions that keep a
 * half are let off: compilers use them on fresh registers and never look at the other half. */
static bool keeps_old(const emu_inst *in) {
  return in->flags & EMU_F_SDWA && in->sdwa_dst < 6 && in->sdwa_unused == 2;
}

/* The lane loop under MODE's rounding. f16 loops round themselves; for the rest the host does. */
static void __attribute__((noinline)) round_as_told(const emu_wave *w, const emu_valu_op *op, uint32_t *out,
                                                    const uint32_t *const p[3]) {
  static const int host[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  bool half = op->dst == VT_F16 || op->dst == VT_PKF;
  unsigned round = w->mode >> (op->dst == VT_F64 || half ? 2 : 0) & 3;
  half_mode.round = round;
  half_mode.ovfl = w->mode & EMU_MODE_FP16_OVFL;
  if (round && op->fn_round && !half) fesetround(host[round]);
  (op->fn_round ? op->fn_round : op->fn)(out, p[0], p[1], p[2]);
  if (round && op->fn_round && !half) fesetround(FE_TONEAREST);
  half_mode.round = 0;
  half_mode.ovfl = false;
}

static bool exec_any(emu_wave *w, const emu_inst *in) {
  const emu_valu_op *op = in->aux;
  uint64_t exec = emu_exec_mask(w), lanes = exec;
  uint32_t buf[3][LANES2] __attribute__((aligned(64))), out[OUT_DWORDS] __attribute__((aligned(64)));
  const uint32_t *p[3] = {NULL, NULL, NULL};
  dpp_map map, *dpp = NULL;
  if (exec == 0) return no_lanes(w, in, op);
  if (in->flags & EMU_F_DPP) {
    dpp_prepare(in, exec, &map);
    dpp = &map;
    lanes = map.write;
  }
  for (int k = 0; k < op->n_src; k++)
    if (!(p[k] = fetch_any(w, in, &in->src[k], k, op, buf[k], exec, dpp))) return false;
  if (op->flags & VF_READS_DST && !(p[2] = fetch_any(w, in, &in->dst[0], 2, op, buf[2], exec, dpp))) return false;
  if (op->flags & VF_VCC_SRC) {
    if (!emu_sreg_check(w, EMU_VCC, 2)) return false;
    spread_mask(out + LANES2, (uint64_t)w->s[EMU_VCC + 1] << 32 | w->s[EMU_VCC]);
  }
  if (op->flags & VF_FLUSH) flush_f32(buf[0], EMU_LANES);
  bool clamp = in->flags & EMU_F_CLAMP;
  if (clamp && op->fn_clamp) op->fn_clamp(out, p[0], p[1], p[2]);
  else if (w->mode & (EMU_MODE_ROUND | EMU_MODE_FP16_OVFL)) round_as_told(w, op, out, p);
  else op->fn(out, p[0], p[1], p[2]);
  if (nan_rule(op) && any_nan(out, op->dst)) repair_nans(out, op, p);
  if (op->flags & VF_FLUSH) flush_f32(out, EMU_LANES);
  else if (!(op->flags & VF_RAW_SRC)) flush_type(out, op->dst, w->mode & 0x20, w->mode & 0x80);
  if (in->omod && !scale_lanes(w, in, out, op->dst)) return false;
  if (clamp && !op->fn_clamp) clamp_lanes(out, op->dst, w->mode & EMU_MODE_DX10_CLAMP);
  if (op->dst != VT_MASK) {
    if (keeps_old(in) && !(op->flags & VF_BYTE_DST) && !emu_vreg_check(w, in->dst[0].reg, 1, lanes)) return false;
    place_result(out, in, op, w->v[in->dst[0].reg]);
  }
  return finish(w, in, op, out, lanes);
}

/* --- instructions that move between lanes and scalars --- */
static bool lane_operand(emu_wave *w, const emu_operand *o, unsigned *lane) {
  uint32_t v;
  if (!emu_sread32(w, o, &v)) return false;
  *lane = v & 63;
  return true;
}

static bool lane_to_scalar(emu_wave *w, unsigned dst, unsigned reg, unsigned lane) {
  uint32_t def = emu_vreg_def(w, reg, lane);
  if (!emu_sreg_write(w, dst, w->v[reg][lane])) return false;
  emu_sreg_set_def(w, dst, def);
  return true;
}

/* A register that was saved lane by lane (v_writelane) comes back as it went, undefined if it was: its use faults. */
static bool v_readlane(emu_wave *w, const emu_inst *in) {
  unsigned lane, reg = in->src[0].reg;
  if (in->src[0].kind != EMU_O_VREG) return emu_fault(w, -1, "readlane of an operand that is no vector register");
  if (!lane_operand(w, &in->src[1], &lane) || !emu_vreg_check(w, reg, 1, 0)) return false;
  return lane_to_scalar(w, in->dst[0].reg, reg, lane);
}

/* The first active lane, or lane 0 when there is none. */
static bool v_readfirstlane(emu_wave *w, const emu_inst *in) {
  uint64_t exec = emu_exec_mask(w);
  unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0, reg = in->src[0].reg;
  if (in->src[0].kind != EMU_O_VREG) return emu_fault(w, -1, "readfirstlane of an operand that is no vector register");
  return emu_vreg_check(w, reg, 1, 0) && lane_to_scalar(w, in->dst[0].reg, reg, lane);
}

static bool v_writelane(emu_wave *w, const emu_inst *in) {
  unsigned lane, reg = in->dst[0].reg;
  const emu_operand *s = &in->src[0];
  uint32_t v, def[EMU_LANES];
  bool undefined = unwritten_scalar(w, s, 1);
  if (undefined) v = w->s[s->reg];
  else if (!emu_sread32(w, s, &v)) return false;
  if (!lane_operand(w, &in->src[1], &lane)) return false;
  uint64_t bit = UINT64_C(1) << lane;
  if (!emu_vreg_written(w, reg, 1, bit)) return false;
  w->v[reg][lane] = v;
  if (!undefined) return true;
  def[lane] = emu_sreg_def(w, s->reg);
  return emu_vreg_undefine(w, reg, bit, def);
}

static bool v_swap(emu_wave *w, const emu_inst *in) {
  uint64_t exec = emu_exec_mask(w);
  unsigned a = in->dst[0].reg, b = in->src[0].reg;
  uint32_t t[EMU_LANES];
  if (exec == 0) return true;
  if (!emu_vreg_check(w, a, 1, exec) || !emu_vreg_check(w, b, 1, exec)) return false;
  memcpy(t, w->v[a], sizeof t);
  store_lanes(w->v[a], w->v[b], exec);
  store_lanes(w->v[b], t, exec);
  return true;
}

/* gfx950: row (of 16) or half (of 32 lanes) 2i + 1 of the destination changes places with 2i of the source. A pair of lanes of
 * which one is off is no exchange that anything defines: bound_ctrl and fi say what is read then, which nobody emulates. */
static bool permlane_swap(emu_wave *w, const emu_inst *in, unsigned width) {
  uint64_t exec = emu_exec_mask(w);
  unsigned a = in->dst[0].reg, b = in->src[0].reg;
  if (in->src[0].kind != EMU_O_VREG) return emu_fault(w, -1, "v_permlane*_swap of an operand that is no vector register");
  if (!emu_vreg_check(w, a, 1, exec) || !emu_vreg_check(w, b, 1, exec)) return false;
  uint64_t low = width == 32 ? UINT64_C(0xffffffff) : UINT64_C(0x0000ffff0000ffff), lone = (exec ^ exec >> width) & low;
  if (lone) return emu_fault(w, __builtin_ctzll(lone), "v_permlane*_swap with one of lanes %d and %d off", __builtin_ctzll(lone),
                             __builtin_ctzll(lone) + (int)width);
  for (unsigned lane = 0; lane + width < EMU_LANES; lane++) {
    if (!((exec & low) >> lane & 1)) continue;
    uint32_t t = w->v[b][lane];
    w->v[b][lane] = w->v[a][lane + width];
    w->v[a][lane + width] = t;
  }
  return emu_vreg_written(w, a, 1, exec) && emu_vreg_written(w, b, 1, exec);
}
static bool v_permlane16_swap(emu_wave *w, const emu_inst *in) { return permlane_swap(w, in, 16); }
static bool v_permlane32_swap(emu_wave *w, const emu_inst *in) { return permlane_swap(w, in, 32); }

/* Each result dword from either source, as op_sel says: bit 0 picks src0's dword for the low half, bit 1 src1's for the high. The
 * other dwords are not looked at, and what is picked may be undefined, as with a move. */
static bool v_pk_mov(emu_wave *w, const emu_inst *in) {
  uint64_t exec = emu_exec_mask(w);
  uint32_t buf[LANES2] __attribute__((aligned(64)));
  moved m[2];
  if (exec == 0) return true;
  for (unsigned k = 0; k < 2; k++) {
    const emu_operand *o = &in->src[k];
    unsigned dword = in->op_sel >> k & 1;
    if (o->kind == EMU_O_VREG || o->kind == EMU_O_SREG) {
      if ((o->kind == EMU_O_SREG && w->s_init[o->reg + dword] && !emu_sreg_check(w, o->reg + dword, 1)) ||
          !take(w, o, dword, exec, &m[k])) return false;
      continue;
    }
    if (!fetch_plain(w, o, VT_PK32, buf, exec)) return false;
    memcpy(m[k].v, buf + (dword ? EMU_LANES : 0), sizeof m[k].v);
    m[k].undefined = 0;
  }
  for (unsigned k = 0; k < 2; k++)
    if (!give(w, in->dst[0].reg + k, exec, &m[k])) return false;
  return true;
}

/* Four sums of absolute differences over windows of a register pair, on four accumulators. */
static bool v_mqsad_u32(emu_wave *w, const emu_inst *in) {
  uint64_t exec = emu_exec_mask(w);
  uint32_t buf[2][LANES2] __attribute__((aligned(64))), out[4][EMU_LANES];
  const emu_operand *acc = &in->src[2];
  if (in->dst[0].kind != EMU_O_VREG || in->dst[0].count != 4 || acc->kind != EMU_O_VREG || acc->count != 4)
    return emu_fault(w, -1, "v_mqsad_u32_u8 takes four registers as accumulator and result");
  if (exec == 0) return true;
  const uint32_t *a = fetch_plain(w, &in->src[0], VT_U64, buf[0], exec), *b = fetch_plain(w, &in->src[1], VT_U32, buf[1], exec);
  if (!a || !b || !emu_vreg_check(w, acc->reg, 4, exec)) return false;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < EMU_LANES; i++)
      out[k][i] = msad_u8((uint32_t)(pair_at(a, i) >> (8 * k)), b[i]) + w->v[acc->reg + k][i];
  if (!emu_vreg_written(w, in->dst[0].reg, 4, exec)) return false;
  for (int k = 0; k < 4; k++) store_lanes(w->v[in->dst[0].reg + k], out[k], exec);
  return true;
}

/* Any function of three bits (gfx950): bit 4x + 2y + z of the modifier, which the parser leaves in `offset`. Bits outside `mask`
 * stay. */
static bool bitop3(emu_wave *w, const emu_inst *in, uint32_t mask) {
  uint64_t exec = emu_exec_mask(w);
  uint32_t buf[3][LANES2] __attribute__((aligned(64))), out[EMU_LANES] = {0};
  const uint32_t *p[3];
  unsigned reg = in->dst[0].reg;
  if (in->op_sel) return emu_fault(w, -1, "op_sel of v_bitop3_b16 is not implemented");
  if (exec == 0) return true;
  for (int k = 0; k < 3; k++)
    if (!(p[k] = fetch_plain(w, &in->src[k], VT_U32, buf[k], exec))) return false;
  for (int t = 0; t < 8; t++)
    for (int i = 0; i < EMU_LANES && in->offset >> t & 1; i++)
      out[i] |= (t & 4 ? p[0][i] : ~p[0][i]) & (t & 2 ? p[1][i] : ~p[1][i]) & (t & 1 ? p[2][i] : ~p[2][i]);
  for (int i = 0; i < EMU_LANES; i++) out[i] = (out[i] & mask) | (w->v[reg][i] & ~mask);
  if (!emu_vreg_written(w, reg, 1, exec)) return false;
  store_lanes(w->v[reg], out, exec);
  return true;
}
static bool v_bitop3_b32(emu_wave *w, const emu_inst *in) { return bitop3(w, in, ~0u); }
static bool v_bitop3_b16(emu_wave *w, const emu_inst *in) { return bitop3(w, in, 0xffff); }

static bool v_nothing(emu_wave *w, const emu_inst *in) { return true; }
