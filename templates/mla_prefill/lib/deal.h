// Tiles of all requests, dealt out to the blocks of a persistent grid on the device, from cu_seqlens alone: in order of their
// rounds, to and fro over the blocks, so that all blocks end at about the same time.
//
// A tile is ROWS new tokens of one request and one head. Tiles share keys and values in the cache, so they go in groups whose
// keys and values fit ROOM bytes: some heads of all requests, or, where one head's are more than that, of a part of the
// requests. In the last group the tiles with the most rounds come first, in the one before it last, and so on: what lies beside
// each other takes about as long. Tiles with as many rounds lie in order of requests, all heads of a tile beside each other.
//
// Nobody makes that list: a warp walks it by counts, a lane for each of 32 requests (a word) at a time. Of a causal request a
// tile's rounds rise with its number, so how many have fewer than n is a division.
//@ needs("ROWS", "KEYS", "H", "CAUSAL", "ROOM", "KEY_BYTES")
struct request {
  int q, k; // new tokens; keys, -1: they are not all there
};
struct tile {
  int row, rows, head; // of Q: first row
  int key, keys;       // of the request: first, how many; -1: they are not all there
  int seen;            // keys that the first row sees; if CAUSAL each further row sees one more, at most `keys`
  int rounds;
};
// Where the walk is: 32 requests' tiles with so many rounds, of a group.
struct deal {
  int part, parts, first_word; // of the requests
  int head, heads;             // of the group: the first, how many
  int least, most;             // rounds of any tile of the part
  int rounds, later;           // of tiles at hand, -1: none are left; of those behind them, negative where rounds rise
  int word;
  u32 ahead; // of the wanted tile: tiles times heads, counted from the first of these
};
constexpr int NONE = -(1 << 30);

// Of a key, in which part its request lies.
MLAF_DEV int part_of(const mlaf_prefill_kernel_args& a, int key) {
  const u32 k = key < 0 ? 0 : key > a.total_k ? (u32)a.total_k : (u32)key;
  return (int)(k / (u32)(ROOM / KEY_BYTES));
}
MLAF_DEV request request_of(const mlaf_prefill_kernel_args& a, int part, int i) {
  request r = {0, 0};
  if (i >= a.batch) return r;
  const int q0 = a.cu_seqlens_q[i], q1 = a.cu_seqlens_q[i + 1], k0 = a.cu_seqlens_k[i], k1 = a.cu_seqlens_k[i + 1];
  r.q = q0 < 0 || q1 <= q0 || q1 > a.total_q || part_of(a, k0) != part ? 0 : q1 - q0;
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
MLAF_DEV int most_of_lanes(int x) { return __reduce_max_sync(~0u, x); }
// Whether all words of the part are before this one.
MLAF_DEV bool behind(const mlaf_prefill_kernel_args& a, const deal& d, int word) {
  return 32 * word >= a.batch || part_of(a, a.cu_seqlens_k[32 * word]) > d.part;
}

MLAF_DEV deal first_deal(const mlaf_prefill_kernel_args& a) {
  const deal d = {-1, part_of(a, a.cu_seqlens_k[a.batch]) + 1, 0, H, H, NONE, NONE, -1, NONE, 0, 0};
  return d;
}

// As many heads in a group as there is room for, but so many that each block has a tile, and every second one two.
MLAF_DEV int heads_at_once(const mlaf_prefill_kernel_args& a, u32 tiles) {
  const int keys = a.cu_seqlens_k[a.batch], fit = (int)(ROOM / KEY_BYTES) / (keys > 0 ? keys : 1);
  const int heads = larger(larger(fit, 1), (int)((3 * gridDim.x / 2 + tiles - 1) / tiles));
  const int groups = heads < H ? (H + heads - 1) / heads : 1;
  return (H + groups - 1) / groups;
}

MLAF_DEV void next_part(const mlaf_prefill_kernel_args& a, deal& d, int lane) {
  u32 tiles = 0;
  d.part++;
  d.head = 0;
  d.first_word = d.word > 0 ? d.word - 1 : 0; // the last one of the part before may have some of this one
  d.most = d.least = NONE;
  for (int word = d.first_word; !behind(a, d, word); word++) {
    const request r = request_of(a, d.part, 32 * word + lane);
    tiles += __reduce_add_sync(~0u, (u32)tiles_of(r));
    d.most = larger(d.most, most_of_lanes(r.q > 0 ? rounds_of(r, tiles_of(r) - 1) : NONE));
    d.least = larger(d.least, most_of_lanes(r.q > 0 ? -rounds_of(r, 0) : NONE));
  }
  if (tiles > 0) d.heads = heads_at_once(a, tiles);
}

// Whether rounds rise in this group.
MLAF_DEV bool rising(const deal& d) {
  return (d.parts - d.part) * ((H + d.heads - 1) / d.heads) - d.head / d.heads - 1 & 1;
}

// The tile that is so far ahead, by all lanes. False: the list ends before.
MLAF_DEV bool find_tile(const mlaf_prefill_kernel_args& a, deal& d, int lane, tile& t) {
  for (;;) {
    if (d.rounds < 0) {
      d.head += d.heads;
      if (d.head >= H) {
        if (d.part + 1 >= d.parts) return false;
        next_part(a, d, lane);
      }
      d.rounds = d.most < 0 ? -1 : rising(d) ? -d.least : d.most;
      d.later = NONE;
      d.word = d.first_word;
      if (d.rounds < 0) continue;
    }
    const request r = request_of(a, d.part, 32 * d.word + lane);
    const int less = fewer(r, d.rounds), count = fewer(r, d.rounds + 1) - less;
    int through = count; // tiles of the lanes up to this one
#pragma unroll
    for (int i = 1; i < 32; i *= 2) {
      const int x = __shfl_up_sync(~0u, through, i);
      if (lane >= i) through += x;
    }
    const u32 heads = smaller(d.heads, H - d.head), all = (u32)__shfl_sync(~0u, through, 31) * heads;
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
    if (!behind(a, d, ++d.word)) continue;
    d.rounds = d.later == NONE ? -1 : rising(d) ? -d.later : d.later;
    d.later = NONE;
    if (d.rounds >= 0) d.word = d.first_word;
  }
}
