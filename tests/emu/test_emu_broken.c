/* One deliberately broken kernel for each thing the emulator checks, and the message its author gets. Run it to see them all:
 * docs/lab/emulator.md has the list. */
#include "snippet.h"

typedef struct broken {
  const char *name;
  int waves, lds;
  const char *body;
  const char *words[3]; /* of the message */
} broken;

static const broken kernels[] = {
    {"uninitialised VGPR", 1, 0, "v_add_f32 v10, v11, v0\n", {"uninitialised register v11"}},
    {"uninitialised SGPR", 1, 0, "s_add_u32 s40, s41, s4\n", {"uninitialised register s41"}},
    {"uninitialised LDS", 1, 1024, "ds_read_b32 v11, v2\ns_waitcnt lgkmcnt(0)\n", {"LDS byte 0x0", "nothing has written"}},
    {"global access out of bounds", 1, 0, "v_mov_b32 v10, 0x10000\nglobal_load_dword v11, v10, s[4:5]\ns_waitcnt vmcnt(0)\n",
     {"outside every allocation", "past its end"}},
    {"missing vmcnt", 1, 0, "global_load_dword v10, v1, s[4:5]\nv_add_u32 v11, v10, v1\n", {"s_waitcnt vmcnt(0)", "v10"}},
    {"missing lgkmcnt", 1, 1024, "ds_write_b32 v2, v1\nds_read_b32 v10, v2\nv_add_u32 v11, v10, v1\n", {"lgkmcnt(0)", "v10"}},
    {"LDS race", 2, 1024, "ds_write_b32 v2, v0\ns_waitcnt lgkmcnt(0)\n",
     {"LDS race", "no barrier"}},
    {"missing MFMA wait states", 1, 0,
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 1\n"
     "v_mfma_f32_16x16x16_bf16 v[12:15], v[10:11], v[10:11], 0\nv_add_f32 v16, v12, v12\n",
     {"hazard", "more wait states", "s_nop"}},
    {"divergent barrier", 2, 0,
     "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 1f\ns_barrier\ns_barrier\ns_branch 2f\n1: s_barrier\n2:\n", {"divergent barrier"}},
    {"instruction that is not emulated", 1, 0, "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_screen_partition_4se_b32 v12, v10\n",
     {"unimplemented instruction", "v_screen_partition_4se_b32"}},
    {"pointer outside the workgroup's LDS", 1, 256, "v_mov_b32 v10, 0x100\nds_write_b32 v10, v1\ns_waitcnt lgkmcnt(0)\n",
     {"outside the workgroup's 256 bytes"}},
    {"jump into nowhere", 1, 0, "s_branch 1f\n1: s_setpc_b64 s[4:5]\n", {"not an instruction of this code object"}},
};

TEST_OF(each_has_its_message, snip *s) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const broken *k = &kernels[i];
    mlaf_status st = snip_run(s, k->waves, k->lds, k->body);
    if (st != MLAF_E_FAULT) fail_msg("%s: expected a fault, got %s %s", k->name, mlaf_status_name(st), s->err.text);
    for (int w = 0; w < 3 && k->words[w]; w++)
      if (!strstr(s->err.text, k->words[w])) fail_msg("%s: '%s' lacks '%s'", k->name, s->err.text, k->words[w]);
    print_message("%s\n  %s\n", k->name, s->err.text);
  }
}

/* A loop without an end is given up after max_insts of a wave, 2^33 unless the launch says otherwise. */
TEST_OF(endless_loop, snip *s) {
  mlaf_module *m;
  mlaf_function *fn = snip_load(s, 64, 0, "1: s_branch 1b\n", &m);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = fn, .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = args, .args_size = sizeof args};
  const emu_launch_opts opts = {.max_insts = 100000};
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(emu_launch_run((emu_device *)s->dev, &l, &opts, NULL, NULL, &err), MLAF_E_FAULT);
  if (!strstr(err.text, "does not terminate")) fail_msg("%s", err.text);
  print_message("endless loop\n  %s\n", err.text);
  mlaf_emu_ops.module_unload(s->dev, m);
}

TESTS(snip_open, snip_close)
