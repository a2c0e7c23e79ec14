/* Assembly snippets as kernels: collect bodies, assemble them in one go through comgr, run each on the emulator.
 *
 *   emu_asm a;
 *   emu_asm_open(&a);
 *   emu_asm_kernel(&a, "t0", EMU_ASM_IO, 0, "v_add_f32 v16, v1, v2");
 *   emu_asm_build(&a);
 *   emu_asm_run(&a, "t0", 1, 64, args, sizeof args, &err);
 *
 * EMU_ASM_IO wraps a body with the usual ends: v1..v12 and s[16:31] come from the input buffer, v16..v19 and s[40:43] go to
 * the output buffer, one block of each per workgroup. The kernel's arguments are {in, out}. */
#pragma once

#include "emu/emu_launch.h"

enum {
  EMU_ASM_VIN = 12, EMU_ASM_SIN = 16, EMU_ASM_VOUT = 4, EMU_ASM_SOUT = 4,
  EMU_ASM_IN_DWORDS = 1024, /* per workgroup: VIN x 64 lanes, then SIN scalars at EMU_ASM_SIN_AT */
  EMU_ASM_SIN_AT = 768,
  EMU_ASM_OUT_DWORDS = 512, /* per workgroup: VOUT x 64 lanes, then SOUT scalars at EMU_ASM_SOUT_AT */
  EMU_ASM_SOUT_AT = 256,
  EMU_ASM_RAW = 0, EMU_ASM_IO = 1, EMU_ASM_IO_VECTOR = 2 /* IO without scalar outputs */
};

typedef struct emu_asm {
  mlaf_compiler *compiler;
  mlaf_device *dev;
  mlaf_module *module;
  mlaf_text text;
  mlaf_err err;
  unsigned vgprs, accum_offset; /* what the next kernels allocate; 512 and 256 */
} emu_asm;

static inline bool emu_asm_open(emu_asm *a) {
  memset(a, 0, sizeof *a);
  a->vgprs = 512;
  a->accum_offset = 256;
  a->text = MLAF_TEXT_INIT(8u << 20);
  mlaf_text_str(&a->text, "  .amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n  .text\n");
  return mlaf_compiler_open(NULL, NULL, &a->compiler, &a->err) == MLAF_OK &&
         mlaf_emu_ops.open(0, NULL, &a->dev, &a->err) == MLAF_OK;
}

static inline void emu_asm_close(emu_asm *a) {
  if (a->module) mlaf_emu_ops.module_unload(a->dev, a->module);
  if (a->dev) mlaf_emu_ops.close(a->dev);
  if (a->compiler) mlaf_compiler_close(a->compiler);
  mlaf_text_free(&a->text);
}

/* s[4:5] = this workgroup's inputs, s[6:7] = its outputs, v0 = 4 * lane. */
static inline void emu_asm_prologue(mlaf_text *t) {
  mlaf_text_str(t, "  s_load_dwordx4 s[4:7], s[0:1], 0x0\n  s_lshl_b32 s8, s2, 12\n  s_lshl_b32 s9, s2, 11\n"
                   "  v_lshlrev_b32 v0, 2, v0\n  s_waitcnt lgkmcnt(0)\n"
                   "  s_add_u32 s4, s4, s8\n  s_addc_u32 s5, s5, 0\n  s_add_u32 s6, s6, s9\n  s_addc_u32 s7, s7, 0\n");
  mlaf_text_fmt(t, "  s_load_dwordx16 s[16:31], s[4:5], 0x%x\n", EMU_ASM_SIN_AT * 4);
  for (int i = 0; i < EMU_ASM_VIN; i++)
    mlaf_text_fmt(t, "  global_load_dword v%d, v0, s[4:5] offset:%d\n", i + 1, i * 256);
  for (int i = 0; i < EMU_ASM_VOUT; i++) mlaf_text_fmt(t, "  v_mov_b32 v%d, 0x%x\n", 16 + i, 0xa5a50000 + i);
  mlaf_text_str(t, "  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_nop 7\n");
}

static inline void emu_asm_epilogue(mlaf_text *t, bool scalars) {
  mlaf_text_str(t, "  s_nop 7\n  s_nop 7\n  s_nop 7\n");
  for (int i = 0; i < EMU_ASM_VOUT; i++)
    mlaf_text_fmt(t, "  global_store_dword v0, v%d, s[6:7] offset:%d\n", 16 + i, i * 256);
  for (int i = 0; i < EMU_ASM_SOUT && scalars; i++)
    mlaf_text_fmt(t, "  v_mov_b32 v20, s%d\n  global_store_dword v0, v20, s[6:7] offset:%d\n", 40 + i,
                  EMU_ASM_SOUT_AT * 4 + i * 256);
  mlaf_text_str(t, "  s_endpgm\n");
}

/* One kernel. `lds`: bytes of LDS. Allocates a->vgprs registers, every SGPR. */
static inline void emu_asm_kernel(emu_asm *a, const char *name, int ends, unsigned lds, const char *body) {
  mlaf_text *t = &a->text;
  mlaf_text_fmt(t, "  .globl %s\n  .p2align 8\n  .type %s,@function\n%s:\n", name, name, name);
  if (ends != EMU_ASM_RAW) emu_asm_prologue(t);
  mlaf_text_fmt(t, "%s\n", body);
  if (ends != EMU_ASM_RAW) emu_asm_epilogue(t, ends == EMU_ASM_IO);
  mlaf_text_fmt(t, "  .section .rodata,\"a\",@progbits\n  .p2align 6\n  .amdhsa_kernel %s\n"
                   "    .amdhsa_group_segment_fixed_size %u\n    .amdhsa_kernarg_size 64\n    .amdhsa_user_sgpr_count 2\n"
                   "    .amdhsa_user_sgpr_kernarg_segment_ptr 1\n    .amdhsa_system_sgpr_workgroup_id_x 1\n"
                   "    .amdhsa_float_denorm_mode_32 3\n" /* as hiprtc sets it */
                   "    .amdhsa_next_free_vgpr %u\n    .amdhsa_accum_offset %u\n    .amdhsa_next_free_sgpr 100\n"
                   "  .end_amdhsa_kernel\n  .text\n", name, lds, a->vgprs, a->accum_offset);
}

static inline bool emu_asm_build(emu_asm *a) {
  void *code = NULL;
  size_t size = 0;
  mlaf_status st = a->text.failed ? mlaf_fail(&a->err, MLAF_E_NOMEM, "the assembly source is too long")
                                  : mlaf_assemble(a->compiler, "gfx942", a->text.data, &code, &size, &a->err);
  if (st == MLAF_OK) st = mlaf_emu_ops.module_load(a->dev, code, size, &a->module, &a->err);
  free(code);
  return st == MLAF_OK;
}

/* Run with options and counts; `block` work-items. */
static inline mlaf_status emu_asm_launch(emu_asm *a, const char *name, uint32_t groups, uint32_t block, const void *args,
                                         size_t args_size, const emu_launch_opts *opts, emu_counts *counts, mlaf_err *err) {
  mlaf_function *fn;
  mlaf_status st = mlaf_emu_ops.function_get(a->dev, a->module, name, &fn, err);
  if (st != MLAF_OK) return st;
  mlaf_launch l = {.fn = fn, .grid = {groups, 1, 1}, .block = {block, 1, 1}, .args = args, .args_size = args_size};
  return emu_launch_run((emu_device *)a->dev, &l, opts, counts, NULL, err);
}

static inline mlaf_status emu_asm_run(emu_asm *a, const char *name, uint32_t groups, uint32_t block, const void *args,
                                      size_t args_size, mlaf_err *err) {
  return emu_asm_launch(a, name, groups, block, args, args_size, NULL, NULL, err);
}

/* Device buffer with contents (or poison when src is NULL); NULL on failure. */
static inline void *emu_asm_buffer(emu_asm *a, const void *src, size_t bytes) {
  void *p;
  if (mlaf_emu_ops.mem_alloc(a->dev, bytes, &p, &a->err) != MLAF_OK) return NULL;
  mlaf_status st = src ? mlaf_emu_ops.mem_write(a->dev, p, src, bytes, &a->err)
                       : mlaf_emu_ops.mem_fill(a->dev, p, 0xee, bytes, &a->err);
  return st == MLAF_OK ? p : NULL;
}
