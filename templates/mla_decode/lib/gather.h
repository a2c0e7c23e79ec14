// Rows of the cache copied one by one, for pages of any size: 16 bytes a thread by cp.async, to where boxes of the copy engine
// would put them. The includer has lib/hopper.h.
MLAF_DEV void copy_16(u32 to, const char* from, u64 policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(policy) : "memory");
}
// Arrives once all earlier cp.async of this thread have landed; counts as one of the barrier's own arrivals.
MLAF_DEV void barrier_arrive_after_copies(u32 bar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}
// Between such copies, whose barrier was waited for, and the tensor cores that read what they brought: from ordinary accesses to
// those of the async proxy, one way, for shared memory. It is known from PTX 8.6 on, and ptxas makes no instruction of it; what
// older compilers have is both ways, and takes longer than a slice's products.
MLAF_DEV void take_copies() {
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 7)
  asm volatile("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory");
#else
  fence_async();
#endif
}
// Four bytes, and until all that was asked for before the last copies_commit() of this thread has landed.
MLAF_DEV void copy_4(u32 to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
MLAF_DEV void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
MLAF_DEV void copies_wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

MLAF_DEV void store_row(u32 at, u32 row) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(row) : "memory"); }
MLAF_DEV u32 load_row(u32 at) {
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV uint4 load_rows(u32 at) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at) : "memory");
  return x;
}

// Read anew each time, so that nothing made of it is kept: loaders have no registers for that.
MLAF_DEV u32 lane_now() {
  u32 lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Page ids of the 64 tokens from `token` on, none behind `last`, copied to a table of a warp: two a lane, by cp.async,
// since loaders have no registers to wait with.
template <int PAGE>
MLAF_DEV void ask_for_ids(u32 table, const int* pages, int token, int last) {
  const int lane = lane_now();
#pragma unroll
  for (int i = lane; i < lane + 64; i += 32) copy_4(table + 4 * i, pages + (u32)smaller(token + i, last) / PAGE);
  copies_commit();
}
// They become rows, each lane's own; a page outside the cache is read as page 0. Whether one of the lane's lies there.
template <int PAGE>
MLAF_DEV bool make_rows(u32 table, int pages, int token, int last) {
  const int lane = lane_now();
  bool bad = false;
  copies_wait(); // rows copied since the ids were asked for may be under way
#pragma unroll
  for (int i = lane; i < lane + 64; i += 32) {
    const u32 id = load_row(table + 4 * i);
    bad |= id >= (u32)pages;
    store_row(table + 4 * i, (id < (u32)pages ? id : 0) * PAGE + (u32)smaller(token + i, last) % PAGE);
  }
  return bad;
}

// Gather by a warpgroup: of a tile's 64 rows half-warp g = 0..7 copies rows g, g + 8, ..., g + 56, whose numbers its lanes have
// in registers. So nothing is computed for a copy but where its row lies: a lane swizzles all its rows alike.
MLAF_DEV u32 half_warp() { return threadIdx.x % 128 / 16; }

// Sixteen lanes copy 256 bytes of a row side by side, to two slices: `to` is that of the lane.
MLAF_DEV void copy_pair_of_slices(u32 to, const char* from, u32 stride, const u32 (&rows)[8], u64 policy) {
  const u32 g = half_warp(), lane = lane_now() % 16;
  to += 128 * g + ((lane % 8 ^ g) << 4);
  from += 16 * lane;
  asm volatile("" : "+l"(from), "+r"(to), "+r"(stride)); // else base and lane's share are added for each row
#pragma unroll
  for (int i = 0; i < 8; i++) copy_16(to + 1024 * i, from + (u64)rows[i] * stride, policy);
}
// One slice of CHUNKS times 16 bytes a row, which takes PITCH bytes of it: 16 / CHUNKS rows at once.
template <int CHUNKS, int PITCH>
MLAF_DEV void copy_slice(u32 to, const char* from, u32 stride, const u32 (&rows)[8], u64 policy) {
  constexpr int AT_ONCE = 16 / CHUNKS;
  const u32 g = half_warp(), lane = lane_now() % 16, sub = lane / CHUNKS, chunk = lane % CHUNKS;
  to += PITCH * (g + 8 * sub) + ((chunk ^ (PITCH == 128 ? g : g / 2)) << 4);
  from += 16 * chunk;
  asm volatile("" : "+l"(from), "+r"(to), "+r"(stride));
#pragma unroll
  for (int i = 0; i < 8; i += AT_ONCE) {
    u32 row = rows[i];
#pragma unroll
    for (int k = 1; k < AT_ONCE; k++) row = sub == k ? rows[i + k] : row;
    copy_16(to + 8 * PITCH * i, from + (u64)row * stride, policy);
  }
}

// One slice by a warp. table: as half-warps have them, eight numbers for rows g, g + 8, ..., from g = 0 on. A row takes as many
// bytes as it has.
template <int CHUNKS>
MLAF_DEV void copy_slice_by_warp(u32 to, const char* from, u32 stride, u32 table, u64 policy) {
  constexpr int PITCH = 16 * CHUNKS, AT_ONCE = 32 / CHUNKS; // rows of an instruction
  const u32 lane = lane_now(), first = lane / CHUNKS, chunk = lane % CHUNKS;
  from += 16 * chunk;
  asm volatile("" : "+l"(from), "+r"(to), "+r"(stride));
#pragma unroll
  for (int k = 0; k < 8 / AT_ONCE; k++) {
    const u32 g = first + AT_ONCE * k, place = to + PITCH * g + ((chunk ^ (PITCH == 128 ? g : g / 2)) << 4);
    const uint4 x = load_rows(table + 32 * g), y = load_rows(table + 32 * g + 16);
    const u32 rows[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 8; i++) copy_16(place + 8 * PITCH * i, from + (u64)rows[i] * stride, policy);
  }
}
