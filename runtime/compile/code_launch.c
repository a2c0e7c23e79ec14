/* The constant K_launch of a kernel K in its code object. */
#include <elf.h>

#include "compile/compile.h"
#include "compile/elf.h"
#include "compile/vendor.h"

enum { PER_CU_MAX = 32, VALUES_MAX = 256 };

/* Compilers make the constant a local symbol and drivers look up global ones only: hence the symbol table, not the driver. */
static bool find(const mlaf_elf *elf, const char *name, mlaf_elf_symbol *out) {
  mlaf_elf_section table;
  if (!mlaf_elf_section_find(elf, ".symtab", &table) && !mlaf_elf_section_find(elf, ".dynsym", &table)) return false;
  for (uint64_t i = 0; mlaf_elf_symbol_at(elf, &table, i, out); i++)
    if (!strcmp(out->name, name)) return true;
  return false;
}

static mlaf_status check(const mlaf_kernel_launch *l, const char *symbol, mlaf_err *err) {
  bool good = l->magic == MLAF_LAUNCH_MAGIC && l->size == sizeof *l && l->n_maps <= MLAF_MAPS_MAX &&
              !l->schedule && !(l->flags & ~(uint32_t)MLAF_KERNEL_KNOWN) &&
              (l->flags & MLAF_KERNEL_FITS || !(l->flags & (MLAF_KERNEL_MEETS | MLAF_KERNEL_INVARIANT))) &&
              l->per_cu <= PER_CU_MAX && l->values <= VALUES_MAX && l->values_each <= l->values &&
              (!l->values_each || l->values % l->values_each == 0);
  for (uint32_t i = 0; good && i < l->n_maps; i++) good = l->maps[i].of >= 1 && l->maps[i].of <= MLAF_TENSORS_MAX;
  for (int i = 0; good && i < 3; i++) good = l->cluster[i] <= 16;
  return good ? MLAF_OK
              : mlaf_fail(err, MLAF_E_ARG, "%s" MLAF_LAUNCH_SUFFIX " is not what this library reads: the code object was made by "
                          "another version; compile it again", symbol);
}

mlaf_status mlaf_code_launch(const void *code, size_t size, const char *symbol, mlaf_kernel_launch *out, mlaf_err *err) {
  mlaf_elf elf;
  mlaf_elf_symbol found;
  mlaf_elf_section home;
  mlaf_kernel_launch l;
  char name[160];
  *out = (mlaf_kernel_launch){.magic = MLAF_LAUNCH_MAGIC, .size = sizeof *out};
  if (mlaf_vendor_is_code(code, size)) return mlaf_vendor_launch(code, size, symbol, out, err);
  if ((size_t)snprintf(name, sizeof name, "%s" MLAF_LAUNCH_SUFFIX, symbol) >= sizeof name)
    return mlaf_fail(err, MLAF_E_ARG, "kernel name '%s' is too long", symbol);
  /* An image that is no ELF file says nothing; whether a device takes it is that device's business. */
  if (mlaf_elf_open(code, size, &elf, NULL) || !find(&elf, name, &found)) return MLAF_OK;
  bool there = mlaf_elf_section_at(&elf, found.section, &home) && home.data && found.size == sizeof l && home.size >= sizeof l;
  /* Values are section offsets in the relocatable ELF that cubins are, addresses in a shared object (AMD's). */
  const uint64_t at = found.value - (there && elf.type == ET_DYN ? home.addr : 0);
  if (!there || at > home.size - sizeof l)
    return mlaf_fail(err, MLAF_E_ARG, "%s has %llu bytes where %zu are expected: compile it again", name,
                     (unsigned long long)found.size, sizeof l);
  memcpy(&l, home.data + at, sizeof l);
  mlaf_status st = check(&l, symbol, err);
  if (!st) *out = l;
  return st;
}
