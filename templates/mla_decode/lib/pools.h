// The place of a token in a cache whose pages are rows of tokens and then the tokens' scales, in up to two pools. A page list's
// ids name pages of the first pool; with pages of 1 they are tokens, page * page_tokens + slot, and those of the second pool have
// bit 31. A pool's page begins `page_rows` rows behind the page before.
//@ needs("PAGE", "TOKEN_ROW", "TOKEN_SCALES")
constexpr u32 EXTRA_POOL = 1u << 31;

struct token_at {
  u32 row;    // in its pool, and bit 31 of the second pool
  u32 scales; // bytes from the row to the token's scales
};

// False: there is no such token.
MLAF_DEV bool find_token(const mlaf_decode_args& a, u32 id, u32 token, token_at& out) {
  const bool extra = PAGE == 1 && (id & EXTRA_POOL), in_page = PAGE == 1;
  const u32 entry = in_page ? id & ~EXTRA_POOL : id, n = PAGE > 1 ? PAGE : extra ? a.extra_page_tokens : a.page_tokens;
  if (entry >= (u32)(extra ? a.extra_tokens : a.num_pages)) return false;
  const u32 page = in_page ? entry / n : entry, slot = in_page ? entry - page * n : token % PAGE;
  out.row = page * (extra ? a.extra_page_rows : a.page_rows) + slot | (extra ? EXTRA_POOL : 0);
  out.scales = n * TOKEN_ROW - slot * (TOKEN_ROW - TOKEN_SCALES);
  return true;
}

MLAF_DEV const char* row_of(const mlaf_decode_args& a, u32 row) {
  return (PAGE == 1 && (row & EXTRA_POOL) ? a.extra_ckv : a.ckv) + (u64)(row & ~EXTRA_POOL) * TOKEN_ROW;
}
