// The place of a token in a cache whose pages are the codes of their tokens, then the scales of all, then the rope columns of
// all. Tokens are counted page by page, as entries of index lists are; a page begins `page_rows` times R bytes behind the page
// before.
//@ needs("PAGE", "R", "ROPE")
struct token_parts {
  const char *codes, *scales, *rope;
};

MLAF_DEV token_parts parts_of(const mlaf_decode_args& a, u32 token) {
  const u32 n = PAGE > 1 ? PAGE : a.page_tokens, page = token / n, slot = token - page * n;
  const char* const at = a.ckv + (u64)page * a.page_rows * R;
  return {at + slot * R, at + (u64)n * R + slot * 16, at + (u64)n * (R + 16) + slot * (2 * ROPE)};
}
