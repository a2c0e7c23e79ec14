/* The vector ALU's descriptors: what the parser and the per-host-ISA builds of valu_body.h share.
 *
 * An operation is a loop over 64 lanes (emu_lane_fn) on arrays of dwords. 64-bit operands are two arrays, low dwords
 * then high dwords, which is how a register pair lies in emu_wave.v. The generic executor fetches operands (checks,
 * modifiers, DPP, SDWA), calls the loop and writes the result under EXEC, so a loop knows nothing of any of that. */
#pragma once

#include "emu/emu.h"

typedef enum emu_vtype {
  VT_NO, VT_U32, VT_I32, VT_F32, VT_U16, VT_I16, VT_F16, VT_U64, VT_I64, VT_F64,
  VT_B32, VT_H16, VT_B64, /* f32, f16, f64 as bit patterns: float modifiers, integer expression */
  VT_PK,   /* two 16-bit halves, integer */
  VT_PKF,  /* two f16 halves */
  VT_PK32, /* two dwords, f32 */
  VT_MIX,  /* f32, or one f16 half of the register, as op_sel_hi says */
  VT_MASK  /* scalar pair, one bit a lane: 0 or ~0 in the lane arrays */
} emu_vtype;

typedef void (*emu_lane_fn)(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c);

enum {
  VF_CMPX = 1 << 0,      /* the mask result also goes to EXEC */
  VF_MASK2 = 1 << 1,     /* second destination: a lane mask (carry, div_scale), stored behind the result */
  VF_READS_DST = 1 << 2, /* the destination is the third source (fmac, dot2c) */
  VF_KEEP_HI = 1 << 3,   /* a 16-bit result leaves the other half of the register alone */
  VF_VCC_SRC = 1 << 4,   /* VCC is an unwritten source (div_fmas) */
  VF_FLUSH = 1 << 5,     /* flushes f32 denormals whatever MODE says (exp, log, rcp, rsq, sqrt) */
  VF_RAW_SRC = 1 << 6,   /* bit pattern in, no denormal flush and no NaN rule (class, frexp, ldexp's exponent) */
  VF_MINMAX = 1 << 7,    /* NaN rule of its own: min, max, med3 */
  VF_HIGH_HALF = 1 << 8, /* the 16-bit result goes to the high half (mixhi) */
  VF_ROUND = 1 << 10,    /* f32 or f64 result that MODE's rounding applies to; f16 ones always do */
  VF_BYTE_DST = 1 << 11, /* op_sel[3:2] is the byte of the destination that is written */
  VF_PACKED = 1 << 9     /* op_sel, op_sel_hi, neg_lo, neg_hi work on halves (VOP3P) */
};

typedef struct emu_valu_op {
  emu_exec fast;            /* executor for plain operands, of the same host ISA; NULL: op.exec is the only one */
  emu_lane_fn fn, fn_clamp; /* fn_clamp: saturating integer form; NULL: clamp is the float clamp, or an error */
  emu_lane_fn fn_round;     /* for MODE.round other than to nearest even; NULL: the result is not rounded, or always so */
  uint8_t n_dst, n_src;     /* operands as the disassembler prints them */
  uint8_t dst, src[3];      /* emu_vtype */
  uint16_t flags;
} emu_valu_op;

/* One table per host instruction set: v1 = any x86-64, v3 = AVX2 + FMA, v4 = AVX-512. */
extern const emu_op emu_ops_valu_v1[], emu_ops_valu_v3[], emu_ops_valu_v4[];
/* After parsing: pick the fast executor when nothing but plain operands is used. False: operands do not fit the op. */
bool emu_valu_bind(emu_inst *in);
