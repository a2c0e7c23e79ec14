/* Conversions of gfx950 between f32, f16, bf16 and the small formats of OCP, most with a scale: v_cvt_scalef32_*,
 * v_cvt_sr_f16_f32, v_cvt_sr_bf16_f32. CDNA4 ISA, the pseudo-code of each instruction.
 *
 * The scale is the exponent of an f32, E8M0: what goes into a small format is divided by 2^(exponent - 127), what comes out of
 * one is multiplied by it; 255 is a NaN. Rounding is to nearest even whatever MODE says, or stochastic (sr): a random number per
 * lane, which v_prng_b32's step turns into the next one for the next element. Too large: as MODE.fp16_ovfl says, see
 * small_float.h. */
#pragma GCC optimize("fp-contract=off")
#include "emu/small_float.h"
#include "emu/valu_fetch.h"

typedef enum element_place {
  WHOLE,       /* all registers of the operand, elements packed from the lowest bit up */
  INTERLEAVED, /* sources only: elements of source 0 and source 1 in turns */
  WORD, BYTE   /* op_sel picks a half or a byte of the register; the rest of a destination stays */
} element_place;

typedef struct convert {
  emu_valu_op valu; /* first: the parser and the hazards look at it */
  const emu_small *from, *to;
  uint8_t n;        /* elements a lane */
  uint8_t in, out;  /* element_place */
  uint8_t random;   /* stochastic: source 1 */
  uint8_t scale;    /* which source; 0: none */
} convert;

enum { WIDEST = 32 /* registers of an operand */ };
typedef struct lane_bits {
  uint32_t u[WIDEST];
} lane_bits;

static uint32_t take(const lane_bits *b, unsigned bits, unsigned element) {
  unsigned at = bits * element;
  uint64_t two = b->u[at / 32];
  if (at % 32 + bits > 32) two |= (uint64_t)b->u[at / 32 + 1] << 32;
  return (uint32_t)(two >> at % 32) & low_mask(bits);
}

static void put(lane_bits *b, unsigned bits, unsigned element, uint32_t x) {
  unsigned at = bits * element;
  for (unsigned done = 0; done < bits; at++, done++) {
    uint32_t bit = UINT32_C(1) << at % 32;
    b->u[at / 32] = x >> done & 1 ? b->u[at / 32] | bit : b->u[at / 32] & ~bit;
  }
}

static unsigned registers(const emu_small *f, unsigned elements) { return (f->bits * elements + 31u) / 32; }

/* op_sel as a place: source bits are its first two; the destination's half is the last that is printed, its byte the last two. */
static unsigned source_at(const emu_inst *in, const convert *c) {
  return c->in == BYTE ? (in->op_sel & 3u) * 8 : c->in == WORD ? (in->op_sel & 1u) * 16 : 0;
}
static unsigned result_at(const emu_inst *in, const convert *c) {
  if (c->out == BYTE) return (in->op_sel >> 2 & 3u) * 8;
  return c->out == WORD ? (in->op_sel >> in->n_src & 1u) * 16 : 0;
}

/* v_prng_b32: a shift register with feedback. */
static uint32_t next_random(uint32_t x) { return x << 1 ^ (x >> 31 ? 197u : 0); }

/* One lane: sources as bits, the result on top of what the destination held. */
static void convert_lane(const emu_inst *in, const convert *c, const lane_bits src[2], uint32_t random, double scale,
                         bool saturate, lane_bits *out) {
  unsigned from = source_at(in, c) / c->from->bits, to = result_at(in, c) / c->to->bits;
  for (unsigned i = 0; i < c->n; i++) {
    const lane_bits *s = c->in == INTERLEAVED ? &src[i % 2] : &src[0];
    double x = emu_small_value(c->from, take(s, c->from->bits, c->in == INTERLEAVED ? i / 2 : from + i)) * scale;
    put(out, c->to->bits, to + i, c->random ? emu_small_random(c->to, x, random, saturate) : emu_small_code(c->to, x, saturate));
    random = next_random(random);
  }
}

/* Exponent byte to the factor: up out of a small format, down into one. */
static double factor(uint32_t scale, bool up) {
  int e = (int)(scale >> 23 & 0xff);
  return e == 255 ? NAN : ldexp(1.0, up ? e - 127 : 127 - e);
}

/* Source k's registers of every lane. */
static bool fetch(emu_wave *w, const emu_inst *in, int k, unsigned n, uint64_t exec, uint32_t (*out)[EMU_LANES]) {
  const emu_operand *o = &in->src[k];
  uint32_t buf[LANES2] __attribute__((aligned(64)));
  if (o->kind == EMU_O_VREG) {
    if (!emu_vreg_check(w, o->reg, n, exec)) return false;
    memcpy(out, w->v[o->reg], n * sizeof out[0]);
  } else {
    for (unsigned r = 0; r < n; r++) {
      emu_operand one = *o;
      one.reg = (uint16_t)(o->reg + r);
      const uint32_t *p = fetch_plain(w, &one, VT_U32, buf, exec);
      if (!p) return false;
      memcpy(out[r], p, sizeof out[0]);
    }
  }
  const convert *c = in->aux;
  if (!o->neg && !o->abs) return true;
  if (n > 1 || (k == 0 && c->from != &emu_f32)) return emu_fault(w, -1, "sign modifier on a packed operand");
  sign_modifiers(out[0], VT_F32, o->neg, o->abs);
  return true;
}

typedef struct operands {
  uint32_t value[2][WIDEST][EMU_LANES], random[1][EMU_LANES], scale[1][EMU_LANES];
  unsigned n; /* registers of a value */
} operands;

static bool fetch_all(emu_wave *w, const emu_inst *in, uint64_t exec, operands *o) {
  const convert *c = in->aux;
  bool pair = c->in == INTERLEAVED;
  o->n = c->in == WORD || c->in == BYTE ? 1 : registers(c->from, pair ? c->n / 2u : c->n);
  return fetch(w, in, 0, o->n, exec, o->value[0]) && (!pair || fetch(w, in, 1, o->n, exec, o->value[1])) &&
         (!c->random || fetch(w, in, 1, 1, exec, o->random)) && (!c->scale || fetch(w, in, c->scale, 1, exec, o->scale));
}

/* The part of a destination that stays need not have been written: compilers start from nothing and look at what they
 * converted. */
static bool exec_convert(emu_wave *w, const emu_inst *in) {
  const convert *c = in->aux;
  uint64_t exec = emu_exec_mask(w);
  unsigned n = c->out == WHOLE ? registers(c->to, c->n) : 1, dst = in->dst[0].reg;
  bool up = c->from->bits < c->to->bits, saturate = w->mode & EMU_MODE_FP16_OVFL;
  operands o;
  uint32_t result[WIDEST][EMU_LANES];
  if (exec == 0) return true;
  if (!fetch_all(w, in, exec, &o)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    lane_bits src[2], out;
    if (!(exec >> l & 1)) continue;
    for (int k = 0; k < (c->in == INTERLEAVED ? 2 : 1); k++)
      for (unsigned r = 0; r < o.n; r++) src[k].u[r] = o.value[k][r][l];
    for (unsigned r = 0; r < n; r++) out.u[r] = w->v[dst + r][l];
    convert_lane(in, c, src, c->random ? o.random[0][l] : 0, c->scale ? factor(o.scale[0][l], up) : 1.0, saturate, &out);
    for (unsigned r = 0; r < n; r++) result[r][l] = out.u[r];
  }
  if (!emu_vreg_written(w, dst, n, exec)) return false;
  for (unsigned r = 0; r < n; r++)
    for (int l = 0; l < EMU_LANES; l++)
      if (exec >> l & 1) w->v[dst + r][l] = result[r][l];
  return true;
}

/* --- table --- */

#define CVT(name, n_src, from, to, n, in, out, random, scale)                                                  \
  {"v_cvt_" name, exec_convert, EMU_C_VALU, 0, 0,                                                              \
   &(const convert){{NULL, NULL, NULL, NULL, 1, n_src, VT_U32, {VT_U32, VT_U32, VT_U32}, 0}, &emu_##from, &emu_##to, n, in, out, \
                    random, scale}}
/* Two elements of a register, of a pair, or one; with and without random bits. */
#define TO8(small) CVT("scalef32_pk_" #small "_f32", 3, f32, small, 2, INTERLEAVED, WORD, 0, 2),                     \
    CVT("scalef32_sr_" #small "_f32", 3, f32, small, 1, WHOLE, BYTE, 1, 2),                                    \
    CVT("scalef32_pk_" #small "_f16", 2, f16, small, 2, WHOLE, WORD, 0, 1),                                    \
    CVT("scalef32_sr_" #small "_f16", 3, f16, small, 1, WORD, BYTE, 1, 2),                                     \
    CVT("scalef32_pk_" #small "_bf16", 2, bf16, small, 2, WHOLE, WORD, 0, 1),                                  \
    CVT("scalef32_sr_" #small "_bf16", 3, bf16, small, 1, WORD, BYTE, 1, 2)
#define FROM8(small) CVT("scalef32_pk_f32_" #small, 2, small, f32, 2, WORD, WHOLE, 0, 1),                      \
    CVT("scalef32_f32_" #small, 2, small, f32, 1, BYTE, WHOLE, 0, 1),                                          \
    CVT("scalef32_pk_f16_" #small, 2, small, f16, 2, WORD, WHOLE, 0, 1),                                       \
    CVT("scalef32_f16_" #small, 2, small, f16, 1, BYTE, WORD, 0, 1),                                           \
    CVT("scalef32_pk_bf16_" #small, 2, small, bf16, 2, WORD, WHOLE, 0, 1)
/* 32 elements of six bits. */
#define SIX(small) CVT("scalef32_2xpk16_" #small "_f32", 3, f32, small, 32, INTERLEAVED, WHOLE, 0, 2),         \
    CVT("scalef32_sr_pk32_" #small "_f32", 3, f32, small, 32, WHOLE, WHOLE, 1, 2),                             \
    CVT("scalef32_pk32_f32_" #small, 2, small, f32, 32, WHOLE, WHOLE, 0, 1),                                   \
    CVT("scalef32_pk32_" #small "_f16", 2, f16, small, 32, WHOLE, WHOLE, 0, 1),                                \
    CVT("scalef32_pk32_" #small "_bf16", 2, bf16, small, 32, WHOLE, WHOLE, 0, 1),                              \
    CVT("scalef32_sr_pk32_" #small "_f16", 3, f16, small, 32, WHOLE, WHOLE, 1, 2),                             \
    CVT("scalef32_sr_pk32_" #small "_bf16", 3, bf16, small, 32, WHOLE, WHOLE, 1, 2),                           \
    CVT("scalef32_pk32_f16_" #small, 2, small, f16, 32, WHOLE, WHOLE, 0, 1),                                   \
    CVT("scalef32_pk32_bf16_" #small, 2, small, bf16, 32, WHOLE, WHOLE, 0, 1)
const emu_op emu_ops_convert[] = {TO8(fp8),
                                  TO8(bf8),
                                  FROM8(fp8),
                                  FROM8(bf8),
                                  SIX(fp6),
                                  SIX(bf6),
                                  CVT("scalef32_pk_fp4_f32", 3, f32, fp4, 2, INTERLEAVED, BYTE, 0, 2),
                                  CVT("scalef32_sr_pk_fp4_f32", 3, f32, fp4, 2, WHOLE, BYTE, 1, 2),
                                  CVT("scalef32_pk_fp4_f16", 2, f16, fp4, 2, WHOLE, BYTE, 0, 1),
                                  CVT("scalef32_pk_fp4_bf16", 2, bf16, fp4, 2, WHOLE, BYTE, 0, 1),
                                  CVT("scalef32_sr_pk_fp4_f16", 3, f16, fp4, 2, WHOLE, BYTE, 1, 2),
                                  CVT("scalef32_sr_pk_fp4_bf16", 3, bf16, fp4, 2, WHOLE, BYTE, 1, 2),
                                  CVT("scalef32_pk_f32_fp4", 2, fp4, f32, 2, BYTE, WHOLE, 0, 1),
                                  CVT("scalef32_pk_f16_fp4", 2, fp4, f16, 2, BYTE, WHOLE, 0, 1),
                                  CVT("scalef32_pk_bf16_fp4", 2, fp4, bf16, 2, BYTE, WHOLE, 0, 1),
                                  CVT("sr_f16_f32", 2, f32, f16, 1, WHOLE, WORD, 1, 0),
                                  CVT("sr_bf16_f32", 2, f32, bf16, 1, WHOLE, WORD, 1, 0),
                                  {NULL, NULL, 0, 0, 0, NULL}};
