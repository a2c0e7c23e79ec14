// The balanced schedule (schedule.h) with the cut requests merged in the decode kernel: no combine kernel comes behind it.
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
// The word is the first of the place that the schedule's other use has for slot 1, row by row block, which is free here. Nobody
// clears it before the launch: it is READY or it is not, whatever else the workspace held. READY is two signalling NaNs that no
// arithmetic makes. Whoever takes a word leaves 0, so that a launch leaves none behind, and a captured launch may run again.
// Tables that contradict themselves (kv_indptr that decreases) may make a part wait for what nobody publishes: after WAIT_NS it
// goes on with NaN for the request.

MLAF_DEV i64 meet_later(i64 a, i64 b) { return a < b ? b : a; }

// A part no narrower than a grain: then no part between a request's first tokens and its last is without a piece of it.
MLAF_DEV struct mlaf_shares meet_shares(i64 total, int parts) {
  struct mlaf_shares s = schedule_shares(total, parts);
  if (s.each < SCHEDULE_GRAIN) {
    s.each = SCHEDULE_GRAIN;
    s.more = 0;
  }
  return s;
}

// Begin to walk part `id` backwards, as part_open(). In between, `page` and `start` are those behind `request`.
MLAF_DEV struct mlaf_part meet_open(const struct mlaf_decode_args* a, int page_size, int id) {
  struct mlaf_part p;
  const int mine = schedule_sample(a->kv_indptr, 0, (a->batch + 31) / 32, a->batch, 0);
  const i64 total = schedule_start(a->kv_indptr[a->batch], a->batch, page_size);
  const struct mlaf_shares s = meet_shares(total, a->splits);
  p.id = id;
  p.lo = schedule_bound(s, id);
  p.hi = schedule_bound(s, id + 1);
  p.request = schedule_find(a->kv_indptr, mine, a->batch, page_size, (p.hi < total ? p.hi : total) - 1, 0);
  p.page = a->kv_indptr[p.request + 1];
  p.start = schedule_start(p.page, p.request + 1, page_size);
  return p;
}

// The part's next piece backwards, as part_next(). `others`: this piece is its request's end, and so many parts right before this
// one publish the rest of it. A piece to publish has a slot. One that began in an earlier part is the last of the walk.
MLAF_DEV int meet_next(const struct mlaf_decode_args* a, int page_size, struct mlaf_part* p, struct mlaf_piece* x, int* others) {
  while (p->request >= 0 && p->start > p->lo) {
    const int b = p->request--, first_page = a->kv_indptr[b];
    const int tokens = schedule_tokens(p->page - first_page, a->kv_last_page_lens[b], page_size);
    const int qo = a->qo_indptr[b], q_tokens = a->qo_indptr[b + 1] - qo;
    const i64 start = schedule_start(first_page, b, page_size);
    p->page = first_page;
    p->start = start;
    const int begin = schedule_cut(p->lo - start, tokens);
    const int end = schedule_cut(p->hi - start, tokens);
    if (q_tokens <= 0 || (tokens > 0 ? begin >= end : start < p->lo)) continue;
    x->request = b;
    x->qo = qo;
    x->q_tokens = q_tokens;
    x->first_page = first_page;
    x->tokens = tokens;
    x->begin = begin;
    x->end = end;
    x->slot = end < tokens ? 2 * p->id : -1;
    *others = 0;
    if (begin > 0) p->request = -1;
    if (begin > 0 && end == tokens) {
      const i64 total = schedule_start(a->kv_indptr[a->batch], a->batch, page_size);
      const int first = schedule_part_at(meet_shares(total, a->splits), meet_later(start + SCHEDULE_FIXED, 0));
      *others = first < p->id ? p->id - first : 0;
    }
    return 1;
  }
  return 0;
}

#ifdef __CUDACC__
constexpr u64 READY = 0xffb7c0deffa5d00ful, WAIT_NS = 4000000000ul;

MLAF_DEV u64 nanoseconds() {
  u64 t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// By one thread, behind a barrier of all that wrote what is published.
MLAF_DEV void meet_publish(float* word) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(READY) : "memory");
}

// Until the piece is published; then what was written before is there for this thread, and for those that meet it at a barrier.
// If it does not come in time, the LSEs of its rows become NaN.
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
