// Tiles of all requests, dealt out to the blocks of a persistent grid on the device, from cu_seqlens alone: in order of their
// rounds, to and fro over the blocks, so that all blocks end at about the same time.
//
// A tile is ROWS new tokens of one request and one head. Heads go in groups, one behind the other, so that the keys and values
// at work at a time are few enough for tiles to share them in the cache. In the last group the tiles with the most rounds come
// first, in the one before it last, and so on: what lies beside each other takes about as long. Tiles with as many rounds lie in
// order of requests, all heads of a tile beside each other. Nobody makes that list: a warp walks it by counts, a lane for each of
// 32 requests at a time. Of a causal request a tile's rounds rise with its number, so how many have fewer than n is a division.
//@ needs("ROWS", "KEYS", "H", "CAUSAL", "HEADS_AT_ONCE")
struct request {
  int q, k; // new tokens; keys, -1: they are not all there
};
struct tile {
  int row, rows, head; // of Q: first row
  int key, keys;       // of the request: first, how many; -1: they are not all there
  int seen;            // keys that the first row sees; if CAUSAL each further row sees one more, at most `keys`
  int rounds;
};
// Where the walk is: 32 requests' tiles with so many rounds, of a group of heads.
struct deal {
  int head;          // the group's first
  int least, most;   // rounds of any tile
  int rounds, later; // of tiles at hand, -1: none are left; of those that come behind them, negative where rounds rise
  int word;
  u32 ahead; // of the wanted tile: tiles times heads, counted from the first of these
};

MLAF_DEV request request_of(const mlaf_prefill_kernel_args& a, int i) {
  request r = {0, 0};
  if (i >= a.batch) return r;
  const int q0 = a.cu_seqlens_q[i], q1 = a.cu_seqlens_q[i + 1], k0 = a.cu_seqlens_k[i], k1 = a.cu_seqlens_k[i + 1];
  r.q = q0 < 0 || q1 <= q0 || q1 > a.total_q ? 0 : q1 - q0;
  r.k = k0 < 0 || k1 < k0 || k1 > a.total_k ? -1 : k1 - k0;
  return r;
}
MLAF_DEV int tiles_of(const request& r) { return (r.q + ROWS - 1) / ROWS; }
MLAF_DEV int rounds_of(const request& r, int number) {
  const int most = CAUSAL ? r.k - r.q + smaller(r.q, (number + 1) * ROWS) : r.k;
  return most > 0 ? (most + KEYS - 1) / KEYS : 0;
}
// Tiles with fewer rounds than that: the first ones.
MLAF_DEV int fewer(const request& r, int rounds) {
  const int keys = (rounds - 1) * KEYS, all = tiles_of(r), x = keys - (r.k - r.q);
  if (rounds <= 0 || all == 0) return 0;
  if (r.k <= keys) return all;
  return CAUSAL && x > 0 ? smaller(x / ROWS, all - 1) : 0;
}
constexpr int NONE = -(1 << 30);
// Whether rounds rise in this group.
MLAF_DEV bool rising(const deal& d) { return (H - 1) / HEADS_AT_ONCE - d.head / HEADS_AT_ONCE & 1; }
MLAF_DEV int most_of_lanes(int x) { return __reduce_max_sync(~0u, x); }

MLAF_DEV deal first_deal(const mlaf_prefill_kernel_args& a, int lane) {
  deal d = {-HEADS_AT_ONCE, NONE, NONE, -1, NONE, 0, 0};
  for (int i = lane; i - lane < a.batch; i += 32) {
    const request r = request_of(a, i);
    d.most = larger(d.most, most_of_lanes(r.q > 0 ? rounds_of(r, tiles_of(r) - 1) : NONE));
    d.least = larger(d.least, most_of_lanes(r.q > 0 ? -rounds_of(r, 0) : NONE));
  }
  d.least = -d.least;
  return d;
}

// The tile that is so far ahead, by all lanes. False: the list ends before.
MLAF_DEV bool find_tile(const mlaf_prefill_kernel_args& a, deal& d, int lane, tile& t) {
  for (;;) {
    if (d.rounds < 0) {
      d.head += HEADS_AT_ONCE;
      if (d.head >= H || d.most < 0) return false;
      d.rounds = rising(d) ? d.least : d.most;
      d.later = NONE;
      d.word = 0;
    }
    const request r = request_of(a, 32 * d.word + lane);
    const int less = fewer(r, d.rounds), count = fewer(r, d.rounds + 1) - less;
    int through = count; // tiles of the lanes up to this one
#pragma unroll
    for (int i = 1; i < 32; i *= 2) {
      const int x = __shfl_up_sync(~0u, through, i);
      if (lane >= i) through += x;
    }
    const u32 heads = smaller(HEADS_AT_ONCE, H - d.head), all = (u32)__shfl_sync(~0u, through, 31) * heads;
    if (d.ahead < all) {
      const int i = (int)(d.ahead / heads), owner = __ffs(__ballot_sync(~0u, through > i)) - 1;
      const int q = __shfl_sync(~0u, r.q, owner), k = __shfl_sync(~0u, r.k, owner);
      const int first = (__shfl_sync(~0u, less - through + count, owner) + i) * ROWS;
      t.head = d.head + (int)(d.ahead % heads);
      t.row = a.cu_seqlens_q[32 * d.word + owner] + first;
      t.rows = smaller(ROWS, q - first);
      t.key = a.cu_seqlens_k[32 * d.word + owner];
      t.keys = k;
      t.seen = k - q + first + 1;
      t.rounds = d.rounds;
      return true;
    }
    d.ahead -= all;
    const int beyond = rising(d) ? (less + count < tiles_of(r) ? -rounds_of(r, less + count) : NONE)
      : less > 0                 ? rounds_of(r, less - 1)
                                 : NONE;
    d.later = larger(d.later, most_of_lanes(beyond));
    if (32 * ++d.word < a.batch) continue;
    d.rounds = d.later == NONE ? -1 : rising(d) ? -d.later : d.later;
    d.later = NONE;
    d.word = 0;
  }
}
