// The fitted schedule: the launch itself decides how its requests are cut, by what the tables say. Lengths alike: each request
// into as many shares as the launch has for it, as schedule "splits" (or "turns") does. Else the whole batch into equal parts, as
// "merged" does (lib/meet.h). All warps of all blocks come to the same decision by the same arithmetic.
//
//   alike     a turn takes as long as the longest request's share; there are as many turns as the device cannot hold at once
//   cut       all positions over all parts, and what a cut costs more than a request's own begin and end: FIT_CUT positions
//
// The includer has what lib/schedule.h needs, and FIT_CUT (gen/schedule.lua).

enum { FIT_REQUESTS = 1024 }; // more are never all looked at: they are cut

// args.splits of a fitted launch: how many splits a request has, and blocks that run at once (runtime/core/launch.h).
MLAF_DEV int fit_splits(const struct mlaf_decode_args* a) { return a->splits & 0xffff; }
MLAF_DEV int fit_slots(const struct mlaf_decode_args* a) { return a->splits >> 16; }

// Whether the batch is cut. shares: of a request, slots: blocks that run at once, parts: to cut into, most: 0, or what
// is less, made of loads that shall be on their way meanwhile. One pass over kv_indptr.
MLAF_DEV int fit_cuts(const struct mlaf_decode_args* a, int page_size, int shares, int slots, int parts, int most) {
  if (a->batch > FIT_REQUESTS) return 1;
#ifdef __CUDACC__
#pragma unroll 4
  for (int i = threadIdx.x & 31; i < a->batch; i += 32) {
    const int pages = a->kv_indptr[i + 1] - a->kv_indptr[i];
    most = pages > most ? pages : most;
  }
  most = (int)__reduce_max_sync(~0u, most);
#else
  for (int i = 0; i < a->batch; i++) {
    const int pages = a->kv_indptr[i + 1] - a->kv_indptr[i];
    most = pages > most ? pages : most;
  }
#endif
  const u32 at_once = (u32)slots / (u32)shares, turns = ((u32)a->batch + (at_once ? at_once : 1) - 1) / (at_once ? at_once : 1);
  const float alike = (float)turns * ((float)most * (float)page_size + SCHEDULE_FIXED) / (float)shares;
  return alike * (float)parts > (float)schedule_start(a->kv_indptr[a->batch], a->batch, page_size) + (float)(parts * FIT_CUT);
}

#ifdef __CUDACC__
// For the combine kernel: whether the launch's requests were cut, in which case there is nothing left to combine.
MLAF_DEV void fit_tell(float* part_o, bool cut) { ((int*)part_o)[-1] = cut; }
#endif
