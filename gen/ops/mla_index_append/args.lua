-- The arguments of mla_index_append. What each key means: tools/args_model.lua.
local function rows(name, kind, axes, t)
  t[1], t[2], t.axes, t.strides, t.align = name, kind, axes, "rows", 16
  t.multiple = kind == "16" and 8 or nil
  return t
end

return {
  head = [=[
mla_index_append: what the indexer of sparse attention (DSA: DeepSeek-V3.2, GLM-5) makes of a token, in one launch: its key goes
to the paged cache, and its queries get 8 bits, as mla_index reads them.

  key = quantised(rotated(LayerNorm(k[t])))           keys[slots[t]], scales[slots[t]]
  q8[t, h] = quantised(rotated(q[t, h]))              w8[t, h] = w[t, h] w_scale, times the scale of q8[t, h]

LayerNorm has a gain and a bias. rotated: RoPE of columns 0..63 at positions[t]; in problems with "hadamard" then times the
orthonormal Hadamard matrix of 128. That matrix cancels in the products, and spreads what is large over all columns: queries,
cached keys, and everybody else who reads or writes the cache have to agree. quantised: 128 codes of e4m3fn and their scale,
max(largest, 1e-4) / 448, or the power of two from there on. All arithmetic is fp32, and what is stored is rounded once.

A plan of a problem such as "mla_index_append:h64,bf16,halves,t64" (mlaf_plan_for) serves any number of tokens.]=],
  about = [[
Device pointers of the plan's device. Strides in elements, which are bytes of keys and q8; 0: dense. A planar cache of 132 bytes
a token is keys = cache, scales = cache + 128 page_tokens, and both page strides: 132 page_tokens bytes, so of scales 33
page_tokens elements. A slot outside of the cache writes no key. A position outside of the table makes a token's codes NaN.]],
  count = { "tokens", "T, 0 and up: those of a request side by side" },
  flags = {
    { "POWER_OF_TWO", "scales are powers of two (ue8m0), of keys and queries" },
    { "TABLE_16", "cosines and sines are of the problem's dtype; else fp32" },
  },
  known_flags = true,
  -- NUMBER: bytes of a cosine; ANGLES: elements of a row of cos.
  sizes = {
    { "T", "tokens", each = "token" }, { "H", "heads", each = "head" }, { "D", "128" }, { "BYTE", "1" },
    { "TABLE", "table_rows" }, { "PAGES", "num_pages" }, { "PAGE", "page_tokens" }, { "SLOTS", "num_pages * page_tokens" },
    { "NUMBER" }, { "ANGLES" }, { "B", each = "request" },
  },
  args = {
    rows("k", "16", "T | D", { about = "[T, 128]" }),
    { "norm_weight", "f32", axes = "| D", align = 16, about = "[128] gain of the LayerNorm" },
    { "norm_bias", "f32", axes = "| D", align = 16, about = "[128]" },
    { "slots", "i64", axes = "T", about = "[T] page * page_tokens + place in the page" },
    { "positions", "i64", axes = "T", about = "[T] rows of the table" },
    rows("cos", "NUMBER", "TABLE:row | ANGLES", { stem = "table", about = "[table_rows, 32] cosines" }),
    { "sin", "NUMBER", axes = "TABLE:row | ANGLES", align = 16, optional = true,
      about = "sines, at the stride of cos. NULL: a row of cos has its 32 sines behind" },
    rows("q", "16", "T H | D", { has = "H", about = "[T, H, 128]" }),
    { "w", "16", axes = "T | H", strides = "rows", has = "H", about = "[T, H]" },
    { "seq_lens", "i32", axes = "B", optional = true, about = "[T / q_tokens] cached tokens of a request, new ones included" },
    rows("keys", "BYTE", "PAGES:page PAGE:row | D", { needed = "SLOTS", nested = true, out = true, about = "128 bytes a token" }),
    { "scales", "f32", axes = "PAGES:page PAGE:row", strides = "rows", needed = "SLOTS", nested = true, out = true,
      about = "one a token" },
    rows("q8", "BYTE", "T H | D", { has = "H", out = true, about = "[T, H, 128]" }),
    { "w8", "f32", axes = "T | H", strides = "rows", has = "H", out = true, about = "[T, H]" },
    { "lengths", "i32", axes = "T", optional = true, out = true,
      about = "[T] tokens that each query token sees: seq_lens less the request's tokens behind it" },
    { "table_rows", "int64_t", least = 1, usual = 19, about = "1 and up" },
    { "num_pages", "int64_t", least = 0, most = 2147483647, usual = 7, about = "of the cache" },
    { "page_tokens", "int32_t", least = 1, most = 65536, usual = 16, about = "of a page of the cache" },
    { "q_tokens", "int32_t", least = 1, most = 1048576, usual = 1,
      about = "query tokens of each request; T is a multiple of it" },
    { "eps", "float", usual = 1e-6, about = "of the LayerNorm" },
    { "w_scale", "float", within = 1e6, usual = 0.011, about = "of w: 128^-1/2 H^-1/2 in models so far" },
  },
  block = [[k norm_weight norm_bias slots positions cos sin q w seq_lens keys scales q8 w8 lengths k.token table_stride=cos.row
    q.token q.head w.token keys.page keys.row scales.page scales.row q8.token q8.head w8.token table_rows num_slots!u32 tokens!u32
    page_tokens q_tokens flags eps w_scale reserved]],
  rows = "T", relations = true,
  work = { bytes = "T * (660 + H * 390)", flops = "T * (H + 1) * 20 * D" },
  ulps = 0.51, -- rounded to nearest, after fp32
  error_about = "units in the last place of codes, against fp64",
  walk = "T H", more = "SLOTS", case_rows = { 1400, least = 9 },
  -- Tokens: odd, even, one. bad: some have no slot. extreme: large, small and zero rows; with powers of two for scales.
  cases = {
    { "scattered", tokens = 21, bad = true, gaps = true, page_tokens = 5 },
    { "drafts", tokens = 12, q_tokens = 4, flags = { "TABLE_16" }, without = { "sin" } },
    { "extreme", tokens = 21, q_tokens = 3, bad = true, extreme = true, gaps = true, flags = { "POWER_OF_TWO", "TABLE_16" } },
    { "one", tokens = 1, page_tokens = 1, flags = { "POWER_OF_TWO" }, without = { "sin", "seq_lens", "lengths" } },
  },
  -- As many sets as make a launch find its rows cold, as mla_append. Pages of 1: every row of the cache is written.
  timing = { cold = true, timed = true, table_rows = 4096, page_tokens = 1, without = { "sin", "seq_lens", "lengths" } },
}
