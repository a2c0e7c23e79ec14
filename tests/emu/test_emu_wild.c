/* Forms that hand-written kernels use and compilers do not: VGPR indexing, vector skip, scalar stores and atomics, barriers that
 * waves reach in different copies of a loop, descriptors without a kernarg size, and rules that MLAF_EMU_STRICT relaxes. */
#include "emu/snippet.h"
#include "emu/strict.h"

#define STORE9 "s_nop 1\nglobal_store_dword v1, v9, s[6:7]\n"
#define IN_LANES(s, value) \
  for (uint32_t l = 0; l < 64; l++) assert_int_equal((s)->out[l], (value))

TEST_OF(indexing_adds_m0_to_the_chosen_registers, snip *s) {
  const char *set = "v_mov_b32 v20, 20\nv_mov_b32 v21, 21\nv_mov_b32 v22, 22\nv_mov_b32 v23, 23\nv_mov_b32 v9, 0\n"
                    "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_mov_b32 s20, 2\n";
  static const struct { const char *mask; uint32_t want; } t[] = {
    {"gpr_idx(SRC0)", 22 + 21},       /* v20 -> v22 */
    {"gpr_idx(SRC1)", 20 + 23},       /* v21 -> v23 */
    {"gpr_idx(SRC0,SRC1)", 22 + 23},
    {"gpr_idx()", 20 + 21},
    {"gpr_idx(DST)", 0},              /* v9 -> v11, so v9 stays */
  };
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    char body[1024];
    snprintf(body, sizeof body, "%ss_set_gpr_idx_on s20, %s\nv_add_u32 v9, v20, v21\ns_set_gpr_idx_off\n" STORE9, set,
             t[i].mask);
    snip_ok(s, 1, 0, body);
    IN_LANES(s, t[i].want);
  }
  char body[1024];
  snprintf(body, sizeof body, "%ss_set_gpr_idx_on s20, gpr_idx(DST)\nv_add_u32 v9, v20, v21\ns_set_gpr_idx_off\n"
           "v_mov_b32 v9, v11\n" STORE9, set);
  snip_ok(s, 1, 0, body);
  IN_LANES(s, 41);
  /* M0: index in [7:0], mask in [15:12]; _idx and _mode change one of the two. */
  snprintf(body, sizeof body, "%ss_mov_b32 m0, 0xabcd0f00\ns_set_gpr_idx_on s20, gpr_idx(SRC0,DST)\ns_set_gpr_idx_off\n"
           "v_mov_b32 v9, m0\n" STORE9, set);
  snip_ok(s, 1, 0, body);
  IN_LANES(s, 0xabcd9f02);
  snprintf(body, sizeof body, "%ss_set_gpr_idx_on s20, gpr_idx(SRC1)\ns_mov_b32 s21, 1\ns_set_gpr_idx_idx s21\n"
           "s_set_gpr_idx_mode gpr_idx(SRC0)\nv_add_u32 v9, v20, v22\ns_set_gpr_idx_off\n" STORE9, set);
  snip_ok(s, 1, 0, body);
  IN_LANES(s, 21 + 22);
}

TEST_OF(indexing_leaves_memory_and_constants_alone, snip *s) {
  s->in[3] = 77;
  snip_ok(s, 1, 0, "v_mov_b32 v20, 20\nv_mov_b32 v23, 23\nv_mov_b32 v3, 12\ns_mov_b32 s20, 3\n"
                   "s_set_gpr_idx_on s20, gpr_idx(SRC0,SRC1,DST)\nglobal_load_dword v9, v3, s[4:5]\ns_set_gpr_idx_off\n"
                   "s_waitcnt vmcnt(0)\n" STORE9);
  IN_LANES(s, 77);
  snip_ok(s, 1, 0, "v_mov_b32 v20, 20\nv_mov_b32 v23, 23\ns_mov_b32 s20, 3\ns_set_gpr_idx_on s20, gpr_idx(SRC0,SRC1)\n"
                   "v_add_u32 v9, 5, v20\ns_set_gpr_idx_off\n" STORE9);
  IN_LANES(s, 28);
  FAULT(s, 1, 0, "v_mov_b32 v250, 1\ns_mov_b32 s20, 10\ns_set_gpr_idx_on s20, gpr_idx(SRC0)\nv_mov_b32 v9, v250\n",
        "VGPR indexing", "v250", "past v255");
  FAULT(s, 1, 0, "v_mov_b32 v20, 1\ns_mov_b32 s20, 1\ns_set_gpr_idx_on s20, gpr_idx(SRC0)\nv_readfirstlane_b32 s9, v20\n",
        "unimplemented", "VGPR indexing");
  FAULT(s, 1, 0, "v_mov_b32 v20, 1\ns_mov_b32 s20, 1\ns_set_gpr_idx_on s20, gpr_idx(SRC0)\nv_not_b32 v9, v20\n",
        "uninitialised register v21");
}

TEST_OF(vector_skip, snip *s) {
  for (int on = 0; on < 2; on++) {
    char body[512];
    snprintf(body, sizeof body, "v_mov_b32 v9, 1\nv_mov_b32 v20, 7\ns_mov_b32 s20, 0x%x\ns_setvskip s20, 4\ns_nop 1\n"
             "v_mov_b32 v9, 2\nds_write_b32 v2, v9\nglobal_store_dword v1, v20, s[6:7] offset:256\ns_mov_b32 s21, 5\n"
             "s_setvskip 0, 0\ns_nop 1\nv_add_u32 v9, s21, v9\n" STORE9, on << 4);
    s->out[64] = 99;
    snip_ok(s, 1, 256, body);
    IN_LANES(s, on ? 6u : 7u); /* the scalar move is never skipped */
    assert_int_equal(s->out[64], on ? 99 : 7);
  }
  FAULT(s, 1, 256, "v_mov_b32 v9, 1\ns_setvskip 1, 0\ns_nop 1\nds_write_b32 v2, v9\ns_setvskip 0, 0\ns_nop 1\n"
                   "ds_read_b32 v9, v2\n", "LDS byte", "nothing has written");
}

TEST_OF(scalar_stores_and_atomics, snip *s) {
  static const struct { const char *op; uint32_t mem, data, want; } t[] = {
    {"add", 7, 5, 12}, {"sub", 7, 5, 2}, {"inc", 7, 9, 8}, {"inc", 9, 9, 0}, {"dec", 7, 9, 6}, {"dec", 0, 9, 9},
    {"swap", 7, 5, 5}, {"smin", 0xffffffff, 5, 0xffffffff}, {"umin", 0xffffffff, 5, 5},
    {"and", 12, 10, 8}, {"or", 12, 10, 14}, {"xor", 12, 10, 6}};
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    char body[512];
    snprintf(body, sizeof body, "s_mov_b32 s20, %u\ns_atomic_%s s20, s[6:7], 0x100 glc\ns_waitcnt lgkmcnt(0)\n"
             "v_mov_b32 v9, s20\n" STORE9, t[i].data, t[i].op);
    s->out[64] = t[i].mem;
    snip_ok(s, 1, 0, body);
    assert_int_equal(s->out[64], t[i].want);
    IN_LANES(s, t[i].mem); /* glc: the old value */
  }
  s->out[64] = 7, s->out[66] = 1, s->out[67] = 0;
  snip_ok(s, 1, 0, "s_mov_b32 s20, 5\ns_mov_b32 s21, 7\ns_mov_b32 s22, 0x100\ns_atomic_cmpswap s[20:21], s[6:7], s22\n"
                   "s_mov_b32 s24, -1\ns_mov_b32 s25, 0\ns_atomic_add_x2 s[24:25], s[6:7], 0x108\n"
                   "s_store_dwordx2 s[20:21], s[6:7], 0x110\ns_waitcnt lgkmcnt(0)\n");
  assert_int_equal(s->out[64], 5);
  assert_int_equal(s->out[66], 0); /* 1 + 0xffffffff carries into the high dword */
  assert_int_equal(s->out[67], 1);
  assert_int_equal(s->out[68], 5);
  assert_int_equal(s->out[69], 7);
  FAULT(s, 1, 0, "s_mov_b32 s20, 5\ns_atomic_add s20, s[6:7], 0x100 glc\nv_mov_b32 v9, s20\n", "s20", "in flight",
        "lgkmcnt(0)");
  FAULT(s, 1, 0, "s_mov_b32 s20, 5\ns_mov_b64 s[22:23], 0x40\ns_store_dword s20, s[22:23], 0x0\n", "scalar store", "0x40");
  FAULT(s, 1, 0, "s_store_dword s20, s[6:7], 0x0\n", "uninitialised register s20");
}

/* Waves of the lower and the upper half run the same barriers in two copies. */
#define COPIES(a, b) "s_cmp_lt_u32 s8, 1\ns_cbranch_scc0 2f\n" a "s_branch 3f\n2:\n" b "3:\n"

TEST_OF(barriers_count_arrivals, snip *s) {
  const char *write = "v_add_u32 v9, 100, v0\nv_lshlrev_b32 v3, 2, v0\nds_write_b32 v3, v9\ns_waitcnt lgkmcnt(0)\n";
  const char *read = "v_sub_u32 v3, 508, v3\nds_read_b32 v9, v3\ns_waitcnt lgkmcnt(0)\n" STORE9;
  char body[1024];
  snprintf(body, sizeof body, "%s" COPIES("s_barrier\n", "s_nop 3\ns_barrier\n") "%s", write, read);
  snip_ok(s, 2, 512, body);
  for (uint32_t t = 0; t < 128; t++) assert_int_equal(s->out[t], 100 + 127 - t);
  FAULT(s, 2, 512, COPIES("s_barrier\n", "s_barrier\ns_barrier\n"), "divergent barrier", "wave 1", "wave 0",
        "has ended after 1");
}

TEST_OF(a_mask_read_per_lane_needs_no_wait_state, snip *s) {
  snip_ok(s, 1, 0, "v_mov_b32 v9, 5\nv_mov_b32 v10, 6\nv_cmp_eq_u32 s[20:21], v9, v9\n"
                   "v_cndmask_b32 v9, v9, v10, s[20:21]\n" STORE9);
  IN_LANES(s, 6);
  FAULT(s, 1, 0, "v_cmp_eq_u32 s[20:21], v1, v1\nv_mov_b32 v9, s20\n", "hazard", "2 in all");
}

/* A descriptor may leave the kernarg size out. The metadata's counts then; without metadata, what a launch passes. */
static mlaf_status launch_unsized(snip *s, const char *note, size_t args_size) {
  static const char source[] =
      ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n"
      "s_load_dwordx2 s[4:5], s[0:1], 0x8\nv_lshlrev_b32 v0, 2, v0\nv_mov_b32 v1, 7\ns_waitcnt lgkmcnt(0)\n"
      "global_store_dword v0, v1, s[4:5]\ns_endpgm\n.section .rodata\n.p2align 6\n.amdhsa_kernel k\n"
      ".amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 16\n.amdhsa_accum_offset 8\n"
      ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n%s";
  char text[4096];
  void *code, *args[4] = {s->in, s->out, NULL, NULL};
  size_t size;
  mlaf_module *m;
  mlaf_function *fn;
  snprintf(text, sizeof text, source, note);
  if (mlaf_assemble(s->compiler, "gfx942", text, &code, &size, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  if (mlaf_emu_ops.module_load(s->dev, code, size, &m, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  free(code);
  assert_int_equal(mlaf_emu_ops.function_get(s->dev, m, "k", &fn, &s->err), MLAF_OK);
  mlaf_launch l = {.fn = fn, .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = args, .args_size = args_size};
  mlaf_status st = mlaf_emu_ops.launch(s->dev, NULL, &l, &s->err);
  mlaf_emu_ops.module_unload(s->dev, m);
  return st;
}

TEST_OF(kernarg_size_from_metadata, snip *s) {
  static const char note[] =
      ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n"
      "    .kernarg_segment_size: 16\n    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n"
      "    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 16\n    .vgpr_count: 8\n"
      "    .max_flat_workgroup_size: 64\n...\n.end_amdgpu_metadata\n";
  for (int with = 0; with < 2; with++) {
    memset(s->out, 0, 256);
    if (launch_unsized(s, with ? note : "", 16) != MLAF_OK) fail_msg("%d: %s", with, s->err.text);
    IN_LANES(s, 7);
    assert_int_equal(launch_unsized(s, with ? note : "", 32), with ? MLAF_E_ARG : MLAF_OK);
  }
}

/* --- MLAF_EMU_STRICT --- */

typedef struct heard {
  int lines;
  char last[2048];
} heard;

static void hear(void *user, mlaf_log_level level, const char *line) {
  heard *h = user;
  if (level != MLAF_LOG_WARN) return;
  h->lines++;
  snprintf(h->last, sizeof h->last, "%s", line);
}

/* Run with rules relaxed; what the launch logs comes back. */
static mlaf_status relaxed(snip *s, const char *rules, int waves, int lds, const char *body, heard *h) {
  emu_device *d = (emu_device *)s->dev;
  mlaf_log before = d->log;
  *h = (heard){0, ""};
  d->log = (mlaf_log){hear, h, MLAF_LOG_WARN};
  assert_int_equal(emu_strict_parse(rules, &d->forgiven, &d->extra, &s->err), MLAF_OK);
  mlaf_status st = snip_run(s, waves, lds, body);
  d->log = before;
  d->forgiven = d->extra = 0;
  return st;
}

TEST(strictness_is_named) {
  uint32_t mask, extra;
  mlaf_err err;
  assert_int_equal(emu_strict_parse(NULL, &mask, &extra, &err), MLAF_OK);
  assert_int_equal(mask, 0);
  assert_int_equal(emu_strict_parse("all", &mask, &extra, &err), MLAF_OK);
  assert_int_equal(mask, 0);
  assert_int_equal(extra, 1u << EMU_RULE_LDS_SAME_VALUE | 1u << EMU_RULE_GLOBAL_UNWRITTEN);
  assert_int_equal(emu_strict_parse("-registers,-waitcnt,+lds-same-value", &mask, &extra, &err), MLAF_OK);
  assert_int_equal(mask, 1u << EMU_RULE_REGISTERS | 1u << EMU_RULE_WAITCNT);
  assert_int_equal(extra, 1u << EMU_RULE_LDS_SAME_VALUE);
  assert_int_equal(emu_strict_parse("none", &mask, &extra, &err), MLAF_OK);
  assert_int_equal(mask, (1u << (EMU_RULE_SCALAR_ALIGN + 1)) - 1); /* a race is not forgiven unless by its name */
  assert_int_equal(emu_strict_parse("-lds-race", &mask, &extra, &err), MLAF_OK);
  assert_int_equal(mask, 1u << EMU_RULE_LDS_RACE);
  static const char *const bad[] = {"registers", "-register", "-registers;-waitcnt", "yes", "-", "-lds-same-value", "+lds-race"};
  for (int i = 0; i < 7; i++) {
    assert_int_equal(emu_strict_parse(bad[i], &mask, &extra, &err), MLAF_E_ARG);
    assert_non_null(strstr(err.text, "lds-order")); /* the message lists the rules */
  }
}

TEST_OF(unwritten_registers_read_as_ones, snip *s) {
  heard h;
  const char *body = "v_and_b32 v9, 0xff, v77\nv_add_u32 v9, v9, v77\n" STORE9;
  FAULT(s, 1, 0, body, "uninitialised register v77", "MLAF_EMU_STRICT=-registers");
  assert_int_equal(relaxed(s, "-registers", 1, 0, body, &h), MLAF_OK);
  IN_LANES(s, 0xff - 1);
  assert_int_equal(h.lines, 1);
  assert_non_null(strstr(h.last, "registers 1 times"));
  assert_non_null(strstr(h.last, "v77"));
  assert_int_equal(relaxed(s, "-lds-order", 1, 0, body, &h), MLAF_E_FAULT); /* only the rule that was named */
  assert_int_equal(relaxed(s, "-registers", 1, 0, "s_add_u32 s20, s21, 1\nv_mov_b32 v9, s20\n" STORE9, &h), MLAF_OK);
  IN_LANES(s, 0);
}

TEST_OF(unwritten_lds_reads_as_ones, snip *s) {
  heard h;
  const char *body = "ds_read_b32 v9, v2\ns_waitcnt lgkmcnt(0)\n" STORE9;
  FAULT(s, 1, 256, body, "nothing has written", "-lds-unwritten");
  assert_int_equal(relaxed(s, "-lds-unwritten", 1, 256, body, &h), MLAF_OK);
  IN_LANES(s, 0xffffffff);
  assert_int_equal(h.lines, 1);
}

/* A load used without a wait: right once it has had its time, a fault before. */
TEST_OF(loads_that_have_had_their_time, snip *s) {
  heard h;
  char body[512];
  s->in[0] = 1234;
  const char *load = "v_mov_b32 v3, 0\nglobal_load_dword v9, v3, s[4:5]\n";
  for (int wait = 0; wait < 2; wait++) {
    snprintf(body, sizeof body, "%s%s" STORE9, load, wait ? ".rept 20\ns_nop 15\n.endr\n" : "s_nop 15\n");
    FAULT(s, 1, 0, body, "v9", "in flight", "vmcnt(0)");
    assert_int_equal(relaxed(s, "-waitcnt", 1, 0, body, &h), wait ? MLAF_OK : MLAF_E_FAULT);
    assert_int_equal(h.lines, wait);
  }
  IN_LANES(s, 1234);
  for (int wait = 0; wait < 2; wait++) {
    snprintf(body, sizeof body, "ds_write_b32 v2, v0\nds_read_b32 v9, v2\n%s" STORE9, wait ? "s_nop 15\ns_nop 15\n" : "");
    assert_int_equal(relaxed(s, "-waitcnt", 1, 256, body, &h), wait ? MLAF_OK : MLAF_E_FAULT);
  }
  for (int wait = 0; wait < 2; wait++) {
    snprintf(body, sizeof body, "s_load_dword s20, s[4:5], 0x0\n%sv_mov_b32 v9, s20\n" STORE9,
             wait ? ".rept 8\ns_nop 15\n.endr\n" : "");
    assert_int_equal(relaxed(s, "-waitcnt", 1, 0, body, &h), wait ? MLAF_OK : MLAF_E_FAULT);
  }
}

/* Wave 0 writes what wave 1 reads, with nothing but distance between them. */
TEST_OF(lds_accesses_that_time_orders, snip *s) {
  heard h;
  char body[1024];
  for (int apart = 0; apart < 2; apart++) {
    snprintf(body, sizeof body, "v_mov_b32 v9, 3\n" COPIES("v_mov_b32 v9, 4\nds_write_b32 v2, v9\ns_waitcnt lgkmcnt(0)\n",
             "%sds_read_b32 v9, v2\ns_waitcnt lgkmcnt(0)\n") STORE9, apart ? "s_nop 15\ns_nop 15\n" : "");
    FAULT(s, 2, 256, body, "LDS race");
    assert_int_equal(relaxed(s, "-lds-order", 2, 256, body, &h), apart ? MLAF_OK : MLAF_E_FAULT);
    assert_int_equal(h.lines, apart);
  }
  for (uint32_t t = 0; t < 128; t++) assert_int_equal(s->out[t], 4);
  /* The other way round: wave 0 writes after a pause what wave 1 has read before; run wave by wave it would see the new. */
  char first[1024];
  snprintf(first, sizeof first, "v_mov_b32 v9, 3\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 9f\nds_write_b32 v2, v9\n"
           "s_waitcnt lgkmcnt(0)\n9:\ns_barrier\n"
           COPIES("v_mov_b32 v9, 4\ns_nop 15\ns_nop 15\nds_write_b32 v2, v9\ns_waitcnt lgkmcnt(0)\n",
                  "ds_read_b32 v9, v2\ns_waitcnt lgkmcnt(0)\n") STORE9);
  FAULT(s, 2, 256, first, "LDS race");
  assert_int_equal(relaxed(s, "-lds-order", 2, 256, first, &h), MLAF_OK);
  for (uint32_t t = 64; t < 128; t++) assert_int_equal(s->out[t], 3);
}

TESTS(snip_open, snip_close)
