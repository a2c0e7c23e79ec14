// v_mfma_f32_16x16x16: D[16x16] += A[16x16] B[16x16]. Lane l, register r:
//   A  row i = l%16, k = 4*(l/16)+0..3 (two registers of two elements)
//   B  column j = l%16, same k
//   D  row i = 4*(l/16)+r, column j = l%16
MLAF_DEV f32x4 mfma16(u32x2 a, u32x2 b, f32x4 c) {
#if MLAF_BF16
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(i16x4, a), __builtin_bit_cast(i16x4, b), c, 0, 0, 0);
#else
  return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(f16x4, a), __builtin_bit_cast(f16x4, b), c, 0, 0, 0);
#endif
}

// The same with a chosen register file for each operand ("v" or "a"), for kernels whose pressure the compiler cannot
// place. Inline assembly is invisible to the hazard recogniser, so the kernel keeps its rules itself:
//   A and B must not come straight from VALU (2 wait states); loads are fine, the compiler waits for those;
//   before anything but an MFMA accumulating into the same registers touches a result: MFMA_SETTLE (7 wait states).
#if MLAF_BF16
#define MFMA16_NAME "v_mfma_f32_16x16x16_bf16"
#else
#define MFMA16_NAME "v_mfma_f32_16x16x16_f16"
#endif
#define MFMA16_ASM(ca, cb, cc, a, b, c) asm(MFMA16_NAME " %0, %1, %2, %0" : "+" cc(c) : ca(a), cb(b))
#define MFMA16_ASM_FIRST(ca, cb, cc, a, b, c) asm(MFMA16_NAME " %0, %1, %2, 0" : "=&" cc(c) : ca(a), cb(b))
// Volatile, and tied to the result: it stays behind the MFMA that makes `c` and in front of all that read it.
#define MFMA_SETTLE(cc, c) asm volatile("s_nop 6" : "+" cc(c))
