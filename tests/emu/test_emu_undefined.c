/* Values that were never written may be moved, saved, restored and masked away, as compilers do; what makes a difference
 * faults. */
#include "emu/snippet.h"

#define LOW "s_mov_b64 exec, 0xff\n"
#define ALL "s_mov_b64 exec, -1\n"
#define STORE9 "s_nop 1\nglobal_store_dword v1, v9, s[6:7]\n"

TEST_OF(lane_masks_are_merged, snip *s) {
  /* A fresh pair gets the bits of the lanes that are on; only those are asked for. */
  const char *merge = "v_mov_b32 v9, 1\nv_mov_b32 v10, 2\n" LOW "s_or_b64 s[20:21], s[20:21], exec\n";
  char body[1024];
  snprintf(body, sizeof body, "%sv_cndmask_b32 v9, v9, v10, s[20:21]\n" ALL STORE9, merge);
  snip_ok(s, 1, 0, body);
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], l < 8 ? 2 : 1);
  snprintf(body, sizeof body, "%s" ALL "v_cndmask_b32 v9, v9, v10, s[20:21]\n", merge);
  FAULT(s, 1, 0, body, "uninitialised register s20");
  snprintf(body, sizeof body, "%ss_and_b64 vcc, exec, s[20:21]\ns_cbranch_vccz 1f\nv_mov_b32 v9, 7\n1:\n" ALL STORE9, merge);
  snip_ok(s, 1, 0, body); /* the AND leaves defined bits only */
  assert_int_equal(s->out[0], 7);
  snprintf(body, sizeof body, "%ss_mov_b64 vcc, s[20:21]\ns_cbranch_vccz 1f\n1:\n", merge);
  FAULT(s, 1, 0, body, "uninitialised register vcc_lo");
  snprintf(body, sizeof body, "%ss_and_saveexec_b64 s[22:23], s[20:21]\nv_mov_b32 v9, 8\n" ALL STORE9, merge);
  snip_ok(s, 1, 0, body);
  assert_int_equal(s->out[7], 8);
  snprintf(body, sizeof body, "%s" ALL "s_and_saveexec_b64 s[22:23], s[20:21]\n", merge);
  FAULT(s, 1, 0, body, "uninitialised register s20");
  snprintf(body, sizeof body, "%ss_mov_b64 exec, s[20:21]\n", merge);
  FAULT(s, 1, 0, body, "uninitialised register exec_lo");
  snprintf(body, sizeof body, "%ss_andn2_b64 s[20:21], s[20:21], exec\ns_xor_b64 s[22:23], s[20:21], exec\n"
           "v_cndmask_b32 v9, v9, v10, s[22:23]\n" ALL STORE9, merge);
  snip_ok(s, 1, 0, body); /* bits known to be 0, then 1 */
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], l < 8 ? 2 : 1);
}

TEST_OF(scc_is_known_or_not, snip *s) {
  snip_ok(s, 1, 0, "s_mov_b32 s20, 1\ns_or_b32 s22, s20, s21\ns_cselect_b32 s23, 1, 0\nv_mov_b32 v9, s23\n" STORE9);
  assert_int_equal(s->out[0], 1); /* not 0, whatever s21 holds */
  FAULT(s, 1, 0, "s_mov_b32 s20, 1\ns_and_b32 s22, s20, s21\ns_cselect_b32 s23, 1, 0\n", "SCC is read before");
  snip_ok(s, 1, 0, "s_mov_b32 s20, 0\ns_and_b32 s22, s20, s21\ns_cselect_b32 s23, 1, 0\nv_add_u32 v9, s22, v0\n" STORE9);
  assert_int_equal(s->out[5], 5); /* and with 0 is 0 */
  FAULT(s, 1, 0, "s_mov_b32 s20, 1\ns_or_b32 s22, s20, s21\nv_add_u32 v9, s22, v0\n", "uninitialised register s22");
}

TEST_OF(saved_and_restored, snip *s) {
  snip_ok(s, 1, 0, "v_writelane_b32 v40, s50, 3\nv_mov_b32 v41, v42\nv_accvgpr_write_b32 a5, v43\nv_mov_b64 v[44:45], v[46:47]\n"
                   "s_mov_b64 s[60:61], s[62:63]\ns_nop 3\nv_readlane_b32 s50, v40, 3\nv_accvgpr_read_b32 v43, a5\n"
                   "s_cmp_eq_u32 s4, s4\ns_cselect_b32 s70, s71, s72\n");
}

/* A mask of which some lanes are defined keeps just those through a lane of a vector register, a copy of it, and back. */
TEST_OF(half_a_mask_saved, snip *s) {
  const char *save = "v_mov_b32 v9, 1\nv_mov_b32 v10, 2\n" LOW "s_or_b64 s[20:21], s[20:21], exec\nv_writelane_b32 v40, s20, 3\n"
                     "v_writelane_b32 v40, s21, 4\n" ALL "v_mov_b32 v41, v40\nv_accvgpr_write_b32 a5, v41\nv_accvgpr_read_b32"
                                                         " v42, a5\n"
                     "s_mov_b64 vcc, 0\ns_nop 3\nv_cndmask_b32 v43, v42, v0, vcc\nv_pk_mov_b32 v[44:45], v[42:43], v[42:43]"
                     " op_sel:[1,1]\n"
                     "s_nop 3\nv_readlane_b32 s22, v44, 3\nv_readlane_b32 s23, v44, 4\ns_nop 3\n";
  char body[2048];
  snprintf(body, sizeof body, "%s" LOW "v_cndmask_b32 v9, v9, v10, s[22:23]\n" ALL STORE9, save);
  snip_ok(s, 1, 0, body);
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], l < 8 ? 2 : 1);
  snprintf(body, sizeof body, "%sv_cndmask_b32 v9, v9, v10, s[22:23]\n", save);
  FAULT(s, 1, 0, body, "uninitialised register s22");
  snprintf(body, sizeof body, "%sv_add_u32 v9, v44, v0\n", save);
  FAULT(s, 1, 0, body, "uninitialised register v44");
  /* All of it written again: defined again. */
  snprintf(body, sizeof body, "%ss_mov_b32 s22, 5\nv_writelane_b32 v44, s22, 3\ns_nop 1\nv_readlane_b32 s24, v44, 3\ns_nop"
                              " 1\ns_add_u32 s24, s24, 1\n"
           "v_mov_b32 v9, s24\n" STORE9, save);
  snip_ok(s, 1, 0, body);
  assert_int_equal(s->out[0], 6);
}

TEST_OF(looking_faults, snip *s) {
  FAULT(s, 1, 0, "v_writelane_b32 v40, s50, 3\ns_nop 3\nv_readlane_b32 s51, v40, 3\ns_add_u32 s52, s51, 1\n",
      "uninitialised register s51");
  FAULT(s, 1, 0, "v_mov_b32 v9, v42\nv_add_u32 v9, v9, v0\n", "uninitialised register v9");
  FAULT(s, 1, 0, "v_mov_b32 v9, v42\nglobal_store_dword v1, v9, s[6:7]\n", "uninitialised register v9");
  FAULT(s, 1, 0, "v_mov_b32 v9, s50\nv_add_u32 v9, v9, v0\n", "uninitialised register v9");
  FAULT(s, 1, 0, "v_mov_b32 v9, v0\n" LOW "v_mov_b32 v9, v42\n" ALL "v_add_u32 v9, v9, v0\n", "uninitialised register v9",
      "8 of the 64");
  FAULT(s, 1, 0, "s_mov_b64 s[20:21], s[22:23]\ns_load_dword s24, s[20:21], 0x0\n", "uninitialised register s20");
  FAULT(s, 1, 0, "s_cmp_eq_u32 s4, s4\ns_cselect_b32 s20, s21, s4\ns_cmp_eq_u32 s20, 0\n", "uninitialised register s20");
  /* A load in flight is no undefined value: moving it is using it. */
  FAULT(s, 1, 0, "s_load_dword s20, s[4:5], 0x0\ns_mov_b32 s21, s20\n", "s20", "in flight");
  FAULT(s, 1, 0, "global_load_dword v9, v1, s[4:5]\nv_mov_b32 v10, v9\n", "v9", "vmcnt(0)");
  /* A selection looks at one operand a lane. */
  FAULT(s, 1, 0, "s_mov_b64 s[20:21], 0xff\nv_cndmask_b32 v9, v0, v42, s[20:21]\nv_add_u32 v9, v9, v0\n",
        "uninitialised register v9", "8 of the 64", "lane 0");
  snip_ok(s, 1, 0, "s_mov_b64 s[20:21], 0\nv_cndmask_b32 v9, v0, v42, s[20:21]\n" STORE9);
  assert_int_equal(s->out[33], 33);
  /* A shifted pair's undefined bits move along or fall out. */
  snip_ok(s, 1, 0, "v_mov_b32 v21, 6\nv_lshrrev_b64 v[22:23], 32, v[20:21]\nv_add_u32 v9, v22, v0\n" STORE9);
  assert_int_equal(s->out[1], 7);
  snip_ok(s, 1, 0, "v_mov_b32 v20, -1\nv_lshlrev_b64 v[22:23], 32, v[20:21]\nv_add3_u32 v9, v22, v23, v0\n" STORE9);
  assert_int_equal(s->out[1], 0);
  FAULT(s, 1, 0, "v_mov_b32 v21, 6\nv_lshrrev_b64 v[22:23], 31, v[20:21]\nv_add_u32 v9, v22, v0\n", "uninitialised register v22");
  FAULT(s, 1, 0, "v_mov_b32 v20, 6\nv_ashrrev_i64 v[22:23], 33, v[20:21]\nv_add_u32 v9, v23, v0\n", "uninitialised register v23");
  /* Overlapping pairs move as one. */
  snip_ok(s, 1, 0, "v_mov_b32 v20, 5\nv_mov_b32 v21, 6\nv_mov_b64 v[22:23], v[20:21]\nv_mov_b32 v9, v23\n" STORE9);
  assert_int_equal(s->out[0], 6);
}

TESTS(snip_open, snip_close)
