/* Faulty kernels: each must be refused, and the message must say what, where and in which lane.
 * Each has a correct version beside it, so that a checker which refuses everything fails too. */
#include "cmocka_all.h"
#include "emu/strict.h"
#include "emu_asm.h"

typedef struct faulty {
  const char *name, *body;
  const char *says[4]; /* parts of the message; all NULL: must run */
  unsigned block;
} faulty;

static const faulty kernels[] = {
  {"vgpr_unwritten", "v_add_u32 v2, v7, v0\ns_endpgm", {"uninitialised register v7", "v_add_u32", "wave 0", "lane 0"}, 64},
  {"agpr_unwritten", "v_accvgpr_read_b32 v2, a9\ns_nop 1\nv_add_u32 v3, v2, v0\ns_endpgm", {"uninitialised register v2",
      "v_add_u32"}, 64},
  {"vgpr_half_written", "s_mov_b64 exec, 0xff\nv_mov_b32 v1, 1\ns_mov_b64 exec, -1\nv_add_u32 v2, v1, v0\ns_endpgm",
   {"uninitialised register v1", "56 of the 64 lanes", "lane 8"}, 64},
  {"vgpr_half_written_ok", "s_mov_b64 exec, 0xff\nv_mov_b32 v1, 1\nv_add_u32 v2, v1, v0\ns_endpgm", {NULL}, 64},
  /* Half of a packed operation, as compilers use one: the other half is unwritten until somebody looks at it. */
  {"packed_low_ok", "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\nv_mov_b32 v4, v0\nv_pk_mul_f32 v[4:5], v[4:5], v[2:3]\n"
   "v_pk_fma_f32 v[6:7], v[4:5], v[2:3], v[4:5]\nv_add_f32 v8, v4, v6\ns_endpgm", {NULL}, 64},
  {"packed_high_ok", "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\nv_mov_b32 v5, v0\nv_pk_add_f32 v[6:7], v[4:5], v[2:3]\n"
   "v_add_f32 v8, v7, v5\ns_endpgm", {NULL}, 64},
  {"packed_half_used", "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\nv_mov_b32 v4, v0\nv_pk_mul_f32 v[4:5], v[4:5], v[2:3]\n"
   "v_add_f32 v8, v5, v4\ns_endpgm", {"uninitialised register v5", "v_add_f32"}, 64},
  {"packed_operand_stays", "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\nv_mov_b32 v4, v0\nv_pk_mul_f32 v[6:7], v[4:5], v[2:3]\n"
   "v_add_f32 v8, v5, v2\ns_endpgm", {"uninitialised register v5", "v_add_f32"}, 64},
  {"packed_both", "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\nv_pk_mul_f32 v[6:7], v[4:5], v[2:3]\ns_endpgm",
   {"uninitialised register v4", "v_pk_mul_f32"}, 64},
  {"packed_crosswise", "v_mov_b32 v2, v0\nv_mov_b32 v5, v0\nv_pk_mul_f32 v[6:7], v[4:5], v[2:3]\ns_endpgm",
   {"uninitialised register v4", "v_pk_mul_f32"}, 64},
  {"sgpr_unwritten", "s_add_u32 s10, s11, 1\ns_endpgm", {"uninitialised register s11", "s_add_u32 s10, s11, 1"}, 64},
  {"vcc_unwritten", "s_lshl_b64 s[10:11], vcc, 1\ns_endpgm", {"uninitialised register vcc_lo"}, 64},
  {"m0_unwritten", "s_add_u32 s10, m0, 1\ns_endpgm", {"uninitialised register m0"}, 64},
  {"scc_unwritten", "s_cselect_b32 s10, 1, 0\ns_endpgm", {"SCC"}, 64},
  {"vector_reads_sgpr_unwritten", "v_not_b32 v1, s77\ns_endpgm", {"uninitialised register s77"}, 64},
  {"vcc_of_cndmask_unwritten", "v_cndmask_b32_e32 v1, v0, v0, vcc\ns_endpgm", {"uninitialised register vcc"}, 64},
  {"smem_no_wait", "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_add_u32 s6, s4, 1\ns_endpgm", {"s4", "in flight", "lgkmcnt(0)"}, 64},
  {"smem_part_wait", "s_load_dword s4, s[0:1], 0x0\ns_load_dword s5, s[0:1], 0x4\ns_waitcnt lgkmcnt(1)\ns_add_u32 s6, s4, 1\n"
   "s_endpgm", {"s4", "any order", "lgkmcnt(0)"}, 64},
  {"smem_wait_ok", "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_add_u32 s6, s4, 1\ns_endpgm", {NULL}, 64},
  {"smem_overwrite", "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_mov_b32 s5, 1\ns_endpgm", {"s5", "in flight"}, 64},
  {"vmem_no_wait", "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n"
   "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(1)\nv_add_u32 v4, v2, v3\ns_endpgm",
   {"v3", "in flight", "vmcnt(0)"}, 64},
  {"vmem_wait_ok", "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n"
   "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(1)\nv_add_u32 v4, v2, v2\ns_endpgm",
   {NULL}, 64},
  {"vmem_overwrite", "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n"
   "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v2, 0\ns_endpgm", {"v2", "in flight"}, 64},
  {"lds_no_wait", "v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v0\nds_read_b32 v2, v1\nv_add_u32 v3, v2, v0\ns_endpgm",
   {"v2", "in flight", "lgkmcnt(0)"}, 64},
  {"unimplemented", "v_screen_partition_4se_b32 v1, v0\ns_endpgm",
   {"unimplemented instruction", "v_screen_partition_4se_b32_e32 v1, v0"}, 64},
  {"unimplemented_unreached", "s_branch 1f\nv_screen_partition_4se_b32 v1, v0\n1:\ns_endpgm", {NULL}, 64},
  {"smem_outside", "s_mov_b64 s[4:5], 0x1000\ns_load_dword s6, s[4:5], 0x0\ns_endpgm", {"scalar load of 4 bytes at 0x1000"}, 64},
  {"no_end", "v_mov_b32 v1, 0", {"ran past the end"}, 64}, /* last kernel's tail: see build order below */
  {"endless", "1:\ns_branch 1b", {"does not terminate"}, 64},
  {"trap", "s_trap 2", {"trapped"}, 64},
  {"rounding", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3\ns_endpgm", {NULL}, 64},
  {"hwreg", "s_getreg_b32 s4, hwreg(HW_REG_LDS_ALLOC)\ns_endpgm", {"hardware register 6 is not emulated"}, 64},
  {"omod_ignored", "v_mul_f32_e64 v1, 1.0, v0 mul:2\ns_endpgm", {"output modifier", "ignores"}, 64},
  {"jump_out", "s_mov_b64 s[4:5], 64\ns_setpc_b64 s[4:5]", {"jump to 0x40", "not an instruction"}, 64},
  /* waves 0 and 1 take different barriers */
  {"divergent_barrier", "v_readfirstlane_b32 s4, v0\ns_nop 3\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 1f\ns_barrier\n1:\n"
   "s_barrier\ns_endpgm", {"divergent barrier", "wave 1", "wave 0"}, 128},
  {"same_barrier", "v_readfirstlane_b32 s4, v0\ns_barrier\ns_endpgm", {NULL}, 128},
  /* an ended wave counts as arrived, as on silicon */
  {"ended_before_barrier", "v_readfirstlane_b32 s4, v0\ns_nop 3\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 1f\ns_barrier\n1:\ns_endpgm",
   {NULL}, 128},
  {"barrier_partial_exec", "s_mov_b64 exec, 1\ns_barrier\ns_endpgm", {NULL}, 128},
  {"work_items_2d", "v_and_b32 v1, 0x3ff, v0\ns_endpgm", {NULL}, 100},
};
enum { N = sizeof kernels / sizeof *kernels };

static bool contains_all(const char *text, const char *const says[4]) {
  for (int i = 0; i < 4; i++)
    if (says[i] && !strstr(text, says[i])) return false;
  return true;
}

TEST(faults_name_the_cause) {
  emu_asm a;
  int bad = 0;
  if (!emu_asm_open(&a)) fail_msg("%s", a.err.text);
  for (int i = 0; i < N; i++)
    if (strcmp(kernels[i].name, "no_end") != 0) emu_asm_kernel(&a, kernels[i].name, EMU_ASM_RAW, 1024, kernels[i].body);
  /* The compiler pads .text behind a kernel with s_nop; only the last kernel of a text can run out of it. */
  emu_asm_kernel(&a, "no_end", EMU_ASM_RAW, 0, "v_mov_b32 v1, 0");
  if (!emu_asm_build(&a)) fail_msg("%s", a.err.text);
  uint32_t data[256] = {0};
  void *arg = emu_asm_buffer(&a, data, sizeof data);
  for (int i = 0; i < N; i++) {
    const faulty *k = &kernels[i];
    emu_launch_opts opts = {.max_insts = 100000};
    mlaf_err err = {MLAF_OK, ""};
    char name[64];
    snprintf(name, sizeof name, "kernel %s, pc 0x", k->name);
    mlaf_status st = emu_asm_launch(&a, k->name, 1, k->block, &arg, sizeof arg, &opts, NULL, &err);
    bool should_fault = k->says[0] != NULL;
    bool ok = should_fault ? st == MLAF_E_FAULT && contains_all(err.text, k->says) && strstr(err.text, name) &&
                                 strstr(err.text, "workgroup (0,0,0), wave ")
                           : st == MLAF_OK;
    if (!ok) {
      print_error("%s: %s: %s\n", k->name, mlaf_status_name(st), err.text);
      bad++;
    }
  }
  emu_asm_close(&a);
  assert_int_equal(bad, 0);
}

/* One faulty workgroup among many: its id is in the message, whatever the number of threads. */
TEST(the_faulty_workgroup_is_named) {
  emu_asm a;
  if (!emu_asm_open(&a)) fail_msg("%s", a.err.text);
  emu_asm_kernel(&a, "k", EMU_ASM_RAW, 0, "s_cmp_lg_u32 s2, 37\ns_cbranch_scc1 1f\nv_not_b32 v1, v9\n1:\ns_endpgm");
  if (!emu_asm_build(&a)) fail_msg("%s", a.err.text);
  for (int threads = 1; threads <= 4; threads++) {
    emu_launch_opts opts = {.threads = threads};
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(emu_asm_launch(&a, "k", 100, 64, NULL, 0, &opts, NULL, &err), MLAF_E_FAULT);
    assert_non_null(strstr(err.text, "workgroup (37,0,0)"));
    assert_int_equal(emu_asm_launch(&a, "k", 37, 64, NULL, 0, &opts, NULL, &err), MLAF_OK);
  }
  emu_asm_close(&a);
}

/* A wave that spins on what another writes must let it run: slices, not run-to-completion. */
TEST(spinning_waves_make_progress) {
  emu_asm a;
  if (!emu_asm_open(&a)) fail_msg("%s", a.err.text);
  emu_asm_kernel(&a, "k", EMU_ASM_RAW, 0,
                 "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 0\nv_readfirstlane_b32 s6, v0\ns_waitcnt lgkmcnt(0)\n"
                 "s_cmp_lg_u32 s6, 0\ns_cbranch_scc1 2f\n"
                 "1:\nglobal_load_dword v2, v1, s[4:5] sc0 sc1\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s7, v2\n"
                 "s_cmp_eq_u32 s7, 0\ns_cbranch_scc1 1b\ns_endpgm\n"
                 "2:\nv_mov_b32 v3, 1\nglobal_store_dword v1, v3, s[4:5] sc0 sc1\ns_endpgm");
  if (!emu_asm_build(&a)) fail_msg("%s", a.err.text);
  uint32_t flag = 0;
  void *arg = emu_asm_buffer(&a, &flag, sizeof flag);
  mlaf_err err = {MLAF_OK, ""};
  emu_launch_opts opts = {.max_insts = 10000000};
  if (emu_asm_launch(&a, "k", 1, 128, &arg, sizeof arg, &opts, NULL, &err) != MLAF_OK) fail_msg("%s", err.text);
  emu_asm_close(&a);
}

/* 24 registers, AGPRs from 16 on: v0..v15 and a0..a7. */
TEST(registers_outside_the_allocation) {
  static const struct { const char *name, *body; bool ok; } t[] = {
    {"v15", "v_mov_b32 v15, 0\ns_endpgm", true},           {"v16", "v_mov_b32 v16, 0\ns_endpgm", false},
    {"a7", "v_accvgpr_write_b32 a7, 0\ns_endpgm", true},   {"a8", "v_accvgpr_write_b32 a8, 0\ns_endpgm", false},
    {"pair", "v_mov_b64 v[14:15], 0\ns_endpgm", true},     {"pair_out", "v_mov_b64 v[16:17], 0\ns_endpgm", false},
    {"unreached", "s_branch 1f\nv_mov_b32 v99, 0\n1:\ns_endpgm", true}};
  emu_asm a;
  if (!emu_asm_open(&a)) fail_msg("%s", a.err.text);
  a.vgprs = 24;
  a.accum_offset = 16;
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) emu_asm_kernel(&a, t[i].name, EMU_ASM_RAW, 0, t[i].body);
  if (!emu_asm_build(&a)) fail_msg("%s", a.err.text);
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(emu_asm_run(&a, t[i].name, 1, 64, NULL, 0, &err), t[i].ok ? MLAF_OK : MLAF_E_FAULT);
    assert_true(t[i].ok || strstr(err.text, "outside the kernel's allocation (24 registers, AGPRs from 16 on)"));
  }
  emu_asm_close(&a);
}

/* The same allocation, forgiven: v16..v23 are the wave's own as long as nothing is kept there as an AGPR. */
TEST(vgprs_in_the_place_of_agprs) {
  static const struct { const char *name, *body; bool ok; } t[] = {
    {"own", "v_mov_b32 v23, 7\ns_nop 4\nv_readfirstlane_b32 s20, v23\ns_nop 4\ns_cmp_eq_u32 s20, 7\ns_cbranch_scc1 1f\n"
            "s_trap 2\n1:\ns_endpgm", true},
    {"past", "v_mov_b32 v24, 0\ns_endpgm", false},
    {"straddling", "v_mov_b64 v[14:15], 0\nv_mov_b64 v[22:23], v[14:15]\ns_endpgm", true},
    {"with_agpr", "v_accvgpr_write_b32 a0, 0\nv_mov_b32 v16, 0\ns_endpgm", false},
    {"agpr_later", "v_mov_b32 v16, 0\ns_endpgm\nv_accvgpr_write_b32 a0, 0\ns_endpgm", false}};
  emu_asm a;
  if (!emu_asm_open(&a)) fail_msg("%s", a.err.text);
  a.vgprs = 24;
  a.accum_offset = 16;
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) emu_asm_kernel(&a, t[i].name, EMU_ASM_RAW, 0, t[i].body);
  if (!emu_asm_build(&a)) fail_msg("%s", a.err.text);
  for (int forgiven = 0; forgiven < 2; forgiven++) {
    ((emu_device *)a.dev)->forgiven = forgiven ? 1u << EMU_RULE_REGISTERS : 0;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
      mlaf_err err = {MLAF_OK, ""};
      bool ok = forgiven && t[i].ok;
      assert_int_equal(emu_asm_run(&a, t[i].name, 1, 64, NULL, 0, &err), ok ? MLAF_OK : MLAF_E_FAULT);
      assert_true(ok || strstr(err.text, "outside the kernel's allocation (24 registers, AGPRs from 16 on)"));
    }
  }
  emu_asm_close(&a);
}

TEST(launches_are_checked) {
  emu_asm a;
  if (!emu_asm_open(&a)) fail_msg("%s", a.err.text);
  emu_asm_kernel(&a, "k", EMU_ASM_RAW, 0, "s_endpgm");
  if (!emu_asm_build(&a)) fail_msg("%s", a.err.text);
  mlaf_err err = {MLAF_OK, ""};
  char args[128] = {0};
  mlaf_function *fn;
  assert_int_equal(emu_asm_run(&a, "k", 0, 64, NULL, 0, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "grid 0x1x1"));
  assert_int_equal(emu_asm_run(&a, "k", 1, 1025, NULL, 0, &err), MLAF_E_ARG);
  assert_int_equal(emu_asm_run(&a, "k", 1, 64, args, sizeof args, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "takes 64 bytes of arguments; 128 were given"));
  assert_int_equal(mlaf_emu_ops.function_get(a.dev, a.module, "nope", &fn, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "no kernel 'nope'"));
  emu_asm_close(&a);
}

TESTS(NULL, NULL)
