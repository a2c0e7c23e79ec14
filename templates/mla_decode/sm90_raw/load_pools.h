// The producer for caches whose tokens' scales lie behind a page's rows (mla_decode/lib/pools.h): in place of load.h. Warp w of
// four brings tokens [16w, +16) of a tile: lane l the row of token l%16 by the copy engine, or its scales by cp.async, since that
// engine takes no fewer than 16 bytes, and twice as many copies last longer than the rows.
//@ -- meets: parts may meet; leaves: a block whose lengths are alike is over without a word that no piece is left; ring: its
//@ -- address; lists: it reads index lists, too; again: registers are short, so a lane's number is read anew each time, by
//@ -- thread_now().
//@ needs("BAD_AT", "EVICT_FIRST", "PAGE", "PITCH", "TILE", "TOKEN_ROW", "TOKEN_SCALES")
MLAF_DEV void copy_bytes(u32 to, const char* from, int bytes, u32 barrier) {
//@ if page_size == 1 then
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" // as in load.h
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
//@ else
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(EVICT_FIRST) : "memory");
//@ end
}

MLAF_DEV void copy_scales(u32 to, const char* from) {
  static_assert(TOKEN_SCALES == 8, "one copy");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory");
}
// Arrives once all earlier cp.async of this thread have landed.
MLAF_DEV void arrive_after_copies(u32 bar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}

//@ if lists then
// Tokens of a list to the warp's first `rows` places: lane l has the id of the one for place l%16.
MLAF_DEV void bring(const mlaf_decode_args& a, u32 to, u32 id, int rows, u32 full) {
  const u32 lane = threadIdx.x & 31;
  struct token_at x;
  if ((int)(lane % 16) < rows && find_token(a, id, 0, x)) {
    to += lane % 16 * PITCH;
    if (lane < 16) copy_bytes(to, row_of(a, x.row), TOKEN_ROW, full);
    else copy_scales(to + TOKEN_ROW, row_of(a, x.row) + x.scales);
  }
  arrive_after_copies(full);
}

//@ end
//@ local lane, warp = again and "(thread_now() & 31)" or "lane", again and "(thread_now() / 32 % 4)" or "warp"
MLAF_DEV void produce(const mlaf_decode_args& a, u32 smem, char* base) {
//@ if not again then
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
//@ end
  mlaf_decode_args either = a; // the first pool may have no pages: find_token() knows both
  either.num_pages = 1;
  walk where;
  work w;
  begin_walk(either, where);
  place at = {0, 0, 1};
  for (int k = 0;; k++) {
    const bool none = !next_work(either, where, w);
    if (${warp} == 3) announce(a, base, smem, k, w, at, none);
    if (none) return;
    const int tiles = tiles_of(w);
    // Lane l has the page of token l%16 of tile i, and of tile i + 2 where l > 15: of tile i + 1, and i + 3.
    auto token_of = [&](int i) { return w.begin + i / 16 * 64 + 16 * ${warp} + i % 16; };
    auto fetch = [&](int i) { return token_of(i) < w.end ? w.pages[(u32)token_of(i) / PAGE] : 0; };
    int ids = fetch(${lane}), ahead = fetch(${lane} + 32);
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
      if (t % 2 == 0 && t > 0) {
        ids = ahead;
        ahead = fetch(16 * t + 32 + ${lane});
      }
      const int mine = token_of(16 * t + ${lane} % 16);
      struct token_at x;
      const u32 id = __shfl_sync(~0u, ids, t % 2 * 16 + ${lane} % 16);
      const bool there = mine < w.end && find_token(a, id, mine, x);
      const bool bad = __any_sync(~0u, mine < w.end && !there);
      const u32 all = __ballot_sync(~0u, there) & 0xffff;
      barrier_wait(empty_barrier(smem, at.slot), at.lap ^ 1);
      const u32 full = full_barrier(smem, at.slot);
      if (${lane} == 0) {
        if (bad) ((volatile int*)(base + BAD_AT))[at.slot] = at.tile;
        barrier_expect(full, __popc(all) * TOKEN_ROW);
      }
      __syncwarp();
      const u32 to = ${ring} + TILE * at.slot + (16 * ${warp} + ${lane} % 16) * PITCH;
      if (there && ${lane} < 16) copy_bytes(to, row_of(a, x.row), TOKEN_ROW, full);
      if (there && ${lane} >= 16) copy_scales(to + TOKEN_ROW, row_of(a, x.row) + x.scales);
      arrive_after_copies(full);
      advance(at, 1);
      at.tile++;
    }
//@ if meets then
    if (${warp} == 3 && !where.whole && w.whom > 0) meet(a, w, smem);
//@ end
//@ if leaves then
    if (where.whole) return;
//@ end
  }
}
