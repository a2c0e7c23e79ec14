/* A few lines of assembly as a kernel of one wave on any emulated target: assembled by comgr, loaded and launched as any code
 * object. */
#pragma once

#include "cmocka_all.h"
#include "emu/emu_launch.h"
#include "need.h"

typedef struct rig {
  mlaf_compiler *compiler;
  mlaf_device *dev;
  float *in, *out; /* device addresses, which the host may read */
  int lds; /* bytes of the next kernels; 0: RIG_LDS */
  mlaf_err err;
} rig;

enum { WORDS = 16384, RIG_LDS = 4096 };

static const mlaf_device_ops *const targets[] = {&mlaf_emu_ops, &mlaf_emu_gfx950_ops, &mlaf_emu_gfx90a_ops};

static inline void rig_open(rig *r, const mlaf_device_ops *ops) {
  void *in, *out;
  need_compiler("gfx942");
  memset(r, 0, sizeof *r);
  assert_int_equal(mlaf_compiler_open(NULL, NULL, &r->compiler, &r->err), MLAF_OK);
  assert_int_equal(ops->open(0, NULL, &r->dev, &r->err), MLAF_OK);
  assert_int_equal(ops->mem_alloc(r->dev, 4 * WORDS, &in, &r->err), MLAF_OK);
  assert_int_equal(ops->mem_alloc(r->dev, 4 * WORDS, &out, &r->err), MLAF_OK);
  r->in = in, r->out = out;
}

static inline void rig_close(rig *r) {
  mlaf_ops(r->dev)->close(r->dev);
  mlaf_compiler_close(r->compiler);
}

/* The rig of a file of tests, and its memory as dwords. */
#define RIG_OF(ops)                             \
  static rig r;                                 \
  static uint32_t *in, *out;                    \
  static int open_rig(void **state) {           \
    rig_open(&r, &ops);                         \
    in = (uint32_t *)r.in, out = (uint32_t *)r.out; \
    return 0;                                   \
  }                                             \
  static int close_rig(void **state) {          \
    rig_close(&r);                              \
    return 0;                                   \
  }

static inline const char *target_of(const rig *r) { return mlaf_info(r->dev)->target; }

/* The body as a kernel of one wave: s[4:5] input, s[6:7] output, v0 = lane, v1 = 4 * lane, nothing else. */
static inline void assemble(rig *r, const char *target, const char *body, void **code, size_t *size) {
  static char source[1 << 17];
  snprintf(source, sizeof source,
           ".amdgcn_target \"amdgcn-amd-amdhsa--%s\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n"
           "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\ns_nop 7\n%s\ns_endpgm\n"
           ".section .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 512\n.amdhsa_accum_offset 256\n"
           ".amdhsa_next_free_sgpr 96\n.amdhsa_group_segment_fixed_size %d\n.amdhsa_kernarg_size 16\n"
           ".amdhsa_user_sgpr_count 2\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_system_sgpr_workgroup_id_x 1\n"
           ".end_amdhsa_kernel\n", target, body, r->lds ? r->lds : RIG_LDS);
  if (mlaf_assemble(r->compiler, target, source, code, size, &r->err) != MLAF_OK) fail_msg("%s\nin:\n%s", r->err.text, body);
}

static inline mlaf_status run(rig *r, const char *body) {
  const mlaf_device_ops *ops = mlaf_ops(r->dev);
  mlaf_module *m;
  mlaf_function *fn;
  void *code, *args[2] = {r->in, r->out};
  size_t size;
  assemble(r, target_of(r), body, &code, &size);
  if (ops->module_load(r->dev, code, size, &m, &r->err) != MLAF_OK) fail_msg("%s", r->err.text);
  free(code);
  assert_int_equal(ops->function_get(r->dev, m, "k", &fn, &r->err), MLAF_OK);
  mlaf_launch l = {.fn = fn, .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = args, .args_size = sizeof args};
  r->err = (mlaf_err){MLAF_OK, ""};
  mlaf_status st = ops->launch(r->dev, NULL, &l, &r->err);
  ops->module_unload(r->dev, m);
  return st;
}

static inline void run_ok(rig *r, const char *body) {
  if (run(r, body) != MLAF_OK) fail_msg("%s: %s\nin:\n%s", target_of(r), r->err.text, body);
}

static inline void run_fault(rig *r, const char *body, const char *word) {
  if (run(r, body) != MLAF_E_FAULT || !strstr(r->err.text, word))
    fail_msg("%s: wanted a fault with '%s', got '%s'\nin:\n%s", target_of(r), word, r->err.text, body);
}

/* n registers from v[first] on, row i of 64 lanes at `from` + 64 i words of the input; output likewise. v254 is lost. */
static inline int rig_move(char *to, size_t size, const char *what, int first, int n, int from) {
  int at = snprintf(to, size, "v_add_u32 v254, 0x%x, v1\n", 256 * from);
  for (int i = 0; i < n; i++) {
    if (i && i % 15 == 0) at += snprintf(to + at, size - (size_t)at, "v_add_u32 v254, 0xf00, v254\n");
    at +=
        *what == 'l'
            ? snprintf(to + at, size - (size_t)at, "global_load_dword v%d, v254, s[4:5] offset:%d\n", first + i, 256 * (i % 15))
            : snprintf(to + at, size - (size_t)at, "global_store_dword v254, v%d, s[6:7] offset:%d\n", first + i, 256 * (i % 15));
  }
  return at;
}

/* In: `loaded` registers from v2 on. Then the instructions. Out: `stored` registers from v[result] on. */
static inline void rig_run(rig *r, int loaded, const char *text, int result, int stored) {
  static char body[1 << 16];
  int n = rig_move(body, sizeof body, "load", 2, loaded, 0);
  n += snprintf(body + n, sizeof body - (size_t)n, "s_waitcnt vmcnt(0)\ns_nop 7\n%s\ns_nop 15\ns_nop 7\n", text);
  rig_move(body + n, sizeof body - (size_t)n, "store", result, stored, 0);
  run_ok(r, body);
}

static uint64_t rig_seed = 1;
static inline uint32_t rig_random(void) {
  rig_seed = rig_seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(rig_seed >> 33) ^ (uint32_t)(rig_seed >> 11);
}
