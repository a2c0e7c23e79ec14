// For combine kernels: where the request of an output row lies in the batch. The includer has mla_decode/lib/schedule.h, H and
// PAGE.
//@ needs("PAGE")

// A row's request and where its positions lie. The tables are older than the decode launch, which lets this one start only after
// its own wait: they may be read before ours.
struct place {
  int first_token, tokens;
  i64 start, end;
};
MLAF_DEV place read_place(const mlaf_decode_args& a, int b, int& next_token) {
  const int page = a.kv_indptr[b], next = a.kv_indptr[b + 1], last = a.kv_last_page_lens[b];
  next_token = a.qo_indptr[b + 1];
  const i64 start = schedule_start(page, b, PAGE), end = schedule_start(next, b + 1, PAGE);
  return {a.qo_indptr[b], schedule_tokens(next - page, last, PAGE), start, end};
}

// As far along as the token is when all requests have as many, else by search, 32 at a time.
MLAF_DEV place find_place(const mlaf_decode_args& a, int token, int lane) {
  const int each = (int)a.total_q / a.batch, guess = smaller(token / (each > 0 ? each : 1), a.batch - 1);
  int next;
  const place x = read_place(a, guess, next);
  if (x.first_token <= token && token < next) return x;
  int low = 0, high = a.batch;
  while (high - low > 1) {
    const int step = (high - low + 31) / 32, at = low + (lane + 1) * step;
    low += step * __popc(__ballot_sync(~0u, at < high && a.qo_indptr[at < high ? at : low] <= token));
    high = smaller(low + step, high);
  }
  return read_place(a, low, next);
}
