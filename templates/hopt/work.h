// What a block does, and where in the ring. The includer has the constants N, H, C, Q_LEN, PAGE, BALANCED, NB, RING and BARS_AT,
// and says whether the schedule is `merged`.

// ---- Which rows, which tokens -----------------------------------------------------------------------------------------
struct work {
  i64 row;        // first row of this block, counted over all requests
  int rows;       // of its N that exist
  int row0;       // first row within the request
  int n;          // query tokens of the request
  int tokens;     // cached
  int begin, end; // of this range; begin is a multiple of 64
  const int* pages;
  i64 part;       // partials: row of the request's row 0 in part_o and part_lse; -1: straight to the output
  bool bad;       // no page may be read
//@ if merged then
  int others;     // parts right before this one whose pieces of the request this block adds
//@ end
};

struct walk {
  mlaf_part part;
  bool done;
};

MLAF_DEV void begin_walk(const mlaf_decode_args& a, walk& at) {
  at.done = false;
  if (BALANCED) at.part = ${merged and "meet" or "part"}_open(&a, PAGE, blockIdx.y);
}

// The block's next range. The same sequence in every warp.
MLAF_DEV bool next_work(const mlaf_decode_args& a, walk& at, work& w) {
  for (;;) {
    int q_begin, first_page, slot;
    if (BALANCED) {
      mlaf_piece x;
      if (!${merged and "meet_next(&a, PAGE, &at.part, &x, &w.others)" or "part_next(&a, PAGE, &at.part, &x)"}) return false;
      q_begin = x.qo;
      w.n = smaller(x.q_tokens, Q_LEN);
      first_page = x.first_page;
      w.tokens = x.tokens;
      w.begin = x.begin;
      w.end = x.end;
      slot = x.slot;
    } else {
      if (at.done) return false;
      at.done = true;
      const int request = blockIdx.z, share = blockIdx.y, shares = gridDim.y;
      q_begin = a.qo_indptr[request];
      w.n = smaller(a.qo_indptr[request + 1] - q_begin, Q_LEN);
      first_page = a.kv_indptr[request];
      w.tokens = schedule_tokens(a.kv_indptr[request + 1] - first_page, a.kv_last_page_lens[request], PAGE);
      const u32 tiles = ((u32)w.tokens + 63) / 64, each = tiles / (u32)shares, more = tiles - each * (u32)shares;
      w.begin = 64 * (int)(each * (u32)share + smaller((u32)share, more));
      w.end = smaller(w.tokens, w.begin + 64 * (int)(each + ((u32)share < more)));
      slot = a.splits == 1 ? -1 : (int)blockIdx.y / C;
    }
    w.row0 = blockIdx.x * N;
    if (w.n * H <= w.row0) continue;
    w.row = (i64)q_begin * H + w.row0;
    w.rows = smaller(w.n * H - w.row0, N);
    w.pages = a.kv_indices + first_page;
    w.part = slot < 0 ? -1 : BALANCED ? (i64)slot * (Q_LEN * H) : slot * (a.total_q * H) + (i64)q_begin * H;
    w.bad = a.num_pages <= 0 && w.begin < w.end;
    if (w.bad) w.end = w.begin;
    return true;
  }
}

MLAF_DEV int tiles_of(const work& w) { return (w.end - w.begin + 63) / 64; }

// A place in the ring: slot, how many times around (mod 2), and the number of the tile, from 1.
struct place {
  int slot;
  u32 turn;
  int tile;
};
MLAF_DEV void advance(place& at, int boxes) { // by less than two rings
  at.slot += boxes;
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (at.slot >= RING) {
      at.slot -= RING;
      at.turn ^= 1;
    }
}
// The place behind all tiles of a range.
MLAF_DEV place behind(place at, int tiles) {
  const u32 slot = at.slot + (u32)(tiles * NB);
  return {(int)(slot % RING), at.turn ^ (slot / RING & 1), at.tile + tiles};
}
MLAF_DEV u32 full_barrier(u32 smem, int slot) { return smem + BARS_AT + 8 * slot; }
MLAF_DEV u32 empty_barrier(u32 smem, int slot) { return smem + BARS_AT + 8 * (RING + slot); }

// Row of a token in the cache; a page id that is none reads page 0.
MLAF_DEV u32 row_of(const mlaf_decode_args& a, int id, int token, bool& bad) {
  const bool outside = (u32)id >= (u32)a.num_pages;
  bad |= outside;
  return (u32)(outside ? 0 : id) * PAGE + (u32)token % PAGE;
}
