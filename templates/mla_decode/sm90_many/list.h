// Index lists, read by the loaders of the many-rows Hopper kernel that copy rows one by one (mla_decode/lib/index_list.h says
// what a list is, and how it is dealt out to the splits of a token). A list, or a share of it, is a piece; a block takes those of
// tokens z, z + gridDim.z, ... one after the other.
//
//   warp 0          packs the entries that are there into the ring of tables, 64 to a block
//   warpgroup 3     counts those of the first list, since math must know how many blocks come; then copies, as from page lists
//   warp 3          Q, sinks, and what others must know of a piece; counts the next list while math is at one
//@ needs("ALL", "CHECKED_AT", "COUNTED", "COUNTS_AT", "H", "LAST_EMPTY_AT", "LOG2E", "MANY", "PART",
//@   "Q_EMPTY_AT", "ROWS", "SINKS_AT", "SLICES")
//@ include("mla_decode/lib/list_share.h", { pools = false, fitted = fitted })
constexpr int COUNT_AT_ONCE = 8; // entries that a thread has under way

// Asks for what a block reads first, before the launch before is over: by 64 threads of math. A length is not known yet.
MLAF_DEV void look_ahead_in_list(const mlaf_decode_args& a, const mlaf_tensor_map* q, int thread) {
  const int topk = list_topk(a), place = list_place(32 * (thread - 32));
  if (thread < SLICES) ${boxes.fetch("q", "thread", "(int)blockIdx.z * H + 64 * blockIdx.x", "ROWS")};
  if (thread >= 32 && !a.kv_indptr && place < topk)
    fetch_line(a.kv_indices + (i64)blockIdx.z * (topk + (int)((u64)a.kv_last_page_lens >> 40)) + place);
}

// Entry i of the share; one that is absent is no row of the cache.
MLAF_DEV u32 entry(const index_list& x, int i) {
  const int place = list_place(i);
  return place < x.n ? (u32)load_past_l1(x.at + place) : ~0u;
}

// Entries of the share that are there, of those that a warp looks at: of `threads` in all, this is thread `me`.
MLAF_DEV int count_entries(const mlaf_decode_args& a, const index_list& x, int me, int threads) {
  int n = 0;
#pragma unroll 1
  for (int first = me; first < x.mine; first += threads * COUNT_AT_ONCE) {
    u32 e[COUNT_AT_ONCE];
#pragma unroll
    for (int i = 0; i < COUNT_AT_ONCE; i++) e[i] = entry(x, first + threads * i);
#pragma unroll
    for (int i = 0; i < COUNT_AT_ONCE; i++) n += e[i] < (u32)a.num_pages;
  }
  return __reduce_add_sync(~0u, n);
}
// The block's first list, by warpgroup 3, which has nothing to copy yet.
MLAF_DEV void count_list(const mlaf_decode_args& a, u32 shared) {
  const int n = count_entries(a, list_of(a, blockIdx.z), threadIdx.x % 128, 128);
  if (lane_now() == 0) store_row(shared + COUNTS_AT + threadIdx.x / 32 % 4 * 4, n);
  named_arrive(COUNTED, 160);
}

// Warp 0: the tables of a list, as publish() makes them, whose numbers come as they are found. n: tables before.
MLAF_DEV void list_rows(const mlaf_decode_args& a, u32 shared, int token, u32& n) {
  const index_list x = list_of(a, token);
  u32 next[2];
  int held = 0, block = 0;
  auto ask = [&](int first) {
#pragma unroll
    for (int i = 0; i < 2; i++) next[i] = entry(x, first + 32 * i + (int)lane_now());
  };
  auto put = [&](int at, u32 row) { store_row(table_at(shared, n) + 4 * (at % 8 * 8 + at / 8), row); };
  auto say = [&] {
    if (lane_now() == 0) store_row(table_at(shared, n) + 256, (u32)block & 1);
    barrier_arrive(table_full(shared, n));
    n++, block++;
    barrier_wait(table_empty(shared, n), n / 2 & 1 ^ 1); // the table behind it is given back
    __syncwarp();
  };
  ask(0);
#pragma unroll 1
  for (int first = 0; first < x.mine; first += 64) {
    const u32 e[2] = {next[0], next[1]};
    ask(first + 64);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const bool there = e[i] < (u32)a.num_pages;
      const u32 who = __ballot_sync(~0u, there);
      const int at = held + __popc(who & ((1u << lane_now()) - 1));
      if (there && at < 64) put(at, e[i]);
      held += __popc(who);
      if (held < 64) continue;
      say();
      held -= 64;
      if (there && at >= 64) put(at - 64, e[i]);
    }
  }
  if (held > 0) { // rows behind the end repeat the tile's first: one that all blocks read would be waited for
    __syncwarp();
    const u32 first = load_row(table_at(shared, n));
    for (int at = lane_now(); at < 64; at += 32)
      if (at >= held) put(at, first);
    say();
  }
}
MLAF_DEV void list_all_rows(const mlaf_decode_args& a, u32 shared) {
  u32 n = 0;
  for (int token = blockIdx.z; token < a.batch; token += gridDim.z) {
    list_rows(a, shared, token, n);
    if (!MANY) break;
  }
  publish(shared, n, -1, 0, 0);
}

// Warp 3, for piece k: its Q is asked for; `row`, the block's first one of that token.
MLAF_DEV void say_piece(const loader& l, facts* f, u32 k, int tokens, int row, int splits) {
  if (l.lane > 0) return;
  const i64 part = splits == 1 ? -1 : (i64)blockIdx.y * l.p.a.total_q * H + row;
  tell(f, k, {(tokens + 63) / 64, 0, tokens, 1, row, part, 0});
  barrier_arrive(l.shared + CHECKED_AT);
  load_last(l, row);
}

// Sinks are kept in powers of two, minus infinity where the merge kernel applies them or there are none.
MLAF_DEV void say_lists(const loader& l, facts* f) {
  const mlaf_decode_args& a = l.p.a;
  const int row0 = ROWS * (int)blockIdx.x;
  int token = blockIdx.z;
  load_q(l, token * H + row0);
//@ if fitted then
  if (l.lane == 0 && blockIdx.x == 0 && PART == 0 && a.part_o) fit_tell(a.part_o, 0); // nothing is cut
  const int splits = fit_splits(&a);
//@ else
  const int splits = a.splits;
//@ end
  const float* const sinks = sinks_of(a);
  for (int i = l.lane; i < ROWS; i += 32)
    *(float*)(memory() + SINKS_AT + 4 * i) = sinks && row0 + i < H ? sinks[row0 + i] * LOG2E : minus_inf();
  named_sync(COUNTED, 160);
  const uint4 counts = load_rows(l.shared + COUNTS_AT);
  say_piece(l, f, 0, (int)(counts.x + counts.y + counts.z + counts.w), token * H + row0, splits);
  if (!MANY) return;
#pragma unroll 1
  for (u32 k = 0; token < a.batch; k++) {
    token += gridDim.z;
    const bool more = token < a.batch;
    const int row = token * H + row0;
//@ if q.hint then
    if (more && l.lane < ALL) ${boxes.fetch("l.p.maps", "l.lane", "row", "ROWS")};
//@ end
    const int tokens = more ? count_entries(a, list_of(a, token), l.lane, 32) : 0;
    barrier_wait(l.shared + Q_EMPTY_AT, k & 1);
    __syncwarp();
    if (more) load_q(l, row);
    barrier_wait(l.shared + LAST_EMPTY_AT, k & 1);
    __syncwarp();
    if (more) say_piece(l, f, k + 1, tokens, row, splits);
    else if (l.lane == 0) {
      f->blocks = -1;
      load_last(l, -1);
    }
  }
}
