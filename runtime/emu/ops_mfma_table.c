/* The matrix instructions' shapes, their table, and what the parser checks of one. */
#include "emu/mfma.h"

enum {
  BF16 = EMU_IN_BF16, F16 = EMU_IN_F16, F32 = EMU_IN_F32, XF32 = EMU_IN_XF32, FP8 = EMU_IN_FP8, BF8 = EMU_IN_BF8, I8 = EMU_IN_I8,
  F64 = EMU_IN_F64, OFP8 = EMU_IN_FP8_OCP, OBF8 = EMU_IN_BF8_OCP, SMALL = EMU_IN_SMALL
};

/* A row: name, M and N, K, blocks, type, passes. Registers hold an operand's elements, of 64 lanes; A's of a sparse one half. */
enum { DENSE, SPARSE_A, SMALL_FLOATS }; /* emu_op.dtype: how it is bound */
#define BITS(t) ((t) == F64 ? 64 : (t) == F32 || (t) == XF32 ? 32 : (t) == BF16 || (t) == F16 ? 16 : (t) == SMALL ? 0 : 8)
#define SHAPE(m, k, blocks, a, b, passes, stored, cbsz, blgp)                                                                \
  &(const emu_mfma){m, k, blocks, a, b, (m) * (k) * (blocks) * BITS(a) / 2048 / (stored),                                    \
                    (m) * (m) * (blocks) * ((a) == F64 ? 64 : 32) / 2048, passes, cbsz, blgp}
#define ROW(name, run, how, shape) {"v_" name, run, EMU_C_MFMA, how, 0, shape}
#define MIX(name, m, k, a, b, passes) \
  ROW("mfma_" name, emu_mfma_dense, DENSE, SHAPE(m, k, 1, a, b, passes, 1, false, false))
#define OP(name, m, k, blocks, t, passes) \
  ROW("mfma_" name, emu_mfma_dense, DENSE, SHAPE(m, k, blocks, t, t, passes, 1, (blocks) > 1, (blocks) > 1 || (t) == F32))
#define OP64(name, m, k, blocks, t, passes) \
  ROW("mfma_" name, emu_mfma_f64, DENSE, SHAPE(m, k, blocks, t, t, passes, 1, false, true))
#define OPS(name, m, k, t, passes) ROW("mfma_" name, emu_mfma_small, SMALL_FLOATS, SHAPE(m, k, 1, t, t, passes, 1, true, true))
#define SPARSE(name, m, k, a, b, passes) \
  ROW("smfmac_" name, emu_mfma_sparse, SPARSE_A, SHAPE(m, k, 1, a, b, passes, 2, true, false))
#define FOUR(X, name, suffix, m, k, f, b, passes)                                                          \
  X(name "_fp8_fp8" suffix, m, k, f, f, passes), X(name "_fp8_bf8" suffix, m, k, f, b, passes),            \
      X(name "_bf8_fp8" suffix, m, k, b, f, passes), X(name "_bf8_bf8" suffix, m, k, b, b, passes)
/* Names without an underscore ahead of the type are gfx90a's (SIDPFullSpeedModel), twice the K and _ocp gfx950's. f8f6f4 has its
 * registers and passes by format (emu_mfma_bind). */
const emu_op emu_ops_mfma[] = {
    OP("f32_16x16x16_bf16", 16, 16, 1, BF16, 4), OP("f32_32x32x8_bf16", 32, 8, 1, BF16, 8),
    OP("f32_4x4x4_16b_bf16", 4, 4, 16, BF16, 2), OP("f32_16x16x4_4b_bf16", 16, 4, 4, BF16, 8),
    OP("f32_32x32x4_2b_bf16", 32, 4, 2, BF16, 16), OP("f32_16x16x16_f16", 16, 16, 1, F16, 4),
    OP("f32_32x32x8_f16", 32, 8, 1, F16, 8), OP("f32_4x4x4_16b_f16", 4, 4, 16, F16, 2),
    OP("f32_16x16x4_4b_f16", 16, 4, 4, F16, 8), OP("f32_32x32x4_2b_f16", 32, 4, 2, F16, 16),
    OP("f32_16x16x16bf16_1k", 16, 16, 1, BF16, 8), OP("f32_32x32x8bf16_1k", 32, 8, 1, BF16, 16),
    OP("f32_16x16x16f16", 16, 16, 1, F16, 8), OP("f32_32x32x8f16", 32, 8, 1, F16, 16),
    OP("f32_16x16x32_bf16", 16, 32, 1, BF16, 4), OP("f32_32x32x16_bf16", 32, 16, 1, BF16, 8),
    OP("f32_16x16x32_f16", 16, 32, 1, F16, 4), OP("f32_32x32x16_f16", 32, 16, 1, F16, 8),
    OP("i32_16x16x32_i8", 16, 32, 1, I8, 4), OP("i32_32x32x16_i8", 32, 16, 1, I8, 8), OP("i32_4x4x4_16b_i8", 4, 4, 16, I8, 2),
    OP("i32_16x16x4_4b_i8", 16, 4, 4, I8, 8), OP("i32_32x32x4_2b_i8", 32, 4, 2, I8, 16),
    OP("f32_16x16x4_f32", 16, 4, 1, F32, 8), OP("f32_32x32x2_f32", 32, 2, 1, F32, 16),
    OP("f32_4x4x1_16b_f32", 4, 1, 16, F32, 2), OP("f32_16x16x1_4b_f32", 16, 1, 4, F32, 8),
    OP("f32_32x32x1_2b_f32", 32, 1, 2, F32, 16), OP("f32_16x16x8_xf32", 16, 8, 1, XF32, 4),
    OP("f32_32x32x4_xf32", 32, 4, 1, XF32, 8), OP64("f64_16x16x4_f64", 16, 4, 1, F64, 8),
    OP64("f64_4x4x4_4b_f64", 4, 4, 4, F64, 4), FOUR(MIX, "f32_16x16x32", "", 16, 32, FP8, BF8, 4),
    FOUR(MIX, "f32_32x32x16", "", 32, 16, FP8, BF8, 8), FOUR(MIX, "f32_16x16x32", "_ocp", 16, 32, OFP8, OBF8, 4),
    FOUR(MIX, "f32_32x32x16", "_ocp", 32, 16, OFP8, OBF8, 8), OP("i32_16x16x16i8", 16, 16, 1, I8, 8),
    OP("i32_32x32x8i8", 32, 8, 1, I8, 16), OP("f32_16x16x8bf16", 16, 8, 1, BF16, 8), OP("f32_32x32x4bf16", 32, 4, 1, BF16, 16),
    OP("f32_4x4x2bf16", 4, 2, 16, BF16, 2), OP("f32_16x16x2bf16", 16, 2, 4, BF16, 8), OP("f32_32x32x2bf16", 32, 2, 2, BF16, 16),
    OP("i32_16x16x64_i8", 16, 64, 1, I8, 4), OP("i32_32x32x32_i8", 32, 32, 1, I8, 8),
    OPS("f32_16x16x128_f8f6f4", 16, 128, SMALL, 4), OPS("scale_f32_16x16x128_f8f6f4", 16, 128, SMALL, 4),
    OPS("f32_32x32x64_f8f6f4", 32, 64, SMALL, 8), OPS("scale_f32_32x32x64_f8f6f4", 32, 64, SMALL, 8),
    SPARSE("f32_16x16x32_bf16", 16, 32, BF16, BF16, 4), SPARSE("f32_32x32x16_bf16", 32, 16, BF16, BF16, 8),
    SPARSE("f32_16x16x32_f16", 16, 32, F16, F16, 4), SPARSE("f32_32x32x16_f16", 32, 16, F16, F16, 8),
    SPARSE("i32_16x16x64_i8", 16, 64, I8, I8, 4), SPARSE("i32_32x32x32_i8", 32, 32, I8, I8, 8),
    FOUR(SPARSE, "f32_16x16x64", "", 16, 64, FP8, BF8, 4), FOUR(SPARSE, "f32_32x32x32", "", 32, 32, FP8, BF8, 8),
    FOUR(SPARSE, "f32_16x16x64", "_ocp", 16, 64, OFP8, OBF8, 4), FOUR(SPARSE, "f32_32x32x32", "_ocp", 32, 32, OFP8, OBF8, 8),
    SPARSE("f32_16x16x64_bf16", 16, 64, BF16, BF16, 4), SPARSE("f32_32x32x32_bf16", 32, 32, BF16, BF16, 8),
    SPARSE("f32_16x16x64_f16", 16, 64, F16, F16, 4), SPARSE("f32_32x32x32_f16", 32, 32, F16, F16, 8),
    SPARSE("i32_16x16x128_i8", 16, 128, I8, I8, 4), SPARSE("i32_32x32x64_i8", 32, 64, I8, I8, 8),
    FOUR(SPARSE, "f32_16x16x128", "", 16, 128, OFP8, OBF8, 4), FOUR(SPARSE, "f32_32x32x64", "", 32, 64, OFP8, OBF8, 8),
    {NULL, NULL, 0, 0, 0, NULL},
};

static bool overlap(unsigned a, unsigned na, unsigned b, unsigned nb) { return a < b + nb && b < a + na; }

/* Source widths, even alignment of tuples, and the overlaps the hardware does not support: a result of more than four registers
 * is written while other parts of C are still being read. A or B in the registers of D is what compilers emit where all three
 * hold the accumulator (LLVM ties D to C and asks for nothing else); with C elsewhere LLVM keeps D apart, and so must others. */
static bool bind_sparse(emu_inst *in, mlaf_err *err) {
  const emu_mfma *d = in->aux;
  const unsigned want[3] = {d->ab_regs, 2u * d->ab_regs, 1};
  unsigned sets = 32 / (d->k / (EMU_LANES / d->m)); /* an index register holds 2 bits a stored element, k / groups / 2 of them */
  bool ok = in->n_dst == 1 && in->n_src == 3 && in->dst[0].kind == EMU_O_VREG && in->dst[0].count == d->d_regs &&
            in->dst[0].reg % 2 == 0 && !in->blgp && (in->cbsz || in->abid < sets);
  for (int i = 0; ok && i < 3; i++) {
    const emu_operand *s = &in->src[i];
    ok = s->kind == EMU_O_VREG && s->count == want[i] && (want[i] == 1 || s->reg % 2 == 0);
  }
  in->passes = d->passes;
  return ok || (mlaf_fail(err, MLAF_E_FAULT,
                          "pc 0x%x: '%s': a sparse multiply takes D, which it adds to, A in %u, B in %u and the"
                          " positions in 1 register, and abid below %u",
                          in->pc, in->text, want[0], want[1], sets),
                false);
}

static bool bind_operands(emu_inst *in, unsigned a_regs, unsigned b_regs, mlaf_err *err) {
  const emu_mfma *d = in->aux;
  const emu_operand *ops[4] = {&in->dst[0], &in->src[0], &in->src[1], &in->src[2]};
  const unsigned want[4] = {d->d_regs, a_regs, b_regs, d->d_regs};
  const char *const names[4] = {"D", "A", "B", "C"};
  bool in_place = ops[3]->kind == EMU_O_VREG && ops[3]->reg == ops[0]->reg;
  for (int i = 0; i < 4; i++) {
    if (ops[i]->kind != EMU_O_VREG) continue;
    if (ops[i]->count != want[i])
      return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': operand %s has %u registers, needs %u", in->pc, in->text, names[i],
                       ops[i]->count, want[i]), false;
    if (want[i] > 1 && ops[i]->reg % 2)
      return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': operand %s must start at an even register", in->pc, in->text,
                       names[i]), false;
    if (i == 0 || d->d_regs <= 4 || in_place || !overlap(ops[0]->reg, d->d_regs, ops[i]->reg, want[i])) continue;
    return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': D overlaps %s%s, which this shape reads while writing D", in->pc,
                     in->text, i == 3 ? "part of " : "", names[i]), false;
  }
  return true;
}

/* f8f6f4: 8-bit formats take twice the passes and the registers that they need, and scales come behind C. */
static bool bind_small(emu_inst *in, mlaf_err *err) {
  const emu_mfma *d = in->aux;
  if (in->cbsz >= EMU_SMALL_FORMATS || in->blgp >= EMU_SMALL_FORMATS || in->abid)
    return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': cbsz:%u abid:%u blgp:%u is no pair of formats", in->pc, in->text,
                     in->cbsz, in->abid, in->blgp),
           false;
  in->passes = d->passes * (in->cbsz < 2 || in->blgp < 2 ? 2 : 1);
  return bind_operands(in, emu_small_regs[in->cbsz], emu_small_regs[in->blgp], err);
}

bool emu_mfma_bind(emu_inst *in, mlaf_err *err) {
  const emu_mfma *d = in->aux;
  if (in->dtype == SPARSE_A) return bind_sparse(in, err);
  int n_src = strncmp(in->mnemonic, "v_mfma_scale", 12) == 0 ? 5 : 3;
  if (in->n_dst != 1 || in->n_src != n_src || in->dst[0].kind != EMU_O_VREG || in->src[0].kind != EMU_O_VREG ||
      in->src[1].kind != EMU_O_VREG || (in->src[2].kind != EMU_O_VREG && in->src[2].kind != EMU_O_CONST))
    return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': an MFMA takes a register D, registers A and B, and C as registers or an "
                     "inline constant", in->pc, in->text), false;
  if (in->dtype == SMALL_FLOATS) return bind_small(in, err);
  in->passes = d->passes;
  if (!bind_operands(in, d->ab_regs, d->ab_regs, err)) return false;
  if ((in->cbsz && !d->cbsz) || (in->abid && !d->cbsz) || (in->blgp && !d->blgp) ||
      (d->cbsz && (1u << in->cbsz > d->blocks || in->abid >= 1u << in->cbsz)))
    return mlaf_fail(err, MLAF_E_FAULT, "pc 0x%x: '%s': cbsz:%u abid:%u blgp:%u is not defined for this instruction", in->pc,
                     in->text, in->cbsz, in->abid, in->blgp), false;
  return true;
}
