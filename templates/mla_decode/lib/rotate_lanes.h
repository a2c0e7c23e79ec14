// Rotation of 16 keys' rope columns in the registers of a wave, as operands of an MFMA: lane l has of key l%16 the chunk l/16 of
// 16 bytes, of 64 columns the chunk 4 + l/16, too (mla_decode/lib/rotate.h). So of 64 columns a lane has eight whole pairs, of 32
// in pairs four; of 32 in halves it has eight columns, whose partners are in lane l^32. Handed over: style, rope.
//@ needs("ROPE")
constexpr int ROTATE_HALF = ROPE / 2;
//@ local across = style == "halves" and rope == 32
//@ local quads = style == "pairs" and rope == 32 and 1 or 2 -- of angles

// Angles that lane `lane` needs for its part of the key at `position`. Behind the table: NaN, so that nothing faults and nobody
// takes it for an answer.
MLAF_DEV rotation load_rotation(u64 table, int rows, int position, int lane) {
  rotation r;
  const bool there = (u32)position < (u32)rows;
  const gptr row = (gptr)table + (u64)(there ? (u32)position : 0u) * (4 * ROPE);
  const u32 group = lane >> 4;
//@ if style == "pairs" then
  const u32 quad[2] = {group, group + 4};
//@ else
  const u32 quad[2] = {${across and "2 * (group & 1)" or "2 * group"}, ${across and "2 * (group & 1)" or "2 * group"} + 1};
//@ end
#pragma unroll
  for (int k = 0; k < ${quads}; k++) {
    const f32x4 c = *(const MLAF_GLOBAL f32x4*)(row + 16 * quad[k]);
    const f32x4 s = *(const MLAF_GLOBAL f32x4*)(row + 16 * quad[k] + 4 * ROTATE_HALF);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      r.cos[4 * k + i] = there ? c[i] : float_of(0x7fc00000u); // stays one when its upper half is rounded
      r.sin[4 * k + i] = s[i];
    }
  }
  return r;
}

// The chunks that a lane has.
MLAF_DEV void turn_lanes(u32x4 (&x)[ROPE / 32], const rotation& t, int lane) {
//@ if rope == 64 then
  u32 a[4], b[4];
#pragma unroll
  for (int k = 0; k < 4; k++) a[k] = x[0][k], b[k] = x[1][k];
  turn_chunks(a, b, t);
#pragma unroll
  for (int k = 0; k < 4; k++) x[0][k] = a[k], x[1][k] = b[k];
//@ else
#pragma unroll
  for (int k = 0; k < 4; k++) {
//@   if across then
    const u32 own = x[0][k], other = (u32)__builtin_amdgcn_ds_bpermute((lane ^ 32) << 2, (int)own);
    const float p = lane < 32 ? -t.sin[2 * k] : t.sin[2 * k], q = lane < 32 ? -t.sin[2 * k + 1] : t.sin[2 * k + 1];
    const float low = unpack_lo(other) * p, high = unpack_hi(other) * q;
    x[0][k] = pack2(${fma}(unpack_lo(own), t.cos[2 * k], low), ${fma}(unpack_hi(own), t.cos[2 * k + 1], high));
//@   else
    float p = unpack_lo(x[0][k]), q = unpack_hi(x[0][k]);
    turn_pair(p, q, t.cos[k], t.sin[k]);
    x[0][k] = pack2(p, q);
//@   end
  }
//@ end
}
