-- The fields of a mla_v_out problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
return {
  example = "h16,r512,v128,bf16,t1",
  { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads on this rank" },
  { key = "r", field = "rank", word = "kv_lora_rank", default = 512, least = 32, most = 512, multiple = 32,
    about = "columns of the latent" },
  { key = "v", field = "v", word = "value dim", default = 128, least = 32, most = 256, multiple = 32,
    about = "columns of a value head" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of inputs, outputs, and of weights of 16 bits" },
  { field = "weights", word = "weights", words = { "", "e4m3fn", "e4m3fnuz" },
    about = "weights of 8 bits, each 128 x 128 of them with a scale in fp32" },
  { key = "t", field = "tokens", word = "tokens", default = 1, least = 1, most = 65536, multiple = 1, size = true, steps = 1,
    about = "tokens of a launch; plans are made for 1, 2, 4, 8, ..., and serve any number" },
}
