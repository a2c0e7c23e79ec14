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
