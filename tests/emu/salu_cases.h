/* CASE(kind, ulp, text, statement) of scalar instructions: results in s[40:41], SCC in s42; see valu_diff.h. */
#define SC "\ns_cselect_b32 s42, 1, 0"
#define J(n) ((int32_t)S(n))
#define R32(x, c) (SO(0) = (uint32_t)(x), SO(2) = (c))
#define R64(x, c) (SO(0) = (uint32_t)(x), SO(1) = (uint32_t)((uint64_t)(x) >> 32), SO(2) = (c))
CASE(BITS, 0, "s_add_u32 s40, s16, s17" SC, uint64_t t = (uint64_t)S(16) + S(17); R32(t, t >> 32 != 0))
CASE(BITS, 0, "s_sub_u32 s40, s16, s17" SC, R32(S(16) - S(17), S(16) < S(17)))
CASE(BITS, 0, "s_add_i32 s40, s16, s17" SC, int64_t t = (int64_t)J(16) + J(17); R32(t, t != (int32_t)t))
CASE(BITS, 0, "s_sub_i32 s40, s16, s17" SC, int64_t t = (int64_t)J(16) - J(17); R32(t, t != (int32_t)t))
CASE(BITS, 0, "s_cmp_lt_u32 s18, s19\ns_addc_u32 s40, s16, s17" SC,
     uint64_t t = (uint64_t)S(16) + S(17) + (S(18) < S(19)); R32(t, t >> 32 != 0))
CASE(BITS, 0, "s_cmp_lt_u32 s18, s19\ns_subb_u32 s40, s16, s17" SC,
     unsigned c = S(18) < S(19); R32(S(16) - S(17) - c, (uint64_t)S(16) < (uint64_t)S(17) + c))
CASE(BITS, 0, "s_min_i32 s40, s16, s17" SC, R32(J(16) < J(17) ? J(16) : J(17), J(16) < J(17)))
CASE(BITS, 0, "s_max_i32 s40, s16, s17" SC, R32(J(16) > J(17) ? J(16) : J(17), J(16) > J(17)))
CASE(BITS, 0, "s_min_u32 s40, s16, s17" SC, R32(S(16) < S(17) ? S(16) : S(17), S(16) < S(17)))
CASE(BITS, 0, "s_max_u32 s40, s16, s17" SC, R32(S(16) > S(17) ? S(16) : S(17), S(16) > S(17)))
CASE(BITS, 0, "s_cmp_gt_i32 s18, s19\ns_cselect_b64 s[40:41], s[16:17], s[20:21]" SC,
     R64(J(18) > J(19) ? SQ(16) : SQ(20), J(18) > J(19)))
CASE(BITS, 0, "s_and_b32 s40, s16, s17" SC, R32(S(16) & S(17), (S(16) & S(17)) != 0))
CASE(BITS, 0, "s_or_b64 s[40:41], s[16:17], s[18:19]" SC, R64(SQ(16) | SQ(18), (SQ(16) | SQ(18)) != 0))
CASE(BITS, 0, "s_xor_b64 s[40:41], s[16:17], s[16:17]" SC, R64(UINT64_C(0), 0))
CASE(BITS, 0, "s_andn2_b64 s[40:41], s[16:17], s[18:19]" SC, R64(SQ(16) & ~SQ(18), (SQ(16) & ~SQ(18)) != 0))
CASE(BITS, 0, "s_orn2_b32 s40, s16, s17" SC, R32(S(16) | ~S(17), (S(16) | ~S(17)) != 0))
CASE(BITS, 0, "s_nand_b64 s[40:41], s[16:17], s[18:19]" SC, R64(~(SQ(16) & SQ(18)), ~(SQ(16) & SQ(18)) != 0))
CASE(BITS, 0, "s_nor_b32 s40, s16, s17" SC, R32(~(S(16) | S(17)), ~(S(16) | S(17)) != 0))
CASE(BITS, 0, "s_xnor_b32 s40, s16, s17" SC, R32(~(S(16) ^ S(17)), ~(S(16) ^ S(17)) != 0))
CASE(BITS, 0, "s_lshl_b32 s40, s16, s17" SC, R32(S(16) << S(17) % 32, S(16) << S(17) % 32 != 0))
CASE(BITS, 0, "s_lshr_b64 s[40:41], s[16:17], s18" SC, R64(SQ(16) >> S(18) % 64, SQ(16) >> S(18) % 64 != 0))
CASE(BITS, 0, "s_lshl_b64 s[40:41], s[16:17], s18" SC, R64(SQ(16) << S(18) % 64, SQ(16) << S(18) % 64 != 0))
CASE(BITS, 0, "s_ashr_i32 s40, s16, s17" SC, R32(J(16) >> S(17) % 32, J(16) >> S(17) % 32 != 0))
CASE(BITS, 0, "s_ashr_i64 s[40:41], s[16:17], s18" SC, int64_t t = (int64_t)SQ(16) >> S(18) % 64; R64(t, t != 0))
CASE(BITS, 0, "s_bfm_b32 s40, s16, s17", SO(0) = ((1u << S(16) % 32) - 1) << S(17) % 32)
CASE(BITS, 0, "s_bfm_b64 s[40:41], s16, s17",
     uint64_t t = ((UINT64_C(1) << S(16) % 64) - 1) << S(17) % 64; SO(0) = (uint32_t)t; SO(1) = (uint32_t)(t >> 32))
CASE(BITS, 0, "s_bfe_u32 s40, s16, 0x70005" SC, R32(S(16) >> 5 & 0x7f, (S(16) >> 5 & 0x7f) != 0))
CASE(BITS, 0, "s_bfe_i32 s40, s16, 0x70005" SC, R32(SX(S(16) >> 5, 7), SX(S(16) >> 5, 7) != 0))
CASE(BITS, 0, "s_bfe_u64 s[40:41], s[16:17], 0x210010" SC,
     uint64_t t = SQ(16) >> 16 & ((UINT64_C(1) << 33) - 1); R64(t, t != 0))
CASE(BITS, 0, "s_bfe_i64 s[40:41], s[16:17], 0x210010" SC, int64_t t = (int64_t)(SQ(16) << 15) >> 31; R64(t, t != 0))
CASE(BITS, 0, "s_mul_i32 s40, s16, s17", SO(0) = S(16) * S(17))
CASE(BITS, 0, "s_mul_hi_u32 s40, s16, s17", SO(0) = (uint32_t)((uint64_t)S(16) * S(17) >> 32))
CASE(BITS, 0, "s_mul_hi_i32 s40, s16, s17", SO(0) = (uint32_t)((int64_t)J(16) * J(17) >> 32))
CASE(BITS, 0, "s_absdiff_i32 s40, s16, s17" SC,
     uint32_t t = S(16) - S(17); t = (int32_t)t < 0 ? -t : t; R32(t, t != 0))
CASE(BITS, 0, "s_lshl3_add_u32 s40, s16, s17" SC, uint64_t t = ((uint64_t)S(16) << 3) + S(17); R32(t, t >> 32 != 0))
CASE(BITS, 0, "s_pack_ll_b32_b16 s40, s16, s17", SO(0) = (S(16) & 0xffff) | S(17) << 16)
CASE(BITS, 0, "s_pack_lh_b32_b16 s40, s16, s17", SO(0) = (S(16) & 0xffff) | (S(17) >> 16) << 16)
CASE(BITS, 0, "s_pack_hh_b32_b16 s40, s16, s17", SO(0) = S(16) >> 16 | (S(17) >> 16) << 16)
CASE(BITS, 0, "s_mov_b64 s[40:41], s[16:17]", SO(0) = S(16); SO(1) = S(17))
CASE(BITS, 0, "s_mov_b64 s[40:41], -5", SO(0) = 0xfffffffb; SO(1) = 0xffffffff)
CASE(BITS, 0, "s_mov_b64 s[40:41], 0.5", SO(0) = 0; SO(1) = 0x3fe00000)
CASE(BITS, 0, "s_mov_b64 s[40:41], 0x89abcdef", SO(0) = 0x89abcdef; SO(1) = 0)
CASE(BITS, 0, "s_mov_b64 s[40:41], src_shared_base", SO(0) = 0; SO(1) = EMU_SHARED_BASE >> 32)
CASE(BITS, 0, "s_mov_b32 s40, 9\ns_cmp_eq_u32 s16, s17\ns_cmov_b32 s40, s18", SO(0) = S(16) == S(17) ? S(18) : 9)
CASE(BITS, 0, "s_not_b64 s[40:41], s[16:17]" SC, R64(~SQ(16), ~SQ(16) != 0))
CASE(BITS, 0, "s_wqm_b32 s40, s16" SC,
     uint32_t t = 0; for (int k = 0; k < 32; k += 4) t |= S(16) >> k & 15 ? 15u << k : 0; R32(t, t != 0))
CASE(BITS, 0, "s_quadmask_b64 s[40:41], s[16:17]" SC,
     uint64_t t = 0; for (int k = 0; k < 16; k++) t |= SQ(16) >> (4 * k) & 15 ? UINT64_C(1) << k : 0; R64(t, t != 0))
CASE(BITS, 0, "s_brev_b32 s40, s16", uint32_t t = 0; for (int k = 0; k < 32; k++) t |= (S(16) >> k & 1) << (31 - k); SO(0) = t)
CASE(BITS, 0, "s_brev_b64 s[40:41], s[16:17]",
     uint64_t t = 0; for (int k = 0; k < 64; k++) t |= (SQ(16) >> k & 1) << (63 - k); SO(0) = (uint32_t)t;
       SO(1) = (uint32_t)(t >> 32))
CASE(BITS, 0, "s_bcnt1_i32_b64 s40, s[16:17]" SC, int t = __builtin_popcountll(SQ(16)); R32(t, t != 0))
CASE(BITS, 0, "s_bcnt0_i32_b32 s40, s16" SC, int t = 32 - __builtin_popcount(S(16)); R32(t, t != 0))
CASE(BITS, 0, "s_ff1_i32_b64 s40, s[16:17]", SO(0) = (uint32_t)(__builtin_ffsll((long long)SQ(16)) - 1))
CASE(BITS, 0, "s_ff0_i32_b32 s40, s16", SO(0) = (uint32_t)(__builtin_ffs((int)~S(16)) - 1))
CASE(BITS, 0, "s_flbit_i32_b32 s40, s16", SO(0) = S(16) ? (uint32_t)__builtin_clz(S(16)) : ~0u)
CASE(BITS, 0, "s_flbit_i32_b64 s40, s[16:17]", SO(0) = SQ(16) ? (uint32_t)__builtin_clzll(SQ(16)) : ~0u)
CASE(BITS, 0, "s_flbit_i32 s40, s16", SO(0) = S(16) == 0 || S(16) == ~0u ? ~0u : (uint32_t)__builtin_clrsb(J(16)) + 1)
CASE(BITS, 0, "s_sext_i32_i8 s40, s16", SO(0) = (uint32_t)(int8_t)S(16))
CASE(BITS, 0, "s_sext_i32_i16 s40, s16", SO(0) = (uint32_t)(int16_t)S(16))
CASE(BITS, 0, "s_bitset1_b32 s40, s16", SO(0) = 1u << S(16) % 32)
CASE(BITS, 0, "s_mov_b64 s[40:41], -1\ns_bitset0_b64 s[40:41], s16",
     uint64_t t = ~(UINT64_C(1) << S(16) % 64); SO(0) = (uint32_t)t; SO(1) = (uint32_t)(t >> 32))
CASE(BITS, 0, "s_bitreplicate_b64_b32 s[40:41], s16",
     uint64_t t = 0; for (int k = 0; k < 64; k++) t |= (uint64_t)(S(16) >> (k / 2) & 1) << k; SO(0) = (uint32_t)t;
       SO(1) = (uint32_t)(t >> 32))
CASE(BITS, 0, "s_abs_i32 s40, s16" SC, uint32_t t = J(16) < 0 ? -S(16) : S(16); R32(t, t != 0))
CASE(BITS, 0, "s_movk_i32 s40, 0x8001", SO(0) = 0xffff8001)
CASE(BITS, 0, "s_mov_b32 s40, s16\ns_addk_i32 s40, 0xfff0" SC, int64_t t = (int64_t)J(16) - 16; R32(t, t != (int32_t)t))
CASE(BITS, 0, "s_mov_b32 s40, s16\ns_mulk_i32 s40, 0xfffd", SO(0) = S(16) * 0xfffffffd)
CASE(BITS, 0, "s_cmpk_gt_i32 s16, 0xfff0" SC, SO(2) = J(16) > -16)
CASE(BITS, 0, "s_cmpk_gt_u32 s16, 0xfff0" SC, SO(2) = S(16) > 0xfff0)
CASE(BITS, 0, "s_cmpk_lg_u32 s16, 0x8000" SC, SO(2) = S(16) != 0x8000)
CASE(BITS, 0, "s_cmp_le_i32 s16, s17" SC, SO(2) = J(16) <= J(17))
CASE(BITS, 0, "s_cmp_ge_u32 s16, s17" SC, SO(2) = S(16) >= S(17))
CASE(BITS, 0, "s_cmp_lg_u64 s[16:17], s[18:19]" SC, SO(2) = SQ(16) != SQ(18))
CASE(BITS, 0, "s_bitcmp1_b32 s16, s17" SC, SO(2) = S(16) >> S(17) % 32 & 1)
CASE(BITS, 0, "s_bitcmp0_b64 s[16:17], s18" SC, SO(2) = !(SQ(16) >> S(18) % 64 & 1))
/* EXEC: the old one to s[40:41], the new one checked through the SCC and a second save */
#define SAVE(op, expr)                                                                                     \
  "s_mov_b64 exec, s[18:19]\ns_" op "_saveexec_b64 s[20:21], s[16:17]\ns_cselect_b32 s42, 1, 0\ns_mov_b64 s[40:41], exec\n" \
  "s_mov_b64 exec, -1\ns_cmp_eq_u64 s[20:21], s[18:19]\ns_cselect_b32 s43, 1, 0",                          \
    uint64_t s = SQ(16), e = SQ(18), n = (expr); R64(n, n != 0); SO(3) = 1
CASE(BITS, 0, SAVE("and", s & e))
CASE(BITS, 0, SAVE("or", s | e))
CASE(BITS, 0, SAVE("xor", s ^ e))
CASE(BITS, 0, SAVE("andn2", s & ~e))
CASE(BITS, 0, SAVE("orn2", s | ~e))
CASE(BITS, 0, SAVE("nand", ~(s & e)))
CASE(BITS, 0, SAVE("nor", ~(s | e)))
CASE(BITS, 0, SAVE("xnor", ~(s ^ e)))
CASE(BITS, 0, SAVE("andn1", ~s & e))
CASE(BITS, 0, SAVE("orn1", ~s | e))
CASE(BITS, 0, "s_mov_b64 exec, s[18:19]\ns_andn1_wrexec_b64 s[40:41], s[16:17]" SC "\ns_mov_b64 exec, -1",
     R64(~SQ(16) & SQ(18), (~SQ(16) & SQ(18)) != 0))
CASE(BITS, 0, "s_mov_b64 exec, s[18:19]\ns_andn2_wrexec_b64 s[40:41], s[16:17]" SC "\ns_mov_b64 exec, -1",
     R64(SQ(16) & ~SQ(18), (SQ(16) & ~SQ(18)) != 0))
/* program flow */
CASE(BITS, 0, "s_mov_b32 s20, 5\n1:\ns_add_u32 s40, s40, s20\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 1b",
     SO(0) = 15)
CASE(BITS, 0, "s_cmp_lt_u32 s16, s17\ns_cbranch_scc0 2f\ns_mov_b32 s40, 1\n2:\ns_or_b32 s40, s40, 2",
     SO(0) = S(16) < S(17) ? 3 : 2)
CASE(BITS, 0, "s_and_b64 vcc, s[16:17], s[18:19]\ns_cbranch_vccz 3f\ns_mov_b32 s40, 1\n3:", SO(0) = (SQ(16) & SQ(18)) != 0)
CASE(BITS, 0, "s_mov_b64 exec, s[18:19]\ns_cbranch_execnz 4f\ns_mov_b32 s40, 1\n4:\ns_mov_b64 exec, -1", SO(0) = SQ(18) == 0)
CASE(BITS, 0, "s_getpc_b64 s[20:21]\ns_add_u32 s20, s20, 12\ns_addc_u32 s21, s21, 0\ns_setpc_b64 s[20:21]\ns_mov_b32 s40, 1",
     SO(0) = 1)
CASE(BITS, 0, "s_getpc_b64 s[20:21]\ns_add_u32 s20, s20, 16\ns_addc_u32 s21, s21, 0\ns_setpc_b64 s[20:21]\n"
     "s_mov_b32 s40, 1\ns_mov_b32 s41, 1",
     SO(1) = 1)
CASE(BITS, 0, "s_call_b64 s[20:21], 5f\ns_mov_b32 s41, 7\ns_branch 6f\n5:\ns_mov_b32 s40, 3\ns_setpc_b64 s[20:21]\n6:",
     SO(0) = 3; SO(1) = 7)
CASE(BITS, 0, "s_getreg_b32 s40, hwreg(HW_REG_MODE, 4, 4)\ns_nop 1\n"
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 1\ns_nop 1\ns_getreg_b32 s41, hwreg(HW_REG_MODE, 4, 4)",
     SO(0) = 15; SO(1) = 7)
/* a buffer of 12 bytes over the scalars: the fourth dword reads as 0 */
CASE(BITS, 0, "s_add_u32 s44, s4, 0xc00\ns_addc_u32 s45, s5, 0\ns_mov_b32 s46, 12\ns_mov_b32 s47, 0x27000\n"
     "s_buffer_load_dwordx4 s[40:43], s[44:47], 0x0\ns_waitcnt lgkmcnt(0)", SO(0) = S(16); SO(1) = S(17); SO(2) = S(18);
       SO(3) = 0)
CASE(BITS, 0, "s_mov_b32 s20, 0xc04\ns_load_dwordx2 s[40:41], s[4:5], s20\ns_waitcnt lgkmcnt(0)", SO(0) = S(17); SO(1) = S(18))
CASE(BITS, 0, "s_bcnt0_i32_b64 s40, s[16:17]" SC, int t = 64 - __builtin_popcountll(SQ(16)); R32(t, t != 0))
CASE(BITS, 0, "s_bitcmp1_b64 s[16:17], s18" SC, SO(2) = SQ(16) >> S(18) % 64 & 1)
CASE(BITS, 0, "s_mov_b32 s40, s17\ns_bitset0_b32 s40, s16", SO(0) = S(17) & ~(1u << S(16) % 32))
CASE(BITS, 0, "s_mov_b64 s[40:41], s[18:19]\ns_bitset1_b64 s[40:41], s16",
     uint64_t t = SQ(18) | UINT64_C(1) << S(16) % 64; SO(0) = (uint32_t)t; SO(1) = (uint32_t)(t >> 32))
CASE(BITS, 0, "s_mov_b64 s[40:41], s[18:19]\ns_cmp_eq_u32 s16, s17\ns_cmov_b64 s[40:41], s[20:21]" SC,
     R64(S(16) == S(17) ? SQ(20) : SQ(18), S(16) == S(17)))
CASE(BITS, 0, "s_mov_b32 s40, s18\ns_cmp_lt_i32 s16, s17\ns_cmovk_i32 s40, 0x8765" SC,
     R32(J(16) < J(17) ? 0xffff8765 : S(18), J(16) < J(17)))
CASE(BITS, 0, "s_cmpk_ge_u32 s16, 0x8000" SC, SO(2) = S(16) >= 0x8000)
CASE(BITS, 0, "s_cmpk_le_u32 s16, 0xffff" SC, SO(2) = S(16) <= 0xffff)
CASE(BITS, 0, "s_cmpk_lt_i32 s16, 0x8000" SC, SO(2) = J(16) < -32768)
CASE(BITS, 0, "s_ff0_i32_b64 s40, s[16:17]", SO(0) = (uint32_t)(__builtin_ffsll((long long)~SQ(16)) - 1))
CASE(BITS, 0, "s_flbit_i32_i64 s40, s[16:17]",
     int64_t t = (int64_t)SQ(16); SO(0) = t == 0 || t == -1 ? ~0u : (uint32_t)__builtin_clrsbll(t) + 1)
CASE(BITS, 0, "s_nor_b64 s[40:41], s[16:17], s[18:19]" SC, R64(~(SQ(16) | SQ(18)), ~(SQ(16) | SQ(18)) != 0))
CASE(BITS, 0, "s_orn2_b64 s[40:41], s[16:17], s[18:19]" SC, R64(SQ(16) | ~SQ(18), (SQ(16) | ~SQ(18)) != 0))
CASE(BITS, 0, "s_xnor_b64 s[40:41], s[16:17], s[18:19]" SC, R64(~(SQ(16) ^ SQ(18)), ~(SQ(16) ^ SQ(18)) != 0))
CASE(BITS, 0, "s_quadmask_b32 s40, s16" SC,
     uint32_t t = 0; for (int k = 0; k < 8; k++) t |= S(16) >> (4 * k) & 15 ? 1u << k : 0; R32(t, t != 0))
CASE(BITS, 0, "s_wqm_b64 s[40:41], s[16:17]" SC,
     uint64_t t = 0; for (int k = 0; k < 64; k += 4) t |= SQ(16) >> k & 15 ? UINT64_C(15) << k : 0; R64(t, t != 0))
/* M0 picks a register: s[16 + 2 (s16 % 4)] .. as source, s40 or s42 as destination */
CASE(BITS, 0, "s_and_b32 m0, s16, 3\ns_nop 0\ns_movrels_b32 s40, s20", SO(0) = S(20 + S(16) % 4))
CASE(BITS, 0, "s_and_b32 m0, s16, 6\ns_nop 0\ns_movrels_b64 s[40:41], s[20:21]",
     uint64_t t = SQ(20 + (S(16) & 6)); SO(0) = (uint32_t)t; SO(1) = (uint32_t)(t >> 32))
CASE(BITS, 0, "s_and_b32 m0, s16, 3\ns_nop 0\ns_movreld_b32 s40, s20", SO(S(16) & 3) = S(20))
CASE(BITS, 0, "s_and_b32 m0, s16, 2\ns_nop 0\ns_movreld_b64 s[40:41], s[20:21]",
     SO(S(16) & 2) = S(20); SO((S(16) & 2) + 1) = S(21))
CASE(BITS, 0, "s_mov_b32 s20, 0x3f\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 6), s20\ns_nop 1\n"
    "s_getreg_b32 s40, hwreg(HW_REG_MODE, 0, 8)\n"
     "s_mov_b32 s20, 0\ns_nop 1\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s20", SO(0) = 0xff)
CASE(BITS, 0, "s_cbranch_cdbgsys 1f\ns_cbranch_cdbguser 1f\ns_cbranch_cdbgsys_or_user 1f\ns_cbranch_cdbgsys_and_user 1f\n"
     "s_mov_b32 s40, s16\n1:", SO(0) = S(16))
CASE(BITS, 0, "s_getpc_b64 s[44:45]\ns_add_u32 s44, s44, 20\ns_addc_u32 s45, s45, 0\ns_mov_b32 s40, 1\n"
     "s_swappc_b64 s[46:47], s[44:45]\ns_mov_b32 s40, 2\ns_mov_b32 s41, 3\ns_sub_u32 s42, s44, s46", SO(0) = 1; SO(1) = 3;
     SO(2) = 4)
