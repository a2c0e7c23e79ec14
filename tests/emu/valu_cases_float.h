/* CASE(kind, ulp, text, statement) of floating-point, conversion and packed-float instructions; see valu_diff.h. */
CASE(NUM32, 0, "v_add_f32_e32 v16, v1, v2", OF(F(1) + F(2)))
CASE(NUM32, 0, "v_sub_f32_e32 v16, v1, v2", OF(F(1) - F(2)))
CASE(NUM32, 0, "v_subrev_f32_e32 v16, v1, v2", OF(F(2) - F(1)))
CASE(NUM32, 0, "v_mul_f32_e32 v16, v1, v2", OF(F(1) * F(2)))
CASE(NUM32, 0, "v_mul_f32_e32 v16, s16, v2", OF(f32_of(S(16)) * F(2)))
CASE(NUM32, 0, "v_mul_f32_e32 v16, 0.5, v2", OF(0.5f * F(2)))
CASE(NUM32, 0, "v_mul_f32_e32 v16, 0x3fb8aa3b, v2", OF(f32_of(0x3fb8aa3b) * F(2)))
CASE(NUM32, 0, "v_mul_f32_e64 v16, -v1, |v2|", OF(-F(1) * fabsf(F(2))))
CASE(NUM32, 0, "v_add_f32_e64 v16, -|v1|, v2", OF(-fabsf(F(1)) + F(2)))
CASE(NUM32, 0, "v_add_f32_e64 v16, v1, v2 clamp", float r = F(1) + F(2); OF(r > 0 ? r < 1 ? r : 1.0f : 0.0f))
CASE(NUM32, 0, "v_mul_legacy_f32 v16, v1, v2", OF(F(1) == 0 || F(2) == 0 ? 0.0f : F(1) * F(2)))
CASE(NUM32, 0, "v_fma_f32 v16, v1, v2, v3", OF(fmaf(F(1), F(2), F(3))))
CASE(NUM32, 0, "v_fma_f32 v16, -v1, v2, |v3|", OF(fmaf(-F(1), F(2), fabsf(F(3)))))
CASE(NUM32, 0, "v_fma_f32 v16, v1, s16, 1.0", OF(fmaf(F(1), f32_of(S(16)), 1.0f)))
CASE(NUM32, 0, "v_mov_b32 v16, v3\nv_fmac_f32_e32 v16, v1, v2", OF(fmaf(F(1), F(2), F(3))))
CASE(NUM32, 0, "v_fmaak_f32 v16, v1, v2, 0x42280000", OF(fmaf(F(1), F(2), 42.0f)))
CASE(NUM32, 0, "v_fmamk_f32 v16, v1, 0x42280000, v2", OF(fmaf(F(1), 42.0f, F(2))))
CASE(NUM32, 0, "v_min_f32_e32 v16, v1, v2",
     OF(isnan(F(1)) ? F(2) : isnan(F(2)) ? F(1) : F(1) < F(2) ? F(1) : F(2) < F(1) ? F(2) : signbit(F(1)) ? F(1) : F(2));
     if ((isnan(F(1)) && !(V(1) & 0x400000)) || (isnan(F(2)) && !(V(2) & 0x400000))) O(0) = 0x7fc00000)
CASE(NUM32, 0, "v_max_f32_e32 v16, v1, v2",
     OF(isnan(F(1)) ? F(2) : isnan(F(2)) ? F(1) : F(1) > F(2) ? F(1) : F(2) > F(1) ? F(2) : signbit(F(1)) ? F(2) : F(1));
     if ((isnan(F(1)) && !(V(1) & 0x400000)) || (isnan(F(2)) && !(V(2) & 0x400000))) O(0) = 0x7fc00000)
/* canonicalised first, so that signalling NaNs are out of the way: a NaN loses */
CASE(NUM32, 0, "v_max_f32 v1, v1, v1\nv_max_f32 v2, v2, v2\nv_max_f32 v3, v3, v3\nv_max3_f32 v16, v1, v2, v3",
     float m = NAN;
     for (int k = 1; k <= 3; k++)
       if (isnan(m) || F(k) > m || (F(k) == m && signbit(m))) m = isnan(F(k)) ? m : F(k);
     OF(m))
/* with a NaN: min3. A signalling one makes min(x, 0) a quiet NaN, which loses against 1 */
CASE(NUM32, 0, "v_med3_f32 v16, v1, 0, 1.0",
     float x = F(1); OF(x > 0 ? x < 1 ? x : 1.0f : 0.0f); if (isnan(x)) OF(V(1) & 0x400000 ? 0.0f : 1.0f))
CASE(NUM32, 0, "v_trunc_f32_e32 v16, v1", OF(truncf(F(1))))
CASE(NUM32, 0, "v_ceil_f32_e32 v16, v1", OF(ceilf(F(1))))
CASE(NUM32, 0, "v_floor_f32_e32 v16, v1", OF(floorf(F(1))))
CASE(NUM32, 0, "v_rndne_f32_e32 v16, v1", OF(roundevenf(F(1))))
CASE(NUM32, 0, "v_fract_f32_e32 v16, v1", float r = F(1) - floorf(F(1)); OF(r >= 1 ? nextafterf(1, 0) : r))
CASE(NUM32, 0, "v_ldexp_f32 v16, v1, v2", int e = I(2) < -1000 ? -1000 : I(2) > 1000 ? 1000 : I(2); OF(ldexpf(F(1), e)))
CASE(NUM32, 0, "v_frexp_mant_f32_e32 v16, v1", int e; OF(isfinite(F(1)) ? frexpf(F(1), &e) : F(1)))
CASE(BITS, 0, "v_frexp_exp_i32_f32_e32 v16, v1", int e = 0; if (isfinite(F(1))) frexpf(F(1), &e); O(0) = (uint32_t)e)
/* quarter-rate functions flush subnormal inputs and results whatever MODE says */
#define FTZ(x) (fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : (x))
CASE(NUM32, 1, "v_exp_f32_e32 v16, v1", float r = (float)exp2l(FTZ(F(1))); OF(FTZ(r)))
CASE(NUM32, 1, "v_log_f32_e32 v16, v1", OF((float)log2l(FTZ(F(1)))))
CASE(NUM32, 1, "v_rcp_f32_e32 v16, v1", float r = 1.0f / FTZ(F(1)); OF(FTZ(r)))
CASE(NUM32, 1, "v_rsq_f32_e32 v16, v1", OF((float)(1.0L / sqrtl(FTZ(F(1))))))
CASE(NUM32, 1, "v_sqrt_f32_e32 v16, v1", OF(sqrtf(FTZ(F(1)))))
CASE(NUM32, 1, "v_exp_f32_e64 v16, -v1", float r = (float)exp2l(-FTZ(F(1))); OF(FTZ(r)))
CASE(NUM32, 1, "v_fract_f32 v16, v1\nv_sin_f32_e32 v16, v16",
     float r = F(1) - floorf(F(1)); if (r >= 1) r = nextafterf(1, 0); OF((float)sinl(2 * M_PIl * (long double)r));
     if (r == 0.5f) O(0) = u32_of((float)sin(M_PI)))
CASE(NUM32, 1, "v_fract_f32 v16, v1\nv_cos_f32_e32 v16, v16",
     float r = F(1) - floorf(F(1)); if (r >= 1) r = nextafterf(1, 0); OF((float)cosl(2 * M_PIl * (long double)r));
     if (r == 0.25f || r == 0.75f) O(0) = u32_of((float)cos(2 * M_PI * r)))
/* f64 */
CASE(NUM64, 0, "v_add_f64 v[16:17], v[2:3], v[4:5]", OD(D(2) + D(4)))
CASE(NUM64, 0, "v_add_f64 v[16:17], v[2:3], -v[4:5]", OD(D(2) - D(4)))
CASE(NUM64, 0, "v_mul_f64 v[16:17], v[2:3], v[4:5]", OD(D(2) * D(4)))
CASE(NUM64, 0, "v_mul_f64 v[16:17], v[2:3], 0.5", OD(D(2) * 0.5))
CASE(NUM64, 0, "v_fma_f64 v[16:17], v[2:3], v[4:5], v[6:7]", OD(fma(D(2), D(4), D(6))))
CASE(NUM64, 0, "v_mov_b64 v[16:17], v[6:7]\nv_fmac_f64_e32 v[16:17], v[2:3], v[4:5]", OD(fma(D(2), D(4), D(6))))
CASE(NUM64, 0, "v_max_f64 v[2:3], v[2:3], v[2:3]\nv_max_f64 v[4:5], v[4:5], v[4:5]\nv_min_f64 v[16:17], v[2:3], v[4:5]",
     OD(isnan(D(2)) ? D(4) : isnan(D(4)) ? D(2) : D(2) < D(4) ? D(2) : D(4) < D(2) ? D(4) : signbit(D(2)) ? D(2) : D(4)))
CASE(NUM64, 0, "v_floor_f64_e32 v[16:17], v[2:3]", OD(floor(D(2))))
CASE(NUM64, 0, "v_trunc_f64_e32 v[16:17], v[2:3]", OD(trunc(D(2))))
CASE(NUM64, 0, "v_ceil_f64_e32 v[16:17], v[2:3]", OD(ceil(D(2))))
CASE(NUM64, 0, "v_rndne_f64_e32 v[16:17], v[2:3]", OD(roundeven(D(2))))
CASE(NUM64, 0, "v_fract_f64_e32 v[16:17], v[2:3]", double r = D(2) - floor(D(2)); OD(r >= 1 ? nextafter(1, 0) : r))
CASE(NUM64, 0, "v_ldexp_f64 v[16:17], v[2:3], v4", int e = I(4) < -5000 ? -5000 : I(4) > 5000 ? 5000 : I(4); OD(ldexp(D(2), e)))
CASE(NUM64, 0, "v_frexp_mant_f64_e32 v[16:17], v[2:3]", int e; OD(isfinite(D(2)) ? frexp(D(2), &e) : D(2)))
CASE(BITS, 0, "v_frexp_exp_i32_f64_e32 v16, v[2:3]", int e = 0; if (isfinite(D(2))) frexp(D(2), &e); O(0) = (uint32_t)e)
CASE(NUM64, 1, "v_rcp_f64_e32 v[16:17], v[2:3]", OD(1.0 / D(2)))
CASE(NUM64, 1, "v_rsq_f64_e32 v[16:17], v[2:3]", OD((double)(1.0L / sqrtl(D(2)))))
CASE(NUM64, 1, "v_sqrt_f64_e32 v[16:17], v[2:3]", OD(sqrt(D(2))))
/* f16: most zero the high half, those that came with gfx9 keep it */
CASE(NUM16, 0, "v_add_f16_e32 v16, v1, v2", OH(H(1) + H(2)))
CASE(NUM16, 0, "v_sub_f16_e32 v16, v1, v2", OH(H(1) - H(2)))
CASE(NUM16, 0, "v_subrev_f16_e32 v16, v1, v2", OH(H(2) - H(1)))
CASE(NUM16, 0, "v_mul_f16_e32 v16, v1, v2", OH(H(1) * H(2)))
CASE(NUM16, 0, "v_mul_f16_e32 v16, 2.0, v2", OH(2.0f * H(2)))
CASE(NUM16, 0, "v_add_f16_e32 v16, 0x4248, v2", OH(f16_of(0x4248) + H(2)))
CASE(NUM16, 0, "v_mul_f16_e64 v16, -v1, |v2|", OH(-H(1) * fabsf(H(2))))
CASE(NUM16, 0, "v_add_f16_sdwa v16, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0", OH(HH(1) + H(2)))
CASE(NUM16, 0, "v_fma_f16 v16, v1, v2, v3", O(0) = 0xa5a50000 | h_fma(H(1), H(2), H(3)))
CASE(NUMPK16, 0, "v_fma_f16 v16, v1, v2, v3 op_sel:[1,0,1,1]", O(0) = h_fma(HH(1), H(2), HH(3)) << 16)
CASE(NUM16, 0, "v_max_f16 v1, v1, v1\nv_max_f16 v2, v2, v2\nv_max_f16_e32 v16, v1, v2",
     OH(isnan(H(1)) ? H(2) : isnan(H(2)) ? H(1) : H(1) > H(2) ? H(1) : H(2) > H(1) ? H(2) : signbit(H(1)) ? H(2) : H(1)))
CASE(NUM16, 0, "v_floor_f16_e32 v16, v1", OH(floorf(H(1))))
CASE(NUM16, 0, "v_rndne_f16_e32 v16, v1", OH(roundevenf(H(1))))
CASE(NUM16, 0, "v_trunc_f16_e32 v16, v1", OH(truncf(H(1))))
CASE(NUM16, 0, "v_ceil_f16_e32 v16, v1", OH(ceilf(H(1))))
CASE(NUM16, 0, "v_ldexp_f16_e32 v16, v1, v2", OH(ldexpf(H(1), I16(2) < -200 ? -200 : I16(2) > 200 ? 200 : I16(2))))
CASE(NUM16, 1, "v_exp_f16_e32 v16, v1", OH((float)exp2l(H(1))))
CASE(NUM16, 1, "v_log_f16_e32 v16, v1", OH((float)log2l(H(1))))
CASE(NUM16, 1, "v_rcp_f16_e32 v16, v1", OH(1.0f / H(1)))
CASE(NUM16, 1, "v_sqrt_f16_e32 v16, v1", OH(sqrtf(H(1))))
CASE(NUM16, 1, "v_rsq_f16_e32 v16, v1", OH(1.0f / sqrtf(H(1))))
CASE(NUM16, 0, "v_frexp_mant_f16_e32 v16, v1", int e; OH(isfinite(H(1)) ? frexpf(H(1), &e) : H(1)))
CASE(BITS, 0, "v_frexp_exp_i16_f16_e32 v16, v1", int e = 0; if (isfinite(H(1))) frexpf(H(1), &e); O(0) = (uint32_t)e & 0xffff)
/* conversions */
CASE(NUM32, 0, "v_cvt_f32_i32_e32 v16, v1", OF((float)I(1)))
CASE(NUM32, 0, "v_cvt_f32_u32_e32 v16, v1", OF((float)V(1)))
CASE(BITS, 0, "v_cvt_i32_f32_e32 v16, v1",
     float x = F(1); O(0) = isnan(x) ? 0 : x >= 0x1p31f ? 0x7fffffff : x < -0x1p31f ? 0x80000000 : (uint32_t)(int32_t)x)
CASE(BITS, 0, "v_cvt_u32_f32_e32 v16, v1", float x = F(1); O(0) = !(x > 0) ? 0 : x >= 0x1p32f ? 0xffffffff : (uint32_t)x)
CASE(BITS, 0, "v_cvt_flr_i32_f32_e32 v16, v1",
     float x = floorf(F(1)); O(0) = isnan(x) ? 0 : x >= 0x1p31f ? 0x7fffffff : x < -0x1p31f ? 0x80000000 : (uint32_t)(int32_t)x)
CASE(NUM32, 0, "v_cvt_f32_ubyte0_e32 v16, v1", OF((float)(V(1) & 255)))
CASE(NUM32, 0, "v_cvt_f32_ubyte2_e32 v16, v1", OF((float)(V(1) >> 16 & 255)))
CASE(NUM32, 0, "v_cvt_f32_ubyte3_e32 v16, v1", OF((float)(V(1) >> 24)))
CASE(NUM32, 0, "v_cvt_off_f32_i4_e32 v16, v1", OF((float)(SX(V(1), 4)) / 16))
CASE(NUM64, 0, "v_cvt_f64_i32_e32 v[16:17], v1", OD((double)I(1)))
CASE(NUM64, 0, "v_cvt_f64_u32_e32 v[16:17], v1", OD((double)V(1)))
CASE(NUM64, 0, "v_cvt_f64_f32_e32 v[16:17], v1", OD((double)F(1)))
CASE(NUM32, 0, "v_cvt_f32_f64_e32 v16, v[2:3]", OF((float)D(2)))
CASE(BITS, 0, "v_cvt_i32_f64_e32 v16, v[2:3]",
     double x = trunc(D(2));
       O(0) = isnan(x) ? 0 : x > 2147483647.0 ? 0x7fffffff : x < -2147483648.0 ? 0x80000000 : (uint32_t)(int32_t)x)
CASE(BITS, 0, "v_cvt_u32_f64_e32 v16, v[2:3]",
     double x = trunc(D(2)); O(0) = !(x > 0) ? 0 : x > 4294967295.0 ? 0xffffffff : (uint32_t)x)
CASE(NUM16, 0, "v_cvt_f16_f32_e32 v16, v1", OH(F(1)))
CASE(NUM32, 0, "v_cvt_f32_f16_e32 v16, v1", OF(H(1)))
CASE(NUM32, 0, "v_cvt_f32_f16_sdwa v16, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", OF(HH(1)))
CASE(NUM16, 0, "v_cvt_f16_u16_e32 v16, v1", OH((float)U16(1)))
CASE(NUM16, 0, "v_cvt_f16_i16_e32 v16, v1", OH((float)I16(1)))
CASE(BITS, 0, "v_cvt_u16_f16_e32 v16, v1", float x = H(1); O(0) = !(x > 0) ? 0 : x > 65535 ? 65535 : (uint32_t)x)
CASE(BITS, 0, "v_cvt_i16_f16_e32 v16, v1",
     float x = H(1); O(0) = (isnan(x) ? 0 : x > 32767 ? 32767 : x < -32768 ? 0x8000 : (uint32_t)(int32_t)x) & 0xffff)
CASE(NUMPK16, 0, "v_cvt_pkrtz_f16_f32 v16, v1, v2",
     O(0) = 0; for (int k = 0; k < 2; k++) {
       float x = F(1 + k); uint32_t h = h_of(x);
       if (isfinite(x) && fabsf(f16_of(h)) > fabsf(x)) h--; /* rounded away from zero: step back */
       O(0) |= h << (16 * k);
     })
CASE(BITS, 0, "v_cvt_pknorm_u16_f32 v16, v1, v2",
     O(0) = 0; for (int k = 0; k < 2; k++) {
       float x = F(1 + k); x = x > 0 ? x < 1 ? x : 1 : 0; O(0) |= (uint32_t)roundevenf(x * 65535) << (16 * k);
     })
CASE(BITS, 0, "v_cvt_pknorm_i16_f32 v16, v1, v2",
     O(0) = 0; for (int k = 0; k < 2; k++) {
       float x = F(1 + k); x = isnan(x) ? 0 : x > -1 ? x < 1 ? x : 1 : -1;
       O(0) |= ((uint32_t)(int32_t)roundevenf(x * 32767) & 0xffff) << (16 * k);
     })
/* 8-bit floats, FNUZ */
#define FLOAT8(b, m, bias, top)                                                                                 \
  ((b) == 0x80 ? NAN                                                                                           \
               : copysignf((b)&0x7f & ~top ? ldexpf((float)((1 << m) + ((b)&top)), (int)((b) >> m & (0x7f >> m)) - bias - m) \
                                           : ldexpf((float)((b)&top), 1 - bias - m),                           \
                           (b)&0x80 ? -1.0f : 1.0f))
#define FP8(b) FLOAT8(b, 3, 8, 7u)
#define BF8(b) FLOAT8(b, 2, 16, 3u)
CASE(NUM32, 0, "v_cvt_f32_fp8_e32 v16, v1", OF(FP8(V(1) & 255)))
CASE(NUM32, 0, "v_cvt_f32_fp8_sdwa v16, v1 src0_sel:BYTE_3", OF(FP8(V(1) >> 24)))
CASE(NUM32, 0, "v_cvt_f32_bf8_e32 v16, v1", OF(BF8(V(1) & 255)))
CASE(NUM32X2, 0, "v_cvt_pk_f32_fp8_e32 v[16:17], v1", OF(FP8(V(1) & 255)); O(1) = u32_of(FP8(V(1) >> 8 & 255)))
CASE(NUM32X2, 0, "v_cvt_pk_f32_bf8_sdwa v[16:17], v1 src0_sel:WORD_1", OF(BF8(V(1) >> 16 & 255)); O(1) = u32_of(BF8(V(1) >> 24)))
/* nearest of all 256 codes, ties to the even one; beyond the largest: NaN */
#define NEAREST8(x, DEC, r)                                                                          \
  do {                                                                                               \
    float best = INFINITY, top = 2 * DEC(0x7f) - DEC(0x7e);                                          \
    r = 0x80;                                                                                        \
    for (int c = 0; c < 128 && fabsf(x) < top; c++) {                                                \
      float d = fabsf(fabsf(x) - DEC(c));                                                            \
      if (d < best || (d == best && c % 2 == 0)) best = d, r = (uint32_t)c;                          \
    }                                                                                                \
    if (r != 0x80 && fabsf(x) - DEC(0x7f) >= (DEC(0x7f) - DEC(0x7e)) / 2) r = 0x80;                  \
    if (r != 0x80 && r && signbit(x)) r |= 0x80;                                                     \
  } while (0)
CASE(BITS, 0, "v_cvt_pk_fp8_f32 v16, v1, v2",
     float x = F(1), y = F(2); uint32_t a, b; NEAREST8(x, FP8, a); NEAREST8(y, FP8, b); O(0) = 0xa5a50000 | a | b << 8)
CASE(BITS, 0, "v_cvt_pk_fp8_f32 v16, v1, v2 op_sel:[0,0,1]",
     float x = F(1), y = F(2); uint32_t a, b; NEAREST8(x, FP8, a); NEAREST8(y, FP8, b); O(0) = a << 16 | b << 24)
CASE(BITS, 0, "v_cvt_pk_bf8_f32 v16, v1, v2",
     float x = F(1), y = F(2); uint32_t a, b; NEAREST8(x, BF8, a); NEAREST8(y, BF8, b); O(0) = 0xa5a50000 | a | b << 8)
/* packed */
CASE(NUM32X2, 0, "v_pk_fma_f32 v[16:17], v[2:3], v[4:5], v[6:7]",
     OF(fmaf(F(2), F(4), F(6))); O(1) = u32_of(fmaf(F(3), F(5), F(7))))
CASE(NUM32X2, 0, "v_pk_mul_f32 v[16:17], v[2:3], v[4:5] op_sel:[0,1] op_sel_hi:[1,0]",
     OF(F(2) * F(5)); O(1) = u32_of(F(3) * F(4)))
CASE(NUM32X2, 0, "v_pk_mul_f32 v[16:17], v[2:3], s[16:17] op_sel_hi:[1,0]",
     OF(F(2) * f32_of(S(16))); O(1) = u32_of(F(3) * f32_of(S(16))))
CASE(NUM32X2, 0, "v_pk_add_f32 v[16:17], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[1,0]", OF(F(2) - F(4)); O(1) = u32_of(F(5) - F(3)))
CASE(NUMPK16, 0, "v_pk_add_f16 v16, v1, v2", O(0) = h_of(H(1) + H(2)) | h_of(HH(1) + HH(2)) << 16)
CASE(NUMPK16, 0, "v_pk_mul_f16 v16, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]", O(0) = h_of(HH(1) * H(2)) | h_of(H(1) * HH(2)) << 16)
CASE(NUMPK16, 0, "v_pk_mul_f16 v16, v1, 2.0 op_sel_hi:[1,0]", O(0) = h_of(H(1) * 2) | h_of(HH(1) * 2) << 16)
CASE(NUMPK16, 0, "v_pk_fma_f16 v16, v1, v2, v3 neg_lo:[1,0,0]",
     O(0) = h_fma(-H(1), H(2), H(3)) | h_fma(HH(1), HH(2), HH(3)) << 16)
CASE(NUM32, 0, "v_fma_mix_f32 v16, v1, -v2, |v3| op_sel:[1,0,0] op_sel_hi:[1,1,0]", OF(fmaf(HH(1), -H(2), fabsf(F(3)))))
CASE(NUM16, 0, "v_fma_mixlo_f16 v16, v1, v2, v3 op_sel_hi:[1,0,0]", O(0) = 0xa5a50000 | h_of(fmaf(H(1), F(2), F(3))))
CASE(NUMPK16, 0, "v_mov_b32 v16, 0x3c00\nv_fma_mixhi_f16 v16, v1, v2, v3", O(0) = 0x3c00 | h_of(fmaf(F(1), F(2), F(3))) << 16)
/* NaN payloads, exactly: the first NaN operand made quiet, or the positive default */
CASE(BITS, 0, "v_add_f32 v16, v1, v2",
     OF(F(1) + F(2)); O(0) = isnan(F(1)) ? V(1) | 0x400000 : isnan(F(2)) ? V(2) | 0x400000 : isnan(f32_of(O(0)))
       ? 0x7fc00000 : O(0))
CASE(BITS, 0, "v_mul_f16 v16, v1, v2",
     OH(H(1) * H(2)); O(0) = isnan(H(1)) ? U16(1) | 0x200 : isnan(H(2)) ? U16(2) | 0x200 : isnan(H(1) * H(2)) ? 0x7e00 : O(0))
CASE(BITS, 0, "v_mul_f64 v[16:17], v[2:3], v[4:5]",
     double r = D(2) * D(4); uint64_t q = UINT64_C(1) << 51;
     OQ(isnan(D(2)) ? Q(2) | q : isnan(D(4)) ? Q(4) | q : isnan(r) ? UINT64_C(0x7ff8) << 48 : u64_of(r)))
/* classes: signalling, quiet, -inf, -normal, -subnormal, -0, and the positive ones mirrored */
CASE(BITS, 0, "v_cmp_class_f32_e64 s[40:41], v1, v2",
     int s = signbit(F(1)) != 0, k = fpclassify(F(1)), c = k == FP_NAN ? !!(V(1) & 0x400000) : k == FP_INFINITE ? (s ? 2 : 9)
       : k == FP_NORMAL ? (s ? 3 : 8) : k == FP_SUBNORMAL ? (s ? 4 : 7) : (s ? 5 : 6); BIT(V(2) >> c & 1))
CASE(BITS, 0, "v_cmp_class_f64_e64 s[40:41], v[2:3], v4",
     int s = signbit(D(2)) != 0, k = fpclassify(D(2)), c = k == FP_NAN ? !!(V(3) & 0x80000) : k == FP_INFINITE ? (s ? 2 : 9)
       : k == FP_NORMAL ? (s ? 3 : 8) : k == FP_SUBNORMAL ? (s ? 4 : 7) : (s ? 5 : 6); BIT(V(4) >> c & 1))
/* MODE: f32 denormals flushed in and out when the kernel says so */
CASE(NUM32, 0, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\nv_mul_f32 v16, v1, v2",
     float r = FTZ(F(1)) * FTZ(F(2)); OF(FTZ(r)))
CASE(NUM32, 0, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 1\nv_add_f32 v16, v1, v2", float r = F(1) + F(2); OF(FTZ(r)))
CASE(NUM32, 0, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\ns_nop 1\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\n"
     "v_mul_f32_e64 v16, v1, v2 mul:2", float r = FTZ(F(1)) * FTZ(F(2)); r = FTZ(r) * 2; OF(r))
