// The new tokens, request and head that a block works on: found on the device, from cu_seqlens alone.
//
// Request r owns the blocks from (cu_seqlens_q[r] / ROWS + r) * H on, up to those of request r + 1. That are never fewer than it
// has tiles of ROWS tokens, times heads, and at most one tile more: so there is no list of tiles and no sum over requests. The
// block searches for its request, with all lanes of a warp (wave) at once: two steps for 4096 requests.
//
// Within a request groups of heads come one after the other, so that the keys and values of those at work at a time stay in the
// cache that they share; within a group the tile with the most keys first, all its heads beside each other.
//@ needs("ROWS", "H", "LANES", "CAUSAL", "HEADS_BYTES", "KEY_BYTES")
struct tile {
  i64 row;       // of Q: the first one
  int rows, head;
  int keys;      // of the request
  int seen;      // keys that the first row sees; each further one sees `step` more, at most `keys`
  i64 key;       // the request's first
  bool bad;      // the request's keys are not all there
};

// Keys that row i of a tile sees; 0 or less: none.
MLAF_DEV int seen_by(const tile& t, int i) { return CAUSAL ? t.seen + i : t.keys; }

MLAF_DEV int first_tile(const mlaf_prefill_kernel_args& a, int request, int cu) { return cu / ROWS + request; }

// The last request whose first tile is not behind `at`.
MLAF_DEV int find_request(const mlaf_prefill_kernel_args& a, int at, int lane) {
  int low = 0, width = a.batch;
  while (width > 1) {
    const int step = (width + LANES - 1) / LANES, i = lane * step;
    const bool before = i < width && first_tile(a, low + i, load_length(a.cu_seqlens_q + low + (i < width ? i : 0))) <= at;
    const int last = lanes_true(before) - 1;
    if (last < 0) return low;
    low += last * step;
    width = smaller(step, width - last * step);
  }
  return low;
}

// False: nothing to do.
MLAF_DEV bool find_tile(const mlaf_prefill_kernel_args& a, u32 block, int lane, int heads_at_once, tile& t) {
  const int request = same_in_all(find_request(a, (int)(block / H), lane));
  const int q0 = load_length(a.cu_seqlens_q + request), q1 = load_length(a.cu_seqlens_q + request + 1);
  const int k0 = load_length(a.cu_seqlens_k + request), k1 = load_length(a.cu_seqlens_k + request + 1);
  const int first = first_tile(a, request, q0), slots = first_tile(a, request + 1, q1) - first;
  if (q0 < 0 || q1 <= q0 || q1 > a.total_q || slots <= 0) return false;
  t.bad = k0 < 0 || k1 < k0 || k1 > a.total_k;
  t.keys = t.bad ? 0 : k1 - k0;
  t.key = k0;
  if (heads_at_once <= 0) { // as many as the cache has room for
    const i64 room = HEADS_BYTES / ((i64)(t.keys > 0 ? t.keys : 1) * KEY_BYTES);
    heads_at_once = room < 1 ? 1 : room > H ? H : (int)room;
  }
  const u32 local = block - (u32)first * H, group = local / (u32)(slots * heads_at_once);
  const u32 heads = smaller((u32)heads_at_once, H - group * heads_at_once), in = local - group * slots * heads_at_once;
  const int m = (q1 - q0 + ROWS - 1) / ROWS - 1 - (int)(in / heads); // a block that no tile is left for comes last
  t.head = (int)(group * heads_at_once + in % heads);
  if (m < 0) return false;
  t.row = q0 + (i64)m * ROWS;
  t.rows = smaller(ROWS, q1 - q0 - m * ROWS);
  t.seen = t.keys - (q1 - q0) + m * ROWS + 1;
  return true;
}
