-- The fields of a mla_q_scale problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h16,n192,bf16,t64",
  { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads on this rank" },
  { key = "n", field = "qdim", word = "query dim", default = 192, least = 8, most = 512, multiple = 8,
    about = "columns of a query, those with positions included" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of queries" },
  { key = "t", field = "tokens", word = "tokens", default = 64, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    about = "tokens of a launch" },
}
