// The producer: rows of the cache as they are, by the copy engine. Warp w of four brings tokens [16w, +16) of a tile: a row a
// lane, or all as one copy, where pages are of 16 tokens or multiples and rows follow each other.
//@ -- latent: bytes of a token's latent; apart: its rope may lie in another tensor, `rope` bytes; leaves: a block whose lengths
//@ -- are alike is over without a word that no piece is left; ring: its address.
//@ needs("AT_ONCE", "BAD_AT", "EVICT_FIRST", "PAGE", "PITCH", "TILE", "TOKEN")
MLAF_DEV void copy_bytes(u32 to, const char* from, int bytes, u32 barrier) {
//@ if page_size == 1 then
  // Rows that lie anywhere share lines of L2 with others: a hint to evict them first makes them 3 to 7 % slower.
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
//@ else
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(EVICT_FIRST) : "memory");
//@ end
}

// The first `rows` of a warp's 16, from `row` on, or of each lane its own row. joined: a token is one run of bytes.
MLAF_DEV void bring(const mlaf_decode_args& a, u32 to, u32 row, int rows, u32 full, bool joined) {
  const int lane = threadIdx.x & 31, mine = lane % 16;
//@ if planar then
//@   include("mla_decode/sm90_raw/bring_planar.h", { at_once = at_once, scales_at = scales_at, rope_at = rope_at })
//@ elseif scales_apart then
//@   include("mla_decode/sm90_raw/bring_scales.h", { at_once = at_once, scales_at = scales_at })
//@ else
//@ if at_once > 1 then
//@   if not kpe16 then -- whose rows do not lie side by side in shared memory
  if (joined && a.ckv_row_stride == TOKEN) {
    if (lane == 0 && rows > 0) copy_bytes(to, a.ckv + (u64)row * TOKEN, rows * TOKEN, full);
    return;
  }
//@   end
  row += mine;
//@ end
  if (mine >= rows) return;
  to += mine * PITCH;
//@ if apart then
  if (lane >= 16) {
    if (!joined) copy_bytes(to + ${latent}, a.kpe + (u64)row * a.kpe_row_stride, ${rope}, full);
    return;
  }
  copy_bytes(to, a.ckv + (u64)row * a.ckv_row_stride, joined ? TOKEN : ${latent}, full);
//@ else
  if (lane < 16) copy_bytes(to, a.ckv + (u64)row * a.ckv_row_stride, TOKEN, full);
//@ end
//@ end
}

MLAF_DEV void produce(const mlaf_decode_args& a, u32 smem, char* base) {
  constexpr int COPIES = 16 / AT_ONCE; // of a warp in a tile
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
//@ if apart then
  const bool joined = a.kpe == a.ckv + ${latent} && a.kpe_row_stride == a.ckv_row_stride;
//@ else
  constexpr bool joined = true;
//@ end
  walk where;
  work w;
  begin_walk(a, where);
  place at = {0, 0, 1};
  for (int k = 0;; k++) {
    const bool none = !next_work(a, where, w);
    if (warp == 3) announce(a, base, smem, k, w, at, none);
    if (none) return;
    const int tiles = tiles_of(w);
    // Lane l has the id of the page of the warp's copy 32i + l, and of 32 (i + 1) + l.
    auto token_of = [&](int i) { return w.begin + i / COPIES * 64 + 16 * warp + i % COPIES * AT_ONCE; };
    auto fetch = [&](int i) { return token_of(i) < w.end ? w.pages[(u32)token_of(i) / PAGE] : 0; };
    int ids = fetch(lane), ahead = fetch(lane + 32);
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
      const int first = t * COPIES, mine = token_of(first + lane % COPIES), rows = w.end - token_of(first);
      if (first % 32 == 0 && t > 0) {
        ids = ahead;
        ahead = fetch(first + 32 + lane);
      }
      bool bad = false;
      const u32 row = row_of(a, __shfl_sync(~0u, ids, (first + lane % COPIES) % 32), mine, bad);
      bad = __any_sync(~0u, bad && mine < w.end);
      barrier_wait(empty_barrier(smem, at.slot), at.lap ^ 1);
      const u32 full = full_barrier(smem, at.slot);
      if (lane == 0) {
        if (bad) ((volatile int*)(base + BAD_AT))[at.slot] = at.tile;
        barrier_expect(full, (rows < 0 ? 0 : smaller(rows, 16)) * TOKEN);
      }
      __syncwarp();
      bring(a, ${ring} + TILE * at.slot + warp * (TILE / 4), row, smaller(rows, 16), full, joined);
      advance(at, 1);
      at.tile++;
    }
//@ if meets then
    if (warp == 3 && !where.whole && w.whom > 0) meet(a, w, smem);
//@ end
//@ if leaves then
    if (where.whole) return;
//@ end
  }
}
