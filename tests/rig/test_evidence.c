/* Hot loops in made-up disassembly: which loop is found, and what one round of it counts. */
#include "base/base.h"
#include "rig/evidence.h"
#include "cmocka_all.h"

/* Assembler of a line: every instruction 4 bytes long. A branch names the index of its target. */
typedef struct program {
  char text[8192];
  unsigned n;
} program;

static void put(program *p, const char *instruction) {
  size_t at = strlen(p->text);
  snprintf(p->text + at, sizeof p->text - at, "%x 4 %s\n", 4 * p->n++, instruction);
}

static void branch(program *p, const char *mnemonic, unsigned to) {
  char line[64];
  snprintf(line, sizeof line, "%s %u", mnemonic, (unsigned)(uint16_t)((int)to - (int)p->n - 1));
  put(p, line);
}

TEST(straight_code_has_no_loop) {
  program p = {"", 0};
  put(&p, "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]");
  put(&p, "s_endpgm");
  rig_evidence e = {.mfma = 77};
  assert_true(mlaf_evidence(p.text, &e));
  assert_int_equal(e.loops + e.mfma + e.instructions, 0);
  assert_true(mlaf_evidence("", &e));
  assert_int_equal(e.loops, 0);
}

TEST(one_loop_is_counted_by_class) {
  static const char *const body[] = {"v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]",
                                     "v_perm_b32 v1, v2, v3, s4",
                                     "v_add_u32_e32 v1, v2, v3",
                                     "ds_read_b128 v[0:3], v9",
                                     "global_load_dwordx4 v[4:7], v8, s[2:3] nt",
                                     "buffer_load_dword v1, s[4:7], 0 offen lds",
                                     "s_load_dwordx2 s[8:9], s[0:1], 0x10",
                                     "s_waitcnt vmcnt(4)",
                                     "s_nop 1",
                                     "s_barrier",
                                     "s_add_u32 s3, s3, 1"};
  program p = {"", 0};
  put(&p, "v_mov_b32_e32 v0, 0");
  for (size_t i = 0; i < sizeof body / sizeof *body; i++) put(&p, body[i]);
  branch(&p, "s_cbranch_scc1", 1);
  put(&p, "s_endpgm");
  rig_evidence e;
  assert_true(mlaf_evidence(p.text, &e));
  assert_int_equal(e.loops, 1);
  assert_int_equal(e.start, 4);
  assert_int_equal(e.instructions, 12);
  assert_int_equal(e.loop_instructions, 12);
  assert_int_equal(e.load_bytes, 64 * 16 + 64 * 4);
  const unsigned counts[] = {e.mfma, e.valu, e.ds, e.vmem, e.smem, e.salu, e.waitcnt, e.nop, e.barrier, e.branch};
  const unsigned expect[] = {1, 2, 1, 2, 1, 1, 1, 1, 1, 1};
  assert_memory_equal(counts, expect, sizeof counts);
}

/* An outer loop around two inner ones, one of them hot; the hot one has a seldom path laid out behind the program. */
TEST(the_inner_loop_without_its_seldom_path) {
  program p = {"", 0};
  put(&p, "s_mov_b32 s0, 0");                                          /* 0 */
  put(&p, "v_mov_b32_e32 v9, 0");                                      /* 1: outer header */
  put(&p, "v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]"); /* 2: outer's own */
  put(&p, "ds_read_b32 v1, v2");                                       /* 3: small inner loop, no MFMA */
  branch(&p, "s_cbranch_vccnz", 3);                                    /* 4 */
  put(&p, "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]");  /* 5: hot header */
  branch(&p, "s_cbranch_scc0", 12);                                    /* 6: seldom path */
  put(&p, "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]");  /* 7 */
  put(&p, "s_waitcnt lgkmcnt(0)");                                     /* 8 */
  branch(&p, "s_cbranch_scc1", 5);                                     /* 9 */
  branch(&p, "s_cbranch_scc1", 1);                                     /* 10 */
  put(&p, "s_endpgm");                                                 /* 11 */
  for (int i = 0; i < 40; i++) put(&p, "v_mul_f32_e32 v1, v2, v3");    /* 12..51 */
  branch(&p, "s_branch", 7);                                           /* 52 */
  rig_evidence e;
  assert_true(mlaf_evidence(p.text, &e));
  assert_int_equal(e.loops, 3);
  assert_int_equal(e.start, 4 * 5);
  assert_int_equal(e.mfma, 2);
  assert_int_equal(e.valu, 0);
  assert_int_equal(e.instructions, 5);
  assert_int_equal(e.loop_instructions, 5 + 41);
}

TESTS(NULL, NULL)
