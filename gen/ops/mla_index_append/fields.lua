-- The fields of a mla_index_append problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h64,bf16,halves,t64",
  { key = "h", field = "heads", word = "heads", default = 0, least = 0, most = 64, multiple = 32,
    about = "heads of the indexer whose queries are quantised in the same launch; 0: none" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of keys, queries and weights" },
  { field = "style", word = "rope style", words = { "pairs", "halves" },
    about = "columns that rotate together: 2i and 2i+1, or i and i + 32" },
  { field = "hadamard", word = "Hadamard rotation", words = { "", "hadamard" },
    about = "rows are multiplied by the orthonormal Hadamard matrix of 128 before they are quantised" },
  { key = "t", field = "tokens", word = "tokens", default = 64, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    about = "tokens of a launch" },
}
