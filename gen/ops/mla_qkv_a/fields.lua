-- The fields of a mla_qkv_a problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
local of = require("projection/fields")

return {
  example = "d7168,l1536,r512,p64,bf16,t1",
  of.hidden,
  { key = "l", field = "q_rank", word = "q_lora_rank", default = 1536, least = 0, most = 4096, multiple = 32,
    about = "low-rank columns of the queries; 0: none" },
  of.rank, of.rope, of.dtype, of.weights, of.tokens,
}
