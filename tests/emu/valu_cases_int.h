/* CASE(kind, ulp, text, statement) of integer instructions; see valu_diff.h. */
CASE(BITS, 0, "v_mov_b32_e32 v16, v1", O(0) = V(1))
CASE(BITS, 0, "v_mov_b32_e32 v16, s16", O(0) = S(16))
CASE(BITS, 0, "v_mov_b32_e32 v16, -16", O(0) = 0xfffffff0)
CASE(BITS, 0, "v_mov_b32_e32 v16, 1.0", O(0) = 0x3f800000)
CASE(BITS, 0, "v_mov_b32_e32 v16, 0.15915494", O(0) = 0x3e22f983)
CASE(BITS, 0, "v_mov_b32_e32 v16, 0xdeadbeef", O(0) = 0xdeadbeef)
CASE(BITS, 0, "v_mov_b64_e32 v[16:17], v[2:3]", OQ(Q(2)))
CASE(BITS, 0, "v_mov_b64_e32 v[16:17], -3", OQ((uint64_t)-3))
CASE(BITS, 0, "v_mov_b64_e32 v[16:17], 0.5", OQ(u64_of(0.5)))
CASE(BITS, 0, "v_accvgpr_write_b32 a7, v1\ns_nop 7\nv_accvgpr_read_b32 v16, a7", O(0) = V(1))
CASE(BITS, 0, "v_not_b32_e32 v16, v1", O(0) = ~V(1))
CASE(BITS, 0, "v_bfrev_b32_e32 v16, v1", for (int b = 0; b < 32; b++) O(0) = (O(0) & ~(1u << b)) | (V(1) >> (31 - b) & 1) << b)
CASE(BITS, 0, "v_ffbh_u32_e32 v16, v1", O(0) = V(1) ? (uint32_t)__builtin_clz(V(1)) : ~0u)
CASE(BITS, 0, "v_ffbl_b32_e32 v16, v1", O(0) = V(1) ? (uint32_t)__builtin_ctz(V(1)) : ~0u)
CASE(BITS, 0, "v_ffbh_i32_e32 v16, v1", O(0) = V(1) == 0 || V(1) == ~0u ? ~0u : (uint32_t)__builtin_clrsb(I(1)) + 1)
CASE(BITS, 0, "v_add_u32_e32 v16, v1, v2", O(0) = V(1) + V(2))
CASE(BITS, 0, "v_add_u32_e32 v16, s16, v2", O(0) = S(16) + V(2))
CASE(BITS, 0, "v_add_u32_e64 v16, v1, v2 clamp", O(0) = (uint64_t)V(1) + V(2) > UINT32_MAX ? UINT32_MAX : V(1) + V(2))
CASE(BITS, 0, "v_sub_u32_e32 v16, v1, v2", O(0) = V(1) - V(2))
CASE(BITS, 0, "v_sub_u32_e64 v16, v1, v2 clamp", O(0) = V(1) < V(2) ? 0 : V(1) - V(2))
CASE(BITS, 0, "v_subrev_u32_e32 v16, v1, v2", O(0) = V(2) - V(1))
CASE(BITS, 0, "v_add_i32 v16, v1, v2 clamp",
     int64_t t = (int64_t)I(1) + I(2); O(0) = (uint32_t)(t > INT32_MAX ? INT32_MAX : t < INT32_MIN ? INT32_MIN : t))
CASE(BITS, 0, "v_sub_i32 v16, v1, v2 clamp",
     int64_t t = (int64_t)I(1) - I(2); O(0) = (uint32_t)(t > INT32_MAX ? INT32_MAX : t < INT32_MIN ? INT32_MIN : t))
CASE(BITS, 0, "v_add_co_u32_e64 v16, s[40:41], v1, v2", O(0) = V(1) + V(2); BIT(((uint64_t)V(1) + V(2)) >> 32))
CASE(BITS, 0, "v_sub_co_u32_e64 v16, s[40:41], v1, v2", O(0) = V(1) - V(2); BIT(V(1) < V(2)))
CASE(BITS, 0, "v_subrev_co_u32_e64 v16, s[40:41], v1, v2", O(0) = V(2) - V(1); BIT(V(2) < V(1)))
CASE(BITS, 0, "v_add_co_u32_e32 v16, vcc, v1, v3\ns_nop 1\nv_addc_co_u32_e32 v17, vcc, v2, v4, vcc\ns_mov_b64 s[40:41], vcc",
     unsigned __int128 t = (unsigned __int128)Q(1) + Q(3); OQ((uint64_t)t); BIT(t >> 64 != 0))
CASE(BITS, 0, "v_sub_co_u32_e32 v16, vcc, v1, v3\ns_nop 1\nv_subb_co_u32_e32 v17, vcc, v2, v4, vcc\ns_mov_b64 s[40:41], vcc",
     OQ(Q(1) - Q(3)); BIT(Q(1) < Q(3)))
CASE(BITS, 0, "v_sub_co_u32_e32 v16, vcc, v1, v3\ns_nop 1\nv_subbrev_co_u32_e32 v17, vcc, v4, v2, vcc", OQ(Q(1) - Q(3)))
CASE(BITS, 0, "v_mad_u64_u32 v[16:17], s[40:41], v1, v2, v[4:5]",
     unsigned __int128 t = (unsigned __int128)((uint64_t)V(1) * V(2)) + Q(4); OQ((uint64_t)t); BIT(t >> 64 != 0))
CASE(BITS, 0, "v_mad_i64_i32 v[16:17], s[42:43], v1, v2, v[4:5]", OQ((uint64_t)((int64_t)I(1) * I(2)) + Q(4)))
CASE(BITS, 0, "v_and_b32_e32 v16, v1, v2", O(0) = V(1) & V(2))
CASE(BITS, 0, "v_or_b32_e32 v16, v1, v2", O(0) = V(1) | V(2))
CASE(BITS, 0, "v_xor_b32_e32 v16, v1, v2", O(0) = V(1) ^ V(2))
CASE(BITS, 0, "v_xnor_b32_e32 v16, v1, v2", O(0) = ~(V(1) ^ V(2)))
CASE(BITS, 0, "v_lshlrev_b32_e32 v16, v1, v2", O(0) = V(2) << (V(1) % 32))
CASE(BITS, 0, "v_lshrrev_b32_e32 v16, v1, v2", O(0) = V(2) >> (V(1) % 32))
CASE(BITS, 0, "v_ashrrev_i32_e32 v16, v1, v2", O(0) = (uint32_t)(I(2) >> (V(1) % 32)))
CASE(BITS, 0, "v_lshlrev_b64 v[16:17], v1, v[2:3]", OQ(Q(2) << (V(1) % 64)))
CASE(BITS, 0, "v_lshrrev_b64 v[16:17], v1, v[2:3]", OQ(Q(2) >> (V(1) % 64)))
CASE(BITS, 0, "v_ashrrev_i64 v[16:17], v1, v[2:3]", OQ((uint64_t)((int64_t)Q(2) >> (V(1) % 64))))
CASE(BITS, 0, "v_lshl_add_u32 v16, v1, v2, v3", O(0) = (V(1) << (V(2) % 32)) + V(3))
CASE(BITS, 0, "v_add_lshl_u32 v16, v1, v2, v3", O(0) = (V(1) + V(2)) << (V(3) % 32))
CASE(BITS, 0, "v_lshl_or_b32 v16, v1, v2, v3", O(0) = V(1) << (V(2) % 32) | V(3))
CASE(BITS, 0, "v_and_or_b32 v16, v1, v2, v3", O(0) = (V(1) & V(2)) | V(3))
CASE(BITS, 0, "v_or3_b32 v16, v1, v2, v3", O(0) = V(1) | V(2) | V(3))
CASE(BITS, 0, "v_add3_u32 v16, v1, v2, v3", O(0) = V(1) + V(2) + V(3))
CASE(BITS, 0, "v_xad_u32 v16, v1, v2, v3", O(0) = (V(1) ^ V(2)) + V(3))
CASE(BITS, 0, "v_lshl_add_u64 v[16:17], v[2:3], 3, v[4:5]", OQ((Q(2) << 3) + Q(4)))
CASE(BITS, 0, "v_cndmask_b32_e64 v16, v1, v2, s[18:19]", O(0) = SQ(18) >> LANE & 1 ? V(2) : V(1))
CASE(BITS, 0, "s_mov_b64 vcc, s[18:19]\nv_cndmask_b32_e32 v16, v1, v2, vcc", O(0) = SQ(18) >> LANE & 1 ? V(2) : V(1))
CASE(BITS, 0, "v_cndmask_b32_e64 v16, -v1, |v2|, s[18:19]",
     O(0) = SQ(18) >> LANE & 1 ? V(2) & 0x7fffffff : V(1) ^ 0x80000000)
CASE(BITS, 0, "v_mul_lo_u32 v16, v1, v2", O(0) = V(1) * V(2))
CASE(BITS, 0, "v_mul_hi_u32 v16, v1, v2", O(0) = (uint32_t)((uint64_t)V(1) * V(2) >> 32))
CASE(BITS, 0, "v_mul_hi_i32 v16, v1, v2", O(0) = (uint32_t)((int64_t)I(1) * I(2) >> 32))
CASE(BITS, 0, "v_mul_i32_i24_e32 v16, v1, v2", O(0) = (uint32_t)((int64_t)(SX(V(1), 24)) * (SX(V(2), 24))))
CASE(BITS, 0, "v_mul_u32_u24_e32 v16, v1, v2", O(0) = (V(1) & 0xffffff) * (V(2) & 0xffffff))
CASE(BITS, 0, "v_mul_hi_i32_i24_e32 v16, v1, v2", O(0) = (uint32_t)((int64_t)(SX(V(1), 24)) * (SX(V(2), 24)) >> 32))
CASE(BITS, 0, "v_mul_hi_u32_u24_e32 v16, v1, v2", O(0) = (uint32_t)((uint64_t)(V(1) & 0xffffff) * (V(2) & 0xffffff) >> 32))
CASE(BITS, 0, "v_mad_i32_i24 v16, v1, v2, v3", O(0) = (uint32_t)((int64_t)(SX(V(1), 24)) * (SX(V(2), 24)) + I(3)))
CASE(BITS, 0, "v_mad_u32_u24 v16, v1, v2, v3", O(0) = (V(1) & 0xffffff) * (V(2) & 0xffffff) + V(3))
CASE(BITS, 0, "v_mad_u32_u16 v16, v1, v2, v3", O(0) = U16(1) * U16(2) + V(3))
CASE(BITS, 0, "v_mad_u32_u16 v16, v1, v2, v3 op_sel:[1,0,0,0]", O(0) = (V(1) >> 16) * U16(2) + V(3))
CASE(BITS, 0, "v_mad_i32_i16 v16, v1, v2, v3", O(0) = (uint32_t)((int64_t)I16(1) * I16(2) + I(3)))
CASE(BITS, 0, "v_min_i32_e32 v16, v1, v2", O(0) = I(1) < I(2) ? V(1) : V(2))
CASE(BITS, 0, "v_max_i32_e32 v16, v1, v2", O(0) = I(1) > I(2) ? V(1) : V(2))
CASE(BITS, 0, "v_min_u32_e32 v16, v1, v2", O(0) = V(1) < V(2) ? V(1) : V(2))
CASE(BITS, 0, "v_max_u32_e32 v16, v1, v2", O(0) = V(1) > V(2) ? V(1) : V(2))
CASE(BITS, 0, "v_min3_i32 v16, v1, v2, v3", int32_t m = I(1) < I(2) ? I(1) : I(2); O(0) = (uint32_t)(m < I(3) ? m : I(3)))
CASE(BITS, 0, "v_max3_u32 v16, v1, v2, v3", uint32_t m = V(1) > V(2) ? V(1) : V(2); O(0) = m > V(3) ? m : V(3))
CASE(BITS, 0, "v_med3_i32 v16, v1, v2, v3",
     int64_t a = I(1), b = I(2), c = I(3), lo = a < b ? a : b, hi = a < b ? b : a;
     O(0) = (uint32_t)(c < lo ? lo : c > hi ? hi : c))
CASE(BITS, 0, "v_med3_u32 v16, v1, v2, v3",
     uint32_t a = V(1), b = V(2), c = V(3), lo = a < b ? a : b, hi = a < b ? b : a; O(0) = c < lo ? lo : c > hi ? hi : c)
CASE(BITS, 0, "v_bfe_u32 v16, v1, v2, v3", O(0) = (uint32_t)(V(1) >> (V(2) % 32) & ((UINT64_C(1) << (V(3) % 32)) - 1)))
CASE(BITS, 0, "v_bfe_i32 v16, v1, 5, 7", O(0) = (uint32_t)(SX(V(1) >> 5, 7)))
CASE(BITS, 0, "v_bfe_i32 v16, v1, v2, v3",
     unsigned off = V(2) % 32, n = V(3) % 32, top = off + n > 32 ? 32 : off + n;
     O(0) = n == 0 ? 0 : (uint32_t)((int64_t)((uint64_t)V(1) << (64 - top)) >> (64 - (top - off))))
CASE(BITS, 0, "v_bfi_b32 v16, v1, v2, v3", O(0) = (V(1) & V(2)) | (~V(1) & V(3)))
CASE(BITS, 0, "v_bfm_b32 v16, v1, v2", O(0) = ((1u << (V(1) % 32)) - 1) << (V(2) % 32))
CASE(BITS, 0, "v_alignbit_b32 v16, v1, v2, v3", O(0) = (uint32_t)(((uint64_t)V(1) << 32 | V(2)) >> (V(3) % 32)))
CASE(BITS, 0, "v_alignbyte_b32 v16, v1, v2, v3", O(0) = (uint32_t)(((uint64_t)V(1) << 32 | V(2)) >> (V(3) % 4 * 8)))
CASE(BITS, 0, "v_perm_b32 v16, v1, v2, v3",
     uint8_t b[8]; uint32_t lo = V(2), hi = V(1), r = 0; memcpy(b, &lo, 4); memcpy(b + 4, &hi, 4);
     for (int k = 0; k < 4; k++) {
       uint32_t s = V(3) >> (8 * k) & 0xff, v;
       if (s < 8) v = b[s];
       else if (s < 12) v = b[2 * (s - 8) + 1] & 0x80 ? 0xff : 0;
       else v = s == 12 ? 0 : 0xff;
       r |= v << (8 * k);
     }
     O(0) = r)
CASE(BITS, 0, "s_mov_b32 s20, 0x05040100\nv_perm_b32 v16, v1, v2, s20", O(0) = V(1) << 16 | U16(2))
CASE(BITS, 0, "v_bcnt_u32_b32 v16, v1, v2", O(0) = (uint32_t)__builtin_popcount(V(1)) + V(2))
CASE(BITS, 0, "v_mbcnt_lo_u32_b32 v16, s18, v2\nv_mbcnt_hi_u32_b32 v16, s19, v16",
     O(0) = (uint32_t)__builtin_popcountll(SQ(18) & ((UINT64_C(1) << LANE) - 1)) + V(2))
CASE(BITS, 0, "v_sad_u8 v16, v1, v2, v3",
     O(0) = V(3); for (int k = 0; k < 32; k += 8) O(0) += (uint32_t)abs((int)(V(1) >> k & 255) - (int)(V(2) >> k & 255)))
CASE(BITS, 0, "v_sad_u32 v16, v1, v2, v3", O(0) = (V(1) > V(2) ? V(1) - V(2) : V(2) - V(1)) + V(3))
CASE(BITS, 0, "v_sad_u16 v16, v1, v2, v3",
     O(0) = V(3) + (uint32_t)abs((int)U16(1) - (int)U16(2)) + (uint32_t)abs((int)(V(1) >> 16) - (int)(V(2) >> 16)))
CASE(BITS, 0, "v_lerp_u8 v16, v1, v2, v3",
     uint32_t r = 0; for (int k = 0; k < 32; k += 8) r |= ((V(1) >> k & 255) + (V(2) >> k & 255) + (V(3) >> k & 1)) / 2 << k;
       O(0) = r)
/* 16 bits */
CASE(BITS, 0, "v_add_u16_e32 v16, v1, v2", O(0) = (V(1) + V(2)) & 0xffff)
CASE(BITS, 0, "v_sub_u16_e32 v16, v1, v2", O(0) = (V(1) - V(2)) & 0xffff)
CASE(BITS, 0, "v_subrev_u16_e32 v16, v1, v2", O(0) = (V(2) - V(1)) & 0xffff)
CASE(BITS, 0, "v_mul_lo_u16_e32 v16, v1, v2", O(0) = (V(1) * V(2)) & 0xffff)
CASE(BITS, 0, "v_lshlrev_b16_e32 v16, v1, v2", O(0) = (U16(2) << (V(1) % 16)) & 0xffff)
CASE(BITS, 0, "v_lshrrev_b16_e32 v16, v1, v2", O(0) = U16(2) >> (V(1) % 16))
CASE(BITS, 0, "v_ashrrev_i16_e32 v16, v1, v2", O(0) = (uint32_t)(I16(2) >> (V(1) % 16)) & 0xffff)
CASE(BITS, 0, "v_min_i16_e32 v16, v1, v2", O(0) = (uint32_t)(I16(1) < I16(2) ? I16(1) : I16(2)) & 0xffff)
CASE(BITS, 0, "v_max_u16_e32 v16, v1, v2", O(0) = U16(1) > U16(2) ? U16(1) : U16(2))
CASE(BITS, 0, "v_mad_u16 v16, v1, v2, v3", O(0) = 0xa5a50000 | ((V(1) * V(2) + V(3)) & 0xffff))
CASE(BITS, 0, "v_mad_u16 v16, v1, v2, v3 op_sel:[1,0,1,1]", O(0) = ((V(1) >> 16) * U16(2) + (V(3) >> 16)) << 16)
CASE(BITS, 0, "v_add_i16 v16, v1, v2 clamp",
     int t = I16(1) + I16(2); O(0) = 0xa5a50000 | ((uint32_t)(t > 32767 ? 32767 : t < -32768 ? -32768 : t) & 0xffff))
CASE(BITS, 0, "v_pack_b32_f16 v16, v1, v2", O(0) = U16(1) | V(2) << 16)
CASE(BITS, 0, "v_pack_b32_f16 v16, v1, v2 op_sel:[1,1,0]", O(0) = V(1) >> 16 | (V(2) & 0xffff0000))
CASE(BITS, 0, "v_pk_add_u16 v16, v1, v2", O(0) = ((V(1) + V(2)) & 0xffff) | ((V(1) >> 16) + (V(2) >> 16)) << 16)
CASE(BITS, 0, "v_pk_add_u16 v16, v1, 1 op_sel_hi:[1,0]", O(0) = ((V(1) + 1) & 0xffff) | ((V(1) >> 16) + 1) << 16)
CASE(BITS, 0, "v_pk_sub_i16 v16, v1, v2 op_sel:[0,1] op_sel_hi:[1,0]",
     O(0) = ((V(1) - (V(2) >> 16)) & 0xffff) | ((V(1) >> 16) - V(2)) << 16)
CASE(BITS, 0, "v_pk_mul_lo_u16 v16, v1, v2", O(0) = ((V(1) * V(2)) & 0xffff) | ((V(1) >> 16) * (V(2) >> 16)) << 16)
CASE(BITS, 0, "v_pk_mad_u16 v16, v1, v2, v3",
     O(0) = ((V(1) * V(2) + V(3)) & 0xffff) | ((V(1) >> 16) * (V(2) >> 16) + (V(3) >> 16)) << 16)
CASE(BITS, 0, "v_pk_max_i16 v16, v1, v2",
     int16_t ah = (int16_t)(V(1) >> 16), bh = (int16_t)(V(2) >> 16);
     O(0) = ((uint32_t)(I16(1) > I16(2) ? I16(1) : I16(2)) & 0xffff) | (uint32_t)(ah > bh ? ah : bh) << 16)
CASE(BITS, 0, "v_pk_lshlrev_b16 v16, v1, v2",
     O(0) = ((V(2) << (V(1) % 16)) & 0xffff) | (V(2) >> 16) << (V(1) >> 16 & 15) << 16)
CASE(BITS, 0, "v_pk_add_u16 v16, v1, v2 clamp",
     uint32_t l = U16(1) + U16(2), h = (V(1) >> 16) + (V(2) >> 16);
       O(0) = (l > 0xffff ? 0xffff : l) | (h > 0xffff ? 0xffff : h) << 16)
CASE(BITS, 0, "v_dot4_i32_i8 v16, v1, v2, v3",
     int64_t t = I(3); for (int k = 0; k < 32; k += 8) t += (int8_t)(V(1) >> k) * (int8_t)(V(2) >> k); O(0) = (uint32_t)t)
CASE(BITS, 0, "v_dot4_u32_u8 v16, v1, v2, v3",
     O(0) = V(3); for (int k = 0; k < 32; k += 8) O(0) += (V(1) >> k & 255) * (V(2) >> k & 255))
CASE(BITS, 0, "v_dot2_i32_i16 v16, v1, v2, v3",
     O(0) = V(3) + (uint32_t)(I16(1) * I16(2)) + (uint32_t)((int16_t)(V(1) >> 16) * (int16_t)(V(2) >> 16)))
CASE(BITS, 0, "v_dot8_u32_u4 v16, v1, v2, v3",
     O(0) = V(3); for (int k = 0; k < 32; k += 4) O(0) += (V(1) >> k & 15) * (V(2) >> k & 15))
/* lanes and scalars */
CASE(BITS, 0, "v_readlane_b32 s40, v1, 5\nv_readlane_b32 s41, v2, s16\nv_readfirstlane_b32 s42, v3\ns_mov_b32 s43, 7",
     SO(0) = in->v[5]; SO(1) = in->v[64 + S(16) % 64]; SO(2) = in->v[128]; SO(3) = 7)
CASE(BITS, 0, "s_mov_b64 exec, 0xf0\nv_readfirstlane_b32 s40, v3\ns_mov_b64 exec, -1", SO(0) = in->v[132])
CASE(BITS, 0, "v_writelane_b32 v16, s17, 9", if (LANE == 9) O(0) = S(17))
CASE(BITS, 0, "v_mov_b32 v17, v1\nv_mov_b32 v16, v2\nv_swap_b32 v16, v17", O(0) = V(1); O(1) = V(2))
CASE(BITS, 0, "v_pk_mov_b32 v[16:17], v[2:3], v[4:5] op_sel:[1,0]", O(0) = V(3); O(1) = V(4))
CASE(BITS, 0, "v_pk_mov_b32 v[16:17], v[2:3], v[4:5] op_sel:[0,1]", O(0) = V(2); O(1) = V(5))
CASE(BITS, 0, "s_mov_b64 exec, s[20:21]\nv_add_u32 v16, v1, v2\ns_mov_b64 exec, -1", if (SQ(20) >> LANE & 1) O(0) = V(1) + V(2))
CASE(BITS, 0, "s_mov_b64 exec, 0\nv_add_u32 v16, v1, v200\ns_mov_b64 exec, -1", (void)out)
/* DPP */
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf",
     static const int p[] = {3, 1, 0, 2}; O(0) = in->v[LANE / 4 * 4 + p[LANE % 4]])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_shl:3 row_mask:0xf bank_mask:0xf", if (LANE % 16 < 13) O(0) = in->v[LANE + 3])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_shl:3 row_mask:0xf bank_mask:0xf bound_ctrl:0",
     O(0) = LANE % 16 < 13 ? in->v[LANE + 3] : 0)
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_shr:1 row_mask:0xf bank_mask:0xf", if (LANE % 16 >= 1) O(0) = in->v[LANE - 1])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_ror:5 row_mask:0xf bank_mask:0xf", O(0) = in->v[LANE / 16 * 16 + (LANE % 16 + 11) % 16])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_mirror row_mask:0xf bank_mask:0xf", O(0) = in->v[LANE / 16 * 16 + 15 - LANE % 16])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_half_mirror row_mask:0xf bank_mask:0xf", O(0) = in->v[LANE / 8 * 8 + 7 - LANE % 8])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_newbcast:6 row_mask:0xf bank_mask:0xf", O(0) = in->v[LANE / 16 * 16 + 6])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_bcast:15 row_mask:0xa bank_mask:0xf",
     if (LANE / 16 % 2) O(0) = in->v[LANE / 16 * 16 - 1])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 row_bcast:31 row_mask:0xc bank_mask:0xf", if (LANE >= 32) O(0) = in->v[31])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 wave_shr:1 row_mask:0xf bank_mask:0xf", if (LANE) O(0) = in->v[LANE - 1])
CASE(BITS, 0, "v_mov_b32_dpp v16, v1 wave_rol:1 row_mask:0xf bank_mask:0xf", O(0) = in->v[(LANE + 1) % 64])
CASE(BITS, 0, "v_add_u32_dpp v16, v1, v2 row_shr:2 row_mask:0xf bank_mask:0x5 bound_ctrl:0",
     if (LANE % 16 / 4 % 2 == 0) O(0) = (LANE % 16 >= 2 ? in->v[LANE - 2] : 0) + V(2))
CASE(BITS, 0, "s_mov_b64 exec, s[20:21]\nv_mov_b32_dpp v16, v1 row_mirror row_mask:0xf bank_mask:0xf\ns_mov_b64 exec, -1",
     int f = LANE / 16 * 16 + 15 - LANE % 16; if ((SQ(20) >> LANE & 1) && (SQ(20) >> f & 1)) O(0) = in->v[f])
/* SDWA */
CASE(BITS, 0, "v_add_u32_sdwa v16, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
     O(0) = (V(1) >> 8 & 255) + (V(2) >> 16))
CASE(BITS, 0, "v_add_u32_sdwa v16, sext(v1), sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:WORD_0",
     O(0) = (uint32_t)((int8_t)(V(1) >> 24) + I16(2)))
CASE(BITS, 0, "v_mov_b32_sdwa v16, v1 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0",
     O(0) = (0xa5a50000 & ~0xff0000u) | (V(1) & 255) << 16)
CASE(BITS, 0, "v_mov_b32_sdwa v16, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0", O(0) = V(1) << 16)
CASE(BITS, 0, "v_or_b32_sdwa v16, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:BYTE_0",
     O(0) = (uint32_t)(int8_t)(V(1) | V(2)) << 8)
CASE(BITS, 0, "v_cmp_eq_u16_sdwa s[40:41], v1, v2 src0_sel:WORD_1 src1_sel:BYTE_0", BIT(V(1) >> 16 == (V(2) & 255)))
/* two conversions that are integer only */
CASE(BITS, 0, "v_cvt_pk_u16_u32 v16, v1, v2", O(0) = (V(1) > 65535 ? 65535 : V(1)) | (V(2) > 65535 ? 65535u : V(2)) << 16)
CASE(BITS, 0, "v_cvt_pk_i16_i32 v16, v1, v2",
     int a = I(1) > 32767 ? 32767 : I(1) < -32768 ? -32768 : I(1), b = I(2) > 32767 ? 32767 : I(2) < -32768 ? -32768 : I(2);
     O(0) = ((uint32_t)a & 0xffff) | (uint32_t)b << 16)
CASE(BITS, 0, "v_sat_pk_u8_i16_e32 v16, v1",
     int a = I16(1), b = (int16_t)(V(1) >> 16); a = a < 0 ? 0 : a > 255 ? 255 : a; b = b < 0 ? 0 : b > 255 ? 255 : b;
     O(0) = (uint32_t)(a | b << 8))
