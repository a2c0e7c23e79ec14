// Warp-wide matrix instructions of sm_80 and later. mma.m16n8k16: D[16x8] += A[16x16] B[16x8]. Lane l, g = l/4, c = 2*(l%4):
//   A  a0: row g, k c..c+1   a1: row g+8   a2: row g, k c+8..   a3: row g+8, k c+8..
//   B  b0: column g, k c..c+1   b1: k c+8..
//   D  d0, d1: row g, columns c, c+1   d2, d3: row g+8
MLAF_DEV void mma16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if MLAF_BF16
#define MLAF_MMA_TYPE "bf16"
#else
#define MLAF_MMA_TYPE "f16"
#endif
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." MLAF_MMA_TYPE "." MLAF_MMA_TYPE ".f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l%8 of matrix l/8.
MLAF_DEV void load_matrices(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
MLAF_DEV void load_matrices_transposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

// 16 bytes from global to shared memory; `real` false: zeros, and the source is not read.
MLAF_DEV void copy16(u32 to, const void* from, bool real) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(__cvta_generic_to_global(from)), "r"(real ? 16 : 0)
               : "memory");
}
MLAF_DEV void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
MLAF_DEV void wait_for_copies() { // of this thread, but for the last LEFT groups
  asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory");
}
