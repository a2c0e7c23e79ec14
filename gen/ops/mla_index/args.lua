-- The arguments of mla_index. What each key means: tools/args_model.lua.
local function bytes(name, axes, t)
  t[1], t[2], t.axes, t.strides, t.align = name, "BYTE", axes, "rows", 16
  return t
end

return {
  head = [[
mla_index: the cached tokens that sparse attention is to read, for models with an indexer (DSA: DeepSeek-V3.2, GLM-5).

  logits[t, n] = scale[n] * sum over h of w[t, h] * max(0, q[t, h] . key[n])     n < lengths[t]
  indices[t]   = the topk largest of them, as rows of the cache: page * page_tokens + place in the page

Entries are in ascending order of position. Of equal logits that of the lower position is larger; 0 and -0 are equal; NaN is
smaller than all else, -inf included. Behind min(topk, tokens that there are) entries are -1. So `indices` is what
mla_decode takes, and equal logits give equal lists on every rank.

The cache is planar, 132 bytes a token: a page has page_tokens keys of 128 e4m3fn bytes, then as many fp32 scales. q is e4m3fn;
w holds its scale and the softmax's. A plan of a problem such as "mla_index:h64,s32768,t64" (mlaf_plan_for) serves any number of
tokens, requests and cached tokens, any page size and any topk.]],
  about = [[
Device pointers of the plan's device. Strides 0: dense; in elements, which are bytes of q and of the cache: there multiples of
16. A page id outside the cache: its tokens are absent. They are never selected, and their logits are NaN with all bits set.
Entries of a table behind a token's length are not read. Nothing behind a length is written to logits.]],
  count = { "tokens", "T, 0 and up: query tokens, those of a request side by side" },
  sizes = {
    { "T", "tokens", each = "token" }, { "B", each = "request" }, { "H", "heads", each = "head" },
    { "D", "128" }, { "BYTE", "1" }, { "PAGES", "num_pages", each = "page" }, { "PAGE" },
    { "WIDTH", "table_width" }, { "K", "topk" }, { "N", "max_length" }, { "CTX", "ctx" }, { "MORE", "max_length + num_pages" },
  },
  args = {
    bytes("q", "T H | D", { about = "[T, H, 128]" }),
    { "w", "f32", axes = "T | H", strides = "rows", about = "[T, H]" },
    bytes("cache", "PAGES | PAGE", { needed = "PAGES", about = "pages; dense only where page_tokens is a multiple of 4" }),
    { "block_table", "i32", axes = "B | WIDTH", strides = "rows", about = "[T / q_tokens, table_width] page ids" },
    { "lengths", "i32", axes = "T", about = "[T] cached tokens that a query token sees; below 0 counts as 0" },
    { "indices", "i32", axes = "T | K", strides = "rows", out = true, about = "[T, topk]" },
    { "logits", "f32", axes = "T | N", strides = "rows", multiple = 4, align = 16, out = true,
      about = "[T, max_length], written up to each length" },
    { "num_pages", "int64_t", least = 0, most = 2147483647, usual = 7, about = "of the cache" },
    { "max_length", "int64_t", least = 4, most = 16777216, multiple = 4, usual = 256,
      about = "a multiple of 4 that no length is beyond; what is beyond it is not seen" },
    { "topk", "int32_t", least = 1, most = 1048576, usual = 33, about = "entries of a row of indices" },
    { "page_tokens", "int32_t", least = 1, most = 65536, usual = 64, about = "of a page of the cache" },
    { "table_width", "int32_t", least = 1, most = 16777216, usual = 5, about = "entries of a row of block_table" },
    { "q_tokens", "int32_t", least = 1, most = 1048576, usual = 1,
      about = "query tokens of each request; T is a multiple of it" },
  },
  block = [[q w cache block_table lengths indices logits q.token q.head w.token cache.page block_table.request indices.token
    logits.token num_pages page_inverse!u64 tokens!u32 most!u32 topk page_tokens table_width q_tokens]],
  rows = "T", relations = true,
  -- Keys and scales once for each token, its query and weights, logits out and in, indices.
  work = { bytes = "T * (140 * CTX + 132 * H)", flops = "2 * T * H * D * CTX" },
  ulps = 0,
  error_about = "0: entries of indices that are not the reference's",
  walk = "T", more = "MORE",
  -- Numbers are integers, so that every sum is exact and every list has one right answer; but for `rounded`, which has no two
  -- logits that rounding could swap at the place where the list ends. few: so many keys, whose scales differ in their last bits.
  -- special: scales that are infinite, NaN or zero. absent: one page in three is outside. shut: no key has a positive product.
  cases = {
    { "drafts", tokens = 10, q_tokens = 2, topk = 48, page_tokens = 64, max_length = 320, gaps = true },
    { "ties", tokens = 5, topk = 133, page_tokens = 1, max_length = 420, few = 3 },
    { "absent pages", tokens = 7, topk = 64, page_tokens = 5, max_length = 200, gaps = true, absent = true, special = true },
    { "all equal", tokens = 3, topk = 100, page_tokens = 16, max_length = 260, shut = true },
    { "rounded", tokens = 4, q_tokens = 4, topk = 100, page_tokens = 64, max_length = 384, rounded = true },
    { "long", tokens = 1, topk = 2048, page_tokens = 64, max_length = 4740, gaps = true },
    { "long, ties", tokens = 1, topk = 300, page_tokens = 64, max_length = 13600, few = 3 },
    { "many of many", tokens = 1, topk = 2500, page_tokens = 64, max_length = 4340, few = 40 },
    { "more than there are", tokens = 1, topk = 3600, page_tokens = 64, max_length = 4340, absent = true, special = true },
    { "one", tokens = 1, topk = 1, page_tokens = 256, max_length = 68 },
  },
  -- One set: in a server a layer's keys are read once a step, and are larger than any cache. Their draw is as in the cases.
  timing = { timed = true, topk = 2048, page_tokens = 64 },
  calls = { check_stages = "index_check_stages", prepare = "index_prepare" },
  header = "ops/mla_index/index.h",
}
