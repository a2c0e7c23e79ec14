/* Cubins for the fake CUDA driver, which looks at nothing in them but what the back end reads, too. */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ops/mla_decode/launch.h"

/* The least that passes for a cubin: sections null, names, data and symbols, which say what two kernels want of their
 * launch. */
typedef struct cubin {
  Elf64_Ehdr head;
  Elf64_Shdr sections[6]; /* the last two are there with metadata alone */
  Elf64_Sym symbols[4];
  mlaf_kernel_launch data[2];
  uint32_t info[3], own[5]; /* .nv.info and .nv.info.<kernel> */
  char names[160];
} cubin;

static uint32_t put_name(cubin *c, size_t *used, const char *name) {
  uint32_t at = (uint32_t)*used;
  *used += (size_t)snprintf(c->names + at, sizeof c->names - at, "%s", name) + 1;
  return at;
}

/* Two kernels, whose launches c->data says. */
static void make_cubin_of(cubin *c, unsigned machine, const char *first, const char *second) {
  size_t used = 1;
  memset(c, 0, sizeof *c);
  c->head = (Elf64_Ehdr){.e_type = ET_EXEC, .e_machine = (Elf64_Half)machine, .e_version = 1, .e_ehsize = sizeof c->head,
                         .e_shoff = offsetof(cubin, sections), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4,
                         .e_shstrndx = 1};
  memcpy(c->head.e_ident, ELFMAG, SELFMAG);
  c->head.e_ident[EI_CLASS] = ELFCLASS64;
  c->head.e_ident[EI_DATA] = ELFDATA2LSB;
  c->head.e_ident[EI_VERSION] = 1;
  for (unsigned i = 0; i < 2; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s" MLAF_LAUNCH_SUFFIX, i ? second : first);
    c->data[i] = (mlaf_kernel_launch){.magic = MLAF_LAUNCH_MAGIC, .size = sizeof *c->data};
    c->symbols[1 + i] = (Elf64_Sym){.st_name = put_name(c, &used, name),
                                    .st_info = STT_OBJECT, .st_shndx = 2, .st_value = i * sizeof *c->data,
                                    .st_size = sizeof *c->data};
  }
  c->sections[2] = (Elf64_Shdr){.sh_name = put_name(c, &used, ".nv.global.init"), .sh_type = SHT_PROGBITS,
                                .sh_offset = offsetof(cubin, data), .sh_size = sizeof c->data};
  c->sections[3] = (Elf64_Shdr){.sh_name = put_name(c, &used, ".symtab"), .sh_type = SHT_SYMTAB, .sh_link = 1,
                                .sh_offset = offsetof(cubin, symbols), .sh_size = 3 * sizeof *c->symbols,
                                .sh_entsize = sizeof(Elf64_Sym)};
  c->sections[1] = (Elf64_Shdr){.sh_name = put_name(c, &used, ".strtab"), .sh_type = SHT_STRTAB,
                                .sh_offset = offsetof(cubin, names), .sh_size = sizeof c->names};
}

/* And what NVRTC says of one kernel: registers, bytes of parameters, threads. */
static inline void put_cubin_meta(cubin *c, const char *kernel, uint32_t bytes, uint32_t threads) {
  size_t used = sizeof c->names;
  char own[64];
  while (used && !c->names[used - 1]) used--;
  used++;
  snprintf(own, sizeof own, ".nv.info.%s", kernel);
  c->symbols[3] = (Elf64_Sym){.st_name = put_name(c, &used, kernel), .st_info = STT_FUNC, .st_shndx = 2};
  c->sections[3].sh_size = sizeof c->symbols;
  const uint32_t info[] = {0x00082f04, 3, 32}, of_kernel[] = {0x00001903 | bytes << 16, 0x000c0504, threads, 1, 1};
  memcpy(c->info, info, sizeof info);
  memcpy(c->own, of_kernel, sizeof of_kernel);
  c->sections[4] = (Elf64_Shdr){.sh_name = put_name(c, &used, ".nv.info"), .sh_type = SHT_PROGBITS,
                                .sh_offset = offsetof(cubin, info), .sh_size = sizeof c->info};
  c->sections[5] = (Elf64_Shdr){.sh_name = put_name(c, &used, own), .sh_type = SHT_PROGBITS,
                                .sh_offset = offsetof(cubin, own), .sh_size = sizeof c->own};
  c->head.e_shnum = 6;
}
