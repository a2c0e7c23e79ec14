/* Floating-point, conversion and packed instructions against C, and every comparison. */
#include "valu_diff.h"

#define CASES "valu_cases_float.h"
#include "diff_cases.h"

/* Comparisons: CONDS lists them per operand kind; A and B are the operands as C values. */
#define FLOAT_CONDS(X, s, regs, A, B)                                                                     \
  X(f_##s, regs, 0) X(lt_##s, regs, A < B) X(eq_##s, regs, A == B) X(le_##s, regs, A <= B) X(gt_##s, regs, A > B) \
  X(lg_##s, regs, islessgreater(A, B)) X(ge_##s, regs, A >= B) X(o_##s, regs, !isunordered(A, B))         \
  X(u_##s, regs, isunordered(A, B)) X(nge_##s, regs, !(A >= B)) X(nlg_##s, regs, !islessgreater(A, B))    \
  X(ngt_##s, regs, !(A > B)) X(nle_##s, regs, !(A <= B)) X(neq_##s, regs, A != B) X(nlt_##s, regs, !(A < B)) \
  X(tru_##s, regs, 1)
#define INT_CONDS(X, s, regs, A, B)                                                                       \
  X(f_##s, regs, 0) X(lt_##s, regs, A < B) X(eq_##s, regs, A == B) X(le_##s, regs, A <= B) X(gt_##s, regs, A > B) \
  X(ne_##s, regs, A != B) X(ge_##s, regs, A >= B) X(t_##s, regs, 1)
#define ALL_CONDS(X)                                            \
  FLOAT_CONDS(X, f32, "v1, v2", F(1), F(2))                     \
  FLOAT_CONDS(X, f16, "v1, v2", H(1), H(2))                     \
  FLOAT_CONDS(X, f64, "v[2:3], v[4:5]", D(2), D(4))             \
  INT_CONDS(X, i32, "v1, v2", I(1), I(2))                       \
  INT_CONDS(X, u32, "v1, v2", V(1), V(2))                       \
  INT_CONDS(X, i16, "v1, v2", I16(1), I16(2))                   \
  INT_CONDS(X, u16, "v1, v2", U16(1), U16(2))                   \
  INT_CONDS(X, i64, "v[2:3], v[4:5]", (int64_t)Q(2), (int64_t)Q(4)) \
  INT_CONDS(X, u64, "v[2:3], v[4:5]", Q(2), Q(4))
#define DEFINE(name, regs, cond) \
  static void cmp_##name(const lane_in *in, lane_out *out) { BIT(cond); }
ALL_CONDS(DEFINE)
#define ENTRY(name, regs, cond) {"v_cmp_" #name "_e64 s[40:41], " regs, BITS, 0, cmp_##name},
static const diff_case comparisons[] = {ALL_CONDS(ENTRY)};
/* cmpx: VCC and EXEC both become the mask. */
#define ENTRY_X(name, regs, cond) \
  {"v_cmpx_" #name "_e32 vcc, " regs "\ns_mov_b64 s[42:43], exec\ns_mov_b64 exec, -1\ns_xor_b64 s[42:43], s[42:43], vcc\n" \
   "s_mov_b64 s[40:41], vcc\ns_cmp_eq_u64 s[42:43], 0\ns_cselect_b64 s[40:41], s[40:41], 0x5555", BITS, 0, cmp_##name},
static const diff_case comparisons_exec[] = {ALL_CONDS(ENTRY_X)};

TEST(float_instructions) { diff_run_all(cases, sizeof cases / sizeof *cases); }
TEST(every_comparison) { diff_run_all(comparisons, sizeof comparisons / sizeof *comparisons); }
TEST(every_comparison_to_exec) {
  diff_run_all(comparisons_exec, sizeof comparisons_exec / sizeof *comparisons_exec);
}

TESTS(NULL, NULL)
