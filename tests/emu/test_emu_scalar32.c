/* 32-bit scalar instructions on every pair of special values, and the few other instructions that compiled kernels contain and
 * no other table has. Expected values are C. */
#include "snippet.h"

static const uint32_t values[] = {0, 1, 2, 31, 32, 0x7fff, 0x8000, 0xffff, 0x12345678, 0x7fffffff, 0x80000000, 0xffffffff};
enum { N = sizeof values / sizeof *values };

typedef struct op32 {
  const char *text; /* of s20, s21 to s40; "" leaves SCC as the result */
  uint32_t (*want)(uint32_t a, uint32_t b);
  uint32_t (*scc)(uint32_t a, uint32_t b, uint32_t d); /* NULL: not written */
} op32;

static uint32_t reversed(uint32_t a) {
  uint32_t r = 0;
  for (int i = 0; i < 32; i++) r |= (a >> i & 1) << (31 - i);
  return r;
}

#define FN(name, e) static uint32_t name(uint32_t a, uint32_t b) { return (uint32_t)(e); }
#define S(x) ((int32_t)(x))
FN(f_andn2, a & ~b) FN(f_orn2, a | ~b) FN(f_nand, ~(a & b))
FN(f_nor, ~(a | b)) FN(f_xnor, ~(a ^ b)) FN(f_xor, a ^ b) FN(f_not, ~a)
FN(f_lshr, a >> (b & 31)) FN(f_lshl1, (a << 1) + b)
FN(f_lshl2, (a << 2) + b) FN(f_lshl3, (a << 3) + b) FN(f_lshl4, (a << 4) + b)
FN(f_maxi, S(a) > S(b) ? a : b) FN(f_maxu, a > b ? a : b) FN(f_mulhi, (uint64_t)((int64_t)S(a) * S(b)) >> 32)
FN(f_sext8, (int8_t)a) FN(f_sext16, (int16_t)a) FN(f_abs, S(a) < 0 ? 0u - a : a) FN(f_brev, reversed(a))
FN(f_bcnt1, __builtin_popcount(a)) FN(f_bcnt0, 32 - __builtin_popcount(a)) FN(f_ff1, a ? __builtin_ctz(a) : -1)
FN(f_ff0, ~a ? __builtin_ctz(~a) : -1) FN(f_flbit, a ? __builtin_clz(a) : -1)
FN(f_pll, (a & 0xffff) | b << 16) FN(f_plh, (a & 0xffff) | (b & 0xffff0000u)) FN(f_phh, a >> 16 | (b & 0xffff0000u))
FN(c_eq, a == b) FN(c_lg, a != b) FN(c_gti, S(a) > S(b))
FN(c_gei, S(a) >= S(b)) FN(c_lti, S(a) < S(b)) FN(c_lei, S(a) <= S(b))
FN(c_gtu, a > b) FN(c_geu, a >= b) FN(c_ltu, a < b)
FN(c_leu, a <= b) FN(c_bit0, !(a >> (b & 31) & 1)) FN(c_bit1, a >> (b & 31) & 1)
FN(k_eq, a == 0x7fff) FN(k_ltu, a < 0x8000u) FN(k_gei, S(a) >= -32768)
FN(k_lei, S(a) <= 31) FN(k_gtu, a > 31u) FN(k_lg, S(a) != -1)
static uint32_t nonzero(uint32_t a, uint32_t b, uint32_t d) { return d != 0; }
static uint32_t carry1(uint32_t a, uint32_t b, uint32_t d) { return ((uint64_t)a << 1) + b > 0xffffffffu; }
static uint32_t carry2(uint32_t a, uint32_t b, uint32_t d) { return ((uint64_t)a << 2) + b > 0xffffffffu; }
static uint32_t carry3(uint32_t a, uint32_t b, uint32_t d) { return ((uint64_t)a << 3) + b > 0xffffffffu; }
static uint32_t carry4(uint32_t a, uint32_t b, uint32_t d) { return ((uint64_t)a << 4) + b > 0xffffffffu; }
static uint32_t first_i(uint32_t a, uint32_t b, uint32_t d) { return S(a) > S(b); }
static uint32_t first_u(uint32_t a, uint32_t b, uint32_t d) { return a > b; }

static const op32 ops[] = {
    {"s_andn2_b32 s40, s20, s21", f_andn2, nonzero}, {"s_orn2_b32 s40, s20, s21", f_orn2, nonzero},
    {"s_nand_b32 s40, s20, s21", f_nand, nonzero}, {"s_nor_b32 s40, s20, s21", f_nor, nonzero},
    {"s_xnor_b32 s40, s20, s21", f_xnor, nonzero}, {"s_xor_b32 s40, s20, s21", f_xor, nonzero},
    {"s_not_b32 s40, s20", f_not, nonzero}, {"s_lshr_b32 s40, s20, s21", f_lshr, nonzero},
    {"s_lshl1_add_u32 s40, s20, s21", f_lshl1, carry1}, {"s_lshl2_add_u32 s40, s20, s21", f_lshl2, carry2},
    {"s_lshl3_add_u32 s40, s20, s21", f_lshl3, carry3}, {"s_lshl4_add_u32 s40, s20, s21", f_lshl4, carry4},
    {"s_max_i32 s40, s20, s21", f_maxi, first_i}, {"s_max_u32 s40, s20, s21", f_maxu, first_u},
    {"s_mul_hi_i32 s40, s20, s21", f_mulhi, NULL}, {"s_sext_i32_i8 s40, s20", f_sext8, NULL},
    {"s_sext_i32_i16 s40, s20", f_sext16, NULL}, {"s_abs_i32 s40, s20", f_abs, nonzero}, {"s_brev_b32 s40, s20", f_brev, NULL},
    {"s_bcnt1_i32_b32 s40, s20", f_bcnt1, nonzero}, {"s_bcnt0_i32_b32 s40, s20", f_bcnt0, nonzero},
    {"s_ff1_i32_b32 s40, s20", f_ff1, NULL}, {"s_ff0_i32_b32 s40, s20", f_ff0, NULL}, {"s_flbit_i32_b32 s40, s20", f_flbit, NULL},
    {"s_pack_ll_b32_b16 s40, s20, s21", f_pll, NULL}, {"s_pack_lh_b32_b16 s40, s20, s21", f_plh, NULL},
    {"s_pack_hh_b32_b16 s40, s20, s21", f_phh, NULL},
    {"s_cmp_eq_i32 s20, s21", c_eq, NULL}, {"s_cmp_lg_i32 s20, s21", c_lg, NULL}, {"s_cmp_gt_i32 s20, s21", c_gti, NULL},
    {"s_cmp_ge_i32 s20, s21", c_gei, NULL}, {"s_cmp_lt_i32 s20, s21", c_lti, NULL}, {"s_cmp_le_i32 s20, s21", c_lei, NULL},
    {"s_cmp_eq_u32 s20, s21", c_eq, NULL}, {"s_cmp_lg_u32 s20, s21", c_lg, NULL}, {"s_cmp_gt_u32 s20, s21", c_gtu, NULL},
    {"s_cmp_ge_u32 s20, s21", c_geu, NULL}, {"s_cmp_lt_u32 s20, s21", c_ltu, NULL}, {"s_cmp_le_u32 s20, s21", c_leu, NULL},
    {"s_bitcmp0_b32 s20, s21", c_bit0, NULL}, {"s_bitcmp1_b32 s20, s21", c_bit1, NULL},
    {"s_cmpk_eq_u32 s20, 0x7fff", k_eq, NULL}, {"s_cmpk_eq_i32 s20, 0x7fff", k_eq, NULL},
    {"s_cmpk_lt_u32 s20, 0x8000", k_ltu, NULL},
    {"s_cmpk_ge_i32 s20, 0x8000", k_gei, NULL}, {"s_cmpk_le_i32 s20, 31", k_lei, NULL}, {"s_cmpk_gt_u32 s20, 31", k_gtu, NULL},
    {"s_cmpk_lg_i32 s20, 0xffff", k_lg, NULL},
};

static bool compares(const op32 *o) { return strncmp(o->text, "s_cmp", 5) == 0 || strncmp(o->text, "s_bitcmp", 8) == 0; }

TEST_OF(every_pair, snip *s) {
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
    const op32 *o = &ops[k];
    mlaf_text t = MLAF_TEXT_INIT(1 << 20);
    for (unsigned i = 0; i < N * N; i++) /* SCC stays what it was, 1, where an instruction does not write it */
      mlaf_text_fmt(&t, "s_mov_b32 s20, 0x%x\ns_mov_b32 s21, 0x%x\ns_cmp_eq_u32 s20, s20\n%s\ns_cselect_b32 s41, 1, 0\n"
                        "v_mov_b32 v10, %s\nv_mov_b32 v11, s41\n"
                        "v_mov_b32 v12, 0x%x\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\n",
                    values[i / N], values[i % N], o->text, compares(o) ? "s41" : "s40", i * 8);
    snip_ok(s, 1, 0, t.data);
    mlaf_text_free(&t);
    for (unsigned i = 0; i < N * N; i++) {
      uint32_t a = values[i / N], b = values[i % N], d = o->want(a, b), scc = compares(o) ? d : o->scc ? o->scc(a, b, d) : 1;
      if (s->out[2 * i] != d || s->out[2 * i + 1] != scc)
        fail_msg("%s with 0x%x, 0x%x: 0x%x scc %u, want 0x%x scc %u", o->text, a, b, s->out[2 * i], s->out[2 * i + 1], d, scc);
    }
  }
}

TEST_OF(others, snip *s) {
  snip_ok(s, 1, 0, "s_setprio 3\nv_nop\nv_accvgpr_write_b32 a4, v0\ns_nop 1\nv_accvgpr_mov_b32 a7, a4\ns_nop 1\n"
                   "v_accvgpr_read_b32 v10, a7\ns_setprio 0\nv_mov_b32 v11, 7\nv_cmp_eq_u32 vcc, 5, v0\ns_cbranch_vccnz 1f\n"
                   "v_mov_b32 v11, 8\n1: v_cmp_eq_u32 vcc, 99, v0\ns_cbranch_vccnz 2f\nv_add_u32 v11, 16, v11\n2:\n"
                   "v_lshlrev_b32 v12, 3, v0\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++) {
    assert_int_equal(s->out[2 * l], l);
    assert_int_equal(s->out[2 * l + 1], 7 + 16); /* the first branch is taken: a lane has 5; the second is not */
  }
}

TESTS(snip_open, snip_close)
