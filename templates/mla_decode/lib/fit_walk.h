// What a workgroup of a decode kernel works on: a split of one request, or, where the schedule is fitted
// (mla_decode/lib/fit_wave.h) and the launch cuts its batch, the pieces of a part, one after the other. All decisions are
// uniform, the same in all waves. The includer has H, Q_LEN, ROWS, PAGE, STEP (tokens of a round) and mla_decode/lib/grid.h;
// `fitted` says which schedule it is.
//@ needs("H", "PAGE", "Q_LEN", "ROWS", "STEP")
struct piece {
  i64 row;                // first row of this workgroup, counted over all requests
  int rows;               // rows of the request from there on, at least 1
  int first_row;          // within the request
  int n;                  // query tokens of the request
  int tokens, begin, end; // cached tokens of the request; those of this piece
  int first_page;         // into kv_indices
  i64 part;               // where part_o and part_lse have row 0 of all requests, so to speak
  bool final;             // straight to o and lse
};

// The request's entries in the tables; false: no query token has a row here.
MLAF_DEV bool read_request(const mlaf_decode_args& a, int request, int first_row, piece& x) {
  const int q_begin = constants(a.qo_indptr)[request];
  x.n = smaller(constants(a.qo_indptr)[request + 1] - q_begin, Q_LEN);
  x.first_row = first_row;
  x.row = (i64)q_begin * H + first_row;
  x.rows = x.n * H - first_row;
  x.tokens = cached_tokens<PAGE>(a, request, x.first_page);
  return x.rows > 0;
}

//@ if fitted then
//@   needs("FIT_REQUESTS")
// Little, since it lives through the loops: what follows from it is computed anew for each piece.
struct walk {
  int next; // request; -1: none is left
  u32 mine; // the split of a request, or where the batch is cut the part; CUT; group of rows << 16
};
enum { WALK_CUT = 0x8000 };

MLAF_DEV i64 total_of(const mlaf_decode_args& a) { return fit_start(constants(a.kv_indptr)[a.batch], a.batch, PAGE); }

MLAF_DEV walk begin_walk(const mlaf_decode_args& a, int lane) {
  const int splits = fit_splits(a.splits), slots = fit_slots(a.splits), requests = fit_requests(splits, slots, a.batch);
  const work mine = my_work<(Q_LEN * H + ROWS - 1) / ROWS>(splits, requests);
  const u32 rows = (u32)uniform(mine.rows) << 16;
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.kv_indptr;
  const i64 total = total_of(a);
  const int parts = fit_parts(splits, slots, a.batch, total), id = uniform(mine.request * splits + mine.split);
  bool cut = a.batch > FIT_REQUESTS;
  if (!cut) {
    const float weight = fit_weight(splits, slots, parts, a.batch), limit = fit_limit(total, parts);
    for (int i = lane; i < a.batch; i += 64) cut |= fit_is_long(table[i + 1] - table[i], PAGE, weight, limit);
    cut = any_lane(cut);
  }
  if (thread_id() == 0 && id == 0 && rows == 0) fit_tell(a.part_o, cut ? parts : 0);
  if (!cut) return {mine.request < a.batch ? uniform(mine.request) : -1, rows | (u32)uniform(mine.split)};
  if (id >= parts) return {-1, 0};
  const i64 lo = fit_width(total, parts) * id;
  const int first = fit_find(a.batch, lane, [&](int i) { return fit_start(table[i], i, PAGE) <= lo; });
  return {uniform(first), rows | WALK_CUT | (u32)id};
}

// The next piece of this workgroup.
MLAF_DEV bool next_piece(walk& w, piece& x) {
  const mlaf_decode_args a = arguments_again();
  const int splits = fit_splits(a.splits), id = (int)(w.mine & 0x7fff), first_row = (int)(w.mine >> 16) * ROWS;
  i64 width = 0;
  if (w.mine & WALK_CUT) {
    const i64 total = total_of(a);
    width = fit_width(total, fit_parts(splits, fit_slots(a.splits), a.batch, total));
  }
  const i64 lo = (i64)uniform((u64)(width * id)), hi = (i64)uniform((u64)(lo + width));
  while (w.next >= 0) {
    const int request = w.next;
    const bool here = read_request(a, request, first_row, x);
    if (!(w.mine & WALK_CUT)) {
      w.next = -1;
      split_range(x.tokens, STEP, splits, id, x.begin, x.end);
      x.begin = uniform(x.begin); // the division went through vector registers
      x.end = uniform(x.end);
      x.final = splits == 1;
      x.part = (i64)id * a.total_q * H;
      return here;
    }
    const i64 start = fit_start(x.first_page, request, PAGE);
    const bool some = fit_piece(lo, hi, start, x.tokens, &x.begin, &x.end);
    w.next = request + 1 < a.batch && fit_start(constants(a.kv_indptr)[request + 1], request + 1, PAGE) < hi ? request + 1 : -1;
    if (!here || !some) continue;
    const int slot = fit_slot(id, x.begin, x.end, x.tokens);
    x.final = slot < 0;
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
