// The list of requests that a launch cut, by the arithmetic of mla_decode/lib/fit.h, for a kernel behind it: by all threads
// of a block, once.
//@ needs("H", "PAGE", "SLOT_ROWS", "THREADS", "WARPS")
//@ if mixed then
//@ needs("AT_ONCE", "DEPTH", "FEW", "GROUPS", "GROUPS_MOST", "ROWS", "SHARES")
//@ end
//@ include("mla_decode/lib/refuse.h", { fills = false })
// A request that lies in several parts of a launch that cut its batch. Others were finished where they lay.
struct cut {
  u32 row, rows; // of O: its first one, how many
  u32 part;      // it begins in,
  int pieces;    // from there on, one in each
};
struct cut_list {
  cut of[THREADS];  // as many parts at most: no Hopper has more compute units
  int found[WARPS]; // by each warp: how many, and the most pieces of one in the upper half
};
MLAF_DEV cut_list& cuts() {
  __shared__ cut_list all;
  return all;
}

// Thread t's facts of request t. Its loads are issued before the launch before is over.
MLAF_DEV mlaf_entry own_entry(const mlaf_decode_args& a) {
  return schedule_entry(&a, a.batch <= THREADS && (int)threadIdx.x < a.batch ? threadIdx.x : 0);
}

//@ if mixed then
// Compute units, the same for all blocks of a launch.
MLAF_DEV u32 compute_units() {
  u32 n;
  asm("mov.u32 %0, %%nsmid;" : "=r"(n));
  return n;
}

// Trips to memory one after the other for a row, and turns of the blocks that run at once.
MLAF_DEV u32 trips(int pieces, int groups) { return (u32)((pieces + groups * DEPTH - 1) / (groups * DEPTH) + 2); }
MLAF_DEV u32 turns(u32 of, u32 blocks) { return (of + blocks - 1) / blocks; }

// True if all is over earlier when the rows of `far` of the cut requests are worked on apart, a share at a time by all warps of a
// block, and the others' behind them: in trips one after the other. `blocks` run at once: not `parts` of the launch before, which
// are fewer where its rows are several groups.
MLAF_DEV bool apart_is_faster(int all, int far, int most) {
  const u32 slots = compute_units() * AT_ONCE, blocks = gridDim.x < slots ? gridDim.x : slots;
  const u32 rows = (u32)SLOT_ROWS, singles = (u32)far * rows * SHARES, others = ((u32)(all - far) * rows + ROWS - 1) / ROWS;
  const u32 first = turns(singles, blocks), behind = turns(singles + others, blocks) - first;
  const u32 apart = first * trips(most, GROUPS_MOST) + behind * trips(FEW, GROUPS);
  return apart < trips(most, GROUPS) + (turns(((u32)all * rows + ROWS - 1) / ROWS, blocks) - 1) * trips(1, 1);
}

//@ end
// The cut requests into that list, in order, how many, and the most pieces of one: by all threads of the block. Thread t says of
// request t, whose entry it has, or, where there are more of them, of the one that begins in part t and goes on
// (mla_decode/lib/fit.h).
//@ if mixed then
// far: so many of them, which come first, have pieces enough for all warps of a block to work on a share of a row: where that
// takes fewer trips.
//@ end
//@ local far = mixed and ", int& far" or ""
MLAF_DEV int list_cuts(const mlaf_decode_args& a, mlaf_entry entry, i64 width, int parts, int& most${far}) {
  if (parts > THREADS) __trap();
  cut_list& list = cuts();
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  int request = (int)threadIdx.x < a.batch ? threadIdx.x : -1, part = 0, behind = 0;
  if (a.batch > THREADS) {
    request = (int)threadIdx.x < parts ? fit_words(a.part_o)[threadIdx.x] : -1;
    if (request >= 0) entry = schedule_entry(&a, request);
  }
  const int tokens = schedule_tokens(entry.next_page - entry.page, entry.last, PAGE);
  const int n = entry.next_qo - entry.qo;
  if (request >= 0 && tokens > 0 && n > 0 && !is_refused(n, entry.qo, entry.next_qo, (int)a.total_q))
    behind = fit_pieces(schedule_start(entry.page, request, PAGE), tokens, width, &part);
  const bool is = behind > 0 && part < parts;
  const u32 some = __ballot_sync(~0u, is);
  const int pieces = smaller(behind, parts - 1 - part) + 1;
  const u32 longest = __reduce_max_sync(~0u, is ? pieces : 0);
//@ if mixed then
  const bool is_far = is && pieces > FEW;
  const u32 some_far = __ballot_sync(~0u, is_far);
  if (lane == 0) list.found[warp] = (int)(longest << 16) + (__popc(some_far) << 8) + __popc(some);
  int before_far = __popc(some_far & ((1u << lane) - 1));
  far = 0;
//@ else
  if (lane == 0) list.found[warp] = (int)(longest << 16) + __popc(some);
//@ end
  __syncthreads();
  int before = __popc(some & ((1u << lane) - 1)), all = 0;
  most = 0;
#pragma unroll
  for (int w = 0; w < WARPS; w++) {
//@ if mixed then
    before += w < warp ? list.found[w] & 0xff : 0;
    all += list.found[w] & 0xff;
    before_far += w < warp ? list.found[w] >> 8 & 0xff : 0;
    far += list.found[w] >> 8 & 0xff;
//@ else
    before += w < warp ? list.found[w] & 0xffff : 0;
    all += list.found[w] & 0xffff;
//@ end
    most = list.found[w] >> 16 > most ? list.found[w] >> 16 : most;
  }
//@ if mixed then
  if (far > 0 && !apart_is_faster(all, far, most)) far = 0;
  if (far > 0) before = is_far ? before_far : far + before - before_far;
//@ end
  if (is) list.of[before] = {(u32)entry.qo * H, (u32)n * H, (u32)part, pieces};
  __syncthreads();
  return all;
}

// The parts of row `mine` of that request, in slots with room for SLOT_ROWS each (mla_decode/lib/fit.h: fit_slot).
MLAF_DEV sources pieces_of(const cut& x, u32 mine) {
  return {x.part * (2 * SLOT_ROWS) + mine, 2 * SLOT_ROWS, SLOT_ROWS, x.pieces};
}
