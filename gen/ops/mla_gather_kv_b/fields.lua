-- The fields of a mla_gather_kv_b problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h16,n128,p64,v128,r512,bf16,paged,t4096",
  { key = "h", field = "heads", word = "heads", least = 1, most = 128, multiple = 1, about = "query heads on this rank" },
  { key = "n", field = "nope", word = "nope dim", default = 128, least = 16, most = 192, multiple = 16,
    about = "columns of K that each head gets of its own" },
  { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 16,
    about = "columns with positions, which are copied" },
  { key = "v", field = "vdim", word = "value dim", default = 128, least = 16, most = 256, multiple = 16, about = "columns of V" },
  { key = "r", field = "rank", word = "kv_lora_rank", default = 512, least = 32, most = 512, multiple = 32,
    about = "columns of the latent" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of W, of K and V, and of what is not quantised" },
  { field = "layout", word = "layout", words = require("formats").words("mla_gather_kv_b"),
    about = "rows of the cache: 16 bits a column, with scales inside, fp8 with one scale, or 16 bits in two tensors" },
  { field = "rotate", word = "rope on read", words = { "", "rope_pairs", "rope_halves" }, moot = { field = "rope", at = 0 },
    about = "columns of keys are rotated on the way, the cache's are not: 2i and 2i+1, or i and i + P/2" },
  { key = "t", field = "tokens", word = "tokens", default = 4096, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    first = 16, about = "tokens of a chunk, of all requests together" },
}
