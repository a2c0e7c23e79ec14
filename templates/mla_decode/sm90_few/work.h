// The work of a block, and its place in the ring. The includer has the constants N, H, C, Q_LEN, PAGE, NB, RING and
// BARS_AT, and says whether the schedule is `fitted`, and whether parts `meet` (mla_decode/lib/meet.h) or always leave what they
// cut to a combine kernel; `invariant`: every request is cut by its own length (mla_decode/lib/own_walk.h); `turns`: a block
// takes whole requests z, z + gridDim.z, ... one after the other.
//@ -- quiet: a walk may tell the combine kernel nothing (its `quiet`), as ahead of the wait for the launch before.
//@ needs("BARS_AT", "C", "H", "N", "NB", "PAGE", "Q_LEN", "RING")
//@ include("mla_decode/lib/refuse.h", { fills = true })

// ---- Which rows, which tokens -----------------------------------------------------------------------------------------
enum { REFUSED = 2 }; // of work's `bad`

struct work {
  i64 row;        // first row of this block, counted over all requests
  int rows;       // of its N that exist
  int row0;       // first row within the request
  int n;          // query tokens of the request
  int tokens;     // cached
  int begin, end; // of this piece; begin is a multiple of 64
  const int* pages;
  i64 part;       // partials: row of the request's row 0 in part_o and part_lse; -1: straight to the output
  int bad;        // 1: no page may be read. REFUSED + request: the piece has no rows (mla_decode/lib/refuse.h), and `part` is
                  // where part_o has row 0 of all requests
//@ if meet then
  int whom;       // parts before this one whose pieces of the request this block adds (mla_decode/lib/meet.h)
  bool whole;     // lengths are alike: this is a share of a request, or all of it
//@   if turns then
  bool last;      // and the block takes no other behind it
//@   end
//@ end
};

//@ local words = meet and "fit_apart(&a)" or quiet and "!at.quiet" or "true" -- a combine kernel's are to be written
//@ if invariant then
struct walk {
  own_walk parts;
  bool whole;
};

MLAF_DEV void begin_walk(const mlaf_decode_args&, walk& at) {
  at.parts = own_open();
  at.whole = false;
}
//@ else
struct walk {
  mlaf_part part;
//@ if turns then
  bool whole;
  int next; // request, of those that stay whole
//@ else
  mlaf_entry mine; // of the block's request, where there are no parts: it follows from the block's place in the grid
  bool whole, done;
//@ end
//@ if quiet then
  bool quiet;
//@ end
};

MLAF_DEV void begin_walk(const mlaf_decode_args& a, walk& at) {
//@ if turns then
  at.next = blockIdx.z;
//@ else
  at.done = (int)blockIdx.z >= a.batch;
//@ end
//@ if fitted then
//@   needs("PART")
//@   if turns then
  // The first request's entry is brought to L1 while the table is looked through.
  const mlaf_entry e = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1));
  const int longest = schedule_arrived(fit_longest(&a), e);
//@   else
  at.mine = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1)); // in flight while the table is looked through
  const int longest = fit_longest(&a);
//@   end
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  at.whole = !fit_cuts(&a, PAGE, gridDim.y, slots, parts, longest);
  const bool tells = blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && ${words};
//@   if late then
  if (!at.whole && fit_apart(&a)) wait_for_previous_launch();
  if (PART == 0 && tells && !at.whole) fit_tell(a.part_o, parts);
//@   else
  if (PART == 0 && tells) fit_tell(a.part_o, at.whole ? 0 : parts);
//@   end
  if (at.whole) return;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
//@   if meet then
  at.part = meet_open(&a, PAGE, PART, parts);
  if (PART >= parts) at.part.request = -1;
//@   else
  at.part = fit_open(&a, PAGE, PART, parts);
  if (PART >= parts) at.part.request = a.batch;
//@   end
//@ else
  at.whole = true;
  at.mine = schedule_entry(&a, blockIdx.z);
//@ end
}
//@ end

//@ if late and fitted then
// Tells the combine kernel that nothing is cut: behind the wait, since earlier launches may still read there.
MLAF_DEV void tell_whole(const mlaf_decode_args& a, const walk& at) {
  if (PART > 0 || blockIdx.x > 0 || !at.whole || !fit_apart(&a) || !a.part_o) return;
  wait_for_previous_launch();
  if (threadIdx.x % 32 == 0) fit_tell(a.part_o, 0);
}

//@ end
//@ -- take_piece() copies piece x into w and the variables of next_work().
//@ local function take_piece()
    request = x.request;
    q_begin = x.qo;
    q_tokens = x.q_tokens;
    first_page = x.first_page;
    w.tokens = x.tokens;
    w.begin = x.begin;
    w.end = x.end;
    slot = x.slot;
//@ end
// The block's next piece. The same sequence in every warp.
MLAF_DEV bool next_work(const mlaf_decode_args& a, walk& at, work& w) {
  for (;;) {
    int request = blockIdx.z, q_begin, q_tokens, first_page, slot;
//@ if meet then
    w.whole = at.whole;
//@   if turns then
    w.last = false;
//@   end
//@ end
//@ if invariant then
    mlaf_piece x;
    if (!own_next(a, PAGE, at.parts, x)) return false;
//@   take_piece()
//@ else
//@ if fitted then
    if (!at.whole) {
      mlaf_piece x;
//@   if meet then
      if (!meet_next(&a, PAGE, &at.part, &x, fit_apart(&a), &w.whom)) return false;
//@   else
      if (!fit_next(&a, PAGE, &at.part, &x)) return false;
//@   end
      if (fit_goes_on(&x) && blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && ${words})
        fit_list(a.part_o, PART, x.request);
//@   take_piece()
    } else
//@ end
    {
//@ local mine = turns and "mine" or "at.mine"
//@ if turns then
      if (at.next >= a.batch) return false;
      request = at.next;
      const mlaf_entry mine = schedule_entry(&a, at.next);
      at.next += gridDim.z;
//@   if meet then
      w.last = at.next >= a.batch;
//@   end
//@ else
      if (at.done) return false;
      at.done = true;
//@ end
      const int share = blockIdx.y, shares = gridDim.y;
      q_begin = ${mine}.qo;
      q_tokens = ${mine}.next_qo - q_begin;
      first_page = ${mine}.page;
      w.tokens = schedule_tokens(${mine}.next_page - first_page, ${mine}.last, PAGE);
      const u32 tiles = ((u32)w.tokens + 63) / 64, each = tiles / (u32)shares, more = tiles - each * (u32)shares;
      w.begin = 64 * (int)(each * (u32)share + smaller((u32)share, more));
      w.end = smaller(w.tokens, w.begin + 64 * (int)(each + ((u32)share < more)));
      slot = ${fitted and "fit_splits(&a)" or "a.splits"} == 1 ? -1 : (int)blockIdx.y / C;
    }
//@ end
    w.n = smaller(q_tokens, Q_LEN);
    w.row0 = blockIdx.x * N;
    if (w.n * H <= w.row0) continue;
    w.row = (i64)q_begin * H + w.row0;
    w.rows = smaller(w.n * H - w.row0, N);
    w.pages = a.kv_indices + first_page;
//@ if invariant then
    w.part = slot < 0 ? -1 : slot * (a.total_q * H) + (i64)q_begin * H;
//@ else
    w.part = slot < 0 ? -1 : at.whole ? slot * (a.total_q * H) + (i64)q_begin * H : (i64)slot * (Q_LEN * H);
//@ end
    w.bad = a.num_pages <= 0 && w.begin < w.end;
    if (w.bad) w.end = w.begin;
    if (is_refused(q_tokens, q_begin, q_begin + q_tokens, (int)a.total_q)) {
      w.bad = REFUSED + request;
      w.row = w.n = w.rows = 0;
      w.part = at.whole && slot >= 0 ? slot * (a.total_q * H) : -1;
//@ if meet then
      w.whom = 0;
//@ end
    }
    return true;
  }
}

// The rows of a refused request become NaN: by so many threads.
MLAF_DEV void refuse_request(const mlaf_decode_args& a, int bad, i64 part, int thread, int threads) {
  if (bad < REFUSED) return;
  const int* const q = a.qo_indptr + (bad - REFUSED);
  refuse(a, (i64)q[0] * H, (i64)q[1] * H, part, thread, threads);
}

MLAF_DEV int tiles_of(const work& w) { return (w.end - w.begin + 63) / 64; }

// A place in the ring: slot, how many times around (mod 2), and the number of the tile, from 1.
struct place {
  int slot;
  u32 lap;
  int tile;
};
MLAF_DEV void advance(place& at, int boxes) { // by less than two rings
  at.slot += boxes;
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (at.slot >= RING) {
      at.slot -= RING;
      at.lap ^= 1;
    }
}
// The place behind all tiles of a piece.
MLAF_DEV place behind(place at, int tiles) {
  const u32 slot = at.slot + (u32)(tiles * NB);
  return {(int)(slot % RING), at.lap ^ (slot / RING & 1), at.tile + tiles};
}
MLAF_DEV u32 full_barrier(u32 smem, int slot) { return smem + BARS_AT + 8 * slot; }
MLAF_DEV u32 empty_barrier(u32 smem, int slot) { return smem + BARS_AT + 8 * (RING + slot); }

// Row of a token in the cache; a page id that is none reads page 0.
MLAF_DEV u32 row_of(const mlaf_decode_args& a, int id, int token, bool& bad) {
  const bool outside = (u32)id >= (u32)a.num_pages;
  bad |= outside;
  return (u32)(outside ? 0 : id) * PAGE + (u32)token % PAGE;
}
