/* Software wait states: what the compiler, or whoever writes assembly, must put between two instructions.
 *
 * The rules are those LLVM's GCNHazardRecognizer applies to gfx940, and so is the clock: every instruction is one wait
 * state, s_nop n is n + 1, an MFMA is one. "N wait states between" counts the instructions in between, so that code LLVM
 * emitted passes and code with one s_nop fewer does not. Two differences, both stricter: inline assembly is checked like
 * everything else, and an MFMA that accumulates on the result of a *different* MFMA opcode needs the overlap wait
 * (llvm PR 218363). Where other targets differ, isa.h says so. MLAF_EMU_HAZARDS=physical lets an MFMA that finds the matrix
 * pipe busy advance the clock by its stall, which is nearer to silicon and accepts more.
 *
 * Producers with long shadows (MFMA results) have a deadline per register; everything else reaches at most three wait
 * states back for vector registers (a history of the last instructions) and five for scalar ones (last VALU write). */
#include "emu/strict.h"
#include "emu/valu.h"

enum {
  HZ_NOP = 1 << 0, HZ_SALU = 1 << 1, HZ_VALU = 1 << 2 /* not MFMA */, HZ_TRANS = 1 << 3, HZ_DOT = 1 << 4, HZ_MFMA = 1 << 5,
  HZ_XDL = 1 << 6, HZ_DGEMM = 1 << 7, HZ_VMEM = 1 << 8, HZ_DS = 1 << 9, HZ_DPP = 1 << 10, HZ_READLANE = 1 << 11,
  HZ_LANE_SEL = 1 << 12 /* readlane, writelane: src 1 selects the lane */, HZ_RWLANE = 1 << 13 /* read(first)lane, writelane */,
  HZ_DIVFMAS = 1 << 14, HZ_CMPX = 1 << 15, HZ_FMA64 = 1 << 16, HZ_SETREG = 1 << 17, HZ_GETREG = 1 << 18,
  HZ_READS_M0 = 1 << 19, HZ_DSTSEL = 1 << 20, HZ_BIGSTORE = 1 << 21, HZ_READS_DST = 1 << 22,
  HZ_M0_FORWARDED = 1 << 23 /* a SALU write of M0 needs no wait state */,
  HZ_VECTOR = HZ_VALU | HZ_MFMA | HZ_VMEM | HZ_DS,
  HZ_CHECKED = HZ_VECTOR | HZ_SETREG | HZ_GETREG | HZ_READS_M0
};

enum { HISTORY = 8, MFMA_KEPT = 32 };

typedef struct issued {
  uint64_t at;
  const emu_inst *inst;
} issued;

typedef struct hazards {
  const emu_isa *isa;
  bool physical;
  uint64_t pipe_free;               /* physical: when the matrix pipe takes its next MFMA */
  issued history[HISTORY];          /* the last instructions that are VALU, MFMA, VMEM or DS */
  uint32_t n_history;
  issued mfma[MFMA_KEPT];
  uint32_t n_mfma;
  uint64_t result_until[EMU_VREGS]; /* an MFMA result here can still be a hazard before this wait state */
  uint64_t c_until[EMU_VREGS];      /* an MFMA still reads this register as SrcC: writes must wait */
  uint8_t owner[EMU_VREGS];         /* index in mfma[] of the last writer */
  uint64_t vector_until;            /* latest of the two above */
  uint64_t valu_sgpr[EMU_SREGS];    /* wait state after the last VALU write of a scalar register; 0 never */
  const emu_inst *valu_sgpr_inst[EMU_SREGS];
  uint64_t scalar_until;            /* no VALU-written scalar register matters from here on */
  uint64_t casts_until;             /* no instruction issued so far has a short shadow (HZ_CASTS) from here on */
  uint64_t m0_written;              /* by SALU */
  const emu_inst *m0_inst;
  uint64_t setreg_at[64];
  const emu_inst *setreg_inst;
} hazards;

/* --- what an instruction is --- */

static bool starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

static uint32_t bind_valu(const emu_inst *in) {
  const char *m = in->mnemonic;
  const emu_valu_op *op = in->aux;
  uint32_t h = HZ_VALU | (in->cls == EMU_C_TRANS ? HZ_TRANS : 0) | (in->flags & EMU_F_DPP ? HZ_DPP : 0);
  if (starts(m, "v_dot")) h |= HZ_DOT;
  if (starts(m, "v_cmpx")) h |= HZ_CMPX;
  if (starts(m, "v_div_fmas")) h |= HZ_DIVFMAS;
  if (starts(m, "v_fma_f64") || starts(m, "v_fmac_f64")) h |= HZ_FMA64;
  if (starts(m, "v_readlane")) h |= HZ_READLANE | HZ_LANE_SEL | HZ_RWLANE;
  if (starts(m, "v_readfirstlane")) h |= HZ_READLANE | HZ_RWLANE;
  if (starts(m, "v_writelane")) h |= HZ_LANE_SEL | HZ_RWLANE;
  /* VOP3 prints one op_sel bit per source, then the destination's */
  if (in->flags & EMU_F_SDWA ? in->sdwa_dst != 6 : in->op_sel >> in->n_src != 0) h |= HZ_DSTSEL;
  if (op && op->flags & VF_READS_DST) h |= HZ_READS_DST;
  return h;
}

/* Index in src[] of a store's or atomic's data, -1 when it has none. */
static int data_index(const emu_inst *in) { return starts(in->mnemonic, "buffer_") ? 0 : 1; }

/* Stores of more than 64 bits read their data late unless a buffer store has a register soffset. */
static bool is_big_store(const emu_inst *in) {
  if (in->cls != EMU_C_VMEM_STORE && in->cls != EMU_C_VMEM_ATOMIC) return false;
  bool buffer = starts(in->mnemonic, "buffer_");
  int d = data_index(in);
  if (d >= in->n_src || in->src[d].kind != EMU_O_VREG || in->src[d].count <= 2) return false;
  return !buffer || in->src[in->n_src - 1].kind != EMU_O_SREG || in->src[in->n_src - 1].count == 4;
}

static uint32_t bind_memory(const emu_inst *in) {
  uint32_t h = in->cls >= EMU_C_DS_READ && in->cls <= EMU_C_DS_OTHER ? HZ_DS : HZ_VMEM;
  if (in->flags & EMU_F_LDS || strstr(in->mnemonic, "_lds_") || strstr(in->mnemonic, "addtid") ||
      starts(in->mnemonic, "ds_append") || starts(in->mnemonic, "ds_consume") || in->flags & EMU_F_GDS)
    h |= HZ_READS_M0;
  /* CDNA3 ISA 4.5 asks for a wait state between a SALU write of M0 and add-TID, buffer_store_lds, global and scratch loads
   * to LDS. Buffer loads are not on that list, and production kernels set M0 right in front of every one of them. */
  if (starts(in->mnemonic, "buffer_load")) h |= HZ_M0_FORWARDED;
  return h | (is_big_store(in) ? HZ_BIGSTORE : 0);
}

static uint32_t bind_scalar(const emu_inst *in) {
  const char *m = in->mnemonic;
  if (strcmp(m, "s_nop") == 0) return HZ_NOP;
  if (starts(m, "s_setreg")) return HZ_SALU | HZ_SETREG;
  if (starts(m, "s_getreg")) return HZ_SALU | HZ_GETREG;
  if (starts(m, "s_movrel")) return HZ_SALU | HZ_READS_M0;
  if (starts(m, "s_sendmsg") || starts(m, "s_ttracedata")) return HZ_READS_M0;
  return in->cls == EMU_C_SALU ? HZ_SALU : 0;
}

void emu_hazard_bind(emu_inst *in, const emu_isa *isa) {
  switch ((emu_class)in->cls) {
    case EMU_C_VALU: case EMU_C_TRANS: in->hazard = bind_valu(in); break;
    case EMU_C_MFMA:
      in->hazard = HZ_MFMA | (starts(in->mnemonic, "v_smfmac") ? HZ_READS_DST : 0) |
                   (strstr(in->mnemonic, "_f64") ? HZ_DGEMM : 0);
      /* f32 inputs run outside the XDL pipe; xf32 inside it */
      if (!(in->hazard & HZ_DGEMM) && (isa->f32_xdl || strstr(in->mnemonic, "_xf32") || !strstr(in->mnemonic + 10, "_f32")))
        in->hazard |= HZ_XDL;
      break;
    case EMU_C_VMEM_LOAD: case EMU_C_VMEM_STORE: case EMU_C_VMEM_ATOMIC: case EMU_C_DS_READ: case EMU_C_DS_WRITE:
    case EMU_C_DS_OTHER: in->hazard = bind_memory(in); break;
    default: in->hazard = bind_scalar(in); break;
  }
}

bool emu_hazard_wave_init(emu_wave *w) {
  hazards *h = calloc(1, sizeof *h);
  if (!h) return false;
  const char *mode = getenv("MLAF_EMU_HAZARDS");
  h->physical = mode && strcmp(mode, "physical") == 0;
  h->isa = w->group->code->isa;
  w->wait_states = 64; /* so that "never" (0) is long ago */
  w->hazard = h;
  return true;
}

void emu_hazard_wave_free(emu_wave *w) {
  free(w->hazard);
  w->hazard = NULL;
}

/* --- reporting --- */

static bool need(emu_wave *w, const issued *p, unsigned states, const char *rule) {
  uint64_t since = w->wait_states - p->at - 1;
  if (since >= states) return true;
  unsigned missing = (unsigned)(states - since);
  return emu_broken(w, EMU_RULE_WAIT_STATES, -1,
                    "hazard: needs %u more wait state%s after pc 0x%x: '%s' (%s: %u in all; put s_nop %u before this)", missing,
                    missing == 1 ? "" : "s", p->inst->pc, p->inst->text ? p->inst->text : "", rule, states, missing - 1);
}

/* --- overlaps --- */

static bool overlaps(const emu_operand *a, const emu_operand *b) {
  return a->kind == EMU_O_VREG && b->kind == EMU_O_VREG && a->reg < b->reg + b->count && b->reg < a->reg + a->count;
}

static bool reads(const emu_inst *in, const emu_operand *r) {
  for (int i = 0; i < in->n_src; i++)
    if (overlaps(&in->src[i], r)) return true;
  return in->hazard & HZ_READS_DST && overlaps(&in->dst[0], r);
}

/* The accumulator that comes in: SrcC, or D itself of a sparse multiply, whose third source is the index. */
static const emu_operand *acc_of(const emu_inst *mfma) { return mfma->hazard & HZ_READS_DST ? &mfma->dst[0] : &mfma->src[2]; }

/* --- results of MFMA --- */

/* Wait states from a single-precision MFMA to whatever does not accumulate into its result. */
static unsigned behind_mfma(const emu_isa *isa, const emu_inst *p) {
  if (!(p->hazard & HZ_XDL)) return p->passes + 2u;
  return p->passes + 3u + (p->passes > 2 ? isa->xdl_more : 0u);
}

/* Wait states from an MFMA to a reader or writer that is no MFMA. */
static unsigned mfma_to_other(const emu_isa *isa, const emu_inst *p, const emu_inst *in, bool write) {
  bool mem = in->hazard & (HZ_VMEM | HZ_DS);
  if (p->hazard & HZ_DGEMM) {
    if (p->passes == 4) return mem && !write ? 9 : 6;
    return mem && !write ? 18 : 11;
  }
  return behind_mfma(isa, p);
}

static unsigned mfma_to_ab(const emu_isa *isa, const emu_inst *p) {
  if (p->hazard & HZ_DGEMM) return p->passes == 4 ? 6 : 11;
  return behind_mfma(isa, p);
}

static unsigned mfma_to_c(const emu_isa *isa, const emu_inst *p, const emu_inst *in) {
  const emu_operand *c = acc_of(in);
  bool same = p->dst[0].reg == c->reg && p->dst[0].count == c->count;
  if (same && p->mnemonic == in->mnemonic) {
    if (p->hazard & HZ_DGEMM) return p->passes == 4 ? 4 : 0;
    return p->passes == 2 ? isa->full_srcc2 : 0;
  }
  bool xdl = in->hazard & HZ_XDL, p_xdl = p->hazard & HZ_XDL;
  if (p->hazard & HZ_DGEMM) return xdl ? 0 : p->passes == 4 ? 4 : 9;
  if (xdl && !p_xdl) return 0;
  return p->passes + (p_xdl ? isa->xdl_to_srcc + (p->passes > 2 ? isa->xdl_more : 0u) : 0u);
}

static bool check_mfma_result(emu_wave *w, hazards *h, const emu_inst *in, const emu_operand *r, int role) {
  if (r->kind != EMU_O_VREG) return true;
  int last = -1;
  for (unsigned v = r->reg; v < r->reg + r->count; v++) {
    if (h->result_until[v] <= w->wait_states || h->owner[v] == last) continue;
    last = h->owner[v];
    const issued *p = &h->mfma[last];
    unsigned n = role < 0             ? mfma_to_other(h->isa, p->inst, in, true)
                 : !(in->hazard & HZ_MFMA) ? mfma_to_other(h->isa, p->inst, in, false)
                 : role == 2          ? mfma_to_c(h->isa, p->inst, in)
                                      : mfma_to_ab(h->isa, p->inst);
    const char *rule = role < 0 ? "overwriting an MFMA result" : role == 2 && in->hazard & HZ_MFMA ? "MFMA result as SrcC"
                                                                                                   : "reading an MFMA result";
    if (!need(w, p, n, rule)) return false;
  }
  return true;
}

/* Only XDL shapes keep reading SrcC after issue. */
static unsigned c_read_states(const emu_inst *p) {
  return !(p->hazard & HZ_XDL) ? 0 : p->passes == 2 ? 1 : p->passes - 1u;
}

static bool check_c_still_read(emu_wave *w, hazards *h, const emu_operand *r) {
  for (unsigned v = r->reg; v < r->reg + r->count; v++) {
    if (h->c_until[v] <= w->wait_states) continue;
    for (uint32_t k = 1; k <= MFMA_KEPT && k <= h->n_mfma; k++) {
      const issued *p = &h->mfma[(h->n_mfma - k) % MFMA_KEPT];
      const emu_operand one = {.kind = EMU_O_VREG, .reg = (uint16_t)v, .count = 1};
      if (overlaps(acc_of(p->inst), &one) && !need(w, p, c_read_states(p->inst), "overwriting SrcC of an MFMA")) return false;
    }
  }
  return true;
}

static bool check_mfma_shadows(emu_wave *w, hazards *h, const emu_inst *in) {
  bool sparse = in->hazard & HZ_MFMA && in->hazard & HZ_READS_DST;
  for (int i = 0; i < in->n_src; i++)
    if (!check_mfma_result(w, h, in, &in->src[i], sparse && i == 2 ? 1 : i)) return false;
  if (sparse && !check_mfma_result(w, h, in, &in->dst[0], 2)) return false;
  if (in->hazard & HZ_MFMA) return true; /* MFMA over MFMA results: the pipe keeps them in order */
  if (in->hazard & HZ_READS_DST && !check_mfma_result(w, h, in, &in->dst[0], 2)) return false;
  if (in->n_dst == 0 || in->dst[0].kind != EMU_O_VREG) return true;
  return check_mfma_result(w, h, in, &in->dst[0], -1) && check_c_still_read(w, h, &in->dst[0]);
}

/* --- short shadows on vector registers --- */

static bool check_dot(emu_wave *w, const issued *prev, const emu_inst *in) {
  const emu_operand *r = &prev->inst->dst[0];
  bool same = prev->inst->mnemonic == in->mnemonic, conflict = false;
  for (int i = 0; i < in->n_src; i++) conflict |= overlaps(&in->src[i], r) && !(same && i == 2);
  if (!same) conflict |= (in->hazard & HZ_READS_DST || in->n_dst) && overlaps(&in->dst[0], r);
  return !conflict || need(w, prev, 3, "result of v_dot");
}

/* check_history has something to say only about these: instructions with a shadow over what follows, and those that
 * any vector result before them matters to. Most code is neither. */
enum {
  HZ_CASTS = HZ_DOT | HZ_TRANS | HZ_DSTSEL | HZ_BIGSTORE | HZ_DGEMM, HZ_MINDS = HZ_MFMA | HZ_DPP | HZ_READLANE,
  HZ_SHADOW = 3 /* wait states */
};

static bool check_history(emu_wave *w, hazards *h, const emu_inst *in) {
  bool alu = in->hazard & (HZ_VALU | HZ_MFMA), shadows = h->isa->shadows;
  for (uint32_t k = 1; k <= HISTORY && k <= h->n_history; k++) {
    const issued *prev = &h->history[(h->n_history - k) % HISTORY];
    uint64_t since = w->wait_states - prev->at - 1;
    if (since >= HZ_SHADOW) return true;
    const emu_inst *p = prev->inst;
    const emu_operand *r = &p->dst[0];
    bool valu = p->hazard & HZ_VALU, vector = p->n_dst && r->kind == EMU_O_VREG, use = vector && reads(in, r);
    if (p->hazard & HZ_DOT && !(in->hazard & HZ_MFMA) && !check_dot(w, prev, in)) return false;
    if (in->hazard & HZ_MFMA && valu && !(p->hazard & HZ_DOT) && use && !need(w, prev, 2, "VALU result read by an MFMA"))
      return false;
    if (in->hazard & HZ_DPP && use && !need(w, prev, 2, "DPP of a register just written")) return false;
    if (shadows && alu && p->hazard & HZ_TRANS && !(in->hazard & HZ_TRANS) && use &&
        !need(w, prev, 1, "result of a transcendental"))
      return false;
    if (shadows && alu && p->hazard & HZ_DSTSEL && use && !need(w, prev, 1, "partly written register")) return false;
    if (shadows && in->hazard & HZ_READLANE && valu && use && !need(w, prev, 1, "v_readlane of a VALU result")) return false;
    if (alu && p->hazard & HZ_BIGSTORE && in->n_dst && overlaps(&p->src[data_index(p)], &in->dst[0]) &&
        !need(w, prev, h->isa->big_store, "overwriting the data of a store of more than 64 bits")) return false;
    if (in->hazard & HZ_FMA64 && p->hazard & HZ_DGEMM && !need(w, prev, 2, "f64 FMA after an f64 MFMA")) return false;
  }
  return true;
}

/* --- scalar registers --- */

static bool sgpr_wait(emu_wave *w, const hazards *h, unsigned reg, unsigned n, unsigned states, const char *rule) {
  for (unsigned r = reg; r < reg + n && r < EMU_SREGS; r++) {
    if (h->valu_sgpr[r] == 0) continue;
    const issued p = {h->valu_sgpr[r] - 1, h->valu_sgpr_inst[r]};
    if (!need(w, &p, states, rule)) return false;
  }
  return true;
}

/* Read per lane, as a carry or a selection: forwarded (CDNA3 ISA 4.5: "as constant" 2 wait states, "as carry-in" 0). LLVM
 * does not tell the two apart and waits for both. */
static bool is_lane_mask(const emu_inst *in, int i) {
  const emu_valu_op *op = in->aux;
  return op && i < 3 && op->src[i] == VT_MASK;
}

static bool check_scalars(emu_wave *w, const hazards *h, const emu_inst *in) {
  uint32_t f = in->hazard;
  if (f & HZ_MFMA) return sgpr_wait(w, h, EMU_EXEC, 2, 4, "VALU write of EXEC before an MFMA");
  for (int i = 0; i < in->n_src; i++) {
    const emu_operand *s = &in->src[i];
    if (s->kind != EMU_O_SREG) continue;
    unsigned n = s->count ? s->count : 1u;
    if (f & HZ_VMEM && !sgpr_wait(w, h, s->reg, n, 5, "VALU-written SGPR read by vector memory")) return false;
    if (f & HZ_LANE_SEL && i == 1 && !sgpr_wait(w, h, s->reg, n, 4, "VALU-written lane select")) return false;
    if (f & HZ_VALU && h->isa->shadows && !is_lane_mask(in, i) &&
        !sgpr_wait(w, h, s->reg, n, 2, "VALU-written SGPR or VCC read by VALU"))
      return false;
  }
  if (f & HZ_DIVFMAS && !sgpr_wait(w, h, EMU_VCC, 2, 4, "VALU write of VCC before v_div_fmas")) return false;
  if (f & HZ_DPP && !sgpr_wait(w, h, EMU_EXEC, 2, 5, "VALU write of EXEC before DPP")) return false;
  return !(f & HZ_RWLANE && h->isa->shadows) ||
         sgpr_wait(w, h, EMU_EXEC, 2, 4, "VALU write of EXEC before v_readlane or v_writelane");
}

static bool check_special(emu_wave *w, const hazards *h, const emu_inst *in) {
  if (in->hazard & HZ_READS_M0 && !(in->hazard & HZ_M0_FORWARDED) && h->m0_inst) {
    const issued p = {h->m0_written, h->m0_inst};
    if (!need(w, &p, 1, "M0 just written")) return false;
  }
  if (in->hazard & (HZ_SETREG | HZ_GETREG) && h->setreg_at[in->imm & 63]) {
    const issued p = {h->setreg_at[in->imm & 63], h->setreg_inst};
    if (!need(w, &p, 2, "s_setreg of the same register")) return false;
  }
  return true;
}

bool emu_hazard_before(emu_wave *w, const emu_inst *in) {
  if (!(in->hazard & HZ_CHECKED)) return true;
  hazards *h = w->hazard;
  if (in->hazard & HZ_VECTOR) {
    if (h->vector_until > w->wait_states && !check_mfma_shadows(w, h, in)) return false;
    if (h->scalar_until > w->wait_states && !check_scalars(w, h, in)) return false;
    if ((h->casts_until > w->wait_states || in->hazard & HZ_MINDS) && !check_history(w, h, in)) return false;
  }
  return !(in->hazard & (HZ_SETREG | HZ_GETREG | HZ_READS_M0)) || check_special(w, h, in);
}

/* --- after issue --- */

static void later(uint64_t *a, uint64_t b) {
  if (b > *a) *a = b;
}

static void record_mfma(emu_wave *w, hazards *h, const emu_inst *in) {
  if (h->physical) {
    if (h->pipe_free > w->wait_states) w->wait_states = h->pipe_free;
    h->pipe_free = w->wait_states + in->passes;
  }
  unsigned slot = h->n_mfma++ % MFMA_KEPT;
  h->mfma[slot] = (issued){w->wait_states, in};
  uint64_t until = w->wait_states + 1 + (in->hazard & HZ_DGEMM ? 18u : in->passes + 3u + h->isa->xdl_more);
  for (unsigned v = in->dst[0].reg; v < in->dst[0].reg + in->dst[0].count; v++) {
    h->result_until[v] = until;
    h->owner[v] = (uint8_t)slot;
  }
  uint64_t c = w->wait_states + 1 + c_read_states(in);
  const emu_operand *acc = acc_of(in);
  if (acc->kind == EMU_O_VREG)
    for (unsigned v = acc->reg; v < acc->reg + acc->count; v++) later(&h->c_until[v], c);
  later(&h->vector_until, until);
}

static void record_scalars(emu_wave *w, hazards *h, const emu_inst *in) {
  bool any = false;
  for (int i = 0; i < in->n_dst; i++) {
    const emu_operand *d = &in->dst[i];
    if (d->kind != EMU_O_SREG) continue;
    for (unsigned r = d->reg; r < d->reg + (d->count ? d->count : 1u) && r < EMU_SREGS; r++) {
      h->valu_sgpr[r] = w->wait_states + 1;
      h->valu_sgpr_inst[r] = in;
    }
    any = true;
  }
  if (in->hazard & HZ_CMPX) {
    for (unsigned r = EMU_EXEC; r < EMU_EXEC + 2; r++) h->valu_sgpr[r] = w->wait_states + 1, h->valu_sgpr_inst[r] = in;
    any = true;
  }
  if (any) h->scalar_until = w->wait_states + 1 + 5;
}

void emu_hazard_after(emu_wave *w, const emu_inst *in) {
  hazards *h = w->hazard;
  if (in->hazard & HZ_NOP) {
    w->wait_states += (in->imm & 15) + 1;
    return;
  }
  if (in->hazard & HZ_MFMA) record_mfma(w, h, in);
  if (in->hazard & HZ_VECTOR) {
    h->history[h->n_history++ % HISTORY] = (issued){w->wait_states, in};
    if (in->hazard & HZ_CASTS) h->casts_until = w->wait_states + 1 + HZ_SHADOW;
  }
  if (in->hazard & HZ_VALU) record_scalars(w, h, in);
  if (in->hazard & HZ_SALU && in->n_dst && in->dst[0].kind == EMU_O_SREG && in->dst[0].reg == EMU_M0)
    h->m0_written = w->wait_states, h->m0_inst = in;
  if (in->hazard & HZ_SETREG) h->setreg_at[in->imm & 63] = w->wait_states, h->setreg_inst = in;
  w->wait_states++;
}
