/* ELF64 AMDGPU code object -> kernels: the loadable image, .text, and the 64-byte kernel descriptors behind the
 * `<kernel>.kd` symbols (LLVM AMDGPUUsage, "Kernel Descriptor"). Every offset in the file is hostile until checked:
 * tuning databases and caches hand us files that a crash may have torn. */
#include <elf.h>

#include "emu/emu.h"

enum { EM_AMDGPU_ = 224, KD_SIZE = 64, MAX_IMAGE_SPAN = 64 << 20, RELOC_ABS64 = 3, RELOC_RELATIVE64 = 13 };

static bool range_ok(size_t size, uint64_t off, uint64_t n) { return off <= size && n <= size - off; }

/* Section header i, or NULL when it or its contents lie outside the file. */
static const Elf64_Shdr *section(const emu_code *c, unsigned i) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->image;
  if (i >= eh->e_shnum || !range_ok(c->size, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr))) return NULL;
  const Elf64_Shdr *sh = (const Elf64_Shdr *)(c->image + eh->e_shoff) + i;
  if (sh->sh_type != SHT_NOBITS && !range_ok(c->size, sh->sh_offset, sh->sh_size)) return NULL;
  return sh;
}

/* String at `off` of a string table, "" when it does not end inside the table. */
static const char *text_at(const emu_code *c, const Elf64_Shdr *strtab, uint64_t off) {
  if (!strtab || strtab->sh_type != SHT_STRTAB || off >= strtab->sh_size) return "";
  const char *s = (const char *)c->image + strtab->sh_offset + off;
  return memchr(s, 0, strtab->sh_size - off) ? s : "";
}

static const Elf64_Shdr *section_named(const emu_code *c, const char *name) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->image;
  const Elf64_Shdr *names = section(c, eh->e_shstrndx);
  for (unsigned i = 0; names && i < eh->e_shnum; i++) {
    const Elf64_Shdr *sh = section(c, i);
    if (sh && strcmp(text_at(c, names, sh->sh_name), name) == 0) return sh;
  }
  return NULL;
}

static uint32_t u32_at(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

static bool bit(uint32_t v, int i) { return v >> i & 1; }

/* Decode one descriptor; false when its entry point is not an instruction address in .text. */
static bool read_descriptor(const emu_code *c, const uint8_t *kd, uint64_t kd_addr, emu_kernel *k) {
  int64_t entry;
  memcpy(&entry, kd + 16, 8);
  uint64_t pc = kd_addr + (uint64_t)entry - c->text_addr;
  if (pc >= c->text_size || pc % 4) return false;
  k->entry = (uint32_t)pc;
  k->lds_bytes = u32_at(kd);
  k->scratch_bytes = u32_at(kd + 4);
  k->kernarg_bytes = u32_at(kd + 8);
  k->rsrc3 = u32_at(kd + 44);
  k->rsrc1 = u32_at(kd + 48);
  k->rsrc2 = u32_at(kd + 52);
  uint32_t props = u32_at(kd + 56) & 0xffff, preload = u32_at(kd + 56) >> 16;
  k->vgprs = ((k->rsrc1 & 0x3f) + 1) * 8; /* unified file, granule 8 on gfx90a and later */
  k->accum_offset = ((k->rsrc3 & 0x3f) + 1) * 4;
  k->user_sgprs = k->rsrc2 >> 1 & 0x1f;
  k->sgpr_private_buffer = bit(props, 0);
  k->sgpr_dispatch_ptr = bit(props, 1);
  k->sgpr_queue_ptr = bit(props, 2);
  k->sgpr_kernarg_ptr = bit(props, 3);
  k->sgpr_dispatch_id = bit(props, 4);
  k->sgpr_flat_scratch = bit(props, 5);
  k->sgpr_private_size = bit(props, 6);
  k->dynamic_stack = bit(props, 11);
  for (int i = 0; i < 3; i++) k->sgpr_wg[i] = bit(k->rsrc2, 7 + i);
  k->sgpr_wg_info = bit(k->rsrc2, 10);
  k->sgpr_wave_offset = bit(k->rsrc2, 0);
  k->vgpr_workitem = k->rsrc2 >> 11 & 3;
  k->kernarg_preload_len = preload & 0x7f;
  k->kernarg_preload_offset = preload >> 7;
  return true;
}

/* File bytes behind a virtual address through the section that holds it. */
static const uint8_t *bytes_at(const emu_code *c, uint64_t addr, uint64_t n, unsigned shndx) {
  const Elf64_Shdr *sh = section(c, shndx);
  if (!sh || sh->sh_type == SHT_NOBITS || addr < sh->sh_addr || !range_ok(sh->sh_size, addr - sh->sh_addr, n))
    return NULL;
  return c->image + sh->sh_offset + (addr - sh->sh_addr);
}

static mlaf_status read_symbols(emu_code *c, const Elf64_Shdr *table, mlaf_err *err) {
  const Elf64_Shdr *strings = section(c, table->sh_link);
  size_t n = table->sh_size / sizeof(Elf64_Sym);
  c->kernels = calloc(n ? n : 1, sizeof *c->kernels);
  if (!c->kernels) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu symbols of a code object", n);
  for (size_t i = 0; i < n; i++) {
    const Elf64_Sym *sym = (const Elf64_Sym *)(c->image + table->sh_offset) + i;
    const char *name = text_at(c, strings, sym->st_name);
    size_t len = strlen(name);
    if (len < 4 || strcmp(name + len - 3, ".kd") != 0) continue;
    emu_kernel *k = &c->kernels[c->n_kernels];
    const uint8_t *kd = bytes_at(c, sym->st_value, KD_SIZE, sym->st_shndx);
    if (len - 3 >= sizeof k->symbol)
      return mlaf_fail(err, MLAF_E_ARG, "kernel name of %zu characters; at most %zu", len - 3, sizeof k->symbol - 1);
    if (!kd || !read_descriptor(c, kd, sym->st_value, k))
      return mlaf_fail(err, MLAF_E_ARG, "code object: descriptor of kernel '%.*s' is outside its section or its entry"
                       " is not in .text: the file is damaged; recompile it", (int)len - 3, name);
    memcpy(k->symbol, name, len - 3);
    c->n_kernels++;
  }
  return MLAF_OK;
}

/* Functions that kernels call lie between them in .text: a kernel's own code is as long as its symbol says. */
static void read_sizes(emu_code *c, const Elf64_Shdr *table) {
  const Elf64_Shdr *strings = section(c, table->sh_link);
  for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
    const Elf64_Sym *sym = (const Elf64_Sym *)(c->image + table->sh_offset) + i;
    if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC) continue;
    for (size_t k = 0; k < c->n_kernels; k++)
      if (sym->st_value == c->text_addr + c->kernels[k].entry && sym->st_size <= c->text_size &&
          strcmp(text_at(c, strings, sym->st_name), c->kernels[k].symbol) == 0) c->kernels[k].code_bytes = (uint32_t)sym->st_size;
  }
}

static mlaf_status check_header(emu_code *c, mlaf_err *err) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->image;
  if (c->size < sizeof *eh || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
    return mlaf_fail(err, MLAF_E_ARG, "not an ELF file (%zu bytes): expected a code object from hiprtc", c->size);
  if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != EM_AMDGPU_)
    return mlaf_fail(err, MLAF_E_ARG, "ELF file for machine %u, not an AMDGPU code object (%d)", eh->e_machine,
                     EM_AMDGPU_);
  if (!(c->isa = emu_isa_of(eh->e_flags & 0xff)))
    return mlaf_fail(err, MLAF_E_ARG, "code object for AMDGPU machine 0x%x, which the emulator does not know: compile for gfx942,"
                     " gfx950 or gfx90a", eh->e_flags & 0xff);
  if (eh->e_shoff % 8 || eh->e_phoff % 8)
    return mlaf_fail(err, MLAF_E_ARG, "code object with misaligned headers: the file is damaged; recompile it");
  return MLAF_OK;
}

/* Section contents are used in place as structs: their offsets must be aligned. */
static const Elf64_Shdr *symbol_table(const emu_code *c) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->image;
  const Elf64_Shdr *found = NULL;
  for (unsigned i = 0; i < eh->e_shnum; i++) {
    const Elf64_Shdr *sh = section(c, i);
    if (!sh || (sh->sh_type != SHT_SYMTAB && sh->sh_type != SHT_DYNSYM)) continue;
    if (sh->sh_entsize != sizeof(Elf64_Sym) || sh->sh_offset % 8) continue;
    if (!found || sh->sh_type == SHT_DYNSYM) found = sh; /* .dynsym survives stripping and has every kernel */
  }
  return found;
}

mlaf_status emu_code_open(const void *elf, size_t size, emu_code **out, mlaf_err *err) {
  emu_code *c = calloc(1, sizeof *c);
  if (c) c->image = malloc(size ? size : 1);
  if (!c || !c->image) {
    free(c);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a code object of %zu bytes", size);
  }
  memcpy(c->image, elf, size);
  c->size = size;
  mlaf_status st = check_header(c, err);
  const Elf64_Shdr *text = st == MLAF_OK ? section_named(c, ".text") : NULL;
  const Elf64_Shdr *symbols = st == MLAF_OK ? symbol_table(c) : NULL;
  if (st == MLAF_OK && (!text || !symbols || text->sh_type != SHT_PROGBITS || text->sh_size > UINT32_MAX))
    st = mlaf_fail(err, MLAF_E_ARG, "code object without .text or symbols: the file is damaged; recompile it");
  if (st == MLAF_OK) {
    c->text_addr = text->sh_addr;
    c->text_size = text->sh_size;
    st = read_symbols(c, symbols, err);
    if (st == MLAF_OK) read_sizes(c, symbols);
  }
  if (st != MLAF_OK) {
    emu_code_close(c);
    return st;
  }
  *out = c;
  return MLAF_OK;
}

void emu_code_close(emu_code *code) {
  if (!code) return;
  free(code->image);
  free(code->kernels);
  free(code->insts);
  free(code->index_of);
  free(code->disasm);
  free(code);
}

/* Program header i if it is a PT_LOAD that lies inside the file and below the span limit. */
static const Elf64_Phdr *load_segment(const emu_code *c, unsigned i) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->image;
  if (!range_ok(c->size, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr))) return NULL;
  const Elf64_Phdr *ph = (const Elf64_Phdr *)(c->image + eh->e_phoff) + i;
  if (ph->p_type != PT_LOAD || !range_ok(c->size, ph->p_offset, ph->p_filesz)) return NULL;
  if (ph->p_filesz > ph->p_memsz || !range_ok(MAX_IMAGE_SPAN, ph->p_vaddr, ph->p_memsz)) return NULL;
  return ph;
}

size_t emu_code_span(const emu_code *code) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)code->image;
  size_t span = 0;
  for (unsigned i = 0; i < eh->e_phnum; i++) {
    const Elf64_Phdr *ph = load_segment(code, i);
    if (ph && ph->p_vaddr + ph->p_memsz > span) span = ph->p_vaddr + ph->p_memsz;
  }
  return span;
}

/* The relocations that static HIP code objects carry: pointers inside the image itself. */
static mlaf_status relocate(const emu_code *c, uint8_t *at, size_t span, mlaf_err *err) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->image;
  for (unsigned s = 0; s < eh->e_shnum; s++) {
    const Elf64_Shdr *sh = section(c, s);
    if (!sh || sh->sh_type != SHT_RELA || sh->sh_offset % 8) continue;
    for (size_t i = 0; i < sh->sh_size / sizeof(Elf64_Rela); i++) {
      const Elf64_Rela *r = (const Elf64_Rela *)(c->image + sh->sh_offset) + i;
      const Elf64_Shdr *table = section(c, sh->sh_link);
      uint64_t index = ELF64_R_SYM(r->r_info), value = (uint64_t)(uintptr_t)at + (uint64_t)r->r_addend;
      bool ok = range_ok(span, r->r_offset, 8);
      if (ELF64_R_TYPE(r->r_info) == RELOC_ABS64 && table && index < table->sh_size / sizeof(Elf64_Sym))
        value += ((const Elf64_Sym *)(c->image + table->sh_offset))[index].st_value;
      else if (ELF64_R_TYPE(r->r_info) != RELOC_RELATIVE64) ok = false;
      if (!ok)
        return mlaf_fail(err, MLAF_E_ARG, "code object: relocation type %u at 0x%llx is not supported",
                         (unsigned)ELF64_R_TYPE(r->r_info), (unsigned long long)r->r_offset);
      memcpy(at + r->r_offset, &value, 8);
    }
  }
  return MLAF_OK;
}

mlaf_status emu_code_place(emu_code *code, void *at, size_t span, mlaf_err *err) {
  const Elf64_Ehdr *eh = (const Elf64_Ehdr *)code->image;
  memset(at, 0, span);
  for (unsigned i = 0; i < eh->e_phnum; i++) {
    const Elf64_Phdr *ph = load_segment(code, i);
    if (ph && range_ok(span, ph->p_vaddr, ph->p_memsz))
      memcpy((uint8_t *)at + ph->p_vaddr, code->image + ph->p_offset, ph->p_filesz);
  }
  mlaf_status st = relocate(code, at, span, err);
  if (st == MLAF_OK) code->guest_base = (uint64_t)(uintptr_t)at;
  return st;
}
