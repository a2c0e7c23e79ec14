/* Disassembly text to instructions: every operand and modifier form LLVM prints for gfx942, and text that is damaged. */
#include "cmocka_all.h"
#include "emu/emu.h"
#include "emu/parse.h"

/* Decode lines of 8 bytes each; the caller closes the code. */
static emu_code *decode(const char *const *lines, int n) {
  emu_code *c = calloc(1, sizeof *c);
  mlaf_text t = MLAF_TEXT_INIT(1 << 20);
  mlaf_err err = {MLAF_OK, ""};
  assert_non_null(c);
  for (int i = 0; i < n; i++) mlaf_text_fmt(&t, "%x 8 %s\n", i * 8, lines[i]);
  c->text_size = (uint64_t)n * 8;
  if (emu_code_decode(c, mlaf_text_take(&t), &err) != MLAF_OK) fail_msg("%s", err.text);
  assert_int_equal(c->n_insts, n);
  return c;
}

static emu_code *one(const char *line) { return decode(&line, 1); }

TEST(operands) {
  static const struct {
    const char *word;
    int kind, reg, count;
    uint64_t value;
    int neg, abs, sext, literal;
  } t[] = {
    {"v0", EMU_O_VREG, 0, 1, 0, 0, 0, 0, 0},          {"v255", EMU_O_VREG, 255, 1, 0, 0, 0, 0, 0},
    {"v[4:7]", EMU_O_VREG, 4, 4, 0, 0, 0, 0, 0},      {"a3", EMU_O_VREG, 259, 1, 0, 0, 0, 0, 0},
    {"a[0:15]", EMU_O_VREG, 256, 16, 0, 0, 0, 0, 0},  {"s101", EMU_O_SREG, 101, 1, 0, 0, 0, 0, 0},
    {"s[2:3]", EMU_O_SREG, 2, 2, 0, 0, 0, 0, 0},      {"ttmp[4:5]", EMU_O_SREG, 112, 2, 0, 0, 0, 0, 0},
    {"vcc", EMU_O_SREG, EMU_VCC, 2, 0, 0, 0, 0, 0},   {"vcc_hi", EMU_O_SREG, EMU_VCC + 1, 1, 0, 0, 0, 0, 0},
    {"exec", EMU_O_SREG, EMU_EXEC, 2, 0, 0, 0, 0, 0}, {"exec_lo", EMU_O_SREG, EMU_EXEC, 1, 0, 0, 0, 0, 0},
    {"m0", EMU_O_SREG, EMU_M0, 1, 0, 0, 0, 0, 0},     {"flat_scratch", EMU_O_SREG, EMU_FLAT_SCRATCH, 2, 0, 0, 0, 0, 0},
    {"off", EMU_O_OFF, 0, 1, 0, 0, 0, 0, 0},          {"src_scc", EMU_O_SCC, 0, 1, 0, 0, 0, 0, 0},
    {"64", EMU_O_CONST, 0, 1, 64, 0, 0, 0, 0},        {"-16", EMU_O_CONST, 0, 1, (uint64_t)-16, 0, 0, 0, 0},
    {"0x40", EMU_O_CONST, 0, 1, 64, 0, 0, 0, 1},      {"0xdeadbeef", EMU_O_CONST, 0, 1, 0xdeadbeef, 0, 0, 0, 1},
    {"1.0", EMU_O_CONST, 0, 1, 0x3f800000, 0, 0, 0, 0}, {"-4.0", EMU_O_CONST, 0, 1, 0xc0800000, 0, 0, 0, 0},
    {"0.15915494", EMU_O_CONST, 0, 1, 0x3e22f983, 0, 0, 0, 0},
    {"src_shared_base", EMU_O_CONST, 0, 2, EMU_SHARED_BASE, 0, 0, 0, 0},
    {"-v1", EMU_O_VREG, 1, 1, 0, 1, 0, 0, 0},         {"|v1|", EMU_O_VREG, 1, 1, 0, 0, 1, 0, 0},
    {"-|v1|", EMU_O_VREG, 1, 1, 0, 1, 1, 0, 0},       {"neg(1.0)", EMU_O_CONST, 0, 1, 0x3f800000, 1, 0, 0, 0},
    {"abs(s4)", EMU_O_SREG, 4, 1, 0, 0, 1, 0, 0},     {"-|0.5|", EMU_O_CONST, 0, 1, 0x3f000000, 1, 1, 0, 0},
    {"sext(v9)", EMU_O_VREG, 9, 1, 0, 0, 0, 1, 0},    {"-s3", EMU_O_SREG, 3, 1, 0, 1, 0, 0, 0}};
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    emu_operand o;
    if (!emu_parse_operand(t[i].word, &o)) fail_msg("%s does not parse", t[i].word);
    bool same = o.kind == t[i].kind && o.reg == t[i].reg && o.count == t[i].count && o.neg == t[i].neg &&
                o.abs == t[i].abs && o.sext == t[i].sext && o.is_literal == t[i].literal &&
                (o.kind != EMU_O_CONST || o.value == t[i].value);
    if (!same)
      fail_msg("%s: kind %d reg %d count %d value %llx", t[i].word, o.kind, o.reg, o.count, (unsigned long long)o.value);
  }
  static const char *const bad[] = {"", "v", "v256", "v[3:1]", "v[0:3", "v[0:99]", "s102", "w1", "1.0x", "0x", "-", "|v1",
                                    "neg(v1", "v1v", "v-1", "1e", "sext()", "||", "neg()"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    emu_operand o;
    if (emu_parse_operand(bad[i], &o)) fail_msg("'%s' parses", bad[i]);
  }
}

TEST(modifiers) {
  emu_code *c = one("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], s[0:1] op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0] neg_hi:[0,1,0]");
  const emu_inst *in = c->insts;
  assert_string_equal(in->mnemonic, "v_pk_fma_f32");
  assert_int_equal(in->n_dst, 1);
  assert_int_equal(in->n_src, 3);
  assert_int_equal(in->op_sel, 2);
  assert_int_equal(in->op_sel_hi, 5);
  assert_int_equal(in->neg_lo, 1);
  assert_int_equal(in->neg_hi, 2);
  emu_code_close(c);

  c = one("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD");
  in = c->insts;
  assert_string_equal(in->mnemonic, "v_add_u32");
  assert_true(in->flags & EMU_F_SDWA);
  assert_int_equal(in->sdwa_dst, 1);
  assert_int_equal(in->sdwa_unused, 2);
  assert_int_equal(in->sdwa_src0, 5);
  assert_int_equal(in->sdwa_src1, 6);
  emu_code_close(c);

  c = one("v_add_f32_e64 v0, -|v1|, v2 clamp mul:4");
  in = c->insts;
  assert_true(in->flags & EMU_F_CLAMP);
  assert_int_equal(in->omod, 2);
  assert_true(in->src[0].neg && in->src[0].abs);
  emu_code_close(c);

  c = one("global_load_dwordx4 v[0:3], v4, s[2:3] offset:-16 sc0 sc1 nt");
  in = c->insts;
  assert_int_equal(in->offset, -16);
  assert_int_equal(in->flags, EMU_F_SC0 | EMU_F_SC1 | EMU_F_NT);
  assert_int_equal(in->n_dst, 1);
  assert_int_equal(in->src[1].reg, 2);
  emu_code_close(c);

  c = one("buffer_load_dword v1, s[8:11], 0 offen offset:4095 lds");
  in = c->insts;
  assert_int_equal(in->n_dst, 0); /* the data goes to LDS */
  assert_int_equal(in->n_src, 3);
  assert_int_equal(in->flags, EMU_F_OFFEN | EMU_F_LDS);
  emu_code_close(c);

  c = one("ds_read2_b32 v[0:1], v2 offset0:3 offset1:255");
  assert_int_equal(c->insts->offset, 3);
  assert_int_equal(c->insts->offset2, 255);
  emu_code_close(c);

  c = one("v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3] cbsz:1 abid:2 blgp:3");
  assert_int_equal(c->insts->cbsz, 1);
  assert_int_equal(c->insts->abid, 2);
  assert_int_equal(c->insts->blgp, 3);
  emu_code_close(c);
}

TEST(dpp_controls) {
  static const struct { const char *word; int ctrl; } t[] = {
    {"quad_perm:[0,1,2,3]", 0xe4}, {"quad_perm:[3,1,0,2]", 0x87}, {"row_shl:1", 0x101}, {"row_shr:15", 0x11f},
    {"row_ror:4", 0x124}, {"wave_shl:1", 0x130}, {"wave_rol:1", 0x134}, {"wave_shr:1", 0x138}, {"wave_ror:1", 0x13c},
    {"row_mirror", 0x140}, {"row_half_mirror", 0x141}, {"row_bcast:15", 0x142}, {"row_bcast:31", 0x143},
    {"row_newbcast:9", 0x159}};
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    char line[128];
    snprintf(line, sizeof line, "v_mov_b32_dpp v0, v1 %s row_mask:0xa bank_mask:0x5 bound_ctrl:1", t[i].word);
    emu_code *c = one(line);
    assert_int_equal(c->insts->dpp_ctrl, t[i].ctrl);
    assert_int_equal(c->insts->row_mask, 10);
    assert_int_equal(c->insts->bank_mask, 5);
    assert_true(c->insts->flags & EMU_F_DPP && c->insts->flags & EMU_F_BOUND_CTRL);
    emu_code_close(c);
  }
}

TEST(waits_and_immediates) {
  static const struct { const char *line; int vm, lgkm, exp; } waits[] = {
    {"s_waitcnt vmcnt(0)", 0, 255, 255},           {"s_waitcnt lgkmcnt(3)", 255, 3, 255},
    {"s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)", 63, 15, 7}, {"s_waitcnt vmcnt(0) lgkmcnt(0)", 0, 0, 255},
    {"s_waitcnt 0xc07f", 63, 0, 7},                {"s_waitcnt 3952", 0, 15, 7}};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
    emu_code *c = one(waits[i].line);
    assert_int_equal(c->insts->vmcnt, waits[i].vm);
    assert_int_equal(c->insts->lgkmcnt, waits[i].lgkm);
    assert_int_equal(c->insts->expcnt, waits[i].exp);
    emu_code_close(c);
  }
  static const struct { const char *line; uint32_t imm; } imms[] = {
    {"s_nop 7", 7}, {"s_movk_i32 s0, 0xff00", 0xff00}, {"s_setprio 3", 3}, {"s_sleep 1", 1},
    {"s_getreg_b32 s0, hwreg(HW_REG_HW_ID, 8, 4)", 4 | 8 << 6 | 3 << 11},
    {"s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)", 20 | 31 << 11},
    {"s_getreg_b32 s0, hwreg(33, 1, 2)", 33 | 1 << 6 | 1 << 11},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", 1 | 4 << 6 | 1 << 11},
    {"ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)", 0x401f}, {"ds_swizzle_b32 v0, v1 offset:swizzle(REVERSE,8)", 0x1c1f},
    {"ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,8,3)", 0x0078},
    {"ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,0,1,2,3)", 0x80e4},
    {"ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,\"0ip1p\")", 0x0d | 0x02 << 5 | 0x08 << 10}};
  for (size_t i = 0; i < sizeof imms / sizeof *imms; i++) {
    emu_code *c = one(imms[i].line);
    if (c->insts->imm != imms[i].imm) fail_msg("%s: imm 0x%x, expected 0x%x", imms[i].line, c->insts->imm, imms[i].imm);
    emu_code_close(c);
  }
}

TEST(branches) {
  static const char *const lines[] = {"s_cbranch_scc1 3", "s_nop 0", "s_branch 65531", "s_branch 12000", "s_endpgm"};
  emu_code *c = decode(lines, 5);
  assert_int_equal(c->insts[0].target, 2);  /* 0 + 4 + 12 = 16 */
  assert_int_equal(c->insts[2].target, 0);  /* 16 + 4 - 20 = 0 */
  assert_int_equal(c->insts[3].target, -1); /* outside */
  assert_ptr_equal(emu_code_at(c, 16), &c->insts[2]);
  assert_null(emu_code_at(c, 4));  /* inside an instruction */
  assert_null(emu_code_at(c, 40)); /* past the end */
  emu_code_close(c);
}

/* Lines nobody can understand decode (to a fault on execution); text out of sequence does not. */
TEST(damaged_text) {
  static const char *const odd[] = {
    "v_add_u32_e32 v0, v1", "v_add_u32_e32 v0, v1, v2, v3, v4, v5, v6, v7", "v_add_u32_e32 v0, v1, w2",
    "v_add_u32_e32 v0,, v1", "", "v_bogus v1", "v_add_u32_e32 v0, v1, v2 bogus:3", "s_waitcnt foo(1)", ".long",
    "v_mov_b64_e32 v[0:1], v2", "v_add_f64 v[0:1], v[2:5], v[4:5]", ", , ,"};
  emu_code *c = decode(odd, sizeof odd / sizeof *odd);
  emu_code *good = one("v_add_u32_e32 v0, v1, v2");
  emu_exec unimplemented = c->insts[5].exec;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    if (c->insts[i].exec != unimplemented) fail_msg("'%s' would execute", odd[i]);
  assert_true(good->insts->exec != unimplemented);
  emu_code_close(good);
  emu_code_close(c);

  static const char *const broken[] = {"0 8 s_nop 0\n4 8 s_nop 0\n", "x\n", "0 8\n", "0 3 s_nop 0\n", "0 0 s_nop 0\n",
                                       "0 8 s_nop 0\n8 8 s_nop 0\n10 8 s_nop 0\n"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    mlaf_err err = {MLAF_OK, ""};
    emu_code *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->text_size = 16;
    assert_int_equal(emu_code_decode(b, mlaf_strdup(broken[i]), &err), MLAF_E_INTERNAL);
    emu_code_close(b);
  }
}

TESTS(NULL, NULL)
