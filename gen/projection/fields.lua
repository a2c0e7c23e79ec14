-- Fields that problems of several projections have. What each key means: gen/ops/mla_decode/fields.lua. No template may require
-- it.
return {
  heads = { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads on this rank" },
  hidden = { key = "d", field = "hidden", word = "hidden size", least = 64, most = 16384, multiple = 64,
    about = "columns of hidden states" },
  nope = { key = "n", field = "nope", word = "nope dim", default = 128, least = 32, most = 256, multiple = 32,
    about = "columns of a query head without positions" },
  rope = { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 32,
    about = "columns with positions" },
  rank = { key = "r", field = "rank", word = "kv_lora_rank", default = 512, least = 32, most = 512, multiple = 32,
    about = "columns of the latent" },
  v = { key = "v", field = "v", word = "value dim", default = 128, least = 32, most = 256, multiple = 32,
    about = "columns of a value head" },
  dtype = { field = "dtype", word = "dtype", words = { "bf16", "f16" },
    about = "type of inputs, outputs, and of weights of 16 bits" },
  weights = { field = "weights", word = "weights", words = { "", "e4m3fn", "e4m3fnuz" },
    about = "weights of 8 bits, each 128 x 128 of them with a scale in fp32" },
  norm = { field = "norm", word = "norm", words = { "", "norm" }, about = "the input goes through RMSNorm" },
  style = { field = "style", word = "rope style", words = { "pairs", "halves", "unrotated" }, moot = { field = "rope", at = 0 },
    about = "columns that turn together: 2i and 2i+1, i and i + P/2, or none" },
  tokens = { key = "t", field = "tokens", word = "tokens", default = 1, least = 1, most = 65536, multiple = 1, size = true,
    steps = 1, about = "tokens of a launch; plans are made for 1, 2, 4, 8, ..., and serve any number" },
}
