// Adds up the partial results of a row, by waves: of splits of each request, or, behind launches that may have cut their batch
// (`fitted`), of the pieces that its parts have of a request. A wave reads all LSEs of a row, a lane one of each 64, and O of
// those that are its own. The includer has R, VECTORS (16-byte loads of a lane for a row), and where fitted H,
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
};
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
    m.sum += weight;
    u64 todo = __builtin_amdgcn_ballot_w64(live) & mine;
    while (todo) {
      if (__builtin_popcountl(todo) >= Depth) add_up<Depth, true>(part_o, weight, row, todo, lane, m);
      else add_up<Depth, false>(part_o, weight, row, todo, lane, m);
    }
  }
  m.sum = sum_over_wave(m.sum, lane);
  return m;
}

//@ if fitted > 0 then
//@   needs("H")
// The request of a query token: as far along as the token is when all have as many, else by search.
MLAF_DEV int request_of(const mlaf_decode_args& a, int token, int lane) {
  const int each = (int)a.total_q / a.batch, guess = uniform(smaller(token / (each > 0 ? each : 1), a.batch - 1));
  if (constants(a.qo_indptr)[guess] <= token && token < constants(a.qo_indptr)[guess + 1]) return guess;
  const MLAF_GLOBAL int* const table = (const MLAF_GLOBAL int*)(u64)a.qo_indptr;
  return uniform(fit_find(a.batch, lane, [&](int i) { return table[i] <= token; }));
}

//@ end
//@ if fitted > 0 and not invariant then
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
