// Messages between a cluster's blocks at a request's end, beside those of mla_decode/lib/cluster.h.
// A store that the barrier, of the same block as the address, hears of: 8 bytes.
MLAF_DEV void cluster_send_8(u32 at, float x, float y, u32 bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(at), "f"(x), "f"(y),
               "r"(bar) : "memory");
}
// Arrives at another block's barrier: what this thread read before is read.
MLAF_DEV void cluster_tell(u32 bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}
