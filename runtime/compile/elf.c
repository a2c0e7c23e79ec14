/* ELF64 reading for code objects. Every offset and count in the file is checked before it is used, because cache files
 * may be torn and users may pass anything. */
#include "compile/elf.h"

#include <elf.h>

/* offset..offset+size inside an image of `total` bytes, without overflow. */
static bool inside(uint64_t offset, uint64_t size, uint64_t total) { return offset <= total && size <= total - offset; }

mlaf_status mlaf_elf_open(const void *data, size_t size, mlaf_elf *out, mlaf_err *err) {
  Elf64_Ehdr h;
  if (size < sizeof h) return mlaf_fail(err, MLAF_E_ARG, "not a code object: %zu bytes are less than an ELF header", size);
  memcpy(&h, data, sizeof h);
  if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
    return mlaf_fail(err, MLAF_E_ARG, "not a code object: no little-endian ELF64 header");
  mlaf_elf e = {data, size, h.e_type, h.e_machine, h.e_flags, h.e_phoff, h.e_shoff, h.e_phnum, h.e_shnum, h.e_shstrndx};
  if (e.phnum && (h.e_phentsize != sizeof(Elf64_Phdr) || !inside(e.phoff, (uint64_t)e.phnum * sizeof(Elf64_Phdr), size)))
    return mlaf_fail(err, MLAF_E_ARG, "torn ELF image: program headers lie outside its %zu bytes", size);
  if (e.shnum && (h.e_shentsize != sizeof(Elf64_Shdr) || !inside(e.shoff, (uint64_t)e.shnum * sizeof(Elf64_Shdr), size)))
    return mlaf_fail(err, MLAF_E_ARG, "torn ELF image: section headers lie outside its %zu bytes", size);
  *out = e;
  return MLAF_OK;
}

/* A NUL-terminated string at `offset` of a table, "" if it is not one. */
static const char *string_at(const unsigned char *table, uint64_t size, uint64_t offset) {
  if (!table || offset >= size || !memchr(table + offset, 0, (size_t)(size - offset))) return "";
  return (const char *)table + offset;
}

static bool raw_section(const mlaf_elf *e, uint32_t i, Elf64_Shdr *out) {
  if (i >= e->shnum) return false;
  memcpy(out, e->data + e->shoff + (uint64_t)i * sizeof *out, sizeof *out);
  return out->sh_type == SHT_NOBITS || inside(out->sh_offset, out->sh_size, e->size);
}

bool mlaf_elf_section_at(const mlaf_elf *e, uint32_t i, mlaf_elf_section *out) {
  Elf64_Shdr s, names;
  if (!raw_section(e, i, &s)) return false;
  bool named = raw_section(e, e->shstrndx, &names) && names.sh_type == SHT_STRTAB;
  *out = (mlaf_elf_section){
      .name = named ? string_at(e->data + names.sh_offset, names.sh_size, s.sh_name) : "",
      .type = s.sh_type,
      .link = s.sh_link,
      .addr = s.sh_addr,
      .size = s.sh_size,
      .entsize = s.sh_entsize,
      .data = s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL ? NULL : e->data + s.sh_offset,
  };
  return true;
}

bool mlaf_elf_section_find(const mlaf_elf *e, const char *name, mlaf_elf_section *out) {
  for (uint32_t i = 0; i < e->shnum; i++)
    if (mlaf_elf_section_at(e, i, out) && strcmp(out->name, name) == 0) return true;
  return false;
}

bool mlaf_elf_symbol_at(const mlaf_elf *e, const mlaf_elf_section *table, uint64_t i, mlaf_elf_symbol *out) {
  Elf64_Sym s;
  if (!table->data || i >= table->size / sizeof s) return false;
  memcpy(&s, table->data + i * sizeof s, sizeof s);
  mlaf_elf_section strings;
  bool named = mlaf_elf_section_at(e, table->link, &strings) && strings.type == SHT_STRTAB;
  out->name = named ? string_at(strings.data, strings.size, s.st_name) : "";
  out->value = s.st_value;
  out->size = s.st_size;
  out->section = s.st_shndx;
  return true;
}

const unsigned char *mlaf_elf_at(const mlaf_elf *e, uint64_t address, uint64_t size) {
  for (uint32_t i = 0; i < e->shnum; i++) {
    mlaf_elf_section s;
    if (!mlaf_elf_section_at(e, i, &s) || !s.data || !s.addr || address < s.addr) continue;
    if (inside(address - s.addr, size, s.size)) return s.data + (address - s.addr);
  }
  return NULL;
}

static uint64_t align4(uint64_t n) { return (n + 3) & ~(uint64_t)3; }

static bool note_in(const unsigned char *p, uint64_t left, const char *owner, uint32_t type, mlaf_elf_note *out) {
  Elf64_Nhdr h;
  while (left >= sizeof h) {
    memcpy(&h, p, sizeof h);
    uint64_t name = align4(h.n_namesz), desc = align4(h.n_descsz);
    if (!inside(sizeof h + name, h.n_descsz, left)) return false;
    const char *text = (const char *)p + sizeof h;
    if (h.n_type == type && h.n_namesz == strlen(owner) + 1 && memcmp(text, owner, h.n_namesz) == 0) {
      *out = (mlaf_elf_note){text, h.n_type, h.n_descsz, p + sizeof h + name};
      return true;
    }
    uint64_t step = sizeof h + name + desc;
    if (step > left) return false; /* padding of the last note may be cut off: nothing follows it */
    p += step;
    left -= step;
  }
  return false;
}

bool mlaf_elf_note_find(const mlaf_elf *e, const char *owner, uint32_t type, mlaf_elf_note *out) {
  for (uint32_t i = 0; i < e->phnum; i++) {
    Elf64_Phdr ph;
    memcpy(&ph, e->data + e->phoff + (uint64_t)i * sizeof ph, sizeof ph);
    if (ph.p_type != PT_NOTE || !inside(ph.p_offset, ph.p_filesz, e->size)) continue;
    if (note_in(e->data + ph.p_offset, ph.p_filesz, owner, type, out)) return true;
  }
  return false;
}

/* Clang offload bundle: "__CLANG_OFFLOAD_BUNDLE__", u64 count, then {u64 offset, u64 size, u64 id length, id}. */
static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";

static bool take_u64(const unsigned char **p, uint64_t *left, uint64_t *out) {
  if (*left < sizeof *out) return false;
  memcpy(out, *p, sizeof *out);
  *p += sizeof *out;
  *left -= sizeof *out;
  return true;
}

/* "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" names target "gfx942" as well as its own full id; NULL is any GPU. */
static bool bundle_id_matches(const char *id, uint64_t len, const char *target) {
  if (!target) return memmem(id, (size_t)len, "amdgcn", 6) != NULL;
  const char *arch = memmem(id, (size_t)len, "--", 2);
  if (!arch) return false;
  arch += 2;
  size_t have = (size_t)(len - (uint64_t)(arch - id)), want = strlen(target);
  return have >= want && memcmp(arch, target, want) == 0 && (have == want || arch[want] == ':');
}

mlaf_status mlaf_code_object_find(const char *target, const void *data, size_t size, const void **code, size_t *code_size,
                                  mlaf_err *err) {
  size_t magic = sizeof bundle_magic - 1;
  if (size >= 4 && memcmp(data, "CCOB", 4) == 0)
    return mlaf_fail(err, MLAF_E_ARG, "a compressed offload bundle: unpack it first (clang-offload-bundler --unbundle)");
  if (size < magic || memcmp(data, bundle_magic, magic) != 0) {
    *code = data;
    *code_size = size;
    return MLAF_OK;
  }
  const unsigned char *p = (const unsigned char *)data + magic;
  uint64_t left = size - magic, count;
  if (!take_u64(&p, &left, &count)) return mlaf_fail(err, MLAF_E_ARG, "torn offload bundle of %zu bytes", size);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t at, bytes, len;
    if (!take_u64(&p, &left, &at) || !take_u64(&p, &left, &bytes) || !take_u64(&p, &left, &len) || len > left)
      return mlaf_fail(err, MLAF_E_ARG, "torn offload bundle of %zu bytes", size);
    if (bytes && inside(at, bytes, size) && bundle_id_matches((const char *)p, len, target)) {
      *code = (const unsigned char *)data + at;
      *code_size = (size_t)bytes;
      return MLAF_OK;
    }
    p += len;
    left -= len;
  }
  return mlaf_fail(err, MLAF_E_ARG, "the offload bundle holds no code object for %s", target ? target : "an AMD GPU");
}
