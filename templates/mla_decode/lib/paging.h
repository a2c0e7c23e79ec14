// The place of a request's tokens in the cache. All decisions are wave-uniform and all offsets 64-bit.

// Cached tokens of request b; never more than its pages hold, whatever last_page_len says.
template <int PAGE>
MLAF_DEV int cached_tokens(const mlaf_decode_args& a, int b, int& first_page) {
  cints indptr = constants(a.kv_indptr);
  first_page = indptr[b];
  int pages = indptr[b + 1] - first_page;
  if (pages <= 0) return 0;
  int last = constants(a.kv_last_page_lens)[b];
  last = last < 0 ? 0 : last > PAGE ? PAGE : last;
  return (pages - 1) * PAGE + last;
}

// Tokens [begin, end) of split s of n: whole tiles, whole rounds of all waves, so that few splits stay empty and none
// is ragged in the middle. `step` is the number of tokens of one such round.
MLAF_DEV void split_range(int tokens, int step, int splits, int s, int& begin, int& end) {
  u32 rounds = ((u32)tokens + (u32)step - 1) / (u32)step;
  u32 chunk = (rounds + (u32)splits - 1) / (u32)splits;
  u64 from = (u64)chunk * (u32)s * (u32)step;
  u64 to = from + (u64)chunk * (u32)step;
  begin = from < (u64)tokens ? (int)from : tokens;
  end = to < (u64)tokens ? (int)to : tokens;
}
