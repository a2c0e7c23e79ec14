// Hopper's instructions that only the transposed kernels use: clusters, warpgroup MMA with both operands in shared memory.

// ---- Barriers ---------------------------------------------------------------------------------------------------------
MLAF_DEV void barrier_arrive_if(bool now, u32 bar) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %0, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%1];\n}" ::"r"((u32)now), "r"(bar)
               : "memory");
}
// named_arrive without a branch, which may stand between MMAs.
MLAF_DEV void named_arrive_if(bool now, int id, int threads) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %0, 0;\n@p bar.arrive %1, %2;\n}" ::"r"((u32)now), "r"(id), "r"(threads)
               : "memory");
}
// named_sync, and whether x holds in any of the threads.
MLAF_DEV bool named_any(int id, int threads, bool x) {
  u32 any;
  asm volatile("{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbar.red.or.pred q, %2, %3, p;\nselp.u32 %0, 1, 0, q;\n}" : "=r"(any)
               : "r"((u32)x), "r"(id), "r"(threads) : "memory");
  return any;
}

// ---- Shared memory by address -----------------------------------------------------------------------------------------
MLAF_DEV void store_u32(u32 at, u32 x) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(x) : "memory"); }
MLAF_DEV int load_s32(u32 at) {
  int x;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV i64 load_s64(u32 at) {
  i64 x;
  asm volatile("ld.shared.s64 %0, [%1];" : "=l"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV uint4 load_16(u32 at) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at) : "memory");
  return x;
}

//@ include("mla_decode/lib/cluster.h")

// ---- Warpgroup MMA ----------------------------------------------------------------------------------------------------
MLAF_DEV void mma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLAF_DEV void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Left> // until no more than Left groups are under way
MLAF_DEV void mma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}

// Matrix descriptor: address, leading and stride byte offset, swizzle (1: 128 bytes, 0: none). Addresses add up in units of
// 16 bytes.
MLAF_DEV u64 matrix(u32 at, u32 leading, u32 stride, u64 swizzle) {
  return (u64)((at & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | swizzle << 62;
}

// 8x8 matrices of 16 bits from MMA fragments, transposed: lane l gives the address of row l%8 of matrix l/8.
MLAF_DEV void store_matrices(u32 at, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
MLAF_DEV void store_matrices(u32 at, u32 a, u32 b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(a), "r"(b) : "memory");
}
