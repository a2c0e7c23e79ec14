-- The fields of a mla_q_absorb problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
local of = require("projection/fields")

return {
  example = "h16,n128,p64,r512,bf16,pairs,t1",
  of.heads, of.nope, of.rope, of.rank, of.dtype, of.weights, of.style, of.tokens,
}
