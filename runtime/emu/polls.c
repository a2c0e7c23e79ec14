/* Which LDS reads wait for another wave. Nothing in the encoding tells an acquire load from any other; its use does. A poll is a
 * read, or an atomic that returns, in a short loop that only looks: no store, no barrier, no MFMA, at an address that the loop
 * does not change, with the loop's way out depending on what was read. Compilers peel the first look off such loops; that one
 * counts, too. A loop that searches a table or multiplies tiles has none of these marks. */
#include "emu/emu.h"

enum { LONGEST = 64, PEELED = 16, REGS = EMU_VREGS + EMU_SREGS };

/* Registers by one number: vectors, then scalars; and SCC. */
typedef struct regs {
  bool on[REGS], scc;
} regs;

static int first_reg(const emu_operand *o) {
  return o->kind == EMU_O_VREG ? o->reg : o->kind == EMU_O_SREG ? EMU_VREGS + o->reg : -1;
}

static bool any(const regs *r, const emu_operand *o) {
  int at = first_reg(o);
  for (int i = 0; at >= 0 && i < o->count && at + i < REGS; i++)
    if (r->on[at + i]) return true;
  return o->kind == EMU_O_SCC && r->scc;
}

static void set(regs *r, const emu_operand *o, bool on) {
  int at = first_reg(o);
  for (int i = 0; at >= 0 && i < o->count && at + i < REGS; i++) r->on[at + i] = on;
}

static bool branch_of(const emu_inst *in, const regs *r) {
  if (strncmp(in->mnemonic, "s_cbranch_", 10) != 0) return false;
  const char *what = in->mnemonic + 10;
  if (strncmp(what, "scc", 3) == 0) return r->scc;
  int reg = EMU_VREGS + (strncmp(what, "vcc", 3) == 0 ? EMU_VCC : EMU_EXEC);
  return r->on[reg] || r->on[reg + 1];
}

/* Follows the registers in r over one instruction: a result depends on them where an operand does. */
static void follow(const emu_inst *in, regs *r) {
  bool from = false;
  if (in->cls == EMU_C_BRANCH || in->cls == EMU_C_WAITCNT || in->cls == EMU_C_NOP) return;
  for (int i = 0; i < in->n_src && i < 4; i++) from |= any(r, &in->src[i]);
  if (in->cls >= EMU_C_VMEM_LOAD && in->cls <= EMU_C_DS_OTHER) from = false; /* what lies at an address is another matter */
  for (int i = 0; i < in->n_dst && i < 2; i++) set(r, &in->dst[i], from);
  if (in->cls != EMU_C_SALU) return;
  if (from || strncmp(in->mnemonic, "s_mov", 5) != 0) r->scc = from;
  if (strstr(in->mnemonic, "exec") && from) r->on[EMU_VREGS + EMU_EXEC] = r->on[EMU_VREGS + EMU_EXEC + 1] = true;
}

/* Does a branch in [at + 1, end] depend on what `at` reads? */
static bool decides(const emu_inst *at, const emu_inst *end) {
  regs r = {.scc = false};
  set(&r, &at->dst[0], true);
  for (const emu_inst *in = at + 1; in <= end; in++) {
    if (branch_of(in, &r)) return true;
    follow(in, &r);
  }
  return false;
}

static bool only_looks(const emu_inst *in) {
  return in->mnemonic && in->cls != EMU_C_BARRIER && in->cls != EMU_C_MFMA && in->cls != EMU_C_VMEM_STORE &&
         in->cls != EMU_C_DS_WRITE && in->cls != EMU_C_END;
}

/* The address register is not written in the loop, or only ever set to the same. */
static bool same_address(const emu_inst *at, const emu_inst *head, const emu_inst *tail) {
  const int reg = at->src[0].reg;
  for (const emu_inst *in = head; in <= tail; in++)
    for (int i = 0; i < in->n_dst && i < 2; i++) {
      const emu_operand *d = &in->dst[i];
      if (d->kind != EMU_O_VREG || reg < d->reg || reg >= d->reg + d->count) continue;
      if (strcmp(in->mnemonic, "v_mov_b32") != 0 || in->src[0].kind != EMU_O_CONST) return false;
    }
  return true;
}

static bool looks_at_lds(const emu_inst *in) {
  return (in->cls == EMU_C_DS_READ || in->cls == EMU_C_DS_OTHER) && in->n_dst == 1 && in->n_src >= 1 &&
         in->src[0].kind == EMU_O_VREG && strstr(in->mnemonic, "permute") == NULL && strstr(in->mnemonic, "swizzle") == NULL;
}

static void mark_peeled(emu_inst *head, const emu_inst *poll, const emu_inst *first) {
  for (emu_inst *in = head - 1; in >= first && head - in <= PEELED && in->mnemonic; in--)
    if (looks_at_lds(in) && strcmp(in->mnemonic, poll->mnemonic) == 0 && in->offset == poll->offset &&
        in->src[0].reg == poll->src[0].reg && decides(in, head - 1)) in->lds_poll = true;
}

static bool mark_loop(emu_code *c, emu_inst *head, const emu_inst *tail) {
  bool found = false;
  for (const emu_inst *in = head; in < tail; in++)
    if (!only_looks(in)) return false;
  for (emu_inst *in = head; in < tail; in++) {
    if (!looks_at_lds(in) || !same_address(in, head, tail) || !decides(in, tail)) continue;
    found = in->lds_poll = true;
    mark_peeled(head, in, c->insts);
  }
  return found;
}

bool emu_polls_bind(emu_code *code) {
  bool found = false;
  for (size_t i = 0; i < code->n_insts; i++) {
    const emu_inst *in = &code->insts[i];
    if (in->cls != EMU_C_BRANCH || !in->mnemonic || strncmp(in->mnemonic, "s_", 2) != 0) continue;
    if (in->target >= 0 && (size_t)in->target <= i && i - (size_t)in->target <= LONGEST)
      found |= mark_loop(code, &code->insts[in->target], in);
  }
  return found;
}
