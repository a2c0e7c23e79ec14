// Parts of a batch: the tokens of all requests are laid end to end and cut into equal parts, one per workgroup. Nothing is
// computed before the launch: kv_indptr already is the prefix sum that says where each request begins.
//
//   position  0 ...................................................................................... total
//             [fixed| tokens of request 0   ][fixed| request 1 ][fixed| request 2                 ]
//   part      |----------- 0 -----------|----------- 1 -----------|----------- 2 -----------|--- ...
//
// A request takes as many positions as its pages hold tokens, and SCHEDULE_FIXED before them for what takes time whatever the
// length (Q, O; gen/ops/mla_decode/plans/schedule.lua has it by family). A boundary at position x cuts a request after the grains
// of tokens that begin before x, so neighbours agree on a cut without talking: each grain belongs to exactly one part, a request
// without tokens to the part its first position lies in.
// A piece that is a whole request is finished where it is computed. Of the others a part has at most two: one that began in an
// earlier part (its slot 0) and one that goes on in a later part (slot 1). The combine kernel finds the same cuts by the same
// formula.
//
// Plain C, so that a test can run it on the host over any batch. The includer has integer types u32, u64, i64, MLAF_DEV,
// SCHEDULE_FIXED (a multiple of the grain) and struct mlaf_decode_args.
//@ needs("SCHEDULE_FIXED")

#define SCHEDULE_GRAIN 64 // tokens: pieces begin at multiples of it

struct mlaf_part { // where a part's walk stands
  i64 lo, hi;      // its positions
  i64 start;       // position of `request`
  int request;     // the next one
  int page;        // kv_indptr[request]
  int id;
};

struct mlaf_piece {
  int request;
  int qo, q_tokens; // first query token and how many, at least 1
  int first_page;   // into kv_indices
  int tokens;       // cached by the request
  int begin, end;   // those of this piece: empty only when tokens is 0
  int slot;         // -1: all of the request, to o and lse. Else its place in part_o and part_lse
};

struct mlaf_shares { // positions of parts: the first `more` parts have one more than `each`
  u64 each, more;
};

// The usual case in 32 bits: a 64-bit division is a hundred instructions.
MLAF_DEV u64 schedule_divide(u64 x, u64 by) { return (x | by) >> 32 ? x / by : (u32)x / (u32)by; }

MLAF_DEV struct mlaf_shares schedule_shares(i64 total, int parts) {
  struct mlaf_shares s;
  s.each = schedule_divide((u64)total, (u32)parts);
  s.more = (u64)total - s.each * (u32)parts;
  return s;
}

// First position of a part; that of part `parts` is the end.
MLAF_DEV i64 schedule_bound(struct mlaf_shares s, int part) {
  return (i64)(s.each * (u32)part + ((u32)part < s.more ? (u32)part : s.more));
}

// The part a position lies in.
MLAF_DEV int schedule_part_at(struct mlaf_shares s, i64 x) {
  const u64 wide = s.more * (s.each + 1);
  if ((u64)x < wide) return (int)schedule_divide((u64)x, s.each + 1);
  return (int)(s.more + schedule_divide((u64)x - wide, s.each)); // each is 0 only when all positions lie in the wide ones
}

MLAF_DEV i64 schedule_start(int page, int request, int page_size) {
  return (i64)page * page_size + (i64)request * SCHEDULE_FIXED;
}

// Tokens before a cut that lies `x` positions behind the request's first: rounded up, so that a cut at or behind the request's
// end, where its last page may hold fewer than it could, has all of them before it.
MLAF_DEV int schedule_cut(i64 x, int tokens) {
  if (x <= SCHEDULE_FIXED) return 0;
  const i64 t = (x - SCHEDULE_FIXED + SCHEDULE_GRAIN - 1) / SCHEDULE_GRAIN * SCHEDULE_GRAIN;
  return t < tokens ? (int)t : tokens;
}

// Tokens of a request: never more than its pages hold.
MLAF_DEV int schedule_tokens(int pages, int last, int page_size) {
  if (pages <= 0) return 0;
  last = last < 0 ? 0 : last > page_size ? page_size : last;
  return (pages - 1) * page_size + last;
}

// The tables' facts of a request.
struct mlaf_entry {
  int qo, next_qo, page, next_page, last;
};
#ifdef __CUDACC__
// Loads that stay where they are: what comes next is in flight before it is known whether it is wanted.
MLAF_DEV int schedule_load(const int* from) {
  int x;
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(x) : "l"(from));
  return x;
}
#else
MLAF_DEV int schedule_load(const int* from) { return *from; }
#endif
// `known`, which is not negative, behind loads of an entry, which stay in flight until it is there. The compiler does not know
// that the larger of it and the smaller of 0 and whatever was loaded is always the same.
MLAF_DEV int schedule_arrived(int known, struct mlaf_entry x) {
#ifdef __CUDACC__
  asm volatile("{\n.reg .b32 all;\nor.b32 all, %0, %1;\nor.b32 all, all, %2;\nor.b32 all, all, %3;\n"
               "or.b32 all, all, %4;\nor.b32 all, all, %5;\n"
               "min.s32 all, all, 0;\nmax.s32 %0, %0, all;\n}"
               : "+r"(known) : "r"(x.qo), "r"(x.next_qo), "r"(x.page), "r"(x.next_page), "r"(x.last));
#else
  (void)x;
#endif
  return known;
}
MLAF_DEV struct mlaf_entry schedule_entry(const struct mlaf_decode_args* a, int request) {
  struct mlaf_entry x;
  x.page = schedule_load(a->kv_indptr + request);
  x.next_page = schedule_load(a->kv_indptr + request + 1);
  x.last = schedule_load(a->kv_last_page_lens + request);
  x.qo = schedule_load(a->qo_indptr + request);
  x.next_qo = schedule_load(a->qo_indptr + request + 1);
  return x;
}

#ifdef __CUDACC__
// Number of the 32 entries table[low + step], table[low + 2 step], ... below high that lie at or before position x, when value
// (entry) = page and requests grow together. `mine` is this lane's entry, loaded before x was known.
MLAF_DEV int schedule_votes(const int* table, int mine, int low, int step, int high, int page_size, i64 x) {
  const int at = low + ((int)(threadIdx.x & 31) + 1) * step;
  return __popc(__ballot_sync(~0u, at < high && schedule_start(mine, at, page_size) <= x));
}
MLAF_DEV int schedule_sample(const int* table, int low, int step, int high, int early) {
  const int at = low + ((int)(threadIdx.x & 31) + 1) * step;
  const int* const entry = table + (at < high ? at : high);
  return early ? load_past_l1(entry) : *entry;
}
#else
MLAF_DEV int schedule_votes(const int* table, int mine, int low, int step, int high, int page_size, i64 x) {
  int n = 0;
  (void)mine;
  for (int lane = 0; lane < 32; lane++) {
    const int at = low + (lane + 1) * step;
    n += at < high && schedule_start(table[at], at, page_size) <= x;
  }
  return n;
}
MLAF_DEV int schedule_sample(const int* table, int low, int step, int high, int early) {
  (void)step;
  (void)early;
  return table[high < low ? low : high];
}
#endif

// The last of `n` requests whose first position is at or before x. `mine`: this lane's sample of the first round. `early`: before
// the launch before is over, when the table may still change, and must leave nothing in L1.
MLAF_DEV int schedule_find(const int* table, int mine, int n, int page_size, i64 x, int early) {
  int low = 0, high = n;
  for (;;) {
    const int step = (high - low + 31) / 32;
    low += step * schedule_votes(table, mine, low, step, high, page_size, x);
    if (step <= 1) return low;
    high = low + step < high ? low + step : high;
    mine = schedule_sample(table, low, (high - low + 31) / 32, high, early);
  }
}

// Begin to walk part `id`. All lanes of a warp together; every warp that asks gets the same answer. Two loads deep up to 1024
// requests: the samples and the total, then the second round.
MLAF_DEV struct mlaf_part part_open(const struct mlaf_decode_args* a, int page_size, int id) {
  struct mlaf_part p;
  const int mine = schedule_sample(a->kv_indptr, 0, (a->batch + 31) / 32, a->batch, 0);
  const i64 total = schedule_start(a->kv_indptr[a->batch], a->batch, page_size);
  const struct mlaf_shares s = schedule_shares(total, a->splits);
  p.id = id;
  p.lo = schedule_bound(s, id);
  p.hi = schedule_bound(s, id + 1);
  p.request = schedule_find(a->kv_indptr, mine, a->batch, page_size, p.lo, 0);
  p.page = a->kv_indptr[p.request];
  p.start = schedule_start(p.page, p.request, page_size);
  return p;
}

// The part's share of request b, whose pages are those from first_page up to next_page, but for the slot; 0: nothing.
MLAF_DEV int part_piece(const struct mlaf_decode_args* a, int page_size, const struct mlaf_part* p, int b, int first_page,
                        int next_page, struct mlaf_piece* x) {
  const i64 start = schedule_start(first_page, b, page_size);
  const int tokens = schedule_tokens(next_page - first_page, a->kv_last_page_lens[b], page_size);
  const int qo = a->qo_indptr[b], q_tokens = a->qo_indptr[b + 1] - qo;
  const int begin = schedule_cut(p->lo - start, tokens), end = schedule_cut(p->hi - start, tokens);
  if (q_tokens <= 0 || (tokens > 0 ? begin >= end : start < p->lo)) return 0;
  x->request = b;
  x->qo = qo;
  x->q_tokens = q_tokens;
  x->first_page = first_page;
  x->tokens = tokens;
  x->begin = begin;
  x->end = end;
  return 1;
}

// The part's next piece; 0: there is none left. Uniform; loads six words of the tables for every request it looks at.
MLAF_DEV int part_next(const struct mlaf_decode_args* a, int page_size, struct mlaf_part* p, struct mlaf_piece* x) {
  while (p->request < a->batch && p->start < p->hi) {
    const int b = p->request++, first_page = p->page;
    const i64 start = p->start;
    p->page = a->kv_indptr[b + 1];
    p->start = schedule_start(p->page, b + 1, page_size);
    if (!part_piece(a, page_size, p, b, first_page, p->page, x)) continue;
    x->slot = x->end - x->begin == x->tokens ? -1 : 2 * p->id + (start < p->lo ? 0 : 1);
    return 1;
  }
  return 0;
}

// The parts [first, last] that hold positions of request b, for the combine kernel.
MLAF_DEV void request_parts(struct mlaf_shares s, i64 start, i64 end, int* first, int* last) {
  *first = schedule_part_at(s, start);
  *last = schedule_part_at(s, end - 1);
}

// The slot of part `id` that holds a piece of the request of `tokens` at `start`; -1: it holds none, or all of it.
MLAF_DEV int request_slot(struct mlaf_shares s, i64 start, int tokens, int id) {
  const i64 lo = schedule_bound(s, id), hi = schedule_bound(s, id + 1);
  const int from = schedule_cut(lo - start, tokens), to = schedule_cut(hi - start, tokens);
  return from >= to || to - from == tokens ? -1 : 2 * id + (start < lo ? 0 : 1);
}
