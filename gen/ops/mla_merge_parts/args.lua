-- The arguments of mla_merge_parts. What each key means: tools/args_model.lua.
return {
  head = [[
mla_merge_parts: the attentions of the same queries over N shards of their contexts become one, in one launch.

  parts [N, T, H, V], parts_lse [N, T, H]   ->   o [T, H, V], lse [T, H]

parts_lse is the log of the sum over scaled scores, as mla_decode writes it. A part whose lse is infinite, of either sign, is
empty: it has no say, whatever its o holds, NaN included. All empty: 0 and -inf. One part alone comes out bit for bit. A plan of
a problem such as "mla_merge_parts:n4,h16,v512,bf16,t64" (mlaf_plan_for) serves any number of tokens. Two parts that lie apart,
and merging in place: mla_merge.]],
  about = [[
Device pointers, parts and o 16-byte aligned. Strides in elements, those of parts and o a multiple of 8; 0: dense. The result must
not overlap a part.]],
  count = { "tokens", "T, 0 and up" },
  flags = {
    { "IN_BASE_2", "parts_lse are logs to the base 2; else natural ones" },
    { "OUT_BASE_2", "so is lse" },
  },
  sizes = { { "N", "parts", each = "part" }, { "T", "tokens", each = "token" }, { "H", "heads", each = "head" }, { "V", "vdim" },
    { "rows", "T * H" } },
  args = {
    { "parts", "16", axes = "N T H | V", strides = "rows", multiple = 8, align = 16 },
    { "parts_lse", "f32", axes = "N T H", strides = "rows" },
    { "o", "16", axes = "T H | V", strides = "rows", multiple = 8, align = 16, out = true, rows_apart = true,
      unlike = { "parts", "the result needs memory of its own" } },
    { "lse", "f32", axes = "T H", strides = "rows", out = true, optional = true, about = "NULL: not wanted",
      unlike = { "parts_lse", "the result needs memory of its own" } },
  },
  block = [[parts parts_lse o lse parts.part parts.token parts.head parts_lse:part parts_lse:token parts_lse:head
    o.token o.head lse:token lse:head rows flags reserved]],
  rows = "rows",
  -- Every part in, one out, each with its sums; a product and a sum of each element of a part.
  work = { bytes = "(N + 1) * rows * (2 * V + 4)", flops = "2 * N * rows * V" },
  ulps = 0.51, -- of o: rounded once, to nearest
  error_about = "units in the last place of o, against fp64",
  case_rows = { 300, least = 3 },
  -- empty: a third of all parts. far: how far apart logs are, standard deviation.
  cases = {
    { "empty parts", gaps = true, empty = true, far = 2 },
    { "far", gaps = true, empty = true, far = 12 },
    { "base 2", gaps = true, flags = { "IN_BASE_2" }, far = 4 },
    { "to base 2", gaps = true, empty = true, flags = { "OUT_BASE_2" }, far = 4 },
    { "dense", spare = true, flags = { "IN_BASE_2", "OUT_BASE_2" }, far = 1 },
  },
  -- One set: the parts come from an exchange just before and lie where it left them.
  timing = {},
  python = {
    about = "Merging the attentions over N shards of a context by their log-sum-exp.",
    name = "merge_attn_parts",
    call = "output parts parts_lse output_lse=None * in_base_2=False out_base_2=False",
    names = { o = "output", lse = "output_lse" }, shape = "parts",
    doc = [[
parts [N, T, H, V], the attentions of the same queries over N shards of their contexts, become output [T, H, V], by their logs
parts_lse [N, T, H], in one launch.

A part whose log is infinite has no say, whatever it holds. All tensors may have strides of their own, columns and the heads of a
log adjacent. in_base_2: parts_lse are logs to the base 2; out_base_2: so is output_lse.]],
  },
}
