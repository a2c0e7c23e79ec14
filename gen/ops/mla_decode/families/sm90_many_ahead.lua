-- sm90_many for launches that know what is old (templates/mla_decode/sm90_many_ahead.cu.in): a layer's. Fields: gen/ops.lua.
local sm90_many = require("ops/mla_decode/families/sm90_many")

return {
  asked = true,
  template = "mla_decode/sm90_many_ahead",
  body = "mla_decode/sm90_many",
  arch = sm90_many.arch,
  problem = sm90_many.problem,
  combine = sm90_many.combine,
  params = sm90_many.params,
  rules = sm90_many.rules,
  cost = sm90_many.cost,
  -- In a layer what ends early leaves its places to the next launch: 0.4 to 3.7 us of a layer of 128 heads (docs/lab/layer.md).
  behind_one = "early=1,rows=4,team=2",
}
