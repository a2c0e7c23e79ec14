// Adds up the partial results of a row, by waves: of splits of each request, or, behind launches that may have cut their batch
// (`fitted`), of the pieces that its parts have of a request. A wave reads all LSEs of a row, a lane one of each 64, and O of
// those that are its own. by_lanes: where pieces lie is found for 64 rows at once, a lane each. narrow: partial results
// are of 16 bits, rank 512. The includer has R, VECTORS (16-byte loads of a lane for a row), and where fitted H,
// Q_LEN, PAGE, SLOT_ROWS and mla_decode/lib/fit_wave.h, paging.h and refuse.h.
//@ needs("R", "VECTORS")
MLAF_DEV float max_over_wave(float x, int lane) {
#pragma unroll
  for (int d = 1; d < 64; d *= 2) x = __builtin_fmaxf(x, lane_xor(x, lane, d));
  return x;
}
MLAF_DEV float sum_over_wave(float x, int lane) {
#pragma unroll
  for (int d = 1; d < 64; d *= 2) x += lane_xor(x, lane, d);
  return x;
}
MLAF_DEV float of_lane(float x, int lane) { return float_of((u32)__builtin_amdgcn_readlane((int)bits_of(x), lane)); }

// A row's partial results: so many, the k-th at row first + k * stride of part_o and part_lse, the last one `aside` behind that.
// Rows there are fewer than 2^32: each takes 128 bytes at least.
struct sources {
  u64 first, stride, aside;
  int count;
};

// The row of part_o and part_lse that has partial result s.
MLAF_DEV u32 row_of(const sources& from, u32 s) {
  return (u32)from.first + (u32)from.stride * s + ((int)s == from.count - 1 ? (u32)from.aside : 0);
}
// LSE of partial result first + lane; none there: -inf.
MLAF_DEV float lse_of(const float* part_lse, const sources& from, int first, int lane) {
  const int s = first + lane;
  return s < from.count ? *(const MLAF_GLOBAL float*)(global(part_lse) + 4 * (u64)row_of(from, (u32)s)) : minus_inf();
}

struct merged {
  float top, sum; // of all partial results
  f32x4 o[VECTORS];
//@ if narrow then
  float middles; // what is too much in o, over NARROW_MIDDLE
//@ end
};
//@ if narrow then
//@   needs("NARROW_MIDDLE")
// As it is with fp32; o[0] and o[1] have columns 8 lane .. + 7. Weights are times their units, and are waited for behind the
// loads.
template <int Depth, bool Full>
MLAF_DEV void add_up(const float* part_o, float weight, u32 row, u64& todo, int lane, merged& m) {
  u32x4 x[Depth];
  int s = 0;
  u64 same = uniform(todo);
  asm volatile("" : "+s"(same)); // lanes are found again behind the loads: their numbers would take too many scalar registers
#pragma unroll
  for (int k = 0; k < Depth; k++) {
    if (Full || todo != 0) s = __builtin_ctzl(todo);
    todo &= todo - 1;
    const gptr data = global(part_o) + (u64)(u32)__builtin_amdgcn_readlane((int)row, s) * (4 * R);
    x[k] = *(const MLAF_GLOBAL u32x4*)(data + 16 * lane);
  }
  __builtin_amdgcn_sched_barrier(0); // all loads leave before the first is waited for
#pragma unroll
  for (int k = 0; k < Depth; k++) {
    const float w = Full || same != 0 ? of_lane(weight, __builtin_ctzl(same)) : 0.0f;
    same &= same - 1;
    m.middles += w;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      m.o[j / 2][2 * (j % 2)] += w * narrow_lo(x[k][j]);
      m.o[j / 2][2 * (j % 2) + 1] += w * narrow_hi(x[k][j]);
    }
  }
}
//@ else
// The next Depth partial results of `todo`, which has as many if Full; else the last one comes again, as zero. weight and row:
// of each lane's.
template <int Depth, bool Full>
MLAF_DEV void add_up(const float* part_o, float weight, u32 row, u64& todo, int lane, merged& m) {
  f32x4 x[Depth][VECTORS];
  float w[Depth];
  bool real[Depth];
  int s = 0;
#pragma unroll
  for (int k = 0; k < Depth; k++) {
    real[k] = Full || todo != 0;
    if (real[k]) s = __builtin_ctzl(todo);
    todo &= todo - 1;
    w[k] = of_lane(weight, s);
    const gptr data = global(part_o) + (u64)(u32)__builtin_amdgcn_readlane((int)row, s) * (4 * R);
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
      x[k][i] = *(const MLAF_GLOBAL f32x4*)(data + 4 * smaller(4 * (lane + 64 * i), R - 4));
  }
  __builtin_amdgcn_sched_barrier(0); // all loads leave before the first is waited for
#pragma unroll
  for (int k = 0; k < Depth; k++)
#pragma unroll
    for (int i = 0; i < VECTORS; i++) m.o[i] += w[k] * (real[k] ? x[k][i] : f32x4{0.0f, 0.0f, 0.0f, 0.0f});
}
//@ end
// Adds up those of a row's partial results whose bits `mine` has, of each 64, `Depth` in flight. near: lse_of() of the first 64.
template <int Depth>
MLAF_DEV merged merge(const float* part_o, const float* part_lse, const sources& from, float near, u64 mine, int lane) {
  merged m = {near, 0.0f, {}};
  for (int first = 64; first < from.count; first += 64) m.top = __builtin_fmaxf(m.top, lse_of(part_lse, from, first, lane));
  m.top = max_over_wave(m.top, lane);
  for (int first = 0; first < from.count; first += 64) {
    const float lse = first == 0 ? near : lse_of(part_lse, from, first, lane);
    const bool live = lse != minus_inf(); // true for NaN
    const float weight = live ? exp2_fast(lse - m.top) : 0.0f;
    const u32 row = row_of(from, (u32)(first + lane));
//@ if narrow then
    const float unit = live ? *(const MLAF_GLOBAL float*)(global(part_o) + (u64)row * (4 * R) + 2 * R) : 0.0f;
//@ end
    m.sum += weight;
    u64 todo = __builtin_amdgcn_ballot_w64(live) & mine;
    while (todo) {
//@ local weighs = narrow and "weight * unit" or "weight"
      if (__builtin_popcountl(todo) >= Depth) add_up<Depth, true>(part_o, ${weighs}, row, todo, lane, m);
      else add_up<Depth, false>(part_o, ${weighs}, row, todo, lane, m);
    }
  }
//@ if narrow then
#pragma unroll
  for (int i = 0; i < VECTORS; i++) m.o[i] -= NARROW_MIDDLE * m.middles;
//@ end
  m.sum = sum_over_wave(m.sum, lane);
  return m;
}

//@ if fitted > 0 and not by_lanes then
//@   needs("H")
// The request of a query token: as far along as the token is when all have as many, else by search.
MLAF_DEV int request_of(const mlaf_decode_args& a, int token, int lane) {
  const int each = (int)a.total_q / a.batch, guess = uniform(smaller(token / (each > 0 ? each : 1), a.batch - 1));
  if (constants(a.qo_indptr)[guess] <= token && token < constants(a.qo_indptr)[guess + 1]) return guess;
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.qo_indptr;
  return uniform(fit_find(a.batch, lane, [&](int i) { return table[i] <= token; }));
}

//@ end
//@ if fitted > 0 and not invariant and by_lanes then
//@   needs("FIT_FIXED", "FIT_GRAIN", "H", "PAGE", "SLOT_ROWS")
// Where the pieces of a lane's row begin in a launch that cut its batch, and how many there are: see find_pieces(), whose work
// this is for 64 rows at once.
struct lane_pieces {
  u32 first;
  int count;
};
// x / width, of a part's number: below 2^15, where a reciprocal is off by less than one.
MLAF_DEV int part_at(i64 x, i64 width, int parts) {
  const float guess = (float)x * __builtin_amdgcn_rcpf((float)width);
  int n = guess < (float)(parts - 1) ? (int)guess : parts - 1;
  n -= width * n > x;
  n += width * (n + 1) <= x;
  return n < 0 ? 0 : smaller(n, parts - 1);
}
MLAF_DEV lane_pieces pieces_of_lane(const mlaf_decode_args& a, i64 width, int parts, u32 row, bool exists) {
  const MLAF_GLOBAL int* const q = (const MLAF_GLOBAL int*)(u64)a.qo_indptr;
  const int token = (int)(row / H), each = (int)a.total_q / a.batch;
  int request = smaller(each > 1 ? token / each : token, a.batch - 1);
  if (exists && !(q[request] <= token && token < q[request + 1])) { // not all have as many tokens
    int high = a.batch;
    request = 0;
    while (high - request > 1) {
      const int middle = (request + high) / 2;
      if (q[middle] <= token) request = middle;
      else high = middle;
    }
  }
  const MLAF_GLOBAL int* const page = (const MLAF_GLOBAL int*)(u64)a.kv_indptr + request;
  const int q_begin = q[request], q_end = q[request + 1], first_page = page[0], pages = page[1] - first_page;
  const int last = ((const MLAF_GLOBAL int*)(u64)a.kv_last_page_lens)[request];
  const int tokens = pages > 0 ? (pages - 1) * PAGE + (last < 0 ? 0 : smaller(last, PAGE)) : 0;
  const bool own = exists && (i64)row >= (i64)q_begin * H && (i64)row < (i64)q_end * H;
  if (tokens <= 0 || !own || is_refused(q_end - q_begin, q_begin, q_end, (int)a.total_q)) return {0, 0};
  const i64 begin = fit_start(first_page, request, PAGE) + FIT_FIXED;
  const i64 end = begin + (i64)((u32)(tokens - 1) / FIT_GRAIN * FIT_GRAIN);
  const int first = part_at(begin, width, parts), behind = part_at(end, width, parts) - first;
  return {(u32)first * (2 * SLOT_ROWS) + (row - (u32)q_begin * H), behind > 0 ? behind + 1 : 0};
}
//@ elseif fitted > 0 and not invariant then
//@   needs("PAGE", "SLOT_ROWS")
// The pieces of a row's request in a launch that cut its batch. None: it lay whole in one part, which has finished it, as it has
// one that is refused; or the row is no request's.
MLAF_DEV void find_pieces(const mlaf_decode_args& a, i64 width, int parts, i64 row, int lane, sources& from) {
  int first_page, first;
  const int request = request_of(a, (int)(row / H), lane), tokens = cached_tokens<PAGE>(a, request, first_page);
  const int q_begin = constants(a.qo_indptr)[request], q_end = constants(a.qo_indptr)[request + 1];
  const bool own = row >= (i64)q_begin * H && row < (i64)q_end * H;
  if (tokens <= 0 || !own || is_refused(q_end - q_begin, q_begin, q_end, (int)a.total_q)) return;
  const int behind = fit_pieces_by_wave(fit_start(first_page, request, PAGE), tokens, width, parts, lane, &first);
  from.first = (u64)(u32)first * (2 * SLOT_ROWS) + (u64)(row - (i64)q_begin * H);
  from.count = behind > 0 ? behind + 1 : 0;
}
//@ end
