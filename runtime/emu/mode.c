/* Two bits of MODE that change what instructions do.
 *
 * VGPR indexing mode: between s_set_gpr_idx_on and s_set_gpr_idx_off, VALU instructions add M0[7:0] to the vector registers
 * that M0[15:12] names (bits src0, src1, src2, dst). Memory instructions are not affected; what AMD leaves open (matrix and
 * lane-access instructions, a destination that is also read) is a named fault.
 *
 * Vector skip: between an s_setvskip of a 1 and one of a 0, vector instructions of every kind are issued but do nothing,
 * and count in no counter. */
#include "emu/salu.h"
#include "emu/valu.h"

enum { RING = 64 /* more than hazard.c remembers */, LAST_VGPR = 255 };

static bool add_index(emu_wave *w, emu_operand *o, unsigned index) {
  if (o->kind != EMU_O_VREG || o->reg >= EMU_AGPR0) return true;
  if (o->reg + index + (o->count ? o->count : 1u) - 1 > LAST_VGPR)
    return emu_fault(w, -1, "VGPR indexing: v%u plus M0[7:0] = %u is past v255", o->reg, index);
  o->reg = (uint16_t)(o->reg + index);
  return true;
}

static const emu_inst *indexed(emu_wave *w, const emu_inst *in) {
  if (in->cls != EMU_C_VALU && in->cls != EMU_C_TRANS && in->cls != EMU_C_MFMA) return in;
  unsigned index = w->s[EMU_M0] & 0xff, which = w->s[EMU_M0] >> 12 & 15;
  const emu_valu_op *op = in->cls == EMU_C_MFMA ? NULL : in->aux;
  if (!which) return in;
  if (!op || !op->fn || in->flags & (EMU_F_DPP | EMU_F_SDWA) || op->flags & VF_READS_DST) {
    emu_fault(w, -1, "unimplemented: VGPR indexing of this instruction");
    return NULL;
  }
  if (!w->indexed && !(w->indexed = malloc(RING * sizeof *w->indexed))) {
    emu_fault(w, -1, "out of host memory");
    return NULL;
  }
  emu_inst *copy = &w->indexed[w->n_indexed++ % RING];
  *copy = *in;
  for (unsigned i = 0; i < 3 && i < in->n_src; i++)
    if (which >> i & 1 && !add_index(w, &copy->src[i], index)) return NULL;
  if (which & 8 && in->n_dst && !add_index(w, &copy->dst[0], index)) return NULL;
  return copy;
}

static bool nothing(emu_wave *w, const emu_inst *in) { return true; }
static const emu_inst skipped = {
  .exec = nothing, .mnemonic = "v_nop", .text = "skipped vector instruction", .size = 4, .cls = EMU_C_NOP};

const emu_inst *emu_mode_changed(emu_wave *w, const emu_inst *in) {
  if (w->mode & EMU_MODE_VSKIP && in->cls >= EMU_C_VALU && in->cls <= EMU_C_DS_OTHER) return &skipped;
  return w->mode & EMU_MODE_GPR_IDX ? indexed(w, in) : in;
}

/* M0 holds the index and the mask; the rest of it stays. */
static void set_m0(emu_wave *w, uint32_t mask, uint32_t value) {
  w->s[EMU_M0] = (w->s[EMU_M0] & ~mask) | (value & mask);
  w->s_init[EMU_M0] = true;
}

bool emu_s_set_gpr_idx(emu_wave *w, const emu_inst *in) {
  uint32_t index = 0;
  bool has_index = in->dtype == EMU_GPR_IDX_ON || in->dtype == EMU_GPR_IDX_IDX;
  bool has_mask = in->dtype == EMU_GPR_IDX_ON || in->dtype == EMU_GPR_IDX_MODE;
  if (has_index && !emu_sread32(w, &in->src[0], &index)) return false;
  if (w->s_lgkm[EMU_M0] > w->smem_done && !emu_sreg_bad(w, EMU_M0)) return false;
  if (has_index) set_m0(w, 0xff, index);
  if (has_mask) set_m0(w, 0xf000, in->imm << 12);
  if (in->dtype == EMU_GPR_IDX_ON) w->mode |= EMU_MODE_GPR_IDX;
  if (in->dtype == EMU_GPR_IDX_OFF) w->mode &= ~(uint32_t)EMU_MODE_GPR_IDX;
  return true;
}

bool emu_s_setvskip(emu_wave *w, const emu_inst *in) {
  uint32_t word, bit;
  if (!emu_sread32(w, &in->src[0], &word) || !emu_sread32(w, &in->src[1], &bit)) return false;
  w->mode = (w->mode & ~(uint32_t)EMU_MODE_VSKIP) | (word >> (bit & 31) & 1 ? EMU_MODE_VSKIP : 0);
  return true;
}
