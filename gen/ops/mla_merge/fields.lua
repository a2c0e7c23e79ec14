-- The fields of a mla_merge problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h16,v128,bf16,t1024",
  { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads on this rank" },
  { key = "v", field = "vdim", word = "value dim", default = 128, least = 8, most = 512, multiple = 8,
    about = "columns of O: of prefill the value dim, of decode the rank" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of O" },
  { key = "t", field = "tokens", word = "tokens", default = 1024, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    about = "tokens of a launch" },
}
