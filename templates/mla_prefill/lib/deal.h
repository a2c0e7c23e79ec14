// Tiles of all requests, dealt out to the blocks of a persistent grid on the device, from cu_seqlens alone: in order of their
// rounds, to and fro over the blocks, so that all blocks end at about the same time.
//
// A tile is ROWS new tokens of one request and one head. Tiles share keys and values in the cache, so they go in groups whose
// keys and values fit ROOM bytes: some heads of all requests, or, where one head's are more than that, of a part of the
// requests. In the last group the tiles with the most rounds come first, in the one before it last, and so on: what lies beside
// each other takes about as long. Tiles with as many rounds lie in order of requests, all heads of a tile beside each other.
//
// Nobody makes that list. Of a causal request a tile's rounds rise with its number, so how many have fewer than n is a division;
// a warp adds that up over requests, a lane for each of 32 (a word), and searches for the n of a place in the list.
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
// Where the walk is: in a part of the requests.
struct deal {
  int part, first_word, words;
  int heads, most; // of a group; rounds of the part's longest tile
  u32 tiles;       // of the part, of one head
  u32 place;       // of the wanted tile, counted from the part's first: tiles times heads
};

// Of a key, in which part its request lies.
MLAF_DEV int part_of(const mlaf_prefill_kernel_args& a, int key) {
  const u32 k = key < 0 ? 0 : key > a.total_k ? (u32)a.total_k : (u32)key;
  return (int)(k / (u32)(ROOM / KEY_BYTES));
}
MLAF_DEV int last_part(const mlaf_prefill_kernel_args& a) { return part_of(a, a.cu_seqlens_k[a.batch]); }
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
MLAF_DEV deal first_deal() {
  const deal d = {-1, 0, 0, 1, 0, 0, 0};
  return d;
}

// As many heads in a group as there is room for, but so many that each block has one and a half tiles of it; and more where the
// longest tile stands out, since then groups do not even each other out unless there are many: `ratio` is its rounds beside those
// of the others, 1 for requests of equal lengths.
MLAF_DEV int heads_at_once(const mlaf_prefill_kernel_args& a, u32 tiles, float ratio) {
  const int keys = a.cu_seqlens_k[a.batch], fit = (int)(ROOM / KEY_BYTES) / (keys > 0 ? keys : 1);
  const float wanted = 1.5f * teams() * fmaxf(1.0f, ratio * ratio * ratio * 32 / (H + 16)) / tiles;
  const int heads = larger(larger(fit, 1), smaller(H, (int)ceilf(wanted)));
  const int groups = heads < H ? H / heads : 1;
  return (H + groups - 1) / groups;
}

MLAF_DEV void next_part(const mlaf_prefill_kernel_args& a, deal& d, int lane) {
  d.part++;
  if (d.words > 1) d.first_word += d.words - 1; // the last one may have some of this part
  d.words = d.most = 0;
  d.tiles = 0;
  u32 rounds = 0; // twice those of all tiles, or a little less
#pragma unroll 1
  for (int at = 32 * d.first_word; at < a.batch && part_of(a, a.cu_seqlens_k[at]) <= d.part; at += 32) {
    const request r = request_of(a, d.part, at + lane);
    d.tiles += __reduce_add_sync(~0u, (u32)tiles_of(r));
    const int last = r.q > 0 ? rounds_of(r, tiles_of(r) - 1) : 0;
    d.most = __reduce_max_sync(~0u, larger(d.most, last));
    rounds += __reduce_add_sync(~0u, (u32)(tiles_of(r) * (last + rounds_of(r, 0))));
    d.words++;
  }
  if (d.tiles > 0) d.heads = heads_at_once(a, d.tiles, (float)d.most * d.tiles / (rounds + 1));
}

MLAF_DEV request request_in(const mlaf_prefill_kernel_args& a, const deal& d, int word, int lane) {
  return request_of(a, d.part, 32 * (d.first_word + word) + lane);
}
// The part's tiles with fewer rounds than that.
MLAF_DEV u32 fewer_in_all(const mlaf_prefill_kernel_args& a, const deal& d, int rounds, int lane) {
  u32 n = 0;
#pragma unroll 1
  for (int word = 0; word < d.words; word++) n += __reduce_add_sync(~0u, (u32)fewer(request_in(a, d, word, lane), rounds));
  return n;
}

// The tile at a place, by all lanes. False: the list ends before.
MLAF_DEV bool find_tile(const mlaf_prefill_kernel_args& a, deal& d, int lane, tile& t) {
  while (d.place >= d.tiles * H) {
    d.place -= d.tiles * H;
    if (d.part >= last_part(a)) return false;
    next_part(a, d, lane);
  }
  const u32 group = d.place / (d.tiles * d.heads), in = d.place - group * d.tiles * d.heads;
  const u32 heads = smaller((u32)d.heads, H - group * d.heads), groups = (H + d.heads - 1) / d.heads;
  const bool rising = (last_part(a) - d.part + 1) * groups - group - 1 & 1;
  t.head = (int)(group * d.heads + in % heads);
  const u32 wanted = rising ? in / heads : d.tiles - 1 - in / heads; // in order of rounds
  int low = 0, width = d.most + 1;
  while (width > 1) { // low: no more of the wanted tile's rounds
    const int half = width / 2;
    const bool more = fewer_in_all(a, d, low + half, lane) <= wanted;
    low += more ? half : 0;
    width = more ? width - half : half;
  }
  t.rounds = low;
  u32 left = wanted - fewer_in_all(a, d, low, lane);
  for (int word = 0;; word++) {
    const request r = request_in(a, d, word, lane);
    const int less = fewer(r, low), count = fewer(r, low + 1) - less;
    int through = count; // tiles of the lanes up to this one
#pragma unroll
    for (int i = 1; i < 32; i *= 2) {
      const int x = __shfl_up_sync(~0u, through, i);
      if (lane >= i) through += x;
    }
    const u32 all = (u32)__shfl_sync(~0u, through, 31);
    if (left >= all && word + 1 < d.words) {
      left -= all;
      continue;
    }
    const int owner = __ffs(__ballot_sync(~0u, through > (int)left)) - 1, i = 32 * (d.first_word + word) + owner;
    const int q = __shfl_sync(~0u, r.q, owner), k = __shfl_sync(~0u, r.k, owner);
    const int first = (__shfl_sync(~0u, less - through + count, owner) + (int)left) * ROWS;
    t.row = a.cu_seqlens_q[i] + first;
    t.rows = smaller(ROWS, q - first);
    t.key = a.cu_seqlens_k[i];
    t.keys = k;
    t.seen = k - q + first + 1;
    return true;
  }
}
