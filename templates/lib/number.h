// 16-bit storage: MLAF_BF16 1 = bf16, 0 = f16. All rounding is to nearest even. Where the target has no bf16 conversion
// (MLAF_CVT_BF16 0), that one is done in integer arithmetic (a NaN that an instruction made stays a NaN: its low mantissa bits
// are zero).
#ifndef MLAF_BF16
#define MLAF_BF16 1
#endif

MLAF_DEV float exp2_fast(float x) { return __builtin_amdgcn_exp2f(x); } // -inf -> 0; results below 2^-126 flush to 0
MLAF_DEV float log2_fast(float x) { return __builtin_amdgcn_logf(x); }  // 0 -> -inf
constexpr float LN_2 = 0.693147180559945f;
MLAF_DEV float minus_inf() { return -__builtin_inff(); }

// The upper half of the result is x in bf16.
MLAF_DEV u32 bf16_rounded(float x) {
  u32 u = bits_of(x);
  return u + 0x7fffu + (u >> 16 & 1u);
}

// Two values in one register, the first in the low half.
MLAF_DEV u32 pack2(float lo, float hi) {
#if MLAF_BF16 && MLAF_CVT_BF16
  typedef __bf16 bf16x2 __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(u32, bf16x2{(__bf16)lo, (__bf16)hi});
#elif MLAF_BF16
  return __builtin_amdgcn_perm(bf16_rounded(hi), bf16_rounded(lo), 0x07060302u);
#else
  return __builtin_bit_cast(u32, f16x2{(_Float16)lo, (_Float16)hi});
#endif
}
MLAF_DEV float unpack_lo(u32 x) {
#if MLAF_BF16
  return float_of(x << 16);
#else
  return (float)__builtin_bit_cast(f16x2, x).x;
#endif
}
MLAF_DEV float unpack_hi(u32 x) {
#if MLAF_BF16
  return float_of(x & 0xffff0000u);
#else
  return (float)__builtin_bit_cast(f16x2, x).y;
#endif
}

// 2x2 transposition of 16-bit elements: (a.lo, b.lo) and (a.hi, b.hi).
MLAF_DEV u32 join_lo(u32 a, u32 b) { return __builtin_amdgcn_perm(b, a, 0x05040100u); }
MLAF_DEV u32 join_hi(u32 a, u32 b) { return __builtin_amdgcn_perm(b, a, 0x07060302u); }
