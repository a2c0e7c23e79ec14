-- The fields of a mla_index problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h64,s1024,t64",
  { key = "h", field = "heads", word = "heads", least = 32, most = 64, multiple = 32,
    about = "heads of the indexer, 128 columns each: all of them on every rank" },
  { key = "s", field = "ctx", word = "ctx", default = 8192, least = 1, most = 16777216, multiple = 1, size = true, steps = 2,
    first = 64, about = "cached tokens that a query token sees, as tuned for" },
  { key = "t", field = "tokens", word = "tokens", default = 64, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    about = "query tokens of a launch" },
}
