// Bytes of a tile in shared memory to A operands: e4m3 becomes f16 in registers. A warp's fragment, 16 x 16: a0 row lane/4,
// k index 2 (lane%4) and the next; a1 the same 8 rows on; a2, a3 the same 8 k indices on.
// Four matrices of 8 rows of 16 bytes, whose addresses lanes 8i..8i+7 have; as they are, or transposed as 16-bit elements.
MLAF_DEV void load_matrices(u32 (&x)[4], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
}
MLAF_DEV void load_transposed(u32 (&x)[4], u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
}

// Four bytes to f16: the lower two, the upper two. (A shift in place of the asm's split costs an instruction.)
MLAF_DEV void to_f16(u32 bytes, u32& lower, u32& upper) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.rn.f16x2.e4m3x2 %0, l;\ncvt.rn.f16x2.e4m3x2 %1, h;\n}"
      : "=r"(lower), "=r"(upper) : "r"(bytes));
}
// Bytes 0, 2, 1, 3: of a transposed word, those of two tokens for one column, then for the next.
MLAF_DEV u32 by_column(u32 x) {
  u32 y;
  asm("prmt.b32 %0, %1, %1, 0x3120;" : "=r"(y) : "r"(x));
  return y;
}

// The operands of two products, A [64 x 16] each, from 16 tokens x 16 columns a warp, twice. k index 2j+i is column 4j+i of the
// 16, 8+2j+i column 4j+2+i: Q lies in that order.
MLAF_DEV void operands_of(const u32 (&x)[4], u32 (&a)[2][4]) {
#pragma unroll
  for (int k = 0; k < 2; k++) {
    to_f16(x[2 * k], a[k][0], a[k][2]);
    to_f16(x[2 * k + 1], a[k][1], a[k][3]);
  }
}
// A operands of 16 tokens x 16 columns a warp of two blocks of columns: row j of its 16 is column 2j, row 8+j column 2j+1.
MLAF_DEV void operands_of_transposed(const u32 (&x)[4], u32 (&a)[2][4]) {
#pragma unroll
  for (int k = 0; k < 2; k++) {
    to_f16(by_column(x[2 * k]), a[k][0], a[k][1]);
    to_f16(by_column(x[2 * k + 1]), a[k][2], a[k][3]);
  }
}
