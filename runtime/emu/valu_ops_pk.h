/* Packed instructions. PK: per 16-bit half of every lane, PK32: per dword of a pair, DOT: sums over the parts of a dword.
 * Half selection (op_sel, op_sel_hi) and signs (neg_lo, neg_hi) are done when operands are fetched. */
/* The last argument is the clamp form of integers; floats clamp after rounding. */
/* clang-format off */
PK(pk_add_f16,  0, F16, F16, F16, NO,  add_half(x, y), 0)
PK(pk_mul_f16,  0, F16, F16, F16, NO,  x * y, 0)
PK(pk_fma_f16,  0, F16, F16, F16, F16, fma_half(x, y, z), 0)
PK(pk_fmac_f16, VF_READS_DST, F16, F16, F16, F16, fma_half(x, y, z), 0)
PK(pk_min_f16, VF_MINMAX, H16, H16, H16, NO, minmax16(x, y, false), 0)
PK(pk_max_f16, VF_MINMAX, H16, H16, H16, NO, minmax16(x, y, true), 0)
PK(pk_minimum3_f16, VF_MINMAX, H16, H16, H16, H16, minimum16(minimum16(x, y, false), z, false), 0)
PK(pk_maximum3_f16, VF_MINMAX, H16, H16, H16, H16, minimum16(minimum16(x, y, true), z, true), 0)
PK(pk_add_u16,  0, U16, U16, U16, NO, x + y, MIN(x + y, 0xffffu))
PK(pk_sub_u16,  0, U16, U16, U16, NO, x - y, x < y ? 0 : x - y)
PK(pk_add_i16,  0, I16, I16, I16, NO, x + y, clamp_i64(x + y, -32768, 32767))
PK(pk_sub_i16,  0, I16, I16, I16, NO, x - y, clamp_i64(x - y, -32768, 32767))
PK(pk_mul_lo_u16, 0, U16, U16, U16, NO, x * y, x * y)
PK(pk_mad_u16,  0, U16, U16, U16, U16, x * y + z, (uint32_t)MIN((uint64_t)x * y + z, UINT64_C(0xffff)))
PK(pk_mad_i16,  0, I16, I16, I16, I16, x * y + z, clamp_i64((int64_t)x * y + z, -32768, 32767))
PK(pk_min_u16,  0, U16, U16, U16, NO, MIN(x, y), MIN(x, y))
PK(pk_max_u16,  0, U16, U16, U16, NO, MAX(x, y), MAX(x, y))
PK(pk_min_i16,  0, I16, I16, I16, NO, MIN(x, y), MIN(x, y))
PK(pk_max_i16,  0, I16, I16, I16, NO, MAX(x, y), MAX(x, y))
PK(pk_lshlrev_b16, 0, U16, U16, U16, NO, y << (x & 15), y << (x & 15))
PK(pk_lshrrev_b16, 0, U16, U16, U16, NO, y >> (x & 15), y >> (x & 15))
PK(pk_ashrrev_i16, 0, I16, U16, I16, NO, y >> (x & 15), y >> (x & 15))
PK32(pk_add_f32, F32, F32, F32, NO,  x + y)
PK32(pk_mul_f32, F32, F32, F32, NO,  x * y)
PK32(pk_fma_f32, F32, F32, F32, F32, __builtin_fmaf(x, y, z))

DOT(dot2_f32_f16, 0, F32, PKF, F32, asu(__builtin_fmaf(f16_to_f32(x >> 16), f16_to_f32(y >> 16),
    __builtin_fmaf(f16_to_f32(x & 0xffff), f16_to_f32(y & 0xffff), asf(z)))), 0)
DOT(dot2c_f32_f16, VF_READS_DST, F32, PKF, F32, asu(__builtin_fmaf(f16_to_f32(x >> 16), f16_to_f32(y >> 16),
    __builtin_fmaf(f16_to_f32(x & 0xffff), f16_to_f32(y & 0xffff), asf(z)))), 0)
DOT(dot2_f32_bf16, 0, F32, PK, F32, asu(__builtin_fmaf(bf16_to_f32(x >> 16), bf16_to_f32(y >> 16),
    bf16_to_f32(x & 0xffff) * bf16_to_f32(y & 0xffff)) + asf(z)), 0)
DOT(dot2c_f32_bf16, VF_READS_DST, F32, PK, F32, asu(__builtin_fmaf(bf16_to_f32(x >> 16), bf16_to_f32(y >> 16),
    __builtin_fmaf(bf16_to_f32(x & 0xffff), bf16_to_f32(y & 0xffff), asf(z)))), 0)
DOT(dot2_i32_i16, 0, I32, PK, I32, (uint32_t)dot_i(x, y, z, 16), (uint32_t)clamp_i64(dot_i(x, y, z, 16), INT32_MIN, INT32_MAX))
DOT(dot2_u32_u16, 0, U32, PK, U32, (uint32_t)dot_u(x, y, z, 16), (uint32_t)MIN(dot_u(x, y, z, 16), UINT64_C(0xffffffff)))
DOT(dot4_i32_i8,  0, I32, PK, I32, (uint32_t)dot_i(x, y, z, 8), (uint32_t)clamp_i64(dot_i(x, y, z, 8), INT32_MIN, INT32_MAX))
DOT(dot4_u32_u8,  0, U32, PK, U32, (uint32_t)dot_u(x, y, z, 8), (uint32_t)MIN(dot_u(x, y, z, 8), UINT64_C(0xffffffff)))
DOT(dot8_i32_i4,  0, I32, PK, I32, (uint32_t)dot_i(x, y, z, 4), (uint32_t)clamp_i64(dot_i(x, y, z, 4), INT32_MIN, INT32_MAX))
DOT(dot8_u32_u4,  0, U32, PK, U32, (uint32_t)dot_u(x, y, z, 4), (uint32_t)MIN(dot_u(x, y, z, 4), UINT64_C(0xffffffff)))
DOT(dot2c_i32_i16, VF_READS_DST, I32, PK, I32, (uint32_t)dot_i(x, y, z, 16), (uint32_t)dot_i(x, y, z, 16))
DOT(dot4c_i32_i8,  VF_READS_DST, I32, PK, I32, (uint32_t)dot_i(x, y, z, 8), (uint32_t)dot_i(x, y, z, 8))
DOT(dot8c_i32_i4,  VF_READS_DST, I32, PK, I32, (uint32_t)dot_i(x, y, z, 4), (uint32_t)dot_i(x, y, z, 4))
/* clang-format on */
