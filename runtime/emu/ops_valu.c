/* Which build of the vector ALU this host runs, and what an instruction needs to take the fast executor. */
#include "emu/valu.h"

/* The widest build this host can run, or the one MLAF_EMU_ISA (v1, v3, v4) names if that is narrower: for tests, which must
 * see all three give the same bits, and for telling a compiler's bug from ours. */
const emu_op *emu_ops_valu(void) {
#if defined(EMU_HOST_X86)
  const char *named = getenv("MLAF_EMU_ISA");
  int limit = named && named[0] == 'v' ? named[1] - '0' : 4;
  __builtin_cpu_init();
  if (limit >= 4 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return emu_ops_valu_v4;
  if (limit >= 3 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return emu_ops_valu_v3;
#endif
  return emu_ops_valu_v1;
}

static unsigned dwords(unsigned t) {
  return t == VT_U64 || t == VT_I64 || t == VT_F64 || t == VT_B64 || t == VT_PK32 || t == VT_MASK ? 2 : 1;
}
static bool half(unsigned t) { return t == VT_U16 || t == VT_I16 || t == VT_F16 || t == VT_H16; }

/* Register operands must be as wide as the type reads: the executors index registers by type. */
static bool width_fits(const emu_operand *o, unsigned type) {
  return (o->kind != EMU_O_VREG && o->kind != EMU_O_SREG) || o->count == dwords(type);
}

static bool operands_fit(const emu_inst *in, const emu_valu_op *op) {
  if (in->n_dst != op->n_dst || in->n_src != op->n_src) return false;
  if (!op->fn) return true;
  for (int k = 0; k < op->n_src; k++)
    if (!width_fits(&in->src[k], op->src[k]) || in->src[k].kind == EMU_O_NONE || in->src[k].kind == EMU_O_OFF) return false;
  if (op->dst != VT_MASK && in->dst[0].kind != EMU_O_VREG) return false;
  return width_fits(&in->dst[0], op->dst);
}

static bool clamp_known(const emu_inst *in, const emu_valu_op *op) {
  unsigned d = op->dst;
  return !(in->flags & EMU_F_CLAMP) || op->fn_clamp || d == VT_F32 || d == VT_F16 || d == VT_F64 || d == VT_PKF ||
         d == VT_PK32 || d == VT_H16;
}

bool emu_valu_bind(emu_inst *in) {
  const emu_valu_op *op = in->aux;
  if (!operands_fit(in, op)) return false;
  if (!op->fn) return !(in->flags & (EMU_F_DPP | EMU_F_SDWA | EMU_F_CLAMP));
  if (!clamp_known(in, op)) return false;
  if (op->flags & VF_BYTE_DST) { /* the same as SDWA's choice of a byte that leaves the others alone */
    if (in->flags & (EMU_F_SDWA | EMU_F_DPP) || in->op_sel & 3) return false;
    in->sdwa_dst = in->op_sel >> 2 & 3;
    in->sdwa_unused = 2;
    in->op_sel = 0;
    in->flags |= EMU_F_SDWA;
  }
  /* op_sel lists the sources, then the destination: with two sources the third bit is the destination's. */
  if (!(op->flags & VF_PACKED) && op->src[0] != VT_MIX && in->op_sel) {
    unsigned dst_bit = in->op_sel >> op->n_src & 1, src_bits = in->op_sel & ((1u << op->n_src) - 1);
    for (int k = 0; k < op->n_src; k++)
      if (src_bits >> k & 1 && !half(op->src[k])) return false;
    if (dst_bit && !half(op->dst)) return false;
    in->op_sel = (uint8_t)(src_bits | dst_bit << 3);
  }
  bool plain = !(in->flags & (EMU_F_DPP | EMU_F_SDWA | EMU_F_CLAMP)) && !in->omod && !in->op_sel && in->op_sel_hi == 7 &&
               !in->neg_lo && !in->neg_hi && !(op->flags & (VF_KEEP_HI | VF_HIGH_HALF | VF_VCC_SRC)) &&
               op->src[0] != VT_MIX;
  for (int k = 0; k < op->n_src; k++) plain = plain && !in->src[k].neg && !in->src[k].abs && !in->src[k].sext;
  if (plain) in->exec = op->fast;
  return true;
}
