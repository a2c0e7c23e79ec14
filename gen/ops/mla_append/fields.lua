-- The fields of a mla_append problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h16,r512,p64,bf16,paged,pairs,norm,t64",
  { key = "h", field = "heads", word = "heads", default = 0, least = 0, most = 256, multiple = 1,
    about = "query heads on this rank whose rows are made in the same launch; 0: none" },
  { key = "r", field = "rank", word = "kv_lora_rank", default = 512, least = 32, most = 512, multiple = 32,
    about = "columns of the latent" },
  { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 32,
    about = "columns with positions" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of inputs, of Qout and of what is not quantised" },
  { field = "layout", word = "layout", words = require("formats").words("mla_append"),
    about = "rows of the cache: latent and rope together, in two tensors, with scales inside, or fp8 with one scale" },
  { field = "style", word = "rope style", words = { "pairs", "halves", "unrotated" }, moot = { field = "rope", at = 0 },
    about = "columns that turn together: 2i and 2i+1, i and i + P/2, or none" },
  { field = "norm", word = "norm", words = { "", "norm" }, about = "the latent goes through RMSNorm" },
  { key = "t", field = "tokens", word = "tokens", default = 1, least = 1, most = 1048576, multiple = 1, size = true, steps = 2,
    about = "tokens of a launch" },
}
