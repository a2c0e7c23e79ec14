// Barriers in shared memory, bulk tensor copies, and the smaller instructions of the many-rows Hopper kernel.
MLAF_DEV void barrier_init(u32 at, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
MLAF_DEV void barrier_expect(u32 at, u32 bytes) { // arrives too
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
MLAF_DEV void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
MLAF_DEV u32 address_in(u32 at, u32 block) { // of the cluster
  u32 r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(block));
  return r;
}
MLAF_DEV void barrier_arrive_there(u32 at) { // at: by address_in()
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(at) : "memory");
}
MLAF_DEV void barrier_wait(u32 at, u32 parity) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra AGAIN;\n"
               "DONE:\n}" ::"r"(at), "r"(parity) : "memory");
}
MLAF_DEV void named_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
MLAF_DEV void named_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
MLAF_DEV void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
MLAF_DEV u32 rank_in_cluster() {
  u32 r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
MLAF_DEV void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

MLAF_DEV void copy_box(u32 to, const mlaf_tensor_map* map, int column, int row, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier) : "memory");
}
MLAF_DEV void copy_box_to_pair(u32 to, const mlaf_tensor_map* map, int column, int row, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;"
               ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier), "h"((unsigned short)3) : "memory");
}
MLAF_DEV void fetch_map(const mlaf_tensor_map* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
MLAF_DEV void fetch_box(const mlaf_tensor_map* map, int column, int row) { // into L2
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(column), "r"(row) : "memory");
}
MLAF_DEV void fetch_bytes(const float* from, int bytes) { // into L2; both multiples of 16
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}
MLAF_DEV void fetch_line(const int* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p) : "memory"); } // into L2

MLAF_DEV void store_4(u32 at, float x) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory"); }
MLAF_DEV float load_4(u32 at) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV void store_16(u32 at, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
MLAF_DEV void load_16(u32 at, u32 (&x)[4]) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
}
MLAF_DEV void store_matrices(u32 at, const u32 (&x)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(at), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
}
MLAF_DEV void load_matrices(u32 at, u32 (&x)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
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
