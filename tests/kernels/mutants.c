/* Which mutants there are, and their bytes. */
#include "mutants.h"

#include <elf.h>

#include "cmocka_all.h"

/* SOPP encodings (CDNA3 ISA 12.5): the opcode in [22:16], the immediate below. */
enum {
  S_NOP = 0xbf800000, S_BARRIER = 0xbf8a0000, S_WAITCNT = 0xbf8c0000, SOPP_MASK = 0xffff0000, VMCNT_MAX = 63, LGKMCNT_MAX = 15
};

const char *mutation_name(mutation kind) {
  static const char *const names[MU_KINDS] = {
      [MU_WAIT_DROP] = "s_waitcnt dropped", [MU_WAIT_VM] = "vmcnt + 1",      [MU_WAIT_LGKM] = "lgkmcnt + 1",
      [MU_BARRIER] = "s_barrier dropped",   [MU_NOP_LESS] = "s_nop n - 1",   [MU_NOP_NONE] = "s_nop 0",
      [MU_NOP_EARLY] = "s_nop moved up"};
  return names[kind];
}

static uint32_t word_at(const emu_code *c, uint32_t pc) {
  const uint8_t *text = NULL;
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->image;
  const Elf64_Shdr *sh = (const Elf64_Shdr *)(c->image + eh->e_shoff);
  for (int i = 0; i < eh->e_shnum; i++)
    if (sh[i].sh_addr == c->text_addr && sh[i].sh_flags & SHF_EXECINSTR) text = c->image + sh[i].sh_offset;
  uint32_t w;
  assert_non_null(text);
  memcpy(&w, text + pc, 4);
  return w;
}

static void add(mutant **list, size_t *n, mutant m) {
  if ((*n & (*n - 1)) == 0) *list = realloc(*list, (*n ? 2 * *n : 1) * sizeof **list);
  (*list)[(*n)++] = m;
}

static void add_word(mutant **list, size_t *n, const emu_inst *in, uint32_t index, mutation kind, uint32_t word) {
  mutant m = {.kind = kind, .inst = index, .pc = in->pc, .size = 4};
  memcpy(m.bytes, &word, 4);
  add(list, n, m);
}

static void add_waits(mutant **list, size_t *n, const emu_inst *in, uint32_t index, uint32_t word) {
  uint32_t vm = (word & 15) | (word >> 10 & 48), lgkm = word >> 8 & 15;
  add_word(list, n, in, index, MU_WAIT_DROP, S_NOP);
  if (vm < VMCNT_MAX) {
    vm++;
    add_word(list, n, in, index, MU_WAIT_VM, (word & ~0xc00fu) | (vm & 15) | (vm & 48) << 10);
  }
  if (lgkm < LGKMCNT_MAX) add_word(list, n, in, index, MU_WAIT_LGKM, word + 0x100);
}

static bool is_target(const emu_code *c, int32_t index) {
  for (size_t i = 0; i < c->n_insts; i++)
    if (c->insts[i].cls == EMU_C_BRANCH && c->insts[i].target == index) return true;
  return false;
}

/* `producer; s_nop; consumer` becomes `s_nop; producer; consumer`. Not across branches, nor where a branch lands. */
static void add_moved(mutant **list, size_t *n, const emu_code *c, uint32_t index, uint32_t word) {
  const emu_inst *before = &c->insts[index - 1];
  mutant m = {.kind = MU_NOP_EARLY, .inst = index, .pc = before->pc, .size = (uint8_t)(before->size + 4)};
  if (before->cls == EMU_C_BRANCH || before->cls == EMU_C_END || before->cls == EMU_C_NOP || is_target(c, (int32_t)index)) return;
  memcpy(m.bytes, &word, 4);
  for (uint32_t i = 0; i < before->size; i += 4) {
    uint32_t w = word_at(c, before->pc + i);
    memcpy(m.bytes + 4 + i, &w, 4);
  }
  add(list, n, m);
}

size_t mutants_list(const emu_code *c, mutant **out) {
  size_t n = 0;
  *out = NULL;
  for (uint32_t i = 1; i < c->n_insts; i++) {
    const emu_inst *in = &c->insts[i];
    if (in->size != 4) continue;
    uint32_t word = word_at(c, in->pc), op = word & SOPP_MASK;
    if (op == S_WAITCNT) add_waits(out, &n, in, i, word);
    if (op == S_BARRIER) add_word(out, &n, in, i, MU_BARRIER, S_NOP);
    if (op != S_NOP) continue;
    if (word & 15) add_word(out, &n, in, i, MU_NOP_LESS, word - 1);
    if ((word & 15) > 1) add_word(out, &n, in, i, MU_NOP_NONE, S_NOP);
    add_moved(out, &n, c, i, word);
  }
  return n;
}

void *mutant_code(const void *elf, size_t size, const mutant *m) {
  uint8_t *copy = malloc(size);
  memcpy(copy, elf, size);
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)copy;
  const Elf64_Shdr *sh = (const Elf64_Shdr *)(copy + eh->e_shoff);
  int patched = 0;
  for (int i = 0; i < eh->e_shnum; i++)
    if (sh[i].sh_flags & SHF_EXECINSTR) {
      memcpy(copy + sh[i].sh_offset + m->pc, m->bytes, m->size);
      patched++;
    }
  assert_int_equal(patched, 1);
  return copy;
}
