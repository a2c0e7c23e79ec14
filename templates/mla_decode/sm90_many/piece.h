// The work of a block of the many-rows Hopper kernels: pieces of a request's tokens for ROWS of its rows, walked alike by all
// warps that need them. The includer has H, Q_LEN, PAGE, BOX, ROWS and FACTS_AT (facts in shared memory), and says whether
// the launch is `fitted`: it may cut the batch; `invariant`: it cuts every request by its own length (mla_decode/lib/own_walk.h);
// `whole`: it has one split, and no shares along y; `clusters`: the blocks along y share each request that stays whole.
//@ needs("BOTH", "BOX", "FACTS_AT", "H", "PAGE", "Q_LEN", "ROWS")
//@ include("mla_decode/lib/refuse.h", { fills = true })
struct piece {
  int request, begin, end, tokens; // cached tokens [begin, end) of `tokens`
  int first_page, n;               // query tokens, as qo_indptr has it
  i64 row;                         // first row of this block, over all requests
//@ if fitted then
  int part;                        // its place in part_o and part_lse (rows there are fewer than 2^31), -1: straight to o and lse
//@ end
  bool bad;                        // a cache without pages
};

//@ if invariant then
typedef own_walk walk;
MLAF_DEV walk begin_walk(const mlaf_decode_args&) { return own_open(); }

MLAF_DEV bool next_of_walk(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
  mlaf_piece y;
  if (!own_next(a, PAGE, w, y)) return false;
  qo = y.qo;
  x.request = y.request, x.begin = y.begin, x.end = y.end, x.tokens = y.tokens, x.first_page = y.first_page;
  x.n = y.q_tokens;
  x.part = y.slot < 0 ? -1 : (y.slot * (int)a.total_q + qo) * H + ROWS * (int)blockIdx.x;
  return true;
}
//@ else
struct walk {
//@ if fitted then
  mlaf_part part;
//@ end
  int request; // the next one; fitted: -1 where the batch is cut
};

MLAF_DEV walk begin_walk(const mlaf_decode_args& a) {
//@ if fitted then
//@   needs("PART")
//@   local shares = whole and "1u" or "gridDim.y" -- of a request
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(${shares} * gridDim.z));
  walk w;
  // The next piece if requests stay whole is brought to L1 while the table is looked through.
  const mlaf_entry e = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1));
  const int longest = schedule_arrived(fit_longest(&a), e);
  w.request = fit_cuts(&a, PAGE, ${shares}, slots, parts, longest) ? -1 : (int)blockIdx.z;
//@   if ahead then
  if (w.request >= 0) return w; // what is told of it is written behind the wait: tell_cuts()
//@   else
  const bool tells = blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o;
  if (PART == 0 && tells) fit_tell(a.part_o, w.request < 0 ? parts : 0);
  if (w.request >= 0) return w;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
//@   end
  w.part = fit_open(&a, PAGE, PART, parts);
  if (PART >= parts) w.part.request = a.batch;
  return w;
//@ else
  return {(int)blockIdx.z};
//@ end
}

// The next request's piece of this block's split.
MLAF_DEV bool next_range(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
//@ if whole then
  if (w.request >= a.batch) return false;
  x.request = w.request;
  w.request += gridDim.z;
  const mlaf_entry e = schedule_entry(&a, x.request);
  qo = e.qo;
  x.n = e.next_qo - qo;
  x.first_page = e.page;
  x.tokens = schedule_tokens(e.next_page - e.page, e.last, PAGE);
  x.begin = 0, x.end = x.tokens, x.part = -1;
  return true;
//@ else
  const int splits = ${clusters and "TOGETHER" or fitted and "fit_splits(&a)" or "a.splits"};
  if (w.request >= a.batch || (int)blockIdx.y >= splits) return false;
  x.request = w.request;
  w.request += gridDim.z;
  qo = a.qo_indptr[x.request];
  x.n = a.qo_indptr[x.request + 1] - qo;
  x.tokens = cached_tokens<PAGE>(a, x.request, x.first_page);
  split_range(x.tokens, 64, splits, blockIdx.y, x.begin, x.end);
//@   if fitted then
//@     if clusters then
//@       needs("MEETS")
  x.part = MEETS;
//@     else
  x.part = splits == 1 ? -1 : ((int)blockIdx.y * (int)a.total_q + qo) * H + ROWS * (int)blockIdx.x;
//@     end
//@   end
  return true;
//@ end
}
//@ if fitted then
// The next piece of this block's part.
MLAF_DEV bool next_of_part(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
  mlaf_piece y;
  if (!fit_next(&a, PAGE, &w.part, &y)) return false;
//@   if ahead then
  if (fit_goes_on(&y) && blockIdx.x == 0 && threadIdx.x == 96 && a.part_o) { // of the warp that brings Q
    wait_for_previous_launch();
    fit_list(a.part_o, PART, y.request);
  }
//@   else
  if (fit_goes_on(&y) && blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o) fit_list(a.part_o, PART, y.request);
//@   end
  qo = y.qo;
  x.request = y.request, x.begin = y.begin, x.end = y.end, x.tokens = y.tokens, x.first_page = y.first_page;
  x.n = y.q_tokens;
  x.part = y.slot < 0 ? -1 : y.slot * (Q_LEN * H) + ROWS * (int)blockIdx.x;
  return true;
}
//@ end

//@ end
// The next piece; the same in all warps.
MLAF_DEV bool next_piece(const mlaf_decode_args& a, walk& w, piece& x) {
  int qo;
//@ if invariant then
  if (!next_of_walk(a, w, x, qo)) return false;
//@ elseif fitted then
  if (!(w.request < 0 ? next_of_part(a, w, x, qo) : next_range(a, w, x, qo))) return false;
//@ else
  if (!next_range(a, w, x, qo)) return false;
//@ end
  x.row = (i64)qo * H + ROWS * (int)blockIdx.x;
  x.bad = a.num_pages <= 0 && x.begin < x.end; // nothing may be read
  if (x.bad || x.n <= 0) x.end = x.begin;
  return true;
}
MLAF_DEV i64 part_of(const mlaf_decode_args& a, const piece& x) {
//@ if fitted then
  return x.part;
//@ else
  return a.splits == 1 ? -1 : (i64)blockIdx.y * a.total_q * H + x.row;
//@ end
}
MLAF_DEV int blocks_of(const piece& x) { return (x.end - x.begin + 63) / 64; }

// Page ids of 32 boxes at a time, the next 32 in flight. A page outside the cache is read as page 0: see check_pages.
MLAF_DEV int page_of_box(const mlaf_decode_args& a, const piece& x, int box) {
  if (x.begin + box * BOX >= x.end) return 0;
  const u32 id = (u32)a.kv_indices[x.first_page + (x.begin + box * BOX) / PAGE];
  return id < (u32)a.num_pages ? (int)id : 0;
}
MLAF_DEV int row_of_box(const piece& x, int box, int ids) {
  return __shfl_sync(~0u, ids, box & 31) * PAGE + (x.begin + box * BOX) % PAGE;
}
//@ if small then
// A box that is the same in all lanes: in a uniform register, as copies want it, where a shuffle's result makes them a loop.
MLAF_DEV int row_of_box_for_all(const piece& x, int box, int ids) {
  const int id = (int)__reduce_max_sync(~0u, (threadIdx.x & 31) == (box & 31) ? (u32)ids : 0u);
  return id * PAGE + (x.begin + box * BOX) % PAGE;
}
//@ end

// Any page id outside the cache makes the request's rows NaN.
MLAF_DEV bool check_pages(const mlaf_decode_args& a, const piece& x, int lane) {
  bool bad = false;
  if (x.begin < x.end)
#pragma unroll 1
    for (int i = x.begin / PAGE + lane; i <= (x.end - 1) / PAGE; i += 32)
      bad |= (u32)a.kv_indices[x.first_page + i] >= (u32)a.num_pages;
  return __any_sync(~0u, bad);
}

// The math warps' facts of a piece.
struct facts {
  int blocks; // -1: no piece is left
  int begin, tokens, n;
  i64 row, part;
  int bad;
};
enum { BLOCKS_OF = 0, BEGIN_OF = 4, TOKENS_OF = 8, N_OF = 12, ROW_OF = 16, PART_OF = 24, BAD_OF = 32 }; // where a fact lies

MLAF_DEV facts facts_of(const mlaf_decode_args& a, const piece& x, bool bad) {
  return {blocks_of(x), x.begin, x.tokens, x.n, x.row, part_of(a, x), x.bad || bad};
}

// They stay there until all math warps have given the piece back.
MLAF_DEV int known(u32 shared, u32 field) {
  int x;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(x) : "r"(shared + FACTS_AT + field) : "memory");
  return x;
}
MLAF_DEV i64 known_row(u32 shared, u32 field) {
  i64 x;
  asm volatile("ld.shared.s64 %0, [%1];" : "=l"(x) : "r"(shared + FACTS_AT + field) : "memory");
  return x;
}

// Run by all math threads at the begin of a piece, whose facts lie there and, for its end, at `copy`. If its request is refused
// (mla_decode/lib/refuse.h), the request's rows become NaN, and the piece has none.
MLAF_DEV void check_request(const mlaf_decode_args& a, u32 shared, u32 copy) {
  const int n = known(shared, N_OF);
  const i64 first = known_row(shared, ROW_OF) - ROWS * (int)blockIdx.x, end = first + (i64)n * H; // rows of the request
  if (!is_refused(n, first, end, a.total_q * H)) return;
//@ if invariant then
  const bool final = true; // the combine kernel leaves it alone
//@ elseif fitted then
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  // A cut batch has no place for it but in O.
  const bool final = fit_splits(&a) == 1 || fit_cuts(&a, PAGE, gridDim.y, slots, parts, fit_longest(&a));
//@ else
  const bool final = a.splits == 1;
//@ end
  refuse(a, first, end, final ? -1 : (i64)blockIdx.y * a.total_q * H, threadIdx.x - 128, 256);
  named_sync(BOTH, 256);
  if (threadIdx.x == 128) {
    asm volatile("st.shared.s32 [%0], 0;" ::"r"(copy + FACTS_AT + N_OF) : "memory");
    asm volatile("st.shared.s32 [%0], 0;" ::"r"(shared + FACTS_AT + N_OF) : "memory");
    asm volatile("st.shared.s64 [%0], 0;" ::"r"(shared + FACTS_AT + ROW_OF) : "memory"); // Q may be read from there
  }
  named_sync(BOTH, 256);
}

constexpr float LOWEST = -1e30f; // the reference of a row that has seen nothing
// The reference of a row that the block has not stays above all scores: P is 0 there, and products of zeros take less power,
// which holds the clock at the card's limit.
MLAF_DEV void no_rows(int row, int live, float (&m)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++)
    if (row + 8 * h >= live) m[h] = -LOWEST;
}
