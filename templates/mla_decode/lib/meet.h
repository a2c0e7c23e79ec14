// Parts of a batch (schedule.h) with the cut requests merged in the decode kernel: no combine kernel comes behind it.
//
//   part      |---------- 3 ----------|---------- 4 ----------|---------- 5 ----------|
//   request    ---- a ---][--- b ---][------------------- c -----------------][--- d ---
//   walked     3rd          2nd       1st            only            2nd        1st
//   who       owns a      finishes b  publishes       publishes     owns c      publishes
//
// A part is walked backwards: first the piece that goes on in a later part, last the one that began in an earlier one. The part
// with a request's end owns the request: it adds up the pieces, which all others publish, to their slot 0, with a word that says
// so. A part publishes at most one piece, as a rule long before its owner asks, and who waits, waits for parts with lower
// numbers, whose blocks are launched earlier: whatever else runs on the device, they end without him.
//
// A long request has a piece in each of many parts, and one block would add them up for longer than it computed. So they meet
// in a tree of radix 4. Pieces are counted from the request's begin; a piece whose number ends in k threes, to the base 4, is
// published with the 4^k - 1 before it added to it: three pieces, then three that stand for 4, three that stand for 16, ... The
// owner adds what is left, digit by digit of its number:
//
//   piece     0 1 2 [3]   4 5 6 [7]   8 9 10 [11]   12 13 14 [15]   16 17 owner 18     18 = 102 to the base 4
//             [3] adds 0 1 2, ..., [15] adds 12 13 14, then 11 7 3; the owner 17 16, then 15
//
// The word is the first of the place that the schedule's other use has for slot 1, row by row block, which is free here. Nobody
// clears it before the launch: it is READY or it is not, whatever else the workspace held. READY is two signalling NaNs that no
// arithmetic makes. Whoever takes a word leaves 0, so that a launch leaves none behind, and a captured launch may run again; a
// part resets its own at its begin all the same.
// Tables that contradict themselves (kv_indptr that decreases) may make a part wait for what nobody publishes: after WAIT_NS it
// goes on with NaN for the request.
//@ needs("H", "MEET_ROWS", "PART", "Q_LEN", "R", "SCHEDULE_FIXED")

// Whom a part waits for, as one number: of the digits of its piece's number, those it adds up. 0: nobody.
MLAF_DEV int meet_whom(int before, int owner) {
  int all = 1;
  if (owner) return before;
  while ((before & all) == all && (before & 2 * all) != 0) all <<= 2; // a digit that is 3
  return before & (all - 1);
}
MLAF_DEV int meet_count(int whom) {
  int n = 0;
  for (; whom > 0; whom >>= 2) n += whom & 3;
  return n;
}
// The k-th of them, from the last to the first.
MLAF_DEV int meet_part(int id, int whom, int k) {
  int step = 1;
  for (; k >= (whom & 3); whom >>= 2, step <<= 2) {
    k -= whom & 3;
    id -= (whom & 3) * step;
  }
  return id - 1 - k * step;
}

// Begin to walk part `id` of `parts` backwards, as part_open(). In between, `page` and `start` are those behind `request`.
MLAF_DEV struct mlaf_part meet_open(const struct mlaf_decode_args* a, int page_size, int id, int parts) {
  struct mlaf_part p;
  const int mine = schedule_sample(a->kv_indptr, 0, (a->batch + 31) / 32, a->batch, 0);
  const i64 total = schedule_start(a->kv_indptr[a->batch], a->batch, page_size);
  const i64 width = fit_width(total, parts);
  p.id = id;
  p.lo = width * id;
  p.hi = p.lo + width;
  p.request = schedule_find(a->kv_indptr, mine, a->batch, page_size, (p.hi < total ? p.hi : total) - 1, 0);
  p.page = a->kv_indptr[p.request + 1];
  p.start = schedule_start(p.page, p.request + 1, page_size);
  return p;
}

// Number of parts of `width` before this one that hold tokens of a request whose first token lies `behind` positions before it;
// none has a number below 0. A float's quotient, set right: a 64-bit division takes registers that not all loaders have.
MLAF_DEV int meet_before(i64 behind, i64 width, int most) {
  if (behind <= 0) return 0;
  const float guess = (float)behind / (float)width;
  int n = guess < (float)most ? (int)guess : most;
  while (n > 0 && (n - 1) * width >= behind) n--;
  while (n < most && n * width < behind) n++;
  return n;
}

// The part's next piece backwards, as part_next(), and whom this part waits for: those that publish more of the request. A piece
// to publish has a slot. One that began in an earlier part is the last of the walk.
// apart: a combine kernel adds the pieces (mla_decode/lib/fit.h). Then nobody waits, and every piece of a request that was cut
// has a slot: the last one of a request its part's slot 1, the others slot 0.
MLAF_DEV int meet_next(const struct mlaf_decode_args* a, int page_size, struct mlaf_part* p, struct mlaf_piece* x,
                       int apart, int* whom) {
  while (p->request >= 0 && p->start > p->lo) {
    const int b = p->request--, next_page = p->page;
    p->page = a->kv_indptr[b];
    p->start = schedule_start(p->page, b, page_size);
    if (!part_piece(a, page_size, p, b, p->page, next_page, x)) continue;
    x->slot = x->end < x->tokens ? 2 * p->id : -1;
    *whom = 0;
    if (x->begin > 0) {
      p->request = -1;
      if (apart) x->slot = fit_slot(p, x);
      else *whom = meet_whom(meet_before(p->lo - p->start - SCHEDULE_FIXED, p->hi - p->lo, p->id), x->slot < 0);
    }
    return 1;
  }
  return 0;
}

// The includer has H, Q_LEN, R, MEET_ROWS (rows of a block), PART (this block's) and not_a_number().
#if defined(__CUDACC__) && defined(MEET_ROWS)
constexpr u64 READY = 0xffb7c0deffa5d00ful, WAIT_NS = 4000000000ul;

MLAF_DEV u64 nanoseconds() {
  u64 t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// A part's place for the pieces that it publishes, of the block's rows on, and the word that says that one is there.
MLAF_DEV i64 part_row(int part) { return (i64)(2 * part) * (Q_LEN * H) + MEET_ROWS * blockIdx.x; }
MLAF_DEV float* word_of(const mlaf_decode_args& a, int part) { return a.part_o + (part_row(part) + Q_LEN * H) * R; }

// Run by the thread that publishes, before all else: what a launch with contradictory tables left there says nothing of this one.
// An owner that asks before is in a block launched later, and has worked on its own tokens first.
MLAF_DEV void meet_begin(const mlaf_decode_args& a) {
  if (a.part_o) asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word_of(a, PART)), "l"(0ul) : "memory");
}

// Run by one thread, behind a barrier of all that wrote what is published.
MLAF_DEV void meet_publish(float* word) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(READY) : "memory");
}

// Waits until the piece is published; then what was written before is there for this thread, and for those that meet it at a
// barrier. If it does not come in time, the LSEs of its rows become NaN.
MLAF_DEV void meet_take(float* word, float* lse, int rows) {
  u64 x;
  for (const u64 begin = nanoseconds();;) {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(word) : "memory");
    if (x == READY) break;
    if (nanoseconds() - begin <= WAIT_NS) continue;
    for (int i = 0; i < rows; i++) lse[i] = not_a_number();
    return;
  }
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(0ul) : "memory");
}
#endif
