-- The fields of a mla_q_b problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it. Problems that may follow in a launch: gen/ops/joint/mla_q_b.lua.
return {
  example = "l1536,h16,n128,p64,norm,bf16,t1",
  { key = "l", field = "q_rank", word = "q_lora_rank", default = 1536, least = 32, most = 8192, multiple = 32,
    about = "low-rank columns of the queries, or hidden size" },
  { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads on this rank" },
  { key = "n", field = "nope", word = "nope dim", default = 128, least = 32, most = 256, multiple = 32,
    about = "columns of a query head without positions" },
  { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 32,
    about = "columns with positions" },
  { field = "norm", word = "norm", words = { "", "norm" }, about = "the input goes through RMSNorm" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of inputs, outputs, and of weights of 16 bits" },
  { field = "weights", word = "weights", words = { "", "e4m3fn", "e4m3fnuz" },
    about = "weights of 8 bits, each 128 x 128 of them with a scale in fp32" },
  { key = "t", field = "tokens", word = "tokens", default = 1, least = 1, most = 65536, multiple = 1, size = true, steps = 1,
    about = "tokens of a launch; plans are made for 1, 2, 4, 8, ..., and serve any number" },
}
