// ---- Clusters ---------------------------------------------------------------------------------------------------------
// Orders no memory accesses of this block.
MLAF_DEV void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
MLAF_DEV void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
// A store that the barrier, of the same block as the address, hears of: 16 bytes.
MLAF_DEV void cluster_send(u32 at, const float4& x, u32 bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(at), "f"(x.x),
               "f"(x.y), "f"(x.z), "f"(x.w), "r"(bar) : "memory");
}
// barrier_wait for what other blocks sent.
MLAF_DEV void barrier_wait_cluster(u32 bar, u32 parity) {
  asm volatile("{\n.reg .pred p;\nL_%=:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@!p bra L_%=;\n}"
               ::"r"(bar), "r"(parity) : "memory");
}
