/* Conversions, one line each as in valu_ops_int.h. Float to integer truncates and saturates; NaN gives 0. */
/* clang-format off */
OP(cvt_f32_i32, VF_ROUND, F32, I32, NO, NO, (float)x)
/* Two exact halves and one rounding: clang takes a difference for an unsigned conversion, -0 for 0 while rounding down. */
OP(cvt_f32_u32, VF_ROUND, F32, U32, NO, NO, (float)(int32_t)(x >> 16) * 65536.0f + (float)(int32_t)(x & 0xffff))
OP(cvt_i32_f32,    0, I32, F32, NO, NO, f32_to_i32(x))
OP(cvt_u32_f32,    0, U32, F32, NO, NO, f32_to_u32(x))
OP(cvt_rpi_i32_f32, 0, I32, F32, NO, NO, f32_to_i32(floorf(x + 0.5f)))
OP(cvt_flr_i32_f32, 0, I32, F32, NO, NO, f32_to_i32(floorf(x)))
OP(cvt_f32_ubyte0, 0, F32, U32, NO, NO, (float)(int32_t)(x & 0xff))
OP(cvt_f32_ubyte1, 0, F32, U32, NO, NO, (float)(int32_t)(x >> 8 & 0xff))
OP(cvt_f32_ubyte2, 0, F32, U32, NO, NO, (float)(int32_t)(x >> 16 & 0xff))
OP(cvt_f32_ubyte3, 0, F32, U32, NO, NO, (float)(int32_t)(x >> 24))
OP(cvt_off_f32_i4, 0, F32, U32, NO, NO, (float)((int32_t)(x << 28) >> 28) * 0.0625f)
OP(cvt_f64_i32,    0, F64, I32, NO, NO, (double)x)
OP(cvt_f64_u32,    0, F64, U32, NO, NO, (double)x)
OP(cvt_i32_f64,    0, I32, F64, NO, NO, f64_to_i32(x))
OP(cvt_u32_f64,    0, U32, F64, NO, NO, f64_to_u32(x))
OP(cvt_f64_f32,    0, F64, F32, NO, NO, (double)x)
OP(cvt_f32_f64, VF_ROUND, F32, F64, NO, NO, (float)x)
OP(cvt_f16_f32,    0, F16, F32, NO, NO, x)
OP(cvt_f32_f16,    0, F32, F16, NO, NO, x)
OP(cvt_f16_u16,    0, F16, U16, NO, NO, (float)(int32_t)x)
OP(cvt_f16_i16,    0, F16, I16, NO, NO, (float)x)
OP(cvt_u16_f16,    0, U16, F16, NO, NO, MIN(f32_to_u32(x), 0xffffu))
OP(cvt_i16_f16,    0, I16, F16, NO, NO, clamp_i64(f32_to_i32(x), -32768, 32767))
OP(cvt_norm_i16_f16, 0, I16, F16, NO, NO, snorm16(x))
OP(cvt_norm_u16_f16, 0, U16, F16, NO, NO, unorm16(x))
OP(cvt_pkrtz_f16_f32, 0, U32, F32, F32, NO, f32_to_f16_rtz(x) | f32_to_f16_rtz(y) << 16)
OP(cvt_pk_f16_f32, 0, U32, F32, F32, NO, f32_to_f16(x) | f32_to_f16(y) << 16)
OP(cvt_pk_bf16_f32, 0, U32, F32, F32, NO, f32_to_bf16(x) | f32_to_bf16(y) << 16)
OP(cvt_pknorm_i16_f32, 0, U32, F32, F32, NO, ((uint32_t)snorm16(x) & 0xffff) | (uint32_t)snorm16(y) << 16)
OP(cvt_pknorm_u16_f32, 0, U32, F32, F32, NO, unorm16(x) | unorm16(y) << 16)
OP(cvt_pknorm_i16_f16, 0, U32, F16, F16, NO, ((uint32_t)snorm16(x) & 0xffff) | (uint32_t)snorm16(y) << 16)
OP(cvt_pknorm_u16_f16, 0, U32, F16, F16, NO, unorm16(x) | unorm16(y) << 16)
OP(cvt_pk_u16_u32, 0, U32, U32, U32, NO, MIN(x, 0xffffu) | MIN(y, 0xffffu) << 16)
OP(cvt_pk_i16_i32, 0, U32, I32, I32, NO,
   ((uint32_t)clamp_i64(x, -32768, 32767) & 0xffff) | (uint32_t)clamp_i64(y, -32768, 32767) << 16)
OP(ashr_pk_i8_i32, VF_KEEP_HI, U16, I32, I32, U32,
   ((uint32_t)clamp_i64(x >> (z & 31), -128, 127) & 0xff) | ((uint32_t)clamp_i64(y >> (z & 31), -128, 127) & 0xff) << 8)
OP(ashr_pk_u8_i32, VF_KEEP_HI, U16, I32, I32, U32,
   (uint32_t)clamp_i64(x >> (z & 31), 0, 255) | (uint32_t)clamp_i64(y >> (z & 31), 0, 255) << 8)
OP(sat_pk_u8_i16,  0, U32, U32, NO, NO,
   (uint32_t)clamp_i64((int16_t)x, 0, 255) | (uint32_t)clamp_i64((int32_t)x >> 16, 0, 255) << 8)
OP(cvt_f32_fp8,    0, F32, U32, NO, NO, f8_to_f32(x & 0xff, 3, 8))
OP(cvt_f32_bf8,    0, F32, U32, NO, NO, f8_to_f32(x & 0xff, 2, 16))
OP(cvt_pk_f32_fp8, 0, U64, U32, NO, NO,
   asu(f8_to_f32(x & 0xff, 3, 8)) | (uint64_t)asu(f8_to_f32(x >> 8 & 0xff, 3, 8)) << 32)
OP(cvt_pk_f32_bf8, 0, U64, U32, NO, NO,
   asu(f8_to_f32(x & 0xff, 2, 16)) | (uint64_t)asu(f8_to_f32(x >> 8 & 0xff, 2, 16)) << 32)
OP(cvt_pk_fp8_f32, VF_KEEP_HI, U16, F32, F32, NO, f32_to_f8(x, 3, 8) | f32_to_f8(y, 3, 8) << 8)
OP(cvt_pk_bf8_f32, VF_KEEP_HI, U16, F32, F32, NO, f32_to_f8(x, 2, 16) | f32_to_f8(y, 2, 16) << 8)
OP(cvt_sr_fp8_f32, VF_BYTE_DST, U32, F32, U32, NO, f32_to_f8_random(x, y, 3, 8))
OP(cvt_sr_bf8_f32, VF_BYTE_DST, U32, F32, U32, NO, f32_to_f8_random(x, y, 2, 16))
/* gfx950's meaning of the same instructions: isa.c */
OP(cvt_f32_fp8_ocp, 0, F32, U32, NO, NO, ocp8_to_f32(x & 0xff, 3, 7))
OP(cvt_f32_bf8_ocp, 0, F32, U32, NO, NO, ocp8_to_f32(x & 0xff, 2, 15))
OP(cvt_pk_f32_fp8_ocp, 0, U64, U32, NO, NO,
   asu(ocp8_to_f32(x & 0xff, 3, 7)) | (uint64_t)asu(ocp8_to_f32(x >> 8 & 0xff, 3, 7)) << 32)
OP(cvt_pk_f32_bf8_ocp, 0, U64, U32, NO, NO,
   asu(ocp8_to_f32(x & 0xff, 2, 15)) | (uint64_t)asu(ocp8_to_f32(x >> 8 & 0xff, 2, 15)) << 32)
OP(cvt_pk_fp8_f32_ocp, VF_KEEP_HI, U16, F32, F32, NO, f32_to_ocp8(x, 3, 7) | f32_to_ocp8(y, 3, 7) << 8)
OP(cvt_pk_bf8_f32_ocp, VF_KEEP_HI, U16, F32, F32, NO, f32_to_ocp8(x, 2, 15) | f32_to_ocp8(y, 2, 15) << 8)
OP(cvt_sr_fp8_f32_ocp, VF_BYTE_DST, U32, F32, U32, NO, f32_to_ocp8_random(x, y, 3, 7))
OP(cvt_sr_bf8_f32_ocp, VF_BYTE_DST, U32, F32, U32, NO, f32_to_ocp8_random(x, y, 2, 15))
OP(cvt_f32_bf16,   0, F32, U16, NO, NO, asf(x << 16))
OP(cvt_pk_u8_f32,  0, U32, F32, U32, U32, insert_byte(z, y, f32_to_u8(x)))
OP(cvt_pkaccum_u8_f32, VF_READS_DST, U32, F32, U32, U32, insert_byte(z, y, f32_to_u8(x)))
/* clang-format on */
