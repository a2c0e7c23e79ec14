// The fitted schedule: the launch itself decides how its requests are cut, by what the tables say. Lengths alike: each request
// into as many shares as the launch has for it, as schedule "splits" (or "turns") does. Else the whole batch into equal parts,
// which leave what they cut to a combine kernel or meet (mla_decode/lib/meet.h). All warps of all blocks decide by the same
// arithmetic.
//
//   alike     a pass takes as long as the longest request's share; there are as many passes as the device cannot hold at once
//   cut       all positions over all parts, and what a cut costs more than a request's own begin and end: FIT_CUT positions.
//             It must win by a share: a few blocks that idle leave their power and their memory's pace to the others
//
// The includer has what mla_decode/lib/schedule.h needs, and FIT_CUT (gen/ops/mla_decode/plans/schedule.lua).
//@ needs("FIT_CUT", "SCHEDULE_FIXED", "SCHEDULE_GRAIN")

enum { FIT_REQUESTS = 1024 }; // more are never all looked at: they are cut
#define FIT_WIN 0.96f          // docs/lab/perf-log/ragged.md

// args.splits of a fitted launch: how many splits a request has, and blocks that run at once (runtime/ops/mla_decode/launch.h).
MLAF_DEV int fit_splits(const struct mlaf_decode_args* a) { return a->splits & 0x7fff; }
MLAF_DEV int fit_slots(const struct mlaf_decode_args* a) { return a->splits >> 16; }

// Pages of the longest request, on a GPU of those that the lane looks at: one pass over kv_indptr. Loads of 128 requests are in
// flight together, the last one's again where there are fewer: the rest of an unrolled loop would wait for each.
MLAF_DEV int fit_longest(const struct mlaf_decode_args* a) {
  int longest = 0;
  if (a->batch > FIT_REQUESTS) return 0;
#ifdef __CUDACC__
#pragma unroll 1
  for (int first = 0; first < a->batch; first += 128) {
    int begin[4], end[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int i = first + 32 * k + (int)(threadIdx.x & 31);
      const int* const at = a->kv_indptr + (i < a->batch ? i : a->batch - 1);
      begin[k] = schedule_load(at);
      end[k] = schedule_load(at + 1);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) longest = end[k] - begin[k] > longest ? end[k] - begin[k] : longest;
  }
#else
  for (int i = 0; i < a->batch; i++) {
    const int pages = a->kv_indptr[i + 1] - a->kv_indptr[i];
    longest = pages > longest ? pages : longest;
  }
#endif
  return longest;
}

// True if the batch is cut. shares: of a request, slots: blocks that run at once, parts: to cut into, most: fit_longest().
MLAF_DEV int fit_cuts(const struct mlaf_decode_args* a, int page_size, int shares, int slots, int parts, int most) {
  if (a->batch > FIT_REQUESTS) return 1;
#ifdef __CUDACC__
  most = (int)__reduce_max_sync(~0u, most);
#endif
  const u32 at_once = (u32)slots / (u32)shares, passes = ((u32)a->batch + (at_once ? at_once : 1) - 1) / (at_once ? at_once : 1);
  const float alike = (float)passes * ((float)most * (float)page_size + SCHEDULE_FIXED) / (float)shares;
  return FIT_WIN * alike * (float)parts >
         (float)schedule_start(a->kv_indptr[a->batch], a->batch, page_size) + (float)(parts * FIT_CUT);
}

// Positions of a part; the last ones may have fewer. Never less than a grain: then no part between a request's first tokens and
// its last is without a piece of it. By two divisions of 32 bits (fewer than 2^12 parts, 2^52 positions): one of 64 is a call,
// which takes a stack where registers are few.
MLAF_DEV i64 fit_width(i64 total, int parts) {
  const u64 x = total <= 0 ? 0 : (u64)total + (u32)parts - 1;
  const u32 high = (u32)(x >> 20), low = (u32)x & 0xfffff;
  const i64 width = (i64)((u64)(high / (u32)parts) << 20) + ((high % (u32)parts) << 20 | low) / (u32)parts;
  return width < SCHEDULE_GRAIN ? SCHEDULE_GRAIN : width;
}

// The slot of a piece that is not all of its request, for the combine kernel: the last one of a request lies in its part's slot
// 1, the others in slot 0.
MLAF_DEV int fit_slot(const struct mlaf_part* p, const struct mlaf_piece* x) {
  return 2 * p->id + (x->begin > 0 && x->end == x->tokens);
}

// Begin to walk part `id` of `parts`, as part_open(); its next piece, as part_next().
MLAF_DEV struct mlaf_part fit_open(const struct mlaf_decode_args* a, int page_size, int id, int parts) {
  struct mlaf_part p;
  const int mine = schedule_sample(a->kv_indptr, 0, (a->batch + 31) / 32, a->batch, 0);
  const i64 width = fit_width(schedule_start(a->kv_indptr[a->batch], a->batch, page_size), parts);
  p.id = id;
  p.lo = width * id;
  p.hi = p.lo + width;
  p.request = schedule_find(a->kv_indptr, mine, a->batch, page_size, p.lo, 0);
  p.page = a->kv_indptr[p.request];
  p.start = schedule_start(p.page, p.request, page_size);
  return p;
}
MLAF_DEV int fit_next(const struct mlaf_decode_args* a, int page_size, struct mlaf_part* p, struct mlaf_piece* x) {
  if (!part_next(a, page_size, p, x)) return 0;
  if (x->slot >= 0) x->slot = fit_slot(p, x);
  return 1;
}

// True if a combine kernel comes behind, and adds up what was cut; else parts meet among themselves (mla_decode/lib/meet.h).
MLAF_DEV int fit_apart(const struct mlaf_decode_args* a) { return a->splits >> 15 & 1; }

// A report for that kernel, in FIT_WORDS words before part_o. The last one: how many parts the batch was cut into, 0: it was not.
// Word p: the request that begins in part p and goes on in later ones, of which a part has at most one; -1: there is none.
enum { FIT_WORDS = 4096 }; // runtime/ops/mla_decode/launch.h: MLAF_FIT_BYTES
MLAF_DEV void fit_tell(float* part_o, int parts) { ((int*)part_o)[-1] = parts; }
MLAF_DEV int fit_told(const float* part_o) { return ((const int*)part_o)[-1]; }
MLAF_DEV int* fit_words(const float* part_o) { return (int*)part_o - FIT_WORDS; }
MLAF_DEV void fit_list(float* part_o, int part, int request) { fit_words(part_o)[part] = request; }
MLAF_DEV int fit_goes_on(const struct mlaf_piece* x) { return x->begin == 0 && x->end < x->tokens; }

// x / by, which consistent tables make a part's number. A float's quotient, set right: a 64-bit division takes a call's stack.
MLAF_DEV int fit_quotient(i64 x, i64 by) {
  const float guess = (float)x / (float)by;
  int n = guess > 0.0f && guess < 65536.0f ? (int)guess : 0;
  if (guess >= 65536.0f) return 65536;
  while (n > 0 && n * by > x) n--;
  while ((n + 1) * by <= x) n++;
  return n;
}

// The parts of `width` positions that have a piece of a request of some tokens at `start`: *first and so many behind it.
MLAF_DEV int fit_pieces(i64 start, int tokens, i64 width, int* first) {
  const i64 begin = start + SCHEDULE_FIXED;
  *first = fit_quotient(begin, width);
  return fit_quotient(begin + (tokens - 1) / SCHEDULE_GRAIN * SCHEDULE_GRAIN, width) - *first;
}
