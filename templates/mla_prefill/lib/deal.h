// Tiles of all requests, dealt out to the blocks of a persistent grid on the device, from cu_seqlens alone: those with the most
// rounds first, each to the block that has had the least until then.
//
// A tile is ROWS new tokens of one request and one head. Tiles share keys and values in the cache, so they go in groups whose
// keys and values fit ROOM bytes: some heads of all requests, or, where one head's are more than that, of a part of the
// requests. What a group leaves uneven the next one evens out, and the last one is large enough for that.
//
// Nobody makes a list, and blocks tell each other nothing: each one's dealer goes through all tiles and keeps count of what
// others have. So that these are few, blocks are in crews: a crew has heads of its own, or each CREWS-th tile where heads do
// not go round. Of a causal request a tile's rounds rise with its number, so how many have fewer than n is a division: a warp
// walks over numbers of rounds, a lane for each of 32 requests (a word).
//@ needs("ROWS", "KEYS", "H", "CAUSAL", "ROOM", "KEY_BYTES", "CREWS")
struct request {
  int q, k;     // new tokens; keys, -1: they are not all there
  int row, key; // the first ones
};
struct tile {
  int row, rows, head; // of Q: first row
  int key, keys;       // of the request: first, how many; -1: they are not all there
  int seen;            // keys that the first row sees; if CAUSAL each further row sees one more, at most `keys`
  int rounds;
};
constexpr bool OWN_HEADS = !(H % CREWS);
constexpr int STRIDE = OWN_HEADS ? 1 : CREWS;        // a crew has each so many-th tile
constexpr int HEADS = OWN_HEADS ? H / CREWS : H;     // of so many heads
constexpr float LAST = 1.5f; // times the longest tile: what each block is to have of the last group
// If the longest tile has so many times the rounds of the others, tiles of nearly as many rounds are dealt as if they had the
// same. There each number of rounds has few tiles, most tiles are short, and a step takes its time. Of causal requests of equal
// lengths it is up to 2.
constexpr float UNEVEN = 2.5f;
constexpr int STEPS = 12;
// The position of the walk: in a part of the requests, in a group of heads, at tiles of about as many rounds.
struct deal {
  int keys;                    // of all requests
  int part, first_word, words; // of the requests
  int most, steps;             // rounds of its longest tile; a step takes tiles together whose rounds differ by less than 1/steps
  request at_hand;             // this lane's of word `word`
  int word;
  int heads, last;             // of a group; of the last one of all
  int head, now;               // the group's first head, and how many
  int low, top;                // rounds of the tiles at hand: from, to
  u32 passed;                  // tiles ahead of those at hand
  u32 next, left;              // of those at hand: which one is next, how many are left
  bool even;                   // they go round so far
  u32 load, extra;             // what this lane's block has had, and the 33rd one: from bit 8 on; below, who it is
};

// Lengths are loaded past the first cache: a deal may begin while they are still being written.
MLAF_DEV int load_length(const int* at) {
  int x;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
  return x;
}

// The part of the requests that a key's request lies in.
MLAF_DEV int part_of(const mlaf_prefill_kernel_args& a, int key) {
  const u32 k = key < 0 ? 0 : key > a.total_k ? (u32)a.total_k : (u32)key;
  return (int)(k / (u32)(ROOM / KEY_BYTES));
}
MLAF_DEV int last_part(const mlaf_prefill_kernel_args& a, const deal& d) { return part_of(a, d.keys); }
MLAF_DEV request request_of(const mlaf_prefill_kernel_args& a, int part, int i) {
  request r = {0, 0, 0, 0};
  if (i >= a.batch) return r;
  const int q0 = load_length(a.cu_seqlens_q + i), q1 = load_length(a.cu_seqlens_q + i + 1);
  const int k0 = load_length(a.cu_seqlens_k + i), k1 = load_length(a.cu_seqlens_k + i + 1);
  r.q = q0 < 0 || q1 <= q0 || q1 > a.total_q || part_of(a, k0) != part ? 0 : q1 - q0;
  r.k = k0 < 0 || k1 < k0 || k1 > a.total_k ? -1 : k1 - k0;
  r.row = q0, r.key = k0;
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
MLAF_DEV int crew() { return team() % CREWS; }
MLAF_DEV int me() { return team() / CREWS; }
MLAF_DEV int members() { return smaller((teams() - crew() + CREWS - 1) / CREWS, 33); }

MLAF_DEV deal first_deal(const mlaf_prefill_kernel_args& a, int lane) {
  deal d;
  d.keys = load_length(a.cu_seqlens_k + a.batch);
  d.part = -1, d.first_word = d.words = 0, d.word = -1;
  d.most = 0, d.steps = 1;
  d.heads = d.last = 1;
  d.head = HEADS, d.now = 0, d.low = d.top = 0;
  d.passed = d.next = d.left = 0;
  d.even = false;
  d.load = lane < members() ? lane : ~0u;
  d.extra = members() > 32 ? 32 : ~0u;
  return d;
}

MLAF_DEV request request_in(const mlaf_prefill_kernel_args& a, deal& d, int word, int lane) {
  if (word != d.word) d.at_hand = request_of(a, d.part, 32 * (d.first_word + word) + lane);
  d.word = word;
  return d.at_hand;
}

MLAF_DEV void next_part(const mlaf_prefill_kernel_args& a, deal& d, int lane) {
  d.part++;
  d.word = -1;
  if (d.words > 1) d.first_word += d.words - 1; // the last one may have some of this part
  d.words = d.most = 0;
  u32 tiles = 0, rounds = 0; // twice those of all tiles, or a little less
#pragma unroll 1
  for (int at = 32 * d.first_word; at < a.batch; at += 32) {
    const request r = request_of(a, d.part, at + lane);
    if (part_of(a, __shfl_sync(~0u, r.key, 0)) > d.part) break;
    d.at_hand = r, d.word = d.words;
    const int last = r.q > 0 ? rounds_of(r, tiles_of(r) - 1) : 0;
    tiles += __reduce_add_sync(~0u, (u32)tiles_of(r));
    d.most = __reduce_max_sync(~0u, larger(d.most, last));
    rounds += __reduce_add_sync(~0u, (u32)(tiles_of(r) * (last + rounds_of(r, 0))));
    d.words++;
  }
  d.heads = larger((int)(ROOM / KEY_BYTES) / (d.keys > 0 ? d.keys : 1) * HEADS / H, 1);
  const float longest = 2.0f * d.most / (rounds + 1); // beside all tiles of a head
  d.last = d.heads;
  if (d.part == last_part(a, d)) d.last = larger(d.heads, (int)ceilf(LAST * teams() * STRIDE / CREWS * longest));
  d.steps = longest * tiles > UNEVEN ? STEPS : 1 << 30;
}

// The part's tiles with as many rounds as those at hand, of one head.
MLAF_DEV u32 tiles_alike(const mlaf_prefill_kernel_args& a, deal& d, int lane) {
  u32 n = 0;
#pragma unroll 1
  for (int word = 0; word < d.words; word++) {
    const request r = request_in(a, d, word, lane);
    n += fewer(r, d.top + 1) - fewer(r, d.low);
  }
  return __reduce_add_sync(~0u, n);
}

// Most rounds of the part's tiles that have fewer than those at hand; -1: there are none.
MLAF_DEV int most_below(const mlaf_prefill_kernel_args& a, deal& d, int lane) {
  int most = -1;
#pragma unroll 1
  for (int word = 0; word < d.words; word++) {
    const request r = request_in(a, d, word, lane);
    const int n = fewer(r, d.low);
    if (n > 0) most = larger(most, rounds_of(r, n - 1));
  }
  return __reduce_max_sync(~0u, most);
}

// The next tiles that have about the same number of rounds. False: there are no more. Of a few tiles over many keys only those
// numbers of rounds are looked at that there are.
MLAF_DEV bool next_rounds(const mlaf_prefill_kernel_args& a, deal& d, int lane) {
  do {
    d.top = d.steps == STEPS ? d.low - 1 : most_below(a, d, lane);
    d.low = d.top - d.top / d.steps;
    if (d.top < 0) { // the next group, or part
      d.head += d.now;
      if (d.head == HEADS) {
        if (d.part >= last_part(a, d)) return false;
        next_part(a, d, lane);
        d.head = 0;
      }
      const int rest = HEADS - d.head;
      d.now = rest <= d.last ? rest : smaller(d.heads, rest - d.last);
      d.low = d.most + 1;
      continue;
    }
    const u32 all = tiles_alike(a, d, lane) * d.now;
    d.next = STRIDE == 1 ? 0 : (crew() - d.passed) % STRIDE;
    d.left = all > d.next ? (all - d.next + STRIDE - 1) / STRIDE : 0;
    if (STRIDE > 1) d.passed += all;
    d.even = true;
  } while (d.left == 0);
  return true;
}

// The i-th of the tiles at hand.
MLAF_DEV void find_tile(const mlaf_prefill_kernel_args& a, deal& d, u32 at, int lane, tile& t) {
  t.head = (OWN_HEADS ? crew() * HEADS : 0) + d.head + (int)(at % d.now);
  int left = (int)(at / d.now);
#pragma unroll 1
  for (int word = 0;; word++) {
    const request r = request_in(a, d, word, lane);
    const int less = fewer(r, d.low), count = fewer(r, d.top + 1) - less;
    int through = count; // tiles of the lanes up to this one
#pragma unroll
    for (int i = 1; i < 32; i *= 2) {
      const int x = __shfl_up_sync(~0u, through, i);
      if (lane >= i) through += x;
    }
    const int all = __shfl_sync(~0u, through, 31);
    if (left >= all && word + 1 < d.words) {
      left -= all;
      continue;
    }
    const int owner = __ffs(__ballot_sync(~0u, through > left)) - 1;
    const int q = __shfl_sync(~0u, r.q, owner), k = __shfl_sync(~0u, r.k, owner);
    const int number = __shfl_sync(~0u, less - through + count, owner) + left, first = number * ROWS;
    t.row = __shfl_sync(~0u, r.row, owner) + first;
    t.rows = smaller(ROWS, q - first);
    t.key = __shfl_sync(~0u, r.key, owner);
    t.keys = k;
    t.seen = k - q + first + 1;
    t.rounds = rounds_of({q, k, 0, 0}, number);
    return;
  }
}

// True if a deal that has begun read the lengths that are there now. That is known of up to 32 requests.
MLAF_DEV bool same_lengths(const mlaf_prefill_kernel_args& a, const deal& d, int lane) {
  if (a.batch > 32 || d.part != 0 || d.word != 0) return false;
  const request r = request_of(a, 0, lane), was = d.at_hand;
  const bool same = r.q == was.q && r.k == was.k && r.row == was.row && r.key == was.key;
  return __all_sync(~0u, same) && d.keys == load_length(a.cu_seqlens_k + a.batch);
}

// This block's next tile, by all lanes. False: there are no more.
MLAF_DEV bool next_tile(const mlaf_prefill_kernel_args& a, deal& d, int lane, tile& t) {
  const u32 mine = me(), all = members();
  for (;;) {
    if (d.left == 0 && !next_rounds(a, d, lane)) return false;
    const u32 cost = (u32)(smaller(d.low + d.top, 1 << 20) + 3) << 8;
    u32 least = smaller(__reduce_min_sync(~0u, d.load), d.extra);
    const u32 past = least >> 8 << 8; // counted from the least one on
    if (d.load != ~0u) d.load -= past;
    if (d.extra != ~0u) d.extra -= past;
    least -= past;
    if (d.even) { // one each, if that is what it comes to: all blocks ask that at the same tiles
      const int one = d.load == ~0u ? 0 : (int)d.load, other = d.extra == ~0u ? 0 : (int)d.extra;
      const u32 most = (u32)__reduce_max_sync(~0u, larger(one, other));
      d.even = d.left >= all && most < least + cost;
      if (d.even) {
        const u32 at = d.next + mine * STRIDE;
        d.next += all * STRIDE;
        d.left -= all;
        find_tile(a, d, at, lane, t);
        return true; // all have had as much more
      }
    }
    u32 who = ~0u;
    for (; d.left > 0 && who != mine; d.left--, d.next += STRIDE) {
      least = smaller(__reduce_min_sync(~0u, d.load), d.extra);
      if (d.extra == least) d.extra += cost;
      else if (d.load == least) d.load += cost;
      who = least & 255;
    }
    if (who == mine) {
      find_tile(a, d, d.next - STRIDE, lane, t);
      return true;
    }
  }
}
