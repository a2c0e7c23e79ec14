/* Wait states: for every rule, one too few is refused with the number missing, and exactly enough passes. */
#include "emu/snippet.h"

typedef struct rule {
  const char *producer, *consumer;
  int states; /* wait states the pair needs */
} rule;

#define X4 "v_mfma_f32_16x16x16_bf16 v[32:35], v[10:11], v[12:13], 0"
#define X8 "v_mfma_f32_32x32x8_bf16 v[32:47], v[10:11], v[12:13], 0"
#define X16 "v_mfma_f32_32x32x4_2b_bf16 v[32:63], v[10:11], v[12:13], 0"
#define X2 "v_mfma_f32_4x4x4_16b_bf16 v[32:35], v[10:11], v[12:13], 0"
#define S8 "v_mfma_f32_16x16x4_f32 v[32:35], v10, v12, 0"
#define S16 "v_mfma_f32_32x32x2_f32 v[32:47], v10, v12, 0"
#define D16 "v_mfma_f64_16x16x4_f64 v[32:39], v[10:11], v[12:13], 0"
#define D4 "v_mfma_f64_4x4x4_4b_f64 v[32:33], v[10:11], v[12:13], 0"
#define READ "v_mov_b32 v70, v33"
#define WRITE "v_mov_b32 v33, 0"
#define SAVE "global_store_dword v1, v33, s[6:7]"
#define AS_A "v_mfma_f32_16x16x16_bf16 v[72:75], v[32:33], v[12:13], 0"
#define AS_B "v_mfma_f32_16x16x16_bf16 v[72:75], v[12:13], v[32:33], 0"

static const rule mfma_results[] = {
    {X4, READ, 7}, {X8, READ, 11}, {X16, READ, 19}, {X2, READ, 5}, {S8, READ, 10}, {S16, READ, 18}, {D16, READ, 11},
    {D4, READ, 6},
    {X4, SAVE, 7}, {X8, SAVE, 11}, {D16, SAVE, 18}, {D4, SAVE, 9}, {X4, "ds_write_b32 v2, v33", 7},
    {X4, "global_load_dword v70, v33, s[4:5]", 7}, {X8, "buffer_store_dword v33, v2, s[12:15], 0 offen", 11},
    {X4, AS_A, 7}, {X8, AS_A, 11}, {X16, AS_B, 19}, {X2, AS_B, 5}, {S8, AS_A, 10}, {D16, AS_A, 11}, {D4, AS_B, 6},
    {"v_mfma_f32_16x16x16_bf16 a[32:35], v[10:11], v[12:13], 0", "v_accvgpr_read_b32 v70, a33", 7},
    {"v_mfma_f32_16x16x8_xf32 v[32:35], v[10:11], v[12:13], 0", READ, 7},
    {"v_mfma_i32_16x16x32_i8 v[32:35], v[10:11], v[12:13], 0", READ, 7},
    {"v_mfma_f32_16x16x32_fp8_fp8 v[32:35], v[10:11], v[12:13], 0", READ, 7},
};
static const rule mfma_accumulate[] = {
    {X4, "v_mfma_f32_16x16x16_bf16 v[32:35], v[10:11], v[12:13], v[32:35]", 0},
    {X4, "v_mfma_f32_16x16x16_bf16 v[72:75], v[10:11], v[12:13], v[32:35]", 0},
    {X8, "v_mfma_f32_32x32x8_bf16 v[32:47], v[10:11], v[12:13], v[32:47]", 0},
    {X2, "v_mfma_f32_4x4x4_16b_bf16 v[32:35], v[10:11], v[12:13], v[32:35]", 2},
    {D4, "v_mfma_f64_4x4x4_4b_f64 v[32:33], v[10:11], v[12:13], v[32:33]", 4},
    {D16, "v_mfma_f64_16x16x4_f64 v[32:39], v[10:11], v[12:13], v[32:39]", 0},
    {X4, "v_mfma_f32_16x16x16_bf16 v[72:75], v[10:11], v[12:13], v[34:37]", 5}, /* part of it */
    {X8, "v_mfma_f32_16x16x16_bf16 v[72:75], v[10:11], v[12:13], v[32:35]", 9},
    {X16, "v_mfma_f32_16x16x16_bf16 v[72:75], v[10:11], v[12:13], v[32:35]", 17},
    {S8, "v_mfma_f32_16x16x4_f32 v[72:75], v10, v12, v[34:37]", 8},
    {S8, "v_mfma_f32_16x16x16_bf16 v[72:75], v[10:11], v[12:13], v[34:37]", 0}, /* XDL behind a non-XDL */
    {D16, "v_mfma_f64_16x16x4_f64 v[72:79], v[10:11], v[12:13], v[34:41]", 9},
    {D16, "v_mfma_f32_16x16x16_bf16 v[72:75], v[10:11], v[12:13], v[34:37]", 0},
    {X4, "v_mfma_f32_16x16x16_f16 v[32:35], v[10:11], v[12:13], v[32:35]", 5}, /* same registers, another opcode */
};
static const rule mfma_overwrite[] = {
    {X4, WRITE, 7}, {X8, WRITE, 11}, {X16, WRITE, 19}, {S8, WRITE, 10}, {D16, WRITE, 11}, {D4, WRITE, 6},
    {X4, "global_load_dword v33, v2, s[4:5]", 7}, {X4, "ds_read_b32 v33, v2", 7},
    /* SrcC is still being read */
    {"v_mfma_f32_16x16x16_bf16 v[72:75], v[10:11], v[12:13], v[32:35]", WRITE, 3},
    {"v_mfma_f32_32x32x8_bf16 v[64:79], v[10:11], v[12:13], v[32:47]", WRITE, 7},
    {"v_mfma_f32_32x32x4_2b_bf16 v[64:95], v[10:11], v[12:13], v[32:63]", WRITE, 15},
    {"v_mfma_f32_4x4x4_16b_bf16 v[72:75], v[10:11], v[12:13], v[32:35]", WRITE, 1},
    {"v_mfma_f32_16x16x4_f32 v[72:75], v10, v12, v[32:35]", WRITE, 0},
};
static const rule into_mfma[] = {
    {"v_mov_b32 v10, 0", X4, 2}, {"v_mov_b32 v13, 0", X8, 2}, {"v_exp_f32 v10, v14", X4, 2},
    {"v_accvgpr_write_b32 a11, v20", "v_mfma_f32_16x16x16_bf16 v[32:35], a[10:11], v[12:13], 0", 2},
    {"v_mov_b32 v34, 0", "v_mfma_f32_16x16x16_bf16 v[32:35], v[10:11], v[12:13], v[32:35]", 2},
    {"v_cmpx_eq_u32 vcc, v10, v10", X4, 4},
    {D16, "v_fma_f64 v[70:71], v[10:11], v[10:11], v[10:11]", 2},
};
static const rule valu[] = {
    {"v_exp_f32 v70, v10", "v_add_f32 v71, v70, v70", 1}, {"v_rcp_f32 v70, v10", "v_exp_f32 v71, v70", 0},
    /* what accumulates reads its destination, what overwrites it does not */
    {"v_exp_f32 v70, v10", "v_fmac_f32 v70, v10, v11", 1}, {"v_exp_f32 v70, v10", "v_mov_b32 v70, v11", 0},
    {"v_add_u32_sdwa v70, v10, v11 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
        "v_mov_b32 v71, v70", 1},
    {"v_cvt_pk_fp8_f32 v70, v10, v11 op_sel:[0,0,1]", "v_mov_b32 v71, v70", 1},
    {"v_cvt_pk_fp8_f32 v70, v10, v11", "v_mov_b32 v71, v70", 0},
    {"v_readfirstlane_b32 s20, v10", "v_mov_b32 v70, s20", 2}, {"v_readfirstlane_b32 s20, v10", "s_mov_b32 s21, s20", 0},
    /* a mask read per lane is forwarded, the same registers as a constant are not */
    {"v_cmp_eq_u32 vcc, v10, v11", "v_cndmask_b32 v70, v10, v11, vcc", 0},
    {"v_cmp_eq_u32 s[20:21], v10, v11", "v_cndmask_b32 v70, v10, v11, s[20:21]", 0},
    {"v_add_co_u32 v70, vcc, v10, v11", "v_addc_co_u32 v71, vcc, v10, v11, vcc", 0},
    {"v_cmp_eq_u32 vcc, v10, v11", "v_and_b32 v70, vcc_lo, v10", 2},
    {"v_cmp_eq_u32 s[20:21], v10, v11", "v_cndmask_b32 v70, v10, v11, vcc", 0},
    {"v_cmp_eq_u32 s[20:21], v10, v11", "v_add_u32 v70, s21, v11", 2},
    {"v_mov_b32 v70, 0", "v_readfirstlane_b32 s20, v70", 1}, {"v_mov_b32 v70, 0", "v_readlane_b32 s20, v70, 3", 1},
    {"v_cmpx_eq_u32 vcc, v10, v10", "v_readfirstlane_b32 s20, v11", 4},
    {"v_cmpx_eq_u32 vcc, v10, v10", "v_writelane_b32 v70, 1, 2", 4},
    {"v_readfirstlane_b32 s20, v10", "v_readlane_b32 s21, v11, s20", 4},
    {"v_readfirstlane_b32 s20, v10", "v_writelane_b32 v70, 1, s20", 4},
    {"v_mov_b32 v70, 1", "v_mov_b32_dpp v71, v70 row_shl:1 row_mask:0xf bank_mask:0xf", 2},
    {"v_cmpx_eq_u32 vcc, v10, v10", "v_mov_b32_dpp v71, v11 row_shl:1 row_mask:0xf bank_mask:0xf", 5},
    {"v_cmp_eq_u32 vcc, v10, v11", "v_div_fmas_f32 v70, v10, v11, v12", 4},
    {"v_dot2_f32_f16 v70, v10, v11, v12", "v_mov_b32 v71, v70", 3}, {"v_dot2_f32_f16 v70, v10, v11, v12", "v_mov_b32 v70, 0", 3},
    {"v_dot2_f32_f16 v70, v10, v11, v12", "v_dot2_f32_f16 v71, v10, v11, v70", 0},
    {"v_dot2_f32_f16 v70, v10, v11, v12", "v_dot2_f32_f16 v71, v70, v11, v12", 3},
};
static const rule memory[] = {
    {"v_readfirstlane_b32 s20, v10", "buffer_load_dword v70, v2, s[12:15], s20 offen", 5},
    {"v_readfirstlane_b32 s14, v20", "buffer_load_dword v70, v2, s[12:15], 0 offen", 5},
    {"s_mov_b32 m0, 0", "buffer_load_dword v2, s[12:15], 0 offen lds", 0},
    {"s_mov_b32 m0, 0", "global_load_lds_dword v2, s[4:5]", 1},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", "s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 8)", 2},
    {"global_store_dwordx4 v21, v[40:43], s[6:7]", "v_mov_b32 v42, 0", 2},
    {"global_store_dwordx3 v21, v[40:42], s[6:7]", "v_mov_b32 v41, 0", 2},
    {"global_store_dwordx2 v21, v[40:41], s[6:7]", "v_mov_b32 v41, 0", 0},
    {"buffer_store_dwordx4 v[40:43], v21, s[12:15], 0 offen", "v_mov_b32 v40, 0", 2},
    {"buffer_store_dwordx4 v[40:43], v21, s[12:15], s9 offen", "v_mov_b32 v40, 0", 0},
    {"global_store_dwordx4 v21, v[40:43], s[6:7]", "v_mfma_f32_16x16x16_bf16 v[40:43], v[10:11], v[12:13], 0", 2},
};

/* Registers v10..v79 hold 0 but for v20 (4096: a num_records) and v21 (16 * lane); s9 = 0. */
static int set_up(char *out, size_t size) {
  int n = snprintf(out, size, "s_mov_b32 s9, 0\n");
  for (int v = 10; v < 80; v++) n += snprintf(out + n, size - (size_t)n, "v_mov_b32 v%d, 0\n", v);
  n += snprintf(out + n, size - (size_t)n, "v_mov_b32 v20, 0x1000\nv_lshlrev_b32 v21, 2, v2\nv_accvgpr_write_b32 a10, v10\n"
                "v_accvgpr_write_b32 a11, v10\nds_write_b32 v2, v10\ns_mov_b64 vcc, 0\ns_waitcnt lgkmcnt(0)\ns_nop 15\n"
                    "s_nop 15\n");
  return n;
}

static int wait(char *out, size_t size, int states) {
  int n = 0;
  for (; states > 0; states -= 16) n += snprintf(out + n, size - (size_t)n, "s_nop %d\n", (states > 16 ? 16 : states) - 1);
  return n;
}

static void pair(char *out, size_t size, const rule *r, int states) {
  int n = set_up(out, size);
  n += snprintf(out + n, size - (size_t)n, "%s\n", r->producer);
  n += wait(out + n, size - (size_t)n, states);
  snprintf(out + n, size - (size_t)n, "%s\n", r->consumer);
}

static void check(snip *s, const rule *rules, size_t n) {
  static char body[1 << 14];
  for (size_t i = 0; i < n; i++) {
    pair(body, sizeof body, &rules[i], rules[i].states);
    snip_ok(s, 1, 256, body);
    if (rules[i].states == 0) continue;
    pair(body, sizeof body, &rules[i], rules[i].states - 1);
    char all[32];
    snprintf(all, sizeof all, "%d in all", rules[i].states);
    FAULT(s, 1, 256, body, "hazard: needs 1 more wait state after pc 0x", all, "s_nop 0");
    if (rules[i].states < 4) continue;
    pair(body, sizeof body, &rules[i], 0);
    snprintf(all, sizeof all, "needs %d more wait states", rules[i].states);
    FAULT(s, 1, 256, body, all);
  }
}
#define CHECK(rules) check(*state, rules, sizeof rules / sizeof rules[0])

TEST(results_of_mfma) { CHECK(mfma_results); }
TEST(accumulating) { CHECK(mfma_accumulate); }
TEST(overwriting_mfma) { CHECK(mfma_overwrite); }
TEST(operands_of_mfma) { CHECK(into_mfma); }
TEST(valu_rules) { CHECK(valu); }
TEST(memory_rules) { CHECK(memory); }

TEST(any_instruction_is_a_wait_state) {
  static char body[1 << 14];
  int n = set_up(body, sizeof body);
  n += snprintf(body + n, sizeof body - (size_t)n, X4 "\n");
  for (int i = 0; i < 3; i++) n += snprintf(body + n, sizeof body - (size_t)n, "v_mov_b32 v7%d, 1\ns_mov_b32 s2%d, 1\n", i, i);
  snprintf(body + n, sizeof body - (size_t)n, "s_branch next\nnext:\n" READ "\n"); /* seven in all */
  snip_ok(*state, 1, 256, body);
}

/* Three more MFMAs are three wait states by LLVM's count, but twelve passes on the pipe. */
TEST(physical_mode_counts_stalls) {
  static char body[1 << 14];
  int n = set_up(body, sizeof body);
  snprintf(body + n, sizeof body - (size_t)n, X4 "\n"
           "v_mfma_f32_16x16x16_bf16 v[40:43], v[10:11], v[12:13], 0\nv_mfma_f32_16x16x16_bf16 v[44:47], v[10:11], v[12:13], 0\n"
           "v_mfma_f32_16x16x16_bf16 v[48:51], v[10:11], v[12:13], 0\n" READ "\n");
  FAULT(*state, 1, 256, body, "needs 4 more wait states");
  setenv("MLAF_EMU_HAZARDS", "physical", 1);
  snip_ok(*state, 1, 256, body);
  static const rule r = {X4, READ, 7};
  pair(body, sizeof body, &r, 6);
  FAULT(*state, 1, 256, body, "needs 1 more wait state");
  unsetenv("MLAF_EMU_HAZARDS");
}

TESTS(snip_open, snip_close)
