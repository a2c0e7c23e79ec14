// The fitted schedule for waves of 64 lanes: the launch itself decides how its requests are cut, by what the tables say.
// Lengths alike: each request into as many shares as the launch has for it, as schedule "splits" does. Else the tokens of all
// requests are laid end to end and cut into equal parts, one for each workgroup that runs at once:
//
//   position  0 ...................................................................................... total
//             [fixed| tokens of request 0   ][fixed| request 1 ][fixed| request 2                 ]
//   part      |----------- 0 -----------|----------- 1 -----------|----------- 2 -----------|--- ...
//
// kv_indptr already is the prefix sum that says where each request begins, so nothing is computed before the launch. A request
// takes as many positions as its pages hold tokens, and FIT_FIXED before them for what takes time whatever the length (Q, O). A
// boundary at position x cuts a request after the grains of 16 tokens that begin before x, so neighbours agree on a cut without
// talking: each grain belongs to exactly one part, a request without tokens to the part its first position lies in. A piece that
// is a whole request is finished where it is computed. Of the others a part has at most two: the end of a request (its slot 1)
// and one that goes on in a later part (slot 0). The combine kernel finds the same cuts by the same formula.
//
//   alike     a pass takes as long as the longest request's share; there are as many passes as the device cannot hold at once. A
//             workgroup alone is faster than among others with whom it shares the memory: it takes FIT_PACE percent of the time
//   cut       all positions over all parts, and what a cut costs more than a request's own begin and end: FIT_CUT positions
//
// Few tokens go into fewer parts, of FIT_LEAST positions: a piece's partial result costs as much as some of its tokens.
// (mla_decode/lib/fit.h is the same for warps of 32 lanes, with coarser grains.) What follows first is plain C, so that a test
// can run it on the host over any batch. The includer has integer types u32, u64, i64, MLAF_DEV, FIT_FIXED, FIT_CUT, FIT_PACE
// and FIT_LEAST (gen/ops/mla_decode/plans/fit_wave.lua).
//@ needs("FIT_CUT", "FIT_FIXED", "FIT_LEAST", "FIT_PACE")

enum { FIT_GRAIN = 16 };       // tokens: pieces begin at multiples of it
enum { FIT_REQUESTS = 1024 };  // more are never all looked at: they are cut
enum { FIT_QUICK = 256 };      // up to as many a quick look may do

// args.splits of a fitted launch: how many splits a request has, and workgroups that run at once
// (runtime/ops/mla_decode/launch.h).
MLAF_DEV int fit_splits(int word) { return word & 0x7fff; }
MLAF_DEV int fit_slots(int word) { return word >> 16; }
// n / by of numbers below 2^15, where a division is 30 instructions: a reciprocal is off by 2^-23 of it at most, and a quotient
// of a whole number and a half lies further than that from the next whole one.
#ifdef MLAF_GLOBAL
MLAF_DEV int fit_ratio(int n, int by) { return (int)(((float)n + 0.5f) * __builtin_amdgcn_rcpf((float)by)); }
#else
MLAF_DEV int fit_ratio(int n, int by) { return (int)(((float)n + 0.5f) * (1.0f / (float)by)); }
#endif
// Requests that the grid has workgroups for, and into how many parts a cut batch of so many positions goes.
MLAF_DEV int fit_requests(int splits, int slots, int batch) {
  const int at_once = fit_ratio(slots, splits);
  return at_once > batch ? at_once : batch;
}
MLAF_DEV int fit_parts(int splits, int slots, int batch, i64 total) {
  const i64 groups = (i64)fit_requests(splits, slots, batch) * splits, most = groups < slots ? groups : slots;
  if (total >= most * FIT_LEAST) return (int)most;
  return total < FIT_LEAST ? 1 : (int)((u32)total / FIT_LEAST); // below 2^15 * FIT_LEAST
}

MLAF_DEV i64 fit_start(int page, int request, int page_size) { return (i64)page * page_size + (i64)request * FIT_FIXED; }

// True if a request of `pages` makes the batch one to be cut. `weight` is the same for all, `limit` the time of a cut batch.
MLAF_DEV float fit_weight(int splits, int slots, int parts, int batch) {
  const int at_once = slots / splits > 0 ? slots / splits : 1, passes = (batch + at_once - 1) / at_once;
  return (float)passes * (float)parts / (float)splits * (FIT_PACE * 0.01f);
}
MLAF_DEV float fit_limit(i64 total, int parts) { return (float)total + (float)parts * (float)FIT_CUT; }
MLAF_DEV int fit_is_long(int pages, int page_size, float weight, float limit) {
  return weight * ((float)pages * (float)page_size + (float)FIT_FIXED) > limit;
}

// A quick look: true for all requests says that fit_is_long() is for none. It takes as many parts as there can be, which only
// makes a cut look better, and all but two numbers follow from the launch alone, while the table is in flight.
typedef struct fit_look {
  float page, all, rest;
} fit_look;
MLAF_DEV fit_look fit_look_at(int splits, int slots, int batch, int page_size) {
  u32 passes = 1;
  if ((u32)batch * (u32)splits > (u32)slots) {
    const int at_once = slots / splits > 0 ? slots / splits : 1;
    passes = (u32)((batch + at_once - 1) / at_once);
  }
  const float weight = (float)(passes * (u32)slots) * (FIT_PACE * 0.01001f), each = (float)splits; // 0.00001: rounding
  const fit_look look = {weight * (float)page_size, each * (float)page_size,
                         each * (float)(batch * FIT_FIXED + slots * FIT_CUT) - weight * (float)FIT_FIXED};
  return look;
}
MLAF_DEV int fit_is_short(fit_look look, int pages, int all) {
  return look.page * (float)pages <= look.all * (float)all + look.rest;
}

// x / by, of quotients below 2^48. Floats' quotients of what is left each time, set right: a 64-bit division is a hundred
// instructions.
MLAF_DEV i64 fit_quotient(i64 x, i64 by) {
  if (((u64)x | (u64)by) >> 24 == 0) { // the usual case: floats have both exactly
#ifdef MLAF_GLOBAL
    int n = uniform((int)((float)(int)x * __builtin_amdgcn_rcpf((float)(int)by)));
#else
    int n = (int)((float)x * (1.0f / (float)by));
#endif
    int rest = (int)x - n * (int)by;
    while (rest < 0) n--, rest += (int)by;
    while (rest >= (int)by) n++, rest -= (int)by;
    return n;
  }
  i64 n = 0, rest = x;
  for (int i = 0; i < 3; i++) {
    const i64 q = (i64)((float)rest / (float)by);
    n += q;
    rest -= q * by;
  }
  while (rest < 0) n--, rest += by;
  while (rest >= by) n++, rest -= by;
  return n;
}

// Positions of a part; the last ones may have fewer. Never less than a grain: then no part between a request's first tokens and
// its last is without a piece of it.
MLAF_DEV i64 fit_width(i64 total, int parts) {
  const i64 width = total <= 0 ? 0 : fit_quotient(total + parts - 1, parts);
  return width < FIT_GRAIN ? FIT_GRAIN : width;
}

// Tokens before a cut that lies `x` positions behind the request's first, in whole grains: a cut at or behind the request's end,
// where its last page may hold fewer tokens than it could, has all of them before it.
MLAF_DEV int fit_cut(i64 x, int tokens) {
  if (x <= FIT_FIXED) return 0;
  const i64 t = (x - FIT_FIXED + FIT_GRAIN - 1) & -(i64)FIT_GRAIN;
  return t < tokens ? (int)t : tokens;
}

// The tokens [*begin, *end) that part [lo, hi) has of a request of some tokens at `start`; 0: nothing, not even that it has none.
MLAF_DEV int fit_piece(i64 lo, i64 hi, i64 start, int tokens, int* begin, int* end) {
  *begin = fit_cut(lo - start, tokens);
  *end = fit_cut(hi - start, tokens);
  return tokens > 0 ? *begin < *end : start >= lo && start < hi;
}

// The slot of a piece in part_o and part_lse; -1: all of its request, to o and lse.
MLAF_DEV int fit_slot(int id, int begin, int end, int tokens) {
  return end - begin == tokens ? -1 : 2 * id + (begin > 0 && end == tokens);
}

// The parts of `width` positions that have a piece of a request of some tokens at `start`: *first and so many behind it.
MLAF_DEV int fit_pieces(i64 start, int tokens, i64 width, int* first) {
  const i64 begin = start + FIT_FIXED, end = begin + (i64)((u32)(tokens - 1) / FIT_GRAIN * FIT_GRAIN);
  *first = (int)fit_quotient(begin, width);
  return (int)fit_quotient(end, width) - *first;
}

// A report for the combine kernel, in the word before part_o: the number of parts that the batch was cut into; 0: it was not.
#ifdef MLAF_GLOBAL
MLAF_DEV void fit_tell(float* part_o, int parts) { *(MLAF_GLOBAL int*)((u64)part_o - 4) = parts; }
MLAF_DEV int fit_told(const float* part_o) { return *(const MLAF_GLOBAL int*)((u64)part_o - 4); }

// The kernel's arguments, read anew: a loop over pieces that kept all of them and what follows from them would spill.
MLAF_DEV mlaf_decode_args arguments_again() {
  const MLAF_CONST u64* p = (const MLAF_CONST u64*)__builtin_amdgcn_kernarg_segment_ptr();
  asm volatile("" : "+s"(p));
  struct words {
    u64 w[sizeof(mlaf_decode_args) / 8];
  } all;
#pragma unroll
  for (u32 i = 0; i < sizeof(mlaf_decode_args) / 8; i++) all.w[i] = p[i];
  return __builtin_bit_cast(mlaf_decode_args, all);
}
// The loop of a piece needs these as values: else what came with the launch would be loaded in the loop, too, behind a wait.
// The place of its result is read anew at its end.
MLAF_DEV mlaf_decode_args arguments_kept() {
  mlaf_decode_args a = arguments_again();
  asm volatile("" : "+s"(a.q), "+s"(a.ckv), "+s"(a.kpe), "+s"(a.kv_indices), "+s"(a.ckv_row_stride), "+s"(a.kpe_row_stride),
                    "+s"(a.num_pages), "+s"(a.scale_log2e));
  return a;
}
// All of them now, in one trip to memory.
MLAF_DEV void arguments_together(const mlaf_decode_args& a) {
  struct words {
    u64 w[sizeof(mlaf_decode_args) / 8];
  } all = __builtin_bit_cast(words, a);
  const u64* const w = all.w;
  asm volatile("" ::"s"(w[0]), "s"(w[1]), "s"(w[2]), "s"(w[3]), "s"(w[4]), "s"(w[5]), "s"(w[6]), "s"(w[7]), "s"(w[8]), "s"(w[9]),
               "s"(w[10]), "s"(w[11]), "s"(w[12]), "s"(w[13]), "s"(w[14]), "s"(w[15]));
}

// Number of the 64 entries table[low + step], table[low + 2 step], ... below high at or before x; value() grows with them.
template <typename VALUE>
MLAF_DEV int fit_votes(int low, int step, int high, int lane, VALUE value) {
  const int at = low + (lane + 1) * step;
  return __builtin_popcountl(__builtin_amdgcn_ballot_w64(at < high && value(at)));
}
// The last of `n` entries for which value() holds; it does for the first.
template <typename VALUE>
MLAF_DEV int fit_find(int n, int lane, VALUE value) {
  int low = 0, high = n;
  while (true) {
    const int step = (high - low + 63) / 64;
    low += step * fit_votes(low, step, high, lane, value);
    if (step <= 1) return low;
    high = low + step < high ? low + step : high;
  }
}

// fit_pieces(), by comparisons: its quotients are part numbers, and stay in scalar registers.
MLAF_DEV int fit_pieces_by_wave(i64 start, int tokens, i64 width, int parts, int lane, int* first) {
  const i64 begin = start + FIT_FIXED, end = begin + (i64)((u32)(tokens - 1) / FIT_GRAIN * FIT_GRAIN);
  *first = fit_find(parts, lane, [&](int part) { return width * part <= begin; });
  return fit_find(parts, lane, [&](int part) { return width * part <= end; }) - *first;
}
#endif
