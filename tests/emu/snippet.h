/* Runs a few lines of gfx942 assembly in the emulator: assembled by comgr, loaded and launched as any code object is.
 *
 * The body starts with s[4:5] = input buffer, s[6:7] = output buffer, s2 = workgroup, s8 = wave in it, v0 = thread,
 * v1 = 4 * thread, v2 = 4 * lane, s[12:15] = a buffer descriptor of the input's first 4096 bytes. Nothing else is
 * initialised, EXEC is all ones, and no wait state is pending. */
#pragma once

#include "cmocka_all.h"
#include "compile/compile.h"
#include "device/device.h"
#include "emu/emu_launch.h"
#include "need.h"

enum { SNIP_BYTES = 65536 };

typedef struct snip {
  mlaf_compiler *compiler;
  mlaf_device *dev;
  uint32_t *in, *out; /* device addresses, which the host may read: the emulator shares its address space */
  mlaf_err err;
  mlaf_timing timing;
} snip;

static const char snip_head[] =
    ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl snip\n.p2align 8\n.type snip,@function\nsnip:\n"
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
    "v_lshrrev_b32 v1, 6, v0\ns_nop 3\nv_readfirstlane_b32 s8, v1\nv_lshlrev_b32 v1, 2, v0\nv_and_b32 v2, 63, v0\n"
    "v_lshlrev_b32 v2, 2, v2\ns_waitcnt lgkmcnt(0)\n"
    "s_mov_b32 s12, s4\ns_mov_b32 s13, s5\ns_mov_b32 s14, 4096\ns_mov_b32 s15, 0x20000\ns_nop 7\n";
static const char snip_tail[] =
    "\ns_endpgm\n.section .rodata\n.p2align 6\n.amdhsa_kernel snip\n.amdhsa_next_free_vgpr %d\n.amdhsa_next_free_sgpr 96\n"
    ".amdhsa_accum_offset %d\n.amdhsa_group_segment_fixed_size %d\n.amdhsa_kernarg_size 16\n"
    ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_system_sgpr_workgroup_id_x 1\n.end_amdhsa_kernel\n";

static inline int snip_open(void **state) {
  snip *s = calloc(1, sizeof *s);
  mlaf_log log = {NULL, NULL, MLAF_LOG_ERROR};
  *state = s;
  need_compiler("gfx942");
  if (mlaf_compiler_open(&(mlaf_compiler_opts){.jobs = 1}, &log, &s->compiler, &s->err) != MLAF_OK) return -1;
  if (mlaf_emu_ops.open(0, &log, &s->dev, &s->err) != MLAF_OK) return -1;
  void *in, *out;
  if (mlaf_emu_ops.mem_alloc(s->dev, SNIP_BYTES, &in, &s->err) != MLAF_OK) return -1;
  if (mlaf_emu_ops.mem_alloc(s->dev, SNIP_BYTES, &out, &s->err) != MLAF_OK) return -1;
  s->in = in;
  s->out = out;
  return 0;
}

static inline int snip_close(void **state) {
  snip *s = *state;
  if (s->compiler) mlaf_compiler_close(s->compiler);
  if (s->dev) mlaf_emu_ops.close(s->dev);
  free(s);
  return 0;
}

/* The body as a loaded kernel with the given registers and LDS. */
static inline mlaf_function *snip_load(snip *s, int vgprs, int lds, const char *body, mlaf_module **m) {
  static char source[1 << 20];
  void *code;
  size_t size;
  mlaf_function *fn;
  int n = snprintf(source, sizeof source, "%s%s", snip_head, body);
  snprintf(source + n, sizeof source - (size_t)n, snip_tail, vgprs, vgprs > 256 ? 256 : vgprs, lds);
  if (mlaf_assemble(s->compiler, "gfx942", source, &code, &size, &s->err) != MLAF_OK) fail_msg("%s\nin:\n%s", s->err.text, body);
  if (mlaf_emu_ops.module_load(s->dev, code, size, m, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  free(code);
  if (mlaf_emu_ops.function_get(s->dev, *m, "snip", &fn, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  return fn;
}

/* One workgroup of `waves` waves with all registers. MLAF_OK or the fault; s->err has the text. */
static inline mlaf_status snip_run(snip *s, int waves, int lds, const char *body) {
  mlaf_module *m;
  mlaf_function *fn = snip_load(s, 512, lds, body, &m);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = fn, .grid = {1, 1, 1}, .block = {64u * (uint32_t)waves, 1, 1}, .args = args, .args_size = sizeof args};
  s->err = (mlaf_err){MLAF_OK, ""};
  mlaf_status st = mlaf_emu_ops.launch(s->dev, NULL, &l, &s->err);
  mlaf_emu_ops.module_unload(s->dev, m);
  return st;
}

static inline void snip_ok(snip *s, int waves, int lds, const char *body) {
  if (snip_run(s, waves, lds, body) != MLAF_OK) fail_msg("%s\nin:\n%s", s->err.text, body);
}

/* The fault must say every one of the words (NULL-terminated). */
static inline void snip_fault(snip *s, int waves, int lds, const char *body, const char *const *words) {
  mlaf_status st = snip_run(s, waves, lds, body);
  if (st != MLAF_E_FAULT)
    fail_msg("expected a fault with '%s', got %s %s\nin:\n%s", words[0], mlaf_status_name(st), s->err.text, body);
  for (; *words; words++)
    if (!strstr(s->err.text, *words)) fail_msg("'%s' lacks '%s'\nin:\n%s", s->err.text, *words, body);
}
#define FAULT(s, waves, lds, body, ...) snip_fault(s, waves, lds, body, (const char *const[]){__VA_ARGS__, NULL})
