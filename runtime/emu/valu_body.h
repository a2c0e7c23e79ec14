/* The vector ALU for one host instruction set: included once by each of ops_valu_v1.c, ops_valu_v3.c and ops_valu_v4.c, which
 * differ in compiler options only. The valu_ops_*.h lists are read twice: once for the lane loops, once for the table. */
#include "emu/valu_exec.h"
#include "emu/valu_loops.h"
#include "emu/valu_math.h"

/* --- how each operand type is read from and written to the lane arrays --- */
#define CT_NO int
#define CT_U32 uint32_t
#define CT_B32 uint32_t
#define CT_I32 int32_t
#define CT_F32 float
#define CT_U16 uint32_t
#define CT_H16 uint32_t
#define CT_I16 int32_t
#define CT_F16 float
#define CT_U64 uint64_t
#define CT_B64 uint64_t
#define CT_I64 int64_t
#define CT_F64 double
#define CT_MIX float
#define CT_MASK uint32_t
#define CT_PK uint32_t
#define CT_PKF uint32_t
#define PAIR(p, i) ((uint64_t)p[EMU_LANES + i] << 32 | p[i])
#define LD_NO(p, i) 0
#define LD_U32(p, i) p[i]
#define LD_B32(p, i) p[i]
#define LD_I32(p, i) (int32_t)p[i]
#define LD_F32(p, i) asf(p[i])
#define LD_U16(p, i) (p[i] & 0xffff)
#define LD_H16(p, i) (p[i] & 0xffff)
#define LD_I16(p, i) (int16_t)p[i]
#define LD_F16(p, i) f16_to_f32(p[i] & 0xffff)
#define LD_U64(p, i) PAIR(p, i)
#define LD_B64(p, i) PAIR(p, i)
#define LD_I64(p, i) (int64_t)PAIR(p, i)
#define LD_F64(p, i) asd(PAIR(p, i))
#define LD_MIX(p, i) asf(p[i])
#define LD_MASK(p, i) p[i]
#define LD_PK(p, i) p[i]
#define LD_PKF(p, i) p[i]
#define ST_U32(d, i, v) d[i] = (v)
#define ST_I32(d, i, v) d[i] = (uint32_t)(v)
#define ST_F32(d, i, v) d[i] = asu(v)
#define ST_U16(d, i, v) d[i] = (v)&0xffff
#define ST_I16(d, i, v) d[i] = (uint32_t)(v)&0xffff
#define ST_H16(d, i, v) d[i] = (v)
#define ST_F16(d, i, v) d[i] = f32_to_f16(v)
#define ST_MASK(d, i, v) d[i] = (v) ? ~0u : 0
#define ST_U64(d, i, v) \
  uint64_t r_ = (v);    \
  d[i] = (uint32_t)r_;  \
  d[EMU_LANES + i] = (uint32_t)(r_ >> 32)
#define ST_F64(d, i, v) ST_U64(d, i, asq(v))
#define N_U64 2
#define N_F64 2
#define N_U32 1
#define N_F32 1

/* --- first reading: the loops --- */
#define LOOP(fn, A, B, C, statement)                                                                        \
  static void fn(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b,              \
                 const uint32_t *restrict c) {                                                              \
    for (int i = 0; i < EMU_LANES; i++) {                                                                   \
      const CT_##A x = LD_##A(a, i);                                                                        \
      const CT_##B y = LD_##B(b, i);                                                                        \
      const CT_##C z = LD_##C(c, i);                                                                        \
      (void)x, (void)y, (void)z;                                                                            \
      statement;                                                                                            \
    }                                                                                                       \
  }
/* Both halves of a dword: h shifts. */
#define LOOP_PK(fn, D, A, B, C, expr)                                                                       \
  static void fn(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b,              \
                 const uint32_t *restrict c) {                                                              \
    for (int i = 0; i < EMU_LANES; i++) {                                                                   \
      uint32_t both = 0;                                                                                    \
      for (int h = 0; h < 32; h += 16) {                                                                    \
        const uint32_t ah[1] = {a[i] >> h}, bh[1] = {b[i] >> h};                                            \
        const CT_##A x = LD_##A(ah, 0);                                                                     \
        const CT_##B y = LD_##B(bh, 0);                                                                     \
        const CT_##C z = LD_PK_##C(c, i, h);                                                                \
        uint32_t r[1];                                                                                      \
        (void)x, (void)y, (void)z;                                                                          \
        ST_##D(r, 0, (expr));                                                                               \
        both |= (r[0] & 0xffff) << h;                                                                       \
      }                                                                                                     \
      d[i] = both;                                                                                          \
    }                                                                                                       \
  }
#define LD_PK_NO(p, i, h) 0
#define LD_PK_U16(p, i, h) (p[i] >> h & 0xffff)
#define LD_PK_I16(p, i, h) (int16_t)(p[i] >> h)
#define LD_PK_F16(p, i, h) f16_to_f32(p[i] >> h & 0xffff)
#define LD_PK_H16(p, i, h) (p[i] >> h & 0xffff)

/* f16 results once more, exact in double and then rounded as MODE says: for modes other than to nearest even. */
#define RT_NO int
#define RT_F16 double
#define RT_F32 double
#define RT_MIX double
#define RT_I16 int32_t
#define RT_U16 uint32_t
#define LOOP_R(fn, A, B, C, expr)                                                                           \
  static void fn(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b,              \
                 const uint32_t *restrict c) {                                                              \
    for (int i = 0; i < EMU_LANES; i++) {                                                                   \
      const RT_##A x = LD_##A(a, i);                                                                        \
      const RT_##B y = LD_##B(b, i);                                                                        \
      const RT_##C z = LD_##C(c, i);                                                                        \
      (void)x, (void)y, (void)z;                                                                            \
      d[i] = f64_to_f16(expr);                                                                              \
    }                                                                                                       \
  }
#define LOOP_PK_R(fn, A, B, C, expr)                                                                        \
  static void fn(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b,              \
                 const uint32_t *restrict c) {                                                              \
    for (int i = 0; i < EMU_LANES; i++) {                                                                   \
      uint32_t both = 0;                                                                                    \
      for (int h = 0; h < 32; h += 16) {                                                                    \
        const RT_##A x = LD_PK_##A(a, i, h);                                                                \
        const RT_##B y = LD_PK_##B(b, i, h);                                                                \
        const RT_##C z = LD_PK_##C(c, i, h);                                                                \
        (void)x, (void)y, (void)z;                                                                          \
        both |= f64_to_f16(expr) << h;                                                                      \
      }                                                                                                     \
      d[i] = both;                                                                                          \
    }                                                                                                       \
  }
#define DEF_R_F16(name, A, B, C, expr) LOOP_R(r_##name, A, B, C, expr)
#define DEF_R_F32(name, A, B, C, expr)
#define DEF_R_F64(name, A, B, C, expr)
#define DEF_R_U32(name, A, B, C, expr)
#define DEF_R_I32(name, A, B, C, expr)
#define DEF_R_U16(name, A, B, C, expr)
#define DEF_R_I16(name, A, B, C, expr)
#define DEF_R_H16(name, A, B, C, expr)
#define DEF_R_U64(name, A, B, C, expr)
#define DEF_R_MASK(name, A, B, C, expr)
#define DEF_PKR_F16(name, A, B, C, expr) LOOP_PK_R(r_##name, A, B, C, expr)
#define DEF_PKR_H16(name, A, B, C, expr)
#define DEF_PKR_U16(name, A, B, C, expr)
#define DEF_PKR_I16(name, A, B, C, expr)

#define OP(name, flags, D, A, B, C, expr)          \
  LOOP(l_##name, A, B, C, ST_##D(d, i, (expr)))    \
  DEF_R_##D(name, A, B, C, expr)
#define OPT(name, flags, D, A, expr)               \
  LOOP(l_##name, A, NO, NO, ST_##D(d, i, (expr)))  \
  DEF_R_##D(name, A, NO, NO, expr)
#define OPV(name, D, A) OP(name, 0, D, A, NO, NO, x)
#define OPSEL(name, D, A, B, C, expr) OP(name, 0, D, A, B, C, expr)
#define OPL(name, flags, D, A, B, C, loop) \
  static void l_##name(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c) { loop(d, a, b, c); }
#define OPS(name, flags, D, A, B, C, expr, saturated)  \
  LOOP(l_##name, A, B, C, ST_##D(d, i, (expr)))        \
  LOOP(sat_##name, A, B, C, ST_##D(d, i, (saturated)))
#define OPC(name, D, A, B, C, expr, carry) \
  LOOP(l_##name, A, B, C, ST_##D(d, i, (expr)); d[N_##D * EMU_LANES + i] = (carry) ? ~0u : 0)
#define OPH OPC
#define OPW OP
#define OPM(name, D, A, B, C, expr) \
  LOOP(l_##name, A, B, C, bool mask; ST_##D(d, i, (expr)); d[N_##D * EMU_LANES + i] = mask ? ~0u : 0)
#define PK(name, flags, T, A, B, C, expr, saturated) \
  LOOP_PK(l_##name, T, A, B, C, expr)                \
  LOOP_PK(sat_##name, T, A, B, C, saturated)         \
  DEF_PKR_##T(name, A, B, C, expr)
#define PK32(name, D, A, B, C, expr)                                                                        \
  static void l_##name(uint32_t *restrict d, const uint32_t *restrict a, const uint32_t *restrict b,        \
                       const uint32_t *restrict c) {                                                        \
    for (int i = 0; i < LANES2; i++) {                                                                      \
      const CT_##A x = LD_##A(a, i), y = LD_##B(b, i);                                                      \
      const CT_##C z = LD_##C(c, i);                                                                        \
      (void)z;                                                                                              \
      d[i] = asu(expr);                                                                                     \
    }                                                                                                       \
  }
#define DOT(name, flags, D, P, Z, expr, saturated)  \
  LOOP(l_##name, P, P, U32, d[i] = (expr))          \
  LOOP(sat_##name, P, P, U32, d[i] = (saturated))
#include "emu/valu_ops_all.h"
#undef OP
#undef OPT
#undef OPL
#undef OPV
#undef OPSEL
#undef OPS
#undef OPC
#undef OPH
#undef OPW
#undef OPM
#undef PK
#undef PK32
#undef DOT

/* --- second reading: the table --- */
#define COUNT_NO 0
#define COUNT_U32 1
#define COUNT_B32 1
#define COUNT_I32 1
#define COUNT_F32 1
#define COUNT_U16 1
#define COUNT_H16 1
#define COUNT_I16 1
#define COUNT_F16 1
#define COUNT_U64 1
#define COUNT_B64 1
#define COUNT_I64 1
#define COUNT_F64 1
#define COUNT_MIX 1
#define COUNT_MASK 1
/* A source that is the destination is not an operand of the text. */
#define N_SRC(A, B, C, flags) (COUNT_##A + COUNT_##B + (COUNT_##C && !((flags)&VF_READS_DST)))
#define ENTRY(name, cls, ...) {"v_" #name, exec_any, cls, 0, 0, &(const emu_valu_op){__VA_ARGS__}},
/* Float types whose name is that of a packed operand. */
#define PKT_U16 VT_PK
#define PKT_I16 VT_PK
#define PKT_F16 VT_PKF
#define PKT_H16 VT_PKF
#define PKT_NO VT_NO
/* Loop that runs when MODE rounds otherwise: the f16 loop above, the same loop under the host's rounding, or nothing special. */
#define ROUND_F16(name, flags) r_##name
#define ROUND_F32(name, flags) (flags) & VF_ROUND ? l_##name : NULL
#define ROUND_F64 ROUND_F32
#define ROUND_U32(name, flags) NULL
#define ROUND_I32 ROUND_U32
#define ROUND_U16 ROUND_U32
#define ROUND_I16 ROUND_U32
#define ROUND_H16 ROUND_U32
#define ROUND_U64 ROUND_U32
#define ROUND_MASK ROUND_U32
#define OP(name, flags, D, A, B, C, expr) \
  ENTRY(name, EMU_C_VALU, exec_fast, l_##name, NULL, ROUND_##D(name, flags), 1, N_SRC(A, B, C, flags), VT_##D, \
        {VT_##A, VT_##B, VT_##C}, flags)
#define OPL OP
#define OPSEL(name, D, A, B, C, expr) \
  ENTRY(name, EMU_C_VALU, exec_select, l_##name, NULL, NULL, 1, 3, VT_##D, {VT_##A, VT_##B, VT_##C}, 0)
#define OPV(name, D, A) ENTRY(name, EMU_C_VALU, exec_move, l_##name, NULL, NULL, 1, 1, VT_##D, {VT_##A, VT_NO, VT_NO}, 0)
#define OPT(name, flags, D, A, expr) \
  ENTRY(name, EMU_C_TRANS, (flags)&VF_FLUSH ? exec_flush : exec_fast, l_##name, NULL, ROUND_##D(name, flags), 1, 1, VT_##D, \
        {VT_##A, VT_NO, VT_NO}, flags)
#define OPS(name, flags, D, A, B, C, expr, saturated) \
  ENTRY(name, EMU_C_VALU, exec_fast, l_##name, sat_##name, NULL, 1, N_SRC(A, B, C, flags), VT_##D, \
        {VT_##A, VT_##B, VT_##C}, flags)
#define OPC(name, D, A, B, C, expr, carry) \
  ENTRY(name, EMU_C_VALU, exec_fast, l_##name, NULL, NULL, 2, N_SRC(A, B, C, 0), VT_##D, {VT_##A, VT_##B, VT_##C}, VF_MASK2)
#define OPW(name, flags, D, A, B, C, expr) \
  ENTRY(name, EMU_C_VALU, exec_shift64, l_##name, NULL, NULL, 1, N_SRC(A, B, C, flags), VT_##D, {VT_##A, VT_##B, VT_##C}, flags)
#define OPH(name, D, A, B, C, expr, carry) \
  ENTRY(name, EMU_C_VALU, exec_addend_hi, l_##name, NULL, NULL, 2, N_SRC(A, B, C, 0), VT_##D, {VT_##A, VT_##B, VT_##C}, VF_MASK2)
#define OPM(name, D, A, B, C, expr) OPC(name, D, A, B, C, expr, 0)
#define PK(name, flags, T, A, B, C, expr, saturated)                                                        \
  ENTRY(name, EMU_C_VALU, exec_fast, l_##name, PKT_##T == VT_PK ? sat_##name : NULL, ROUND_##T(name, flags), 1, \
        N_SRC(A, B, C, flags), PKT_##T, {PKT_##A, PKT_##B, PKT_##C}, VF_PACKED | (flags))
#define PK32(name, D, A, B, C, expr) \
  ENTRY(name, EMU_C_VALU, exec_halves, l_##name, NULL, l_##name, 1, N_SRC(A, B, C, 0), VT_PK32, \
        {VT_PK32, VT_PK32, C_PK32_##C}, VF_PACKED)
#define C_PK32_NO VT_NO
#define C_PK32_F32 VT_PK32
#define DOT(name, flags, D, P, Z, expr, saturated)                                                          \
  ENTRY(name, EMU_C_VALU, exec_fast, l_##name, VT_##D == VT_F32 ? NULL : sat_##name, NULL, 1, \
        (flags)&VF_READS_DST ? 2 : 3, VT_##D, \
        {VT_##P, VT_##P, VT_##Z}, VF_PACKED | (flags))
/* Executors of their own: no lane loop, operands checked there. */
#define SPECIAL(name, exec, n_dst, n_src) \
  {"v_" #name, exec, EMU_C_VALU, 0, 0, \
   &(const emu_valu_op){NULL, NULL, NULL, NULL, n_dst, n_src, VT_U32, {VT_U32, VT_U32, VT_NO}, 0}},

const emu_op EMU_VALU_TABLE[] = {
#include "emu/valu_ops_all.h"
  SPECIAL(readlane_b32, v_readlane, 1, 2)
  SPECIAL(readfirstlane_b32, v_readfirstlane, 1, 1)
  SPECIAL(writelane_b32, v_writelane, 1, 2)
  SPECIAL(swap_b32, v_swap, 1, 1)
  SPECIAL(permlane16_swap_b32, v_permlane16_swap, 1, 1)
  SPECIAL(permlane32_swap_b32, v_permlane32_swap, 1, 1)
  SPECIAL(pk_mov_b32, v_pk_mov, 1, 2)
  SPECIAL(mqsad_u32_u8, v_mqsad_u32, 1, 3)
  SPECIAL(bitop3_b32, v_bitop3_b32, 1, 3)
  SPECIAL(bitop3_b16, v_bitop3_b16, 1, 3)
  SPECIAL(nop, v_nothing, 0, 0)
  SPECIAL(clrexcp, v_nothing, 0, 0)
  {NULL, NULL, 0, 0, 0, NULL}};
