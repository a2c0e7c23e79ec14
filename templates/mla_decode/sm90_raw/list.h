// The producer of index lists (mla_decode/lib/index_list.h): warp w of four brings entries [16w, +16) of a tile, a row a lane.
//@ -- apart: a token's rope may lie in another tensor, behind `latent` bytes of one; leaves: the block is over without a word
//@ -- that no piece is left; ring: its address.
//@ -- pools: scales lie behind a page's rows, in up to two pools: load_pools.h.
//@ needs("LIST_AT", "TILE")
//@ if pools then needs("TOKEN_ROW") end
//@ if not pools then needs("TOKEN") end
MLAF_DEV void produce_list(const mlaf_decode_args& a, u32 smem, char* base) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, mine = 16 * warp + lane % 16;
//@ if apart then
  const bool joined = a.kpe == a.ckv + ${latent} && a.kpe_row_stride == a.ckv_row_stride;
//@ elseif not pools then
  constexpr bool joined = true;
//@ end
  place at = {0, 0, 1};
  work w;
  list_walk walk;
  const bool there = begin_list(a, base, walk, w);
  if (warp == 3) announce(a, base, smem, 0, w, at, !there);
  if (!there) return;
  const int tiles = tiles_of(w);
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    refill_list(a, base, walk);
    const int rows = walk.held - walk.used - 16 * warp;
    const u32 row = lane % 16 < rows ? ((const int*)(base + LIST_AT))[walk.used + mine] : 0;
    walk.used += 64;
    barrier_wait(empty_barrier(smem, at.slot), at.lap ^ 1);
    const u32 full = full_barrier(smem, at.slot);
//@ if pools then
    if (lane == 0) barrier_expect(full, (rows < 0 ? 0 : smaller(rows, 16)) * TOKEN_ROW);
//@ else
    if (lane == 0) barrier_expect(full, (rows < 0 ? 0 : smaller(rows, 16)) * TOKEN);
//@ end
    __syncwarp();
    bring(a, ${ring} + TILE * at.slot + warp * (TILE / 4), row, smaller(rows, 16), full${pools and "" or ", joined"});
    advance(at, 1);
    at.tile++;
  }
//@ if not leaves then
  if (warp == 3) announce(a, base, smem, 1, w, at, true);
//@ end
}
