// Index lists, read by the decode kernel's producers: a request is one query token, whose list of rows of the cache its blocks
// read as the caller has it. Entries outside the cache are absent: each block leaves them out of its share and packs the others
// into a table in shared memory, from which a tile is 64 neighbours. So math sees a request of so many tokens, all there.
//
//   list    | 64 entries | 64 | 64 | ...    share s of S has those numbered s, s + S, ...: what is absent at the end is so in all
//   share   | 7 | -1 | 3 | 9 | -1 | ...  ->  table | 7 | 3 | 9 | ...    of LIST entries at once, and fewer than a tile's left
//
// pools: a token may have a second list, of another pool, whose chunks of 64 come behind those of the first, and whose entries
// have bit 31 in the table (mla_decode/lib/pools.h). Addresses of that list and of its length lie where a launch has no outputs.
//
//@ -- fitted: the schedule; meets: parts may meet (work.h); entries: of the table; barrier: named, of the producers' 128 threads;
//@ -- q: gen/ops/mla_decode/q.lua.
//@ needs("C", "H", "LIST_AT", "LIST_COUNTS_AT", "LOG2E", "N", "SINKS_AT")
//@ if pools then needs("EXTRA_POOL", "R", "ROPE") end
constexpr int LIST = ${entries}, LIST_EACH = LIST / 128; // entries at once: of a block, of a thread

//@ local there, total_q = pools and "e[i] != -1" or "e[i] >= 0", pools and "(i64)a.batch" or "a.total_q"
//@ include("mla_decode/lib/list_share.h", { pools = pools, fitted = fitted })

// Entries [first, + LIST) of the share as this thread has them: neighbours in neighbouring lanes, a warp's before the next one's.
MLAF_DEV void read_entries(const mlaf_decode_args& a, const index_list& x, int first, int (&e)[LIST_EACH]) {
  const int thread = threadIdx.x % 128, from = first + thread / 32 * (32 * LIST_EACH) + thread % 32;
#pragma unroll
  for (int i = 0; i < LIST_EACH; i++) {
    const int place = list_place(from + 32 * i);
//@ if pools then
    const int behind = place - x.before;
    const int* const at = behind < 0 ? x.at + place : x.extra + behind;
    e[i] = (behind < 0 ? place < x.n : behind < x.extra_n) ? load_past_l1(at) : -1;
//@ else
    e[i] = place < x.n ? load_past_l1(x.at + place) : -1;
//@ end
  }
#pragma unroll
//@ if pools then
  for (int i = 0; i < LIST_EACH; i++) {
    const bool second = list_place(from + 32 * i) >= x.before;
    e[i] = (u32)e[i] < (u32)(second ? a.extra_tokens : a.num_pages) ? e[i] | (int)(second ? EXTRA_POOL : 0) : -1;
  }
//@ else
  for (int i = 0; i < LIST_EACH; i++) e[i] = (u32)e[i] < (u32)a.num_pages ? e[i] : -1;
//@ end
}

// Those of the share from `first` on that are there, as this warp counts its part of them.
MLAF_DEV int count_entries(const mlaf_decode_args& a, const index_list& x, int first) {
  int n = 0;
#pragma unroll 1
  for (; first < x.mine; first += LIST) {
    int e[LIST_EACH];
    read_entries(a, x, first, e);
#pragma unroll
    for (int i = 0; i < LIST_EACH; i++) n += __popc(__ballot_sync(~0u, ${there}));
  }
  return n;
}

struct list_sums {
  int held, later; // entries in the table; later's of all warps
};
// Puts those of the entries that are there into the table, behind the `held` ones. By all 128 threads, which may have written
// those ones before.
MLAF_DEV list_sums keep_entries(char* base, const int (&e)[LIST_EACH], int held, int later) {
  int(&counts)[2][4] = *(int(*)[2][4])(base + LIST_COUNTS_AT);
  int* const table = (int*)(base + LIST_AT);
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4;
  int mine = 0;
#pragma unroll
  for (int i = 0; i < LIST_EACH; i++) mine += __popc(__ballot_sync(~0u, ${there}));
  if (lane == 0) counts[0][warp] = mine, counts[1][warp] = later;
  named_sync(${barrier}, 128);
  list_sums s = {held, 0};
#pragma unroll
  for (int w = 0; w < 4; w++) {
    held += w < warp ? counts[0][w] : 0;
    s.held += counts[0][w];
    s.later += counts[1][w];
  }
#pragma unroll
  for (int i = 0; i < LIST_EACH; i++) {
    const u32 there = __ballot_sync(~0u, ${there});
    if (${there}) table[held + __popc(there & ((1u << lane) - 1))] = e[i];
    held += __popc(there);
  }
  named_sync(${barrier}, 128);
  return s;
}

// Asks for what the block reads first, before the launch before is over, as look_ahead() does: by one warp. Of the share that is
// the first 1024 entries, 32 in a line; how much of a list counts that has a length is not known yet.
MLAF_DEV void look_ahead_in_list(const mlaf_decode_args& a) {
  const int lane = threadIdx.x % 32, request = smaller((int)blockIdx.z, a.batch - 1);
  const int topk = list_topk(a), place = list_place(32 * lane);
  if (!a.kv_indptr && place < topk)
    fetch_line(a.kv_indices + (i64)request * (topk + (int)((u64)a.kv_last_page_lens >> 40)) + place);
//@ if pools then
  const int row0 = blockIdx.x * N;
  constexpr int Q_BYTES = 2 * (R + ROPE); // of a row
  if (lane == 0 && row0 < H) fetch_bytes(a.q + ((i64)request * H + row0) * Q_BYTES, smaller(H - row0, N) * Q_BYTES);
//@ else
  ${q.one_lane}fetch_q(a, (i64)request * H + blockIdx.x * N, N);
//@ end
}

// The sinks of the block's rows, in powers of two, where nobody merges rows behind this launch and applies them.
MLAF_DEV void keep_sinks(const mlaf_decode_args& a, char* base, int row0) {
  const int n = threadIdx.x % 128;
  const float* const sinks = sinks_of(a);
  if (n < N) ((float*)(base + SINKS_AT))[n] = sinks && row0 + n < H ? sinks[row0 + n] * LOG2E : minus_inf();
}

// The producers' place in their share.
struct list_walk {
  index_list list;
  int held, used;   // entries of the table; those that tiles had
  int next;         // entries of the share before it are in the table or were
};

//@ local tells = pools and "fit_splits(&a) > 1" or "a.part_o"
//@ local tell = "if (tells" .. (meets and " && fit_apart(&a)" or "") .. ") fit_tell(a.part_o, 0);" -- nothing is cut
// The block's work, which is its share of a list; false: it has none. By all 128 threads.
MLAF_DEV bool begin_list(const mlaf_decode_args& a, char* base, list_walk& at, work& w) {
  const int request = blockIdx.z;
  w = {};
//@ if meets then
  w.whole = true;
//@ end
//@ if fitted then
//@   needs("PART")
  const bool tells = PART == 0 && blockIdx.x == 0 && threadIdx.x % 32 == 0 && ${tells};
  ${tell}
  const int splits = fit_splits(&a);
//@ else
  const int splits = a.splits;
//@ end
  w.n = 1;
  w.row0 = blockIdx.x * N;
  if (request >= a.batch || w.row0 >= H) return false;
  at.list = list_of(a, request);
  keep_sinks(a, base, w.row0);
  int e[LIST_EACH];
  read_entries(a, at.list, 0, e);
  const list_sums s = keep_entries(base, e, 0, count_entries(a, at.list, LIST));
  at.held = s.held;
  at.used = 0;
  at.next = LIST;
  w.row = (i64)request * H + w.row0;
  w.rows = smaller(H - w.row0, N);
  w.tokens = w.end = s.held + s.later;
  w.part = splits == 1 ? -1 : (int)blockIdx.y / C * (${total_q} * H) + (i64)request * H;
  return true;
}

// Fills the table anew where it has less than a tile left and the share has more. By all 128 threads.
MLAF_DEV void refill_list(const mlaf_decode_args& a, char* base, list_walk& at) {
  int* const table = (int*)(base + LIST_AT);
  while (at.held - at.used < 64 && at.next < at.list.mine) {
    const int left = at.held - at.used, thread = threadIdx.x % 128;
    int e[LIST_EACH];
    read_entries(a, at.list, at.next, e);
    const int kept = thread < left ? table[at.used + thread] : 0;
    named_sync(${barrier}, 128);
    if (thread < left) table[thread] = kept;
    at.held = keep_entries(base, e, left, 0).held;
    at.used = 0;
    at.next += LIST;
  }
}
