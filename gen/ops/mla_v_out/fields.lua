-- The fields of a mla_v_out problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
local of = require("projection/fields")

return {
  example = "h16,r512,v128,bf16,t1",
  of.heads, of.rank, of.v, of.dtype, of.weights, of.tokens,
}
