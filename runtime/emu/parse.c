/* Disassembly text -> emu_inst, once per code object. The text is LLVM's own, so the parser needs no encoding tables:
 * what the assembler accepts and the disassembler prints is the ISA. A line that does not parse is not an error before
 * somebody executes it, because .text also holds padding and code of kernels nobody launches. */
#include <inttypes.h>

#include "emu/parse.h"
#include "emu/place.h"
#include "emu/strict.h"
#include "emu/turns.h"
#include "emu/valu.h"

/* --- mnemonic lookup: an open-addressing hash of every table's entries, built for one decode --- */
enum { LOOKUP_SLOTS = 4096 };
typedef struct lookup {
  const emu_op *slot[LOOKUP_SLOTS];
} lookup;

static unsigned hash_name(const char *s) {
  unsigned h = 2166136261u; /* FNV-1a */
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
  return h ^ h >> 15;
}

static const emu_op *lookup_find(const lookup *t, const emu_isa *isa, const char *name) {
  for (const emu_alias *a = isa->aliases; a && a->printed; a++)
    if (strcmp(a->printed, name) == 0) name = a->name;
  for (unsigned i = hash_name(name);; i++) {
    const emu_op *op = t->slot[i % LOOKUP_SLOTS];
    if (!op || strcmp(op->mnemonic, name) == 0) return op;
  }
}

static void lookup_add(lookup *t, const emu_op *table) {
  for (const emu_op *op = table; op->mnemonic; op++) {
    unsigned i = hash_name(op->mnemonic);
    while (t->slot[i % LOOKUP_SLOTS] && strcmp(t->slot[i % LOOKUP_SLOTS]->mnemonic, op->mnemonic) != 0) i++;
    if (!t->slot[i % LOOKUP_SLOTS]) t->slot[i % LOOKUP_SLOTS] = op; /* first table wins */
  }
}

static lookup *lookup_new(void) {
  lookup *t = calloc(1, sizeof *t);
  const emu_op *const tables[] = {
    emu_ops_salu, emu_ops_smem, emu_ops_valu(), emu_ops_convert, emu_ops_mfma, emu_ops_vmem, emu_ops_format, emu_ops_ds};
  for (size_t i = 0; t && i < sizeof tables / sizeof *tables; i++) lookup_add(t, tables[i]);
  return t;
}

/* --- one line --- */
static bool unimplemented(emu_wave *w, const emu_inst *in) { return emu_fault(w, -1, "unimplemented instruction"); }

static bool ran_off_the_end(emu_wave *w, const emu_inst *in) {
  return emu_fault(w, -1, "execution ran past the end of .text: s_endpgm is missing");
}

#define OUTSIDE_TEXT "register outside the kernel's allocation (%u registers, AGPRs from %u on)"

static bool outside_allocation(emu_wave *w, const emu_inst *in) {
  const emu_kernel *k = w->group->kernel;
  return emu_fault(w, -1, OUTSIDE_TEXT, k->vgprs, k->accum_offset);
}

static bool shared_allocation(emu_wave *w, const emu_inst *in) {
  const emu_kernel *k = w->group->kernel;
  return emu_broken(w, EMU_RULE_REGISTERS, -1, OUTSIDE_TEXT, k->vgprs, k->accum_offset) && in->behind(w, in);
}

static void split_mnemonic(const char *word, size_t n, emu_line *l) {
  static const struct { const char *suffix; bool dpp, sdwa; } suffixes[] = {
    {"_e64_dpp", true, false}, {"_e32", false, false}, {"_e64", false, false}, {"_dpp", true, false}, {"_sdwa", false, true}};
  if (n >= sizeof l->mnemonic) n = sizeof l->mnemonic - 1;
  memcpy(l->mnemonic, word, n);
  l->mnemonic[n] = 0;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t m = strlen(suffixes[i].suffix);
    if (n <= m || strcmp(l->mnemonic + n - m, suffixes[i].suffix) != 0) continue;
    l->mnemonic[n - m] = 0;
    l->dpp = suffixes[i].dpp;
    l->sdwa = suffixes[i].sdwa;
    return;
  }
}

/* Next word of the operand/modifier part: ends at a comma or blank outside brackets and quotes. */
static const char *next_word(const char *s, char word[EMU_WORD_MAX], bool *comma_after) {
  int depth = 0;
  size_t n = 0;
  while (*s == ' ') s++;
  for (; *s && (depth > 0 || (*s != ',' && *s != ' ')); s++) {
    if (*s == '(' || *s == '[') depth++;
    if (*s == ')' || *s == ']') depth--;
    if (n + 1 < EMU_WORD_MAX) word[n++] = *s;
  }
  word[n] = 0;
  *comma_after = *s == ',';
  return s + *comma_after;
}

/* Operands and modifiers. A word behind a comma is an operand; the first word is one unless it is a modifier. */
static bool parse_rest(const char *s, emu_line *l, emu_inst *in) {
  char word[EMU_WORD_MAX];
  bool comma = false, first = true;
  while (*s) {
    bool after_comma = comma;
    s = next_word(s, word, &comma);
    if (!*word) return !*s && first;
    if (emu_parse_imm_word(word, in)) {
      l->has_imm = true;
    } else if (after_comma || (first && !emu_parse_modifier(word, in))) {
      if (l->n_op == EMU_MAX_OPERANDS || !emu_parse_operand(word, &l->op[l->n_op])) return false;
      l->n_op++;
    } else if (!first && !emu_parse_modifier(word, in)) {
      return false;
    }
    first = false;
  }
  return true;
}

static bool starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

/* Counts the operands in front that are written. */
static int count_dsts(const emu_op *op, const emu_inst *in) {
  const char *m = op->mnemonic;
  switch ((emu_class)op->cls) {
    case EMU_C_SALU:
      return !starts(m, "s_cmp") && !starts(m, "s_bitcmp") && !starts(m, "s_set") && /* s_setreg, s_set_gpr_idx, s_setvskip */
             in->n_src > 0;
    case EMU_C_SMEM: return starts(m, "s_load") || starts(m, "s_buffer_load") || starts(m, "s_mem") ||
                            starts(m, "s_scratch_load");
    case EMU_C_VALU:
    case EMU_C_TRANS: return ((const emu_valu_op *)op->aux)->n_dst;
    case EMU_C_MFMA: return 1;
    case EMU_C_VMEM_LOAD: return !(in->flags & EMU_F_LDS) && !strstr(m, "_lds_");
    case EMU_C_VMEM_ATOMIC: return (in->flags & EMU_F_SC0) != 0; /* sc0 on an atomic: return the old value */
    case EMU_C_DS_READ: return 1;
    case EMU_C_DS_OTHER: return strstr(m, "_rtn") || strstr(m, "permute") || strstr(m, "swizzle") || strstr(m, "_read") ||
                                strstr(m, "consume") || strstr(m, "append");
    case EMU_C_BRANCH: return starts(m, "s_call") || starts(m, "s_swappc") || starts(m, "s_getpc");
    default: return 0;
  }
}

/* Hand the operands out to dst[] and src[]; false when they do not fit. */
static bool place_operands(const emu_op *op, const emu_line *l, emu_inst *in) {
  in->n_src = (uint8_t)l->n_op; /* count_dsts looks at it: an s_nop has none */
  int n_dst = count_dsts(op, in);
  if (n_dst > l->n_op || n_dst > 2 || l->n_op - n_dst > 5) return false;
  in->n_dst = (uint8_t)n_dst;
  in->n_src = (uint8_t)(l->n_op - n_dst);
  memcpy(in->dst, l->op, (size_t)n_dst * sizeof *l->op);
  memcpy(in->src, l->op + n_dst, in->n_src * sizeof *l->op);
  for (int i = 0; i < in->n_src && !l->has_imm; i++)
    if (in->src[i].kind == EMU_O_CONST && op->cls != EMU_C_DS_OTHER) in->imm = (uint32_t)in->src[i].value;
  return true;
}

static bool bind(const emu_op *op, emu_inst *in) {
  mlaf_err err;
  if (op->cls == EMU_C_MFMA) return emu_mfma_bind(in, &err);
  if (op->cls == EMU_C_VALU || op->cls == EMU_C_TRANS) return emu_valu_bind(in);
  return true;
}

/* `text` is the instruction as printed. Leaves an instruction that faults when it cannot be understood. */
static void parse_line(const lookup *t, const emu_isa *isa, const char *text, emu_inst *in) {
  emu_line l = {0};
  size_t n = strcspn(text, " ");
  const char *rest = text + n + strspn(text + n, " ");
  split_mnemonic(text, n, &l);
  const emu_op *op = lookup_find(t, isa, l.mnemonic);
  in->text = text;
  in->mnemonic = op ? op->mnemonic : "unknown";
  in->exec = unimplemented;
  in->cls = EMU_C_SALU;
  if (!op) return;
  in->cls = op->cls;
  in->dtype = op->dtype;
  in->dwords = op->dwords;
  in->aux = op->aux;
  in->op_sel_hi = 7;
  in->row_mask = in->bank_mask = 15;
  in->sdwa_dst = in->sdwa_src0 = in->sdwa_src1 = 6; /* DWORD */
  in->flags = (l.dpp ? EMU_F_DPP : 0) | (l.sdwa ? EMU_F_SDWA : 0);
  if (op->cls == EMU_C_WAITCNT && strcmp(op->mnemonic, "s_waitcnt") == 0) {
    if (emu_parse_waitcnt(rest, in)) in->exec = op->exec;
    return;
  }
  if (!parse_rest(rest, &l, in) || !place_operands(op, &l, in)) return;
  in->exec = op->exec;
  if (!bind(op, in)) in->exec = unimplemented;
  emu_hazard_bind(in, isa);
}

/* --- the whole text --- */
/* "<hex pc> <size> <text>": cuts the line off at its newline, returns the next line. */
static char *split_line(char *s, uint32_t *pc, uint8_t *size, char **text) {
  char *end = s + strcspn(s, "\n"), *next = *end ? end + 1 : end, *p;
  *end = 0;
  *pc = (uint32_t)strtoul(s, &p, 16);
  *size = *p == ' ' ? (uint8_t)strtoul(p + 1, &p, 10) : 0;
  *text = *p == ' ' ? p + 1 : NULL;
  return next;
}

/* Branch offsets print as unsigned 16-bit words, relative to the next instruction. */
static void resolve_targets(emu_code *c) {
  for (size_t i = 0; i < c->n_insts; i++) {
    emu_inst *in = &c->insts[i];
    in->target = -1;
    if (in->cls != EMU_C_BRANCH || in->n_src == 0 || in->src[in->n_src - 1].kind != EMU_O_CONST) continue;
    int64_t pc = (int64_t)in->pc + 4 + 4 * (int64_t)(int16_t)in->imm;
    if (pc >= 0 && pc / 4 < (int64_t)(c->text_size / 4)) in->target = c->index_of[pc / 4];
  }
}

/* Allocated: as the descriptor says. Shared: a VGPR at or past the first AGPR, in the file's part that holds those. */
typedef enum allocation { ALLOCATED, SHARED, OUTSIDE } allocation;

static allocation allocation_of(const emu_kernel *k, const emu_operand *o) {
  unsigned last = o->reg + (o->count ? o->count : 1u) - 1, v = k->vgprs < k->accum_offset ? k->vgprs : k->accum_offset;
  if (o->kind != EMU_O_VREG) return ALLOCATED;
  if (o->reg >= EMU_AGPR0) return last - EMU_AGPR0 < k->vgprs - v ? ALLOCATED : OUTSIDE;
  return last < v ? ALLOCATED : last < k->vgprs && last < EMU_AGPR0 ? SHARED : OUTSIDE;
}

static allocation worst_allocation(const emu_kernel *k, const emu_inst *in, bool *agprs) {
  allocation worst = ALLOCATED;
  for (int n = 0; n < in->n_dst + in->n_src; n++) {
    const emu_operand *o = n < in->n_dst ? &in->dst[n] : &in->src[n - in->n_dst];
    allocation one = allocation_of(k, o);
    if (one > worst) worst = one;
    *agprs |= o->kind == EMU_O_VREG && o->reg >= EMU_AGPR0;
  }
  return worst;
}

/* The registers that a kernel's descriptor does not allocate belong to another wave on silicon: asm that names them, with
 * a clobber list that does not, faults when it runs. VGPRs where AGPRs should be are the wave's own; a kernel that names no
 * AGPR (some are written so) may be forgiven them. A kernel's code ends where its symbol says, or else the next begins. */
static void check_allocation(emu_code *c, const emu_kernel *k) {
  uint32_t end = UINT32_MAX;
  int32_t first = c->index_of[k->entry / 4];
  bool agprs = false;
  for (size_t i = 0; i < c->n_kernels; i++)
    if (c->kernels[i].entry > k->entry && c->kernels[i].entry < end) end = c->kernels[i].entry;
  if (k->code_bytes && k->entry + k->code_bytes < end) end = k->entry + k->code_bytes;
  size_t from = first < 0 ? c->n_insts : (size_t)first, to = from;
  for (; to < c->n_insts && c->insts[to].pc < end; to++) worst_allocation(k, &c->insts[to], &agprs);
  for (emu_inst *in = c->insts + from; in < c->insts + to; in++) {
    allocation worst = worst_allocation(k, in, &agprs);
    if (worst == ALLOCATED || in->exec == unimplemented) continue;
    if (worst == SHARED && !agprs) in->behind = in->exec;
    in->exec = in->behind ? shared_allocation : outside_allocation;
  }
}

static mlaf_status decode_lines(emu_code *c, const lookup *t, char *disasm, mlaf_err *err) {
  uint64_t pc_end = 0;
  for (char *s = disasm; *s;) {
    emu_inst *in = &c->insts[c->n_insts];
    char *text;
    s = split_line(s, &in->pc, &in->size, &text);
    if (!text || in->pc != pc_end || in->size < 4 || in->size % 4 || in->pc + in->size > c->text_size)
      return mlaf_fail(err, MLAF_E_INTERNAL, "disassembly line %zu is not '<pc> <size> <text>' in sequence (expected pc"
                       " 0x%" PRIx64 "): the disassembler and the emulator disagree", c->n_insts + 1, pc_end);
    parse_line(t, c->isa, text, in);
    c->index_of[in->pc / 4] = (int32_t)c->n_insts;
    c->n_insts++;
    pc_end = (uint64_t)in->pc + in->size;
  }
  emu_inst *guard = &c->insts[c->n_insts];
  *guard = (emu_inst){.exec = ran_off_the_end, .mnemonic = "end", .text = "end of .text", .pc = (uint32_t)pc_end,
                      .cls = EMU_C_NOP, .target = -1};
  return MLAF_OK;
}

mlaf_status emu_code_decode(emu_code *code, char *disasm, mlaf_err *err) {
  size_t lines = 1, words = code->text_size / 4 + 1;
  for (const char *s = disasm; *s; s++) lines += *s == '\n';
  lookup *t = lookup_new();
  if (!code->isa) code->isa = &emu_isas[0];
  free(code->disasm); /* of an earlier attempt that failed */
  free(code->insts);
  free(code->index_of);
  code->n_insts = 0;
  code->disasm = disasm; /* owned from here on: the instructions point into it */
  code->insts = calloc(lines + 1, sizeof *code->insts);
  code->index_of = malloc(words * sizeof *code->index_of);
  mlaf_status st = MLAF_OK;
  if (!t || !code->insts || !code->index_of)
    st = mlaf_fail(err, MLAF_E_NOMEM, "no memory to decode %zu instructions", lines);
  for (size_t i = 0; st == MLAF_OK && i < words; i++) code->index_of[i] = -1;
  if (st == MLAF_OK) st = decode_lines(code, t, disasm, err);
  if (st == MLAF_OK) resolve_targets(code);
  for (size_t i = 0; st == MLAF_OK && i < code->n_kernels; i++) check_allocation(code, &code->kernels[i]);
  if (st == MLAF_OK) emu_turns_bind(code);
  free(t);
  return st;
}

const emu_inst *emu_code_at(const emu_code *code, uint32_t pc) {
  if (pc % 4 || pc >= code->text_size || !code->insts) return NULL;
  int32_t i = code->index_of[pc / 4];
  return i < 0 ? NULL : &code->insts[i];
}
