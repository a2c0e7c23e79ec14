// The work of a workgroup of a decode kernel: a split of one request, or, where the schedule is fitted
// (mla_decode/lib/fit_wave.h) and the launch cuts its batch, the pieces of a part, one after the other. All decisions are
// uniform, the same in all waves. The includer has H, Q_LEN, ROWS, PAGE, STEP (tokens of a round) and mla_decode/lib/grid.h;
// `fitted` says which schedule it is.
//@ needs("H", "PAGE", "Q_LEN", "ROWS", "STEP", "WAVES")
//@ include("mla_decode/lib/refuse.h", { fills = true })
struct piece {
  i64 row;                // first row of this workgroup, counted over all requests
  int rows;               // rows of the request from there on, at least 1
  int first_row;          // within the request
  int n;                  // query tokens of the request; 0: it is refused (mla_decode/lib/refuse.h), and its rows are all here
  int tokens, begin, end; // cached tokens of the request; those of this piece
  int first_page;         // into kv_indices
  i64 part;               // where part_o and part_lse have row 0 of all requests, so to speak
  bool final;             // straight to o and lse
};

// The entries that the tables have of a request.
struct entries {
  int q_begin, q_end, page, pages_end, last;
};
MLAF_DEV entries entries_of(const mlaf_decode_args& a, int request) {
  cints q = constants(a.qo_indptr) + request, pages = constants(a.kv_indptr) + request;
  return {q[0], q[1], pages[0], pages[1], constants(a.kv_last_page_lens)[request]};
}
// All at once, in one trip to memory, and not one where another is needed. `x`: what else comes with them.
MLAF_DEV void together(entries& e, int& x) {
  asm volatile("" : "+s"(e.q_begin), "+s"(e.q_end), "+s"(e.page), "+s"(e.pages_end), "+s"(e.last), "+s"(x));
}

// A request as its entries have it; false: no query token has a row here. (cached_tokens() of paging.h reads for itself.)
MLAF_DEV bool request_of(const entries& e, i64 total_q, int first_row, piece& x) {
  const int pages = e.pages_end - e.page, last = e.last < 0 ? 0 : smaller(e.last, PAGE);
  x.n = e.q_end - e.q_begin;
  x.first_row = first_row;
  x.row = (i64)e.q_begin * H + first_row;
  x.rows = x.n * H - first_row;
  if (is_refused(x.n, e.q_begin, e.q_end, (int)total_q)) {
    const int all = (int)total_q, from = e.q_begin > 0 ? smaller(e.q_begin, all) : 0, to = smaller(e.q_end, all);
    x.n = 0;
    x.row = (i64)from * H;
    x.rows = to > from ? (to - from) * H : 0;
  }
  x.first_page = e.page;
  x.tokens = uniform(pages > 0 ? (pages - 1) * PAGE + last : 0); // the clamp went through vector registers
  return x.rows > 0;
}
MLAF_DEV bool read_request(const mlaf_decode_args& a, int request, int first_row, piece& x) {
  entries e = entries_of(a, request);
  int none = 0;
  together(e, none);
  return request_of(e, a.total_q, first_row, x);
}

// This thread's share of the output of a refused request.
MLAF_DEV void refuse_piece(const mlaf_decode_args& a, const piece& x, int thread) {
  refuse(a, x.row, x.row + x.rows, x.final ? -1 : x.part, thread, 64 * WAVES);
}

//@ if invariant then
//@   needs("OWN_PARTS_BITS")
// Every request is cut by its own length (mla_decode/lib/own_cut.h). The parts of all requests, laid end to end, go to the groups
// of workgroups in turns: workgroup z of Z takes parts z, z + Z, ...
struct walk {
  int next;    // part that comes next; -1: none is left
  u32 mine;    // group of rows << 16
  int request; // first of the 64 requests that were looked at last
  int before;  // parts of all requests before it
};
struct asked {};

MLAF_DEV walk begin_walk(const mlaf_decode_args& a, int, asked&) {
  constexpr int GROUPS = (Q_LEN * H + ROWS - 1) / ROWS;
  const work mine = my_work<GROUPS>(1, fit_slots(a.splits));
  return {uniform(mine.request), (u32)uniform(mine.rows) << 16, 0, 0};
}
MLAF_DEV bool first_piece(int, asked&, walk&, piece&) { return false; } // next_piece() has them all
MLAF_DEV void forget(asked&, mlaf_decode_args& a) {
  asm volatile("" : "=s"(a.q), "=s"(a.ckv), "=s"(a.kpe), "=s"(a.kv_indices), "=s"(a.ckv_row_stride), "=s"(a.kpe_row_stride),
                    "=s"(a.num_pages), "=s"(a.scale_log2e));
}

// Parts of requests [first, first + 64), one a lane; none behind the batch's end.
MLAF_DEV int parts_of_lane(const mlaf_decode_args& a, int first, int lane, int most) {
  const int request = first + lane, at = smaller(request, a.batch - 1);
  const MLAF_GLOBAL int* const pages = (const MLAF_GLOBAL int*)(u64)a.kv_indptr + at;
  const int n = pages[1] - pages[0], last = ((const MLAF_GLOBAL int*)(u64)a.kv_last_page_lens)[at];
  const int tokens = n > 0 ? (n - 1) * PAGE + (last < 0 ? 0 : smaller(last, PAGE)) : 0;
  return request < a.batch ? own_parts(tokens, most) : 0;
}

MLAF_DEV bool next_piece(walk& w, piece& x) {
  const mlaf_decode_args a = arguments_again();
  asm volatile("" : "+s"(w.mine)); // what follows from it is not computed before the loop
  const int most = fit_splits(a.splits), lane = (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  while (w.request < a.batch) {
    const int parts = parts_of_lane(a, w.request, lane, most), wanted = w.next - w.before;
    int ahead = 0, all = 0; // parts of the lanes below this one, and of all
#pragma unroll
    for (int bit = 0; bit < OWN_PARTS_BITS; bit++) {
      const u64 some = __builtin_amdgcn_ballot_w64(parts >> bit & 1);
      ahead += (int)__builtin_amdgcn_mbcnt_hi((u32)(some >> 32), __builtin_amdgcn_mbcnt_lo((u32)some, 0)) << bit;
      all += __builtin_popcountl(some) << bit;
    }
    if (wanted >= all) {
      w.before += all;
      w.request += 64;
      continue;
    }
    const int owner = __builtin_ctzl(__builtin_amdgcn_ballot_w64(ahead <= wanted && wanted < ahead + parts));
    const int n = __builtin_amdgcn_readlane(parts, owner), k = wanted - __builtin_amdgcn_readlane(ahead, owner);
    w.next += fit_slots(a.splits);
    if (!read_request(a, w.request + owner, (int)(w.mine >> 16) * ROWS, x)) continue;
    x.begin = uniform(own_begin(x.tokens, n, k));
    x.end = uniform(own_begin(x.tokens, n, k + 1));
    x.final = n == 1 || x.n == 0; // of a refused one each part makes all rows NaN
    x.part = (i64)k * a.total_q * H;
    return true;
  }
  w.next = -1;
  return false;
}
//@ elseif fitted then
//@   needs("FIT_QUICK", "FIT_REQUESTS")
// Little, since it lives through the loops: what follows from it is computed anew for each piece.
struct walk {
  int next; // request; -1: none is left
  u32 mine; // the split of a request, or where the batch is cut the part; CUT; group of rows << 16
};
enum { WALK_CUT = 0x8000 };

// A workgroup's first loads, before it knows whether the batch is cut, all in one trip to memory: the entries of the request that
// is its own if it is not, and its lane's share of a quick look; and what of the arguments is not needed behind that.
struct asked {
  entries mine;
  int end, begin, next;
  fit_look look;
  int splits, batch;
  i64 total_q;
  float* part_o;
};

MLAF_DEV i64 total_of(const mlaf_decode_args& a) { return fit_start(constants(a.kv_indptr)[a.batch], a.batch, PAGE); }

MLAF_DEV void whole_piece(i64 total_q, int splits, int id, piece& x) {
  split_range(x.tokens, STEP, splits, id, x.begin, x.end);
  x.begin = uniform(x.begin); // the division went through vector registers
  x.end = uniform(x.end);
  x.final = splits == 1;
  x.part = (i64)id * total_q * H;
}

// A launch has a request at least. What comes behind this and needs none of it is done while it is in flight.
MLAF_DEV walk begin_walk(const mlaf_decode_args& a, int lane, asked& q) {
  arguments_together(a);
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
  const int at = smaller(lane, a.batch - 1);
  q.begin = table[at];
  q.next = table[at + 1];
  q.end = constants(a.kv_indptr)[a.batch];
  constexpr int GROUPS = (Q_LEN * H + ROWS - 1) / ROWS;
  const int splits = fit_splits(a.splits), slots = fit_slots(a.splits);
  const work mine = my_work<GROUPS>(splits, GROUPS > 1 ? uniform(fit_requests(splits, slots, a.batch)) : 0);
  const walk w = {uniform(mine.request), (u32)uniform(mine.rows) << 16 | (u32)uniform(mine.split)};
  q.mine = entries_of(a, smaller(w.next, a.batch - 1));
  __builtin_amdgcn_sched_barrier(0);
  q.splits = a.splits;
  q.batch = a.batch;
  q.total_q = a.total_q;
  q.part_o = a.part_o;
  q.look = fit_look_at(splits, slots, a.batch, PAGE);
  asm volatile("" : "+v"(q.look.page), "+v"(q.look.all), "+v"(q.look.rest));
  return w;
}

// True if a quick look says that all requests stay whole.
MLAF_DEV bool seen_whole(const asked& q, int lane) {
  int pages = q.next - q.begin;
  if (__builtin_expect(q.batch > 64, 0)) {
    if (q.batch > FIT_QUICK) return false;
    const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)arguments_again().kv_indptr;
    for (int i = lane + 64; i < q.batch; i += 64) {
      const int more = table[i + 1] - table[i];
      pages = more > pages ? more : pages;
    }
  }
  return !any_lane(!fit_is_short(q.look, pages, q.end));
}

// None of these values lives on behind a piece. Not zero: scalar registers, whatever the compiler thinks of a loop's variables.
MLAF_DEV void forget(asked& q, mlaf_decode_args& a) {
  entries& e = q.mine;
  asm volatile("" : "=s"(e.q_begin), "=s"(e.q_end), "=s"(e.page), "=s"(e.pages_end), "=s"(e.last), "=s"(q.end));
  asm volatile("" : "=s"(q.splits), "=s"(q.batch), "=s"(q.total_q), "=s"(q.part_o));
  asm volatile("" : "=v"(q.begin), "=v"(q.next), "=v"(q.look.page), "=v"(q.look.all), "=v"(q.look.rest));
  asm volatile("" : "=s"(a.q), "=s"(a.ckv), "=s"(a.kpe), "=s"(a.kv_indices), "=s"(a.ckv_row_stride), "=s"(a.kpe_row_stride),
                    "=s"(a.num_pages), "=s"(a.scale_log2e));
}

// The number of parts that the batch is cut into, which a quick look cannot tell; 0: it is not cut.
MLAF_DEV int parts_of(const mlaf_decode_args& a, int lane) {
  const int splits = fit_splits(a.splits), slots = fit_slots(a.splits);
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
  const i64 total = total_of(a);
  const int parts = fit_parts(splits, slots, a.batch, total);
  if (a.batch > FIT_REQUESTS) return parts;
  const float weight = fit_weight(splits, slots, parts, a.batch), limit = fit_limit(total, parts);
  bool cut = false;
  for (int i = lane; i < a.batch; i += 64) cut |= fit_is_long(table[i + 1] - table[i], PAGE, weight, limit);
  return any_lane(cut) ? parts : 0;
}

// Begins a workgroup. True: its piece is a split of a request. False: the batch is cut, and next_piece() has its first piece
// if w.next is not -1; or there is nothing for it to do.
MLAF_DEV bool first_piece(int lane, asked& q, walk& w, piece& x) {
  together(q.mine, q.end);
  asm volatile("" : "+v"(q.begin), "+v"(q.next), "+v"(lane)); // not a word of them before, nor what follows from lanes
  const int request = w.next, split = (int)(w.mine & 0x7fff), id = request * fit_splits(q.splits) + split;
  const u32 rows = w.mine & 0xffff0000;
  const bool teller = (id | (int)rows) == 0;
  w.next = -1;
  if (__builtin_expect(!seen_whole(q, lane), 0)) {
    const mlaf_decode_args a = arguments_again();
    const int parts = parts_of(a, lane);
    if (parts > 0) {
      if (teller && thread_id() == 0) fit_tell(a.part_o, parts);
      if (id >= parts) return false;
      const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
      const i64 lo = fit_width(total_of(a), parts) * id;
      w.next = uniform(fit_find(a.batch, lane, [&](int i) { return fit_start(table[i], i, PAGE) <= lo; }));
      w.mine = rows | WALK_CUT | (u32)id;
      return false;
    }
  }
  if (__builtin_expect(teller, 0) && thread_id() == 0) fit_tell(q.part_o, 0);
  const bool here = request_of(q.mine, q.total_q, (int)(rows >> 16) * ROWS, x);
  whole_piece(q.total_q, fit_splits(q.splits), split, x);
  return here && request < q.batch;
}

// The next piece of a part.
MLAF_DEV bool next_piece(walk& w, piece& x) {
  const mlaf_decode_args a = arguments_again();
  asm volatile("" : "+s"(w.mine)); // what follows from it is not computed before the loop
  const int splits = fit_splits(a.splits), id = (int)(w.mine & 0x7fff), first_row = (int)(w.mine >> 16) * ROWS;
  entries e = entries_of(a, w.next);
  int last = constants(a.kv_indptr)[a.batch];
  together(e, last);
  const i64 total = fit_start(last, a.batch, PAGE);
  const i64 width = fit_width(total, fit_parts(splits, fit_slots(a.splits), a.batch, total));
  const i64 lo = (i64)uniform((u64)(width * id)), hi = (i64)uniform((u64)(lo + width));
  while (w.next >= 0) {
    const int request = w.next;
    const bool here = request_of(e, a.total_q, first_row, x);
    const bool some = fit_piece(lo, hi, fit_start(x.first_page, request, PAGE), x.tokens, &x.begin, &x.end);
    w.next = request + 1 < a.batch && fit_start(e.pages_end, request + 1, PAGE) < hi ? request + 1 : -1;
    if ((!here || !some) && w.next >= 0) {
      e = entries_of(a, w.next);
      together(e, last);
    }
    if (!here || !some) continue;
    const int slot = fit_slot(id, x.begin, x.end, x.tokens);
    x.final = slot < 0 || x.n == 0;
    x.part = (i64)slot * (Q_LEN * H) + first_row - x.row;
    return true;
  }
  return false;
}
//@ else
MLAF_DEV bool only_piece(const mlaf_decode_args& a, piece& x) {
  const work mine = my_work<(Q_LEN * H + ROWS - 1) / ROWS>(a.splits, a.batch);
  if (!read_request(a, mine.request, mine.rows * ROWS, x)) return false;
  split_range(x.tokens, STEP, a.splits, mine.split, x.begin, x.end);
  x.begin = uniform(x.begin); // the division went through vector registers
  x.end = uniform(x.end);
  x.final = a.splits == 1;
  x.part = (i64)mine.split * a.total_q * H;
  return true;
}
//@ end
