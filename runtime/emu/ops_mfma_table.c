/* The matrix instructions' shapes, their table, and what the parser checks of one. */
#include <string.h>

#include "emu/mfma.h"

enum {
  BF16 = EMU_IN_BF16, F16 = EMU_IN_F16, F32 = EMU_IN_F32, XF32 = EMU_IN_XF32, FP8 = EMU_IN_FP8, BF8 = EMU_IN_BF8, I8 = EMU_IN_I8,
  F64 = EMU_IN_F64, OFP8 = EMU_IN_FP8_OCP, OBF8 = EMU_IN_BF8_OCP, SMALL = EMU_IN_SMALL
};

/* m k blocks a b ab_regs d_regs passes cbsz blgp */
static const emu_mfma bf16_16 = {16, 16, 1, BF16, BF16, 2, 4, 4, false, false};
static const emu_mfma bf16_32 = {32, 8, 1, BF16, BF16, 2, 16, 8, false, false};
static const emu_mfma bf16_4 = {4, 4, 16, BF16, BF16, 2, 4, 2, true, true};
static const emu_mfma bf16_16b = {16, 4, 4, BF16, BF16, 2, 16, 8, true, true};
static const emu_mfma bf16_32b = {32, 4, 2, BF16, BF16, 2, 32, 16, true, true};
static const emu_mfma f16_16 = {16, 16, 1, F16, F16, 2, 4, 4, false, false};
static const emu_mfma f16_32 = {32, 8, 1, F16, F16, 2, 16, 8, false, false};
static const emu_mfma f16_4 = {4, 4, 16, F16, F16, 2, 4, 2, true, true};
static const emu_mfma f16_16b = {16, 4, 4, F16, F16, 2, 16, 8, true, true};
static const emu_mfma f16_32b = {32, 4, 2, F16, F16, 2, 32, 16, true, true};
/* gfx90a: two of these shapes in twice the passes (SIDPFullSpeedModel). gfx950: twice the k in the same passes. */
static const emu_mfma bf16_16_slow = {16, 16, 1, BF16, BF16, 2, 4, 8, false, false};
static const emu_mfma bf16_32_slow = {32, 8, 1, BF16, BF16, 2, 16, 16, false, false};
static const emu_mfma f16_16_slow = {16, 16, 1, F16, F16, 2, 4, 8, false, false};
static const emu_mfma f16_32_slow = {32, 8, 1, F16, F16, 2, 16, 16, false, false};
static const emu_mfma bf16_16_wide = {16, 32, 1, BF16, BF16, 4, 4, 4, false, false};
static const emu_mfma bf16_32_wide = {32, 16, 1, BF16, BF16, 4, 16, 8, false, false};
static const emu_mfma f16_16_wide = {16, 32, 1, F16, F16, 4, 4, 4, false, false};
static const emu_mfma f16_32_wide = {32, 16, 1, F16, F16, 4, 16, 8, false, false};
/* gfx90a: i8 with half of gfx942's k, bf16 with half of its _1k shapes'; in its passes. gfx950: i8 with twice the k. */
static const emu_mfma i8_16_short = {16, 16, 1, I8, I8, 1, 4, 8, false, false};
static const emu_mfma i8_32_short = {32, 8, 1, I8, I8, 1, 16, 16, false, false};
static const emu_mfma bf16_16_short = {16, 8, 1, BF16, BF16, 1, 4, 8, false, false};
static const emu_mfma bf16_32_short = {32, 4, 1, BF16, BF16, 1, 16, 16, false, false};
static const emu_mfma bf16_4_short = {4, 2, 16, BF16, BF16, 1, 4, 2, true, true};
static const emu_mfma bf16_16b_short = {16, 2, 4, BF16, BF16, 1, 16, 8, true, true};
static const emu_mfma bf16_32b_short = {32, 2, 2, BF16, BF16, 1, 32, 16, true, true};
static const emu_mfma i8_16_wide = {16, 64, 1, I8, I8, 4, 4, 4, false, false};
static const emu_mfma i8_32_wide = {32, 32, 1, I8, I8, 4, 16, 8, false, false};
static const emu_mfma i8_16 = {16, 32, 1, I8, I8, 2, 4, 4, false, false};
static const emu_mfma i8_32 = {32, 16, 1, I8, I8, 2, 16, 8, false, false};
static const emu_mfma i8_4 = {4, 4, 16, I8, I8, 1, 4, 2, true, true};
static const emu_mfma i8_16b = {16, 4, 4, I8, I8, 1, 16, 8, true, true};
static const emu_mfma i8_32b = {32, 4, 2, I8, I8, 1, 32, 16, true, true};
static const emu_mfma f32_16 = {16, 4, 1, F32, F32, 1, 4, 8, false, true};
static const emu_mfma f32_32 = {32, 2, 1, F32, F32, 1, 16, 16, false, true};
static const emu_mfma f32_4 = {4, 1, 16, F32, F32, 1, 4, 2, true, true};
static const emu_mfma f32_16b = {16, 1, 4, F32, F32, 1, 16, 8, true, true};
static const emu_mfma f32_32b = {32, 1, 2, F32, F32, 1, 32, 16, true, true};
static const emu_mfma xf32_16 = {16, 8, 1, XF32, XF32, 2, 4, 4, false, false};
static const emu_mfma xf32_32 = {32, 4, 1, XF32, XF32, 2, 16, 8, false, false};
static const emu_mfma f64_16 = {16, 4, 1, F64, F64, 2, 8, 8, false, true};
static const emu_mfma f64_4 = {4, 4, 4, F64, F64, 2, 2, 4, false, true};
/* By the formats of A and B: fp8 fp8, fp8 bf8, bf8 fp8, bf8 bf8; FNUZ, then OCP's of gfx950. */
static const emu_mfma fp8_16[4] = {
    {16, 32, 1, FP8, FP8, 2, 4, 4, false, false}, {16, 32, 1, FP8, BF8, 2, 4, 4, false, false},
    {16, 32, 1, BF8, FP8, 2, 4, 4, false, false}, {16, 32, 1, BF8, BF8, 2, 4, 4, false, false}};
static const emu_mfma fp8_32[4] = {
    {32, 16, 1, FP8, FP8, 2, 16, 8, false, false}, {32, 16, 1, FP8, BF8, 2, 16, 8, false, false},
    {32, 16, 1, BF8, FP8, 2, 16, 8, false, false}, {32, 16, 1, BF8, BF8, 2, 16, 8, false, false}};

static const emu_mfma ocp_16[4] = {
    {16, 32, 1, OFP8, OFP8, 2, 4, 4, false, false}, {16, 32, 1, OFP8, OBF8, 2, 4, 4, false, false},
    {16, 32, 1, OBF8, OFP8, 2, 4, 4, false, false}, {16, 32, 1, OBF8, OBF8, 2, 4, 4, false, false}};
static const emu_mfma ocp_32[4] = {
    {32, 16, 1, OFP8, OFP8, 2, 16, 8, false, false}, {32, 16, 1, OFP8, OBF8, 2, 16, 8, false, false},
    {32, 16, 1, OBF8, OFP8, 2, 16, 8, false, false}, {32, 16, 1, OBF8, OBF8, 2, 16, 8, false, false}};
/* Registers and passes by format: emu_mfma_bind. */
static const emu_mfma small_16 = {16, 128, 1, SMALL, SMALL, 0, 4, 4, true, true};
static const emu_mfma small_32 = {32, 64, 1, SMALL, SMALL, 0, 16, 8, true, true};

static const emu_mfma sparse_bf16[2] = {{16, 32, 1, BF16, BF16, 2, 4, 4, true, false},
                                    {32, 16, 1, BF16, BF16, 2, 16, 8, true, false}};
static const emu_mfma sparse_f16[2] = {{16, 32, 1, F16, F16, 2, 4, 4, true, false},
                                   {32, 16, 1, F16, F16, 2, 16, 8, true, false}};
static const emu_mfma sparse_i8[2] = {{16, 64, 1, I8, I8, 2, 4, 4, true, false},
                                  {32, 32, 1, I8, I8, 2, 16, 8, true, false}};
static const emu_mfma sparse_fp8_16[4] = {
    {16, 64, 1, FP8, FP8, 2, 4, 4, true, false}, {16, 64, 1, FP8, BF8, 2, 4, 4, true, false},
    {16, 64, 1, BF8, FP8, 2, 4, 4, true, false}, {16, 64, 1, BF8, BF8, 2, 4, 4, true, false}};
static const emu_mfma sparse_fp8_32[4] = {
    {32, 32, 1, FP8, FP8, 2, 16, 8, true, false}, {32, 32, 1, FP8, BF8, 2, 16, 8, true, false},
    {32, 32, 1, BF8, FP8, 2, 16, 8, true, false}, {32, 32, 1, BF8, BF8, 2, 16, 8, true, false}};

static const emu_mfma sparse_ocp_16[4] = {
    {16, 64, 1, OFP8, OFP8, 2, 4, 4, true, false}, {16, 64, 1, OFP8, OBF8, 2, 4, 4, true, false},
    {16, 64, 1, OBF8, OFP8, 2, 4, 4, true, false}, {16, 64, 1, OBF8, OBF8, 2, 4, 4, true, false}};
static const emu_mfma sparse_ocp_32[4] = {
    {32, 32, 1, OFP8, OFP8, 2, 16, 8, true, false}, {32, 32, 1, OFP8, OBF8, 2, 16, 8, true, false},
    {32, 32, 1, OBF8, OFP8, 2, 16, 8, true, false}, {32, 32, 1, OBF8, OBF8, 2, 16, 8, true, false}};
/* gfx950: twice the k. */
static const emu_mfma sparse_bf16_wide[2] = {{16, 64, 1, BF16, BF16, 4, 4, 4, true, false},
                                             {32, 32, 1, BF16, BF16, 4, 16, 8, true, false}};
static const emu_mfma sparse_f16_wide[2] = {{16, 64, 1, F16, F16, 4, 4, 4, true, false},
                                            {32, 32, 1, F16, F16, 4, 16, 8, true, false}};
static const emu_mfma sparse_i8_wide[2] = {{16, 128, 1, I8, I8, 4, 4, 4, true, false},
                                           {32, 64, 1, I8, I8, 4, 16, 8, true, false}};
static const emu_mfma sparse_ocp_16_wide[4] = {
    {16, 128, 1, OFP8, OFP8, 4, 4, 4, true, false}, {16, 128, 1, OFP8, OBF8, 4, 4, 4, true, false},
    {16, 128, 1, OBF8, OFP8, 4, 4, 4, true, false}, {16, 128, 1, OBF8, OBF8, 4, 4, 4, true, false}};
static const emu_mfma sparse_ocp_32_wide[4] = {
    {32, 64, 1, OFP8, OFP8, 4, 16, 8, true, false}, {32, 64, 1, OFP8, OBF8, 4, 16, 8, true, false},
    {32, 64, 1, OBF8, OFP8, 4, 16, 8, true, false}, {32, 64, 1, OBF8, OBF8, 4, 16, 8, true, false}};

enum { DENSE, SPARSE_A, SMALL_FLOATS }; /* emu_op.dtype: how it is bound */
#define SPARSE(name, desc) {"v_smfmac_" name, emu_mfma_sparse, EMU_C_MFMA, SPARSE_A, 0, &desc}
#define OP(name, desc) {"v_mfma_" name, emu_mfma_dense, EMU_C_MFMA, DENSE, 0, &desc}
#define OP64(name, desc) {"v_mfma_" name, emu_mfma_f64, EMU_C_MFMA, DENSE, 0, &desc}
#define OPS(name, desc) {"v_mfma_" name, emu_mfma_small, EMU_C_MFMA, SMALL_FLOATS, 0, &desc}
#define FOUR(X, name, suffix, desc) X(name "_fp8_fp8" suffix, desc[0]), X(name "_fp8_bf8" suffix, desc[1]), \
    X(name "_bf8_fp8" suffix, desc[2]), X(name "_bf8_bf8" suffix, desc[3])
const emu_op emu_ops_mfma[] = {
    OP("f32_16x16x16_bf16", bf16_16), OP("f32_32x32x8_bf16", bf16_32), OP("f32_4x4x4_16b_bf16", bf16_4),
    OP("f32_16x16x4_4b_bf16", bf16_16b), OP("f32_32x32x4_2b_bf16", bf16_32b),
    OP("f32_16x16x16_f16", f16_16), OP("f32_32x32x8_f16", f16_32), OP("f32_4x4x4_16b_f16", f16_4),
    OP("f32_16x16x4_4b_f16", f16_16b), OP("f32_32x32x4_2b_f16", f16_32b),
    OP("f32_16x16x16bf16_1k", bf16_16_slow), OP("f32_32x32x8bf16_1k", bf16_32_slow), OP("f32_16x16x16f16", f16_16_slow),
    OP("f32_32x32x8f16", f16_32_slow), OP("f32_16x16x32_bf16", bf16_16_wide), OP("f32_32x32x16_bf16", bf16_32_wide),
    OP("f32_16x16x32_f16", f16_16_wide), OP("f32_32x32x16_f16", f16_32_wide),
    OP("i32_16x16x32_i8", i8_16), OP("i32_32x32x16_i8", i8_32), OP("i32_4x4x4_16b_i8", i8_4),
    OP("i32_16x16x4_4b_i8", i8_16b), OP("i32_32x32x4_2b_i8", i8_32b),
    OP("f32_16x16x4_f32", f32_16), OP("f32_32x32x2_f32", f32_32), OP("f32_4x4x1_16b_f32", f32_4),
    OP("f32_16x16x1_4b_f32", f32_16b), OP("f32_32x32x1_2b_f32", f32_32b),
    OP("f32_16x16x8_xf32", xf32_16), OP("f32_32x32x4_xf32", xf32_32),
    OP64("f64_16x16x4_f64", f64_16), OP64("f64_4x4x4_4b_f64", f64_4),
    FOUR(OP, "f32_16x16x32", "", fp8_16), FOUR(OP, "f32_32x32x16", "", fp8_32),
    FOUR(OP, "f32_16x16x32", "_ocp", ocp_16), FOUR(OP, "f32_32x32x16", "_ocp", ocp_32),
    OP("i32_16x16x16i8", i8_16_short), OP("i32_32x32x8i8", i8_32_short), OP("f32_16x16x8bf16", bf16_16_short),
    OP("f32_32x32x4bf16", bf16_32_short), OP("f32_4x4x2bf16", bf16_4_short), OP("f32_16x16x2bf16", bf16_16b_short),
    OP("f32_32x32x2bf16", bf16_32b_short), OP("i32_16x16x64_i8", i8_16_wide), OP("i32_32x32x32_i8", i8_32_wide),
    OPS("f32_16x16x128_f8f6f4", small_16), OPS("scale_f32_16x16x128_f8f6f4", small_16), OPS("f32_32x32x64_f8f6f4", small_32),
    OPS("scale_f32_32x32x64_f8f6f4", small_32),
    SPARSE("f32_16x16x32_bf16", sparse_bf16[0]), SPARSE("f32_32x32x16_bf16", sparse_bf16[1]),
    SPARSE("f32_16x16x32_f16", sparse_f16[0]), SPARSE("f32_32x32x16_f16", sparse_f16[1]),
    SPARSE("i32_16x16x64_i8", sparse_i8[0]), SPARSE("i32_32x32x32_i8", sparse_i8[1]),
    FOUR(SPARSE, "f32_16x16x64", "", sparse_fp8_16), FOUR(SPARSE, "f32_32x32x32", "", sparse_fp8_32),
    FOUR(SPARSE, "f32_16x16x64", "_ocp", sparse_ocp_16), FOUR(SPARSE, "f32_32x32x32", "_ocp", sparse_ocp_32),
    SPARSE("f32_16x16x64_bf16", sparse_bf16_wide[0]), SPARSE("f32_32x32x32_bf16", sparse_bf16_wide[1]),
    SPARSE("f32_16x16x64_f16", sparse_f16_wide[0]), SPARSE("f32_32x32x32_f16", sparse_f16_wide[1]),
    SPARSE("i32_16x16x128_i8", sparse_i8_wide[0]), SPARSE("i32_32x32x64_i8", sparse_i8_wide[1]),
    FOUR(SPARSE, "f32_16x16x128", "", sparse_ocp_16_wide), FOUR(SPARSE, "f32_32x32x64", "", sparse_ocp_32_wide),
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
