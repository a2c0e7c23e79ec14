// The parts of all requests of a batch-invariant launch (mla_decode/lib/own_cut.h), laid end to end and dealt out to the blocks
// of a group of rows in turns: block z of Z takes parts z, z + Z, ... For warps of 32 lanes: all lanes together, every warp
// that asks gets the same answers. The includer has mla_decode/lib/schedule.h and fit.h.
//@ needs("OWN_PARTS_BITS")
struct own_walk { // where a block's walk stands
  int next;       // its next part
  int request;    // first of the 32 requests that were looked at last
  int before;     // parts of all requests before it
};

MLAF_DEV own_walk own_open() { return {(int)blockIdx.z, 0, 0}; }

// Parts of request first + lane; none behind the batch's end.
MLAF_DEV int own_parts_of_lane(const mlaf_decode_args& a, int page_size, int first) {
  const int request = first + (int)(threadIdx.x & 31), at = request < a.batch ? request : a.batch - 1;
  const int pages = a.kv_indptr[at + 1] - a.kv_indptr[at];
  const int tokens = schedule_tokens(pages, a.kv_last_page_lens[at], page_size);
  return request < a.batch ? own_parts(tokens, fit_splits(&a)) : 0;
}

// The block's next piece, of a request with query tokens; false: there is none left. slot: the part's number, -1: it is all of
// its request.
MLAF_DEV bool own_next(const mlaf_decode_args& a, int page_size, own_walk& w, mlaf_piece& x) {
  while (w.request < a.batch) {
    const int parts = own_parts_of_lane(a, page_size, w.request), wanted = w.next - w.before;
    const u32 below = (1u << (threadIdx.x & 31)) - 1;
    int ahead = 0, all = 0; // parts of the lanes below this one, and of all
#pragma unroll
    for (int bit = 0; bit < OWN_PARTS_BITS; bit++) {
      const u32 some = __ballot_sync(~0u, parts >> bit & 1);
      ahead += __popc(some & below) << bit;
      all += __popc(some) << bit;
    }
    if (wanted >= all) {
      w.before += all;
      w.request += 32;
      continue;
    }
    const int owner = __ffs(__ballot_sync(~0u, ahead <= wanted && wanted < ahead + parts)) - 1;
    const int n = __shfl_sync(~0u, parts, owner), k = wanted - __shfl_sync(~0u, ahead, owner);
    w.next += gridDim.z;
    x.request = w.request + owner;
    const mlaf_entry e = schedule_entry(&a, x.request);
    x.qo = e.qo;
    x.q_tokens = e.next_qo - e.qo;
    x.first_page = e.page;
    x.tokens = schedule_tokens(e.next_page - e.page, e.last, page_size);
    x.begin = own_begin(x.tokens, n, k);
    x.end = own_begin(x.tokens, n, k + 1);
    x.slot = n == 1 ? -1 : k;
    if (x.q_tokens > 0) return true;
  }
  return false;
}
