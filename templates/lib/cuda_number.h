// 16-bit storage: MLAF_BF16 1 = bf16, 0 = f16. All rounding is to nearest even.
MLAF_DEV float exp2_fast(float x) { // -inf -> 0; subnormal results flush to 0
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
MLAF_DEV float log2_fast(float x) { // 0 -> -inf
  float y;
  asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
constexpr float LN_2 = 0.693147180559945f;
MLAF_DEV float minus_inf() { return float_of(0xff800000u); }
MLAF_DEV float not_a_number() { return float_of(0x7fffffffu); }

// Two values in one register, the first in the low half.
MLAF_DEV u32 pack2(float lo, float hi) {
  u32 y;
#if MLAF_BF16
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
#endif
  return y;
}
MLAF_DEV float unpack_lo(u32 x) {
#if MLAF_BF16
  return float_of(x << 16);
#else
  float y;
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %1;\ncvt.f32.f16 %0, l;\n}" : "=f"(y) : "r"(x));
  return y;
#endif
}
MLAF_DEV float unpack_hi(u32 x) {
#if MLAF_BF16
  return float_of(x & 0xffff0000u);
#else
  float y;
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %1;\ncvt.f32.f16 %0, h;\n}" : "=f"(y) : "r"(x));
  return y;
#endif
}
