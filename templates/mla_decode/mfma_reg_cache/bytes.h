// Bytes of e4m3 as operands of 16-bit MFMAs, exactly. The includer says as `how` how K's become operands:
//
//   cvt    the target's instruction decodes this encoding: two fp32 each, whose upper halves are bf16
//   bits   a byte in the upper half of 16 bits, shifted right by one, is the f16 that is 2^-8 (e4m3fnuz: 2^-7) of it, subnormals
//          and -0 too. Its NaN is an ordinary number there: nan_bits() finds it
//   halved e4m3fn by an instruction for e4m3fnuz, which reads half the value: -0, its NaN, becomes 0 first
//
// as `how_v` the same of V, as `score` and `value` the types of K's and V's operands, and as `lifts` whether a byte by bits is
// multiplied to its own size before an MFMA that would flush its subnormals.
//@ -- powers: K and V as how_v says, times their scales in fp32, as bf16: exact down to 2^-133. The unit of what bytes are read
//@ -- as goes into Q and O.
//@ needs("BYTE_UNIT")
typedef short i16x2 __attribute__((ext_vector_type(2)));
typedef unsigned short u16x2 __attribute__((ext_vector_type(2)));

// Two numbers in one register, the first in the low half: to nearest (bf16: ties away from zero), and of exact ones.
MLAF_DEV u32 round_f16(float lo, float hi) { return __builtin_bit_cast(u32, f16x2{(_Float16)lo, (_Float16)hi}); }
MLAF_DEV u32 round_bf16(float lo, float hi) {
  return __builtin_amdgcn_perm(bits_of(hi) + 0x8000u, bits_of(lo) + 0x8000u, 0x07060302u);
}
MLAF_DEV u32 exact_bf16(float lo, float hi) { return __builtin_amdgcn_perm(bits_of(hi), bits_of(lo), 0x07060302u); }
MLAF_DEV u32 exact_f16(float lo, float hi) { return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz(lo, hi)); }
MLAF_DEV f32x2 seen_bf16(u32 x) { return {float_of(x << 16), float_of(x & 0xffff0000u)}; }
MLAF_DEV f32x2 seen_f16(u32 x) {
  const f16x2 h = __builtin_bit_cast(f16x2, x);
  return {(float)h.x, (float)h.y};
}

// D[16x16] += A[16x16] B[16x16], as mfma16() of lib/mfma.h, of either type.
MLAF_DEV f32x4 multiply_bf16(u32x2 a, u32x2 b, f32x4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(i16x4, a), __builtin_bit_cast(i16x4, b), c, 0, 0, 0);
}
MLAF_DEV f32x4 multiply_f16(u32x2 a, u32x2 b, f32x4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(f16x4, a), __builtin_bit_cast(f16x4, b), c, 0, 0, 0);
}
#if MLAF_MFMA_K32
MLAF_DEV f32x4 multiply_bf16(u32x4 a, u32x4 b, f32x4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(bf16x8, a), __builtin_bit_cast(bf16x8, b), c, 0, 0, 0);
}
MLAF_DEV f32x4 multiply_f16(u32x4 a, u32x4 b, f32x4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(f16x8, a), __builtin_bit_cast(f16x8, b), c, 0, 0, 0);
}
#else
MLAF_DEV f32x4 multiply_bf16(u32x4 a, u32x4 b, f32x4 c) { return multiply_bf16(a.zw, b.zw, multiply_bf16(a.xy, b.xy, c)); }
MLAF_DEV f32x4 multiply_f16(u32x4 a, u32x4 b, f32x4 c) { return multiply_f16(a.zw, b.zw, multiply_f16(a.xy, b.xy, c)); }
#endif

// Constants of bits, in registers: as literals each would make an instruction of the loop twice as long. In vector registers,
// since the fitted schedule leaves no scalar ones.
struct byte_masks {
  u32 half, seven, one; // 0xbf80 and 0x7f and 0x01 throughout
};
MLAF_DEV byte_masks masks_of_bytes() {
  byte_masks m = {0xbf80bf80u, 0x7f7f7f7fu, 0x01010101u};
  asm volatile("" : "+v"(m.half), "+v"(m.seven), "+v"(m.one));
  return m;
}

//@ local powers = how == "powers" -- times a power of two, which the includer's rows have for 64 columns
//@ if how == "bits" or how_v == "bits" then
// The two bytes in the upper halves of 16 bits as f16.
MLAF_DEV u32 halves(u32 x, const byte_masks& m) {
  return __builtin_bit_cast(u32, __builtin_bit_cast(i16x2, x) >> (short)1) & m.half;
}
//@   if lifts then
MLAF_DEV u32 lifted_halves(u32 x, const byte_masks& m) {
  const _Float16 size = BYTE_UNIT;
  return __builtin_bit_cast(u32, __builtin_bit_cast(f16x2, halves(x, m)) * f16x2{size, size});
}
//@   else
MLAF_DEV u32 lifted_halves(u32 x, const byte_masks& m) { return halves(x, m); }
//@   end
//@ end
//@ if how == "cvt" or how_v ~= "bits" then
MLAF_DEV void decode4(u32 x, float (&f)[4]) {
  const f32x2 a = __builtin_amdgcn_cvt_pk_f32_fp8((int)x, false), b = __builtin_amdgcn_cvt_pk_f32_fp8((int)x, true);
  f[0] = a.x, f[1] = a.y, f[2] = b.x, f[3] = b.y;
}
//@ end

//@ if not powers then
// Four columns of a token as A operand. By bits columns 0, 2 and 1, 3 are pairs, and so they are in Q: paired().
MLAF_DEV u32x2 operand_of_k(u32 x, const byte_masks& m) {
//@ if how == "bits" then
  return {lifted_halves(x << 8, m), lifted_halves(x, m)};
//@ else
  float f[4];
  decode4(x, f);
  return {exact_${score}(f[0], f[1]), exact_${score}(f[2], f[3])};
//@ end
}
MLAF_DEV u32x4 operands_of_k(u32 x, u32 y, const byte_masks& m) {
  const u32x2 a = operand_of_k(x, m), b = operand_of_k(y, m);
  return {a.x, a.y, b.x, b.y};
}
//@ end
//@ if how == "bits" then
MLAF_DEV u32x4 paired(u32x4 q) {
  return {join_lo(q.x, q.y), join_hi(q.x, q.y), join_lo(q.z, q.w), join_hi(q.z, q.w)};
}
//@ end
//@ if how == "bits" or powers then
// Bit 7 of some byte is set if one of four bytes is NaN.
MLAF_DEV u32 nan_bits(u32 x, const byte_masks& m) {
//@   if fnuz then
  const u32 other = x ^ ~m.seven;
  return other - m.one & ~other;
//@   else
  return (x & m.seven) + m.one;
//@   end
}
//@ end

//@ if how_v == "halved" then
MLAF_DEV u32 without_minus_zero(u32 x, const byte_masks& m) {
  const u32 some = (x & m.seven) + m.seven; // bit 7 of a byte that has more than a sign
  return x & (some | m.seven);
}
//@ end

//@ if powers then
//@   local function read(x) return how_v == "halved" and fmt("without_minus_zero(%s, m)", x) or x end
// The scale that byte `code` of its lowest eight bits is: 0 is 2^-127. 255 is infinite here: nan_scales() finds it.
MLAF_DEV float power_of(u32 code) {
  const u32 bits = (code & 255) << 23;
  return float_of(bits > 1u << 22 ? bits : 1u << 22);
}
MLAF_DEV u32 nan_scales(u32 x, const byte_masks& m) { return (x & m.seven) + m.one & x; }

// Four columns of a token, times its scale.
MLAF_DEV void decode4(u32 x, float scale, f32x2& low, f32x2& high, const byte_masks& m) {
//@   if how_v == "bits" then
  const f32x2 even = seen_f16(halves(x << 8, m)), odd = seen_f16(halves(x, m));
  low = f32x2{even.x, odd.x} * f32x2{scale, scale}, high = f32x2{even.y, odd.y} * f32x2{scale, scale};
//@   else
  float f[4];
  decode4(${read("x")}, f);
  low = f32x2{f[0], f[1]} * f32x2{scale, scale}, high = f32x2{f[2], f[3]} * f32x2{scale, scale};
//@   end
}
// Eight columns of a token as A operands.
MLAF_DEV u32x4 operands_of_k(u32 x, u32 y, float scale, const byte_masks& m) {
  f32x2 f[4];
  decode4(x, scale, f[0], f[1], m);
  decode4(y, scale, f[2], f[3], m);
  return {exact_bf16(f[0].x, f[0].y), exact_bf16(f[1].x, f[1].y), exact_bf16(f[2].x, f[2].y), exact_bf16(f[3].x, f[3].y)};
}
// Four columns of four tokens as four A operands, one a column.
MLAF_DEV void operands_of_v(u32 a, u32 b, u32 c, u32 d, const float (&scale)[4], u32x2 (&out)[4], const byte_masks& m) {
  f32x2 low[4], high[4];
  decode4(a, scale[0], low[0], high[0], m);
  decode4(b, scale[1], low[1], high[1], m);
  decode4(c, scale[2], low[2], high[2], m);
  decode4(d, scale[3], low[3], high[3], m);
  out[0] = {exact_bf16(low[0].x, low[1].x), exact_bf16(low[2].x, low[3].x)};
  out[1] = {exact_bf16(low[0].y, low[1].y), exact_bf16(low[2].y, low[3].y)};
  out[2] = {exact_bf16(high[0].x, high[1].x), exact_bf16(high[2].x, high[3].x)};
  out[3] = {exact_bf16(high[0].y, high[1].y), exact_bf16(high[2].y, high[3].y)};
}
// Columns that are bf16 already: four tokens' two words.
MLAF_DEV void join_v(u32x2 a, u32x2 b, u32x2 c, u32x2 d, u32x2 (&out)[4]) {
  out[0] = {join_lo(a.x, b.x), join_lo(c.x, d.x)}, out[1] = {join_hi(a.x, b.x), join_hi(c.x, d.x)};
  out[2] = {join_lo(a.y, b.y), join_lo(c.y, d.y)}, out[3] = {join_hi(a.y, b.y), join_hi(c.y, d.y)};
}
//@ else
// Four columns of four tokens as four A operands, one a column.
MLAF_DEV void operands_of_v(u32 a, u32 b, u32 c, u32 d, u32x2 (&out)[4], const byte_masks& m) {
//@ if how_v == "bits" then
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const u32 upper = 0x000c000cu | (u32)(4 + i) << 24 | (u32)i << 8; // byte i of both in the upper halves
//@   if value == "bf16" then
    const f32x2 low = seen_f16(halves(__builtin_amdgcn_perm(b, a, upper), m));
    const f32x2 high = seen_f16(halves(__builtin_amdgcn_perm(d, c, upper), m));
    out[i] = {exact_bf16(low.x, low.y), exact_bf16(high.x, high.y)};
//@   else
    out[i] = {lifted_halves(__builtin_amdgcn_perm(b, a, upper), m), lifted_halves(__builtin_amdgcn_perm(d, c, upper), m)};
//@   end
  }
//@ else
//@   local function read(x) return how_v == "halved" and fmt("without_minus_zero(%s, m)", x) or x end
  float f[4][4];
  decode4(${read("a")}, f[0]);
  decode4(${read("b")}, f[1]);
  decode4(${read("c")}, f[2]);
  decode4(${read("d")}, f[3]);
#pragma unroll
  for (int i = 0; i < 4; i++) out[i] = {exact_${value}(f[0][i], f[1][i]), exact_${value}(f[2][i], f[3][i])};
//@ end
}
//@ end
