// Hopper's instructions that all its families use. Shared memory is addressed by 32-bit addresses in the window of the block,
// which take one register and are also its place in the window of the cluster.

// The place of a member of the includer's struct shared_memory: shared memory is addressed by numbers here, and the struct says
// what is where.
// NVRTC has no __builtin_offsetof, but what its front end makes of offsetof.
#ifdef __CUDACC_RTC__
#define AT(member) ((int)__INTADDR__(&((shared_memory*)0)->member))
#else
#define AT(member) ((int)__builtin_offsetof(shared_memory, member))
#endif

// ---- Barriers in shared memory ----------------------------------------------------------------------------------------
MLAF_DEV void barrier_init(u32 at, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
// Makes fresh barriers known to the copy engine and to the cluster.
MLAF_DEV void barriers_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
MLAF_DEV void barrier_expect(u32 at, u32 bytes) { // arrives, too
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
MLAF_DEV void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
// Waits until the phase of this parity is over. A fresh barrier counts as being past phase 1.
MLAF_DEV void barrier_wait(u32 at, u32 parity) {
  asm volatile("{\n.reg .pred p;\nL_%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra L_%=;\n}" ::"r"(at),
               "r"(parity) : "memory");
}
// ---- Named barriers, of `threads` threads in all ----------------------------------------------------------------------
MLAF_DEV void named_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
MLAF_DEV void named_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// Between ordinary accesses to shared memory and those of the tensor cores or the copy engine.
MLAF_DEV void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

MLAF_DEV u32 cta_in_cluster() {
  u32 cta_id;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(cta_id));
  return cta_id;
}
// The address in the cluster's block `cta_id` of what this block has at `at`.
MLAF_DEV u32 cluster_address(u32 at, u32 cta_id) {
  u32 x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(x) : "r"(at), "r"(cta_id));
  return x;
}

// L2 policies, as createpolicy.fractional.L2::evict_first and evict_last make them for all of an access.
constexpr u64 EVICT_NORMAL = 0x1000000000000000ul, EVICT_FIRST = 0x12f0000000000000ul, EVICT_LAST = 0x14f0000000000000ul;

// ---- Copies -----------------------------------------------------------------------------------------------------------
// A box of a 2-D tensor map; the barrier hears of its bytes.
MLAF_DEV void copy_box(u32 to, const mlaf_tensor_map* map, int column, int row, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier) : "memory");
}
// The same for what is read once: it leaves L2 before all else. A cache that streams would push out O and partial results.
MLAF_DEV void copy_box_once(u32 to, const mlaf_tensor_map* map, int column, int row, u32 barrier, u64 policy = EVICT_FIRST) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
               "[%0], [%1, {%2, %3}], [%4], %5;"
               ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier), "l"(policy) : "memory");
}
// Stores of what is read soon, and written to the same place again: it stays in L2 longer than all else.
MLAF_DEV void store_kept(void* to, uint2 x) {
  asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(to), "r"(x.x), "r"(x.y), "l"(EVICT_LAST) : "memory");
}
MLAF_DEV void store_kept(void* to, uint4 x) {
  asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;"
               ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "l"(EVICT_LAST) : "memory");
}
MLAF_DEV void store_kept(void* to, float4 x) {
  store_kept(to, make_uint4(bits_of(x.x), bits_of(x.y), bits_of(x.z), bits_of(x.w)));
}
// Hints: into L2. An address where nothing is does no harm.
MLAF_DEV void fetch_map(const mlaf_tensor_map* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
MLAF_DEV void fetch_bytes(const void* from, int bytes) { // both multiples of 16
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}
MLAF_DEV void fetch_line(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at) : "memory"); }

// ---- Shared memory by address -----------------------------------------------------------------------------------------
MLAF_DEV void store_4(u32 at, float x) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory"); }
MLAF_DEV float load_4(u32 at) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
  return x;
}
