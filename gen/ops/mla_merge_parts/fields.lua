-- The fields of a mla_merge_parts problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "n4,h16,v512,bf16,t64",
  { key = "n", field = "parts", word = "parts", least = 1, most = 16, multiple = 1, about = "shards of the context" },
  { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads of a part" },
  { key = "v", field = "vdim", word = "value dim", default = 512, least = 8, most = 512, multiple = 8,
    about = "columns of O: of decode the rank, of prefill the value dim" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of O" },
  { key = "t", field = "tokens", word = "tokens", default = 64, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    about = "query tokens of a launch" },
}
