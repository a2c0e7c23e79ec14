/* A bounds-checked look into ELF64 images: code objects and the compiler's own libraries. Never trusts an offset. */
#pragma once

#include "base/base.h"

typedef struct mlaf_elf {
  const unsigned char *data;
  size_t size;
  uint16_t type, machine;
  uint32_t flags;
  uint64_t phoff, shoff;
  uint32_t phnum, shnum, shstrndx;
} mlaf_elf;

typedef struct mlaf_elf_section {
  const char *name; /* points into the image, "" if unnamed */
  uint32_t type, link;
  uint64_t addr, size, entsize;
  const unsigned char *data; /* NULL for sections without bytes in the file */
} mlaf_elf_section;

typedef struct mlaf_elf_symbol {
  const char *name;
  uint64_t value, size;
  uint16_t section;
} mlaf_elf_symbol;

typedef struct mlaf_elf_note {
  const char *name; /* NUL-terminated owner */
  uint32_t type, size;
  const unsigned char *desc;
} mlaf_elf_note;

/* The one code object for `target` in `data`: the data itself, or an entry of a clang offload bundle (target NULL: its
 * first for any AMD GPU). */
mlaf_status mlaf_code_object_find(const char *target, const void *data, size_t size, const void **code, size_t *code_size,
                                  mlaf_err *err);
mlaf_status mlaf_elf_open(const void *data, size_t size, mlaf_elf *out, mlaf_err *err);
/* i-th section; false past the end or when it does not lie inside the image. */
bool mlaf_elf_section_at(const mlaf_elf *e, uint32_t i, mlaf_elf_section *out);
bool mlaf_elf_section_find(const mlaf_elf *e, const char *name, mlaf_elf_section *out);
/* i-th symbol of a SHT_SYMTAB/SHT_DYNSYM section. */
bool mlaf_elf_symbol_at(const mlaf_elf *e, const mlaf_elf_section *table, uint64_t i, mlaf_elf_symbol *out);
/* Bytes behind a virtual address (through the sections), NULL if not all of them are in the file. */
const unsigned char *mlaf_elf_at(const mlaf_elf *e, uint64_t address, uint64_t size);
/* First note with this owner and type in any PT_NOTE segment. */
bool mlaf_elf_note_find(const mlaf_elf *e, const char *owner, uint32_t type, mlaf_elf_note *out);
