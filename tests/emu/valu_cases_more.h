/* CASE(kind, ulp, text, statement): the instructions that valu_cases_int.h and valu_cases_float.h leave over, graphics and
 * media ones among them; see valu_diff.h. Expected values use the helpers of test_emu_valu_more.c. */
CASE(BITS, 0, "v_mul_lo_i32 v16, v1, v2", O(0) = V(1) * V(2))
CASE(BITS, 0, "v_max3_i32 v16, v1, v2, v3", int32_t m = I(1) > I(2) ? I(1) : I(2); O(0) = (uint32_t)(m > I(3) ? m : I(3)))
CASE(BITS, 0, "v_min3_u32 v16, v1, v2, v3", uint32_t m = V(1) < V(2) ? V(1) : V(2); O(0) = m < V(3) ? m : V(3))
CASE(BITS, 0, "v_sad_hi_u8 v16, v1, v2, v3", O(0) = (sad(V(1), V(2), false) << 16) + V(3))
CASE(BITS, 0, "v_msad_u8 v16, v1, v2, v3", O(0) = sad(V(1), V(2), true) + V(3))
CASE(BITS, 0, "v_qsad_pk_u16_u8 v[16:17], v[2:3], v4, v[6:7]", OQ(quad_sad(Q(2), V(4), Q(6), false)))
CASE(BITS, 0, "v_mqsad_pk_u16_u8 v[16:17], v[2:3], v4, v[6:7]", OQ(quad_sad(Q(2), V(4), Q(6), true)))
CASE(BITS, 0, "v_mqsad_u32_u8 v[16:19], v[2:3], v4, v[6:9]",
     for (int k = 0; k < 4; k++) O(k) = sad((uint32_t)(Q(2) >> (8 * k)), V(4), true) + V(6 + k))
/* 16 bits */
CASE(BITS, 0, "v_min_u16_e32 v16, v1, v2", O(0) = U16(1) < U16(2) ? U16(1) : U16(2))
CASE(BITS, 0, "v_max_i16_e32 v16, v1, v2", O(0) = (uint32_t)(I16(1) > I16(2) ? I16(1) : I16(2)) & 0xffff)
CASE(BITS, 0, "v_sub_i16 v16, v1, v2", O(0) = 0xa5a50000 | ((uint32_t)(I16(1) - I16(2)) & 0xffff))
CASE(BITS, 0, "v_sub_i16 v16, v1, v2 clamp", O(0) = 0xa5a50000 | SAT16(I16(1) - I16(2)))
CASE(BITS, 0, "v_mad_i16 v16, v1, v2, v3", O(0) = 0xa5a50000 | ((uint32_t)(I16(1) * I16(2) + I16(3)) & 0xffff))
CASE(BITS, 0, "v_mad_i16 v16, v1, v2, v3 clamp", O(0) = 0xa5a50000 | SAT16((int64_t)I16(1) * I16(2) + I16(3)))
CASE(BITS, 0, "v_mad_legacy_u16 v16, v1, v2, v3", O(0) = (U16(1) * U16(2) + U16(3)) & 0xffff)
CASE(BITS, 0, "v_mad_legacy_i16 v16, v1, v2, v3", O(0) = (uint32_t)(I16(1) * I16(2) + I16(3)) & 0xffff)
/* packed integers: both halves alike */
#define HALVES(text, expr) CASE(BITS, 0, text, O(0) = 0; for (int h = 0; h < 32; h += 16) {                            \
    int a = (int16_t)(V(1) >> h), b = (int16_t)(V(2) >> h), c = (int16_t)(V(3) >> h);                                  \
    uint32_t ua = (uint16_t)a, ub = (uint16_t)b, uc = (uint16_t)c;                                                     \
    (void)ua, (void)ub, (void)uc, (void)c; O(0) |= ((uint32_t)(expr) & 0xffff) << h; })
HALVES("v_pk_add_i16 v16, v1, v2", a + b)
HALVES("v_pk_add_i16 v16, v1, v2 clamp", SAT16(a + b))
HALVES("v_pk_sub_u16 v16, v1, v2", a - b)
HALVES("v_pk_sub_u16 v16, v1, v2 clamp", ua < ub ? 0 : ua - ub)
HALVES("v_pk_mad_i16 v16, v1, v2, v3", a * b + c)
HALVES("v_pk_mad_i16 v16, v1, v2, v3 clamp", SAT16((int64_t)a * b + c))
HALVES("v_pk_min_i16 v16, v1, v2", a < b ? a : b)
HALVES("v_pk_min_u16 v16, v1, v2", ua < ub ? ua : ub)
HALVES("v_pk_max_u16 v16, v1, v2", ua > ub ? ua : ub)
HALVES("v_pk_ashrrev_i16 v16, v1, v2", b >> ua % 16)
HALVES("v_pk_lshrrev_b16 v16, v1, v2", ub >> ua % 16)
/* dot products */
CASE(BITS, 0, "v_dot2_u32_u16 v16, v1, v2, v3", O(0) = (uint32_t)dot(V(1), V(2), 16, false) + V(3))
CASE(BITS, 0, "v_dot2_u32_u16 v16, v1, v2, v3 clamp",
     uint64_t t = (uint64_t)dot(V(1), V(2), 16, false) + V(3); O(0) = t > UINT32_MAX ? UINT32_MAX : (uint32_t)t)
CASE(BITS, 0, "v_dot8_i32_i4 v16, v1, v2, v3", O(0) = (uint32_t)dot(V(1), V(2), 4, true) + V(3))
CASE(BITS, 0, "v_dot8_i32_i4 v16, v1, v2, v3 clamp",
     int64_t t = dot(V(1), V(2), 4, true) + I(3); O(0) = (uint32_t)(t > INT32_MAX ? INT32_MAX : t < INT32_MIN ? INT32_MIN : t))
CASE(BITS, 0, "v_mov_b32 v16, v3\nv_dot2c_i32_i16 v16, v1, v2\ns_nop 3", O(0) = (uint32_t)dot(V(1), V(2), 16, true) + V(3))
CASE(BITS, 0, "v_mov_b32 v16, v3\nv_dot4c_i32_i8 v16, v1, v2\ns_nop 3", O(0) = (uint32_t)dot(V(1), V(2), 8, true) + V(3))
CASE(BITS, 0, "v_mov_b32 v16, v3\nv_dot8c_i32_i4 v16, v1, v2\ns_nop 3", O(0) = (uint32_t)dot(V(1), V(2), 4, true) + V(3))
CASE(NUM32, 0, "v_mov_b32 v16, v3\nv_dot2c_f32_f16 v16, v1, v2\ns_nop 3", OF(fmaf(HH(1), HH(2), fmaf(H(1), H(2), F(3)))))
/* f16 and f32 */
#define QUIET16 "v_max_f16 v1, v1, v1\nv_max_f16 v2, v2, v2\nv_max_f16 v3, v3, v3\n"
#define QUIET32 "v_max_f32 v1, v1, v1\nv_max_f32 v2, v2, v2\nv_max_f32 v3, v3, v3\n"
CASE(NUM16, 0, QUIET16 "v_min_f16_e32 v16, v1, v2", OH(min_of(H(1), H(2))))
CASE(NUM16, 0, QUIET16 "v_min3_f16 v16, v1, v2, v3", OH(min_of(min_of(H(1), H(2)), H(3))); O(0) |= 0xa5a50000)
CASE(NUM16, 0, QUIET16 "v_max3_f16 v16, v1, v2, v3", OH(-min_of(min_of(-H(1), -H(2)), -H(3))); O(0) |= 0xa5a50000)
CASE(NUM16, 0, QUIET16 "v_med3_f16 v16, v1, v2, v3", OH(med_of(H(1), H(2), H(3))); O(0) |= 0xa5a50000)
CASE(NUM32, 0, QUIET32 "v_min3_f32 v16, v1, v2, v3", OF(min_of(min_of(F(1), F(2)), F(3))))
CASE(NUMPK16, 0, "v_pk_max_f16 v1, v1, v1\nv_pk_max_f16 v2, v2, v2\nv_pk_min_f16 v16, v1, v2",
     O(0) = h_of(min_of(H(1), H(2))) | h_of(min_of(HH(1), HH(2))) << 16)
CASE(NUMPK16, 0, "v_pk_max_f16 v1, v1, v1\nv_pk_max_f16 v2, v2, v2\nv_pk_max_f16 v16, v1, v2",
     O(0) = h_of(-min_of(-H(1), -H(2))) | h_of(-min_of(-HH(1), -HH(2))) << 16)
CASE(NUMPK16, 0, "v_mov_b32 v16, v3\nv_pk_fmac_f16 v16, v1, v2",
     O(0) = h_fma(H(1), H(2), H(3)) | h_fma(HH(1), HH(2), HH(3)) << 16)
CASE(NUM16, 0, "v_fma_legacy_f16 v16, v1, v2, v3", O(0) = h_fma(H(1), H(2), H(3)))
CASE(NUM16, 0, "v_mad_f16 v16, v1, v2, v3", O(0) = 0xa5a50000 | h_of(mad_ftz(H(1), H(2), H(3))))
CASE(NUM16, 0, "v_mad_legacy_f16 v16, v1, v2, v3", OH(mad_ftz(H(1), H(2), H(3))))
CASE(NUM16, 0, "v_mov_b32 v16, v3\nv_mac_f16 v16, v1, v2", OH(mad_ftz(H(1), H(2), H(3))))
CASE(NUM16, 0, "v_madak_f16 v16, v1, v2, 0x4900", OH(mad_ftz(H(1), H(2), 10.0f)))
CASE(NUM16, 0, "v_madmk_f16 v16, v1, 0x4900, v2", OH(mad_ftz(H(1), 10.0f, H(2))))
CASE(NUM16, 0, "v_fract_f16_e32 v16, v1", float r = H(1) - floorf(H(1)); OH(r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r))
CASE(NUM16, 1, "v_fract_f16 v16, v1\nv_sin_f16_e32 v16, v16", OH(turn(H(1), false)))
CASE(NUM16, 1, "v_fract_f16 v16, v1\nv_cos_f16_e32 v16, v16", OH(turn(H(1), true)))
CASE(NUM32, 1, "v_exp_legacy_f32_e32 v16, v1", float r = (float)exp2l(FTZ(F(1))); OF(FTZ(r)))
CASE(NUM32, 1, "v_log_legacy_f32_e32 v16, v1", OF((float)log2l(FTZ(F(1)))))
/* a quotient's estimate goes through; the rest are division's special cases */
#define FIXUP16(zero)                                                                                              \
  float q = H(1), d = H(2), n = H(3);                                                                              \
  float r = isnan(n) ? n : isnan(d) ? d : (d == 0 && n == 0) || (isinf(d) && isinf(n)) ? -NAN                      \
          : d == 0 || isinf(n) ? copysignf(INFINITY, copysignf(1, d) * copysignf(1, n))                            \
          : isinf(d) || n == 0 ? copysignf(0, copysignf(1, d) * copysignf(1, n))                                   \
                               : copysignf(q, copysignf(1, d) * copysignf(1, n));                                  \
  O(0) = (zero) | h_of(r)
CASE(NUM16, 0, "v_div_fixup_f16 v16, v1, v2, v3", FIXUP16(0xa5a50000))
CASE(NUM16, 0, "v_div_fixup_legacy_f16 v16, v1, v2, v3", FIXUP16(0))
/* cube maps: the face of the largest coordinate */
#define MAJOR(fx, fy, fz) \
  (fabsf(F(3)) >= fabsf(F(1)) && fabsf(F(3)) >= fabsf(F(2)) ? (fz) : fabsf(F(2)) >= fabsf(F(1)) ? (fy) : (fx))
CASE(NUM32, 0, "v_cubeid_f32 v16, v1, v2, v3", OF(MAJOR(F(1) < 0, F(2) < 0 ? 3 : 2, F(3) < 0 ? 5 : 4)))
CASE(NUM32, 0, "v_cubema_f32 v16, v1, v2, v3", OF(2 * MAJOR(F(1), F(2), F(3))))
CASE(NUM32, 0, "v_cubesc_f32 v16, v1, v2, v3", OF(MAJOR(F(1) < 0 ? F(3) : -F(3), F(1), F(3) < 0 ? -F(1) : F(1))))
CASE(NUM32, 0, "v_cubetc_f32 v16, v1, v2, v3", OF(MAJOR(-F(2), F(2) < 0 ? -F(3) : F(3), -F(2))))
/* conversions */
CASE(NUM32, 0, "v_cvt_f32_ubyte1_e32 v16, v1", OF((float)(V(1) >> 8 & 255)))
CASE(BITS, 0, "v_cvt_rpi_i32_f32_e32 v16, v1",
     float x = floorf(F(1) + 0.5f);
     O(0) = isnan(x) ? 0 : x >= 0x1p31f ? 0x7fffffff : x < -0x1p31f ? 0x80000000 : (uint32_t)(int32_t)x)
CASE(BITS, 0, "v_cvt_norm_i16_f16_e32 v16, v1", O(0) = NORM_I(H(1)))
CASE(BITS, 0, "v_cvt_norm_u16_f16_e32 v16, v1", O(0) = NORM_U(H(1)))
CASE(BITS, 0, "v_cvt_pknorm_i16_f16 v16, v1, v2", O(0) = NORM_I(H(1)) | NORM_I(H(2)) << 16)
CASE(BITS, 0, "v_cvt_pknorm_u16_f16 v16, v1, v2", O(0) = NORM_U(H(1)) | NORM_U(H(2)) << 16)
#define BYTE_OF(x) ((x) > 0 ? (x) >= 255 ? 255u : (uint32_t)(x) : 0u)
CASE(BITS, 0, "v_cvt_pk_u8_f32 v16, v1, v2, v3",
     uint32_t s = V(2) % 4 * 8; O(0) = (V(3) & ~(255u << s)) | BYTE_OF(F(1)) << s)
CASE(BITS, 0, "v_mov_b32 v16, v3\nv_cvt_pkaccum_u8_f32 v16, v1, v2",
     uint32_t s = V(2) % 4 * 8; O(0) = (V(3) & ~(255u << s)) | BYTE_OF(F(1)) << s)
CASE(BITS, 0, "v_cvt_sr_fp8_f32 v16, v1, v2", O(0) = 0xa5a50000 | random8(V(1), V(2) >> 12, 3, 8))
CASE(BITS, 0, "v_cvt_sr_fp8_f32 v16, v1, v2 op_sel:[0,0,1,1]\ns_nop 0", O(0) = 0x00a50000 | random8(V(1), V(2) >> 12, 3, 8) << 24)
CASE(BITS, 0, "v_cvt_sr_bf8_f32 v16, -v1, v2 op_sel:[0,0,1,0]\ns_nop 0",
     O(0) = 0xa5a50000 | random8(V(1) ^ 0x80000000, V(2) >> 11, 2, 16) << 8)
/* 53 bits of 2/pi for segment v4[4:0] of an argument with v[2:3]'s exponent */
CASE(NUM64, 0, "v_trig_preop_f64 v[16:17], v[2:3], v4", OD(two_over_pi(Q(2), V(4))))
CASE(NUM64, 0, "v_mov_b32 v3, 0x7e300000\nv_and_b32 v4, 3, v4\nv_trig_preop_f64 v[16:17], v[2:3], v4",
     OD(two_over_pi(UINT64_C(0x7e300000) << 32, V(4) & 3)))
/* classes */
CASE(BITS, 0, "v_cmp_class_f16_e64 s[40:41], v1, v2", BIT(V(2) >> class16(U16(1)) & 1))
#define TO_EXEC "\ns_mov_b64 s[42:43], exec\ns_mov_b64 exec, -1\ns_xor_b64 s[42:43], s[42:43], vcc\ns_mov_b64 s[40:41], vcc\n" \
                "s_cmp_eq_u64 s[42:43], 0\ns_cselect_b64 s[40:41], s[40:41], 0x5555"
CASE(BITS, 0, "v_cmpx_class_f16_e32 vcc, v1, v2" TO_EXEC, BIT(V(2) >> class16(U16(1)) & 1))
CASE(BITS, 0, "v_cmpx_class_f32_e32 vcc, v1, v2" TO_EXEC,
     BIT(V(2) >> class_of(fpclassify(F(1)), signbit(F(1)), V(1) & 0x400000) & 1))
CASE(BITS, 0, "v_cmpx_class_f64_e32 vcc, v[2:3], v4" TO_EXEC,
     BIT(V(4) >> class_of(fpclassify(D(2)), signbit(D(2)), V(3) & 0x80000) & 1))
CASE(BITS, 0, "v_clrexcp\nv_mov_b32 v16, v1", O(0) = V(1))
