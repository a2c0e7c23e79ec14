// Rotation of a key's rope columns by its position. Pair i of P/2 turns by the angle whose cosine and sine the table's row of the
// position has at i and at P/2 + i:
//
//   pairs    columns 2i and 2i+1: eight pairs, 8u .. 8u+7, are the neighbouring 16-byte chunks 2u and 2u+1 of the columns
//   halves   columns i and P/2 + i:                        the chunks u and u + P/16
//
//   x' = x cos - y sin,  y' = y cos + x sin      in fp32: the product with the sine is rounded, the other one fused with the sum;
//                                                then to the 16-bit type, to nearest even
//
// which is what mla_append does, and the reference: a key rotated here is, to the bit, the key that a rotated cache would hold.
// The includer has u32, pack2 and its kin; it hands over style ("pairs" or "halves"), and `fma`, how the target writes a fused
// multiply-add.
struct rotation { // what eight pairs turn by
  float cos[8], sin[8];
};

MLAF_DEV void turn_pair(float& x, float& y, float cos, float sin) {
  const float across = y * sin, back = x * sin;
  x = ${fma}(x, cos, -across);
  y = ${fma}(y, cos, back);
}

// Two chunks of four words each: eight pairs.
MLAF_DEV void turn_chunks(u32 (&a)[4], u32 (&b)[4], const rotation& t) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float p = unpack_lo(a[k]), q = unpack_hi(a[k]), r = unpack_lo(b[k]), s = unpack_hi(b[k]);
//@ if style == "pairs" then
    turn_pair(p, q, t.cos[k], t.sin[k]);
    turn_pair(r, s, t.cos[4 + k], t.sin[4 + k]);
//@ else
    turn_pair(p, r, t.cos[2 * k], t.sin[2 * k]);
    turn_pair(q, s, t.cos[2 * k + 1], t.sin[2 * k + 1]);
//@ end
    a[k] = pack2(p, q);
    b[k] = pack2(r, s);
  }
}
