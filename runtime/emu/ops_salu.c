/* The scalar ALU. One line per instruction in the lists below: result type, source types, and the statement that
 * computes d (and scc) from a, b and the old d. What SCC becomes follows the CDNA3 ISA, chapter "Scalar ALU". */
#include "emu/salu.h"

bool emu_sread32(emu_wave *w, const emu_operand *o, uint32_t *out) {
  switch (o->kind) {
    case EMU_O_SREG:
      if (!emu_sreg_check(w, o->reg, 1)) return false;
      *out = w->s[o->reg];
      return true;
    case EMU_O_CONST: *out = (uint32_t)o->value; return true;
    case EMU_O_SCC:
      if (!emu_scc_check(w)) return false;
      *out = w->scc;
      return true;
    default: return emu_fault(w, -1, "scalar operand of a kind that is not emulated");
  }
}

bool emu_sread64(emu_wave *w, const emu_operand *o, uint64_t *out) {
  uint32_t low;
  if (o->kind == EMU_O_SREG) {
    if (!emu_sreg_check(w, o->reg, 2)) return false;
    *out = (uint64_t)w->s[o->reg + 1] << 32 | w->s[o->reg];
    return true;
  }
  if (o->kind == EMU_O_CONST && o->is_float) { /* a 64-bit operand takes the inline constant as a double */
    memcpy(out, &o->fvalue, 8);
    return true;
  }
  if (o->kind == EMU_O_CONST) {
    *out = o->value; /* inline integers are sign-extended, literals zero-extended by the parser */
    return true;
  }
  if (!emu_sread32(w, o, &low)) return false;
  *out = low;
  return true;
}

bool emu_swrite32(emu_wave *w, const emu_operand *o, uint32_t v) {
  if (o->kind != EMU_O_SREG) return emu_fault(w, -1, "scalar destination of a kind that is not emulated");
  return emu_sreg_write(w, o->reg, v);
}

bool emu_swrite64(emu_wave *w, const emu_operand *o, uint64_t v) {
  if (o->kind != EMU_O_SREG || o->reg + 1 >= EMU_SREGS)
    return emu_fault(w, -1, "scalar destination of a kind that is not emulated");
  return emu_sreg_write(w, o->reg, (uint32_t)v) && emu_sreg_write(w, o->reg + 1u, (uint32_t)(v >> 32));
}

/* --- helpers of the statements --- */
static uint64_t exec_of(const emu_wave *w) { return emu_exec_mask(w); }
static void set_exec(emu_wave *w, uint64_t m) {
  w->s[EMU_EXEC] = (uint32_t)m;
  w->s[EMU_EXEC + 1] = (uint32_t)(m >> 32);
}
static uint32_t ctz32(uint32_t v) { return v ? (uint32_t)__builtin_ctz(v) : ~0u; }
static uint32_t ctz64(uint64_t v) { return v ? (uint32_t)__builtin_ctzll(v) : ~0u; }
static uint32_t clz32(uint32_t v) { return v ? (uint32_t)__builtin_clz(v) : ~0u; }
static uint32_t clz64(uint64_t v) { return v ? (uint32_t)__builtin_clzll(v) : ~0u; }
static uint64_t low_bits(unsigned n) { return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1; }
/* The low n bits as a signed number. */
static uint64_t sign_extend(uint64_t v, unsigned n) {
  return n == 0 ? 0 : n >= 64 ? v : (uint64_t)((int64_t)(v << (64 - n)) >> (64 - n));
}
static uint64_t reverse64(uint64_t v) {
  uint64_t r = 0;
  for (int i = 0; i < 64; i++, v >>= 1) r = r << 1 | (v & 1);
  return r;
}
/* One bit per group of four, or the group filled (whole-quad mode). */
static uint64_t quads(uint64_t v, bool fill) {
  uint64_t r = 0;
  for (int i = 0; i < 16; i++)
    if (v >> (4 * i) & 15) r |= fill ? UINT64_C(15) << (4 * i) : UINT64_C(1) << i;
  return r;
}
static uint64_t double_bits(uint32_t v) {
  uint64_t r = 0;
  for (int i = 0; i < 32; i++) r |= (uint64_t)(v >> i & 1) * 3 << (2 * i);
  return r;
}

/* --- undefined bits ---
 *
 * Compilers merge lane masks of which some lanes never got a value ("s_or_b64 s[10:11], s[10:11], exec" on a fresh pair), and
 * save and restore registers that hold nothing. So moves and bitwise operations carry undefined bits along instead of faulting: a
 * bit is defined where the operands that decide it are. What makes a difference (arithmetic, comparisons, branches, addresses,
 * EXEC, lanes of a v_cndmask that are on) still faults. */
typedef enum logic { L_AND, L_OR, L_XOR, L_ANDN2, L_ORN2, L_NAND, L_NOR, L_XNOR, L_MOV, L_NOT, L_SELECT } logic;
typedef struct bits { uint64_t v, def; } bits;

/* Every scalar operand written, none in flight: the usual case. */
static inline bool all_defined(const emu_wave *w, const emu_inst *in) {
  for (int i = 0; i < in->n_src; i++) {
    const emu_operand *o = &in->src[i];
    for (unsigned r = o->reg; o->kind == EMU_O_SREG && r < o->reg + o->count; r++)
      if (!w->s_init[r]) return false;
  }
  return true;
}

static bool read_bits(emu_wave *w, const emu_operand *o, unsigned dwords, bits *out) {
  uint32_t low = 0;
  *out = (bits){0, dwords == 2 ? ~UINT64_C(0) : 0xffffffff};
  if (o->kind != EMU_O_SREG) {
    if (dwords == 2) return emu_sread64(w, o, &out->v);
    if (!emu_sread32(w, o, &low)) return false;
    out->v = low;
    return true;
  }
  for (unsigned k = 0; k < dwords; k++) {
    unsigned r = o->reg + k;
    if (w->s_lgkm[r] > w->smem_done && !emu_sreg_bad(w, r)) return false;
    out->v |= (uint64_t)w->s[r] << (32 * k);
    if (!w->s_init[r]) out->def &= ~((uint64_t)~w->s_def[r] << (32 * k));
  }
  return true;
}

static bool write_bits(emu_wave *w, const emu_operand *o, unsigned dwords, bits b) {
  if (o->kind != EMU_O_SREG) return emu_fault(w, -1, "scalar destination of a kind that is not emulated");
  for (unsigned k = 0; k < dwords; k++) {
    unsigned r = o->reg + k;
    uint32_t def = (uint32_t)(b.def >> (32 * k));
    if (!emu_sreg_write(w, r, (uint32_t)(b.v >> (32 * k)))) return false;
    if (def == ~0u) continue;
    w->s_init[r] = false;
    w->s_def[r] = def;
    if ((r == EMU_EXEC || r == EMU_EXEC + 1) && !emu_sreg_bad(w, r)) return false;
  }
  return true;
}

static bits combine(logic op, bits a, bits b) {
  bool flip_b = op == L_ANDN2 || op == L_ORN2, is_or = op == L_OR || op == L_ORN2 || op == L_NOR;
  bool flip = op == L_NAND || op == L_NOR || op == L_XNOR || op == L_NOT;
  bits r = a;
  if (flip_b) b.v = ~b.v;
  if (op == L_XOR || op == L_XNOR) r = (bits){a.v ^ b.v, a.def & b.def};
  else if (is_or) r = (bits){a.v | b.v, (a.def & b.def) | (a.def & a.v) | (b.def & b.v)};
  else if (op != L_MOV && op != L_NOT) r = (bits){a.v & b.v, (a.def & b.def) | (a.def & ~a.v) | (b.def & ~b.v)};
  if (flip) r.v = ~r.v;
  return r;
}

/* SCC says whether the result is 0: known when all of it is, or when a defined bit is set. */
static bool undefined_logic(emu_wave *w, const emu_inst *in, logic op, unsigned dwords) {
  bits a, b = {0, 0};
  uint64_t all = dwords == 2 ? ~UINT64_C(0) : 0xffffffff;
  if (!read_bits(w, &in->src[0], dwords, &a) || (in->n_src > 1 && !read_bits(w, &in->src[1], dwords, &b))) return false;
  if (op == L_SELECT && w->scc > 1 && !emu_scc_bad(w)) return false;
  bits r = op == L_SELECT ? (w->scc ? a : b) : combine(op, a, b);
  r.v &= all, r.def &= all;
  if (!write_bits(w, &in->dst[0], dwords, r)) return false;
  if (op != L_MOV && op != L_SELECT) w->scc = (r.v & r.def) ? 1 : r.def == all ? 0 : 2;
  return true;
}
#define MAYBE1(name, op, dwords) \
  static bool maybe_##name(emu_wave *w, const emu_inst *in) { \
    return all_defined(w, in) ? name(w, in) : undefined_logic(w, in, op, dwords); \
  }
#define MAYBE(name, op) MAYBE1(name##_b32, op, 1) MAYBE1(name##_b64, op, 2)

/* --- bodies: result type, source types, statement. `scc` starts as the old SCC. --- */
#define READS_SCC \
  if (!emu_scc_check(w)) return false; \
  scc = w->scc
#define OP2(name, D, A, B, statement)                                                                    \
  static bool name(emu_wave *w, const emu_inst *in) {                                                    \
    uint##A##_t a = 0;                                                                                     \
    uint##B##_t b = 0;                                                                                     \
    uint##D##_t d = 0;                                                                                   \
    uint32_t scc = w->scc;                                                                               \
    if (!emu_sread##A(w, &in->src[0], &a) || !emu_sread##B(w, &in->src[1], &b)) return false;            \
    statement;                                                                                           \
    if (!emu_swrite##D(w, &in->dst[0], d)) return false;                                                 \
    w->scc = scc;                                                                                        \
    return true;                                                                                         \
  }
#define OP1(name, D, A, statement)                                                                       \
  static bool name(emu_wave *w, const emu_inst *in) {                                                    \
    uint##A##_t a = 0;                                                                                     \
    uint##D##_t d = 0;                                                                                   \
    uint32_t scc = w->scc;                                                                               \
    if (!emu_sread##A(w, &in->src[0], &a)) return false;                                                 \
    statement;                                                                                           \
    if (!emu_swrite##D(w, &in->dst[0], d)) return false;                                                 \
    w->scc = scc;                                                                                        \
    return true;                                                                                         \
  }
/* Reads its own destination first. */
#define OLD(D) \
  if (!emu_sread##D(w, &in->dst[0], &d)) return false
#define CMP(name, A, B, condition)                                                                       \
  static bool name(emu_wave *w, const emu_inst *in) {                                                    \
    uint##A##_t a = 0;                                                                                     \
    uint##B##_t b = 0;                                                                                     \
    if (!emu_sread##A(w, &in->src[0], &a) || !emu_sread##B(w, &in->src[1], &b)) return false;            \
    w->scc = (condition);                                                                                \
    return true;                                                                                         \
  }
/* EXEC-writing forms: the new EXEC from s (operand) and e (EXEC); the destination gets the old or the new one. */
#define SAVEEXEC(name, expr, result)                                                                     \
  static bool name(emu_wave *w, const emu_inst *in) {                                                    \
    uint64_t s = 0, e = exec_of(w), n;                                                                      \
    if (!emu_sread64(w, &in->src[0], &s)) return false;                                                  \
    n = (expr);                                                                                          \
    if (!emu_swrite64(w, &in->dst[0], (result))) return false;                                           \
    set_exec(w, n);                                                                                      \
    w->scc = n != 0;                                                                                     \
    return true;                                                                                         \
  }
#define BITWISE(name, expr)                                        \
  OP2(name##_b32, 32, 32, 32, d = (uint32_t)(expr); scc = d != 0)  \
  OP2(name##_b64, 64, 64, 64, d = (expr); scc = d != 0)

#define I(x) ((int32_t)(x))
#define K16(x) ((uint32_t)(int32_t)(int16_t)(x)) /* SOPK immediate as a signed number */

OP2(s_add_u32, 32, 32, 32, d = a + b; scc = d < a)
OP2(s_sub_u32, 32, 32, 32, d = a - b; scc = b > a)
OP2(s_add_i32, 32, 32, 32, d = a + b; scc = (~(a ^ b) & (a ^ d)) >> 31)
OP2(s_sub_i32, 32, 32, 32, d = a - b; scc = ((a ^ b) & (a ^ d)) >> 31)
OP2(s_addc_u32, 32, 32, 32, READS_SCC; d = a + b + scc; scc = ((uint64_t)a + b + scc) >> 32 != 0)
OP2(s_subb_u32, 32, 32, 32, READS_SCC; d = a - b - scc; scc = (uint64_t)b + scc > a)
OP2(s_min_i32, 32, 32, 32, scc = I(a) < I(b); d = scc ? a : b)
OP2(s_min_u32, 32, 32, 32, scc = a < b; d = scc ? a : b)
OP2(s_max_i32, 32, 32, 32, scc = I(a) > I(b); d = scc ? a : b)
OP2(s_max_u32, 32, 32, 32, scc = a > b; d = scc ? a : b)
OP2(s_cselect_b32, 32, 32, 32, READS_SCC; d = scc ? a : b)
OP2(s_cselect_b64, 64, 64, 64, READS_SCC; d = scc ? a : b)
BITWISE(s_and, a & b)
BITWISE(s_or, a | b)
BITWISE(s_xor, a ^ b)
BITWISE(s_andn2, a & ~b)
BITWISE(s_orn2, a | ~b)
BITWISE(s_nand, ~(a & b))
BITWISE(s_nor, ~(a | b))
BITWISE(s_xnor, ~(a ^ b))
OP2(s_lshl_b32, 32, 32, 32, d = a << (b & 31); scc = d != 0)
OP2(s_lshr_b32, 32, 32, 32, d = a >> (b & 31); scc = d != 0)
OP2(s_ashr_i32, 32, 32, 32, d = (uint32_t)(I(a) >> (b & 31)); scc = d != 0)
OP2(s_lshl_b64, 64, 64, 32, d = a << (b & 63); scc = d != 0)
OP2(s_lshr_b64, 64, 64, 32, d = a >> (b & 63); scc = d != 0)
OP2(s_ashr_i64, 64, 64, 32, d = (uint64_t)((int64_t)a >> (b & 63)); scc = d != 0)
OP2(s_bfm_b32, 32, 32, 32, d = (uint32_t)(low_bits(a & 31) << (b & 31)))
OP2(s_bfm_b64, 64, 32, 32, d = low_bits(a & 63) << (b & 63))
OP2(s_bfe_u32, 32, 32, 32, d = (uint32_t)((a >> (b & 31)) & low_bits(b >> 16 & 127)); scc = d != 0)
OP2(s_bfe_i32, 32, 32, 32,
    unsigned n = b >> 16 & 127; unsigned o = b & 31; n = n > 32 - o ? 32 - o : n;
    d = (uint32_t)sign_extend(a >> o, n); scc = d != 0)
OP2(s_bfe_u64, 64, 64, 32, d = (a >> (b & 63)) & low_bits(b >> 16 & 127); scc = d != 0)
OP2(s_bfe_i64, 64, 64, 32,
    unsigned n = b >> 16 & 127; unsigned o = b & 63; n = n > 64 - o ? 64 - o : n; d = sign_extend(a >> o, n); scc = d != 0)
OP2(s_mul_i32, 32, 32, 32, d = a * b)
OP2(s_mul_hi_u32, 32, 32, 32, d = (uint32_t)((uint64_t)a * b >> 32))
OP2(s_mul_hi_i32, 32, 32, 32, d = (uint32_t)((int64_t)I(a) * I(b) >> 32))
OP2(s_absdiff_i32, 32, 32, 32, d = a - b; d = I(d) < 0 ? 0u - d : d; scc = d != 0)
OP2(s_lshl1_add_u32, 32, 32, 32, uint64_t t = ((uint64_t)a << 1) + b; d = (uint32_t)t; scc = t >> 32 != 0)
OP2(s_lshl2_add_u32, 32, 32, 32, uint64_t t = ((uint64_t)a << 2) + b; d = (uint32_t)t; scc = t >> 32 != 0)
OP2(s_lshl3_add_u32, 32, 32, 32, uint64_t t = ((uint64_t)a << 3) + b; d = (uint32_t)t; scc = t >> 32 != 0)
OP2(s_lshl4_add_u32, 32, 32, 32, uint64_t t = ((uint64_t)a << 4) + b; d = (uint32_t)t; scc = t >> 32 != 0)
OP2(s_pack_ll_b32_b16, 32, 32, 32, d = (a & 0xffff) | b << 16)
OP2(s_pack_lh_b32_b16, 32, 32, 32, d = (a & 0xffff) | (b & 0xffff0000))
OP2(s_pack_hh_b32_b16, 32, 32, 32, d = a >> 16 | (b & 0xffff0000))

OP1(s_mov_b32, 32, 32, d = a)
OP1(s_mov_b64, 64, 64, d = a)
OP1(s_cmov_b32, 32, 32, READS_SCC; if (scc) d = a; else OLD(32))
OP1(s_cmov_b64, 64, 64, READS_SCC; if (scc) d = a; else OLD(64))
OP1(s_not_b32, 32, 32, d = ~a; scc = d != 0)
OP1(s_not_b64, 64, 64, d = ~a; scc = d != 0)
OP1(s_wqm_b32, 32, 32, d = (uint32_t)quads(a, true); scc = d != 0)
OP1(s_wqm_b64, 64, 64, d = quads(a, true); scc = d != 0)
OP1(s_quadmask_b32, 32, 32, d = (uint32_t)quads(a, false); scc = d != 0)
OP1(s_quadmask_b64, 64, 64, d = quads(a, false); scc = d != 0)
OP1(s_brev_b32, 32, 32, d = (uint32_t)(reverse64(a) >> 32))
OP1(s_brev_b64, 64, 64, d = reverse64(a))
OP1(s_bcnt0_i32_b32, 32, 32, d = (uint32_t)__builtin_popcount(~a); scc = d != 0)
OP1(s_bcnt0_i32_b64, 32, 64, d = (uint32_t)__builtin_popcountll(~a); scc = d != 0)
OP1(s_bcnt1_i32_b32, 32, 32, d = (uint32_t)__builtin_popcount(a); scc = d != 0)
OP1(s_bcnt1_i32_b64, 32, 64, d = (uint32_t)__builtin_popcountll(a); scc = d != 0)
OP1(s_ff0_i32_b32, 32, 32, d = ctz32(~a))
OP1(s_ff0_i32_b64, 32, 64, d = ctz64(~a))
OP1(s_ff1_i32_b32, 32, 32, d = ctz32(a))
OP1(s_ff1_i32_b64, 32, 64, d = ctz64(a))
OP1(s_flbit_i32_b32, 32, 32, d = clz32(a))
OP1(s_flbit_i32_b64, 32, 64, d = clz64(a))
OP1(s_flbit_i32, 32, 32, d = clz32(I(a) < 0 ? ~a : a))
OP1(s_flbit_i32_i64, 32, 64, d = clz64((int64_t)a < 0 ? ~a : a))
OP1(s_sext_i32_i8, 32, 32, d = (uint32_t)(int32_t)(int8_t)a)
OP1(s_sext_i32_i16, 32, 32, d = K16(a))
OP1(s_bitset0_b32, 32, 32, OLD(32); d &= ~(1u << (a & 31)))
OP1(s_bitset1_b32, 32, 32, OLD(32); d |= 1u << (a & 31))
OP1(s_bitset0_b64, 64, 32, OLD(64); d &= ~(UINT64_C(1) << (a & 63)))
OP1(s_bitset1_b64, 64, 32, OLD(64); d |= UINT64_C(1) << (a & 63))
OP1(s_bitreplicate_b64_b32, 64, 32, d = double_bits(a))
OP1(s_abs_i32, 32, 32, d = I(a) < 0 ? 0u - a : a; scc = d != 0)
OP1(s_movk_i32, 32, 32, d = K16(a))
OP1(s_cmovk_i32, 32, 32, READS_SCC; if (scc) d = K16(a); else OLD(32))
OP1(s_addk_i32, 32, 32, OLD(32); uint32_t k = K16(a); uint32_t o = d; d = o + k; scc = (~(o ^ k) & (o ^ d)) >> 31)
OP1(s_mulk_i32, 32, 32, OLD(32); d *= K16(a))

SAVEEXEC(s_and_saveexec_b64, s & e, e)
SAVEEXEC(s_or_saveexec_b64, s | e, e)
SAVEEXEC(s_xor_saveexec_b64, s ^ e, e)
SAVEEXEC(s_andn2_saveexec_b64, s & ~e, e)
SAVEEXEC(s_orn2_saveexec_b64, s | ~e, e)
SAVEEXEC(s_nand_saveexec_b64, ~(s & e), e)
SAVEEXEC(s_nor_saveexec_b64, ~(s | e), e)
SAVEEXEC(s_xnor_saveexec_b64, ~(s ^ e), e)
SAVEEXEC(s_andn1_saveexec_b64, ~s & e, e)
SAVEEXEC(s_orn1_saveexec_b64, ~s | e, e)
SAVEEXEC(s_andn1_wrexec_b64, ~s & e, n)
SAVEEXEC(s_andn2_wrexec_b64, s & ~e, n)

#define COMPARE(op, symbol)                                        \
  CMP(s_cmp_##op##_i32, 32, 32, I(a) symbol I(b))                  \
  CMP(s_cmp_##op##_u32, 32, 32, a symbol b)                        \
  CMP(s_cmpk_##op##_i32, 32, 32, I(a) symbol I(K16(b)))            \
  CMP(s_cmpk_##op##_u32, 32, 32, a symbol(b & 0xffff))
COMPARE(eq, ==)
COMPARE(lg, !=)
COMPARE(gt, >)
COMPARE(ge, >=)
COMPARE(lt, <)
COMPARE(le, <=)
CMP(s_cmp_eq_u64, 64, 64, a == b)
CMP(s_cmp_lg_u64, 64, 64, a != b)
CMP(s_bitcmp0_b32, 32, 32, !(a >> (b & 31) & 1))
CMP(s_bitcmp1_b32, 32, 32, a >> (b & 31) & 1)
CMP(s_bitcmp0_b64, 64, 32, !(a >> (b & 63) & 1))
CMP(s_bitcmp1_b64, 64, 32, a >> (b & 63) & 1)

/* M0 added to a register number. */
static bool relative(emu_wave *w, const emu_operand *o, unsigned dwords, unsigned *reg) {
  if (!emu_sreg_check(w, EMU_M0, 1)) return false;
  *reg = o->reg + w->s[EMU_M0];
  if (o->kind == EMU_O_SREG && *reg + dwords <= 102 && w->s[EMU_M0] < 102 && *reg % dwords == 0) return true;
  return emu_fault(w, -1, "s%u plus M0 = %u is no register of %u dwords", o->reg, w->s[EMU_M0], dwords);
}
static bool s_movrel(emu_wave *w, const emu_inst *in) { /* dwords: of the move; dtype: the destination is relative */
  emu_operand d = in->dst[0], s = in->src[0];
  unsigned reg;
  uint64_t v = 0;
  uint32_t low = 0;
  if (!relative(w, in->dtype ? &d : &s, in->dwords, &reg)) return false;
  (in->dtype ? &d : &s)->reg = (uint16_t)reg;
  if (in->dwords == 2) return emu_sread64(w, &s, &v) && emu_swrite64(w, &d, v);
  return emu_sread32(w, &s, &low) && emu_swrite32(w, &d, low);
}
/* The conditional debug bits of STATUS are 0 unless a debugger set them. */
static bool s_never(emu_wave *w, const emu_inst *in) { return true; }

MAYBE(s_and, L_AND) MAYBE(s_or, L_OR) MAYBE(s_xor, L_XOR) MAYBE(s_andn2, L_ANDN2) MAYBE(s_orn2, L_ORN2) MAYBE(s_nand, L_NAND)
MAYBE(s_nor, L_NOR) MAYBE(s_xnor, L_XNOR) MAYBE(s_mov, L_MOV) MAYBE(s_not, L_NOT) MAYBE(s_cselect, L_SELECT)
/* Undefined lanes that are off do not survive the AND. */
static bool maybe_saveexec(emu_wave *w, const emu_inst *in) {
  if (all_defined(w, in)) return s_and_saveexec_b64(w, in);
  uint64_t e = exec_of(w);
  bits s;
  if (!read_bits(w, &in->src[0], 2, &s)) return false;
  if (e & ~s.def) return s_and_saveexec_b64(w, in); /* faults, unless that is forgiven */
  if (!emu_swrite64(w, &in->dst[0], e)) return false;
  set_exec(w, s.v & e);
  w->scc = (s.v & e) != 0;
  return true;
}

#define S(name) {#name, name, EMU_C_SALU, 0, 0, NULL}
#define SM1(name) {#name, maybe_##name, EMU_C_SALU, 0, 0, NULL}
#define SM(name) SM1(name##_b32), SM1(name##_b64)
#define S_SIZES(name) S(name##_b32), S(name##_b64)
#define GPR_IDX(name, what) {"s_set_gpr_idx_" #name, emu_s_set_gpr_idx, EMU_C_SALU, EMU_GPR_IDX_##what, 0, NULL}
#define CBRANCH(name, what) {"s_cbranch_" #name, emu_s_cbranch, EMU_C_BRANCH, EMU_CB_##what, 0, NULL}
#define NEVER(name) {"s_cbranch_" #name, s_never, EMU_C_BRANCH, 0, 0, NULL}
#define NOTHING(name) {#name, emu_s_nothing, EMU_C_NOP, 0, 0, NULL}
#define S_COMPARE(op) S(s_cmp_##op##_i32), S(s_cmp_##op##_u32), S(s_cmpk_##op##_i32), S(s_cmpk_##op##_u32)
const emu_op emu_ops_salu[] = {
  S(s_add_u32), S(s_sub_u32), S(s_add_i32), S(s_sub_i32), S(s_addc_u32), S(s_subb_u32), S(s_min_i32), S(s_min_u32),
  S(s_max_i32), S(s_max_u32), SM(s_cselect), SM(s_and), SM(s_or), SM(s_xor), SM(s_andn2),
  SM(s_orn2), SM(s_nand), SM(s_nor), SM(s_xnor), S_SIZES(s_lshl), S_SIZES(s_lshr), S(s_ashr_i32),
  S(s_ashr_i64), S_SIZES(s_bfm), S(s_bfe_u32), S(s_bfe_i32), S(s_bfe_u64), S(s_bfe_i64), S(s_mul_i32), S(s_mul_hi_u32),
  S(s_mul_hi_i32), S(s_absdiff_i32), S(s_lshl1_add_u32), S(s_lshl2_add_u32), S(s_lshl3_add_u32), S(s_lshl4_add_u32),
  S(s_pack_ll_b32_b16), S(s_pack_lh_b32_b16), S(s_pack_hh_b32_b16), SM(s_mov), S_SIZES(s_cmov), SM(s_not),
  S_SIZES(s_wqm), S_SIZES(s_quadmask), S_SIZES(s_brev), S_SIZES(s_bcnt0_i32), S_SIZES(s_bcnt1_i32), S_SIZES(s_ff0_i32),
  S_SIZES(s_ff1_i32), S_SIZES(s_flbit_i32), S(s_flbit_i32), S(s_flbit_i32_i64), S(s_sext_i32_i8), S(s_sext_i32_i16),
  S_SIZES(s_bitset0), S_SIZES(s_bitset1), S(s_bitreplicate_b64_b32), S(s_abs_i32), S(s_movk_i32), S(s_cmovk_i32),
  S(s_addk_i32), S(s_mulk_i32),
  {"s_and_saveexec_b64", maybe_saveexec, EMU_C_SALU, 0, 0, NULL},
  S(s_or_saveexec_b64), S(s_xor_saveexec_b64),
  S(s_andn2_saveexec_b64), S(s_orn2_saveexec_b64), S(s_nand_saveexec_b64), S(s_nor_saveexec_b64),
  S(s_xnor_saveexec_b64), S(s_andn1_saveexec_b64), S(s_orn1_saveexec_b64), S(s_andn1_wrexec_b64), S(s_andn2_wrexec_b64),
  S_COMPARE(eq), S_COMPARE(lg), S_COMPARE(gt), S_COMPARE(ge), S_COMPARE(lt), S_COMPARE(le), S(s_cmp_eq_u64),
  S(s_cmp_lg_u64), S_SIZES(s_bitcmp0), S_SIZES(s_bitcmp1),
  {"s_getreg_b32", emu_s_getreg, EMU_C_SALU, 0, 0, NULL},
  {"s_setreg_b32", emu_s_setreg, EMU_C_SALU, 0, 0, NULL},
  {"s_setreg_imm32_b32", emu_s_setreg, EMU_C_SALU, 0, 0, NULL},
  {"s_setvskip", emu_s_setvskip, EMU_C_SALU, 0, 0, NULL},
  GPR_IDX(on, ON), GPR_IDX(off, OFF), GPR_IDX(mode, MODE), GPR_IDX(idx, IDX),
  {"s_getpc_b64", emu_s_getpc, EMU_C_BRANCH, 0, 0, NULL},
  {"s_setpc_b64", emu_s_setpc, EMU_C_BRANCH, 0, 0, NULL},
  {"s_swappc_b64", emu_s_swappc, EMU_C_BRANCH, 0, 0, NULL},
  {"s_call_b64", emu_s_call, EMU_C_BRANCH, 0, 0, NULL},
  {"s_branch", emu_s_branch, EMU_C_BRANCH, 0, 0, NULL},
  CBRANCH(scc0, SCC0), CBRANCH(scc1, SCC1), CBRANCH(vccz, VCCZ), CBRANCH(vccnz, VCCNZ), CBRANCH(execz, EXECZ),
  CBRANCH(execnz, EXECNZ),
  {"s_movrels_b32", s_movrel, EMU_C_SALU, 0, 1, NULL},
  {"s_movrels_b64", s_movrel, EMU_C_SALU, 0, 2, NULL},
  {"s_movreld_b32", s_movrel, EMU_C_SALU, 1, 1, NULL},
  {"s_movreld_b64", s_movrel, EMU_C_SALU, 1, 2, NULL},
  NEVER(cdbgsys), NEVER(cdbguser), NEVER(cdbgsys_or_user), NEVER(cdbgsys_and_user),
  NOTHING(s_nop), NOTHING(s_sleep), NOTHING(s_setprio), NOTHING(s_icache_inv), NOTHING(s_wakeup), NOTHING(s_incperflevel),
  NOTHING(s_decperflevel), NOTHING(s_ttracedata),
  {"s_sendmsg", emu_s_sendmsg, EMU_C_SALU, 0, 0, NULL},
  {"s_trap", emu_s_trap, EMU_C_END, 0, 0, NULL},
  {"s_sendmsghalt", emu_s_trap, EMU_C_END, 0, 0, NULL},
  {"s_sethalt", emu_s_trap, EMU_C_END, 0, 0, NULL},
  {"s_endpgm", emu_s_endpgm, EMU_C_END, 0, 0, NULL},
  {"s_barrier", emu_s_barrier, EMU_C_BARRIER, 0, 0, NULL},
  {"s_waitcnt", emu_s_waitcnt, EMU_C_WAITCNT, 0, 0, NULL},
  {NULL, NULL, 0, 0, 0, NULL}};
