// Bytes of e4m3 as numbers of 16 bits and as floats, exactly: every byte is a bf16 and a f16.
//
//   e4m3fn    bias 7, up to 448, NaN is 0x7f and 0xff        e4m3fnuz  bias 8, up to 240, NaN is 0x80, no -0
//
// The includer hands over `encoding`, 1 for e4m3fn and 2 for e4m3fnuz. Where the target has no instruction for it, a byte's bits
// are those of a f16 that is 2^-8 (e4m3fnuz: 2^-7) of it, whose subnormals are f16's.
//@ needs("MLAF_BF16")
//@ local fnuz = encoding == 2
//@ local size = fnuz and 128 or 256
//@ local by_cuda = arch.wave == 32 and arch.sm >= 89 and not fnuz
//@ local by_amd = arch.wave == 64 and (arch.family == "cdna3" and fnuz or arch.family == "cdna4" and not fnuz)
//@ if not by_amd then
//@   if arch.wave == 32 then
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(a), "=f"(b) : "r"(x));
}
//@   else
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  const f16x2 h = __builtin_bit_cast(f16x2, x);
  a = (float)h.x, b = (float)h.y;
}
//@   end
//@ end

// Bytes 2 PAIR and 2 PAIR + 1 of four as a pair of f16. Volatile, or else the compiler makes numbers of many bytes before it
// wants them, and spills.
//@ if by_cuda then
template <int PAIR>
MLAF_DEV u32 halves_of(u32 codes) {
  u32 x;
  asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(x) : "h"((unsigned short)(codes >> 16 * PAIR)));
  return x;
}
//@ elseif not by_amd then
template <int PAIR>
MLAF_DEV u32 halves_of(u32 codes) {
//@   if arch.wave == 32 then
  const u32 w = __byte_perm(codes, 0, PAIR ? 0x3424 : 0x1404); // a byte each in the upper half of 16 bits
//@   else
  const u32 w = __builtin_amdgcn_perm(0, codes, PAIR ? 0x030c020c : 0x010c000c); // a byte each in the upper half of 16 bits
//@   end
//@   if fnuz then
  const u32 other = w ^ 0x80008000u, nan = ~((other & 0x7fff7fffu) + 0x7fff7fffu | other) & 0x80008000u;
//@   else
  const u32 nan = (w & 0x7f007f00u) + 0x01000100u & 0x80008000u;
//@   end
  u32 x = w >> 1 & 0x3f803f80u | w & 0x80008000u;
//@   if arch.wave == 32 then
  asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(${fnuz and "0x58005800u" or "0x5c005c00u"})); // ${size} twice
//@   else
  const _Float16 size = ${size};
  x = __builtin_bit_cast(u32, __builtin_bit_cast(f16x2, x) * f16x2{size, size});
//@   end
  return x | nan - (nan >> 6); // its low bits stay zero, as number.h wants
}
//@ end

// Two codes as two floats (decode2), and as two numbers of 16 bits.
template <int PAIR>
MLAF_DEV void decode2(u32 codes, float& a, float& b) {
//@ if by_amd then
  const f32x2 x = __builtin_amdgcn_cvt_pk_f32_fp8((int)codes, PAIR == 1);
  a = x.x, b = x.y;
//@ else
  unpack_halves(halves_of<PAIR>(codes), a, b);
//@ end
}
template <int PAIR>
MLAF_DEV u32 expand2(u32 codes) {
#if MLAF_BF16
  float a, b;
  decode2<PAIR>(codes, a, b);
//@ if arch.wave == 32 then
  return pack2(a, b);
//@ else
  return __builtin_amdgcn_perm(bits_of(b), bits_of(a), 0x07060302u); // their lower halves are zero
//@ end
#else
//@ if by_amd then
  float a, b;
  decode2<PAIR>(codes, a, b);
  return pack2(a, b);
//@ else
  return halves_of<PAIR>(codes);
//@ end
#endif
}
