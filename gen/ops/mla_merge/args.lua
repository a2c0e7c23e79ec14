-- The arguments of mla_merge. What each key means: tools/args_model.lua.
return {
  head = [[
mla_merge: two partial attentions of the same queries, over keys apart from each other, become one.

  (o [T, H, V], lse [H, T]) of a prefix and of a suffix   ->   o [T, H, V], lse

lse is the log of the sum over scaled scores, as mla_prefill and mla_decode write it. A part whose lse is infinite, of either
sign, is empty: it has no say, whatever its o holds, NaN included. Both empty: 0 and -inf. A plan of a problem such as
"mla_merge:h16,v128,bf16,t1024" (mlaf_plan_for) serves any number of tokens.]],
  about = [[
The result may lie over a part, o over its o and lse over its lse, with the same strides; else it must not overlap.]],
  count = { "tokens", "T, 0 and up" },
  flags = {
    { "IN_PLACE", "over the prefix: o and lse are NULL" },
    { "BASE_2", "all lse are logs to the base 2; else natural ones" },
  },
  in_place_flag = "IN_PLACE",
  sizes = { { "T", "tokens", each = "token" }, { "H", "heads", each = "head" }, { "V", "vdim" }, { "rows", "T * H" } },
  args = {
    { struct = "part", names = { "prefix", "suffix" },
      about = [[
A part, device pointers, o 16-byte aligned. Strides in elements, o's a multiple of 8, 0: dense. lse's both 0: [H, T].]],
      { "o", "16", axes = "T H | V", strides = "rows", multiple = 8, align = 16 },
      { "lse", "f32", axes = "T H", strides = "any" } },
    { "o", "16", axes = "T H | V", strides = "rows", multiple = 8, align = 16, out = true, in_place = "prefix.o",
      over = { "prefix.o", "suffix.o" } },
    { "lse", "f32", axes = "T H", strides = "any", out = true, optional = true, in_place = "prefix.lse",
      over = { "prefix.lse", "suffix.lse" }, about = "NULL: not wanted" },
  },
  block = [[prefix.o prefix.lse suffix.o suffix.lse o lse
    prefix_token=prefix.o.token prefix_head=prefix.o.head prefix.lse:token prefix.lse:head
    suffix_token=suffix.o.token suffix_head=suffix.o.head suffix.lse:token suffix.lse:head
    o.token o.head lse:token lse:head rows flags reserved]],
  rows = "rows",
  -- Two parts in, one out, each with its sums; two products and a sum of an element, of which the second product counts one.
  work = { bytes = "3 * rows * (2 * V + 4)", flops = "3 * rows * V" },
  ulps = 0.51, -- of o: rounded once, to nearest
  error_about = "units in the last place of o, against fp64",
  case_rows = { 600, least = 3 },
  -- empty: a third of the rows of either part. far: how far apart the two logs are, standard deviation.
  cases = {
    { "empty parts", gaps = true, empty = true, far = 2 },
    { "in place", straight = { "suffix.lse", "lse" }, in_place = true, empty = true, far = 12 },
    { "base 2", gaps = true, straight = { "suffix.lse", "lse" }, flags = { "BASE_2" }, far = 4 },
    { "dense", spare = true, far = 1 },
  },
  -- One set: both parts come from the launches before and lie where these left them.
  timing = {},
  python = {
    about = "Merging two partial attentions by their log-sum-exp, by vLLM's entry point and argument order.",
    name = "merge_attn_states",
    call = "output prefix_output prefix_lse suffix_output suffix_lse output_lse=None * base_2=False",
    names = { o = "output", lse = "output_lse", ["prefix.o"] = "prefix_output", ["suffix.o"] = "suffix_output" }, shape = "o",
    doc = [[
vLLM's: the attentions prefix_output and suffix_output [T, H, V] of the same queries become output, by their logs [H, T].

A part whose log is infinite has no say, whatever it holds. output may be one of the parts, and output_lse its log. All
tensors may have strides of their own; a log [T, H] is passed as its transpose. base_2: logs are to the base 2.]],
  },
}
