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

#if MLAF_MFMA_K32
// v_mfma_f32_16x16x32, for targets that have it: k = 8*(l/16)+0..7 in four registers, D as above.
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
MLAF_DEV f32x4 mfma32(u32x4 a, u32x4 b, f32x4 c) {
#if MLAF_BF16
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(bf16x8, a), __builtin_bit_cast(bf16x8, b), c, 0, 0, 0);
#else
  return __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(f16x8, a), __builtin_bit_cast(f16x8, b), c, 0, 0, 0);
#endif
}
#endif

// The same with a chosen register file for each operand ("v" or "a"), for kernels whose pressure the compiler cannot place;
// `name` is the instruction. Inline assembly is invisible to the hazard recogniser, so the kernel keeps its rules itself:
//   A and B must not come straight from VALU (2 wait states); loads are fine, the compiler waits for those;
//   before anything but an MFMA accumulating into the same registers touches a result: the wait states that the target's
//   table names (isa.hazard.xdl_to_valu), in a volatile statement tied to the result, so that it stays behind the MFMA that
//   makes it and in front of all that read it.
#define MFMA_ASM(name, ca, cb, cc, a, b, c) asm(name " %0, %1, %2, %0" : "+" cc(c) : ca(a), cb(b))
#define MFMA_ASM_FIRST(name, ca, cb, cc, a, b, c) asm(name " %0, %1, %2, 0" : "=&" cc(c) : ca(a), cb(b))
