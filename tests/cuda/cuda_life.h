/* One pass through everything the cuda back end does, on the fake driver; and the cubin it loads. */
#ifndef MLAF_TEST_CUDA_LIFE_H
#define MLAF_TEST_CUDA_LIFE_H

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "core/launch.h"
#include "cuda/cuda_device.h"
#include "cuda/fakecuda.h"

/* The least that passes for a cubin: sections null, names, data and symbols, which say what "big" and "huge" want of their
 * launch. */
typedef struct cubin {
  Elf64_Ehdr head;
  Elf64_Shdr sections[4];
  Elf64_Sym symbols[3];
  mlaf_kernel_launch data[2];
  char names[96];
} cubin;

static uint32_t put_name(cubin *c, size_t *used, const char *name) {
  uint32_t at = (uint32_t)*used;
  *used += (size_t)snprintf(c->names + at, sizeof c->names - at, "%s", name) + 1;
  return at;
}

static void make_cubin(cubin *c, unsigned machine) {
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
    c->data[i] = (mlaf_kernel_launch){.magic = MLAF_LAUNCH_MAGIC, .size = sizeof *c->data,
                                      .dynamic_shared = i ? 300000 : FAKE_SHARED};
    c->symbols[1 + i] = (Elf64_Sym){.st_name = put_name(c, &used, i ? "huge" MLAF_LAUNCH_SUFFIX : "big" MLAF_LAUNCH_SUFFIX),
                                    .st_info = STT_OBJECT, .st_shndx = 2, .st_value = i * sizeof *c->data,
                                    .st_size = sizeof *c->data};
  }
  c->sections[2] = (Elf64_Shdr){.sh_name = put_name(c, &used, ".nv.global.init"), .sh_type = SHT_PROGBITS,
                                .sh_offset = offsetof(cubin, data), .sh_size = sizeof c->data};
  c->sections[3] = (Elf64_Shdr){.sh_name = put_name(c, &used, ".symtab"), .sh_type = SHT_SYMTAB, .sh_link = 1,
                                .sh_offset = offsetof(cubin, symbols), .sh_size = sizeof c->symbols,
                                .sh_entsize = sizeof(Elf64_Sym)};
  c->sections[1] = (Elf64_Shdr){.sh_name = put_name(c, &used, ".strtab"), .sh_type = SHT_STRTAB,
                                .sh_offset = offsetof(cubin, names), .sh_size = sizeof c->names};
}

/* Memory, a kernel with a struct by value, and its timing: one pass through everything the back end does. */
static mlaf_status use_kernel(mlaf_device *dev, uint32_t *mem, void *stream, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  cubin code;
  uint32_t back[16] = {0};
  mlaf_module *m = NULL;
  mlaf_function *fill = NULL, *big = NULL;
  mlaf_timing timing;
  const mlaf_time_opts once = {.warmup = 1, .min_samples = 1, .max_samples = 1, .min_window_ns = 1e4, .limit_s = 1};
  make_cubin(&code, 190);
  mlaf_status st = ops->module_load(dev, &code, sizeof code, &m, err);
  if (!st) st = ops->function_get(dev, m, "fill", &fill, err);
  if (!st) st = ops->function_get(dev, m, "big", &big, err);
  const fake_fill args = {mem + 3, 77, 5};
  const mlaf_launch l[2] = {{.fn = fill, .grid = {2, 3, 4}, .block = {32, 1, 1}, .args = &args, .args_size = sizeof args},
                            {.fn = big, .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = &args, .args_size = 8}};
  if (!st) st = ops->launch(dev, stream, &l[0], err);
  if (!st) st = ops->sync(dev, stream, err);
  if (!st) st = ops->mem_read(dev, back, mem, sizeof back, err);
  for (int i = 0; !st && i < 16; i++)
    if (back[i] != (i >= 3 && i < 8 ? 77 : 0x01010101)) st = mlaf_fail(err, MLAF_E_INTERNAL, "word %d is %u", i, back[i]);
  mlaf_launch wide = l[1];
  wide.flags = MLAF_LAUNCH_OVERLAPS;
  _Alignas(64) unsigned char map[MLAF_MAP_BYTES];
  const mlaf_tensor tensor = {.data = mem, .cols = 16, .rows = 2, .row_stride = 32, .box_cols = 16, .box_rows = 2, .swizzle = 32};
  if (!st) st = ops->launch(dev, stream, &wide, err);
  if (!st) st = ops->tensor_map_encode(dev, &tensor, map, err);
  if (!st) st = ops->time(dev, l, 2, &once, &timing, err);
  if (m) ops->module_unload(dev, m);
  return st;
}

static mlaf_status cuda_life(mlaf_err *err) {
  mlaf_device *dev = NULL;
  void *stream = NULL, *mem = NULL;
  uint32_t first[2] = {5, 6}, back[2] = {0, 0};
  mlaf_status st = mlaf_device_open("cuda", NULL, &dev, err);
  if (st) return st;
  const mlaf_device_ops *ops = mlaf_ops(dev);
  st = ops->mem_alloc(dev, 64, &mem, err);
  if (!st) st = ops->mem_write(dev, mem, first, sizeof first, err);
  if (!st) st = ops->mem_read(dev, back, mem, sizeof back, err);
  if (!st && memcmp(first, back, sizeof first)) /* landed before write returned: the fake is lazy */
    st = mlaf_fail(err, MLAF_E_INTERNAL, "what was written is not there");
  if (!st) st = ops->mem_fill(dev, mem, 1, 64, err);
  if (!st) st = ops->stream_create(dev, &stream, err);
  bool reached = false, capturing = true, host = true;
  if (!st) st = ops->can_reach(dev, (char *)mem + 8, &reached, err);
  if (!st) st = ops->can_reach(dev, &host, &host, err);
  if (!st) st = ops->is_capturing(dev, stream, &capturing, err);
  if (!st && (!reached || host || capturing))
    st = mlaf_fail(err, MLAF_E_INTERNAL, "reached %d, host %d, capturing %d", reached, host, capturing);
  if (!st) st = use_kernel(dev, mem, stream, err);
  ops->stream_destroy(dev, stream);
  if (mem) {
    mlaf_status freed = ops->mem_free(dev, mem, st ? NULL : err);
    if (!st) st = freed;
  }
  mlaf_device_close(dev);
  return st;
}

#endif
