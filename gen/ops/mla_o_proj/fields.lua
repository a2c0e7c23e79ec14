-- The fields of a mla_o_proj problem, for C and Lua alike, in the order of the problem string. What each key means:
-- gen/ops/mla_decode/fields.lua. No template may require it.
local of = require("projection/fields")

return {
  example = "d7168,h16,v128,bf16,t1",
  of.hidden, of.heads, of.v,
  { field = "residual", word = "residual", words = { "", "residual" }, about = "a row of hidden states is added" },
  of.dtype, of.weights, of.tokens,
}
