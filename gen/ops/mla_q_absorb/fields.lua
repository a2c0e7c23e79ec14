-- The fields of a mla_q_absorb problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h16,n128,p64,r512,bf16,pairs,t1",
  { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads on this rank" },
  { key = "n", field = "nope", word = "nope dim", default = 128, least = 32, most = 256, multiple = 32,
    about = "columns of a query head without positions" },
  { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 32,
    about = "columns with positions" },
  { key = "r", field = "rank", word = "kv_lora_rank", default = 512, least = 32, most = 512, multiple = 32,
    about = "columns of the latent" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of inputs, outputs, and of weights of 16 bits" },
  { field = "weights", word = "weights", words = { "", "e4m3fn", "e4m3fnuz" },
    about = "weights of 8 bits, each 128 x 128 of them with a scale in fp32" },
  { field = "style", word = "rope style", words = { "pairs", "halves", "unrotated" }, moot = { field = "rope", at = 0 },
    about = "columns that turn together: 2i and 2i+1, i and i + P/2, or none" },
  { key = "t", field = "tokens", word = "tokens", default = 1, least = 1, most = 65536, multiple = 1, size = true, steps = 1,
    about = "tokens of a launch; plans are made for 1, 2, 4, 8, ..., and serve any number" },
}
