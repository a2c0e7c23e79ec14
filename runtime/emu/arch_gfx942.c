/* The constants of arch_gfx942.h as values and as a table. */
#include "emu/arch_gfx942.h"

#include <math.h>
#include <string.h>

#define VALUE(type, name, basis, source, value) .name = value,
#define VALUES(type, name, count, basis, source, ...) .name = {__VA_ARGS__},
static const emu_arch published = {EMU_ARCH_CONSTANTS(VALUE, VALUES)};
emu_arch emu_gfx942 = {EMU_ARCH_CONSTANTS(VALUE, VALUES)};

#define ENTRIES(type, name, count, basis, source, ...) \
  {#name, source, EMU_ARCH_##basis, sizeof(type) == sizeof(double), offsetof(emu_arch, name), count},
#define ENTRY(type, name, basis, source, value) ENTRIES(type, name, 1, basis, source, )
const emu_arch_constant emu_arch_constants[] = {EMU_ARCH_CONSTANTS(ENTRY, ENTRIES)};
const size_t emu_arch_n_constants = sizeof emu_arch_constants / sizeof *emu_arch_constants;

bool emu_arch_scale(const char *name, double factor) {
  if (!name) emu_gfx942 = published;
  for (size_t i = 0; name && i < emu_arch_n_constants; i++) {
    const emu_arch_constant *c = &emu_arch_constants[i];
    char *at = (char *)&emu_gfx942 + c->offset;
    if (strcmp(c->name, name) != 0) continue;
    for (size_t k = 0; k < c->count; k++) {
      if (c->real) ((double *)(void *)at)[k] *= factor;
      else ((int *)(void *)at)[k] = (int)lround(((int *)(void *)at)[k] * factor);
    }
    return true;
  }
  return !name;
}
