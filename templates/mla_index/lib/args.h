// The argument block of both kernels, byte for byte that of gen/ops/mla_index/args.lua. Passed by value. Strides in bytes.
struct mlaf_index_kernel_args {
  const char* q;
  const char* w;
  const char* cache;
  const char* block_table;
  const char* lengths;
  char* indices;
  char* logits;
  i64 q_token, q_head, w_token, cache_page, block_table_request, indices_token, logits_token;
  i64 num_pages;
  u64 page_inverse; // 2^40 / page_tokens, rounded up or one more
  u32 tokens, most; // most: cached tokens that a row of the table, and one of logits, has
  int topk, page_tokens, table_width, q_tokens;
};
static_assert(sizeof(mlaf_index_kernel_args) == 152, "differs from gen/ops/mla_index/args.lua");

constexpr u32 ABSENT = 0xffffffffu; // the logit of a token whose page is outside the cache

// Cached tokens that query token t sees.
MLAF_DEV int length_of(const mlaf_index_kernel_args& a, u32 t) {
  const int n = load<int>(a.lengths + 4ul * t);
  return n < 0 ? 0 : (u32)n < a.most ? n : (int)a.most;
}
// The page of a position in its request; positions are below 2^24.
MLAF_DEV u32 page_of(const mlaf_index_kernel_args& a, u32 position) { return (u32)(position * a.page_inverse >> 40); }
MLAF_DEV const char* table_of(const mlaf_index_kernel_args& a, u32 t) {
  return a.block_table + (i64)(t / (u32)a.q_tokens) * a.block_table_request;
}

// The places of a token's key and scale; NULL: there is no such token. `id`: of the page that holds its position, -1: none.
struct place {
  const char *key, *scale;
};
MLAF_DEV place place_in(const mlaf_index_kernel_args& a, int id, u32 page, int position) {
  if (id < 0) return {nullptr, nullptr};
  const i64 slot = position - page * a.page_tokens;
  const char* base = a.cache + id * a.cache_page;
  return {base + 128 * slot, base + 128 * (i64)a.page_tokens + 4 * slot};
}
