/* Second opinion on s_nop: software wait states recounted over the trace of the correct kernel, rule by rule from the CDNA3
 * ISA (4.5, "manually inserted wait states") and LLVM's GCNHazardRecognizer for gfx940, for the instructions our kernels have. */
#include "mutants.h"

enum { WINDOW = 24 /* no rule reaches further back */ };

typedef struct done { const emu_inst *inst; uint64_t at; } done;

static bool starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }
static bool is_valu(const emu_inst *in) { return in->cls == EMU_C_VALU || in->cls == EMU_C_TRANS; }
static bool is_memory(const emu_inst *in) { return in->cls >= EMU_C_VMEM_LOAD && in->cls <= EMU_C_DS_OTHER; }
static bool is_vmem(const emu_inst *in) { return in->cls >= EMU_C_VMEM_LOAD && in->cls <= EMU_C_VMEM_ATOMIC; }
static bool is_lane(const emu_inst *in) { return starts(in->mnemonic, "v_readlane") || starts(in->mnemonic, "v_readfirstlane"); }

static bool meets(const emu_operand *a, const emu_operand *b, int kind) {
  unsigned na = a->count ? a->count : 1, nb = b->count ? b->count : 1;
  return a->kind == kind && b->kind == kind && a->reg < b->reg + nb && b->reg < a->reg + na;
}

/* Does `in` read (what it writes counts too where it accumulates) a register that `p` writes? Index of the source, -1 no. */
static int reads(const emu_inst *in, const emu_inst *p, int kind) {
  for (int d = 0; d < p->n_dst; d++)
    for (int i = 0; i < in->n_src; i++)
      if (meets(&in->src[i], &p->dst[d], kind)) return i;
  bool accumulates = starts(in->mnemonic, "v_fmac") || starts(in->mnemonic, "v_pk_fmac") || starts(in->mnemonic, "v_mac") ||
                     strstr(in->mnemonic, "dot2c") || strstr(in->mnemonic, "_dpp");
  return accumulates && p->n_dst && in->n_dst && meets(&in->dst[0], &p->dst[0], kind) ? 3 : -1;
}

static bool writes_one(const emu_inst *in, const emu_operand *o) {
  for (int d = 0; d < in->n_dst; d++)
    if (meets(&in->dst[d], o, EMU_O_VREG)) return true;
  return false;
}

/* Carries and selections per lane are forwarded. */
static bool mask_source(const emu_inst *in, int i) {
  return i == 2 && (starts(in->mnemonic, "v_cndmask") || starts(in->mnemonic, "v_addc") || starts(in->mnemonic, "v_subb"));
}

static unsigned after_mfma(const emu_inst *p, const emu_inst *in) {
  bool f64 = strstr(p->mnemonic, "f64") != NULL, slow = !strstr(p->mnemonic, "xf32") && strstr(p->mnemonic + 10, "_f32");
  unsigned ready = f64 ? 18u : p->passes + (slow ? 2u : 3u); /* f64: the longest of its cases */
  const emu_operand *c = &p->src[2];
  int s = reads(in, p, EMU_O_VREG);
  if (in->cls == EMU_C_MFMA && s == 2 && in->mnemonic == p->mnemonic && in->src[2].reg == p->dst[0].reg)
    return meets(&in->src[0], &p->dst[0], EMU_O_VREG) || meets(&in->src[1], &p->dst[0], EMU_O_VREG) ? ready
           : p->passes == 2 ? 2 : 0;
  if (s >= 0) return in->cls == EMU_C_MFMA && s == 2 ? ready - 2 : ready;
  if (in->cls != EMU_C_MFMA && writes_one(in, &p->dst[0])) return ready;
  return is_valu(in) && writes_one(in, c) && !slow && !f64 ? p->passes - 1u : 0;
}

static unsigned after_vector_write(const emu_inst *p, const emu_inst *in) {
  bool part = p->flags & EMU_F_SDWA ? p->sdwa_dst != 6 : p->op_sel >> p->n_src != 0;
  if (reads(in, p, EMU_O_VREG) < 0) return 0;
  if (in->flags & EMU_F_DPP) return 2;
  if (in->cls == EMU_C_MFMA) return 2;
  if (is_lane(in)) return 1;
  if (p->cls == EMU_C_TRANS && in->cls == EMU_C_VALU) return 1;
  return part && is_valu(in) ? 1 : 0;
}

static unsigned after_scalar_write(const emu_inst *p, const emu_inst *in) {
  int s = reads(in, p, EMU_O_SREG);
  if (starts(p->mnemonic, "v_cmpx") && in->flags & EMU_F_DPP) return 5;
  if (s < 0) return 0;
  if (is_vmem(in)) return 5;
  if (starts(in->mnemonic, "v_div_fmas")) return 4;
  if (s == 1 && (starts(in->mnemonic, "v_readlane") || starts(in->mnemonic, "v_writelane"))) return 4;
  return is_valu(in) && !mask_source(in, s) ? 2 : 0;
}

/* Wait states that must lie between p and in. */
static unsigned between(const emu_inst *p, const emu_inst *in) {
  if (p->cls == EMU_C_MFMA) return in->cls == EMU_C_MFMA || is_valu(in) || is_memory(in) ? after_mfma(p, in) : 0;
  if (is_valu(p)) {
    unsigned v = after_vector_write(p, in), s = after_scalar_write(p, in);
    return v > s ? v : s;
  }
  if (p->cls == EMU_C_VMEM_STORE && is_valu(in)) /* more than 64 bits of data are read late */
    for (int i = 0; i < p->n_src; i++)
      if (p->src[i].count > 2 && writes_one(in, &p->src[i])) return 2;
  bool m0 = p->cls == EMU_C_SALU && p->n_dst && p->dst[0].kind == EMU_O_SREG && p->dst[0].reg == EMU_M0;
  return m0 && strstr(in->mnemonic, "load_lds") ? 1 : 0;
}

static unsigned states(const emu_inst *in, uint32_t index, const mutant *m) {
  if (in->cls != EMU_C_NOP || strcmp(in->mnemonic, "s_nop") != 0) return 1;
  unsigned n = (in->imm & 15) + 1;
  if (!m || m->inst != index) return n;
  return m->kind == MU_NOP_LESS ? n - 1 : m->kind == MU_NOP_NONE ? 1 : m->kind == MU_NOP_EARLY ? 0 : n;
}

static void judge_wave(const mu_trace *t, const mu_wave *v, const mutant *m, char why[256]) {
  done last[WINDOW] = {{NULL, 0}};
  uint64_t now = 64;
  for (size_t i = 0; i < v->n && !*why; i++) {
    uint32_t index = v->event[i].inst;
    const emu_inst *in = &t->code->insts[index];
    if (m && m->kind == MU_NOP_EARLY && index + 1 == m->inst) now += (t->code->insts[m->inst].imm & 15) + 1;
    for (size_t k = 1; k < WINDOW && k <= i; k++) {
      const done *p = &last[(i - k) % WINDOW];
      unsigned need = between(p->inst, in);
      if (now - p->at - 1 < need)
        snprintf(why, 256, "pc 0x%x '%.60s' needs %u states after pc 0x%x '%.60s', has %llu", in->pc, in->text, need, p->inst->pc,
                 p->inst->text, (unsigned long long)(now - p->at - 1));
    }
    last[i % WINDOW] = (done){in, now};
    now += states(in, index, m);
  }
}

void mu_states_judge(const mu_trace *t, const mutant *m, char why[256]) {
  *why = 0;
  for (size_t i = 0; i < t->n && !*why; i++) judge_wave(t, &t->wave[i], m, why);
}
