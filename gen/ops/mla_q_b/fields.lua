-- The fields of a mla_q_b problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it. Problems that may follow in a launch: gen/ops/joint/mla_q_b.lua.
local of = require("projection/fields")

return {
  example = "l1536,h16,n128,p64,norm,bf16,t1",
  { key = "l", field = "q_rank", word = "q_lora_rank", default = 1536, least = 32, most = 8192, multiple = 32,
    about = "low-rank columns of the queries, or hidden size" },
  of.heads, of.nope, of.rope, of.norm, of.dtype, of.weights, of.tokens,
}
